/* Devices as labels of nodes and descriptions of jobs call them; see reader.h. */
#include <ctype.h>
#include <string.h>

#include "plan/job/reader.h"
#include "plan/read/catalog.h"
#include "plan/schema/word.h"
#include "plan/text/container.h"

/* Kinds that a catalogue tells apart by a word somewhere in the name. */
static const char *const kinds[] = {"40gb", "pcie", "nvl"};

/* In front of the device's own name. */
static const char *const makers[] = {"nvidia-", "amd-", "instinct-",
                                     "tesla-",  "aws-", "geforce-"};

static const char *without_makers(const char *name)
{
    for (size_t i = 0; i < sizeof makers / sizeof *makers; i++)
        if (text_starts(name, makers[i]))
            name += strlen(makers[i]);
    return name;
}

static bool is_known(const char *name, struct arena *arena)
{
    char *path;
    return catalog_has(CATALOG_CLUSTER, name, arena, &path);
}

const char *device_name_from(const char *name, struct arena *arena)
{
    char *lower = arena_strdup(arena, name);
    for (char *at = lower; *at; at++)
        *at = *at == ' ' || *at == '_' ? '-' : (char)tolower((unsigned char)*at);
    const char *own = without_makers(lower);
    const char *meant = word_catalogue("cluster", own); /* rtx-4090 is rtx4090 here */
    if (meant || is_known(own, arena))
        return meant ? meant : own;
    const char *first = arena_strndup(arena, own, strcspn(own, "-"));
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const char *kind = arena_printf(arena, "%s-%s", first, kinds[i]);
        if (strstr(own, kinds[i]) && is_known(kind, arena))
            return kind;
    }
    return is_known(first, arena) ? first : NULL;
}

void job_set_device(struct job *job)
{
    const struct shell_word *device = job_environment_word(job, CONTAINER_DEVICE);
    const char *name = device ? device_name_from(device->text, job->arena) : NULL;
    if (name && !draft_find(&job->draft, "cluster"))
        draft_set(&job->draft, "cluster", name, device->mark, device->text);
}

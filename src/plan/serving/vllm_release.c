/* Which vLLM a launch runs, by the tag of its container's image: vllm/vllm-openai:v0.11.0, also
 * of a registry of one's own. Releases hold other things outside the cache (engine.c). */
#include <ctype.h>
#include <string.h>

#include "plan/serving/vllm.h"
#include "plan/text/container.h"

/* "0.11.0" of "vllm/vllm-openai:v0.11.0-x86_64"; NULL where no tag says it (latest, a hash). */
static const char *release_of(struct job *job, const char *image)
{
    static const char tag[] = "vllm-openai:v";
    const char *at = strstr(image, tag), *end, *dot;
    if (!at)
        return NULL;
    end = at += sizeof tag - 1;
    while (isdigit((unsigned char)*end) || (*end == '.' && isdigit((unsigned char)end[1])))
        end++;
    dot = memchr(at, '.', (size_t)(end - at));
    return dot && isdigit((unsigned char)*at)
               ? arena_strndup(job->arena, at, (size_t)(end - at))
               : NULL;
}

static bool take(struct job *job, const struct shell_word *word)
{
    const char *release = word->trouble ? NULL : release_of(job, word->text);
    if (release)
        draft_set(&job->draft, "stack.version", release, word->mark, word->text);
    return release != NULL;
}

void vllm_set_release(struct job *job)
{
    const struct shell_word *image = job_environment_word(job, CONTAINER_IMAGE);
    for (size_t i = 0; job->command && i < job->command->n; i++)
        if (take(job, &job->command->items[i]))
            return;
    if (image)
        take(job, image);
}

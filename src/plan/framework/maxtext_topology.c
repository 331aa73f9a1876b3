/* The devices of a MaxText job: compile_topology, or the slices that xpk starts it on; see
 * maxtext.h. Names of slices as AI-Hypercomputer/maxtext
 * src/maxtext/utils/accelerator_to_spec_map.py and AI-Hypercomputer/xpk
 * src/xpk/core/system_characteristics.py have them. */
#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "plan/framework/maxtext.h"
#include "plan/read/catalog.h"

static const struct slice_kind {
    const char *prefix, *device;
    uint64_t cores; /* that its name counts, a chip */
    uint64_t ranks; /* that JAX sees of a chip */
    bool cube;
} kinds[] = {{"v4-", "tpu-v4", 2, 1, true},    {"v5p-", "tpu-v5p", 2, 1, true},
             {"v5e-", "tpu-v5e", 1, 1, false}, {"v5litepod-", "tpu-v5e", 1, 1, false},
             {"v6e-", "tpu-v6e", 1, 1, false}, {"tpu7x-", "tpu7x", 2, 2, true}};

/* A slice of the catalogue with so many chips, as near a cube or a square as it can be; NULL:
 * there is none. */
static const char *slice_of(struct job *job, const char *device, bool cube, uint64_t chips)
{
    uint64_t side[3] = {1, 1, 1}, left = chips;
    for (int axis = cube ? 0 : 1; left % 2 == 0; left /= 2, axis = axis == 0 ? 2 : axis - 1) {
        if (!cube && axis == 0)
            axis = 2;
        side[axis] *= 2;
    }
    side[2] *= left;
    const char *name =
        cube ? arena_printf(job->arena, "%s-%" PRIu64 "x%" PRIu64 "x%" PRIu64, device, side[0],
                            side[1], side[2])
             : arena_printf(job->arena, "%s-%" PRIu64 "x%" PRIu64, device, side[1], side[2]);
    struct catalog_cluster found;
    struct err ignored = {0};
    enum status told = catalog_find_cluster(name, job->folder, job->arena, &found, &ignored);
    return told == STATUS_OK && !found.devices ? name : NULL;
}

/* Chips of "128" by the kind's cores, of "4x8x8" as it stands; 0: neither. */
static uint64_t chips_of(const struct slice_kind *kind, const char *text)
{
    uint64_t product = 1;
    unsigned sides = 0;
    for (const char *at = text; *at; sides++) {
        uint64_t n = 0;
        if (!isdigit((unsigned char)*at))
            return 0;
        for (; isdigit((unsigned char)*at) && n < 1000000; at++)
            n = n * 10 + (uint64_t)(*at - '0');
        if ((*at && (*at != 'x' || !at[1])) || n >= 1000000 || sides == 3)
            return 0;
        product *= n;
        at += *at == 'x';
    }
    if (sides == 1)
        product /= kind->cores;
    return product < 1000000 ? product : 0;
}

static const struct slice_kind *kind_of(const char *name)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (text_starts(name, kinds[i].prefix))
            return &kinds[i];
    return NULL;
}

/* "v5p-128" is 64 chips of v5p; *device NULL: it is none of ours. */
static void take_slices(struct job *job, const char *name, uint64_t slices, const char **device)
{
    const struct slice_kind *kind = kind_of(name);
    uint64_t chips = kind ? chips_of(kind, name + strlen(kind->prefix)) : 0;
    *device = NULL;
    if (!chips || !slices || slices > 100000)
        return;
    const char *slice =
        slices == 1 && kind->ranks == 1 ? slice_of(job, kind->device, kind->cube, chips) : NULL;
    job->size = (struct job_size){slices, chips, kind->ranks * chips * slices};
    *device = slice ? slice : kind->device;
}

/* ---- xpk workload create --tpu-type=v6e-256 --num-slices=2 ---- */

/* The value of one of its options; NULL: it is not given. */
static const struct shell_word *option_of(const struct job *job, size_t from, const char *name,
                                          const char **value)
{
    const struct shell_words *words = job->command;
    for (size_t i = from; i < words->n; i++) {
        size_t n = shell_option(words->items[i].text, name, false);
        const char *text = words->items[i].text + n;
        if (!n || (!*text && i + 1 == words->n))
            continue;
        const struct shell_word *word = *text ? &words->items[i] : &words->items[i + 1];
        *value = *text ? text + 1 : word->text;
        return word;
    }
    return NULL;
}

static enum status set_by_xpk(struct job *job)
{
    const char *name = NULL, *number = NULL, *device;
    const struct shell_word *type = NULL;
    uint64_t slices = 1;
    size_t at = 0;
    while (job->command && at < job->command->n &&
           !text_equal(text_base_name(job->command->items[at].text), "xpk"))
        at++;
    if (!job->command || at == job->command->n)
        return STATUS_OK;
    type = option_of(job, at, "--tpu-type", &name);
    type = type ? type : option_of(job, at, "--device-type", &name);
    const struct shell_word *count = option_of(job, at, "--num-slices", &number);
    if (!type || type->trouble ||
        (count && (count->trouble || !shell_count(number, &slices)))) {
        if (type || count)
            job_warn(job, job->mark,
                     "the slices that xpk starts are known to the shell alone: cluster= is the "
                     "whole of them");
        return STATUS_OK;
    }
    take_slices(job, name, slices, &device);
    if (!device) {
        job_warn(job, type->mark,
                 "'%.80s' is no slice that is known: cluster= names the device", name);
        return STATUS_OK;
    }
    if (!draft_find(&job->draft, "cluster"))
        draft_set(&job->draft, "cluster", device, type->mark,
                  arena_printf(job->arena, "xpk --tpu-type %s", name));
    return STATUS_OK;
}

enum status maxtext_set_topology(struct job *job)
{
    const char *topology = NULL, *device;
    uint64_t slices = 1;
    TRY(job_word(job, "compile_topology", &topology));
    TRY(job_count(job, "compile_topology_num_slices", &slices));
    if (!topology)
        return set_by_xpk(job);
    take_slices(job, topology, slices, &device);
    if (!device)
        return job_fail(job, "compile_topology", "topology '%s' is not known", topology);
    job_set(job, "cluster", device, "compile_topology");
    return STATUS_OK;
}

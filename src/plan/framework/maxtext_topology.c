/* The devices of a MaxText job: compile_topology, or the slices that xpk, Cluster Toolkit's
 * gcluster or Kubernetes starts it on; see maxtext.h. Names of slices as
 * AI-Hypercomputer/maxtext src/maxtext/utils/accelerator_to_spec_map.py and
 * AI-Hypercomputer/xpk src/xpk/core/system_characteristics.py have them. */
#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "plan/framework/maxtext.h"
#include "plan/read/catalog.h"
#include "plan/text/container.h"

/* Labels of nodes: src/xpk/core/system_characteristics.py, gke_accelerator. */
static const struct slice_kind {
    const char *prefix, *device, *label;
    uint64_t cores; /* that its name counts, a chip */
    uint64_t ranks; /* that JAX sees of a chip */
    bool cube;
} kinds[] = {
    {"v4-", "tpu-v4", "tpu-v4-podslice", 2, 1, true},
    {"v5p-", "tpu-v5p", "tpu-v5p-slice", 2, 1, true},
    {"v5e-", "tpu-v5e", "tpu-v5-lite-podslice", 1, 1, false},
    {"v5litepod-", "tpu-v5e", "tpu-v5-lite-podslice", 1, 1, false},
    {"v6e-", "tpu-v6e", "tpu-v6e-slice", 1, 1, false},
    {"tpu7x-", "tpu7x", "tpu7x", 2, 2, true},
    /* by their machines, which say how many chips a node has: the sides say the rest */
    {"ct4p-", "tpu-v4", "", 2, 1, true},
    {"ct5p-", "tpu-v5p", "", 2, 1, true},
    {"ct5lp-", "tpu-v5e", "", 1, 1, false},
    {"ct5l-", "tpu-v5e", "", 1, 1, false},
    {"ct6e-", "tpu-v6e", "", 1, 1, false}};

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

/* Programs that start a command on slices, and their options of what a slice is. */
static const struct starter {
    const char *program, *options[2];
    const char *topology; /* with the sides of a slice, "4x4x8"; or NULL */
} starters[] = {{"xpk", {"--tpu-type", "--device-type"}, NULL},
                {"gcluster", {"--compute-type", NULL}, "--topology"}};

static const struct starter *starter_of(const struct job *job, size_t *at)
{
    for (*at = 0; job->command && *at < job->command->n; (*at)++)
        for (size_t i = 0; i < sizeof starters / sizeof *starters; i++)
            if (text_equal(text_base_name(job->command->items[*at].text), starters[i].program))
                return &starters[i];
    return NULL;
}

static void set_slices(struct job *job, const struct shell_word *type, const char *name,
                       uint64_t slices, const char *said)
{
    const char *device;
    take_slices(job, name, slices, &device);
    if (!device)
        job_warn(job, type->mark,
                 "'%.80s' is no slice that is known: cluster= names the device", name);
    else if (!draft_find(&job->draft, "cluster"))
        draft_set(&job->draft, "cluster", device, type->mark, said);
}

static enum status set_by_starter(struct job *job, const struct starter *starter, size_t at)
{
    const char *name = NULL, *number = NULL, *sides = NULL;
    const struct shell_word *type = NULL, *topology = NULL;
    uint64_t slices = 1;
    for (size_t i = 0; i < 2 && !type && starter->options[i]; i++)
        type = option_of(job, at, starter->options[i], &name);
    if (type && starter->topology)
        topology = option_of(job, at, starter->topology, &sides);
    const struct shell_word *count = option_of(job, at, "--num-slices", &number);
    bool unknown = !type || type->trouble || (topology && topology->trouble) ||
                   (count && (count->trouble || !shell_count(number, &slices)));
    if (unknown) {
        if (type || count)
            job_warn(job, job->mark,
                     "the slices that %s starts are known to the shell alone: cluster= is the "
                     "whole of them",
                     starter->program);
        return STATUS_OK;
    }
    if (sides) /* "v6e-8" is a node, then, of a slice with these sides */
        name = arena_printf(job->arena, "%.*s-%s", (int)strcspn(name, "-"), name, sides);
    set_slices(
        job, type, name, slices,
        arena_printf(job->arena, "%s %s %s", starter->program, starter->options[0], name));
    return STATUS_OK;
}

/* Of a manifest whose pods ask for nodes of a slice: by both labels of Google's Kubernetes. */
static void set_by_labels(struct job *job)
{
    const struct shell_word *label = job_environment_word(job, CONTAINER_DEVICE),
                            *sides = job_environment_word(job, CONTAINER_SLICE),
                            *count = job_environment_word(job, CONTAINER_SLICES);
    uint64_t slices = 1;
    if (!label || !sides || (count && !shell_count(count->text, &slices)))
        return;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (!text_equal(kinds[i].label, label->text))
            continue;
        set_slices(job, sides, arena_printf(job->arena, "%s%s", kinds[i].prefix, sides->text),
                   slices, arena_printf(job->arena, "%s %s", label->text, sides->text));
        return;
    }
}

static enum status set_by_launch(struct job *job)
{
    size_t at;
    const struct starter *starter = starter_of(job, &at);
    if (starter)
        return set_by_starter(job, starter, at);
    set_by_labels(job);
    return STATUS_OK;
}

enum status maxtext_set_topology(struct job *job)
{
    const char *topology = NULL, *device;
    uint64_t slices = 1;
    TRY(job_word(job, "compile_topology", &topology));
    TRY(job_count(job, "compile_topology_num_slices", &slices));
    if (!topology)
        return set_by_launch(job);
    take_slices(job, topology, slices, &device);
    if (!device)
        return job_fail(job, "compile_topology", "topology '%s' is not known", topology);
    job_set(job, "cluster", device, "compile_topology");
    return STATUS_OK;
}

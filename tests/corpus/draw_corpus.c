/* Draws the plans of the corpus: writes parts.csv and plans.csv into tests/corpus/, without
 * what is predicted of them, which `test_corpus --record` fills in. Only for drawing a new
 * corpus, in the root of the source tree; the arguments are the examples to vary:
 *
 *   build/release/tests/draw_corpus examples/[a-z]*.yaml
 *   build/release/tests/test_corpus --record
 *
 * `draw_corpus --jobs` draws jobs.csv instead, training with what jobs hold besides, adds the
 * parts that are not there to parts.csv and leaves the rest as it is.
 *
 * For every stack, mode and path a plan is a model, a cluster and choices from a table of keys,
 * each example is varied in the same way, and now and then any key at all gets any value. Plans
 * that break a rule are not kept; of those that a stack refuses one for each message. Seeds are
 * fixed: the same code draws the same corpus. */
#include <stdlib.h>
#include <string.h>

#include "base/output.h"
#include "base/rng.h"
#include "corpus/choices.h"
#include "corpus/corpus.h"
#include "plan/read/catalog.h"
#include "plan/derive.h"
#include "plan/read/load.h"
#include "plan/rule/rule.h"
#include "plan/schema/schema.h"
#include "support/random_plan.h"

/* Clusters by stack, where an accelerator belongs to it. */
static const struct {
    unsigned stacks;
    const char *clusters;
} usual[] = {
    {ON_MAXTEXT, "tpu-v5p-4x4x4|tpu-v5e-4x2|tpu-v6e|mi355x-8x8|h100-8x8"},
    {1 << STACK_NXD, "trn1|trn2|trn2-16x1|trn3"},
    {1 << STACK_PRIMUS, "mi300x|mi325x|mi355x|mi355x-8x8"},
    {1 << STACK_HOST, "host-4x1|host-8x1|host-64x1"},
    {ON_ALL, "h100|h200|h800|h20|a100|b200|b300|gb200|gb300|gb200-72x1|mi300x|mi355x"},
};

/* How many plans to keep of a stack, mode and path; and how often to try. */
enum { TRIES = 1500 };
static unsigned quota(enum stack_kind stack, enum mode mode)
{
    static const unsigned counts[STACK_COUNT] = {
        [STACK_GENERIC] = 13,    [STACK_MAXTEXT] = 36, [STACK_MEGATRON] = 48,
        [STACK_TORCHTITAN] = 60, [STACK_NXD] = 13,     [STACK_VLLM] = 9,
        [STACK_SGLANG] = 9,      [STACK_PRIMUS] = 38,  [STACK_HOST] = 6};
    return counts[stack] + (stack == STACK_GENERIC && mode == MODE_TRAIN ? 5 : 0);
}

/* ---- what is drawn ---- */

struct part {
    const char *name;
    enum corpus_kind kind;
    struct plan plan; /* with that part */
};

struct draw {
    struct arena arena;
    struct part *parts[512];
    size_t n_parts;
    struct corpus_row *rows;
    size_t n_rows, capacity;
    struct plan base;
    const char *refusals[128];
    size_t n_refusals;
};

static const char *word(struct rng *rng, const char *words, struct arena *arena)
{
    size_t n = 1;
    for (const char *c = words; *c; c++)
        n += *c == '|';
    for (uint64_t left = rng_below(rng, n); left; left--)
        words = strchr(words, '|') + 1;
    return arena_strndup(arena, words, strcspn(words, "|"));
}

static void fail(const struct err *err)
{
    err_print(err, stderr);
    exit(1);
}

/* The part of that name, read from the catalogue, or from `plan` where it stands in one. */
static const struct part *part(struct draw *draw, enum corpus_kind kind, const char *name,
                               const struct plan *plan)
{
    struct err err = {0};
    for (size_t i = 0; i < draw->n_parts; i++)
        if (draw->parts[i]->kind == kind && text_equal(draw->parts[i]->name, name))
            return draw->parts[i];
    struct part *new = draw->parts[draw->n_parts++] = arena_alloc(&draw->arena, 1, sizeof *new);
    const char *names[] = {"olmoe-1b-7b", "h200", "generic"};
    new->kind = kind;
    new->name = arena_strdup(&draw->arena, name);
    names[kind] = new->name;
    const char *text = arena_printf(&draw->arena, "{model: %s, cluster: %s, stack: %s}",
                                    names[0], names[1], names[2]);
    const struct override small = {"workload.sequence_length", "512", "--set"};
    if (plan)
        new->plan = *plan;
    else if (plan_load_text("part.yaml", text, strlen(text), &small, 1, &draw->arena,
                            &new->plan, NULL, &err) != STATUS_OK)
        fail(&err);
    return new;
}

/* A plan under way: its parts, and the plan. */
struct drawn {
    const struct part *parts[CORPUS_BASE];
    struct plan plan;
};

static void compose(const struct draw *draw, struct drawn *drawn)
{
    drawn->plan = draw->base;
    drawn->plan.model = drawn->parts[CORPUS_MODEL]->plan.model;
    drawn->plan.cluster = drawn->parts[CORPUS_CLUSTER]->plan.cluster;
    drawn->plan.stack = drawn->parts[CORPUS_STACK]->plan.stack;
}

static void set(struct plan *plan, const char *key, const char *value)
{
    struct arena arena = {0};
    struct err err = {0};
    if (corpus_set(plan, key, value, &arena, &err) != STATUS_OK)
        fail(&err);
    arena_release(&arena);
}

/* vllm and sglang spread the experts over all ranks, or share each out like dense layers. */
static void spread(struct rng *rng, struct plan *plan)
{
    struct parallel *p = &plan->parallel;
    uint64_t world = plan_world(plan);
    bool whole = rng_below(rng, 5) == 0;
    p->pp = p->cp = p->vpp = 1;
    p->ep = whole ? 1 : world;
    p->etp = whole ? world : 1;
    p->tp = whole ? world : p->tp;
    p->sp = p->tp > 1 && !whole;
}

/* Files of routing for 8 experts, the rank of each of them for 4 ranks. */
static void take_files(struct rng *rng, struct plan *plan)
{
    if (plan->model.moe.experts != 8 || rng_below(rng, 3))
        return;
    if (rng_below(rng, 2)) {
        set(plan, "moe.routing.distribution", "trace");
        set(plan, "moe.routing.file", CORPUS_FOLDER "trace.csv");
        return;
    }
    set(plan, "moe.routing.placement", "table");
    set(plan, "moe.routing.placement_file", CORPUS_FOLDER "placement.csv");
    plan->parallel.ep = 4;
}

/* Takes some of n choices, each with `percent` of its own chance. */
static void take(struct draw *draw, struct rng *rng, struct plan *plan,
                 const struct choice *list, size_t n, unsigned percent)
{
    for (size_t i = 0; i < n; i++) {
        const struct choice *c = &list[i];
        bool applies =
            (c->stacks >> plan->stack.kind & 1) && (c->modes >> plan->workload.mode & 1);
        if (applies && rng_below(rng, 10000) < c->percent * percent)
            set(plan, c->key, word(rng, c->values, &draw->arena));
    }
}

static void choose(struct draw *draw, struct rng *rng, struct plan *plan, unsigned percent)
{
    take(draw, rng, plan, choices, sizeof choices / sizeof *choices, percent);
    if (plan->recompute.kind != RECOMPUTE_SAVE)
        plan->recompute.save = (struct word_list){0};
    plan->moe.routing.seed = 1 + rng_below(rng, 1000);
    plan->parallel.dp = 0;
    if (plan->workload.global_batch)
        plan->workload.global_batch =
            plan->workload.micro_batch * plan_dp(plan) * (1 + rng_below(rng, 9));
    if (ON_SPREAD >> plan->stack.kind & 1)
        spread(rng, plan);
    if (plan->model.mtp_layers == 0)
        plan->model.mtp_enabled = false;
    take_files(rng, plan);
}

/* Now and then gives a few keys any value; the plan stays of its stack, mode and path, and
 * quick to evaluate. */
static void vary(struct rng *rng, struct plan *plan)
{
    struct plan varied = *plan;
    for (uint64_t n = rng_below(rng, 4) ? 0 : 1 + rng_below(rng, 5); n; n--)
        plan_vary(&varied, rng);
    varied.recompute = plan->recompute;
    memcpy(varied.moe.routing.file, plan->moe.routing.file, PLAN_PATH);
    memcpy(varied.moe.routing.placement_file, plan->moe.routing.placement_file, PLAN_PATH);
    varied.stack.kind = plan->stack.kind;
    varied.workload.mode = plan->workload.mode;
    varied.moe.path = plan->moe.path;
    if (plan_tokens(&varied) <= 1 << 16 && varied.moe.routing.samples <= 64 &&
        varied.model.moe.experts <= 1024 && plan_world(&varied) <= 4096)
        *plan = varied;
}

static bool is_new(const struct draw *draw, const char *text)
{
    for (size_t i = 0; i < draw->n_rows; i++)
        if (text_equal(draw->rows[i].plan, text))
            return false;
    return true;
}

/* Whether a refusal in these words is there already; remembers it. */
static bool is_known(struct draw *draw, const char *message)
{
    for (size_t i = 0; i < draw->n_refusals; i++)
        if (text_equal(draw->refusals[i], message))
            return true;
    if (draw->n_refusals == sizeof draw->refusals / sizeof *draw->refusals)
        return true;
    draw->refusals[draw->n_refusals++] = arena_strdup(&draw->arena, message);
    return false;
}

static void add_row(struct draw *draw, const struct drawn *drawn)
{
    struct text text = {.arena = &draw->arena};
    struct drawn plain = *drawn;
    compose(draw, &plain);
    for (unsigned kind = 0; kind < CORPUS_KINDS; kind++)
        corpus_print((enum corpus_kind)kind, &drawn->plan, &plain.plan, &text);
    const char *plan =
        arena_printf(&draw->arena, "%s %s %s; %s", drawn->parts[CORPUS_MODEL]->name,
                     drawn->parts[CORPUS_CLUSTER]->name, drawn->parts[CORPUS_STACK]->name,
                     text_string(&text));
    if (!is_new(draw, plan))
        return;
    draw->rows =
        arena_grow(&draw->arena, draw->rows, draw->n_rows, &draw->capacity, sizeof *draw->rows);
    draw->rows[draw->n_rows].plan = plan;
    draw->rows[draw->n_rows].cells =
        arena_alloc(&draw->arena, corpus_n_cells(), sizeof(char *));
    for (size_t i = 0; i < corpus_n_cells(); i++)
        draw->rows[draw->n_rows].cells[i] = "";
    draw->n_rows++;
}

/* Keeps a plan that obeys the rules; true when it is predicted, not refused. */
static bool keep(struct draw *draw, const struct drawn *drawn)
{
    char text[RULE_TEXT], hint[RULE_TEXT];
    struct arena arena = {0};
    if (rule_check(&drawn->plan, text, hint))
        return false;
    const char **cells = corpus_cells(&drawn->plan, &arena);
    bool refused = text_starts(cells[0], "refused");
    if (!refused || !is_known(draw, cells[0]))
        add_row(draw, drawn);
    arena_release(&arena);
    return !refused;
}

/* ---- the draws ---- */

static const char *draw_cluster(struct draw *draw, struct rng *rng, enum stack_kind stack)
{
    size_t i = 0;
    while (!(usual[i].stacks >> stack & 1))
        i++;
    return word(rng, usual[i].clusters, &draw->arena);
}

/* Plans of one stack, mode and path from models and clusters of the catalogue. */
static void draw_cell(struct draw *draw, enum stack_kind stack, enum mode mode,
                      enum moe_path path)
{
    static struct drawn drawn;
    struct catalog_item *models;
    size_t n_models;
    struct rng rng;
    unsigned kept = 0;
    catalog_list(CATALOG_MODEL, &draw->arena, &models, &n_models);
    rng_init(&rng, 2026, (uint32_t)stack, (uint32_t)mode, (uint32_t)path, 0);
    for (unsigned i = 0; i < TRIES && kept < quota(stack, mode); i++) {
        const char *model = models[rng_below(&rng, n_models)].name;
        drawn.parts[CORPUS_MODEL] = part(draw, CORPUS_MODEL, model, NULL);
        drawn.parts[CORPUS_CLUSTER] =
            part(draw, CORPUS_CLUSTER, draw_cluster(draw, &rng, stack), NULL);
        drawn.parts[CORPUS_STACK] = part(draw, CORPUS_STACK, words_stack[stack], NULL);
        compose(draw, &drawn);
        drawn.plan.workload.mode = mode;
        drawn.plan.moe.path = path;
        choose(draw, &rng, &drawn.plan, 70);
        vary(&rng, &drawn.plan);
        if (drawn.plan.parallel.ep > 1 || rng_below(&rng, 3) == 0)
            kept += keep(draw, &drawn);
    }
    printf("%s %s %s: %u\n", words_stack[stack], words_mode[mode], words_path[path], kept);
}

enum { VARIATIONS = 20 };

static void draw_example(struct draw *draw, const char *file)
{
    static struct plan plan;
    static struct drawn drawn;
    struct err err = {0};
    struct rng rng;
    unsigned kept = 0;
    if (plan_load(file, NULL, 0, &draw->arena, &plan, NULL, &err) != STATUS_OK)
        fail(&err);
    char *path;
    struct err unknown = {0};
    bool named = catalog_find(CATALOG_MODEL, plan.model_name, NULL, &draw->arena, &path,
                              &unknown) == STATUS_OK;
    plan.moe.routing.samples = draw->base.moe.routing.samples;
    drawn.parts[CORPUS_MODEL] = part(
        draw, CORPUS_MODEL, named ? plan.model_name : plan.model.name, named ? NULL : &plan);
    drawn.parts[CORPUS_CLUSTER] = part(draw, CORPUS_CLUSTER, plan.cluster_name, NULL);
    drawn.parts[CORPUS_STACK] = part(draw, CORPUS_STACK, words_stack[plan.stack.kind], NULL);
    rng_init(&rng, 2026, 100, 0, 0, (uint32_t)draw->n_rows);
    for (unsigned i = 0; i < TRIES && kept < VARIATIONS; i++) {
        drawn.plan = plan;
        if (i > 0) {
            if (rng_below(&rng, 2))
                drawn.plan.moe.path = (enum moe_path)rng_below(&rng, PATH_COUNT);
            choose(draw, &rng, &drawn.plan, 30);
            vary(&rng, &drawn.plan);
        }
        kept += keep(draw, &drawn);
    }
    printf("%s: %u\n", file, kept);
}

/* ---- jobs of training ---- */

enum { JOBS = 14 }; /* of a stack */

/* A base in few bits is beside adapters alone; a part of dp divides it. */
static void settle_job(struct plan *plan)
{
    uint64_t dp = plan_dp(plan);
    if (!plan->lora.rank && plan->precision.weights != DTYPE_F32)
        plan->precision.weights = DTYPE_BF16;
    if (plan->parallel.dp_shard && dp % plan->parallel.dp_shard)
        plan->parallel.dp_shard = 0;
    if (!plan->model.encoder.layers)
        plan->workload.encoder.patches = 0;
    plan->parallel.dp = 0;
}

static void draw_jobs(struct draw *draw, enum stack_kind stack)
{
    static struct drawn drawn;
    struct rng rng;
    unsigned kept = 0;
    rng_init(&rng, 2026, 200, (uint32_t)stack, 0, 0);
    for (unsigned i = 0; i < TRIES && kept < JOBS; i++) {
        const char *model = word(&rng, job_models, &draw->arena);
        drawn.parts[CORPUS_MODEL] = part(draw, CORPUS_MODEL, model, NULL);
        drawn.parts[CORPUS_CLUSTER] =
            part(draw, CORPUS_CLUSTER, draw_cluster(draw, &rng, stack), NULL);
        drawn.parts[CORPUS_STACK] = part(draw, CORPUS_STACK, words_stack[stack], NULL);
        compose(draw, &drawn);
        drawn.plan.workload.mode = MODE_TRAIN;
        take(draw, &rng, &drawn.plan, job_choices, sizeof job_choices / sizeof *job_choices,
             100);
        settle_job(&drawn.plan);
        kept += keep(draw, &drawn);
    }
    printf("%s: %u jobs\n", words_stack[stack], kept);
}

/* ---- files ---- */

static void write_part(struct output *output, const char *kind, const char *name,
                       const char *keys)
{
    fprintf(output->file, "%s,%s,\"", kind, name);
    for (const char *c = keys; *c; c++)
        fprintf(output->file, *c == '"' ? "\"\"" : "%c", *c);
    fprintf(output->file, "\"\n");
}

static bool has_part(const struct csv *old, const struct part *part)
{
    for (size_t i = 0; old && i < old->n_rows; i++)
        if (text_equal(csv_cell(old, i, "kind"), corpus_kinds[part->kind]) &&
            text_equal(csv_cell(old, i, "name"), part->name))
            return true;
    return false;
}

/* Those of the file first, which stay as they are. */
static void write_parts(const struct draw *draw, const struct csv *old, struct output *output)
{
    fprintf(output->file, "kind,name,keys\n");
    for (size_t i = 0; old && i < old->n_rows; i++)
        write_part(output, csv_cell(old, i, "kind"), csv_cell(old, i, "name"),
                   csv_cell(old, i, "keys"));
    for (size_t i = 0; i < draw->n_parts; i++) {
        const struct part *part = draw->parts[i];
        struct arena arena = {0};
        struct text text = {.arena = &arena};
        corpus_print(part->kind, &part->plan, NULL, &text);
        if (!has_part(old, part))
            write_part(output, corpus_kinds[part->kind], part->name, text_string(&text));
        arena_release(&arena);
    }
}

static int compare_parts(const void *a, const void *b)
{
    const struct part *first = *(struct part *const *)a, *second = *(struct part *const *)b;
    int order = (int)first->kind - (int)second->kind;
    return order ? order : strcmp(first->name, second->name);
}

static void write_all(struct draw *draw, const struct csv *old, const char *plans)
{
    struct err err = {0};
    struct output output;
    qsort(draw->parts, draw->n_parts, sizeof *draw->parts, compare_parts);
    if (output_open(&output, CORPUS_FOLDER "parts.csv", &err) != STATUS_OK)
        fail(&err);
    write_parts(draw, old, &output);
    if (output_close(&output, &err) != STATUS_OK ||
        corpus_write(plans, draw->rows, draw->n_rows, &err) != STATUS_OK)
        fail(&err);
}

static void draw_all_jobs(struct draw *draw)
{
    static const enum stack_kind stacks[] = {STACK_GENERIC,   STACK_MAXTEXT, STACK_MEGATRON,
                                             STACK_PRIMUS,    STACK_FSDP,    STACK_DEEPSPEED,
                                             STACK_TORCHTITAN};
    struct csv old;
    struct err err = {0};
    if (corpus_parts(&draw->arena, &old, &err) != STATUS_OK)
        fail(&err);
    for (size_t i = 0; i < sizeof stacks / sizeof *stacks; i++)
        draw_jobs(draw, stacks[i]);
    write_all(draw, &old, CORPUS_FOLDER "jobs.csv");
}

static void draw_plans(struct draw *draw, int n, char **examples)
{
    for (int i = 0; i < n; i++)
        draw_example(draw, examples[i]);
    for (unsigned stack = 0; stack < STACK_COUNT; stack++)
        for (unsigned mode = 0; words_mode[mode]; mode++)
            for (unsigned path = 0; path < PATH_COUNT; path++)
                draw_cell(draw, (enum stack_kind)stack, (enum mode)mode, (enum moe_path)path);
    write_all(draw, NULL, CORPUS_FOLDER "plans.csv");
}

int main(int argc, char **argv)
{
    static struct draw draw;
    schema_defaults(&draw.base);
    draw.base.moe.routing.samples = 16;
    part(&draw, CORPUS_BASE, "base", &draw.base);
    if (argc == 2 && text_equal(argv[1], "--jobs"))
        draw_all_jobs(&draw);
    else
        draw_plans(&draw, argc - 1, argv + 1);
    printf("%zu plans of %zu parts\n", draw.n_rows, draw.n_parts);
    arena_release(&draw.arena);
    return 0;
}

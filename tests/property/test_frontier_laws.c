/* A point of frontier's sweep is the plan that --set of all its keys loads, to the byte: keys
 * that share a word of the plan, keys that others follow from, and what is set beside those. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "lib/frontier.h"
#include "plan/schema/schema.h"
#include "support/draws.h"

enum { DRAWS = 400, KEYS = 3, VALUES = 2 };

static const char *const plans[] = {
    "model: qwen3-235b-a22b\ncluster: h100-8x2\nstack: vllm\n"
    "workload: {mode: serve, concurrency: 32, input_length: 1024, output_length: 256}\n",
    "model: deepseek-v3\ncluster: h200-8x2\nstack: vllm\nparallel: {tp: 8}\n"
    "workload: {mode: decode, max_num_seqs: 64, context_length: 4096}\n",
    "model: deepseek-v3\ncluster: h200-8x2\nstack: sglang\nparallel: {tp: 16}\n"
    "workload: {mode: prefill}\n",
    "model: gpt-oss-120b\ncluster: b200-8x1\nstack: trtllm\n"
    "workload: {mode: decode, speculation: {tokens: 2}}\n",
    "model: qwen3-30b-a3b\ncluster: h100-8x2\nstack: megatron\nparallel: {ep: 8, tp: 2}\n",
    "model: deepseek-v3\ncluster: h200-8x4\nstack: fsdp\nprecision: {recipe: mxfp8}\n",
    "model: qwen3-next-80b-a3b\ncluster: h100-8x1\n",
};

/* Words that other keys follow from, and those that follow, more often than the rest. */
static const char *const followed[] = {"workload.mode",
                                       "parallel.tp",
                                       "parallel.pp",
                                       "parallel.ep",
                                       "parallel.etp",
                                       "parallel.sp",
                                       "parallel.cp",
                                       "cluster.nodes",
                                       "precision.weights",
                                       "precision.recipe",
                                       "precision.compute",
                                       "workload.max_num_seqs",
                                       "model",
                                       "stack",
                                       "workload.micro_batch"};

static const char *draw_key(struct rng *rng)
{
    size_t n;
    const struct field *fields = schema_fields(&n);
    size_t often = sizeof followed / sizeof *followed;
    return rng_below(rng, 2) ? followed[rng_below(rng, often)] : fields[rng_below(rng, n)].key;
}

static const char *draw_value(struct rng *rng, const char *key, struct arena *arena)
{
    static const char *const models[] = {"deepseek-v3", "gpt-oss-120b", "qwen3-30b-a3b"};
    static const char *const stacks[] = {"vllm", "sglang", "megatron", "fsdp", "generic"};
    static const char *const switches[] = {"false", "true"};
    const struct field *field = schema_find(key);
    if (strcmp(key, "model") == 0)
        return models[rng_below(rng, 3)];
    if (strcmp(key, "stack") == 0)
        return stacks[rng_below(rng, 5)];
    if (field->type == FIELD_BOOL)
        return switches[rng_below(rng, 2)];
    const char *const *words = field->type == FIELD_WORD ? schema_words(field) : NULL;
    size_t n = 0;
    while (words && words[n])
        n++;
    return n ? words[rng_below(rng, n)]
             : arena_printf(arena, "%u", 1U << (unsigned)rng_below(rng, 5));
}

struct drawn {
    const char *keys[KEYS], *values[KEYS][VALUES], *overs[KEYS];
    size_t n;
};

static void draw(struct rng *rng, struct arena *arena, struct drawn *out)
{
    out->n = 2 + rng_below(rng, KEYS - 1);
    for (size_t i = 0; i < out->n; i++) {
        bool again;
        do {
            again = false;
            out->keys[i] = draw_key(rng);
            for (size_t j = 0; j < i; j++)
                again = again || strcmp(out->keys[i], out->keys[j]) == 0;
        } while (again);
        for (size_t v = 0; v < VALUES; v++)
            out->values[i][v] = draw_value(rng, out->keys[i], arena);
        out->overs[i] =
            arena_printf(arena, "%s=%s,%s", out->keys[i], out->values[i][0], out->values[i][1]);
    }
}

/* The keys in which two plans differ. */
static const char *differing(const struct plan *a, const struct plan *b, struct arena *arena)
{
    size_t n;
    const struct field *fields = schema_fields(&n);
    const char *names = "";
    for (size_t i = 0; i < n; i++) {
        size_t at = fields[i].offset, size = fields[i].type == FIELD_BOOL ? 1 : 4;
        if (memcmp((const char *)a + at, (const char *)b + at, size) != 0)
            names = arena_printf(arena, "%s %s", names, fields[i].key);
    }
    return names;
}

static void check_point(const struct frontier *f, const char *text, const struct drawn *drawn,
                        uint64_t point, struct arena *arena)
{
    size_t indices[SWEEP_AXES] = {0};
    struct plan *swept = arena_alloc(arena, 1, sizeof *swept);
    struct plan *loaded = arena_alloc(arena, 1, sizeof *loaded);
    struct override sets[KEYS];
    struct shelf *shelf = f->shelf;
    struct err err = {0};
    sweep_indices(&f->sweep, point, indices);
    sweep_plan(&f->sweep, indices, swept);
    for (size_t i = 0; i < drawn->n; i++)
        sets[i] = (struct override){drawn->keys[i], drawn->values[i][indices[i]], "--set"};
    assert_int_equal(
        plan_load_unruled(f->file, f->root, sets, drawn->n, shelf, arena, loaded, &err),
        STATUS_OK);
    if (memcmp(swept, loaded, sizeof *swept) != 0)
        fail_msg("%s%s %s %s, point %llu: swept and set differ in%s", text, drawn->overs[0],
                 drawn->overs[1], drawn->n > 2 ? drawn->overs[2] : "",
                 (unsigned long long)point, differing(swept, loaded, arena));
}

/* Points checked; none where a value is refused. */
static uint64_t check_draw(uint64_t seed)
{
    struct arena arena = {0};
    struct rng rng;
    struct drawn drawn;
    struct err err = {0};
    struct job_result job;
    rng_init(&rng, draws_seed(seed), 91, 0, 0, 0);
    const char *text = plans[rng_below(&rng, sizeof plans / sizeof *plans)];
    draw(&rng, &arena, &drawn);
    struct request request = {.name = "drawn.yaml", .text = text, .length = strlen(text)};
    const struct frontier_axes axes = {.overs = drawn.overs, .n_overs = drawn.n};
    struct frontier *f = arena_alloc(&arena, 1, sizeof *f);
    uint64_t points = 0;
    if (frontier_axes_read(f, &axes, &arena, &err) == STATUS_OK &&
        request_read(&request, &arena, &job, &err) == STATUS_OK &&
        frontier_init(f, &request, &err) == STATUS_OK)
        for (; points < sweep_points(&f->sweep); points++)
            check_point(f, text, &drawn, points, &arena);
    arena_release(&arena);
    return points;
}

static void points_are_what_set_loads(void **state)
{
    (void)state;
    uint64_t points = 0;
    draws_print(DRAWS);
    for (uint64_t seed = 1; seed <= draws_of(DRAWS); seed++)
        points += check_draw(seed);
    print_message("%llu points\n", (unsigned long long)points);
    draws_reach("points", points, draws_of(DRAWS));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(points_are_what_set_loads)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

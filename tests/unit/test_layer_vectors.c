/* The worked examples of seed-systems.md A9, B2, B9 and C2, performed by the executor: maps,
 * counts and outputs, number by number. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "support/layer_case.h"
#include "work/layer/layer.h"
#include "work/rows/placement.h"

enum { MOST_RANKS = 8, MOST_VALUES = 64 };

/* ---- inputs of the examples: E_e(x) = (e + 1) x with H = I = 1 ---- */

struct example {
    const float *x, *gates; /* [R T]; [R T, K], NULL: 1 */
    uint64_t top_k;
};

static void example_row(const struct inputs *inputs, enum fill fill, uint64_t a, uint64_t row,
                        uint64_t c, uint64_t n, float *out)
{
    const struct example *example = inputs->context;
    float other = fill == FILL_W13 ? (float)(a + 1) : 1;
    (void)c;
    for (uint64_t i = 0; i < n; i++)
        out[i] = fill == FILL_X && example->x ? example->x[row] : other;
}

static float example_gate(const struct inputs *inputs, uint64_t token, uint64_t k)
{
    const struct example *example = inputs->context;
    return example->gates ? example->gates[token * example->top_k + k] : 1;
}

/* ---- what is kept of a step ---- */

struct kept {
    const char *name;
    uint64_t n[MOST_RANKS];
    double value[MOST_RANKS][MOST_VALUES];
};

struct keeper {
    struct kept *kept;
    size_t n;
};

static double element(const struct tensor *tensor, uint64_t i)
{
    if (tensor->dtype == DTYPE_I32)
        return tensor_i32(tensor)[i];
    if (tensor->dtype == DTYPE_I64)
        return (double)tensor_i64(tensor)[i];
    return (double)tensor_f32(tensor)[i];
}

/* Results are known by op and role: "pool:index" is the index that op pool writes. */
static enum status keep(void *context, const struct rank_state *rank, const struct op *op,
                        struct err *err)
{
    (void)err;
    struct keeper *keeper = context;
    for (size_t k = 0; k < keeper->n; k++) {
        struct kept *kept = &keeper->kept[k];
        size_t length = strcspn(kept->name, ":");
        if (strlen(op->name) != length || strncmp(op->name, kept->name, length) != 0)
            continue;
        const struct operand *operand = op_operands(rank->work, op);
        while (strcmp(role_name((enum role)operand->role), kept->name + length + 1) != 0)
            operand++;
        const struct tensor *t = &rank->tensors[operand->buffer];
        kept->n[rank->rank] = t->rows * t->width;
        for (uint64_t i = 0; i < t->rows * t->width && i < MOST_VALUES; i++)
            kept->value[rank->rank][i] = element(t, i);
    }
    return STATUS_OK;
}

static void expect(const struct kept *kept, uint64_t rank, const double *wanted, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        double error = kept->value[rank][i] - wanted[i];
        if (error > 2e-6 || error < -2e-6)
            fail_msg("%s of rank %d, value %d: got %g, wanted %g", kept->name, (int)rank,
                     (int)i, kept->value[rank][i], wanted[i]);
    }
}

#define EXPECT(kept, rank, ...)                                                                \
    expect(kept, rank, (const double[]){__VA_ARGS__},                                          \
           sizeof((const double[]){__VA_ARGS__}) / sizeof(double))

/* ---- plans and samples ---- */

static void example_plan(struct plan *plan, enum moe_path path, uint64_t ranks, uint64_t tokens,
                         uint64_t experts, uint64_t top_k)
{
    case_plan(plan, path, ranks);
    plan->model.hidden = plan->model.moe.intermediate = 1;
    plan->model.moe.glu = false;
    plan->model.moe.experts = experts;
    plan->model.moe.top_k = top_k;
    plan->workload.sequence_length = tokens;
    plan->moe.buffer = SIZING_EXACT;
}

static struct layer_sample example_sample(const struct plan *plan, const int32_t *ids,
                                          struct arena *arena)
{
    struct layer_sample sample = {.R = plan->parallel.ep,
                                  .T = plan->workload.sequence_length,
                                  .K = plan->model.moe.top_k,
                                  .logical = plan->model.moe.experts,
                                  .local = plan->model.moe.experts / plan->parallel.ep,
                                  .ids = ids};
    case_sample_contiguous(&sample, arena);
    return sample;
}

static void perform(const struct plan *plan, const struct layer_sample *sample,
                    const struct example *example, struct kernels *kernels,
                    struct keeper *keeper)
{
    struct inputs inputs = {.name = "example",
                            .context = example,
                            .row = example_row,
                            .gate = example_gate,
                            .linear = true};
    struct observer observer = {keeper, keep};
    struct err err = {0};
    if (case_step(plan, sample, &inputs, kernels, &observer, &err) != STATUS_OK)
        fail_msg("%s", err.text);
}

/* ---- A9 ---- */

static void rdep_example(void **state)
{
    (void)state;
    static const int32_t ids[] = {0, 2, 1, 3, 0, 3, 2, 3, 0, 1, 2, 0};
    static const float x[] = {1, 2, 3, 11, 12, 13};
    static const float gates[] = {0.75F, 0.25F, 0.5F, 0.5F, 0.6F, 0.4F,
                                  0.9F,  0.1F,  0.3F, 0.7F, 0.2F, 0.8F};
    struct kept kept[] = {{.name = "exchange_sends:dst"}, {.name = "dispatch_records:dst"},
                          {.name = "pool:offsets"},       {.name = "pool:sizes"},
                          {.name = "pool:index"},         {.name = "pool:place"},
                          {.name = "reduce_slots:dst"}};
    struct keeper keeper = {.kept = kept, .n = sizeof kept / sizeof *kept};
    struct arena arena = {0};
    struct plan plan;
    struct kernels kernels;
    example_plan(&plan, PATH_RDEP, 2, 3, 4, 2);
    plan.moe.alignment = 4;
    struct layer_sample sample = example_sample(&plan, ids, &arena);
    struct example example = {x, gates, 2};
    kernels_cpu(&kernels);
    perform(&plan, &sample, &example, &kernels, &keeper);

    EXPECT(&kept[0], 0, 3, 3); /* rows from each source */
    EXPECT(&kept[0], 1, 3, 3);
    static const double arrival[2][6] = {{0, 2, 4, 8, 9, 11}, {1, 3, 5, 6, 7, 10}};
    for (unsigned r = 0; r < 2; r++)
        for (unsigned i = 0; i < 6; i++)
            assert_true(kept[1].value[r][2 * i] == arrival[r][i]);
    EXPECT(&kept[2], 0, 0, 4, 8);
    EXPECT(&kept[2], 1, 0, 4, 8);
    EXPECT(&kept[3], 0, 4, 2);
    EXPECT(&kept[3], 1, 3, 3);
    EXPECT(&kept[4], 0, 0, 2, 3, 5, 1, 4, -1, -1); /* sorted row -> arrival */
    EXPECT(&kept[4], 1, 0, 3, 5, -1, 1, 2, 4, -1);
    EXPECT(&kept[5], 0, 0, 4, 1, 2, 5, 3); /* arrival -> padded row */
    EXPECT(&kept[6], 0, 1.5, 6.0, 6.6);
    EXPECT(&kept[6], 1, 34.1, 20.4, 18.2);
    assert_int_equal(kept[4].n[0], 8); /* M_pad */
    assert_int_equal(kept[4].n[1], 8);
    arena_release(&arena);
}

/* ---- B2 ---- */

static void blockwise_examples(void **state)
{
    (void)state;
    static const float x[] = {1, 2, 3, 4, 5, 6};
    static const int32_t first[] = {0, 1, 0, 2, 0, 1}, second[] = {0, 1, 0, 2, 1, 0};
    for (unsigned i = 0; i < 2; i++) {
        struct kept kept[] = {{.name = "blocks:expert"},
                              {.name = "blocks:index"},
                              {.name = "blocks:conditions"},
                              {.name = "reduce_routed_out:dst"}};
        struct keeper keeper = {.kept = kept, .n = sizeof kept / sizeof *kept};
        struct arena arena = {0};
        struct plan plan;
        struct kernels kernels;
        example_plan(&plan, PATH_BLOCKWISE, 1, 6, 3, 1);
        plan.moe.block_size = i == 0 ? 2 : 4;
        struct layer_sample sample = example_sample(&plan, i == 0 ? first : second, &arena);
        struct example example = {x, NULL, 1};
        kernels_cpu(&kernels);
        perform(&plan, &sample, &example, &kernels, &keeper);
        if (i == 0) {
            EXPECT(&kept[0], 0, 0, 0, 1, 2);
            EXPECT(&kept[1], 0, 0, 2, 4, -1, 1, 5, 3, -1);
            assert_int_equal(kept[0].n[0], 4);
        } else {
            EXPECT(&kept[0], 0, 0, 1, 2);
            EXPECT(&kept[1], 0, 0, 2, 5, -1, 1, 4, -1, -1, 3, -1, -1, -1);
            EXPECT(&kept[2], 0, 1, 1, 1);
            EXPECT(&kept[3], 0, 1, 4, 3, 12, 10, 6);
            assert_int_equal(kept[0].n[0], 3);
        }
        arena_release(&arena);
    }
}

/* ---- C2 ---- */

/* The tokens of every round, kept by a kernel that stands before the real one. */
struct rounds {
    int32_t token[2][4][2]; /* [rank][round][expert], -1: padding */
    unsigned n;
};

static struct rounds seen;

static enum status keep_chunk(struct call *call, uint64_t unit, void *scratch, struct err *err)
{
    struct kernels kernels;
    kernels_cpu(&kernels);
    TRY(kernels.table[KERNEL_CHUNK].run(call, unit, scratch, err));
    memcpy(seen.token[call->rank][call->iteration], call->of[ROLE_INDEX].data,
           2 * sizeof(int32_t));
    if (call->iteration + 1 > seen.n)
        seen.n = (unsigned)call->iteration + 1;
    return STATUS_OK;
}

static void chunked_example(void **state)
{
    (void)state;
    static const int32_t ids[] = {0, 0, 1, 1, 0, 1};
    static const float x[] = {1, 2, 3, 4, 5, 6};
    struct kept kept[] = {{.name = "rounds:dst"}, {.name = "combine:dst"}};
    struct keeper keeper = {.kept = kept, .n = 2};
    struct arena arena = {0};
    struct plan plan;
    struct kernels kernels;
    example_plan(&plan, PATH_CHUNKED_A2A, 2, 3, 2, 1);
    plan.moe.chunk = 1;
    struct layer_sample sample = example_sample(&plan, ids, &arena);
    struct example example = {x, NULL, 1};
    kernels_cpu(&kernels);
    kernels.table[KERNEL_CHUNK].run = keep_chunk;
    memset(&seen, 0, sizeof seen);
    perform(&plan, &sample, &example, &kernels, &keeper);
    static const int32_t wanted[2][2][2] = {{{0, 2}, {1, -1}}, {{1, 0}, {-1, 2}}};
    assert_int_equal(seen.n, 2);
    for (unsigned rank = 0; rank < 2; rank++)
        for (unsigned round = 0; round < 2; round++)
            for (unsigned expert = 0; expert < 2; expert++)
                assert_int_equal(seen.token[rank][round][expert], wanted[rank][round][expert]);
    EXPECT(&kept[0], 0, 2);
    EXPECT(&kept[1], 0, 1, 2, 6); /* (e + 1) x */
    EXPECT(&kept[1], 1, 8, 5, 12);
    arena_release(&arena);
}

/* ---- B9 ---- */

static const double eplb_weight[] = {90, 132, 40, 61, 104, 165, 39, 4, 73, 56, 183, 86};

/* Every rank routes as many tokens to an expert as its weight says. */
static int32_t *eplb_ids(uint64_t ranks, uint64_t *tokens, struct arena *arena)
{
    uint64_t n = 0;
    for (unsigned e = 0; e < 12; e++)
        n += (uint64_t)eplb_weight[e];
    int32_t *ids = arena_alloc(arena, ranks * n, sizeof *ids), *at = ids;
    for (uint64_t r = 0; r < ranks; r++)
        for (int32_t e = 0; e < 12; e++)
            for (uint64_t i = 0; i < (uint64_t)eplb_weight[e]; i++)
                *at++ = e;
    *tokens = n;
    return ids;
}

static struct layer_sample replicated_sample(const struct expert_map *map, const int32_t *ids,
                                             uint64_t tokens, struct arena *arena)
{
    struct layer_sample s = {.R = map->ranks,
                             .T = tokens,
                             .K = 1,
                             .logical = map->experts,
                             .local = map->most_local,
                             .ids = ids};
    int32_t *start = arena_alloc(arena, s.logical + 1, sizeof *start);
    int32_t *replica = arena_alloc(arena, map->replicas, sizeof *replica);
    for (uint64_t e = 0; e < s.logical; e++)
        start[e + 1] = start[e] + (int32_t)map->count[e];
    for (uint64_t i = 0; i < map->replicas; i++) {
        uint32_t p = map->replica[i];
        replica[i] = (int32_t)(map->rank[p] * s.local + map->local[p]);
    }
    s.start = start;
    s.replica = replica;
    layer_sample_route(&s, arena);
    return s;
}

static void eplb_example(void **state)
{
    (void)state;
    static const uint32_t phy2log[] = {5, 6, 5, 7, 8, 4, 3, 4, 10, 9, 10, 2, 0, 1, 11, 1};
    static const double load[] = {121.5, 86.5, 125, 113, 147.5, 131.5, 156, 152};
    struct arena arena = {0};
    struct err err = {0};
    struct expert_map map;
    struct placement_ask ask = {.kind = PLACEMENT_EPLB,
                                .experts = 12,
                                .ranks = 8,
                                .redundant = 4,
                                .groups = 4,
                                .nodes = 2,
                                .weight = eplb_weight};
    assert_int_equal(placement_make(&ask, &arena, &map, &err), STATUS_OK);
    for (unsigned p = 0; p < 16; p++)
        assert_int_equal(map.expert[p], phy2log[p]);
    uint64_t tokens;
    const int32_t *ids = eplb_ids(8, &tokens, &arena);
    struct layer_sample sample = replicated_sample(&map, ids, tokens, &arena);
    struct plan plan;
    example_plan(&plan, PATH_RAGGED_A2A, 8, tokens, 12, 1);
    plan.moe.redundant_experts = 4;
    struct kept kept[] = {{.name = "group:sizes"}, {.name = "combine:dst"}};
    struct keeper keeper = {.kept = kept, .n = 2};
    struct example example = {NULL, NULL, 1};
    struct kernels kernels;
    kernels_cpu(&kernels);
    perform(&plan, &sample, &example, &kernels, &keeper);
    for (unsigned r = 0; r < 8; r++) {
        uint64_t rows = 0, wanted = 0;
        for (uint64_t p = 0; p < map.replicas; p++) {
            if (map.rank[p] != r)
                continue;
            uint64_t e = map.expert[p], first = map.first[e], j = 0;
            while (map.replica[first + j] != p)
                j++;
            wanted += 8 * placement_share((uint64_t)eplb_weight[e], map.count[e], j);
        }
        for (uint64_t i = 0; i < kept[0].n[r]; i++)
            rows += (uint64_t)kept[0].value[r][i];
        assert_int_equal(rows, wanted);
        /* an odd row of each source goes to the first replica: half a row of each, twice */
        assert_true((double)rows >= 8 * (load[r] - 1) && (double)rows <= 8 * (load[r] + 1));
    }
    for (uint64_t t = 0; t < MOST_VALUES; t++) /* x = 1: the output names the expert */
        assert_true(kept[1].value[3][t] == ids[t] + 1);
    arena_release(&arena);
}

/* ---- B1: slots of an expert ---- */

static void capacity_rounds_up(void **state)
{
    (void)state;
    static const struct {
        uint64_t tokens, top_k, experts;
        double factor;
        uint64_t slots;
    } cases[] = {{6, 1, 3, 1, 2},
                 {1000, 2, 8, 1.25, 313},
                 {7, 1, 10, 1.5, 2}, /* 10.5 rows: one slot each would hold 10 */
                 {1, 2, 8, 0.1, 1},
                 {4, 2, 2, 8, 4}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena arena = {0};
        struct plan plan;
        struct work work;
        struct slots slots;
        struct err err = {0};
        example_plan(&plan, PATH_CAPACITY, 1, cases[i].tokens, cases[i].experts,
                     cases[i].top_k);
        plan.moe.capacity_factor = cases[i].factor;
        assert_int_equal(layer_build(&plan, false, &arena, &work, &err), STATUS_OK);
        int32_t *ids = arena_alloc(&arena, cases[i].tokens * cases[i].top_k, sizeof *ids);
        struct layer_sample sample = example_sample(&plan, ids, &arena);
        layer_sample_plan_slots(&plan, &sample, 0, 1, &slots);
        uint64_t *values = arena_alloc(&arena, work.sizes.n, sizeof *values);
        assert_true(sizes_eval(&work.sizes, &slots, values));
        for (size_t op = 0; op < work.n_ops; op++)
            if (work.ops[op].kernel == KERNEL_SLOTS)
                assert_int_equal(values[work.ops[op].args.slots.capacity.size.node],
                                 cases[i].slots);
        arena_release(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(capacity_rounds_up), cmocka_unit_test(rdep_example),
        cmocka_unit_test(blockwise_examples), cmocka_unit_test(chunked_example),
        cmocka_unit_test(eplb_example),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

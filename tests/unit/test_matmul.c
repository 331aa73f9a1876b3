/* Collective matmuls performed on local ranks: the worked numbers of seed-systems.md C3 through
 * the executor, results, bytes and memory of every block by every algorithm, what is refused.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "exec/verify/verify_matmul.h"
#include "plan/schema/schema.h"
#include "sim/moe/collective.h"
#include "support/layer_case.h"
#include "work/piece/matmul.h"

/* ---- p = 4, rank i holds [10 i, 10 i + 1, 10 i + 2, 10 i + 3] ---- */

enum { RANKS = 4, STEPS = 3 };

/* The arrays as every addition leaves them. */
struct trace {
    float after[STEPS][RANKS][RANKS];
    float result[RANKS];
    const struct plan *plan;
};

/* One token of ones; row i of the matrix is what rank i holds. */
static void traced_row(const struct inputs *inputs, enum fill fill, uint64_t a, uint64_t row,
                       uint64_t c, uint64_t n, float *out)
{
    (void)inputs;
    (void)a;
    for (uint64_t i = 0; i < n; i++)
        out[i] = fill == FILL_X ? 1 : (float)(10 * row + c + i);
}

static enum status traced_add(struct call *call, uint64_t unit, void *scratch, struct err *err)
{
    struct kernels kernels;
    struct trace *trace = (struct trace *)(uintptr_t)call->task->inputs->context;
    kernels_cpu(&kernels);
    TRY(kernels.table[KERNEL_ADD_CHUNKS].run(call, unit, scratch, err));
    memcpy(trace->after[call->iteration][call->rank], call->of[ROLE_DST].data,
           sizeof trace->after[0][0]);
    return STATUS_OK;
}

static enum status keep_result(void *context, const struct rank_state *rank,
                               const struct op *op, struct err *err)
{
    (void)err;
    struct trace *trace = context;
    struct matmul_part part;
    if (op->kernel == KERNEL_RESULT && matmul_part_of(trace->plan, rank, op, 0, &part))
        trace->result[rank->rank] = tensor_f32(&part.view)[0];
    return STATUS_OK;
}

static void perform_traced(enum collective collective, struct trace *trace)
{
    struct plan plan;
    struct err err = {0};
    struct kernels kernels;
    *trace = (struct trace){.plan = &plan};
    struct inputs inputs = {.name = "traced", .context = trace, .row = traced_row};
    case_matmul(&plan, BLOCK_REDUCE_SCATTER_MATMUL, collective, RANKS);
    plan.model.hidden = plan.model.dense_intermediate = RANKS;
    plan.workload.sequence_length = 1;
    kernels_cpu(&kernels);
    kernels.table[KERNEL_ADD_CHUNKS].run = traced_add;
    struct observer observer = {trace, keep_result};
    if (case_step(&plan, NULL, &inputs, &kernels, &observer, &err) != STATUS_OK)
        fail_msg("%s", err.text);
}

/* Chunks of a rank that an addition has just changed, or all that it still works on. */
struct state {
    uint64_t step, rank, chunk;
    float value;
};

static void hold(const struct trace *trace, const struct state *states, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct state *s = &states[i];
        float got = trace->after[s->step][s->rank][s->chunk];
        if (got < s->value || got > s->value)
            fail_msg("step %d, rank %d, chunk %d: %g, expected %g", (int)s->step, (int)s->rank,
                     (int)s->chunk, (double)got, (double)s->value);
    }
    static const float sums[RANKS] = {60, 64, 68, 72};
    assert_memory_equal(trace->result, sums, sizeof sums);
}

static void halving_of_four_ranks(void **state)
{
    (void)state;
    static const struct state first[] = {
        {0, 0, 0, 20}, {0, 0, 1, 22}, {0, 1, 0, 40}, {0, 1, 1, 42},
        {0, 2, 2, 24}, {0, 2, 3, 26}, {0, 3, 2, 44}, {0, 3, 3, 46},
    };
    struct trace trace;
    perform_traced(COLLECTIVE_HALVING, &trace);
    hold(&trace, first, sizeof first / sizeof *first);
}

/* By hand from the schedule. Step 0: rank i gets chunk i - 2 of rank i - 1: on rank 0 chunk 2
 * is 2 + 32, on 1 chunk 3 is 13 + 3, on 2 chunk 0 is 20 + 10, on 3 chunk 1 is 31 + 21. Step 1
 * carries these on: rank 0 has chunk 1 of rank 3 and its own 1, and so on. */
static void ring_of_four_ranks(void **state)
{
    (void)state;
    static const struct state states[] = {
        {0, 0, 2, 34}, {0, 1, 3, 16}, {0, 2, 0, 30}, {0, 3, 1, 52},
        {1, 0, 1, 53}, {1, 1, 2, 46}, {1, 2, 3, 39}, {1, 3, 0, 60},
        {2, 0, 0, 60}, {2, 1, 1, 64}, {2, 2, 2, 68}, {2, 3, 3, 72},
    };
    struct trace trace;
    perform_traced(COLLECTIVE_RING, &trace);
    hold(&trace, states, sizeof states / sizeof *states);
}

static void builtin_of_four_ranks(void **state)
{
    (void)state;
    struct trace trace;
    perform_traced(COLLECTIVE_BUILTIN, &trace);
    hold(&trace, NULL, 0);
}

/* ---- every block by every algorithm ---- */

static const char *case_name(const struct plan *plan, char *text, size_t size)
{
    snprintf(text, size, "%s, %s, %" PRIu64 " ranks, %s", words_block[plan->block.kind],
             words_collective[plan->block.collective], plan->parallel.tp,
             words_dtype[plan->precision.activations]);
    return text;
}

static void perform(const struct plan *plan, struct case_result *result)
{
    char name[96];
    struct err err = {0};
    const struct case_options options = {0};
    if (case_run(plan, NULL, &options, result, &err) != STATUS_OK)
        fail_msg("%s: %s", case_name(plan, name, sizeof name), err.text);
    for (unsigned i = 0; i < result->checks.n; i++)
        if (!result->checks.check[i].passed)
            fail_msg("%s: %s: error %g, tolerance %g, %s", case_name(plan, name, sizeof name),
                     result->checks.check[i].name, result->checks.check[i].error,
                     result->checks.check[i].tolerance, result->checks.check[i].detail);
    assert_int_equal(result->checks.n, 2);
    if (!result->counts_equal)
        fail_msg("%s: %s", case_name(plan, name, sizeof name), result->mismatch);
    if (result->metered_bytes != result->predicted_bytes)
        fail_msg("%s: %" PRIu64 " bytes metered, %" PRIu64 " predicted",
                 case_name(plan, name, sizeof name), result->metered_bytes,
                 result->predicted_bytes);
}

static void for_every_case(void (*check)(const struct plan *plan))
{
    static const enum dtype formats[] = {DTYPE_F32, DTYPE_BF16};
    static const uint64_t ranks[] = {1, 2, 3, 4, 8, 12, 16};
    for (unsigned kind = BLOCK_ALLREDUCE_MATMUL; kind <= BLOCK_MLP; kind++)
        for (unsigned how = COLLECTIVE_BUILTIN; how <= COLLECTIVE_HALVING; how++)
            for (size_t r = 0; r < sizeof ranks / sizeof *ranks; r++)
                for (unsigned f = 0; f < 2; f++) {
                    struct plan plan;
                    case_matmul(&plan, (enum block_kind)kind, (enum collective)how, ranks[r]);
                    plan.precision.activations = plan.precision.weights = formats[f];
                    if (how != COLLECTIVE_HALVING || (ranks[r] & (ranks[r] - 1)) == 0)
                        check(&plan);
                }
}

static void check_results(const struct plan *plan)
{
    struct case_result result;
    perform(plan, &result);
}

static void results_bytes_and_memory(void **state)
{
    (void)state;
    for_every_case(check_results);
}

/* One rank has nobody to exchange with: the same list whatever the algorithm. */
static void one_rank_has_one_list(void **state)
{
    (void)state;
    for (unsigned kind = BLOCK_ALLREDUCE_MATMUL; kind <= BLOCK_MLP; kind++)
        for (unsigned how = COLLECTIVE_BUILTIN; how <= COLLECTIVE_HALVING; how++) {
            struct arena arena = {0};
            struct plan plan;
            struct work ring, other;
            struct err err = {0};
            case_matmul(&plan, (enum block_kind)kind, COLLECTIVE_RING, 1);
            assert_int_equal(matmul_build(&plan, &arena, &ring, &err), STATUS_OK);
            plan.block.collective = (enum collective)how;
            assert_int_equal(matmul_build(&plan, &arena, &other, &err), STATUS_OK);
            assert_int_equal(other.n_buffers, ring.n_buffers);
            assert_int_equal(other.n_ops, ring.n_ops);
            for (size_t i = 0; i < ring.n_ops; i++)
                assert_string_equal(other.ops[i].name, ring.ops[i].name);
            arena_release(&arena);
        }
}

/* One tile, and the kernels in plain C that the fast ones are held against. */
static void serial_and_plain(void **state)
{
    (void)state;
    struct plan plan;
    struct kernels reference;
    struct case_result result;
    struct err err = {0};
    case_matmul(&plan, BLOCK_ALLREDUCE_MATMUL, COLLECTIVE_HALVING, RANKS);
    plan.block.tiles = 1;
    perform(&plan, &result);
    kernels_cpu(&reference);
    const struct case_options options = {.kernels = &reference, .plain_c = true};
    for (unsigned kind = BLOCK_ALLREDUCE_MATMUL; kind <= BLOCK_MLP; kind++) {
        case_matmul(&plan, (enum block_kind)kind, COLLECTIVE_RING, RANKS);
        assert_int_equal(case_run(&plan, NULL, &options, &result, &err), STATUS_OK);
        assert_true(checks_passed(&result.checks));
    }
}

/* JX-5: what the list says, which the executor counts, is the closed form (p - 1)/p V. */
static void check_closed_form(const struct plan *plan)
{
    struct arena arena = {0};
    struct work work;
    struct slots slots;
    struct err err = {0};
    struct collective_block block;
    assert_int_equal(matmul_build(plan, &arena, &work, &err), STATUS_OK);
    matmul_plan_slots(plan, 1, &slots);
    uint64_t *values = arena_alloc(&arena, work.sizes.n, sizeof *values), sent = 0, flop = 0;
    assert_true(sizes_eval(&work.sizes, &slots, values));
    for (size_t op = 0; op < work.n_ops; op++) {
        sent += values[work.ops[op].bytes_sent.node];
        flop += values[work.ops[op].flop.node];
    }
    assert_true(collective_block_of(plan, matmul_tiles(plan), &block));
    assert_int_equal(sent, (uint64_t)(block.bytes_sent + 0.5));
    assert_int_equal(flop, (uint64_t)block.flop);
    arena_release(&arena);
}

static void bytes_are_the_closed_forms(void **state)
{
    (void)state;
    for_every_case(check_closed_form);
}

/* ---- JX-4, JX-6 ---- */

/* Sums of the integers are the same bits whoever adds first; those of random numbers are not.
 */
struct kept {
    const struct plan *plan;
    float values[RANKS * 10 * 96];
    uint64_t n;
};

static enum status keep_parts(void *context, const struct rank_state *rank, const struct op *op,
                              struct err *err)
{
    (void)err;
    struct kept *kept = context;
    struct matmul_part part;
    for (uint64_t i = 0;
         op->kernel == KERNEL_RESULT && matmul_part_of(kept->plan, rank, op, i, &part); i++) {
        uint64_t n = part.view.rows * part.view.width;
        memcpy(kept->values + kept->n, part.view.data, n * sizeof(float));
        kept->n += n;
    }
    return STATUS_OK;
}

static void whole_row(const struct inputs *inputs, enum fill fill, uint64_t a, uint64_t row,
                      uint64_t c, uint64_t n, float *out)
{
    (void)inputs;
    (void)a;
    for (uint64_t i = 0; i < n; i++)
        out[i] = (float)((row * 7 + (c + i) * 5 + (fill == FILL_X ? 3 : 0)) % 11) - 5;
}

static void perform_kept(enum block_kind kind, enum collective collective, struct kept *kept)
{
    struct plan plan;
    struct err err = {0};
    struct kernels kernels;
    struct inputs inputs = {.name = "whole", .row = whole_row, .linear = true};
    case_matmul(&plan, kind, collective, RANKS);
    kernels_cpu(&kernels);
    *kept = (struct kept){.plan = &plan};
    struct observer observer = {kept, keep_parts};
    if (case_step(&plan, NULL, &inputs, &kernels, &observer, &err) != STATUS_OK)
        fail_msg("%s", err.text);
}

static void algorithms_agree_to_the_bit(void **state)
{
    (void)state;
    static struct kept one, other;
    for (unsigned kind = BLOCK_ALLREDUCE_MATMUL; kind <= BLOCK_MLP; kind++) {
        perform_kept((enum block_kind)kind, COLLECTIVE_BUILTIN, &one);
        for (unsigned how = COLLECTIVE_RING; how <= COLLECTIVE_HALVING; how++) {
            perform_kept((enum block_kind)kind, (enum collective)how, &other);
            assert_int_equal(one.n, other.n);
            assert_memory_equal(one.values, other.values, one.n * sizeof(float));
        }
    }
}

/* The product that every rank has after an all-reduce is made of the parts that the ranks have
 * after a reduce-scatter of the same product: x[T, H] w[H, F] with the roles of H and F turned
 * round. */
static void an_allreduce_is_a_reduce_scatter_gathered(void **state)
{
    (void)state;
    static struct kept all, parts;
    for (unsigned how = COLLECTIVE_BUILTIN; how <= COLLECTIVE_HALVING; how++) {
        struct plan plan;
        struct err err = {0};
        struct kernels kernels;
        struct inputs inputs = {.name = "whole", .row = whole_row};
        perform_kept(BLOCK_ALLREDUCE_MATMUL, (enum collective)how, &all);
        case_matmul(&plan, BLOCK_REDUCE_SCATTER_MATMUL, (enum collective)how, RANKS);
        plan.model.hidden = 96;
        plan.model.dense_intermediate = 48;
        kernels_cpu(&kernels);
        parts = (struct kept){.plan = &plan};
        struct observer observer = {&parts, keep_parts};
        assert_int_equal(case_step(&plan, NULL, &inputs, &kernels, &observer, &err), STATUS_OK);
        uint64_t T = 10, F = 96, each = F / RANKS, wide = F / MATMUL_TILES;
        for (uint64_t rank = 0; rank < RANKS; rank++)
            for (uint64_t t = 0; t < T; t++)
                for (uint64_t c = 0; c < F; c++) {
                    float whole = all.values[((rank * MATMUL_TILES + c / wide) * T + t) * wide +
                                             c % wide];
                    float part = parts.values[(c / each * T + t) * each + c % each];
                    assert_true(whole <= part && whole >= part);
                }
    }
}

/* ---- what is refused ---- */

static void refused(struct plan *plan, const char *text)
{
    struct arena arena = {0};
    struct work work;
    struct err err = {0};
    assert_int_equal(matmul_build(plan, &arena, &work, &err), STATUS_INPUT);
    assert_non_null(strstr(err.text, text));
    assert_true(err.hint[0] != '\0');
    arena_release(&arena);
}

static void what_the_host_cannot_do_is_named(void **state)
{
    (void)state;
    struct plan plan;
    case_matmul(&plan, BLOCK_MLP, COLLECTIVE_RING, 4);
    plan.precision.weights = DTYPE_FP8_BLOCK;
    refused(&plan, "f32, bf16 or f16");
    case_matmul(&plan, BLOCK_MLP, COLLECTIVE_RING, 4);
    plan.parallel.pp = 2;
    refused(&plan, "no pipeline");
    case_matmul(&plan, BLOCK_MLP, COLLECTIVE_RING, 1024);
    refused(&plan, "at most 512 ranks");
}

static void one_rank_alone_is_refused(void **state)
{
    (void)state;
    struct plan plan;
    struct session session;
    struct case_result result;
    struct err err = {0};
    const struct case_options options = {0};
    const struct session_options alone = {
        .transport = TRANSPORT_SHARE, .ranks = RANKS, .rank = 1, .workers = 1};
    case_matmul(&plan, BLOCK_MLP, COLLECTIVE_RING, RANKS);
    assert_int_equal(session_open(&session, &alone, &err), STATUS_OK);
    assert_int_equal(case_run_in(&session, &plan, NULL, &options, &result, &err), STATUS_INPUT);
    assert_non_null(strstr(err.text, "one rank alone"));
    session_close(&session);
}

static void tiles_divide_a_ranks_columns(void **state)
{
    (void)state;
    struct plan plan;
    static const uint64_t cases[][4] = {{96, 4, 8, 8}, {96, 16, 8, 6}, {28, 4, 8, 7},
                                        {13, 1, 8, 1}, {96, 4, 1, 1},  {96, 4, 7, 6}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        case_matmul(&plan, BLOCK_ALLREDUCE_MATMUL, COLLECTIVE_RING, cases[i][1]);
        plan.model.dense_intermediate = cases[i][0];
        plan.block.tiles = cases[i][2];
        assert_int_equal(matmul_tiles(&plan), cases[i][3]);
    }
}

/* ---- what runs beside what ---- */

static size_t op_named(const struct work *work, const char *name)
{
    size_t i = 0;
    while (i < work->n_ops && strcmp(work->ops[i].name, name) != 0)
        i++;
    if (i == work->n_ops)
        fail_msg("no op \"%s\"", name);
    return i;
}

/* An exchange that is started, then a product, then the op that needs what arrives. */
static void product_between(const struct work *work, const char *exchange, const char *product,
                            const char *next)
{
    size_t begin = op_named(work, exchange);
    assert_true(work->ops[begin].ahead);
    assert_true(begin < op_named(work, product));
    assert_true(op_named(work, product) < op_named(work, next));
}

static void exchanges_run_beside_products(void **state)
{
    (void)state;
    static const struct {
        enum collective collective;
        const char *reduce, *reduced, *gather, *gathered;
    } cases[] = {
        {COLLECTIVE_BUILTIN, "scatter_tile_1", "sum_tile_1", "gather_tile_0", "end_tile_0"},
        {COLLECTIVE_RING, "begin_tile_1", "add_tile_1", "gather_tile_0", "spread_tile_0"},
        {COLLECTIVE_HALVING, "begin_tile_1", "add_tile_1", "gather_tile_0", "spread_tile_0"},
    };
    struct arena arena = {0};
    struct plan plan;
    struct work work;
    struct err err = {0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        case_matmul(&plan, BLOCK_ALLREDUCE_MATMUL, cases[i].collective, RANKS);
        assert_int_equal(matmul_build(&plan, &arena, &work, &err), STATUS_OK);
        product_between(&work, cases[i].reduce, "product_2", cases[i].reduced);
        product_between(&work, cases[i].gather, "product_2", cases[i].gathered);
    }
    case_matmul(&plan, BLOCK_ALLGATHER_MATMUL, COLLECTIVE_RING, RANKS);
    assert_int_equal(matmul_build(&plan, &arena, &work, &err), STATUS_OK);
    const struct op *pass = &work.ops[op_named(&work, "pass_x")];
    assert_true(pass->ahead);
    assert_int_equal(pass->loop, work.ops[op_named(&work, "project_in")].loop);
    arena_release(&arena);
}

/* ---- wrong kernels ---- */

static enum status nothing(struct call *call, uint64_t unit, void *scratch, struct err *err)
{
    (void)call;
    (void)unit;
    (void)scratch;
    (void)err;
    return STATUS_OK;
}

/* The right kernel on rank `call->rank + 1`'s part. */
static enum status of_another_rank(struct call *call, uint64_t unit, void *scratch,
                                   struct err *err)
{
    struct kernels kernels;
    struct call other = *call;
    kernels_cpu(&kernels);
    other.rank = (call->rank + 1) % RANKS;
    return kernels.table[call->op->kernel].run(&other, unit, scratch, err);
}

static void every_fault_is_caught(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        enum block_kind block;
        enum collective collective;
        enum kernel kernel;
        enum status (*run)(struct call *call, uint64_t unit, void *scratch, struct err *err);
    } faults[] = {
        {"nothing added", BLOCK_REDUCE_SCATTER_MATMUL, COLLECTIVE_RING, KERNEL_ADD_CHUNKS,
         nothing},
        {"added to another's chunk", BLOCK_ALLREDUCE_MATMUL, COLLECTIVE_RING, KERNEL_ADD_CHUNKS,
         of_another_rank},
        {"added to the half that was sent", BLOCK_MLP, COLLECTIVE_HALVING, KERNEL_ADD_CHUNKS,
         of_another_rank},
        {"another chunk's matrix", BLOCK_ALLGATHER_MATMUL, COLLECTIVE_RING, KERNEL_CHUNK_GEMM,
         of_another_rank},
        {"no product", BLOCK_ALLGATHER_MATMUL, COLLECTIVE_RING, KERNEL_CHUNK_GEMM, nothing},
        {"another rank's weights", BLOCK_MLP, COLLECTIVE_BUILTIN, KERNEL_SHARD,
         of_another_rank},
        {"no GeLU", BLOCK_MLP, COLLECTIVE_BUILTIN, KERNEL_ACTIVATION, nothing},
        {"gathered tokens not in rows", BLOCK_MLP, COLLECTIVE_RING, KERNEL_SWAP, nothing},
    };
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        struct plan plan;
        struct kernels kernels;
        struct case_result result;
        struct err err = {0};
        case_matmul(&plan, faults[i].block, faults[i].collective, RANKS);
        kernels_cpu(&kernels);
        kernels.table[faults[i].kernel].run = faults[i].run;
        struct case_options options = {.kernels = &kernels};
        if (case_run(&plan, NULL, &options, &result, &err) == STATUS_OK &&
            checks_passed(&result.checks))
            fail_msg("not caught: %s", faults[i].name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(halving_of_four_ranks),
        cmocka_unit_test(ring_of_four_ranks),
        cmocka_unit_test(builtin_of_four_ranks),
        cmocka_unit_test(results_bytes_and_memory),
        cmocka_unit_test(one_rank_has_one_list),
        cmocka_unit_test(serial_and_plain),
        cmocka_unit_test(bytes_are_the_closed_forms),
        cmocka_unit_test(algorithms_agree_to_the_bit),
        cmocka_unit_test(an_allreduce_is_a_reduce_scatter_gathered),
        cmocka_unit_test(what_the_host_cannot_do_is_named),
        cmocka_unit_test(one_rank_alone_is_refused),
        cmocka_unit_test(tiles_divide_a_ranks_columns),
        cmocka_unit_test(exchanges_run_beside_products),
        cmocka_unit_test(every_fault_is_caught),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Grouped products of the executor beside one big product of as many FLOP, through the same
 * BLAS on the same workers, in turns: 2,048 tokens, top-6 of 64 experts, 2048 x 1408,
 * f32, balanced and skewed (Zipf 1). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"
#include "support/layer_case.h"
#include "work/layer/layer.h"
#include "work/rows/rows.h"

enum { STEPS = 9, TOKENS = 2048, EXPERTS = 64, TOP_K = 6, HIDDEN = 2048, INTER = 1408 };

static void make_plan(struct plan *plan, double alpha)
{
    case_plan(plan, PATH_RAGGED_A2A, 1);
    plan->workload.sequence_length = TOKENS;
    plan->model.hidden = HIDDEN;
    plan->model.moe.experts = EXPERTS;
    plan->model.moe.top_k = TOP_K;
    plan->model.moe.intermediate = INTER;
    plan->moe.buffer = SIZING_EXACT;
    plan->moe.routing.distribution = DISTRIBUTION_ZIPF;
    plan->moe.routing.alpha = alpha;
}

static enum status sample_routing(const struct plan *plan, struct arena *arena,
                                  struct layer_sample *sample, struct err *err)
{
    struct rows_spec spec;
    struct rows rows;
    struct rows_scratch scratch;
    int32_t *ids = arena_alloc(arena, TOKENS * TOP_K, sizeof *ids);
    rows_spec_from_plan(plan, NULL, &spec);
    TRY(rows_prepare(&spec, arena, &rows, err));
    rows_scratch_init(&rows, arena, &scratch);
    rows_sample_tokens(&rows, 0, 0, 0, TOKENS, &scratch, ids);
    *sample = (struct layer_sample){
        .R = 1, .T = TOKENS, .K = TOP_K, .logical = EXPERTS, .local = EXPERTS, .ids = ids};
    case_sample_contiguous(sample, arena);
    return STATUS_OK;
}

/* ---- one big product: [T K, H] x [H, 2 I], in row parts over the workers ---- */

struct big {
    const struct blas *blas;
    float *a, *b, *c;
    unsigned parts;
};

static void big_part(void *arg, size_t part, unsigned worker)
{
    (void)worker;
    const struct big *big = arg;
    size_t rows = TOKENS * TOP_K / big->parts, first = part * rows;
    struct gemm gemm = {.m = (int)rows,
                        .n = 2 * INTER,
                        .k = HIDDEN,
                        .a = big->a + first * HIDDEN,
                        .lda = HIDDEN,
                        .b = big->b,
                        .ldb = 2 * INTER,
                        .c = big->c + first * 2 * INTER,
                        .ldc = 2 * INTER};
    blas_gemm(big->blas, &gemm);
}

static float *filled(size_t n)
{
    float *values = malloc(n * sizeof *values);
    for (size_t i = 0; values && i < n; i++)
        values[i] = (float)(i % 7) - 3;
    return values;
}

static void open_big(struct big *big, const struct session *session)
{
    *big = (struct big){.blas = &session->blas,
                        .a = filled((size_t)TOKENS * TOP_K * HIDDEN),
                        .b = filled((size_t)HIDDEN * 2 * INTER),
                        .c = filled((size_t)TOKENS * TOP_K * 2 * INTER),
                        .parts = pool_size(session->pool)};
}

static void close_big(struct big *big)
{
    free(big->a);
    free(big->b);
    free(big->c);
}

static double time_big(struct big *big, struct session *session)
{
    double begin = bench_now_s();
    if (big->a && big->b && big->c)
        pool_run(session->pool, big->parts, big_part, big);
    return bench_now_s() - begin;
}

/* ---- the executor's op of the same name ---- */

static size_t op_named(const struct work *work, const char *name)
{
    size_t i = 0;
    while (i + 1 < work->n_ops && strcmp(work->ops[i].name, name) != 0)
        i++;
    return i;
}

static enum status take_turns(struct execution *x, const struct inputs *inputs,
                              struct arena *arena, double grouped_s[STEPS], double big_s[STEPS],
                              struct err *err)
{
    struct big big;
    double *seconds = arena_alloc(arena, x->work->n_ops, sizeof *seconds);
    enum status status = execution_begin(x, inputs, err);
    open_big(&big, x->session);
    time_big(&big, x->session);
    for (unsigned i = 0; status == STATUS_OK && i < STEPS; i++) {
        big_s[i] = time_big(&big, x->session);
        status = execution_step(x, NULL, seconds, err);
        grouped_s[i] = seconds[op_named(x->work, "gate_up")];
    }
    close_big(&big);
    execution_end(x);
    return status;
}

static enum status compare(struct bench *bench, struct session *session, double alpha,
                           struct arena *arena, struct err *err)
{
    static const double flop = 2.0 * TOKENS * TOP_K * HIDDEN * 2 * INTER;
    struct plan plan;
    struct layer_sample sample;
    struct work work;
    struct slots slots;
    struct kernels kernels;
    struct execution x;
    struct inputs inputs;
    struct inputs_shape shape = {.hidden = HIDDEN, .routed = HIDDEN, .inter = INTER};
    double grouped_s[STEPS], big_s[STEPS];
    char name[64];
    make_plan(&plan, alpha);
    TRY(sample_routing(&plan, arena, &sample, err));
    TRY(layer_build(&plan, false, arena, &work, err));
    layer_sample_plan_slots(&plan, &sample, 0, pool_size(session->pool), &slots);
    kernels_cpu(&kernels);
    struct execution_setup setup = {&work,    &plan,   &sample,    &slots,
                                    &kernels, session, BACKEND_CPU};
    TRY(execution_init(&x, &setup, arena, err));
    TRY(session_setup(session, case_largest_exchange(&x), err));
    inputs_random(&inputs, &shape, 1);
    TRY(take_turns(&x, &inputs, arena, grouped_s, big_s, err));
    double ratio = bench_ratio(big_s, grouped_s, STEPS);
    snprintf(name, sizeof name, "one big product, Zipf %g beside it", alpha);
    bench_row(bench, name, flop / bench_median(big_s, STEPS) * 1e-9, "GFLOP/s", BENCH_SHOWN, 0);
    snprintf(name, sizeof name, "grouped product, Zipf %g", alpha);
    bench_row(bench, name, 100 * ratio, "% of it", BENCH_AT_LEAST, 60);
    return STATUS_OK;
}

int main(void)
{
    struct bench bench = {0};
    struct session session;
    struct session_options options = {.ranks = 1};
    struct err err = {0};
    enum status status = session_open(&session, &options, &err);
    for (unsigned zipf = 0; status == STATUS_OK && zipf < 2; zipf++) {
        struct arena arena = {0};
        status = compare(&bench, &session, zipf, &arena, &err);
        arena_release(&arena);
    }
    session_close(&session);
    if (status != STATUS_OK)
        err_print(&err, stderr);
    return status == STATUS_OK ? bench_status(&bench) : 1;
}

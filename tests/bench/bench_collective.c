/* Collective matmuls beside plain products of as many FLOP, through the same BLAS on the same
 * workers, in turns in the same run: 512 tokens, 1024 x 4096, f32. Without an argument on 4
 * local ranks; `mpirun -np N bench_collective_mpi N` on N processes. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/bench.h"
#include "exec/verify/inputs_matmul.h"
#include "plan/schema/schema.h"
#include "support/layer_case.h"
#include "work/piece/matmul.h"

enum { SAMPLES = 15, TOKENS = 512, HIDDEN = 1024, INTER = 4096, LOCAL_RANKS = 4, CASES = 12 };

/* ---- a plain product of a process's FLOP, in row parts over its workers ---- */

struct plain {
    struct session *session;
    uint64_t rows, depth, parts;
    float *a, *b, *c;
};

static void plain_part(void *arg, size_t part, unsigned worker)
{
    (void)worker;
    const struct plain *p = arg;
    uint64_t rows = p->rows / p->parts, first = part * rows;
    struct gemm gemm = {.m = (int)rows,
                        .n = HIDDEN,
                        .k = (int)p->depth,
                        .a = p->a + first * p->depth,
                        .lda = (int)p->depth,
                        .b = p->b,
                        .ldb = HIDDEN,
                        .c = p->c + first * HIDDEN,
                        .ldc = HIDDEN};
    blas_gemm(&p->session->blas, &gemm);
}

static float *filled(uint64_t n, struct arena *arena)
{
    float *values = arena_alloc(arena, n, sizeof *values);
    for (uint64_t i = 0; i < n; i++)
        values[i] = (float)(i % 7) - 3;
    return values;
}

static void make_plain(struct plain *p, struct session *session, struct arena *arena)
{
    const struct transport *t = session->transport;
    *p = (struct plain){.session = session,
                        .rows = t->n_local * TOKENS,
                        .depth = INTER / t->n_ranks,
                        .parts = pool_size(session->pool)};
    p->a = filled(p->rows * p->depth, arena);
    p->b = filled(p->depth * HIDDEN, arena);
    p->c = filled(p->rows * HIDDEN, arena);
}

static enum status time_plain(struct plain *p, double *seconds, struct err *err)
{
    struct transport *t = p->session->transport;
    TRY(t->ops->agree(t, STATUS_OK, err));
    double begin = bench_now_s();
    pool_run(p->session->pool, p->parts, plain_part, p);
    *seconds = bench_now_s() - begin;
    return t->ops->max(t, seconds, 1, err);
}

/* ---- a block ---- */

static const struct {
    enum block_kind kind;
    enum collective collective;
    uint64_t tiles;
    const char *name;
} cases[CASES] = {
    {BLOCK_REDUCE_SCATTER_MATMUL, COLLECTIVE_BUILTIN, 1, "reduce-scatter matmul, all-to-all"},
    {BLOCK_REDUCE_SCATTER_MATMUL, COLLECTIVE_RING, 1, "reduce-scatter matmul, ring"},
    {BLOCK_REDUCE_SCATTER_MATMUL, COLLECTIVE_HALVING, 1, "reduce-scatter matmul, halving"},
    {BLOCK_ALLGATHER_MATMUL, COLLECTIVE_BUILTIN, 1, "all-gather, then product"},
    {BLOCK_ALLGATHER_MATMUL, COLLECTIVE_HALVING, 1, "doubling gather, then product"},
    {BLOCK_ALLGATHER_MATMUL, COLLECTIVE_RING, 1, "product of chunks passed on"},
    {BLOCK_ALLREDUCE_MATMUL, COLLECTIVE_BUILTIN, 1, "all-reduce matmul, all-to-all"},
    {BLOCK_ALLREDUCE_MATMUL, COLLECTIVE_BUILTIN, 8, "all-reduce matmul, all-to-all, 8 tiles"},
    {BLOCK_ALLREDUCE_MATMUL, COLLECTIVE_RING, 1, "all-reduce matmul, ring"},
    {BLOCK_ALLREDUCE_MATMUL, COLLECTIVE_RING, 8, "all-reduce matmul, ring, 8 tiles"},
    {BLOCK_ALLREDUCE_MATMUL, COLLECTIVE_HALVING, 1, "all-reduce matmul, halving"},
    {BLOCK_ALLREDUCE_MATMUL, COLLECTIVE_HALVING, 8, "all-reduce matmul, halving, 8 tiles"},
};

struct performed {
    struct plan plan;
    struct work work;
    struct inputs_matmul context;
    struct inputs inputs;
    struct execution x;
    double samples[SAMPLES];
};

static enum status make_block(struct performed *b, unsigned number,
                              const struct kernels *kernels, struct session *session,
                              struct arena *arena, struct err *err)
{
    uint64_t n = session->transport->n_local;
    case_matmul(&b->plan, cases[number].kind, cases[number].collective,
                session->transport->n_ranks);
    b->plan.block.tiles = cases[number].tiles;
    b->plan.workload.sequence_length = TOKENS;
    b->plan.model.hidden = HIDDEN;
    b->plan.model.dense_intermediate = INTER;
    TRY(matmul_build(&b->plan, arena, &b->work, err));
    struct slots *slots = arena_alloc(arena, n, sizeof *slots);
    for (uint64_t i = 0; i < n; i++)
        matmul_plan_slots(&b->plan, pool_size(session->pool), &slots[i]);
    struct execution_setup setup = {&b->work, &b->plan, NULL,       slots,
                                    kernels,  session,  BACKEND_CPU};
    TRY(execution_init(&b->x, &setup, arena, err));
    inputs_matmul_random(&b->inputs, &b->context, &b->plan, 1);
    return execution_begin(&b->x, &b->inputs, err);
}

/* The slowest rank's step, without making the tokens. */
static enum status time_block(struct performed *b, double *seconds, double *ops,
                              struct err *err)
{
    struct transport *t = b->x.session->transport;
    TRY(t->ops->agree(t, STATUS_OK, err));
    TRY(execution_step(&b->x, NULL, ops, err));
    *seconds = 0;
    for (size_t op = 0; op < b->work.n_ops; op++)
        if (b->work.ops[op].kernel != KERNEL_SHARD)
            *seconds += ops[op];
    return t->ops->max(t, seconds, 1, err);
}

/* ---- the table ---- */

static enum status measure_all(struct session *session, struct performed *blocks,
                               struct bench *bench, struct arena *arena, struct err *err)
{
    struct plain plain;
    struct kernels kernels;
    double samples[SAMPLES], *ops = arena_alloc(arena, 1 << 12, sizeof *ops);
    kernels_cpu(&kernels);
    make_plain(&plain, session, arena);
    TRY(session_setup(session, (uint64_t)TOKENS * INTER * 8, err));
    for (unsigned i = 0; i < CASES; i++)
        TRY(make_block(&blocks[i], i, &kernels, session, arena, err));
    for (unsigned s = 0; s < SAMPLES; s++) {
        TRY(time_plain(&plain, &samples[s], err));
        for (unsigned i = 0; i < CASES; i++)
            TRY(time_block(&blocks[i], &blocks[i].samples[s], ops, err));
    }
    double plain_s = bench_median(samples, SAMPLES);
    for (unsigned i = 0; session->transport->first == 0 && i <= CASES; i++) {
        if (i == 0)
            bench_row(bench, "plain product", plain_s * 1e3, "ms", BENCH_SHOWN, 0);
        else
            bench_row(bench, cases[i - 1].name,
                      bench_median(blocks[i - 1].samples, SAMPLES) / plain_s, "x plain",
                      BENCH_SHOWN, 0);
    }
    return STATUS_OK;
}

int main(int argc, char **argv)
{
    struct bench bench = {0};
    struct arena arena = {0};
    struct session session;
    struct err err = {0};
    char *end = NULL;
    struct session_options options = {.ranks = LOCAL_RANKS};
    struct performed *blocks = arena_alloc(&arena, CASES, sizeof *blocks);
    if (argc > 1)
        options = (struct session_options){
            .transport = TRANSPORT_MPI, .ranks = strtoul(argv[1], &end, 10), .workers = 1};
    enum status status = session_open(&session, &options, &err);
    if (status == STATUS_OK)
        status = measure_all(&session, blocks, &bench, &arena, &err);
    for (unsigned i = 0; i < CASES; i++)
        if (blocks[i].x.work)
            execution_end(&blocks[i].x);
    session_close(&session);
    arena_release(&arena);
    if (status != STATUS_OK)
        err_print(&err, stderr);
    return status == STATUS_OK ? bench_status(&bench) : 1;
}

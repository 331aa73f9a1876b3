/* See layer_case.h. */
#include "support/layer_case.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "exec/verify/verify_matmul.h"
#include "plan/derive.h"
#include "plan/schema/schema.h"
#include "work/layer/layer.h"
#include "work/piece/matmul.h"

const enum moe_path case_paths[CASE_PATHS] = {
    PATH_CAPACITY,    PATH_RAGGED_DOT,  PATH_RAGGED_A2A, PATH_DEEPEP,      PATH_DEEPEP_LL,
    PATH_RDEP,        PATH_BLOCKWISE,   PATH_SELECTIVE,  PATH_ALL_EXPERTS, PATH_MASKED,
    PATH_EXPERT_LOOP, PATH_CHUNKED_A2A, PATH_ALLGATHER,  PATH_BLOCK_SPARSE};

void case_bf16(struct plan *plan)
{
    plan->precision.weights = plan->precision.activations = DTYPE_BF16;
    plan->precision.dispatch = plan->precision.combine = DTYPE_BF16;
    plan->precision.gradients = DTYPE_BF16;
}

void case_fp8_dispatch(struct plan *plan)
{
    case_bf16(plan);
    plan->precision.dispatch = DTYPE_FP8_BLOCK;
}

void case_mxfp8_dispatch(struct plan *plan)
{
    case_bf16(plan);
    plan->precision.dispatch = DTYPE_MXFP8;
}

void case_expect(const struct case_result *result, const char *name)
{
    for (unsigned i = 0; i < result->checks.n; i++) {
        const struct check *check = &result->checks.check[i];
        if (check->passed)
            continue;
        fprintf(stderr, "%s\n", name); /* longer than cmocka's messages may be */
        fail_msg("%s: error %g, tolerance %g: %s", check->name, check->error, check->tolerance,
                 check->detail);
    }
    if (result->checks.n == 0)
        fail_msg("%s: nothing was checked", name);
    if (!result->counts_equal)
        fail_msg("%s: %s", name, result->mismatch);
    if (result->metered_bytes != result->predicted_bytes)
        fail_msg("%s: metered %llu bytes, predicted %llu", name,
                 (unsigned long long)result->metered_bytes,
                 (unsigned long long)result->predicted_bytes);
}

const char *case_routing_name(enum case_routing routing)
{
    static const char *const names[] = {"uniform", "zipf 1", "one rank", "empty experts"};
    return names[routing];
}

void case_plan(struct plan *plan, enum moe_path path, uint64_t ranks)
{
    schema_defaults(plan);
    plan->stack.kind = STACK_HOST;
    plan->model.layers = 1;
    plan->model.hidden = 16;
    plan->model.vocab = 16;
    plan->model.attention.heads = 1;
    plan->model.moe.experts = 8;
    plan->model.moe.top_k = 2;
    plan->model.moe.intermediate = 12;
    plan->cluster.nodes = 1;
    plan->cluster.node.devices = ranks;
    plan->cluster.device.logical_cores = 1;
    plan->parallel.ep = ranks;
    plan->workload.micro_batch = 1;
    plan->workload.sequence_length = 24 / ranks;
    plan->moe.path = path;
    plan->moe.block_size = 4;
    plan->moe.chunk = 2;
    plan->moe.alignment = 4;
    enum dtype *formats[] = {&plan->precision.weights, &plan->precision.gradients,
                             &plan->precision.activations, &plan->precision.dispatch,
                             &plan->precision.combine};
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        *formats[i] = DTYPE_F32;
}

void case_matmul(struct plan *plan, enum block_kind kind, enum collective collective,
                 uint64_t ranks)
{
    case_plan(plan, PATH_AUTO, 1);
    plan->model.dense_layers = 1;
    plan->model.hidden = 48;
    plan->model.dense_intermediate = 96;
    plan->cluster.node.devices = ranks;
    plan->parallel.tp = ranks;
    plan->workload.sequence_length = 10;
    plan->block.kind = kind;
    plan->block.collective = collective;
}

/* A number below n, from a counter. */
static uint64_t pick(uint64_t *state, uint64_t n)
{
    *state = *state * 6364136223846793005U + 1442695040888963407U;
    return (*state >> 33) % n;
}

static int32_t draw(enum case_routing routing, uint64_t experts, uint64_t *state)
{
    if (routing == CASE_ONE_RANK) /* the last eighth, with luck; distinctness fills up */
        return (int32_t)(experts - 1 - pick(state, experts / 4));
    if (routing == CASE_EMPTY)
        return (int32_t)(pick(state, experts / 2) * 2);
    if (routing == CASE_ZIPF)
        for (uint64_t e = 0; e + 1 < experts; e++)
            if (pick(state, 3) == 0)
                return (int32_t)e;
    return (int32_t)pick(state, experts);
}

static bool taken(const int32_t *ids, uint64_t k, int32_t id)
{
    for (uint64_t i = 0; i < k; i++)
        if (ids[i] == id)
            return true;
    return false;
}

void case_sample_contiguous(struct layer_sample *s, struct arena *arena)
{
    int32_t *start = arena_alloc(arena, s->logical + 1, sizeof *start);
    int32_t *replica = arena_alloc(arena, s->R * s->local, sizeof *replica);
    for (uint64_t i = 0; i <= s->logical; i++)
        start[i] = (int32_t)i;
    for (uint64_t i = 0; i < s->logical; i++)
        replica[i] = (int32_t)i;
    s->start = start;
    s->replica = replica;
    layer_sample_route(s, arena);
}

void case_sample(const struct plan *plan, enum case_routing routing, struct arena *arena,
                 struct layer_sample *sample)
{
    *sample = (struct layer_sample){.R = plan->parallel.ep,
                                    .T = plan_tokens(plan),
                                    .K = plan->model.moe.top_k,
                                    .logical = plan->model.moe.experts,
                                    .local = plan_local_experts(plan)};
    uint64_t n = sample->R * sample->T, K = sample->K, state = 7 + routing;
    int32_t *ids = arena_alloc(arena, n * K, sizeof *ids);
    for (uint64_t i = 0; i < n * K; i++) {
        do
            ids[i] = draw(routing, sample->logical, &state);
        while (taken(ids + i / K * K, i % K, ids[i]));
    }
    sample->ids = ids;
    case_sample_contiguous(sample, arena);
}

/* Counts of every rank and op against the list's. */
static void compare_counts(const struct execution *x, struct case_result *result)
{
    result->counts_equal = true;
    for (uint64_t i = 0; i < x->n_ranks; i++) {
        for (size_t op = 0; op < x->work->n_ops; op++) {
            const struct op *o = &x->work->ops[op];
            const uint64_t *v = x->ranks[i].values;
            const struct op_counts *c = &x->ranks[i].counts[op];
            if (c->flop == v[o->flop.node] && c->sent == v[o->bytes_sent.node] &&
                c->received == v[o->bytes_received.node])
                continue;
            if (result->counts_equal)
                snprintf(result->mismatch, sizeof result->mismatch,
                         "op %s rank %llu: flop %llu/%llu sent %llu/%llu received %llu/%llu",
                         o->name, (unsigned long long)x->ranks[i].rank,
                         (unsigned long long)c->flop, (unsigned long long)v[o->flop.node],
                         (unsigned long long)c->sent, (unsigned long long)v[o->bytes_sent.node],
                         (unsigned long long)c->received,
                         (unsigned long long)v[o->bytes_received.node]);
            result->counts_equal = false;
        }
    }
}

/* The peak over ops of what all ranks hold, from the lifetimes alone. */
static uint64_t predicted_peak(const struct execution *x)
{
    uint64_t peak = 0;
    for (size_t op = 0; op < x->work->n_ops; op++) {
        uint64_t bytes = 0;
        for (size_t b = 0; b < x->work->n_buffers; b++) {
            const struct buffer *buffer = &x->work->buffers[b];
            bool alive =
                buffer->life == LIFE_PERSISTENT || (buffer->first <= op && op <= buffer->last);
            uint64_t n = buffer->segment == SEGMENT_STEP ? 1 : x->n_ranks;
            for (uint64_t i = 0; alive && i < n; i++)
                bytes += x->ranks[i].values[buffer->bytes.node] *
                         x->ranks[i].values[buffer->count.node];
        }
        peak = bytes > peak ? bytes : peak;
    }
    return peak;
}

/* More than any case exchanges: set-up is the same for all cases of a process. */
static const uint64_t exchange_room_bytes = 1 << 20;

/* The list of the plan's layer or matmul, and the slots of this process's ranks. */
static enum status build(const struct plan *plan, const struct layer_sample *sample,
                         bool backward, const struct session *session, struct arena *arena,
                         struct work *work, struct slots **slots, struct err *err)
{
    uint64_t first = session->transport->first, n = session->transport->n_local;
    *slots = arena_alloc(arena, n, sizeof **slots);
    if (!sample)
        TRY(matmul_build(plan, arena, work, err));
    else
        TRY(layer_build(plan, backward, arena, work, err));
    for (uint64_t r = 0; r < n; r++) {
        if (!sample)
            matmul_plan_slots(plan, pool_size(session->pool), &(*slots)[r]);
        else
            layer_sample_plan_slots(plan, sample, first + r, pool_size(session->pool),
                                    &(*slots)[r]);
    }
    return STATUS_OK;
}

static enum status run(const struct plan *plan, const struct layer_sample *sample,
                       const struct case_options *options, struct session *session,
                       struct arena *arena, struct case_result *result, struct err *err)
{
    struct work work;
    struct slots *slots;
    TRY(build(plan, sample, options->backward, session, arena, &work, &slots, err));
    struct execution_setup setup = {.work = &work,
                                    .plan = plan,
                                    .sample = sample,
                                    .slots = slots,
                                    .kernels = options->kernels,
                                    .session = session};
    struct execution x;
    TRY(execution_init(&x, &setup, arena, err));
    TRY(session_setup(session, exchange_room_bytes, err));
    struct verify_options verify = {.seed = 1, .budget_flop = options->budget_flop};
    if (sample)
        TRY(verify_run(&x, &verify, arena, &result->checks, err));
    else
        TRY(verify_matmul(&x, &verify, arena, &result->checks, err));
    result->out_hash = result->checks.out_hash;
    result->metered_bytes = x.meter.peak_bytes;
    result->predicted_bytes = predicted_peak(&x);
    compare_counts(&x, result);
    run_loads_compare(&x, &result->checks);
    run_loads_count(&x, &result->loads);
    const struct rank_state *kept = &x.ranks[options->alone ? 0 : options->rank];
    for (size_t op = 0; options->counts && op < work.n_ops && op < options->n_counts; op++)
        options->counts[op] = kept->counts[op];
    return STATUS_OK;
}

static uint64_t ranks_of(const struct plan *plan, const struct layer_sample *sample)
{
    return sample ? sample->R : plan->parallel.tp;
}

/* A process runs hundreds of cases: its library stays open between their sessions. */
static void keep_blas(void)
{
    static struct blas kept;
    struct err err = {0};
    if (!kept.library)
        (void)blas_open(&kept, &err); /* where there is none, sessions do without, too */
}

enum status case_run_in(struct session *session, const struct plan *plan,
                        const struct layer_sample *sample, const struct case_options *options,
                        struct case_result *result, struct err *err)
{
    memset(result, 0, sizeof *result);
    struct arena arena = {0};
    enum status status = run(plan, sample, options, session, &arena, result, err);
    arena_release(&arena);
    return status;
}

enum status case_run(const struct plan *plan, const struct layer_sample *sample,
                     const struct case_options *options, struct case_result *result,
                     struct err *err)
{
    memset(result, 0, sizeof *result);
    struct session session;
    struct session_options open = {.ranks = ranks_of(plan, sample),
                                   .workers = options->workers ? options->workers : 2,
                                   .plain_c = options->plain_c,
                                   .transport =
                                       options->alone ? TRANSPORT_SHARE : TRANSPORT_LOCAL,
                                   .rank = options->rank};
    if (!options->plain_c)
        keep_blas();
    enum status status = session_open(&session, &open, err);
    if (status == STATUS_OK)
        status = case_run_in(&session, plan, sample, options, result, err);
    session_close(&session);
    return status;
}

uint64_t case_largest_exchange(const struct execution *x)
{
    uint64_t most = 0;
    for (uint64_t i = 0; i < x->n_ranks; i++) {
        for (size_t op = 0; op < x->work->n_ops; op++) {
            uint64_t sent = x->ranks[i].values[x->work->ops[op].bytes_sent.node];
            most = sent > most ? sent : most;
        }
    }
    return most;
}

static enum status step(const struct plan *plan, const struct layer_sample *sample,
                        const struct inputs *inputs, const struct kernels *kernels,
                        const struct observer *observer, struct session *session,
                        struct arena *arena, struct err *err)
{
    struct work work;
    struct slots *slots;
    TRY(build(plan, sample, false, session, arena, &work, &slots, err));
    struct execution_setup setup = {.work = &work,
                                    .plan = plan,
                                    .sample = sample,
                                    .slots = slots,
                                    .kernels = kernels,
                                    .session = session};
    struct execution x;
    TRY(execution_init(&x, &setup, arena, err));
    TRY(session_setup(session, case_largest_exchange(&x), err));
    enum status status = execution_begin(&x, inputs, err);
    if (status == STATUS_OK)
        status = execution_step(&x, observer, NULL, err);
    execution_end(&x);
    return status;
}

enum status case_step(const struct plan *plan, const struct layer_sample *sample,
                      const struct inputs *inputs, const struct kernels *kernels,
                      const struct observer *observer, struct err *err)
{
    struct session session;
    struct session_options open = {
        .ranks = ranks_of(plan, sample), .workers = 1, .plain_c = true};
    struct arena arena = {0};
    enum status status = session_open(&session, &open, err);
    if (status == STATUS_OK)
        status = step(plan, sample, inputs, kernels, observer, &session, &arena, err);
    session_close(&session);
    arena_release(&arena);
    return status;
}

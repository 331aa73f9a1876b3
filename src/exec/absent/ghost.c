/* Metadata of absent ranks: the ordinary kernels on the ids of each, as far as they follow from
 * the routing sample alone; see absent.h.
 *
 * A ghost is an absent rank with the buffers that its share of the metadata is made of. Its
 * experts per token are the sample's, its gates made up; nothing it receives is ever needed. */
#include <assert.h>
#include <pthread.h>
#include <string.h>

#include "exec/absent/parts.h"
#include "exec/execute_op.h"

/* ---- what must be performed ---- */

struct needs {
    bool *ops, *buffers;
    uint16_t phys, gates; /* made by the router: given */
};

static const struct op *find(const struct work *work, enum kernel kernel)
{
    for (size_t i = 0; i < work->n_ops; i++)
        if (work->ops[i].kernel == kernel)
            return &work->ops[i];
    assert(0 && "a layer has a router");
    return NULL;
}

static void need(struct needs *needs, uint16_t buffer)
{
    if (buffer != WORK_NONE)
        needs->buffers[buffer] = true;
}

static bool makes_needed(const struct needs *needs, const struct work *work,
                         const struct op *op)
{
    const struct operand *operands = op_operands(work, op);
    for (unsigned i = 0; i < op->n_operands; i++)
        if (operands[i].written && needs->buffers[operands[i].buffer] &&
            operands[i].buffer != needs->phys && operands[i].buffer != needs->gates)
            return true;
    return false;
}

/* The gates that rows carry: a token's own, or as factors of experts scaled them. */
static uint16_t final_gates(const struct work *work)
{
    for (size_t i = 0; i < work->n_ops; i++)
        if (work->ops[i].kernel == KERNEL_SCALE_GATES)
            return op_buffer(work, &work->ops[i], ROLE_DST);
    return op_buffer(work, find(work, KERNEL_TOPK), ROLE_GATES);
}

/* From the last op to the first: what an exchange sends, and what that is made of. */
static void find_needs(const struct work *work, const struct absent *absent,
                       struct needs *needs)
{
    needs->phys = op_buffer(work, find(work, KERNEL_PLACE), ROLE_PHYS);
    needs->gates = final_gates(work);
    for (size_t i = work->n_ops; i-- > 0;) {
        const struct op *op = &work->ops[i];
        const struct absent_exchange *e = &absent->exchanges[i];
        if (e->kind == ABSENT_COPY)
            need(needs, op_buffer(work, op, ROLE_SRC));
        if (e->kind == ABSENT_COPY && op->kernel == KERNEL_EXCHANGE)
            need(needs, op_buffer(work, op, ROLE_SENDS));
        if (e->kind == ABSENT_MANY || e->kind == ABSENT_MARKED)
            need(needs, e->map);
        if (!makes_needed(needs, work, op))
            continue;
        assert(e->kind == ABSENT_NONE && "metadata that is received decides what is sent");
        needs->ops[i] = true;
        for (unsigned j = 0; j < op->n_operands; j++)
            need(needs, op_operands(work, op)[j].buffer);
    }
    need(needs, needs->phys);
    need(needs, needs->gates);
}

/* ---- a ghost ---- */

struct ghost {
    struct execution *x;
    struct absent *absent;
    const struct needs *needs;
    const struct kernels *kernels;
    struct rank_state rank;
    struct arena own; /* its buffers */
    void *scratch;
};

static void fill_router(struct ghost *g)
{
    const struct layer_sample *s = g->x->task.sample;
    struct tensor *gates = &g->rank.tensors[g->needs->gates];
    memcpy(g->rank.tensors[g->needs->phys].data, s->phys + g->rank.rank * s->T * s->K,
           s->T * s->K * sizeof *s->phys);
    inputs_absent(g->x->task.inputs, ABSENT_GATES, g->rank.rank, gates->rows * gates->width,
                  gates->data);
}

static enum status begin_ghost(struct ghost *g, uint64_t number, struct err *err)
{
    const struct execution *x = g->x;
    struct slots slots;
    layer_sample_plan_slots(x->task.plan, x->task.sample, number, pool_size(x->session->pool),
                            &slots);
    TRY(execution_rank_init(x->work, &slots, number, &g->own, &g->rank, err));
    for (size_t b = 0; b < x->work->n_buffers; b++) {
        struct tensor *tensor = &g->rank.tensors[b];
        if (g->needs->buffers[b])
            tensor->data = arena_alloc(&g->own, tensor->copies, tensor->bytes);
    }
    fill_router(g);
    return STATUS_OK;
}

static enum status run_kernel(struct ghost *g, const struct op *op, uint64_t iteration,
                              struct err *err)
{
    const struct kernel_ops *kernel = &g->kernels->table[op->kernel];
    struct call call;
    execute_prepare(&g->x->task, op, &g->rank, iteration, &call);
    uint64_t units = kernel->units ? kernel->units(&call) : 1;
    for (uint64_t unit = 0; unit < units; unit++)
        TRY(kernel->run(&call, unit, g->scratch, err));
    return STATUS_OK;
}

/* ---- what it sends to the one rank ---- */

static unsigned char *keep(struct ghost *g, uint64_t n, struct absent_part *part)
{
    unsigned char *bytes = arena_alloc(&g->absent->ghosts[g->rank.rank], n + 1, 1);
    *part = (struct absent_part){.known = true, .n = n, .bytes = bytes};
    return bytes;
}

static void keep_bytes(struct ghost *g, const struct call *call, struct absent_part *part)
{
    uint64_t ranks = g->absent->n_ranks, self = g->absent->rank, row_bytes;
    uint64_t n = call->of[ROLE_SRC].bytes, at = 0;
    if (call->op->kernel == KERNEL_EXCHANGE_FIXED) {
        n /= ranks;
        at = self * n;
    }
    if (call->op->kernel == KERNEL_EXCHANGE) {
        row_bytes = tensor_row_bytes(&call->of[ROLE_DST]);
        for (uint64_t to = 0; to < self; to++)
            at += (uint64_t)tensor_i64(&call->of[ROLE_SENDS])[to] * row_bytes;
        n = (uint64_t)tensor_i64(&call->of[ROLE_SENDS])[self] * row_bytes;
    }
    memcpy(keep(g, n, part), (const char *)call->of[ROLE_SRC].data + at, n);
}

static void keep_marks(struct ghost *g, const struct tensor *map, struct absent_part *part)
{
    uint64_t n = map->rows / g->absent->n_ranks;
    unsigned char *marks = keep(g, n, part);
    for (uint64_t i = 0; i < n; i++)
        marks[i] = tensor_i32(map)[g->absent->rank * n + i] >= 0;
}

static void keep_sent(struct ghost *g, size_t number, uint64_t iteration)
{
    const struct absent_exchange *e = &g->absent->exchanges[number];
    struct absent_part *part = absent_part(g->absent, number, iteration, g->rank.rank);
    struct call call;
    struct tensor map = {0};
    execute_prepare(&g->x->task, &g->x->work->ops[number], &g->rank, iteration, &call);
    if (e->map != WORK_NONE)
        map = execute_tensor(&g->rank, e->map, iteration);
    if (e->kind == ABSENT_COPY)
        keep_bytes(g, &call, part);
    else if (e->kind == ABSENT_MARKED)
        keep_marks(g, &map, part);
    else if (e->map != WORK_NONE && call.op->kernel == KERNEL_EXCHANGE)
        *part = (struct absent_part){.known = true,
                                     .n = (uint64_t)tensor_i64(&map)[g->absent->rank]};
}

/* ---- all of it ---- */

static enum status run_iteration(struct ghost *g, size_t first, size_t end, uint64_t iteration,
                                 struct err *err)
{
    for (size_t op = first; op < end; op++) {
        if (g->needs->ops[op])
            TRY(run_kernel(g, &g->x->work->ops[op], iteration, err));
        if (g->absent->exchanges[op].kind != ABSENT_NONE)
            keep_sent(g, op, iteration);
    }
    return STATUS_OK;
}

static bool is_idle(const struct ghost *g, size_t first, size_t end)
{
    for (size_t op = first; op < end; op++)
        if (g->needs->ops[op] || g->absent->exchanges[op].kind != ABSENT_NONE)
            return false;
    return true;
}

/* Loops that exchange anything have the same trips on every rank. */
static enum status run_ghost(struct ghost *g, struct err *err)
{
    const struct work *work = g->x->work;
    for (size_t first = 0, end; first < work->n_ops; first = end) {
        end = execution_loop_end(work, first);
        uint64_t trips = g->x->ranks[0].values[work->ops[first].trips.node];
        for (uint64_t i = 0; i < trips && !is_idle(g, first, end); i++)
            TRY(run_iteration(g, first, end, i, err));
    }
    return STATUS_OK;
}

struct crowd {
    struct execution *x;
    void **scratch; /* by worker, the host's */
    struct absent *absent;
    struct needs needs;
    struct kernels kernels;
    pthread_mutex_t lock; /* of the error */
    struct err err;
};

static void perform_one(void *arg, size_t number, unsigned worker)
{
    struct crowd *crowd = arg;
    struct err err = {.status = STATUS_OK};
    struct ghost g = {.x = crowd->x,
                      .absent = crowd->absent,
                      .needs = &crowd->needs,
                      .kernels = &crowd->kernels,
                      .scratch = crowd->scratch[worker]};
    if (number == crowd->absent->rank)
        return;
    if (begin_ghost(&g, number, &err) != STATUS_OK || run_ghost(&g, &err) != STATUS_OK) {
        pthread_mutex_lock(&crowd->lock);
        crowd->err = err;
        pthread_mutex_unlock(&crowd->lock);
    }
    arena_release(&g.own);
}

enum status absent_perform(struct execution *x, struct absent *absent, struct err *err)
{
    struct crowd crowd = {
        .x = x,
        .absent = absent,
        .needs = {.ops = arena_alloc(&absent->arena, x->work->n_ops, sizeof(bool)),
                  .buffers = arena_alloc(&absent->arena, x->work->n_buffers, sizeof(bool))},
        .scratch = x->scratch,
        .err = {.status = STATUS_OK}};
    if (x->backend->far) /* the workers' scratch is the device's */
        crowd.scratch = session_scratch(x->session, &absent->arena);
    find_needs(x->work, absent, &crowd.needs);
    kernels_cpu(&crowd.kernels);
    pthread_mutex_init(&crowd.lock, NULL);
    pool_run(x->session->pool, absent->n_ranks, perform_one, &crowd);
    pthread_mutex_destroy(&crowd.lock);
    if (crowd.err.status != STATUS_OK)
        *err = crowd.err;
    return crowd.err.status;
}

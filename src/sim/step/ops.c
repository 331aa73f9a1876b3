/* See ops.h. */
#include "sim/step/ops.h"

#include <math.h>

#include "sim/moe/skew.h"
#include "sim/time/price.h"
#include "work/list/kernel.h"
#include "work/stack/stack.h"

/* ---- one op's numbers ---- */

static bool is_product(enum op_kind kind)
{
    return kind == OP_GEMM || kind == OP_GROUPED_GEMM || kind == OP_BATCHED_GEMM ||
           kind == OP_BLOCKED_GEMM;
}

uint64_t ops_rows(const struct work *work, const struct op *op, const uint64_t *v)
{
    if (op->rows.node)
        return v[op->rows.node];
    uint64_t rows = 0;
    bool made = false;
    for (unsigned i = 0; i < op->n_operands; i++) {
        const struct operand *o = &op_operands(work, op)[i];
        const struct buffer *buffer = &work->buffers[o->buffer];
        if (made || buffer->n_dims == 0 || (rows && !o->written))
            continue;
        rows = v[buffer->dims[0].node];
        made = o->written;
    }
    return rows;
}

static struct op_report report(const struct pricing *pricing, const struct work *work,
                               const struct op *op, const uint64_t *v)
{
    struct comm_place place = pricing->place[op->group];
    struct op_report out = {
        .name = op->name,
        .kind = op->kind,
        .segment = op->segment,
        .phase = op->phase,
        .group = op->group,
        .scale_out = place.inside < place.ranks,
        .seconds = price_of(pricing, work, op, v).s,
        .layers = v[op->layers.node],
        .rows = ops_rows(work, op, v),
        .flop = v[op->flop.node],
        .bytes_read = v[op->bytes_read.node],
        .bytes_written = v[op->bytes_written.node],
        .bytes_sent = v[op->bytes_sent.node],
        .bytes_received = v[op->bytes_received.node],
        .host_syncs = v[op->host_syncs.node],
        .fullest_up = (double)NAN,
        .fullest_out = (double)NAN,
        .fullest_s = (double)NAN,
        .balanced_s = (double)NAN,
    };
    if (is_product(op->kind)) {
        out.groups = v[op->groups.node];
        out.n = v[op->n.node];
        out.k = v[op->k.node];
    }
    out.bytes = out.bytes_read + out.bytes_written;
    return out;
}

/* ---- the step of one rank ---- */

enum status ops_of(const struct plan *plan, const struct ops_ask *ask, const struct work *held,
                   const struct slots *stage, struct arena *arena, struct ops_report *out,
                   struct err *err)
{
    struct work *work = arena_alloc(arena, 1, sizeof *work);
    struct slots slots;
    struct plan *resolved = arena_alloc(arena, 1, sizeof *resolved);
    *resolved = *plan;
    resolved->moe.path = stack_path(plan, NULL);
    *out = (struct ops_report){0};
    *work = *held;
    if (!work->n_ops) /* a stack may hold what its ops need, and has them already */
        TRY(work_ops(plan, work, err));
    TRY(ops_slots(resolved, ask, arena, &slots, out, err));
    slots_keep_stage(stage, &slots); /* that of the stage that counts */
    uint64_t *values = arena_alloc(arena, work->sizes.n, sizeof *values);
    if (!sizes_eval(&work->sizes, &slots, values))
        return err_set(err, STATUS_INPUT, "a size of the plan's ops overflows 64 bits");
    struct pricing *pricing = arena_alloc(arena, 1, sizeof *pricing);
    pricing_init(pricing, resolved, resolved->moe.path, ask->profile, NULL);
    const struct demand demand = {.rows = slots.value[SLOT_ROWS],
                                  .received = slots.value[SLOT_RECEIVED]};
    if (!resolved->stack.static_shapes)
        pricing->links = out->links;
    pricing->carried = skew_carried(resolved, &demand, &slots);
    out->ops = arena_alloc(arena, work->n_ops + 1, sizeof *out->ops);
    out->work = work;
    out->values = values;
    for (size_t i = 0; i < work->n_ops; i++)
        if (values[work->ops[i].layers.node])
            out->ops[out->n++] = report(pricing, work, &work->ops[i], values);
    return STATUS_OK;
}

/* ---- what run performs ---- */

static void add(struct op_report *sum, const struct op_report *one)
{
    sum->rows += one->rows;
    sum->seconds = one->seconds > sum->seconds ? one->seconds : sum->seconds;
    sum->flop += one->flop;
    sum->bytes += one->bytes;
    sum->bytes_read += one->bytes_read;
    sum->bytes_written += one->bytes_written;
    sum->bytes_sent += one->bytes_sent;
    sum->bytes_received += one->bytes_received;
    sum->host_syncs += one->host_syncs;
}

enum status ops_slice(const struct plan *plan, const struct routing_data *data, bool backward,
                      uint64_t workers, struct arena *arena, struct slice_report *out,
                      struct err *err)
{
    struct plan *own = arena_alloc(arena, 1, sizeof *own);
    struct slice slice;
    struct memory_peak peak;
    *own = *plan;
    TRY(slice_kind_of(own)->resolve(own, err));
    *out = (struct slice_report){.ranks = slice_kind_of(own)->ranks(own)};
    TRY(slice_init(own, data, backward, (struct slice_ranks){0, out->ranks, workers, 1}, arena,
                   &slice, err));
    slice_peak(&slice, arena, &peak);
    out->peak_bytes = peak.total_bytes;
    for (unsigned c = 0; c < CATEGORY_COUNT; c++)
        out->category[c] = peak.category[c];
    struct pricing *pricing = arena_alloc(arena, 1, sizeof *pricing);
    pricing_init(pricing, own, own->moe.path, NULL, NULL);
    out->ops = arena_alloc(arena, slice.work.n_ops + 1, sizeof *out->ops);
    for (size_t i = 0; i < slice.work.n_ops; i++) {
        const struct op *op = &slice.work.ops[i];
        if (!kernel_is_work((enum kernel)op->kernel))
            continue;
        struct op_report *sum = &out->ops[out->n++];
        *sum = report(pricing, &slice.work, op, slice.values[0]);
        for (uint64_t r = 1; r < out->ranks; r++) {
            struct op_report one = report(pricing, &slice.work, op, slice.values[r]);
            add(sum, &one);
        }
    }
    return STATUS_OK;
}

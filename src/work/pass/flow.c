/* Lifetimes and backward from forward; see flow.h.
 *
 * A buffer has one interval of life. A tensor that is recomputed has two, one in each pass; the
 * later is kept, since at every op the later pass holds what the earlier held and more. */
#include "work/pass/flow.h"

#include <assert.h>
#include <string.h>

#include "base/text.h"
#include "work/list/dtype.h"

/* What the backward of an op reads again. Tables are tensors without gradient. */
enum need { NEED_TABLES = 0, NEED_READS = 1, NEED_WRITES = 2 };

static const uint8_t needs[OP_KIND_COUNT] = {
    [OP_ROUTER] = NEED_READS | NEED_WRITES,
    [OP_GROUPED_GEMM] = NEED_READS,
    [OP_BATCHED_GEMM] = NEED_READS,
    [OP_BLOCKED_GEMM] = NEED_READS,
    [OP_GEMM] = NEED_READS,
    [OP_ACTIVATION] = NEED_READS,
    [OP_ATTENTION] = NEED_READS | NEED_WRITES,
    [OP_NORM] = NEED_READS,
    [OP_COMBINE] = NEED_READS,
    [OP_MASK] = NEED_READS,
    [OP_LOSS] = NEED_READS,
};

/* Everything flow_close works out, by tensor and by step of the forward. */
struct closing {
    struct flow *flow;
    const struct flow_style *style;
    int producer[FLOW_TENSORS], reader[FLOW_TENSORS]; /* step, -1: none; reader: last */
    int needer[FLOW_TENSORS];                         /* first step whose backward reads */
    bool kept[FLOW_TENSORS], dropped[FLOW_TENSORS];
    uint16_t again[FLOW_OPS], back[FLOW_OPS]; /* ticks of recomputation and backward */
    uint16_t redo[FLOW_TENSORS];              /* tick that remakes a dropped tensor */
    uint16_t gradients[FLOW_TENSORS];         /* buffers */
    uint16_t after_forward;                   /* first tick after the forward */
};

void flow_init(struct flow *flow, struct work *work, enum segment segment)
{
    memset(flow, 0, sizeof *flow);
    flow->work = work;
    flow->segment = segment;
}

static uint16_t enlist(struct flow *flow, uint16_t buffer, bool gradient, bool given)
{
    assert(flow->n_tensors < FLOW_TENSORS);
    flow->tensors[flow->n_tensors] = buffer;
    flow->gradient[flow->n_tensors] = gradient;
    flow->given[flow->n_tensors] = given;
    flow->n_tensors++;
    return buffer;
}

uint16_t flow_tensor(struct flow *flow, struct buffer buffer, bool gradient)
{
    buffer.segment = flow->segment;
    buffer.life = LIFE_TRANSIENT;
    buffer.last = WORK_NONE;
    return enlist(flow, work_buffer(flow->work, buffer), gradient, false);
}

void flow_given(struct flow *flow, uint16_t buffer, bool gradient)
{
    enlist(flow, buffer, gradient, true);
}

static void listed(uint16_t to[FLOW_OPERANDS], unsigned n, const uint16_t *from)
{
    unsigned used = 0;
    memset(to, 0xff, FLOW_OPERANDS * sizeof *to);
    for (unsigned i = 0; i < n; i++) {
        if (from[i] == WORK_NONE)
            continue;
        assert(used < FLOW_OPERANDS);
        to[used++] = from[i];
    }
}

uint16_t flow_op(struct flow *flow, struct tick tick, unsigned n_reads, const uint16_t *reads,
                 unsigned n_writes, const uint16_t *writes)
{
    assert(flow->n_steps < FLOW_OPS);
    struct flow_step *step = &flow->steps[flow->n_steps++];
    tick.segment = flow->segment;
    tick.phase = PHASE_FORWARD;
    listed(step->reads, n_reads, reads);
    listed(step->writes, n_writes, writes);
    return step->tick = work_tick(flow->work, tick);
}

void flow_scratch(struct flow *flow, struct buffer buffer, unsigned passes)
{
    assert(flow->n_scratch < FLOW_SCRATCH && flow->n_steps);
    buffer.segment = flow->segment;
    buffer.life = LIFE_TRANSIENT;
    flow->scratch[flow->n_scratch].buffer = work_buffer(flow->work, buffer);
    flow->scratch[flow->n_scratch].step = (uint8_t)(flow->n_steps - 1);
    flow->scratch[flow->n_scratch++].passes = (uint8_t)passes;
}

/* ---- closing ---- */

static int tensor_of(const struct flow *flow, uint16_t buffer)
{
    for (int i = 0; i < flow->n_tensors; i++)
        if (flow->tensors[i] == buffer)
            return i;
    return -1;
}

static bool named(const char *const *list, const char *name)
{
    for (; list && *list; list++)
        if (text_equal(*list, name))
            return true;
    return false;
}

/* Whether the backward of an op of this kind reads tensor t, that the forward read or wrote. */
static bool reads_again(const struct flow *flow, enum op_kind kind, int t, bool written)
{
    if (t < 0)
        return false;
    bool table = !written && !flow->gradient[t];
    return table || needs[kind] & (written ? NEED_WRITES : NEED_READS);
}

static enum op_kind kind_of(const struct flow *flow, int step)
{
    return flow->work->ticks[flow->steps[step].tick].kind;
}

static void note_needs(struct closing *c, int number)
{
    const struct flow_step *step = &c->flow->steps[number];
    const uint16_t *lists[] = {step->reads, step->writes};
    for (unsigned l = 0; l < 2; l++)
        for (unsigned i = 0; i < FLOW_OPERANDS && lists[l][i] != WORK_NONE; i++) {
            int t = tensor_of(c->flow, lists[l][i]);
            if (reads_again(c->flow, kind_of(c->flow, number), t, l == 1) && c->needer[t] < 0)
                c->needer[t] = number;
        }
}

static void note_uses(struct closing *c)
{
    const struct flow *flow = c->flow;
    memset(c->producer, 0xff, sizeof c->producer);
    memset(c->reader, 0xff, sizeof c->reader);
    memset(c->needer, 0xff, sizeof c->needer);
    for (int i = 0; i < flow->n_steps; i++) {
        const struct flow_step *step = &flow->steps[i];
        for (unsigned j = 0; j < FLOW_OPERANDS && step->writes[j] != WORK_NONE; j++) {
            int t = tensor_of(flow, step->writes[j]);
            if (t >= 0 && c->producer[t] < 0)
                c->producer[t] = i;
        }
        for (unsigned j = 0; j < FLOW_OPERANDS && step->reads[j] != WORK_NONE; j++) {
            int t = tensor_of(flow, step->reads[j]);
            if (t >= 0)
                c->reader[t] = i;
        }
        note_needs(c, i);
    }
    for (int t = 0; t < flow->n_tensors; t++) {
        const char *name = flow->work->buffers[flow->tensors[t]].name;
        c->kept[t] = named(c->style->keep, name);
        c->dropped[t] = !c->style->recompute && named(c->style->dropped, name);
        c->redo[t] = WORK_NONE;
        c->gradients[t] = WORK_NONE;
    }
}

static uint16_t tick_again(const struct flow *flow, int step)
{
    struct tick tick = flow->work->ticks[flow->steps[step].tick];
    tick.phase = PHASE_RECOMPUTE;
    return work_tick(flow->work, tick);
}

/* The forward again, as far as it makes something that backward needs. */
static void add_recompute(struct closing *c)
{
    int last = -1;
    memset(c->again, 0xff, sizeof c->again);
    for (int t = 0; c->style->recompute && t < c->flow->n_tensors; t++)
        if (c->needer[t] >= 0 && c->producer[t] > last && !c->kept[t])
            last = c->producer[t];
    for (int i = 0; i <= last; i++) {
        c->again[i] = tick_again(c->flow, i);
    }
}

static bool reads(const struct flow_step *step, uint16_t buffer)
{
    for (unsigned j = 0; j < FLOW_OPERANDS && step->reads[j] != WORK_NONE; j++)
        if (step->reads[j] == buffer)
            return true;
    return false;
}

static void add_redo(struct closing *c, int number)
{
    for (int t = 0; t < c->flow->n_tensors; t++)
        if (c->dropped[t] && c->redo[t] == WORK_NONE && c->producer[t] >= 0 &&
            reads(&c->flow->steps[number], c->flow->tensors[t]))
            c->redo[t] = tick_again(c->flow, c->producer[t]);
}

static uint16_t gradient_of(struct closing *c, uint16_t buffer)
{
    int t = tensor_of(c->flow, buffer);
    if (t < 0 || !c->flow->gradient[t])
        return WORK_NONE;
    if (c->gradients[t] == WORK_NONE) {
        struct buffer gradient = c->flow->work->buffers[buffer];
        gradient.name = arena_join(c->flow->work->arena, "d_", gradient.name);
        gradient.segment = c->flow->segment;
        gradient.life = LIFE_TRANSIENT;
        gradient.first = gradient.last = (uint16_t)c->flow->work->n_ticks;
        gradient.state = false;
        if (dtype_bits(gradient.dtype) < 16) { /* gradients of quantised rows are not */
            gradient.dtype = DTYPE_BF16;
            gradient.bytes = size_const(&c->flow->work->sizes, 0);
        }
        c->gradients[t] = work_buffer(c->flow->work, gradient);
    }
    return c->gradients[t];
}

/* Backward of a tick: gradients of what the forward wrote are read, those of what it read made.
 */
static void add_backward(struct closing *c, int number)
{
    struct work *work = c->flow->work;
    const struct flow_step *step = &c->flow->steps[number];
    struct tick tick = work->ticks[step->tick];
    for (unsigned j = 0; j < FLOW_OPERANDS && step->writes[j] != WORK_NONE; j++)
        gradient_of(c, step->writes[j]);
    for (unsigned j = 0; j < FLOW_OPERANDS && step->reads[j] != WORK_NONE; j++)
        gradient_of(c, step->reads[j]);
    tick.name = arena_join(work->arena, tick.name, "_backward");
    tick.phase = PHASE_BACKWARD;
    tick.host_syncs = size_const(&work->sizes, 0);
    c->back[number] = work_tick(work, tick);
}

static uint16_t last_tick(const struct flow *flow)
{
    return (uint16_t)(flow->work->n_ticks - 1);
}

/* From where its first reader in backward order makes it to where its maker consumes it. What
 * nobody reads has its gradient from outside, alive from the end of the forward. */
static void gradient_life(struct closing *c, int t)
{
    if (c->gradients[t] == WORK_NONE)
        return;
    struct buffer *gradient = &c->flow->work->buffers[c->gradients[t]];
    gradient->first = c->reader[t] >= 0 ? c->back[c->reader[t]] : c->after_forward;
    gradient->last = c->producer[t] >= 0 ? c->back[c->producer[t]] : last_tick(c->flow);
}

/* Of what backward does not read, the recomputation makes what leads to something it does. */
static void again_life(const struct closing *c, struct buffer *buffer, int from, int to)
{
    if (!c->style->backward || c->again[from] == WORK_NONE)
        return;
    buffer->first = c->again[from];
    while (c->again[to] == WORK_NONE)
        to--;
    buffer->last = c->again[to];
}

static void tensor_life(struct closing *c, int t)
{
    const struct flow *flow = c->flow;
    struct buffer *buffer = &flow->work->buffers[flow->tensors[t]];
    int from = c->producer[t] < 0 ? 0 : c->producer[t];
    int to = c->reader[t] < 0 ? flow->n_steps - 1 : c->reader[t];
    if (flow->given[t])
        return;
    buffer->first = flow->steps[from].tick;
    buffer->last = flow->steps[to].tick;
    if (!c->style->backward || c->needer[t] < 0) {
        again_life(c, buffer, from, to);
        return;
    }
    if (c->kept[t] || !(c->style->recompute || c->redo[t] != WORK_NONE)) {
        buffer->life = LIFE_SAVED;
        buffer->last = c->back[c->needer[t]];
        return;
    }
    buffer->first = c->redo[t] != WORK_NONE ? c->redo[t] : c->again[from];
    buffer->last = c->back[c->needer[t]];
}

/* One record per pass. A pass that does not happen leaves a record of no bytes out: the buffer
 * moves to the pass that does. */
static void scratch_life(struct closing *c, unsigned at)
{
    struct work *work = c->flow->work;
    unsigned step = c->flow->scratch[at].step, passes = c->flow->scratch[at].passes;
    uint16_t number = c->flow->scratch[at].buffer;
    bool backward = c->style->backward && passes & FLOW_BACKWARD;
    uint16_t forward = c->flow->steps[step].tick;
    work->buffers[number].first = work->buffers[number].last = forward;
    if (!(passes & FLOW_FORWARD) && !backward)
        work->buffers[number].count = size_const(&work->sizes, 0);
    if (!backward)
        return;
    if (passes & FLOW_FORWARD) {
        struct buffer copy = work->buffers[number];
        copy.name = arena_join(work->arena, copy.name, "_backward");
        number = work_buffer(work, copy);
    }
    work->buffers[number].first = work->buffers[number].last = c->back[step];
}

void flow_close(struct flow *flow, const struct flow_style *style)
{
    struct closing c = {.flow = flow, .style = style};
    note_uses(&c);
    c.after_forward = (uint16_t)flow->work->n_ticks;
    if (style->backward)
        add_recompute(&c);
    for (int i = flow->n_steps - 1; style->backward && i >= 0; i--) {
        add_redo(&c, i);
        add_backward(&c, i);
    }
    for (int t = 0; t < flow->n_tensors; t++) {
        tensor_life(&c, t);
        gradient_life(&c, t);
    }
    for (unsigned i = 0; i < flow->n_scratch; i++)
        scratch_life(&c, i);
}

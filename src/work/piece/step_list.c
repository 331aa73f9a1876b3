/* The order of a step's fragments; see step.h. */
#include "work/pass/again.h"
#include "work/piece/step.h"
#include "work/stack/stack.h"

struct part {
    size_t first;     /* op of its forward */
    uint16_t in, out; /* [T, H] */
};

static void enter(struct step *s, enum segment segment, unsigned in)
{
    s->l.segment = segment;
    s->l.layers = s->l.work->use[segment].repeat;
    s->l.module = MODULE_RESIDUAL;
    s->l.group = GROUP_NONE;
    s->in = in;
}

static uint16_t layer_of(struct step *s, struct part *part, uint16_t x)
{
    step_gather_weights(s, PHASE_FORWARD);
    part->first = s->l.work->n_ops;
    part->in = x;
    uint16_t middle = step_attention(s, x);
    part->out = s->in == IN_MOE ? step_experts(s, middle) : step_dense(s, middle);
    return part->out;
}

/* Recomputed as far as the stack's policy says, then undone. */
static uint16_t undo(struct step *s, enum segment segment, unsigned in, const struct part *part,
                     uint16_t gradient)
{
    enter(s, segment, in);
    size_t end = s->l.work->n_ops;
    for (size_t i = part->first; i < end; i++) /* the forward's own ops come first */
        if (s->l.work->ops[i].segment != segment || s->l.work->ops[i].phase != PHASE_FORWARD) {
            end = i;
            break;
        }
    step_gather_weights(s, PHASE_BACKWARD);
    again_add(s->l.work, &s->again, part->first, end);
    gradient = layer_undo_range(&s->l, part->first, end, part->out, gradient, part->in);
    step_reduce_gradients(s);
    return gradient;
}

static void add_all(struct step *s)
{
    bool dense = s->plan->model.dense_layers || s->plan->model.moe_every > 1;
    bool moe = s->plan->model.moe.experts > 0;
    struct part dense_part = {0}, moe_part = {0};
    size_t embedded = s->l.work->n_ops;
    enter(s, SEGMENT_EMBED, IN_DENSE);
    uint16_t x = step_embedding(s), tokens = x;
    size_t embedding_end = s->l.work->n_ops;
    if (dense || !moe) {
        enter(s, SEGMENT_DENSE, IN_DENSE);
        x = layer_of(s, &dense_part, x);
    }
    if (moe) {
        enter(s, SEGMENT_MOE, IN_MOE);
        x = layer_of(s, &moe_part, x);
    }
    enter(s, SEGMENT_STEP, 0);
    step_pipeline(s, PHASE_FORWARD);
    enter(s, SEGMENT_HEAD, 0);
    step_gather_weights(s, PHASE_FORWARD);
    uint16_t d = step_head(s, x);
    if (!s->training)
        return;
    step_reduce_gradients(s);
    if (moe)
        d = undo(s, SEGMENT_MOE, IN_MOE, &moe_part, d);
    if (dense || !moe)
        d = undo(s, SEGMENT_DENSE, IN_DENSE, &dense_part, d);
    enter(s, SEGMENT_STEP, 0);
    step_pipeline(s, PHASE_BACKWARD);
    enter(s, SEGMENT_EMBED, IN_DENSE);
    layer_undo_range(&s->l, embedded, embedding_end, tokens, d, tokens);
    enter(s, SEGMENT_STEP, 0);
    s->l.layers = s->l.one;
    step_update(s);
}

enum status work_ops(const struct plan *plan, struct work *work, struct err *err)
{
    struct plan *resolved = arena_alloc(work->arena, 1, sizeof *resolved);
    *resolved = *plan;
    resolved->moe.path = stack_path(plan, NULL);
    resolved->moe.buffer = stack_sizing(plan);
    struct step s = {.plan = resolved,
                     .training = plan->workload.mode == MODE_TRAIN,
                     .decode = plan->workload.mode == MODE_DECODE};
    work->n_held = work->n_buffers;
    dims_fill(&s.d, resolved, &work->sizes);
    layer_begin(&s.l, resolved, work, err);
    s.l.listed = true;
    s.l.trains = s.training;
    s.again.every = 1;
    stack_system(plan->stack.kind)->again(plan, &s.again);
    add_all(&s);
    work_fill_bytes(work);
    if (stack_system(plan->stack.kind)->realise)
        stack_system(plan->stack.kind)->realise(resolved, work);
    step_extras(&s);
    return s.l.status;
}

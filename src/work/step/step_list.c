/* The order of a step's fragments; see step.h. */
#include "plan/derive.h"
#include "plan/frozen.h"
#include "work/pass/again.h"
#include "work/piece/lora.h"
#include "work/step/step.h"
#include "work/stack/stack.h"

struct part {
    size_t first;     /* op of its forward */
    uint16_t in, out; /* [T, H] */
};

static void enter(struct step *s, enum segment segment)
{
    bool layer = segment_is_layer(segment);
    enum layer_kind kind = layer ? segment_kind(segment) : KIND_DENSE;
    s->l.segment = segment;
    s->l.layers = s->l.work->use[segment].repeat;
    s->l.module = MODULE_RESIDUAL;
    s->l.group = GROUP_NONE;
    s->in = layer ? in_ffn(kind_ffn(kind)) : 0;
    dims_mixer(&s->d, kind_mixer(kind));
}

static uint16_t layer_of(struct step *s, struct part *part, uint16_t x)
{
    step_gather_weights(s, PHASE_FORWARD);
    part->first = s->l.work->n_ops;
    part->in = x;
    bool both = s->d.mix != MIX_NONE && s->in & IN_BOTH;
    if (both && s->plan->model.side_by_side)
        x = step_side_by_side(s, x);
    else if (s->d.mix != MIX_NONE)
        x = step_attention(s, x);
    if (s->in & IN_BOTH && !(both && s->plan->model.side_by_side))
        x = step_network(s, x);
    x = step_layer_embedding(s, x);
    part->out = x;
    return x;
}

/* Of layers that backward goes through none of the frozen ones has a weight's gradient. */
static void count_weight_gradients(struct step *s, size_t first)
{
    struct work *work = s->l.work;
    for (size_t i = first; i < work->n_ops; i++)
        if (work->ops[i].kernel == KERNEL_WGRAD)
            work->ops[i].layers = s->l.layers;
}

/* Recomputed as far as the stack's policy says, then undone. */
static uint16_t undo(struct step *s, enum segment segment, const struct part *part,
                     uint16_t gradient)
{
    enter(s, segment);
    s->l.layers = s->l.work->use[segment].back;
    size_t end = s->l.work->n_ops;
    for (size_t i = part->first; i < end; i++) /* the forward's own ops come first */
        if (s->l.work->ops[i].segment != segment || s->l.work->ops[i].phase != PHASE_FORWARD) {
            end = i;
            break;
        }
    step_gather_weights(s, PHASE_BACKWARD);
    step_gather_input(s);
    again_add(s->l.work, &s->again, part->first, end);
    size_t undone = s->l.work->n_ops;
    gradient = layer_undo_range(&s->l, part->first, end, part->out, gradient, part->in);
    s->l.layers = s->l.work->use[segment].trained;
    count_weight_gradients(s, undone);
    step_reduce_gradients(s);
    return gradient;
}

/* One layer of every kind of the model, forward; returns what the last one writes. */
static uint16_t layers(struct step *s, struct part parts[KIND_COUNT], uint16_t x)
{
    for (unsigned k = 0; k < KIND_COUNT; k++)
        if (s->kinds[k]) {
            enter(s, segment_of_kind((enum layer_kind)k));
            x = layer_of(s, &parts[k], x);
        }
    return x;
}

static void add_all(struct step *s)
{
    struct part parts[KIND_COUNT] = {{0}};
    enter(s, SEGMENT_EMBED);
    uint16_t images = step_encoder_forward(s);
    size_t embedded = s->l.work->n_ops;
    uint16_t x = step_embedding(s), tokens = x;
    size_t embedding_end = s->l.work->n_ops;
    struct layer_embeddings own = step_layer_embeddings(s, x);
    struct part copies = {.in = step_images(s, step_ngrams_embedded(s, x), images)};
    copies.first = s->l.work->n_ops;
    copies.out = step_copies(s, copies.in);
    size_t copies_end = s->l.work->n_ops;
    x = layers(s, parts, step_ngrams(s, copies.out));
    enter(s, SEGMENT_STEP);
    step_pipeline(s, PHASE_FORWARD);
    enter(s, SEGMENT_HEAD);
    step_gather_weights(s, PHASE_FORWARD);
    uint16_t d = step_head(s, x);
    if (!s->training)
        return;
    enter(s, SEGMENT_HEAD); /* reduced once, however many modules share the head */
    step_reduce_gradients(s);
    for (unsigned k = KIND_COUNT; k-- > 0;)
        if (s->kinds[k])
            d = undo(s, segment_of_kind((enum layer_kind)k), &parts[k], d);
    enter(s, SEGMENT_STEP);
    step_pipeline(s, PHASE_BACKWARD);
    enter(s, SEGMENT_EMBED);
    if (copies_end > copies.first)
        d = layer_undo_range(&s->l, copies.first, copies_end, copies.out, d, copies.in);
    d = step_layer_embeddings_backward(s, &own, tokens, d);
    layer_undo_range(&s->l, embedded, embedding_end, tokens, d, tokens);
    step_encoder_backward(s);
    enter(s, SEGMENT_STEP);
    s->l.layers = s->l.one;
    step_update(s);
}

/* Room for what most steps have: a list is not copied as it grows. */
static void make_room(struct work *work)
{
    work->op_capacity = 192;
    work->operand_capacity = 512;
    work->ops = arena_take(work->arena, work->op_capacity, sizeof *work->ops);
    work->operands = arena_take(work->arena, work->operand_capacity, sizeof *work->operands);
}

enum status work_ops(const struct plan *plan, struct work *work, struct err *err)
{
    struct plan *resolved = arena_take(work->arena, 1, sizeof *resolved);
    *resolved = *plan;
    resolved->moe.path = stack_path(plan, NULL);
    resolved->moe.buffer = stack_sizing(plan);
    resolved->precision.weights = stack_weights(plan);
    struct step s = {.plan = resolved,
                     .training = plan->workload.mode == MODE_TRAIN,
                     .decode = plan->workload.mode == MODE_DECODE};
    work->n_held = work->n_buffers;
    make_room(work);
    model_kinds(&plan->model, s.kinds);
    params_held(plan, &s.params);
    dims_fill(&s.d, resolved, &work->sizes);
    layer_begin(&s.l, resolved, work, err);
    s.l.listed = true;
    s.l.trains = s.training;
    s.l.frozen = lora_is_there(plan);
    s.l.freezes = plan_freezes(plan);
    s.l.quantised = lora_base_is_quantised(plan);
    s.again.every = 1;
    s.again.some = plan_recomputes_some(plan);
    stack_system(plan->stack.kind)->again(plan, &s.again);
    add_all(&s);
    work_fill_bytes(work);
    if (stack_system(plan->stack.kind)->realise)
        stack_system(plan->stack.kind)->realise(resolved, work);
    step_extras(&s);
    return s.l.status;
}

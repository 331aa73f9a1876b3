/* Layers of type linear as ops: projections, a convolution over the sequence, the recurrence in
 * chunks (in decode token by token against its state), a gated norm. Sources: layer-kinds.md
 * 1.2 to 1.6. */
#include "work/piece/cache.h"
#include "work/step/step.h"

static uint16_t rows(struct step *s, const char *name, enum col width)
{
    return step_rows(s, name, CATEGORY_ATTENTION, s->d.rows[ROW_FULL], s->d.width[width]);
}

/* 2 FLOP a tap and channel. */
static uint16_t convolution(struct step *s, uint16_t in)
{
    struct sizes *z = s->l.z;
    if (!s->plan->model.linear.conv)
        return in;
    uint16_t out = rows(s, "convolved", COL_LINEAR_CONV);
    uint16_t op =
        step_op(s, "convolution", KERNEL_CONVOLUTION, OPERANDS(IN(SRC, in), OUT(DST, out)));
    s->l.work->ops[op].flop =
        size_product(z, SIZES(s->d.rows[ROW_FULL], s->d.width[COL_LINEAR_CONV],
                              size_times(z, size_slot(z, SLOT_LINEAR_CONV), 2)));
    return out;
}

/* What the recurrence reads beside keys and values. */
struct gates {
    uint16_t decay, output;
};

/* Both gates of KDA from low ranks, each up product reads its half; or the output's by a matrix
 * of its own from all of the sequence. */
static struct gates kimi_gates(struct step *s, uint16_t x, uint16_t all)
{
    bool full = s->d.facts & FACT_FULL_RANK_GATE;
    uint16_t down = step_product(s, "gates_down", x, "gates_latent", CATEGORY_ATTENTION);
    uint16_t latent = step_gathered(s, "gates_latent", down);
    uint16_t decay = step_product(s, "decay_up", latent, "decay", CATEGORY_ATTENTION);
    return (struct gates){decay,
                          step_product(s, full ? "output_gate" : "output_gate_up",
                                       full ? all : latent, "output_gate", CATEGORY_ATTENTION)};
}

/* Step, B and C of Mamba-1, summed over the ranks that hold the channels, and the step of every
 * channel. */
static uint16_t steps(struct step *s, uint16_t channels, uint16_t *parts)
{
    uint16_t down = step_product(s, "step_down", channels, "step_parts", CATEGORY_ATTENTION);
    if (s->plan->parallel.tp > 1)
        down = layer_all_reduced(&s->l, "step_sum", GROUP_TP, down);
    *parts = down;
    return step_product(s, "step_up", down, "steps", CATEGORY_ATTENTION);
}

/* Core FLOP of the rank's part of a token, as a size; plan/mixer.c counts the same of a
 * model. */
static struct size core_flop(struct step *s)
{
    struct sizes *z = s->l.z;
    const struct size *w = s->d.width;
    struct size key = size_slot(z, SLOT_LINEAR_KEY_DIM),
                value = size_slot(z, SLOT_LINEAR_HEAD_DIM);
    struct size state = size_mul(z, w[COL_LINEAR_VALUES], key);
    if (s->plan->model.linear.kind == LINEAR_SHORT_CONV)
        return size_times(z, w[COL_LINEAR_VALUES], 2);
    struct size chunk = s->decode ? s->l.one : size_slot(z, SLOT_LINEAR_CHUNK), both;
    switch (s->plan->model.linear.kind) {
    case LINEAR_GATED_DELTA_NET:
    case LINEAR_KIMI_DELTA:
        both = size_add(z, size_times(z, key, 3), size_times(z, value, 2));
        return size_add(
            z, size_times(z, state, 6),
            size_times(z, size_product(z, SIZES(w[COL_LINEAR_HEADS], chunk, both)), 2));
    case LINEAR_LIGHTNING:
        return size_times(z, size_add(z, state, size_mul(z, w[COL_LINEAR_VALUES], chunk)), 4);
    case LINEAR_MAMBA2:
        both = size_add(z, w[COL_LINEAR_KEYS], w[COL_LINEAR_VALUES]);
        return size_add(z, size_times(z, state, 4), size_times(z, size_mul(z, both, chunk), 2));
    case LINEAR_MAMBA1:
    case LINEAR_SHORT_CONV:
    case LINEAR_COUNT:
        break;
    }
    return size_times(z, state, 7);
}

/* The recurrence; serving reads and writes the state of every sequence. */
static uint16_t scan(struct step *s, uint16_t in, uint16_t convolved, uint16_t decay,
                     uint16_t parts)
{
    struct sizes *z = s->l.z;
    uint16_t out = rows(s, "linear_context", COL_LINEAR_VALUES);
    uint16_t number = step_op(s, "scan", KERNEL_SCAN,
                              OPERANDS(MANY(0, true, false, convolved),
                                       MANY(1, true, false, in == convolved ? WORK_NONE : in),
                                       MANY(2, true, false, decay), MANY(3, true, false, parts),
                                       MANY(4, false, true, out)));
    struct op *op = &s->l.work->ops[number];
    op->flop = size_mul(z, s->d.rows[ROW_FULL], core_flop(s));
    if (s->training)
        return out;
    struct size state = size_mul(z, size_slot(z, SLOT_MICRO_BATCH), cache_state_bytes(&s->d));
    if (s->decode)
        op->bytes_read = size_add(z, op->bytes_read, state);
    op->bytes_written = size_add(z, op->bytes_written, state);
    return out;
}

uint16_t step_linear(struct step *s, uint16_t x)
{
    enum linear_kind kind = s->plan->model.linear.kind;
    struct gates gates = {WORK_NONE, WORK_NONE};
    uint16_t parts = WORK_NONE, all = step_gathered(s, "attention_in", x);
    uint16_t in = step_product(s, "linear_in", all, "linear_in_out", CATEGORY_ATTENTION);
    if (kind == LINEAR_KIMI_DELTA)
        gates = kimi_gates(s, x, all);
    s->l.module = MODULE_ROPE;
    uint16_t convolved = convolution(s, in);
    if (kind == LINEAR_MAMBA1)
        gates.decay = steps(s, convolved, &parts);
    s->l.module = MODULE_ATTENTION;
    uint16_t context = scan(s, in, convolved, gates.decay, parts);
    if (kind == LINEAR_SHORT_CONV) /* which the second gate has multiplied */
        return step_product(s, "linear_out", context, "attention_out", CATEGORY_ATTENTION);
    uint16_t normed = rows(s, "gated_context", COL_LINEAR_VALUES);
    step_op(s, "gated_norm", KERNEL_NORM,
            OPERANDS(MANY(0, true, false, context),
                     MANY(1, true, false, gates.output == WORK_NONE ? in : gates.output),
                     MANY(2, false, true, normed)));
    return step_product(s, "linear_out", normed, "attention_out", CATEGORY_ATTENTION);
}

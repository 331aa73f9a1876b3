/* Linear layers that multiply rounded weights, or rounded inputs as well: quantisation-aware
 * training (torchao 0.18, quantization/qat), whose rounding eager autograd runs through.
 * Experts are no linear layers but stacks of their parameters, and the router is left as it is.
 */
#include "plan/derive.h"
#include "work/piece/frozen.h"
#include "work/piece/lora.h"
#include "work/train/train.h"

/* What backward keeps of a weight or an input in f32 and in 16 bits, the rounded one that the
 * product reads among the latter; counted with torch's hooks of saved tensors over the
 * functions named.
 *
 * Integers (fake_quantizer.py, IntxFakeQuantizer: scales have no gradient): the quotient that
 * is clamped, in the scales' format. int4 (Int4WeightFakeQuantizer, _bf16_activations_forward):
 * the cast, that less its least, the rounded, the clamped. fp8 (Float8FakeQuantizer):
 * magnitudes, the cast, the quotient, the rounded; the input as it is, too. fp8_int4
 * (_fp8_activations_forward): the same of weights, and of what comes out magnitudes, itself,
 * the quotient and the rounded in 16 bits. */
static const struct train_kept rounded_weights[] = {
    [FAKE_NONE] = {0, 0}, [FAKE_INT] = {1, 1}, [FAKE_INT_16] = {0, 2},
    [FAKE_INT4] = {4, 1}, [FAKE_FP8] = {3, 2}, [FAKE_FP8_INT4] = {3, 6},
};
static const struct train_kept rounded_inputs[] = {
    [INPUTS_PLAIN] = {0, 0},
    [INPUTS_INT8] = {1, 1},
    [INPUTS_INT8_16] = {0, 2},
    [INPUTS_FP8] = {3, 2},
};

struct train_rounding train_rounding(const struct plan *plan, bool trained)
{
    const struct precision *p = &plan->precision;
    bool has = plan_is_huggingface(plan) || plan->stack.kind == STACK_TORCHTITAN;
    struct train_rounding kept = {.reads_plain = true};
    if (!has || p->fake_weights == FAKE_NONE)
        return kept;
    kept.weight = rounded_weights[p->fake_weights];
    kept.input = rounded_inputs[p->fake_inputs];
    kept.passing = p->fake_weights == FAKE_INT ? 3 : 2;
    kept.reads_plain = p->fake_inputs == INPUTS_PLAIN || p->fake_inputs == INPUTS_FP8;
    if (trained)
        return kept;
    kept.weight = (struct train_kept){0, 1}; /* no gradient passes the rounding */
    if (kept.input.half)
        kept.input.half--; /* which a weight's gradient alone reads */
    return kept;
}

bool train_rounds(const struct train *t, const struct layer_matrix *m)
{
    return train_rounding(t->plan, true).weight.half && !m->expert && m->op != MODULE_ROUTER;
}

/* From the matrix's product to its gradient, or at one of them. */
static void put(struct train *t, enum layer_kind kind, const struct layer_matrix *m,
                const char *name, struct buffer like)
{
    const unsigned base = t->base[segment_of_kind(kind)], back = 2 * MODULES - 1 - m->op;
    const bool passes = like.life == LIFE_TRANSIENT;
    like.name = arena_join(t->work->arena, name, m->name);
    like.segment = segment_of_kind(kind);
    like.n_dims = 1;
    like.some = t->some && !passes;
    like.first = (uint16_t)(base + m->op);
    like.last = (uint16_t)(base + (passes ? m->op : back));
    like.source = "torchao quantization/qat";
    if (!passes && t->drops & TRAIN_FULL_LAYER)
        like.life = LIFE_TRANSIENT;
    if (!size_is_zero(t->z, like.count))
        work_buffer(t->work, like);
    if (passes) { /* its gradient's likewise, in two */
        like.count = size_const(t->z, 2);
        like.first = like.last = (uint16_t)(base + back);
        work_buffer(t->work, like);
    }
}

static void keep(struct train *t, enum layer_kind kind, const struct layer_matrix *m,
                 const char *const names[2], enum category category, struct train_kept kept,
                 struct size elements)
{
    const enum dtype formats[] = {DTYPE_F32, t->plan->precision.activations};
    const uint64_t counts[] = {kept.f32, kept.half};
    for (unsigned i = 0; i < 2; i++)
        put(t, kind, m, names[i],
            (struct buffer){.category = category,
                            .dtype = formats[i],
                            .dims = {elements},
                            .count = size_const(t->z, counts[i]),
                            .life = LIFE_SAVED});
}

/* Rounding passes through more of f32, of weight or of input (torch 1.13 on a CPU: of a weight
 * 12 bytes of `int`, 6 of int4, 8 of fp8; backward 6, 8 and 8). */
static void round_matrix(struct train *t, enum layer_kind kind, const struct layer_matrix *m)
{
    static const char *const of_weight[] = {"rounding_f32_", "rounded_"};
    static const char *const of_input[] = {"input_rounding_f32_", "rounded_input_"};
    const struct dims *d = &t->mixer[kind_mixer(kind)];
    bool trained = !lora_is_on(t->plan) && !frozen_matrix(t->plan, m, kind_ffn(kind));
    const struct train_rounding kept = train_rounding(t->plan, trained);
    const bool inputs = t->plan->precision.fake_inputs != INPUTS_PLAIN;
    enum col columns[MATRIX_PIECES];
    const size_t layers = matrix_pieces(m, d, columns);
    struct size weight = train_matrix_elements(t, kind, m);
    struct size input = size_mul(t->z, t->d.rows[m->rows], d->width[m->in]);
    keep(t, kind, m, of_weight, CATEGORY_WEIGHTS, kept.weight, weight);
    keep(t, kind, m, of_input, CATEGORY_ACTIVATION, kept.input,
         size_times(t->z, input, layers));
    put(t, kind, m, "rounding_",
        (struct buffer){.category = CATEGORY_WEIGHTS,
                        .dtype = DTYPE_F32,
                        .dims = {inputs ? size_max(t->z, weight, input) : weight},
                        .count = size_const(t->z, kept.passing),
                        .life = LIFE_TRANSIENT});
}

void train_rounded(struct train *t)
{
    size_t n;
    const struct layer_matrix *matrices = matrices_of_layer(&n);
    for (size_t i = 0; i < n; i++)
        for (unsigned k = 0; k < KIND_COUNT; k++) {
            enum layer_kind kind = (enum layer_kind)k;
            const struct dims *d = &t->mixer[kind_mixer(kind)];
            if (t->kinds[k] && train_rounds(t, &matrices[i]) &&
                matrix_exists(&matrices[i], d, in_ffn(kind_ffn(kind))))
                round_matrix(t, kind, &matrices[i]);
        }
}

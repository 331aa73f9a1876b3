/* What adapters change of a layer: a frozen product saves no input, an adapted one its input
 * and the low-rank product of it. */
#include "base/text.h"
#include "work/piece/lora.h"
#include "work/stack/train.h"

/* Tensors that are kept for the gradient of a matrix alone, and the op that reads them last in
 * forward. */
static const struct {
    const char *tensor, *matrix;
    unsigned until;
} inputs[] = {
    {"attention_norm_out", "qkv", MODULE_UP},
    {"attention_norm_out", "q", MODULE_UP},
    {"attention_norm_out", "q_down", MODULE_UP},
    {"attention_norm_out", "kv_down", MODULE_UP},
    {"attention_norm_out", "index_k", MODULE_UP},
    {"attention_norm_out", "index_weights", MODULE_UP},
    {"attention_norm_out", "linear_in", MODULE_UP},
    {"attention_norm_out", "gates_down", MODULE_UP},
    {"attention_norm_out", "output_gate", MODULE_UP},
    {"attention_norm_out", "attention_gate", MODULE_UP},
    {"gate_latents", "decay_up", MODULE_UP},
    {"gate_latents", "output_gate_up", MODULE_UP},
    {"gated_context", "attention_out", MODULE_PROJECTION},
    {"gated_context", "linear_out", MODULE_PROJECTION},
    {"q_latent_norm_out", "q_up", MODULE_UP},
    {"q_latent_norm_out", "index_q", MODULE_UP},
    {"kv_latent_norm_out", "kv_up", MODULE_UP},
    {"mlp_norm_out", "mlp_gate_up", MODULE_GATE_UP},
    {"layer_gate_in", "layer_gate", MODULE_RESIDUAL},
    {"layer_gated", "layer_projection", MODULE_RESIDUAL},
    {"mlp_norm_out", "router", MODULE_PERMUTE},
    {"mlp_norm_out", "shared_gate_up", MODULE_PERMUTE},
    {"mlp_norm_out", "latent_down", MODULE_PERMUTE},
    {"latent_out", "latent_up", MODULE_UNPERMUTE},
    {"mlp_activated", "mlp_down", MODULE_EXPERT_DOWN},
    {"mlp_product", "mlp_down", MODULE_EXPERT_DOWN},
    {"shared_activated", "shared_down", MODULE_SHARED},
    {"shared_product", "shared_down", MODULE_SHARED},
    {"expert_input", "expert_gate_up", MODULE_GATE_UP},
    {"expert_activated", "expert_down", MODULE_EXPERT_DOWN},
    {"expert_product", "expert_down", MODULE_EXPERT_DOWN},
};

static const struct layer_matrix *matrix_of(const char *name)
{
    size_t n;
    const struct layer_matrix *matrices = matrices_of_layer(&n);
    for (size_t i = 0; i < n; i++)
        if (text_equal(matrices[i].name, name))
            return &matrices[i];
    return NULL;
}

unsigned train_frozen_until(struct train *t, const char *tensor, enum layer_kind kind)
{
    const struct dims *d = &t->mixer[kind_mixer(kind)];
    unsigned until = 0;
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs && lora_is_on(t->plan); i++) {
        if (!text_equal(inputs[i].tensor, tensor))
            continue;
        const struct layer_matrix *m = matrix_of(inputs[i].matrix);
        if (!m || !matrix_exists(m, d, in_ffn(kind_ffn(kind))))
            continue;
        if (lora_of(t->plan, t->z, d, m).n)
            return 0;
        until = until > inputs[i].until ? until : inputs[i].until;
    }
    return until;
}

/* Stacked experts with their adapters added are a tensor of their own, and so is its gradient
 * (training-stacks.md 5: PF). */
static void merge(struct train *t, enum layer_kind kind, const struct layer_matrix *m)
{
    bool dropped = t->drops & TRAIN_FULL_LAYER;
    unsigned base = t->base[segment_of_kind(kind)], op = m->op, back = 2 * MODULES - 1 - op;
    const struct {
        const char *name;
        enum category category;
        enum life life;
        unsigned first, last;
    } rows[] = {
        {"merged_", CATEGORY_WEIGHTS, dropped ? LIFE_TRANSIENT : LIFE_SAVED, op, back},
        {"delta_", CATEGORY_WEIGHTS, LIFE_TRANSIENT, op, op},
        {"d_merged_", CATEGORY_GRADIENTS, LIFE_TRANSIENT, back, back},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        work_buffer(t->work,
                    (struct buffer){.name = arena_join(t->work->arena, rows[i].name, m->name),
                                    .category = rows[i].category,
                                    .segment = segment_of_kind(kind),
                                    .dtype = t->plan->precision.activations,
                                    .n_dims = 1,
                                    .dims = {train_matrix_elements(t, kind, m)},
                                    .life = rows[i].life,
                                    .some = t->some,
                                    .first = (uint16_t)(base + rows[i].first),
                                    .last = (uint16_t)(base + rows[i].last),
                                    .source = "training-stacks.md 5: PF target_parameters"});
}

void train_adapters(struct train *t)
{
    size_t n;
    const struct layer_matrix *matrices = matrices_of_layer(&n);
    for (size_t i = 0; i < n && lora_is_on(t->plan); i++)
        for (unsigned k = 0; k < KIND_COUNT; k++) {
            enum layer_kind kind = (enum layer_kind)k;
            enum segment segment = segment_of_kind(kind);
            const struct layer_matrix *m = &matrices[i];
            const struct dims *d = &t->mixer[kind_mixer(kind)];
            if (!t->kinds[k] || !matrix_exists(m, d, in_ffn(kind_ffn(kind))))
                continue;
            struct lora_sides sides = lora_of(t->plan, t->z, d, m);
            if (!sides.n)
                continue;
            if (m->expert && lora_merges(t->plan)) {
                merge(t, kind, m);
                continue;
            }
            bool dropped = t->drops & TRAIN_FULL_LAYER;
            unsigned base = t->base[segment], op = m->op;
            work_buffer(
                t->work,
                (struct buffer){.name = arena_join(t->work->arena, "lora_", m->name),
                                .category = m->expert ? CATEGORY_EXPERT : CATEGORY_ACTIVATION,
                                .segment = segment,
                                .dtype = t->plan->precision.activations,
                                .n_dims = 2,
                                .dims = {t->d.rows[m->rows],
                                         size_const(t->z, sides.n * t->plan->lora.rank)},
                                .rule = m->expert ? t->routed : RULE_FIXED,
                                .life = dropped ? LIFE_TRANSIENT : LIFE_SAVED,
                                .some = t->some,
                                .first = (uint16_t)(base + op),
                                .last = (uint16_t)(base + 2 * MODULES - 1 - op),
                                .source = "training-stacks.md 5"});
        }
}

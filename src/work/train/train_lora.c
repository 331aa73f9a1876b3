/* What adapters change of a layer: a frozen product saves no input, an adapted one its input
 * and the low-rank product of it. */
#include "base/text.h"
#include "work/list/dtype.h"
#include "work/piece/frozen.h"
#include "work/piece/lora.h"
#include "work/train/train.h"

/* Tensors that are kept for the gradient of a matrix alone, and the op that reads them last in
 * forward. */
static const struct {
    const char *tensor, *matrix;
    unsigned until;
} inputs[] = {
    {"attention_norm_out", "qkv", MODULE_UP},
    {"attention_norm_out", "q", MODULE_UP},
    {"attention_norm_out", "kv", MODULE_UP},
    {"attention_norm_out", "q_down", MODULE_UP},
    {"attention_norm_out", "kv_down", MODULE_UP},
    {"attention_norm_out", "index_k", MODULE_UP},
    {"attention_norm_out", "index_weights", MODULE_UP},
    {"attention_norm_out", "shared_kv", MODULE_UP},
    {"attention_norm_out", "entry_compress", MODULE_UP},
    {"attention_norm_out", "index_compress", MODULE_UP},
    {"attention_out_latent", "attention_out", MODULE_PROJECTION},
    {"q_down_in_copy", "q_down", MODULE_DOWN},
    {"kv_in_copy", "shared_kv", MODULE_DOWN},
    {"index_q_in_copy", "index_q", MODULE_UP},
    {"index_sums", "index_compress", MODULE_DOWN},
    {"index_norm_in", "index_compress", MODULE_DOWN},
    /* the indexer's loss saves all its gradients or, where it has none to give, nothing */
    {"d_index_q", "index_q", MODULE_ATTENTION},
    {"d_index_q", "index_weights", MODULE_ATTENTION},
    {"d_index_weights", "index_q", MODULE_ATTENTION},
    {"d_index_weights", "index_weights", MODULE_ATTENTION},
    {"d_index_k", "index_q", MODULE_ATTENTION},
    {"d_index_k", "index_weights", MODULE_ATTENTION},
    {"attention_norm_out", "linear_in", MODULE_UP},
    {"attention_norm_out", "gates_down", MODULE_UP},
    {"attention_norm_out", "decay", MODULE_UP},
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

/* What a row of the table is about: without a gate the down product reads what the activation
 * gives. */
static const char *input_named(const struct dims *d, const char *tensor)
{
    static const char *const names[][2] = {{"mlp_silu", "mlp_product"},
                                           {"shared_silu", "shared_product"},
                                           {"residual_silu", "residual_product"},
                                           {"expert_silu", "expert_product"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!(d->facts & FACT_GLU) && text_equal(tensor, names[i][0]))
            return names[i][1];
    return tensor;
}

/* Whether a row is about what the network's products read. */
static bool is_network_input(size_t row)
{
    return text_equal(inputs[row].tensor, "mlp_norm_out");
}

/* The matrix of that name which a layer has. */
static const struct layer_matrix *matrix_of(const char *name, const struct dims *d, unsigned in)
{
    size_t n;
    const struct layer_matrix *matrices = matrices_of_layer(&n);
    for (size_t i = 0; i < n; i++)
        if (text_equal(matrices[i].name, name) && matrix_exists(&matrices[i], d, in))
            return &matrices[i];
    return NULL;
}

/* Whether backward reads the input of a matrix: that has a gradient, or an adapter which reads
 * the same. */
static bool reads_for_gradient(struct train *t, const struct dims *d,
                               const struct layer_matrix *m, enum layer_kind kind)
{
    if (lora_is_on(t->plan))
        return lora_of(t->plan, t->z, d, m).n && !lora_copies_input(t->plan, m);
    if (train_rounds(t, m) && !train_rounding(t->plan, true).reads_plain)
        return false;
    return !frozen_matrix(t->plan, m, kind_ffn(kind));
}

unsigned train_frozen_until(struct train *t, const char *tensor, enum layer_kind kind,
                            bool *in_some)
{
    const struct dims *d = &t->mixer[kind_mixer(kind)];
    unsigned until = 0;
    bool some = lora_is_on(t->plan) || t->plan->frozen.modules.n ||
                !train_rounding(t->plan, true).reads_plain,
         both = d->facts & FACT_BESIDE_SHARED && text_equal(tensor, "attention_norm_out");
    tensor = input_named(d, tensor);
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs && some; i++) {
        if (!text_equal(inputs[i].tensor, tensor) && !(both && is_network_input(i)))
            continue;
        const struct layer_matrix *m = matrix_of(inputs[i].matrix, d, in_ffn(kind_ffn(kind)));
        if (!m)
            continue;
        bool reads = reads_for_gradient(t, d, m, kind);
        if (reads && !lora_is_in_some(t->plan, m))
            return 0;
        *in_some = *in_some || (reads && lora_adapts_kind(t->plan, kind));
        until = until > inputs[i].until ? until : inputs[i].until;
    }
    return until;
}

#define PEFT "training-stacks.md 5"
#define DORA "PEFT tuners/lora/dora.py"

/* A buffer of a layer's matrix from its op on, until its gradient where backward reads it. */
static void add(struct train *t, enum layer_kind kind, const struct layer_matrix *m,
                unsigned last, struct buffer like)
{
    unsigned base = t->base[segment_of_kind(kind)];
    like.name = arena_join(t->work->arena, like.name, m->name);
    like.category = m->expert ? CATEGORY_EXPERT : CATEGORY_ACTIVATION;
    like.segment = segment_of_kind(kind);
    like.some = t->some || (like.life == LIFE_SAVED && lora_is_in_some(t->plan, m));
    like.first = (uint16_t)(base + like.first);
    like.last = (uint16_t)(base + last);
    work_buffer(t->work, like);
}

static unsigned gradient_of(const struct layer_matrix *m)
{
    return 2 * MODULES - 1 - m->op;
}

static enum life kept(const struct train *t)
{
    return t->drops & TRAIN_FULL_LAYER ? LIFE_TRANSIENT : LIFE_SAVED;
}

/* Rows of the matrix, so wide, that stay for backward. */
static void beside(struct train *t, enum layer_kind kind, const struct layer_matrix *m,
                   const char *name, enum dtype dtype, struct size width, const char *source)
{
    add(t, kind, m, gradient_of(m),
        (struct buffer){.name = name,
                        .dtype = dtype,
                        .n_dims = 2,
                        .dims = {t->d.rows[m->rows], width},
                        .rule = m->expert ? t->routed : RULE_FIXED,
                        .life = kept(t),
                        .first = (uint16_t)m->op,
                        .source = source});
}

/* Inputs of a matrix's adapters (PEFT tuners/lora/layer.py, Linear.forward). */
static void own_inputs(struct train *t, enum layer_kind kind, const struct layer_matrix *m,
                       struct size width)
{
    beside(t, kind, m, "lora_input_", t->plan->precision.activations, width, PEFT);
    if (t->plan->lora.inputs == INPUTS_DROPPED)
        beside(t, kind, m, "lora_mask_", DTYPE_BOOL, width, PEFT);
}

static void passing(struct train *t, enum layer_kind kind, const struct layer_matrix *m,
                    const char *name, unsigned tick, struct size bytes)
{
    add(t, kind, m, tick,
        (struct buffer){.name = name,
                        .dtype = DTYPE_INT8,
                        .n_dims = 1,
                        .dims = {bytes},
                        .life = LIFE_TRANSIENT,
                        .first = (uint16_t)tick,
                        .source = DORA});
}

static uint64_t bytes_in(enum dtype dtype)
{
    return dtype_bits(dtype) / 8;
}

/* Format in which a layer multiplies adapters: theirs, where no sharer casts them (FSDP2's
 * policy, DeepSpeed's bf16); their inputs are cast to it. */
static enum dtype adapter_format(const struct plan *plan)
{
    bool own = plan->stack.kind == STACK_FSDP && plan->parallel.zero == 0;
    return own ? plan->lora.format : plan->precision.activations;
}

/* Whether a weight is copied to be in the adapters' format. */
static bool casts_weights(const struct plan *plan)
{
    return lora_base_is_quantised(plan) || plan->precision.weights != adapter_format(plan);
}

/* What DoRA makes of one linear layer beside its adapter (PEFT tuners/lora/dora.py d20332ed,
 * DoraLinearLayer.forward), a and h bytes of an adapter and of an activation: the adapter's
 * product as rows of an identity, a in^2, with its copy h in^2 where autocast makes one, and
 * h in out of it; the weight in a where it is not yet, a in out; then in turn the product
 * scaled and added to it, (h + a) in out, and three tensors of the sum of outputs, 3 a T out.
 * q, k and v follow each other, and so do experts, of which each has its mean rows. */
static struct size magnitude_bytes(struct train *t, const struct dims *d,
                                   const struct layer_matrix *m, struct size widest)
{
    struct sizes *z = t->z;
    const struct plan *plan = t->plan;
    enum dtype format = adapter_format(plan), rows = plan->precision.activations;
    const uint64_t a = bytes_in(format), h = bytes_in(rows);
    struct size in = d->width[m->in], tokens = t->d.rows[m->rows];
    if (m->expert)
        tokens = size_ceil_div(z, tokens, d->letters.local);
    struct size square = size_mul(z, in, in), matrix = size_mul(z, in, widest);
    struct size sum = size_times(z, size_mul(z, tokens, widest), 3 * a);
    return size_sum(z, SIZES(size_times(z, square, a + (a == h ? 0 : h)),
                             size_times(z, matrix, h + (casts_weights(plan) ? a : 0)),
                             size_max(z, size_times(z, matrix, h + a), sum)));
}

/* Copies of the weights that rows behind a dropout are multiplied by. */
static void copies_of_weights(struct train *t, enum layer_kind kind,
                              const struct layer_matrix *m, struct size outputs)
{
    const struct dims *d = &t->mixer[kind_mixer(kind)];
    struct size in = d->width[m->in];
    if (m->expert)
        in = size_mul(t->z, in, d->letters.local);
    add(t, kind, m, gradient_of(m),
        (struct buffer){.name = "dora_weight_",
                        .dtype = t->plan->precision.activations,
                        .n_dims = 2,
                        .dims = {in, outputs},
                        .life = kept(t),
                        .first = (uint16_t)m->op,
                        .source = DORA});
}

/* For the gradient of a magnitude stay what the base and what the adapter make of the rows, and
 * behind a dropout the weights that the rows are multiplied by again (base_result); forward
 * makes the norm, and backward the gradients of both sums, in the adapters' format. */
static void decompose(struct train *t, enum layer_kind kind, const struct layer_matrix *m,
                      const struct lora_sides *sides)
{
    struct sizes *z = t->z;
    const struct dims *d = &t->mixer[kind_mixer(kind)];
    const enum dtype rows = t->plan->precision.activations;
    const uint64_t wide = 3 * bytes_in(adapter_format(t->plan));
    struct size tokens = t->d.rows[m->rows];
    struct size mean = m->expert ? size_ceil_div(z, tokens, d->letters.local) : tokens;
    struct size sums = size_times(z, size_mul(z, mean, sides->widest), wide);
    beside(t, kind, m, "dora_base_", rows, sides->outputs, DORA);
    beside(t, kind, m, "dora_low_", rows, sides->outputs, DORA);
    bool copies = casts_weights(t->plan) || adapter_format(t->plan) != rows;
    if (t->plan->lora.inputs == INPUTS_DROPPED && copies)
        copies_of_weights(t, kind, m, sides->outputs);
    passing(t, kind, m, "dora_norm_", m->op, magnitude_bytes(t, d, m, sides->widest));
    passing(t, kind, m, "d_dora_", gradient_of(m), sums);
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
            enum dtype rows = t->plan->precision.activations;
            const struct layer_matrix *m = &matrices[i];
            const struct dims *d = &t->mixer[kind_mixer(kind)];
            if (!t->kinds[k] || !matrix_exists(m, d, in_ffn(kind_ffn(kind))))
                continue;
            struct lora_sides sides = lora_of(t->plan, t->z, d, m);
            bool none = lora_is_in_some(t->plan, m) && !lora_adapts_kind(t->plan, kind);
            if (!sides.n || none)
                continue;
            if (m->expert && lora_merges(t->plan)) {
                merge(t, kind, m);
                continue;
            }
            beside(t, kind, m, "lora_", rows, size_const(t->z, sides.low), PEFT);
            if (lora_copies_input(t->plan, m))
                own_inputs(t, kind, m, size_times(t->z, d->width[m->in], sides.n));
            if (lora_has_magnitudes(t->plan))
                decompose(t, kind, m, &sides);
        }
}

/* See lora.h. */
#include "work/piece/lora.h"

#include "base/text.h"
#include "plan/derive.h"
#include "plan/engine.h"
#include "plan/frozen.h"
#include "plan/layers.h"
#include "work/list/dtype.h"
#include "work/piece/encoder.h"

/* A target of the plan, the matrix it stands beside and the width of what it adds to. Linear
 * layers: Qwen3-Next's, Kimi's, MiniMax's and Mamba's of HuggingFace. */
static const struct target {
    const char *name, *matrix;
    enum col out;
    bool usual;      /* of an empty list: all linear layers */
    unsigned mixers; /* MIX_... that call it so; 0: all */
    enum col also;   /* a second width of what it adds to; COL_ONE: none */
    bool stacked;    /* a parameter of all experts, no linear layer */
    fact_set when;   /* FACT_... that must hold */
} targets[] = {
    {"q_proj", "qkv", COL_Q_GATED, .usual = true},
    {"q_proj", "q", COL_Q, .usual = true},
    {"q_proj", "q_down", COL_Q_RANK, .usual = true, .when = FACT_GQA}, /* Step-3 */
    {"wq", "q_up", COL_Q, .usual = true, .when = FACT_GQA},
    {"k_proj", "kv", COL_K, .usual = true},
    {"v_proj", "kv", COL_V, .usual = true},
    {"q_a_proj", "q_down", COL_Q_RANK, .usual = true, .when = FACT_UNGROUPED},
    {"q_b_proj", "q_up", COL_Q, .usual = true, .when = FACT_UNGROUPED},
    {"kv_a_proj_with_mqa", "kv_down", COL_KV_LATENT, .usual = true},
    {"kv_b_proj", "kv_up", COL_KV_UP, .usual = true},
    {"k_proj", "qkv", COL_K, .usual = true},
    {"v_proj", "qkv", COL_V, .usual = true},
    {"g_proj", "head_gate", COL_HEADS, .usual = true},
    {"o_proj", "attention_out", COL_HIDDEN, .usual = true},
    {"per_layer_input_gate", "layer_gate", COL_LAYER_EMBEDDING, .usual = true},
    {"per_layer_projection", "layer_projection", COL_HIDDEN, .usual = true},
    {"wq_b", "index_q", COL_INDEX_Q, .usual = true, .when = FACT_Q_LOW_RANK},
    {"wk", "index_k", COL_INDEX_K, .usual = true, .when = FACT_Q_LOW_RANK},
    {"index_q_proj", "index_q", COL_INDEX_Q, .usual = true, .when = FACT_BLOCKS},
    {"index_k_proj", "index_k", COL_INDEX_K, .usual = true, .when = FACT_BLOCKS},
    {"weights_proj", "index_weights", COL_INDEX_HEADS, .usual = true},
    {"in_proj_qkvz", "linear_in", COL_LINEAR_QKV, .usual = true, .mixers = MIX_GATED_DELTA_NET,
     .also = COL_LINEAR_VALUES},
    {"in_proj_ba", "linear_in", COL_LINEAR_HEADS, .usual = true, .mixers = MIX_GATED_DELTA_NET,
     .also = COL_LINEAR_HEADS},
    {"q_proj", "linear_in", COL_LINEAR_KEYS, .usual = true, .mixers = MIX_KIMI_DELTA},
    {"k_proj", "linear_in", COL_LINEAR_KEYS, .usual = true, .mixers = MIX_KIMI_DELTA},
    {"v_proj", "linear_in", COL_LINEAR_VALUES, .usual = true, .mixers = MIX_KIMI_DELTA},
    {"b_proj", "linear_in", COL_LINEAR_HEADS, .usual = true, .mixers = MIX_KIMI_DELTA},
    {"f_a_proj", "gates_down", COL_LINEAR_RANK, .usual = true},
    {"g_a_proj", "gates_down", COL_LINEAR_RANK, .usual = true, .when = FACT_LOW_RANK_GATE},
    {"f_b_proj", "decay_up", COL_LINEAR_VALUES, .usual = true},
    {"f_proj", "decay", COL_LINEAR_VALUES, .usual = true},
    {"g_b_proj", "output_gate_up", COL_LINEAR_VALUES, .usual = true},
    {"g_proj", "output_gate", COL_LINEAR_VALUES, .usual = true},
    {"g_proj", "attention_gate", COL_CONTEXT, .usual = true},
    {"o_proj", "linear_out", COL_HIDDEN, .usual = true, .mixers = MIX_KIMI_DELTA},
    {"qkv_proj", "linear_in", COL_LINEAR_QKV, .usual = true, .mixers = MIX_LIGHTNING},
    {"output_gate", "linear_in", COL_LINEAR_VALUES, .usual = true, .mixers = MIX_LIGHTNING},
    {"in_proj", "linear_in", COL_LINEAR_IN, .usual = true,
     .mixers = MIX_MAMBA1 | MIX_MAMBA2 | MIX_SHORT_CONV},
    {"x_proj", "step_down", COL_LINEAR_STEP, .usual = true},
    {"dt_proj", "step_up", COL_LINEAR_VALUES, .usual = true},
    {"out_proj", "linear_out", COL_HIDDEN, .usual = true,
     .mixers = MIX_LINEAR & ~(unsigned)MIX_KIMI_DELTA},
    {"gate_proj", "mlp_gate_up", COL_DENSE, .usual = true},
    {"gate_proj", "shared_gate_up", COL_SHARED_INTER, .usual = true},
    {"gate_proj", "expert_gate_up", COL_INTER, .usual = true},
    {"up_proj", "mlp_gate_up", COL_DENSE, .usual = true},
    {"up_proj", "shared_gate_up", COL_SHARED_INTER, .usual = true},
    {"up_proj", "expert_gate_up", COL_INTER, .usual = true},
    {"down_proj", "mlp_down", COL_HIDDEN, .usual = true},
    {"down_proj", "shared_down", COL_HIDDEN, .usual = true},
    {"down_proj", "expert_down", COL_ROUTED, .usual = true},
    {"experts.gate_up_proj", "expert_gate_up", COL_INTER_IN, .stacked = true},
    {"experts.down_proj", "expert_down", COL_ROUTED, .stacked = true},
    {"fc1_latent_proj", "latent_down", COL_ROUTED, .usual = true},
    {"fc2_latent_proj", "latent_up", COL_HIDDEN, .usual = true},
    {"routed_expert_down_proj", "latent_down", COL_ROUTED, .usual = false},
    {"routed_expert_up_proj", "latent_up", COL_HIDDEN, .usual = false},
    {"linear_qkv", "qkv", COL_UP_OUT, .usual = false},
    {"linear_q_down_proj", "q_down", COL_Q_RANK, .usual = false},
    {"linear_q_up_proj", "q_up", COL_Q, .usual = false},
    {"linear_q_proj", "q", COL_Q, .usual = false},
    {"linear_kv_down_proj", "kv_down", COL_KV_LATENT, .usual = false},
    {"linear_kv_up_proj", "kv_up", COL_KV_UP, .usual = false},
    {"linear_kv_proj", "shared_kv", COL_SHARED_KV, .usual = false},
    {"linear_wq_b", "index_q", COL_INDEX_Q, .usual = false, .when = FACT_CSA},
    {"linear_weights_proj", "index_weights", COL_INDEX_HEADS, .usual = false, .when = FACT_CSA},
    {"linear_proj", "attention_out", COL_HIDDEN, .usual = false},
    {"linear_fc1", "mlp_gate_up", COL_DENSE_IN, .usual = false},
    {"linear_fc1", "shared_gate_up", COL_SHARED_IN, .usual = false},
    {"linear_fc1", "expert_gate_up", COL_INTER_IN, .usual = false},
    {"linear_fc2", "mlp_down", COL_HIDDEN, .usual = false},
    {"linear_fc2", "shared_down", COL_HIDDEN, .usual = false},
    {"linear_fc2", "expert_down", COL_ROUTED, .usual = false},
    {"in_proj", "linear_in", COL_LINEAR_IN, .usual = false, .mixers = MIX_GATED_DELTA_NET},
    /* Qwen3.5's, where Qwen3-Next has two matrices */
    {"in_proj_qkv", "linear_in", COL_LINEAR_QKV, .mixers = MIX_GATED_DELTA_NET},
    {"in_proj_z", "linear_in", COL_LINEAR_VALUES, .mixers = MIX_GATED_DELTA_NET},
    {"in_proj_b", "linear_in", COL_LINEAR_HEADS, .mixers = MIX_GATED_DELTA_NET},
    {"in_proj_a", "linear_in", COL_LINEAR_HEADS, .mixers = MIX_GATED_DELTA_NET},
};

enum { TARGETS = sizeof targets / sizeof *targets };

bool lora_is_on(const struct plan *plan)
{
    return plan->workload.mode == MODE_TRAIN && plan->lora.rank > 0;
}

bool lora_is_served(const struct plan *plan)
{
    return plan->workload.mode != MODE_TRAIN && plan_is_engine(plan) && plan->lora.rank > 0 &&
           plan->lora.slots > 0;
}

bool lora_is_there(const struct plan *plan)
{
    return lora_is_on(plan) || lora_is_served(plan);
}

bool lora_base_is_quantised(const struct plan *plan)
{
    return lora_is_on(plan) && dtype_scale(plan->precision.weights).bytes;
}

bool lora_quantises_dense(const struct plan *plan)
{
    return lora_base_is_quantised(plan) && plan->precision.weights != DTYPE_MXFP4;
}

bool lora_stacks_experts(const struct plan *plan)
{
    return lora_is_on(plan) && plan_is_huggingface(plan) &&
           plan->lora.experts != LORA_EXPERTS_LINEAR;
}

bool lora_waits(const struct plan *plan, enum base_part part)
{
    const struct enum_list *host = &plan->lora.host;
    bool found = false;
    for (uint64_t i = 0; i < host->n; i++)
        found = found || host->value[i] == part;
    return found && lora_is_on(plan) && plan->stack.kind == STACK_FSDP &&
           plan->parallel.zero == 0;
}

bool lora_merges(const struct plan *plan)
{
    return lora_stacks_experts(plan) && !plan->lora.fused;
}

bool lora_has_magnitudes(const struct plan *plan)
{
    return lora_is_on(plan) && plan_is_huggingface(plan) && plan->lora.dora;
}

bool lora_copies_input(const struct plan *plan, const struct layer_matrix *matrix)
{
    bool stacked = matrix->expert && lora_stacks_experts(plan);
    return lora_is_on(plan) && plan_is_huggingface(plan) && !stacked &&
           plan->lora.inputs != INPUTS_SHARED;
}

enum dtype lora_plain(const struct plan *plan)
{
    if (!plan_is_huggingface(plan))
        return DTYPE_F32;
    if (plan->lora.plain != DTYPE_NONE)
        return plan->lora.plain;
    return plan->parallel.zero >= 3 || !lora_quantises_dense(plan) ? plan->precision.activations
                                                                   : DTYPE_F32;
}

enum dtype lora_expert_format(const struct plan *plan)
{
    enum dtype base = plan->precision.weights;
    bool bitsandbytes =
        base == DTYPE_NF4 || base == DTYPE_NF4_DOUBLE || base == DTYPE_FP8_CHANNEL;
    bool whole = bitsandbytes && lora_stacks_experts(plan) &&
                 plan->lora.experts != LORA_EXPERTS_QUANTISED;
    return whole ? lora_plain(plan) : plan->precision.weights;
}

bool lora_saves(const struct plan *plan, enum saved_module module)
{
    const struct enum_list *saved = &plan->lora.saved;
    bool found = false;
    for (uint64_t i = 0; i < saved->n; i++)
        found = found || saved->value[i] == module;
    return found && lora_is_on(plan) && plan_is_huggingface(plan);
}

struct size lora_saved(const struct plan *plan, struct sizes *z)
{
    static const enum slot stages[] = {
        [SAVED_EMBED_TOKENS] = SLOT_STAGE_EMBEDDING, [SAVED_LM_HEAD] = SLOT_STAGE_HEAD};
    static const enum col rows[] = {
        [SAVED_EMBED_TOKENS] = COL_VOCAB, [SAVED_LM_HEAD] = COL_OUTPUTS};
    struct size n = size_const(z, 0);
    struct dims d;
    if (!lora_saves(plan, SAVED_EMBED_TOKENS) && !lora_saves(plan, SAVED_LM_HEAD))
        return n;
    dims_fill(&d, plan, z);
    for (unsigned i = 0; i < 2; i++)
        if (lora_saves(plan, (enum saved_module)i))
            n = size_add(z, n, size_mul(z, size_slot(z, stages[i]), d.width[rows[i]]));
    return size_mul(z, n, d.width[COL_HIDDEN]);
}

bool lora_trains_rows(const struct plan *plan)
{
    return lora_is_on(plan) && plan_is_huggingface(plan) && plan->lora.rows;
}

enum dtype lora_saved_format(const struct plan *plan)
{
    return lora_base_is_quantised(plan) ? lora_plain(plan) : plan->precision.weights;
}

enum dtype lora_gradients(const struct plan *plan)
{
    bool f32 = lora_is_on(plan) && plan->lora.format == DTYPE_F32;
    return f32 ? DTYPE_F32 : plan->precision.gradients;
}

static bool is_asked(const struct plan *plan, const struct target *target)
{
    const struct word_list *words = &plan->lora.targets;
    return plan_lists(words, target->name) ||
           (target->usual && (words->n == 0 || plan_lists(words, "all-linear")));
}

/* Of the adapters of a matrix by one of its names: the name's own (PEFT's rank_pattern), else
 * the experts'. */
static uint64_t rank_of(const struct plan *plan, const struct layer_matrix *matrix,
                        const char *target)
{
    const struct lora *lora = &plan->lora;
    bool own = matrix->expert && lora_is_on(plan) && lora->expert_rank > 0;
    for (uint64_t i = 0; i < lora->ranks.n && i < lora->targets.n && plan_is_huggingface(plan);
         i++)
        if (lora->ranks.value[i] && text_equal(lora->targets.word[i], target))
            return lora->ranks.value[i];
    return own ? lora->expert_rank : lora->rank;
}

struct lora_sides lora_of(const struct plan *plan, struct sizes *z, const struct dims *d,
                          const struct layer_matrix *matrix)
{
    struct lora_sides sides = {0, 0, size_const(z, 0), size_const(z, 0), size_const(z, 0)};
    if (!lora_is_there(plan) || (matrix->expert && lora_is_on(plan) && plan->lora.skip_experts))
        return sides;
    for (size_t i = 0; i < TARGETS; i++) {
        const struct target *t = &targets[i];
        if (t->stacked != (matrix->expert && lora_stacks_experts(plan)))
            continue;
        if ((t->mixers && !(t->mixers & d->mix)) || (t->when & d->facts) != t->when ||
            !text_equal(t->matrix, matrix->name) || !is_asked(plan, t) ||
            (t->out == COL_V && d->facts & FACT_K_EQ_V) ||
            ((t->out == COL_K || t->out == COL_V) && d->facts & FACT_Q_ALONE))
            continue;
        struct size out = d->width[t->out];
        if (t->also != COL_ONE)
            out = size_add(z, out, d->width[t->also]);
        const uint64_t rank = rank_of(plan, matrix, t->name);
        sides.n++;
        sides.low += rank;
        sides.up = size_add(z, sides.up, size_times(z, out, rank));
        sides.outputs = size_add(z, sides.outputs, out);
        sides.widest = size_max(z, sides.widest, out);
    }
    /* Automodel's experts have gate and up side by side, with one pair of matrices beside both
     * (components/_peft/lora_experts.py, GroupedExpertsLoRA) */
    if (matrix->expert && lora_is_on(plan) && plan->stack.kind == STACK_TORCHTITAN &&
        sides.n > 1)
        sides =
            (struct lora_sides){1, sides.low / sides.n, sides.outputs, sides.outputs, sides.up};
    return sides;
}

bool lora_adapts_kind(const struct plan *plan, enum layer_kind kind)
{
    uint64_t layers[KIND_COUNT] = {0};
    for (uint64_t i = 0; plan_adapts_some(plan) && i < plan->model.layers; i++)
        if (plan_adapts_layer(plan, i))
            model_layers(&plan->model, i, i + 1, layers);
    return !plan_adapts_some(plan) || layers[kind];
}

bool lora_is_in_some(const struct plan *plan, const struct layer_matrix *matrix)
{
    bool stacked = matrix->expert && lora_stacks_experts(plan);
    return plan_adapts_some(plan) && !(stacked && plan->lora.language);
}

struct size lora_layers_of(const struct matrix_walk *walk, struct dims dims)
{
    return lora_is_in_some(dims.plan, walk->matrix)
               ? matrix_layers_by(walk, dims, slot_kind_adapted)
               : walk->layers;
}

static bool is_whole(enum col width)
{
    return width == COL_HIDDEN || width == COL_ROUTED;
}

bool lora_shares_experts(const struct plan *plan)
{
    return lora_is_on(plan) && plan_is_megatron(plan) && plan->lora.share_experts;
}

struct size lora_copies(const struct plan *plan, const struct dims *d)
{
    return lora_shares_experts(plan) ? size_const(d->z, 1) : d->letters.local;
}

/* Whether both sides are split. */
static bool is_sharded(const struct plan *plan)
{
    return plan->lora.sharded && (plan->stack.kind == STACK_VLLM || plan_is_megatron(plan));
}

/* *sum += the adapters of this matrix in so many layers. Of a split matrix one side of them is
 * split with it, the other only where asked for (vLLM lora/layers, Megatron-Bridge's
 * ParallelLinearAdapter: rank of A of column-parallel ones, outputs of B of row-parallel
 * ones). */
static void add_adapters(struct lora_sum *sum, const struct plan *plan, const struct dims *d,
                         const struct layer_matrix *m, struct size layers)
{
    struct sizes *z = d->z;
    struct lora_sides sides = lora_of(plan, z, d, m);
    if (!sides.n)
        return;
    struct size in = size_times(z, d->width[m->in], sides.n), out = sides.outputs;
    bool shared = is_sharded(plan) && m->rows != ROW_LOCAL;
    struct size ranks = size_slot(z, m->expert ? SLOT_ETP : SLOT_TP);
    if (shared && is_whole(m->in))
        in = size_ceil_div(z, in, ranks);
    if (shared && is_whole(m->out))
        out = size_ceil_div(z, out, ranks);
    struct size one = size_add(z, in, out);
    if (plan->lora.ranks.n) /* of stacks that split no side */
        one = size_add(z, size_times(z, d->width[m->in], sides.low), sides.up);
    else
        one = size_times(z, one, sides.low / sides.n);
    if (lora_has_magnitudes(plan))
        one = size_add(z, one, out);
    struct size all = size_mul(z, layers, one);
    if (m->expert)
        sum->experts = size_add(z, sum->experts, size_mul(z, all, lora_copies(plan, d)));
    else
        sum->dense = size_add(z, sum->dense, all);
}

struct lora_sum lora_layer(const struct plan *plan, struct sizes *z, enum layer_kind kind)
{
    struct dims d;
    size_t n;
    const struct layer_matrix *matrices = matrices_of_layer(&n);
    struct lora_sum sum = {size_const(z, 0), size_const(z, 0)};
    dims_fill(&d, plan, z);
    dims_mixer(&d, kind_mixer(kind));
    const bool some = lora_adapts_kind(plan, kind);
    for (size_t i = 0; i < n; i++)
        if (matrix_exists(&matrices[i], &d, in_ffn(kind_ffn(kind))) &&
            (some || !lora_is_in_some(plan, &matrices[i])))
            add_adapters(&sum, plan, &d, &matrices[i], size_const(z, 1));
    return sum;
}

struct size lora_encoder(const struct plan *plan, struct sizes *z)
{
    if (!encoder_adapts(plan))
        return size_const(z, 0);
    return size_times(z, size_slot(z, SLOT_STAGE_EMBEDDING), encoder_adapters(plan));
}

struct lora_sum lora_parameters(const struct plan *plan, struct sizes *z)
{
    struct dims d;
    struct matrix_walk walk = {0};
    struct lora_sum sum = {size_const(z, 0), size_const(z, 0)};
    if (!lora_is_there(plan))
        return sum;
    dims_fill(&d, plan, z);
    while (matrix_next(&walk, &d))
        add_adapters(&sum, plan, &d, walk.matrix, lora_layers_of(&walk, d));
    sum.dense = size_add(z, sum.dense, lora_encoder(plan, z));
    return sum;
}

static const char *target_at(const void *table, size_t i)
{
    return ((const struct target *)table)[i].name;
}

static const struct target *target_of(const char *name)
{
    for (size_t i = 0; i < TARGETS; i++)
        if (text_equal(targets[i].name, name))
            return &targets[i];
    return NULL;
}

bool lora_reaches_stacked(const struct plan *plan)
{
    const struct word_list *words = &plan->lora.targets;
    for (uint64_t i = 0; i < words->n; i++) {
        const struct target *target = target_of(words->word[i]);
        if (target && target->stacked)
            return true;
    }
    return false;
}

static enum status check_stacked(const struct plan *plan, const char *name, struct err *err)
{
    if (lora_stacks_experts(plan))
        return STATUS_OK;
    err_set(err, STATUS_INPUT, "lora.targets: no parameter is called '%s' here", name);
    return err_hint(err, "gate_proj, up_proj and down_proj are the experts' linear layers; "
                         "stacked ones have stacks fsdp and deepspeed (lora.experts)");
}

/* PEFT's wrapper of a parameter says so itself (tuners/lora/layer.py, ParamWrapper). */
static enum status check_magnitudes(const struct plan *plan, struct err *err)
{
    if (!lora_has_magnitudes(plan) || !lora_stacks_experts(plan) || !lora_reaches_stacked(plan))
        return STATUS_OK;
    err_set(err, STATUS_INPUT, "lora.dora: adapters of stacked experts have no magnitudes");
    return err_hint(err, "PEFT refuses use_dora beside target_parameters; leave experts.* out "
                         "of lora.targets, or lora.experts: linear");
}

static enum status check_any(const struct plan *plan, struct sizes *z, struct err *err)
{
    uint64_t layers[KIND_COUNT] = {0};
    model_layers(&plan->model, 0, plan->model.layers, layers);
    if (!plan->lora.language && encoder_adapts(plan))
        return STATUS_OK;
    for (unsigned k = 0; k < KIND_COUNT; k++) {
        struct lora_sum sum = lora_layer(plan, z, (enum layer_kind)k);
        if (layers[k] && (!size_is_zero(z, sum.dense) || !size_is_zero(z, sum.experts)))
            return STATUS_OK;
    }
    err_set(err, STATUS_INPUT,
            "lora.targets: no linear layer of this model is called so, nothing is trained");
    return err_hint(err, "%s",
                    lora_stacks_experts(plan)
                        ? "its experts are one parameter: experts.gate_up_proj, "
                          "experts.down_proj; or lora.experts: linear"
                        : "'all-linear' is every matrix of a layer");
}

/* Two matrices make an entry, and adapters of each would read the row: they are one here. */
static enum status check_shared(const struct plan *plan, struct err *err)
{
    const struct word_list *words = &plan->lora.targets;
    bool all = words->n == 0 || plan_lists(words, "all-linear");
    if (!lora_is_on(plan) || !plan_shares_kv(plan) || !all)
        return STATUS_OK;
    err_set(err, STATUS_INPUT,
            "lora.targets: every matrix of attention of kind shared_kv is not modelled");
    return err_hint(err, "name them, as Megatron-Bridge's recipe does: [linear_q_down_proj, "
                         "linear_q_up_proj, linear_kv_proj, linear_proj, linear_fc1, "
                         "linear_fc2]");
}

enum status lora_check(const struct plan *plan, struct sizes *z, struct err *err)
{
    const struct word_list *words = &plan->lora.targets;
    enum dtype left = plan->lora.plain;
    TRY(check_shared(plan, err));
    if (lora_stacks_experts(plan) && left != DTYPE_NONE && !dtype_is_plain(left)) {
        err_set(err, STATUS_INPUT,
                "lora.plain_format: what is left whole is in no format of few bits");
        return err_hint(err, "f32, bf16 or f16; none: what PEFT makes of it");
    }
    TRY(check_magnitudes(plan, err));
    for (uint64_t i = 0; i < words->n && lora_is_there(plan); i++) {
        const struct target *target = target_of(words->word[i]);
        if (target && target->stacked)
            TRY(check_stacked(plan, target->name, err));
        if (target || text_equal(words->word[i], "all-linear"))
            continue;
        err_set(err, STATUS_INPUT, "lora.targets: no matrix is called '%s'", words->word[i]);
        const char *nearest = text_nearest(words->word[i], TARGETS, target_at, targets);
        return err_hint(err, "did you mean '%s'? 'all-linear' is every matrix of a layer",
                        nearest ? nearest : "q_proj");
    }
    return lora_is_on(plan) ? check_any(plan, z, err) : STATUS_OK;
}

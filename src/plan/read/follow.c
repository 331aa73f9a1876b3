/* See follow.h. Sources: vLLM shards experts over tp x dp ranks, whole ones with
 * --enable-expert-parallel (fused_moe/config.py), and gives each tp rank its own part of the
 * tokens where dp > 1 (sequence parallel MoE); SGLang's ep_size is its tp_size or 1. */
#include "plan/read/follow.h"

#include "base/checked.h"
#include "base/text.h"
#include "plan/read/apply.h"
#include "plan/engine.h"
#include "plan/lay_experts.h"
#include "plan/layers.h"
#include "plan/speculation.h"

static bool is_given(const struct loader *loader, const char *key)
{
    return apply_origin(loader, key).file != NULL;
}

static void follow_checkpoint(struct loader *loader)
{
    struct plan *plan = loader->plan;
    if (plan->workload.mode == MODE_TRAIN || plan->model.checkpoint == DTYPE_NONE ||
        is_given(loader, "precision.weights"))
        return;
    plan->precision.weights = plan->model.checkpoint;
    apply_origin_set(loader, "precision.weights", apply_origin(loader, "model.checkpoint"));
}

static void follow_experts(struct loader *loader)
{
    static const char *const keys[] = {"parallel.ep", "parallel.etp", "parallel.sp"};
    unsigned given = 0;
    for (unsigned i = 0; i < 3; i++)
        given |= is_given(loader, keys[i]) ? 1U << i : 0;
    unsigned laid = experts_lay(loader->plan, given);
    for (unsigned i = 0; i < 3; i++)
        if (laid & 1U << i)
            apply_origin_set(loader, keys[i], apply_origin(loader, "stack"));
}

/* Whether the plan or an option gave a key, not the stack's file. */
static bool by_user(const struct loader *loader, const char *key, const char *file)
{
    struct mark mark = apply_origin(loader, key);
    return mark.file && (mark.line == 0 || text_equal(mark.file, file));
}

/* What runs by a recipe multiplies in 8 bits, or at least as fast. */
static void follow_recipe(struct loader *loader)
{
    struct plan *plan = loader->plan;
    if (plan->precision.recipe == RECIPE_NONE || is_given(loader, "precision.compute"))
        return;
    plan->precision.compute = COMPUTE_FP8;
    apply_origin_set(loader, "precision.compute", apply_origin(loader, "precision.recipe"));
}

/* What products multiply in follows from an engine's weights. */
static void follow_weights(struct loader *loader)
{
    struct plan *plan = loader->plan;
    enum compute compute = engine_compute(plan);
    if (plan->precision.compute == compute || !plan_is_engine(plan) ||
        plan->workload.mode == MODE_TRAIN || is_given(loader, "precision.compute"))
        return;
    plan->precision.compute = compute;
    apply_origin_set(loader, "precision.compute", apply_origin(loader, "precision.weights"));
}

/* The release's own utilisation; a decode step of as many sequences as the engine takes. */
static void follow_engine(struct loader *loader, const char *file)
{
    struct plan *plan = loader->plan;
    if (!plan_is_engine(plan))
        return;
    const struct engine_release *release = engine_release(plan);
    if (release->fraction > 0 && !by_user(loader, "stack.fraction", file))
        plan->stack.fraction = release->fraction;
    if (plan->workload.mode != MODE_DECODE || !plan->workload.max_num_seqs ||
        is_given(loader, "workload.micro_batch"))
        return;
    plan->workload.micro_batch = plan->workload.max_num_seqs;
    apply_origin_set(loader, "workload.micro_batch",
                     apply_origin(loader, "workload.max_num_seqs"));
}

static void follow_method(struct loader *loader, struct mark mark)
{
    struct plan *plan = loader->plan;
    struct speculation *s = &plan->workload.speculation;
    if (is_given(loader, "workload.speculation.method"))
        return;
    if (s->model[0] || s->size.layers)
        s->method = DRAFT_MODEL;
    else if (plan->model.mtp_layers)
        s->method = DRAFT_MTP;
    else if (plan->model.dspark.layers)
        s->method = DRAFT_DSPARK;
    apply_origin_set(loader, "workload.speculation.method", mark);
}

/* A step has the proposed tokens and one more; a module that drafts is part of the model. */
static void follow_speculation(struct loader *loader)
{
    struct plan *plan = loader->plan;
    const struct mark mark = apply_origin(loader, "workload.speculation.tokens");
    if (!plan_speculates(plan))
        return;
    follow_method(loader, mark);
    if (!is_given(loader, "workload.tokens_per_sequence")) {
        plan->workload.tokens_per_sequence = plan->workload.speculation.tokens + 1;
        apply_origin_set(loader, "workload.tokens_per_sequence", mark);
    }
    if (plan->workload.speculation.method != DRAFT_MTP || is_given(loader, "model.mtp_enabled"))
        return;
    plan->model.mtp_enabled = true;
    apply_origin_set(loader, "model.mtp_enabled", mark);
}

/* SGLang keeps states in f32 unless the model or the launch says otherwise
 * (configs/mamba_utils.py), vLLM in the format of the convolution's columns, the model's own
 * (layers/mamba/mamba_utils.py, MambaStateDtypeCalculator). */
static void follow_states(struct loader *loader)
{
    struct plan *plan = loader->plan;
    struct linear *l = &plan->model.linear;
    bool serves = plan->workload.mode != MODE_TRAIN && plan_has_linear(plan);
    if (!serves || l->state != DTYPE_NONE)
        return;
    enum dtype columns = l->conv_state ? l->conv_state : plan->precision.activations;
    l->state = plan->stack.kind == STACK_SGLANG ? DTYPE_F32
               : plan->stack.kind == STACK_VLLM ? columns
                                                : DTYPE_BF16;
    apply_origin_set(loader, "model.linear.state", apply_origin(loader, "stack"));
}

/* SGLang has tables of n-grams in host memory where it serves in bf16 by CUDA
 * (arg_groups/model_overrides/qwen4_exp.py), vLLM where it is told to. */
static void follow_tables(struct loader *loader)
{
    static const char key[] = "memory.ngram_host";
    struct plan *plan = loader->plan;
    bool by_cuda = plan_generation(plan) != GENERATION_GFX942;
    if (plan->stack.kind != STACK_SGLANG || plan->workload.mode == MODE_TRAIN ||
        !plan->model.ngram.tables || plan->model.ngram.embedded || !by_cuda ||
        plan->precision.activations != DTYPE_BF16 || is_given(loader, key))
        return;
    plan->memory.ngram_host = true;
    apply_origin_set(loader, key, apply_origin(loader, "stack"));
}

/* ---- the model ---- */

/* A model that says nothing of experts is dense in all layers. */
static void settle_dense(const struct loader *loader, struct model *model)
{
    const struct mark zero = apply_origin(loader, "model.moe.experts");
    const char *const keys[] = {"model.moe.top_k", "model.moe.intermediate"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys && !zero.file; i++)
        if (apply_origin(loader, keys[i]).file)
            return; /* a MoE model with a key missing */
    if (!model->moe.experts && model->moe_every == 1 && !model_has_parts(model))
        model->dense_layers = model->layers;
}

/* Zeros that stand for a value of the model itself. */
static void complete_model(struct model *model)
{
    struct attention *attention = &model->attention;
    bool overflow = false;
    if (model_has_parts(model) && !model->dense_layers)
        model->dense_layers = model_ffns(model, FFN_DENSE);
    if (attention->kind == ATTENTION_GQA && attention->kv_heads == 0)
        attention->kv_heads = attention->heads;
    if (model->layer_embedding.width && !model->layer_embedding.vocab)
        model->layer_embedding.vocab = model->vocab;
    if (attention->kind == ATTENTION_GQA && attention->head_dim == 0 && attention->heads)
        attention->head_dim = model->hidden / attention->heads;
    if (model->linear.key_heads == 0)
        model->linear.key_heads = model->linear.heads;
    if (model->linear.key_dim == 0)
        model->linear.key_dim = model->linear.head_dim;
    if (model->moe.shared_intermediate == 0)
        model->moe.shared_intermediate =
            checked_mul(model->moe.shared_experts, model->moe.intermediate, &overflow);
}

void follow_model(const struct loader *loader, struct model *model)
{
    settle_dense(loader, model);
    complete_model(model);
}

/* ---- the plan ---- */

void follow_layout(struct loader *loader, const char *file)
{
    follow_checkpoint(loader);
    follow_experts(loader);
    follow_recipe(loader);
    follow_weights(loader);
    follow_engine(loader, file);
    follow_speculation(loader);
    follow_states(loader);
    follow_tables(loader);
}

enum following follow_of(const struct plan *plan)
{
    if (plan_is_engine(plan))
        return FOLLOWS_RANKS;
    return experts_follow(plan) ? FOLLOWS_TENSORS : FOLLOWS_LITTLE;
}

bool follow_from(const char *key, enum following who)
{
    static const struct {
        const char *key;
        enum following least; /* nothing follows from it elsewhere */
    } rows[] = {
        {"workload.mode", FOLLOWS_LITTLE},
        {"parallel.tp", FOLLOWS_TENSORS},
        {"parallel.pp", FOLLOWS_RANKS},
        {"parallel.cp", FOLLOWS_RANKS},
        {"parallel.ep", FOLLOWS_TENSORS},
        {"parallel.etp", FOLLOWS_TENSORS},
        {"parallel.sp", FOLLOWS_RANKS},
        {"model.checkpoint", FOLLOWS_LITTLE},
        {"precision.weights", FOLLOWS_RANKS},
        {"cluster.device.peak.bf16", FOLLOWS_RANKS},
        {"cluster.device.peak.fp8", FOLLOWS_RANKS},
        {"cluster.device.peak.fp4", FOLLOWS_RANKS},
        {"model.linear.conv_state", FOLLOWS_LITTLE},
        {"precision.activations", FOLLOWS_LITTLE},
        {"cluster.nodes", FOLLOWS_RANKS},
        {"cluster.node.devices", FOLLOWS_RANKS},
        {"stack.kind", FOLLOWS_LITTLE},
        {"stack.version", FOLLOWS_LITTLE},
        {"workload.max_num_seqs", FOLLOWS_RANKS},
        {"precision.recipe", FOLLOWS_LITTLE},
        {"workload.speculation.tokens", FOLLOWS_LITTLE},
        {"workload.speculation.method", FOLLOWS_LITTLE},
        {"workload.speculation.model", FOLLOWS_LITTLE},
        {"workload.speculation.layers", FOLLOWS_LITTLE},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (text_equal(key, rows[i].key))
            return who >= rows[i].least;
    return false;
}

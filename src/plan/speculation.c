/* See speculation.h. */
#include "plan/speculation.h"

#include <math.h>
#include <string.h>

#include "base/checked.h"
#include "plan/derive.h"
#include "plan/engine.h"
#include "plan/layers.h"

bool plan_speculates(const struct plan *plan)
{
    return plan->workload.mode != MODE_TRAIN && plan_is_engine(plan) &&
           plan->workload.speculation.tokens > 0;
}

bool plan_drafts_blocks(const struct plan *plan)
{
    return plan_speculates(plan) && plan->workload.speculation.method == DRAFT_DSPARK &&
           plan->model.dspark.layers > 0;
}

bool plan_holds_draft(const struct plan *plan)
{
    const struct speculation *s = &plan->workload.speculation;
    bool model = plan_speculates(plan) && s->method == DRAFT_MODEL && s->size.layers > 0;
    return model || plan_drafts_blocks(plan);
}

bool plan_drafts_itself(const struct plan *plan)
{
    return plan_speculates(plan) && plan->workload.speculation.method == DRAFT_MTP;
}

uint64_t plan_drafted(const struct plan *plan)
{
    return plan_speculates(plan) ? plan->workload.speculation.tokens : 0;
}

bool plan_runs_draft(const struct plan *plan)
{
    return plan_holds_draft(plan) || plan_drafts_itself(plan);
}

uint64_t plan_modules(const struct plan *plan)
{
    const struct model *m = &plan->model;
    bool vllm = plan->stack.kind == STACK_VLLM, first = m->mtp_first && vllm;
    bool none = vllm && m->ngram.tables && m->ngram.embedded;
    return !m->mtp_enabled || none ? 0 : first ? lesser(m->mtp_layers, 1) : m->mtp_layers;
}

double plan_accepted(const struct plan *plan)
{
    const struct speculation *s = &plan->workload.speculation;
    if (!plan_speculates(plan))
        return (double)plan->workload.tokens_per_sequence;
    double n = (double)s->tokens + 1;
    return s->acceptance < 1 ? (1 - pow(s->acceptance, n)) / (1 - s->acceptance) : n;
}

bool drafter_of(const struct model *model, struct drafter *out)
{
    if (model->moe.experts || model->layer_types.n || model->attention.kind != ATTENTION_GQA)
        return false;
    memset(out, 0, sizeof *out); /* padding too: plans are compared by their bytes */
    out->layers = model->layers;
    out->hidden = model->hidden;
    out->heads = model->attention.heads;
    out->kv_heads = model->attention.kv_heads;
    out->head_dim = model->attention.head_dim;
    out->intermediate = model->dense_intermediate;
    out->vocab = model->vocab;
    out->tied = model->tied_embeddings;
    return true;
}

static void take_module(struct model *model)
{
    const enum layer_kind kind = model_mtp_kind(model);
    const enum mixer mixer = kind_mixer(kind);
    model->layers = 1;
    model->dense_layers = kind_ffn(kind) == FFN_DENSE;
    model->moe_every = 1;
    model->layer_types.n = 0;
    model->moe.hash_layers = 0;
    model->residual_block = 0;
    if (mixer != MIXER_FULL)
        model->layer_types =
            (struct enum_list){1, {mixer == MIXER_WINDOW ? LAYER_WINDOW : LAYER_BLOCKS}};
    if (model->mtp_plain)
        model->residual_streams = 1;
    model->mtp_layers = 0;
    model->mtp_enabled = false;
}

/* Window layers with experts, as the model's but for what model.dspark says (vLLM
 * models/deepseek_v41/nvidia/dspark.py: DeepseekV4DecoderLayer behind the model's last). */
static void take_block(struct plan *draft)
{
    struct model *model = &draft->model;
    const struct dspark own = model->dspark;
    model->layers = own.layers;
    model->dense_layers = 0;
    model->moe_every = 1;
    model->layer_types = (struct enum_list){1, {LAYER_WINDOW}};
    model->mtp_layers = 0;
    model->mtp_enabled = false;
    model->indexer = (struct indexer){0};
    model->encoder = (struct encoder){0};
    model->ngram = (struct ngram){0};
    model->dspark = (struct dspark){0};
    model->rotary = false; /* by the model's tables, which all layers share */
    model->moe.hash_layers = 0;
    model->moe.experts = own.experts ? own.experts : model->moe.experts;
    model->moe.top_k = own.top_k ? own.top_k : model->moe.top_k;
    draft->moe.redundant_experts = 0;
    draft->memory.ngram_host = false;
}

static void take_model(const struct plan *plan, struct plan *draft)
{
    const struct drafter *size = &plan->workload.speculation.size;
    draft->model = (struct model){
        .layers = size->layers,
        .dense_layers = size->layers,
        .moe_every = 1,
        .hidden = size->hidden,
        .dense_intermediate = size->intermediate,
        .vocab = size->vocab,
        .tied_embeddings = size->tied,
        .norms_per_layer = 2,
        .rotary = true,
        .max_position = plan->model.max_position,
        .attention = {.kind = ATTENTION_GQA,
                      .heads = size->heads,
                      .kv_heads = size->kv_heads,
                      .head_dim = size->head_dim},
        .moe = {.glu = true},
    };
    const struct speculation *s = &plan->workload.speculation;
    draft->precision.weights = s->weights ? s->weights : DTYPE_BF16;
    if (s->kv_cache)
        draft->precision.kv_cache = s->kv_cache;
    uint64_t ranks =
        plan_world(plan) / plan->parallel.pp; /* of no experts: as any dense plan */
    bool spread = plan_dp(plan) > 1;
    draft->parallel.ep = spread ? ranks : 1;
    draft->parallel.etp = spread ? 1 : ranks;
    draft->moe.redundant_experts = 0;
}

void plan_draft(const struct plan *plan, uint64_t tokens, struct plan *draft)
{
    *draft = *plan;
    draft->workload.speculation.tokens = 0;
    draft->workload.tokens_per_sequence = tokens;
    draft->workload.encoder.patches = 0;
    draft->lora.slots = 0;
    draft->memory.weight_offload_bytes = 0;
    draft->memory.offload_group = 0;
    if (plan->stack.kind == STACK_SGLANG)
        draft->parallel.dcp = 1; /* model_executor/pool_configurator.py: drafts' are whole */
    if (plan->workload.speculation.method == DRAFT_MODEL)
        take_model(plan, draft);
    else if (plan->workload.speculation.method == DRAFT_DSPARK)
        take_block(draft);
    else
        take_module(&draft->model);
}

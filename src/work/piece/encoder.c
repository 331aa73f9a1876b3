/* See encoder.h. */
#include "work/piece/encoder.h"

#include "base/checked.h"
#include "plan/derive.h"
#include "plan/engine.h"
#include "work/list/letters.h"

bool encoder_is_there(const struct plan *plan)
{
    bool serves = plan_is_engine(plan) && plan->workload.mode != MODE_TRAIN;
    bool left = plan->stack.kind == STACK_SGLANG && !engine_sglang_loads_encoder(plan);
    bool out = serves && (!plan->workload.encoder.limit || left);
    return plan->model.encoder.layers > 0 && !out;
}

static enum encoder_training training(const struct plan *plan)
{
    bool adapters = plan->workload.mode == MODE_TRAIN && plan->lora.rank > 0;
    return adapters ? ENCODER_FROZEN : plan->workload.encoder.train;
}

bool encoder_adapts(const struct plan *plan)
{
    return plan_is_huggingface(plan) && plan->workload.mode == MODE_TRAIN &&
           plan->lora.rank > 0 && plan->lora.encoder && plan->model.encoder.layers > 0;
}

uint64_t encoder_adapters(const struct plan *plan)
{
    const struct encoder *e = &plan->model.encoder;
    const uint64_t networks = e->glu ? 3 : 2;
    const uint64_t heads = params_encoder_attention(e);
    const uint64_t sides =
        (e->hidden + 3 * heads) + heads + e->hidden + networks * (e->hidden + e->intermediate);
    return encoder_adapts(plan) ? e->layers * plan->lora.rank * sides : 0;
}

bool encoder_runs_back(const struct plan *plan)
{
    return encoder_adapts(plan) ||
           (plan->workload.mode == MODE_TRAIN && training(plan) == ENCODER_ALL);
}

bool encoder_runs_again(const struct plan *plan)
{
    const struct recompute_plan *recompute = &plan->recompute;
    bool has = plan_is_huggingface(plan) || plan_is_megatron(plan);
    if (has && recompute->encoder != ENCODER_AGAIN_AUTO)
        return recompute->encoder == ENCODER_AGAIN_FULL;
    return recompute->kind == RECOMPUTE_FULL;
}

/* vLLM mm_encoder_tp_mode data (model_executor/models/vision.py, run_dp_sharded_vision_model);
 * SGLang mm_enable_dp_encoder. */
bool encoder_apart(const struct plan *plan)
{
    bool has = plan_is_engine(plan) && plan->stack.kind != STACK_TRTLLM; /* no option of its */
    return has && plan->parallel.encoder_apart && plan->parallel.tp > 1;
}

static uint64_t split_over(const struct plan *plan)
{
    return encoder_apart(plan) ? 1 : plan->parallel.tp;
}

struct encoder_share encoder_share(const struct plan *plan, const struct params *params)
{
    const struct params_part *all = &params->encoder;
    uint64_t tp = split_over(plan), layers = plan->model.encoder.layers;
    if (!layers)
        return (struct encoder_share){0};
    uint64_t vectors = all->norms + all->biases;
    uint64_t body = ceil_div(all->matrices, tp) + vectors + params->encoder_embedding;
    uint64_t projector = ceil_div(params->encoder_projector, tp);
    struct encoder_share share = {.trained = body + projector,
                                  .layer =
                                      ceil_div(all->matrices / layers, tp) + vectors / layers};
    enum encoder_training train =
        plan->workload.mode == MODE_TRAIN ? training(plan) : ENCODER_ALL;
    share.frozen = train == ENCODER_ALL         ? 0
                   : train == ENCODER_PROJECTOR ? body
                                                : body + projector;
    share.trained -= share.frozen;
    return share;
}

/* Tokens of the largest item, or of a whole step. */
static struct size profiled_patches(const struct plan *plan, struct sizes *z)
{
    uint64_t merge = plan->model.encoder.merge, item = plan->workload.encoder.item;
    struct size room = size_times(z, size_slot(z, SLOT_STEP_TOKENS), merge);
    if (!item)
        return room;
    struct size fit = size_max(z, size_div(z, room, size_const(z, item)), size_const(z, 1));
    return size_times(z, size_min(z, fit, size_slot(z, SLOT_IMAGES)), item);
}

struct size encoder_patches(const struct plan *plan, struct sizes *z)
{
    if (plan->workload.scenario == SCENARIO_PROFILE_RUN && plan_is_engine(plan))
        return profiled_patches(plan, z);
    return size_times(z, size_slot(z, SLOT_MICRO_BATCH), plan->workload.encoder.patches);
}

struct size encoder_ranks(const struct plan *plan, struct sizes *z)
{
    return encoder_apart(plan) ? size_const(z, 1) : size_slot(z, SLOT_TP);
}

/* Whole images: an image's patches attend to each other. */
struct size encoder_own_patches(const struct plan *plan, struct sizes *z)
{
    struct size all = encoder_patches(plan, z);
    uint64_t image = plan->workload.encoder.item ? plan->workload.encoder.item
                                                 : plan->workload.encoder.patches;
    if (!encoder_apart(plan) || !image)
        return all;
    struct size ranks = size_slot(z, SLOT_TP), images = size_ceil_by(z, all, image);
    return size_min(z, all, size_times(z, size_ceil_div(z, images, ranks), image));
}

struct size encoder_reach(const struct plan *plan, struct sizes *z, struct size n)
{
    uint64_t item = plan->workload.encoder.item;
    uint64_t all = plan->workload.encoder.patches;
    if (item)
        return size_min(z, n, size_const(z, item));
    return all ? size_min(z, n, size_const(z, all)) : n;
}

struct encoder_widths encoder_widths(const struct plan *plan, struct sizes *z)
{
    const struct encoder *e = &plan->model.encoder;
    struct size tp = encoder_ranks(plan, z), hidden = size_const(z, e->hidden);
    struct size context = size_ceil_div(z, size_const(z, params_encoder_attention(e)), tp);
    struct size inter = size_ceil_div(z, size_const(z, e->intermediate), tp);
    return (struct encoder_widths){
        .of = {[ENCODER_HIDDEN] = hidden,
               [ENCODER_QKV] = size_times(z, context, 3),
               [ENCODER_CONTEXT] = context,
               [ENCODER_HEADS] = size_ceil_div(z, size_const(z, e->heads), tp),
               [ENCODER_UP] = size_times(z, inter, e->glu ? 2 : 1),
               [ENCODER_INTER] = inter,
               [ENCODER_STATISTICS] = size_const(z, e->norm_bias ? 4 : 2)},
        .merged = size_times(z, hidden, e->merge),
    };
}

/* TransformerEngine and PyTorch keep the inputs of norms, of products and of the activation, q,
 * k, v, output and statistics of attention. */
static const struct encoder_tensor layer[] = {
    {.name = "encoder_input",
     .width = ENCODER_HIDDEN,
     .saved = true,
     .keeps = ENCODER_KEEPS_INPUT | ENCODER_KEEPS_OPS},
    {.name = "encoder_norm_statistics",
     .width = ENCODER_STATISTICS,
     .dtype = DTYPE_F32,
     .saved = true},
    {.name = "encoder_attention_in",
     .width = ENCODER_HIDDEN,
     .op = "encoder_norm",
     .kind = OP_NORM,
     .saved = true},
    {.name = "encoder_qkv",
     .width = ENCODER_QKV,
     .op = "encoder_qkv",
     .kind = OP_GEMM,
     .saved = true,
     .keeps = ENCODER_KEEPS_OPS},
    {.name = "encoder_context",
     .width = ENCODER_CONTEXT,
     .op = "encoder_attention",
     .kind = OP_ATTENTION,
     .saved = true,
     .keeps = ENCODER_KEEPS_OPS},
    {.name = "encoder_statistics",
     .width = ENCODER_HEADS,
     .dtype = DTYPE_F32,
     .saved = true,
     .keeps = ENCODER_KEEPS_OPS},
    {.name = "encoder_attention_out",
     .width = ENCODER_HIDDEN,
     .op = "encoder_attention_out",
     .kind = OP_GEMM,
     .sum = "encoder_attention_sum"},
    {.name = "encoder_network_input",
     .width = ENCODER_HIDDEN,
     .until = ENCODER_NETWORK,
     .saved = true},
    {.name = "encoder_network_in",
     .width = ENCODER_HIDDEN,
     .op = "encoder_norm",
     .kind = OP_NORM,
     .made = ENCODER_NETWORK,
     .until = ENCODER_NETWORK,
     .saved = true},
    {.name = "encoder_up",
     .width = ENCODER_UP,
     .op = "encoder_up",
     .kind = OP_GEMM,
     .made = ENCODER_NETWORK,
     .until = ENCODER_NETWORK,
     .saved = true,
     .keeps = ENCODER_KEEPS_OPS},
    {.name = "encoder_gate_activated",
     .width = ENCODER_INTER,
     .made = ENCODER_NETWORK,
     .until = ENCODER_NETWORK,
     .saved = true,
     .eager = true,
     .glu = true},
    {.name = "encoder_activated",
     .width = ENCODER_INTER,
     .op = "encoder_activation",
     .kind = OP_ACTIVATION,
     .made = ENCODER_NETWORK,
     .until = ENCODER_NETWORK,
     .saved = true},
    {.name = "encoder_network_out",
     .width = ENCODER_HIDDEN,
     .op = "encoder_down",
     .kind = OP_GEMM,
     .sum = "encoder_sum",
     .made = ENCODER_NETWORK,
     .until = ENCODER_NETWORK},
};

const struct encoder_tensor *encoder_layer(size_t *n)
{
    *n = sizeof layer / sizeof *layer;
    return layer;
}

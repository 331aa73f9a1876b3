/* When each key is read; see unread_table.h. Rows of one key are neighbours: alternatives. */
#include "plan/read/unread_table.h"

#include "base/checked.h"
#include "plan/derive.h"
#include "plan/engine.h"
#include "plan/layers.h"
#include "plan/pools.h"
#include "plan/speculation.h"

#define BIT(word) (UINT32_C(1) << (word))
#define ALL(count) (BIT(count) - 1)

#define ONE_OF(name, bits)                                                                     \
    {                                                                                          \
        .kind = CONDITION_WORD, .key = name, .words = bits                                     \
    }
#define ABOVE(name, limit)                                                                     \
    {                                                                                          \
        .kind = CONDITION_ABOVE, .key = name, .above = limit                                   \
    }
#define ZERO(name)                                                                             \
    {                                                                                          \
        .kind = CONDITION_ZERO, .key = name                                                    \
    }
#define ON(name) ONE_OF(name, BIT(true))
#define OFF(name) ONE_OF(name, BIT(false))

/* ---- conditions that many rows share ---- */

#define MODE(bits) ONE_OF("workload.mode", bits)
#define TRAINS MODE(BIT(MODE_TRAIN))
#define DECODES MODE(BIT(MODE_DECODE))
#define INFERS MODE(BIT(MODE_PREFILL) | BIT(MODE_DECODE) | BIT(MODE_SERVE))
#define ANSWERS MODE(BIT(MODE_SERVE))
#define STEPS MODE(BIT(MODE_TRAIN) | BIT(MODE_PREFILL) | BIT(MODE_DECODE))

#define STACK(bits) ONE_OF("stack.kind", bits)
#define NOT_STACK(bits) STACK(ALL(STACK_COUNT) & ~(bits))
#define MEGATRONS (BIT(STACK_MEGATRON) | BIT(STACK_PRIMUS))
#define TENSORWISE ONE_OF("precision.recipe", BIT(RECIPE_FP8_DELAYED) | BIT(RECIPE_FP8_CURRENT))
#define QUANTIZED ONE_OF("precision.recipe", ALL(RECIPE_NVFP4 + 1) & ~BIT(RECIPE_NONE))
/* optimizers that keep moments in a format of the plan's */
#define MOMENTS                                                                                \
    (BIT(OPTIMIZER_ADAM) | BIT(OPTIMIZER_MUON) | BIT(OPTIMIZER_LION) | BIT(OPTIMIZER_SGD) |    \
     BIT(OPTIMIZER_ADEMAMIX) | BIT(OPTIMIZER_RMSPROP) | BIT(OPTIMIZER_KAHAN_ADAM) |            \
     BIT(OPTIMIZER_SCHEDULE_FREE) | BIT(OPTIMIZER_ADAM_MINI) | BIT(OPTIMIZER_GALORE) |         \
     BIT(OPTIMIZER_APOLLO))
#define PROJECTS                                                                               \
    ONE_OF("optimizer.kind",                                                                   \
           BIT(OPTIMIZER_GALORE) | BIT(OPTIMIZER_GALORE8BIT) | BIT(OPTIMIZER_APOLLO))
/* whose library keeps them in bytes */
#define BYTE_MOMENTS                                                                           \
    (BIT(OPTIMIZER_ADAM8BIT) | BIT(OPTIMIZER_LION8BIT) | BIT(OPTIMIZER_ADEMAMIX8BIT) |         \
     BIT(OPTIMIZER_RMSPROP8BIT))
#define HUGGINGFACE (BIT(STACK_FSDP) | BIT(STACK_DEEPSPEED))
#define TRAINERS (MEGATRONS | BIT(STACK_TORCHTITAN) | HUGGINGFACE)
/* that can write a checkpoint behind the next steps */
#define CHECKPOINTS                                                                            \
    STACK(MEGATRONS | BIT(STACK_TORCHTITAN) | BIT(STACK_FSDP) | BIT(STACK_MAXTEXT) |           \
          BIT(STACK_GENERIC))
/* whose experts are built by the paths' own dispatchers */
#define DISPATCHERS                                                                            \
    (BIT(STACK_GENERIC) | BIT(STACK_HOST) | BIT(STACK_NXD) | BIT(STACK_VLLM) |                 \
     BIT(STACK_SGLANG) | BIT(STACK_TRTLLM))

#define PATH(bits) ONE_OF("moe.path", bits)
#define NOT_PATH(bits) PATH(ALL(PATH_COUNT) & ~(BIT(PATH_AUTO) | (bits)))
#define BLOCKWISE PATH(BIT(PATH_BLOCKWISE))
#define DEEPEP PATH(BIT(PATH_DEEPEP))
#define FIXED_SLOTS (BIT(PATH_CAPACITY) | BIT(PATH_CHUNKED_A2A))

#define GQA ONE_OF("model.attention.kind", BIT(ATTENTION_GQA))
#define MLA ONE_OF("model.attention.kind", BIT(ATTENTION_MLA))
#define SHARED_KV ONE_OF("model.attention.kind", BIT(ATTENTION_SHARED_KV))
#define NOT_MLA ONE_OF("model.attention.kind", BIT(ATTENTION_GQA) | BIT(ATTENTION_SHARED_KV))
#define KV_APART ONE_OF("model.attention.kind", BIT(ATTENTION_GQA) | BIT(ATTENTION_MLA))

/* What a function says of a plan, by the key that it is asked for with. */
#define HOLDS(of, says, yes, no)                                                               \
    {                                                                                          \
        .kind = CONDITION_OTHER, .key = of, .holds = says, .text = yes, .otherwise = no        \
    }

static bool has_others(const struct plan *plan)
{
    return model_attention_mixer(&plan->model) != MIXER_WINDOW;
}

/* the convolution of n-grams' embeddings keeps its columns as a state */
static bool has_states(const struct plan *plan)
{
    const struct ngram *ngram = &plan->model.ngram;
    return plan_has_linear(plan) || (ngram->tables && ngram->conv > 1);
}

static bool chooses_entries(const struct plan *plan)
{
    return plan_has_csa(plan) || plan_has_tsa(plan);
}

static bool has_tsa_choose(const struct plan *plan)
{
    return model_has_mixer(&plan->model, MIXER_TSA_CHOOSE);
}

#define LINEAR                                                                                 \
    HAS_LAYERS(plan_has_linear, "the model has linear layers", "the model has no linear layers")
#define STATES                                                                                 \
    HAS_LAYERS(has_states, "the model has linear layers", "the model has no linear layers")
#define WINDOWS                                                                                \
    HAS_LAYERS(plan_has_window, "the model has window layers", "the model has no window layers")
#define OTHERS                                                                                 \
    HAS_LAYERS(has_others, "attention of some layers has no window",                           \
               "all attention of the model has a window")
#define CHUNKS                                                                                 \
    HAS_LAYERS(plan_has_chunk, "the model has chunk layers", "the model has no chunk layers")
#define CSA HAS_LAYERS(plan_has_csa, "the model has csa layers", "the model has no csa layers")
#define HCA HAS_LAYERS(plan_has_hca, "the model has hca layers", "the model has no hca layers")
#define CHOSEN_ENTRIES                                                                         \
    HAS_LAYERS(chooses_entries, "the model has csa layers or tsa layers",                      \
               "the model has no csa layers and no tsa layers")
#define TSA_CHOOSE                                                                             \
    HAS_LAYERS(has_tsa_choose, "the model has tsa_choose layers",                              \
               "the model has no tsa_choose layers")
#define BLOCKS                                                                                 \
    HAS_LAYERS(plan_has_blocks, "the model has blocks layers", "the model has no blocks layers")
#define BORROWS                                                                                \
    HAS_LAYERS(plan_borrows, "the model has layers that borrow keys",                          \
               "the model has no layers that borrow keys")
#define ENCODES ABOVE("model.encoder.layers", 0)
#define HAS_INDEXER ABOVE("model.indexer.heads", 0)
#define LINEAR_KIND(bits) ONE_OF("model.linear.kind", bits)
#define RECURS LINEAR_KIND(ALL(LINEAR_COUNT) & ~BIT(LINEAR_SHORT_CONV))
#define HAS_LAYERS(of, text_yes, text_no) HOLDS("model.layer_types", of, text_yes, text_no)

#define SCENARIO(bits) ONE_OF("workload.scenario", bits)
#define NOT_COLD SCENARIO(ALL(SCENARIO_PROFILE_RUN + 1) & ~BIT(SCENARIO_COLD))
#define DISTRIBUTION(word) ONE_OF("moe.routing.distribution", BIT(word))

#define COMPUTE(bits) ONE_OF("precision.compute", bits)
#define BLOCK(bits) ONE_OF("block.kind", bits)
#define MATMUL_BLOCK BLOCK(ALL(BLOCK_MLP + 1) & ~BIT(BLOCK_MOE))

#define APART                                                                                  \
    HOLDS("workload.disaggregated", plan_is_apart, "prefill and decode are apart",             \
          "prefill and decode are not apart")
#define PART_OF_REQUESTS ONE_OF("workload.role", BIT(DUTY_PROMPTS) | BIT(DUTY_ANSWERS))
#define PROMPT_GRAPHS ONE_OF("stack.prompt_graphs", BIT(GRAPHS_PARTIAL) | BIT(GRAPHS_FULL))
#define PIPELINE ABOVE("parallel.pp", 1)
#define TENSOR ABOVE("parallel.tp", 1)
#define SPREAD ABOVE("parallel.ep", 1)

/* The width of all shared experts is what their number gives, and may come from it. */
static bool width_follows(const struct plan *plan)
{
    const struct model_moe *moe = &plan->model.moe;
    bool overflow = false;
    return moe->shared_intermediate ==
           checked_mul(moe->shared_experts, moe->intermediate, &overflow);
}

#define WIDTH_FOLLOWS                                                                          \
    HOLDS("model.moe.shared_intermediate", width_follows,                                      \
          "model.moe.shared_intermediate is shared_experts x intermediate",                    \
          "model.moe.shared_intermediate is given")

#define HAS_MOE                                                                                \
    HOLDS("model.dense_layers", plan_has_moe, "the model has MoE layers",                      \
          "the model has no MoE layers")

/* Not of a matmul that the host performs of a model without experts. */
static bool may_have_experts(const struct plan *plan)
{
    return plan->stack.kind != STACK_HOST || plan->block.kind == BLOCK_MOE ||
           plan_has_moe(plan);
}

/* run refuses a model whose layers are all routed by tables */
#define NAMED_ALL                                                                              \
    HOLDS("model.moe.hash_layers", plan_routes_by_tables, "tables route all layers",           \
          "tables do not route all layers")

#define HAS_EXPERTS                                                                            \
    HOLDS("block.kind", may_have_experts, "the block or the model has experts",                \
          "a matmul of a model without MoE layers")

static bool has_ranks(const struct plan *plan)
{
    return plan_world(plan) > 1;
}

#define RANKS                                                                                  \
    HOLDS("cluster.node.devices", has_ranks, "there are several ranks",                        \
          "one rank has nobody to talk to")

static bool is_limited(const struct plan *plan)
{
    const struct limit *limit = &plan->workload.limit;
    return limit->ttft_s > 0 || limit->tpot_s > 0 || limit->latency_s > 0;
}

#define LIMITED                                                                                \
    HOLDS("workload.limit.ttft", is_limited, "workload.limit sets one",                        \
          "workload.limit sets none")
/* Serving engines count the vectors of a MoE layer, and then how many layers there are. */
#define SERVES STACK(BIT(STACK_NXD) | ENGINES), INFERS
#define ENGINES (BIT(STACK_VLLM) | BIT(STACK_SGLANG) | BIT(STACK_TRTLLM))
#define ENGINE STACK(ENGINES)
#define DRAFTS                                                                                 \
    HOLDS("workload.speculation.tokens", plan_speculates, "an engine's draft proposes tokens", \
          "no draft proposes tokens")
static bool has_replicas(const struct plan *plan)
{
    return plan_attention_replicas(plan) > 1;
}

static bool has_parts(const struct plan *plan)
{
    return has_replicas(plan) || plan->parallel.attention_cp > 1;
}

static bool has_copies(const struct plan *plan)
{
    return plan_dp(plan) > 1;
}

#define COPIES HOLDS("parallel.dp", has_copies, "dp is above 1", "dp is 1")

static bool has_dense(const struct plan *plan)
{
    return model_ffns(&plan->model, FFN_DENSE) > 0;
}

#define REPLICATED                                                                             \
    HOLDS("parallel.dp", has_replicas, "dp counts replicas of attention in one engine",        \
          "no replicas of attention share experts")
#define IN_PARTS                                                                               \
    HOLDS("parallel.dp", has_parts, "dp counts replicas of attention in one engine",           \
          "no replicas of attention share experts, nor ranks a prompt")
#define HAS_DENSE                                                                              \
    HOLDS("model.dense_layers", has_dense, "the model has dense layers",                       \
          "the model has no dense layers")
#define PARTS_BY_CHECKPOINT                                                                    \
    HOLDS("precision.plain", plan_parts_by_checkpoint,                                         \
          "parts of the checkpoint are in another format",                                     \
          "precision.weights takes it up where a serving plan is silent")
#define PARTS_ARE_GIVEN                                                                        \
    HOLDS("precision.plain", plan_parts_are_given, "precision.plain names parts",              \
          "precision.plain names no parts")
#define DRAFT_METHOD(bits) ONE_OF("workload.speculation.method", bits)
#define DRAFT_BESIDE DRAFTS, DRAFT_METHOD(BIT(DRAFT_MODEL))
#define DRAFT_BLOCKS DRAFTS, DRAFT_METHOD(BIT(DRAFT_DSPARK))
#define DRAFT_SIZED DRAFT_BESIDE, ABOVE("workload.speculation.layers", 0)
#define WRITTEN_AUTO                                                                           \
    {                                                                                          \
        .kind = CONDITION_WORD, .key = "moe.path", .words = BIT(PATH_AUTO), .as_written = true \
    }

#define WHEN(name, ...)                                                                        \
    {                                                                                          \
        .key = name, .when = { __VA_ARGS__ }                                                   \
    }
/* Read unless moe.buffer asserts balance, on a path that reads moe.buffer; of layers that
 * route. */
#define DRAWN(name, ...)                                                                       \
    WHEN(name, ONE_OF("moe.buffer", ALL(SIZING_FACTOR + 1) & ~BIT(SIZING_BALANCED)), HAS_MOE,  \
         __VA_ARGS__),                                                                         \
        WHEN(name, PATH(FIXED_SLOTS | BIT(PATH_BLOCKWISE)), HAS_MOE, __VA_ARGS__)
#define NEVER(name, why)                                                                       \
    {                                                                                          \
        .key = name, .never = why                                                              \
    }

/* an encoder that images pass in training */
#define SEES_BY(stacks) ABOVE("workload.encoder.patches", 0), TRAINS, STACK(stacks)
#define SEES SEES_BY(TRAINERS)
/* adapters beside an engine's weights */
#define ADAPTERS STACK(ENGINES), INFERS
#define ADAPTS ADAPTERS, ABOVE("lora.slots", 0)
#define FEW_BITS                                                                               \
    ONE_OF("precision.weights", ALL(DTYPE_NF4_DOUBLE + 1) & ~ALL(DTYPE_FP8_CHANNEL) &          \
                                    ~BIT(DTYPE_INT8)) /* formats with scales */
/* formats of linear layers that libraries may pass by */
#define LINEAR_BITS                                                                            \
    ONE_OF("precision.weights", BIT(DTYPE_FP8_CHANNEL) | BIT(DTYPE_FP8_BLOCK) |                \
                                    BIT(DTYPE_INT4) | BIT(DTYPE_INT4_32) | BIT(DTYPE_NF4) |    \
                                    BIT(DTYPE_NF4_DOUBLE))
#define COLOCATES TRAINS, NOT_STACK(BIT(STACK_HOST) | ENGINES)
#define GIVES_WAY ONE_OF("workload.colocated.engine", BIT(ENGINE_ASLEEP))
#define ALONE ONE_OF("workload.colocated.engine", BIT(ENGINE_NONE))
#define BESIDE ONE_OF("workload.colocated.engine", BIT(ENGINE_ASLEEP) | BIT(ENGINE_AWAKE))

#define NO_VALUES "predict computes no values, run does"

/* A table, in the order of the field table. */
const struct unread_row unread_rows[] = {
    /* ---- model ---- */
    WHEN("model.tied_embeddings", ZERO("model.labels")),
    WHEN("model.head_bias", ZERO("model.labels")),
    WHEN("model.mtp_layers", ON("model.mtp_enabled")),
    WHEN("model.mtp_enabled", ABOVE("model.mtp_layers", 0)),
    WHEN("model.mtp_window", ON("model.mtp_enabled"), ABOVE("model.mtp_layers", 0), KV_APART),
    WHEN("model.mtp_dense", ON("model.mtp_enabled"), ABOVE("model.mtp_layers", 0),
         ABOVE("model.moe.experts", 0)),
    WHEN("model.mtp_first", STACK(BIT(STACK_VLLM)), ON("model.mtp_enabled"),
         ABOVE("model.mtp_layers", 1)),
    WHEN("model.mtp_plain", ON("model.mtp_enabled"), ABOVE("model.mtp_layers", 0),
         ABOVE("model.residual_streams", 1)),
    WHEN("model.residual_identity", ABOVE("model.residual_streams", 1)),
    WHEN("model.residual_mean", ABOVE("model.residual_streams", 1)),
    WHEN("model.checkpoint", ENGINE, INFERS, PARTS_BY_CHECKPOINT),
    WHEN("model.plain", ENGINE, INFERS, ABOVE("model.plain", 0), PARTS_BY_CHECKPOINT),
    WHEN("model.plain_format", ENGINE, INFERS, ABOVE("model.plain", 0), PARTS_BY_CHECKPOINT),
    /* rows of vLLM's rotary table; contexts that both engines start with by a switch alone */
    WHEN("model.max_position", STACK(BIT(STACK_VLLM) | BIT(STACK_SGLANG)), INFERS),
    WHEN("model.rotary", STACK(BIT(STACK_VLLM) | BIT(STACK_SGLANG)), INFERS,
         ABOVE("model.max_position", 0)),
    WHEN("model.rotary_beside", STACK(BIT(STACK_VLLM) | BIT(STACK_SGLANG)), INFERS,
         ON("model.rotary"), ABOVE("model.max_position", 0)),
    WHEN("model.rotary_table", STACK(BIT(STACK_VLLM)), INFERS, ON("model.rotary"),
         ABOVE("model.max_position", 0)),
    WHEN("model.attention.kv_heads", GQA),
    WHEN("model.attention.head_dim", NOT_MLA),
    WHEN("model.attention.kv_lora_rank", MLA),
    WHEN("model.attention.qk_nope_head_dim", MLA),
    WHEN("model.attention.qk_rope_head_dim", MLA),
    WHEN("model.attention.qk_rope_head_dim", SHARED_KV,
         STACK(BIT(STACK_VLLM) | BIT(STACK_SGLANG)), INFERS),
    WHEN("model.attention.qk_rope_head_dim", GQA, STACK(BIT(STACK_VLLM)), INFERS,
         ABOVE("model.max_position", 0)),
    WHEN("model.attention.v_head_dim", KV_APART),
    WHEN("model.attention.qk_norm", GQA),
    WHEN("model.attention.qk_norm", LINEAR, LINEAR_KIND(BIT(LINEAR_LIGHTNING))),
    WHEN("model.attention.qk_norm_all_heads", GQA, ON("model.attention.qk_norm")),
    WHEN("model.attention.window", WINDOWS),
    WHEN("model.attention.window", SHARED_KV),
    WHEN("model.attention.chunk", CHUNKS),
    WHEN("model.attention.csa_ratio", CSA),
    WHEN("model.attention.hca_ratio", HCA),
    WHEN("model.attention.entry_keys", CHOSEN_ENTRIES),
    WHEN("model.attention.o_groups", SHARED_KV),
    WHEN("model.attention.o_lora_rank", SHARED_KV),
    WHEN("model.attention.output_gate", KV_APART),
    WHEN("model.attention.head_gate", KV_APART),
    WHEN("model.attention.k_eq_v", GQA, OTHERS),
    WHEN("model.window.heads", GQA, WINDOWS),
    WHEN("model.window.kv_heads", GQA, WINDOWS),
    WHEN("model.window.head_dim", GQA, WINDOWS),
    WHEN("model.window.v_head_dim", GQA, WINDOWS),
    WHEN("model.window.sinks", GQA, WINDOWS, OFF("model.attention.sinks")),
    WHEN("model.linear.kind", LINEAR),
    WHEN("model.linear.heads", LINEAR),
    WHEN("model.linear.head_dim", LINEAR),
    WHEN("model.linear.key_heads", LINEAR,
         LINEAR_KIND(ALL(LINEAR_COUNT) & ~BIT(LINEAR_LIGHTNING) & ~BIT(LINEAR_SHORT_CONV))),
    WHEN("model.linear.key_dim", LINEAR, RECURS),
    WHEN("model.linear.conv", LINEAR, LINEAR_KIND(ALL(LINEAR_COUNT) & ~BIT(LINEAR_LIGHTNING))),
    WHEN("model.linear.rank", LINEAR, LINEAR_KIND(BIT(LINEAR_MAMBA1))),
    WHEN("model.linear.rank", LINEAR, LINEAR_KIND(BIT(LINEAR_KIMI_DELTA)),
         OFF("model.linear.full_rank_decay")),
    WHEN("model.linear.full_rank_gate", LINEAR, LINEAR_KIND(BIT(LINEAR_KIMI_DELTA))),
    WHEN("model.linear.full_rank_decay", LINEAR, LINEAR_KIND(BIT(LINEAR_KIMI_DELTA))),
    WHEN("model.linear.bare", LINEAR, LINEAR_KIND(BIT(LINEAR_MAMBA1) | BIT(LINEAR_MAMBA2))),
    WHEN("model.linear.chunk", LINEAR,
         LINEAR_KIND(ALL(LINEAR_COUNT) & ~BIT(LINEAR_MAMBA1) & ~BIT(LINEAR_SHORT_CONV))),
    WHEN("model.linear.state", LINEAR, RECURS, INFERS),
    WHEN("model.linear.conv_state", LINEAR, INFERS, ABOVE("model.linear.conv", 0)),
    WHEN("model.linear.conv_state", INFERS, ABOVE("model.ngram.tables", 0),
         ABOVE("model.ngram.conv", 1)),
    WHEN("model.indexer.head_dim", HAS_INDEXER),
    WHEN("model.indexer.top_k", HAS_INDEXER),
    WHEN("model.indexer.block", BLOCKS),
    WHEN("model.indexer.pooled", BLOCKS),
    WHEN("model.indexer.pool", HAS_INDEXER, MLA),
    WHEN("model.indexer.candidates", TSA_CHOOSE),
    WHEN("model.ngram.rows", ABOVE("model.ngram.tables", 0)),
    WHEN("model.ngram.heads", ABOVE("model.ngram.tables", 0)),
    WHEN("model.ngram.width", ABOVE("model.ngram.tables", 0)),
    WHEN("model.ngram.conv", ABOVE("model.ngram.tables", 0)),
    WHEN("model.ngram.gap", ABOVE("model.ngram.tables", 0), ABOVE("model.ngram.conv", 1)),
    WHEN("model.dspark.layers", DRAFT_BLOCKS),
    WHEN("model.dspark.experts", DRAFT_BLOCKS),
    WHEN("model.dspark.top_k", DRAFT_BLOCKS, MODE(BIT(MODE_DECODE) | BIT(MODE_SERVE))),
    WHEN("model.dspark.inputs", DRAFT_BLOCKS),
    WHEN("model.dspark.rank", DRAFT_BLOCKS),
    WHEN("model.ngram.embedded", ABOVE("model.ngram.tables", 0)),
    WHEN("model.ngram.format", ABOVE("model.ngram.tables", 0)),
    WHEN("model.ngram.projections", ABOVE("model.ngram.tables", 0)),
    WHEN("model.mlp_bias", HAS_DENSE),
    WHEN("model.mlp_bias", ABOVE("model.mtp_layers", 0)),
    WHEN("model.encoder.hidden", ENCODES),
    WHEN("model.encoder.attention", ENCODES),
    WHEN("model.encoder.heads", ENCODES, SEES),
    WHEN("model.encoder.intermediate", ENCODES),
    WHEN("model.encoder.glu", ENCODES),
    WHEN("model.encoder.bias", ENCODES),
    WHEN("model.encoder.norm_bias", ENCODES),
    WHEN("model.encoder.inputs", ENCODES, SEES),
    WHEN("model.encoder.inputs", ENCODES, ENGINE, INFERS),
    WHEN("model.encoder.merge", ENCODES, SEES),
    WHEN("model.encoder.merge", ENCODES, ENGINE, INFERS),
    WHEN("model.encoder.outputs", ENCODES, SEES),
    WHEN("model.encoder.outputs", ENCODES, ENGINE, INFERS),
    WHEN("model.encoder.embedding", ENCODES),
    WHEN("model.encoder.projector", ENCODES),
    WHEN("model.encoder.audio", ENCODES),
    WHEN("model.encoder.on_request", ENCODES, STACK(BIT(STACK_SGLANG)), INFERS),
    WHEN("model.encoder.loaded_on_request", ENCODES, STACK(BIT(STACK_SGLANG)), INFERS),
    WHEN("model.encoder.captured", ENCODES, STACK(BIT(STACK_SGLANG)), INFERS),
    WHEN("model.encoder.nested", ENCODES, STACK(BIT(STACK_SGLANG)), INFERS),
    WHEN("model.encoder.said_layers", ENCODES, STACK(BIT(STACK_SGLANG)), INFERS),
    WHEN("model.encoder.said_hidden", ENCODES, STACK(BIT(STACK_SGLANG)), INFERS),
    WHEN("model.moe.experts", HAS_EXPERTS),
    WHEN("model.moe.top_k", HAS_MOE),
    WHEN("model.moe.intermediate", HAS_EXPERTS),
    WHEN("model.moe.shared_intermediate", HAS_EXPERTS),
    WHEN("model.moe.latent_size", HAS_EXPERTS),
    WHEN("model.moe.image_intermediate", HAS_EXPERTS),
    WHEN("model.moe.zero_experts", HAS_EXPERTS),
    WHEN("model.moe.shortcut", ENGINE, INFERS, HAS_MOE),
    WHEN("model.moe.shortcut", STACK(HUGGINGFACE), TRAINS, HAS_MOE),
    WHEN("model.moe.hash_layers", SERVES, HAS_MOE),
    WHEN("model.moe.hash_layers", TRAINS, STACK(MEGATRONS), HAS_MOE),
    WHEN("model.moe.hash_layers", STACK(BIT(STACK_HOST)), NAMED_ALL),
    WHEN("model.moe.latent_norm", HAS_EXPERTS, ABOVE("model.moe.latent_size", 0)),
    WHEN("model.residual_intermediate", HAS_EXPERTS),
    WHEN("model.borrow_intermediate", BORROWS),
    WHEN("model.layer_embedding.vocab", ABOVE("model.layer_embedding.width", 0)),
    WHEN("moe.redundant_experts", HAS_EXPERTS),
    WHEN("moe.routing.placement", HAS_EXPERTS),
    WHEN("moe.routing.samples", HAS_EXPERTS),
    WHEN("precision.combine", HAS_EXPERTS),
    WHEN("model.moe.shared_experts", WIDTH_FOLLOWS),
    WHEN("model.moe.shared_experts", ONE_OF("moe.shared", BIT(SHARED_TP))),
    NEVER("model.moe.activation", NO_VALUES),
    WHEN("model.moe.activation", STACK(BIT(STACK_VLLM) | BIT(STACK_SGLANG)),
         ONE_OF("precision.weights", BIT(DTYPE_MXFP4))), /* whose kernels are OpenAI's alone */
    WHEN("model.moe.bias", HAS_MOE),
    WHEN("model.moe.bias", SERVES),
    WHEN("model.moe.bias", STACK(BIT(STACK_HOST))), /* run performs the layer all the same */
    WHEN("model.moe.router.score", ON("model.moe.router.bias"),
         ABOVE("model.moe.router.groups", 1)),
    WHEN("model.moe.router.score", ON("model.moe.router.bias"), SCENARIO(BIT(SCENARIO_COLD))),
    NEVER("model.moe.router.order", NO_VALUES),
    NEVER("model.moe.router.normalize", NO_VALUES),
    WHEN("model.moe.router.bias", HAS_MOE),
    WHEN("model.moe.router.bias", SERVES),
    WHEN("model.moe.router.bias", ABOVE("model.moe.router.groups", 1)),
    WHEN("model.moe.router.bias", SCENARIO(BIT(SCENARIO_COLD))),
    WHEN("model.moe.router.linear_bias", HAS_MOE),
    WHEN("model.moe.router.linear_bias", SERVES),
    WHEN("model.moe.router.learned_scale", HAS_MOE),
    WHEN("model.moe.router.learned_scale", SERVES),
    WHEN("model.moe.router.top_groups", ABOVE("model.moe.router.groups", 1)),
    NEVER("model.moe.router.scale", NO_VALUES),

    /* ---- cluster ---- */
    WHEN("cluster.node.host_memory", TRAINS, ABOVE("optimizer.offload", 0)),
    WHEN("cluster.node.host_memory", TRAINS, ABOVE("recompute.offload", 0)),
    WHEN("cluster.node.host_memory", TRAINS, CHECKPOINTS, ON("workload.async_checkpoint")),
    WHEN("cluster.node.host_memory", COLOCATES, ABOVE("workload.colocated.away", 0)),
    WHEN("cluster.node.host_memory", INFERS, STACK(BIT(STACK_VLLM) | BIT(STACK_SGLANG)),
         ABOVE("memory.weight_offload", 0)),
    WHEN("cluster.node.host_memory", INFERS, ENGINE, ABOVE("memory.host_cache", 0)),
    WHEN("cluster.node.host_memory", INFERS, STACK(BIT(STACK_SGLANG)),
         ABOVE("memory.host_cache_ratio", 0)),
    WHEN("cluster.node.host_bandwidth", TRAINS, ABOVE("optimizer.offload", 0)),
    WHEN("cluster.node.host_bandwidth", TRAINS, ABOVE("recompute.offload", 0)),
    WHEN("cluster.node.host_bandwidth", INFERS, STACK(BIT(STACK_VLLM) | BIT(STACK_SGLANG)),
         ABOVE("memory.weight_offload", 0)),
    WHEN("cluster.node.host_memory_bandwidth", TRAINS, ABOVE("optimizer.offload", 0)),
    WHEN("cluster.device.peak.fp4", INFERS, ENGINE,
         ONE_OF("precision.compute", BIT(COMPUTE_FP8)),
         ONE_OF("precision.weights", BIT(DTYPE_NVFP4))),
    WHEN("cluster.device.peak.fp4", TRAINS, STACK(MEGATRONS),
         ONE_OF("precision.compute", BIT(COMPUTE_FP8)),
         ONE_OF("precision.recipe", BIT(RECIPE_NVFP4))),
    WHEN("cluster.device.fp8_transpose", TRAINS, STACK(MEGATRONS),
         ONE_OF("precision.recipe", BIT(RECIPE_FP8_DELAYED) | BIT(RECIPE_FP8_CURRENT))),
    WHEN("cluster.device.l2", STACK(BIT(STACK_VLLM)), INFERS,
         ONE_OF("stack.graphs", ALL(GRAPHS_FULL + 1) & ~BIT(GRAPHS_NONE))),
    WHEN("cluster.network.leaf.oversubscription", ABOVE("cluster.network.leaf.nodes", 0)),
    WHEN("cluster.network.leaf.latency", ABOVE("cluster.network.leaf.nodes", 0)),
    WHEN("cluster.network.pod.oversubscription", ABOVE("cluster.network.pod.nodes", 0)),
    WHEN("cluster.network.pod.latency", ABOVE("cluster.network.pod.nodes", 0)),
    WHEN("cluster.mesh", MATMUL_BLOCK, TENSOR),
    WHEN("cluster.mesh", PATH(BIT(PATH_DEEPEP) | BIT(PATH_DEEPEP_LL)), HAS_MOE),
    WHEN("cluster.wrap", MATMUL_BLOCK, TENSOR, ABOVE("cluster.mesh", 0)),

    /* ---- stack ---- */
    WHEN("stack.fraction", ZERO("memory.fraction"),
         STACK(ALL(STACK_COUNT) & ~BIT(STACK_MAXTEXT))),
    WHEN("stack.fraction", ZERO("memory.fraction"), ZERO("cluster.device.usable")),
    WHEN("stack.relax", STACK(BIT(STACK_MAXTEXT)), ZERO("cluster.device.usable")),
    WHEN("stack.grad_copies", STACK(BIT(STACK_MAXTEXT))),
    WHEN("stack.workspace", STACK(TRAINERS)),
    WHEN("stack.attention", STACK(TRAINERS)),
    WHEN("stack.cross_entropy", STACK(TRAINERS | BIT(STACK_MAXTEXT)), ZERO("model.labels")),
    WHEN("stack.balance_loss", TRAINS, STACK(HUGGINGFACE), ABOVE("model.moe.experts", 0),
         ZERO("model.labels")),
    WHEN("stack.on_overflow", ONE_OF("moe.buffer", BIT(SIZING_FACTOR)),
         NOT_PATH(FIXED_SLOTS | BIT(PATH_BLOCKWISE))),
    WHEN("stack.graph_modules", TRAINS, STACK(MEGATRONS),
         ONE_OF("stack.graphs", BIT(GRAPHS_PARTIAL))),
    WHEN("stack.loss_chunks", TRAINS, STACK(TRAINERS | BIT(STACK_MAXTEXT)),
         ONE_OF("stack.cross_entropy", BIT(LOSS_CHUNKED)), ZERO("model.labels")),
    WHEN("stack.loss_chunks", TRAINS, STACK(TRAINERS),
         ONE_OF("stack.cross_entropy", BIT(LOSS_LOG_PROBS_PART) | BIT(LOSS_LINEAR_PROBS)),
         ZERO("model.labels")),
    WHEN("stack.loss_parallel", TRAINS, TENSOR, STACK(BIT(STACK_TORCHTITAN))),
    WHEN("stack.unrolled", STACK(BIT(STACK_MAXTEXT)), ABOVE("stack.grad_copies", 0)),
    WHEN("stack.unrolled", STACK(BIT(STACK_MAXTEXT)),
         ONE_OF("precision.weights", BIT(DTYPE_F32))),
    WHEN("stack.compiled", STACK(BIT(STACK_TORCHTITAN))),
    WHEN("stack.random_dummies", STACK(BIT(STACK_VLLM)), INFERS, HAS_MOE,
         PATH(ALL(PATH_COUNT) & ~BIT(PATH_DEEPEP_LL))),
    WHEN("stack.random_dummies", STACK(BIT(STACK_VLLM)), MODE(BIT(MODE_SERVE)), HAS_MOE),
    WHEN("stack.wgrad_placeholders", STACK(TRAINERS)),
    WHEN("stack.delay_wgrad", TRAINS, STACK(MEGATRONS), ON("stack.overlap.ep")),
    NEVER("stack.selective_threshold_percent", "moe.switch says where decode changes over"),
    WHEN("stack.version", ENGINE, INFERS),
    WHEN("stack.graph_batch", ENGINE, MODE(BIT(MODE_DECODE) | BIT(MODE_SERVE))),
    WHEN("stack.graph_batch", STACK(BIT(STACK_SGLANG)), INFERS, ZERO("memory.fraction")),
    WHEN("stack.graph_padding", STACK(BIT(STACK_TRTLLM)),
         MODE(BIT(MODE_DECODE) | BIT(MODE_SERVE))),
    WHEN("stack.prompt_graphs", STACK(BIT(STACK_SGLANG)), INFERS),
    WHEN("stack.prompt_graphs", STACK(BIT(STACK_TRTLLM)),
         MODE(BIT(MODE_PREFILL) | BIT(MODE_SERVE))),
    WHEN("stack.prompt_graph_tokens", STACK(BIT(STACK_SGLANG)), INFERS),
    WHEN("stack.prompt_graph_tokens", STACK(BIT(STACK_TRTLLM)),
         MODE(BIT(MODE_PREFILL) | BIT(MODE_SERVE)), PROMPT_GRAPHS),
    WHEN("stack.experts", ENGINE, INFERS),

    /* ---- workload ---- */
    WHEN("workload.global_batch", TRAINS),
    WHEN("workload.tokens_per_step", TRAINS),
    WHEN("workload.tokens_per_sequence", DECODES),
    WHEN("workload.tokens_per_sequence", ANSWERS, DRAFTS),
    WHEN("workload.logits_to_keep", TRAINS, STACK(TRAINERS), ZERO("workload.packing.length"),
         ZERO("model.labels")),
    WHEN("workload.micro_batch", STEPS),
    WHEN("workload.sequence_length", MODE(BIT(MODE_TRAIN) | BIT(MODE_PREFILL))),
    WHEN("workload.context_length", MODE(BIT(MODE_PREFILL) | BIT(MODE_DECODE))),
    WHEN("workload.concurrency", ANSWERS, ZERO("workload.request_rate")),
    WHEN("workload.request_rate", ANSWERS),
    WHEN("workload.input_length", ANSWERS),
    WHEN("workload.output_length", ANSWERS),
    WHEN("workload.length_spread", ANSWERS),
    WHEN("workload.max_num_batched_tokens", ENGINE, INFERS),
    WHEN("workload.max_num_seqs", ENGINE, INFERS),
    WHEN("workload.shared_prefix", ENGINE, INFERS),
    WHEN("workload.queue", ENGINE, MODE(BIT(MODE_PREFILL) | BIT(MODE_DECODE))),
    WHEN("workload.fit_context", ENGINE, DECODES, ON("workload.queue")),
    WHEN("workload.speculation.tokens", ENGINE, INFERS),
    WHEN("workload.speculation.branches", ABOVE("workload.speculation.tokens", 1),
         MODE(BIT(MODE_DECODE) | BIT(MODE_SERVE)), DRAFTS,
         DRAFT_METHOD(BIT(DRAFT_MTP) | BIT(DRAFT_MODEL))),
    WHEN("workload.speculation.acceptance", MODE(BIT(MODE_DECODE) | BIT(MODE_SERVE)), DRAFTS),
    WHEN("workload.speculation.method", DRAFTS),
    WHEN("workload.speculation.model", DRAFT_BESIDE),
    WHEN("workload.speculation.layers", DRAFT_BESIDE),
    WHEN("workload.speculation.hidden", DRAFT_SIZED),
    WHEN("workload.speculation.heads", DRAFT_SIZED),
    WHEN("workload.speculation.kv_heads", DRAFT_SIZED),
    WHEN("workload.speculation.head_dim", DRAFT_SIZED),
    WHEN("workload.speculation.intermediate", DRAFT_SIZED),
    WHEN("workload.speculation.vocab", DRAFT_SIZED),
    WHEN("workload.speculation.tied", DRAFT_SIZED),
    WHEN("workload.speculation.inputs", DRAFT_SIZED),
    WHEN("workload.speculation.joined", DRAFT_SIZED),
    WHEN("workload.speculation.weights", DRAFT_SIZED),
    WHEN("workload.speculation.kv_cache", DRAFT_SIZED),
    WHEN("workload.speculation.shares", DRAFT_SIZED),
    WHEN("workload.disaggregated", ANSWERS),
    WHEN("workload.deployments.prefill", APART),
    WHEN("workload.deployments.decode", APART),
    WHEN("workload.role", STACK(BIT(STACK_SGLANG) | BIT(STACK_TRTLLM)), INFERS),
    WHEN("workload.role", ENGINE, ANSWERS),
    WHEN("workload.chunked_prefill", ANSWERS, STACK(BIT(STACK_TRTLLM))),
    WHEN("workload.balance.timeout", ANSWERS, STACK(BIT(STACK_TRTLLM)), COPIES),
    WHEN("workload.balance.wait", ANSWERS, STACK(BIT(STACK_TRTLLM)), COPIES,
         ABOVE("workload.balance.timeout", 0)),
    WHEN("workload.poll_steps", ANSWERS, STACK(BIT(STACK_SGLANG))),
    WHEN("workload.limit.ttft", ANSWERS),
    WHEN("workload.limit.tpot", ANSWERS),
    WHEN("workload.limit.latency", ANSWERS),
    WHEN("workload.limit.share", ANSWERS, ABOVE("workload.request_rate", 0), LIMITED),
    WHEN("workload.async_checkpoint", TRAINS, CHECKPOINTS),
    WHEN("workload.data", TRAINS),
    WHEN("workload.steps", OFF("stack.static_shapes")),
    WHEN("workload.steps", ONE_OF("moe.buffer", BIT(SIZING_FACTOR)),
         NOT_PATH(FIXED_SLOTS | BIT(PATH_BLOCKWISE))),
    WHEN("workload.packing.length", TRAINS),
    WHEN("workload.packing.square", TRAINS, ABOVE("workload.packing.length", 0)),
    WHEN("workload.colocated.engine", COLOCATES),
    WHEN("workload.colocated.tp", COLOCATES, BESIDE),
    WHEN("workload.colocated.weights", COLOCATES, BESIDE),
    WHEN("workload.colocated.fraction", COLOCATES, BESIDE),
    WHEN("workload.colocated.away", COLOCATES, GIVES_WAY),
    WHEN("workload.colocated.away", COLOCATES, ABOVE("workload.colocated.reference", 0)),
    WHEN("workload.colocated.away", COLOCATES, ABOVE("workload.colocated.critic", 0)),
    WHEN("workload.colocated.away", COLOCATES,
         ABOVE("workload.colocated.critic_parameters", 0)),
    WHEN("workload.colocated.away", COLOCATES, ABOVE("workload.colocated.parameters", 0)),
    WHEN("workload.colocated.away", COLOCATES, ABOVE("workload.colocated.average", 0)),
    WHEN("workload.colocated.reference", COLOCATES),
    WHEN("workload.colocated.passes", COLOCATES),
    WHEN("workload.colocated.format", COLOCATES, ABOVE("workload.colocated.reference", 0)),
    WHEN("workload.colocated.format", COLOCATES, ABOVE("workload.colocated.average", 0)),
    WHEN("workload.colocated.critic", COLOCATES),
    WHEN("workload.colocated.critic_parameters", COLOCATES),
    WHEN("workload.colocated.critic_joint", TRAINS, STACK(HUGGINGFACE),
         ABOVE("workload.colocated.critic", 0)),
    WHEN("workload.colocated.critic_joint", TRAINS, STACK(HUGGINGFACE),
         ABOVE("workload.colocated.critic_parameters", 0)),
    WHEN("workload.colocated.average", COLOCATES),
    WHEN("workload.colocated.parameters", COLOCATES),
    WHEN("workload.colocated.sequences", TRAINS, STACK(HUGGINGFACE), ALONE),
    WHEN("workload.colocated.whole", TRAINS, STACK(BIT(STACK_DEEPSPEED)), ALONE,
         ABOVE("workload.colocated.sequences", 0), ABOVE("parallel.zero", 2)),
    WHEN("workload.encoder.patches", ENCODES, TRAINS, STACK(TRAINERS)),
    WHEN("workload.encoder.patches", ENCODES, ENGINE, INFERS),
    WHEN("workload.encoder.item", ENCODES, SEES),
    WHEN("workload.encoder.item", ENCODES, ENGINE, INFERS),
    WHEN("workload.encoder.unprofiled", ENCODES, STACK(BIT(STACK_VLLM)), INFERS),
    WHEN("workload.encoder.requested", ENCODES, ON("model.encoder.on_request"),
         STACK(BIT(STACK_SGLANG)), INFERS),
    WHEN("workload.encoder.requested", ENCODES, ON("model.encoder.loaded_on_request"),
         STACK(BIT(STACK_SGLANG)), INFERS),
    WHEN("workload.encoder.limit", ENCODES, ENGINE, INFERS),
    WHEN("workload.encoder.train", ENCODES, TRAINS),

    /* ---- parallel ---- */
    WHEN("parallel.dp_shard", TRAINS, ABOVE("parallel.zero", 0)),
    WHEN("parallel.dp_shard", ABOVE("parallel.zero", 2)),
    WHEN("parallel.reshard", TRAINS, STACK(BIT(STACK_TORCHTITAN) | BIT(STACK_FSDP)),
         ABOVE("parallel.zero", 2)),
    WHEN("parallel.prefetch", TRAINS, STACK(BIT(STACK_FSDP)), ABOVE("parallel.zero", 2),
         ONE_OF("parallel.reshard", BIT(RESHARD_AUTO) | BIT(RESHARD_ALWAYS))),
    WHEN("parallel.double_buffer", TRAINS, STACK(MEGATRONS), ABOVE("parallel.zero", 2)),
    WHEN("parallel.outer_zero", TRAINS, STACK(MEGATRONS), ABOVE("parallel.zero", 2),
         ABOVE("parallel.dp_shard", 0)),
    WHEN("parallel.hpz_shard", TRAINS, STACK(BIT(STACK_DEEPSPEED)), ABOVE("parallel.zero", 2)),
    WHEN("parallel.prefetch_bucket", TRAINS, STACK(BIT(STACK_DEEPSPEED)),
         ABOVE("parallel.zero", 2)),
    WHEN("parallel.reduce_bucket", TRAINS, STACK(BIT(STACK_DEEPSPEED)),
         ABOVE("parallel.zero", 0)),
    WHEN("parallel.live_parameters", TRAINS, STACK(BIT(STACK_DEEPSPEED)),
         ABOVE("parallel.zero", 2)),
    WHEN("parallel.overlap_reduce", TRAINS, STACK(BIT(STACK_DEEPSPEED)),
         ABOVE("parallel.zero", 0)),
    WHEN("parallel.attention_dp", ANSWERS),
    WHEN("parallel.batches", ENGINE, MODE(BIT(MODE_PREFILL) | BIT(MODE_DECODE)), PIPELINE),
    WHEN("parallel.dense_apart", STACK(BIT(STACK_SGLANG)), INFERS, IN_PARTS, HAS_DENSE),
    WHEN("parallel.head_apart", STACK(BIT(STACK_SGLANG)), INFERS, REPLICATED),
    WHEN("parallel.encoder_apart", STACK(BIT(STACK_VLLM) | BIT(STACK_SGLANG)), INFERS, TENSOR,
         ENCODES),
    WHEN("parallel.dcp", ENGINE, INFERS, TENSOR),
    WHEN("precision.window_cache", STACK(BIT(STACK_VLLM)), INFERS, GQA, WINDOWS),
    WHEN("parallel.attention_cp", STACK(BIT(STACK_SGLANG)), INFERS, TENSOR),
    WHEN("parallel.sp", TENSOR),
    WHEN("parallel.vpp_group", TRAINS, STACK(MEGATRONS), PIPELINE, ABOVE("parallel.vpp", 1)),
    WHEN("parallel.schedule", PIPELINE),
    WHEN("parallel.stages", PIPELINE),
    WHEN("parallel.layout", PIPELINE),
    WHEN("parallel.stage", PIPELINE),
    /* ---- moe ---- */
    WHEN("moe.capacity_factor", PATH(BIT(PATH_CAPACITY))),
    WHEN("moe.capacity_scope", PATH(BIT(PATH_CAPACITY))),
    NEVER("moe.drop", "predict counts dropped rows, whichever they are"),
    WHEN("moe.drop", STACK(BIT(STACK_HOST)), PATH(BIT(PATH_CAPACITY))), /* run drops the last */
    WHEN("moe.block_size", BLOCKWISE),
    WHEN("moe.block_size", WRITTEN_AUTO, STACK(BIT(STACK_NXD)),
         MODE(BIT(MODE_TRAIN) | BIT(MODE_PREFILL))),
    WHEN("moe.buffer", NOT_PATH(FIXED_SLOTS | BIT(PATH_BLOCKWISE))),
    WHEN("moe.buffer_factor", ONE_OF("moe.buffer", BIT(SIZING_FACTOR)),
         NOT_PATH(FIXED_SLOTS | BIT(PATH_BLOCKWISE))),
    WHEN("moe.buffer_factor", DEEPEP, ONE_OF("moe.library", BIT(LIBRARY_HYBRID_EP)),
         STACK(DISPATCHERS), SPREAD),
    WHEN("moe.chunk", PATH(BIT(PATH_CHUNKED_A2A))),
    WHEN("moe.cores", BLOCKWISE),
    WHEN("moe.shard", BLOCKWISE, ABOVE("moe.cores", 1)),
    WHEN("moe.skip.token", BLOCKWISE),
    WHEN("moe.skip.weight", BLOCKWISE),
    WHEN("moe.skip.dynamic", BLOCKWISE),
    WHEN("moe.skip.static", BLOCKWISE, ON("moe.skip.dynamic")),
    WHEN("moe.sync_free", DEEPEP, STACK(DISPATCHERS | BIT(STACK_PRIMUS))),
    WHEN("moe.dispatch_sms", DEEPEP, SPREAD,
         NOT_STACK(BIT(STACK_MAXTEXT) | BIT(STACK_TORCHTITAN) | HUGGINGFACE)),
    WHEN("moe.library", PATH(BIT(PATH_DEEPEP_LL)), STACK(DISPATCHERS)),
    WHEN("moe.library", DEEPEP, STACK(DISPATCHERS | MEGATRONS | BIT(STACK_FSDP)), SPREAD),
    WHEN("moe.dispatch_tokens", PATH(BIT(PATH_DEEPEP_LL))),
    WHEN("moe.expert_tokens", ENGINE, INFERS),
    WHEN("moe.switch", MODE(BIT(MODE_DECODE) | BIT(MODE_SERVE))),
    WHEN("moe.dedup", MODE(BIT(MODE_DECODE) | BIT(MODE_SERVE))),
    WHEN("moe.dedup", PATH(BIT(PATH_SELECTIVE))),
    NEVER("moe.reuse_handle", "no exchange of backward is timed yet"),
    WHEN("moe.overlap", PATH(BIT(PATH_CHUNKED_A2A))),
    WHEN("moe.overlap", STACK(BIT(STACK_SGLANG)), INFERS),
    WHEN("moe.overlap", STACK(BIT(STACK_VLLM)), INFERS, SPREAD),
    WHEN("moe.overlap_decode", STACK(BIT(STACK_VLLM)), MODE(BIT(MODE_DECODE) | BIT(MODE_SERVE)),
         SPREAD, ON("moe.overlap")),
    WHEN("moe.overlap_prefill", STACK(BIT(STACK_VLLM)),
         MODE(BIT(MODE_PREFILL) | BIT(MODE_SERVE)), SPREAD, ON("moe.overlap")),
    WHEN("moe.overlap_balance", STACK(BIT(STACK_SGLANG)),
         MODE(BIT(MODE_PREFILL) | BIT(MODE_SERVE)), SPREAD, ON("moe.overlap")),
    WHEN("moe.overlap_single", STACK(BIT(STACK_SGLANG)), PATH(BIT(PATH_DEEPEP_LL)),
         MODE(BIT(MODE_DECODE) | BIT(MODE_SERVE)), SPREAD, OFF("moe.overlap")),
    WHEN("moe.paged_stash", TRAINS, STACK(MEGATRONS)),
    WHEN("moe.fuse_activation", STACK(BIT(STACK_HOST))),
    WHEN("moe.alignment", NOT_PATH(FIXED_SLOTS), HAS_EXPERTS),
    DRAWN("moe.routing.distribution", NOT_COLD),
    DRAWN("moe.routing.distribution", DISTRIBUTION(DISTRIBUTION_TRACE)),
    DRAWN("moe.routing.popularity", SCENARIO(BIT(SCENARIO_COLD))),
    DRAWN("moe.routing.popularity",
          ONE_OF("moe.routing.distribution",
                 BIT(DISTRIBUTION_LOGNORMAL) | BIT(DISTRIBUTION_DIRICHLET)),
          SCENARIO(BIT(SCENARIO_STEADY) | BIT(SCENARIO_BURST))),
    DRAWN("moe.routing.alpha", DISTRIBUTION(DISTRIBUTION_ZIPF), NOT_COLD),
    DRAWN("moe.routing.sigma", DISTRIBUTION(DISTRIBUTION_LOGNORMAL), NOT_COLD),
    DRAWN("moe.routing.concentration", DISTRIBUTION(DISTRIBUTION_DIRICHLET), NOT_COLD),
    DRAWN("moe.routing.share", DISTRIBUTION(DISTRIBUTION_HOT_RANK), NOT_COLD),
    DRAWN("moe.routing.seed", ONE_OF("moe.routing.distribution", ALL(DISTRIBUTION_TRACE + 1))),
    WHEN("moe.routing.placement_file", ONE_OF("moe.routing.placement", BIT(PLACEMENT_TABLE))),
    DRAWN("moe.routing.file", DISTRIBUTION(DISTRIBUTION_TRACE)),

    /* ---- precision, recompute, block ---- */
    WHEN("precision.recipe", TRAINS, STACK(MEGATRONS)),
    WHEN("precision.quantized_params", TRAINS, STACK(MEGATRONS), QUANTIZED),
    WHEN("precision.plain_first", TRAINS, STACK(MEGATRONS), QUANTIZED),
    WHEN("precision.plain_last", TRAINS, STACK(MEGATRONS), QUANTIZED),
    WHEN("precision.keep_transpose", TRAINS, STACK(MEGATRONS), TENSORWISE,
         ABOVE("parallel.zero", 2), ON("precision.quantized_params"),
         ON("cluster.device.fp8_transpose")),
    WHEN("precision.gather", TRAINS, STACK(BIT(STACK_DEEPSPEED)), ABOVE("parallel.zero", 2)),
    WHEN("precision.plain", ENGINE, INFERS),
    WHEN("precision.plain", TRAINS, STACK(HUGGINGFACE), ABOVE("lora.rank", 0), LINEAR_BITS),
    WHEN("precision.plain_format", ENGINE, INFERS, PARTS_ARE_GIVEN),
    WHEN("precision.accumulated", TRAINS, STACK(BIT(STACK_TORCHTITAN) | BIT(STACK_FSDP)),
         ABOVE("parallel.zero", 2)),
    WHEN("precision.fake_weights", TRAINS, STACK(HUGGINGFACE | BIT(STACK_TORCHTITAN))),
    WHEN("precision.fake_inputs", TRAINS, STACK(HUGGINGFACE | BIT(STACK_TORCHTITAN)),
         ABOVE("precision.fake_weights", 0)),
    WHEN("precision.master", TRAINS),
    WHEN("precision.moments", TRAINS, ONE_OF("optimizer.kind", MOMENTS)),
    WHEN("precision.moment2", TRAINS,
         ONE_OF("optimizer.kind", BIT(OPTIMIZER_ADAM) | BIT(OPTIMIZER_MUON))),
    WHEN("lora.rank", TRAINS),
    WHEN("lora.rank", ADAPTS),
    WHEN("lora.slots", ADAPTERS, ABOVE("lora.rank", 0)),
    WHEN("lora.sharded", STACK(BIT(STACK_VLLM)), ADAPTS, TENSOR, ABOVE("lora.rank", 0)),
    WHEN("lora.sharded", STACK(MEGATRONS), TRAINS, TENSOR, ABOVE("lora.rank", 0)),
    WHEN("lora.sharded", STACK(MEGATRONS), TRAINS, ABOVE("parallel.etp", 1),
         ABOVE("lora.rank", 0)),
    WHEN("lora.share_experts", STACK(MEGATRONS), TRAINS, ABOVE("lora.rank", 0)),
    WHEN("lora.skip_experts", TRAINS, ABOVE("lora.rank", 0), HAS_MOE),
    WHEN("lora.expert_rank", TRAINS, ABOVE("lora.rank", 0), HAS_MOE, OFF("lora.skip_experts")),
    WHEN("lora.targets", TRAINS, ABOVE("lora.rank", 0)),
    WHEN("lora.targets", ADAPTS, ABOVE("lora.rank", 0)),
    WHEN("lora.ranks", TRAINS, STACK(HUGGINGFACE), ABOVE("lora.rank", 0)),
    WHEN("lora.layers", TRAINS, STACK(HUGGINGFACE), ABOVE("lora.rank", 0)),
    WHEN("lora.language", TRAINS, STACK(HUGGINGFACE), ABOVE("lora.rank", 0), ENCODES),
    WHEN("lora.modules_to_save", TRAINS, STACK(HUGGINGFACE), ABOVE("lora.rank", 0)),
    WHEN("lora.rows", TRAINS, STACK(HUGGINGFACE), ABOVE("lora.rank", 0)),
    WHEN("lora.host", TRAINS, STACK(BIT(STACK_FSDP)), ABOVE("lora.rank", 0),
         ZERO("parallel.zero")),
    WHEN("lora.format", TRAINS, ABOVE("lora.rank", 0)),
    WHEN("lora.inputs", TRAINS, STACK(HUGGINGFACE), ABOVE("lora.rank", 0)),
    WHEN("lora.dora", TRAINS, STACK(HUGGINGFACE), ABOVE("lora.rank", 0)),
    WHEN("lora.encoder", TRAINS, STACK(HUGGINGFACE), ABOVE("lora.rank", 0), ENCODES),
    WHEN("lora.experts", TRAINS, STACK(HUGGINGFACE), ABOVE("lora.rank", 0), HAS_MOE),
    WHEN("lora.fused_experts", TRAINS, STACK(HUGGINGFACE), ABOVE("lora.rank", 0),
         ABOVE("lora.targets", 0), HAS_MOE),
    WHEN("lora.plain_format", TRAINS, STACK(HUGGINGFACE), ABOVE("lora.rank", 0), FEW_BITS),
    WHEN("frozen.layers", TRAINS, STACK(HUGGINGFACE | MEGATRONS)),
    WHEN("frozen.modules", TRAINS, STACK(HUGGINGFACE | MEGATRONS)),
    WHEN("frozen.format", TRAINS, STACK(HUGGINGFACE), ABOVE("frozen.layers", 0)),
    WHEN("frozen.format", TRAINS, STACK(HUGGINGFACE), ABOVE("frozen.modules", 0)),
    WHEN("optimizer.kind", TRAINS),
    WHEN("optimizer.rank", TRAINS, PROJECTS),
    WHEN("optimizer.projected", TRAINS, PROJECTS),
    WHEN("optimizer.plain_embedding", TRAINS, ONE_OF("optimizer.kind", BYTE_MOMENTS),
         ZERO("lora.rank")),
    WHEN("optimizer.precision_aware", TRAINS, STACK(MEGATRONS)),
    WHEN("optimizer.step", TRAINS,
         STACK(BIT(STACK_TORCHTITAN) | BIT(STACK_GENERIC) | BIT(STACK_NXD) | HUGGINGFACE)),
    WHEN("optimizer.offload", TRAINS),
    WHEN("optimizer.offload_params", TRAINS,
         STACK(HUGGINGFACE | BIT(STACK_TORCHTITAN) | BIT(STACK_MAXTEXT)),
         ABOVE("optimizer.offload", 0), ABOVE("parallel.zero", 2)),
    WHEN("optimizer.sub_group", TRAINS, STACK(BIT(STACK_DEEPSPEED)), ABOVE("parallel.zero", 2)),
    WHEN("optimizer.in_backward", TRAINS, STACK(BIT(STACK_TORCHTITAN))),
    WHEN("optimizer.in_backward", TRAINS, STACK(BIT(STACK_FSDP)),
         ONE_OF("optimizer.kind",
                BIT(OPTIMIZER_GALORE) | BIT(OPTIMIZER_GALORE8BIT) | BIT(OPTIMIZER_APOLLO))),
    WHEN("optimizer.one_layer", TRAINS, STACK(HUGGINGFACE), ZERO("lora.rank")),
    WHEN("optimizer.active_layers", TRAINS, STACK(BIT(STACK_FSDP)), ZERO("lora.rank")),
    WHEN("recompute.kind", TRAINS),
    WHEN("recompute.save", TRAINS, ONE_OF("recompute.kind", BIT(RECOMPUTE_SAVE)),
         NOT_STACK(TRAINERS)),
    WHEN("recompute.save", ONE_OF("recompute.kind", BIT(RECOMPUTE_SAVE)),
         STACK(BIT(STACK_GENERIC) | BIT(STACK_HOST))), /* its names are checked in every mode */
    WHEN("recompute.modules", TRAINS, ONE_OF("recompute.kind", BIT(RECOMPUTE_SELECTIVE)),
         STACK(TRAINERS & ~HUGGINGFACE)),
    WHEN("recompute.offload", TRAINS, STACK(MEGATRONS)),
    WHEN("recompute.offload", TRAINS, STACK(BIT(STACK_MAXTEXT)),
         ONE_OF("recompute.kind", BIT(RECOMPUTE_FULL) | BIT(RECOMPUTE_SAVE))),
    WHEN("recompute.offload", TRAINS, STACK(HUGGINGFACE),
         ONE_OF("recompute.kind", BIT(RECOMPUTE_FULL))),
    WHEN("recompute.layers", TRAINS, STACK(TRAINERS),
         ONE_OF("recompute.kind", BIT(RECOMPUTE_FULL))),
    WHEN("recompute.every", TRAINS, STACK(MEGATRONS),
         ONE_OF("recompute.kind", BIT(RECOMPUTE_FULL)), ZERO("recompute.layers")),
    WHEN("recompute.offload_layers", TRAINS, STACK(MEGATRONS)),
    WHEN("recompute.encoder", ENCODES, SEES_BY(HUGGINGFACE | MEGATRONS)),
    WHEN("recompute.mlp_tiles", TRAINS, STACK(HUGGINGFACE)),
    WHEN("recompute.distribute", TRAINS, STACK(MEGATRONS | BIT(STACK_DEEPSPEED)),
         ONE_OF("recompute.kind", BIT(RECOMPUTE_FULL)), TENSOR, OFF("parallel.sp")),
    WHEN("memory.cache_block", ENGINE, INFERS),
    WHEN("memory.cache_bytes", ENGINE, INFERS),
    WHEN("memory.cache_blocks", ENGINE, INFERS),
    WHEN("memory.cache_tokens", ENGINE, INFERS),
    WHEN("memory.cache_window", STACK(BIT(STACK_TRTLLM)), INFERS),
    WHEN("memory.weight_offload", STACK(BIT(STACK_VLLM) | BIT(STACK_SGLANG)), INFERS),
    WHEN("memory.offload_group", STACK(BIT(STACK_VLLM)), INFERS),
    WHEN("memory.offload_group", STACK(BIT(STACK_SGLANG)), INFERS, HAS_MOE,
         ZERO("memory.weight_offload")),
    WHEN("memory.offload_in_group", STACK(BIT(STACK_VLLM)), INFERS,
         ABOVE("memory.offload_group", 0)),
    WHEN("memory.offload_in_group", STACK(BIT(STACK_SGLANG)), INFERS, HAS_MOE,
         ABOVE("memory.offload_group", 0), ZERO("memory.weight_offload")),
    WHEN("memory.offload_ahead", STACK(BIT(STACK_VLLM)), INFERS,
         ABOVE("memory.offload_group", 0)),
    WHEN("memory.offload_ahead", STACK(BIT(STACK_SGLANG)), INFERS, HAS_MOE,
         ABOVE("memory.offload_group", 0), ZERO("memory.weight_offload")),
    WHEN("memory.ngram_host", STACK(BIT(STACK_VLLM) | BIT(STACK_SGLANG)), INFERS,
         ABOVE("model.ngram.tables", 0)),
    WHEN("memory.host_experts", STACK(BIT(STACK_SGLANG)), INFERS, HAS_MOE),
    WHEN("memory.transfer_tokens", STACK(BIT(STACK_TRTLLM)), INFERS, PART_OF_REQUESTS),
    WHEN("memory.host_cache", ENGINE, INFERS),
    WHEN("memory.host_cache_ratio", STACK(BIT(STACK_SGLANG)), INFERS,
         ZERO("memory.host_cache")),
    WHEN("memory.window_ratio", WINDOWS, STACK(BIT(STACK_VLLM) | BIT(STACK_SGLANG)), INFERS),
    WHEN("memory.window_ratio", CHUNKS, STACK(BIT(STACK_VLLM) | BIT(STACK_SGLANG)), INFERS),
    WHEN("memory.window_ratio", SHARED_KV, STACK(BIT(STACK_SGLANG)), INFERS),
    WHEN("memory.attention_share", STACK(BIT(STACK_SGLANG)), INFERS),
    WHEN("memory.state_ratio", STATES, STACK(BIT(STACK_SGLANG)), INFERS,
         ZERO("memory.state_slots")),
    WHEN("memory.state_slots", STATES, STACK(BIT(STACK_SGLANG)), INFERS),
    WHEN("memory.state_copies", STATES, STACK(BIT(STACK_VLLM) | BIT(STACK_SGLANG)), INFERS),
    WHEN("memory.state_block", STATES, STACK(BIT(STACK_VLLM)), INFERS),
    WHEN("stack.comm_per_rank", RANKS),
    WHEN("block.collective", BLOCK(ALL(BLOCK_MLP + 1) & ~BIT(BLOCK_MOE)), TENSOR),
    WHEN("block.tiles", BLOCK(BIT(BLOCK_ALLREDUCE_MATMUL) | BIT(BLOCK_REDUCE_SCATTER_MATMUL))),
};

const size_t unread_rows_n = sizeof unread_rows / sizeof *unread_rows;

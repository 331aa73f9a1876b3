/* The table of stacks, and their own choice of path; see stack.h. */
#include <string.h>

#include "plan/derive.h"
#include "plan/engine.h"
#include "work/path/path.h"
#include "work/piece/lora.h"
#include "work/serve/serve_kernels.h"
#include "work/train/train_kernels.h"
#include "work/stack/stacks.h"

static const struct stack_system systems[] = {
    {STACK_GENERIC, "generic", "PyTorch-like eager training and serving, dynamic shapes",
     stack_generic_build, stack_generic_state, stack_generic_again, NULL, NULL, NULL},
    {STACK_HOST, "host", "moeplan's own executor: what `moeplan run` performs",
     stack_host_build, stack_generic_state, stack_generic_again, stack_host_realise, NULL,
     NULL},
    {STACK_MAXTEXT, "maxtext", "MaxText on JAX and XLA: static shapes, rematerialisation",
     stack_maxtext_build, stack_maxtext_state, stack_maxtext_again, stack_maxtext_realise,
     stack_maxtext_paths, "dense_matmul and sparse_matmul of layers/moe.py have no others"},
    {STACK_MEGATRON, "megatron",
     "Megatron-Core with TransformerEngine: training, dynamic shapes", stack_megatron_build,
     stack_generic_state, stack_megatron_again, NULL, stack_megatron_paths,
     "its token dispatchers are these"},
    {STACK_PRIMUS, "primus",
     "Megatron-Core with Primus-Turbo on AMD: training, sync-free levels", stack_primus_build,
     stack_generic_state, stack_megatron_again, NULL, stack_megatron_paths,
     "its token dispatchers are Megatron's"},
    {STACK_TORCHTITAN, "torchtitan", "torchtitan on PyTorch FSDP2: training, dynamic shapes",
     stack_torchtitan_build, stack_generic_state, stack_torchtitan_again, NULL,
     stack_torchtitan_paths, "its expert parallelism is one all-to-all, plain or by DeepEP"},
    {STACK_FSDP, "fsdp", "HuggingFace Trainer or Accelerate on PyTorch FSDP2: training",
     stack_fsdp_build, stack_generic_state, stack_huggingface_again, train_kernels,
     stack_fsdp_paths,
     "HuggingFace models keep all experts of a rank, but for axolotl's plugin"},
    {STACK_DEEPSPEED, "deepspeed", "HuggingFace models on DeepSpeed ZeRO: training",
     stack_deepspeed_build, stack_generic_state, stack_huggingface_again, train_kernels,
     stack_deepspeed_paths, "AutoEP exchanges rows, its own MoE layer has capacities"},
    {STACK_NXD, "nxd", "Neuron (NxD): serving and training with static shapes", stack_nxd_build,
     stack_nxd_state, stack_generic_again, NULL, stack_nxd_paths, "its expert MLPs are these"},
    {STACK_VLLM, "vllm", "vLLM: serving, DeepEP and DeepGEMM", stack_vllm_build, NULL,
     stack_generic_again, serve_kernels, stack_vllm_paths,
     "its all-to-all backends; others are sized as asked, and never proposed"},
    {STACK_SGLANG, "sglang", "SGLang: serving, DeepEP and DeepGEMM", stack_sglang_build, NULL,
     stack_generic_again, serve_kernels, stack_sglang_paths,
     "its dispatchers; others are sized as asked, and never proposed"},
    {STACK_TRTLLM, "trtllm", "TensorRT-LLM's PyTorch backend: serving", stack_trtllm_build,
     NULL, stack_generic_again, serve_kernels, stack_trtllm_paths,
     "its communication; others are sized as asked, and never proposed"},
};

const struct stack_system *stack_system(enum stack_kind kind)
{
    for (size_t i = 0; i < sizeof systems / sizeof *systems; i++)
        if (systems[i].kind == kind)
            return &systems[i];
    return &systems[0];
}

/* A stack's own rule for moe.path auto. Sources: MaxText sparse_matmul defaults to true;
 * Megatron's default dispatcher is alltoall; torchtitan has one all-to-all dispatcher; vLLM's
 * all2all_backend is allgather_reducescatter; SGLang's moe_a2a_backend is none, and its
 * attention over dp ranks gathers their tokens; neither exchanges where the tokens are on all
 * ranks. */
static const struct {
    enum stack_kind stack;
    enum moe_path path;
    const char *why;
} defaults[] = {
    {STACK_MAXTEXT, PATH_RAGGED_A2A, "maxtext: sparse_matmul is its default"},
    {STACK_MEGATRON, PATH_RAGGED_A2A, "megatron: the alltoall dispatcher"},
    {STACK_PRIMUS, PATH_DEEPEP, "primus: DeepEP dispatch with grouped GEMM"},
    {STACK_TORCHTITAN, PATH_RAGGED_A2A, "torchtitan: its all-to-all dispatcher"},
    {STACK_FSDP, PATH_RAGGED_A2A, "fsdp: grouped products of transformers"},
    {STACK_DEEPSPEED, PATH_RAGGED_A2A, "deepspeed: grouped products of transformers, AutoEP"},
};

/* Neuron's rule (NxD expert_mlps_v2, buffers.md 10.4): decode loads only hit experts while
 * T K / E < 1 and the experts are not spread; prefill takes blocks once T K reaches one. */
static enum moe_path nxd_path(const struct plan *plan, const char **why)
{
    const struct model_moe *moe = &plan->model.moe;
    uint64_t tokens = plan->workload.micro_batch * (plan->workload.mode == MODE_DECODE
                                                        ? plan->workload.tokens_per_sequence
                                                        : plan->workload.sequence_length);
    bool few = tokens * moe->top_k < moe->experts;
    if (plan->workload.mode == MODE_DECODE) {
        bool selective = few && plan->parallel.ep == 1;
        *why = selective ? "nxd: T K / E < 1, load only the hit experts"
                         : "nxd: T K / E >= 1 or experts spread, compute all experts";
        return selective ? PATH_SELECTIVE : PATH_ALL_EXPERTS;
    }
    if (plan->workload.mode == MODE_PREFILL && few && plan->parallel.ep == 1) {
        *why = "nxd: T K / E < 1, load only the hit experts";
        return PATH_SELECTIVE;
    }
    bool short_prompt = tokens * moe->top_k < plan->moe.block_size;
    *why = short_prompt ? "nxd: T K is less than a block, compute all experts"
                        : "nxd: dropless prefill takes blockwise";
    return short_prompt ? PATH_ALL_EXPERTS : PATH_BLOCKWISE;
}

/* What engines do where tokens lie on every rank, and where they do not. */
static const struct {
    enum stack_kind stack;
    const char *present, *apart;
} exchanges[] = {
    {STACK_VLLM, "vllm: the tokens are on every rank, nothing is exchanged",
     "vllm: --all2all-backend allgather_reducescatter is its default"},
    {STACK_SGLANG, "sglang: the tokens are on every rank, nothing is exchanged",
     "sglang: --moe-a2a-backend none is its default, tokens are gathered"},
    {STACK_TRTLLM, "trtllm: the tokens are on every rank, nothing is exchanged",
     "trtllm: attention data parallelism gathers the ranks' tokens"},
};

static enum moe_path engine_path(const struct plan *plan, const char **why)
{
    bool present = plan->parallel.ep == 1 || plan_tokens_everywhere(plan);
    if (plan_joined_replicas(plan) > 1) {
        *why = "tokens of all replicas are gathered before experts that are split over them";
        return PATH_FUSED;
    }
    for (size_t i = 0; i < sizeof exchanges / sizeof *exchanges; i++)
        if (exchanges[i].stack == plan->stack.kind)
            *why = present ? exchanges[i].present : exchanges[i].apart;
    return present ? PATH_FUSED : PATH_ALLGATHER;
}

enum moe_path stack_path(const struct plan *plan, const char **why)
{
    const char *ignored;
    why = why ? why : &ignored;
    *why = "as the plan says";
    if (plan->moe.path != PATH_AUTO)
        return plan->moe.path;
    if (plan->stack.kind == STACK_NXD)
        return nxd_path(plan, why);
    if (plan_is_engine(plan))
        return engine_path(plan, why);
    for (size_t i = 0; i < sizeof defaults / sizeof *defaults; i++) {
        if (defaults[i].stack != plan->stack.kind || plan->workload.mode == MODE_DECODE)
            continue;
        *why = defaults[i].why;
        return defaults[i].path;
    }
    *why = "generic: ragged all-to-all with grouped GEMM";
    return PATH_RAGGED_A2A;
}

bool stack_other_experts(const struct plan *plan)
{
    return plan->stack.kind == STACK_TRTLLM && !engine_runs_experts(plan, plan->stack.experts);
}

enum expert_backend stack_experts(const struct plan *plan, const char **why)
{
    static enum expert_backend (*const choices[STACK_COUNT])(const struct plan *,
                                                             const char **) = {
        [STACK_VLLM] = stack_vllm_experts,
        [STACK_SGLANG] = stack_sglang_experts,
        [STACK_TRTLLM] = stack_trtllm_experts,
    };
    const char *ignored;
    why = why ? why : &ignored;
    *why = "";
    if (!choices[plan->stack.kind])
        return EXPERTS_AUTO;
    *why = "as the plan says";
    if (plan->stack.experts == EXPERTS_AUTO || stack_other_experts(plan))
        return choices[plan->stack.kind](plan, why);
    return plan->stack.experts;
}

void stack_paths_print(const struct stack_system *system, struct text *out)
{
    const struct stack_path *path = system->paths;
    if (!path)
        text_append(out, "all");
    for (size_t i = 0; path && path[i].word; i++) {
        text_printf(out, "%s%s", i == 0 ? "" : path[i + 1].word ? ", " : " and ", path[i].word);
        if (path[i].as)
            text_printf(out, " (%s)", path[i].as);
    }
}

static bool lists(const struct stack_system *system, const char *word)
{
    for (const struct stack_path *path = system->paths; path && path->word; path++)
        if (!strcmp(path->word, word))
            return true;
    return !system->paths;
}

bool stack_has_path(const struct plan *plan)
{
    return lists(stack_system(plan->stack.kind), words_path[stack_path(plan, NULL)]);
}

bool stack_has(const struct plan *plan)
{
    const char *key;
    return stack_has_path(plan) && !stack_lacks(plan, &key);
}

/* Megatron's launcher has it behind --use-precision-aware-optimizer alone, which wants Adam and
 * the distributed optimizer, and gathers in fp8 no weights (training/arguments.py;
 * Megatron-FSDP has its own states). DeepSpeed shares out what it moves, weights and parts of
 * states under ZeRO-3 alone (zero/config.py, offload_ratio_check),
 * FSDP2's policy moves the parameters with the states. MaxText's states are back on the device
 * for the update. */
bool stack_offloads(const struct plan *plan)
{
    const struct optimizer *o = &plan->optimizer;
    uint64_t zero = plan->parallel.zero;
    enum stack_kind kind = plan->stack.kind;
    if (plan_is_megatron(plan))
        return !o->offload_params && zero == 1 && o->kind == OPTIMIZER_ADAM &&
               o->aware != AWARE_NONE && !plan->precision.quantized_params;
    if (kind == STACK_DEEPSPEED)
        return zero >= (o->offload_params || o->offload < 1 ? 3 : 1);
    bool whole = kind == STACK_FSDP || kind == STACK_TORCHTITAN;
    return whole && o->offload_params && zero >= 3;
}

bool stack_offers(const struct plan *plan)
{
    enum moe_path path = stack_path(plan, NULL);
    if (!stack_has(plan))
        return false;
    bool present = plan->parallel.ep == 1 || plan_tokens_everywhere(plan);
    return !plan_is_engine(plan) || (path == PATH_FUSED) == present;
}

enum status stack_runs(const struct plan *plan, enum moe_path path, struct err *err)
{
    const struct stack_system *system = stack_system(plan->stack.kind);
    struct arena arena = {0};
    struct text list = {.arena = &arena};
    if (lists(system, words_path[path]))
        return STATUS_OK;
    stack_paths_print(system, &list);
    err_set(err, STATUS_INPUT, "stack %s does not run moe.path %s", system->name,
            words_path[path]);
    err_hint(err, "it runs %s: %s", text_string(&list), system->only);
    arena_release(&arena);
    return STATUS_INPUT;
}

static bool has_delta_net(const struct plan *plan)
{
    return plan_has_linear(plan) && plan->model.linear.kind == LINEAR_GATED_DELTA_NET;
}

static bool has_short_conv(const struct plan *plan)
{
    return plan_has_linear(plan) && plan->model.linear.kind == LINEAR_SHORT_CONV;
}

static bool reuses_choice(const struct plan *plan)
{
    return model_has_mixer(&plan->model, MIXER_REUSE);
}

static bool trains_borrowed(const struct plan *plan)
{
    return plan->workload.mode == MODE_TRAIN && plan_borrows_or_embeds(plan);
}

static bool has_latent_rows(const struct plan *plan)
{
    return plan->model.moe.latent_size > 0;
}

static bool has_image_experts(const struct plan *plan)
{
    return plan_has_moe(plan) && plan->model.moe.image_intermediate > 0;
}

static bool trains_image_experts(const struct plan *plan)
{
    return plan->workload.mode == MODE_TRAIN && has_image_experts(plan);
}

static bool mixes_streams(const struct plan *plan)
{
    return plan_shares_kv(plan) || plan->model.residual_streams > 1;
}

static bool trains_shared_kv(const struct plan *plan)
{
    return plan->workload.mode == MODE_TRAIN && plan_shares_kv(plan);
}

static bool trains_streams(const struct plan *plan)
{
    return plan->workload.mode == MODE_TRAIN && plan->model.residual_streams > 1;
}

static bool trains_stream_modules(const struct plan *plan)
{
    return trains_streams(plan) && plan_has_modules(plan);
}

/* What GLM-5.3-Flash and Hy4 have of hyper-connections and of an indexer, and DeepSeek-V4 not.
 */
static bool trains_apart(const struct plan *plan)
{
    const struct model *m = &plan->model;
    bool streams = m->residual_streams > 1, modules = m->mtp_enabled && m->mtp_layers;
    return plan->workload.mode == MODE_TRAIN &&
           (model_index_pool(m) > 1 || (streams && (m->residual_identity || m->residual_mean ||
                                                    (m->mtp_plain && modules))));
}

static bool trains_gates(const struct plan *plan)
{
    return plan->workload.mode == MODE_TRAIN && plan->model.residual_rank > 0;
}

static bool trains_ngrams(const struct plan *plan)
{
    return plan->workload.mode == MODE_TRAIN && plan->model.ngram.tables > 0;
}

static bool trains_entries_apart(const struct plan *plan)
{
    return plan->workload.mode == MODE_TRAIN &&
           (plan_has_tsa(plan) || plan_reuses_entries(plan) ||
            (plan_has_csa(plan) && plan->model.attention.entry_keys));
}

static bool has_gates_or_ngrams(const struct plan *plan)
{
    return plan->model.residual_rank > 0 || plan->model.ngram.tables > 0;
}

static bool adapts_shared_kv(const struct plan *plan)
{
    return plan_shares_kv(plan) && lora_is_served(plan);
}

/* What the software of a stack does not have, or what of it is not modelled. MaxText's blocks
 * are those of its common_types.py (DecoderBlockType): Qwen3-Next's and 3.5's delta nets are
 * its only recurrence, and what XLA and its kernels keep of one from forward to backward no
 * published peak shows (a scan in JAX, since pull request 5274 Pallas). NxD has softmax
 * attention (NeuronAttentionBase; aws-neuron-sdk issue 1355), delta nets as contributed ports
 * beside it. */
static const struct {
    uint32_t stacks;
    bool (*needed)(const struct plan *plan);
    const char *what, *why;
    const char *instead; /* NULL: another stack */
} unknown[] = {
    {~(1u << STACK_MEGATRON), trains_shared_kv, "training with attention of kind shared_kv is",
     "what it keeps for backward is modelled of Megatron's modules alone (torchtitan has its "
     "own in models/deepseek_v4)",
     "use stack megatron, or plan workload.mode prefill, decode or serve"},
    {~0u, trains_gates, "training with gated copies of the residual is",
     "what it keeps of them for backward is not modelled (model.residual_rank)",
     "plan workload.mode prefill, decode or serve"},
    {~(1u << STACK_MEGATRON | 1u << STACK_FSDP | 1u << STACK_DEEPSPEED), trains_streams,
     "training with hyper-connections is",
     "what they keep for backward is modelled of Megatron's and of transformers' modules alone",
     "use stack megatron, fsdp or deepspeed, or plan workload.mode prefill, decode or serve"},
    {1u << STACK_FSDP | 1u << STACK_DEEPSPEED, trains_stream_modules,
     "training of prediction modules beside hyper-connections is",
     "transformers leaves them out", "set model.mtp_enabled to false"},
    {1u << STACK_MEGATRON, trains_apart,
     "training of pooled keys of an indexer, and of copies of the residual that are not mixed, "
     "end in a mean or stop before prediction modules is",
     "the software itself has none (Megatron-Bridge pull request 6137 is open)",
     "plan workload.mode prefill, decode or serve"},
    {~0u, trains_entries_apart,
     "training of layers that read entries of earlier ones, or whose entries are an indexer's "
     "keys, is",
     "what they keep for backward is not modelled (model.layer_types)",
     "plan workload.mode prefill, decode or serve"},
    {~0u, trains_ngrams, "training with embeddings of n-grams is",
     "what it keeps of them for backward is not modelled (model.ngram)",
     "plan workload.mode prefill, decode or serve"},
    {~(1u << STACK_VLLM | 1u << STACK_SGLANG | 1u << STACK_GENERIC), has_gates_or_ngrams,
     "gated copies of the residual and embeddings of n-grams are",
     "whether the software has them is not known", "use stack vllm, sglang or generic"},
    {~0u, adapts_shared_kv, "adapters served beside attention of kind shared_kv are",
     "which of its matrices have them is not known", "leave lora out"},
    {~0u, trains_image_experts, "training of experts that images choose is",
     "which software of these trains them is not known (model.moe.image_intermediate)",
     "plan workload.mode prefill, decode or serve"},
    {1u << STACK_TRTLLM | 1u << STACK_MAXTEXT | 1u << STACK_NXD, has_image_experts,
     "experts that images choose are", "the software itself has none",
     "use stack generic, vllm or sglang"},
    {1u << STACK_TRTLLM | 1u << STACK_MAXTEXT | 1u << STACK_NXD, mixes_streams,
     "hyper-connections and attention of kind shared_kv are",
     "how it caches compressed entries is not known", "use stack generic, vllm or sglang"},
    {1u << STACK_TRTLLM, plan_has_blocks, "attention to chosen blocks of keys is",
     "how it caches the indexer's keys is not known", "use stack generic, vllm or sglang"},
    {1u << STACK_MEGATRON | 1u << STACK_PRIMUS | 1u << STACK_TORCHTITAN | 1u << STACK_MAXTEXT |
         1u << STACK_NXD,
     plan_has_blocks, "attention to chosen blocks of keys is",
     "Megatron-Bridge runs full attention in its place (model.layer_types: [full])",
     "use stack fsdp, deepspeed or generic"},
    {1u << STACK_MEGATRON, trains_borrowed,
     "layers that borrow keys and embeddings of layers are",
     "Megatron-Bridge's gemma4_layer_specs runs them by Megatron's local modules, without "
     "fused attention and with matrices of keys that nothing reads",
     "use stack fsdp, deepspeed or generic"},
    {1u << STACK_PRIMUS | 1u << STACK_TORCHTITAN | 1u << STACK_MAXTEXT, trains_borrowed,
     "layers that borrow keys and embeddings of layers are",
     "what its modules keep of them for backward is not modelled (torchtitan has its own in "
     "models/gemma4)",
     "use stack fsdp, deepspeed or generic"},
    {1u << STACK_TRTLLM | 1u << STACK_NXD | 1u << STACK_MAXTEXT, plan_borrows_or_embeds,
     "layers that borrow keys and embeddings of layers are", "where it keeps them is not known",
     "use stack generic, vllm or sglang"},
    {1u << STACK_MAXTEXT, has_delta_net, "recurrent layers are",
     "what MaxText keeps of a gated delta net's chunks for backward is not known", NULL},
    {1u << STACK_MEGATRON | 1u << STACK_PRIMUS | 1u << STACK_TORCHTITAN | 1u << STACK_TRTLLM,
     has_short_conv, "layers of short convolutions are", "the software itself has none",
     "use stack fsdp, deepspeed, generic, vllm or sglang"},
    {1u << STACK_MEGATRON | 1u << STACK_PRIMUS | 1u << STACK_TORCHTITAN, plan_has_both,
     "attention and recurrences side by side are", "what it keeps of both is not known",
     "use stack fsdp, deepspeed or generic"},
    {1u << STACK_SGLANG | 1u << STACK_TRTLLM, plan_is_recurrent,
     "recurrences without attention are", "how its pool shares out states alone is not known",
     "use stack vllm or generic"},
    {1u << STACK_MAXTEXT, plan_has_linear, "recurrent layers are",
     "MaxText itself has none but gated delta nets", NULL},
    {1u << STACK_NXD, plan_has_linear, "recurrent layers are",
     "NxD itself has softmax attention alone", NULL},
    {1u << STACK_MAXTEXT | 1u << STACK_TORCHTITAN | 1u << STACK_NXD, reuses_choice,
     "attention that reuses an indexer's choice is", "model.layer_types names it", NULL},
    {1u << STACK_MAXTEXT | 1u << STACK_NXD, has_latent_rows, "experts on a latent width are",
     "the software itself has none (model.moe.latent_size)", NULL},
};

enum status stack_mixes(const struct plan *plan, struct err *err)
{
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) {
        if (!(unknown[i].stacks >> plan->stack.kind & 1) || !unknown[i].needed(plan))
            continue;
        err_set(err, STATUS_INPUT, "%s not modelled for stack %s", unknown[i].what,
                stack_system(plan->stack.kind)->name);
        return err_hint(err, "%s; %s", unknown[i].why,
                        unknown[i].instead ? unknown[i].instead
                                           : "use stack megatron, generic, vllm or sglang");
    }
    return STATUS_OK;
}

enum buffer_sizing stack_sizing(const struct plan *plan)
{
    if (plan->moe.buffer != SIZING_AUTO)
        return plan->moe.buffer;
    bool fixed = plan->stack.static_shapes || plan->stack.kind == STACK_HOST;
    return fixed ? SIZING_WORST : SIZING_EXACT;
}

bool stack_reads_buffer(const struct plan *plan)
{
    const struct path_system *path = path_system_of(stack_path(plan, NULL));
    return path->exchange != EXCHANGE_CAPACITY && path->exchange != EXCHANGE_CHUNKS &&
           !path->blocks;
}

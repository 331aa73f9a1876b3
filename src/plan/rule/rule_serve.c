/* What must hold of options of serving engines: what all of their releases that were read
 * refuse, vLLM's 0.11, 0.19 and 0.33, SGLang's 0.5.23 and TensorRT-LLM's of 2026. What one
 * release refuses and another runs is a note (sim/answer/notes.c). */
#include <inttypes.h>

#include "base/checked.h"
#include "base/text.h"
#include "plan/derive.h"
#include "plan/engine.h"
#include "plan/halves.h"
#include "plan/layers.h"
#include "plan/rule/rule_parts.h"
#include "plan/schema/schema.h"

static bool serves(const struct plan *plan)
{
    return plan_is_engine(plan) && plan->workload.mode != MODE_TRAIN;
}

static bool serves_vllm(const struct plan *plan)
{
    return serves(plan) && plan->stack.kind == STACK_VLLM;
}

static bool serves_sglang(const struct plan *plan)
{
    return serves(plan) && plan->stack.kind == STACK_SGLANG;
}

static const char *engine(const struct plan *plan)
{
    return words_stack[plan->stack.kind];
}

static const char *weights(const struct plan *plan)
{
    return words_dtype[plan->precision.weights];
}

static const char *device(const struct plan *plan)
{
    const struct cluster *cluster = &plan->cluster;
    if (cluster->device.name[0])
        return cluster->device.name;
    return plan->cluster_name[0] ? plan->cluster_name : cluster->name;
}

/* ---- what computes the experts ---- */

static bool serves_experts(const struct plan *plan)
{
    return serves(plan) && plan_has_moe(plan) && plan->block.kind == BLOCK_MOE;
}

/* The kernels that do, in one line; whether there are some. */
static bool list_experts(const struct plan *plan, char *hint)
{
    size_t n = 0;
    rule_say(hint, "stack.experts:");
    for (unsigned i = EXPERTS_AUTO; i < EXPERTS_COUNT; i++)
        if (engine_runs_experts(plan, (enum expert_backend)i))
            rule_add(hint, "%s %s", n++ ? "," : "", words_experts[i]);
    return n > 0;
}

static bool experts_broken(const struct plan *plan, char *text, char *hint)
{
    enum expert_backend backend = plan->stack.experts;
    bool own = backend == EXPERTS_AUTO, named = plan_names_path(plan);
    if (plan->stack.kind == STACK_TRTLLM)
        backend = EXPERTS_AUTO; /* it takes another in the place of what it cannot run */
    if (engine_runs_experts(plan, backend))
        return false;
    rule_say(text, "stack %s%s%s has no kernels for experts in %s on %s%s%s", engine(plan),
             own ? "" : ": ", own ? "" : words_experts[backend], weights(plan), device(plan),
             named ? " behind moe.path " : "", named ? words_path[plan->moe.path] : "");
    if (!list_experts(plan, hint))
        rule_say(hint, "another precision.weights%s, or another device",
                 named ? " or moe.path" : "");
    return true;
}

static bool sends_to_host(const struct plan *plan)
{
    return serves_experts(plan) && plan->stack.kind == STACK_SGLANG &&
           plan->memory.host_experts > 0;
}

/* SGLang layers/moe/kt_ep_wrapper.py: the first experts are every rank's, the others the first
 * rank's CPU's. */
static bool host_experts_broken(const struct plan *plan, char *text, char *hint)
{
    uint64_t away = plan->memory.host_experts, all = plan->model.moe.experts;
    bool spread = plan->parallel.ep > 1;
    rule_say(hint, spread ? "parallel.ep: 1 (and etp)" : "all of them, or fewer");
    if (spread)
        rule_say(text, "experts that the CPU multiplies are not spread over ep %" PRIu64,
                 plan->parallel.ep);
    else
        rule_say(text, "%" PRIu64 " of %" PRIu64 " experts are in host memory", away, all);
    return spread || away > all;
}

/* SGLang: layers/quantization/mxfp4.py asserts moe_ep_size 1 before triton_kernels;
 * arg_groups/moe_hook.py: cutlass with fp8 at ep_size 1 alone. */
static bool spread_experts_broken(const struct plan *plan, char *text, char *hint)
{
    enum expert_backend backend = plan->stack.experts;
    bool triton = backend == EXPERTS_TRITON_OAI;
    bool cutlass = backend == EXPERTS_CUTLASS && plan->precision.weights != DTYPE_NVFP4 &&
                   plan->precision.weights != DTYPE_INT4 &&
                   plan->precision.weights != DTYPE_INT4_32;
    if (plan->parallel.ep == 1 || !(triton || cutlass))
        return false;
    rule_say(text, "stack sglang: %s takes no experts spread over ep %" PRIu64,
             words_experts[backend], plan->parallel.ep);
    rule_say(hint, "parallel.ep: 1 (and etp), or stack.experts: auto");
    return true;
}

/* ---- DeepEP ---- */

/* Whether its low-latency kernels are in use: other libraries have limits of their own. */
static bool sends_slots(const struct plan *plan)
{
    enum moe_library library = plan->moe.library;
    return serves_experts(plan) && engine_sends_slots(plan) &&
           (library == LIBRARY_AUTO || library == LIBRARY_DEEPEP) &&
           plan->stack.kind != STACK_TRTLLM; /* has a fork of its own */
}

/* DeepEP csrc/kernels: kNumMaxTopK of internode_ll.cu; the largest of SWITCH_HIDDEN in
 * launch.cuh, and vLLM rounds up to one of its list (deepep_ll.py). SGLang's
 * token_dispatcher/deepep.py asserts FINISHED_SUM_TAG's 1024 tokens of a rank. */
enum { SLOT_TOP_K = 11, SLOT_HIDDEN = 8192, SLOT_TOKENS = 1024 };

static uint64_t most_slot_top_k(const struct plan *plan)
{
    (void)plan;
    return SLOT_TOP_K;
}

static uint64_t slot_width(const struct plan *plan)
{
    return model_row_width(&plan->model);
}

static uint64_t most_slot_width(const struct plan *plan)
{
    (void)plan;
    return SLOT_HIDDEN;
}

static bool sends_slots_sglang(const struct plan *plan)
{
    return sends_slots(plan) && plan->stack.kind == STACK_SGLANG;
}

/* The sizes it was compiled for: SGLang rounds none up. */
static bool slot_width_broken(const struct plan *plan, char *text, char *hint)
{
    static const uint64_t widths[] = {2048, 2560, 3072, 4096, 5120, 6144, 7168, 8192};
    uint64_t width = slot_width(plan);
    if (width == 2880) /* gpt-oss: its patch pads to 3072 (scripts/ci, patch_deepep_gpt_oss) */
        return false;
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++)
        if (widths[i] == width)
            return false;
    rule_say(text, "DeepEP's low-latency kernels have no rows of %" PRIu64, width);
    rule_say(hint,
             "moe.path: deepep or allgather; they are compiled for 2048, 2560, 3072, 4096, "
             "5120, 6144, 7168 and 8192");
    return true;
}

static bool slot_tokens_broken(const struct plan *plan, char *text, char *hint)
{
    const struct workload *w = &plan->workload;
    uint64_t step = w->mode == MODE_DECODE ? plan_tokens(plan) : 0;
    step = plan_is_halved(plan) ? ceil_div(step, 2) : step;
    uint64_t tokens = plan->moe.dispatch_tokens > step ? plan->moe.dispatch_tokens : step;
    if (tokens <= SLOT_TOKENS)
        return false;
    rule_say(text,
             "a rank sends %" PRIu64 " tokens at once by low latency, SGLang's limit is %d",
             tokens, SLOT_TOKENS);
    rule_say(hint, "%s, or moe.path: deepep",
             plan->moe.dispatch_tokens > step ? "a smaller moe.dispatch_tokens"
                                              : "a smaller workload.micro_batch");
    return true;
}

/* ---- which ranks DeepEP's normal kernels reach ---- */

enum { NVL_PEERS = 8 }; /* DeepEP csrc/kernels/configs.cuh, NUM_MAX_NVL_PEERS */

static bool sends_tokens(const struct plan *plan)
{
    enum moe_library library = plan->moe.library;
    return serves_experts(plan) && engine_sends_tokens(plan) &&
           (library == LIBRARY_AUTO || library == LIBRARY_DEEPEP) &&
           plan->cluster.node.link_devices <= NVL_PEERS; /* a rack's NVLink is one domain */
}

/* Ranks of an expert-parallel group that stand in a node: pipeline stages may lie between. */
static uint64_t ranks_inside(const struct plan *plan)
{
    const struct parallel *p = &plan->parallel;
    uint64_t stages = 1, inside = plan->cluster.node.devices;
    for (uint64_t i = 0; i < p->order.n && !text_equal(p->order.word[i], "ep"); i++)
        stages = text_equal(p->order.word[i], "pp") ? p->pp : stages;
    inside = stages ? inside / stages : 0;
    return inside < p->ep ? inside : p->ep;
}

/* DeepEP csrc/deep_ep.cpp: up to 8 ranks talk over NVLink; more stand in groups of 8
 * (NUM_MAX_NVL_PEERS). TensorRT-LLM communication/deep_ep.py, _is_deepep_feasible: all ranks of
 * a node, 2, 4 or 8, or 8 of each of 2, 4, 8 or 16 nodes. */
static bool reach_broken(const struct plan *plan, char *text, char *hint)
{
    uint64_t ep = plan->parallel.ep, inside = ranks_inside(plan), nodes = ep / 8;
    uint64_t node = plan->cluster.node.devices;
    bool one = inside == ep && ep <= 8, many = ep > 8 && inside % 8 == 0 && ep % 8 == 0;
    if (plan->stack.kind == STACK_TRTLLM) {
        one = one && ep == node && (ep == 2 || ep == 4 || ep == 8);
        many = many && node == 8 && nodes <= 16 && (nodes & (nodes - 1)) == 0;
    }
    if (one || many)
        return false;
    rule_say(text,
             "DeepEP does not reach ep %" PRIu64 " ranks of which a node of %" PRIu64
             " devices has %" PRIu64,
             ep, node, inside);
    rule_say(hint, "moe.path: deepep_ll or allgather, or %s",
             plan->stack.kind == STACK_TRTLLM ? "ep over all ranks of a node"
                                              : "8 ranks of a group in every node");
    return true;
}

/* vLLM config/parallel.py: --enable-eplb asks for --enable-expert-parallel. */
static bool copies_experts(const struct plan *plan)
{
    return serves_vllm(plan) && plan_has_moe(plan) && plan->moe.redundant_experts > 0;
}

static bool copies_broken(const struct plan *plan, char *text, char *hint)
{
    rule_say(text, "vLLM copies experts between expert-parallel ranks alone: ep 1");
    rule_say(hint, "parallel.ep above 1 with etp 1, or moe.redundant_experts: 0");
    return plan->parallel.ep == 1;
}

/* ---- experts that ep does not divide ---- */

static bool leaves_remainder(const struct plan *plan)
{
    return serves_vllm(plan) && plan_has_moe(plan) && plan->parallel.ep > 0 &&
           plan_experts_total(plan) % plan->parallel.ep != 0;
}

/* vLLM fused_moe/layer.py: EPLB wants as many replicas on every rank. DeepEP csrc/deep_ep.cpp
 * asserts as many experts, by its normal kernels (num_tokens_per_expert->size(0) % num_ranks)
 * and by low latency (num_experts % num_ranks). */
static bool remainder_broken(const struct plan *plan, char *text, char *hint)
{
    bool copies =
        plan->moe.redundant_experts > 0 || plan->moe.routing.placement == PLACEMENT_EPLB;
    bool sent = engine_sends_tokens(plan) || engine_sends_slots(plan);
    uint64_t ep = plan->parallel.ep, experts = plan_experts_total(plan);
    if (!copies && !sent)
        return false;
    rule_say(text,
             "%s as many experts on every rank: %" PRIu64 " is no multiple of ep %" PRIu64,
             copies ? "EPLB wants" : "DeepEP takes", experts, ep);
    if (copies)
        rule_say(hint, "moe.redundant_experts: %" PRIu64 ", or another parallel.ep",
                 plan->moe.redundant_experts + ep - experts % ep);
    else
        rule_say(hint, "moe.path: allgather, or a parallel.ep that divides them");
    return true;
}

/* ---- the cache ---- */

static bool names_dtype(uint32_t formats, enum dtype dtype)
{
    return formats >> dtype & 1;
}

#define FORMAT(name) (1u << DTYPE_##name)
#define PLAIN_CACHES (FORMAT(F32) | FORMAT(BF16) | FORMAT(F16))

/* --kv-cache-dtype: vLLM config/cache.py (scales per tensor, token or head; int4, int8 by
 * Triton's attention, nvfp4 by FlashInfer's, in 0.33), and with latent attention fp8 with or
 * without scales per 128 values (fp8_ds_mla); SGLang arg_groups/fields/model.py (fp4_mx_block16
 * has the scales of nvfp4); TensorRT-LLM llmapi/llm_args.py, KvCacheConfig and
 * quantization/mode.py. */
static uint32_t cache_formats(const struct plan *plan)
{
    bool latent = plan->model.attention.kind != ATTENTION_GQA;
    bool sparse = plan->model.indexer.heads > 0;
    uint32_t fp8 = FORMAT(FP8) | FORMAT(FP8_BLOCK);
    if (plan->stack.kind == STACK_SGLANG)
        return PLAIN_CACHES | fp8 | FORMAT(MXFP8) | FORMAT(NVFP4);
    if (plan->stack.kind == STACK_TRTLLM)
        return PLAIN_CACHES | fp8 | FORMAT(INT8) | FORMAT(NVFP4);
    uint32_t more = latent ? (sparse ? FORMAT(NVFP4) : 0)
                           : FORMAT(FP8_CHANNEL) | FORMAT(NVFP4) | FORMAT(INT8) | FORMAT(INT4);
    return PLAIN_CACHES | fp8 | more;
}

/* vLLM's 4 bits before Blackwell: FlashInfer's kernels read none of heads of 64 or with sinks
 * (v1/attention/backends/flashinfer.py, supports_combination), sparse latent attention none at
 * all (backends/mla/flashmla_sparse.py, nvfp4_ds_mla). */
static bool four_bits_broken(const struct plan *plan)
{
    const struct attention *a = &plan->model.attention;
    return a->kind != ATTENTION_GQA || a->head_dim == 64 || a->sinks;
}

/* SGLang arg_groups/kv_cache_hook.py (mxfp8 on Blackwell, 4 bits on CUDA, where fp4_mx_block16
 * is as large as nvfp4); vLLM v1/attention/backends/flashinfer.py. TensorRT-LLM's attention in
 * 4 bits is Blackwell's. */
static bool cache_device_broken(const struct plan *plan)
{
    enum dtype format = plan->precision.kv_cache;
    enum generation generation = plan_generation(plan);
    bool older = generation == GENERATION_SM80 || generation == GENERATION_SM90;
    bool eight = format == DTYPE_MXFP8, four = format == DTYPE_NVFP4;
    if (generation == GENERATION_GFX942)
        return eight || four;
    bool refused = plan->stack.kind == STACK_TRTLLM ||
                   (plan->stack.kind == STACK_VLLM && four_bits_broken(plan));
    return older && (eight || (four && refused));
}

static bool cache_broken(const struct plan *plan, char *text, char *hint)
{
    enum dtype format = plan->precision.kv_cache;
    bool known = names_dtype(cache_formats(plan), format);
    rule_say(hint, "precision.kv_cache: bf16 or fp8");
    if (!known)
        rule_say(text, "stack %s keeps no cache of %s attention in %s", engine(plan),
                 words_attention[plan->model.attention.kind], words_dtype[format]);
    else if (cache_device_broken(plan))
        rule_say(text, "stack %s keeps no cache in %s on %s", engine(plan), words_dtype[format],
                 device(plan));
    else
        return false;
    return true;
}

static bool has_block(const struct plan *plan)
{
    return serves(plan) && plan->memory.cache_block > 0;
}

/* vLLM: every attention backend of NVIDIA's devices takes multiples of 16
 * (get_supported_kernel_block_sizes, and get_kv_cache_shape before 0.19). */
static bool block_broken(const struct plan *plan, char *text, char *hint)
{
    enum generation generation = plan_generation(plan);
    bool nvidia = generation != GENERATION_OTHER && generation != GENERATION_GFX942;
    uint64_t block = plan->memory.cache_block;
    if (plan->stack.kind != STACK_VLLM || !nvidia || block % 16 == 0)
        return false;
    rule_say(text, "vLLM's attention takes no blocks of %" PRIu64 " tokens", block);
    rule_say(hint, "memory.cache_block: 16 or a multiple; 0: the engine's own");
    return true;
}

static bool chunks_pages(const struct plan *plan)
{
    return serves_sglang(plan) && plan->workload.max_num_batched_tokens > 0 &&
           plan->memory.cache_block > 1;
}

/* ---- a step ---- */

static bool states_step(const struct plan *plan)
{
    return serves_vllm(plan) && plan->workload.max_num_batched_tokens > 0;
}

/* Sequences that --max-num-seqs has to allow; vLLM lowers its own default to a step's tokens.
 */
static uint64_t stated_sequences(const struct plan *plan)
{
    const struct workload *w = &plan->workload;
    uint64_t decoded = w->mode == MODE_DECODE ? w->micro_batch : 0;
    return w->max_num_seqs ? w->max_num_seqs : decoded;
}

/* ---- adapters ---- */

static bool keeps_adapters(const struct plan *plan)
{
    return serves_vllm(plan) && plan->lora.slots > 0 && plan->lora.rank > 0;
}

/* vLLM config/lora.py, MaxLoRARanks; 0.11 has no 1. */
static bool rank_broken(const struct plan *plan, char *text, char *hint)
{
    static const uint64_t ranks[] = {1, 8, 16, 32, 64, 128, 256, 320, 512};
    uint64_t rank = plan->lora.rank, above = 0;
    for (size_t i = sizeof ranks / sizeof *ranks; i-- > 0;) {
        if (ranks[i] == rank)
            return false;
        above = ranks[i] > rank ? ranks[i] : above;
    }
    rule_say(text, "vLLM makes room for no adapters of rank %" PRIu64, rank);
    if (above)
        rule_say(hint, "lora.rank: %" PRIu64 " (--max-lora-rank) holds them", above);
    else
        rule_say(hint, "lora.rank: 512 (--max-lora-rank) at most");
    return true;
}

static bool serves_trtllm(const struct plan *plan)
{
    return serves(plan) && plan->stack.kind == STACK_TRTLLM;
}

static bool caches_adapters(const struct plan *plan)
{
    return serves_trtllm(plan) && plan->lora.slots > 0 && plan->lora.rank > 0;
}

/* TensorRT-LLM asks for the modules (_torch/pyexecutor/_util.py); its sizes of them are those
 * of Llama's (get_bindings_model_config), and of other layers not modelled. */
static bool modules_broken(const struct plan *plan, char *text, char *hint)
{
    static const char *const names[] = {"q_proj",    "k_proj",  "v_proj",   "o_proj",
                                        "gate_proj", "up_proj", "down_proj"};
    enum { ATTENTION = 4, MODULES = 7 };
    const struct word_list *asked = &plan->lora.targets;
    unsigned n = plan_is_routed(plan) ? ATTENTION : MODULES;
    uint64_t known = 0;
    for (unsigned i = 0; i < n; i++)
        known += plan_lists(asked, names[i]);
    bool plain = model_attends_by_groups(&plan->model) && plan_dp(plan) == 1;
    if (plain && known > 0 && known == asked->n)
        return false;
    if (!plain)
        rule_say(text, "TensorRT-LLM's adapters are modelled beside grouped-query attention in "
                       "every layer, without replicas of it");
    else
        rule_say(text,
                 "TensorRT-LLM's cache of adapters has the sizes of the modules that are "
                 "named, here of q_proj, k_proj, v_proj, o_proj%s",
                 n == MODULES ? ", gate_proj, up_proj, down_proj" : "");
    rule_say(hint, "%s", plain ? "lora.targets: [q_proj, k_proj, v_proj]" : "lora.slots: 0");
    return true;
}

/* ---- devices ---- */

/* Its kernels are NVIDIA's. */
static bool vendor_broken(const struct plan *plan, char *text, char *hint)
{
    rule_say(text, "TensorRT-LLM runs on NVIDIA's devices, not on %s", device(plan));
    rule_say(hint, "stack: vllm or sglang, or another cluster.device");
    return plan_generation(plan) == GENERATION_GFX942;
}

static const struct rule rules[] = {
    {.name = "engine-runs-on-device",
     .key = "cluster.device.name",
     .shape = RULE_OTHER,
     .applies = serves_trtllm,
     .broken = vendor_broken,
     .also = {"stack"}},
    {.name = "experts-have-kernels",
     .key = "stack.experts",
     .shape = RULE_OTHER,
     .applies = serves_experts,
     .broken = experts_broken,
     .also = {"precision.weights", "moe.path"}},
    {.name = "experts-spread",
     .key = "stack.experts",
     .shape = RULE_OTHER,
     .applies = serves_sglang,
     .broken = spread_experts_broken,
     .also = {"parallel.ep", "precision.weights"}},
    {.name = "copies-need-ep",
     .key = "moe.redundant_experts",
     .shape = RULE_OTHER,
     .applies = copies_experts,
     .broken = copies_broken,
     .also = {"parallel.ep"}},
    {.name = "deepep-reaches-ranks",
     .key = "moe.path",
     .shape = RULE_OTHER,
     .applies = sends_tokens,
     .broken = reach_broken,
     .also = {"parallel.ep", "parallel.pp"}},
    {.name = "ranks-hold-as-many",
     .key = "parallel.ep",
     .shape = RULE_OTHER,
     .applies = leaves_remainder,
     .broken = remainder_broken,
     .also = {"moe.redundant_experts", "moe.path"}},
    {.name = "slots-take-top-k",
     .key = "moe.path",
     .shape = RULE_AT_MOST,
     .applies = sends_slots,
     .a = MEMBER("top_k", model.moe.top_k),
     .b = DERIVED("what DeepEP's low-latency kernels take,", most_slot_top_k),
     .hint = "moe.path: deepep or allgather",
     .also = {"model.moe.top_k", "moe.library"}},
    {.name = "slots-take-hidden",
     .key = "moe.path",
     .shape = RULE_AT_MOST,
     .applies = sends_slots,
     .a = DERIVED("a row's width", slot_width),
     .b = DERIVED("what DeepEP's low-latency kernels take,", most_slot_width),
     .hint = "moe.path: deepep or allgather",
     .also = {"model.hidden", "moe.library"}},
    {.name = "slots-have-hidden",
     .key = "moe.path",
     .shape = RULE_OTHER,
     .applies = sends_slots_sglang,
     .broken = slot_width_broken,
     .also = {"model.hidden", "moe.library"}},
    {.name = "slots-take-tokens",
     .key = "moe.dispatch_tokens",
     .shape = RULE_OTHER,
     .applies = sends_slots_sglang,
     .broken = slot_tokens_broken,
     .also = {"workload.micro_batch", "moe.path"}},
    {.name = "cache-has-format",
     .key = "precision.kv_cache",
     .shape = RULE_OTHER,
     .applies = serves,
     .broken = cache_broken,
     .also = {"model.attention.kind", "stack"}},
    {.name = "cache-has-blocks",
     .key = "memory.cache_block",
     .shape = RULE_OTHER,
     .applies = has_block,
     .broken = block_broken,
     .also = {"stack"}},
    {.name = "chunk-fills-pages",
     .key = "workload.max_num_batched_tokens",
     .shape = RULE_DIVIDES,
     .applies = chunks_pages,
     .a = MEMBER("max_num_batched_tokens", workload.max_num_batched_tokens),
     .b = MEMBER("cache_block", memory.cache_block),
     .hint = "SGLang's --chunked-prefill-size is a multiple of --page-size",
     .also = {"memory.cache_block"}},
    {.name = "step-holds-sequences",
     .key = "workload.max_num_batched_tokens",
     .shape = RULE_AT_MOST,
     .applies = states_step,
     .a = DERIVED("max_num_seqs", stated_sequences),
     .b = MEMBER("max_num_batched_tokens", workload.max_num_batched_tokens),
     .hint = "vLLM's step has a token for every sequence: a larger --max-num-batched-tokens",
     .also = {"workload.micro_batch", "workload.max_num_seqs"}},
    {.name = "host-has-experts",
     .key = "memory.host_experts",
     .shape = RULE_OTHER,
     .applies = sends_to_host,
     .broken = host_experts_broken,
     .also = {"model.moe.experts", "parallel.ep"}},
    {.name = "adapters-have-rank",
     .key = "lora.rank",
     .shape = RULE_OTHER,
     .applies = keeps_adapters,
     .broken = rank_broken,
     .also = {"lora.slots"}},
    {.name = "adapters-have-modules",
     .key = "lora.targets",
     .shape = RULE_OTHER,
     .applies = caches_adapters,
     .broken = modules_broken,
     .also = {"lora.slots", "parallel.dp"}},
};

const struct rule_set rule_set_serve = {rules, sizeof rules / sizeof *rules};

/* Defaults of serving engines; see engine.h. */
#include "plan/engine.h"

#include <math.h>
#include <stdlib.h>

#include "base/checked.h"
#include "base/text.h"
#include "base/unit.h"
#include "plan/derive.h"
#include "plan/layers.h"
#include "plan/paths.h"

/* GiB with two decimals, as engines print them */
#define HUNDREDTHS(n) ((uint64_t)(n)*GIB / 100)

/* Outside torch on H100, measured: 0.11.0 prints 0.13 GiB on one device and 0.54 to 0.55 over
 * two, 0.19.0 0.24 to 0.26 and 2.06 to 2.13 (models/published/vllm_memory.csv: contexts of
 * libraries, and NCCL's buffers, which no source states). Later: assumed as 0.19. What joined
 * ranks gained from 0.11 to 0.19 beyond one alone is laid to the all-reduce fused with a norm,
 * whose workspaces Hopper and Blackwell alone have (config/vllm.py,
 * enable_allreduce_rms_fusion); others have 0.54 + 0.12. Two RTX 5090 printed 15.03 of which
 * 14.28 to 14.58 are weights (club-3090 issue 1087).
 *
 * Between the releases that were read whole stand what threads date: pull request 38284 charges
 * graphs and has 0.92 since 0.21, whose log counts by the longest sequence as that of 0.24
 * does (noonghunna/club-3090 issue 612); 47728 keeps blocks of all batches in flight, first
 * seen in 0.26 (issue 51041; max_in_flight_tokens of config/vllm.py). What else they share with
 * 0.33 is not known: it is as in 0.19. */
#define AS_0_19                                                                                \
    .sampler = SAMPLER_TRITON, .low_latency_tokens = 256, .keeps_workspaces = true,            \
    .compiles = true, .times_joined = true, .limits_batch = true, .tuples_pages = true,        \
    .outside_bytes = {HUNDREDTHS(25), HUNDREDTHS(207), HUNDREDTHS(66)}
#define AS_0_21 AS_0_19, .fraction = 0.92, .charges_graphs = true, .counts_longest = true

static const struct engine_release releases_vllm[] = {
    {.version = "0.11",
     .fraction = 0.9,
     .sampler = SAMPLER_SORT,
     .expert_chunk = 32768,
     .low_latency_tokens = 256,
     .compiles = true,
     .outside_bytes = {HUNDREDTHS(13), HUNDREDTHS(54), HUNDREDTHS(54)}},
    {.version = "0.19", AS_0_19, .fraction = 0.9},
    {.version = "0.21", AS_0_21},
    {.version = "0.26", AS_0_21, .plans_ahead = true},
    {.version = "0.33",
     .fraction = 0.92,
     .sampler = SAMPLER_FUSED,
     .keeps_workspaces = true,
     .charges_graphs = true,
     .counts_longest = true,
     .plans_ahead = true,
     .second_runner = true,
     .compiles = true,
     .times_joined = true,
     .doubles_batch = true,
     .limits_batch = true,
     .caches_states = true,
     .outside_bytes = {HUNDREDTHS(25), HUNDREDTHS(207), HUNDREDTHS(66)}},
};

static const struct engine_release releases_sglang[] = {
    /* SGLANG_DEEPEP_NUM_MAX_DISPATCH_TOKENS_PER_RANK; outside: what a device has less than it
     * should when loading begins ("Load weight begin. avail mem"): one H100 78.43 to 78.48 of
     * 79.10 (Qwen2.5-0.5B, Llama-3.1-8B, 0.5.8 on), eight 77.33 to 77.48 (GLM-5.2 of 0.5.14),
     * H200 138.09 of 139.80 (16 ranks) and 137.9 (InferenceX issue 2128) */
    {.version = "0.5",
     .pool = POOL_OF_FREE,
     .low_latency_tokens = 128,
     .outside_bytes = {HUNDREDTHS(65), HUNDREDTHS(177), HUNDREDTHS(177)}},
};

static const struct engine_release releases_trtllm[] = {
    {.version = "1.0", .pool = POOL_OF_REST, .fraction = 0.9},
    {.version = "1.3", .pool = POOL_OF_REST, .fraction = 0.9, .experts_by_model = true},
};

static const struct engine_release release_plain = {.version = ""};

static const struct {
    enum stack_kind stack;
    const struct engine_release *releases;
    size_t n;
} engines[] = {
    {STACK_VLLM, releases_vllm, sizeof releases_vllm / sizeof *releases_vllm},
    {STACK_SGLANG, releases_sglang, 1},
    {STACK_TRTLLM, releases_trtllm, sizeof releases_trtllm / sizeof *releases_trtllm},
};

enum { ENGINES = sizeof engines / sizeof *engines };

static bool into_or_out_of_attention(enum weight_part part)
{
    return part == PART_ATTENTION_IN || part == PART_ATTENTION_OUT;
}

static bool names_part(const struct enum_list *list, enum weight_part part)
{
    for (uint64_t i = 0; i < list->n; i++)
        if (list->value[i] == part ||
            (list->value[i] == PART_ATTENTION && into_or_out_of_attention(part)))
            return true;
    return false;
}

/* What checkpoints of a format leave in 16 bits where nothing says it: of mxfp4 engines
 * quantise experts alone (vLLM and SGLang quantization/mxfp4.py: no plain layer); NVIDIA's
 * nvfp4 ones of MLA models leave attention, but for the product behind it (Model-Optimizer
 * examples/deepseek/ptq.py: "*attn*" off and "*wo*" on unless asked otherwise). */
static bool left_wide(const struct plan *plan, enum weight_part part)
{
    bool mla = plan->model.attention.kind == ATTENTION_MLA;
    return plan->precision.weights == DTYPE_MXFP4 ||
           (plan->precision.weights == DTYPE_NVFP4 && mla && part == PART_ATTENTION_IN);
}

bool plan_parts_are_given(const struct plan *plan)
{
    const struct enum_list *list = &plan->precision.plain;
    return list->n > 0 && !names_part(list, PART_AUTO);
}

bool plan_parts_by_checkpoint(const struct plan *plan)
{
    return names_part(&plan->precision.plain, PART_AUTO) &&
           (plan->model.plain.n > 0 || left_wide(plan, PART_ATTENTION_IN));
}

bool plan_base_leaves(const struct plan *plan, enum weight_part part)
{
    const enum dtype base = plan->precision.weights;
    const bool few = base == DTYPE_FP8_CHANNEL || base == DTYPE_FP8_BLOCK ||
                     base == DTYPE_INT4 || base == DTYPE_INT4_32 || base == DTYPE_NF4 ||
                     base == DTYPE_NF4_DOUBLE;
    return plan_is_huggingface(plan) && plan->workload.mode == MODE_TRAIN &&
           plan->lora.rank > 0 && few && plan_parts_are_given(plan) &&
           names_part(&plan->precision.plain, part);
}

/* Auto: as the model's own checkpoint, if these are its formats; of a model published in 16
 * bits as all its quantised checkpoints. */
enum dtype plan_part_format(const struct plan *plan, enum weight_part part)
{
    const struct precision *p = &plan->precision;
    const struct model *model = &plan->model;
    if (!plan_is_engine(plan))
        return plan_base_leaves(plan, part) ? p->activations : p->weights;
    if (part == PART_WHOLE)
        return DTYPE_BF16;
    if (!names_part(&p->plain, PART_AUTO))
        return names_part(&p->plain, part) ? p->plain_format : p->weights;
    bool published = model->checkpoint == p->weights || model->checkpoint == DTYPE_NONE;
    if (published && model->plain.n)
        return names_part(&model->plain, part) ? model->plain_format : p->weights;
    return left_wide(plan, part) ? DTYPE_BF16 : p->weights;
}

bool plan_is_engine(const struct plan *plan)
{
    for (size_t i = 0; i < ENGINES; i++)
        if (engines[i].stack == plan->stack.kind)
            return true;
    return false;
}

/* "0.19.1" after its first dot: 19; a missing part is 0. */
static long version_number(const char *version)
{
    char *end;
    long major = strtol(version, &end, 10);
    long minor = *end == '.' ? strtol(end + 1, &end, 10) : 0;
    return major * 100000 + minor;
}

const struct engine_release *engine_release(const struct plan *plan)
{
    const char *version = plan->stack.version;
    for (size_t i = 0; i < ENGINES; i++) {
        if (engines[i].stack != plan->stack.kind)
            continue;
        size_t at = engines[i].n - 1;
        long asked = version_number(version);
        while (version[0] && at && version_number(engines[i].releases[at].version) > asked)
            at--;
        return &engines[i].releases[at];
    }
    return &release_plain;
}

/* By the cluster's name, as the engines ask for the device's. */
enum generation plan_generation(const struct plan *plan)
{
    static const struct {
        const char *name;
        enum generation generation;
    } devices[] = {
        {"a100", GENERATION_SM80},   {"a800", GENERATION_SM80},  {"h100", GENERATION_SM90},
        {"h200", GENERATION_SM90},   {"h20", GENERATION_SM90},   {"h800", GENERATION_SM90},
        {"b200", GENERATION_SM100},  {"b300", GENERATION_SM100}, {"gb200", GENERATION_SM100},
        {"gb300", GENERATION_SM100}, {"gh200", GENERATION_SM90}, {"mi3", GENERATION_GFX942},
    };
    const char *device = plan->cluster.device.name;
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++)
        if (text_starts(plan->cluster_name, devices[i].name) ||
            text_starts(plan->cluster.name, devices[i].name) ||
            text_starts(device, devices[i].name))
            return devices[i].generation;
    return GENERATION_OTHER;
}

enum compute engine_compute(const struct plan *plan)
{
    const struct device *device = &plan->cluster.device;
    enum dtype weights = plan->precision.weights;
    bool plain =
             weights == DTYPE_FP8 || weights == DTYPE_FP8_CHANNEL || weights == DTYPE_FP8_BLOCK,
         scaled = weights == DTYPE_MXFP8 || weights == DTYPE_MXFP4 || weights == DTYPE_NVFP4;
    bool takes = (plain && device->peak_fp8 > device->peak_bf16) ||
                 (scaled && device->peak_fp4 > device->peak_fp8);
    return takes ? COMPUTE_FP8 : COMPUTE_BF16;
}

enum batching engine_batching(const struct plan *plan)
{
    if (plan->stack.kind == STACK_SGLANG)
        return BATCHING_APART;
    bool whole = plan->stack.kind == STACK_TRTLLM && !plan->workload.chunked_prefill;
    return whole ? BATCHING_WHOLE : BATCHING_MIXED;
}

bool engine_is_large(const struct plan *plan, const struct engine_release *release)
{
    const char *name = plan->cluster_name;
    bool spared = release->second_runner && text_starts(name, "gb10"),
         a100 = plan_generation(plan) == GENERATION_SM80 && !text_starts(name, "a800");
    return plan_rank_memory(plan) >= 70 * GIB && !a100 && !spared;
}

/* Of all sequences at their longest, where the plan says how many: a step's by default are no
 * more (vLLM engine/arg_utils.py, _set_default_max_num_seqs_and_batched_tokens_args). */
static uint64_t all_tokens(const struct plan *plan)
{
    const struct workload *w = &plan->workload;
    bool overflow = false, steps = w->mode == MODE_DECODE;
    uint64_t said = w->max_num_seqs               ? w->max_num_seqs
                    : steps && w->micro_batch > 1 ? w->micro_batch
                                                  : 0;
    uint64_t longest = w->mode == MODE_PREFILL ? 0 : engine_longest(plan);
    return said && longest ? checked_mul(said, longest, &overflow) : UINT64_MAX;
}

static uint64_t default_tokens(const struct plan *plan)
{
    if (plan->stack.kind == STACK_SGLANG) {
        uint64_t replicas = plan_engine_replicas(plan);
        return ceil_div(engine_sglang_chunk(plan), replicas ? replicas : 1);
    }
    if (plan->stack.kind == STACK_TRTLLM)
        return 8192;
    const struct engine_release *release = engine_release(plan);
    bool messages = path_reads(plan->moe.path, READS_DISPATCH_TOKENS) && plan_dp(plan) > 1;
    bool doubled = release->doubles_batch && plan_rank_memory(plan) >= 160 * GIB;
    uint64_t own = messages && release->doubles_batch ? 256
                   : doubled                          ? 16384
                   : engine_is_large(plan, release)   ? 8192
                                                      : 2048;
    return release->limits_batch ? lesser(own, all_tokens(plan)) : own;
}

uint64_t engine_tokens(const struct plan *plan)
{
    uint64_t given = plan->workload.max_num_batched_tokens;
    return given ? given : default_tokens(plan);
}

uint64_t engine_sequences(const struct plan *plan)
{
    const struct workload *w = &plan->workload;
    if (w->max_num_seqs)
        return w->max_num_seqs;
    if (w->mode == MODE_DECODE && w->micro_batch > 1)
        return w->micro_batch;
    if (!plan_is_engine(plan)) /* whose default_tokens is no less */
        return w->max_num_batched_tokens ? lesser(2048, w->max_num_batched_tokens) : 2048;
    uint64_t tokens = engine_tokens(plan);
    uint64_t most = plan->stack.kind == STACK_SGLANG              ? engine_sglang_requests(plan)
                    : plan->stack.kind != STACK_VLLM              ? 2048
                    : engine_is_large(plan, engine_release(plan)) ? 1024
                                                                  : 256;
    return most < tokens ? most : tokens;
}

uint64_t engine_cache_ranks(const struct plan *plan)
{
    bool has = plan_is_engine(plan);
    return has && plan->workload.mode != MODE_TRAIN ? plan->parallel.dcp : 1;
}

/* vLLM's share out a decode step's sequences, too (v1/worker/gpu/pcp_manager.py 0.33,
 * shard_decode_requests), SGLang's have all of them (0.5.23
 * layers/layer_boundary/layout.py, token_axis_sizes). */
uint64_t engine_prompt_ranks(const struct plan *plan)
{
    if (plan->workload.mode == MODE_TRAIN)
        return 1;
    if (plan->stack.kind == STACK_VLLM)
        return greater(plan->parallel.cp, 1);
    bool shares = plan->stack.kind == STACK_SGLANG && plan->workload.mode == MODE_PREFILL;
    return shares ? greater(plan->parallel.attention_cp, 1) : 1;
}

/* SGLang 0.5.23 runtime_context.py, derive_attn_tp_size. */
uint64_t engine_attention_ranks(const struct plan *plan)
{
    const struct parallel *p = &plan->parallel;
    bool has = plan->stack.kind == STACK_SGLANG && plan->workload.mode != MODE_TRAIN;
    return has && p->attention_cp > 1 ? greater(p->tp / p->attention_cp, 1) : p->tp;
}

bool engine_groups_layers(const struct plan *plan)
{
    /* of both SGLang takes the bytes (utils/offloader.py, create_offloader) */
    bool has = plan->stack.kind == STACK_VLLM ||
               (plan->stack.kind == STACK_SGLANG && plan_has_moe(plan) &&
                !plan->memory.weight_offload_bytes);
    return has && plan->workload.mode != MODE_TRAIN && plan->memory.offload_group > 0;
}

uint64_t engine_device_experts(const struct plan *plan)
{
    bool has = plan->stack.kind == STACK_SGLANG && plan->workload.mode != MODE_TRAIN &&
               plan_has_moe(plan);
    uint64_t local = plan_local_experts(plan), away = has ? plan->memory.host_experts : 0;
    return local > away ? local - away : 0;
}

uint64_t engine_batches(const struct plan *plan)
{
    uint64_t given = plan->parallel.batches, stages = plan->parallel.pp;
    return given && given < stages ? given : stages;
}

uint64_t engine_largest_graph(const struct plan *plan)
{
    uint64_t given = plan->stack.graph_batch;
    return given ? given : plan->stack.kind == STACK_TRTLLM ? 128 : UINT64_MAX;
}

bool engine_has_graph(const struct plan *plan, uint64_t sequences)
{
    bool trtllm = plan->stack.kind == STACK_TRTLLM;
    uint64_t most = engine_largest_graph(plan);
    bool power = (sequences & (sequences - 1)) == 0;
    if (sequences > most)
        return false;
    return !trtllm || plan->stack.graph_padding || sequences <= 32 || power ||
           sequences == most;
}

enum { TRTLLM_PROMPT = 3072 };

enum graphs engine_prompt_graphs(const struct plan *plan, uint64_t tokens)
{
    enum graphs said = plan->stack.prompt_graphs;
    uint64_t most = plan->stack.prompt_graph_tokens;
    bool asked = said != GRAPHS_AUTO && said != GRAPHS_NONE;
    if (plan->stack.kind == STACK_TRTLLM)
        return asked && tokens <= (most ? most : TRTLLM_PROMPT) ? said : GRAPHS_NONE;
    if (plan->stack.kind == STACK_SGLANG)
        return most && tokens > most ? GRAPHS_NONE : engine_sglang_prompt_graphs(plan);
    return plan->stack.graphs == GRAPHS_AUTO ? GRAPHS_PARTIAL : plan->stack.graphs;
}

enum { SGLANG_STREAM = 1024, VLLM_STREAM = 256, SGLANG_REDUCED = 2048 };

/* Of a step, on every rank that has them. */
static uint64_t tokens_of(const struct plan *plan)
{
    return plan_tokens(plan) * plan_token_ranks(plan);
}

bool engine_parts_stream(const struct plan *plan)
{
    enum stack_kind kind = plan->stack.kind;
    uint64_t most = kind == STACK_SGLANG   ? SGLANG_STREAM
                    : kind == STACK_VLLM   ? VLLM_STREAM
                    : kind == STACK_TRTLLM ? UINT64_MAX
                                           : 0;
    return plan->workload.mode == MODE_DECODE && tokens_of(plan) <= most;
}

bool engine_norm_reduced(const struct plan *plan)
{
    enum generation generation = plan_generation(plan);
    bool sums = plan->parallel.tp > 1 && plan->model.moe.experts > 0 && plan_dp(plan) == 1;
    if (!sums || plan->workload.mode == MODE_TRAIN)
        return false;
    if (plan->stack.kind != STACK_SGLANG)
        return plan->stack.kind == STACK_TRTLLM;
    return (generation == GENERATION_SM90 || generation == GENERATION_SM100) &&
           !path_reads(plan->moe.path, READS_DEEPEP) && tokens_of(plan) <= SGLANG_REDUCED;
}

uint64_t engine_context(const struct plan *plan)
{
    const struct workload *w = &plan->workload;
    if (w->mode == MODE_SERVE)
        return w->input_length + w->output_length;
    return w->mode == MODE_DECODE ? w->context_length : w->sequence_length;
}

uint64_t engine_longest(const struct plan *plan)
{
    bool fitted = plan->workload.mode == MODE_DECODE && plan->workload.fit_context;
    return greater(engine_context(plan), fitted ? plan->model.max_position : 0);
}

uint64_t engine_images(const struct plan *plan)
{
    const struct workload_encoder *e = &plan->workload.encoder;
    bool overflow = false;
    uint64_t merge = plan->model.encoder.merge, tokens = ceil_div(e->item, merge ? merge : 1);
    uint64_t fit = tokens ? plan->workload.context_length / tokens : e->limit;
    uint64_t each = lesser(e->limit, fit);
    return checked_mul(engine_sequences(plan), each ? each : 1, &overflow);
}

/* With vLLM's kv_cache_memory_bytes its gpu_memory_utilization counts for nothing
 * (config/cache.py). */
double engine_fraction(const struct plan *plan)
{
    if (plan->memory.cache_bytes && engine_takes_fraction(plan))
        return 1;
    bool sglang = plan->stack.kind == STACK_SGLANG;
    double share = sglang ? engine_sglang_attention_share(plan) : 1;
    if (plan->memory.fraction > 0)
        return plan->memory.fraction * share;
    return sglang ? engine_sglang_fraction(plan) * share : plan->stack.fraction;
}

bool engine_queues(const struct plan *plan)
{
    return plan_is_engine(plan) && (plan->workload.mode == MODE_SERVE || plan->workload.queue);
}

uint64_t engine_outside(const struct plan *plan)
{
    enum generation generation = plan_generation(plan);
    bool plain = generation == GENERATION_OTHER || generation == GENERATION_SM80;
    bool joined =
        plan->stack.kind == STACK_SGLANG ? plan_world(plan) > 1 : plan->parallel.tp > 1;
    uint64_t measured = engine_release(plan)->outside_bytes[joined ? 1 + plain : 0];
    return measured ? measured : plan->stack.context_bytes + plan_comm_bytes(plan);
}

uint64_t engine_requested(const struct plan *plan)
{
    double bytes = engine_fraction(plan) * (double)plan_usable_memory(plan);
    bool up = engine_release(plan)->charges_graphs;
    return remaining((uint64_t)(up ? ceil(bytes) : bytes), plan->memory.reserve_bytes);
}

bool engine_takes_fraction(const struct plan *plan)
{
    return engine_release(plan)->pool == POOL_OF_DEVICE;
}

uint64_t engine_room(const struct plan *plan)
{
    uint64_t outside = engine_outside(plan);
    if (engine_takes_fraction(plan))
        return remaining(engine_requested(plan), outside + engine_graphs(plan));
    return remaining(plan_usable_memory(plan), plan->memory.reserve_bytes + outside);
}

/* vLLM: 16, MLA by its backend: FlashMLA 64, CUTLASS MLA 128. SGLang's pages hold one token, of
 * models with an indexer 64 (server_args.py, "page size to 64 for DeepSeek DSA"),
 * TensorRT-LLM's blocks 32. Of one head that is key and value 256, 64 entries of csa and 2 of
 * hca (vLLM models/deepseek_v4/compressor.py; SGLang asks for multiples of 128). Of layers that
 * choose blocks one of these (vLLM models/minimax_m3/common/indexer.py,
 * get_supported_kernel_block_sizes; SGLang's page_size for these models). */
uint64_t engine_cache_block(const struct plan *plan)
{
    if (plan->memory.cache_block)
        return plan->memory.cache_block;
    if (plan->stack.kind == STACK_TRTLLM)
        return 32;
    if (plan->stack.kind != STACK_VLLM && plan->stack.kind != STACK_SGLANG)
        return 1;
    if (plan->model.attention.kind == ATTENTION_SHARED_KV)
        return 256;
    if (plan_has_blocks(plan) && !plan->model.indexer.pooled)
        return plan->model.indexer.block;
    if (plan->stack.kind == STACK_SGLANG)
        return plan->model.indexer.heads ? 64 : 1;
    if (plan->model.attention.kind != ATTENTION_MLA)
        return 16;
    enum generation generation = plan_generation(plan);
    return generation == GENERATION_SM100 ? 128 : generation == GENERATION_SM90 ? 64 : 16;
}

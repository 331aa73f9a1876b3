/* SGLang's mem_fraction_static: weights and cache as a share of what is free before the model
 * is loaded, the rest kept for activations and graphs by a formula over the launch.
 *
 * Source: engines.md 2.1 (SGLang 0.5.23, arg_groups/memory_hook.py); all in MiB, as there. */
#include <math.h>

#include "base/checked.h"
#include "base/unit.h"
#include "plan/derive.h"
#include "plan/engine.h"
#include "plan/layers.h"

enum { GIB_IN_MIB = 1024 };

/* By device memory, in GiB: tokens of a prefill chunk; most sequences of a decode graph under
 * fewer than 4 tensor-parallel ranks, and under more. */
static const struct tier {
    uint64_t below, chunk, batch[2];
} tiers[] = {
    {20, 2048, {8, 8}},      {35, 4096, {48, 160}},           {60, 4096, {32, 160}},
    {160, 8192, {256, 512}}, {UINT64_MAX, 16384, {512, 512}},
};

static uint64_t device_mib(const struct plan *plan)
{
    return plan_rank_memory(plan) / MIB;
}

static const struct tier *tier_of(const struct plan *plan)
{
    const struct tier *tier = tiers;
    while (tier->below != UINT64_MAX && device_mib(plan) >= tier->below * GIB_IN_MIB)
        tier++;
    return tier;
}

/* --max-running-requests, of all replicas; 0: not said, or what it would be. */
static uint64_t said_requests(const struct plan *plan)
{
    const struct workload *w = &plan->workload;
    bool overflow = false, steps = w->mode == MODE_DECODE && w->micro_batch > 1;
    uint64_t each = w->max_num_seqs ? w->max_num_seqs : steps ? w->micro_batch : 0;
    return each == engine_sglang_requests(plan)
               ? 0
               : checked_mul(each, plan_engine_replicas(plan), &overflow);
}

/* --tp-size: attention's data-parallel ranks are some of its tensor-parallel ones. */
static uint64_t tensor_ranks(const struct plan *plan)
{
    bool overflow = false;
    return checked_mul(plan->parallel.tp, plan_engine_replicas(plan), &overflow);
}

/* What runs at once of a replica by default (mem_cache/kv_cache_configurator.py,
 * resolve_max_num_reqs, 2,048 at least; arg_groups/speculative_hook.py, 48 with a draft;
 * deepseek_v4_hook.py, 256). */
uint64_t engine_sglang_requests(const struct plan *plan)
{
    uint64_t replicas = greater(plan_engine_replicas(plan), 1);
    uint64_t all = plan->workload.speculation.tokens                   ? 48
                   : plan->model.attention.kind == ATTENTION_SHARED_KV ? 256
                                                                       : 0;
    return all ? greater(all / replicas, 1) : 2048;
}

uint64_t engine_sglang_chunk(const struct plan *plan)
{
    bool overflow = false;
    uint64_t given = plan->workload.max_num_batched_tokens;
    return given ? checked_mul(given, plan_engine_replicas(plan), &overflow)
                 : tier_of(plan)->chunk;
}

uint64_t engine_sglang_graph_batch(const struct plan *plan)
{
    uint64_t given = plan->stack.graph_batch, said = said_requests(plan);
    uint64_t own = tier_of(plan)->batch[tensor_ranks(plan) >= 4];
    return given ? given : said ? lesser(own, said) : own;
}

/* Captured prefill sizes up to the chunk: steps of 4 from 4, 16 from 32, 32 from 256, 64 from
 * 512, 256 from 1,024 and 512 from 4,096 tokens. */
static uint64_t prefill_graphs(uint64_t chunk)
{
    static const uint64_t ends[] = {32, 256, 512, 1024, 4096, UINT64_MAX};
    static const uint64_t steps[] = {4, 16, 32, 64, 256, 512};
    uint64_t n = 0, from = 0;
    for (unsigned i = 0; i < 6 && from < chunk; i++) {
        uint64_t end = chunk < ends[i] ? chunk : ends[i];
        n += (end - from) / steps[i];
        from = end;
    }
    return n;
}

/* Images are asked for. */
static bool is_told(const struct plan *plan)
{
    return plan->workload.encoder.requested || plan->workload.encoder.patches;
}

/* Of some models images are taken on request alone (configs/model_config.py,
 * mm_disabled_models), though the encoder is loaded (models/gemma3_mm.py). */
static bool has_images(const struct plan *plan)
{
    const struct encoder *e = &plan->model.encoder;
    return e->layers && (!(e->on_request || e->loaded_on_request) || is_told(plan));
}

/* models/mllama4.py, has_vision. */
bool engine_sglang_loads_encoder(const struct plan *plan)
{
    return !plan->model.encoder.loaded_on_request || is_told(plan);
}

/* By itself pieces on CUDA (model_executor/cuda_graph_config.py, default_prefill_backend),
 * where nothing of arg_groups/cuda_graph_hook.py, apply_cuda_graph_compatibility, speaks
 * against it: of models with an encoder those of configs/model_config.py,
 * multimodal_breakable_cuda_graph_supported_model_archs, have them, GLM-5.3-Flash among these
 * with Kimi's delta attention. */
enum graphs engine_sglang_prompt_graphs(const struct plan *plan)
{
    const struct model *model = &plan->model;
    bool linear = model_mixers(model, MIXER_LINEAR) > 0;
    bool captured = model->encoder.layers && model->encoder.captured;
    bool kimi = linear && model->linear.kind == LINEAR_KIMI_DELTA && !captured;
    bool sees = has_images(plan) && !captured;
    bool none = plan->stack.graphs == GRAPHS_NONE || plan->parallel.pp > 1 ||
                plan->moe.overlap || plan->parallel.dcp > 1 || kimi || sees ||
                model->attention.kind == ATTENTION_SHARED_KV ||
                plan->workload.role == DUTY_ANSWERS ||
                plan_generation(plan) == GENERATION_GFX942;
    if (plan->stack.prompt_graphs != GRAPHS_AUTO)
        return plan->stack.prompt_graphs;
    return none ? GRAPHS_NONE : GRAPHS_PARTIAL;
}

/* Of the largest graph of steps with prompts. */
static uint64_t prompt_graph_tokens(const struct plan *plan)
{
    uint64_t given = plan->stack.prompt_graph_tokens, most = plan->memory.cache_tokens;
    uint64_t chunk = engine_sglang_chunk(plan);
    if (given)
        return given;
    if (plan->model.attention.kind == ATTENTION_MLA)
        chunk = lesser(chunk, 8192);
    return most ? lesser(chunk, most) : chunk;
}

/* Graphs of prompts, in MiB. */
static uint64_t prefill_graphs_mib(const struct plan *plan)
{
    bool mla = plan->model.attention.kind == ATTENTION_MLA;
    if (engine_sglang_prompt_graphs(plan) == GRAPHS_NONE)
        return 0;
    return mla ? 1536 : 8 * prefill_graphs(prompt_graph_tokens(plan));
}

/* Tokens of the step that most is kept for: a chunk, or where no prompts come all that runs. */
static uint64_t activation_tokens(const struct plan *plan)
{
    bool overflow = false;
    uint64_t tokens = engine_sglang_chunk(plan), said = said_requests(plan);
    if (plan->workload.role == DUTY_ANSWERS)
        tokens = checked_mul(said ? said : engine_sglang_graph_batch(plan),
                             plan->workload.tokens_per_sequence, &overflow);
    return greater(tokens, 2048);
}

static uint64_t reserved_mib(const struct plan *plan)
{
    uint64_t ranks = tensor_ranks(plan), dp = plan_engine_replicas(plan);
    uint64_t batch = engine_sglang_graph_batch(plan), graphs = prefill_graphs_mib(plan);
    bool deepep = path_reads(plan->moe.path, READS_DEEPEP), overflow = false;
    bool answers = plan->workload.role != DUTY_PROMPTS;
    bool captured = answers && plan->stack.graphs != GRAPHS_NONE;
    bool pieces = engine_sglang_prompt_graphs(plan) == GRAPHS_PARTIAL;
    uint64_t mib = 512 + checked_mul(activation_tokens(plan), 3, &overflow) / 2;
    mib += 1024 * ranks * plan->parallel.pp / 8 + graphs;
    mib += captured ? 2 * batch : 0;
    if (dp > 1 && answers)
        mib += 3 * batch * dp + (batch > 300 ? batch * dp * 3 / 2 : 0);
    if (deepep && pieces)
        mib += 1024;
    if (device_mib(plan) > 60 * GIB_IN_MIB && mib < 10240)
        mib = 10240;
    return mib + (deepep && captured ? 2048 : 0);
}

uint64_t engine_sglang_kept(const struct plan *plan)
{
    return reserved_mib(plan) * MIB;
}

/* What is made behind the pool where images are taken, and kept out of it
 * (mem_cache/kv_cache_configurator.py, mm_runtime_reservation_gb): a cache of 100 MiB of what
 * the encoder gave; of Qwen3-VL, whose images enter later layers too, on Hopper a pool for
 * pixels in its place (arg_groups/model_overrides/qwen3_vl.py). */
uint64_t engine_sglang_image_bytes(const struct plan *plan)
{
    enum { CACHE = 100, PIXELS = 1024, MANY = 400 };
    const struct encoder *e = &plan->model.encoder;
    bool large =
        plan_generation(plan) == GENERATION_SM90 && device_mib(plan) >= 60 * GIB_IN_MIB;
    bool deep = e->outputs > 1 && !e->nested && plan->cluster.nodes == 1;
    uint64_t pixels = said_requests(plan) >= MANY ? 3 * PIXELS : PIXELS;
    return has_images(plan) ? (large && deep ? pixels : CACHE) * MIB : 0;
}

/* Images are taken unless the encoder is left out or runs elsewhere. */
static bool takes_images(const struct plan *plan)
{
    return has_images(plan) && plan->workload.encoder.limit &&
           plan->workload.role != DUTY_ANSWERS;
}

/* Models with an encoder: 0.95, less for one heavier than 24 layers of 1,024
 * (adjust_mem_fraction_for_vlm): num_hidden_layers and hidden_size of vision_config, 24 where
 * it has no layers by that name (transformers 5.19, which 0.5.23 asks for, and its own
 * classes). */
static double for_encoder(const struct plan *plan)
{
    const struct encoder *e = &plan->model.encoder;
    double layers = (double)(e->said_layers ? e->said_layers : e->layers);
    double hidden = (double)(e->said_hidden ? e->said_hidden : e->hidden);
    double factor = 1 - 0.1 * (layers * hidden * hidden / (24.0 * 1024 * 1024) - 1);
    return takes_images(plan) && !e->nested ? 0.95 * fmin(fmax(factor, 0.8), 1.05) : 1;
}

/* On AMD AITER attends, of latent attention with 16 or 128 heads of a rank
 * (arg_groups/model_override_base.py): of models for more than 8,192 tokens it takes 0.85 of
 * the fraction, said or not (arg_groups/attention_hook.py). */
double engine_sglang_attention_share(const struct plan *plan)
{
    const struct attention *a = &plan->model.attention;
    uint64_t ranks = tensor_ranks(plan), heads = ceil_div(a->heads, ranks ? ranks : 1);
    bool own = a->kind == ATTENTION_SHARED_KV || plan->model.indexer.heads;
    bool aiter = !own && (a->kind != ATTENTION_MLA || heads == 16 || heads == 128);
    bool amd = plan_generation(plan) == GENERATION_GFX942;
    uint64_t longest = engine_longest(plan);
    if (plan->workload.mode == MODE_PREFILL)
        longest = greater(longest, plan->workload.context_length);
    if (plan->memory.attention_share > 0)
        return plan->memory.attention_share;
    return amd && aiter && longest > 8192 ? 0.85 : 1;
}

double engine_sglang_fraction(const struct plan *plan)
{
    double all = (double)device_mib(plan), kept = (double)reserved_mib(plan);
    double rounded = all > kept ? round((all - kept) / all * 1000) / 1000 : 0;
    return rounded * for_encoder(plan);
}

/* ---- one pool for caches of several kinds ---- */

/* SGLang: 0.8 (server_args.py, swa_full_tokens_ratio), of models with entries beside a window
 * 0.1 (arg_groups/deepseek_v4_hook.py, apply_deepseek_v4_defaults). */
double engine_window_ratio(const struct plan *plan)
{
    double said = plan->memory.window_ratio;
    double own = plan->model.attention.kind == ATTENTION_SHARED_KV ? 0.1 : 0.8;
    return plan->stack.kind != STACK_SGLANG ? 1 : said > 0 ? said : own;
}

double engine_state_share(const struct plan *plan)
{
    double ratio = plan->memory.state_ratio > 0 ? plan->memory.state_ratio : 0.9;
    return plan->stack.kind == STACK_SGLANG ? ratio / (1 + ratio) : 0;
}

/* TensorRT-LLM keeps one of each sequence that a batch may have, of each stage, and of the
 * requests that pad graphs and idle replicas of attention (_torch/pyexecutor/
 * mamba_cache_manager.py, _estimate_mamba_hybrid_cache_cost and the slots it reserves). */
uint64_t engine_state_slots(const struct plan *plan)
{
    uint64_t ranks = plan_engine_replicas(plan) ? plan_engine_replicas(plan) : 1;
    if (plan->stack.kind == STACK_TRTLLM)
        return engine_sequences(plan) * plan->parallel.pp + 1 + (ranks > 1);
    return plan->memory.state_slots / ranks;
}

/* vLLM config/model.py of 0.33, is_prefix_caching_supported: not of recurrences alone; models/
 * config.py, MambaModelConfig: their mode is align (pull request 50991). */
bool engine_caches_states(const struct plan *plan)
{
    const struct model *model = &plan->model;
    bool attends = false;
    for (unsigned i = 0; i < MIXER_COUNT; i++)
        attends = attends || (i != MIXER_LINEAR && i != MIXER_NONE &&
                              model_has_mixer(model, (enum mixer)i));
    return engine_release(plan)->caches_states && attends &&
           model_has_mixer(model, MIXER_LINEAR);
}

/* SGLang: a sequence's own and the radix cache's, 3, and 2 that take turns with them beside a
 * schedule that overlaps, which it takes by itself for all kinds but these
 * (arg_groups/overrides.py of 0.5.23, _mamba_radix_cache_resolution). */
static uint64_t sglang_copies(const struct plan *plan)
{
    enum linear_kind kind = plan->model.linear.kind;
    bool apart = kind == LINEAR_MAMBA1 || kind == LINEAR_SHORT_CONV;
    return apart && model_has_mixer(&plan->model, MIXER_LINEAR) ? 3 : 5;
}

uint64_t engine_state_copies(const struct plan *plan)
{
    uint64_t own = plan->stack.kind == STACK_SGLANG ? sglang_copies(plan)
                   : engine_caches_states(plan)     ? 2
                                                    : 1;
    if (plan->stack.kind == STACK_TRTLLM || plan->model.attention.kind == ATTENTION_SHARED_KV)
        return 1;
    return plan->memory.state_copies ? plan->memory.state_copies : own;
}

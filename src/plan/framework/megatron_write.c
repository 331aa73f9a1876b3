/* A plan as a Megatron-LM launch. */
#include <inttypes.h>

#include "plan/derive.h"
#include "plan/framework/megatron.h"
#include "plan/schema/schema.h"

static void on(struct job_writer *writer, bool given, const char *name)
{
    if (given)
        writer_flag(writer, name, NULL);
}

static void write_attention(struct job_writer *writer)
{
    const struct attention *a = &writer->plan->model.attention;
    const struct model *m = &writer->plan->model;
    if (a->kind == ATTENTION_MLA) {
        writer_flag(writer, "multi-latent-attention", NULL);
        if (a->q_lora_rank)
            writer_count(writer, "q-lora-rank", a->q_lora_rank);
        writer_count(writer, "kv-lora-rank", a->kv_lora_rank);
        writer_count(writer, "qk-head-dim", a->qk_nope_head_dim);
        writer_count(writer, "qk-pos-emb-head-dim", a->qk_rope_head_dim);
        writer_count(writer, "v-head-dim", a->v_head_dim);
    } else if (a->kind == ATTENTION_GQA && a->kv_heads != a->heads) {
        writer_flag(writer, "group-query-attention", NULL);
        writer_count(writer, "num-query-groups", a->kv_heads);
    }
    if (a->kind == ATTENTION_GQA && a->head_dim * a->heads != m->hidden)
        writer_count(writer, "kv-channels", a->head_dim);
    bool all = a->bias && a->output_bias;
    on(writer, !all, "disable-bias-linear");
    on(writer, a->bias && !all, "add-qkv-bias");
}

/* Which layers are of one type, as a list of 0 and 1; windows are 1, and so are recurrences. */
static void write_frequency(struct job_writer *writer, const char *flag, enum layer_type type)
{
    const struct model *m = &writer->plan->model;
    struct text list = {.arena = writer->arena};
    for (uint64_t i = 0; i < m->layers; i++)
        text_printf(&list, "%s%d", i ? "," : "'[",
                    m->layer_types.value[i % m->layer_types.n] == type);
    text_append(&list, "]'");
    writer_flag(writer, flag, text_string(&list));
}

static void write_linear(struct job_writer *writer)
{
    const struct linear *l = &writer->plan->model.linear;
    writer_flag(writer, "experimental-attention-variant", "gated_delta_net");
    writer_count(writer, "linear-num-value-heads", l->heads);
    writer_count(writer, "linear-value-head-dim", l->head_dim);
    writer_count(writer, "linear-num-key-heads", l->key_heads);
    writer_count(writer, "linear-key-head-dim", l->key_dim);
    writer_count(writer, "linear-conv-kernel-dim", l->conv);
    write_frequency(writer, "linear-attention-freq", LAYER_LINEAR);
}

/* DeepSeek-V4's attention: a window is 0, entries are their tokens. */
static void write_compressed(struct job_writer *writer)
{
    const struct model *m = &writer->plan->model;
    const struct attention *a = &m->attention;
    struct text list = {.arena = writer->arena};
    if (!writer->plan->model.layer_types.n || a->csa_ratio != 4 || a->hca_ratio != 128)
        return;
    for (uint64_t i = 0; i < m->layers; i++) {
        enum layer_type type = (enum layer_type)m->layer_types.value[i % m->layer_types.n];
        text_printf(&list, "%s%d", i ? "," : "'[",
                    type == LAYER_CSA   ? 4
                    : type == LAYER_HCA ? 128
                                        : 0);
    }
    text_append(&list, "]'");
    writer_flag(writer, "multi-latent-attention", NULL);
    writer_flag(writer, "experimental-attention-variant", "dsv4_hybrid");
    writer_flag(writer, "dsa-kernel-backend", "cudnn");
    writer_flag(writer, "csa-compress-ratios", text_string(&list));
    writer_count(writer, "csa-window-size", a->window);
    writer_count(writer, "q-lora-rank", a->q_lora_rank);
    writer_count(writer, "v-head-dim", a->head_dim);
    writer_count(writer, "qk-pos-emb-head-dim", a->qk_rope_head_dim);
    writer_count(writer, "o-groups", a->o_groups);
    writer_count(writer, "o-lora-rank", a->o_lora_rank);
}

static void write_residual(struct job_writer *writer)
{
    const struct model *m = &writer->plan->model;
    on(writer, m->residual_streams > 1, "enable-hyper-connections");
    on(writer, m->residual_streams > 1, "use-fused-mhc");
    if (m->residual_streams > 1)
        writer_count(writer, "num-residual-streams", m->residual_streams);
    on(writer, m->residual_block, "enable-attention-residuals");
    if (m->residual_block)
        writer_count(writer, "attn-res-block-layers", m->residual_block);
    if (m->moe.hash_layers)
        writer_count(writer, "moe-n-hash-layers", m->moe.hash_layers);
}

/* Layers of several kinds, where Megatron has flags for them; the rest is said in lines. */
static void write_mixers(struct job_writer *writer)
{
    const struct model *m = &writer->plan->model;
    bool windows = false, linear = false, plain = true;
    for (uint64_t i = 0; i < m->layer_types.n; i++) {
        enum layer_type type = (enum layer_type)m->layer_types.value[i];
        windows = windows || type == LAYER_WINDOW;
        linear = linear || type == LAYER_LINEAR;
        plain = plain && type <= LAYER_LINEAR && type != LAYER_CHUNK;
    }
    bool shared = m->attention.kind == ATTENTION_SHARED_KV;
    if (shared)
        write_compressed(writer);
    if (m->attention.sinks && !shared) /* which has them always */
        writer_flag(writer, "softmax-type", "learnable");
    if (plain && windows && !linear && m->attention.window) {
        writer_flag(writer, "window-size",
                    arena_printf(writer->arena, "%" PRIu64 ",0", m->attention.window - 1));
        write_frequency(writer, "window-attn-skip-freq", LAYER_WINDOW);
    }
    if (plain && linear && !windows && m->linear.kind == LINEAR_GATED_DELTA_NET)
        write_linear(writer);
    if (m->indexer.heads && m->attention.kind == ATTENTION_MLA) {
        writer_flag(writer, "experimental-attention-variant", "dsa");
        writer_flag(writer, "dsa-kernel-backend", "cudnn"); /* or tilelang: what plans assume */
    }
    if (m->indexer.heads && m->attention.kind != ATTENTION_GQA) {
        writer_count(writer, "dsa-indexer-n-heads", m->indexer.heads);
        writer_count(writer, "dsa-indexer-head-dim", m->indexer.head_dim);
        writer_count(writer, "dsa-indexer-topk", m->indexer.top_k);
    }
}

static void write_experts(struct job_writer *writer)
{
    const struct model *m = &writer->plan->model;
    const struct router *r = &m->moe.router;
    if (plan_moe_layers(writer->plan) == 0)
        return;
    writer_count(writer, "num-experts", m->moe.experts);
    writer_count(writer, "moe-router-topk", m->moe.top_k);
    writer_count(writer, "moe-ffn-hidden-size", m->moe.intermediate);
    if (m->moe_every > 1)
        writer_count(writer, "moe-layer-freq", m->moe_every);
    else if (m->dense_layers)
        writer_flag(writer, "moe-layer-freq",
                    arena_printf(writer->arena, "'[0]*%" PRIu64 "+[1]*%" PRIu64 "'",
                                 m->dense_layers, m->layers - m->dense_layers));
    if (m->moe.shared_experts)
        writer_count(writer, "moe-shared-expert-intermediate-size", m->moe.shared_intermediate);
    if (r->score != SCORE_SOFTMAX)
        writer_flag(writer, "moe-router-score-function", words_score[r->score]);
    on(writer, r->score == SCORE_SOFTMAX && r->order == ORDER_SCORE_THEN_TOPK,
       "moe-router-pre-softmax");
    on(writer, writer->plan->moe.matmul == MATMUL_GROUPED, "moe-grouped-gemm");
}

static void write_model(struct job_writer *writer)
{
    const struct model *m = &writer->plan->model;
    static const struct {
        enum activation activation;
        bool glu;
        const char *flag;
    } activations[] = {{ACTIVATION_SILU, true, "swiglu"},
                       {ACTIVATION_SWIGLU_OAI, true, "quick-geglu"},
                       {ACTIVATION_RELU, false, "squared-relu"}};
    for (size_t i = 0; i < 3; i++)
        on(writer,
           m->moe.activation == activations[i].activation && m->moe.glu == activations[i].glu,
           activations[i].flag);
    if (m->dense_intermediate)
        writer_count(writer, "ffn-hidden-size", m->dense_intermediate);
    on(writer, !m->tied_embeddings, "untie-embeddings-and-output-weights");
    writer_count(writer, "vocab-size", m->vocab);
    writer_count(writer, "make-vocab-size-divisible-by", writer->plan->stack.vocab_multiple);
    write_attention(writer);
    write_mixers(writer);
    write_residual(writer);
    write_experts(writer);
}

/* Layers of chunk i: as they are listed, or as even as possible with the longer ones first. */
static uint64_t chunk_layers(const struct plan *plan, uint64_t chunks, uint64_t i)
{
    const struct number_list *stages = &plan->parallel.stages;
    uint64_t layers = plan->model.layers;
    return stages->n ? stages->value[i] : layers / chunks + (i < layers % chunks);
}

/* "Et*13|t*14L": one chunk after the other, prediction modules in the last. Without a list
 * Megatron splits layers that come out even alone (arguments.py). */
static void write_stages(struct job_writer *writer)
{
    const struct parallel *p = &writer->plan->parallel;
    const struct model *m = &writer->plan->model;
    struct text layout = {.arena = writer->arena};
    uint64_t chunks = p->pp * p->vpp, modules = m->mtp_enabled ? m->mtp_layers : 0;
    bool even = p->stages.n == 0 && m->layers % chunks == 0;
    if (p->vpp > 1 && p->vpp_group)
        writer_count(writer, "microbatch-group-size-per-virtual-pipeline-stage", p->vpp_group);
    if (p->layout[0] != '\0') {
        writer_flag(writer, "pipeline-model-parallel-layout",
                    arena_printf(writer->arena, "'%s'", p->layout));
        return;
    }
    if (even && p->vpp > 1)
        writer_count(writer, "num-virtual-stages-per-pipeline-rank", p->vpp);
    if (even || (p->stages.n && p->stages.n != chunks))
        return;
    for (uint64_t i = 0; i < chunks; i++) {
        uint64_t layers = chunk_layers(writer->plan, chunks, i);
        text_append(&layout, i ? "|" : "E");
        if (layers)
            text_printf(&layout, "t*%" PRIu64, layers);
    }
    for (uint64_t i = 0; i < modules; i++)
        text_append(&layout, "m");
    text_append(&layout, "L");
    writer_flag(writer, "pipeline-model-parallel-layout",
                arena_printf(writer->arena, "'%s'", text_string(&layout)));
}

static void write_layout(struct job_writer *writer)
{
    const struct parallel *p = &writer->plan->parallel;
    writer_count(writer, "expert-tensor-parallel-size", p->etp);
    on(writer, p->sp, "sequence-parallel");
    on(writer, p->zero == 1, "use-distributed-optimizer");
    if (p->zero >= 2) {
        writer_flag(writer, "use-megatron-fsdp", NULL);
        writer_flag(writer, "data-parallel-sharding-strategy",
                    p->zero == 2 ? "optim_grads" : "optim_grads_params");
    }
    write_stages(writer);
}

static void write_path(struct job_writer *writer)
{
    const struct moe *moe = &writer->plan->moe;
    char text[32];
    bool deepep = moe->path == PATH_DEEPEP;
    if (moe->path != PATH_ALLGATHER)
        writer_flag(writer, "moe-token-dispatcher-type", deepep ? "flex" : "alltoall");
    if (deepep && (moe->library == LIBRARY_DEEPEP || moe->library == LIBRARY_HYBRID_EP))
        writer_flag(writer, "moe-flex-dispatcher-backend",
                    moe->library == LIBRARY_HYBRID_EP ? "hybridep" : "deepep");
    if (moe->path == PATH_CAPACITY) {
        text_double(text, moe->capacity_factor);
        writer_flag(writer, "moe-expert-capacity-factor", text);
        writer_flag(writer, "moe-pad-expert-input-to-capacity", NULL);
    }
    if (moe->buffer == SIZING_FACTOR && moe->buffer_factor > 0) {
        text_double(text, moe->buffer_factor);
        writer_flag(writer, "moe-expert-rank-capacity-factor", text);
    }
    static const char *const graphs[] = {NULL, NULL, "transformer_engine", "full_iteration"};
    if (graphs[writer->plan->stack.graphs])
        writer_flag(writer, "cuda-graph-impl", graphs[writer->plan->stack.graphs]);
    on(writer, moe->paged_stash, "moe-paged-stash");
    if (writer->plan->stack.cross_entropy == LOSS_IN_PLACE) {
        writer_flag(writer, "cross-entropy-loss-fusion", NULL);
        writer_flag(writer, "cross-entropy-fusion-impl", "te");
    }
}

static void write_overlap(struct job_writer *writer)
{
    const struct stack *stack = &writer->plan->stack;
    on(writer, stack->overlap_dp, "overlap-grad-reduce");
    on(writer, stack->overlap_dp && writer->plan->parallel.zero > 0, "overlap-param-gather");
    on(writer, stack->overlap_tp, "tp-comm-overlap");
    on(writer, !stack->overlap_pp, "no-overlap-p2p-communication");
    on(writer, !stack->wgrad_placeholders, "no-gradient-accumulation-fusion");
}

static void write_recompute(struct job_writer *writer)
{
    const struct recompute_plan *r = &writer->plan->recompute;
    struct text modules = {.arena = writer->arena};
    if (r->kind == RECOMPUTE_FULL) {
        writer_flag(writer, "recompute-method", r->layers ? "block" : "uniform");
        writer_count(writer, "recompute-num-layers", r->layers ? r->layers : r->every);
    }
    for (uint64_t i = 0; i < r->modules.n; i++)
        text_printf(&modules, "%s%s", i ? " " : "", r->modules.word[i]);
    if (r->kind == RECOMPUTE_SELECTIVE && r->modules.n)
        writer_flag(writer, "recompute-modules", text_string(&modules));
}

static void write_recipe(struct job_writer *writer)
{
    static const char *const names[] = {
        [RECIPE_FP8_DELAYED] = "delayed",
        [RECIPE_FP8_CURRENT] = "tensorwise",
        [RECIPE_FP8_BLOCK] = "blockwise",
        [RECIPE_MXFP8] = "mxfp8",
        [RECIPE_NVFP4] = NULL,
    };
    const struct precision *p = &writer->plan->precision;
    if (p->recipe == RECIPE_NVFP4)
        writer_flag(writer, "fp4-format", "e2m1");
    else if (p->recipe != RECIPE_NONE)
        writer_flag(writer, "fp8-format", "hybrid");
    if (p->recipe != RECIPE_NONE && names[p->recipe])
        writer_flag(writer, "fp8-recipe", names[p->recipe]);
    on(writer, p->recipe != RECIPE_NONE && p->quantized_params, "fp8-param-gather");
    if (p->recipe == RECIPE_NONE || !(p->plain_first + p->plain_last))
        return;
    writer_flag(writer, "first-last-layers-bf16", NULL);
    writer_count(writer, "num-layers-at-start-in-bf16", p->plain_first);
    writer_count(writer, "num-layers-at-end-in-bf16", p->plain_last);
}

static void write_optimizer(struct job_writer *writer)
{
    const struct optimizer *o = &writer->plan->optimizer;
    char text[32];
    if (o->kind == OPTIMIZER_SGD || o->kind == OPTIMIZER_MUON || o->kind == OPTIMIZER_LION)
        writer_flag(writer, "optimizer", words_optimizer[o->kind]);
    if (o->offload > 0) {
        text_double(text, o->offload);
        writer_flag(writer, "optimizer-cpu-offload", NULL);
        writer_flag(writer, "optimizer-offload-fraction", text);
    }
}

static void write_formats(struct job_writer *writer)
{
    const struct precision *p = &writer->plan->precision;
    on(writer, p->activations == DTYPE_BF16, "bf16");
    on(writer, p->activations == DTYPE_F16, "fp16");
    on(writer, p->gradients == DTYPE_BF16, "grad-reduce-in-bf16");
    write_recipe(writer);
}

void megatron_write_rest(struct job_writer *writer)
{
    write_layout(writer);
    write_path(writer);
    write_overlap(writer);
    write_optimizer(writer);
    write_recompute(writer);
}

static enum status megatron_write(struct job_writer *writer)
{
    const struct plan *plan = writer->plan;
    uint64_t world = plan_world(plan), nodes = plan->cluster.nodes;
    if (plan->workload.mode != MODE_TRAIN)
        return err_set(writer->err, STATUS_INPUT, "Megatron's jobs train: workload.mode is %s",
                       words_mode[plan->workload.mode]);
    text_printf(writer->out,
                "torchrun --nnodes %" PRIu64 " --nproc-per-node %" PRIu64 " pretrain_gpt.py",
                nodes, nodes ? world / nodes : world);
    write_model(writer);
    writer_direct(writer);
    write_formats(writer);
    megatron_write_rest(writer);
    return STATUS_OK;
}

const struct job_framework job_megatron = {
    .name = "megatron",
    .title = "a Megatron-LM launch",
    .stack = "megatron",
    .source = "NVIDIA/Megatron-LM d98e8a64ddf3",
    .syntax = JOB_DASHES,
    .sections = "language_model. model_parallel. model. training.",
    .flags = megatron_flags,
    .n_flags = &megatron_n_flags,
    .prepare = megatron_prepare,
    .finish = megatron_finish,
    .write = megatron_write,
    .names = NAMES_NONE,
    .files = true,
    .trains = true,
};

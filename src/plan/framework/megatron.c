/* Megatron-LM and Megatron-Bridge: what their flags mean together. The table is in
 * megatron_table.c; the defaults here are those of its sources. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "plan/framework/megatron.h"

/* ---- values of flags with a default ---- */

enum status megatron_count_or(struct job *job, const char *flag, uint64_t fallback,
                              uint64_t *value)
{
    *value = fallback;
    return job_count(job, flag, value);
}

enum status megatron_is_on(struct job *job, const char *flag, bool *value)
{
    *value = false;
    return job_switch(job, flag, value);
}

bool megatron_is_bridge(const struct job *job)
{
    return job->framework == &job_bridge || job->framework == &job_nemo ||
           job->framework == &job_nemo1;
}

/* A number where the table gives one; its default otherwise. */
enum status megatron_set_count_or(struct job *job, const char *key, const char *flag,
                                  uint64_t fallback)
{
    uint64_t value;
    TRY(megatron_count_or(job, flag, fallback, &value));
    job_set_count(job, key, value, flag);
    return STATUS_OK;
}

/* ---- the pipeline ---- */

static const char first_flag[] = "decoder-first-pipeline-num-layers",
                  last_flag[] = "decoder-last-pipeline-num-layers";

static enum status read_ends(struct job *job, struct megatron_ends *ends)
{
    *ends = (struct megatron_ends){.first = job_given(job, first_flag),
                                   .last = job_given(job, last_flag)};
    ends->flag = ends->first ? first_flag : last_flag;
    TRY(megatron_is_on(job, "account-for-embedding-in-pipeline-split", &ends->embedding));
    TRY(megatron_is_on(job, "account-for-loss-in-pipeline-split", &ends->loss));
    TRY(job_count(job, first_flag, &ends->first_layers));
    return job_count(job, last_flag, &ends->last_layers);
}

/* A stage's chunks are alike, but for the first and the last of all, in which embedding and
 * loss take a layer's place (transformer_block.py, get_num_layers_to_build). */
static enum status set_chunks(struct job *job, const struct megatron_ends *ends,
                              const uint64_t *own, uint64_t pp, uint64_t vpp)
{
    const char **stages = arena_alloc(job->arena, pp * vpp, sizeof *stages);
    struct text layout = {.arena = job->arena};
    bool empty = false; /* a chunk without layers, of which only a layout speaks */
    for (uint64_t i = 0; i < pp * vpp; i++) {
        uint64_t stage = i % pp, whole = own[stage] + (ends->embedding && stage == 0) +
                                         (ends->loss && stage == pp - 1);
        if (whole % vpp != 0)
            return job_fail(job, ends->flag,
                            "%" PRIu64 " layers of a stage do not split into %" PRIu64
                            " chunks",
                            whole, vpp);
        bool begins = ends->embedding && i == 0, stops = ends->loss && i == pp * vpp - 1;
        uint64_t layers = whole / vpp - begins - stops;
        stages[i] = arena_printf(job->arena, "%" PRIu64, layers);
        empty = empty || layers == 0;
    }
    for (uint64_t i = 0, n; i < pp * vpp; i += n) { /* chunks alike at once */
        n = 1;
        while (i && i + n + 1 < pp * vpp && text_equal(stages[i], stages[i + n]))
            n++;
        const char *chunk =
            text_equal(stages[i], "0") ? "" : arena_printf(job->arena, "t*%s", stages[i]);
        if (n > 1)
            text_printf(&layout, "(%s|)*%" PRIu64, chunk, n);
        else
            text_printf(&layout, "%s%s%s", i ? "" : "E", chunk, i + 1 < pp * vpp ? "|" : "");
    }
    if (empty) {
        job_set(job, "parallel.layout", arena_printf(job->arena, "%sL", text_string(&layout)),
                "account-for-embedding-in-pipeline-split account-for-loss-in-pipeline-split");
        return STATUS_OK;
    }
    draft_set_list(&job->draft, "parallel.stages", stages, pp * vpp, job->mark,
                   "layers of the first and last stage");
    return STATUS_OK;
}

enum status megatron_set_ends(struct job *job, struct megatron_ends ends, uint64_t pp,
                              uint64_t vpp, uint64_t layers)
{
    if ((!ends.first && !ends.last && !ends.embedding && !ends.loss) || pp < 2 ||
        pp > PLAN_LIST / vpp)
        return STATUS_OK;
    uint64_t even = (layers + ends.embedding + ends.loss) / pp;
    uint64_t first = ends.embedding && !ends.first ? even - 1 : ends.first_layers;
    uint64_t last = ends.loss && !ends.last ? even - 1 : ends.last_layers;
    bool ends_first = ends.first || ends.embedding, ends_last = ends.last || ends.loss;
    uint64_t middle = pp - ends_first - ends_last, rest = layers - first - last;
    if (first + last > layers || (middle ? rest % middle != 0 : rest != 0))
        return job_fail(job, ends.flag,
                        "%" PRIu64 " layers do not split over %" PRIu64 " stages like this",
                        layers, pp);
    uint64_t *own = arena_alloc(job->arena, pp, sizeof *own);
    for (uint64_t i = 0; i < pp; i++) {
        own[i] = middle ? rest / middle : 0;
        own[i] = i == 0 && ends_first ? first : own[i];
        own[i] = i == pp - 1 && ends_last ? last : own[i];
    }
    return set_chunks(job, &ends, own, pp, vpp);
}

/* Chunks of a rank where each has so many layers, embedding and loss counted as they are
 * (arguments.py). */
static enum status chunks_of(struct job *job, const char *flag, uint64_t pp, uint64_t layers,
                             uint64_t *vpp)
{
    struct megatron_ends ends;
    uint64_t each = 0;
    if (!job_given(job, flag))
        return STATUS_OK;
    TRY(job_count(job, flag, &each));
    TRY(read_ends(job, &ends));
    uint64_t counted = layers ? layers + ends.embedding + ends.loss : 0;
    *vpp = each && pp ? counted / pp / each : 0;
    if (!*vpp || counted % pp != 0 || counted / pp % each != 0)
        return job_fail(job, flag,
                        "%" PRIu64 " layers do not split into chunks of %" PRIu64
                        " over %" PRIu64 " stages",
                        counted, each, pp);
    return STATUS_OK;
}

/* A layout says how many chunks there are; Bridge's recipes say it beside, and agree. */
static enum status check_layout(struct job *job, const char *flag, uint64_t vpp)
{
    uint64_t said = job_drafted(job, "parallel.vpp", 1);
    if (vpp > 1 && vpp != said)
        return job_fail(job, flag, "the layout has %" PRIu64 " chunks a stage, not %" PRIu64,
                        said, vpp);
    return STATUS_OK;
}

/* Of as many micro-batches as stages unless it is said (model_parallel_config.py). */
static enum status set_group(struct job *job, uint64_t pp)
{
    static const char flag[] = "microbatch-group-size-per-virtual-pipeline-stage";
    uint64_t group = pp;
    TRY(job_count(job, flag, &group));
    if (group != pp)
        job_set_count(job, "parallel.vpp_group", group, flag);
    return STATUS_OK;
}

/* Stages and their chunks are alike unless a flag says otherwise (transformer_block.py,
 * get_num_layers_to_build, which asserts it). */
static void warn_of_uneven(struct job *job, struct megatron_ends ends, uint64_t pp,
                           uint64_t vpp, uint64_t layers)
{
    static const char flag[] = "pipeline-model-parallel-size";
    const struct setting *s = job_setting(job, flag);
    bool said = ends.first || ends.last || ends.embedding || ends.loss;
    if (said || !layers || pp < 2 || layers % (pp * vpp) == 0)
        return;
    job_warn(job, s ? s->mark : job_place(job),
             "Megatron splits no %" PRIu64 " layers over %" PRIu64 " stages%s but by "
             "pipeline-model-parallel-layout, or decoder-first- and "
             "decoder-last-pipeline-num-layers: as even as possible here",
             layers, pp,
             vpp > 1 ? arena_printf(job->arena, " of %" PRIu64 " chunks", vpp) : "");
}

static enum status set_pipeline(struct job *job)
{
    static const char by_layers[] = "num-layers-per-virtual-pipeline-stage";
    static const char by_stages[] = "num-virtual-stages-per-pipeline-rank";
    static const char by_layout[] = "pipeline-model-parallel-layout";
    uint64_t pp = job_drafted(job, "parallel.pp", 1), vpp = 1;
    uint64_t layers;
    const char *layout = NULL;
    bool beside = megatron_is_bridge(job) && job_given(job, by_layout);
    TRY(job_layers(job, &layers));
    if (!beside &&
        job_given(job, by_layers) + job_given(job, by_stages) + job_given(job, by_layout) > 1)
        return job_fail(job, job_given(job, by_layout) ? by_layout : by_stages,
                        "one of %s, %s and %s, not two", by_layers, by_stages, by_layout);
    TRY(megatron_read_layout(job, by_layout, &layout));
    if (layout)
        TRY(megatron_set_layout(job, layout, pp));
    TRY(job_count(job, by_stages, &vpp));
    if (layout)
        TRY(check_layout(job, by_stages, vpp));
    else
        TRY(chunks_of(job, by_layers, pp, layers, &vpp));
    if (vpp > 1 && !layout)
        job_set_count(job, "parallel.vpp", vpp,
                      "num-layers-per-virtual-pipeline-stage "
                      "num-virtual-stages-per-pipeline-rank");
    struct megatron_ends ends;
    TRY(read_ends(job, &ends));
    if (!layout)
        TRY(megatron_set_ends(job, ends, pp, vpp > 1 ? vpp : 1, layers));
    if (!layout && job->framework == &job_megatron && pp < 100000 && vpp < 100000)
        warn_of_uneven(job, ends, pp, vpp > 1 ? vpp : 1, layers);
    if (job_drafted(job, "parallel.vpp", 1) == 1)
        return STATUS_OK;
    job_set(job, "parallel.schedule", "interleaved",
            "num-layers-per-virtual-pipeline-stage num-virtual-stages-per-pipeline-rank "
            "pipeline-model-parallel-layout");
    return set_group(job, pp);
}

/* ---- the rest of the layout ---- */

/* Each instance of the distributed optimizer shares its states out among its own ranks. */
static enum status set_instances(struct job *job)
{
    static const char flag[] = "num-distributed-optimizer-instances";
    uint64_t instances = 1, world;
    TRY(job_count(job, flag, &instances));
    if (instances <= 1)
        return STATUS_OK;
    TRY(job_world(job, &world));
    uint64_t others = job_drafted(job, "parallel.tp", 1) * job_drafted(job, "parallel.pp", 1) *
                      job_drafted(job, "parallel.cp", 1);
    uint64_t dp = others && world ? world / others : 0;
    if (dp && dp % instances == 0)
        job_set_count(job, "parallel.dp_shard", dp / instances, flag);
    else
        job_warn(job, job_setting(job, flag)->mark,
                 "%" PRIu64 " instances matter to memory, and how many ranks share one is not "
                 "known: all do here",
                 instances);
    return STATUS_OK;
}

/* dist_muon, and any kind but adam and sgd beside the distributed optimizer, gives each rank
 * the states of whole matrices (core/optimizer/layer_wise_optimizer.py; Megatron-Core 0.19). */
static enum status shares_matrices(struct job *job, bool distributed, bool *shares)
{
    const char *optimizer = "adam";
    TRY(job_word(job, "optimizer", &optimizer));
    bool legacy = text_equal(optimizer, "dist_muon");
    *shares = legacy ||
              (distributed && !text_equal(optimizer, "adam") && !text_equal(optimizer, "sgd"));
    if (*shares)
        job_warn(
            job, job_setting(job, "optimizer")->mark,
            "each rank has the states of whole matrices: planned in even parts, the fullest "
            "rank has up to a matrix more");
    return STATUS_OK;
}

static enum status set_zero(struct job *job)
{
    static const char flags[] = "data-parallel-sharding-strategy use-megatron-fsdp "
                                "use-torch-fsdp2 use-distributed-optimizer optimizer";
    static const char strategies[] = "no_shard=0 optim=1 optim_grads=2 optim_grads_params=3";
    bool fsdp, torch, distributed, shares;
    TRY(megatron_is_on(job, "use-megatron-fsdp", &fsdp));
    TRY(megatron_is_on(job, "use-torch-fsdp2", &torch));
    TRY(megatron_is_on(job, "use-distributed-optimizer", &distributed));
    const char *strategy = megatron_is_bridge(job) ? "no_shard" : "optim_grads_params";
    TRY(job_word(job, "data-parallel-sharding-strategy", &strategy));
    TRY(shares_matrices(job, distributed, &shares));
    const char *zero = distributed || shares ? "1" : "0";
    if (fsdp)
        zero = job_convert(job, strategies, strategy);
    if (torch)
        zero = "3";
    if (!zero)
        return job_fail(job, "data-parallel-sharding-strategy", "'%s' is no sharding strategy",
                        strategy);
    job_set(job, "parallel.zero", zero, flags);
    bool registered;
    TRY(megatron_is_on(job, "use-nccl-ub", &registered));
    if (registered && fsdp)
        job_set(job, "parallel.double_buffer", "true", "use-nccl-ub");
    return set_instances(job);
}

static enum status set_layout_rest(struct job *job)
{
    uint64_t tp = job_drafted(job, "parallel.tp", 1);
    bool sequence;
    TRY(megatron_set_count_or(job, "parallel.etp", "expert-tensor-parallel-size", tp));
    TRY(megatron_is_on(job, "sequence-parallel", &sequence));
    if (tp > 1)
        job_set(job, "parallel.sp", sequence ? "true" : "false", "sequence-parallel");
    TRY(set_zero(job));
    return set_pipeline(job);
}

/* ---- recomputation ---- */

enum status megatron_set_list(struct job *job, const char *key, const char *flag)
{
    const struct setting *s = job_setting(job, flag);
    if (!s)
        return STATUS_OK;
    if (s->trouble)
        return job_fail(job, flag, "'%s' is not known: %s", flag, s->trouble);
    const char **words = arena_alloc(job->arena, PLAN_LIST + 1, sizeof *words);
    size_t n = 0;
    for (size_t i = 0; i < s->n; i++) /* "attn,moe_router" too */
        for (const char *at = s->values[i]; *at && n < PLAN_LIST;) {
            size_t skip = strspn(at, ", "), length = strcspn(at + skip, ", ");
            if (length)
                words[n++] = arena_strndup(job->arena, at + skip, length);
            at += skip + length;
        }
    job_set_list(job, key, words, n, flag);
    return STATUS_OK;
}

static enum status set_recompute(struct job *job)
{
    bool activations, moe, offload;
    uint64_t each = 1;
    const char *method = NULL;
    TRY(megatron_is_on(job, "recompute-activations", &activations));
    TRY(megatron_is_on(job, "moe-layer-recompute", &moe));
    TRY(megatron_is_on(job, "fine-grained-activation-offloading", &offload));
    TRY(job_word(job, "recompute-method", &method));
    TRY(job_count(job, "recompute-num-layers", &each));
    if ((activations || moe) && !draft_find(&job->draft, "recompute.kind"))
        job_set(job, "recompute.kind", "selective",
                "recompute-activations moe-layer-recompute");
    const struct draft_item *kind = draft_find(&job->draft, "recompute.kind");
    bool full = kind && text_equal(kind->words[0], "full");
    if (full && !method && !megatron_is_bridge(job))
        return job_fail(job, "recompute-granularity",
                        "full recomputation needs recompute-method, uniform or block");
    bool block = method && text_equal(method, "block");
    if (full && block)
        job_set_count(job, "recompute.layers", each, "recompute-num-layers recompute-method");
    else if (full)
        job_set_count(job, "recompute.every", each, "recompute-num-layers recompute-method");
    bool layers = true;
    TRY(job_switch(job, "cpu-offloading-activations", &layers));
    if (megatron_is_bridge(
            job)) { /* a launch's number of layers turns it on; a field does not */
        bool on = false;
        TRY(job_switch(job, "cpu-offloading", &on));
        layers = layers && (on || !job_given(job, "cpu-offloading-num-layers"));
    }
    if (!layers)
        job_set(job, "recompute.offload_layers", "0",
                "cpu-offloading-activations cpu-offloading cpu-offloading-num-layers");
    if (!full)
        TRY(megatron_set_list(job, "recompute.modules", "recompute-modules"));
    if (moe)
        job_set(job, "recompute.modules", "moe", "moe-layer-recompute");
    return offload ? megatron_set_list(job, "recompute.offload", "offload-modules") : STATUS_OK;
}

/* ---- the experts' path ---- */

static enum status set_capacity(struct job *job, const char **path)
{
    double factor = -1, rank = 0;
    bool pads;
    TRY(job_real(job, "moe-expert-capacity-factor", &factor));
    TRY(job_real(job, "moe-expert-rank-capacity-factor", &rank));
    TRY(megatron_is_on(job, "moe-pad-expert-input-to-capacity", &pads));
    char text[32];
    if (factor >= 0 && !pads)
        job_warn(job, job_setting(job, "moe-expert-capacity-factor")->mark,
                 "a capacity factor without moe-pad-expert-input-to-capacity drops rows and "
                 "leaves sizes to routing: the plan has no drops");
    if (factor >= 0 && pads) {
        *path = "capacity";
        text_double(text, factor);
        job_set(job, "moe.capacity_factor", text, "moe-expert-capacity-factor");
        job_set(job, "moe.capacity_scope", "batch", "moe-expert-capacity-factor");
    }
    if (rank > 0) {
        text_double(text, rank);
        job_set(job, "moe.buffer", text, "moe-expert-rank-capacity-factor");
    }
    return STATUS_OK;
}

static enum status set_library(struct job *job)
{
    const char *backend = "deepep";
    TRY(job_word(job, "moe-flex-dispatcher-backend", &backend));
    const char *library = job_convert(job, "deepep=deepep hybridep=hybrid_ep", backend);
    bool given = job_given(job, "moe-flex-dispatcher-backend");
    if (library && (given || job_given(job, "moe-enable-deepep")))
        job_set(job, "moe.library", library, "moe-flex-dispatcher-backend moe-enable-deepep");
    if (!library)
        job_warn(job, job_setting(job, "moe-flex-dispatcher-backend")->mark,
                 "dispatcher backend '%s' matters to memory and is not modelled: DeepEP's "
                 "buffers stand in",
                 backend);
    return STATUS_OK;
}

static enum status set_path(struct job *job)
{
    const char *dispatcher = megatron_is_bridge(job) ? "alltoall" : "allgather";
    const char *implementation = "native";
    bool fused, grouped, balanced;
    TRY(job_word(job, "moe-token-dispatcher-type", &dispatcher));
    const char *path = job_convert(job,
                                   "allgather=allgather alltoall=ragged_a2a "
                                   "alltoall_seq=ragged_a2a flex=deepep",
                                   dispatcher);
    if (!path)
        return job_fail(job, "moe-token-dispatcher-type", "'%s' is no dispatcher", dispatcher);
    TRY(set_capacity(job, &path));
    job_set(job, "moe.path", path,
            "moe-token-dispatcher-type moe-pad-expert-input-to-capacity");
    if (text_equal(path, "deepep"))
        TRY(set_library(job));
    TRY(megatron_is_on(job, "moe-grouped-gemm", &grouped));
    if (!grouped && !megatron_is_bridge(job) && job_given(job, "num-experts"))
        job_warn(job, job->mark,
                 "without moe-grouped-gemm experts run one by one, which "
                 "matters to time and is not modelled for this stack");
    TRY(megatron_is_on(job, "moe-router-force-load-balancing", &balanced));
    if (balanced)
        job_set(job, "moe.routing.distribution", "uniform", "moe-router-force-load-balancing");
    fused = megatron_is_bridge(job); /* models/gpt_provider.py: True */
    TRY(job_switch(job, "cross-entropy-loss-fusion", &fused));
    TRY(job_word(job, "cross-entropy-fusion-impl", &implementation));
    if (fused && text_equal(implementation, "te"))
        job_set(job, "stack.cross_entropy", "in_place", "cross-entropy-fusion-impl");
    return STATUS_OK;
}

/* ---- all of it ---- */

/* --yaml-cfg: the file stands in place of the command line. */
enum status megatron_prepare(struct job *job)
{
    return job_flag_file(job, "yaml-cfg", JOB_ENVIRONMENT);
}

static enum status set_graphs(struct job *job)
{
    static const char impl[] = "cuda-graph-impl", scope[] = "cuda-graph-modules";
    const char *name = "none";
    bool local, outside, stash;
    TRY(job_word(job, impl, &name));
    TRY(megatron_is_on(job, "enable-cuda-graph", &local));
    TRY(megatron_is_on(job, "moe-paged-stash", &stash));
    outside = local && text_equal(name, "none");
    const char *kind = outside ? "partial"
                               : job_convert(job,
                                             "none=none full_iteration=full local=partial "
                                             "transformer_engine=partial",
                                             name);
    if (!kind)
        return job_fail(job, impl, "'%s' is no implementation of graphs", name);
    if (stash)
        job_set(job, "moe.paged_stash", "true", "moe-paged-stash");
    const struct setting *s = job_setting(job, scope);
    bool whole = s && s->n == 1 && text_equal(s->values[0], "full_iteration");
    if (text_equal(kind, "none") && !whole)
        return STATUS_OK;
    job_set(job, "stack.graphs", whole ? "full" : kind, "cuda-graph-impl cuda-graph-modules");
    return whole || text_equal(kind, "full")
               ? STATUS_OK
               : megatron_set_list(job, "stack.graph_modules", scope);
}

/* What runs beside computation; a Bridge recipe turns these on by itself, and is not read. */
static enum status set_overlap(struct job *job)
{
    bool reduce, gather, sends = true, fused = true, tensor;
    TRY(megatron_is_on(job, "overlap-grad-reduce", &reduce));
    TRY(megatron_is_on(job, "overlap-param-gather", &gather));
    TRY(megatron_is_on(job, "tp-comm-overlap", &tensor));
    TRY(job_switch(job, "overlap-p2p-communication", &sends));
    if (tensor)
        job_set(job, "stack.overlap.tp", "true", "tp-comm-overlap");
    if (!megatron_is_bridge(job) || job_given(job, "overlap-grad-reduce"))
        job_set(job, "stack.overlap.dp", reduce ? "true" : "false",
                "overlap-grad-reduce overlap-param-gather");
    if (!sends)
        job_set(job, "stack.overlap.pp", "false", "overlap-p2p-communication");
    TRY(job_switch(job, "gradient-accumulation-fusion", &fused));
    if (!fused) {
        job_set(job, "stack.wgrad_placeholders", "false", "gradient-accumulation-fusion");
        job_warn(job, job_setting(job, "gradient-accumulation-fusion")->mark,
                 "without fusion each weight's gradient is added to the others by an op of its "
                 "own, which matters to time and is not modelled");
    }
    return STATUS_OK;
}

/* Scores stand whole where no fused kernel is asked for (AttnBackend of enums.py). */
static enum status set_attention(struct job *job)
{
    static const char flag[] = "attention-backend";
    const char *backend = "";
    TRY(job_word(job, flag, &backend));
    if (strstr(backend, "unfused") || strstr(backend, "local"))
        job_set(job, "stack.attention", "unfused", flag);
    return STATUS_OK;
}

/* Nothing runs beside the dispatch where the model has no shared expert. */
static enum status warn_of_shared(struct job *job)
{
    static const char flag[] = "moe-shared-expert-overlap";
    struct plan *plan = arena_alloc(job->arena, 1, sizeof *plan);
    bool overlaps, known;
    TRY(megatron_is_on(job, flag, &overlaps));
    TRY(job_part(job, "model", plan, &known));
    bool shared = known ? plan->model.moe.shared_experts > 0
                        : job_drafted(job, "model.moe.shared_experts", 0) > 0;
    if (overlaps && shared)
        job_warn(job, job_setting(job, flag)->mark,
                 "'%s' matters to time and is not modelled: shared experts run behind the "
                 "routed ones",
                 job_setting(job, flag)->said);
    return STATUS_OK;
}

/* --global-batch-size is the one that a growing batch ends with. */
static void set_last_batch(struct job *job)
{
    const struct draft_item *batch = draft_find(&job->draft, "workload.global_batch");
    if (batch && job_given(job, "rampup-batch-size"))
        job_set(job, "workload.global_batch", batch->words[0],
                "global-batch-size rampup-batch-size");
}

enum status megatron_finish(struct job *job)
{
    set_last_batch(job);
    job_set(job, "workload.mode", "train", "");
    if (job_given(job, "mtp-num-layers")) /* of a named model, too */
        job_set(job, "model.mtp_enabled",
                job_drafted(job, "model.mtp_layers", 0) ? "true" : "false", "mtp-num-layers");
    if (!draft_find(&job->draft, "model") && (job_given(job, "num-layers") || !job->described))
        TRY(megatron_set_model(job));
    TRY(set_layout_rest(job));
    TRY(megatron_set_formats(job));
    TRY(set_recompute(job));
    TRY(set_graphs(job));
    TRY(set_overlap(job));
    TRY(set_attention(job));
    TRY(warn_of_shared(job));
    if (!draft_find(&job->draft, "workload.micro_batch") && !megatron_is_bridge(job))
        return job_refuse(job, "'micro-batch-size' is missing");
    return set_path(job);
}

/* Costs by FLOPs and bytes; see cost.h. Formulas: training-model.md section 3. */
#include "sim/search/cost.h"

#include "plan/derive.h"
#include "plan/layers.h"
#include "sim/moe/intensity.h"
#include "work/list/dtype.h"
#include "work/list/params.h"
#include "work/path/path.h"
#include "work/stack/stack.h"

/* Executed over useful FLOPs of the expert products. */
static double expert_factor(const struct plan *plan, enum moe_path path)
{
    const struct model_moe *moe = &plan->model.moe;
    const struct path_system *system = path_system_of(path);
    if (system->exchange == EXCHANGE_CAPACITY)
        return plan->moe.capacity_factor;
    if (system->computes == COMPUTES_ALL)
        return (double)moe->experts / (double)moe->top_k;
    if (system->expands || plan->moe.matmul == MATMUL_RAGGED_DOT)
        return (double)plan_local_experts(plan);
    return 1;
}

static double expert_forward_flop(const struct plan *plan)
{
    const struct model *model = &plan->model;
    double matrices = model->moe.glu ? 3 : 2;
    return 2 * matrices * (double)model_row_width(model) * (double)model->moe.intermediate *
           (double)model->moe.top_k * (double)plan_moe_layers(plan);
}

/* One-hot einsums of the capacity path: 2 K S H cf per token and layer, six of them in a
 * rematerialised step (forward 2, recompute 1, backward 3), two when serving. */
static double mask_flop(const struct plan *plan, enum moe_path path, bool training)
{
    if (path_system_of(path)->exchange != EXCHANGE_CAPACITY ||
        plan->stack.kind != STACK_MAXTEXT)
        return 0;
    return (training ? 6 : 2) * 2 * (double)plan->model.moe.top_k *
           (double)plan->workload.sequence_length * (double)plan->model.hidden *
           plan->moe.capacity_factor * (double)plan_moe_layers(plan);
}

static double executed_flop(const struct plan *plan, enum moe_path path)
{
    static const double passes[] = {[RECOMPUTE_NONE] = 3,
                                    [RECOMPUTE_SELECTIVE] = 3.25,
                                    [RECOMPUTE_FULL] = 4,
                                    [RECOMPUTE_SAVE] = 3.75};
    bool training = plan->workload.mode == MODE_TRAIN;
    double times = training ? passes[plan->recompute.kind] : 1;
    double forward =
        (double)params_forward_flop_per_token(&plan->model, plan_attention_length(plan));
    double experts = expert_forward_flop(plan);
    return times * (forward + experts * (expert_factor(plan, path) - 1)) +
           mask_flop(plan, path, training);
}

/* ---- where a group of ranks stands ---- */

/* Ranks of a group of n, `stride` apart, that share a node. */
static double in_node(const struct plan *plan, double n, double stride)
{
    double node = (double)(plan->cluster.node.devices * plan->cluster.device.logical_cores);
    double most = node / stride;
    return most <= 1 ? 1 : most < n ? most : n;
}

static double over(double bytes, double rate)
{
    return rate > 0 ? bytes / rate : 0;
}

/* An all-gather of `bytes` over n ranks, or the reduce-scatter of as many: first between nodes,
 * each rank a share, then inside (training-model.md section 3, C). */
static double gather_s(const struct plan *plan, double bytes, double n, double stride)
{
    const struct cluster *c = &plan->cluster;
    double inside = in_node(plan, n, stride), nodes = n / inside;
    double cores = (double)c->device.logical_cores;
    return over(bytes * (nodes - 1) / nodes / inside, c->network.bandwidth / cores) +
           over(bytes * (inside - 1) / inside, c->node.link_bandwidth / cores);
}

/* ---- one micro-step of the ranks that hold one copy of the model ---- */

struct step {
    const struct plan *plan;
    enum moe_path path;
    struct params params;
    bool training;
    double tokens;         /* of the micro-step, over all its ranks */
    double ranks;          /* tp pp cp */
    double micro_steps;    /* per step */
    double dense, experts; /* bytes of weights on a rank, before sharding */
};

static double micro_steps(const struct plan *plan)
{
    const struct workload *w = &plan->workload;
    if (w->global_batch || w->tokens_per_step)
        return (double)plan_accumulation(plan);
    return plan->parallel.pp > 1 ? 4 * (double)plan->parallel.pp : 1;
}

static void step_init(struct step *s, const struct plan *plan)
{
    const struct parallel *p = &plan->parallel;
    bool decode = plan->workload.mode == MODE_DECODE;
    uint64_t each =
        decode ? plan->workload.tokens_per_sequence : plan->workload.sequence_length;
    *s = (struct step){.plan = plan,
                       .path = stack_path(plan, NULL),
                       .training = plan->workload.mode == MODE_TRAIN,
                       .tokens = (double)plan->workload.micro_batch * (double)each,
                       .ranks = (double)(p->tp * p->pp * p->cp),
                       .micro_steps = micro_steps(plan)};
    params_count(&plan->model, &s->params);
    double width = dtype_bits(plan->precision.weights) / 8.0 / (double)p->pp;
    double dense = (double)(s->params.parameters - s->params.routed);
    s->dense = width * dense / (double)p->tp;
    s->experts = width * (double)s->params.routed / (double)(p->ep * p->etp);
}

static double kv_width(const struct plan *plan)
{
    const struct attention *a = &plan->model.attention;
    if (a->kind == ATTENTION_MLA)
        return (double)(a->kv_lora_rank + a->qk_rope_head_dim);
    return 2 * (double)(a->kv_heads * a->head_dim) / (double)plan->parallel.tp;
}

/* Weights are read once per pass, the cache once per step. Few tokens touch few experts. */
static double read_s(const struct step *s)
{
    const struct plan *plan = s->plan;
    const struct model_moe *moe = &plan->model.moe;
    double passes = !s->training ? 1 : plan->recompute.kind == RECOMPUTE_NONE ? 3 : 4;
    double rows = (double)(plan_tokens(plan) * moe->top_k * plan->parallel.ep);
    double touched = moe->experts > 0 ? rows / (double)moe->experts : 0;
    double cache = plan->workload.mode != MODE_DECODE
                       ? 0
                       : (double)(plan->workload.micro_batch * plan->workload.context_length) *
                             kv_width(plan) * dtype_bits(plan->precision.kv_cache) / 8.0 *
                             (double)plan->model.layers / (double)plan->parallel.pp;
    double bytes = passes * (s->dense + s->experts * (touched < 1 ? touched : 1)) + cache;
    double cores = (double)plan->cluster.device.logical_cores;
    return over(bytes, plan->cluster.device.memory_bandwidth / cores);
}

static double compute_s(const struct step *s, double flop_per_token)
{
    const struct device *device = &s->plan->cluster.device;
    bool fp8 = s->plan->precision.compute == COMPUTE_FP8 && device->peak_fp8 > 0;
    double peak =
        (fp8 ? intensity_peak(s->plan) : device->peak_bf16) / (double)device->logical_cores;
    double products = over(flop_per_token * s->tokens / s->ranks, peak), reads = read_s(s);
    return products > reads ? products : reads;
}

/* Rows that leave a rank in a micro-step, each way, and the share of ranks in its node. */
static double exchange_bytes(const struct step *s)
{
    const struct plan *plan = s->plan;
    double ranks = (double)plan->parallel.ep, copies = (double)plan->model.moe.top_k;
    enum path_exchange exchange = path_system_of(s->path)->exchange;
    if (exchange == EXCHANGE_TOKENS || exchange == EXCHANGE_GATHER)
        copies = copies < ranks ? copies : ranks;
    if (exchange == EXCHANGE_CAPACITY)
        copies *= plan->moe.capacity_factor;
    double times = s->training ? 4 : 2;
    return times * copies * (double)plan_tokens(plan) * (double)model_row_width(&plan->model) *
           (dtype_bits(plan->precision.dispatch) / 8.0) * (ranks - 1) / ranks *
           (double)plan_moe_layers(plan) / (double)plan->parallel.pp;
}

static double exchange_s(const struct step *s, double bytes)
{
    const struct plan *plan = s->plan;
    const struct cluster *c = &plan->cluster;
    double ranks = (double)plan->parallel.ep, etp = (double)plan->parallel.etp;
    double inside = in_node(plan, ranks, etp), cores = (double)c->device.logical_cores;
    double rows = (s->training ? 4 : 2) * (double)(plan_tokens(plan) * plan->model.moe.top_k) *
                  (double)model_row_width(&plan->model) *
                  dtype_bits(plan->precision.activations) / 8.0 *
                  (double)plan_moe_layers(plan) / (double)plan->parallel.pp;
    double link = c->node.link_bandwidth / cores, network = c->network.bandwidth / cores;
    double sharers = ranks > 1 ? ranks - 1 : 1;
    return over(bytes * (inside - 1) / sharers, link) +
           over(bytes * (ranks - inside) / sharers, network) +
           gather_s(plan, rows * etp, etp, 1); /* rows of all etp ranks, gathered and reduced */
}

/* zero 3: two gathers of weights and a reduction of gradients per micro-step. Otherwise a
 * reduction of gradients and a gather of them, or of the new weights, per step. */
static double shard_s(const struct step *s, double *bytes)
{
    const struct parallel *p = &s->plan->parallel;
    double copies = (double)(plan_dp(s->plan) * p->cp),
           expert = (double)plan_expert_dp(s->plan);
    double times = p->zero >= 3 ? 3 : 2 / s->micro_steps;
    if (!s->training)
        times = p->zero >= 3 ? 1 : 0;
    *bytes = times * (s->dense * (copies - 1) / copies + s->experts * (expert - 1) / expert);
    return times * (gather_s(s->plan, s->dense, copies, (double)p->tp) +
                    gather_s(s->plan, s->experts, expert, (double)(p->ep * p->etp)));
}

/* Two all-reduces a layer and pass over tp; keys and values of the other cp ranks. */
static double tensor_s(const struct step *s)
{
    const struct plan *plan = s->plan;
    const struct parallel *p = &plan->parallel;
    double layers = (double)plan->model.layers / (double)p->pp;
    double width = dtype_bits(plan->precision.activations) / 8.0;
    double passes = !s->training ? 1 : plan->recompute.kind == RECOMPUTE_FULL ? 3 : 2;
    double slice = s->tokens / (double)p->cp * (double)plan->model.hidden * width;
    double keys = s->tokens * kv_width(plan) * width;
    return passes * layers *
           (4 * gather_s(plan, slice, (double)p->tp, 1) +
            (s->training ? 1.5 : 1) * gather_s(plan, keys, (double)p->cp, (double)p->tp));
}

/* Share of a step in which a stage waits, over the work: (pp - 1) / (m vpp) of 1F1B (Narayanan
 * 2021); zero-bubble schedules leave a third of it, DualPipe half. */
static double bubble(const struct step *s)
{
    static const double left[] = {[PIPELINE_1F1B] = 1,
                                  [PIPELINE_INTERLEAVED] = 1,
                                  [PIPELINE_ZERO_BUBBLE] = 1.0 / 3,
                                  [PIPELINE_DUALPIPE] = 0.5,
                                  [PIPELINE_GPIPE] = 1};
    const struct parallel *p = &s->plan->parallel;
    return left[p->schedule] * (double)(p->pp - 1) / (s->micro_steps * (double)p->vpp);
}

const char *cost_part_name(enum cost_part part)
{
    static const char *const names[] = {
#define COST_NAME(name, text, help) text,
        COST_LIST(COST_NAME)
#undef COST_NAME
    };
    return names[part];
}

void cost_of(const struct plan *plan, struct cost *cost)
{
    struct step s;
    double shard_bytes;
    step_init(&s, plan);
    double scale = s.ranks / s.tokens,
           exchanged = exchange_bytes(&s); /* per rank -> per token */
    *cost = (struct cost){.flop_per_token = executed_flop(plan, s.path)};
    cost->exchange_bytes_per_token = exchanged * scale;
    cost->part_s[COST_COMPUTE] = scale * compute_s(&s, cost->flop_per_token);
    cost->part_s[COST_EXCHANGE] = scale * exchange_s(&s, exchanged);
    cost->part_s[COST_SHARDING] = scale * shard_s(&s, &shard_bytes);
    cost->part_s[COST_TENSOR] = scale * tensor_s(&s);
    cost->shard_bytes_per_token = shard_bytes * scale;
    double work =
        cost->part_s[COST_COMPUTE] + cost->part_s[COST_EXCHANGE] + cost->part_s[COST_TENSOR];
    cost->part_s[COST_PIPELINE] = bubble(&s) * work;
    for (unsigned i = 0; i < COST_PARTS; i++)
        cost->seconds_per_token += cost->part_s[i];
}

/* The MoE part of a prediction; see predict_moe.h. */
#include "sim/moe/predict_moe.h"

#include <math.h>

#include "base/checked.h"
#include "plan/derive.h"
#include "plan/layers.h"
#include "sim/moe/advice.h"
#include "sim/moe/balance.h"
#include "sim/moe/demand.h"
#include "sim/moe/padding.h"
#include "work/path/path.h"
#include "work/rows/rows_parts.h"
#include "work/stack/stack.h"

/* Exact samples that keep a prediction within its 20 ms: tokens over all samples; choices
 * within groups cost some ten times as much. */
enum { EXACT_TOKENS = 1 << 16, GROUPED_TOKENS = 1 << 13, LEAST_SAMPLES = 4 };

struct moe_context {
    const struct plan *plan;
    const struct predict_moe_options *options;
    struct arena *arena;
    enum moe_path path;
    const struct rows *rows;
    struct load load;
    struct moe_report *out;
};

static uint64_t tokens_of(const struct rows *rows)
{
    return rows->kind == ROWS_GROUPED ? GROUPED_TOKENS : EXACT_TOKENS;
}

/* Fewer exact samples where a step is large, unless --exact asks for all. */
static uint64_t samples_of(const struct moe_context *c, enum load_method method)
{
    uint64_t n = c->plan->moe.routing.samples,
             step = c->rows->spec.tokens * c->rows->spec.ranks;
    if (method != LOAD_EXACT || c->options->exact || step == 0)
        return n;
    uint64_t most = tokens_of(c->rows) / step;
    most = most < LEAST_SAMPLES ? LEAST_SAMPLES : most;
    return n < most ? n : most;
}

static void sample_load(struct moe_context *c)
{
    struct load_ask ask = {.method = load_choose(c->rows, c->options->exact),
                           .pool = c->options->pool,
                           .progress = c->options->progress};
    padding_rule(c->plan, c->path, &ask.align_kind, &ask.align);
    ask.samples = samples_of(c, ask.method);
    load_of(c->rows, &ask, c->arena, &c->load);
}

/* ---- routing ---- */

/* `exact`: units to sample; 0: as many as a prediction has time for. Those of a plan and of the
 * changes that leave its routing and tokens alone are the same. */
static void sample_drops(const struct rows *rows, const struct capacity_unit *unit,
                         const struct drops_from *from, uint64_t exact, struct arena *arena,
                         struct capacity_sample *sample)
{
    uint64_t units = greater(exact ? exact : tokens_of(rows) / unit->tokens, LEAST_SAMPLES);
    const struct rows_key key = {
        .words = {ROWS_PART_DROPS, rows->spec.tokens, unit->tokens, unit->slots, units},
        .tables = {{from->key, sizeof *from->key}}};
    const struct capacity_sample *known = rows_known_find(from->known, &key);
    if (known) {
        *sample = *known;
        return;
    }
    capacity_sampled(rows, unit->tokens, unit->slots, units, arena, sample);
    rows_known_keep(from->known, &key, sample, sizeof *sample);
}

double predict_drops(const struct rows *rows, const struct capacity_unit *unit,
                     const struct drops_from *from, struct arena *arena)
{
    struct capacity_sample sample;
    if (rows_gauss_valid(rows))
        return capacity_drop(rows, unit->tokens, unit->slots);
    sample_drops(rows, unit, from, 0, arena, &sample);
    return sample.mean;
}

static void fill_drops(struct moe_context *c, struct routing_report *r)
{
    const struct capacity_unit unit = capacity_unit_of(c->plan, c->rows);
    bool exact = c->options->exact, closed = !exact && rows_gauss_valid(c->rows);
    struct capacity_sample sample;
    struct demand_key key;
    const struct drops_from from = {&key, c->options->known};
    demand_key_of(c->plan, c->options->routing, &key);
    if (closed)
        r->drop_fraction = capacity_drop(c->rows, unit.tokens, unit.slots);
    if (!closed || !c->options->drops_mean) {
        sample_drops(c->rows, &unit, &from, exact ? c->plan->moe.routing.samples : 0, c->arena,
                     &sample);
        r->drop_fraction = closed ? r->drop_fraction : sample.mean;
        r->drop_fraction_p99 = fmax(sample.p99, r->drop_fraction);
    }
    uint64_t row_bytes = model_row_width(&c->plan->model) * 2;
    c->out->n_trade = capacity_trade(c->rows, unit.rule, unit.tokens,
                                     c->plan->moe.capacity_factor, row_bytes, c->out->trade);
}

/* Expected load of the fullest rank over the mean. */
static double expected_imbalance(const struct rows *rows)
{
    const struct expert_map *map = &rows->map;
    double most = 0, sum = 0;
    for (uint64_t r = 0; r < map->ranks; r++) {
        double load = 0;
        for (uint64_t i = 0; i < map->replicas; i++)
            if (map->rank[i] == r)
                load += rows->laws[0].pi[map->expert[i]] / map->count[map->expert[i]];
        most = fmax(most, load);
        sum += load;
    }
    return sum > 0 ? most * (double)map->ranks / sum : 1;
}

/* EPLB beside what contiguous experts without replicas would have given. */
static enum status fill_placement(struct moe_context *c, struct routing_report *r,
                                  struct err *err)
{
    if (c->rows->spec.routing.placement != PLACEMENT_EPLB)
        return STATUS_OK;
    struct rows plain = *c->rows;
    const struct placement_ask ask = {
        .kind = PLACEMENT_CONTIGUOUS, .experts = plain.spec.experts, .ranks = plain.spec.ranks};
    TRY(placement_make(&ask, c->arena, &plain.map, err));
    r->placement_imbalance_before = expected_imbalance(&plain);
    r->placement_imbalance_after = expected_imbalance(c->rows);
    return STATUS_OK;
}

/* How a cold router with a selection bias finds back; only on demand, it costs a second. */
static void fill_recovery(struct moe_context *c, struct routing_report *r)
{
    /* Steps of a window, and the rows an expert has in it: enough to know the largest. */
    enum { WINDOW = 10, WINDOW_ROWS = 64 };
    const struct rows_spec *s = &c->rows->spec;
    if (!c->options->exact || s->scenario != SCENARIO_COLD || !s->router.bias)
        return;
    struct balance found;
    const struct balance_ask ask = {
        .tokens = ceil_div(WINDOW_ROWS * s->experts, WINDOW * s->top_k),
        .steps = RECOVERY_STEPS,
        .rate = 0.001, /* Megatron transformer_config.py, moe_router_bias_update_rate */
        .goal = 1.5,
    };
    balance_recover(c->rows, &ask, c->arena, &found);
    r->recovery_before = found.before;
    r->recovery_after = found.after;
    r->recovery_steps = found.steps;
}

static enum status fill_routing(struct moe_context *c, struct err *err)
{
    const struct load *load = &c->load;
    struct routing_report *r = &c->out->routing;
    *r = (struct routing_report){
        .rows = load->rows,
        .rows_per_expert_mean = load->mean,
        .rows_per_expert_p10 = load->p10,
        .rows_per_expert_p50 = load->p50,
        .rows_per_expert_p90 = load->p90,
        .rows_per_expert_p99 = load->p99,
        .rows_per_expert_max = load->max,
        .load_cv = load->cv,
        .rank_imbalance = load->rank_imbalance,
        .rank_imbalance_p99 = load->imbalance_p99,
        .drop_fraction = c->options->lost,
        .drop_fraction_p99 = (double)NAN,
        .distinct_ranks = load->distinct_ranks,
        .distinct_nodes = load->distinct_nodes,
        .heaviest_rows_expected = load->heaviest.expected,
        .heaviest_rows_p99 = load->heaviest.p99,
        .heaviest_rows_worst = load->heaviest.worst,
        .received_expected = load->received.expected,
        .received_p99 = load->received.p99,
        .received_worst = load->received.worst,
        .placement_imbalance_before = (double)NAN,
        .placement_imbalance_after = (double)NAN,
        .recovery_before = (double)NAN,
        .recovery_after = (double)NAN,
        .method = load_method_name(load->method),
        .samples = load->samples,
    };
    c->out->has_routing = true;
    if (path_system_of(c->path)->exchange == EXCHANGE_CAPACITY)
        fill_drops(c, r);
    fill_recovery(c, r);
    return fill_placement(c, r, err);
}

/* ---- intensity ---- */

static uint64_t rank_inter(const struct plan *plan)
{
    uint64_t etp = plan->parallel.etp ? plan->parallel.etp : 1;
    return ceil_div(plan->model.moe.intermediate, etp);
}

static uint64_t expert_bytes(const struct plan *plan)
{
    return decode_expert_bytes(stack_weights(plan), model_row_width(&plan->model),
                               rank_inter(plan), plan->model.moe.glu);
}

static void fill_blocks(struct moe_context *c, struct intensity_report *r)
{
    const struct plan *plan = c->plan;
    const struct rows *rows = c->rows;
    uint64_t inter = rank_inter(plan), local = rows->map.most_local;
    double weight =
        (double)expert_bytes(plan) / ((plan->model.moe.glu ? 3.0 : 2.0) *
                                      (double)model_row_width(&plan->model) * (double)inter);
    double mean = c->load.mean, sd = c->load.cv * mean;
    uint64_t all = rows->spec.tokens * rows->spec.top_k * rows->spec.ranks;
    intensity_blocks(all, local, sd, plan->moe.skip_weight != WEIGHT_SKIP_NONE, weight,
                     r->ridge_flop_per_byte, r->blocks);
    r->smallest_compute_bound_block = intensity_smallest_block(r->blocks);
    r->has_blocks = true;
}

static void fill_intensity(struct moe_context *c)
{
    const struct plan *plan = c->plan;
    struct intensity_report *r = &c->out->intensity;
    struct intensity found;
    struct intensity_ask ask = {.hidden = model_row_width(&plan->model),
                                .inter = rank_inter(plan),
                                .glu = plan->model.moe.glu,
                                .expert_bytes = expert_bytes(plan),
                                .row_bytes = 2,
                                .fused = path_system_of(c->path)->blocks};
    padding_computed(plan, c->path, c->rows, &c->load, &c->out->padding, &ask.rows, &ask.loads);
    intensity_of(&ask, intensity_peak(plan), plan->cluster.device.memory_bandwidth, &found);
    *r = (struct intensity_report){
        .aif = found.aif,
        .flop_per_byte = found.flop_per_byte,
        .ridge_flop_per_byte = found.ridge > 0 ? found.ridge : (double)NAN,
        .bound = found.ridge > 0 ? (found.compute_bound ? "compute" : "memory") : NULL,
    };
    if (path_system_of(c->path)->blocks && found.ridge > 0)
        fill_blocks(c, r);
    c->out->has_intensity = true;
}

/* ---- decode ---- */

static void fill_decode(struct moe_context *c)
{
    const struct plan *plan = c->plan;
    const struct decode_ask ask = {.experts = c->rows->spec.experts,
                                   .top_k = c->rows->spec.top_k,
                                   .local = c->rows->map.most_local,
                                   .batch = c->rows->spec.tokens * c->rows->spec.ranks,
                                   .expert_bytes = expert_bytes(plan),
                                   .pi = c->rows->laws[0].pi,
                                   .threshold = plan->moe.switch_threshold,
                                   .dedup = plan->moe.dedup};
    decode_of(&ask, &c->out->decode);
    c->out->has_decode = true;
}

enum status predict_moe(const struct plan *plan, const struct predict_moe_options *options,
                        struct arena *arena, struct moe_report *out, struct err *err)
{
    struct moe_context c = {.plan = plan, .options = options, .arena = arena, .out = out};
    struct rows rows;
    *out = (struct moe_report){0};
    if (!plan_is_routed(plan) || plan_tokens(plan) == 0)
        return STATUS_OK;
    c.path = stack_path(plan, NULL);
    c.rows = options->rows;
    if (!c.rows) {
        struct rows_spec spec;
        rows_spec_from_plan(plan, options->routing, &spec);
        TRY(rows_prepare(&spec, arena, &rows, err));
        c.rows = &rows;
    }
    sample_load(&c);
    TRY(fill_routing(&c, err));
    padding_of(plan, c.path, c.rows, &c.load, &out->padding);
    out->has_padding = true;
    fill_intensity(&c);
    if (plan->workload.mode == MODE_DECODE)
        fill_decode(&c);
    out->advice =
        advice_of(plan, c.path, c.rows, out, options->free_bytes, arena, &out->n_advice);
    return STATUS_OK;
}

/* See rates.h. */
#include "sim/time/rates.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "sim/moe/intensity.h"

struct resolver {
    const struct profile *profile;
    const struct rates_try *attempt;
    int path, compute;
    uint64_t said[PROFILE_ITEMS]; /* bit q: a row of the path and precision says q of an item */
};

static_assert(PROFILE_QUANTITIES <= 64, "a bit each");

static struct resolver resolver_of(enum compute compute, enum moe_path path,
                                   const struct profile *profile,
                                   const struct rates_try *attempt)
{
    struct resolver r = {profile, attempt, (int)path, (int)compute, {0}};
    for (size_t i = 0; profile && i < profile->n; i++) {
        const struct constant *c = &profile->constants[i];
        if ((c->path == PROFILE_ANY || c->path == r.path) &&
            (c->compute == PROFILE_ANY || c->compute == r.compute))
            r.said[c->of] |= UINT64_C(1) << c->is;
    }
    return r;
}

/* The row that holds, or NULL. */
static const struct constant *row_of(const struct resolver *r, enum profile_item of,
                                     enum profile_quantity is, int level)
{
    uint64_t said = r->said[of] | r->said[profile_item_class(of)];
    return said >> is & 1 ? profile_find(r->profile, of, is, r->path, r->compute, level) : NULL;
}

double rate_at(const struct rate *rate, double x)
{
    return rate->curve ? rate->factor * profile_value(rate->curve, x, NULL) : rate->value;
}

/* The row that holds, or a curve-less `otherwise`. */
static struct rate find(const struct resolver *r, enum profile_item of,
                        enum profile_quantity is, int level, double otherwise)
{
    const struct constant *c = row_of(r, of, is, level);
    if (!c)
        return (struct rate){.value = otherwise, .factor = 1};
    double factor = r->attempt && r->attempt->constant == c ? r->attempt->factor : 1;
    return (struct rate){.value = c->y[0] * factor,
                         .curve = c->by == PROFILE_BY_NONE ? NULL : c,
                         .factor = factor};
}

static double number(const struct resolver *r, enum profile_item of, enum profile_quantity is,
                     double otherwise)
{
    return find(r, of, is, PROFILE_ANY, otherwise).value;
}

static void fill_kernel(const struct resolver *r, enum profile_item of,
                        struct kernel_rates *out)
{
    *out = (struct kernel_rates){
        .efficiency = find(r, of, PROFILE_EFFICIENCY, PROFILE_ANY, 1),
        .bandwidth = find(r, of, PROFILE_BANDWIDTH, PROFILE_ANY, 1),
        .overhead = find(r, of, PROFILE_OVERHEAD, PROFILE_ANY, 0),
        .half_rows = number(r, of, PROFILE_HALF_ROWS, 0),
        .half_depth = number(r, of, PROFILE_HALF_DEPTH, 0),
        .block_share = number(r, of, PROFILE_BLOCK_SHARE, 1),
        .tile_rows = number(r, of, PROFILE_TILE_ROWS, 1),
        .tile_columns = number(r, of, PROFILE_TILE_COLUMNS, 1),
        .wave = number(r, of, PROFILE_WAVE, 0),
        .norm = number(r, of, PROFILE_NORM, 0),
        .folded = number(r, of, PROFILE_FOLDED, 0) != 0,
        .tile_choice = number(r, of, PROFILE_TILE_CHOICE, 0) != 0,
    };
}

/* Rows of the experts themselves, not of products at large. */
static void fill_experts(const struct resolver *r, struct expert_rates *out)
{
    const struct constant *own = row_of(r, PROFILE_EXPERTS, PROFILE_TOKEN_PASSES, PROFILE_ANY);
    *out = (struct expert_rates){.set = own && own->of == PROFILE_EXPERTS};
    if (!out->set)
        return;
    out->form = (struct form_experts){
        .product = {.overhead_s = number(r, PROFILE_EXPERTS, PROFILE_OVERHEAD, 0),
                    .efficiency = number(r, PROFILE_EXPERTS, PROFILE_EFFICIENCY, 1),
                    .bandwidth = number(r, PROFILE_EXPERTS, PROFILE_BANDWIDTH, 1),
                    .norm = number(r, PROFILE_EXPERTS, PROFILE_NORM, 64)},
        .row_passes = number(r, PROFILE_EXPERTS, PROFILE_ROW_PASSES, 0),
        .token_passes = number(r, PROFILE_EXPERTS, PROFILE_TOKEN_PASSES, 0)};
    out->form.few_bandwidth =
        number(r, PROFILE_EXPERTS, PROFILE_FEW_BANDWIDTH, out->form.product.bandwidth);
    out->tile_rows = number(r, PROFILE_EXPERTS, PROFILE_TILE_ROWS, 1);
    out->few_tile_rows = number(r, PROFILE_EXPERTS, PROFILE_FEW_TILE, out->tile_rows);
}

/* A constant of a collective's kernel; nothing where the rows are another library's. */
static struct rate of_kernel(const struct resolver *r, enum profile_item of,
                             enum profile_quantity is, int level)
{
    bool own = profile_is_of_kernel(row_of(r, of, PROFILE_EFFICIENCY, level),
                                    row_of(r, of, is, level));
    return own ? find(r, of, is, level, 0) : (struct rate){.factor = 1};
}

static void fill_link(const struct resolver *r, const struct plan *plan, enum profile_item of,
                      int level, struct link_rates *out)
{
    const struct cluster *c = &plan->cluster;
    bool inside = level == PROFILE_SCALE_UP;
    double bandwidth = inside ? c->node.link_bandwidth : c->network.bandwidth;
    *out = (struct link_rates){
        .efficiency = find(r, of, PROFILE_EFFICIENCY, level, 1),
        .latency = find(r, of, PROFILE_LATENCY, level,
                        inside ? c->node.link_latency : c->network.latency),
        .overhead = of_kernel(r, of, PROFILE_OVERHEAD, level),
        .hop_s = of_kernel(r, of, PROFILE_HOP, level).value,
        .chunking = of_kernel(r, of, PROFILE_CHUNKING, level).value,
        .protocols = {of_kernel(r, of, PROFILE_SMALL, level).value,
                      of_kernel(r, of, PROFILE_LARGE, level).value},
        .bytes_per_s = bandwidth / (double)c->device.logical_cores,
        .folded = find(r, of, PROFILE_FOLDED, level, 0).value != 0,
    };
}

bool rates_key_turn(struct rates_key *key, const struct plan *plan, enum moe_path path,
                    const struct profile *profile)
{
    if (key->profile == profile && key->path == path && key->mode == plan->workload.mode &&
        key->stack == plan->stack.kind &&
        memcmp(&key->cluster, &plan->cluster, sizeof key->cluster) == 0 &&
        memcmp(&key->precision, &plan->precision, sizeof key->precision) == 0)
        return true;
    *key = (struct rates_key){profile,          path,          plan->workload.mode,
                              plan->stack.kind, plan->cluster, plan->precision};
    return false;
}

/* Launches, kernels and links of every item of a profile. */
static void fill_items(struct rates *rates, const struct plan *plan, const struct resolver *r,
                       const struct resolver *plain)
{
    for (unsigned i = 0; i < PROFILE_ITEMS; i++) {
        enum profile_item class = profile_item_class((enum profile_item)i);
        rates->launches[i] = number(r, (enum profile_item)i, PROFILE_LAUNCHES, 1);
        rates->wide_launches[i] = number(plain, (enum profile_item)i, PROFILE_LAUNCHES, 1);
        if (class == PROFILE_PRODUCT || class == PROFILE_MEMORY || class == PROFILE_OFFLOAD)
            fill_kernel(r, (enum profile_item)i, &rates->kernel[i]);
        for (int level = 0; class == PROFILE_COLLECTIVE && level < PROFILE_LEVELS; level++)
            fill_link(r, plan, (enum profile_item)i, level, &rates->link[i][level]);
    }
    if (r->said[PROFILE_ACTIVATION_BACK])
        return;
    rates->kernel[PROFILE_ACTIVATION_BACK] = rates->kernel[PROFILE_ACTIVATION];
    rates->launches[PROFILE_ACTIVATION_BACK] = rates->launches[PROFILE_ACTIVATION];
    rates->wide_launches[PROFILE_ACTIVATION_BACK] = rates->wide_launches[PROFILE_ACTIVATION];
}

void rates_init(struct rates *rates, const struct plan *plan, enum moe_path path,
                const struct profile *profile, const struct rates_try *attempt)
{
    const struct device *device = &plan->cluster.device;
    const struct resolver r = resolver_of(plan->precision.compute, path, profile, attempt),
                          plain = resolver_of(COMPUTE_BF16, path, profile, attempt);
    double cores = (double)device->logical_cores, peak = intensity_peak(plan);
    peak = peak > 0 ? peak : device->peak_bf16;
    bool train =
        plan->workload.mode == MODE_TRAIN; /* engines' constants were fitted otherwise */
    double wide = train                         ? device->peak_bf16
                  : intensity_is_four_bit(plan) ? device->peak_fp8
                                                : peak;
    double launch_s = number(&r, PROFILE_HOST, PROFILE_LAUNCH, 0);
    *rates = (struct rates){
        .peak_flop_per_s = peak / cores,
        .bf16_flop_per_s = device->peak_bf16 / cores,
        .fp8_flop_per_s = device->peak_fp8 / cores,
        .wide_flop_per_s = fmin(peak, wide) / cores,
        .memory_bytes_per_s = device->memory_bandwidth / cores,
        .host_bytes_per_s = plan->cluster.node.host_bandwidth / cores,
        .host_memory_bytes_per_s = plan->cluster.node.host_memory_bandwidth / cores,
        .port_bytes_per_s = plan->cluster.node.port_bandwidth / cores,
        .units = (double)device->units / cores,
        .launch_s = launch_s,
        .sync_s = number(&r, PROFILE_HOST, PROFILE_SYNC, 0),
        .graph_s = number(&r, PROFILE_HOST, PROFILE_GRAPH, 0),
        .eager_s = number(&r, PROFILE_HOST, PROFILE_EAGER, launch_s),
        .layer_s = number(&r, PROFILE_LAYER, PROFILE_OVERHEAD, 0),
        .fixed_s = number(&r, PROFILE_STEP, PROFILE_FIXED, 0),
        .request_s = number(&r, PROFILE_REQUEST, PROFILE_OVERHEAD, 0),
        .request_steps = number(&r, PROFILE_REQUEST, PROFILE_STEPS, 0),
        .request_token_s = number(&r, PROFILE_REQUEST, PROFILE_TOKEN, 0),
        .request_error = number(&r, PROFILE_REQUEST, PROFILE_ERROR, 0),
        .data_s = number(&r, PROFILE_STEP, PROFILE_DATA, 0),
        .load = number(&r, PROFILE_STEP, PROFILE_LOAD, 1),
        .norm = number(&r, PROFILE_OVERLAP, PROFILE_NORM, 0),
        .share = number(&r, PROFILE_OVERLAP, PROFILE_SHARE, 1),
        .error = number(&r, PROFILE_STEP, PROFILE_ERROR, 0),
    };
    fill_experts(&r, &rates->experts);
    fill_items(rates, plan, &r, &plain);
    if (plan->stack.kind == STACK_HOST && plan->precision.compute != COMPUTE_F32) {
        const struct resolver exact = resolver_of(COMPUTE_F32, path, profile, attempt);
        rates->f32_flop_per_s = device->peak_f32 / cores;
        rates->f32_efficiency = find(&exact, PROFILE_GEMM, PROFILE_EFFICIENCY, PROFILE_ANY, 1);
    }
    rates->own_dgrad = r.said[PROFILE_DGRAD] != 0;
    rates->own_wgrad = r.said[PROFILE_WGRAD] != 0;
}

/* See price.h. */
#include "sim/time/price_parts.h"

#include <math.h>

#include "plan/derive.h"
#include "plan/engine.h"
#include "work/list/dtype.h"
#include "work/list/kernel.h"
#include "work/path/path.h"
#include "work/layer/layer.h"
#include "plan/recipe.h"
#include "sim/time/step_time.h"
#include "work/stack/stack.h"

/* Chance that a token reaches one of n units that hold all experts, as many each. Where a
 * router chooses groups first, its experts are spread over them, and units are groups, or parts
 * of one: of 16 nodes a token of DeepSeek-V3 reaches 6.1, sampled 5.7, without groups it
 * were 6.5. */
static double reaches(const struct plan *plan, double n)
{
    double E = (double)plan->model.moe.experts, K = (double)plan->model.moe.top_k,
           groups = (double)plan->model.moe.router.groups,
           chosen = (double)plan->model.moe.router.top_groups,
           any = 1 - price_none_of(E, E / n, K);
    if (!(chosen > 0 && chosen < groups))
        return any;
    if (n <= groups)
        return fmin(any, 1 - price_none_of(groups, groups / n, chosen));
    return chosen / groups * (1 - price_none_of(E / groups, E / n, K / chosen));
}

/* Of the copies of a token for ranks of other nodes, the share that crosses the network where a
 * node gets each token once (DeepEP's normal kernels): nodes over ranks that a token reaches.
 */
static double once_a_node(const struct plan *plan, const struct comm_place *place)
{
    double nodes = place->ranks / place->inside;
    if (nodes <= 1 || !plan->model.moe.experts)
        return 0;
    return reaches(plan, nodes) / (reaches(plan, place->ranks) * place->inside);
}

void pricing_follow(struct pricing *pricing, const struct plan *plan, enum moe_path path)
{
    bool everyone = path_system_of(path)->exchange == EXCHANGE_EVERYONE;
    pricing->plan = plan;
    pricing->beside = engine_parts_stream(plan) && step_graphs(plan) == GRAPHS_FULL;
    pricing->reduced = engine_norm_reduced(plan);
    pricing->generated = plan_is_engine(plan) && plan->model.moe.experts > 0 &&
                         stack_experts(plan, NULL) == EXPERTS_TRTLLM_GEN;
    pricing->tokens =
        (double)plan_joined_tokens(plan) * (everyone ? 1 : (double)plan->parallel.ep);
}

void pricing_place(struct pricing *pricing, const struct plan *plan, enum moe_path path)
{
    comm_places(plan, pricing->place);
    pricing->once = path_system_of(path)->exchange == EXCHANGE_TOKENS
                        ? once_a_node(plan, &pricing->place[GROUP_EP])
                        : 0;
}

void pricing_init(struct pricing *pricing, const struct plan *plan, enum moe_path path,
                  const struct profile *profile, const struct rates_try *attempt)
{
    pricing->renewed = pricing->least = false;
    pricing->kept_units = 0;
    pricing->links = (struct demand_links){0};
    pricing->carried = 1;
    rates_init(&pricing->rates, plan, path, profile, attempt);
    pricing_place(pricing, plan, path);
    pricing_follow(pricing, plan, path);
}

void pricing_renew(struct pricing *pricing, const struct plan *plan, enum moe_path path,
                   const struct profile *profile)
{
    if (!rates_key_turn(&pricing->key, plan, path, profile) || !pricing->renewed) {
        pricing_init(pricing, plan, path, profile, NULL);
        pricing->renewed = true;
        return;
    }
    pricing_place(pricing, plan, path);
    pricing_follow(pricing, plan, path);
}

/* ---- families ---- */

static enum profile_item collective_item(const struct op *op)
{
    if (op->kernel != KERNEL_COLLECTIVE)
        return PROFILE_ALL_TO_ALL;
    switch ((enum collective_kind)op->args.collective.how) {
    case ALL_REDUCE:
        return PROFILE_ALL_REDUCE;
    case REDUCE_SCATTER:
        return PROFILE_REDUCE_SCATTER;
    case SEND:
        return PROFILE_SEND;
    case ALL_GATHER:
    case RING:
        break;
    }
    return PROFILE_ALL_GATHER;
}

/* The ops of a layer that is performed alone have no module, which reads as the first: its
 * networks are the experts and those beside them. */
static bool is_expert_activation(const struct op *op)
{
    bool alone = op->module == 0 && op->kind == OP_ACTIVATION;
    return (alone || op->module == MODULE_ACTIVATE) && segment_has_experts(op->segment);
}

enum profile_item price_item(const struct op *op, const uint64_t *v)
{
    static const enum profile_item by_kind[OP_KIND_COUNT] = {
        [OP_ROUTER] = PROFILE_INDEX,
        [OP_SORT] = PROFILE_INDEX,
        [OP_PERMUTE] = PROFILE_MOVE,
        [OP_PACK] = PROFILE_MOVE,
        [OP_EXCHANGE] = PROFILE_ALL_TO_ALL,
        [OP_GATHER] = PROFILE_MOVE,
        [OP_GROUPED_GEMM] = PROFILE_GROUPED,
        [OP_BATCHED_GEMM] = PROFILE_BATCHED,
        [OP_BLOCKED_GEMM] = PROFILE_BLOCKED,
        [OP_GEMM] = PROFILE_GEMM,
        [OP_ACTIVATION] = PROFILE_ELEMENTWISE,
        [OP_ATTENTION] = PROFILE_ATTENTION,
        [OP_NORM] = PROFILE_ELEMENTWISE,
        [OP_COMBINE] = PROFILE_MOVE,
        [OP_REDUCE] = PROFILE_ELEMENTWISE,
        [OP_MASK] = PROFILE_MOVE,
        [OP_EMBED] = PROFILE_ELEMENTWISE,
        [OP_LOSS] = PROFILE_ELEMENTWISE,
        [OP_UPDATE] = PROFILE_UPDATE,
        [OP_CACHE] = PROFILE_ELEMENTWISE,
        [OP_COLLECTIVE] = PROFILE_COLLECTIVE,
        [OP_COPY] = PROFILE_COPY,
        [OP_SYNC] = PROFILE_HOST,
    };
    bool whole = op->kernel == KERNEL_FETCH || op->kernel == KERNEL_PICK; /* matrices */
    enum profile_item item = op->kernel == KERNEL_HOST_UPDATE ? PROFILE_HOST_UPDATE
                             : whole                          ? PROFILE_MEMORY
                                                              : by_kind[op->kind];
    if (item == PROFILE_COLLECTIVE)
        return collective_item(op);
    if (item == PROFILE_ELEMENTWISE && is_expert_activation(op))
        return op->phase == PHASE_BACKWARD ? PROFILE_ACTIVATION_BACK : PROFILE_ACTIVATION;
    if (item == PROFILE_GROUPED && v[op->groups.node] <= 1)
        return PROFILE_GEMM;
    if (item == PROFILE_ATTENTION && !v[op->flop.node]) /* rotary embedding */
        return PROFILE_ELEMENTWISE;
    return item;
}

/* ---- seconds ---- */

static double over(double amount, double rate)
{
    return rate > 0 ? amount / rate : 0;
}

/* Rows of a group that has any, when rows fall evenly: g (1 - exp(-rows / g)) of g groups have.
 */
static double rows_of_group(double rows, double groups)
{
    if (groups <= 1 || rows <= 0)
        return rows;
    double each = rows / groups;
    return each > 30 ? each : each / -expm1(-each);
}

static double ceil_to(double n, double tile)
{
    return tile > 1 ? ceil(n / tile) * tile : n;
}

/* FLOPs as tiles are multiplied, times the waves that the units begin. */
static double tiled(const struct kernel_rates *k, double units, double flop, double rows,
                    double groups, double n)
{
    if (rows <= 0 || n <= 0)
        return flop;
    double m = ceil_to(rows, k->tile_rows), columns = ceil_to(n, k->tile_columns);
    double more = m / rows * (columns / n);
    double tiles = groups * (m / k->tile_rows) * (columns / k->tile_columns);
    double waves = units > 0 && k->wave > 0 ? tiles / units : 0;
    if (waves > 0)
        more *= 1 + k->wave * (ceil(waves) / waves - 1);
    return flop * more;
}

/* Of the layers of a kind some run by the recipe and some without: their mean time. */
static double over_layers(const struct rates *r, const struct segment_use *use,
                          const uint64_t *v)
{
    double layers = (double)v[use->repeat.node], plain = (double)v[use->plain.node];
    double share = layers > 0 ? plain / layers : 0;
    return 1 / ((1 - share) / r->peak_flop_per_s + share / r->wide_flop_per_s);
}

/* The executor multiplies operands as they are stored: a router in f32, say, beside the rest in
 * bf16. */
static bool is_exact(const struct pricing *p, const struct work *work, const struct op *op)
{
    static const enum role operands[] = {ROLE_SRC, ROLE_WEIGHT, ROLE_D_DST};
    bool f32 = false;
    for (unsigned i = 0; p->rates.f32_flop_per_s > 0 && i < 3; i++) {
        uint16_t buffer = op_buffer(work, op, operands[i]);
        f32 = f32 || (buffer != WORK_NONE && work->buffers[buffer].dtype == DTYPE_F32);
    }
    return f32;
}

/* TransformerEngine's recipes keep the head in bf16, and scores and values unless asked for
 * otherwise (fp8_dot_product_attention). Matrices that an engine keeps wider than the rest
 * multiply at the rate of their own format. */
static double peak_of(const struct pricing *p, const struct work *work, const struct op *op,
                      const uint64_t *v)
{
    const struct rates *r = &p->rates;
    uint16_t weights = plan_is_engine(p->plan) ? op_buffer(work, op, ROLE_WEIGHT) : WORK_NONE;
    unsigned bits = weights == WORK_NONE ? 0 : dtype_bits(work->buffers[weights].dtype);
    if (bits > dtype_bits(p->plan->precision.weights))
        return fmin(r->peak_flop_per_s, bits > 8 ? r->bf16_flop_per_s : r->fp8_flop_per_s);
    bool wide = op->wide || op->segment == SEGMENT_HEAD || op->kind == OP_ATTENTION;
    return wide ? r->wide_flop_per_s
           : recipe_skips(p->plan) && segment_is_layer(op->segment)
               ? over_layers(r, &work->use[op->segment], v)
               : r->peak_flop_per_s;
}

/* ---- how an engine's kernels do it ---- */

/* Ranks that share out the tokens in the list, where each of them has all. */
static double times_done(const struct pricing *p, const struct op *op)
{
    return op->done & DONE_EVERYWHERE ? (double)plan_token_ranks(p->plan) : 1;
}

bool price_is_along(const struct pricing *p, const struct op *op)
{
    return op->done & DONE_ALONG || (op->done & DONE_REDUCED && p->reduced);
}

/* Whether a kernel begins for it while nothing else runs. */
static bool starts(const struct pricing *p, const struct op *op)
{
    return !price_is_along(p, op) && !(op->done & DONE_BESIDE && p->beside);
}

/* What it reads and writes; weights once, however many ranks' tokens. */
static double bytes_done(const struct pricing *p, const struct work *work, const struct op *op,
                         const uint64_t *v)
{
    double bytes = (double)v[op->bytes_read.node] + (double)v[op->bytes_written.node], kept = 0;
    uint16_t weight = op_buffer(work, op, ROLE_WEIGHT);
    if (!(op->done & DONE_EVERYWHERE))
        return bytes;
    if (weight != WORK_NONE)
        kept = fmin(bytes, (double)v[work->buffers[weight].bytes.node]);
    return kept + times_done(p, op) * (bytes - kept);
}

/* By weights with a scale for every 128 x 128, where multiplications take scales, but of 16 or
 * 32 elements: kernels apply these between them. */
static bool is_of_blocks(const struct pricing *p, const struct work *work, const struct op *op)
{
    uint16_t weight = op_buffer(work, op, ROLE_WEIGHT);
    return weight != WORK_NONE && work->buffers[weight].dtype == DTYPE_FP8_BLOCK &&
           plan_generation(p->plan) == GENERATION_SM100;
}

/* Share of the units that a product has: exchanges beside it keep some from DeepGEMM, which
 * both engines have for matrices of blocks, and for experts where they take it. */
static double units_left(const struct pricing *p, const struct work *work, const struct op *op)
{
    bool experts = op->module == MODULE_GATE_UP || op->module == MODULE_EXPERT_DOWN;
    uint16_t weight = op_buffer(work, op, ROLE_WEIGHT);
    if (!(p->kept_units > 0) || !(p->rates.units > p->kept_units) || weight == WORK_NONE)
        return 1;
    enum expert_backend backend = experts ? stack_experts(p->plan, NULL) : EXPERTS_AUTO;
    bool gemm = experts ? backend == EXPERTS_DEEPGEMM || backend == EXPERTS_MASKED
                        : work->buffers[weight].dtype == DTYPE_FP8_BLOCK;
    return gemm ? 1 - p->kept_units / p->rates.units : 1;
}

/* Seconds of a product's FLOPs, by rows of a group; every trip of a loop has groups of its own.
 */
static double product_s(const struct pricing *p, const struct work *work,
                        const struct kernel_rates *k, const struct op *op, const uint64_t *v)
{
    const struct rates *r = &p->rates;
    double flop = times_done(p, op) * (double)v[op->flop.node], n = (double)v[op->n.node],
           depth = (double)v[op->k.node],
           groups = price_trips(op, v) * fmax(1, (double)v[op->groups.node]);
    double rows = n > 0 && depth > 0 ? flop / (2 * n * depth) : (double)v[op->rows.node];
    double each = rows_of_group(rows, groups), place = each;
    const struct constant *curve = k->efficiency.curve;
    if (curve && curve->by == PROFILE_BY_DEPTH)
        place = depth;
    else if (curve && curve->by == PROFILE_BY_COLUMNS)
        place = n;
    bool exact = is_exact(p, work, op);
    double efficiency = rate_at(exact ? &r->f32_efficiency : &k->efficiency, place);
    bool generated = p->generated && segment_has_experts(op->segment) &&
                     price_item(op, v) == PROFILE_GROUPED && each > 0;
    if (generated)
        efficiency *= each / form_generated_rows(each, floor(rows / groups));
    else if (k->half_rows > 0 && each > 0 &&
             !k->tile_choice) /* which says what few rows cost */
        efficiency *= each / (each + k->half_rows);
    efficiency *= form_depth_share(depth, k->half_depth);
    if (is_of_blocks(p, work, op))
        efficiency *= k->block_share;
    efficiency *= units_left(p, work, op);
    double filled = rows / fmax(each, 1); /* groups */
    const struct form_gemm gemm = {
        .groups = filled, .rows = each, .columns = n, .depth = depth};
    bool chosen = k->tile_choice && each > 0 && n > 0 && r->units > 0;
    return over(chosen ? form_gemm_flop(&gemm, 1, r->units)
                       : tiled(k, r->units, flop, each, filled, n),
                (exact ? r->f32_flop_per_s : peak_of(p, work, op, v)) * efficiency);
}

/* A gradient's own, where the profile says one: of what a weight's transpose multiplies, of the
 * weight itself. */
static const struct kernel_rates *rates_of(const struct rates *r, enum profile_item item,
                                           const struct op *op)
{
    bool dgrad = (op->kernel == KERNEL_GEMM || op->kernel == KERNEL_CHUNK_GEMM) &&
                 op->args.gemm.transposed;
    return r->own_wgrad && op->kernel == KERNEL_WGRAD ? &r->kernel[PROFILE_WGRAD]
           : r->own_dgrad && dgrad                    ? &r->kernel[PROFILE_DGRAD]
                                                      : &r->kernel[item];
}

static struct price kernel_price(const struct pricing *p, const struct work *work,
                                 enum profile_item item, const struct op *op, const uint64_t *v)
{
    const struct kernel_rates *k = rates_of(&p->rates, item, op);
    double bytes = bytes_done(p, work, op, v);
    struct price price = {
        .memory_s = over(bytes, p->rates.memory_bytes_per_s * rate_at(&k->bandwidth, bytes))};
    if (profile_item_class(item) == PROFILE_PRODUCT)
        price.compute_s = product_s(p, work, k, op, v);
    price.s = k->norm > 0 ? form_beside(price.compute_s, price.memory_s, k->norm)
                          : fmax(price.compute_s, price.memory_s);
    if (price.s > 0 && starts(p, op))
        price.s += price_trips(op, v) * rate_at(&k->overhead, bytes);
    if (k->folded)
        price.s = 0;
    return price;
}

/* A copy crosses once what it reads and writes; the host's processors read and write what they
 * update. */
static struct price offload_price(const struct pricing *p, enum profile_item item,
                                  const struct op *op, const uint64_t *v)
{
    const struct kernel_rates *k = &p->rates.kernel[item];
    double bytes = (double)v[op->bytes_written.node], rate = p->rates.host_bytes_per_s;
    if (item == PROFILE_HOST_UPDATE) {
        bytes += (double)v[op->bytes_read.node];
        rate = p->rates.host_memory_bytes_per_s;
    }
    double s = over(bytes, rate * rate_at(&k->bandwidth, bytes));
    return (struct price){.s = s > 0 ? s + price_trips(op, v) * rate_at(&k->overhead, bytes)
                                     : 0};
}

/* ---- an engine's call for all experts of a rank ---- */

/* A product on the way to the experts or back: to latent rows, and up from them. */
static bool is_projection(const struct op *op)
{
    return op->kernel == KERNEL_GEMM && op->module != MODULE_GATE_UP &&
           op->module != MODULE_EXPERT_DOWN;
}

static bool is_of_call(const struct pricing *p, const struct op *op)
{
    static const bool of_call[MODULES] = {
        [MODULE_GATE_UP] = true, [MODULE_ACTIVATE] = true,  [MODULE_EXPERT_DOWN] = true,
        [MODULE_PERMUTE] = true, [MODULE_UNPERMUTE] = true, [MODULE_SORT] = true,
        [MODULE_UNSORT] = true};
    return p->rates.experts.set && p->plan->model.moe.glu && op->phase == PHASE_FORWARD &&
           segment_has_experts(op->segment) && op->group == GROUP_NONE && of_call[op->module] &&
           !is_projection(op);
}

bool price_is_call(const struct pricing *p, const struct op *op)
{
    return is_of_call(p, op) && op->module == MODULE_GATE_UP;
}

void price_experts_call(const struct pricing *p, const struct op *op, const uint64_t *v,
                        struct form_experts_call *call)
{
    double n = (double)v[op->n.node], depth = (double)v[op->k.node],
           groups = fmax(1, (double)v[op->groups.node]);
    double rows = over((double)v[op->flop.node], 2 * n * depth), each = rows / groups;
    *call =
        (struct form_experts_call){.tokens = p->tokens,
                                   .experts = groups,
                                   .rows = rows,
                                   .hit = rows / rows_of_group(fmax(rows, 1e-9), groups),
                                   .hidden = depth,
                                   .inter = n / 2,
                                   .weight_bytes = dtype_bits(stack_weights(p->plan)) / 8.0};
    const struct expert_rates *k = &p->rates.experts;
    double tile = form_experts_few(call) ? k->few_tile_rows : k->tile_rows;
    call->padded_rows = groups * form_padded_rows(each, tile);
}

/* The call stands for the first product; what else is in it takes no time of its own. */
static struct price call_price(const struct pricing *p, const struct work *work,
                               const struct op *op, const uint64_t *v)
{
    const struct rates *r = &p->rates;
    struct form_experts_call call;
    if (op->module != MODULE_GATE_UP || !v[op->flop.node])
        return (struct price){0};
    price_experts_call(p, op, v, &call);
    double left = units_left(p, work, op);
    const struct form_device device = {left * r->peak_flop_per_s, r->memory_bytes_per_s,
                                       floor(left * r->units + 0.5)};
    double s = form_experts_s(&r->experts.form, &call, &device);
    return (struct price){.compute_s = s, .s = s};
}

struct price price_of(const struct pricing *pricing, const struct work *work,
                      const struct op *op, const uint64_t *values)
{
    enum profile_item item = price_item(op, values), class = profile_item_class(item);
    if (op->done & DONE_NOWHERE)
        return (struct price){0};
    if (is_of_call(pricing, op))
        return call_price(pricing, work, op, values);
    if (class == PROFILE_COLLECTIVE)
        return price_link(pricing, item, work, op, values);
    if (class == PROFILE_PRODUCT || class == PROFILE_MEMORY)
        return kernel_price(pricing, work, item, op, values);
    if (class == PROFILE_OFFLOAD)
        return offload_price(pricing, item, op, values);
    return (struct price){0}; /* what the host waits for: sim/time/stretch counts it */
}

/* Advice; see advice.h. One function per topic, in a table. */
#include "sim/moe/advice.h"

#include <math.h>

#include "base/checked.h"
#include "base/text.h"
#include "base/unit.h"
#include "sim/moe/shared.h"
#include "plan/derive.h"
#include "plan/layers.h"
#include "work/path/path.h"
#include "work/rows/blocks.h"
#include "work/list/dtype.h"
#include "plan/params.h"

enum { ENGINE_LANES = 128, FEW_EXPERTS = 32, MANY_EXPERTS = 64 };

uint64_t advice_router_gather(uint64_t tokens, uint64_t experts, uint64_t score_bytes,
                              uint64_t tp)
{
    uint64_t volume = tokens * experts * score_bytes;
    return volume - volume / tp;
}

uint64_t advice_router_delayed(uint64_t tokens, uint64_t top_k, uint64_t score_bytes,
                               uint64_t index_bytes, uint64_t tp)
{
    return advice_router_gather(tokens, top_k, score_bytes + index_bytes, tp);
}

double advice_gather_ratio(uint64_t experts, uint64_t top_k, uint64_t ranks)
{
    return 1 / rows_touch_uniform(experts, top_k, experts / ranks);
}

double advice_engine_use(uint64_t inter, uint64_t tp)
{
    double part = (double)inter / (double)tp;
    return part / (ENGINE_LANES * ceil(part / ENGINE_LANES - 1e-9));
}

double advice_layout_cost(uint64_t inter, uint64_t tp, double imbalance)
{
    return imbalance / advice_engine_use(inter, tp);
}

double advice_row_ratio(uint64_t experts, uint64_t top_k, uint64_t ranks)
{
    return (double)top_k /
           ((double)ranks * rows_touch_uniform(experts, top_k, experts / ranks));
}

/* ---- topics ---- */

struct topic {
    const struct plan *plan;
    const struct path_system *path;
    const struct rows *rows;
    const struct moe_report *report;
    struct arena *arena;
    uint64_t free_bytes; /* of a rank's limit */
};

/* NULL when the topic does not apply. */
typedef const char *advise(const struct topic *t);

static const char *bytes_text(const struct topic *t, uint64_t bytes)
{
    char buffer[48];
    unit_print(buffer, UNIT_BYTES, (double)bytes);
    return arena_strdup(t->arena, buffer);
}

/* Bytes that a rank keeps per parameter that data-parallel ranks do not share out. */
static uint64_t state_bits(const struct plan *plan)
{
    const struct precision *p = &plan->precision;
    uint64_t zero = plan->parallel.zero, bits = zero < 3 ? dtype_bits(p->weights) : 0;
    if (plan->workload.mode != MODE_TRAIN)
        return dtype_bits(p->weights);
    bits += zero < 2 ? dtype_bits(p->gradients) : 0;
    return bits + (zero < 1 ? dtype_bits(p->master) + 2 * dtype_bits(p->moments) : 0);
}

/* Dropping TP from the dense path: everything but the routed experts on every rank. */
static const char *dense_replicated(const struct topic *t)
{
    const struct plan *plan = t->plan;
    struct params params;
    uint64_t tp = plan->parallel.tp;
    if (tp <= 1)
        return NULL;
    params_count(&plan->model, &params);
    uint64_t dense = (params.parameters - params.routed) / plan->parallel.pp;
    uint64_t bytes = dense * state_bits(plan) / 8, more = bytes - bytes / tp;
    if (more > t->free_bytes)
        return NULL;
    return arena_printf(t->arena,
                        "drop tp %llu from the dense path: replicated it keeps %s of state per "
                        "rank, %s now, and %s are free",
                        (unsigned long long)tp, bytes_text(t, bytes), bytes_text(t, bytes / tp),
                        bytes_text(t, t->free_bytes));
}

/* Fullest over mean of the expected rows when E experts lie contiguously on `ranks` ranks. */
static double imbalance_at(const struct rows *rows, uint64_t ranks)
{
    double most = 0, sum = 0, load = 0;
    uint64_t experts = rows->spec.experts, local = ceil_div(experts, ranks);
    for (uint64_t e = 0; e < experts; e++) {
        load = e % local ? load + rows->laws[0].pi[e] : rows->laws[0].pi[e];
        sum += rows->laws[0].pi[e];
        most = fmax(most, load);
    }
    return sum > 0 ? most * (double)ranks / sum : 1;
}

struct expert_layout {
    uint64_t tp, ep;
    double cost;
};

/* Whether the rule of thumb (few experts: TP, many: EP, between: the cost) admits a layout. */
static bool rule_admits(uint64_t experts, uint64_t tp, uint64_t ep)
{
    if (experts <= FEW_EXPERTS)
        return ep == 1 || tp > 1;
    return experts < MANY_EXPERTS || ep > 1;
}

/* The cheapest layout of n ranks that the rule admits; TP beside EP only from 2 to 8. `list`
 * takes the costs of all. */
static struct expert_layout best_layout(const struct topic *t, uint64_t n, struct text *list)
{
    struct expert_layout best = {0};
    uint64_t experts = t->rows->spec.experts, inter = t->plan->model.moe.intermediate;
    for (uint64_t tp = 1; tp <= n; tp *= 2) {
        uint64_t ep = n / tp;
        if (n % tp || experts % ep || inter % tp || (tp > 8 && ep > 1))
            continue;
        double cost = advice_layout_cost(inter, tp, imbalance_at(t->rows, ep));
        text_printf(list, "%s%llux%llu %.2f", list->length ? ", " : "", (unsigned long long)tp,
                    (unsigned long long)ep, cost);
        if (rule_admits(experts, tp, ep) && (best.tp == 0 || cost < best.cost - 1e-9))
            best = (struct expert_layout){tp, ep, cost};
    }
    return best;
}

static const char *expert_layout(const struct topic *t)
{
    const struct parallel *p = &t->plan->parallel;
    uint64_t n = p->ep * p->etp, experts = t->rows->spec.experts;
    struct text list = {.arena = t->arena};
    if (n <= 1)
        return NULL;
    struct expert_layout best = best_layout(t, n, &list);
    const char *rule = experts <= FEW_EXPERTS    ? "few experts: tp"
                       : experts >= MANY_EXPERTS ? "many experts: ep"
                                                 : "by cost";
    if (best.tp == 0)
        return NULL;
    return arena_printf(
        t->arena, "experts as tp %llu x ep %llu (%s; imbalance over lanes used: %s)",
        (unsigned long long)best.tp, (unsigned long long)best.ep, rule, text_string(&list));
}

static const char *rdep_domain(const struct topic *t)
{
    const struct rows_spec *s = &t->rows->spec;
    if (!t->path->pools || s->experts % s->ranks)
        return NULL;
    double ratio = advice_row_ratio(s->experts, s->top_k, s->ranks);
    if (s->ranks > s->ranks_per_node)
        return arena_printf(
            t->arena,
            "rdep pools rows inside one scale-up domain: ep %llu spans nodes of "
            "%llu ranks",
            (unsigned long long)s->ranks, (unsigned long long)s->ranks_per_node);
    if (s->ranks == 1)
        return NULL;
    return arena_printf(
        t->arena,
        "rdep sends one row per choice: %.4f times the rows of a transport that "
        "sends a token once per rank",
        ratio);
}

/* LNC2: which way to share a block between two cores. */
static const char *core_sharding(const struct topic *t)
{
    const struct plan *plan = t->plan;
    const struct rows_spec *s = &t->rows->spec;
    if (!t->path->blocks || plan_cores(plan) != 2)
        return NULL;
    uint64_t hidden = model_row_width(&plan->model), tokens = s->tokens * s->ranks;
    uint64_t inter = ceil_div(plan->model.moe.intermediate, plan->parallel.etp);
    uint64_t block = t->report->padding.block_size, sent[3];
    for (int i = 0; i < 3; i++) {
        struct block_cost c =
            blocks_shard_cost((enum shard)i, tokens, s->top_k, hidden, inter, block, false);
        double executed = t->report->padding.blocks_executed;
        sent[i] = (uint64_t)((double)c.sent * executed * 4) + c.sent_once * 2;
    }
    uint64_t extra = s->top_k > 1 ? tokens * hidden * 2 : 0;
    bool fits = extra <= t->free_bytes, more = t->rows->map.most_local > 1;
    const char *take = fits && more ? "block" : sent[SHARD_H] <= sent[SHARD_I] ? "h" : "i";
    return arena_printf(
        t->arena,
        "moe.shard: %s; between cores per layer h %s, i %s, block %s and %s more output%s",
        take, bytes_text(t, sent[SHARD_H]), bytes_text(t, sent[SHARD_I]),
        bytes_text(t, sent[SHARD_BLOCK]), bytes_text(t, extra),
        !more  ? " (one expert per core)"
        : fits ? ""
               : " (does not fit)");
}

static const char *router_gather(const struct topic *t)
{
    const struct rows_spec *s = &t->rows->spec;
    uint64_t tp = t->plan->parallel.tp;
    if (tp <= 1 || !t->plan->parallel.sp)
        return NULL;
    uint64_t all = s->tokens * tp;
    uint64_t naive = advice_router_gather(all, s->experts, 2, tp);
    uint64_t delayed = advice_router_delayed(all, s->top_k, 2, 4, tp);
    return arena_printf(t->arena,
                        "gather router results after the choice: %s per rank and layer, not %s",
                        bytes_text(t, delayed), bytes_text(t, naive));
}

static const char *gather_or_exchange(const struct topic *t)
{
    const struct rows_spec *s = &t->rows->spec;
    if (t->path->exchange != EXCHANGE_GATHER || s->ranks <= 1 || s->experts % s->ranks)
        return NULL;
    return arena_printf(t->arena,
                        "all-gather moves %.2f times what an all-to-all-v of only the tokens a "
                        "rank needs would",
                        advice_gather_ratio(s->experts, s->top_k, s->ranks));
}

static const char *shared_experts(const struct topic *t)
{
    struct shared_ask ask;
    struct shared found;
    if (t->plan->parallel.tp <= 1 || !shared_ask_of(t->plan, t->free_bytes, &ask))
        return NULL;
    shared_of(&ask, &found);
    return arena_printf(
        t->arena, "moe.shared: %s, %s; weights on a rank sp %s, tp %s, tp sends %s per layer",
        found.choice == SHARED_SP ? "sp" : "tp", found.why,
        bytes_text(t, found.sp.all_weight_bytes), bytes_text(t, found.tp.all_weight_bytes),
        bytes_text(t, found.tp.sent_bytes));
}

static advise *const topics[] = {
    dense_replicated, expert_layout,      rdep_domain,    core_sharding,
    router_gather,    gather_or_exchange, shared_experts,
};

const char **advice_of(const struct plan *plan, enum moe_path path, const struct rows *rows,
                       const struct moe_report *report, uint64_t free_bytes,
                       struct arena *arena, size_t *n)
{
    enum { TOPICS = sizeof topics / sizeof *topics };
    struct topic topic = {plan, path_system_of(path), rows, report, arena, free_bytes};
    const char **lines = arena_alloc(arena, TOPICS, sizeof *lines);
    *n = 0;
    for (size_t i = 0; i < TOPICS; i++) {
        const char *line = topics[i](&topic);
        if (line)
            lines[(*n)++] = line;
    }
    return lines;
}

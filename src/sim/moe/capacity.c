/* Drops and the trade of capacity factors; see capacity.h. */
#include "sim/moe/capacity.h"

#include <math.h>
#include <string.h>

#include "base/checked.h"
#include "base/stat.h"
#include "work/rows/router.h"

enum capacity_rule capacity_rule_of(const struct plan *plan)
{
    if (plan->stack.kind == STACK_NXD)
        return CAPACITY_RULE_NEURON;
    return plan->moe.capacity_scope == CAPACITY_SEQUENCE ? CAPACITY_RULE_MAXTEXT
                                                         : CAPACITY_RULE_MEGATRON;
}

uint64_t capacity_slots(enum capacity_rule rule, uint64_t tokens, uint64_t top_k,
                        uint64_t experts, double factor)
{
    double even = (double)ceil_div(tokens * top_k, experts);
    switch (rule) {
    case CAPACITY_RULE_MAXTEXT:
        return (uint64_t)fmax(even * factor, factor);
    case CAPACITY_RULE_TUTEL:
        return top_k * (uint64_t)(factor * (double)ceil_div(tokens, experts));
    case CAPACITY_RULE_NEURON:
        return router_capacity(tokens, top_k, experts, factor);
    case CAPACITY_RULE_MEGATRON:
        break;
    }
    return (uint64_t)router_slots(tokens, top_k, experts, factor);
}

struct capacity_unit capacity_unit_of(const struct plan *plan, const struct rows *rows)
{
    const struct rows_spec *s = &rows->spec;
    uint64_t sequences = plan->workload.mode == MODE_DECODE ? 1 : plan->workload.micro_batch;
    struct capacity_unit unit = {.rule = capacity_rule_of(plan), .tokens = s->tokens};
    if (unit.rule == CAPACITY_RULE_MAXTEXT && sequences > 1)
        unit.tokens = ceil_div(unit.tokens, sequences);
    if (unit.rule == CAPACITY_RULE_NEURON)
        unit.tokens *= s->ranks;
    unit.slots =
        capacity_slots(unit.rule, unit.tokens, s->top_k, s->experts, plan->moe.capacity_factor);
    return unit;
}

/* E max(0, n - slots) for a normal n. */
static double overflow(double mean, double sd, double slots)
{
    static const double root_two_pi = 2.50662827463100050242;
    if (!(sd > 0))
        return fmax(0, mean - slots);
    double z = (mean - slots) / sd;
    return (mean - slots) * stat_normal_cdf(z) + sd * exp(-z * z / 2) / root_two_pi;
}

double capacity_drop(const struct rows *rows, uint64_t tokens, uint64_t slots)
{
    double sum = 0, n = (double)tokens;
    const struct rows_law *law = &rows->laws[0];
    for (uint64_t e = 0; e < rows->spec.experts; e++) {
        double pi = fmin(law->pi[e], 1), mean = n * pi;
        double sd = sqrt(n * (double)rows->run * pi * (1 - pi));
        sum += fmin(mean, overflow(mean, sd, (double)slots));
    }
    return sum / (n * (double)rows->spec.top_k);
}

/* Rows of n tokens from `first` on beyond `slots` per expert. */
static uint64_t unit_dropped(const struct rows *rows, uint64_t step, uint64_t rank,
                             uint64_t first, uint64_t n, uint64_t slots,
                             struct rows_scratch *scratch, uint64_t *counts)
{
    enum { PIECE = 64 };
    uint64_t k = rows->spec.top_k, lost = 0;
    memset(counts, 0, rows->spec.experts * sizeof *counts);
    for (uint64_t done = 0; done < n; done += PIECE) {
        uint64_t now = n - done < PIECE ? n - done : PIECE;
        rows_sample_tokens(rows, step, rank, first + done, now, scratch, scratch->ids);
        for (uint64_t i = 0; i < now * k; i++)
            lost += counts[scratch->ids[i]]++ >= slots;
    }
    return lost;
}

/* A token picks an expert once: as many tokens as slots, or fewer, fill no expert. */
static bool never_drops(const struct rows *rows, uint64_t tokens, uint64_t slots)
{
    return tokens <= slots && rows->kind != ROWS_RECORDED;
}

void capacity_sampled(const struct rows *rows, uint64_t tokens, uint64_t slots, uint64_t units,
                      struct arena *arena, struct capacity_sample *out)
{
    *out = (struct capacity_sample){0};
    if (never_drops(rows, tokens, slots))
        return;
    struct rows_scratch scratch;
    uint64_t *counts = arena_alloc(arena, rows->spec.experts, sizeof *counts);
    double *share = arena_alloc(arena, units, sizeof *share), sum = 0;
    uint64_t per_rank = rows->spec.tokens / tokens ? rows->spec.tokens / tokens : 1;
    rows_scratch_init(rows, arena, &scratch);
    for (uint64_t u = 0; u < units; u++) {
        uint64_t step = u / (per_rank * rows->spec.ranks);
        uint64_t rank = u / per_rank % rows->spec.ranks, first = u % per_rank * tokens;
        uint64_t lost = unit_dropped(rows, step, rank, first, tokens, slots, &scratch, counts);
        share[u] = (double)lost / ((double)tokens * (double)rows->spec.top_k);
        sum += share[u];
    }
    stat_sort(share, units);
    *out = (struct capacity_sample){.mean = sum / (double)units,
                                    .p99 = stat_percentile(share, units, 0.99)};
}

static struct capacity_point point_of(const struct rows *rows, enum capacity_rule rule,
                                      uint64_t tokens, double factor, uint64_t row_bytes)
{
    static const double next_to_nothing = 1e-12;
    uint64_t k = rows->spec.top_k, experts = rows->spec.experts;
    struct capacity_point p = {.factor = factor};
    p.slots = capacity_slots(rule, tokens, k, experts, factor);
    double drop = p.slots >= tokens ? 0 : capacity_drop(rows, tokens, p.slots);
    p.drop = drop > next_to_nothing ? drop : 0;
    p.flop_factor = (double)p.slots * (double)experts / ((double)tokens * (double)k);
    p.padding = p.drop < 1 ? p.flop_factor / (1 - p.drop) : 0;
    p.buffer_bytes = experts * p.slots * row_bytes;
    return p;
}

unsigned capacity_trade(const struct rows *rows, enum capacity_rule rule, uint64_t tokens,
                        double factor, uint64_t row_bytes,
                        struct capacity_point points[CAPACITY_POINTS])
{
    double all = (double)rows->spec.experts / (double)rows->spec.top_k;
    double factors[CAPACITY_POINTS] = {1, 1.25, 1.5, 2, 4, factor, all};
    unsigned n = 0;
    stat_sort(factors, CAPACITY_POINTS);
    for (int i = 0; i < CAPACITY_POINTS; i++)
        if (i == 0 || factors[i] > factors[i - 1])
            points[n++] = point_of(rows, rule, tokens, factors[i], row_bytes);
    return n;
}

/* Alignment rules, one row each; see align.h. */
#include "work/rows/align.h"

#include "plan/derive.h"
#include <stddef.h>

#include "base/checked.h"
#include "work/rows/blocks.h"

static uint64_t expanded(const struct align_ask *a)
{
    uint64_t copies = a->top_k < a->experts ? a->top_k : a->experts;
    return a->tokens * a->ranks * copies;
}

static uint64_t allocated_rows(const struct align_ask *a)
{
    return a->rows;
}

static uint64_t allocated_total(const struct align_ask *a)
{
    return round_up(a->rows, a->align);
}

/* Worst sum of rounded groups: up to A - 1 more in every group. */
static uint64_t allocated_sum(const struct align_ask *a)
{
    return a->rows + a->experts * (a->align - 1);
}

static uint64_t allocated_deepep(const struct align_ask *a)
{
    return round_up(expanded(a) + a->experts * (a->align - 1), a->align);
}

static uint64_t allocated_torchtitan(const struct align_ask *a)
{
    return round_up(a->rows + a->experts * a->align, a->align);
}

static uint64_t allocated_deepgemm(const struct align_ask *a)
{
    return round_up(allocated_sum(a), a->align);
}

static uint64_t allocated_blocks(const struct align_ask *a)
{
    return blocks_tight(a->rows, a->experts, a->align) * a->align;
}

static uint64_t allocated_rdep(const struct align_ask *a)
{
    return (allocated_sum(a) + a->align - 1) / a->align * a->align;
}

static uint64_t group_up(uint64_t n, uint64_t align)
{
    return round_up(n, align);
}

static uint64_t group_never_empty(uint64_t n, uint64_t align)
{
    return n ? round_up(n, align) : align;
}

static const struct align_rule rules[ALIGN_COUNT] = {
    [ALIGN_NONE] = {"none", "M", 1, allocated_rows, NULL},
    [ALIGN_TOTAL] = {"maxtext gmm", "up(M, A)", 512, allocated_total, NULL},
    [ALIGN_SUM] = {"megatron quantised", "M + e (A-1)", 16, allocated_sum, group_up},
    [ALIGN_MEGABLOCKS] = {"megablocks", "M + e (A-1)", 128, allocated_sum, group_up},
    [ALIGN_DEEPEP_V2] = {"deepep v2 expanded", "up(R T min(K, e) + (A-1) e, A)", 128,
                         allocated_deepep, group_up},
    [ALIGN_TORCHTITAN_OLD] = {"torchtitan", "up(M + e A, A)", 8, allocated_torchtitan,
                              group_never_empty},
    [ALIGN_VLLM_TRITON] = {"vllm triton", "M + E (A-1)", 64, allocated_sum, group_up},
    [ALIGN_DEEPGEMM] = {"deepgemm contiguous", "up(M + e (A-1), A)", 128, allocated_deepgemm,
                        group_up},
    [ALIGN_NEURON] = {"neuron blockwise", "N A, N = ceil((M - (e-1)) / A) + e - 1", 512,
                      allocated_blocks, group_up},
    [ALIGN_RDEP] = {"rdep", "A floor((M + e (A-1) + A-1) / A)", 128, allocated_rdep, group_up},
};

const struct align_rule *align_rule(enum align_kind kind)
{
    return &rules[kind];
}

uint64_t align_allocated(enum align_kind kind, const struct align_ask *ask)
{
    struct align_ask with = *ask;
    if (with.align == 0)
        with.align = rules[kind].align;
    return rules[kind].allocated(&with);
}

uint64_t align_exact(enum align_kind kind, const uint64_t *counts, uint64_t groups,
                     uint64_t align)
{
    const struct align_rule *rule = &rules[kind];
    uint64_t sum = 0;
    for (uint64_t g = 0; g < groups; g++)
        sum += rule->group ? rule->group(counts[g], align) : counts[g];
    return sum;
}

/* Stacks whose grouped products pad. */
enum align_kind align_by_stack(const struct plan *plan)
{
    static const enum align_kind by_stack[STACK_COUNT] = {
        [STACK_MAXTEXT] = ALIGN_TOTAL,    [STACK_TORCHTITAN] = ALIGN_TORCHTITAN_OLD,
        [STACK_VLLM] = ALIGN_VLLM_TRITON, [STACK_SGLANG] = ALIGN_DEEPGEMM,
        [STACK_TRTLLM] = ALIGN_DEEPGEMM,
    };
    bool quantised = plan->precision.compute == COMPUTE_FP8;
    if (plan_is_megatron(plan))
        return quantised ? ALIGN_SUM : ALIGN_NONE;
    return by_stack[plan->stack.kind];
}

uint64_t align_of(const struct plan *plan, enum align_kind kind)
{
    if (plan->moe.alignment)
        return plan->moe.alignment;
    if (kind == ALIGN_NEURON && plan->moe.block_size)
        return plan->moe.block_size;
    return rules[kind].align;
}

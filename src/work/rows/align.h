/* Rows after alignment: what the rows need (exact), and what a system reserves (allocated).
 *
 * One rule per system, in one table (buffers.md 11, seed-systems.md A4). */
#ifndef MOEPLAN_WORK_ROWS_ALIGN_H
#define MOEPLAN_WORK_ROWS_ALIGN_H

#include <stdint.h>

#include "plan/plan.h"

enum align_kind {
    ALIGN_NONE,           /* megablox, CK, TE bf16, torch grouped_mm: no padding per group */
    ALIGN_TOTAL,          /* MaxText's gmm: the sum, to a multiple of 512 */
    ALIGN_SUM,            /* each group to a multiple, counts known (Megatron quantised) */
    ALIGN_MEGABLOCKS,     /* each group to 128 */
    ALIGN_DEEPEP_V2,      /* expanded without sync: up(R T min(K, e) + (A-1) e, A) */
    ALIGN_TORCHTITAN_OLD, /* up(M + e A, A); an empty expert costs A */
    ALIGN_VLLM_TRITON,    /* ids only: M + E (A - 1) */
    ALIGN_DEEPGEMM,       /* up(M + e (A - 1), A) */
    ALIGN_NEURON,         /* N B, N the tight worst case */
    ALIGN_RDEP,           /* A floor((M + e (A-1) + (A-1)) / A) */
    ALIGN_COUNT
};

struct align_ask {
    uint64_t rows;   /* M: rows of the rank */
    uint64_t tokens; /* T per rank */
    uint64_t top_k, ranks;
    uint64_t experts; /* groups the rule runs over: e local experts (all E for vLLM) */
    uint64_t align;   /* A; 0: the system's own */
};

struct align_rule {
    const char *system;
    const char *formula;                                /* of the allocated rows */
    uint64_t align;                                     /* A when the plan does not say */
    uint64_t (*allocated)(const struct align_ask *ask); /* ask->align set */
    /* rows one group of n rows takes, summed over groups; NULL: the sum alone counts */
    uint64_t (*group)(uint64_t n, uint64_t align);
};

const struct align_rule *align_rule(enum align_kind kind);

uint64_t align_allocated(enum align_kind kind, const struct align_ask *ask);

/* Rows that these counts need under the rule. */
uint64_t align_exact(enum align_kind kind, const uint64_t *counts, uint64_t groups,
                     uint64_t align);

/* The rule of a stack's grouped products, for paths without a rule of their own. */
enum align_kind align_by_stack(const struct plan *plan);

/* The plan's A under that rule: moe.alignment, else block_size on blockwise, else the system's
 * (RDEP pads its buffers to 128 whatever the blocks of blockwise are). */
uint64_t align_of(const struct plan *plan, enum align_kind kind);

#endif

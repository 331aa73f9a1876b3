/* What an engine leaves to its KV cache, and what that holds: the profile run's list folded,
 * stage by stage, and the engine's own arithmetic on it. Pure. */
#ifndef MOEPLAN_SIM_SERVE_SERVING_H
#define MOEPLAN_SIM_SERVE_SERVING_H

#include "base/arena.h"
#include "base/err.h"
#include "plan/plan.h"
#include "work/list/shape.h"

/* Bytes of one rank of the stage that leaves least blocks, whose number all stages take. */
struct serving_report {
    bool present;
    uint64_t stage;           /* of the pipeline, from 1 */
    uint64_t requested_bytes; /* what the rule takes its fraction of, times the fraction */
    uint64_t weights_bytes;
    /* peak beside them: of the profile run, what stays included, or of a full prefill step */
    uint64_t activation_bytes;
    uint64_t outside_bytes; /* libraries', and exchanges' that are made before the pool */
    uint64_t graphs_bytes;  /* taken from the pool; 0 where the release does not */
    uint64_t cache_bytes;   /* what is left: the pool */
    bool given;             /* or what the plan says of it (memory.cache_*) */
    uint64_t state_bytes;   /* beside it, of recurrent layers' states and of open
                               entries: SGLang */
    uint64_t state_slots;   /* that they hold */
    uint64_t block_tokens, cache_blocks, cache_tokens;
    uint64_t context_tokens;                /* of a sequence */
    uint64_t longest_tokens;                /* of one that the blocks hold, at most those */
    uint64_t sequences;                     /* of that many tokens that the blocks hold */
    uint64_t running, running_tokens;       /* the same of those past their prompt */
    uint64_t beyond_bytes;                  /* of the pool, beyond the blocks of one of them */
    uint64_t batched_tokens, max_sequences; /* of the profile run */
};

/* What is left of the device beside the pool for what the engine did not count in it; negative:
 * it runs out at run time. 0 for engines that count all. */
int64_t serving_spare(const struct plan *plan, const struct serving_report *r);

/* Bytes of a rank's second cache, in host memory. */
uint64_t serving_host_bytes(const struct plan *plan, const struct serving_report *r);

/* Blocks, tokens and sequences of a pool of cache_bytes and of context_tokens, on the stage
 * whose slots these are. */
void serving_count(const struct plan *plan, const struct slots *slots,
                   struct serving_report *r);

/* Fills the record for a serving engine's plan; present is false for others, and where the
 * profile run's list cannot be built. STATUS_INPUT when a size overflows 64 bits. */
enum status serving_of(const struct plan *plan, struct arena *arena, struct serving_report *out,
                       struct err *err);

#endif

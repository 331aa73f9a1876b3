/* Evaluating many plans of one structure: the work list is built once per discrete choice, its
 * sizes again for every plan. Sweeps, fixes and searches go through here; predict's verdict on
 * the same plan is the same by construction (and by a property test). */
#ifndef MOEPLAN_SIM_STEP_EVALUATE_H
#define MOEPLAN_SIM_STEP_EVALUATE_H

#include "base/arena.h"
#include "sim/moe/demand_step.h"
#include "sim/memory/overflow.h"
#include "sim/memory/verdict.h"
#include "sim/serve/serve.h"

enum { EVALUATE_CACHE = 64 };

/* The p99 of what routing asks for, by tokens per rank, of one routing; kept while structures
 * change that do not change it. */
struct demand_bank {
    struct arena arena;
    struct demand_key key;
    bool known, refused;
    uint64_t turn; /* counts the routings that it was of */
    struct demand_source source;
    uint64_t tokens[EVALUATE_CACHE]; /* 0: empty */
    struct demand p99[EVALUATE_CACHE];
    bool apart[EVALUATE_CACHE]; /* layers[] is set */
    struct demand_layers layers[EVALUATE_CACHE];
    uint64_t expected_tokens[EVALUATE_CACHE]; /* 0: empty */
    struct demand expected[EVALUATE_CACHE];
    struct overflow_layer layer[EVALUATE_CACHE];
};

struct stepper;

/* What a structure obeys whatever its numbers are. */
struct evaluator_lawful {
    uint64_t pp, vpp, cp; /* of the plan that was asked of */
    bool obeys;
};

/* Holds the list of the last structure. One per thread; {0} is ready for use. */
struct evaluator {
    const struct routing_data *routing; /* set by the caller; NULL: the plan names no file */
    /* set by the caller: banks that evaluators of one thread share, each for the routings that
     * fall on it; NULL: the evaluator's own */
    struct demand_bank *banks;
    size_t n_banks;
    struct rows_known *rows_known; /* set by the caller: parts of banks' laws; or NULL */
    struct arena arena;
    struct work work;
    struct slots slots;
    struct demand_stages stages; /* where layers are routed apart, once they are asked for */
    bool staged;                 /* stages are those of the slots */
    uint64_t *values;
    struct steady steady; /* what of stages, sizes and sums stays within a structure */
    uint64_t structure;   /* the caller's number of the structure that is built */
    uint64_t pp, vpp, cp; /* of the plan that the slots are of */
    enum moe_path path;
    bool least;      /* set by the caller: for the least that routing can ask for, unsampled */
    uint64_t enough; /* set by the caller: see struct steady; a plan beyond it is not valid */
    struct steady_book *book; /* set by the caller: of the next plan alone, or NULL */
    bool known;               /* structure is set */
    struct evaluator_lawful lawful;
    const struct rule_parts *rules; /* what numbers may break, and what not; NULL: not yet */
    bool built, refused;            /* refused: by the stack */
    bool follows;                   /* the list goes by routing: its sizes, or their overflow */
    bool routed;                    /* so do those of the plan at hand: tokens are routed */
    struct overflow overflow;
    struct demand_bank *own,
        *bank;                     /* own: not yet; bank: of the structure's routing, or NULL */
    uint64_t turn;                 /* when it was */
    struct stepper *stepper;       /* of the list, once time_evaluated has been asked */
    struct stepper *last_stepper;  /* of any list: its memory and its rates serve the next */
    bool timeless;                 /* its ops could not be listed */
    struct evaluator_hold *hold;   /* the last plan whose sequences wait, and as it is held */
    struct evaluator_pools *pools; /* of plans whose prefill is apart: each server's own */
    bool prefill_last;             /* a served plan's prefill was the worse of its steps */
    struct arena kept;             /* of these: outlives structures */
};

struct evaluation {
    struct evaluator *by; /* until it evaluates again, for sim/step/time; NULL: of mode serve */
    bool valid;           /* false: a rule or the stack refuses the plan */
    enum verdict verdict;
    struct memory_peak peak; /* without what memory_explain adds */
    uint64_t limit_bytes;
    unsigned schedule;
    const struct buffer *wall; /* whose allocation crosses the limit, or what its library cannot
                                  address; NULL when it fits */
    bool unaddressable;        /* the wall is of the second kind */
    struct overflow overflow;  /* of receive buffers of given size */
    bool overflows;            /* the wall is such a buffer: too small, not too large */
    uint64_t host_bytes;       /* of one rank, what waits in host memory */
    uint64_t host_limit_bytes; /* its part of the node's; 0: not stated */
};

/* Verdict and wall of a list with given slots (verdict_evaluate's rules for slots and values).
 * False when a size overflows 64 bits. */
bool evaluate_slots(const struct plan *plan, const struct work *work, struct slots *slots,
                    uint64_t *values, struct evaluation *out);

/* What receive buffers of given size make of an evaluation: verdict and wall. */
void evaluate_overflow(const struct work *work, const uint64_t *values,
                       const struct overflow *overflow, struct evaluation *out);

/* Whether a stack's sizes follow routing, so that its verdict is that of the 99th percentile.
 */
bool evaluate_is_routed(const struct plan *plan, const struct work *work);

/* Evaluates a plan. `structure` is any number that changes whenever something other than a slot
 * (evaluate_is_slot) changed since the last call on this evaluator; parallel.pp, vpp and cp
 * may have, where the list stays (search_family of sim/search). Allocates only when the
 * structure changes. */
void evaluate(struct evaluator *evaluator, const struct plan *plan, uint64_t structure,
              struct evaluation *out);

/* Who holds the list of a plan that was evaluated: of one whose prefill is apart, of a server
 * that decodes. */
struct evaluator *evaluate_last(struct evaluator *evaluator, const struct plan *plan);

/* serve_held of the plan; asked again of the same plan it is not sized again. Lives until the
 * next call. */
const struct plan *evaluate_held(struct evaluator *evaluator, const struct plan *plan,
                                 enum serve_start *start);

/* Whether a rank of the plan needs more than that at some moment of some stage: the same bytes
 * as evaluate's, but no stage is looked at behind one that does. False, too, of a plan that is
 * not valid. Not of mode serve. */
bool evaluate_exceeds(struct evaluator *evaluator, const struct plan *plan, uint64_t structure,
                      uint64_t bytes);

/* Brings the evaluator's list up to the plan without sampling its routing; false when a rule or
 * the stack refuses it. */
bool evaluate_list(struct evaluator *evaluator, const struct plan *plan, uint64_t structure);

/* Whether a key ("workload.micro_batch") is a mere number of the sizes, so that a change of it
 * needs no rebuilding. */
bool evaluate_is_slot(const char *key);

/* The expected fullest rank of a plan's routing, sampled once for a routing and its tokens;
 * false when it cannot be sampled. What sim/step/time takes step_s from. `evaluated`: of the
 * plan that was evaluated last. */
bool evaluate_expected(struct evaluator *evaluator, const struct plan *plan, bool evaluated,
                       struct demand *expected);

/* The sampler of a plan's routing, as kept for that; *rows is a copy whose laws live until the
 * routing's bank is another's. False when it cannot be sampled. */
bool evaluate_rows(struct evaluator *evaluator, const struct plan *plan, struct rows *rows);

void evaluator_release(struct evaluator *evaluator);
void demand_banks_release(struct demand_bank *banks, size_t n);

#endif

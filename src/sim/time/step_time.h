/* Seconds of a step: every op of the list priced (sim/time/price), a layer's ops in their
 * order, its asynchronous collectives beside them as the stack overlaps, layers of a stage,
 * micro-batches through the pipeline (sim/time/pipeline), update and host. What predict,
 * search, frontier and fixes call step_s is this on the expected fullest rank. Pure.
 *
 * A list is built once for a structure and timed for many plans that differ in numbers. Longer
 * ops never make a shorter step, streams run in a fixed order; but where rounds of a loop run
 * ahead, more of them hide more. So search may bound a step by that of balanced routing with
 * `bound` set. */
#ifndef MOEPLAN_SIM_TIME_STEP_TIME_H
#define MOEPLAN_SIM_TIME_STEP_TIME_H

#include "base/arena.h"
#include "sim/moe/demand.h"
#include "sim/time/price.h"

/* name in outputs, what it holds; they sum to the step */
#define TIME_PART_LIST(X)                                                                      \
    X(PRODUCTS, "products", "matrix products beside attention")                                \
    X(ATTENTION, "attention", "scores and values")                                             \
    X(ELEMENTWISE, "elementwise", "norms, activations, sums, embedding, loss")                 \
    X(MOVES, "moves", "rows of experts packed, permuted, combined; index tables")              \
    X(EXCHANGE, "exchange", "rows of experts between ranks, as far as it is not hidden")       \
    X(TENSOR, "tensor", "collectives of tensor and context parallelism, not hidden")           \
    X(SHARDING, "sharding", "gathers of weights, reductions of gradients, not hidden")         \
    X(PIPELINE, "pipeline", "stages that wait, and sends between them")                        \
    X(OPTIMIZER, "optimizer", "gradient norm and update")                                      \
    X(HOST, "host", "launches, waits and copies that the device waits for")                    \
    X(FIXED, "fixed", "what a profile adds to every layer and step")                           \
    X(DRAFT, "draft", "passes of a draft that proposes tokens")                                \
    X(REFERENCE, "reference", "passes without gradients beside the step (DPO's reference)")

enum time_part {
#define PART_ENUM(name, text, help) TIME_##name,
    TIME_PART_LIST(PART_ENUM)
#undef PART_ENUM
        TIME_PARTS
};

const char *time_part_name(enum time_part part);

struct step_time {
    double step_s;
    double part_s[TIME_PARTS];
    double tokens; /* of the step, over all ranks; of proposed ones those accepted */
    double micro_batches;
    double bubble_s;       /* of the busiest stage */
    double exposed_comm_s; /* exchange, tensor, sharding, sends */
    double comm_s;         /* the same whether hidden or not */
    double host_sync_s;
    double executed_flop;   /* of a rank, the mean of all stages */
    double beat_s;          /* serving: from one batch to the next, one in every stage */
    double first_s;         /* one micro-batch through all stages, forward: a token's latency */
    double least_s, most_s; /* bounds: the busiest resource, everything in turn */
};

/* The pass over what was verified; those that propose a token more. */
enum draft_pass { DRAFT_FIRST, DRAFT_NEXT, DRAFT_PASSES };

/* A plan's complete list with what prices it. */
struct stepper {
    const struct routing_data *routing; /* set by the caller, or NULL */
    struct plan plan;                   /* path and buffers resolved */
    struct work work;
    struct slots slots;
    struct pricing pricing;
    uint64_t *values,
        *even;           /* of the fullest rank; of balanced routing, where shapes are static */
    double even_carried; /* pricing.carried of the latter */
    double *op_s;        /* [work.n_ops] of the last timing */
    double (*op_link_s)[PROFILE_LEVELS]; /* [work.n_ops] likewise of collectives: how long the
                                          * links of each level carry something */
    uint8_t *item;                       /* [work.n_ops] price_item of them at these values */
    struct stepper *draft;               /* [DRAFT_PASSES] of a plan that runs one; NULL */
    /* of a plan whose steps may be halves (sim/time/step_halves.h), else NULL: as op_s, values,
     * op_link_s and item; op_s is the sum of half_s where they are */
    double *half_s[2], (*half_link_s)[PROFILE_LEVELS];
    uint64_t *half_values;
    uint8_t *half_item;
    struct arena *arena, scratch;
    bool pairs;       /* paired_is_on of the plan */
    bool halves;      /* the last timing was of two halves */
    bool single;      /* it hides exchanges of one batch behind its own products */
    bool level_links; /* what routing sends is timed as if it were balanced */
    bool bound; /* step_s no more than a pipeline takes (pipeline_bound of sim/time/pipeline),
                 * without playing it, nor than that of any fuller rank, whose rounds may hide
                 * more */
};

/* Builds the list of a plan that obeys all rules. Memory from the arena; stepper_release frees
 * the rest. STATUS_INPUT when the stack refuses the plan. */
enum status stepper_build(struct stepper *stepper, const struct plan *plan,
                          const struct profile *profile, struct arena *arena, struct err *err);

/* The same from a list that work_build made of the plan, and that stays as it is; ops are added
 * to a copy of it. The stepper is {0} but for its routing, or was of another plan. */
enum status stepper_share(struct stepper *stepper, const struct plan *plan,
                          const struct work *held, const struct profile *profile,
                          struct arena *arena, struct err *err);

/* Takes over a plan that differs in numbers only (evaluate_is_slot). */
void stepper_follow(struct stepper *stepper, const struct plan *plan);

/* Takes over one that differs in parallel.pp, vpp and cp, too, and has the same list. */
void stepper_turn(struct stepper *stepper, const struct plan *plan);

/* Another profile, or one constant of it tried otherwise. */
void stepper_price(struct stepper *stepper, const struct profile *profile,
                   const struct rates_try *attempt);

/* Seconds with the fullest rank's demand; NULL: balanced routing. False when a size overflows.
 */
bool stepper_time(struct stepper *stepper, const struct demand *demand, struct step_time *out);

/* Seconds of the step that was timed last, without its draft, were each op to take what
 * stepper->op_s says now. */
double stepper_sum(struct stepper *stepper);

void stepper_release(struct stepper *stepper);

/* What is captured as graphs: as the plan says, else all of an XLA program and of an engine's
 * decode step, pieces of its prefill, nothing of eager training. */
enum graphs step_graphs(const struct plan *plan);

/* Tokens of all ranks per micro-step. */
double step_tokens(const struct plan *plan);

#endif

/* What an op takes: FLOPs over a rate, bytes over a bandwidth, bytes over links, each at the
 * constants of a profile (sim/time/rates). The only place where an op becomes seconds: predict,
 * search, frontier, fixes, run's roofline and the charts ask here. */
#ifndef MOEPLAN_SIM_TIME_PRICE_H
#define MOEPLAN_SIM_TIME_PRICE_H

#include "sim/moe/demand.h"
#include "sim/time/comm.h"
#include "sim/time/rates.h"
#include "work/list/work.h"

struct price {
    double compute_s, memory_s, link_s;
    double s; /* what binds, with overheads; 0 where it is folded into another's rate */
    double level_s[PROFILE_LEVELS]; /* of it, how long the links of each level carry it */
};

/* What prices a plan's ops. */
struct pricing {
    const struct plan *plan; /* path resolved */
    struct rates rates;
    struct rates_key key; /* what the rates are of, where they were renewed */
    bool renewed;
    struct comm_place place[GROUP_COUNT];
    double tokens;        /* of all ranks that share the experts */
    bool beside, reduced; /* ops that may be (DONE_BESIDE, DONE_REDUCED) are, in such a step */
    bool generated;       /* experts by trtllm-gen's kernels, with tiles of their own (form) */
    double once; /* comm_ask.once of exchanges that send a token to a node once; 0: none */
    struct demand_links links; /* of the routing that is timed; not told: sources are alike */
    double carried;            /* of what exchanges count in whole rows (skew_carried) */
    double kept_units; /* that exchanges keep from products by DeepGEMM (plan/halves.h) */
    bool least;        /* what is routed crosses no more than any routing has it */
};

/* profile NULL: at the cluster's own rates, what no machine is faster than. `attempt` may be
 * NULL. The plan must live as long. */
void pricing_init(struct pricing *pricing, const struct plan *plan, enum moe_path path,
                  const struct profile *profile, const struct rates_try *attempt);

/* The same of a pricing that was renewed before, or is {0}: rates that are of such a plan stay.
 * Most plans of a sweep have those of the one before. */
void pricing_renew(struct pricing *pricing, const struct plan *plan, enum moe_path path,
                   const struct profile *profile);

/* Takes over a plan that differs in numbers only (evaluate_is_slot). */
void pricing_follow(struct pricing *pricing, const struct plan *plan, enum moe_path path);

/* Where the ranks of each group stand, of a plan that differs in parallel.pp and
 * cp. */
void pricing_place(struct pricing *pricing, const struct plan *plan, enum moe_path path);

/* The family whose constants price an op. */
enum profile_item price_item(const struct op *op, const uint64_t *values);

/* Whether an op is the experts' product that stands for the whole call. */
bool price_is_call(const struct pricing *pricing, const struct op *op);

/* Whether the kernel of the op beside it does an op: nothing begins for it. */
bool price_is_along(const struct pricing *pricing, const struct op *op);

/* What the experts' product gate_up says of the call that it stands for, where the profile has
 * one (rates.experts). */
void price_experts_call(const struct pricing *pricing, const struct op *op,
                        const uint64_t *values, struct form_experts_call *call);

/* Whether routing decides what an op sends to whom. */
bool price_is_routed(const struct op *op);

/* Bytes of it that cross each level of the links, of the rank with most there. */
void price_levels(const struct pricing *pricing, const struct work *work, const struct op *op,
                  const uint64_t *values, double bytes[PROFILE_LEVELS]);

/* An op of the list with these values of its sizes. */
struct price price_of(const struct pricing *pricing, const struct work *work,
                      const struct op *op, const uint64_t *values);

#endif

/* The rank that the others wait for: what routing gives it, as numbers of the list.
 *
 * Between two synchronising exchanges of a layer the fullest rank counts. It receives what a
 * demand says (sim/moe/demand); every rank sends alike. What a demand does not say follows in
 * closed form, without sampling: rows fall evenly on a rank's experts, each token on q R ranks.
 */
#ifndef MOEPLAN_SIM_MOE_SKEW_H
#define MOEPLAN_SIM_MOE_SKEW_H

#include "sim/moe/demand.h"

/* Of rows or tokens that all ranks of a group send alike, what n of its `ranks` do, rounded; 0
 * of no ranks. */
uint64_t skew_share(uint64_t whole, uint64_t n, uint64_t ranks);

/* The slots of balanced routing: the least that any sample's fullest rank has. `resolved`: the
 * path is not auto; slots filled by slots_from_plan or slots_set_numbers. */
void skew_even(const struct plan *resolved, struct slots *slots);

/* The same, no more than a sample's fullest rank has where groups of experts are chosen first,
 * which skew_even knows nothing of: a token reaches fewer ranks then. */
void skew_least(const struct plan *resolved, struct slots *slots);

/* Those of a demand. */
void skew_full(const struct plan *resolved, const struct demand *demand, struct slots *slots);

/* What exchanges count of routed rows or tokens is whole ones: what they carry over what the
 * filled slots say of it. Of balanced routing (demand NULL) what every rank sends, of steps
 * with one token a rank 6.3 for 7; of a demand what its fullest rank receives from the others
 * where that is more. 1 where nothing is sent. */
double skew_carried(const struct plan *resolved, const struct demand *demand,
                    const struct slots *slots);

#endif

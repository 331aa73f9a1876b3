/* What a layer's exchange puts on the links: of a step of routing, the most that any rank sends
 * or receives at each level.
 *
 * The unit is a row, or a token for each rank that has one of its experts. Returning, the same
 * cross the other way: a level counts once for both. Where a node gets each token once (`once`,
 * DeepEP's normal kernels) it crosses the network between ranks of equal places in their nodes,
 * and is copied on from there to the ranks of its experts. */
#ifndef MOEPLAN_WORK_ROWS_CROSSING_H
#define MOEPLAN_WORK_ROWS_CROSSING_H

#include "base/arena.h"
#include "plan/plan.h"

/* Links inside a node; of a rank to the network; and of a tier's ranks to those beyond it, of
 * which each has its mean, as they share them. */
enum crossing_level {
    CROSSING_UP,
    CROSSING_OUT,
    CROSSING_TIER, /* + enum network_level */
    CROSSING_LEVELS = CROSSING_TIER + NETWORK_TIERS
};

/* Where the ranks of a group stand, from the first on. All numbers at least 1. */
struct crossing_map {
    uint64_t ranks, per_node;
    uint64_t joined[NETWORK_TIERS]; /* ranks that a tier joins; `ranks`: it joins all */
    uint64_t rows, once;            /* flags: the unit is a row; a node gets a token once */
};

/* The map of a plan's expert-parallel group; false: nothing that routing decides crosses. */
bool crossing_map_of(const struct plan *plan, struct crossing_map *map);

/* Counts of one step. */
struct crossing {
    struct crossing_map map;
    uint64_t *in[CROSSING_LEVELS], *out[CROSSING_LEVELS]; /* [ranks], of tiers by their group */
    uint64_t *sent, *reached; /* [ranks] units of the source at hand by rank; where a node gets
                               * a token once, its tokens by node: counted by the caller */
};

void crossing_init(const struct crossing_map *map, struct arena *arena, struct crossing *out);
void crossing_clear(struct crossing *crossing);

/* What a source sent and reached, which are zero again then. */
void crossing_add(struct crossing *crossing, uint64_t source);

/* The most of a rank at each level. */
void crossing_most(const struct crossing *crossing, double most[CROSSING_LEVELS]);

/* The same where sources are alike, from what each rank receives of all of them in units, and
 * each node in tokens (read where `once`). What is sent then binds nowhere. */
void crossing_alike(const struct crossing_map *map, const uint64_t *rank, const uint64_t *node,
                    double most[CROSSING_LEVELS]);

/* Whether that is more than a share of the fullest rank's: tokens that cross once, or tiers. */
bool crossing_matters(const struct crossing_map *map);

#endif

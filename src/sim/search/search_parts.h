/* What the parts of a search share: what may fit, found in search.c and bounded in
 * search_bound.c, and which of it is listed, search_judge.c. */
#ifndef MOEPLAN_SIM_SEARCH_SEARCH_PARTS_H
#define MOEPLAN_SIM_SEARCH_SEARCH_PARTS_H

#include "sim/memory/refold.h"
#include "sim/search/search.h"
#include "sim/time/step_floor.h"

/* Of what progress says, the part that bounds are. */
#define SEARCH_BOUNDED 0.75

/* A combination that may fit: the least seconds and bytes it can need, and which values. */
struct search_candidate {
    double seconds; /* the slow end of their interval */
    uint64_t least_bytes;
    uint64_t number; /* place in the enumeration: breaks ties */
    uint8_t index[SEARCH_KEYS];
    uint16_t variant; /* of which plan */
    uint32_t list; /* those of one variant, tp, ep, zero, path, recompute and block_size, and of
                    * one of these, have one work list */
};

/* Puts a combination's plan together. */
typedef void search_fill(const void *context, const struct search_candidate *candidate,
                         struct plan *plan);

/* ---- bounds: search_bound.c ---- */

/* Lists, floors of steps: of layouts with one tp and ep and of one family. For one thread. */
struct search_bounds;

/* What is known of one of them. */
struct search_place;

/* Memory from the arena; release frees the rest. */
struct search_bounds *search_bounds_create(const struct search_ask *ask, struct arena *arena);
struct search_place *search_place_create(struct search_bounds *bounds, const struct plan *plan,
                                         const uint8_t index[SEARCH_KEYS], struct arena *arena);
/* Whether a family has layouts with any pp and cp; else with one of each. */
bool search_spans(const struct plan *plan);

/* Layouts of one tp and ep whose lists may be one have one of these: they differ in pp, vpp and
 * cp. */
uint32_t search_family(const struct plan *plan, const uint8_t index[SEARCH_KEYS]);

/* search_candidate.list of its combinations. */
uint32_t search_place_list(const struct search_place *place);

void search_bounds_release(struct search_bounds *bounds);

/* The fullest stage at its worst moment needs at least what the first one does at some moment;
 * its fullest rank holds at least the mean of the rows, and its own tokens once. False where
 * the stack refuses the plan or a size overflows. */
bool search_least_memory(struct search_bounds *bounds, struct search_place *place,
                         const struct plan *plan, const uint8_t index[SEARCH_KEYS],
                         struct refold_peak *peak);

/* Whether a larger micro-batch needs no less, by search_least_memory, all else alike. */
bool search_rises(struct search_bounds *bounds, const struct search_place *place,
                  const struct plan *plan, const uint8_t index[SEARCH_KEYS]);

/* ---- floors: search_floor.c ---- */

/* Device-seconds per token, the slow end of their interval, that a plan whose memory was asked
 * for last takes at least (sim/time/step_floor), of the whole of its list or of what all paths
 * have, which is asked more rarely. 0 where nothing is known. */
double search_least_seconds(struct search_bounds *bounds, struct search_place *place,
                            const struct plan *plan, const uint8_t index[SEARCH_KEYS],
                            enum floor_part part);

/* ---- the error of seconds: search_error.c ---- */

/* time_error of a search's plans. For one thread; memory from the arena. */
struct search_errors;
struct search_errors *search_errors_create(const struct search_ask *ask, struct arena *arena);
double search_error(struct search_errors *errors, const struct plan *plan);

/* ---- the walk: search_walk.c ---- */

/* What needs more cannot even be marginal, or is not wanted. */
uint64_t search_most_bytes(const struct search_ask *ask, const struct plan *plan);

/* ---- the order of bounds: search_order.c ---- */

/* Fewer seconds first, then fewer bytes, then as they were enumerated. Moves the first `wanted`
 * of n candidates to the front, sorted. */
void search_order_first(struct search_candidate *candidates, size_t n, size_t wanted);

/* ---- the judge: search_judge.c ---- */

struct search_bench {
    const struct search_ask *asks; /* by variant; what is alike in them stands in the first */
    search_fill *fill;
    const void *context;
    bool serves; /* candidates have no bounds */
};

/* One judges all candidates, as many at a time as were found; memory from the arena, and more
 * until it is closed. */
struct judge;
struct judge *judge_open(const struct search_bench *bench, struct arena *arena);

/* Whether what takes so long and needs so much, at least, cannot be listed: what was judged
 * beats it. The same for all threads between two calls. */
bool judge_beats(const struct judge *judge, double seconds, uint64_t bytes);

/* Looks at the first of n candidates in the order of their bounds, and evaluates exactly what
 * can still be listed: returns how many are left to look at, which stand first. So those that
 * are found later need not be kept. Moves the candidates. */
size_t judge_first(struct judge *judge, struct search_candidate *candidates, size_t n);

void judge_release(struct judge *judge);

/* Looks at the rest and lists; `nearest`, unless served, where none fits. */
void judge_close(struct judge *judge, struct search_candidate *candidates, size_t n,
                 const struct search_candidate *nearest, struct arena *arena,
                 struct search_result *result);

#endif

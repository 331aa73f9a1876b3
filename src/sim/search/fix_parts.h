/* What the searches for fixes share: the changes there are (fix_moves.c), one and two of them
 * (fix.c), more of them (fix_together.c), more devices (fix_devices.c); what is known of a plan
 * already (fix_known.c), and what need not be tried (fix_floor.c). */
#ifndef MOEPLAN_SIM_SEARCH_FIX_PARTS_H
#define MOEPLAN_SIM_SEARCH_FIX_PARTS_H

#include "sim/step/evaluate.h"
#include "sim/search/drops.h"
#include "sim/search/fix.h"

#define FIX_OFFLOAD "optimizer.offload" /* the key of what moves the states to the host */

enum { FIX_TOGETHER = 4, FIX_MOVES = 160, FIX_KNOWN = 512, FIX_BANKS = 64, FIX_LISTS = 32 };

/* One change: of one idea (`key`), in one or more settings. */
struct fix_move {
    const char *key;  /* moves of one key exclude each other; they stand in order of growing
                         change, adjacent */
    const char *set;  /* "a=1" or "a=1 b=2" */
    const char *note; /* what it costs, in words */
    enum fix_kind kind;
    const struct field
        *field; /* of the only key that is set; NULL: several, or not looked up */
};

struct fix_moves {
    struct fix_move list[FIX_MOVES];
    size_t n;
};

struct fix_known;
struct fix_structure;

struct fix_search {
    const struct plan *plan;
    struct plan *changed; /* with the moves of the question at hand: too large for the stack */
    const struct routing_data *routing;
    const struct profile *profile;
    struct arena *arena, scratch;
    struct evaluator evaluator;          /* of what is timed, and whose rows drop */
    struct evaluator *lists[FIX_LISTS];  /* by structure; NULL: not yet */
    struct demand_bank banks[FIX_BANKS]; /* by routing: most changes leave it as it is */
    enum verdict accept;                 /* the least that counts as fitting */
    struct fix_known *known[FIX_KNOWN];  /* by hash */
    struct fix_structure *structures[FIX_KNOWN];
    uint64_t n_structures;
    bool *numbers;            /* which words of a plan they leave out */
    double seconds_per_token; /* of the plan as it is, once it is timed */
    bool timed;
    struct fix *fixes;
    size_t n, capacity;
};

/* The changes that would lessen the memory of a plan, but the micro-batch, which is found by
 * bisection, and more devices. */
void fix_list_moves(const struct plan *plan, struct arena *arena, struct fix_moves *moves);

/* Looks up what a move sets, so that it need not be read whenever the move is made. */
void fix_resolve(struct fix_move *move);

/* The moves of all keys but one. */
struct fix_moves *fix_moves_but(const struct fix_moves *moves, const char *key,
                                struct arena *arena);

/* Appends halves of the micro-batch, for changes beside it; engines queue what they cannot
 * take. */
void fix_list_batches(struct fix_search *search, struct fix_moves *moves);

/* The plan with n moves; false when one breaks its field's limits, or when what they move to
 * the host is not what the stack moves with the others. */
bool fix_apply(const struct plan *plan, const struct fix_move *moves, size_t n,
               struct plan *changed);

/* What is known of a changed plan, for the two below, which work it out once, however often
 * they are asked. */
struct fix_known *fix_known_of(struct fix_search *search, const struct plan *changed);

/* Whether a plan needs more than that on some stage even with the least that routing can ask
 * for: weights, gradients and optimizer of a training plan alone, or all of it; no stage is
 * looked at behind one that does. False where that is not known, and of a plan that was
 * evaluated already. */
bool fix_needs_more(struct fix_search *search, const struct plan *changed,
                    struct fix_known *known, uint64_t bytes);

/* Evaluates a changed plan, with the least that routing can ask for or with its 99th
 * percentile. The result has no wall. Whether its sizes follow routing. */
bool fix_evaluate(struct fix_search *search, const struct plan *changed,
                  struct fix_known *known, bool least, struct evaluation *result);

/* Whether the plan with n moves is as good as `accept`, and not above the limit. Routing is
 * sampled only when the least that it can ask for fits. */
bool fix_fits(struct fix_search *search, const struct fix_move *moves, size_t n,
              struct evaluation *result);

/* Bytes of them on the stage that has most; 0 where a size overflows. */
uint64_t fix_state_bytes(struct fix_search *search, const struct plan *plan);

/* Whether the state is too large whatever of these moves are made, however many: those that
 * change the result are left out without `numerics`. */
bool fix_is_hopeless(struct fix_search *search, const struct plan *plan,
                     const struct fix_moves *moves, bool numerics);

/* Device-seconds per token of the plan with n moves; HUGE_VAL where it cannot be timed. */
double fix_seconds(struct fix_search *search, const struct fix_move *moves, size_t n);

/* Keeps n moves as a fix if they fit together. */
bool fix_keep(struct fix_search *search, const struct fix_move *moves, size_t n);

/* What is set first when a model is laid out, experts, stages, tensors, shards and
 * recomputation: the fastest of all threes of them that fit and need all
 * three, with expert parallelism among them and without. */
void fix_layout(struct fix_search *search, const struct fix_moves *moves);

/* Greedy: up to FIX_TOGETHER moves that fit together, each of them needed, are kept. */
void fix_together(struct fix_search *search, const struct fix_moves *moves);

/* The same beside n moves that are taken already (FIX_TOGETHER places); none of them changes
 * the result. How many were taken in all, 0: none fit. `moves` are those of the plan with what
 * was taken. */
size_t fix_gather(struct fix_search *search, const struct fix_moves *moves,
                  struct fix_move *taken, size_t n);

/* Whether a fix moves the optimizer's states to the host. */
bool fix_offloads(const struct fix *fix);

/* The fixes so far that do not change the result and are as good as `accept`. One that offloads
 * costs so much time that it ends no search for others. */
size_t fix_count_harmless(const struct fix_search *search, enum verdict accept);

/* The smallest number of whole nodes (of devices, below one node) with which the plan fits, as
 * it is, or with what is fastest of one more change of the layout and of several changes. */
void fix_devices(struct fix_search *search);

/* fix_find of a plan whose prefill is apart (fix.h). */
const struct fix *fix_pools(const struct plan *plan, const struct routing_data *routing,
                            const struct profile *profile, struct rows_known *known,
                            struct arena *arena, size_t *n);

#endif

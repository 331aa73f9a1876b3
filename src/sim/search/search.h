/* Search: every layout of a plan's model on its cluster, fastest first, and the Pareto set of
 * memory and time. Time is the slow end of its interval: what no run of the profile was like
 * has a wider one, and has to be faster by that to come first.
 *
 * First every combination of the space is checked against the rules and bounded from below: in
 * memory, with routing taken at its balanced part (a fullest rank never has less), and in
 * seconds, by what its layers take in any pipeline (sim/time/step_floor; longer ops never make
 * a shorter step). Then, in the order of those seconds, what may still be listed is looked at:
 * first whether a stage needs more than what is as fast, then its bytes, then a bound on its
 * pipeline, last its step. None of it changes the answer (tested against brute force); the
 * answer does not depend on the number of threads.
 * Served plans have few layouts: all of them are evaluated, and so is all that may fit where
 * `every` layout is asked for. A layout with tp in training splits the sequence over it
 * (parallel.sp) unless the plan has tp without sp itself; one of an engine as the engine does,
 * unless the plan has it otherwise for its own. Pure. */
#ifndef MOEPLAN_SIM_SEARCH_SEARCH_H
#define MOEPLAN_SIM_SEARCH_SEARCH_H

#include "base/arena.h"
#include "base/pool.h"
#include "sim/search/fix.h"
#include "sim/search/sweep.h"
#include "sim/step/evaluate.h"
#include "sim/step/time.h"

/* name, the plan's key; the order of enumeration, the last varies fastest */
#define SEARCH_LIST(X)                                                                         \
    X(TP, "tp", "parallel.tp")                                                                 \
    X(CP, "cp", "parallel.cp")                                                                 \
    X(PP, "pp", "parallel.pp")                                                                 \
    X(VPP, "vpp", "parallel.vpp")                                                              \
    X(EP, "ep", "parallel.ep")                                                                 \
    X(ETP, "etp", "parallel.etp")                                                              \
    X(ZERO, "zero", "parallel.zero")                                                           \
    X(PATH, "path", "moe.path")                                                                \
    X(RECOMPUTE, "recompute", "recompute.kind")                                                \
    X(BLOCK, "block_size", "moe.block_size")                                                   \
    X(CAPACITY, "capacity_factor", "moe.capacity_factor")                                      \
    X(MICRO_BATCH, "micro_batch", "workload.micro_batch")

enum search_key {
#define SEARCH_ENUM(name, text, key) SEARCH_##name,
    SEARCH_LIST(SEARCH_ENUM)
#undef SEARCH_ENUM
        SEARCH_KEYS
};

const char *search_key_name(enum search_key key); /* "ep" */
const char *search_key_full(enum search_key key); /* "parallel.ep" */

/* Whether a rule is between keys that a search turns, so that it is for layouts to obey and not
 * for the plan that is searched. */
struct rule;
bool search_turns(const struct rule *rule);

enum { SEARCH_VALUES = 64 };

/* Values to try, ascending; words by their number in the plan. */
struct search_space {
    size_t n[SEARCH_KEYS];
    double value[SEARCH_KEYS][SEARCH_VALUES];
};

/* Everything that can matter for the plan's mode and cluster: divisors of the world for the
 * parallel keys (tp and etp inside a node, cp up to 16), every path, recompute none, selective
 * and full, zero 0 to 3, powers of two of micro-batches; and the plan's own value of each. */
void search_space_default(const struct plan *plan, struct search_space *space);

/* The plan's value of a key; a plan with another one. Keys that the chosen path does not read
 * keep the plan's value in every layout found. */
double search_get(const struct plan *plan, enum search_key key);
void search_set(struct plan *plan, enum search_key key, double value);

/* What the best layout has: name in options, title. Of serving but the first. */
#define SEARCH_OBJECTIVE_LIST(X)                                                               \
    X(TOKENS, "tokens", "fastest")                                                             \
    X(TPOT, "tpot", "least time per token")                                                    \
    X(TTFT, "ttft", "least time to the first token")                                           \
    X(MEMORY, "memory", "least memory")

enum search_objective {
#define OBJECTIVE_ENUM(name, text, title) SEARCH_BY_##name,
    SEARCH_OBJECTIVE_LIST(OBJECTIVE_ENUM)
#undef OBJECTIVE_ENUM
        SEARCH_OBJECTIVES
};

struct search_hit {
    size_t variant; /* which of the asked plans it is a layout of */
    double score;   /* what hits are ranked by, least first: device-seconds per token unless
                     * another objective is asked for */
    struct serve_times serving; /* mode serve */
    struct serve_alone alone;   /* where it is asked for in place of times */
    double value[SEARCH_KEYS];
    uint64_t number;          /* place in the enumeration, the same in a part of it */
    struct step_time time;    /* on the expected fullest rank: what predict says */
    double seconds_per_token; /* device-seconds, expected */
    double error;             /* of them, either way: sim/step/time.h; hits are ranked by the
                               * slow end, seconds_per_token (1 + error) */
    bool outside;             /* of another device, model or key than the profile's runs had */
    uint64_t total_bytes, state_bytes, limit_bytes;
    enum verdict verdict;
    double drop_fraction; /* of the routed rows, expected; of listed hits */
    bool splits;          /* tensor-parallel ranks split the sequence: parallel.sp */
    const char *wall;     /* of one that does not fit, or NULL */
};

/* What is asked of one plan. */
struct search_ask {
    const struct plan *plan;
    const struct routing_data *routing; /* or NULL */
    const struct profile *profile;      /* that prices steps; NULL: the cluster's own rates */
    const struct search_space *space;
    bool marginal;  /* list what is marginal, too, not only what fits */
    bool fixes;     /* where no layout fits, say what else makes the nearest fit */
    bool fits_only; /* where none does, do not look for the nearest: `missed` says it */
    bool alone;     /* of a server of a pool: what it does when it is full, and nothing else */
    bool every;     /* list all that is wanted, as enumerated: what parts list is what all do */
    uint64_t at_most_bytes;          /* more total is not wanted; 0: the limit alone */
    enum search_objective objective; /* other than tokens: of a served plan */
    double most_tpot_s, most_ttft_s; /* of a served plan: more is not wanted; 0: any */
    size_t best;                     /* how many to list */
    struct pool *pool;               /* or NULL */
    struct sweep_part part;          /* of the layouts; {0}: all */
    void (*progress)(void *context, double share); /* or NULL; called on the caller's thread */
    void *context;
};

/* What a hit is ranked by, and whether it is within the latencies that are wanted. */
double search_score(const struct search_ask *ask, const struct search_hit *hit);
bool search_is_soon(const struct search_ask *ask, const struct search_hit *hit);

struct search_result {
    uint64_t points;    /* combinations whose layout obeys the rules */
    uint64_t invalid;   /* of them: a rule or the stack refuses them */
    uint64_t too_large; /* of them: do not fit, by the bound */
    uint64_t exact;     /* of the rest: evaluated exactly; others need more than faster ones */
    struct search_hit *best;
    size_t n_best; /* fastest first; of equal time only the one with the least memory. Of
                    * `every`: all, by number, and no Pareto set */
    struct search_hit *pareto;
    size_t n_pareto;           /* fastest first: nothing listed before needs as little memory */
    size_t marginal;           /* left out as not asked for, of equal time one: marginal, and
                                * as fast as the last of the best, or smaller than what is */
    bool missed;               /* nothing fits: `nearest` is the least memory found */
    struct search_hit nearest; /* evaluated exactly */
    const struct fix
        *fixes; /* of it, where they were asked for and it needs more than is there */
    size_t n_fixes;
};

/* The layouts of n > 0 plans, ranked among each other; what is asked of them is the same but
 * for plan, profile and space, and so is their mode. Each plan's layouts follow those of the
 * one before it. Memory from the arena. STATUS_INPUT when no combination obeys the rules, but
 * of a part of `every`, which then lists none. */
enum status search_run(const struct search_ask *asks, size_t n, struct arena *arena,
                       struct search_result *result, struct err *err);

/* The plan of a hit: of the ask's other keys, those that follow from its layout as for hits. */
void search_plan(const struct search_ask *ask, const struct search_hit *hit, struct plan *plan);

#endif

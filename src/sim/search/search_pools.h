/* Search over servers that prefill and that decode: which layout each has, and how many there
 * are of each.
 *
 * Each pool is searched alone (sim/search/search): of all layouts that fit, those stay of which
 * no other answers as many requests a second for its devices when it is full, and as soon when
 * it is empty. Their pairs, with the numbers of servers that balance, are bounded from below by
 * what each pool does when it is full and by Little's law over requests that wait for nothing,
 * and are evaluated in the order of these bounds, like the plan of both itself, until no bound
 * is as good as what is listed. Beside the best stands the Pareto set of what is left to be
 * weighed: tokens a second for the devices, the first token, further ones; a pair is passed
 * over where one that was evaluated is as good in all three as it can be. Pairs share their
 * servers (search_servers.h).
 *
 * A layout that is neither is not looked at beside others: the seconds of a decode step are
 * taken to rise evenly with its sequences. Between both ends pairs were up to 2.7 % better than
 * one of the set (tests/property/test_pools_search). Pure. */
#ifndef MOEPLAN_SIM_SEARCH_SEARCH_POOLS_H
#define MOEPLAN_SIM_SEARCH_SEARCH_POOLS_H

#include "sim/search/search.h"

/* What is asked of one plan of mode serve with a part `prefill`; workload.limit is kept. */
struct pools_ask {
    const struct plan *plan;
    const struct routing_data *routing;  /* or NULL */
    const struct profile *profile;       /* that prices steps */
    const struct search_space *space[2]; /* of servers that prefill, that decode */
    uint64_t at_most_bytes;              /* as of a search_ask */
    bool marginal;                       /* the same */
    enum search_objective objective;     /* other than memory */
    size_t best;                         /* how many pairs of layouts to list */
    bool pareto;                         /* and the Pareto set */
    struct pool *pool;                   /* or NULL */
};

/* A pair of layouts, with its best numbers of servers: both stand in serving.apart, of which
 * all is as predict says it. Of an objective in seconds the score is one; of tokens, devices
 * (of all that may be used where that is said) over tokens a second. */
struct pools_hit {
    size_t variant; /* which of the asked plans */
    double score, device_s_per_token;
    struct search_hit side[2]; /* prefill, decode: value, splits, memory as predict says it */
    struct serve_times serving;
    uint64_t devices; /* of both */
};

struct pools_result {
    struct search_result side[2]; /* counts of both searches, summed over plans */
    size_t front[2];              /* layouts that stayed */
    size_t pairs, exact;          /* pairs with their numbers; of them evaluated */
    struct pools_hit *best;       /* [n_best] best first */
    size_t n_best;
    struct pools_hit *pareto; /* [n_pareto] most tokens a second for the devices first */
    size_t n_pareto;
    size_t missed; /* pool of which no layout fits and keeps its limit: 1 prefill, 2 decode */
};

/* Of n > 0 plans, ranked among each other, for each of so many devices at most (0: few servers
 * of each, as many of either as devices answer most by) a result. A pool that several plans
 * have alike, priced by one profile, is searched once. Memory from the arena. STATUS_INPUT when
 * no layout of a pool obeys the rules. */
enum status pools_search(const struct pools_ask *asks, size_t n, const uint64_t *devices,
                         size_t n_results, struct arena *arena, struct pools_result *results,
                         struct err *err);

/* The plan of a hit, servers that prefill in `prefill`. */
void pools_plan(const struct pools_ask *ask, const struct pools_hit *hit, struct plan *prefill,
                struct plan *plan);

#endif

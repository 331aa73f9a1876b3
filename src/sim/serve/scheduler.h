/* An engine's scheduler, played step by step over requests that arrive.
 *
 * Each replica of attention has a queue, first come first served, and slots; all replicas make
 * their steps together. What a step holds follows the engine (engines.md section 4):
 *
 *   mixed  what decodes leave of the budget goes to prompts, the last cut to fit (vLLM)
 *   whole  the same, but a prompt that fits into a budget is not cut (TensorRT-LLM)
 *   apart  prompts go first, in steps of their own, and decodes wait (SGLang)
 *
 * With a balance (TensorRT-LLM pyexecutor/py_executor.py, _balance_adp_requests) prompts are
 * held back, while each replica decodes, until each has one to begin or as many steps have gone
 * by since prompts were last let in, idle ones counted; and then so many steps more.
 *
 * Where a cache is played, a prompt begins by what it leaves free:
 *
 *   prompt  room for all of it beside what the others hold (vLLM v1/core/sched/scheduler.py:
 *           full_sequence_must_fit, no watermark). A step that finds none takes out the newest,
 *           back to the front of the queue, and begins nobody. With prefix caching, its
 *           default, what nobody has overwritten is found again: freed blocks are taken in
 *           turn, of a sequence its last ones first (v1/core/single_type_kv_cache_manager.py,
 *           free; block_pool.py)
 *   part    room for its answer as well, beside a part of what theirs have yet to say, which
 *           falls from step to step; all of it of those that begin in the same step (SGLang
 *           managers/schedule_policy.py, PrefillAdder). A step that finds none takes out who
 *           has said least, of those who has the longest prompt (drafts: the newest), to the
 *           end of the queue, all to be computed again (managers/schedule_batch.py,
 *           retract_decode)
 *   whole   room to the end of its answer beside that of the others (TensorRT-LLM
 *           GUARANTEED_NO_EVICT, batch_manager/capacityScheduler.cpp): nobody is taken out
 *
 * Steps are planned one ahead, so a request that arrives during a step is not in the next one.
 * Between two events all steps are alike and are played at once. Pure and deterministic. */
#ifndef MOEPLAN_SIM_SERVE_SCHEDULER_H
#define MOEPLAN_SIM_SERVE_SCHEDULER_H

#include "base/arena.h"
#include "plan/engine.h"

enum { COST_KNOTS = 20 };

enum admission { ADMIT_PROMPT, ADMIT_PART, ADMIT_WHOLE };

/* Seconds over tokens or sequences: linear between knots, the ends' slopes outside. */
struct cost_curve {
    unsigned n;
    double x[COST_KNOTS], y[COST_KNOTS];
};

double cost_at(const struct cost_curve *curve, double x);

struct step_costs {
    struct cost_curve decode;    /* by sequences of a replica, of which all have as many */
    struct cost_curve routed;    /* of it: experts, by the mean of replicas; n 0: none */
    double filler;               /* sequences that a replica's empty places count as there */
    struct cost_curve attention; /* of it: what a mixed step has beside its tokens' work */
    struct cost_curve prefill;   /* by tokens of a replica */
    struct cost_curve experts;   /* of it: what all replicas share out */
    struct cost_curve draft;     /* of decode: a draft's passes; n 0: none */
    struct {                     /* of a chunk whose prompt has tokens in the cache */
        double pair_s;           /* for each of its tokens and each of those */
        double token_s;          /* for each of those: latents that are expanded again */
        double chunk;            /* tokens of one batch: further ones are in other stages */
    } earlier;
};

/* Seconds beside those of a replica's step: `pairs` of new and earlier tokens, `earlier` ones.
 */
double cost_earlier(const struct step_costs *costs, double tokens, double pairs,
                    double earlier);

struct scheduler_result;

struct scheduler_ask {
    enum batching batching;
    uint64_t replicas, slots, budget; /* slots and tokens of a step: of a replica */
    uint64_t requests;                /* to report */
    uint64_t first;     /* of them by number: those before it bring the queue to its state */
    uint64_t in_flight; /* of all replicas: one that ends is replaced at once; 0: open loop */
    double before_s;    /* closed loop: of the next request before the scheduler has it */
    double rate;        /* open loop: requests per second of all replicas, Poisson */
    uint64_t input, output;
    uint64_t shared; /* tokens of every prompt that are in the cache before it begins */
    double spread;   /* lengths lie evenly in (1 - spread) .. 1 of these */
    struct {
        uint64_t timeout, wait; /* workload.balance; timeout 0: replicas do not wait */
    } balance;
    struct {
        uint64_t tokens; /* of a replica; 0: slots alone bound what it holds */
        enum admission admits;
        bool keeps; /* prefix caching: what was taken out and not overwritten is found again */
    } cache;
    uint64_t poll_steps; /* decode steps between looks for new requests; 0, 1: every step */
    uint64_t drafted;    /* tokens that a draft proposes for a sequence and step */
    double accepted;     /* tokens of a sequence that a step yields, in the mean */
    uint64_t seed;
    const struct step_costs *costs;
    /* NULL, or whether what was noted until now settles what is asked of the play, which then
     * ends; asked after each request that is reported. */
    bool (*settled)(void *context, const struct scheduler_result *until);
    void *context;
    bool singly; /* tests: one by one, too, steps in which nobody that waits can begin */
};

struct scheduler_result {
    uint64_t n;                           /* fewer than were asked for: it was settled */
    double *ttft_s, *tpot_s, *latency_s;  /* [n] of whole requests, in the order they end */
    double *ends_s;                       /* [n] ascending, from the first arrival */
    double steady_s;                      /* closed loop: latency_s, the mean over requests that
                                           * neither began with all others nor ended after the
                                           * last had come; of all where there are no such */
    uint64_t input_tokens, output_tokens; /* of these requests */
    uint64_t preempted;                   /* times that any request was */
};

/* Memory from the arena. */
void scheduler_play(const struct scheduler_ask *ask, struct arena *arena,
                    struct scheduler_result *out);

/* Each kind of time ascending, for percentiles; they are no longer of the same request. */
void scheduler_sort(struct scheduler_result *result);

#endif

/* What the files of the scheduler share; not for others. */
#ifndef MOEPLAN_SIM_SERVE_SCHEDULER_PARTS_H
#define MOEPLAN_SIM_SERVE_SCHEDULER_PARTS_H

#include "base/rng.h"
#include "sim/serve/scheduler.h"

#define NOBODY UINT32_MAX

struct request {
    double arrived_s, first_s;
    uint64_t ready;  /* the first step that may hold it */
    uint64_t finish; /* decode step that ends it */
    uint64_t left;   /* tokens of its prompt */
    uint64_t input, output;
    uint32_t replica, next; /* next: behind it in the queue */
    uint32_t place;         /* in the heap, of one that decodes */
    bool started;
    /* of a cache that is played: tokens of its answer before it was preempted; those of its
     * prompt since, and the decode step that began its answer */
    uint64_t said, prompt, joined;
    uint64_t begun;        /* the step in which it began */
    double behind, mark;   /* tokens it left in the cache when it was taken out; `taken` of the
                            * replica from which on they are overwritten, the last first */
    uint32_t older, newer; /* that began before and after it, of those that run */
};

struct replica {
    uint32_t first, last;       /* of its queue; NOBODY: empty */
    uint64_t running, decoding; /* of slots: all, those past their prompt */
    uint64_t tokens;            /* of prompts in the step at hand */
    double pairs, earlier;      /* those tokens with earlier ones of their prompts; these */
    uint32_t newest;            /* of those that run */
    bool relieved;              /* its cache was full before the step at hand */
    double held, ratio;         /* tokens of the cache; of answers to come that are reserved */
    double taken;               /* tokens that it ever held anew */
    uint64_t wholes, answers;   /* tokens of those that run, to the end of their answers; of
                                   those that they had yet to say when they began */
};

struct player {
    const struct scheduler_ask *ask;
    struct scheduler_result *out;
    struct request *requests;
    size_t n_issued, most; /* most: requests there are room for */
    size_t n_queued;       /* of them in a queue: the others are on their way to the engine */
    struct {
        double sum_s;
        uint64_t n;
    } steady;        /* latencies that result.steady_s is the mean of */
    size_t known;    /* of them the engine has looked for: the first ones */
    uint64_t unseen; /* decode steps since it looked */
    struct replica *replicas;
    uint32_t *heap; /* of those that decode, the first to end on top */
    size_t n_heap;
    uint64_t steps, decode_steps;
    uint64_t waited, joined; /* steps that prompts of some replicas, of all, were held back */
    double now_s, next_arrival_s;
    struct rng arrivals;
    bool settled;  /* as the ask has it */
    double each_s; /* of a decode step of those that decode; 0: they are others now */
};

/* fmin and fmax, which are calls: there is no NaN here. */
static inline double lower(double a, double b)
{
    return a < b ? a : b;
}

static inline double higher(double a, double b)
{
    return a > b ? a : b;
}

/* ---- the heap of those that decode ---- */

void player_push(struct player *player, uint32_t request);
uint32_t player_pop(struct player *player);
void player_remove(struct player *player, uint32_t request);

/* ---- the cache; nothing where none is played ---- */

void cache_begin(const struct player *player, struct replica *at);

/* Whether a request that has not begun finds room, or may begin for want of others. */
bool cache_admits(const struct player *player, const struct replica *at,
                  const struct request *r);

/* Of a request that has not begun: tokens of its prompt that the cache still has; they are its
 * own when it begins. */
uint64_t cache_kept(const struct player *player, const struct replica *at,
                    const struct request *r);
void cache_find(const struct player *player, struct replica *at, struct request *r);

/* A prompt's tokens are computed; its answer begins; n decode steps are made; it ends. */
void cache_take(struct player *player, struct replica *at, struct request *r, uint64_t tokens);
void cache_join(const struct player *player, struct request *r);
void cache_grow(struct player *player, uint64_t n);
void cache_leave(struct player *player, struct replica *at, const struct request *r);

/* Of a request that waits for room: decode steps to come after none of which it finds any, as
 * long as nobody else ends, begins or is taken out, and maybe not after the next either;
 * UINT64_MAX: after no number of them. Those that run decode. */
uint64_t cache_shut_steps(const struct player *player, const struct replica *at,
                          const struct request *r);

/* Decode steps until a replica takes somebody out for want of room, at least one. */
uint64_t cache_steps(const struct player *player);

/* The same of steps that are made one by one, at most so many: with sums that are rounded step
 * by step, to the last bit what so many calls of cache_grow make of them. */
uint64_t cache_steps_singly(const struct player *player, uint64_t most);
void cache_grow_singly(struct player *player, uint64_t n);

/* Takes requests out until the others have room for a step. */
void cache_relieve(struct player *player);

/* Tokens of its answer that a request has yet to decode after the first. */
uint64_t cache_answer(const struct request *r);

/* Tokens that a replica's answers leave to prompts. */
uint64_t player_left_over(const struct player *player, const struct replica *at);

#endif

/* A replica's cache in the play of its scheduler; see scheduler.h. Tokens are counted, not
 * blocks. */
#include <math.h>

#include "base/checked.h"
#include "sim/serve/scheduler_parts.h"

/* SGLang environ.py: of answers to come this part is reserved at first and at least, falling
 * over so many decode steps; less where replicas share a model (server_args.py,
 * schedule_conservativeness); no answer counts for more tokens; the part after some were taken
 * out counts so many steps more (managers/schedule_batch.py, retract_decode). */
static const double FIRST_RATIO = 0.7, LEAST_SHARE = 0.14, REPLICAS_SHARE = 0.3;
enum { RATIO_STEPS = 600, MOST_ANSWER = 4096, RELIEF_STEPS = 20 };

static bool is_played(const struct player *p)
{
    return p->ask->cache.tokens > 0;
}

static double accepted(const struct player *p)
{
    return p->ask->accepted > 1 ? p->ask->accepted : 1;
}

/* Tokens that a decode step of a replica adds. */
static double growth(const struct player *p, const struct replica *at)
{
    return (double)at->decoding * accepted(p);
}

uint64_t cache_answer(const struct request *r)
{
    return r->output - 1 - lesser(r->said, r->output - 1);
}

/* Of its answer, tokens that a request has decoded since it began; before that none. */
static double decoded(const struct player *p, const struct request *r)
{
    return r->left ? 0 : (double)(p->decode_steps - r->joined) * accepted(p);
}

static double holds(const struct player *p, const struct request *r)
{
    return (double)(r->prompt - r->left) + decoded(p, r);
}

static double first_ratio(const struct player *p)
{
    return FIRST_RATIO * (p->ask->replicas > 1 ? REPLICAS_SHARE : 1);
}

/* What is reserved of answers to come falls by so much a step, to no less than this. */
static double least_ratio(const struct player *p)
{
    return first_ratio(p) * LEAST_SHARE;
}

static double ratio_fall(const struct player *p)
{
    return (first_ratio(p) - least_ratio(p)) / RATIO_STEPS;
}

void cache_begin(const struct player *p, struct replica *at)
{
    *at = (struct replica){
        .first = NOBODY, .last = NOBODY, .newest = NOBODY, .ratio = first_ratio(p)};
}

/* What a running request has yet to say, as its admission counts it. */
static double to_come(const struct player *p, const struct request *r)
{
    double rest = (double)cache_answer(r) - decoded(p, r);
    return lower(higher(rest, 0), MOST_ANSWER);
}

/* Whether less is asked than `room` has beside what is reserved for those that run, by what
 * their admission counted; all of it of those that begin now. No more than their answers is, no
 * ratio being above 1, and no less than a part of them has: most need not be looked at. */
static bool is_beside(const struct player *p, const struct replica *at, double asked,
                      double room)
{
    static const double rounded = 1 + 1e-9; /* sums of so many terms */
    double sum = 0;
    if (asked < room - (double)at->answers * rounded)
        return true;
    for (uint32_t i = at->newest; i != NOBODY && asked < room - sum; i = p->requests[i].older) {
        const struct request *r = &p->requests[i];
        sum += to_come(p, r) * (r->begun == p->steps ? 1 : at->ratio);
    }
    return asked < room - sum;
}

static uint64_t whole(const struct request *r)
{
    return r->input + r->output;
}

/* Of what is reserved for those that run, all of whom decode: tokens, and what a decode step
 * gives back at most, by their words (all of them count) and by the part that falls. */
static double reserved(const struct player *p, const struct replica *at, double *back)
{
    double come = 0, fall = at->ratio > least_ratio(p) ? ratio_fall(p) : 0;
    for (uint32_t i = at->newest; i != NOBODY; i = p->requests[i].older)
        come += to_come(p, &p->requests[i]);
    *back = fall * come + at->ratio * growth(p, at);
    return at->ratio * come;
}

/* A step gives back no more than the first one does, since what is to come and its part only
 * fall, and takes what it adds. */
static uint64_t shut_beside(const struct player *p, const struct replica *at, double asked)
{
    static const double rounded = 1e-9; /* of sums of so many terms */
    double tokens = (double)p->ask->cache.tokens, back, sum = reserved(p, at, &back);
    double lacks = asked + at->held + sum - tokens - rounded * (asked + at->held + sum);
    double rise = back - growth(p, at) * (1 - rounded);
    if (lacks < 0)
        return 0;
    return rise > 0 ? (uint64_t)lower(lacks / rise, (double)UINT32_MAX) : UINT64_MAX;
}

/* Of a request that has not begun: what it asks for where a part is reserved. */
static double asked_beside(const struct request *r)
{
    return (double)r->left + lower((double)cache_answer(r), MOST_ANSWER);
}

bool cache_admits(const struct player *p, const struct replica *at, const struct request *r)
{
    double tokens = (double)p->ask->cache.tokens;
    if (!is_played(p) || !at->running)
        return true;
    switch (p->ask->cache.admits) {
    case ADMIT_PROMPT:
        return !at->relieved && (double)r->left <= tokens - at->held - growth(p, at);
    case ADMIT_PART:
        return is_beside(p, at, asked_beside(r), tokens - at->held);
    case ADMIT_WHOLE:
        break;
    }
    return (double)whole(r) <= tokens - (double)at->wholes;
}

uint64_t cache_shut_steps(const struct player *p, const struct replica *at,
                          const struct request *r)
{
    double tokens = (double)p->ask->cache.tokens;
    if (!is_played(p) || !at->running)
        return 0;
    switch (p->ask->cache.admits) {
    case ADMIT_PROMPT: /* what is held only grows */
        return (double)r->left > tokens - at->held - growth(p, at) ? UINT64_MAX : 0;
    case ADMIT_PART:
        return shut_beside(p, at, asked_beside(r));
    case ADMIT_WHOLE:
        break;
    }
    return (double)whole(r) > tokens - (double)at->wholes ? UINT64_MAX : 0;
}

uint64_t cache_kept(const struct player *p, const struct replica *at, const struct request *r)
{
    if (!p->ask->cache.keeps || r->started || r->behind <= 0)
        return 0;
    double overwritten = fmax(0, at->taken - r->mark);
    double kept = fmax(0, floor(r->behind - overwritten));
    return kept < (double)r->left ? (uint64_t)kept : r->left - 1;
}

void cache_find(const struct player *p, struct replica *at, struct request *r)
{
    uint64_t kept = cache_kept(p, at, r);
    r->left -= kept;
    at->held += (double)kept;
}

void cache_take(struct player *p, struct replica *at, struct request *r, uint64_t tokens)
{
    uint32_t number = (uint32_t)(r - p->requests);
    if (!is_played(p))
        return;
    at->held += (double)tokens;
    at->taken += (double)tokens;
    r->joined = p->decode_steps; /* it has decoded nothing */
    if (r->started)
        return;
    at->wholes += whole(r);
    at->answers += cache_answer(r);
    r->begun = p->steps;
    r->older = at->newest;
    r->newer = NOBODY;
    if (at->newest != NOBODY)
        p->requests[at->newest].newer = number;
    at->newest = number;
}

void cache_join(const struct player *p, struct request *r)
{
    r->joined = p->decode_steps;
}

void cache_grow(struct player *p, uint64_t n)
{
    double last = least_ratio(p), fall = ratio_fall(p);
    for (uint64_t i = 0; is_played(p) && i < p->ask->replicas; i++) {
        struct replica *at = &p->replicas[i];
        at->held += (double)n * growth(p, at);
        at->taken += (double)n * growth(p, at);
        at->ratio = higher(at->ratio - (double)n * fall, last);
    }
}

/* Sums of whole numbers are not rounded, and need not be made one by one. */
static bool is_whole(double x)
{
    return x >= 0 && x < 0x1p52 && (double)(uint64_t)x == x;
}

static double add_singly(double sum, double each, uint64_t n)
{
    if (is_whole(sum) && is_whole(each))
        return sum + (double)n * each;
    for (uint64_t i = 0; i < n; i++)
        sum += each;
    return sum;
}

void cache_grow_singly(struct player *p, uint64_t n)
{
    double last = least_ratio(p), fall = ratio_fall(p);
    for (uint64_t i = 0; is_played(p) && i < p->ask->replicas; i++) {
        struct replica *at = &p->replicas[i];
        at->held = add_singly(at->held, growth(p, at), n);
        at->taken = add_singly(at->taken, growth(p, at), n);
        uint64_t falls = 0;
        do
            at->ratio = higher(at->ratio - fall, last);
        while (++falls < n && at->ratio > last);
    }
}

void cache_leave(struct player *p, struct replica *at, const struct request *r)
{
    if (!is_played(p))
        return;
    at->held = at->running ? at->held - holds(p, r) : 0;
    at->wholes -= whole(r);
    at->answers -= cache_answer(r);
    *(r->newer == NOBODY ? &at->newest : &p->requests[r->newer].older) = r->older;
    if (r->older != NOBODY)
        p->requests[r->older].newer = r->newer;
    at->ratio = at->running ? at->ratio : first_ratio(p); /* idle */
}

/* Tokens of a prompt under way that the step takes as well. */
static double next_chunk(const struct player *p, const struct replica *at)
{
    const struct request *r = at->first == NOBODY ? NULL : &p->requests[at->first];
    return r && r->started ? (double)lesser(r->left, player_left_over(p, at)) : 0;
}

/* Tokens that decodes may fill until a replica takes somebody out. */
static double room_of(const struct player *p, const struct replica *at)
{
    double tokens = (double)p->ask->cache.tokens;
    return p->ask->cache.admits == ADMIT_PROMPT ? tokens - next_chunk(p, at) : tokens;
}

/* Whether a replica whose cache is full takes anybody out: the last one stays, however much it
 * holds. */
static bool takes_out(const struct player *p, const struct replica *at)
{
    switch (p->ask->cache.admits) {
    case ADMIT_PROMPT:
        return at->running > 1;
    case ADMIT_PART:
        return at->decoding > 1;
    case ADMIT_WHOLE:
        break;
    }
    return false;
}

uint64_t cache_steps(const struct player *p)
{
    double steps = (double)UINT32_MAX;
    for (uint64_t i = 0; is_played(p) && i < p->ask->replicas; i++) {
        const struct replica *at = &p->replicas[i];
        if (at->decoding && takes_out(p, at))
            steps = lower(steps, (room_of(p, at) - at->held) / growth(p, at));
    }
    return is_played(p) ? (uint64_t)higher(steps, 1) : UINT64_MAX;
}

/* Of steps one by one the first after which a replica has no room for the next, and
 * takes somebody out. */
static uint64_t room_steps(const struct player *p, const struct replica *at, uint64_t most)
{
    double each = growth(p, at), held = at->held, tokens = room_of(p, at);
    uint64_t n = 0;
    if (!takes_out(p, at))
        return most;
    if (is_whole(held) && is_whole(each) && each > 0) {
        uint64_t steps = held < tokens ? (uint64_t)(tokens - held) / (uint64_t)each : 0;
        return lesser(steps ? steps : 1, most);
    }
    do
        held += each;
    while (++n < most && held + each <= tokens);
    return n;
}

uint64_t cache_steps_singly(const struct player *p, uint64_t most)
{
    for (uint64_t i = 0; is_played(p) && i < p->ask->replicas; i++)
        most = room_steps(p, &p->replicas[i], most);
    return most;
}

/* ---- no room ---- */

static void enqueue(struct player *p, struct replica *at, uint32_t number)
{
    struct request *r = &p->requests[number];
    bool empty = at->first == NOBODY;
    if (empty || p->ask->cache.admits == ADMIT_PROMPT) {
        r->next = at->first;
        at->first = number;
        at->last = empty ? number : at->last;
        return;
    }
    r->next = NOBODY;
    p->requests[at->last].next = number;
    at->last = number;
}

/* A prompt under way stands first in the queue; what decodes goes back there. */
static void take_out(struct player *p, struct replica *at, uint32_t number)
{
    struct request *r = &p->requests[number];
    bool decodes = !r->left;
    uint64_t said = (uint64_t)decoded(p, r);
    r->behind = holds(p, r);
    r->mark = at->taken + (double)p->ask->cache.tokens - at->held;
    at->running--;
    cache_leave(p, at, r);
    p->out->preempted++;
    r->started = false;
    if (decodes) {
        player_remove(p, number);
        at->decoding--;
        p->each_s = 0;
        r->said += lesser(said + 1, cache_answer(r)); /* the first one was said before */
        r->prompt = r->input + r->said;
        enqueue(p, at, number);
    }
    r->left = r->prompt;
}

/* What is reserved after so many had to go: as those that stay show it. */
static double new_ratio(const struct player *p, const struct replica *at)
{
    double said = 0, all = 1;
    for (uint32_t i = at->newest; i != NOBODY; i = p->requests[i].older) {
        const struct request *r = &p->requests[i];
        said += (double)r->said + decoded(p, r) + RELIEF_STEPS;
        all += (double)r->output;
    }
    return fmin(1, said / all);
}

/* Who has said least, of those whose prompt is longest, of those the newest; NOBODY: all are in
 * their prompts. */
static uint32_t said_least(const struct player *p, const struct replica *at)
{
    uint32_t found = NOBODY;
    double fewest = 0;
    for (uint32_t i = at->newest; i != NOBODY; i = p->requests[i].older) {
        const struct request *r = &p->requests[i];
        double said = (double)r->said + decoded(p, r);
        bool less = found == NOBODY || said < fewest ||
                    (said <= fewest && r->input > p->requests[found].input);
        if (r->left || !less)
            continue;
        found = i;
        fewest = said;
    }
    return found;
}

static void relieve_newest(struct player *p, struct replica *at)
{
    while (at->running > 1 && at->held + growth(p, at) > room_of(p, at)) {
        take_out(p, at, at->newest);
        at->relieved = true;
    }
}

static void relieve_least(struct player *p, struct replica *at)
{
    double tokens = (double)p->ask->cache.tokens;
    while (at->decoding > 1 && at->held + growth(p, at) > tokens) {
        uint32_t number = said_least(p, at);
        if (p->ask->drafted && !p->requests[at->newest].left)
            number = at->newest;
        take_out(p, at, number);
        at->relieved = true;
    }
    if (at->relieved)
        at->ratio = new_ratio(p, at);
}

void cache_relieve(struct player *p)
{
    for (uint64_t i = 0; is_played(p) && i < p->ask->replicas; i++) {
        struct replica *at = &p->replicas[i];
        at->relieved = false;
        if (p->ask->cache.admits == ADMIT_PROMPT)
            relieve_newest(p, at);
        else if (p->ask->cache.admits == ADMIT_PART)
            relieve_least(p, at);
    }
}

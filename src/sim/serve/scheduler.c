/* See scheduler.h. */
#include "sim/serve/scheduler_parts.h"

#include <math.h>

#include "base/checked.h"
#include "base/stat.h"

enum { PURPOSE_LENGTHS = 40, PURPOSE_ARRIVALS = 41 };

/* ---- costs ---- */

double cost_at(const struct cost_curve *c, double x)
{
    unsigned i = 1;
    if (c->n == 0)
        return 0;
    if (c->n == 1 || x <= c->x[0])
        return c->y[0];
    while (i + 1 < c->n && x > c->x[i])
        i++;
    double slope = (c->y[i] - c->y[i - 1]) / (c->x[i] - c->x[i - 1]);
    return c->y[i - 1] + slope * (x - c->x[i - 1]);
}

double cost_earlier(const struct step_costs *costs, double tokens, double pairs, double earlier)
{
    double batches = higher(1, costs->earlier.chunk > 0 ? tokens / costs->earlier.chunk : 1);
    return (pairs * costs->earlier.pair_s + earlier * costs->earlier.token_s) / batches;
}

/* The fullest replica's step, with experts that the tokens of all choose. */
static double decode_step_s(const struct player *p)
{
    const struct step_costs *c = p->ask->costs;
    double fullest = 0, sum = 0;
    for (uint64_t r = 0; r < p->ask->replicas; r++) {
        fullest = higher(fullest, (double)p->replicas[r].decoding);
        sum += (double)p->replicas[r].decoding;
    }
    double mean = sum / (double)p->ask->replicas, s = cost_at(&c->decode, fullest);
    if (mean >= fullest || !c->routed.n)
        return s;
    mean = lower(fullest, mean + c->filler);
    return s - cost_at(&c->routed, fullest) + cost_at(&c->routed, mean);
}

/* The same as long as those that decode are the same. */
static double decode_s(struct player *p)
{
    if (p->each_s <= 0)
        p->each_s = decode_step_s(p);
    return p->each_s;
}

/* The replica with most to do, beside experts that all of them share. */
static double step_s(struct player *p)
{
    const struct step_costs *c = p->ask->costs;
    bool apart = p->ask->batching == BATCHING_APART;
    double fullest = 0, sum = 0, decodes = 0, earlier = 0;
    for (uint64_t r = 0; r < p->ask->replicas; r++) {
        const struct replica *at = &p->replicas[r];
        double verified = (double)(at->decoding * (1 + p->ask->drafted));
        double tokens = (double)at->tokens + (apart ? 0 : verified);
        fullest = higher(fullest, tokens);
        sum += tokens;
        decodes = higher(decodes, (double)at->decoding);
        earlier = higher(earlier, cost_earlier(c, (double)at->tokens, at->pairs, at->earlier));
    }
    double mean = sum / (double)p->ask->replicas;
    double s = cost_at(&c->prefill, fullest) - cost_at(&c->experts, fullest) +
               cost_at(&c->experts, mean);
    s += earlier;
    if (apart)
        return s;
    double beside = cost_at(&c->attention, decodes);
    beside += decodes > 0 ? cost_at(&c->draft, decodes) : 0;
    return higher(s + beside, decode_s(p));
}

/* ---- the heap ---- */

static bool before(const struct player *p, size_t a, size_t b)
{
    return p->requests[p->heap[a]].finish < p->requests[p->heap[b]].finish;
}

static void put(struct player *p, size_t at, uint32_t request)
{
    p->heap[at] = request;
    p->requests[request].place = (uint32_t)at;
}

static void exchange(struct player *p, size_t a, size_t b)
{
    uint32_t kept = p->heap[a];
    put(p, a, p->heap[b]);
    put(p, b, kept);
}

static void sink(struct player *p, size_t at)
{
    for (size_t child = 2 * at + 1; child < p->n_heap; child = 2 * at + 1) {
        if (child + 1 < p->n_heap && before(p, child + 1, child))
            child++;
        if (!before(p, child, at))
            break;
        exchange(p, at, child);
        at = child;
    }
}

static void rise(struct player *p, size_t at)
{
    for (; at && before(p, at, (at - 1) / 2); at = (at - 1) / 2)
        exchange(p, at, (at - 1) / 2);
}

void player_push(struct player *p, uint32_t request)
{
    put(p, p->n_heap, request);
    rise(p, p->n_heap++);
}

uint32_t player_pop(struct player *p)
{
    uint32_t top = p->heap[0];
    put(p, 0, p->heap[--p->n_heap]);
    sink(p, 0);
    return top;
}

void player_remove(struct player *p, uint32_t request)
{
    size_t at = p->requests[request].place;
    if (at == --p->n_heap)
        return;
    put(p, at, p->heap[p->n_heap]);
    rise(p, at);
    sink(p, at);
}

/* ---- requests ---- */

static uint64_t length(struct rng *rng, uint64_t most, double spread)
{
    uint64_t reach = (uint64_t)(spread * (double)most);
    return most - (reach ? rng_below(rng, reach + 1) : 0);
}

static void issue(struct player *p, uint32_t replica, double arrived_s)
{
    const struct scheduler_ask *ask = p->ask;
    uint32_t number = (uint32_t)p->n_issued++;
    struct request *r = &p->requests[number];
    struct rng rng;
    rng_init(&rng, ask->seed, PURPOSE_LENGTHS, 0, 0, number);
    *r = (struct request){.arrived_s = arrived_s, .replica = replica};
    r->left = length(&rng, ask->input, ask->spread);
    r->left += !r->left;
    r->output = length(&rng, ask->output, ask->spread);
    r->output += !r->output;
    r->input = r->prompt = r->left;
    r->next = NOBODY;
}

/* The next of those that are on their way, behind the others of its replica. */
static void queue(struct player *p)
{
    uint32_t number = (uint32_t)p->n_queued++;
    struct request *r = &p->requests[number];
    struct replica *at = &p->replicas[r->replica];
    r->ready = p->steps ? p->steps + 1 : 0;
    *(at->first == NOBODY ? &at->first : &p->requests[at->last].next) = number;
    at->last = number;
}

/* Closed loop: whether as many others are in flight as long as a request is, and came one by
 * one. */
static bool is_steady(const struct player *p, const struct request *r)
{
    uint64_t number = (uint64_t)(r - p->requests), edge = p->ask->in_flight;
    return number >= edge && number + edge < p->most;
}

static void note(struct player *p, const struct request *r)
{
    struct scheduler_result *out = p->out;
    double now_s = p->now_s;
    out->input_tokens += r->input;
    out->output_tokens += r->output;
    out->ttft_s[out->n] = r->first_s - r->arrived_s;
    out->tpot_s[out->n] = r->output > 1 ? (now_s - r->first_s) / (double)(r->output - 1) : 0;
    out->latency_s[out->n] = now_s - r->arrived_s;
    if (is_steady(p, r)) {
        p->steady.sum_s += out->latency_s[out->n];
        p->steady.n++;
    }
    out->ends_s[out->n++] = now_s;
    p->settled = p->settled || (p->ask->settled && p->ask->settled(p->ask->context, out));
}

static void finish(struct player *p, uint32_t number)
{
    struct request *r = &p->requests[number];
    struct replica *at = &p->replicas[r->replica];
    at->running--;
    at->decoding--;
    p->each_s = 0;
    cache_leave(p, at, r);
    if (number >= p->ask->first && number - p->ask->first < p->ask->requests)
        note(p, r);
    if (p->ask->in_flight && p->n_issued < p->most)
        issue(p, r->replica, p->now_s + p->ask->before_s);
}

static void end_decodes(struct player *p)
{
    while (p->n_heap && p->requests[p->heap[0]].finish <= p->decode_steps)
        finish(p, player_pop(p));
}

/* When the next request comes to the engine; HUGE_VAL: none is on its way. */
static double next_s(const struct player *p)
{
    if (p->n_queued < p->n_issued)
        return p->requests[p->n_queued].arrived_s;
    return !p->ask->in_flight && p->n_issued < p->most ? p->next_arrival_s : HUGE_VAL;
}

/* Those that have come until now; in an open loop Poisson arrivals, to the replicas in turn. */
static void arrive(struct player *p)
{
    const struct scheduler_ask *ask = p->ask;
    while (!ask->in_flight && p->n_issued < p->most && p->next_arrival_s <= p->now_s) {
        issue(p, (uint32_t)(p->n_issued % ask->replicas), p->next_arrival_s);
        p->next_arrival_s += rng_exponential(&p->arrivals) / ask->rate;
    }
    while (p->n_queued < p->n_issued && p->requests[p->n_queued].arrived_s <= p->now_s)
        queue(p);
}

/* ---- a step ---- */

/* Tokens of what is left of a prompt that the step takes: all of it, or what fits. */
static uint64_t chunk(const struct player *p, uint64_t left, uint64_t budget)
{
    bool cut = p->ask->batching != BATCHING_WHOLE || left > p->ask->budget;
    if (left <= budget)
        return left;
    return cut ? budget : 0;
}

uint64_t player_left_over(const struct player *p, const struct replica *at)
{
    const struct scheduler_ask *ask = p->ask;
    uint64_t taken = ask->batching == BATCHING_APART ? 0 : at->decoding * (1 + ask->drafted);
    return ask->budget > taken ? ask->budget - taken : 0;
}

/* The engine looks for requests that have come: after prompts at once, else after so many
 * steps (SGLang managers/scheduler_recv_skipper.py). */
static void look(struct player *p)
{
    if (p->unseen < p->ask->poll_steps)
        return;
    p->unseen = 0;
    while (p->known < p->n_queued && p->requests[p->known].ready <= p->steps)
        p->known++;
}

/* Steps that only decode are alike, and bring nobody until they end. */
static void count_unseen(struct player *p, uint64_t n)
{
    uint64_t most = p->ask->poll_steps, over = most ? (p->unseen + n) % most : 0;
    p->unseen = over ? over : most;
}

/* Of a request that is the next of its replica: the tokens that a step takes; 0: it waits. */
static uint64_t next_tokens(const struct player *p, const struct replica *at,
                            const struct request *r, uint64_t budget)
{
    bool known = r < p->requests + p->known;
    if (!known || (!r->started && (at->running == p->ask->slots || !cache_admits(p, at, r))))
        return 0;
    return chunk(p, r->left - cache_kept(p, at, r), budget);
}

/* Whether prompts that a step could hold wait for those of other replicas. */
static bool holds_back(struct player *p)
{
    const struct scheduler_ask *ask = p->ask;
    bool prompts = true, answers = true;
    if (!ask->balance.timeout || ask->replicas == 1)
        return false;
    for (uint64_t i = 0; i < ask->replicas; i++) {
        const struct replica *at = &p->replicas[i];
        prompts = prompts && at->first != NOBODY &&
                  next_tokens(p, at, &p->requests[at->first], player_left_over(p, at));
        answers = answers && at->decoding;
    }
    if (!prompts) {
        p->waited = answers && p->waited + 1 < ask->balance.timeout ? p->waited + 1 : 0;
        return p->waited;
    }
    p->waited = 0;
    if (answers)
        p->joined = p->joined < ask->balance.wait ? p->joined + 1 : 0;
    return answers && p->joined;
}

/* Prompts of a replica that the step holds; those that end begin to decode with it. */
static void take_prompts(struct player *p, struct replica *at)
{
    uint64_t budget = player_left_over(p, at);
    for (uint32_t i = at->first; i != NOBODY; i = p->requests[i].next) {
        struct request *r = &p->requests[i];
        uint64_t tokens = next_tokens(p, at, r, budget);
        if (!tokens)
            break;
        cache_find(p, at, r);
        double earlier = (double)(p->ask->shared + r->prompt - r->left);
        at->running += !r->started;
        at->pairs += (double)tokens * earlier;
        at->earlier += earlier;
        cache_take(p, at, r, tokens);
        r->started = true;
        r->left -= tokens;
        at->tokens += tokens;
        budget -= tokens;
    }
}

/* Decode steps that so many tokens take. */
static uint64_t steps_of(const struct scheduler_ask *ask, uint64_t tokens)
{
    return ask->accepted > 1 ? (uint64_t)ceil((double)tokens / ask->accepted) : tokens;
}

static void begin_decodes(struct player *p, struct replica *at)
{
    while (at->first != NOBODY && p->requests[at->first].started &&
           !p->requests[at->first].left) {
        uint32_t number = at->first;
        struct request *r = &p->requests[number];
        at->first = r->next;
        r->first_s = r->said ? r->first_s : p->now_s;
        r->finish = p->decode_steps + steps_of(p->ask, cache_answer(r));
        cache_join(p, r);
        at->decoding++;
        p->each_s = 0;
        player_push(p, number);
    }
}

static void prefill(struct player *p)
{
    p->now_s += step_s(p);
    p->steps++;
    p->unseen = p->ask->poll_steps;
    p->decode_steps += p->ask->batching != BATCHING_APART;
    cache_grow(p, p->ask->batching != BATCHING_APART);
    for (uint64_t r = 0; r < p->ask->replicas; r++)
        begin_decodes(p, &p->replicas[r]);
}

/* A request that waits for nothing but its turn. */
static bool any_waits(const struct player *p)
{
    for (uint64_t r = 0; r < p->ask->replicas; r++) {
        const struct replica *at = &p->replicas[r];
        if (at->first != NOBODY && at->running < p->ask->slots)
            return true;
    }
    return false;
}

/* The decode steps to come after none of which anybody that waits for its turn has it: until
 * somebody ends, arrives or is taken out. Looks between (poll_steps) and prompts that are held
 * back go step by step. */
static uint64_t stuck_steps(const struct player *p)
{
    const struct scheduler_ask *ask = p->ask;
    uint64_t steps = UINT64_MAX;
    if (ask->poll_steps > 1 || (ask->balance.timeout && ask->replicas > 1))
        return 0;
    for (uint64_t i = 0; i < ask->replicas && steps; i++) {
        const struct replica *at = &p->replicas[i];
        const struct request *r = &p->requests[at->first];
        if (at->first == NOBODY || at->running == ask->slots)
            continue;
        if (r >= p->requests + p->known || r->started)
            return 0;
        steps = lesser(steps, cache_shut_steps(p, at, r));
    }
    return steps;
}

/* Steps in which nobody begins, each as if it were by itself: sums are rounded step by step. */
static void decode_stuck(struct player *p, uint64_t most)
{
    double each = decode_s(p);
    uint64_t n = 0, room = cache_steps_singly(p, most);
    do
        p->now_s += each;
    while (++n < room && next_s(p) > p->now_s);
    cache_grow_singly(p, n);
    p->steps += n;
    count_unseen(p, n);
    p->decode_steps += n;
}

/* Steps that are alike: until the first answer ends or a request arrives. */
static void decode(struct player *p)
{
    double each = decode_s(p);
    uint64_t n = p->requests[p->heap[0]].finish - p->decode_steps;
    bool waits = any_waits(p);
    uint64_t stuck = waits && n > 1 && !p->ask->singly ? stuck_steps(p) : 0;
    if (stuck) {
        decode_stuck(p, stuck < n ? stuck + 1 : n);
        return;
    }
    if (waits)
        n = n ? 1 : 0;
    if (n > 1)
        n = lesser(n, cache_steps(p));
    if (each > 0) {
        double steps = ceil((next_s(p) - p->now_s) / each);
        n = steps < (double)n ? (uint64_t)fmax(1, steps) : n;
    }
    if (n > 1 && p->ask->balance.timeout) /* holds_back has counted one */
        p->waited = (p->waited + n - 1) % p->ask->balance.timeout;
    p->now_s += (double)n * each;
    p->steps += n;
    count_unseen(p, n);
    cache_grow(p, n);
    p->decode_steps += n;
}

static void idle(struct player *p)
{
    p->steps++; /* whoever waits is ready */
    p->unseen = p->ask->poll_steps;
    double next = next_s(p);
    if (!any_waits(p) && next < HUGE_VAL)
        p->now_s = fmax(p->now_s, next);
}

static void step(struct player *p)
{
    uint64_t tokens = 0;
    arrive(p);
    look(p);
    cache_relieve(p);
    bool held = holds_back(p);
    for (uint64_t r = 0; r < p->ask->replicas; r++) {
        p->replicas[r].tokens = 0;
        p->replicas[r].pairs = p->replicas[r].earlier = 0;
        if (!held)
            take_prompts(p, &p->replicas[r]);
        tokens += p->replicas[r].tokens;
    }
    if (tokens)
        prefill(p);
    else if (p->n_heap)
        decode(p);
    else
        idle(p);
    end_decodes(p);
}

static void begin(struct player *p, struct arena *arena)
{
    const struct scheduler_ask *ask = p->ask;
    size_t n = ask->requests;
    p->most = ask->first + n;
    if (!ask->in_flight) /* arrivals go on while the last ones are answered */
        p->most += n / 2;
    p->requests = arena_alloc(arena, p->most, sizeof *p->requests);
    p->heap = arena_alloc(arena, p->most, sizeof *p->heap);
    p->replicas = arena_alloc(arena, ask->replicas, sizeof *p->replicas);
    p->out->ttft_s = arena_alloc(arena, 4 * n, sizeof *p->out->ttft_s);
    p->out->tpot_s = p->out->ttft_s + n;
    p->out->latency_s = p->out->tpot_s + n;
    p->out->ends_s = p->out->latency_s + n;
    for (uint64_t r = 0; r < ask->replicas; r++)
        cache_begin(p, &p->replicas[r]);
    for (uint64_t i = 0; i < ask->in_flight && i < p->most; i++)
        issue(p, (uint32_t)(i % ask->replicas), 0);
    rng_init(&p->arrivals, ask->seed, PURPOSE_ARRIVALS, 0, 0, 0);
}

void scheduler_play(const struct scheduler_ask *ask, struct arena *arena,
                    struct scheduler_result *out)
{
    struct player p = {.ask = ask, .out = out, .unseen = ask->poll_steps};
    *out = (struct scheduler_result){.n = 0};
    begin(&p, arena);
    while (out->n < ask->requests && !p.settled)
        step(&p);
    for (size_t i = 0; i < out->n && !p.steady.n; i++)
        out->steady_s += out->latency_s[i] / (double)out->n;
    if (p.steady.n)
        out->steady_s = p.steady.sum_s / (double)p.steady.n;
}

void scheduler_sort(struct scheduler_result *result)
{
    double *const times[] = {result->ttft_s, result->tpot_s, result->latency_s};
    for (unsigned i = 0; i < 3; i++)
        stat_sort(times[i], result->n);
}

/* See serve_play.h. */
#include "sim/serve/serve_play_parts.h"

#include <math.h>

#include "base/checked.h"
#include "base/stat.h"
#include "plan/derive.h"
#include "plan/engine.h"
#include "plan/layers.h"
#include "plan/pools.h"
#include "plan/speculation.h"
#include "sim/serve/serve_plays.h"

/* Rounds that every slot plays, as the closed-loop benchmarks of the field do, and the most
 * requests of all; but one round at least whose requests neither begin nor end the run. Most
 * that are in flight in a play: further ones only wait. */
enum { ROUNDS = 10, MOST_REQUESTS = 20000, FEWEST_ROUNDS = 3, MOST_IN_FLIGHT = 65536 };

/* Open loop: requests that are judged, so that 50 lie above the 99th percentile, or so many
 * times those in flight; times those in flight that come before; rounds of all slots that
 * measure the capacity, after one that fills them. */
enum { FEWEST_JUDGED = 5000, JUDGED = 4, BEFORE = 2, CAPACITY_ROUNDS = 4 };

/* Servers of one role: those that prefill give a request its first token, those that decode
 * have its prompt's cache sent, and find it in their steps as one token without work
 * (sim/step/serve_time). */
static struct scheduler_ask ask_of(const struct serve_game *g)
{
    const struct workload *w = &g->plan->workload;
    bool answers = w->role == DUTY_ANSWERS;
    bool balances = g->plan->stack.kind == STACK_TRTLLM;
    uint64_t drafted = plan_drafted(g->plan);
    return (struct scheduler_ask){
        .batching = engine_batching(g->plan),
        .replicas = g->load->replicas,
        .slots = g->load->sequences,
        .budget = engine_tokens(g->plan) * g->plan->parallel.pp, /* a batch a stage */
        .input = answers ? 1 : serve_prompt(g->plan),
        .output = w->role == DUTY_PROMPTS ? 1 : w->output_length,
        .shared = answers ? 0 : w->shared_prefix,
        .spread = w->length_spread,
        .balance = {balances ? w->balance.timeout : 0, w->balance.wait},
        .poll_steps = g->plan->stack.kind == STACK_SGLANG ? w->poll_steps : 1,
        .drafted = drafted,
        .accepted = drafted ? plan_accepted(g->plan) : 1,
        .seed = g->plan->moe.routing.seed + answers, /* not when its prompts came */
        .costs = g->costs,
    };
}

/* Prompts begin by what the cache holds at the moment, as the engine lets them; of a server
 * that decodes, by their whole length.
 * vLLM's prefix caching is on by default (config/cache.py); releases that know no states there
 * turn it off for models that have some. */
static struct scheduler_ask admitting_of(const struct serve_game *g)
{
    struct scheduler_ask ask = ask_of(g);
    const struct serve_load *load = g->load;
    if (!load->cache_tokens || g->plan->workload.role == DUTY_ANSWERS)
        return ask;
    ask.cache.tokens = load->cache_tokens;
    ask.cache.admits = g->plan->stack.kind == STACK_SGLANG   ? ADMIT_PART
                       : g->plan->stack.kind == STACK_TRTLLM ? ADMIT_WHOLE
                                                             : ADMIT_PROMPT;
    ask.cache.keeps = g->plan->stack.kind == STACK_VLLM && !plan_has_linear(g->plan);
    uint64_t prompts = load->cache_tokens / serve_prompt(g->plan) + 1;
    ask.slots = prompts < load->slots ? prompts : load->slots;
    return ask;
}

/* What a deployment's rate counts: tokens of answers, of prompts where it gives no more than
 * the first. */
static double counted(const struct serve_game *g, const struct scheduler_result *r)
{
    bool prompts = g->plan->workload.role == DUTY_PROMPTS;
    return (double)(prompts ? r->input_tokens : r->output_tokens);
}

/* ---- what requests see ---- */

/* Seconds of a request of so many tokens before the scheduler has it. */
static double before_s(const struct serve_game *g, double input)
{
    return g->rates->request_s + g->rates->request_token_s * input;
}

static double before_of(const struct serve_game *g, const struct scheduler_result *r)
{
    return before_s(g, (double)r->input_tokens / (double)r->n);
}

/* The same, and until its first token is seen: at the latest with its last. */
static double seen_of(const struct serve_game *g, const struct scheduler_result *r,
                      double tpot_s)
{
    double others = (double)r->output_tokens / (double)r->n - 1;
    return before_of(g, r) + fmin(g->rates->request_steps, others) * tpot_s;
}

static double median(const double *values, size_t n, struct arena *arena)
{
    double *sorted = arena_alloc(arena, n, sizeof *sorted);
    for (size_t i = 0; i < n; i++)
        sorted[i] = values[i];
    stat_sort(sorted, n);
    return stat_percentile(sorted, n, 0.5);
}

bool serve_is_limited(const struct plan *plan)
{
    const struct limit *limit = &plan->workload.limit;
    return limit->ttft_s > 0 || limit->tpot_s > 0 || limit->latency_s > 0;
}

bool serve_keeps(const struct plan *plan, const struct serve_times *t)
{
    const struct limit *limit = &plan->workload.limit;
    if (plan_arrives(plan))
        return t->utilization < 1 && !(t->within < limit->share); /* NAN: there is none */
    return (limit->ttft_s <= 0 || t->ttft_s <= limit->ttft_s) &&
           (limit->tpot_s <= 0 || !(t->tpot_s > limit->tpot_s)) && /* NAN: there is none */
           (limit->latency_s <= 0 || t->latency_s <= limit->latency_s);
}

void serve_leave_out_further(const struct plan *plan, struct serve_times *times)
{
    double *const further[] = {&times->tpot_s, &times->tpot_p95_s, &times->tpot_p99_s,
                               &times->tpot_low_s, &times->tpot_high_s};
    if (plan->workload.role != DUTY_PROMPTS && plan->workload.output_length > 1)
        return;
    for (size_t i = 0; i < sizeof further / sizeof *further; i++)
        *further[i] = (double)NAN;
}

double serve_within(const struct serve_game *g, const struct scheduler_result *r,
                    struct arena *arena)
{
    const struct limit *limit = &g->plan->workload.limit;
    double seen = seen_of(g, r, median(r->tpot_s, r->n, arena)), before = before_of(g, r);
    double n = 0;
    for (size_t i = 0; i < r->n; i++)
        n += (limit->ttft_s <= 0 || seen + r->ttft_s[i] <= limit->ttft_s) &&
             (limit->tpot_s <= 0 || r->tpot_s[i] <= limit->tpot_s) &&
             (limit->latency_s <= 0 || before + r->latency_s[i] <= limit->latency_s);
    return n / (double)r->n;
}

void serve_report(const struct serve_game *g, struct scheduler_result *r,
                  struct serve_times *out)
{
    static const double tails[] = {0.5, 0.95, 0.99};
    double *const ttft[] = {&out->ttft_p50_s, &out->ttft_p95_s, &out->ttft_p99_s};
    double *const tpot[] = {&out->tpot_s, &out->tpot_p95_s, &out->tpot_p99_s};
    double *const latency[] = {&out->latency_s, &out->latency_p95_s, &out->latency_p99_s};
    scheduler_sort(r);
    double seen = seen_of(g, r, stat_percentile(r->tpot_s, r->n, 0.5));
    for (unsigned i = 0; i < 3; i++) {
        *ttft[i] = seen + stat_percentile(r->ttft_s, r->n, tails[i]);
        *tpot[i] = stat_percentile(r->tpot_s, r->n, tails[i]);
        *latency[i] = before_of(g, r) + stat_percentile(r->latency_s, r->n, tails[i]);
    }
    double first = 0, whole = 0;
    for (size_t i = 0; i < r->n; i++) {
        first += r->ttft_s[i];
        whole += r->latency_s[i];
    }
    out->ttft_s = seen + first / (double)r->n;
    out->latency_mean_s = before_of(g, r) + whole / (double)r->n;
    out->requests = r->n;
}

void serve_report_intervals(const struct rates *rates, struct serve_times *out)
{
    out->tpot_low_s = out->tpot_s / (1 + rates->error);
    out->tpot_high_s = out->tpot_s * (1 + rates->error);
    double error = fmax(rates->request_error, rates->error);
    out->ttft_low_s = out->ttft_s / (1 + error);
    out->ttft_high_s = out->ttft_s * (1 + error);
}

/* ---- the closed loop ---- */

/* By Little's law: as many requests are in flight as a second brings times the seconds that one
 * is, from when it is sent. The run itself has fewer of them at its end, and so a lower rate.
 */
static void play_closed(const struct serve_game *g, struct serve_times *out)
{
    /* SGLang admits more than fit to their ends, and takes some out again; the others are held
     * to what the cache has to the end of all answers */
    bool admits = g->plan->stack.kind == STACK_SGLANG && g->plan->workload.role != DUTY_ANSWERS;
    struct scheduler_ask ask = admits ? admitting_of(g) : ask_of(g);
    struct scheduler_result r;
    struct arena arena = {0};
    uint64_t all = g->plan->workload.concurrency, n = lesser(all, MOST_IN_FLIGHT);
    ask.requests = greater(lesser(ROUNDS * n, MOST_REQUESTS), FEWEST_ROUNDS * n);
    ask.in_flight = n;
    ask.before_s = before_s(g, (1 - ask.spread / 2) * (double)ask.input);
    scheduler_play(&ask, &arena, &r);
    out->requests_per_s = (double)n / (before_of(g, &r) + r.steady_s);
    out->tokens_per_s = counted(g, &r) / (double)r.n * out->requests_per_s;
    if (serve_is_limited(g->plan)) {
        out->within = serve_within(g, &r, &arena);
        out->goodput_per_s = out->within * out->requests_per_s;
    }
    serve_report(g, &r, out);
    out->latency_mean_s = (double)all / out->requests_per_s;
    arena_release(&arena);
}

/* ---- the open loop ---- */

/* Requests per second while others wait for every slot: over whole rounds of all slots, since
 * equal requests end together. *tokens: of an answer, the mean. */
double serve_capacity(const struct serve_game *g, double *tokens)
{
    struct scheduler_ask ask = admitting_of(g);
    struct scheduler_result r;
    struct arena arena = {0};
    uint64_t slots = ask.slots * ask.replicas;
    uint64_t rounds = CAPACITY_ROUNDS;
    while (rounds * slots < FEWEST_JUDGED)
        rounds *= 2;
    ask.requests = (rounds + 1) * slots;
    ask.in_flight = 2 * slots;
    scheduler_play(&ask, &arena, &r);
    uint64_t last = ask.requests - slots; /* until then some wait */
    double s = r.ends_s[last - 1] - r.ends_s[slots - 1];
    *tokens = counted(g, &r) / (double)r.n;
    arena_release(&arena);
    return (double)(last - slots) / s;
}

/* At the capacity `slots` are in flight. */
struct scheduler_ask serve_rate_ask(const struct serve_game *g, double rate,
                                    double capacity_per_s)
{
    struct scheduler_ask ask = admitting_of(g);
    uint64_t slots = g->load->sequences * ask.replicas;
    uint64_t in_flight = (uint64_t)(rate / capacity_per_s * (double)slots) + 1;
    ask.rate = rate;
    ask.requests = JUDGED * in_flight > FEWEST_JUDGED ? JUDGED * in_flight : FEWEST_JUDGED;
    ask.first = BEFORE * in_flight > ask.requests / 10 ? BEFORE * in_flight : ask.requests / 10;
    return ask;
}

void serve_overload(struct serve_times *out, double tokens)
{
    double *const without_end[] = {
        &out->ttft_s,        &out->ttft_p50_s,    &out->ttft_p95_s,    &out->ttft_p99_s,
        &out->tpot_s,        &out->tpot_p95_s,    &out->tpot_p99_s,    &out->latency_s,
        &out->latency_p95_s, &out->latency_p99_s, &out->latency_mean_s};
    for (unsigned i = 0; i < sizeof without_end / sizeof *without_end; i++)
        *without_end[i] = HUGE_VAL;
    out->requests_per_s = out->capacity_per_s;
    out->tokens_per_s = out->capacity_per_s * tokens;
}

static void play_stable(const struct serve_game *g, double tokens, struct serve_plays *plays,
                        struct serve_times *out)
{
    struct arena arena = {0};
    const struct serve_played *played = serve_plays_of(plays, 1);
    struct scheduler_result r = serve_copy(&played->result, &arena);
    out->requests_per_s = out->request_rate;
    out->tokens_per_s = out->request_rate * tokens;
    if (serve_is_limited(g->plan)) {
        out->within = played->shown.within;
        out->goodput_per_s = out->within * out->request_rate;
    }
    serve_report(g, &r, out);
    arena_release(&arena);
}

static void play_open(const struct serve_game *g, struct serve_times *out)
{
    double tokens;
    out->request_rate = g->plan->workload.request_rate;
    out->capacity_per_s = serve_capacity(g, &tokens);
    struct serve_plays plays = {.game = g, .capacity_per_s = out->capacity_per_s};
    out->utilization = out->request_rate / out->capacity_per_s;
    bool overloaded = out->utilization >= 1;
    out->queue = overloaded                                      ? "overloaded"
                 : out->utilization * (1 + g->rates->error) >= 1 ? "marginal"
                                                                 : "stable";
    if (overloaded)
        serve_overload(out, tokens);
    else
        play_stable(g, tokens, &plays, out);
    out->deployments = serve_fewest(&plays);
    arena_release(&plays.arena);
}

struct serve_apart_side serve_side(const struct serve_game *g)
{
    double prompt_s = g->rates->request_token_s * (double)serve_prompt(g->plan);
    return (struct serve_apart_side){g->plan, g->load, g->costs,
                                     g->rates->request_s + prompt_s};
}

void serve_play(const struct serve_game *g, struct serve_times *out)
{
    out->request_rate = out->capacity_per_s = out->utilization = (double)NAN;
    out->within = out->goodput_per_s = (double)NAN;
    if (plan_arrives(g->plan))
        play_open(g, out);
    else
        play_closed(g, out);
    serve_report_intervals(g->rates, out);
    out->apart.present = false;
    if (!g->plan->workload.disaggregated)
        return;
    const struct serve_apart_ask apart = {
        .prefill = serve_side(g),
        .decode = serve_side(g),
        .n_prefill = plan_deployments(g->plan, DUTY_PROMPTS),
        .n_decode = plan_deployments(g->plan, DUTY_ANSWERS),
    };
    serve_apart_of(&apart, &out->apart);
}

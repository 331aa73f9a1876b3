/* See serve_apart.h. */
#include "sim/serve/serve_apart.h"

#include <math.h>

#include "base/checked.h"
#include "plan/derive.h"
#include "plan/engine.h"
#include "plan/speculation.h"
#include "sim/serve/serve.h"
#include "sim/time/comm.h"
#include "work/piece/cache.h"

enum { MOST_TOGETHER = 16 }; /* deployments of a pair that is proposed */
enum { BISECTIONS = 60 };    /* to the last bit of a double, nearly */

/* A request of mean length. */
struct mean_request {
    double input, output; /* tokens: of its prompt beyond a shared prefix, of its answer */
    double cached;        /* of its prompt, the shared prefix included */
};

static double mean_length(const struct workload *w, uint64_t longest)
{
    return (1 - w->length_spread / 2) * (double)longest;
}

double serve_apart_output(const struct workload *w)
{
    return fmax(1, mean_length(w, w->output_length));
}

static struct mean_request mean_of(const struct workload *w)
{
    double input = mean_length(w, w->input_length);
    double fresh = fmax(1, input - (double)w->shared_prefix);
    return (struct mean_request){fresh, serve_apart_output(w), input};
}

/* ---- what a deployment does ---- */

static double tpot_at(const struct serve_apart_side *decode, double sequences)
{
    double accepted = plan_speculates(decode->plan) ? plan_accepted(decode->plan) : 1;
    return cost_at(&decode->costs->decode, sequences) / accepted;
}

/* The most sequences of a replica whose step is within the limit. */
static uint64_t sequences_within(const struct serve_apart_side *decode)
{
    double limit = decode->plan->workload.limit.tpot_s;
    uint64_t least = 0, most = decode->load->sequences;
    if (limit <= 0 || tpot_at(decode, (double)most) <= limit)
        return most;
    while (most - least > 1) {
        uint64_t half = least + (most - least) / 2;
        if (tpot_at(decode, (double)half) <= limit)
            least = half;
        else
            most = half;
    }
    return least;
}

/* A prompt's chunks beside what their tokens take alone. */
static double earlier_s(const struct serve_apart_side *prefill, const struct mean_request *r)
{
    const struct cost_curve *c = &prefill->costs->prefill;
    double full = c->x[c->n - 1], before = r->cached - r->input, sum = 0;
    for (double done = 0; done < r->input; done += full) {
        double tokens = fmin(full, r->input - done), earlier = before + done;
        sum += cost_earlier(prefill->costs, tokens, tokens * earlier, earlier);
    }
    return sum;
}

/* Full steps of prompts, one after the other. */
static double prefill_rate(const struct serve_apart_side *prefill, const struct mean_request *r)
{
    const struct cost_curve *c = &prefill->costs->prefill;
    double full = c->x[c->n - 1];
    double prompt_s = cost_at(c, full) * r->input / full + earlier_s(prefill, r);
    return (double)prefill->load->replicas / prompt_s;
}

/* ---- the cache between them ---- */

/* A rank's link between deployments. */
struct cache_link {
    double bytes_per_s, latency_s;
};

/* Among so many deployments: a cache goes to any of the others alike, from all ranks of those
 * that prefill at once. */
static struct cache_link link_of(const struct plan *plan, uint64_t deployments)
{
    const struct cluster *c = &plan->cluster;
    if (c->network.bandwidth <= 0)
        return (struct cache_link){c->node.link_bandwidth, c->node.link_latency};
    struct comm_place place = comm_place_deployments(plan, (double)deployments);
    return (struct cache_link){c->network.bandwidth / comm_crowding(&place, true),
                               c->network.latency + comm_beyond_s(&place)};
}

/* Of one rank; stages share the layers out. */
static double rank_bytes(const struct plan *plan, const struct mean_request *r)
{
    struct plan step;
    serve_step_plan(plan, MODE_DECODE, 1, &step);
    uint64_t tokens = ceil_div((uint64_t)ceil(r->cached), engine_cache_ranks(plan));
    uint64_t bytes = cache_sequence_bytes(&step, tokens);
    return (double)ceil_div(bytes, plan->parallel.pp);
}

/* What of a transfer is not beside the computing of later layers. */
static double exposed(const struct plan *plan, double transfer_s, double prefill_s)
{
    double layers = (double)plan->model.layers;
    return fmax(transfer_s / layers, transfer_s - prefill_s * (layers - 1) / layers);
}

/* One end of a transfer. */
struct cache_end {
    double bytes; /* of a request's cache, that a rank sends or receives */
    struct cache_link link;
    double replicas; /* of a deployment */
};

static struct cache_end end_of(const struct serve_apart_side *side,
                               const struct mean_request *r, uint64_t deployments)
{
    return (struct cache_end){rank_bytes(side->plan, r), link_of(side->plan, deployments),
                              (double)side->load->replicas};
}

static double end_s(const struct cache_end *end)
{
    return end->link.latency_s + end->bytes / end->link.bytes_per_s;
}

/* Requests a second over the links of one deployment. */
static double end_per_s(const struct cache_end *end)
{
    return end->bytes > 0 ? end->replicas * end->link.bytes_per_s / end->bytes : HUGE_VAL;
}

/* ---- both together ---- */

/* Devices of both pools, of which so many deployments are. */
static double devices(const struct serve_apart *a, uint64_t prefill, uint64_t decode)
{
    return (double)(prefill * a->prefill_devices + decode * a->decode_devices);
}

/* What limits so many deployments, least first where several do alike. */
struct share {
    double prompts, answers, links; /* requests a second */
};

static struct share share_of(const struct serve_apart_ask *ask, const struct mean_request *r,
                             const struct serve_apart *a, uint64_t prefill, uint64_t decode)
{
    const struct cache_end from = end_of(&ask->prefill, r, prefill + decode);
    const struct cache_end to = end_of(&ask->decode, r, prefill + decode);
    double p = (double)prefill, d = (double)decode;
    return (struct share){p * a->prefill_per_s, d * a->decode_per_s,
                          fmin(p * end_per_s(&from), d * end_per_s(&to))};
}

static double together(const struct share *s)
{
    return fmin(fmin(s->prompts, s->links), s->answers);
}

/* Takes these numbers where they answer more requests per device than those before. */
static void try_numbers(const struct serve_apart_ask *ask, const struct mean_request *r,
                        uint64_t prefill, uint64_t decode, struct serve_apart *a)
{
    const struct share s = share_of(ask, r, a, prefill, decode);
    double rate = together(&s);
    double before = a->requests_per_s, n = devices(a, prefill, decode);
    if (a->prefill && rate / n <= before / devices(a, a->prefill, a->decode) * (1 + 1e-9))
        return;
    a->prefill = prefill;
    a->decode = decode;
    a->requests_per_s = rate;
}

/* Of the numbers that the plan leaves open those with most requests per device: few of both, or
 * those next to the balance with what it says. */
static void choose(const struct serve_apart_ask *ask, const struct mean_request *r,
                   struct serve_apart *a)
{
    uint64_t prefill = ask->n_prefill, decode = ask->n_decode;
    double ratio = a->decode_per_s / a->prefill_per_s; /* prefill for one of decode */
    double other = prefill ? (double)prefill / ratio : (double)decode * ratio;
    for (uint64_t n = 2; n <= MOST_TOGETHER && !prefill && !decode; n++)
        for (uint64_t p = 1; p < n; p++)
            try_numbers(ask, r, p, n - p, a);
    for (uint64_t i = 0; i < 2 && (prefill || decode); i++) {
        uint64_t beside = (uint64_t)fmax(1, floor(fmin(other, 1e6)) + (double)i);
        try_numbers(ask, r, prefill ? prefill : beside, decode ? decode : beside, a);
    }
}

/* What is the least of it. */
static void limit(const struct serve_apart_ask *ask, const struct mean_request *r,
                  struct serve_apart *a)
{
    const struct share s = share_of(ask, r, a, a->prefill, a->decode);
    const struct cache_end from = end_of(&ask->prefill, r, a->prefill + a->decode);
    const struct cache_end to = end_of(&ask->decode, r, a->prefill + a->decode);
    double rate = together(&s);
    a->link_per_s = end_per_s(&from);
    a->receive_per_s = end_per_s(&to);
    a->requests_per_s = rate;
    a->tokens_per_s_per_device = rate * r->output / devices(a, a->prefill, a->decode);
    a->limited_by = rate >= s.answers * (1 - 1e-9) ? "decode"
                    : s.links < s.prompts          ? "link"
                                                   : "prefill";
    a->prefill_busy = rate / s.prompts;
    a->decode_busy = rate / s.answers;
}

void serve_apart_of(const struct serve_apart_ask *ask, struct serve_apart *out)
{
    const struct serve_apart_side *prefill = &ask->prefill, *decode = &ask->decode;
    const struct mean_request r = mean_of(&prefill->plan->workload);
    const struct mean_request answer = mean_of(&decode->plan->workload);
    *out = (struct serve_apart){.sequences = sequences_within(decode),
                                .prefill_devices = plan_devices(prefill->plan),
                                .decode_devices = plan_devices(decode->plan)};
    bool linked =
        link_of(prefill->plan, 2).bytes_per_s > 0 && link_of(decode->plan, 2).bytes_per_s > 0;
    if (!linked || !out->sequences || !prefill->costs->prefill.n)
        return;
    double n = (double)out->sequences, replicas = (double)decode->load->replicas;
    double alone_s = cost_at(&prefill->costs->prefill, r.input) + earlier_s(prefill, &r);
    out->present = true;
    out->tpot_s = tpot_at(decode, n);
    out->prefill_per_s = prefill_rate(prefill, &r);
    out->decode_per_s = replicas * n / (fmax(1, answer.output - 1) * out->tpot_s);
    choose(ask, &r, out);
    limit(ask, &r, out);
    out->prefill_per_decode =
        fmin(out->decode_per_s, out->receive_per_s) / fmin(out->prefill_per_s, out->link_per_s);
    const struct plan *plan = prefill->plan;
    const struct cache_end from = end_of(prefill, &r, out->prefill + out->decode);
    const struct cache_end to = end_of(decode, &r, out->prefill + out->decode);
    out->cache_bytes =
        (uint64_t)(from.bytes * (double)plan->parallel.tp * (double)plan->parallel.pp);
    out->transfer_s = fmax(end_s(&from), end_s(&to));
    out->exposed_s = exposed(plan, out->transfer_s, alone_s);
    out->ttft_s = prefill->request_s + alone_s + out->exposed_s;
}

/* ---- one of them ---- */

void serve_alone_of(const struct serve_apart_side *side, struct serve_alone *out)
{
    const struct mean_request r = mean_of(&side->plan->workload);
    const struct cache_end end = end_of(side, &r, 2);
    bool prompts = side->plan->workload.role == DUTY_PROMPTS;
    *out = (struct serve_alone){.per_s = 0};
    if (end.link.bytes_per_s <= 0 || (prompts && !side->costs->prefill.n))
        return;
    if (prompts) {
        out->latency_s =
            side->request_s + cost_at(&side->costs->prefill, r.input) + earlier_s(side, &r);
        out->per_s = fmin(prefill_rate(side, &r), end_per_s(&end));
        return;
    }
    uint64_t n = sequences_within(side);
    if (!n)
        return;
    out->latency_s = tpot_at(side, 1);
    double answers = (double)side->load->replicas * (double)n /
                     (fmax(1, r.output - 1) * tpot_at(side, (double)n));
    out->per_s = fmin(answers, end_per_s(&end));
}

/* ---- requests in flight ---- */

void serve_apart_closed(const struct serve_apart_ask *ask, const struct serve_apart *a,
                        double in_flight, struct serve_closed *out)
{
    const struct mean_request r = mean_of(&ask->decode.plan->workload);
    double replicas = (double)(a->decode * ask->decode.load->replicas);
    double most = (double)a->sequences, tokens = fmax(1, r.output - 1);
    double links =
        fmin((double)a->prefill * a->link_per_s, (double)a->decode * a->receive_per_s);
    double prompts = (double)a->prefill * a->prefill_per_s, brought = fmin(prompts, links);
    double low = 0, high = most;
    for (unsigned i = 0; i < BISECTIONS; i++) {
        double n = i ? (low + high) / 2 : high; /* all that the cache holds, if it may be */
        double rate = replicas * n / (tokens * tpot_at(&ask->decode, fmax(1, n)));
        bool fits = rate <= brought && replicas * n + rate * a->ttft_s <= in_flight;
        *(fits ? &low : &high) = n;
    }
    double n = low;
    *out = (struct serve_closed){
        .sequences = n, .tpot_s = tpot_at(&ask->decode, fmax(1, n)), .output = r.output};
    out->requests_per_s = replicas * n / (tokens * out->tpot_s);
    double stages = replicas * n + out->requests_per_s * a->ttft_s;
    out->waiting = in_flight - stages > in_flight * 1e-6 ? in_flight - stages : 0;
    out->ttft_s = a->ttft_s + out->waiting / out->requests_per_s;
    bool held = n >= most, full = out->requests_per_s >= brought * (1 - 1e-6);
    out->limited_by = held   ? "decode"
                      : full ? (links < prompts ? "link" : "prefill")
                             : "requests";
}

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

/* A request of mean length. */
struct mean_request {
    double input, output; /* tokens: of its prompt beyond a shared prefix, of its answer */
    double cached;        /* of its prompt, the shared prefix included */
};

static struct mean_request mean_of(const struct workload *w)
{
    double mean = 1 - w->length_spread / 2, input = mean * (double)w->input_length;
    double fresh = fmax(1, input - (double)w->shared_prefix);
    return (struct mean_request){fresh, fmax(1, mean * (double)w->output_length), input};
}

/* ---- what a deployment does ---- */

static double tpot_at(const struct serve_apart_ask *ask, double sequences)
{
    double accepted = plan_speculates(ask->plan) ? plan_accepted(ask->plan) : 1;
    return cost_at(&ask->costs->decode, sequences) / accepted;
}

/* The most sequences of a replica whose step is within the limit. */
static uint64_t sequences_within(const struct serve_apart_ask *ask)
{
    double limit = ask->plan->workload.limit.tpot_s;
    uint64_t least = 0, most = ask->load->sequences;
    if (limit <= 0 || tpot_at(ask, (double)most) <= limit)
        return most;
    while (most - least > 1) {
        uint64_t half = least + (most - least) / 2;
        if (tpot_at(ask, (double)half) <= limit)
            least = half;
        else
            most = half;
    }
    return least;
}

/* A prompt's chunks beside what their tokens take alone. */
static double earlier_s(const struct serve_apart_ask *ask, const struct mean_request *r)
{
    const struct cost_curve *c = &ask->costs->prefill;
    double full = c->x[c->n - 1], before = r->cached - r->input, sum = 0;
    for (double done = 0; done < r->input; done += full) {
        double tokens = fmin(full, r->input - done), earlier = before + done;
        sum += cost_earlier(ask->costs, tokens, tokens * earlier, earlier);
    }
    return sum;
}

/* Full steps of prompts, one after the other. */
static double prefill_rate(const struct serve_apart_ask *ask, const struct mean_request *r)
{
    const struct cost_curve *c = &ask->costs->prefill;
    double full = c->x[c->n - 1];
    double prompt_s = cost_at(c, full) * r->input / full + earlier_s(ask, r);
    return (double)ask->load->replicas / prompt_s;
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

/* ---- both together ---- */

/* Requests a second over the links of a deployment that prefills. */
static double link_rate(const struct serve_apart_ask *ask, double bytes, uint64_t deployments)
{
    double rate = link_of(ask->plan, deployments).bytes_per_s;
    return bytes > 0 ? (double)ask->load->replicas * rate / bytes : HUGE_VAL;
}

static double together(const struct serve_apart *a, double link_per_s, uint64_t prefill,
                       uint64_t decode)
{
    double given = (double)prefill * fmin(a->prefill_per_s, link_per_s);
    return fmin(given, (double)decode * a->decode_per_s);
}

/* `bytes`: of a request's cache, that a rank sends. */
static void choose(const struct serve_apart_ask *ask, const struct mean_request *r,
                   double bytes, struct serve_apart *a)
{
    double best = 0;
    for (uint64_t n = 2; n <= MOST_TOGETHER; n++) {
        double link = link_rate(ask, bytes, n);
        for (uint64_t prefill = 1; prefill < n; prefill++) {
            double rate = together(a, link, prefill, n - prefill) / (double)n;
            if (rate <= best * (1 + 1e-9))
                continue;
            best = rate;
            a->prefill = prefill;
            a->decode = n - prefill;
            a->link_per_s = link;
        }
    }
    a->requests_per_s = together(a, a->link_per_s, a->prefill, a->decode);
    a->tokens_per_s_per_device = best * r->output / (double)plan_devices(ask->plan);
    bool decodes = a->requests_per_s >= (double)a->decode * a->decode_per_s * (1 - 1e-9);
    a->limited_by = decodes ? "decode" : a->link_per_s < a->prefill_per_s ? "link" : "prefill";
}

void serve_apart_of(const struct serve_apart_ask *ask, struct serve_apart *out)
{
    const struct plan *plan = ask->plan;
    const struct mean_request r = mean_of(&plan->workload);
    *out = (struct serve_apart){.sequences = sequences_within(ask)};
    if (link_of(plan, 2).bytes_per_s <= 0 || !out->sequences || !ask->costs->prefill.n)
        return;
    double bytes = rank_bytes(plan, &r), n = (double)out->sequences;
    double replicas = (double)ask->load->replicas;
    double alone_s = cost_at(&ask->costs->prefill, r.input) + earlier_s(ask, &r);
    out->present = true;
    out->tpot_s = tpot_at(ask, n);
    out->prefill_per_s = prefill_rate(ask, &r);
    out->decode_per_s = replicas * n / (fmax(1, r.output - 1) * out->tpot_s);
    choose(ask, &r, bytes, out);
    struct cache_link link = link_of(plan, out->prefill + out->decode);
    out->prefill_per_decode = out->decode_per_s / fmin(out->prefill_per_s, out->link_per_s);
    out->cache_bytes =
        (uint64_t)(bytes * (double)plan->parallel.tp * (double)plan->parallel.pp);
    out->transfer_s = link.latency_s + bytes / link.bytes_per_s;
    out->exposed_s = exposed(plan, out->transfer_s, alone_s);
    out->ttft_s = ask->request_s + alone_s + out->exposed_s;
}

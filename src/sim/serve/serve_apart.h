/* Disaggregated serving: prompts on some deployments, answers on others, laid out alike or each
 * as its pool says (plan/pools.h); a request's cache moves between them.
 *
 * A closed form of full steps, at the plan's mean lengths: a deployment for prompts makes full
 * prefill steps, one for answers decode steps of all sequences that its replicas hold (fewer
 * where workload.limit.tpot asks for it). Every rank sends its part of the cache over its link
 * (cluster.network, or the node's where there is one node) while later layers are computed: the
 * last layer's part is always waited for; the other end takes as long as its ranks need for
 * theirs. Deployments lie next to each other under the network's tiers and a cache goes to any
 * other alike: the part that leaves a tier goes at its oversubscription (comm_crowding). No
 * data judge it. Pure. */
#ifndef MOEPLAN_SIM_SERVE_SERVE_APART_H
#define MOEPLAN_SIM_SERVE_SERVE_APART_H

#include "plan/plan.h"
#include "sim/serve/scheduler.h"

struct serve_load;

struct serve_apart {
    bool present, validated; /* validated: never, until there are data */
    /* requests a second of one deployment: with its prompts, its answers; the links of one that
     * prefills, of one that decodes */
    double prefill_per_s, decode_per_s, link_per_s, receive_per_s;
    double prefill_per_decode; /* deployments that keep one of decode busy */
    /* those that the plan says, or few of both with the most requests per device; devices of
     * one of each; what they do together when they are full */
    uint64_t prefill, decode, prefill_devices, decode_devices;
    double requests_per_s, tokens_per_s_per_device;
    const char *limited_by; /* "prefill", "decode", "link", "requests" in flight */
    /* part of what each pool can do that is asked of it: 1 where it limits the others */
    double prefill_busy, decode_busy;
    uint64_t cache_bytes; /* of a request's prompt, all ranks of a replica that prefills */
    /* of it: sent, and what nothing hides; a request alone: to its first token, the latter
     * included; per further token */
    double transfer_s, exposed_s, ttft_s, tpot_s;
    uint64_t sequences;                                 /* of a replica that decodes */
    uint64_t prefill_memory_bytes, decode_memory_bytes; /* of a device of each; the caller's */
    /* open loop of a plan with two pools: the fewest devices that keep workload.limit, without
     * one a stable queue; 0: none do, or unasked */
    uint64_t fewest_prefill, fewest_decode;
};

/* A deployment of one pool. */
struct serve_apart_side {
    const struct plan *plan;
    const struct serve_load *load;
    const struct step_costs *costs; /* of prefill steps, or of decode steps */
    double request_s;               /* of every request, outside the steps; of prefill */
};

/* Tokens of an answer, in the mean. */
double serve_apart_output(const struct workload *workload);

struct serve_apart_ask {
    struct serve_apart_side prefill, decode;
    uint64_t n_prefill, n_decode; /* deployments; 0: as many as balance */
};

/* Not present without a link to send over, and where no step is within workload.limit.tpot. */
void serve_apart_of(const struct serve_apart_ask *ask, struct serve_apart *out);

/* One deployment of a pool by itself, as its plan's role has it. */
struct serve_alone {
    double per_s;     /* requests a second when it is full, over its links too; 0: no step is
                       * within workload.limit.tpot, or there is no link */
    double latency_s; /* of a request by itself: to its first token, or of each further one */
};

void serve_alone_of(const struct serve_apart_side *side, struct serve_alone *out);

/* Requests in flight in all deployments of `apart`, each replaced at once when it ends: those
 * that the decode pool holds, those in prefill, and the others, which wait for a prefill
 * server. In the mean, without the spread of waiting times. */
struct serve_closed {
    double sequences; /* of a replica that decodes */
    double requests_per_s, tpot_s;
    double output;  /* tokens of an answer, in the mean */
    double waiting; /* requests that wait for a prefill server */
    double ttft_s;  /* that wait, prefill and transfer */
    const char *limited_by;
};

/* Little's law over the two stages: with n sequences in each of R replicas a second sees
 * X = R n / ((output - 1) tpot(n)) requests end, at most as many as prefill and links bring;
 * R n + X ttft_s of those in flight are in either stage, the others wait, (C - R n - X t) / X
 * seconds each. */
void serve_apart_closed(const struct serve_apart_ask *ask, const struct serve_apart *apart,
                        double in_flight, struct serve_closed *out);

#endif

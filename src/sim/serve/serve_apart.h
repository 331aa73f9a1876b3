/* Disaggregated serving: prompts on some deployments, answers on others, each laid out as the
 * plan says; a request's cache moves between them.
 *
 * A closed form of full steps, at the plan's mean lengths: a deployment for prompts makes full
 * prefill steps, one for answers decode steps of all sequences that the plan's replicas hold
 * (fewer where workload.limit.tpot asks for it). Every rank sends its part of the cache over
 * its link (cluster.network, or the node's where there is one node) while later layers are
 * computed: the last layer's part is always waited for. Deployments lie next to each other
 * under the network's tiers and a cache goes to any other alike: the part that leaves a tier
 * goes at its oversubscription (comm_crowding). No data judge it. Pure. */
#ifndef MOEPLAN_SIM_SERVE_SERVE_APART_H
#define MOEPLAN_SIM_SERVE_SERVE_APART_H

#include "plan/plan.h"
#include "sim/serve/scheduler.h"

struct serve_load;

struct serve_apart {
    bool present, validated; /* validated: never, until there are data */
    /* requests a second of one deployment: with its prompts, its answers, the link of those
     * that prefill */
    double prefill_per_s, decode_per_s, link_per_s;
    double prefill_per_decode; /* deployments that keep one of decode busy */
    /* few of both with the most requests per device, and what they do together */
    uint64_t prefill, decode;
    double requests_per_s, tokens_per_s_per_device;
    const char *limited_by; /* "prefill", "decode", "link" */
    uint64_t cache_bytes;   /* of a request's prompt, all ranks of a replica */
    /* of it: sent, and what nothing hides; a request alone: to its first token, the latter
     * included; per further token */
    double transfer_s, exposed_s, ttft_s, tpot_s;
    uint64_t sequences;                                 /* of a replica that decodes */
    uint64_t prefill_memory_bytes, decode_memory_bytes; /* of a device of each; the caller's */
};

struct serve_apart_ask {
    const struct plan *plan;
    const struct serve_load *load;
    const struct step_costs *costs;
    double request_s; /* of every request, outside the steps */
};

/* Not present without a link to send over, and where no step is within workload.limit.tpot. */
void serve_apart_of(const struct serve_apart_ask *ask, struct serve_apart *out);

#endif

/* See comm.h. */
#include "sim/time/comm.h"

#include <math.h>

static double over(double bytes, double rate)
{
    return rate > 0 ? bytes / rate : 0;
}

void comm_levels(const struct comm_place *place, const struct comm_ask *ask,
                 double bytes[PROFILE_LEVELS])
{
    double ranks = place->ranks, inside = place->inside, nodes = ranks / inside;
    double others = ranks - 1;
    bytes[PROFILE_SCALE_UP] = ask->bytes;
    bytes[PROFILE_SCALE_OUT] = 0;
    if (ask->part) { /* bytes leave out what a rank keeps, 1 / ranks */
        bytes[PROFILE_SCALE_UP] = ask->bytes * ranks / others * ask->part[CROSSING_UP];
        bytes[PROFILE_SCALE_OUT] = ask->bytes * ranks / others * ask->part[CROSSING_OUT];
        return;
    }
    if (nodes <= 1)
        return;
    double outside = (ranks - inside) / others; /* of what every rank gets alike */
    double within = (inside - 1) / others;
    if (!ask->to_all) { /* one of `inside` rings leaves the node at each of its ranks */
        outside = 1 / inside;
        within = (inside - 1) / inside;
    }
    bytes[PROFILE_SCALE_OUT] = ask->bytes * outside;
    bytes[PROFILE_SCALE_UP] = ask->bytes * within;
    if (!ask->to_all || ask->once <= 0)
        return;
    bytes[PROFILE_SCALE_OUT] *= ask->once;
    bytes[PROFILE_SCALE_UP] *= nodes; /* forwarded to one of as many ranks in every node */
}

static bool leaves(const struct comm_place *place, unsigned tier)
{
    return place->tier[tier].ranks > 0 && place->tier[tier].ranks < place->ranks;
}

double comm_crowding(const struct comm_place *place, bool to_all)
{
    double most = 1, ranks = place->ranks, inside = place->inside;
    for (unsigned t = 0; t < NETWORK_TIERS; t++) {
        const struct comm_tier *tier = &place->tier[t];
        if (!leaves(place, t))
            continue;
        double part = to_all ? (ranks - tier->ranks) / (ranks - inside) : inside / tier->ranks;
        most = fmax(most, part * tier->over);
    }
    return most;
}

double comm_beyond_s(const struct comm_place *place)
{
    double s = 0;
    for (unsigned t = 0; t < NETWORK_TIERS; t++)
        s += leaves(place, t) ? place->tier[t].latency_s : 0;
    return s;
}

/* As comm_crowding, of what routing gives: what leaves a tier beside what leaves the nodes. */
static double routed_crowding(const struct comm_place *place, const double *part)
{
    double most = 1;
    for (unsigned t = 0; t < NETWORK_TIERS; t++)
        if (leaves(place, t) && part[CROSSING_OUT] > 0)
            most =
                fmax(most, place->tier[t].over * part[CROSSING_TIER + t] / part[CROSSING_OUT]);
    return most;
}

static double crowding(const struct comm_place *place, const struct comm_ask *ask)
{
    return ask->uncrowded ? 1
           : ask->part    ? routed_crowding(place, ask->part)
                          : comm_crowding(place, ask->to_all);
}

/* What tiers add to the network's latency, over all nodes - 1 steps between nodes: as many of
 * them leave a tier as its groups are passed, or hold others to send to. */
static double tiers_s(const struct comm_place *place, bool to_all)
{
    double s = 0;
    for (unsigned t = 0; t < NETWORK_TIERS; t++) {
        const struct comm_tier *tier = &place->tier[t];
        if (!leaves(place, t))
            continue;
        double steps = to_all ? (place->ranks - tier->ranks) / place->inside
                              : place->ranks / tier->ranks - 1;
        s += steps * tier->latency_s;
    }
    return s;
}

/* Where on a curve of the links an op lies. */
static double at(const struct rate *rate, double ranks, double bytes)
{
    bool by_ranks = rate->curve && rate->curve->by == PROFILE_BY_RANKS;
    return rate_at(rate, by_ranks ? ranks : bytes);
}

/* Seconds before anything flows: of a message; or of a ring's steps inside the nodes, and then
 * between them. */
static double start_s(const struct link_rates *levels, const struct comm_place *place,
                      const struct comm_ask *ask)
{
    double nodes = place->ranks / place->inside,
           rounds = ask->item == PROFILE_ALL_REDUCE ? 2 : 1;
    const struct link_rates *inner = &levels[PROFILE_SCALE_UP],
                            *outer = &levels[nodes > 1 ? PROFILE_SCALE_OUT : PROFILE_SCALE_UP];
    double overhead = at(&outer->overhead, place->ranks, ask->bytes),
           latency = at(&outer->latency, place->ranks, ask->bytes);
    latency += nodes > 1 ? tiers_s(place, ask->to_all) / (nodes - 1) : 0;
    if (inner->hop_s <= 0)
        return ask->messages * (latency + overhead);
    return ask->messages * (overhead + rounds * ((place->inside - 1) * inner->hop_s +
                                                 (nodes > 1 ? (nodes - 1) * latency : 0)));
}

/* All levels carry at once: forwarding is a pipeline (form_exchange_staged_s), and so are a
 * ring's links; otherwise one is after the other. */
static bool carries_at_once(const struct comm_ask *ask)
{
    return ask->once > 0 || !ask->to_all;
}

/* What peers get and what leaves the node goes through the rank's one port, each at the share
 * that its collectives reach. */
static double wire_s(const struct rates *rates, const struct comm_place *place,
                     const struct comm_ask *ask, double s[PROFILE_LEVELS])
{
    const struct link_rates *levels = rates->link[ask->item];
    double bytes[PROFILE_LEVELS], port = 0;
    comm_levels(place, ask, bytes);
    for (unsigned i = 0; i < PROFILE_LEVELS; i++) {
        double efficiency = at(&levels[i].efficiency, place->ranks, bytes[i]);
        s[i] = over(bytes[i], levels[i].bytes_per_s * efficiency);
        port += over(bytes[i], rates->port_bytes_per_s * efficiency);
    }
    s[PROFILE_SCALE_OUT] *= crowding(place, ask);
    double wire = fmax(port, carries_at_once(ask) ? fmax(s[0], s[1]) : s[0] + s[1]);
    for (unsigned i = 0; i < PROFILE_LEVELS; i++)
        s[i] = fmax(s[i], port);
    return wire;
}

/* By the form of the level that it leaves. */
static double formed_s(const struct link_rates *outer, const struct comm_place *place,
                       const struct comm_ask *ask, double start, double wire)
{
    if (place->ranks > place->inside || ask->item != PROFILE_ALL_TO_ALL)
        return form_pipelined(start, wire, outer->chunking);
    struct form_protocols protocols = outer->protocols;
    protocols.large_s *= ask->messages;
    return form_protocols_s(&protocols, start,
                            over(ask->bytes / fmax(1, place->ranks - 1), outer->bytes_per_s),
                            wire, outer->chunking);
}

double comm_levels_s(const struct rates *rates, const struct comm_place *place,
                     const struct comm_ask *ask, double level_s[PROFILE_LEVELS])
{
    const struct link_rates *levels = rates->link[ask->item];
    bool out = place->ranks > place->inside;
    const struct link_rates *outer = &levels[out ? PROFILE_SCALE_OUT : PROFILE_SCALE_UP];
    level_s[PROFILE_SCALE_UP] = level_s[PROFILE_SCALE_OUT] = 0;
    if (ask->bytes <= 0 || outer->folded)
        return 0;
    double wire = wire_s(rates, place, ask, level_s);
    double s = formed_s(outer, place, ask, start_s(levels, place, ask), wire);
    for (unsigned i = 0; i < PROFILE_LEVELS; i++)
        level_s[i] = fmin(level_s[i], s);
    return s;
}

double comm_s(const struct rates *rates, const struct comm_place *place,
              const struct comm_ask *ask)
{
    double level_s[PROFILE_LEVELS];
    return comm_levels_s(rates, place, ask, level_s);
}

double comm_send_s(const struct rates *rates, const struct comm_place *place,
                   const struct comm_ask *ask)
{
    struct comm_place pair = {.ranks = 2, .inside = place->ranks > place->inside ? 1 : 2};
    for (unsigned t = 0; t < NETWORK_TIERS; t++)
        if (leaves(place, t))
            pair.tier[t] = (struct comm_tier){
                1, place->tier[t].over * place->inside / place->tier[t].ranks,
                place->tier[t].latency_s};
    return comm_s(rates, &pair, ask);
}

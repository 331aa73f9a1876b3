/* Servers of one pool's layouts, which pairs of layouts share: each is priced, played and sized
 * once, by layout and by how many of it share the requests. What requests are, the profile and
 * the routing are those of the pool that was searched. Not for others than search_pools. */
#ifndef MOEPLAN_SIM_SEARCH_SEARCH_SERVERS_H
#define MOEPLAN_SIM_SEARCH_SEARCH_SERVERS_H

#include "sim/search/search.h"

struct server_memory {
    uint64_t total_bytes, state_bytes, limit_bytes;
    enum verdict verdict;
};

/* A server of a layout, of so many; one that is full where requests arrive by a rate. */
struct server_slot {
    uint64_t count;
    bool asked;  /* somebody fills it, or has */
    bool priced; /* the server can be */
    struct serve_server server;
    bool sized;
    struct server_memory memory;
    struct server_slot *next;
};

/* One pool's: a list for each of its layouts, by their numbers. */
struct servers {
    size_t n;
    struct server_slot **slots;
};

void servers_init(struct servers *servers, size_t n, struct arena *arena);

/* The slot of a layout's servers. Memory from the arena. */
struct server_slot *servers_slot(struct servers *servers, size_t layout, uint64_t count,
                                 struct arena *arena);

/* Of a plan of both pools, whose pool has the slot's layout and number of servers; of what
 * arrives plays as well. Different slots may be filled at once. */
void server_fill(struct server_slot *slot, const struct plan *plan, enum duty duty,
                 const struct serve_ask *ask);

/* A server's memory with its part of the requests. */
const struct server_memory *server_size(struct server_slot *slot, const struct plan *plan,
                                        enum duty duty, struct evaluator *evaluator);

void servers_release(struct servers *servers);

#endif

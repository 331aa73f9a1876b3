/* The cluster of a plan: devices, the nodes that hold them, the network between these. */
#ifndef MOEPLAN_PLAN_CLUSTER_H
#define MOEPLAN_PLAN_CLUSTER_H

#include <stdbool.h>

#include "plan/lists.h"

struct device {
    char name[PLAN_NAME];
    char family[PLAN_NAME]; /* of devices that one profile of time holds for; "": its own */
    uint64_t memory_bytes;
    uint64_t usable_bytes;   /* what its runtime leaves programs; 0: all */
    double memory_bandwidth; /* bytes/s */
    double peak_f32, peak_bf16, peak_fp8, peak_fp4; /* FLOP/s, dense */
    uint64_t units;                                 /* SMs, CUs, cores */
    uint64_t l2_bytes;
    bool fp8_transpose;     /* fp8 products take one layout, so that weights are kept twice */
    uint64_t logical_cores; /* ranks a device is seen as (Trainium LNC2: 4); 1 elsewhere */
    double tdp_w;           /* 0: not stated */
    double price_per_hour;  /* of one device, in any currency; 0: not stated */
};

struct cluster_node {
    uint64_t devices;
    uint64_t host_memory_bytes;   /* of the node's processors; 0: not stated */
    double host_bandwidth;        /* bytes/s between a device and host memory, one way */
    double host_memory_bandwidth; /* bytes/s of host memory, a device's share */
    double link_bandwidth;        /* bytes/s per device and direction, inside the node */
    double link_latency;          /* s */
    double port_bandwidth; /* bytes/s of the port that a device has for peers and network;
                              0: each has its own */
    uint64_t link_devices; /* that the links join, those of other nodes too (a rack's NVLink);
                              0: the node's own */
    double link_jitter;    /* relative standard deviation of what an exchange takes */
};

/* A level of a network's switches. */
struct network_tier {
    uint64_t nodes;          /* that one switch of it, or one group of them, joins; 0: all */
    double oversubscription; /* bandwidth from below over that to above */
    double latency;          /* s, beside the network's, of a message that leaves such nodes */
};

enum network_level { NETWORK_LEAF, NETWORK_POD, NETWORK_TIERS };

struct network {
    double bandwidth; /* bytes/s per device and direction, between nodes */
    double latency;   /* s */
    double jitter;    /* relative standard deviation of what an exchange takes */
    struct network_tier tier[NETWORK_TIERS];
};

struct cluster {
    char name[PLAN_NAME];
    struct device device;
    struct cluster_node node;
    uint64_t nodes;
    struct network network;
    struct number_list mesh; /* TPU slices: [4, 2] */
    bool wrap;               /* the mesh's axes close into rings */
};

#endif

/* A profile resolved for one plan: every constant that prices its ops, ready to multiply.
 *
 * Without a profile the rates are the cluster file's own: peaks, bandwidths and latencies, no
 * overhead: what no machine is faster than. */
#ifndef MOEPLAN_SIM_TIME_RATES_H
#define MOEPLAN_SIM_TIME_RATES_H

#include "plan/plan.h"
#include "plan/data/profile.h"
#include "sim/time/form.h"

/* A constant, or a curve of it. */
struct rate {
    double value;
    const struct constant *curve; /* NULL: the value alone */
    double factor;                /* on the curve: 1 unless a constant is tried otherwise */
};

/* Of kernels: a family on the plan's path and precision. */
struct kernel_rates {
    struct rate efficiency, bandwidth, overhead;
    double half_rows, half_depth, block_share, tile_rows, tile_columns, wave;
    double norm;              /* of FLOPs and bytes; 0: the longer counts */
    bool folded, tile_choice; /* tiles by form_choose_tiles, in place of half_rows and tiles */
};

/* Of an engine's call for all experts of a rank (form_experts_s); set: the profile has it. */
struct expert_rates {
    struct form_experts form;
    double tile_rows, few_tile_rows;
    bool set;
};

/* Of one collective on one level. */
struct link_rates {
    struct rate efficiency, latency, overhead;
    double hop_s;                    /* of a step of the ring; 0: the latency is of a message */
    double chunking;                 /* chunks of a message that fill a pipeline */
    struct form_protocols protocols; /* of exchanges inside a node */
    double bytes_per_s;              /* of the link, one way, a rank's part */
    bool folded;
};

struct rates {
    double peak_flop_per_s, memory_bytes_per_s, units; /* of one rank */
    double host_bytes_per_s, host_memory_bytes_per_s;  /* to host memory, one way; of it */
    double port_bytes_per_s; /* of what all links of a rank share, one way; 0: nothing */
    double wide_flop_per_s;  /* of what a low precision leaves wider: attention, the head */
    double bf16_flop_per_s, fp8_flop_per_s; /* device's, in these formats */
    double f32_flop_per_s; /* of the executor's products with an operand in f32; 0: all are
                              of one format, or another stack's */
    struct rate f32_efficiency;
    struct kernel_rates kernel[PROFILE_ITEMS];
    bool own_dgrad, own_wgrad; /* gradients of products have rates apart from theirs */
    struct expert_rates experts;
    struct link_rates link[PROFILE_ITEMS][PROFILE_LEVELS];
    double launch_s, sync_s, graph_s;    /* host */
    double eager_s;                      /* host: a kernel that an engine's Python launches */
    double launches[PROFILE_ITEMS];      /* such kernels of an op */
    double wide_launches[PROFILE_ITEMS]; /* of one whose weights have 16 bits */
    double layer_s;                      /* every MoE layer and pass */
    double fixed_s, data_s;              /* every step */
    double request_s, request_token_s;   /* of every request, of each token of its prompt */
    double request_steps;                /* decode steps until its first token is seen */
    double request_error;                /* of the time to its first token */
    double load;                         /* fullest rank over mean where a plan cannot say */
    double norm, share;                  /* of products beside collectives; norm 0: none */
    double error;                        /* of every time, 90 % */
};

/* What to try in place of a profile's value: one constant times a factor. */
struct rates_try {
    const struct constant *constant; /* NULL: nothing */
    double factor;
};

/* Of a plan and a profile all that rates_init reads. */
struct rates_key {
    const struct profile *profile;
    enum moe_path path;
    enum mode mode;
    enum stack_kind stack;
    struct cluster cluster;
    struct precision precision;
};

/* Makes a key that of a plan's rates; true when it was already. */
bool rates_key_turn(struct rates_key *key, const struct plan *plan, enum moe_path path,
                    const struct profile *profile);

/* `path`: resolved. profile NULL: the cluster's own rates. `attempt` may be NULL. */
void rates_init(struct rates *rates, const struct plan *plan, enum moe_path path,
                const struct profile *profile, const struct rates_try *attempt);

/* The value where the curve's place is x. */
double rate_at(const struct rate *rate, double x);

#endif

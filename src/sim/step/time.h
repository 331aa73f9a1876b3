/* The time of a plan as a record: seconds of a step on the expected fullest rank, their spread
 * over routing, their parts, rates, use of the peak, an interval, and on demand why: the
 * critical path, what-ifs and the sensitivity to each constant. Pure. */
#ifndef MOEPLAN_SIM_STEP_TIME_H
#define MOEPLAN_SIM_STEP_TIME_H

#include "sim/step/evaluate.h"
#include "sim/time/layer_time.h"
#include "sim/step/serve_time.h"
#include "sim/time/step_time.h"

/* A name with seconds: of a part, an op, a what-if. */
struct time_line {
    const char *name;
    double seconds;
};

/* What a tenth more of a constant does. */
struct time_sensitivity {
    const char *constant, *source;
    double value, low, high;
    double percent; /* change of the step for +10 % */
};

/* One MoE layer's routed part (sim/time/layer_time): on the expected fullest rank, and its
 * spread over routing samples. */
struct time_layer {
    bool present;
    struct layer_time at;
    double forward_p50_s, forward_p99_s, forward_backward_p50_s, forward_backward_p99_s;
    /* of routing alone, and of stated link jitter alone: where the cluster states one */
    double forward_p99_routing_s, forward_p99_link_s;
    double forward_backward_p99_routing_s, forward_backward_p99_link_s;
    bool jitter;
};

/* An exchange that routing decides, of one layer: the bytes that the fullest links of each
 * level have, its seconds, and those of balanced routing. */
struct time_link {
    const char *name;
    enum segment segment;
    enum phase phase;
    double up_bytes, out_bytes, seconds, even_s;
};

struct time_cost {
    double device_hours_per_mtoken, joules_per_token, price_per_mtoken; /* NAN: not stated */
    double days, device_hours, price; /* of workload.total_tokens; NAN: not stated */
};

struct time_report {
    bool present;
    bool overflows; /* a size of its ops is past 64 bits: nothing else is known */
    struct step_time step;
    double step_s, step_p50_s, step_p99_s; /* the last two over routing samples and links */
    double step_p99_routing_s, step_p99_link_s; /* of each alone, where the cluster states a
                                                 * jitter of its links */
    bool jitter;
    uint64_t micro_batches; /* of a step and dp rank; 1 outside training */
    double tokens_per_s, tokens_per_s_per_device;
    double exposed_comm_s, host_sync_s, bubble_s;
    double skew_tax; /* step over that of balanced routing, less 1 */
    double mfu_useful, mfu_executed, peak_flop_per_s; /* of a device */
    double ttft_s, tpot_s;      /* prefill, decode: a batch; serve: requests; NAN elsewhere */
    double requests_per_s;      /* that a served deployment answers; NAN elsewhere */
    struct serve_times serving; /* mode serve; step is then that of all its sequences */
    struct serve_times control; /* the same by time_ask's control */
    double error;         /* that the profile states of such a plan: relative half width */
    double low_s, high_s; /* nominal 90 % */
    const char *profile, *calibration;
    const char *prompts; /* the profile of servers that prefill, where it is another; or NULL */
    const char *outside; /* sizes that its constants were not fitted on; NULL: none */
    bool calibrated, elsewhere; /* elsewhere: no run of the profile was like it */
    const char *unlike;         /* in what, "device h20, parallel.zero 3"; NULL: in nothing */
    uint64_t samples;
    struct time_line parts[TIME_PARTS];
    unsigned n_parts;
    struct time_cost cost;
    struct time_layer layer;
    const struct time_link *links;
    size_t n_links;
    /* only when asked for */
    const struct time_line *path, *whatifs;
    const struct time_sensitivity *constants;
    size_t n_path, n_whatifs, n_constants;
};

struct time_ask {
    const struct routing_data *routing; /* or NULL */
    const struct rows *rows;           /* the plan's laws of routing when they stand, or NULL */
    const struct demand_spread *drawn; /* what was sampled of them for the plan, or NULL */
    const struct profile *profile;
    const struct profile *control; /* a served plan priced by another, too, or NULL */
    uint64_t routed;               /* tokens of time_routing */
    bool spread;                   /* p50 and p99 by playing every sample */
    bool path;                     /* the critical path */
    bool why;                      /* what-ifs and sensitivities, too */
};

/* What routes a step; rows: as demand_prepare has it; tokens: that the ranks of a group of
 * experts choose them for, 0: as many as they have. */
struct time_routing {
    const struct routing_data *data;
    const struct rows *rows;
    uint64_t tokens;
};

/* The demand that step_s is of: the expected fullest rank of the plan's routing; of real data
 * whose routing the plan leaves uniform, the profile's load. Memory from the arena. *any false:
 * no experts. routing may be NULL. */
enum status time_demand(const struct plan *plan, const struct rates *rates,
                        const struct time_routing *routing, struct arena *arena,
                        struct demand_spread *spread, bool *any, struct err *err);

/* The same of balanced routing of so many tokens of a group. */
struct demand time_even(const struct plan *plan, uint64_t tokens);

/* Whether routing decides what the fullest rank of a step has: experts whose buffers do not
 * assert balance. */
bool time_is_routed(const struct plan *plan);

/* The load of real data whose routing the plan leaves uniform, into a demand. */
void time_load(const struct plan *plan, const struct rates *rates, struct demand *demand);

/* The step that predict says, of one plan among many: step_s on the expected fullest rank.
 * `evaluator` keeps what it sampled. False where the plan cannot be timed. */
bool time_step(struct evaluator *evaluator, const struct plan *plan,
               const struct profile *profile, struct step_time *out);

/* The same of the plan that `evaluator` evaluated last, on the list that was built for that;
 * one profile for a structure. */
bool time_evaluated(struct evaluator *evaluator, const struct plan *plan,
                    const struct profile *profile, struct step_time *out);

/* What such a step takes at least: under balanced routing, which need not be sampled, in no
 * more of a pipeline than it takes (pipeline_bound of sim/time/pipeline). The list is built
 * where `structure` is another than the evaluator's (evaluate). False, too, where sequences
 * wait. */
bool time_least(struct evaluator *evaluator, const struct plan *plan, uint64_t structure,
                const struct profile *profile, struct step_time *out);

/* time_evaluated of a plan of mode serve: the decode step of all sequences, from one to the
 * next as the tokens of the answers come, and what requests see. */
bool time_serve(struct evaluator *evaluator, const struct plan *plan,
                const struct profile *profile, struct step_time *out,
                struct serve_times *times);

/* A server of a pool by itself, when it is full (sim/serve/serve_apart.h). */
bool time_alone(const struct evaluator *evaluator, const struct plan *plan,
                const struct profile *profile, struct serve_alone *out);

/* Device-seconds of a token. */
double time_seconds_per_token(const struct plan *plan, const struct step_time *step);

/* Fills the record; memory from the arena. STATUS_INPUT when the stack refuses the plan or its
 * routing cannot be sampled. */
enum status time_of(const struct plan *plan, const struct time_ask *ask, struct arena *arena,
                    struct time_report *out, struct err *err);

/* From one step to the next: in inference through a pipeline less than a step takes. */
double time_beat_s(const struct plan *plan, const struct step_time *step);

/* A step's tokens per second, of all devices and of one. */
double time_tokens_per_s(const struct plan *plan, const struct step_time *step);
double time_tokens_per_s_per_device(const struct plan *plan, const struct step_time *step);

#endif

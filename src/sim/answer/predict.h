/* Everything `moeplan predict` knows about a plan: one record, filled by pure functions.
 *
 * Every part says whether it was computed (`present`); report/ prints only parts that were. */
#ifndef MOEPLAN_SIM_ANSWER_PREDICT_H
#define MOEPLAN_SIM_ANSWER_PREDICT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/progress.h"
#include "plan/read/unread.h"
#include "sim/moe/collective.h"
#include "sim/search/fix.h"
#include "sim/step/ops.h"
#include "sim/memory/overflow.h"
#include "sim/moe/predict_moe.h"
#include "sim/serve/serving.h"
#include "sim/step/time.h"
#include "sim/memory/verdict.h"
#include "work/list/work.h"

struct category_bytes {
    enum category category;
    uint64_t bytes; /* at the peak of the verdict's total */
};

/* One buffer as the user sees it, copies and layers included. */
struct buffer_report {
    const char *name, *rule; /* rule: "fixed", "routing", "worst" */
    enum category category;
    enum segment segment;
    enum dtype dtype;
    unsigned n_dims;
    uint64_t dims[WORK_DIMS];
    uint64_t copies;                      /* count x layers x in-flight (rounded up) */
    uint64_t one_bytes;                   /* one copy */
    uint64_t bytes;                       /* at the peak; at its own worst when not there */
    uint64_t expected_bytes, worst_bytes; /* all copies */
    bool at_peak;                         /* alive at the moment of the peak */
    const char *formula;                  /* "R*T*min(K, e)*H*2 = 8*32768*min(8, 32)*7168*2" */
    const char *source;                   /* or NULL */
};

/* Where in a step the memory peaks. `op` is "layer", "loss" ("logits" where nothing is trained)
 * or "embedding" where the stack says only what it holds for the whole of them. */
struct peak_report {
    uint64_t stage; /* of the pipeline, from 1 */
    const char *segment;
    const char *op, *phase; /* NULL when only what lives through the step is alive */
};

struct memory_report {
    uint64_t capacity_bytes, limit_bytes;
    uint64_t state_bytes, temp_bytes, total_bytes;
    int64_t margin_bytes; /* limit - total */
    /* what a framework's own counters show: peak allocated, the same with the allocator's
     * fragmentation (reserved), and allocated between steps */
    uint64_t allocated_bytes, reserved_bytes, resident_bytes;
    /* a rank's bytes in host memory, and its part of what the node has (0: not stated) */
    uint64_t host_bytes, host_limit_bytes;
    const char *host_largest; /* what holds most of them; NULL: nothing waits there */
    enum verdict verdict;
    /* what total is: "p99" of sampled routing, "worst" case reserved, "balanced" as asserted, a
     * "factor" reserved whatever routing asks for, or "fixed" (nothing follows routing) */
    const char *sizing;
    const char *schedule; /* the schedule that was chosen, or "" */
    /* all equal to total_bytes where nothing depends on routing */
    uint64_t expected_bytes, p99_bytes, worst_bytes;
    bool has_distribution; /* the next three are set */
    /* per step: oom_samples / samples; where none ran out, an upper bound: 0 where the worst
     * case fits, Hoeffding's for the rows at which memory ends, or 3 / samples */
    double oom_probability;
    uint64_t samples, oom_samples; /* sampled steps, and how many of them ran out */
    uint64_t p99_error_bytes; /* of p99 by sampling: two standard errors of a 99th percentile */
    struct overflow overflow; /* of receive buffers of given size */
    const struct buffer_report *small_wall; /* the one whose overflow decides, or NULL */
    struct category_bytes categories[CATEGORY_COUNT]; /* only those that are not 0 */
    unsigned n_categories;
    struct buffer_report *buffers; /* in order of lifetime: state, saved, transient */
    size_t n_buffers;
    struct peak_report peak;
    struct stage_memory *stages; /* each pipeline stage at its own peak */
    size_t n_stages;
    const struct buffer_report *largest; /* alive at the peak; NULL when nothing is */
    const struct buffer_report *wall; /* allocation that crosses the limit; NULL when it fits */
    const struct buffer_report *address_wall; /* larger than its library can address, or NULL:
                                               * the verdict is then oom and this the wall */
    const struct buffer_report *int_wall; /* first with more than 2^31 - 1 elements, or NULL */
    const struct fix *fixes;
    size_t n_fixes;
};

struct model_report {
    uint64_t parameters, active_parameters, parameters_per_device;
    uint64_t flop_per_token; /* training: forward and backward, useful */
};

struct sync_report {
    uint64_t per_layer; /* host waits of one MoE layer, forward */
};

/* Of a plan whose prefill is apart: one server of a pool, as a plan by itself predicts it. */
struct pool_report {
    const char *name;              /* "prefill", "decode" */
    uint64_t deployments, devices; /* that the plan says, 0: not; of one deployment */
    struct memory_report memory;
    struct serving_report serving;
};

struct prediction {
    struct memory_report memory; /* of the pool with least to spare */
    const struct pool_report *pools;
    size_t n_pools;
    const struct fix *limit_fixes; /* fix_limits, where fixes are asked for */
    size_t n_limit_fixes;
    struct model_report model;
    struct moe_report moe; /* routing, padding, intensity, decode: each says if it is there */
    struct sync_report sync;
    struct serving_report serving; /* engines: what is left to the KV cache */
    bool has_ops;                  /* asked for */
    struct ops_report ops;
    bool has_slice; /* stack host: what run performs */
    struct slice_report slice;
    struct time_report time; /* asked for */
    bool has_collective;     /* block other than moe */
    struct collective_block collective;
    const char **assumptions; /* one line each, for "what was assumed" */
    size_t n_assumptions;
    uint64_t batch; /* sequences of a step: micro_batch, in decode fewer where others wait */
    const struct note *notes; /* keys the user set and the plan does not read */
    size_t n_notes;
};

struct predict_options {
    const struct routing_data *routing; /* files the plan's routing names, or NULL */
    const struct origins *origins;      /* who set each key, for notes; or NULL */
    bool exact;                         /* exact sampling even where a closed form is valid */
    bool fixes;                         /* search for fixes when it does not fit */
    bool memory_only;                   /* leave out the record of the experts */
    bool drops_mean;                    /* of it, drop_fraction_p99, where that takes samples */
    const struct ops_ask *ops;          /* whose ops to list; NULL: none */
    const struct plan *ops_plan;        /* of these sizes, on the same list; NULL: the plan's */
    const struct time_ask *time;        /* seconds; NULL: none */
    const struct rows *rows;  /* the plan's laws of routing when they stand, or NULL */
    struct rows_known *known; /* what laws of routing have in common; predict has its own */
    uint64_t workers;         /* threads that run would use; for the slice */
    struct pool *pool;        /* for samples of the experts' loads, or NULL */
    struct progress progress; /* of samples of routing: of those for memory, then for loads */
};

/* More than the limit, be it within the stack's error of it: what fixes are searched for. */
bool predict_lacks_memory(const struct memory_report *memory);

/* Its host memory is less than it takes. */
bool predict_lacks_host(const struct memory_report *memory);

/* Why a plan does not fit whose sum would: what an engine's pool or a library says, or the
 * host's memory. NULL: it fits, or the sum says it. */
const char *predict_beside_sum(const struct plan *plan, const struct prediction *prediction,
                               struct arena *arena);

/* A plan whose step is one: any mode but serve. No fixes, whatever is asked for. */
enum status predict_step(const struct plan *plan, const struct predict_options *options,
                         struct arena *arena, struct prediction *out, struct err *err);

/* The plan's laws of routing for all that the options ask for; NULL: nothing asks for them. */
enum status predict_rows(const struct plan *plan, const struct predict_options *options,
                         struct arena *arena, const struct rows **out, struct err *err);

/* time_of; where a size overflows nothing is present, and no error. */
enum status predict_time(const struct plan *plan, const struct time_ask *ask,
                         struct arena *arena, struct time_report *out, struct err *err);

/* Fills the record; memory from the arena. STATUS_INPUT when the stack refuses the plan. */
enum status predict(const struct plan *plan, const struct predict_options *options,
                    struct arena *arena, struct prediction *out, struct err *err);

#endif

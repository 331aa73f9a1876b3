/* A run: the plan's MoE layer, or collective matmul, predicted, performed on this machine and
 * compared.
 *
 * The same work list is evaluated for every rank of the process, folded into a predicted peak,
 * performed through the meter, verified against the oracle and measured. Bytes, FLOP, rows,
 * drops and what crosses links must be equal; time is compared with a roofline. With several
 * processes every one calls the same functions with the same plan, and every one gets the
 * report of the whole group. */
#ifndef MOEPLAN_CALIB_RUN_RUN_H
#define MOEPLAN_CALIB_RUN_RUN_H

#include "base/arena.h"
#include "base/err.h"
#include "base/span.h"
#include "calib/run/run_loads.h"
#include "exec/backend/machine.h"
#include "exec/session.h"
#include "exec/verify/verify.h"
#include "plan/plan.h"
#include "plan/data/trace.h"

struct run_probe;

enum run_verdict {
    RUN_AGREES,    /* performed, and all checks passed */
    RUN_METERED,   /* the null backend: bytes metered as predicted, nothing performed */
    RUN_DISAGREES, /* performed or metered, and a check failed */
    RUN_OOM,       /* does not fit this machine: not performed */
    RUN_DRY        /* not performed, as asked */
};

const char *run_verdict_name(enum run_verdict verdict);

struct run_options {
    enum backend_kind backend;
    bool backward, dry_run;
    uint64_t samples, repeat; /* routing samples, at least 1; measured steps, 0: by the clock */
    bool alone;               /* only `rank` is performed, its peers are absent */
    uint64_t rank;
    double band_percent; /* time may differ so much from its prediction; negative: any */
    /* Told what the process is about to take, and could; or NULL. */
    void (*takes)(uint64_t bytes, uint64_t limit_bytes);
    /* Told what begins, and of which sample; or NULL. */
    void (*begins)(const char *what, uint64_t sample);
    /* What is predicted by where the plan names no profile; NULL: nothing. */
    const struct run_probe *probe;
    const struct routing_data *routing; /* files the plan's routing names, or NULL */
    struct span_list *spans; /* gets some steps of the first routing sample; NULL: none */
};

struct run_category {
    const char *name;
    uint64_t predicted_bytes, measured_bytes;
};

/* A device of this process. */
struct run_place {
    const char *device; /* "cuda:0" */
    uint64_t predicted_peak_bytes, measured_peak_bytes, limit_bytes;
    uint64_t left_before_bytes, left_after_bytes; /* as the device says; 0: it does not */
};

/* Of the fullest process. */
struct run_memory {
    uint64_t predicted_peak_bytes, measured_peak_bytes;
    bool equal;                     /* in every process, category by category */
    uint64_t limit_bytes;           /* what this machine could give to the process */
    uint64_t resident_growth_bytes; /* of the process while it ran, as the system counts */
    struct run_category categories[CATEGORY_COUNT]; /* at the peak; those that are not 0 */
    unsigned n_categories;
    struct run_place *places; /* of the process, when it has devices */
    unsigned n_places;
};

/* Of all ranks, means over the routing samples. */
struct run_op {
    const char *name, *kind, *phase;
    uint64_t rows, flop, bytes;
    uint64_t bytes_sent, bytes_received, bytes_exchanged; /* exchanged: sent */
    double predicted_s;
    double measured_s; /* median; negative: not measured */
    double p50_s, p99_s, low_s, high_s;
    double overhead_s; /* of the harness, measured with kernels that do nothing */
    uint64_t samples;
    double ratio, flop_per_s, bytes_per_s;
};

/* Rows of expert work of all ranks, of the last routing sample. */
struct run_rows {
    uint64_t routed;            /* (token, expert) pairs */
    uint64_t dropped;           /* of them, for lack of capacity */
    uint64_t computed;          /* padding included */
    uint64_t allocated;         /* reserved in the buffer of the first product */
    uint64_t largest, smallest; /* routed rows of the fullest and the emptiest rank */
    double exact_factor, allocated_factor; /* computed, allocated over routed - dropped */
};

struct run_time {
    const char *profile; /* that prices the prediction; NULL: a roofline */
    const char *origin;  /* of a profile that the plan does not name, or why there is none */
    double predicted_s, measured_s, ratio;
    double p50_s, p99_s, low_s, high_s;
    double overhead_s;
    double tokens_per_s;
    uint64_t samples, steps; /* samples measured, steps in each */
    double clock_s;          /* smallest step of the clock */
    bool judged, within;     /* --band */
    /* FLOP/s of a worker's f32 products meanwhile (exec/gauge.h), and as the profile has them;
     * 0: not read. Of several processes the one that lost most. */
    double products_flop_per_s, products_probed_flop_per_s;
};

struct run_fix {
    const char *set; /* options: "--shrink 8", "--set moe.buffer=exact" */
    uint64_t predicted_peak_bytes;
};

struct run_report {
    enum run_verdict verdict;
    const char *backend, *transport, *blas; /* blas NULL: not opened */
    const char *device;                     /* "opencl:0, its name"; NULL: the CPU */
    const char *clocks, *links; /* of devices, and between them; NULL: not known, none */
    const char *warning;
    bool alone;  /* of `ranks` one was performed, or would be: everything is its own */
    bool staged; /* its exchanges pass through the memory of the host and are not timed */
    uint64_t rank, ranks;
    struct snapshot snapshot; /* what set-up fixed */
    struct machine machine;
    struct run_memory memory;
    struct run_op *ops;
    size_t n_ops;
    struct checks checks;
    bool routed; /* there are rows */
    struct run_rows rows;
    struct run_loads loads;
    struct run_time time;
    uint64_t buffers; /* allocations of a step in the process */
    struct run_fix *fixes;
    size_t n_fixes;
    const struct work *work; /* the list, and its sizes for the process's first rank */
    const uint64_t *values;
};

/* The plan as `run` performs it: stack `host`, its path resolved by the rule of its own stack.
 * STATUS_INPUT when it has no MoE layer, or the host cannot perform its block. */
enum status run_host_plan(struct plan *plan, struct err *err);

/* STATUS_USAGE when options ask for a rank that the plan's group does not have. */
enum status run_check_rank(const struct plan *plan, const struct run_options *options,
                           struct err *err);

/* STATUS_INPUT, in every process, when they do not all have the same plan and options. */
enum status run_check_same(const struct plan *plan, const struct run_options *options,
                           struct transport *transport, struct err *err);

/* Predicts, performs, compares. session: opened, or NULL with dry_run. STATUS_OK whatever the
 * verdict; errors are those that leave nothing to report. Memory from the arena. */
enum status run_perform(const struct plan *plan, const struct run_options *options,
                        struct session *session, struct arena *arena, struct run_report *out,
                        struct err *err);

#endif

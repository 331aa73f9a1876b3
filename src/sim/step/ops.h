/* The complete list of a plan's step with its sizes worked out for one rank and one routing
 * sample: what that rank computes, reads, writes and sends. The sample is the one that run
 * performs, token by token, where the group is small enough; the Gaussian step of the same law
 * elsewhere. Pure; memory from the arena. */
#ifndef MOEPLAN_SIM_STEP_OPS_H
#define MOEPLAN_SIM_STEP_OPS_H

#include "base/arena.h"
#include "base/err.h"
#include "sim/moe/demand.h"
#include "sim/step/slice.h"
#include "work/list/work.h"

/* Of one layer and micro-step (phase update: of one step); zeros where not applicable. */
struct op_report {
    const char *name;
    enum op_kind kind;
    enum segment segment;
    enum phase phase;
    enum process_group group;
    bool scale_out;        /* its group crosses nodes */
    uint64_t layers;       /* of the stage that run it */
    double seconds;        /* by the profile (sim/time/price) */
    uint64_t rows;         /* it works on: of a product in all groups, of an exchange sent */
    uint64_t groups, n, k; /* of a product: flop = 2 rows n k */
    uint64_t flop, bytes;  /* bytes read and written in memory */
    uint64_t bytes_read, bytes_written, bytes_sent, bytes_received, host_syncs;
    /* of an exchange that routing decides, of the step that is timed: bytes on the fullest
     * links of each level, seconds, and those of balanced routing; else NAN */
    double fullest_up, fullest_out, fullest_s, balanced_s;
};

struct ops_report {
    uint64_t rank, sample;     /* of the expert-parallel group; routing step */
    const char *method;        /* "exact sample", "gaussian", "balanced" (nothing is routed) */
    struct demand_links links; /* of the sample; told where the rank is its fullest */
    struct op_report *ops;
    size_t n;
    const struct work *work; /* the whole list, and its sizes for that rank and sample */
    const uint64_t *values;
};

struct ops_ask {
    const struct routing_data *data; /* files that the plan's routing names, or NULL */
    const struct rows *rows;         /* its laws where they are known, or NULL */
    const struct profile *profile;   /* that prices them; NULL: the cluster's own rates */
    bool named;                      /* rank is set; else the fullest rank of the sample */
    uint64_t rank, sample;
};

/* STATUS_INPUT when the rank that is asked for does not exist. */
enum status ops_check(const struct plan *plan, const struct ops_ask *ask, struct err *err);

/* `held`: the plan's list as work_build made it, `stage`: slots of the stage that counts. Its
 * ops are added to a copy. STATUS_INPUT when the rank does not exist or routing cannot be
 * sampled. */
enum status ops_of(const struct plan *plan, const struct ops_ask *ask, const struct work *held,
                   const struct slots *stage, struct arena *arena, struct ops_report *out,
                   struct err *err);

/* The slots of one rank of a sample; *rank is chosen unless it is named. `resolved`: the path
 * is not auto. */
enum status ops_slots(const struct plan *resolved, const struct ops_ask *ask,
                      struct arena *arena, struct slots *slots, struct ops_report *out,
                      struct err *err);

/* Rows an op works on: as it says, else those of what it writes or reads first. */
uint64_t ops_rows(const struct work *work, const struct op *op, const uint64_t *values);

/* What run performs of the plan, summed over the ranks of its process (stack host). */
struct slice_report {
    uint64_t ranks;
    uint64_t peak_bytes;
    uint64_t category[CATEGORY_COUNT];
    struct op_report *ops; /* sums over ranks */
    size_t n;
};

enum status ops_slice(const struct plan *plan, const struct routing_data *data, bool backward,
                      uint64_t workers, struct arena *arena, struct slice_report *out,
                      struct err *err);

#endif

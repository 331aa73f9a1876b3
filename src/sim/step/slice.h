/* The slice of a step's list that run performs: the plan's MoE layer, or its collective matmul,
 * evaluated for the ranks of one process. Its ops are those of the same pieces that the step's
 * list is made of (work/layer), without what stands around them. */
#ifndef MOEPLAN_SIM_STEP_SLICE_H
#define MOEPLAN_SIM_STEP_SLICE_H

#include "sim/moe/route.h"
#include "sim/memory/memory.h"
#include "work/list/work.h"

struct slice {
    const struct plan *plan;
    struct route routing;
    const struct layer_sample *sample; /* of routing; NULL: nothing is routed */
    struct work work;
    uint64_t first, n; /* ranks first .. first + n - 1 */
    uint64_t workers, places;
    struct slots *slots; /* [n] */
    uint64_t **values;   /* [n] of the list's sizes */
};

struct slice_ranks {
    uint64_t first, n, workers;
    uint64_t places; /* memories they are dealt to, in order; 0: one */
};

/* What a slice is made of, by the plan's block. */
struct slice_kind {
    const char *axis; /* of the group that performs it: "ep", "tp" */
    bool routed;      /* tokens go to experts: there are rows, and samples of routing */
    uint64_t (*ranks)(const struct plan *plan);
    uint64_t (*tokens)(const struct plan *plan); /* of a step of the group */
    /* STATUS_INPUT when there is nothing of the kind in the plan; resolves what stacks leave
     * open. */
    enum status (*resolve)(struct plan *plan, struct err *err);
    /* The list; memory from the arena. */
    enum status (*build)(struct slice *slice, bool backward, struct arena *arena,
                         struct err *err);
    /* What slots are filled from, when something is routed; and the bytes that takes. */
    enum status (*route)(struct slice *slice, const struct routing_data *data,
                         struct arena *arena, struct err *err);
    uint64_t (*route_bytes)(const struct plan *plan);
    /* Fills a rank's slots as if no row arrived. */
    void (*fill_least)(const struct slice *slice, struct slots *slots);
    /* Fills the slots of all ranks for a sample. */
    void (*fill_slots)(struct slice *slice, uint64_t step);
};

const struct slice_kind *slice_kind_of(const struct plan *plan);

/* Builds the list and evaluates it for routing step 0. The plan is one of run_host_plan and
 * must live as long. Memory from the arena. */
enum status slice_init(const struct plan *plan, const struct routing_data *data, bool backward,
                       struct slice_ranks ranks, struct arena *arena, struct slice *out,
                       struct err *err);

/* Bytes that the ranks need whatever routing does: their peak when no row arrives, and what a
 * sample of routing takes. No memory that grows with the tokens is taken. */
enum status slice_least(const struct plan *plan, bool backward, struct slice_ranks ranks,
                        uint64_t *bytes, struct err *err);

/* What a sample of routing takes; 0 where nothing is routed. One of at most SLICE_LITTLE is
 * taken without asking what the layer needs at least: it says exactly what does not fit. */
enum { SLICE_LITTLE = 256 << 20 };
uint64_t slice_sample_bytes(const struct plan *plan);

/* Evaluates it for another routing step. */
enum status slice_step(struct slice *c, uint64_t step, struct err *err);

/* Predicted peak of the process. */
void slice_peak(const struct slice *c, struct arena *arena, struct memory_peak *peak);

/* Of one of its places. */
void slice_place_peak(const struct slice *c, uint64_t place, struct arena *arena,
                      struct memory_peak *peak);

/* Bytes of the largest exchange of a rank. */
uint64_t slice_exchange_bytes(const struct slice *c);

#endif

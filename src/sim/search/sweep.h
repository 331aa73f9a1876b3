/* Sweeps: the product of a few axes, every point evaluated, rows out in order.
 *
 * An axis is a list of values; a value is whatever it does to the plan. What differs between
 * the plans of an axis is found once and stored as patches of 64-bit words, so that a point
 * costs a few stores and one evaluation. Points are numbered with the last axis fastest; rows
 * come out in that order whatever the number of threads. Memory use does not grow with the
 * points. */
#ifndef MOEPLAN_SIM_SEARCH_SWEEP_H
#define MOEPLAN_SIM_SEARCH_SWEEP_H

#include "base/pool.h"
#include "sim/step/evaluate.h"
#include "sim/search/sweep_keep.h"

enum { SWEEP_AXES = 4 };

/* Changes `plan` (a copy of the base) to value number `value` of the axis. STATUS_INPUT when
 * the value is not one of the key's. */
typedef enum status sweep_apply(void *context, size_t value, struct plan *plan,
                                struct err *err);

struct sweep_axis {
    size_t n_values;
    bool slot; /* numbers of the sizes only: no rebuilding */
    size_t n_words;
    uint16_t *words;   /* [n_words] which 64-bit words of the plan the axis changes */
    uint64_t *masks;   /* [n_words] which bytes of them: the others may be another axis's */
    uint64_t *patches; /* [n_values][n_words] within the masks */
};

struct sweep {
    const struct plan *base;
    const struct routing_data *routing; /* files the base plan's routing names, or NULL */
    size_t n_axes;
    struct sweep_axis axes[SWEEP_AXES];
    /* What axes do together where it is not the sum of what each does, since other keys follow
     * from theirs: its values are their product, the last of them fastest. What the other axes
     * set stands above it. */
    struct sweep_axis joint;
    bool joined[SWEEP_AXES]; /* of the joint: the axis alone changes nothing */
};

/* Records what each value sets, whatever is there: `apply` writes without reading. Memory from
 * the arena. */
enum status sweep_axis_init(struct sweep_axis *axis, const struct plan *base, size_t n_values,
                            bool slot, sweep_apply *apply, void *context, struct arena *arena,
                            struct err *err);

/* The same of a joint axis, whose values make whole plans: what differs from the base. */
enum status sweep_joint_init(struct sweep_axis *axis, const struct plan *base, size_t n_values,
                             sweep_apply *apply, void *context, struct arena *arena,
                             struct err *err);

/* Number of points, UINT64_MAX when it overflows. */
uint64_t sweep_points(const struct sweep *sweep);

/* Values of a point, one index per axis. */
void sweep_indices(const struct sweep *sweep, uint64_t point, size_t indices[SWEEP_AXES]);

/* The plan of a point. */
void sweep_plan(const struct sweep *sweep, const size_t indices[SWEEP_AXES], struct plan *plan);

/* Turns one evaluated point into bytes of output. Called on any thread; pure. Appends at most
 * `room` bytes at `out` and returns their number. */
typedef size_t sweep_row(const void *context, const size_t indices[SWEEP_AXES],
                         const struct plan *plan, const struct evaluation *result, char *out,
                         size_t room);

/* How fast a point is, or (most) what it cannot exceed, HUGE_VAL where that takes no less to
 * find; called on any thread, right after its evaluation. More is better; 0 where it is not
 * known. */
typedef double sweep_speed(const void *context, const struct plan *plan,
                           const struct evaluation *result, bool most);

/* Takes the bytes of consecutive rows, in order, on the calling thread. Not OK ends the sweep.
 */
typedef enum status sweep_write(void *context, const char *bytes, size_t n, uint64_t done,
                                struct err *err);

/* How many points to evaluate before rows are written again, after `last` of them (0: none
 * yet). The caller knows the time that took, this room does not. */
typedef uint64_t sweep_pace(void *context, uint64_t last);

/* A contiguous share of the points, in their order: number `part` of `of`, from 1; {0}: all. */
struct sweep_part {
    uint64_t part, of;
};

struct sweep_output {
    sweep_row *row;
    const void *row_context;
    size_t row_room; /* most bytes of a row */
    sweep_write *write;
    void *write_context;
    sweep_pace *pace; /* NULL: as many as suit the machine */
    struct sweep_part part;
    /* What stays. The best (top, pareto) are written at the end; of REDUCE_COUNT nothing is. */
    struct sweep_keep keep;
    sweep_speed *speed; /* where the best stay */
    const void *speed_context;
    uint64_t *counts; /* [SWEEP_VERDICTS] points by verdict, or NULL */
};

/* Of so many points the first of a part, and one past its last. Parts differ by a point at
 * most. */
void sweep_part_range(uint64_t points, struct sweep_part part, uint64_t *first, uint64_t *end);

/* Evaluates all points, or the part's, on the pool (NULL: on the caller). */
enum status sweep_run(const struct sweep *sweep, struct pool *pool,
                      const struct sweep_output *output, struct err *err);

#endif

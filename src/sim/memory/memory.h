/* Memory of a work list: lifetimes folded into a peak per category.
 *
 * A step is seen at one moment: an op of one layer of one segment, while the rank works on one
 * micro-batch. Alive then are what persists; of each segment the saved tensors of the other
 * micro-batches in flight; of this micro-batch the saved tensors of the segments before this
 * one in the order embedding, dense, MoE, head (backward meets them in reverse, so the rest are
 * not made yet or gone already), of this segment's other layers, and of this layer those whose
 * ops surround the moment; and this layer's transients. The peak is the worst moment. Pure: no
 * files, clock or globals. */
#ifndef MOEPLAN_SIM_MEMORY_MEMORY_H
#define MOEPLAN_SIM_MEMORY_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include "work/list/work.h"

struct memory_peak {
    uint64_t state_bytes;              /* parameters and optimizer */
    uint64_t temp_bytes;               /* the rest, at the worst moment of the step */
    uint64_t total_bytes;              /* state + temp */
    uint64_t pinned_bytes;             /* of temp: saved because the user named it */
    uint64_t outside_bytes;            /* of temp: not from the framework's allocator */
    uint64_t resident_bytes;           /* from the allocator, and there between steps too */
    uint64_t category[CATEGORY_COUNT]; /* at that moment; sums to total_bytes */
    enum segment segment;              /* in which segment the moment is */
    uint16_t tick;  /* at which tick, WORK_NONE when only the step's is alive */
    uint64_t stage; /* of the pipeline, from 1; set by verdict_evaluate */
};

/* Folds one schedule of a list that work_index saw: all but outside_bytes and the categories.
 * values: from sizes_eval. */
void memory_fold(const struct work *work, const uint64_t *values, unsigned schedule,
                 struct memory_peak *peak);

/* Bytes alive at one moment: those of sizes that stay, and copies (in thousandths) of those
 * that a sweep moves. */
struct memory_term {
    uint32_t node;
    uint64_t copies;
};

struct memory_sum {
    enum segment segment;
    uint16_t tick;
    uint64_t still_bytes;
    struct memory_term *terms; /* [n] */
    size_t n;
};

/* A fold of which only what moves is added up again. */
struct memory_kept {
    bool usable;
    struct memory_sum state, *moments; /* [n], the first of the step alone */
    size_t n;
};

/* `moves` by node (sizes_eval_moving); good while no other node changes. Not usable where the
 * number of copies moves too, or something is pinned or leaves. Memory from the arena. */
void memory_keep(const struct work *work, const uint64_t *values, const bool *moves,
                 unsigned schedule, struct arena *arena, struct memory_kept *kept);

/* memory_fold of the list that it is of. */
void memory_fold_kept(const struct memory_kept *kept, const uint64_t *values,
                      struct memory_peak *peak);

/* Adds outside_bytes and the categories to a peak that memory_fold found. */
void memory_explain(const struct work *work, const uint64_t *values, unsigned schedule,
                    struct memory_peak *peak);

/* Bytes of one buffer: at that moment, 0 when it is not alive. */
uint64_t memory_bytes_at_peak(const struct work *work, const uint64_t *values,
                              const struct buffer *buffer, unsigned schedule,
                              const struct memory_peak *peak);

/* Bytes of one buffer at its own worst: bytes x count (x repeat x in-flight when saved). */
uint64_t memory_buffer_bytes(const struct work *work, const uint64_t *values,
                             const struct buffer *buffer);

#endif

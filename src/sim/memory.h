/* Memory of a work list: lifetimes folded into a peak per category.
 *
 * Pure: no files, clock or globals. */
#ifndef MOEPLAN_SIM_MEMORY_H
#define MOEPLAN_SIM_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include "work/work.h"

struct memory_peak {
    uint64_t state_bytes;              /* parameters and optimizer */
    uint64_t temp_bytes;               /* the rest, at the worst moment of the step */
    uint64_t total_bytes;              /* state + temp */
    uint64_t pinned_bytes;             /* of temp: saved because the user named it */
    uint64_t category[CATEGORY_COUNT]; /* at that moment; sums to total_bytes */
    enum segment segment;              /* whose transient it is */
    uint16_t op;                       /* at which op, WORK_NONE when nothing is transient */
};

/* Folds one schedule. values: from sizes_eval. */
void memory_fold(const struct work *work, const uint64_t *values, unsigned schedule,
                 struct memory_peak *peak);

/* Whether a buffer is alive at that moment. */
bool memory_at_peak(const struct buffer *buffer, unsigned schedule,
                    const struct memory_peak *peak);

/* Bytes of one buffer at the peak: bytes x count (x repeat x in-flight when saved). */
uint64_t memory_buffer_bytes(const struct work *work, const uint64_t *values,
                             const struct buffer *buffer);

#endif

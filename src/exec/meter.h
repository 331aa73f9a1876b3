/* The meter: the only way to device memory. Counts bytes per category and the peak.
 *
 * It hands out exactly the bytes of a buffer of the work list, so that the peak it saw and the
 * peak that was predicted are comparable to the byte. */
#ifndef MOEPLAN_EXEC_METER_H
#define MOEPLAN_EXEC_METER_H

#include <stdint.h>

#include "base/err.h"
#include "work/list/work.h"

struct backend;

struct meter {
    uint64_t now_bytes, peak_bytes;
    uint64_t now[CATEGORY_COUNT];
    uint64_t peak[CATEGORY_COUNT]; /* at the first moment of the overall peak */
    uint64_t n_allocations;
    uint64_t limit_bytes; /* 0: none; an allocation beyond it fails as one by the system does */
    const struct backend *backend; /* whose memory it is */
    void *device;
};

/* Memory of `bytes` bytes of the backend; NULL for 0 bytes. STATUS_NOFIT names the buffer when
 * there is no more. */
enum status meter_alloc(struct meter *meter, const char *name, enum category category,
                        uint64_t bytes, void **out, struct err *err);
void meter_free(struct meter *meter, enum category category, uint64_t bytes, void *memory);

/* Resident memory of this process now, in bytes; 0 where the system does not say. */
uint64_t meter_resident_bytes(void);

/* The most it was since meter_resident_mark (since the process began where the system cannot
 * forget); 0 where the system does not say. */
uint64_t meter_resident_peak_bytes(void);
void meter_resident_mark(void);

#endif

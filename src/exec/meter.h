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

enum { METER_PLACES = 64 };

struct meter_place {
    uint64_t now_bytes, peak_bytes;
};

struct meter {
    uint64_t now_bytes, peak_bytes;
    uint64_t now[CATEGORY_COUNT];
    uint64_t peak[CATEGORY_COUNT]; /* at the first moment of the overall peak */
    uint64_t n_allocations;
    uint64_t limit_bytes; /* 0: none; an allocation beyond it fails as one by the system does */
    struct meter_place places[METER_PLACES]; /* of the backend: each with a peak of its own */
    const struct backend *backend;           /* whose memory it is */
    void *device;
};

/* What is asked for. */
struct meter_want {
    const char *name;
    enum category category;
    unsigned place;
    uint64_t bytes;
};

/* Memory of the backend; NULL for 0 bytes. STATUS_NOFIT names the buffer when there is no more.
 */
enum status meter_alloc(struct meter *meter, const struct meter_want *want, void **out,
                        struct err *err);
void meter_free(struct meter *meter, const struct meter_want *want, void *memory);

/* Resident memory of this process now, in bytes; 0 where the system does not say. */
uint64_t meter_resident_bytes(void);

/* The most it was since meter_resident_mark (since the process began where the system cannot
 * forget); 0 where the system does not say. */
uint64_t meter_resident_peak_bytes(void);
void meter_resident_mark(void);

#endif

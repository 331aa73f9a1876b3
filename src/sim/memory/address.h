/* Buffers that an index cannot reach, whatever memory there is: kernels and libraries count
 * elements or bytes in 32 bits where moeplan counts in 64. */
#ifndef MOEPLAN_SIM_MEMORY_ADDRESS_H
#define MOEPLAN_SIM_MEMORY_ADDRESS_H

#include "work/list/work.h"

/* The first buffer of a schedule, in the list's order, larger than its own library can address
 * (buffer.addressable_bytes), or NULL. Such a plan does not run: the library asserts. The list
 * was indexed (work_index). */
const struct buffer *address_beyond_library(const struct work *work, const uint64_t *values,
                                            unsigned schedule);

/* The first buffer with more than 2^31 - 1 elements (in 16-bit formats 4 GiB), state and heaps
 * of bytes apart, or NULL: what breaks first in a kernel that indexes with an int. */
const struct buffer *address_beyond_int(const struct work *work, const uint64_t *values,
                                        unsigned schedule);

/* Product of a buffer's dimensions, saturated. */
uint64_t address_elements(const struct buffer *buffer, const uint64_t *values);

#endif

/* The ops of a list along time: each on the stream of the resource that it occupies, after what
 * it reads, and after the op before it unless the stack overlaps. Bounds, checked in tests:
 * max(critical path, busiest stream) <= end <= sum of all. */
#ifndef MOEPLAN_SIM_TIMELINE_H
#define MOEPLAN_SIM_TIMELINE_H

#include "base/arena.h"
#include "sim/price.h"

enum stream { STREAM_COMPUTE, STREAM_LINK, STREAM_HOST, STREAM_COUNT };

const char *stream_name(enum stream stream);

struct timeline_op {
    struct price price;
    enum stream stream;
    double begin_s, end_s;
};

struct timeline {
    struct timeline_op *ops; /* [work->n_ops]; those left out are empty */
    double end_s, sum_s;
};

/* Ops of one segment (SEGMENT_COUNT: all), once each; memory from the arena. */
void timeline_of(const struct pricing *pricing, const struct work *work, const uint64_t *values,
                 enum segment segment, bool overlap, struct arena *arena, struct timeline *out);

/* Rounds of an exchange on one link and computation: fetch 0; then compute i with fetch i + 1
 * beside it; return i on the link afterwards (seed-systems.md C2). */
struct rounds_times {
    double serial_s, overlapped_s, link_s, compute_s; /* the last two: sums, lower bounds */
};

void timeline_rounds(double fetch_s, double compute_s, double return_s, uint64_t rounds,
                     struct rounds_times *out);

#endif

/* Rounds of a loop along time. */
#ifndef MOEPLAN_SIM_TIME_TIMELINE_H
#define MOEPLAN_SIM_TIME_TIMELINE_H

#include <stdint.h>

/* Rounds of an exchange on one link and computation: fetch 0; then compute i with fetch i + 1
 * beside it; return i on the link afterwards (seed-systems.md C2). */
struct rounds_times {
    double serial_s, overlapped_s, link_s, compute_s; /* the last two: sums, lower bounds */
};

void timeline_rounds(double fetch_s, double compute_s, double return_s, uint64_t rounds,
                     struct rounds_times *out);

#endif

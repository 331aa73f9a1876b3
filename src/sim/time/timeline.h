/* Rounds of a loop along time. */
#ifndef MOEPLAN_SIM_TIME_TIMELINE_H
#define MOEPLAN_SIM_TIME_TIMELINE_H

#include <stdbool.h>
#include <stdint.h>

/* Rounds of an exchange on one link and computation: fetch 0; then compute i with fetch i + 1
 * beside it; return i on the link afterwards (seed-systems.md C2). */
struct rounds_times {
    double serial_s, overlapped_s, link_s, compute_s; /* the last two: sums, lower bounds */
};

void timeline_rounds(double fetch_s, double compute_s, double return_s, uint64_t rounds,
                     struct rounds_times *out);

/* Layers in a row, of which the last in_group of every group come from host memory, `ahead` of
 * them at a time: each begins when it is there. */
struct layers_ahead {
    uint64_t layers, group, in_group, ahead;
    bool early; /* a copy begins with the layer `ahead` before, the first with the pass; else
                 * when that layer ends, the first ones at the end of the pass before, which
                 * waits until they are there */
    double layer_s, copy_s; /* of one */
};

/* How many of them come. */
uint64_t timeline_coming(const struct layers_ahead *layers);

/* Seconds of a pass: no less than its layers, than its copies, no more than both in turn. */
double timeline_layers(const struct layers_ahead *layers);

#endif

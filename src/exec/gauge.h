/* How fast this machine multiplies while something else is measured: a product that the probe
 * measures as well, on all workers at once. A virtual machine's processors are shared and its
 * clocks drift: products lose a third of their rate for a second, and win it back, between a
 * probe and a run or within one. A measured time is held against its prediction only together
 * with what the machine itself did meanwhile. */
#ifndef MOEPLAN_EXEC_GAUGE_H
#define MOEPLAN_EXEC_GAUGE_H

#include <stdbool.h>
#include <stddef.h>

#include "exec/session.h"

/* The products, in f32: the most rows that the probe has, by its two shapes of weights,
 * [NARROW, WIDE] and the reverse. */
enum { GAUGE_ROWS = 256, GAUGE_WIDE = 1024, GAUGE_NARROW = 512, GAUGE_READINGS = 256 };

struct gauge {
    const struct session *session;
    float *space;   /* of all workers */
    double began_s; /* the last reading's begin and end */
    double ended_s;
    double rates[GAUGE_READINGS]; /* FLOP/s of a worker */
    size_t n;
};

/* False, and nothing is held, where there is no memory for it: a gauge is never needed. */
bool gauge_open(struct gauge *gauge, const struct session *session);

/* Of NULL, nothing. */
void gauge_close(struct gauge *gauge);

/* Takes a reading, of some milliseconds; of NULL, none. A reading that is not `due` is left out
 * as long as readings would take more than a tenth of the time. */
void gauge_read(struct gauge *gauge, bool due);

/* FLOP/s of a worker, the median of the readings, which are sorted; 0 without. */
double gauge_rate(struct gauge *gauge);

#endif

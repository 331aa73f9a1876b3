/* Copies between host and device beside the compute stream.
 *
 * * besides: on a stream of its own, whenever; it is waited for at the end of its pass
 *   (activations that wait in host memory);
 * * ahead: weights of layers that come in for their turn, so many layers ahead: each is waited
 *   for by its own layer, the first of a pass by all (timeline_layers of sim/time/timeline);
 * * reads: kernels of products read host memory themselves: nothing else hides it;
 * * turns: on the compute stream. */
#ifndef MOEPLAN_SIM_TIME_COPIES_H
#define MOEPLAN_SIM_TIME_COPIES_H

#include "sim/time/stretch.h"

/* What an op that copies does: the stack's way, by a table with its sources. */
enum copy_way copies_way(const struct plan *plan, const struct op *op);

/* Of a pass what its copies make it longer: of `device` seconds on the compute stream, copies
 * that take turns among them. */
double copies_left_s(const struct plan *plan, const struct stretch *pass, double device_s);

#endif

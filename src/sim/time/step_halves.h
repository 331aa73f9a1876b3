/* A step that an engine runs as two halves (plan/halves.h): every op of both, priced by itself,
 * and what exchanges of one hide behind products of the other (sim/time/halves.h).
 *
 * Both halves read all weights that they use. The fullest rank is taken to be the same in
 * either, with its share of the rows. A step of one batch may hide exchanges of its own
 * (plan_overlaps_single). No run with either has been compared. */
#ifndef MOEPLAN_SIM_TIME_STEP_HALVES_H
#define MOEPLAN_SIM_TIME_STEP_HALVES_H

#include "sim/time/step_parts.h"

/* Room for both, of a plan whose steps may be halves. Memory from the stepper's arena. */
void step_halves_take(struct stepper *stepper);

/* Of a step whose ops were priced whole: those of its halves, where it has them
 * (stepper->halves); op_s of them is then that of both. least: as pricing.least. False when a
 * size overflows. */
bool step_halves_price(struct stepper *stepper, const struct demand *demand, bool least);

/* Whether layers of a segment run in halves. */
bool step_halves_run(const struct stepper *stepper, enum segment segment);

/* Seconds of exchanges that so many layers of a segment hide, of what op_s adds up to. */
double step_halves_hidden_s(const struct stepper *stepper, enum segment segment, double layers);

/* The same of all layers of a chunk, taken out of its exchanges. */
void step_halves_hide(const struct stepper *stepper, struct chunk_time *chunk);

#endif

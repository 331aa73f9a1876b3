/* What runs beside the compute stream, and what of it is waited for.
 *
 * Collectives that may run beside products begin on streams of their own: exchanges of stacks
 * that do not say how (Megatron's: sim/time/paired.h), tensor parallelism's
 * in the product that makes or takes the rows (TransformerEngine's userbuffers), gathers and
 * reductions of shards beside a layer's whole forward or backward. So:
 *
 * * each stream hides no more than products last, and a product hides each of them once;
 * * streams whose bytes cross the same links take turns there: what they carry on a level adds
 *   up, and is hidden by products once. Levels are links of their own;
 * * kernels of collectives take units (SMs, or their memory's bandwidth) from the products,
 * each its own: what a profile says is never hidden (overlap.share) is a cost of every one, and
 *   these add up;
 * * work that hides a loop's exchange (moe.overlap) hides nothing else on those links.
 *
 * A pass takes the longest of these, which grows with each of them: no link or device that is
 * faster makes it longer. */
#ifndef MOEPLAN_SIM_TIME_OVERLAP_H
#define MOEPLAN_SIM_TIME_OVERLAP_H

#include "sim/time/stretch.h"

/* The most that adds up on one level of links; b: NULL for none. */
double overlap_busiest_s(const double a[PROFILE_LEVELS], const double b[PROFILE_LEVELS]);

/* Puts what is left of collectives, and of launches, into the parts. Forward and backward of
 * one chunk. */
void overlap_passes(const struct pricing *pricing, struct stretch pass[PASSES]);

/* Of a step's reductions or gathers of `seconds`, of which links carry link_s, what does not
 * fit beside a pass that was overlapped. */
double overlap_beside(const struct pricing *pricing, const struct stretch *pass, double seconds,
                      const double link_s[PROFILE_LEVELS]);

#endif

/* Padding of a plan's layer: rows needed and reserved under its system's rule, blocks, skips.
 *
 * Sources: seed-systems.md A4, B2, B3, C2; buffers.md 11. */
#ifndef MOEPLAN_SIM_MOE_PADDING_H
#define MOEPLAN_SIM_MOE_PADDING_H

#include "sim/moe/load.h"
#include "sim/moe/predict_moe.h"

/* The alignment rule and row multiple that a plan's path asks loads for; multiple 0: none. */
void padding_rule(const struct plan *plan, enum moe_path path, enum align_kind *kind,
                  uint64_t *multiple);

/* Fills the record from sampled loads. */
void padding_of(const struct plan *plan, enum moe_path path, const struct rows *rows,
                const struct load *load, struct padding_report *out);

/* Rows a rank computes in expectation, padding included, and weight loads it makes. */
void padding_computed(const struct plan *plan, enum moe_path path, const struct rows *rows,
                      const struct load *load, const struct padding_report *padding,
                      double *computed, double *loads);

#endif

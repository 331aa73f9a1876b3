/* The paths' builders, and parts that several of them share; only dispatch_*.c include this. */
#ifndef MOEPLAN_WORK_STACK_DISPATCH_PATHS_H
#define MOEPLAN_WORK_STACK_DISPATCH_PATHS_H

#include "work/stack/dispatch_parts.h"

enum status hold_capacity(struct hold_path *p, uint16_t *output, struct err *err);
enum status hold_capacity_neuron(struct hold_path *p, uint16_t *output, struct err *err);
enum status hold_chunked_a2a(struct hold_path *p, uint16_t *output, struct err *err);
enum status hold_masked(struct hold_path *p, uint16_t *output, struct err *err);
enum status hold_deepep(struct hold_path *p, uint16_t *output, struct err *err);
enum status hold_deepep_ll(struct hold_path *p, uint16_t *output, struct err *err);
enum status hold_rdep(struct hold_path *p, uint16_t *output, struct err *err);
enum status hold_blockwise(struct hold_path *p, uint16_t *output, struct err *err);
enum status hold_selective(struct hold_path *p, uint16_t *output, struct err *err);
enum status hold_all_experts(struct hold_path *p, uint16_t *output, struct err *err);

#endif

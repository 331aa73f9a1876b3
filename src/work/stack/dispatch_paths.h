/* The paths' builders, and parts that several of them share; only dispatch_*.c include this. */
#ifndef MOEPLAN_WORK_STACK_DISPATCH_PATHS_H
#define MOEPLAN_WORK_STACK_DISPATCH_PATHS_H

#include "work/stack/dispatch_parts.h"

enum status hold_deepep(struct hold_path *p, uint16_t *output, struct err *err);
enum status hold_deepep_ll(struct hold_path *p, uint16_t *output, struct err *err);
enum status hold_rdep(struct hold_path *p, uint16_t *output, struct err *err);

#endif

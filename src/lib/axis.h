/* Axes of a sweep as the user writes them: --over and --case. */
#ifndef MOEPLAN_LIB_AXIS_H
#define MOEPLAN_LIB_AXIS_H

#include "base/arena.h"
#include "base/err.h"

/* One setting of one value: key and value as --set takes them. */
struct axis_set {
    const char *key, *value;
};

struct axis_value {
    const char *label; /* what the column shows */
    size_t n_sets;
    struct axis_set *sets;
};

struct axis {
    const char *column; /* the swept key's full name, or "case" */
    const char *option; /* as typed, for messages */
    size_t n_values;
    struct axis_value *values;
};

/* "workload.micro_batch=1..32", "moe.capacity_factor=1,1.25,2,4", "parallel.ep=1..64*2",
 * "workload.sequence_length=1024..8192+1024", and lists of these: "1,2,4..16*2". Commas inside
 * brackets or braces do not separate. STATUS_USAGE with what is wrong. */
enum status axis_parse_over(const char *text, struct arena *arena, struct axis *axis,
                            struct err *err);

/* All --case options as one axis: "cf2:moe.path=capacity,moe.capacity_factor=2". */
enum status axis_parse_cases(const char *const *texts, size_t n, struct arena *arena,
                             struct axis *axis, struct err *err);

#endif

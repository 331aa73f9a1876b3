/* What a table of measurements may name: quantities of a prediction by their names in
 * `predict --format json`. */
#ifndef MOEPLAN_CALIB_TABLE_QUANTITY_H
#define MOEPLAN_CALIB_TABLE_QUANTITY_H

#include <stdbool.h>
#include <stddef.h>

#include "sim/answer/predict.h"

/* What decides how near a prediction has to be. */
enum quantity_judge {
    QUANTITY_BY_STACK,    /* the error that the stack states of its bytes */
    QUANTITY_BY_SAMPLE,   /* 2 %: figures of sampled routing */
    QUANTITY_BY_INTERVAL, /* the time's own interval */
    QUANTITY_BY_REQUEST   /* that of a request's times */
};

struct quantity {
    const char *name;
    bool real;     /* a double, else a uint64_t */
    size_t offset; /* in struct prediction */
    enum quantity_judge judged;
    bool falls; /* a rate: the interval's ends change places */
};

/* NULL for a name that is not one of them. */
const struct quantity *quantity_find(const char *name);

/* The one that a misspelt name was meant to be, or NULL. */
const char *quantity_near(const char *name);

/* Whether it is one of the record of the experts, which predict may leave out. */
bool quantity_is_of_experts(const struct quantity *quantity);

/* In base units. */
double quantity_of(const struct quantity *quantity, const struct prediction *prediction);

#endif

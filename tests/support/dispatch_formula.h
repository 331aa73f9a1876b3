/* The sizes of all dispatchers by name: what tests, claims and explanations look up. */
#ifndef MOEPLAN_SUPPORT_DISPATCH_FORMULA_H
#define MOEPLAN_SUPPORT_DISPATCH_FORMULA_H

#include <stddef.h>

#include "work/list/letters.h"

struct dispatch_formula {
    const char *name;                              /* "low_latency" */
    struct size (*plain)(const struct letters *x); /* rows, slots or bytes; or, with option: */
    struct size (*chosen)(const struct letters *x, unsigned option);
    unsigned option;
    unsigned hidden, inter; /* multiplied by hidden H + inter I when either is not 0 */
    unsigned times;         /* and by this; 0: not multiplied */
};

/* All formulas; *n is their number. Constant. */
const struct dispatch_formula *dispatch_formulas(size_t *n);

/* The one with this name, or NULL. */
const struct dispatch_formula *dispatch_formula_find(const char *name);

/* Its expression. */
struct size dispatch_formula_size(const struct dispatch_formula *formula,
                                  const struct letters *x);

#endif

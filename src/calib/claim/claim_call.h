/* One call of a quantity's function: its arguments by name, as the table of claims gives them.
 *
 * Numbers are in base units; "~" before one says that it is itself a printed figure, and the
 * answer is computed again at both ends of what rounds to it. Names with a dot are keys of the
 * plan. Errors stay in `err`; what comes back after one is of no use. */
#ifndef MOEPLAN_CALIB_CLAIM_CLAIM_CALL_H
#define MOEPLAN_CALIB_CLAIM_CLAIM_CALL_H

#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"
#include "plan/plan.h"

enum { CLAIM_ARGUMENTS = 12 };

struct claim_argument {
    const char *name, *value;
    bool used;
};

struct claim_call {
    struct arena *arena;
    const char *folder; /* that holds models/ and examples/ */
    struct claim_argument arguments[CLAIM_ARGUMENTS];
    size_t n_arguments;
    size_t shifted; /* argument that stands at another end of its rounding; else SIZE_MAX */
    double shift;   /* -1 or 1 */
    struct err *err;
};

/* Reads "name=value name=value". */
enum status claim_call_read(struct claim_call *call, const char *text, struct err *err);

bool claim_has(struct claim_call *call, const char *name);

/* STATUS_INPUT in call->err when an argument is missing or not a number. */
double claim_number(struct claim_call *call, const char *name);
uint64_t claim_count(struct claim_call *call, const char *name);
const char *claim_word(struct claim_call *call, const char *name); /* "" after an error */

/* The fallback when it is not given. */
double claim_number_or(struct claim_call *call, const char *name, double fallback);

/* "a|b|c" as numbers; returns how many, at most `room`. */
size_t claim_numbers(struct claim_call *call, const char *name, size_t room, double *numbers);

/* The plan of argument "plan" (a file below the data folder), changed by every argument whose
 * name is a key. False after an error. */
bool claim_plan(struct claim_call *call, struct plan *plan);

/* A plan with the model and cluster of arguments "model" and "cluster" (either may be absent),
 * changed likewise; for what models and machines alone decide. */
bool claim_parts(struct claim_call *call, struct plan *plan);

/* Whether all arguments were asked for; names the first that was not. */
enum status claim_call_finish(const struct claim_call *call, struct err *err);

#endif

/* Verification: a step's results against the oracle, before anything is timed.
 *
 * Two kinds of inputs: integers, whose results are known to the bit in every order of sums
 * (where the weights' format holds them), and random numbers, held to a tolerance that follows
 * from formats and lengths of sums. */
#ifndef MOEPLAN_EXEC_VERIFY_VERIFY_H
#define MOEPLAN_EXEC_VERIFY_VERIFY_H

#include "exec/execute.h"
#include "exec/verify/oracle.h"

struct check {
    const char *name; /* "integers: out" */
    bool passed;
    double error;     /* largest difference; with a tolerance relative to what is wanted */
    double tolerance; /* 0: the same bits */
    char detail[160]; /* where and what differed most, or "" */
};

enum { VERIFY_CHECKS = 60 };

struct checks {
    struct check check[VERIFY_CHECKS];
    unsigned n;
    uint64_t integer_hash; /* of the output on integers: of every backend the same */
    uint64_t out_hash;     /* of the random inputs' output, summed over tokens: equal for every
                              number of ranks and every transport */
    uint64_t tokens_checked, tokens; /* of this process */
    uint64_t gradient_stride;        /* rows of gradients that were checked on integers: one in
                                        so many; the same in all processes */
};

bool checks_passed(const struct checks *checks);
/* Adds a check; the name is kept, not copied. */
struct check *checks_add(struct checks *checks, const char *name, double error,
                         double tolerance);

struct verify_options {
    double budget_flop; /* of the oracle: tokens are skipped beyond it; 0: no limit */
    uint64_t seed;
};

/* One step with each kind of inputs, checked. A result that differs is a failed check, not an
 * error; errors are those of the run. Fills the counts of x with those of the last step. */
enum status verify_run(struct execution *x, const struct verify_options *options,
                       struct arena *arena, struct checks *checks, struct err *err);

#endif

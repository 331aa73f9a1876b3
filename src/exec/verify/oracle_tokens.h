/* Tokens as oracle.c lends them to the files beside it. */
#ifndef MOEPLAN_EXEC_VERIFY_ORACLE_TOKENS_H
#define MOEPLAN_EXEC_VERIFY_ORACLE_TOKENS_H

#include "exec/verify/oracle.h"

/* As inputs define them, in formats as stored. */
struct oracle_tokens {
    void *context;
    /* [H] of a token of the group, or of its gradient */
    void (*load)(void *context, enum fill fill, uint64_t rank, uint64_t t, double *out);
    /* [W]: what is routed of it, and its squares, or NULL */
    void (*load_routed)(void *context, enum fill fill, uint64_t rank, uint64_t t, double *out,
                        double *squares);
    void (*through_wire)(void *context, double *x);
    const double *gates; /* [R, T, K], of local tokens */
    const bool *dropped; /* [R, T, K] */
};

/* The number of a checked token of this process. */
uint64_t oracle_number(const struct oracle *o, uint64_t rank, uint64_t t);

#endif

/* Gates of one token in f64, and their gradient; for oracle.c. */
#ifndef MOEPLAN_EXEC_VERIFY_ORACLE_ROUTER_H
#define MOEPLAN_EXEC_VERIFY_ORACLE_ROUTER_H

#include "exec/verify/oracle.h"

struct oracle_router {
    const struct oracle_setup *setup;
    uint64_t hidden, experts, top_k;
    float *matrix;             /* [hidden, experts] */
    float *bias;               /* [experts] of the product; zeros when there is none */
    double *logits;            /* [experts] of the token at hand, wanted experts lifted */
    double *dlogits, *squares; /* [experts] */
};

void oracle_router_init(struct oracle_router *router, const struct oracle_setup *setup,
                        struct arena *arena);

/* Gates [K] of the experts `ids` for token x [H]. */
void oracle_router_gates(struct oracle_router *router, const double *x, const int32_t *ids,
                         double *gates);

/* After oracle_router_gates of the same token: dlogits [experts] from dgates [K]. */
void oracle_router_backward(struct oracle_router *router, const int32_t *ids,
                            const double *dgates);

#endif

/* Gates of one token in f64, and their gradient; for oracle.c. */
#ifndef MOEPLAN_EXEC_VERIFY_ORACLE_ROUTER_H
#define MOEPLAN_EXEC_VERIFY_ORACLE_ROUTER_H

#include "exec/verify/oracle_norm.h"
#include "exec/verify/oracle_tokens.h"

struct oracle_router {
    const struct oracle_setup *setup;
    uint64_t hidden, experts, top_k;
    float *matrix;             /* [hidden, experts] */
    float *bias;               /* [experts] of the product; zeros when there is none */
    double *logits;            /* [experts] of the token at hand, wanted experts lifted */
    double *dlogits, *squares; /* [experts] */
    double *input, *dinput;    /* [hidden] what the matrix multiplies, and its gradient */
    double *dinput2;           /* squares of that */
    double *x, *x2;            /* [hidden] of the token at hand */
    bool scaled;               /* x is normed, and gates have factors */
    struct oracle_norm norm;
    double *factor; /* [experts] of gates; ones when they have none */
};

void oracle_router_init(struct oracle_router *router, const struct oracle_setup *setup,
                        struct arena *arena);

/* Gates [K] of the experts `ids` for token x [H]. */
void oracle_router_gates(struct oracle_router *router, const double *x, const int32_t *ids,
                         double *gates);

/* After dgates of all checked tokens are there: adds what follows from them of dx, the matrix,
 * and all that is learned beside it. */
void oracle_router_tokens(struct oracle_router *router, struct oracle *o,
                          const struct oracle_tokens *tokens);

#endif

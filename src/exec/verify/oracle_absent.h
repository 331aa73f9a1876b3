/* One rank of a group alone, in f64: what rows of absent ranks do to its results, and what it
 * sends to them; for oracle.c. Knows what absent ranks send (inputs_absent) and how the plan's
 * path returns rows: one for every (token, expert), one for every token and owner, or one for
 * every token from every rank. */
#ifndef MOEPLAN_EXEC_VERIFY_ORACLE_ABSENT_H
#define MOEPLAN_EXEC_VERIFY_ORACLE_ABSENT_H

#include "exec/verify/oracle_expert.h"
#include "exec/verify/oracle_tokens.h"

enum oracle_returns { RETURNS_SLOTS, RETURNS_OWNERS, RETURNS_EVERYONE };

struct oracle_absent {
    struct oracle *o;
    struct oracle_tokens tokens;
    enum oracle_returns returns;
    bool gates_return;       /* gates come back with the rows of absent owners */
    bool scales_input;       /* gates multiply the experts' input, not their output */
    uint64_t rank;           /* the one that is there */
    uint64_t *rows;          /* [R, e, K] kept slots of absent ranks' tokens, by local expert */
    float *outputs, *back;   /* [R, W] what absent experts return, forward and backward */
    double *x, *sent, *dout; /* [W] of the token at hand */
    double *x2, *sent2, *dout2; /* [W] squares of them */
    float *values;              /* [W] */
    double *sums, *sums2;       /* [T, W] while these are all that is made */
};

void oracle_absent_init(struct oracle_absent *a, struct oracle *o,
                        const struct oracle_tokens *tokens, struct arena *arena);

/* Of every slot of an absent rank's tokens. */
double oracle_absent_gate(const struct oracle *o, uint64_t rank);

/* Whether the one rank has a replica of a logical expert. */
bool oracle_absent_holds(const struct oracle_absent *a, uint64_t number);

/* Rows of absent ranks at the local replicas of the expert that is loaded: their part of the
 * weights' gradients, and what is sent back. */
void oracle_absent_expert(struct oracle_absent *a, const struct oracle_expert *expert,
                          uint64_t number, struct oracle_row *row);

/* What absent experts return to local tokens, added to their sums [T, W], and the squares of it
 * to theirs, or NULL. */
void oracle_absent_sums(struct oracle_absent *a, double *sums, double *squares);

/* Rows of local tokens at absent experts: what is sent, and what comes back. */
void oracle_absent_tokens(struct oracle_absent *a);

#endif

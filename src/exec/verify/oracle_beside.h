/* Networks that every token passes beside the experts, in f64; for oracle.c. */
#ifndef MOEPLAN_EXEC_VERIFY_ORACLE_BESIDE_H
#define MOEPLAN_EXEC_VERIFY_ORACLE_BESIDE_H

#include "exec/verify/oracle_tokens.h"

/* Adds those of the model, the shared experts and the residual MLP, to out and dx, and makes
 * the gradients of their matrices; memory from the arena. */
void oracle_beside(struct oracle *o, const struct oracle_tokens *tokens, struct arena *arena);

#endif

/* What a rank that is alone sent to absent ranks, against the oracle; for verify.c. Rows that
 * an absent rank gets are added up: in whatever order they were sent, their sum is known. */
#ifndef MOEPLAN_EXEC_VERIFY_VERIFY_SENT_H
#define MOEPLAN_EXEC_VERIFY_VERIFY_SENT_H

#include "exec/verify/verify.h"

/* One check for each role; tolerance 0: the same bits. */
void verify_sent(const struct execution *x, const struct oracle *oracle, bool integers,
                 double tolerance, struct checks *checks);

#endif

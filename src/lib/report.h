/* The report of a plan: its answer with a sweep around it, as one HTML file. */
#ifndef MOEPLAN_LIB_REPORT_H
#define MOEPLAN_LIB_REPORT_H

#include "lib/answer.h"

/* The answer holds a whole prediction of the request's plan. Memory from the arena. */
enum status report_write(const struct request *request, const struct answer *answer,
                         struct arena *arena, FILE *out, struct err *err);

#endif

/* Published tables of runs: each row's plan, made from its cells alone. */
#ifndef MOEPLAN_TESTS_SUPPORT_PUBLISHED_H
#define MOEPLAN_TESTS_SUPPORT_PUBLISHED_H

#include "base/csv.h"
#include "plan/plan.h"
#include "sim/answer/predict.h"

/* Reads models/published/<name>.csv; fails the test when it cannot. */
void published_read(const char *name, struct arena *arena, struct csv *csv);

/* The plan of a row: the file of `plan`, with every key=value of `set`. */
void published_load(const struct csv *csv, size_t row, struct arena *arena, struct plan *plan);

/* Its prediction, without fixes. */
void published_predict(const struct csv *csv, size_t row, struct arena *arena,
                       struct prediction *prediction);

/* 100 (predicted / published - 1) */
double published_error(uint64_t predicted, double published);

#endif

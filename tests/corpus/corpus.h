/* The recorded plans, and what is recorded of each.
 *
 * tests/corpus/plans.csv holds plans with nothing left to a default: the first column names a
 * model, a cluster and a stack of parts.csv, where each stands with every key, and then every
 * key in which the plan differs from these parts and from part "base", all other keys:
 *   deepseek-v3 h200 vllm; workload.mode=decode; parallel.ep=16
 * tests/corpus/jobs.csv holds more of training: adapters, shards over some of dp, encoders,
 * packed sequences, states in other places.
 * tests/corpus/short.csv holds plans as people write them, defaults included: a mapping in
 * YAML, or a file of the tree with settings behind it; tests/corpus/served.csv such plans of
 * deployments. Names of paths are below the source
 * tree, the working directory. */
#ifndef MOEPLAN_TESTS_CORPUS_CORPUS_H
#define MOEPLAN_TESTS_CORPUS_CORPUS_H

#include "base/csv.h"
#include "base/text.h"
#include "plan/plan.h"

#define CORPUS_FOLDER "tests/corpus/"

enum corpus_kind { CORPUS_MODEL, CORPUS_CLUSTER, CORPUS_STACK, CORPUS_BASE, CORPUS_KINDS };

/* "model", "cluster", "stack", "base": column `kind` of parts.csv. */
extern const char *const corpus_kinds[CORPUS_KINDS];

/* Reads the parts; memory from the arena. */
enum status corpus_parts(struct arena *arena, struct csv *parts, struct err *err);

/* A plan of either file from its first column. STATUS_INPUT for a name or key that is unknown,
 * and for a plan that breaks a rule. */
enum status corpus_plan(const struct csv *parts, const char *text, struct arena *arena,
                        struct plan *plan, struct err *err);

/* Sets one key, and nothing that follows from it; the value as corpus_print writes it. */
enum status corpus_set(struct plan *plan, const char *key, const char *value,
                       struct arena *arena, struct err *err);

/* Appends the keys of one kind of part with their values in the plan, as in parts.csv; with
 * `like`, only those whose values differ from it. Names and other texts that no number follows
 * from are left out. */
void corpus_print(enum corpus_kind kind, const struct plan *plan, const struct plan *like,
                  struct text *out);

/* What is recorded behind the plan: how many cells, and their keys in the table's header. */
size_t corpus_n_cells(void);
const char *corpus_key(size_t i);

/* Whether cell i is as recorded; of seconds and rates to seven digits. */
bool corpus_same(size_t i, const char *recorded, const char *now);

/* The cells of a plan as it is predicted now, "" for what does not apply: percentiles equal to
 * the total and categories of 0 too. Of a plan that lacks memory how many fixes there are, and
 * eight digits that stand for them. Of a plan that is refused there is the status alone, with
 * the message. Memory from the arena. */
const char **corpus_cells(const struct plan *plan, struct arena *arena);

/* Writes a table: the header, then `rows` of one plan and its cells, sorted. */
struct corpus_row {
    const char *plan, **cells;
};
enum status corpus_write(const char *file, struct corpus_row *rows, size_t n, struct err *err);

#endif

/* Recorded routing, and tables of expert placement: the data files a plan's routing names.
 *
 * A trace is one of
 *   .csv  tokens per expert. With a header columns are taken by name, in any order: expert,
 *         tokens and, where there are several, layer; other names are refused. Without one a
 *         row is a layer with a number for every expert, or one number per line its only layer.
 *   .npy  int32 or int64 expert indices [tokens, top_k], little-endian, C order, as serving
 *         frameworks dump them.
 * A placement table is a .csv of the same kinds with the rank of each expert (column rank).
 * Blank lines and lines starting with '#' are skipped. */
#ifndef MOEPLAN_PLAN_DATA_TRACE_H
#define MOEPLAN_PLAN_DATA_TRACE_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "plan/plan.h"

enum { TRACE_LAYERS = 1024, TRACE_EXPERTS = 65536 };

struct trace {
    uint64_t layers, experts;
    const uint64_t *counts; /* [layers][experts] tokens, or NULL */
    uint64_t tokens, top_k;
    const int32_t *ids; /* [tokens][top_k], or NULL; experts is the largest index + 1 */
};

/* What the routing of a plan reads beside the plan: NULL where the plan names no file. */
struct routing_data {
    const struct trace *trace;
    const uint32_t *owner; /* [n_owner] rank of each expert */
    uint64_t n_owner;
};

/* Reads the files that plan->moe.routing names (trace for distribution trace, table for
 * placement table), as they are named. Checks them against experts, top_k and ep. Memory from
 * the arena. STATUS_INPUT with file:line:column. */
enum status routing_data_load(const struct plan *plan, struct arena *arena,
                              struct routing_data *out, struct err *err);

/* Parsers of text and bytes in memory (tests, fuzzing); `name` stands for the file. */
enum status trace_read_csv(const char *name, const char *text, size_t length,
                           struct arena *arena, struct trace *out, struct err *err);
enum status trace_read_npy(const char *name, const unsigned char *bytes, size_t length,
                           struct arena *arena, struct trace *out, struct err *err);
enum status placement_read_csv(const char *name, const char *text, size_t length,
                               struct arena *arena, const uint32_t **owner, uint64_t *n,
                               struct err *err);

#endif

/* What a result came from; carried by every text and JSON output. */
#ifndef MOEPLAN_REPORT_PROVENANCE_H
#define MOEPLAN_REPORT_PROVENANCE_H

#include "base/json.h"
#include "base/column.h"
#include "base/term.h"

enum { SCHEMA_VERSION = 1 }; /* of all JSON outputs; grows when a key changes its meaning */

struct provenance {
    uint64_t seed;
    const char *plan, *model, *cluster, *stack, *profile; /* names; NULL: not applicable */
};

/* Members of the open object: schema_version, version, seed, names{plan, model, ...}. */
void provenance_json(struct json *json, const struct provenance *provenance);

/* The first two alone: of what is of several plans, each with its own. */
void provenance_json_version(struct json *json);

/* One line: "moeplan 0.1.0, seed 1, plan a, model b, ...". */
void provenance_text(FILE *out, const struct term *term, const struct provenance *provenance);

/* The columns of "names", of struct provenance. */
const struct column *provenance_columns(size_t *n);

#endif

/* Texts about a plan, and about moeplan, that commands and the library write alike. */
#ifndef MOEPLAN_LIB_DOCUMENT_H
#define MOEPLAN_LIB_DOCUMENT_H

#include <stdbool.h>
#include <stdio.h>

#include "base/arena.h"
#include "plan/plan.h"

/* The plan as a file with every key, under a head that says what it came from. */
const char *document_plan(const struct plan *plan, struct arena *arena);

/* JSON Schema of "plan", of "result" (what predict writes), "search", "pools" (search of a plan
 * with a part `prefill`) or "compare": what the library writes; false for other names. */
bool document_schema(const char *name, struct arena *arena, FILE *out);

#endif

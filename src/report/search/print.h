/* The result of a search for programs, and its values as texts. */
#ifndef MOEPLAN_REPORT_SEARCH_PRINT_H
#define MOEPLAN_REPORT_SEARCH_PRINT_H

#include "report/provenance.h"
#include "sim/search/search.h"

void search_print_json(const struct plan *plan, const struct provenance *provenance,
                       const struct search_result *result, struct arena *arena, FILE *out);

void search_print_schema(FILE *out); /* of that JSON */

/* "products +33.3 %": where a hit loses most against another, of the other's whole time. */
const char *search_loss(const struct search_hit *hit, const struct search_hit *best,
                        struct arena *arena);

/* "tp=1 pp=2 ... path=deepep": the hit's layout as values of keys. */
const char *search_layout(const struct search_hit *hit, struct arena *arena);

/* A key's value as --set takes it. */
const char *search_value(enum search_key key, double value, struct arena *arena);

#endif

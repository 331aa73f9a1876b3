/* The result of a search for programs, and its values as texts. */
#ifndef MOEPLAN_REPORT_SEARCH_PRINT_H
#define MOEPLAN_REPORT_SEARCH_PRINT_H

#include "plan/schema/schema.h"
#include "report/provenance.h"
#include "sim/search/search.h"

/* Settings that make no plan, and why. */
struct search_refused {
    const char *settings, *why;
};

/* The plans that were searched, and by which keys beside a layout's they differ. */
struct search_variants {
    size_t n_keys;
    const struct field *const *keys;
    size_t n;
    const struct plan *plans;
    const char **profiles;                /* [n] names of those that price them */
    const char *const *labels;            /* [n][n_keys] values as they were asked for */
    const struct search_refused *refused; /* [n_refused] combinations of values */
    size_t n_refused;
};

/* The names that all plans have for something, each once: "megatron, torchtitan". */
enum search_name { SEARCH_MODEL, SEARCH_CLUSTER, SEARCH_STACK, SEARCH_PROFILE };
const char *search_names(const struct search_variants *variants, enum search_name of,
                         struct arena *arena);

/* A variant's value of a key beside a layout's. */
const char *search_label(const struct search_variants *variants, size_t variant, size_t key);

void search_print_json(const struct search_variants *variants,
                       const struct provenance *provenance, const struct search_result *result,
                       struct arena *arena, FILE *out);

void search_print_schema(FILE *out); /* of that JSON */

/* Its member "not_searched", where settings made no plan. */
void search_json_refused(struct json *json, const struct search_variants *variants);

/* "products +33.3 %": where a hit loses most against another, of the other's whole time. */
const char *search_loss(const struct search_hit *hit, const struct search_hit *best,
                        struct arena *arena);

/* "tp=1 pp=2 ... path=deepep": the hit's layout as values of keys. */
const char *search_layout(const struct search_variants *variants, const struct search_hit *hit,
                          struct arena *arena);

/* A key's value as --set takes it. */
const char *search_value(enum search_key key, double value, struct arena *arena);

#endif

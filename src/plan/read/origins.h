/* Where the values of a plan came from: lines of its text, options, files that it names. */
#ifndef MOEPLAN_PLAN_READ_ORIGINS_H
#define MOEPLAN_PLAN_READ_ORIGINS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct field; /* plan/schema/schema.h */
struct rule;  /* plan/rule/rule.h */

struct override {
    const char *key;    /* "moe.block_size", "model", "recompute.save" */
    const char *value;  /* as typed */
    const char *option; /* the whole option for messages: "--set moe.block_size=7" */
};

/* Where each field got its value: for rules' messages and for "assumed" lists. Indexed like
 * schema_fields(). line 0 and file NULL: the default. Lives in the arena of the loading. */
struct origins {
    struct mark *mark;
    const char *file;                 /* the plan's own, as marks name it */
    const char *uncounted;            /* what a config.json has and the model of it has not */
    const struct override *overrides; /* which the plan was read with */
    size_t n_overrides;
    const struct origins *prefill; /* of the plan's part `prefill`; NULL: it has none */
};

/* Whether the plan's text or an option gave this field, not a file it names (a model of the
 * catalogue) nor a config.json as a whole. */
bool origins_by_user(const struct origins *origins, const struct field *field);

/* Where to point for a rule that is broken: at a --set that it depends on, else at its key,
 * else at another field that it depends on, else at the file. */
struct mark origins_of_rule(const struct origins *origins, const struct rule *rule);

#endif

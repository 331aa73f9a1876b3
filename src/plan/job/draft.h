/* A plan in the making: keys with their values, where each came from, and why.
 *
 * From a draft come a tree that plan/read/load.h reads (its marks point into the job file, so
 * that rules speak of it) and the plan file a person reads, with an origin beside each value.
 * Both hold the same. Everything lives in the arena. */
#ifndef MOEPLAN_PLAN_JOB_DRAFT_H
#define MOEPLAN_PLAN_JOB_DRAFT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/text.h"
#include "plan/source.h"

struct draft_item {
    const char *key;          /* of the plan: "parallel.ep"; "model.base" */
    const char *const *words; /* one, or the items of a list */
    size_t n;
    bool list;
    struct mark mark;        /* in the job file; line 0: a default, or an option */
    const char *origin;      /* "--expert-model-parallel-size", "MaxText's default" */
    const struct node *node; /* in place of words: a mapping that is a plan's own */
};

struct draft {
    struct arena *arena;
    struct draft_item *items;
    size_t n, capacity;
};

/* Sets a key; a later call for the same key replaces the earlier. */
void draft_set(struct draft *draft, const char *key, const char *value, struct mark mark,
               const char *origin);
void draft_set_count(struct draft *draft, const char *key, uint64_t value, struct mark mark,
                     const char *origin);
void draft_set_list(struct draft *draft, const char *key, const char *const *words, size_t n,
                    struct mark mark, const char *origin);
void draft_set_node(struct draft *draft, const char *key, const struct node *node,
                    const char *origin);

/* The item of a key, or NULL. */
const struct draft_item *draft_find(const struct draft *draft, const char *key);

/* Does the draft say anything about a part ("model": the key itself or keys below it)? */
bool draft_has_part(const struct draft *draft, const char *part);

/* Takes out every key that begins like this ("model."). */
void draft_drop(struct draft *draft, const char *prefix);
/* The same for keys that nobody gave: those without a place. */
void draft_drop_defaults(struct draft *draft, const char *prefix);

/* The tree; `file` stands for the whole in marks. */
struct node *draft_tree(struct draft *draft, const char *file);

/* The plan as YAML, keys in the order of `show`, each with its origin; places in other files
 * than `file` name theirs. */
void draft_print(struct draft *draft, const char *file, struct text *out);

/* An error at a place that the draft took a key from says by which words of the job, too, where
 * it does not yet. Returns the error's status. NULL: nothing is added. */
enum status draft_blame(const struct draft *draft, struct err *err);

#endif

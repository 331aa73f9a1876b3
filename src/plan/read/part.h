/* The three parts of a plan that are a name, a path or a mapping in place: model, cluster,
 * stack. */
#ifndef MOEPLAN_PLAN_READ_PART_H
#define MOEPLAN_PLAN_READ_PART_H

#include "plan/read/apply.h"

/* Keys of the root that are parts, NULL-terminated, in the order of enum catalog_kind. */
extern const char *const part_keys[];
bool part_is_key(const char *key);

/* Reads the part `key` ("model") into the plan: a scalar is a name or a path (relative to
 * `folder` first), a mapping is the part itself, with "base: <name or path>" as what it
 * changes. A HuggingFace config.json is a model. Sets plan->model_name and the like; *mark is
 * where the part's mapping stands, for what is missing in it. */
enum status part_load(struct loader *loader, const char *key, const struct node *value,
                      const char *folder, struct mark *mark);

/* The file's name without folder and ending, "config.json" by its folder; what is not printable
 * becomes '_', what is too long is cut. */
void part_name_of_path(char name[PLAN_NAME], const char *path);

#endif

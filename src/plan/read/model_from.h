/* Models as launches and catalogues elsewhere call them: a name that begins as one of ours and
 * tells of another size is another model's, so our file is read where a name tells a size. */
#ifndef MOEPLAN_PLAN_READ_MODEL_FROM_H
#define MOEPLAN_PLAN_READ_MODEL_FROM_H

#include <stdbool.h>

#include "base/arena.h"
#include "plan/read/model_names.h"

/* Our name of a model, or NULL. */
const char *model_name_from(enum model_catalog catalog, const char *name, struct arena *arena);

/* A hub's name as ours, or the config.json of a folder that is there; NULL: neither. */
const char *model_name_or_folder(const char *name, struct arena *arena);

/* The same of a path, which may end with '/': by its last part. */
const char *model_name_of_path(const char *path, struct arena *arena);

/* The same of one that may have other words in front of the model's it was made of:
 * "Skywork-Reward-Llama-3.1-8B". */
const char *model_name_inside(const char *path, struct arena *arena);

/* Reads a model, which a plan would name so, alone; NULL: there is none, or its file is wrong.
 * It lives in the arena. */
struct model;
const struct model *model_alone_read(const char *name, struct arena *arena);

#endif

/* Names of models in other catalogues: on the hub, in frameworks. */
#ifndef MOEPLAN_PLAN_READ_MODEL_NAMES_H
#define MOEPLAN_PLAN_READ_MODEL_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"

/* Catalogues of models' names; NAMES_NONE: the launch spells sizes out, or names nothing. */
enum model_catalog { NAMES_HUB, NAMES_MAXTEXT, NAMES_TORCHTITAN, NAMES_BRIDGE, NAMES_NONE };

/* Our name of a model, or NULL; the other catalogue's name of ours, or NULL. */
const char *model_name_from(enum model_catalog catalog, const char *name, struct arena *arena);
/* The same of a name's letters and digits alone, in lower case. */
const char *model_name_of_letters(enum model_catalog catalog, const char *name,
                                  struct arena *arena);
const char *model_name_to(enum model_catalog catalog, const char *name);

/* A hub's name as ours, or the config.json of a folder that is there; NULL: neither. */
const char *model_name_or_folder(const char *name, struct arena *arena);

/* The same of a path, which may end with '/': by its last part. */
const char *model_name_of_path(const char *path, struct arena *arena);

/* The same of one that may have other words in front of the model's it was made of:
 * "Skywork-Reward-Llama-3.1-8B". */
const char *model_name_inside(const char *path, struct arena *arena);

/* The longest sequence of a hub's checkpoint where it is not that of our model of its shape, 0
 * elsewhere. */
uint64_t model_name_positions(const char *name, struct arena *arena);

/* Does the rest of a checkpoint's name, behind what our model's begins with, tell of another
 * size? "-8b" of "deepseek-v3-8b". */
bool model_size_differs(const char *model, const char *rest, struct arena *arena);

/* What a checkpoint of our model stores its weights in, "bf16" where nothing else is known. */
const char *model_name_weights(const char *name);

/* The format that a checkpoint's name says it is in, by who made it ("fp8_block" of
 * "Qwen/Qwen3-30B-A3B-FP8"); NULL: it says none. */
const char *model_name_format(const char *name);

/* The last part of a name at a hub or of a path, in lower case. */
const char *model_name_base(const char *name, struct arena *arena);

/* Whether it is a file's of a plan, a model or a job, whatever it begins with. */
bool model_names_a_file(const char *name);

/* Why a hub's model that is known is not among ours; NULL: it is, or is not known. */
const char *model_name_refused(const char *name, struct arena *arena);

/* Our name of a model that is spelled nearly so; NULL: none. */
const char *model_name_near(const char *name, struct arena *arena);

#endif

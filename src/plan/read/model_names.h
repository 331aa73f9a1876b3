/* Names of models in other catalogues: on the hub, in frameworks. */
#ifndef MOEPLAN_PLAN_READ_MODEL_NAMES_H
#define MOEPLAN_PLAN_READ_MODEL_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"

/* Catalogues of models' names; NAMES_NONE: the launch spells sizes out, or names nothing. */
enum model_catalog { NAMES_HUB, NAMES_MAXTEXT, NAMES_TORCHTITAN, NAMES_BRIDGE, NAMES_NONE };

/* Our name of the model that another catalogue calls so, to the letter; of its letters and
 * digits alone, in lower case; the other catalogue's name of ours. NULL: there is none. */
const char *model_name_called(enum model_catalog catalog, const char *name);
const char *model_name_of_letters(enum model_catalog catalog, const char *name,
                                  struct arena *arena);
const char *model_name_to(enum model_catalog catalog, const char *name);

/* Our model that a hub's name begins as, *rest its words behind that ("-0324" of
 * "deepseek-ai/DeepSeek-V3-0324"); NULL: none. A size in them may make another model of it. */
const char *model_name_begun(const char *name, const char **rest, struct arena *arena);

/* Billions of parameters that these words tell, 0: none; whether a model's are about so many,
 * all of them or those that a token meets. */
struct model;
double model_name_size(const char *rest);
bool model_has_size(const struct model *model, double size);

/* The longest sequence of a hub's checkpoint where it is not that of our model of its shape, 0
 * elsewhere. */
uint64_t model_name_positions(const char *name, struct arena *arena);

/* What a checkpoint of our model stores its weights in, "bf16" where nothing else is known. */
const char *model_name_weights(const char *name);

/* The format that a checkpoint's name says it is in, by who made it ("fp8_block" of
 * "Qwen/Qwen3-30B-A3B-FP8"); NULL: it says none. */
const char *model_name_format(const char *name);

/* The last part of a name at a hub or of a path, in lower case. */
const char *model_name_base(const char *name, struct arena *arena);

/* Whether it ends as files that moeplan reads do, of a plan, a model, a job or a table,
 * whatever it begins with. */
bool model_names_a_file(const char *name);

/* Why a hub's model that is known is not among ours; NULL: it is, or is not known. */
const char *model_name_refused(const char *name, struct arena *arena);

/* Our name of a model that is spelled nearly so; NULL: none. */
const char *model_name_near(const char *name, struct arena *arena);

#endif

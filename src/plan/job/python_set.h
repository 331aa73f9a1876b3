/* Values of a program in Python (python_walk.h) as settings of a job: words, lists, and calls
 * as the fields of a part. What only the script knows is a setting in trouble. */
#ifndef MOEPLAN_PLAN_JOB_PYTHON_SET_H
#define MOEPLAN_PLAN_JOB_PYTHON_SET_H

#include "plan/job/python_walk.h"

/* Sets a field; a call goes to the walk's `part`, or its named arguments are fields of it. */
void python_set(struct python_walk *walk, const char *name, const struct python_value *value,
                struct mark mark);

/* One word; NULL: not known, for the trouble that `value` is. */
void python_set_word(struct python_walk *walk, const char *name, const char *word,
                     const struct python_value *value, struct mark mark);

/* As if the field were not given, in the layers below either. */
void python_set_null(struct python_walk *walk, const char *name, struct mark mark);

/* The named arguments of a call as fields of a part; prefix "": of the whole. */
void python_set_arguments(struct python_walk *walk, const char *prefix,
                          const struct python_value *call, struct mark mark);

/* Does the framework's table know a field, or one below it, that matters? For the walk. */
bool python_set_matters(const struct python_walk *walk, const char *field);

/* The word of a value, "auto" of AttnBackend.auto; NULL: not known. */
const char *python_set_known(const struct python_value *value);

/* The first argument of a call that stands without a name; NULL: there is none. */
const struct python_value *python_set_first(const struct python_value *call);

#endif

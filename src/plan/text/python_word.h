/* Words of a script's values: literals, and what the script declares of a name. */
#ifndef MOEPLAN_PLAN_TEXT_PYTHON_WORD_H
#define MOEPLAN_PLAN_TEXT_PYTHON_WORD_H

#include "plan/text/python.h"

/* "from_pretrained" of "AutoBridge.from_pretrained". */
const char *python_last_part(const char *name);

/* The argument of a call, or the value in a dict, by its name; NULL: there is none. */
const struct python_value *python_named(const struct python_value *call, const char *name);

/* The word of a literal; NULL: only the script knows it. */
const char *python_literal(const struct python_value *value);

/* A literal, or what is declared of a dotted name (the default of an option, or of a class's
 * field); NULL and *trouble: neither. */
const char *python_word(const struct python *python, const struct python_value *value,
                        struct arena *arena, const char **trouble);

/* The call that makes a name's value, a dict or a configuration, where the script sets the name
 * once; NULL: it does not. */
const struct python_value *python_call_named(const struct python *python, const char *name);

/* That of a name, the value itself else. */
const struct python_value *python_made(const struct python *python,
                                       const struct python_value *value);

/* Whether a script imports a library, "import trl" or "from trl.trainer". */
bool python_imports(const char *text, const char *library);

#endif

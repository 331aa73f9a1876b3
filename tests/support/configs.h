/* config.json files of HuggingFace in tests. */
#ifndef MOEPLAN_TESTS_SUPPORT_CONFIGS_H
#define MOEPLAN_TESTS_SUPPORT_CONFIGS_H

#include "base/err.h"
#include "base/text.h"
#include "plan/plan.h"

/* tests/configs/<name>.json with what stands beside it; fails the test where it is no model.
 * What is noted of it goes to *notes, whose arena is set. */
void config_read(const char *name, struct arena *arena, struct model *model,
                 struct text *notes);

/* The same of a text, which may be none. */
enum status config_read_text(const char *text, struct arena *arena, struct model *model,
                             struct text *notes, struct err *err);

#endif

/* Settings that tests write as "key=value", as overrides of a plan. */
#ifndef MOEPLAN_TESTS_SUPPORT_SETTINGS_H
#define MOEPLAN_TESTS_SUPPORT_SETTINGS_H

#include "plan/read/load.h"

/* One; its option is "--set key=value". Fails the test without '='. */
struct override setting_of(const char *text, struct arena *arena);

/* Several with blanks between; how many. Fails the test above `most`. */
size_t settings_split(const char *text, struct arena *arena, struct override *settings,
                      size_t most);

#endif

/* How the tables of other words (alias.c, alias_name.c) are looked up. */
#ifndef MOEPLAN_PLAN_SCHEMA_ALIAS_H
#define MOEPLAN_PLAN_SCHEMA_ALIAS_H

#include <stdbool.h>

enum { ALIAS_LENGTH = 40 };

/* In lower case, with `to` for `from`; false when it is longer than any alias. */
bool alias_spell(const char *text, char from, char to, char spelled[ALIAS_LENGTH]);

#endif

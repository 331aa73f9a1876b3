/* Names against patterns, as configurations write them: globs of dotted names, and the part of
 * Python's regular expressions that they use. */
#ifndef MOEPLAN_BASE_PATTERN_H
#define MOEPLAN_BASE_PATTERN_H

#include <stdbool.h>

enum pattern_fit {
    PATTERN_NO,
    PATTERN_YES,
    PATTERN_UNKNOWN /* not of the part that is known, or too many ways to try */
};

/* Whether an expression fits the beginning of a text, as Python's re.match has it: characters,
 * . and \d \w \s, [sets], (groups), (?:groups), |, * + ? and their lazy forms, ^ and $. */
enum pattern_fit pattern_begins(const char *expression, const char *text);

/* Whether a glob, * for any characters, fits whole parts of a dotted name: "a.b" and "*b" fit
 * "x.a.b.c", "a" does not fit "x.ab". */
bool pattern_names(const char *glob, const char *name);

#endif

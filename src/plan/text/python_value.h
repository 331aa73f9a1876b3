/* Between the two halves of the reader of Python: python.c walks statements, python_value.c
 * expressions. */
#ifndef MOEPLAN_PLAN_TEXT_PYTHON_VALUE_H
#define MOEPLAN_PLAN_TEXT_PYTHON_VALUE_H

#include "plan/text/python.h"

/* What names stand for: literals that were assigned, and functions that were imported. */
struct python_name {
    const char *name;
    struct python_value value;
};

struct python_scope {
    struct arena *arena;
    struct python_name *names;
    size_t n, capacity;
};

void python_bind(struct python_scope *scope, const char *name, struct python_value value);

/* The value of an expression, which may be one that is not known; it stands in a statement,
 * lines and all, that begins at the mark. */
struct python_value python_value(struct python_scope *scope, const char *text,
                                 const char *statement, struct mark mark);

/* A copy with blanks in place of its newlines. */
const char *python_on_one_line(struct arena *arena, const char *text);

/* Characters of a string at `at`, its quotes and their prefix with it; 0: there is none, or it
 * is not closed. */
size_t python_string_length(const char *at, const char *end);

#endif

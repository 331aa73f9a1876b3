/* Inside the reader of Python's expressions: python_value.c reads what they are made of,
 * python_operators.c puts it together. */
#ifndef MOEPLAN_PLAN_TEXT_PYTHON_PARSER_H
#define MOEPLAN_PLAN_TEXT_PYTHON_PARSER_H

#include "plan/text/python_value.h"

/* Brackets, signs and 'not' inside each other; a bracket counts twice. */
enum { PYTHON_NESTING = 48 };

struct parser {
    struct python_scope *scope;
    const char *at;
    unsigned depth;
    bool failed;
    const char *begin, *counted; /* of the statement, and up to where its place is known */
    struct mark first, mark;     /* of either */
};

/* An expression: comparisons, "and", "or", "a if b else c" of sums and products of atoms. */
struct python_value python_parse(struct parser *p);
struct python_value python_parse_atom(struct parser *p);

void python_skip(struct parser *p);
bool python_take(struct parser *p, const char *token);
/* What is not known, of an expression that is not understood. */
struct python_value python_fail(struct parser *p);

/* What a mapping calls a key, "4,1" of (4, 1); NULL: it is not known. */
const char *python_key(const struct python_scope *scope, const struct python_value *key);

struct python_value python_truth_word(bool truth);

#endif

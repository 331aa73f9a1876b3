/* Between the two halves of the reader of Python: python.c walks statements, python_value.c
 * expressions. */
#ifndef MOEPLAN_PLAN_TEXT_PYTHON_VALUE_H
#define MOEPLAN_PLAN_TEXT_PYTHON_VALUE_H

#include "base/text.h"
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
    /* What is known of names that nothing here binds, "cfg.model.seq_length"; NULL: nothing. A
     * scope that has it takes mappings of any keys, too. */
    bool (*find)(void *context, const char *name, struct python_value *value);
    void *context;
    size_t *made; /* bytes of the texts that expressions put together so far */
};

/* A script that doubles a text or a list line by line would fill any memory: texts beyond this,
 * in all, are not known, nor is a value of more parts. */
enum { PYTHON_TEXT = 4 * 1024 * 1024, PYTHON_PARTS = 8192 };

/* Whether it has more than PYTHON_PARTS parts, those of its parts with them. */
bool python_is_large(const struct python_value *value);

void python_bind(struct python_scope *scope, const char *name, struct python_value value);

/* The value of an expression, which may be one that is not known; it stands in a statement,
 * lines and all, that begins at the mark. */
struct python_value python_value(struct python_scope *scope, const char *text,
                                 const char *statement, struct mark mark);

/* What stands in the brackets of "def f(a, b: int = 1, *rest)", as parameters of the function;
 * "*" and what begins with it is none. */
void python_parameters(struct python_scope *scope, const char *text, const char *statement,
                       struct mark mark, struct python_function *function);

/* A copy with blanks in place of its newlines. */
const char *python_on_one_line(struct arena *arena, const char *text);

/* Characters of a string at `at`, its quotes and their prefix with it; 0: there is none, or it
 * is not closed. */
size_t python_string_length(const char *at, const char *end);

/* The value of a word as it was written: "4" a number, "true" a truth, else a text. */
struct python_value python_plain(struct arena *arena, const char *text);

/* Of a value that is known: whether Python takes it for true; false: it is not known. */
bool python_value_truth(const struct python_value *value, bool *truth);

/* max(..) and min(..) of numbers; the call itself where they are not. */
struct python_value python_extreme(const struct python_value *call);

/* What a name is bound to, or NULL. */
const struct python_value *python_look_up(const struct python_scope *scope, const char *name);

/* Characters of a name at `at`. */
size_t python_name_length(const char *at);

/* What stands between a string's quotes: escapes as they are meant unless it is `raw`, names in
 * braces put in where it is `made` (f"..{name}.."). false: only the script knows it. */
bool python_read_text(const struct python_scope *scope, const char *at, const char *end,
                      bool raw, bool made, struct text *out);

/* Two texts as one; " ".join(list), which stays the list where an item is not known; the words
 * of a text. What is no text, or too much of it, gives nothing that is known. */
struct python_value python_joined(const struct python_scope *scope, struct python_value a,
                                  struct python_value b);
struct python_value python_join(const struct python_scope *scope, struct python_value between,
                                struct python_value of);
struct python_value python_split(struct arena *arena, struct python_value of);

enum { PYTHON_ITEMS = 512 };

/* Adds to the list that a name is bound to: one item, or all of another (`all`); what is no
 * list then is an item that is not known. Other names stay as they are. */
void python_grow(struct python_scope *scope, const char *name, struct python_value more,
                 bool all);
bool python_is_list(const struct python_scope *scope, const char *name);

#endif

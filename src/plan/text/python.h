/* Python scripts read, never run: the assignments and calls of a script, in the order in which
 * they stand, with what their values are where those are literals, names of literals, sums,
 * products and lists of them, defaults of the environment (os.environ.get("TP", 4)) or calls,
 * of which {"a": 1} is one of dict and "not f()" one of not. Texts may be sums, f"..{name}.."
 * and " ".join of such; lists grow by +=, append and extend. An argument that is none of these
 * is not known, and the call's others are.
 *
 * Bodies of functions are read where they stand, and which functions there are is told; what is
 * inside a condition or a loop is marked, but for `if __name__ == "__main__":`. Anything else
 * is a value that is not known. Nothing is looked up and no file is opened. Everything lives in
 * the arena. */
#ifndef MOEPLAN_PLAN_TEXT_PYTHON_H
#define MOEPLAN_PLAN_TEXT_PYTHON_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"

enum python_kind {
    PYTHON_UNKNOWN, /* worked out when the script runs */
    PYTHON_NONE,
    PYTHON_WORD, /* a number, a string, True as "true", a name as it stands ("torch.bfloat16")
                  */
    PYTHON_LIST,
    PYTHON_CALL /* what a function gives: its first one, of a chain of them */
};

struct python_value {
    enum python_kind kind;
    const char *text;    /* as it stands; of a word what it means */
    const char *callee;  /* of a call: "AutoBridge.from_hf_pretrained", imports put in */
    const char *written; /* the same as it stands */
    bool number, quoted;
    struct python_argument *items; /* of a list, or the arguments of a call */
    size_t n;
};

struct python_argument {
    const char *name; /* NULL: by its place */
    struct python_value value;
    struct mark mark;
};

/* What has to hold, or not to, where a statement stands: "x > 1" of "if x > 1:"; NULL: a loop
 * or an exception, of which only the script knows. */
struct python_condition {
    const char *text;
    bool holds;
};

struct python_statement {
    const char *target; /* "cfg.model.seq_length"; NULL: a call by itself */
    struct python_value value;
    struct mark mark;
    bool nested;      /* inside a condition or a loop */
    bool decorates;   /* "@app.function(gpu=..)" */
    bool returns;     /* "return f(..)" */
    const char *said; /* the whole of it, on one line */
    size_t function;  /* whose body it is of, from 1; 0: of none */
    const struct python_condition *conditions;
    size_t n_conditions;
};

/* "return x", where so many of the script's statements stand before it. */
struct python_return {
    struct python_value value;
    struct mark mark;
    size_t before;
    const struct python_condition *conditions;
    size_t n_conditions;
};

struct python_function {
    const char *name;
    struct python_argument *parameters; /* with their defaults; PYTHON_UNKNOWN: none */
    size_t n;
    struct python_return *returns;
    size_t n_returns, capacity;
    struct mark mark;
    unsigned last_line;
};

/* "from module import of as name"; of NULL: "import module as name". */
struct python_import {
    const char *name, *module, *of;
};

struct python {
    struct python_statement *statements;
    size_t n;
    struct python_function *functions;
    size_t n_functions;
    struct python_import *imports;
    size_t n_imports;
};

/* STATUS_INPUT with a place: an open string or bracket, too many statements. */
enum status python_read(const char *name, const char *text, size_t length, struct arena *arena,
                        struct python *python, struct err *err);

#endif

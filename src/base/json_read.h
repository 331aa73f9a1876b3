/* JSON read piece by piece, for files too large for a tree: other programs' traces above all.
 * Brackets, commas, escapes and control characters are checked (RFC 8259), nesting is limited;
 * bytes need not be UTF-8. Every error with line and column, which count characters. */
#ifndef MOEPLAN_BASE_JSON_READ_H
#define MOEPLAN_BASE_JSON_READ_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

enum { JSON_READ_DEPTH = 64 };

enum json_token {
    JSON_OBJECT, /* { */
    JSON_ARRAY,  /* [ */
    JSON_CLOSE,  /* } or ] */
    JSON_KEY,    /* text is the member's name; its value follows */
    JSON_STRING, /* text */
    JSON_NUMBER, /* number */
    JSON_WORD,   /* true, false, null: text */
    JSON_END     /* after the outermost value */
};

struct json_read {
    const char *file, *text, *at, *end;
    const char *value; /* of a key, string or word, as it is written, without quotes and with
                          its escapes; not terminated */
    size_t length;     /* of it */
    double number;
    unsigned depth;
    char open[JSON_READ_DEPTH]; /* brackets */
    bool first, keyed, done;    /* nothing yet in this bracket; a key waits for its value */
    bool python; /* NaN, Infinity and -Infinity are words, as Python's json has them */
    bool spare;  /* it failed at a comma behind the last entry of a bracket */
};

void json_read_init(struct json_read *json, const char *file, const char *text, size_t length);

/* The next piece. STATUS_INPUT at file:line:column. */
enum status json_read_next(struct json_read *json, enum json_token *token, struct err *err);

/* Passes over the value that comes next, whole. */
enum status json_read_skip(struct json_read *json, struct err *err);

/* Whether key, string or word is this text. */
bool json_read_is(const struct json_read *json, const char *text);

/* STATUS_INPUT at the first place where Python's json would stop; duplicate keys are not
 * looked for. */
enum status json_read_check(const char *file, const char *text, size_t length, struct err *err);

/* STATUS_INPUT behind the piece read last. */
enum status json_read_fail(const struct json_read *json, const char *what, struct err *err);

#endif

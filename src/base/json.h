/* Streaming JSON writer, pretty-printed with two spaces.
 *
 * Every call inside an object takes the member's key; inside an array the key is NULL. What is
 * written is always valid: a real that is not finite is left out, bytes that are not UTF-8
 * become U+FFFD. The text is also valid YAML (flow style). Write errors stay in the stream
 * (ferror), where base/output looks for them. */
#ifndef MOEPLAN_BASE_JSON_H
#define MOEPLAN_BASE_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { JSON_DEPTH = 64 };

struct json {
    FILE *out;
    unsigned depth; /* open brackets, at most JSON_DEPTH (asserts) */
    struct json_level {
        char close;         /* the bracket that ends this level */
        bool used, in_line; /* has a member; is written on one line */
    } levels[JSON_DEPTH];
};

void json_init(struct json *json, FILE *out);

/* Brackets. A list is an array of scalars on one line: "shape": [8, 4096]. json_close ends the
 * innermost one; closing the outermost ends the line. */
void json_object(struct json *json, const char *key);
void json_array(struct json *json, const char *key);
void json_list(struct json *json, const char *key);
void json_close(struct json *json);

void json_count(struct json *json, const char *key, uint64_t value);
void json_integer(struct json *json, const char *key, int64_t value);
void json_real(struct json *json, const char *key, double value); /* left out unless finite */
void json_bool(struct json *json, const char *key, bool value);
void json_string(struct json *json, const char *key, const char *value);

/* A string with its quotes and escapes, alone. */
void json_quote(FILE *out, const char *value);

#endif

/* Values in a JSON text, found by name; of texts that base/json wrote (valid, no key twice). */
#ifndef MOEPLAN_LIB_VALUE_H
#define MOEPLAN_LIB_VALUE_H

#include <stddef.h>

/* Where the value of a dotted name starts: "memory.buffers.0.name"; NULL: there is none. */
const char *value_find(const char *json, const char *name);

/* Behind the value that starts here. */
const char *value_end(const char *at);

/* Members or items of an object or a list; 0 of anything else. */
size_t value_length(const char *at);

/* A text without its quotes and escapes, cut to room - 1 bytes; room at least 1. */
void value_text(const char *at, char *text, size_t room);

#endif

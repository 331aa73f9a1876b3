/* Inside sim/answer/memory_dump: the readers of each kind of report, and the list that they
 * fill. */
#ifndef MOEPLAN_SIM_ANSWER_MEMORY_DUMP_LIST_H
#define MOEPLAN_SIM_ANSWER_MEMORY_DUMP_LIST_H

#include "sim/answer/memory_dump.h"

/* {.arena = ...} is an empty one. */
struct dump_list {
    struct arena *arena;
    struct dump_buffer *items;
    size_t n, capacity;
};

/* The buffer as added; valid until the next one is. */
struct dump_buffer *dump_add(struct dump_list *list, struct dump_buffer buffer);

/* Sorts them, joins equal ones and sums them up. */
void dump_join(struct dump_list *list, struct memory_dump *out);

/* strcmp of names, of which NULL comes first. */
int dump_name_order(const char *a, const char *b);

/* A snapshot alone; xla: a text alone, false where it is none. */
enum status memory_dump_torch(const char *file, const char *text, size_t length,
                              struct arena *arena, struct memory_dump *out, struct err *err);
bool memory_dump_xla(const char *text, size_t length, struct arena *arena,
                     struct memory_dump *out);

#endif

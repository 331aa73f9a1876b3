/* Growing strings and what is asked of names. */
#ifndef MOEPLAN_BASE_TEXT_H
#define MOEPLAN_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

/* A string that grows in an arena. data is always terminated once anything was appended;
 * {.arena = a} is an empty text. */
struct text {
    struct arena *arena;
    char *data;
    size_t length, capacity;
};

void text_append(struct text *text, const char *more);
void text_append_n(struct text *text, const char *more, size_t length);
void text_printf(struct text *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Appends a text from outside as a person may read it: what a terminal would obey instead of
 * showing it (control characters, line breaks, changes of the writing direction) and bytes that
 * are not UTF-8 are written as \x1b or \u202e. */
void text_append_visible(struct text *text, const char *more);

/* Bytes of the character at `at` (1 for a byte that is not UTF-8); *visible:
 * text_append_visible leaves it as it is. */
size_t text_character(const char *at, bool *visible);

/* Bytes of the UTF-8 character at `at`, its code in *code; 0 when it is not one (overlong
 * forms, surrogates and codes over 0x10ffff included). Source: RFC 3629, section 4. */
size_t text_utf8(const char *at, size_t length, uint32_t *code);

/* The text as a string, "" when nothing was appended. */
const char *text_string(const struct text *text);

bool text_equal(const char *a, const char *b);
bool text_starts(const char *text, const char *prefix);
bool text_ends(const char *text, const char *suffix);
/* Whether a list "h100, h200" has a word; adds one unless it is "" or there. Words hold no
 * comma. */
bool text_lists(const char *list, const char *word);
void text_list_add(struct text *list, const char *word);

/* A copy of n bytes to be taken line by line: blanks in place of bytes 0. */
char *text_lines(const char *text, size_t n, struct arena *arena);
/* The line at *at, ended there in place, and *at behind it; NULL from `end` on. */
char *text_next_line(char **at, char *end);

/* What stands behind the last '/' of a path; what stands before it, "." when there is none; the
 * path without any '/' at its end ("a/b//" -> "a/b"). */
const char *text_base_name(const char *path);
const char *text_folder(const char *path, struct arena *arena);
const char *text_without_slashes(const char *path, struct arena *arena);

/* Edits (insert, delete, replace, swap neighbours) from a to b, at most 64 characters each. */
unsigned text_distance(const char *a, const char *b);

/* The nearest of n names within a third of the name's length (at least 2 edits), or NULL: the
 * "did you mean" of every table. name_at(table, i) gives the i-th name. */
const char *text_nearest(const char *name, size_t n,
                         const char *(*name_at)(const void *table, size_t i),
                         const void *table);

/* The shortest decimal that reads back as the same double, without exponent where that is
 * readable: "0.1", "1.25", "1e-06". Never NaN or infinity (asserts). */
void text_double(char buffer[32], double value);

/* The day of the clock, UTC: "2026-01-31"; "unknown" where it tells none. */
const char *text_today(struct arena *arena);

#endif

/* Whole files into memory, with a limit. */
#ifndef MOEPLAN_BASE_FILE_H
#define MOEPLAN_BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"

/* A regular file that can be read: for names that nobody gave, as those looked for in a folder,
 * where a pipe would be waited on for ever. */
bool file_is_there(const char *path);

/* Reads a file of at most `limit` bytes; "-" is the standard input. The text lives in the arena
 * and is terminated (it may hold NUL bytes all the same); a UTF-8 byte order mark in front is
 * left out. A directory, a file that cannot be opened or read, or a larger one is STATUS_INPUT
 * with the file's name as its place. */
enum status file_read(const char *file, size_t limit, struct arena *arena, char **text,
                      size_t *length, struct err *err);

#endif

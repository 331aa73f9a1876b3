/* Whole files into memory, with a limit. */
#ifndef MOEPLAN_BASE_FILE_H
#define MOEPLAN_BASE_FILE_H

#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"

/* Reads a file of at most `limit` bytes; "-" is the standard input. The text lives in the arena
 * and is terminated (it may hold NUL bytes all the same). A directory, a file that cannot be
 * opened or read, or a larger one is STATUS_INPUT with the file's name as its place. */
enum status file_read(const char *file, size_t limit, struct arena *arena, char **text,
                      size_t *length, struct err *err);

#endif

/* Where a result goes: standard output, or `-o FILE`.
 *
 * A regular or new file is written beside its target as FILE.partial and renamed when it is
 * complete, so that an earlier result stays whole; of an interrupted command the .partial goes
 * (base/unfinished), unless it holds rows, and of a killed one it stays. What has that name
 * already is never opened, be it a link or another process's unfinished file: the next name is
 * FILE.2.partial. Of several writers the last to end is the one to stay. Anything else
 * (/dev/null, a pipe, a terminal) is written directly. A closed pipe ends the process by
 * SIGPIPE, as for every other command-line tool; output_prepare sees to it.
 */
#ifndef MOEPLAN_BASE_OUTPUT_H
#define MOEPLAN_BASE_OUTPUT_H

#include "base/err.h"

struct output {
    FILE *file;    /* write here */
    char *target;  /* final name, links followed; NULL when written directly */
    char *partial; /* name while it is written; NULL when written directly */
    char *name;    /* as the user gave it, for messages; owned */
};

/* Once at the start of main: SIGPIPE as the system has it, signals that end the process remove
 * what is not finished, and no file opened later can become standard input, output or error. */
void output_prepare(void);

/* path NULL or "-": standard output. STATUS_INPUT when it cannot be opened. */
enum status output_open(struct output *output, const char *path, struct err *err);

/* It is written by whole rows, which an interrupted command leaves in the .partial. */
void output_keep_rows(const struct output *output);

/* Completes the file: STATUS_SYSTEM when something could not be written; the target is then
 * as it was. The output is released either way. */
enum status output_close(struct output *output, struct err *err);

/* Gives up: removes the partial file; what went to standard output or a pipe stays. */
void output_abandon(struct output *output);

#endif

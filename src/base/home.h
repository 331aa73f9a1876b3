/* Where the program's own files stand: its data (models, chart templates, examples) and the
 * modules it opens.
 *
 * An installed copy finds both relative to itself, wherever it was moved, and asks nowhere
 * else; a binary in its build folder has the source tree it was built from. The working
 * directory is never asked: what stands here is believed, and templates are programs. */
#ifndef MOEPLAN_BASE_HOME_H
#define MOEPLAN_BASE_HOME_H

#include "base/arena.h"

/* $MOEPLAN_DATA, or NULL when it is not set or empty. */
const char *home_user_data(void);

/* The folder that holds models/ and plots/; it need not exist. In the shared library it is
 * looked for relative to the library. */
const char *home_data(struct arena *arena);

/* A file of the data, "models/x.csv": below what the user named, else below home_data. NULL
 * when it is in neither. */
const char *home_file(const char *relative, struct arena *arena);

/* A module's file ("moeplan_mpi.so"): beside the binary, else where installation puts it beside
 * this copy, else in the install prefix. NULL when there is none. */
const char *home_module(const char *name, struct arena *arena);

#endif

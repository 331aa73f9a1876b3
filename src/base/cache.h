/* Where the program keeps what it can make again: images of kernels, what a machine reached;
 * and where it puts what it needs for a moment. */
#ifndef MOEPLAN_BASE_CACHE_H
#define MOEPLAN_BASE_CACHE_H

#include <stdbool.h>
#include <stddef.h>

/* The folder, made when it is missing: $MOEPLAN_CACHE, else moeplan below $XDG_CACHE_HOME, else
 * below ~/.cache. False: there is none, and nothing is kept. */
bool cache_folder(char *path, size_t room);

/* $TMPDIR, else /tmp. */
const char *temporary_folder(void);

#endif

/* Files that are being written, removed when a signal ends the process: what `-o FILE` leaves
 * beside FILE would be half of it, mostly nothing. */
#ifndef MOEPLAN_BASE_UNFINISHED_H
#define MOEPLAN_BASE_UNFINISHED_H

#include <signal.h>
#include <stdbool.h>

/* Once, on the main thread: from here SIGHUP, SIGINT and SIGTERM remove what is registered and
 * then end the process as they would anyway. One that is ignored stays ignored. */
void unfinished_watch(void);

/* Between hold and release these signals wait: a name is registered while its file is made, and
 * dropped while it is renamed. This and the following are for the main thread alone. */
void unfinished_hold(sigset_t *before);
void unfinished_release(const sigset_t *before);

/* The name lives until it is dropped. Of more than eight files at a time the rest are not
 * registered. */
void unfinished_add(const char *path);
void unfinished_drop(const char *path); /* one that is not registered, or NULL, is fine */

/* It holds whole rows: once there are any it is of use, and stays. */
void unfinished_keep(const char *path);

#endif

/* Running another program and listening to it. */
#ifndef MOEPLAN_BASE_PROCESS_H
#define MOEPLAN_BASE_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum { PROCESS_ABSENT = 127, PROCESS_SIGNAL = 128, PROCESS_LATE = -2 };

struct process {
    char *const *arguments; /* [0] is looked for in PATH; NULL ends */
    const char *folder;     /* to run in, or NULL */
    bool errors;            /* its standard error is listened to, too */
    FILE *copy;             /* receives what it says, or NULL */
    char *heard;            /* the first `room` - 1 bytes of what it says, terminated */
    size_t room;
};

/* Runs it to its end. Its exit status, PROCESS_ABSENT when there is no such program, -1 when it
 * could not be started or was killed. */
int process_run(struct process *process);

/* Calls a function in a child that has all this process has, and ends with what it returns. Its
 * exit status, PROCESS_SIGNAL + the signal that ended it, PROCESS_LATE when it took longer than
 * the limit and was ended, or -1 when there was no child. What the child itself started is
 * ended with it. */
int process_call(int (*call)(void *argument), void *argument, double limit_s);

#endif

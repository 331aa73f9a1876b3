/* See unfinished.h. */
#define _POSIX_C_SOURCE 200809L
#include "base/unfinished.h"

#include <pthread.h>
#include <stddef.h>
#include <sys/stat.h>
#include <unistd.h>

enum { UNFINISHED_FILES = 8 };

/* A handler has no argument to find its files by: one of the two variables that can be written
 * (base/arena has the other). Changed on the thread that watches, which is the one to handle
 * signals; pointers and flags are whole at any moment. */
static struct {
    pid_t process;
    pthread_t thread;
    const char *volatile path[UNFINISHED_FILES];
    volatile sig_atomic_t keeps[UNFINISHED_FILES];
} unfinished;

static const int ends[] = {SIGHUP, SIGINT, SIGTERM};
enum { ENDS = sizeof ends / sizeof *ends };

static bool is_empty(const char *path)
{
    struct stat file;
    return stat(path, &file) == 0 && file.st_size == 0;
}

static void remove_all(void)
{
    for (unsigned i = 0; i < UNFINISHED_FILES; i++) {
        const char *path = unfinished.path[i];
        if (path && (!unfinished.keeps[i] || is_empty(path)))
            unlink(path);
    }
}

/* Only what may be called of a handler (POSIX 2008, 2.4.3). A child between fork and exec has
 * the handler and the names, and not the files. */
static void end(int number)
{
    bool own = getpid() == unfinished.process;
    if (own && !pthread_equal(pthread_self(), unfinished.thread)) {
        pthread_kill(unfinished.thread, number);
        return;
    }
    if (own)
        remove_all();
    signal(number, SIG_DFL);
    raise(number); /* once this returns */
}

void unfinished_watch(void)
{
    struct sigaction watch = {.sa_handler = end, .sa_flags = SA_RESTART}, before;
    unfinished.process = getpid();
    unfinished.thread = pthread_self();
    sigemptyset(&watch.sa_mask);
    for (unsigned i = 0; i < ENDS; i++)
        if (sigaction(ends[i], NULL, &before) == 0 && before.sa_handler == SIG_DFL)
            sigaction(ends[i], &watch, NULL);
}

void unfinished_hold(sigset_t *before)
{
    sigset_t held;
    sigemptyset(&held);
    for (unsigned i = 0; i < ENDS; i++)
        sigaddset(&held, ends[i]);
    pthread_sigmask(SIG_BLOCK, &held, before);
}

void unfinished_release(const sigset_t *before)
{
    pthread_sigmask(SIG_SETMASK, before, NULL);
}

/* Where the name stands, or NULL. */
static const char *volatile *place_of(const char *path)
{
    for (unsigned i = 0; i < UNFINISHED_FILES; i++)
        if (unfinished.path[i] == path)
            return &unfinished.path[i];
    return NULL;
}

void unfinished_add(const char *path)
{
    const char *volatile *place = place_of(NULL);
    if (!place)
        return;
    unfinished.keeps[place - unfinished.path] = 0;
    *place = path;
}

void unfinished_drop(const char *path)
{
    const char *volatile *place = path ? place_of(path) : NULL;
    if (place)
        *place = NULL;
}

void unfinished_keep(const char *path)
{
    const char *volatile *place = path ? place_of(path) : NULL;
    if (place)
        unfinished.keeps[place - unfinished.path] = 1;
}

/* Arena: memory that dies together. Plans, work lists and results live in one.
 *
 * Allocation never returns NULL: when the system has no memory left the process ends with
 * status 6 and a one-line message, the only exit outside cli/ (there is nothing to undo: output
 * files are written beside their target and renamed). A library must not end the process it is
 * in: under a guard the work is given up instead. Not thread-safe; one arena per thread. */
#ifndef MOEPLAN_BASE_ARENA_H
#define MOEPLAN_BASE_ARENA_H

#include <stdbool.h>
#include <stddef.h>

struct arena_block;

struct arena {
    struct arena_block *blocks; /* newest first; {0} is an empty arena, ready for use */
};

/* n objects of size bytes, zeroed, aligned to 64. n * size is checked. */
void *arena_alloc(struct arena *arena, size_t n, size_t size);

/* The same, not zeroed: for what is written before it is read. */
void *arena_take(struct arena *arena, size_t n, size_t size);

/* Copy of a string; of its first `length` bytes. */
char *arena_strdup(struct arena *arena, const char *text);
char *arena_strndup(struct arena *arena, const char *text, size_t length);

/* Two strings as one. */
char *arena_join(struct arena *arena, const char *first, const char *second);

/* printf into the arena. */
char *arena_printf(struct arena *arena, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* An array in the arena with room for one more element than `used`: returns `items`, or a copy
 * of it twice as large when *capacity is reached (the old one stays until release). */
void *arena_grow(struct arena *arena, void *items, size_t used, size_t *capacity, size_t size);

/* Runs the work. False when memory ran out in it: what this thread's arenas took since it
 * started is then free again, and the work was left where it stood. So arenas that the work
 * grows must start empty inside it; those that live on after a success are the caller's. Files
 * that were open stay open. Other threads that the work starts are not guarded. */
bool arena_guarded(void (*work)(void *context), void *context);

/* Everything in it dies; the memory is kept for what comes next, up to a few MiB. */
void arena_clear(struct arena *arena);

/* Frees everything; the arena is empty and ready for use again. */
void arena_release(struct arena *arena);

#endif

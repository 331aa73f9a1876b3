/* Arena of malloc'ed blocks; see arena.h. Blocks double up to 1 MiB, large requests get their
 * own, so that a plan costs a handful of mallocs. */
#include "base/arena.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"

enum {
    ARENA_ALIGN = 64,
    ARENA_FIRST = 16 * 1024,
    ARENA_LARGEST = 1024 * 1024,
    ARENA_KEPT = 4 * 1024 * 1024, /* at most, of what is cleared */
};

struct arena_block {
    struct arena_block *next;
    size_t used, capacity;
    char *data; /* aligned to ARENA_ALIGN, inside this allocation */
    /* of the guard that it was taken under, while that is set */
    struct arena_block *guard_next, **guard_link;
};

/* ---- guards ---- */

struct guard {
    jmp_buf back;
    struct arena_block *blocks; /* taken under it, and not yet freed */
    struct guard *outer;
};

/* One of two variables that can be written (base/unfinished has the other): a failed allocation
 * deep in the work has no other way to learn of the guard. */
static _Thread_local struct guard *guard_now;

static void guard_add(struct arena_block *block)
{
    block->guard_next = NULL;
    block->guard_link = NULL;
    if (!guard_now)
        return;
    block->guard_next = guard_now->blocks;
    block->guard_link = &guard_now->blocks;
    if (block->guard_next)
        block->guard_next->guard_link = &block->guard_next;
    guard_now->blocks = block;
}

static void guard_remove(struct arena_block *block)
{
    if (!block->guard_link)
        return;
    *block->guard_link = block->guard_next;
    if (block->guard_next)
        block->guard_next->guard_link = block->guard_link;
    block->guard_link = NULL;
}

/* A function of its own: variables beside a setjmp have no certain value after the jump. */
static bool guard_run(struct guard *guard, void (*work)(void *context), void *context)
{
    if (setjmp(guard->back))
        return false;
    work(context);
    return true;
}

bool arena_guarded(void (*work)(void *context), void *context)
{
    struct guard guard = {.outer = guard_now};
    guard_now = &guard;
    bool done = guard_run(&guard, work, context);
    guard_now = guard.outer;
    while (guard.blocks) {
        struct arena_block *block = guard.blocks;
        guard_remove(block);
        if (!done)
            free(block);
    }
    return done;
}

/* ---- blocks ---- */

static void out_of_memory(size_t bytes)
{
    if (guard_now)
        longjmp(guard_now->back, 1);
    fprintf(stderr, "moeplan: out of memory: %zu bytes asked for\n", bytes);
    exit(STATUS_SYSTEM);
}

/* Of zeros, or of anything. */
static struct arena_block *block_create(size_t capacity, bool zeros)
{
    size_t whole = sizeof(struct arena_block) + ARENA_ALIGN + capacity;
    struct arena_block *block = zeros ? calloc(1, whole) : malloc(whole);
    if (!block)
        out_of_memory(whole);
    uintptr_t start = (uintptr_t)(block + 1);
    uintptr_t aligned = (start + ARENA_ALIGN - 1) / ARENA_ALIGN * ARENA_ALIGN;
    block->data = (char *)(block + 1) + (aligned - start);
    block->used = 0;
    block->capacity = capacity;
    block->next = NULL;
    guard_add(block);
    return block;
}

static size_t rounded_bytes(size_t n, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(n, size, &bytes) || bytes > SIZE_MAX / 2)
        out_of_memory(SIZE_MAX);
    return (bytes + ARENA_ALIGN - 1) / ARENA_ALIGN * ARENA_ALIGN;
}

void *arena_take(struct arena *arena, size_t n, size_t size)
{
    size_t rounded = rounded_bytes(n, size);
    struct arena_block *block = arena->blocks;
    if (!block || block->capacity - block->used < rounded) {
        size_t next = block ? 2 * block->capacity : ARENA_FIRST;
        if (next > ARENA_LARGEST)
            next = ARENA_LARGEST;
        block = block_create(rounded > next ? rounded : next, false);
        block->next = arena->blocks;
        arena->blocks = block;
    }
    void *found = block->data + block->used;
    block->used += rounded;
    return found;
}

/* Requests that get a block of their own find zeros there, without touching every page: a
 * worker of a sweep is tens of MiB, of which few plans use more than a few. */
void *arena_alloc(struct arena *arena, size_t n, size_t size)
{
    size_t rounded = rounded_bytes(n, size);
    if (rounded <= ARENA_LARGEST)
        return memset(arena_take(arena, n, size), 0, n * size);
    struct arena_block *block = block_create(rounded, true);
    block->next = arena->blocks;
    arena->blocks = block;
    block->used = rounded;
    return block->data;
}

char *arena_strndup(struct arena *arena, const char *text, size_t length)
{
    char *copy = arena_take(arena, length + 1, 1);
    memcpy(copy, text, length);
    copy[length] = 0;
    return copy;
}

char *arena_strdup(struct arena *arena, const char *text)
{
    return arena_strndup(arena, text, strlen(text));
}

char *arena_join(struct arena *arena, const char *first, const char *second)
{
    size_t n = strlen(first), more = strlen(second) + 1;
    char *text = arena_take(arena, n + more, 1);
    memcpy(text, first, n);
    memcpy(text + n, second, more);
    return text;
}

char *arena_printf(struct arena *arena, const char *format, ...)
{
    char brief[128]; /* most names are: formatted once */
    va_list args;
    va_start(args, format);
    int n = vsnprintf(brief, sizeof brief, format, args);
    va_end(args);
    size_t length = n < 0 ? 0 : (size_t)n;
    if (length < sizeof brief)
        return arena_strndup(arena, brief, length);
    char *text = arena_take(arena, length + 1, 1);
    va_start(args, format);
    vsnprintf(text, length + 1, format, args);
    va_end(args);
    return text;
}

void *arena_grow(struct arena *arena, void *items, size_t used, size_t *capacity, size_t size)
{
    if (used < *capacity)
        return items;
    size_t larger = *capacity ? 2 * *capacity : 16;
    char *copy = arena_take(arena, larger, size);
    if (used)
        memcpy(copy, items, used * size);
    memset(copy + used * size, 0, (larger - used) * size);
    *capacity = larger;
    return copy;
}

/* One block for all that was taken, so that the next time asks the system for nothing, and
 * touches no page that it has not touched before. */
void arena_clear(struct arena *arena)
{
    struct arena_block *kept = arena->blocks;
    size_t all = 0;
    for (const struct arena_block *block = kept; block; block = block->next)
        all += block->capacity;
    if (!kept)
        return;
    if (kept->next && all <= ARENA_KEPT) {
        arena_release(arena);
        kept = block_create(all, false);
    } else {
        arena->blocks = kept->next;
        arena_release(arena);
    }
    kept->next = NULL;
    kept->used = 0;
    arena->blocks = kept;
}

void arena_release(struct arena *arena)
{
    while (arena->blocks) {
        struct arena_block *block = arena->blocks;
        arena->blocks = block->next;
        guard_remove(block);
        free(block);
    }
}

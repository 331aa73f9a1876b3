/* See fibre.h. A fibre is started once and then given item after item; switches after the first
 * are jumps, which cost no system call. */
#include "support/emul/fibre.h"

#include <setjmp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

enum { STACK_BYTES = 1 << 16, LOCAL_BYTES = 1 << 16 };

struct fibre {
    ucontext_t start;
    jmp_buf here;
    char *stack;
    bool started, done;
    int line; /* of the barrier it waits at */
};

static struct {
    struct fibre fibres[FIBRE_ITEMS];
    jmp_buf scheduler;
    uint32_t items;
    uint64_t group, groups;
    void (*item)(void *context);
    void *context;
    bool too_large;
    double local[LOCAL_BYTES / sizeof(double)];
} state;

_Alignas(64) char fibre_slots[FIBRE_ITEMS][64];
uint32_t fibre_now;

uint32_t fibre_items(void)
{
    return state.items;
}

uint64_t fibre_group(void)
{
    return state.group;
}

uint64_t fibre_groups(void)
{
    return state.groups;
}

double *fibre_local(uint64_t bytes)
{
    state.too_large |= bytes > LOCAL_BYTES;
    return state.local;
}

static void leave(struct fibre *fibre)
{
    if (_setjmp(fibre->here) == 0)
        _longjmp(state.scheduler, 1);
}

void fibre_barrier(int line)
{
    struct fibre *fibre = &state.fibres[fibre_now];
    fibre->line = line;
    leave(fibre);
}

static void live(void)
{
    for (;;) {
        state.item(state.context);
        struct fibre *fibre = &state.fibres[fibre_now];
        fibre->done = true;
        leave(fibre);
    }
}

static void enter(uint32_t number)
{
    struct fibre *fibre = &state.fibres[number];
    fibre_now = number;
    if (_setjmp(state.scheduler) != 0)
        return;
    if (fibre->started)
        _longjmp(fibre->here, 1);
    fibre->started = true;
    fibre->stack = malloc(STACK_BYTES);
    getcontext(&fibre->start);
    fibre->start.uc_stack.ss_sp = fibre->stack;
    fibre->start.uc_stack.ss_size = STACK_BYTES;
    fibre->start.uc_link = NULL;
    makecontext(&fibre->start, live, 0);
    setcontext(&fibre->start);
}

/* splitmix64 */
static uint64_t draw(uint64_t *seed)
{
    uint64_t z = *seed += 0x9e3779b97f4a7c15U;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
}

static void shuffle(uint32_t *order, uint32_t n, uint64_t *seed)
{
    for (uint32_t i = 0; i < n; i++)
        order[i] = i;
    for (uint32_t i = n; i > 1; i--) {
        uint32_t j = (uint32_t)(draw(seed) % i), kept = order[i - 1];
        order[i - 1] = order[j];
        order[j] = kept;
    }
}

/* From one barrier to the next; false when all items have returned. */
static bool run_round(uint64_t *seed, enum fibre_fault *fault)
{
    uint32_t order[FIBRE_ITEMS], waiting = 0;
    int line = 0;
    shuffle(order, state.items, seed);
    for (uint32_t i = 0; i < state.items; i++) {
        struct fibre *fibre = &state.fibres[order[i]];
        if (fibre->done)
            continue;
        enter(order[i]);
        if (fibre->done)
            continue;
        if (waiting > 0 && fibre->line != line)
            *fault = FIBRE_DIVERGED;
        line = fibre->line;
        waiting++;
    }
    if (waiting > 0 && waiting < state.items)
        *fault = FIBRE_DIVERGED;
    return waiting > 0;
}

static enum fibre_fault run_group(uint64_t *seed)
{
    enum fibre_fault fault = FIBRE_FINE;
    memset(state.local, 0xff, sizeof state.local); /* nothing may be expected there */
    for (uint32_t i = 0; i < state.items; i++)
        state.fibres[i].done = false;
    while (run_round(seed, &fault))
        if (fault != FIBRE_FINE)
            return fault;
    return state.too_large ? FIBRE_LOCAL : fault;
}

enum fibre_fault fibre_run(void (*item)(void *context), void *context, uint64_t groups,
                           uint32_t items, uint64_t seed, uint64_t skipped)
{
    state.item = item;
    state.context = context;
    state.groups = groups;
    state.items = items;
    state.too_large = items > FIBRE_ITEMS;
    if (state.too_large)
        return FIBRE_LOCAL;
    uint64_t first = groups ? draw(&seed) % groups : 0;
    for (uint64_t i = 0; i < groups; i++) {
        state.group = (first + i) % groups;
        enum fibre_fault fault = state.group == skipped ? FIBRE_FINE : run_group(&seed);
        if (fault != FIBRE_FINE)
            return fault;
    }
    return FIBRE_FINE;
}

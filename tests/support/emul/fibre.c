/* See fibre.h. A fibre is started once and then given item after item; switches after the first
 * are jumps, from one fibre to the next of the round, which cost no system call. */
#include "support/emul/fibre.h"

#include <setjmp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

enum { STACK_BYTES = 1 << 16, LOCAL_BYTES = 1 << 18, STILL_ROUNDS = 4096 };

/* Where a fibre goes on. The compiler's own jumps keep a frame and an address; the library's
 * save all registers, sealed. */
#if defined(__x86_64__)
typedef void *place[5];
#define KEEP(at) __builtin_setjmp(at)
#define JUMP(at) __builtin_longjmp(at, 1)
#else
typedef jmp_buf place;
#define KEEP(at) _setjmp(at)
#define JUMP(at) _longjmp(at, 1)
#endif

struct fibre {
    ucontext_t start;
    place here;
    char *stack;
    bool started, done;
};

static struct {
    struct fibre fibres[FIBRE_ITEMS];
    place scheduler;
    uint32_t items;
    uint64_t group, groups;
    void (*item)(void *context);
    void *context;
    bool too_large;
    uint64_t filled; /* bytes of `local` that were asked for */
    double local[LOCAL_BYTES / sizeof(double)];
    /* from one barrier to the next */
    uint32_t order[FIBRE_ITEMS], at, waiting;
    int line; /* of the barrier where they wait */
    bool diverged;
    uint32_t paused, still; /* items of the round; rounds without anything that moved */
    uint64_t *seed;
    const char *wrong;
} state;

_Alignas(64) char fibre_slots[FIBRE_ITEMS][FIBRE_SLOT];
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

/* Nothing may be expected there. */
double *fibre_local(uint64_t bytes)
{
    state.too_large |= bytes > LOCAL_BYTES;
    if (bytes > state.filled && bytes <= LOCAL_BYTES) {
        memset((char *)state.local + state.filled, 0xff, bytes - state.filled);
        state.filled = bytes;
    }
    return state.local;
}

/* Never the place that the caller keeps. */
__attribute__((noinline, noreturn)) static void jump(place at)
{
    JUMP(at);
}

/* On to the next item of the round, or to the scheduler, who starts fibres. */
__attribute__((noinline)) static void leave(struct fibre *fibre)
{
    if (KEEP(fibre->here) != 0)
        return;
    for (; state.at < state.items; state.at++) {
        struct fibre *next = &state.fibres[state.order[state.at]];
        if (next->done)
            continue;
        if (!next->started)
            break;
        fibre_now = state.order[state.at++];
        jump(next->here);
    }
    jump(state.scheduler);
}

void fibre_barrier(int line)
{
    state.diverged |= state.waiting > 0 && line != state.line;
    state.line = line;
    state.waiting++;
    leave(&state.fibres[fibre_now]);
}

void fibre_pause(void)
{
    state.paused++;
    leave(&state.fibres[fibre_now]);
}

void fibre_moved(void)
{
    state.still = 0;
}

void fibre_wrong(const char *what)
{
    if (!state.wrong)
        state.wrong = what;
}

const char *fibre_fault_text(enum fibre_fault fault)
{
    return fault == FIBRE_DIVERGED ? "items wait at different barriers"
           : fault == FIBRE_LOCAL  ? "too much work-group memory"
                                   : state.wrong;
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

__attribute__((noinline)) static void enter(uint32_t number)
{
    struct fibre *fibre = &state.fibres[number];
    fibre_now = number;
    if (KEEP(state.scheduler) != 0)
        return;
    if (fibre->started)
        jump(fibre->here);
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

uint64_t fibre_draw(void)
{
    return draw(state.seed);
}

static void shuffle(uint32_t *order, uint32_t n, uint64_t *seed)
{
    for (uint32_t i = 0; i < n; i++)
        order[i] = i;
    for (uint32_t i = n; i > 1; i--) {
        uint32_t j = (uint32_t)((draw(seed) >> 32) * i >> 32), kept = order[i - 1];
        order[i - 1] = order[j];
        order[j] = kept;
    }
}

/* From one barrier to the next; false when all items have returned. */
static bool run_round(uint64_t *seed, enum fibre_fault *fault)
{
    shuffle(state.order, state.items, seed);
    state.waiting = state.paused = 0;
    state.diverged = false;
    for (state.at = 0; state.at < state.items;) {
        uint32_t number = state.order[state.at++];
        if (!state.fibres[number].done)
            enter(number);
    }
    if (state.diverged || (state.waiting > 0 && state.waiting < state.items))
        *fault = FIBRE_DIVERGED;
    if (state.paused > 0 && ++state.still > STILL_ROUNDS)
        fibre_wrong("items wait for what nobody does");
    if (state.wrong)
        *fault = FIBRE_WRONG;
    return state.waiting + state.paused > 0;
}

static enum fibre_fault run_group(uint64_t *seed)
{
    enum fibre_fault fault = FIBRE_FINE;
    state.filled = state.still = 0;
    for (uint32_t i = 0; i < state.items; i++)
        state.fibres[i].done = false;
    while (run_round(seed, &fault) && fault == FIBRE_FINE)
        ;
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
    state.seed = &seed;
    state.wrong = NULL;
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

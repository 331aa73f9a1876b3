/* Fibres: a work-group's items as stacks of one thread, performed in a seeded order. */
#ifndef MOEPLAN_TESTS_EMUL_FIBRE_H
#define MOEPLAN_TESTS_EMUL_FIBRE_H

#include <stdint.h>
#include <string.h>

enum { FIBRE_ITEMS = 1024 /* most of a work-group */, FIBRE_SLOT = 256 };

#pragma GCC visibility push(hidden) /* called without a table: of this library alone */

extern char fibre_slots[FIBRE_ITEMS][FIBRE_SLOT];
extern uint32_t fibre_now; /* the item that runs */

/* ---- for kernels (port.h) ---- */
static inline uint32_t fibre_item(void)
{
    return fibre_now;
}

/* [FIBRE_SLOT] of an item, that others read: shuffles. */
static inline char *fibre_slot(uint32_t item)
{
    return fibre_slots[item];
}

uint32_t fibre_items(void);
uint64_t fibre_group(void);
uint64_t fibre_groups(void);
void fibre_barrier(int line);

/* For instructions by which some of the items wait, and which have their own state: lets the
 * others go on; something changed for which one may wait; the order of things that have none.
 */
void fibre_pause(void);
void fibre_moved(void);
uint64_t fibre_draw(void);
void fibre_wrong(const char *what);  /* of an instruction; the launch fails with the first */
double *fibre_local(uint64_t bytes); /* the group's, the same for all items */

static inline uint32_t fibre_bits(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline float fibre_float(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* ---- for the driver ---- */

/* What went wrong in a launch. */
enum fibre_fault {
    FIBRE_FINE,
    FIBRE_DIVERGED /* items wait at different barriers */,
    FIBRE_LOCAL /* too much work-group memory */,
    FIBRE_WRONG /* an instruction was given what it does not take, or waits for ever */
};

const char *fibre_fault_text(enum fibre_fault fault);

/* Calls item(context) as every item of every group, groups and items in the order of the seed;
 * `skipped`: a group that is not performed, or UINT64_MAX. */
enum fibre_fault fibre_run(void (*item)(void *context), void *context, uint64_t groups,
                           uint32_t items, uint64_t seed, uint64_t skipped);

#pragma GCC visibility pop

#endif

/* Schedules as hops; see schedule.h. */
#include "work/piece/schedule.h"

#include <assert.h>

#include "work/piece/reduce.h"

static struct hop ring_reduce(uint64_t rank, uint64_t step, uint64_t ranks)
{
    struct ring_step ring = reduce_ring_step(rank, step, ranks);
    return (struct hop){ring.to, ring.from, ring.sent, ring.received, 1};
}

static struct hop halving_reduce(uint64_t rank, uint64_t step, uint64_t ranks)
{
    struct halving_step half = reduce_halving_step(rank, step, ranks);
    return (struct hop){half.partner, half.partner, half.sent, half.kept, half.chunks};
}

/* Step s: the chunk that came s hops from the left goes on, beginning with the rank's own. */
static struct hop ring_gather(uint64_t rank, uint64_t step, uint64_t ranks)
{
    return (struct hop){(rank + 1) % ranks, (rank + ranks - 1) % ranks,
                        (rank + ranks - step) % ranks, (rank + 2 * ranks - step - 1) % ranks,
                        1};
}

/* The halving of step log2 p - 1 - s backwards: what was kept goes out, what was sent returns.
 */
static struct hop doubling_gather(uint64_t rank, uint64_t step, uint64_t ranks)
{
    struct halving_step half =
        reduce_halving_step(rank, reduce_halving_steps(ranks) - 1 - step, ranks);
    return (struct hop){half.partner, half.partner, half.kept, half.sent, half.chunks};
}

static struct hop pass_left(uint64_t rank, uint64_t step, uint64_t ranks)
{
    (void)step;
    return (struct hop){(rank + ranks - 1) % ranks, (rank + 1) % ranks, 0, 0, 1};
}

static const struct {
    struct hop (*hop)(uint64_t rank, uint64_t step, uint64_t ranks);
    uint64_t (*steps)(uint64_t ranks);
    bool reduces;
} schedules[] = {
    [SCHEDULE_RING_REDUCE] = {ring_reduce, reduce_ring_steps, true},
    [SCHEDULE_HALVING_REDUCE] = {halving_reduce, reduce_halving_steps, true},
    [SCHEDULE_RING_GATHER] = {ring_gather, reduce_ring_steps, false},
    [SCHEDULE_DOUBLING_GATHER] = {doubling_gather, reduce_halving_steps, false},
    [SCHEDULE_PASS_LEFT] = {pass_left, reduce_ring_steps, false},
};

struct hop schedule_hop(enum schedule schedule, uint64_t rank, uint64_t step, uint64_t ranks)
{
    assert(rank < ranks && step < schedules[schedule].steps(ranks));
    return schedules[schedule].hop(rank, step, ranks);
}

uint64_t schedule_steps(enum schedule schedule, uint64_t ranks)
{
    return schedules[schedule].steps(ranks);
}

bool schedule_reduces(enum schedule schedule)
{
    return schedules[schedule].reduces;
}

/* Schedules of reduce-scatter; see reduce.h. */
#include "work/piece/reduce.h"

struct ring_step reduce_ring_step(uint64_t rank, uint64_t step, uint64_t ranks)
{
    /* two rounds of p keep the differences positive */
    uint64_t base = rank + 2 * ranks - step;
    return (struct ring_step){.to = (rank + 1) % ranks,
                              .from = (rank + ranks - 1) % ranks,
                              .sent = (base - 1) % ranks,
                              .received = (base - 2) % ranks};
}

struct halving_step reduce_halving_step(uint64_t rank, uint64_t step, uint64_t ranks)
{
    uint64_t distance = ranks >> (step + 1);
    /* after `step` steps the rank works on the chunks that share its leading bits */
    uint64_t first = rank & ~(2 * distance - 1);
    uint64_t own = rank & distance;
    return (struct halving_step){.partner = rank ^ distance,
                                 .kept = first + own,
                                 .sent = first + (distance - own),
                                 .chunks = distance};
}

uint64_t reduce_ring_steps(uint64_t ranks)
{
    return ranks - 1;
}

uint64_t reduce_halving_steps(uint64_t ranks)
{
    uint64_t steps = 0;
    while ((uint64_t)1 << (steps + 1) <= ranks)
        steps++;
    return steps;
}

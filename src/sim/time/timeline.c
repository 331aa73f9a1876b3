/* See timeline.h. */
#include "sim/time/timeline.h"

#include <math.h>

void timeline_rounds(double fetch, double compute, double back, uint64_t rounds,
                     struct rounds_times *out)
{
    /* On the link fetch i + 1, issued when compute i starts, goes before return i - 1. */
    double link = fetch, fetched = fetch, done = 0;
    for (uint64_t i = 0; i < rounds; i++) {
        double start = fmax(done, fetched);
        if (i + 1 < rounds)
            fetched = link = fmax(link, start) + fetch;
        if (i > 0)
            link = fmax(link, done) + back;
        done = start + compute;
    }
    double n = (double)rounds;
    *out = (struct rounds_times){.serial_s = n * (fetch + compute + back),
                                 .overlapped_s = fmax(link, done) + back,
                                 .link_s = n * (fetch + back),
                                 .compute_s = n * compute};
}

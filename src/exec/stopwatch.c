/* CLOCK_MONOTONIC; see stopwatch.h. */
#include "exec/stopwatch.h"

#include <time.h>

double stopwatch_now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

double stopwatch_step_s(void)
{
    double smallest = 1;
    for (int i = 0; i < 64; i++) {
        double begin = stopwatch_now_s(), end = begin;
        while (end <= begin)
            end = stopwatch_now_s();
        if (end - begin < smallest)
            smallest = end - begin;
    }
    return smallest;
}

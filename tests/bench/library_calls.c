/* Calls of libmoeplan as a C program makes them, timed for bench_python.py: what a call of the
 * Python package takes beyond them is the package's. A shared object that it loads. */
#include <stddef.h>
#include <time.h>

#include "lib/moeplan.h"

struct calls {
    struct moeplan_plan *plan;
    struct moeplan_result *result;
};

static void set(const struct calls *on)
{
    struct moeplan_error error;
    moeplan_set(on->plan, "workload.micro_batch", "2", &error);
}

static void copy(const struct calls *on)
{
    struct moeplan_plan *other = NULL;
    struct moeplan_error error;
    moeplan_copy(on->plan, &other, &error);
    moeplan_close(other);
}

/* Stands in for moeplan_predict, whose milliseconds would hide what is around them. */
int library_calls_nothing(const struct moeplan_plan *plan,
                          const struct moeplan_options *options, struct moeplan_result **result,
                          struct moeplan_error *error);

int library_calls_nothing(const struct moeplan_plan *plan,
                          const struct moeplan_options *options, struct moeplan_result **result,
                          struct moeplan_error *error)
{
    (void)plan;
    (void)options;
    (void)error;
    *result = NULL;
    return MOEPLAN_OK;
}

static void predict(const struct calls *on)
{
    struct moeplan_result *result;
    library_calls_nothing(on->plan, NULL, &result, NULL);
}

static void count(const struct calls *on)
{
    uint64_t value;
    moeplan_result_count(on->result, "memory.total_bytes", &value);
}

static void real(const struct calls *on)
{
    double value;
    moeplan_result_real(on->result, "intensity.flop_per_byte", &value);
}

static void text(const struct calls *on)
{
    char value[64];
    moeplan_result_text(on->result, "memory.verdict", value, sizeof value);
}

/* That this thread has computed: other processes do not lengthen it. */
static double computed_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Seconds of one of `n` such calls; "set", "copy", ... in the order of bench_python.py, which
 * alone calls it. */
double library_calls_s(unsigned which, struct moeplan_plan *plan, struct moeplan_result *result,
                       unsigned n);

double library_calls_s(unsigned which, struct moeplan_plan *plan, struct moeplan_result *result,
                       unsigned n)
{
    static void (*const all[])(const struct calls *on) = {set,   copy, predict,
                                                          count, real, text};
    const struct calls on = {plan, result};
    double begin = computed_s();
    for (unsigned i = 0; i < n; i++)
        all[which](&on);
    return (computed_s() - begin) / n;
}

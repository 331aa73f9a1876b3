/* `moeplan predict` on every recorded plan (tests/corpus), fixes included: of each the CPU
 * time of a process that reads it, of those that take longest the least of several. At most
 * 50 ms. With a number it lists so many of the slowest. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/bench.h"
#include "corpus/corpus.h"
#include "plan/read/show.h"

enum { AGAIN = 5 };
static const double doubtful_s = 0.03; /* from here on a plan is timed again */

static const char *const tables[] = {CORPUS_FOLDER "plans.csv", CORPUS_FOLDER "jobs.csv",
                                     CORPUS_FOLDER "short.csv", CORPUS_FOLDER "served.csv"};

struct timed {
    double seconds;
    char where[48];
};

struct timing {
    const char *moeplan;
    struct csv parts;
    struct timed *plans;
    size_t n, capacity;
};

/* Seconds of a processor that this program's children took so far. */
static double children_s(void)
{
    struct rusage usage;
    getrusage(RUSAGE_CHILDREN, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

/* Those of one prediction; ends the program when there was none. */
static double predict_s(const struct timing *t, FILE *plan, const char *where)
{
    int status = 0;
    double before = children_s();
    rewind(plan);
    pid_t child = fork();
    if (child == 0) {
        if (dup2(fileno(plan), STDIN_FILENO) >= 0 && freopen("/dev/null", "w", stdout) &&
            freopen("/dev/null", "w", stderr))
            execl(t->moeplan, "moeplan", "predict", "-", (char *)NULL);
        _exit(127);
    }
    if (waitpid(child, &status, 0) < 0 || !WIFEXITED(status) ||
        WEXITSTATUS(status) > 4) { /* 3, 4: refused, does not fit */
        fprintf(stderr, "predict %s failed\n", where);
        exit(1);
    }
    return children_s() - before;
}

static double least_s(const struct timing *t, const char *yaml, const char *where)
{
    FILE *file = tmpfile();
    if (!file || fputs(yaml, file) < 0 || fflush(file)) {
        perror("plan");
        exit(1);
    }
    double least = predict_s(t, file, where);
    for (unsigned i = 0; i < AGAIN && least > doubtful_s; i++) {
        double seconds = predict_s(t, file, where);
        least = seconds < least ? seconds : least;
    }
    fclose(file);
    return least;
}

static enum status time_table(struct timing *t, const char *name, struct arena *arena,
                              struct err *err)
{
    static struct plan plan;
    struct csv csv;
    TRY(csv_read(name, arena, &csv, err));
    for (size_t i = 0; i < csv.n_rows; i++) {
        struct arena own = {0};
        struct text yaml = {.arena = &own};
        struct timed *timed;
        TRY(corpus_plan(&t->parts, csv_cell(&csv, i, "plan"), &own, &plan, err));
        plan_print(&plan, &yaml);
        t->plans = arena_grow(arena, t->plans, t->n, &t->capacity, sizeof *t->plans);
        timed = &t->plans[t->n++];
        snprintf(timed->where, sizeof timed->where, "%s:%u", name + strlen(CORPUS_FOLDER),
                 csv.lines[i]);
        timed->seconds = least_s(t, text_string(&yaml), timed->where);
        arena_release(&own);
    }
    return STATUS_OK;
}

static enum status time_all(struct timing *t, struct arena *arena, struct err *err)
{
    TRY(corpus_parts(arena, &t->parts, err));
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        TRY(time_table(t, tables[i], arena, err));
    return STATUS_OK;
}

static int longest_first(const void *a, const void *b)
{
    const struct timed *x = a, *y = b;
    return (x->seconds < y->seconds) - (x->seconds > y->seconds);
}

int main(int argc, char **argv)
{
    struct bench bench = {0};
    struct arena arena = {0};
    struct err err = {0};
    struct timing t = {.moeplan = getenv("MOEPLAN")};
    size_t shown = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
    char name[96];
    if (!t.moeplan)
        return 77;
    if (time_all(&t, &arena, &err) != STATUS_OK || t.n == 0) {
        err_print(&err, stderr);
        return 1;
    }
    qsort(t.plans, t.n, sizeof *t.plans, longest_first);
    snprintf(name, sizeof name, "predict, longest of %zu plans (%s)", t.n, t.plans[0].where);
    bench_row(&bench, name, 1e3 * t.plans[0].seconds, "ms of a CPU", BENCH_AT_MOST, 50);
    bench_row(&bench, "predict, median of them", 1e3 * t.plans[t.n / 2].seconds, "ms of a CPU",
              BENCH_SHOWN, 0);
    for (size_t i = 0; i < shown && i < t.n; i++)
        bench_row(&bench, t.plans[i].where, 1e3 * t.plans[i].seconds, "ms of a CPU",
                  BENCH_SHOWN, 0);
    arena_release(&arena);
    return bench_status(&bench);
}

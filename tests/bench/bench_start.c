/* `moeplan predict` on every example, from fork to exit: at most 20 ms. */
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/bench.h"

enum { RUNS = 21 };

/* Seconds one prediction took; ends the program when it did not predict. */
static double predict_s(const char *moeplan, const char *example)
{
    double start = bench_now_s();
    pid_t child = fork();
    if (child == 0) {
        if (freopen("/dev/null", "w", stdout))
            execl(moeplan, "moeplan", "predict", example, (char *)NULL);
        _exit(127);
    }
    int status = 0;
    waitpid(child, &status, 0);
    double taken = bench_now_s() - start;
    /* 4: the plan does not fit, which is a prediction like any other */
    if (!WIFEXITED(status) || (WEXITSTATUS(status) != 0 && WEXITSTATUS(status) != 4)) {
        fprintf(stderr, "predict %s failed\n", example);
        exit(1);
    }
    return taken;
}

int main(void)
{
    const char *moeplan = getenv("MOEPLAN");
    glob_t examples;
    if (!moeplan || glob("examples/*.yaml", 0, NULL, &examples))
        return 77;
    struct bench bench = {0};
    for (size_t i = 0; i < examples.gl_pathc; i++) {
        double samples[RUNS];
        predict_s(moeplan, examples.gl_pathv[i]);
        for (size_t run = 0; run < RUNS; run++)
            samples[run] = predict_s(moeplan, examples.gl_pathv[i]);
        char name[256];
        snprintf(name, sizeof name, "predict %s", examples.gl_pathv[i]);
        bench_row(&bench, name, 1e3 * bench_median(samples, RUNS), "ms", BENCH_AT_MOST, 20);
    }
    globfree(&examples);
    return bench_status(&bench);
}

/* What the job files of tests/jobs say, by hand from their frameworks' documentation. */
#ifndef MOEPLAN_TESTS_SUPPORT_JOB_CASES_H
#define MOEPLAN_TESTS_SUPPORT_JOB_CASES_H

#include <stddef.h>

struct job_case {
    const char *file;  /* in tests/jobs */
    const char *sets;  /* "key=value key=value" of the command line */
    const char *keys;  /* the same, of the plan */
    unsigned warnings; /* how many */
};

extern const struct job_case job_cases[];
extern const size_t job_cases_n;

#endif

/* How the rows of the frameworks' tables are written; see struct job_flag. */
#ifndef MOEPLAN_PLAN_JOB_ROWS_H
#define MOEPLAN_PLAN_JOB_ROWS_H

#include "plan/job/reader.h"

#define DIRECT(names, shape, key, words, fallback, source)                                     \
    {                                                                                          \
        names, shape, JOB_DIRECT, key, words, fallback, NULL, source                           \
    }
#define NEEDED(names, shape, key, words, fallback, source)                                     \
    {                                                                                          \
        names, shape, JOB_NEEDED, key, words, fallback, NULL, source                           \
    }
#define RULE(names, shape, key, note, source)                                                  \
    {                                                                                          \
        names, shape, JOB_RULE, key, NULL, NULL, note, source                                  \
    }
#define MEMORY(names, shape, harmless, note, source)                                           \
    {                                                                                          \
        names, shape, JOB_MEMORY, NULL, NULL, harmless, note, source                           \
    }
#define TIME(names, shape, harmless, note, source)                                             \
    {                                                                                          \
        names, shape, JOB_TIME, NULL, NULL, harmless, note, source                             \
    }
#define IDLE(names, shape, note, source)                                                       \
    {                                                                                          \
        names, shape, JOB_NEITHER, NULL, NULL, NULL, note, source                              \
    }
#define NEITHER(names, shape, source)                                                          \
    {                                                                                          \
        names, shape, JOB_NEITHER, NULL, NULL, NULL, NULL, source                              \
    }

#endif

/* --reduce and --part: less of a sweep than all of its rows. */
#ifndef MOEPLAN_CLI_OPTION_LESS_H
#define MOEPLAN_CLI_OPTION_LESS_H

#include "base/err.h"
#include "sim/search/sweep.h"

/* "boundary", "pareto", "top:N" or "count"; NULL keeps all. STATUS_USAGE for other words. */
enum status less_reduce(const char *text, struct sweep_keep *keep, struct err *err);

/* "I/N", the I-th of N parts, from 1; NULL is the whole. */
enum status less_part(const char *text, struct sweep_part *part, struct err *err);

#endif

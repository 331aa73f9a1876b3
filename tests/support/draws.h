/* How many drawn cases a property test takes. Alone in this header, as any test may have some.
 */
#ifndef MOEPLAN_TESTS_SUPPORT_DRAWS_H
#define MOEPLAN_TESTS_SUPPORT_DRAWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One case in so many: 4, or what MOEPLAN_TEST_SHARE in the environment says. The suite and the
 * sanitizers take that sample, .ci/run the whole, as 1. */
unsigned draws_share(void);

/* Of n cases the first in the share: always the same. */
unsigned draws_of(unsigned n);

/* The seed of a case's draws: the number itself, or by MOEPLAN_TEST_SEED=n another one for each
 * n, so that laws can be tried on cases which nobody has seen. */
uint64_t draws_seed(uint64_t number);

/* Whether work of one thread is there to be looked at: not where MOEPLAN_TEST_THREADS is set,
 * as .ci/run does for the thread sanitizer, which sees nothing in it. What such work is
 * compared with is compared in the suite and under the other sanitizers. */
bool draws_one_thread(void);

/* Prints how many of n cases are taken. */
void draws_print(unsigned n);

/* Fails where fewer cases than `least` were of a kind. What draws happen to reach is known of
 * the suite's own, and of others about: half as many do. */
void draws_reach(const char *kind, size_t cases, double least);

/* Whether they are the suite's own, of which it is known what they leave out. */
bool draws_are_own(void);

#endif

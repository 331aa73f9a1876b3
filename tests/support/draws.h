/* How many drawn cases a property test takes. Alone in this header, as any test may have some.
 */
#ifndef MOEPLAN_TESTS_SUPPORT_DRAWS_H
#define MOEPLAN_TESTS_SUPPORT_DRAWS_H

#include <stdint.h>

/* One case in so many: 4, or what MOEPLAN_TEST_SHARE in the environment says. The suite and the
 * sanitizers take that sample, .ci/run the whole, as 1. */
unsigned draws_share(void);

/* Of n cases the first in the share: always the same. */
unsigned draws_of(unsigned n);

/* The seed of a case's draws: the number itself, or by MOEPLAN_TEST_SEED=n another one for each
 * n, so that laws can be tried on cases which nobody has seen. */
uint64_t draws_seed(uint64_t number);

/* Prints how many of n cases are taken. */
void draws_print(unsigned n);

#endif

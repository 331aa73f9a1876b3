/* How many drawn cases a property test takes. Alone in this header, as any test may have some.
 */
#ifndef MOEPLAN_TESTS_SUPPORT_DRAWS_H
#define MOEPLAN_TESTS_SUPPORT_DRAWS_H

/* Of n all, or, with MOEPLAN_TEST_SHARE=k in the environment, the first k-th part: .ci/run does
 * so under sanitizers, which look at the same code again and are many times slower. */
unsigned draws_of(unsigned n);

#endif

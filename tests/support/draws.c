/* See draws.h. */
#include "support/draws.h"

#include <stdio.h>
#include <stdlib.h>

enum { SUITE_SHARE = 4 };

unsigned draws_share(void)
{
    const char *asked = getenv("MOEPLAN_TEST_SHARE");
    unsigned long share = asked ? strtoul(asked, NULL, 10) : SUITE_SHARE;
    return share > 1 ? (unsigned)share : 1;
}

unsigned draws_of(unsigned n)
{
    unsigned share = draws_share();
    return n / share > 0 ? n / share : n;
}

uint64_t draws_seed(uint64_t number)
{
    const char *asked = getenv("MOEPLAN_TEST_SEED");
    return number + (asked ? strtoull(asked, NULL, 10) : 0) * UINT64_C(1000003);
}

void draws_print(unsigned n)
{
    printf("%u of %u cases\n", draws_of(n), n);
}

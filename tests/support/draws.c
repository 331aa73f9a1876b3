/* See draws.h. */
#include "support/draws.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

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

static uint64_t asked_seed(void)
{
    const char *asked = getenv("MOEPLAN_TEST_SEED");
    return asked ? strtoull(asked, NULL, 10) : 0;
}

uint64_t draws_seed(uint64_t number)
{
    return number + asked_seed() * UINT64_C(1000003);
}

bool draws_are_own(void)
{
    return asked_seed() == 0;
}

bool draws_one_thread(void)
{
    return !getenv("MOEPLAN_TEST_THREADS");
}

void draws_print(unsigned n)
{
    printf("%u of %u cases\n", draws_of(n), n);
}

void draws_reach(const char *kind, size_t cases, double least)
{
    double wanted = draws_are_own() ? least : least / 2;
    if ((double)cases < wanted)
        fail_msg("%zu cases are %s, %g at least were expected", cases, kind, wanted);
}

/* See draws.h. */
#include "support/draws.h"

#include <stdlib.h>

unsigned draws_of(unsigned n)
{
    const char *asked = getenv("MOEPLAN_TEST_SHARE");
    unsigned long share = asked ? strtoul(asked, NULL, 10) : 1;
    return share > 1 && n / share > 0 ? (unsigned)(n / share) : n;
}

/* The order of bounds, no further than it is asked for: a search looks at the first few of
 * millions. See search_parts.h. */
#include <stdlib.h>

#include "sim/search/search_parts.h"

static int by_bound(const void *a, const void *b)
{
    const struct search_candidate *x = a, *y = b;
    if (x->seconds != y->seconds)
        return x->seconds < y->seconds ? -1 : 1;
    if (x->least_bytes != y->least_bytes)
        return x->least_bytes < y->least_bytes ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

static void swap(struct search_candidate *x, struct search_candidate *y)
{
    struct search_candidate kept = *x;
    *x = *y;
    *y = kept;
}

/* The second of three in order. */
static struct search_candidate middle_of(const struct search_candidate *c, size_t n)
{
    const struct search_candidate *x = &c[0], *y = &c[n / 2], *z = &c[n - 1];
    if (by_bound(x, y) > 0) {
        const struct search_candidate *kept = x;
        x = y;
        y = kept;
    }
    return *(by_bound(z, x) < 0 ? x : by_bound(z, y) < 0 ? z : y);
}

/* Hoare's partition: those before the returned place come no later than those from it on,
 * neither part is empty (n > 1, no two are equal). */
static size_t split(struct search_candidate *c, size_t n)
{
    const struct search_candidate pivot = middle_of(c, n);
    for (size_t i = 0, j = n - 1;; i++, j--) {
        while (by_bound(&c[i], &pivot) < 0)
            i++;
        while (by_bound(&c[j], &pivot) > 0)
            j--;
        if (i >= j)
            return j + 1 < n ? j + 1 : n - 1;
        swap(&c[i], &c[j]);
    }
}

void search_order_first(struct search_candidate *candidates, size_t n, size_t wanted)
{
    size_t begin = 0, end = n; /* the first `wanted` end between them */
    while (begin < wanted && wanted < end && end - begin > 1) {
        size_t at = begin + split(candidates + begin, end - begin);
        if (at <= wanted)
            begin = at;
        else
            end = at;
    }
    if (wanted > 1)
        qsort(candidates, wanted, sizeof *candidates, by_bound);
}

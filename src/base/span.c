/* See span.h. */
#include "base/span.h"

#include <stdlib.h>

void span_add(struct span_list *list, const struct span *span)
{
    list->items =
        arena_grow(list->arena, list->items, list->n, &list->capacity, sizeof *list->items);
    list->items[list->n++] = *span;
}

static int order(double a, double b)
{
    return (a > b) - (a < b);
}

static int compare(const void *left, const void *right)
{
    const struct span *a = left, *b = right;
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    if (a->stream != b->stream)
        return a->stream < b->stream ? -1 : 1;
    int begin = order(a->begin_s, b->begin_s), end = order(b->end_s, a->end_s);
    if (begin || end)
        return begin ? begin : end;
    return a->number < b->number ? -1 : a->number > b->number;
}

void span_sort(struct span_list *list)
{
    if (list->n)
        qsort(list->items, list->n, sizeof *list->items, compare);
}

/* See memory_dump_list.h. */
#include "sim/answer/memory_dump_list.h"

#include <stdlib.h>
#include <string.h>

#include "base/checked.h"

struct dump_buffer *dump_add(struct dump_list *list, struct dump_buffer buffer)
{
    list->items =
        arena_grow(list->arena, list->items, list->n, &list->capacity, sizeof *list->items);
    list->items[list->n] = buffer;
    return &list->items[list->n++];
}

int dump_name_order(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) : (a != NULL) - (b != NULL);
}

/* Largest first, equal ones beside each other. */
static int dump_order(const void *one, const void *other)
{
    const struct dump_buffer *a = one, *b = other;
    if (a->size.bytes != b->size.bytes)
        return a->size.bytes < b->size.bytes ? 1 : -1;
    if (a->taken_bytes != b->taken_bytes)
        return a->taken_bytes < b->taken_bytes ? 1 : -1;
    int names = dump_name_order(a->name, b->name);
    if (names == 0)
        names = dump_name_order(a->where, b->where);
    return names ? names : dump_name_order(a->shape, b->shape);
}

void dump_join(struct dump_list *list, struct memory_dump *out)
{
    size_t kept = 0;
    if (list->n > 1)
        qsort(list->items, list->n, sizeof *list->items, dump_order);
    for (size_t i = 0; i < list->n; i++) {
        struct dump_buffer *buffer = &list->items[i];
        if (!buffer->shares)
            out->listed_bytes = saturated_add(
                out->listed_bytes, saturated_mul(buffer->taken_bytes, buffer->count));
        if (kept && dump_order(&list->items[kept - 1], buffer) == 0)
            list->items[kept - 1].count += buffer->count;
        else
            list->items[kept++] = *buffer;
    }
    out->buffers = list->items;
    out->n = kept;
}

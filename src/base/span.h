/* Spans of time: what ran when, where. Simulated steps and measured ones make the same lists,
 * and traces and timelines are written from them. */
#ifndef MOEPLAN_BASE_SPAN_H
#define MOEPLAN_BASE_SPAN_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

struct span {
    const char *op;     /* its name */
    const char *part;   /* what it belongs to: "moe layer 3"; NULL: nothing further */
    const char *phase;  /* "forward", "backward"; NULL: none */
    uint64_t rank;      /* or stage, or process */
    unsigned stream;    /* of the list's streams */
    uint64_t iteration; /* micro-batch, or measured step */
    size_t number;      /* of the op in its list; SIZE_MAX: it is none of them */
    double begin_s, end_s;
};

struct span_list {
    struct arena *arena;
    struct span *items;
    size_t n, capacity;
    double end_s;               /* of the whole */
    const char *const *streams; /* names, one for each span.stream */
    const char *const *ranks;   /* names of the ranks, n_ranks of them */
    size_t n_ranks;
    const char *about; /* one line: what the spans are of; NULL: nothing said */
};

/* Appends; memory from the list's arena. */
void span_add(struct span_list *list, const struct span *span);

/* By rank, stream and time; of spans that begin together the longer one first. */
void span_sort(struct span_list *list);

#endif

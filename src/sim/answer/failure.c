/* Buffers that an amount may be; see failure.h. */
#include "sim/answer/failure.h"

#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/unit.h"

uint64_t failure_segment(uint64_t bytes)
{
    uint64_t rounded = round_up(bytes, 512);
    if (rounded <= MIB)
        return 2 * MIB;
    return rounded < 10 * MIB ? 20 * MIB : round_up(rounded, 2 * MIB);
}

struct search {
    const struct printed_bytes *amount;
    bool segments;
    struct arena *arena;
    struct failure_match *found;
    size_t n, capacity;
};

static void try(struct search *s, struct failure_match match)
{
    uint64_t asked = s->segments ? failure_segment(match.bytes) : match.bytes;
    uint64_t printed = s->amount->bytes;
    if (match.bytes == 0 || asked < s->amount->low || asked > s->amount->high)
        return;
    match.off = asked > printed ? asked - printed : printed - asked;
    s->found = arena_grow(s->arena, s->found, s->n, &s->capacity, sizeof *s->found);
    s->found[s->n++] = match;
}

static void try_copies(struct search *s, const struct buffer_report *buffer)
{
    uint64_t one = buffer->one_bytes;
    try(s, (struct failure_match){"one copy", 1, buffer, NULL, one, 0});
    if (buffer->bytes != one)
        try(s, (struct failure_match){"all copies", buffer->copies, buffer, NULL, buffer->bytes,
                                      0});
    for (uint64_t m = 2; m < buffer->copies && m <= FAILURE_MULTIPLES; m++)
        if (one <= s->amount->high / m + 1)
            try(s, (struct failure_match){"several copies", m, buffer, NULL, one * m, 0});
}

/* Smaller ones than this share of the amount would complete almost any sum. */
static bool counts(const struct search *s, const struct buffer_report *buffer)
{
    return buffer->one_bytes >= s->amount->bytes / FAILURE_MULTIPLES &&
           buffer->one_bytes <= s->amount->high;
}

static int rank_of(const struct failure_match *match)
{
    static const char *const order[] = {"one copy", "all copies", "several copies"};
    int rank = 0;
    while (rank < 3 && strcmp(order[rank], match->how) != 0)
        rank++;
    return rank;
}

static int match_order(const void *one, const void *other)
{
    const struct failure_match *a = one, *b = other;
    int ranks = rank_of(a) - rank_of(b);
    if (ranks == 0)
        ranks = (a->off > b->off) - (a->off < b->off);
    if (ranks == 0)
        ranks = (a->buffer > b->buffer) - (a->buffer < b->buffer);
    if (ranks == 0)
        ranks = (a->other > b->other) - (a->other < b->other);
    return ranks ? ranks : (a->times > b->times) - (a->times < b->times);
}

struct failure_match *failure_matches(const struct memory_report *memory,
                                      const struct printed_bytes *amount, bool segments,
                                      struct arena *arena, size_t *n)
{
    struct search s = {.amount = amount, .segments = segments, .arena = arena};
    for (size_t i = 0; i < memory->n_buffers; i++) {
        const struct buffer_report *a = &memory->buffers[i];
        try_copies(&s, a);
        for (size_t j = i + 1; counts(&s, a) && j < memory->n_buffers; j++) {
            const struct buffer_report *b = &memory->buffers[j];
            if (counts(&s, b) && a->segment == b->segment)
                try(&s, (struct failure_match){"sum of two", 1, a, b,
                                               a->one_bytes + b->one_bytes, 0});
        }
    }
    if (s.n > 1)
        qsort(s.found, s.n, sizeof *s.found, match_order);
    *n = s.n;
    return s.found;
}

/* Buffers of a report beside those of a plan; see memory_dump.h. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "sim/answer/memory_dump_list.h"

/* A size of ours that may stand for one of theirs. */
struct offer {
    const struct buffer_report *buffer;
    const char *how;
    uint64_t bytes, left;
};

static int offer_order(const void *one, const void *other)
{
    const struct offer *a = one, *b = other;
    if (a->bytes != b->bytes)
        return a->bytes < b->bytes ? -1 : 1;
    if (a->buffer->at_peak != b->buffer->at_peak)
        return a->buffer->at_peak ? -1 : 1;
    return (a->buffer > b->buffer) - (a->buffer < b->buffer);
}

/* One copy as often as there are, and all copies as one allocation. */
static struct offer *offers_of(const struct memory_report *memory, struct arena *arena,
                               size_t *n)
{
    struct offer *offers = arena_alloc(arena, 2 * memory->n_buffers + 1, sizeof *offers);
    *n = 0;
    for (size_t i = 0; i < memory->n_buffers; i++) {
        const struct buffer_report *b = &memory->buffers[i];
        if (b->one_bytes)
            offers[(*n)++] = (struct offer){b, "one copy", b->one_bytes, b->copies};
        if (b->one_bytes && b->copies > 1 && b->bytes != b->one_bytes)
            offers[(*n)++] = (struct offer){b, "all copies", b->bytes, 1};
    }
    if (*n > 1)
        qsort(offers, *n, sizeof *offers, offer_order);
    return offers;
}

/* Copies of a buffer that were given away, by its place among the plan's. */
struct ledger {
    const struct memory_report *memory;
    uint64_t *left;
    struct arena *arena;
    struct dump_comparison *out;
    size_t match_room;
};

static uint64_t *left_of(const struct ledger *l, const struct buffer_report *buffer)
{
    return &l->left[buffer - l->memory->buffers];
}

static size_t first_offer(const struct offer *offers, size_t n, uint64_t bytes)
{
    size_t low = 0, high = n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (offers[middle].bytes < bytes)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void add_match(struct ledger *l, const struct dump_buffer *theirs,
                      const struct offer *offer, uint64_t times, uint64_t others)
{
    struct dump_comparison *c = l->out;
    struct dump_match match = {.theirs = theirs,
                               .ours = offer->buffer,
                               .how = offer->how,
                               .times = times,
                               .their_bytes = saturated_mul(theirs->taken_bytes, times),
                               .our_bytes = saturated_mul(offer->bytes, times),
                               .others = others};
    match.difference_bytes = (int64_t)(match.their_bytes - match.our_bytes);
    c->matches = arena_grow(l->arena, c->matches, c->n, &l->match_room, sizeof *c->matches);
    c->matches[c->n++] = match;
    c->our_matched_bytes = saturated_add(c->our_matched_bytes, match.our_bytes);
    if (!theirs->shares)
        c->matched_bytes = saturated_add(c->matched_bytes, match.their_bytes);
}

/* How many of `wanted` an offer still serves: all copies go together. */
static uint64_t take(const struct ledger *l, const struct offer *offer, uint64_t wanted)
{
    uint64_t *left = left_of(l, offer->buffer), copies = offer->buffer->copies;
    bool whole = strcmp(offer->how, "all copies") == 0;
    uint64_t times = whole ? *left == copies : *left < wanted ? *left : wanted;
    *left -= whole ? times * copies : times;
    return times;
}

static uint64_t match_one(struct ledger *l, const struct offer *offers, size_t n,
                          const struct dump_buffer *theirs)
{
    uint64_t wanted = theirs->count;
    size_t first = first_offer(offers, n, theirs->size.low), last = first;
    while (last < n && offers[last].bytes <= theirs->size.high)
        last++;
    for (size_t i = first; i < last && wanted; i++) {
        uint64_t times = take(l, &offers[i], wanted);
        if (times)
            add_match(l, theirs, &offers[i], times, last - first - 1);
        wanted -= times;
    }
    return wanted;
}

static void add_rest(struct arena *arena, struct dump_rest **list, size_t *n, size_t *room,
                     struct dump_rest rest)
{
    *list = arena_grow(arena, *list, *n, room, sizeof **list);
    (*list)[(*n)++] = rest;
}

static int rest_order(const void *one, const void *other)
{
    const struct dump_rest *a = one, *b = other;
    if (a->bytes != b->bytes)
        return a->bytes < b->bytes ? 1 : -1;
    return dump_name_order(a->name, b->name);
}

static void leave_ours(struct ledger *l)
{
    struct dump_comparison *c = l->out;
    size_t room = 0;
    for (size_t i = 0; i < l->memory->n_buffers; i++) {
        const struct buffer_report *b = &l->memory->buffers[i];
        uint64_t bytes =
            l->left[i] == b->copies ? b->bytes : saturated_mul(b->one_bytes, l->left[i]);
        if (!b->at_peak || !l->left[i] || !bytes)
            continue;
        add_rest(l->arena, &c->ours, &c->n_ours, &room,
                 (struct dump_rest){b->name, segment_name(b->segment), l->left[i], b->one_bytes,
                                    bytes});
        c->our_rest_bytes = saturated_add(c->our_rest_bytes, bytes);
    }
    if (c->n_ours > 1)
        qsort(c->ours, c->n_ours, sizeof *c->ours, rest_order);
}

/* Buffers of theirs, or what is left of them. */
struct remainder {
    struct dump_buffer buffer; /* its count: those left */
    bool matched;
};

static int name_order(const void *one, const void *other)
{
    const struct remainder *a = one, *b = other;
    int names = dump_name_order(a->buffer.name, b->buffer.name);
    return names ? names : dump_name_order(a->buffer.where, b->buffer.where);
}

/* What one line of a program allocated in pieces may be one buffer of the plan: an optimizer's
 * states, tensor by tensor. */
static void match_sums(struct ledger *l, const struct offer *offers, size_t n,
                       struct remainder *rest, size_t n_rest)
{
    if (n_rest > 1)
        qsort(rest, n_rest, sizeof *rest, name_order);
    for (size_t first = 0, last; first < n_rest; first = last) {
        struct dump_buffer *sum = arena_alloc(l->arena, 1, sizeof *sum);
        uint64_t bytes = 0, pieces = 0;
        *sum = rest[first].buffer;
        sum->taken_bytes = 0;
        for (last = first; last < n_rest && name_order(&rest[first], &rest[last]) == 0;
             last++) {
            const struct dump_buffer *b = &rest[last].buffer;
            bytes = saturated_add(bytes, saturated_mul(b->size.bytes, b->count));
            sum->taken_bytes =
                saturated_add(sum->taken_bytes, saturated_mul(b->taken_bytes, b->count));
            pieces = saturated_add(pieces, b->count);
        }
        sum->count = 1;
        sum->shape = NULL;
        sum->size = (struct printed_bytes){true, bytes, bytes, bytes};
        sum->name = arena_printf(l->arena, "%s (%" PRIu64 " together)", sum->name, pieces);
        if (pieces < 2 || match_one(l, offers, n, sum))
            continue;
        for (size_t i = first; i < last; i++)
            rest[i].matched = true;
    }
}

static void leave_theirs(struct ledger *l, const struct remainder *rest, size_t n)
{
    struct dump_comparison *c = l->out;
    size_t room = 0;
    for (size_t i = 0; i < n; i++) {
        const struct dump_buffer *b = &rest[i].buffer;
        uint64_t bytes = saturated_mul(b->taken_bytes, b->count);
        if (rest[i].matched)
            continue;
        add_rest(l->arena, &c->theirs, &c->n_theirs, &room,
                 (struct dump_rest){b->name, b->where, b->count, b->taken_bytes, bytes});
        if (!b->shares)
            c->their_rest_bytes = saturated_add(c->their_rest_bytes, bytes);
    }
    if (c->n_theirs > 1)
        qsort(c->theirs, c->n_theirs, sizeof *c->theirs, rest_order);
}

void memory_dump_compare(const struct memory_dump *dump, const struct memory_report *memory,
                         struct arena *arena, struct dump_comparison *out)
{
    size_t n, n_rest = 0;
    struct ledger l = {.memory = memory, .arena = arena, .out = out};
    *out = (struct dump_comparison){0};
    const struct offer *offers = offers_of(memory, arena, &n);
    struct remainder *rest = arena_alloc(arena, dump->n + 1, sizeof *rest);
    l.left = arena_alloc(arena, memory->n_buffers + 1, sizeof *l.left);
    for (size_t i = 0; i < memory->n_buffers; i++)
        l.left[i] = memory->buffers[i].copies;
    for (size_t i = 0; i < dump->n; i++) {
        uint64_t left = match_one(&l, offers, n, &dump->buffers[i]);
        if (!left)
            continue;
        rest[n_rest].buffer = dump->buffers[i];
        rest[n_rest].matched = false;
        rest[n_rest++].buffer.count = left;
    }
    match_sums(&l, offers, n, rest, n_rest);
    leave_theirs(&l, rest, n_rest);
    leave_ours(&l);
}

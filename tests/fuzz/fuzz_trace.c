/* Recorded routing and placement: the first byte says as what the rest is read. What is read
 * stays within its limits; an error has a text and leaves the result as it was. */
#include "fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "plan/data/trace.h"

static void require(int holds)
{
    if (!holds)
        abort();
}

static void check_counts(const struct trace *trace)
{
    uint64_t sum = 0;
    require(trace->layers <= TRACE_LAYERS && trace->experts <= TRACE_EXPERTS);
    for (uint64_t i = 0; i < trace->layers * trace->experts; i++)
        require(!__builtin_add_overflow(sum, trace->counts[i], &sum));
}

static void check_ids(const struct trace *trace)
{
    for (uint64_t i = 0; i < trace->tokens * trace->top_k; i++)
        require(trace->ids[i] >= 0 && (uint64_t)trace->ids[i] < trace->experts);
}

static void read_trace(bool npy, const uint8_t *data, size_t size, struct arena *arena)
{
    static const struct trace untouched = {.layers = 77};
    struct trace trace = untouched;
    struct err err = {0};
    enum status status =
        npy ? trace_read_npy("t.npy", data, size, arena, &trace, &err)
            : trace_read_csv("t.csv", (const char *)data, size, arena, &trace, &err);
    if (status != STATUS_OK)
        require(err.text[0] && memcmp(&trace, &untouched, sizeof trace) == 0);
    else if (trace.counts)
        check_counts(&trace);
    else
        check_ids(&trace);
}

static void read_placement(const uint8_t *data, size_t size, struct arena *arena)
{
    const uint32_t *owner = NULL;
    uint64_t n = 77, sum = 0;
    struct err err = {0};
    if (placement_read_csv("p.csv", (const char *)data, size, arena, &owner, &n, &err)) {
        require(err.text[0] && !owner && n == 77);
        return;
    }
    require(n <= TRACE_EXPERTS);
    for (uint64_t e = 0; e < n; e++)
        sum += owner[e];
    require(sum <= n * UINT32_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena = {0};
    if (size > 0 && data[0] == 'p')
        read_placement(data + 1, size - 1, &arena);
    else if (size > 0)
        read_trace(data[0] == 'n', data + 1, size - 1, &arena);
    arena_release(&arena);
    return 0;
}

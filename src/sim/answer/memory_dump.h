/* Reports in which other programs list their buffers, beside the buffers of a plan: XLA's
 * buffer assignment, its peak buffers or largest allocations of a failed compilation or run, a
 * torch memory snapshot as JSON. Pure; memory from the arena. Sources of the formats: openxla
 * xla/service/buffer_assignment.cc and the reports of its issues, pytorch
 * torch/csrc/cuda/memory_snapshot.cpp. */
#ifndef MOEPLAN_SIM_ANSWER_MEMORY_DUMP_H
#define MOEPLAN_SIM_ANSWER_MEMORY_DUMP_H

#include "sim/answer/failure.h"

/* Equal buffers of a report, once. */
struct dump_buffer {
    const char *name;  /* what it is called there: a label, an op, a frame */
    const char *where; /* "parameter", "temp", "HLO temp", "active" */
    const char *shape; /* "bf16[8,4096]"; NULL: not said */
    uint64_t count;
    uint64_t taken_bytes;      /* one, as allocated: padded, or rounded by the allocator */
    struct printed_bytes size; /* one, as asked for: by its shape, or as it is printed */
    bool shares;               /* its place belongs to others at other times */
};

struct memory_dump {
    const char *kind;            /* "XLA's buffer assignment", "a torch memory snapshot", ... */
    struct dump_buffer *buffers; /* largest first */
    size_t n;
    uint64_t stated_bytes;   /* of the whole, as the report says; 0: it does not */
    uint64_t listed_bytes;   /* of everything it lists and no place twice */
    uint64_t shared_bytes;   /* of that: allocations that values share over time */
    uint64_t reserved_bytes; /* torch: of segments; 0: no such report */
};

enum { MEMORY_DUMP_BYTES = 256 << 20 };

/* Reads a report of any kind. STATUS_INPUT at file:line:column: for what is none, with what is
 * known, and for a snapshot as a pickle, with how to make it JSON. The text is terminated. */
enum status memory_dump_read(const char *file, const char *text, size_t length,
                             struct arena *arena, struct memory_dump *out, struct err *err);

struct dump_match {
    const struct dump_buffer *theirs;
    const struct buffer_report *ours;
    const char *how; /* "one copy", "all copies" */
    uint64_t times;  /* of theirs, each matched by one of ours */
    uint64_t their_bytes, our_bytes;
    int64_t difference_bytes; /* theirs as allocated - ours */
    uint64_t others;          /* more buffers of ours of that size */
};

/* What matched nothing. */
struct dump_rest {
    const char *name, *where;
    uint64_t count, one_bytes, bytes;
};

struct dump_comparison {
    struct dump_match *matches; /* largest first */
    size_t n;
    struct dump_rest *theirs, *ours; /* largest first; ours: those alive at the peak */
    size_t n_theirs, n_ours;
    uint64_t matched_bytes, our_matched_bytes, their_rest_bytes, our_rest_bytes;
};

/* Each of their buffers with one of ours of the same size that is still free, those alive at
 * the peak first. n log n. */
void memory_dump_compare(const struct memory_dump *dump, const struct memory_report *memory,
                         struct arena *arena, struct dump_comparison *out);

#endif

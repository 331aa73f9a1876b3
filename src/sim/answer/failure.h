/* A failed allocation as frameworks report it, and the buffers of a plan that match it. Sources
 * of the texts: pytorch c10/cuda/CUDACachingAllocator.cpp, XLA's and NVSHMEM's issue reports,
 * nccl include/alloc.h, vllm kv_cache_utils.py, sglang model_runner.py. Pure; memory from the
 * arena. */
#ifndef MOEPLAN_SIM_ANSWER_FAILURE_H
#define MOEPLAN_SIM_ANSWER_FAILURE_H

#include "sim/answer/predict.h"

/* Bytes as printed: anything from low to high prints so. */
struct printed_bytes {
    bool known;
    uint64_t low, bytes, high;
};

struct failure {
    const char *source; /* "torch", "XLA", "vLLM", "SGLang", "NVSHMEM", "NCCL", "amount" */
    bool segments;      /* the amount is a segment of the CUDA caching allocator */
    uint64_t line;      /* of the text, from 1 */
    uint64_t n_lines;   /* lines of the text that report a failure */
    struct printed_bytes wanted; /* not known: the text states no size */
    /* by the process; where that is not said, by what PyTorch allocated */
    struct printed_bytes in_use;
};

/* An amount at the start of a text: "26.21 GiB", "8.01GiB", "1234 bytes", XLA's "3.5G",
 * "260.0K". */
struct printed_bytes failure_amount(const char *text);

/* Finds the first failed allocation of a text (the first with a size, where one has), which may
 * be a log and may hold any bytes; an
 * amount alone ("26.21 GiB") is one too. False when there is none. */
bool failure_find(const char *text, size_t length, struct arena *arena, struct failure *out);

/* Bytes that torch's allocator asks the device for: rounded to 512 B, then 2 MiB for at most
 * 1 MiB, 20 MiB below 10 MiB, else the next multiple of 2 MiB. */
uint64_t failure_segment(uint64_t bytes);

enum { FAILURE_MULTIPLES = 64 }; /* more copies than that match almost anything */

struct failure_match {
    const char *how;                            /* "one copy", "all copies", ... */
    uint64_t times;                             /* copies of the first buffer */
    const struct buffer_report *buffer, *other; /* other: the second of a sum, or NULL */
    uint64_t bytes;                             /* before rounding */
    uint64_t off;                               /* rounded, from what was printed */
};

/* Buffers, multiples of one (up to its copies and FAILURE_MULTIPLES) and sums of two of one
 * segment that the amount may be: single copies first, then the nearest. */
struct failure_match *failure_matches(const struct memory_report *memory,
                                      const struct printed_bytes *amount, bool segments,
                                      struct arena *arena, size_t *n);

#endif

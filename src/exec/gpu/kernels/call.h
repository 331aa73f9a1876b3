/* A kernel's call, the same bytes for the host and every device.
 *
 * Tensors are views: where in which memory, how many rows of how many elements; their memory is
 * passed beside the call, as every API passes memory. The op's own arguments are those of the
 * work list (args.h), as they are. Fixed widths, no pointers. */
#ifndef MOEPLAN_EXEC_GPU_KERNELS_CALL_H
#define MOEPLAN_EXEC_GPU_KERNELS_CALL_H

#include "work/list/args.h"

enum { GPU_TENSORS = 8, GPU_SPACE_HEAD = 256, GPU_REPORT_WORDS = 4 };

/* What fits into the tables that kernels hold in work-group memory. */
enum { GPU_MOST_EXPERTS = 1024, GPU_MOST_CHOSEN = 256, GPU_MOST_SLOTS = 512 };

/* How much one work-group takes: of a product's result, and of a matrix that is picked. */
enum { GPU_TILE_ROWS = 128, GPU_TILE = 64, GPU_PICK_BYTES = 1 << 16 };

enum gpu_format {
    FORMAT_NONE,
    FORMAT_F32,
    FORMAT_BF16,
    FORMAT_F16,
    FORMAT_I32,
    FORMAT_I64,
    FORMAT_FP8,
    FORMAT_FP8_CHANNEL,
    FORMAT_FP8_BLOCK,
    FORMAT_MXFP8,
    FORMAT_MXFP4,
    FORMAT_NVFP4
};

enum gpu_score { GPU_SOFTMAX, GPU_SIGMOID, GPU_SQRTSOFTPLUS };
enum gpu_curve { GPU_SILU, GPU_GELU, GPU_RELU, GPU_SWIGLU_OAI };

/* What a kernel found wrong, in the head of the workspace; the numbers it is about follow. */
enum gpu_report {
    REPORT_NOTHING,
    REPORT_OVERFLOW, /* rows, rows that fit */
    REPORT_ROUTER,   /* token */
    REPORT_HANDLE    /* dispatch */
};

struct gpu_view {
    uint64_t offset; /* bytes into its memory */
    uint64_t rows, width, row_bytes;
    uint64_t dims[3];
    uint32_t format; /* enum gpu_format */
    uint32_t n_dims;
    uint32_t present, reserved;
};

struct gpu_router {
    double scale;
    uint64_t groups, top_groups;
    uint32_t score; /* enum gpu_score */
    uint32_t score_first, normalize;
    uint32_t given; /* ids are those wanted, gates are there already */
};

/* What a matrix' loader is told of both operands, the result and the rows kept beside
 * it of a product at peak rate (peak_sm90.cl), as the driver makes it; nothing for other
 * engines. */
#if defined(__cplusplus)
struct alignas(64) gpu_maps {
    unsigned char of[4][128];
};
#else
struct gpu_maps {
    unsigned char of[4][128];
};
#endif

struct gpu_call {
    struct gpu_view view[8]; /* GPU_TENSORS, in the order of the kernel's roles */
    union args args;
    uint64_t rank, iteration, step;
    uint64_t ranks, tokens, top_k, held,
        logical;                       /* of the routing sample; held: local experts */
    uint64_t space_bytes;              /* of the workspace */
    uint64_t hop_received, hop_chunks; /* of a schedule's step */
    uint64_t items;                    /* work-groups' share: see the kernel's row */
    struct gpu_router router;
    uint32_t curve;        /* enum gpu_curve */
    uint32_t chunk;        /* a product of CHUNK_GEMM */
    uint32_t pieces, bins; /* of slots that are placed (tally.cl) */
    uint32_t whole;        /* inputs are, and stay so: a norm multiplies by 1 */
    uint32_t reserved;
};

#endif

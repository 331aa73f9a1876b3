/* Forms of time: how constants of a profile become the seconds of a kernel or of a collective.
 *
 * Few constants, each with a physical bound: no share of a peak, of a bandwidth or of a link is
 * above one. Whoever fits a profile (calib/fit/calibrate.h) and whoever reads it uses these.
 * Bytes and FLOPs are doubles here: expectations over routing. */
#ifndef MOEPLAN_SIM_TIME_FORM_H
#define MOEPLAN_SIM_TIME_FORM_H

#include <stdbool.h>

/* Two resources that work beside each other: (a^n + b^n)^(1/n). n = 1: one after the other; the
 * larger n, the nearer to the longer of both, which is what a roofline says. */
double form_beside(double a_s, double b_s, double norm);

/* A message cut into the number of chunks that is best for a pipeline of hops: start + wire +
 * 2 c sqrt(start wire). c = 1 is the minimum over the size m of the chunks of
 * (hops + V/m) (latency + m/w); c = 0 a single message whose start nothing repeats. */
double form_pipelined(double start_s, double wire_s, double chunking);

/* What a rank of one device can do. */
struct form_device {
    double peak;      /* FLOP/s at the precision at hand */
    double bandwidth; /* memory, bytes/s */
    double units;     /* SMs, CUs, cores */
};

/* ---- products ---- */

struct form_product {
    double overhead_s; /* of a call */
    double efficiency; /* of the peak */
    double bandwidth;  /* share of the device's */
    double norm;       /* FLOPs beside bytes */
    double wave;       /* share of the last, partial wave of tiles that is paid whole */
    double half_depth; /* inner size with half the efficiency */
};

/* Share of its efficiency that a product of this depth reaches. Every tile fills a pipeline of
 * operands before its first multiplication and stores its result after the last (the prologue
 * and epilogue of CUTLASS, media/docs/efficient_gemm.md): as long as half_depth more of depth
 * would take. */
double form_depth_share(double depth, double half_depth);

/* `groups` products [rows, depth] x [depth, columns] in tiles of tile_rows x tile_columns, or,
 * tile_rows 0, in those that form_choose_tiles takes; bytes: what they read and write. */
struct form_gemm {
    double groups, rows, columns, depth, bytes, tile_rows, tile_columns;
};

/* Rows that trtllm-gen's kernels multiply of an expert that has so many: in tiles of the power
 * of two above the mean of all experts, 8 to 64 (calculate_tile_tokens_dim of TensorRT-LLM
 * _torch/custom_ops/trtllm_gen_custom_ops.py and of vLLM's and FlashInfer's callers,
 * get_tile_tokens_dim of SGLang layers/quantization/fp8.py), one of them at least, and in the
 * mean half of the last one. `mean`: whole rows of an expert, hit or not. */
double form_generated_rows(double rows, double mean);

/* DeepGEMM's tiles (get_best_configs in deep_gemm/jit_kernels): 64 rows for up to 64 rows, else
 * 128; the columns, of 16 to 128 in steps of 8, that take the fewest waves over `units`, of
 * those that fill the last wave best, of those the widest. Sets tile_rows and tile_columns. */
void form_choose_tiles(struct form_gemm *gemm, double units);

/* FLOPs that the units are busy for. `wave`: share of the last wave that is paid whole. Chosen
 * tiles run in whole waves, and a narrow one is bound by reading its rows: wgmma of 64 x N x 32
 * reads 64 rows and N columns of 32 bytes from shared memory, at 128 bytes a clock, while it
 * multiplies 4096 pairs a clock in 8 bits, so that N columns take the time of 32 + N/2 at
 * least (CUDA programming guide, shared memory; the peak over units and clock). */
double form_gemm_flop(const struct form_gemm *gemm, double wave, double units);

double form_gemm_s(const struct form_product *k, const struct form_gemm *gemm,
                   const struct form_device *device);

/* ---- the experts of a rank ---- */

struct form_experts {
    struct form_product product;
    double few_bandwidth; /* in place of its bandwidth in a call of few tokens; 0: the same */
    double row_passes;    /* over a row's activations, 2 bytes x (2 H + 3 I) */
    double token_passes;  /* over [tokens of the group, H], 2 bytes */
};

struct form_experts_call {
    double tokens;      /* of the whole group */
    double experts;     /* of this rank */
    double rows;        /* of this rank */
    double padded_rows; /* the same, each expert's in whole tiles */
    double hit;         /* experts that have rows: their weights are read */
    double hidden, inter;
    double weight_bytes; /* of one element */
};

/* Whether a call has few tokens: Triton's fused MoE of vLLM and SGLang takes small tiles (16 x
 * 32 x 64 in bf16, in place of 64 x 64 x 32) up to as many tokens as it has experts
 * (get_default_config in their fused_moe). */
bool form_experts_few(const struct form_experts_call *call);

/* An engine's call: permute, gate and up, activation, down, weighted sum. */
double form_experts_s(const struct form_experts *k, const struct form_experts_call *call,
                      const struct form_device *device);

/* Rows of an expert in whole tiles when `mean` fall on it at random: tile x E[ceil(X / tile)],
 * X Poisson; experts without rows take none. */
double form_padded_rows(double mean, double tile);

/* ---- collectives ---- */

struct form_collective {
    double overhead_s, latency_s; /* of a call; of a message */
    double efficiency;            /* of the link */
    double chunking;
};

/* A ring (or a switch, seen from one rank): `messages` one after the other, `bytes` through the
 * rank's link of `link` bytes/s. */
double form_collective_s(const struct form_collective *k, double messages, double bytes,
                         double link);

/* Messages to every peer at once by the quicker of two protocols: that of small messages starts
 * at once and sends flags with the data, at `small` of the link; that of large ones starts
 * `large_s` later (NCCL's LL and Simple for point-to-point operations, which it changes at
 * NCCL_P2P_LL_THRESHOLD, 16 KiB a channel: src/enqueue.cc). small 0: only the second. */
struct form_protocols {
    double small, large_s;
};

/* start_s: of either; message_s: of the bytes to one peer through the whole link; wire_s, and
 * its chunks: of all that a rank sends by the second protocol. */
double form_protocols_s(const struct form_protocols *k, double start_s, double message_s,
                        double wire_s, double chunking);

/* ---- exchange of experts' rows ---- */

struct form_exchange {
    double overhead_s;
    double inside, between; /* shares of the links inside a node and between nodes */
};

/* Bytes of the fullest direction of a rank inside its node, and between nodes. */
struct form_exchange_bytes {
    double inside, between;
    double inside_link, between_link; /* bytes/s */
};

/* Normal kernels: the stages work beside each other, the longer one counts. */
double form_exchange_staged_s(const struct form_exchange *k,
                              const struct form_exchange_bytes *bytes);

/* Low latency: every row is a message of its own, one after the other. */
double form_exchange_direct_s(const struct form_exchange *k,
                              const struct form_exchange_bytes *bytes);

#endif

/* Forms of time: how constants of a profile become the seconds of a kernel or of a collective.
 *
 * Few constants, each with a physical bound: no share of a peak, of a bandwidth or of a link is
 * above one. Whoever fits a profile (calib/calibrate.h) and whoever reads it uses these. Bytes
 * and FLOPs are doubles here: expectations over routing. */
#ifndef MOEPLAN_SIM_TIME_FORM_H
#define MOEPLAN_SIM_TIME_FORM_H

#include <stdbool.h>
#include <stdint.h>

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
};

/* `groups` products [rows, depth] x [depth, columns] in tiles of tile_rows x tile_columns;
 * bytes: what they read and write. */
struct form_gemm {
    double groups, rows, columns, depth, bytes, tile_rows, tile_columns;
};

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

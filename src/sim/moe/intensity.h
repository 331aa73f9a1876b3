/* Arithmetic intensity of the expert products, and the ridge of the machine.
 *
 * AIF: FLOP per byte of weights read (seed 002). Source: seed-systems.md B4. */
#ifndef MOEPLAN_SIM_MOE_INTENSITY_H
#define MOEPLAN_SIM_MOE_INTENSITY_H

#include <stdbool.h>
#include <stdint.h>

#include "plan/plan.h"

/* FLOP per byte of a product [m, k] x [k, n] with operands and result of `bytes` each. */
double intensity_gemm(double m, double k, double n, double bytes);

struct intensity_ask {
    double rows;  /* rows computed on the rank, padding included */
    double loads; /* expert weight loads */
    uint64_t hidden, inter;
    bool glu;
    uint64_t expert_bytes; /* of one expert's weights */
    double row_bytes;      /* of one element of an activation */
    bool fused;            /* gate, up and activation never leave the chip */
};

struct intensity {
    double flop; /* of the expert products */
    double weight_bytes, activation_bytes;
    double aif;           /* flop / weight bytes */
    double flop_per_byte; /* flop / all bytes */
    double ridge;         /* peak / memory bandwidth; 0 when the machine's peak is not known */
    bool compute_bound;   /* flop_per_byte >= ridge */
};

void intensity_of(const struct intensity_ask *ask, double peak_flop_per_s,
                  double memory_bytes_per_s, struct intensity *out);

/* Whether products have 4 bits on both sides, on a device whose cluster file says their peak:
 * engines quantise the rows of nvfp4 weights on the way in (vLLM quantization/modelopt.py and
 * utils/nvfp4_utils.py, SGLang modelopt_quant.py, TensorRT-LLM _torch/modules/linear.py, all
 * input_scale), and so does Megatron's recipe of that name (TransformerEngine
 * NVFP4BlockScaling). Rows beside mxfp4 weights have 8 bits or more (gpt-oss), and multiply at
 * that rate. */
bool intensity_is_four_bit(const struct plan *plan);

/* Peak of the precision the plan computes in; 0 when the cluster does not say. */
double intensity_peak(const struct plan *plan);

/* One line of the block-size guidance. */
struct block_choice {
    uint64_t block, blocks; /* B, provisioned N */
    double aif;         /* B N / E with weight skipping, 2 B / weight element bytes without */
    double padding;     /* expected rows of used blocks / rows */
    bool compute_bound; /* aif >= ridge */
};

enum { BLOCK_CHOICES = 6 };

/* Blocks 64 to 2048. rows: of the rank's experts together; counts spread as `sd` around the
 * mean of each expert (0: even). weight_element_bytes: bytes of a weight. */
void intensity_blocks(uint64_t rows, uint64_t experts, double sd, bool weight_skip,
                      double weight_element_bytes, double ridge,
                      struct block_choice choices[BLOCK_CHOICES]);

/* The smallest of them that is compute-bound, 0 when none is. */
uint64_t intensity_smallest_block(const struct block_choice choices[BLOCK_CHOICES]);

#endif

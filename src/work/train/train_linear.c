/* What a training step keeps of a layer of type linear, and what its kernels hold while they
 * run. Sources: flash-linear-attention ops/gated_delta_rule/chunk.py, ops/kda/chunk.py,
 * ops/simple_gla/chunk.py, modules/conv, modules/fused_norm_gate.py; state-spaces/mamba
 * ops/triton/ssd_combined.py, ops/selective_scan_interface.py; Megatron ssm/mamba_mixer.py
 * (layer-kinds.md 1.2 to 1.6). Statistics of norms, 4 bytes a row, are not counted. */
#include "work/train/train.h"

/* From the projection that makes it, whose result torchtitan's "op" keeps as that of a layer's
 * first product, to the backward of the convolution, of the recurrence, of the output
 * projection. */
#define IN_CONV                                                                                \
    .saved = true, .first = MODULE_UP, .last = BACK_ROPE, .dropped_by = TRAIN_OP_KEPT
#define IN_SCAN .saved = true, .first = MODULE_ROPE, .last = BACK_ATTENTION
#define IN_OUT .saved = true, .first = MODULE_ATTENTION, .last = BACK_PROJECTION
#define KEPT CATEGORY_ATTENTION, IN_ALL, 0, ROW_FULL
#define NORMED CATEGORY_ATTENTION, IN_ALL, FACT_LINEAR_NORMS, ROW_FULL

static const struct train_tensor saved[] = {
    {"linear_in", KEPT, COL_LINEAR_CONV, IN_CONV, .mixers = MIX_DELTA},
    {"linear_in", KEPT, COL_LINEAR_QKV, IN_CONV, .mixers = MIX_LIGHTNING},
    {"linear_in", KEPT, COL_LINEAR_IN, IN_CONV,
     .mixers = MIX_MAMBA2 | MIX_MAMBA1 | MIX_SHORT_CONV},
    {"gated_channels", KEPT, COL_LINEAR_VALUES, .saved = true, .first = MODULE_ROPE,
     .last = BACK_ROPE, .mixers = MIX_SHORT_CONV},
    /* delta rules: q and k normed, for every value head, v, scores within chunks */
    {"normed_q_k", KEPT, COL_LINEAR_QK, IN_SCAN, .mixers = MIX_DELTA},
    {"linear_v", KEPT, COL_LINEAR_VALUES, IN_SCAN, .mixers = MIX_DELTA},
    {"chunk_scores", KEPT, COL_LINEAR_SCORES, IN_SCAN, .mixers = MIX_DELTA},
    {"chunk_key_scores", KEPT, COL_LINEAR_SCORES, IN_SCAN, .mixers = MIX_KIMI_DELTA},
    {"q_norm_statistics", KEPT, COL_LINEAR_HEADS, DTYPE_F32, IN_SCAN, .mixers = MIX_DELTA},
    {"k_norm_statistics", KEPT, COL_LINEAR_HEADS, DTYPE_F32, IN_SCAN, .mixers = MIX_DELTA},
    {"head_decay", KEPT, COL_LINEAR_HEADS, DTYPE_F32, IN_SCAN, .mixers = MIX_DELTA},
    {"head_beta", KEPT, COL_LINEAR_HEADS, DTYPE_F32, IN_SCAN, .mixers = MIX_DELTA},
    {"head_step", KEPT, COL_LINEAR_HEADS, DTYPE_F32, IN_SCAN, .mixers = MIX_GATED_DELTA_NET},
    {"head_step", KEPT, COL_LINEAR_HEADS, IN_SCAN, .mixers = MIX_KIMI_DELTA},
    {"gate_latents", KEPT, COL_LINEAR_RANKS, IN_CONV, .mixers = MIX_KIMI_DELTA},
    {"decay", KEPT, COL_LINEAR_VALUES, IN_SCAN, .mixers = MIX_KIMI_DELTA},
    {"linear_q_k_v", KEPT, COL_LINEAR_QKV, IN_SCAN, .mixers = MIX_LIGHTNING},
    {"linear_normed", KEPT, COL_LINEAR_VALUES, IN_OUT, .mixers = MIX_LIGHTNING},
    {"channels", KEPT, COL_LINEAR_VALUES, IN_SCAN, .mixers = MIX_MAMBA1},
    {"steps", KEPT, COL_LINEAR_VALUES, IN_SCAN, .mixers = MIX_MAMBA1},
    {"step_parts", KEPT, COL_LINEAR_STEP, IN_SCAN, .mixers = MIX_MAMBA1},
    {"normed_step_parts", NORMED, COL_LINEAR_STEP, IN_SCAN, .mixers = MIX_MAMBA1},
    {"scan_checkpoints", KEPT, COL_LINEAR_CHECKPOINTS, DTYPE_F32, IN_SCAN,
     .mixers = MIX_MAMBA1},
    {"group_norm_statistics", NORMED, COL_LINEAR_GROUPS, DTYPE_F32, IN_OUT,
     .mixers = MIX_MAMBA2},
    {"norm_in", NORMED, COL_LINEAR_VALUES, IN_OUT, .mixers = MIX_MAMBA2},
    {"linear_context", KEPT, COL_LINEAR_VALUES, IN_OUT, .mixers = MIX_LINEAR},
    {"linear_gate", KEPT, COL_LINEAR_VALUES, IN_OUT, .mixers = MIX_DELTA | MIX_LIGHTNING},
    {"gated_context", KEPT, COL_LINEAR_VALUES, IN_OUT, .mixers = MIX_LINEAR,
     .product_input = PRODUCT_INPUT},
};

#define HELD(from, to) .first = (from), .last = (to)

/* States of all chunks live while the recurrence runs, forward and backward, where their
 * gradient stands beside them; Mamba-2's are f32. The delta rules' w and u likewise. */
static const struct train_tensor held[] = {
    {"linear_in_out", KEPT, COL_LINEAR_IN, HELD(MODULE_UP, MODULE_ROPE),
     .mixers = MIX_RECURRENT},
    {"chunk_states", KEPT, COL_LINEAR_STATES, HELD(MODULE_ATTENTION, MODULE_ATTENTION),
     .mixers = MIX_DELTA},
    {"chunk_states", KEPT, COL_LINEAR_STATES, DTYPE_F32,
     HELD(MODULE_ATTENTION, MODULE_ATTENTION), .mixers = MIX_MAMBA2},
    {"chunk_states_again", KEPT, COL_LINEAR_STATES, HELD(BACK_ATTENTION, BACK_ATTENTION),
     .mixers = MIX_DELTA},
    {"chunk_states_again", KEPT, COL_LINEAR_STATES, DTYPE_F32,
     HELD(BACK_ATTENTION, BACK_ATTENTION), .mixers = MIX_MAMBA2},
    {"d_chunk_states", KEPT, COL_LINEAR_STATES, HELD(BACK_ATTENTION, BACK_ATTENTION),
     .mixers = MIX_DELTA},
    {"d_chunk_states", KEPT, COL_LINEAR_STATES, DTYPE_F32, HELD(BACK_ATTENTION, BACK_ATTENTION),
     .mixers = MIX_MAMBA2},
    {"chunk_w", KEPT, COL_LINEAR_VALUES, HELD(MODULE_ATTENTION, MODULE_ATTENTION),
     .mixers = MIX_DELTA},
    {"chunk_u", KEPT, COL_LINEAR_VALUES, HELD(MODULE_ATTENTION, MODULE_ATTENTION),
     .mixers = MIX_DELTA},
    {"chunk_w_again", KEPT, COL_LINEAR_VALUES, HELD(BACK_ATTENTION, BACK_ATTENTION),
     .mixers = MIX_DELTA},
    {"chunk_u_again", KEPT, COL_LINEAR_VALUES, HELD(BACK_ATTENTION, BACK_ATTENTION),
     .mixers = MIX_DELTA},
    {"d_linear_context", KEPT, COL_LINEAR_VALUES, HELD(BACK_PROJECTION, BACK_ATTENTION),
     .mixers = MIX_LINEAR},
    {"d_convolved", KEPT, COL_LINEAR_QKV, HELD(BACK_ATTENTION, BACK_ROPE),
     .mixers = MIX_LINEAR},
    {"d_linear_in", KEPT, COL_LINEAR_IN, HELD(BACK_ROPE, BACK_UP), .mixers = MIX_LINEAR},
};

void train_linear(struct train *train)
{
    train_tensors(train, saved, sizeof saved / sizeof *saved);
    train_tensors(train, held, sizeof held / sizeof *held);
}

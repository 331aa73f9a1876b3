/* See matrix.h. */
#include "work/piece/matrix.h"

static const struct layer_matrix matrices[] = {
    {"q_down", IN_BOTH, FACT_Q_LOW_RANK, MODULE_DOWN, ROW_LOCAL, COL_HIDDEN, .out = COL_Q_RANK},
    {"q_up", IN_BOTH, FACT_Q_LOW_RANK, MODULE_UP, ROW_FULL, COL_Q_RANK, .out = COL_Q},
    {"q", IN_BOTH, FACT_Q_FULL_RANK, MODULE_UP, ROW_FULL, COL_HIDDEN, .out = COL_Q},
    {"kv_down", IN_BOTH, FACT_MLA, MODULE_DOWN, ROW_LOCAL, COL_HIDDEN, .out = COL_KV_LATENT},
    {"kv_up", IN_BOTH, FACT_MLA, MODULE_UP, ROW_FULL, COL_KV_RANK, .out = COL_KV_UP},
    {"qkv", IN_BOTH, FACT_GQA, MODULE_UP, ROW_FULL, COL_HIDDEN, .out = COL_QKV},
    {"attention_out", IN_BOTH, 0, MODULE_PROJECTION, ROW_FULL, COL_CONTEXT, .out = COL_HIDDEN},
    {"mlp_gate_up", IN_DENSE, 0, MODULE_GATE_UP, ROW_FULL, COL_HIDDEN, .out = COL_DENSE_IN},
    {"mlp_down", IN_DENSE, 0, MODULE_EXPERT_DOWN, ROW_FULL, COL_DENSE, .out = COL_HIDDEN},
    {"shared_gate_up", IN_MOE, FACT_SHARED, MODULE_SHARED, ROW_FULL, COL_HIDDEN,
     .out = COL_SHARED_IN},
    {"shared_down", IN_MOE, FACT_SHARED, MODULE_SHARED, ROW_FULL, COL_SHARED_INTER,
     .out = COL_HIDDEN},
    {"router", IN_MOE, 0, MODULE_ROUTER, ROW_LOCAL, COL_HIDDEN, .out = COL_EXPERTS},
    {"expert_gate_up", IN_MOE, 0, MODULE_GATE_UP, ROW_COMPUTED, COL_HIDDEN, .out = COL_INTER_IN,
     .expert = true},
    {"expert_down", IN_MOE, 0, MODULE_EXPERT_DOWN, ROW_COMPUTED, COL_INTER, .out = COL_HIDDEN,
     .expert = true},
};

const struct layer_matrix *matrices_of_layer(size_t *n)
{
    *n = sizeof matrices / sizeof *matrices;
    return matrices;
}

bool matrix_exists(const struct layer_matrix *matrix, unsigned facts, unsigned in)
{
    return matrix->segments & in && (matrix->when & facts) == matrix->when;
}

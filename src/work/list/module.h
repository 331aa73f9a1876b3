/* The parts of a layer as frameworks cut it into modules: what recomputation, offloading and
 * the lives of tensors are said in. */
#ifndef MOEPLAN_WORK_LIST_MODULE_H
#define MOEPLAN_WORK_LIST_MODULE_H

/* In forward order: name, text, kind of op. */
#define MODULE_LIST(X)                                                                         \
    X(ATTENTION_NORM, "attention_norm", NORM)                                                  \
    X(DOWN, "attention_down", GEMM)                                                            \
    X(UP, "attention_qkv", GEMM)                                                               \
    X(ROPE, "rope", ATTENTION)                                                                 \
    X(ATTENTION, "attention", ATTENTION)                                                       \
    X(PROJECTION, "attention_out", GEMM)                                                       \
    X(MLP_NORM, "mlp_norm", NORM)                                                              \
    X(SHARED, "shared_experts", GEMM)                                                          \
    X(ROUTER, "router", ROUTER)                                                                \
    X(PERMUTE, "permute", PERMUTE)                                                             \
    X(DISPATCH, "dispatch", EXCHANGE)                                                          \
    X(SORT, "sort", SORT)                                                                      \
    X(GATE_UP, "gate_up", GROUPED_GEMM)                                                        \
    X(ACTIVATE, "activation", ACTIVATION)                                                      \
    X(EXPERT_DOWN, "down", GROUPED_GEMM)                                                       \
    X(UNSORT, "unsort", SORT)                                                                  \
    X(COMBINE, "combine", EXCHANGE)                                                            \
    X(UNPERMUTE, "unpermute", PERMUTE)                                                         \
    X(RESIDUAL, "residual", REDUCE)

enum module {
#define MODULE_ENUM(name, text, kind) MODULE_##name,
    MODULE_LIST(MODULE_ENUM)
#undef MODULE_ENUM
        MODULES
};

#endif

/* Rows that a test adds to the paths (src/plan/paths.h). */
#ifndef MOEPLAN_SUPPORT_MORE_PATHS_ROWS_H
#define MOEPLAN_SUPPORT_MORE_PATHS_ROWS_H

#define MOE_MORE_PATHS(X)                                                                      \
    X(RING_OF_EXPERTS, ring_of_experts, 0, "all tokens gathered, all their rows permuted")

#endif

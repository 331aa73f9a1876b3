/* Fusion: several ops of a list become one. What a stack fuses it says; the list that is priced
 * and the one that is performed are fused alike. */
#ifndef MOEPLAN_WORK_PASS_FUSE_H
#define MOEPLAN_WORK_PASS_FUSE_H

#include "work/list/work.h"

/* Every product of rows of groups whose rows an activation takes becomes one gated_gemm with
 * it. The product's own rows are written where an op behind still reads them, a backward; where
 * none does, nothing touches their buffer any more. Before lives are made. */
void fuse_activations(struct work *work);

#endif

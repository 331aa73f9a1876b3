/* Between the files of stack megatron. */
#ifndef MOEPLAN_WORK_STACK_MEGATRON_H
#define MOEPLAN_WORK_STACK_MEGATRON_H

#include "work/train/train.h"

/* Inputs of CUDA graphs and of chunks without layers. */
void megatron_extras(struct train *train);

/* Dispatcher flex by HybridEP, and its two persistent buffers. */
bool megatron_hybrid_ep(const struct train *train);
void megatron_hybrid_buffers(struct train *train);

/* The pages that a saved tensor of experts' rows is packed into, of layers of all kinds. */
void megatron_stash(struct train *train, const char *name, enum dtype dtype, struct size width);

#endif

/* Parameters and FLOPs of one layer's mixer; formulas of layer-kinds.md section 1. */
#ifndef MOEPLAN_PLAN_MIXER_H
#define MOEPLAN_PLAN_MIXER_H

#include "plan/params.h"

/* Parameters of a mixer with what belongs to it: projections, norms and biases inside, the taps
 * of a convolution among the matrices, an indexer. Sets *overflow. */
struct params_part mixer_parameters(const struct model *model, enum mixer mixer,
                                    bool *overflow);

/* Tokens for which each entry stands that layers of a mixer meet; 0: they meet none. Those that
 * make entries make them of so many times as many tokens: windows of csa overlap, but where an
 * indexer's keys are made of entries. 0: they make none. */
uint64_t mixer_ratio(const struct model *model, enum mixer mixer);
uint64_t mixer_overlap(const struct model *model, enum mixer mixer);

/* Columns of what an entry, or a key of it, of so many is made of: kv and its gate of each
 * window that it is of; kv alone where it is of one token. */
uint64_t mixer_entry_parts(const struct model *model, enum mixer mixer, uint64_t size,
                           bool *overflow);

/* Of its matrices: those that tensor parallelism leaves whole: MLA's down projections, the
 * indexer, the low ranks of KDA's gates; where one head is key and value, that head and what
 * compresses it (vLLM models/deepseek_v4/attention.py: disable_tp); of a choice of blocks its
 * one key (models/minimax_m3/nvidia/model.py: index_q goes over tp as k does, index_k is on
 * every rank). */
uint64_t mixer_whole(const struct model *model, enum mixer mixer, bool *overflow);

/* FLOP per token, forward, of what no matrix of the model multiplies: attention's two products,
 * the indexer's scores, a recurrence. */
uint64_t mixer_flop(const struct model *model, enum mixer mixer, uint64_t sequence_length,
                    bool *overflow);

/* The same of what gradients pass: no indexer's scores. */
uint64_t mixer_back_flop(const struct model *model, enum mixer mixer, uint64_t sequence_length,
                         bool *overflow);

/* Of a mixer's matrices those of its indexer; 0 without one. */
uint64_t mixer_indexer_matrices(const struct model *model, enum mixer mixer, bool *overflow);

/* Widths of a layer of type linear, in elements per token: keys (and queries) K, values W, what
 * the input projection writes, what the convolution sees, Mamba-1's step with B and C. */
struct linear_width {
    uint64_t keys, values, in, conv, step;
};
struct linear_width linear_widths(const struct model *model, bool *overflow);

#endif

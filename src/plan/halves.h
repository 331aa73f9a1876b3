/* Steps of an engine that run as two halves, exchanges of one beside what the other computes:
 * SGLang's two-batch overlap (--enable-two-batch-overlap) and vLLM's dual-batch overlap
 * (--enable-dbo); moe.overlap here.
 *
 * SGLang at 0099dee6: batch_overlap/two_batch_overlap.py (compute_split_seq_index,
 * _is_two_chunk_split_enabled, TboDPAttentionPreparer); layers before the first one with
 * experts run whole (models/deepseek_v2.py, normal_end_layer). vLLM: v1/worker/ubatch_utils.py
 * (check_ubatch_thresholds, maybe_create_ubatch_slices), v1/worker/dp_utils.py; all layers run
 * in halves, logits are those of both (v1/worker/gpu_ubatch_wrapper.py). */
#ifndef MOEPLAN_PLAN_HALVES_H
#define MOEPLAN_PLAN_HALVES_H

#include "plan/plan.h"

/* Whether an engine is asked for them, whatever it makes of that. */
bool plan_asks_halves(const struct plan *plan);

/* Whether the plan's steps may be halves: all but their numbers. moe.path is resolved. */
bool plan_may_halve(const struct plan *plan);

/* Whether the step is: at and above the engine's thresholds, with a token in either half. */
bool plan_is_halved(const struct plan *plan);

/* Whether layers that have experts, or none, run in halves there. */
bool plan_halves_layer(const struct plan *plan, bool experts);

/* The step of one half, 0 or 1, by itself. Of prompts that cannot be shared out whole it has
 * half of each: what these meet of one another is not in its numbers. */
void plan_half(const struct plan *plan, unsigned half, struct plan *out);

/* Whether SGLang runs parts of a decode step beside its own low-latency exchanges
 * (--enable-single-batch-overlap; batch_overlap/single_batch_overlap.py; models/deepseek_v2.py,
 * forward_deepep); moe.overlap_single here. moe.path is resolved. */
bool plan_overlaps_single(const struct plan *plan);

/* SMs that its exchanges keep from products by DeepGEMM: SGLang's of prompts
 * (batch_overlap/operations_strategy.py, deep_gemm_num_sms), vLLM's with DeepEP's normal
 * kernels (v1/worker/ubatch_utils.py, create_sm_control_context; low latency keeps none:
 * distributed/device_communicators/all2all.py, max_sms_used). */
uint64_t plan_half_sms(const struct plan *plan);

#endif

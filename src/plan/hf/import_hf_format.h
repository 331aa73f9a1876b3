/* Which matrices of a published checkpoint are in which format: quantization_config of a
 * config.json, or what hf_quant_config.json says. */
#ifndef MOEPLAN_PLAN_HF_IMPORT_HF_FORMAT_H
#define MOEPLAN_PLAN_HF_IMPORT_HF_FORMAT_H

#include "base/text.h"
#include "plan/plan.h"
#include "plan/source.h"

/* Sets checkpoint (of the routed experts, or of dense networks where there are none), plain and
 * plain_format of a model whose layers are known. `how`: the mapping that names formats, lists
 * and groups, NULL: there is none. Where `notes` is given, a line for what of it a plan cannot
 * say: parts left in 16 bits in some of their layers, experts among them, formats beyond two,
 * patterns that are not understood. */
void import_hf_format(const struct node *how, struct model *model, struct text *notes);

/* The same of `expert_dtype` (DeepSeek-V4), `routed_experts_quant_method` or `store_dtype` of a
 * quantization_config (Ling-3.0, MiMo-V2.6), or NULL: experts in fp4 beside what the rest is
 * in.
 */
void import_hf_experts(const struct node *experts, struct model *model);

#endif

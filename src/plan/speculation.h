/* Speculative decoding: a draft proposes tokens, the model verifies all of them in one step.
 *
 * Of k proposed tokens each is accepted with chance a while those before it were; with the
 * model's own token a step yields (1 - a^(k + 1)) / (1 - a) tokens of a sequence in the mean
 * (Leviathan, Kalman, Matias 2023, eq. 1). The draft is the model's own prediction module or a
 * dense model beside it, of which the plan holds the sizes: whatever a draft is called, what it
 * holds and takes follows from eight numbers, so a plan needs no second model. */
#ifndef MOEPLAN_PLAN_SPECULATION_H
#define MOEPLAN_PLAN_SPECULATION_H

#include <stdbool.h>

#include "plan/plan.h"

/* An engine's plan that proposes tokens. */
bool plan_speculates(const struct plan *plan);

/* The tokens it proposes for a sequence and step; 0: none. */
uint64_t plan_drafted(const struct plan *plan);

/* And whose draft runs: a module, or a model of known sizes. */
bool plan_runs_draft(const struct plan *plan);

/* By holding a model beside its own, or layers that are none of its step's (a block's); by its
 * own module. */
bool plan_holds_draft(const struct plan *plan);
bool plan_drafts_blocks(const struct plan *plan);
bool plan_drafts_itself(const struct plan *plan);

/* The model's prediction modules that the plan's software holds, of a run with them: of classes
 * that have the first alone one, whatever the checkpoint has. In vLLM 0.11, 0.19 and 0.33 the
 * others hold all of them, whatever drafts (models/deepseek_mtp.py, glm4_moe_mtp.py,
 * step3p5_mtp.py: num_mtp_layers; mimo_v2_mtp.py, longcat_flash_mtp.py: the first; none:
 * longcat_flash_ngram.py, hf_to_vllm_mapper). */
uint64_t plan_modules(const struct plan *plan);

/* Tokens of a sequence that a step yields, in the mean; all that the step has where nothing is
 * proposed. */
double plan_accepted(const struct plan *plan);

/* One pass of the draft over so many tokens of each sequence, as a plan of its own: the module
 * as a model of one layer between the shared embedding and head (its projection of [2 H, H] is
 * not in it), a block's layers so, or the draft model, in its own formats on the same tp ranks.
 */
void plan_draft(const struct plan *plan, uint64_t tokens, struct plan *draft);

/* The sizes of a draft, of a model: false where it is not dense with grouped queries and layers
 * of one kind. */
bool drafter_of(const struct model *model, struct drafter *out);

#endif

/* HuggingFace's config.json as a model. */
#ifndef MOEPLAN_PLAN_HF_IMPORT_HF_H
#define MOEPLAN_PLAN_HF_IMPORT_HF_H

#include <stdbool.h>

#include "base/err.h"
#include "base/text.h"
#include "plan/plan.h"
#include "plan/source.h"

/* Whether a mapping is such a configuration rather than a model of ours: it says "model_type"
 * or "architectures", or holds a "text_config" that does. */
bool import_hf_is_config(const struct node *config);

/* Reads every field of the model; the language model of a multimodal configuration. Rules
 * between fields are not checked here. *model is untouched on failure.
 * STATUS_INPUT with the place: unknown architecture (the hint lists the known ones), hybrid
 * attention, a missing key, a value of the wrong type. */
enum status import_hf_model(const struct node *config, struct model *model, struct err *err);

/* What an architecture or model_type has that keeps import_hf_model from it; NULL: nothing is
 * known of it. */
const char *import_refused(const char *architecture);

/* Appends a line for every field of a configuration that changes memory and that the model made
 * of it does not have: "'vision_config' (line 30): the vision encoder is not counted". */
void import_hf_notes(const struct node *config, const struct model *model, struct text *out);

/* Appends the architectures that are known, "deepseek_v2, deepseek_v3, ...", without those of
 * the text in another ("glm4v_moe_text"). */
void import_hf_known(struct text *out);

#endif

/* hf_quant_config.json beside a config.json: ModelOpt writes what a checkpoint is quantised to
 * there, and often leaves config.json silent. */
#ifndef MOEPLAN_PLAN_HF_IMPORT_HF_QUANT_H
#define MOEPLAN_PLAN_HF_IMPORT_HF_QUANT_H

#include "base/err.h"
#include "base/text.h"
#include "plan/plan.h"
#include "plan/source.h"

/* Sets model->checkpoint by the file that stands beside the configuration's, if there is one
 * and the configuration itself says nothing. Appends a line for what of it is not taken up, as
 * import_hf_notes does. STATUS_INPUT where the file cannot be read. */
enum status import_hf_quant(const struct node *config, struct arena *arena, struct model *model,
                            struct text *notes, struct err *err);

#endif

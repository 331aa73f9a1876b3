/* Primus's experiments: primus.c those of Megatron-LM, primus_other.c those of others. */
#ifndef MOEPLAN_PLAN_FRAMEWORK_PRIMUS_H
#define MOEPLAN_PLAN_FRAMEWORK_PRIMUS_H

#include "plan/job/reader.h"

/* Where an experiment's settings stand, for frameworks' `sections`. */
#define PRIMUS_SECTIONS                                                                        \
    "modules.pre_trainer.overrides. modules.sft_trainer.overrides. "                           \
    "modules.post_trainer.overrides."

/* The model that a file of Primus's describes, by its name; NULL: none that is known. */
const char *primus_model_of_file(struct job *job, const char *file);

/* Is it an experiment of one of these? */
bool primus_of_torchtitan(const struct node *root);
bool primus_of_maxtext(const struct node *root);
bool primus_of_bridge(const struct node *root);

/* The model and the defaults of an experiment's own files, for the framework that runs it; of
 * other jobs nothing. */
enum status primus_lend(struct job *job);

#endif

/* What the files of axolotl's reader share: its table and defaults, and its adapters. */
#ifndef MOEPLAN_PLAN_TRAINER_AXOLOTL_H
#define MOEPLAN_PLAN_TRAINER_AXOLOTL_H

#include "plan/trainer/trainer.h"

/* A word of a setting, "" where it is not given: keys without a value are common here. */
enum status axolotl_word(struct job *job, const char *flag, const char **word);

/* Adapters in the trainer's words; and behind the trainer the base beside them, where it waits,
 * and what the adapters keep. */
enum status axolotl_tell_adapter(struct job *job);
enum status axolotl_set_adapters(struct job *job);

#endif

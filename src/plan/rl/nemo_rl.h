/* Between the files of NeMo-RL's reader. */
#ifndef MOEPLAN_PLAN_RL_NEMO_RL_H
#define MOEPLAN_PLAN_RL_NEMO_RL_H

#include "plan/job/reader.h"

/* Names of the parts of a configuration that say what is trained how. */
#define NEMO_DTENSOR "policy.dtensor_cfg"
#define NEMO_MEGATRON "policy.megatron_cfg"
#define NEMO_GENERATION "policy.generation"

/* nemo_rl_table.c */
extern const struct job_flag nemo_rl_flags[];
extern const size_t nemo_rl_n_flags;

/* The files that a configuration inherits from, each below what names it, and the values of
 * NeMo-RL's own where they are not beside it. nemo_rl_files.c */
enum status nemo_rl_add_files(struct job *job);

/* Does any setting begin with this ("dpo.")? */
bool nemo_rl_says(const struct job *job, const char *head);

#endif

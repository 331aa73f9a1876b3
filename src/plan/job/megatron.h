/* Between the files of Megatron's reader. */
#ifndef MOEPLAN_PLAN_JOB_MEGATRON_H
#define MOEPLAN_PLAN_JOB_MEGATRON_H

#include "plan/job/reader.h"

/* model.dense_layers and moe_every of "[0]*1+[1]*26". */
enum status megatron_set_pattern(struct job *job, const char *text, uint64_t layers);

/* parallel.stages and vpp of "Et*13|t*14L". */
enum status megatron_set_layout(struct job *job, const char *text, uint64_t pp);

/* precision and optimizer: megatron_formats.c */
enum status megatron_set_formats(struct job *job);

#endif

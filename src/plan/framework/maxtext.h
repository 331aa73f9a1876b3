/* MaxText's table; for plan/framework/maxtext.c. */
#ifndef MOEPLAN_PLAN_FRAMEWORK_MAXTEXT_H
#define MOEPLAN_PLAN_FRAMEWORK_MAXTEXT_H

#include "plan/job/reader.h"

/* Its trainer for instructions: MaxText's model, loss and optimizer, stepped by Tunix. */
#define MAXTEXT_TUNIX "maxtext.trainers.post_train.sft.train_sft"

extern const struct job_flag maxtext_flags[];
extern const size_t maxtext_n_flags;

/* The cluster and the job's size, as compile_topology or xpk's own options say them. */
enum status maxtext_set_topology(struct job *job);
/* The model: a named one, or one of the base_ keys' own sizes. */
enum status maxtext_set_model(struct job *job);
/* The save list of a rematerialisation policy; *words NULL: none of them. */
enum status maxtext_set_remat(struct job *job);
/* moe.path and what follows from it, of a job with ep shards of experts. */
enum status maxtext_set_experts(struct job *job, uint64_t ep);
enum status maxtext_write(struct job_writer *writer);
void maxtext_write_flag(struct job_writer *writer, const char *name, const char *value);

#endif

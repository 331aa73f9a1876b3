/* Between the files of ms-swift's readers: its trainer (swift sft, pt, rlhf) and Megatron-SWIFT
 * (megatron sft, pt, rlhf). */
#ifndef MOEPLAN_PLAN_TRAINER_SWIFT_H
#define MOEPLAN_PLAN_TRAINER_SWIFT_H

#include "plan/framework/frozen_names.h"

extern const struct job_flag swift_flags[], swift_megatron_flags[];
extern const size_t swift_n_flags, swift_megatron_n_flags;

/* ---- what both commands do alike: swift_share.c ---- */

/* A way of learning from preferences or rewards (--rlhf_type). */
struct swift_rlhf {
    const char *name;
    bool pairs;          /* both answers stand in one batch */
    bool reference;      /* a frozen copy beside it, unless adapters are trained */
    bool generates;      /* answers of its own, by an engine or by itself */
    bool scores;         /* a score in place of logits */
    const char *missing; /* what it holds besides, or has not, and is not modelled */
};

/* frozen.* by names and by a ratio: swift_frozen.c. */
enum status swift_set_frozen(struct job *job, bool megatron);

/* STATUS_INPUT for jobs of Ray's workers, in groups that have settings of their own. */
enum status swift_refuse_ray(struct job *job);

/* The command's, or NULL: it learns from texts. */
enum status swift_read_rlhf(struct job *job, const struct swift_rlhf **rlhf);

/* Whether adapters are trained, of which other kinds than LoRA warn; `unless`: the word that
 * holds where no flag gives it. */
enum status swift_read_tuner(struct job *job, const char *unless, bool *adapters);

/* model.labels by task_type, or of rewards; Megatron's warn. */
enum status swift_set_task(struct job *job, const struct swift_rlhf *rlhf, bool megatron);

/* "all-linear" among others is all of a layer; behind it target_modules is names, or that word
 * alone. */
void swift_tell_targets(struct job *job);

/* lora.format by lora_dtype, which is read without adapters too; `unless`: where it says none,
 * NULL: the plan's own. */
enum status swift_set_adapter_format(struct job *job, bool adapters, const char *unless);

/* workload.sequence_length: prompt and answer, or a pack; the model's longest unless given. */
enum status swift_set_length(struct job *job, const struct swift_rlhf *rlhf);

/* workload.encoder.train of a vision model's parts that are frozen. */
enum status swift_set_encoder(struct job *job);

/* The batch of pairs, and models and an engine beside the one that is trained, behind the
 * layout; `vllm`: an engine generates unless told otherwise. */
enum status swift_set_beside(struct job *job, const struct swift_rlhf *rlhf, bool vllm);

#endif

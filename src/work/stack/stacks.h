/* What the files of stacks have for the rows of the table (table.c), each its own part. */
#ifndef MOEPLAN_WORK_STACK_STACKS_H
#define MOEPLAN_WORK_STACK_STACKS_H

#include "work/stack/stack.h"

/* What runs again, by stack; one without habits of its own: as stack generic keeps tensors. */
void stack_generic_again(const struct plan *plan, struct again *again);
/* STATUS_INPUT when recompute.save names what no op of the list makes. */
enum status stack_check_saved_ops(const struct plan *plan, struct err *err);
void stack_maxtext_again(const struct plan *plan, struct again *again);
void stack_host_realise(const struct plan *plan, struct work *work);
void stack_maxtext_realise(const struct plan *plan, struct work *work);
void stack_megatron_again(const struct plan *plan, struct again *again);
void stack_torchtitan_again(const struct plan *plan, struct again *again);
void stack_huggingface_again(const struct plan *plan, struct again *again);
/* The paths of stacks that do not run all; in their files. */
extern const struct stack_path stack_maxtext_paths[];
extern const struct stack_path stack_megatron_paths[];
extern const struct stack_path stack_torchtitan_paths[];
extern const struct stack_path stack_fsdp_paths[];
extern const struct stack_path stack_deepspeed_paths[];
extern const struct stack_path stack_nxd_paths[];
extern const struct stack_path stack_vllm_paths[];
extern const struct stack_path stack_sglang_paths[];
extern const struct stack_path stack_trtllm_paths[];

/* Builders. */
enum status stack_maxtext_build(const struct plan *plan, struct work *work, struct err *err);
enum status stack_primus_build(const struct plan *plan, struct work *work, struct err *err);
enum status stack_torchtitan_build(const struct plan *plan, struct work *work, struct err *err);
enum status stack_megatron_build(const struct plan *plan, struct work *work, struct err *err);
enum status stack_fsdp_build(const struct plan *plan, struct work *work, struct err *err);
enum status stack_deepspeed_build(const struct plan *plan, struct work *work, struct err *err);
enum status stack_nxd_build(const struct plan *plan, struct work *work, struct err *err);
enum status stack_vllm_build(const struct plan *plan, struct work *work, struct err *err);
enum status stack_sglang_build(const struct plan *plan, struct work *work, struct err *err);
enum status stack_trtllm_build(const struct plan *plan, struct work *work, struct err *err);
enum status stack_host_build(const struct plan *plan, struct work *work, struct err *err);
enum status stack_generic_build(const struct plan *plan, struct work *work, struct err *err);

/* What is held through a step, by stack; one without habits of its own: as stack generic. */
void stack_generic_state(const struct plan *plan, struct work *work);
void stack_maxtext_state(const struct plan *plan, struct work *work);
void stack_nxd_state(const struct plan *plan, struct work *work);

/* What computes the experts, of engines that choose: stack_experts. */
enum expert_backend stack_vllm_experts(const struct plan *plan, const char **why);
enum expert_backend stack_sglang_experts(const struct plan *plan, const char **why);
enum expert_backend stack_trtllm_experts(const struct plan *plan, const char **why);

#endif

/* Parts of the table of vLLM launches (vllm.c). */
#ifndef MOEPLAN_PLAN_SERVING_VLLM_H
#define MOEPLAN_PLAN_SERVING_VLLM_H

#include "plan/job/reader.h"

extern const struct job_flag vllm_flags[];
extern const size_t vllm_n_flags;

/* States of recurrent layers: into the draft, and as flags. */
enum status vllm_set_states(struct job *job);
void vllm_write_states(struct job_writer *writer);

/* A second cache in host memory: into the draft once the layout is, and as a flag. */
enum status vllm_set_tables(struct job *job);
void vllm_write_tables(struct job_writer *writer);
enum status vllm_set_host_cache(struct job *job);
void vllm_write_host_cache(struct job_writer *writer);

#define VLLM_DRAFT_TOKENS "speculative-config.num_speculative_tokens"
#define VLLM_DRAFT_METHOD "speculative-config.method"

/* Tokens of a draft: those of the flag, else as many as the model has prediction modules; of
 * drafts of another kind vLLM refuses to have none (config/speculative.py, n_predict). And the
 * draft of so many (0: there is none), into the draft of a plan and as flags. */
enum status vllm_draft_tokens(struct job *job, uint64_t *tokens);
enum status vllm_set_draft(struct job *job, uint64_t tokens);
void vllm_write_draft(struct job_writer *writer);

/* Chunks of experts and of the dispatch on a path, by the environment. */
enum status vllm_set_chunks(struct job *job, const char *path);

/* The release that runs: as asked for, by the image, or that of the stack's file, whose memory
 * a plan without one has. */
struct engine_release;
enum status vllm_release(struct job *job, const struct engine_release **release);

/* precision.weights and plain of weights that are quantised as they are loaded; *done: they
 * were. And a warning of a step in parts that is not modelled: vllm_quantized.c */
enum status vllm_set_quantized(struct job *job, bool *done);
enum status vllm_check_parts(struct job *job);

/* precision.window_cache by --kv-cache-dtype-skip-layers, and back. */
enum status vllm_set_skipped(struct job *job);
void vllm_write_skipped(struct job_writer *writer);

/* The stack with the release that the plan will have, whose caches are counted: that of the
 * stack's file unless one is asked for. */
struct plan;
enum status vllm_set_stack(struct job *job, struct plan *plan);

/* stack.version of the image that the launch runs in, where its tag says one. */
void vllm_set_release(struct job *job);

/* stack.experts by --moe-backend. */
enum status vllm_set_experts(struct job *job);
void vllm_write_experts(struct job_writer *writer);

#endif

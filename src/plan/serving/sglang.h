/* Parts of the table of SGLang launches (sglang.c). */
#ifndef MOEPLAN_PLAN_SERVING_SGLANG_H
#define MOEPLAN_PLAN_SERVING_SGLANG_H

#include "plan/job/reader.h"

extern const struct job_flag sglang_flags[];
extern const size_t sglang_n_flags;

/* A second cache in host memory. */
enum status sglang_set_host_cache(struct job *job);
void sglang_write_host_cache(struct job_writer *writer);

/* stack.graphs, graph_batch, prompt_graphs and prompt_graph_tokens. */
enum status sglang_set_graphs(struct job *job);
void sglang_write_graphs(struct job_writer *writer);

/* stack.experts by --moe-runner-backend and the switches before it. */
enum status sglang_set_experts(struct job *job);
void sglang_write_experts(struct job_writer *writer);

/* memory.offload_group and memory.host_experts: experts in host memory. */
enum status sglang_set_away(struct job *job);
void sglang_write_away(struct job_writer *writer);

/* States of recurrent layers, what window layers keep, and symmetric memory. */
enum status sglang_set_states(struct job *job);
void sglang_write_states(struct job_writer *writer);

/* The format of sparse attention's cache, where the launch does not say. */
enum status sglang_set_sparse_cache(struct job *job);

#endif

/* Parts of the table of SGLang launches (sglang.c). */
#ifndef MOEPLAN_PLAN_SERVING_SGLANG_H
#define MOEPLAN_PLAN_SERVING_SGLANG_H

#include "plan/job/reader.h"

extern const struct job_flag sglang_flags[];
extern const size_t sglang_n_flags;

/* A second cache in host memory. */
enum status sglang_set_host_cache(struct job *job);
void sglang_write_host_cache(struct job_writer *writer);

/* parallel.attention_cp of a replica of so many ranks, and what follows of the model for dense
 * networks and experts. */
struct sglang_prompts {
    uint64_t ranks;   /* that share a prompt out; 1: none do */
    bool dense_whole; /* on every rank */
    bool spreads;     /* by DeepEP, whatever the launch says */
};
enum status sglang_set_prompts(struct job *job, uint64_t replica,
                               struct sglang_prompts *prompts);
void sglang_write_prompts(struct job_writer *writer);

/* stack.graphs, graph_batch, prompt_graphs and prompt_graph_tokens. */
enum status sglang_set_graphs(struct job *job);
void sglang_write_graphs(struct job_writer *writer);

/* stack.experts by --moe-runner-backend and the switches before it. */
enum status sglang_set_experts(struct job *job);
void sglang_write_experts(struct job_writer *writer);

/* moe.shared and parallel.dense_apart by Kimi-K3's own flags. */
enum status sglang_set_kimi(struct job *job, uint64_t attention_ranks, bool replicas,
                            bool exchanges);

/* memory.offload_group and memory.host_experts: experts in host memory. */
enum status sglang_set_away(struct job *job);
void sglang_write_away(struct job_writer *writer);

/* States of recurrent layers, what window layers keep, and symmetric memory. */
enum status sglang_set_states(struct job *job);
void sglang_write_states(struct job_writer *writer);

/* What proposes tokens. */
enum status sglang_set_draft(struct job *job);
void sglang_write_draft(struct job_writer *writer);

/* Whether images are taken. */
enum status sglang_set_encoder(struct job *job);
void sglang_write_encoder(struct job_writer *writer);

/* The format of sparse attention's cache, where the launch does not say. */
enum status sglang_set_sparse_cache(struct job *job);

#endif

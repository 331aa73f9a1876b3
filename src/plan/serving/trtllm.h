/* Parts of the table of TensorRT-LLM launches (trtllm.c). */
#ifndef MOEPLAN_PLAN_SERVING_TRTLLM_H
#define MOEPLAN_PLAN_SERVING_TRTLLM_H

#include "plan/job/reader.h"

extern const struct job_flag trtllm_flags[];
extern const size_t trtllm_n_flags;

/* What a server has of requests, and what caches are sent from; graphs of steps with prompts; a
 * second cache in host memory. After the layout and the batch. */
enum status trtllm_set_parts(struct job *job);
void trtllm_write_parts(struct job_writer *writer);

/* The cache of adapters (trtllm_adapters.c). After the model. */
enum status trtllm_set_adapters(struct job *job);
void trtllm_write_adapters(struct job_writer *writer);

#endif

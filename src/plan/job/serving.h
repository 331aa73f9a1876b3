/* What the readers of vLLM, SGLang and TensorRT-LLM share. */
#ifndef MOEPLAN_PLAN_JOB_SERVING_H
#define MOEPLAN_PLAN_JOB_SERVING_H

#include "plan/job/reader.h"

/* The model of --model, --model-path or the first word, as ours or as a folder with its
 * config.json; the format of its checkpoint goes to precision.weights. */
enum status serving_set_model(struct job *job, const char *flag);

/* precision.* from the flags quantization, dtype and kv-cache-dtype, which both have. */
enum status serving_set_formats(struct job *job);

/* Memory of the device in GiB; 0: not known yet. */
enum status serving_device(struct job *job, double *gib, bool *a100);

/* Warns where the job leaves open how many sequences of which length there are: a plan takes
 * all of them at their longest. */
void serving_warn_of_cache(struct job *job, const char *sequences, const char *length);

/* The whole launch is written by these. */
enum status serving_write_refuse(struct job_writer *writer);
void serving_write_formats(struct job_writer *writer);

#endif

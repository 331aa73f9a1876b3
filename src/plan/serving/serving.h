/* What the readers of vLLM, SGLang and TensorRT-LLM share. */
#ifndef MOEPLAN_PLAN_SERVING_SERVING_H
#define MOEPLAN_PLAN_SERVING_SERVING_H

#include "plan/job/reader.h"

/* The model of --model, --model-path or the first word, as ours or as a folder with its
 * config.json; the format of its checkpoint goes to precision.weights. */
enum status serving_set_model(struct job *job, const char *flag);

/* precision.* from the flags quantization, dtype and kv-cache-dtype, which both have. */
enum status serving_set_formats(struct job *job, bool quantized); /* weights are set already */
/* precision.plain: all parts but routed experts. */
void serving_name_parts(struct job *job, const char *flags);

/* Warns of variables in front of the launch that change memory or time and are not read. */
void serving_warn_environment(struct job *job);

/* parallel.stages by a variable in front of vLLM's or SGLang's launch. */
void serving_set_stages(struct job *job);

/* STATUS_INPUT for a server of an encoder alone, by its switch: a plan is of a language model.
 */
enum status serving_refuse_encoder(struct job *job, const char *flag);

/* A cache's format, and that of weights, by engines' words; NULL: none that is known. */
const char *serving_cache_format(const struct job *job, const char *word);
const char *serving_quantized(const struct job *job, const char *word);

/* Degrees of parallelism, and other numbers from 1 on: flags up to NULL. */
enum status serving_degree(struct job *job, const char *flag, uint64_t *degree);
enum status serving_positive(struct job *job, const char *const *flags);

/* The least and the largest number of a list, or the largest; unchanged without the flag. */
enum status serving_range(struct job *job, const char *flag, uint64_t *least, uint64_t *most);
enum status serving_largest(struct job *job, const char *flag, uint64_t *most);

/* Tokens that a draft proposes, and by which flags. */
struct serving_draft {
    uint64_t tokens;
    enum draft_method method;
    const char *tokens_flag, *model_flag;
    const char *weights_flag, *cache_flag; /* of its formats; or NULL */
};

/* Room for adapters: the engine's defaults, and what the flags of its slots, enable-lora and
 * max-lora-rank say. */
struct serving_adapters {
    const char *slots_flag, *origin; /* origin: the flags that enable them */
    bool enabled;
    uint64_t slots, rank; /* rank 0: not known */
};

/* lora.slots and lora.rank, of enabled adapters whose rank is known; and as flags. Whether
 * there are any: of what is written. */
enum status serving_set_adapters(struct job *job, struct serving_adapters *adapters);
bool serving_write_adapters(struct job_writer *writer, const char *slots_flag);

/* workload.speculation; a warning about a draft whose sizes nobody here knows. */
enum status serving_set_draft(struct job *job, const struct serving_draft *draft);

/* The draft's repository, or its name as the plan has it; "" where it has none. */
const char *serving_draft_path(const struct plan *plan);

/* A decode step of at most so many sequences over all pipeline stages; what the cache does not
 * hold of them waits. */
enum status serving_set_batch(struct job *job, uint64_t sequences, const char *flag);

/* The model's own longest sequence, where the job does not say; the engine then starts with as
 * long ones as its cache holds. */
enum status serving_set_context(struct job *job, const char *flag);
enum status serving_fit_context(struct job *job, const char *flag);
enum status serving_own_context(struct job *job, const char *flag); /* whatever it says */

/* A context beyond the model's own: STATUS_INPUT unless a scaled rope under `prefix` or a
 * variable in front of the launch allows it (vLLM config/model.py, _get_and_verify_max_len;
 * SGLang configs/model_config.py, _derive_context_length), or a warning and the model's own
 * (TensorRT-LLM _torch/pyexecutor/ model_engine.py, _init_max_seq_len). What the user says of
 * the plan is taken. */
enum status serving_limit_context(struct job *job, const char *flag, const char *prefix,
                                  const char *variable);
enum status serving_cut_context(struct job *job, const char *flag, const char *variable);

/* memory.weight_offload of a flag in GiB; what entries of the model's configuration under
 * `prefix` change: its layers, and positions, also by rope scaling. */
enum status serving_set_offload(struct job *job, const char *flag);
enum status serving_set_overrides(struct job *job, const char *prefix);
void serving_write_offload(struct job_writer *writer);

/* The most sequences of all batches in flight, as the plan's launch says them; 0: the engine's
 * own, of a served plan that does not. */
uint64_t serving_sequences(const struct plan *plan);

/* The whole launch is written by these. */
enum status serving_write_begin(struct job_writer *writer);
void serving_write_formats(struct job_writer *writer);

#endif

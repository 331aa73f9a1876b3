/* Training scripts in Python: calls of transformers, TRL, PEFT and Unsloth, whose arguments are
 * settings of the trainer. Read as text, never run. */
#ifndef MOEPLAN_PLAN_TRAINER_SCRIPT_H
#define MOEPLAN_PLAN_TRAINER_SCRIPT_H

#include "plan/trainer/trainer.h"

/* Settings that say what a script calls rather than one of its arguments. */
#define SCRIPT_CONFIG "arguments_class" /* "SFTConfig", "TrainingArguments" */
#define SCRIPT_TRAINER "trainer_class"  /* "SFTTrainer" */
#define SCRIPT_SCORES "scoring_class"   /* "AutoModelForSequenceClassification" */
#define SCRIPT_PREPARED "prepare_model_for_kbit_training"
#define SCRIPT_MXFP4 "Mxfp4Config"
#define SCRIPT_WIDENED "Mxfp4Config.dequantize" /* to 16 bits, as the checkpoint is read */
#define SCRIPT_METHOD "quantization_class"      /* "GPTQConfig" */
#define SCRIPT_METHOD_BITS "quantization_bits"  /* its bits, or the format of its weights */
#define SCRIPT_STANDBY "UNSLOTH_VLLM_STANDBY"   /* of the environment, which a script may set */

/* Rows of both tables. */
#define SCRIPT_ROWS                                                                            \
    RULE(SCRIPT_CONFIG, JOB_VALUE, "workload.micro_batch", "whose defaults hold", TRAINER),    \
        RULE(SCRIPT_TRAINER, JOB_VALUE, "workload.micro_batch",                                \
             "DPO, ORPO, CPO, Reward: both answers; DPO: a reference; others than SFT, GRPO, " \
             "RLOO warn",                                                                      \
             SFT),                                                                             \
        RULE(SCRIPT_SCORES, JOB_VALUE, "model.labels", "num_labels, 2 unless given", TRAINER), \
        RULE(SCRIPT_PREPARED, JOB_SWITCH, "lora.plain_format", "f32, and layers run again",    \
             SCRIPT_PEFT),                                                                     \
        RULE(SCRIPT_MXFP4, JOB_SWITCH, "precision.weights", "mxfp4, beside adapters",          \
             TRAINER),                                                                         \
        RULE(SCRIPT_WIDENED, JOB_SWITCH, "precision.weights", "torch_dtype", TRAINER),         \
        RULE("device_map", JOB_VALUE, "parallel.pp",                                           \
             "auto, balanced of one process: as many stages as devices; of one each: nothing", \
             TRAINER),                                                                         \
        NEITHER("trust_remote_code", JOB_VALUE, TRAINER),                                      \
        NEITHER("use_cache", JOB_VALUE, TRAINER),                                              \
        NEITHER("low_cpu_mem_usage", JOB_VALUE, TRAINER),                                      \
        NEITHER("revision", JOB_VALUE, TRAINER), NEITHER("token", JOB_VALUE, TRAINER),         \
        NEITHER("cache_dir", JOB_VALUE, TRAINER),                                              \
        NEITHER("local_files_only", JOB_VALUE, TRAINER),                                       \
        NEITHER("logging_steps", JOB_VALUE, TRAINER),                                          \
        NEITHER("logging_dir", JOB_VALUE, TRAINER),                                            \
        NEITHER("logging_strategy", JOB_VALUE, TRAINER),                                       \
        NEITHER("logging_first_step", JOB_VALUE, TRAINER),                                     \
        NEITHER("report_to", JOB_VALUE, TRAINER), NEITHER("run_name", JOB_VALUE, TRAINER),     \
        NEITHER("disable_tqdm", JOB_VALUE, TRAINER), NEITHER("log_level", JOB_VALUE, TRAINER), \
        NEITHER("push_to_hub", JOB_VALUE, TRAINER),                                            \
        NEITHER("hub_model_id", JOB_VALUE, TRAINER),                                           \
        NEITHER("save_steps", JOB_VALUE, TRAINER),                                             \
        NEITHER("save_strategy", JOB_VALUE, TRAINER),                                          \
        NEITHER("save_total_limit", JOB_VALUE, TRAINER),                                       \
        NEITHER("save_only_model", JOB_VALUE, TRAINER),                                        \
        NEITHER("eval_steps", JOB_VALUE, TRAINER),                                             \
        NEITHER("eval_strategy", JOB_VALUE, TRAINER),                                          \
        NEITHER("evaluation_strategy", JOB_VALUE, TRAINER),                                    \
        NEITHER("load_best_model_at_end", JOB_VALUE, TRAINER),                                 \
        NEITHER("do_eval", JOB_VALUE, TRAINER),                                                \
        NEITHER("metric_for_best_model", JOB_VALUE, TRAINER),                                  \
        NEITHER("greater_is_better", JOB_VALUE, TRAINER),                                      \
        NEITHER("max_steps", JOB_VALUE, TRAINER), NEITHER("warmup_steps", JOB_VALUE, TRAINER), \
        NEITHER("warmup_ratio", JOB_VALUE, TRAINER),                                           \
        NEITHER("weight_decay", JOB_VALUE, TRAINER),                                           \
        NEITHER("lr_scheduler_type", JOB_VALUE, TRAINER), NEITHER("seed", JOB_VALUE, TRAINER), \
        NEITHER("adam_beta1", JOB_VALUE, TRAINER), NEITHER("adam_beta2", JOB_VALUE, TRAINER),  \
        NEITHER("adam_epsilon", JOB_VALUE, TRAINER), NEITHER("data_seed", JOB_VALUE, TRAINER), \
        NEITHER("group_by_length", JOB_VALUE, TRAINER),                                        \
        NEITHER("lr_scheduler_kwargs", JOB_VALUE, TRAINER),                                    \
        NEITHER("embedding_learning_rate", JOB_VALUE, TRAINER),                                \
        NEITHER("dataset_text_field", JOB_VALUE, SFT),                                         \
        NEITHER("dataset_num_proc", JOB_VALUE, SFT),                                           \
        NEITHER("dataset_kwargs", JOB_VALUE, SFT),                                             \
        NEITHER("dataloader_num_workers", JOB_VALUE, SFT),                                     \
        NEITHER("dataloader_drop_last", JOB_VALUE, SFT),                                       \
        NEITHER("remove_unused_columns", JOB_VALUE, SFT),                                      \
        NEITHER("label_names", JOB_VALUE, SFT), NEITHER("bias", JOB_VALUE, PEFT),              \
        NEITHER("task_type", JOB_VALUE, PEFT), NEITHER("use_rslora", JOB_VALUE, PEFT),         \
        NEITHER("init_lora_weights", JOB_VALUE, PEFT),                                         \
        NEITHER("loftq_config", JOB_VALUE, PEFT), NEITHER("random_state", JOB_VALUE, PEFT),    \
        NEITHER("inference_mode", JOB_VALUE, PEFT),                                            \
        NEITHER("bnb_4bit_compute_dtype", JOB_VALUE, PEFT),                                    \
        NEITHER("bnb_4bit_quant_storage", JOB_VALUE, PEFT), NEITHER("tf32", JOB_VALUE, PEFT),  \
        NEITHER("per_device_eval_batch_size", JOB_VALUE, TRAINER),                             \
        NEITHER("eval_accumulation_steps", JOB_VALUE, TRAINER),                                \
        NEITHER("gradient_checkpointing_kwargs", JOB_VALUE, TRAINER),                          \
        NEITHER("ddp_find_unused_parameters", JOB_VALUE, TRAINER),                             \
        RULE("llm_int8_skip_modules", JOB_LIST, "precision.plain",                             \
             "parts all of whose linear layers are named, as they are loaded", PEFT),          \
        IDLE("llm_int8_enable_fp32_cpu_offload", JOB_VALUE,                                    \
             "parts that a device_map of one's own leaves to the CPU, which are not trained",  \
             QUANTIZERS),                                                                      \
        IDLE("padding_free", JOB_VALUE, "all sequences have the longest length here", SFT)

#define QUANTIZERS "transformers src/transformers/utils/quantization_config.py"
#define SCRIPT_PEFT "peft src/peft/tuners/lora/config.py"

/* Does a text call a trainer of transformers, TRL or Unsloth? */
bool script_is(const char *text);
bool script_is_unsloth(const char *text);

/* Its settings, as a layer above files and below the command line; job->mark: where the trainer
 * is made or its arguments are. STATUS_INPUT for what no Python is, and where no trainer is
 * called. */
enum status script_read(struct job *job, const char *name, const char *text, size_t length);

/* The script that a launch starts, if it is there: NULL, or the text and its path. */
enum status script_launched(struct job *job, const char **path, const char **text,
                            size_t *length);

/* Prepares either framework: reads the script of a launch, and what its trainer holds where no
 * argument says it; `own`: what a framework assumes before. Then the trainer's own files. */
enum status script_prepare(struct job *job, enum status (*own)(struct job *job));

/* Both answers of a preference, and what other trainers hold, behind the rest. */
enum status script_set_trainer(struct job *job);

/* Is the setting's word one of these ("DPO ORPO"), before "Config" or "Trainer"? */
bool script_trains(struct job *job, const char *kinds);

/* Do TRL's own configurations hold, not transformers' TrainingArguments? */
bool script_is_trl(struct job *job);

#endif

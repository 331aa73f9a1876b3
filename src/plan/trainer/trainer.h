/* What DeepSpeed and FSDP jobs share: the flags of HuggingFace's Trainer and TRL, and
 * Accelerate, which starts both. */
#ifndef MOEPLAN_PLAN_TRAINER_TRAINER_H
#define MOEPLAN_PLAN_TRAINER_TRAINER_H

#include "plan/job/rows.h"

#define PEFT "trl trl/trainer/model_config.py"
#define PEFT_CONFIG "peft src/peft/tuners/lora/config.py"
#define SFT "trl trl/trainer/sft_config.py"
#define DPO "trl trl/trainer/dpo_config.py"
#define GRPO "trl trl/trainer/grpo_config.py"
#define SYNC "trl trl/trainer/callbacks.py, SyncRefModelCallback"
#define PPO "trl trl/experimental/ppo/ppo_config.py"
#define PARSER "trl trl/scripts/utils.py"
#define ACCELERATE "accelerate src/accelerate/commands/launch.py"
#define TRAINER "transformers src/transformers/training_args.py"

/* What a trainer has that generates. */
#define GRPO_ROWS                                                                              \
    RULE("max_completion_length", JOB_VALUE, "workload.sequence_length",                       \
         "with the prompt; 256 unless given", GRPO),                                           \
        RULE("max_prompt_length", JOB_VALUE, "workload.sequence_length",                       \
             "with the completion; 512 where nothing says it", GRPO),                          \
        RULE("use_vllm", JOB_SWITCH, "workload.colocated.engine", "asleep, awake, or none",    \
             GRPO),                                                                            \
        RULE("vllm_mode", JOB_VALUE, "workload.colocated.engine",                              \
             "server: none; colocate unless given", GRPO),                                     \
        RULE("vllm_enable_sleep_mode", JOB_SWITCH, "workload.colocated.engine",                \
             "asleep; awake without", GRPO),                                                   \
        RULE("vllm_gpu_memory_utilization", JOB_VALUE, "workload.colocated.fraction",          \
             "0.3 unless given", GRPO),                                                        \
        RULE("vllm_tensor_parallel_size", JOB_VALUE, "workload.colocated.tp",                  \
             "1 unless given", GRPO),                                                          \
        RULE("beta", JOB_VALUE, "workload.colocated.reference",                                \
             "grpo, rloo: 1 unless it is 0, as it is for grpo, or adapters are trained",       \
             GRPO),                                                                            \
        RULE("reward_model_name_or_path", JOB_VALUE, "workload.colocated.parameters",          \
             "not known here: a warning", GRPO),                                               \
        RULE("sft_model_path", JOB_VALUE, "model", "of PPO: what is trained", PPO),            \
        RULE("reward_model_path", JOB_VALUE, "workload.colocated.critic",                      \
             "of PPO: 1 or critic_parameters, in the policy's pass, and parameters", PPO),     \
        RULE("local_rollout_forward_batch_size", JOB_VALUE, "workload.colocated.sequences",    \
             "of PPO; 64 unless given, a rank's batch at most", PPO),                          \
        RULE("response_length", JOB_VALUE, NULL,                                               \
             "of PPO, whose prompts are the data's; 53 unless given", PPO),                    \
        RULE("num_mini_batches", JOB_VALUE, NULL, "of PPO: in a batch that is generated",      \
             PPO),                                                                             \
        IDLE("num_ppo_epochs", JOB_VALUE, "the step stays the same", PPO),                     \
        NEITHER("total_episodes", JOB_VALUE, PPO), NEITHER("kl_coef", JOB_VALUE, PPO),         \
        NEITHER("missing_eos_penalty", JOB_VALUE, PPO), NEITHER("vf_coef", JOB_VALUE, PPO),    \
        NEITHER("stop_token", JOB_VALUE, PPO), NEITHER("whiten_rewards", JOB_SWITCH, PPO),     \
        IDLE("num_generations", JOB_VALUE, "a completion is a sequence of the batch", GRPO),   \
        RULE("steps_per_generation", JOB_VALUE, "workload.colocated.sequences",                \
             "times the batch, without use_vllm; gradient_accumulation_steps unless given",    \
             GRPO),                                                                            \
        RULE("generation_batch_size", JOB_VALUE, "workload.colocated.sequences",               \
             "a rank's part of it, without use_vllm", GRPO),                                   \
        RULE("ds3_gather_for_generation", JOB_VALUE, "workload.colocated.whole",               \
             "of ZeRO-3; on unless turned off", GRPO),                                         \
        MEMORY("cast_lm_head_to_fp32", JOB_VALUE, "false", "the head is as it is loaded here", \
               GRPO),                                                                          \
        RULE("sync_ref_model", JOB_VALUE, NULL,                                                \
             "in place; on DeepSpeed's stage 3 a warning: weights are gathered whole", SYNC),  \
        MEMORY("use_transformers_paged", JOB_VALUE, "false",                                   \
               "the cache of generate stands in", GRPO),                                       \
        MEMORY("use_transformers_continuous_batching", JOB_VALUE, "false",                     \
               "the cache of generate stands in", GRPO),                                       \
        IDLE("vllm_max_model_length vllm_max_model_len", JOB_VALUE, "vLLM's part stands",      \
             GRPO),                                                                            \
        RULE("num_iterations", JOB_VALUE, "workload.colocated.passes",                         \
             "1: the reference's pass is part of the step", GRPO),                             \
        NEITHER("temperature", JOB_VALUE, GRPO), NEITHER("epsilon", JOB_VALUE, GRPO),          \
        NEITHER("reward_funcs", JOB_LIST, GRPO), NEITHER("scale_rewards", JOB_VALUE, GRPO),    \
        NEITHER("vllm_server_host", JOB_VALUE, GRPO),                                          \
        NEITHER("vllm_server_port", JOB_VALUE, GRPO),                                          \
        NEITHER("vllm_server_base_url", JOB_VALUE, GRPO)

/* Rows of a table. */
#define TRAINER_ROWS                                                                           \
    GRPO_ROWS,                                                                                 \
        RULE("model_name_or_path", JOB_VALUE, "model", "by its name on the hub", TRAINER),     \
        RULE("num_labels", JOB_VALUE, "model.labels", "of a model that scores", TRAINER),      \
        RULE("per_device_train_batch_size", JOB_VALUE, "workload.micro_batch",                 \
             "never guessed: a script may have a default of its own", TRAINER),                \
        NEEDED("max_seq_length max_length model_max_length block_size cutoff_len", JOB_VALUE,  \
               "workload.sequence_length", NULL, NULL, TRAINER),                               \
        RULE("gradient_checkpointing", JOB_VALUE, "recompute.kind", "full", TRAINER),          \
        RULE("activation_checkpointing_kwargs.every_n_layers "                                 \
             "gradient_checkpointing_kwargs.every_n_layers",                                   \
             JOB_VALUE, "recompute.layers", "one of so many, rounded up", TRAINER),            \
        RULE("activation_checkpointing_kwargs.offload gradient_checkpointing_kwargs.offload",  \
             JOB_VALUE, "recompute.offload", "layer_input", TRAINER),                          \
        NEITHER("activation_checkpointing_kwargs.use_reentrant", JOB_VALUE, TRAINER),          \
        RULE("accelerator_config.gradient_accumulation_kwargs.sync_each_batch "                \
             "gradient_accumulation_kwargs.sync_each_batch",                                   \
             JOB_VALUE, "precision.accumulated", "none with FSDP; whole gradients without",    \
             TRAINER),                                                                         \
        RULE("accelerator_config", JOB_JSON, NULL, "its entries", TRAINER),                    \
        RULE("use_peft", JOB_SWITCH, "lora.rank", "with lora_r", PEFT),                        \
        RULE("lora_r lora_rank", JOB_VALUE, "lora.rank", "16 with use_peft", PEFT),            \
        RULE("lora_target_modules lora_target", JOB_LIST, "lora.targets",                      \
             "by name; all-linear, all: every one", PEFT),                                     \
        RULE("lora_target_parameters target_parameters", JOB_LIST, "lora.targets",             \
             "of stacked experts: gate_up_proj, down_proj", PEFT),                             \
        RULE("lora_modules_to_save modules_to_save additional_target", JOB_LIST,               \
             "lora.modules_to_save", "embed_tokens, lm_head; others warn", PEFT),              \
        RULE("layers_to_transform peft_layers_to_transform", JOB_LIST, "lora.layers",          \
             "numbers of layers, with targets by name", PEFT_CONFIG),                          \
        IDLE("layers_pattern peft_layers_pattern", JOB_LIST,                                   \
             "the list that numbers count in: the language model's layers here", PEFT_CONFIG), \
        RULE("exclude_modules", JOB_LIST, "lora.targets", "but those, by name or expression",  \
             PEFT_CONFIG),                                                                     \
        RULE("rank_pattern lora_rank_pattern", JOB_JSON, "lora.ranks",                         \
             "names or expressions of linear layers, the same in all layers", PEFT_CONFIG),    \
        NEITHER("alpha_pattern lora_alpha_pattern", JOB_JSON, PEFT_CONFIG),                    \
        MEMORY("layer_replication peft_layer_replication", JOB_LIST, NULL,                     \
               "layers have one copy of adapters each here", PEFT_CONFIG),                     \
        RULE("trainable_token_indices peft_trainable_token_indices "                           \
             "trainable_token_indices.embed_tokens",                                           \
             JOB_LIST, "lora.rows", "with adapters", PEFT_CONFIG),                             \
        RULE("use_dora peft_use_dora", JOB_SWITCH, "lora.dora", "with adapters", PEFT),        \
        RULE("load_in_4bit", JOB_SWITCH, "precision.weights", "nf4, beside adapters", PEFT),   \
        RULE("use_bnb_nested_quant", JOB_SWITCH, "precision.weights",                          \
             "nf4_double with load_in_4bit", PEFT),                                            \
        RULE("load_in_8bit", JOB_SWITCH, "precision.weights",                                  \
             "fp8_channel: 8 bits and an f32 per output, as LLM.int8() keeps them", PEFT),     \
        NEITHER("bnb_4bit_quant_type", JOB_VALUE, PEFT),                                       \
        TIME("packing neat_packing", JOB_VALUE, "false",                                       \
             "how long sequences are is the data's: workload.packing.length", SFT),            \
        RULE("use_liger_kernel use_liger use_liger_loss", JOB_VALUE, "stack.cross_entropy",    \
             "fused", TRAINER),                                                                \
        RULE("loss_type", JOB_VALUE, "stack.cross_entropy",                                    \
             "trl sft's chunked_nll, its default: chunked, 256 rows a part", SFT),             \
        RULE("attn_implementation attn_impl flash_attn", JOB_VALUE, "stack.attention",         \
             "eager, LLaMA-Factory's disabled: unfused", PEFT),                                \
        RULE("activation_offloading", JOB_SWITCH, "recompute.offload",                         \
             "layer_input, of trl, with gradient_checkpointing", SFT),                         \
        RULE("precompute_ref_log_probs", JOB_SWITCH, "workload.colocated.reference",           \
             "none; trl dpo holds one unless adapters are trained", DPO),                      \
        RULE("optim", JOB_VALUE, "optimizer.kind",                                             \
             "by its name; what is unknown warns, and galore, apollo, lomo of shared weights", \
             TRAINER),                                                                         \
        RULE("optim_target_modules", JOB_LIST, "optimizer.projected",                          \
             "of galore and apollo: parts with a linear layer of such a name", TRAINER),       \
        RULE("optim_args", JOB_VALUE, "precision.moments", "of sgd: none without momentum",    \
             TRAINER),                                                                         \
        RULE("bf16", JOB_VALUE, "precision.weights", "where no file of settings says it",      \
             TRAINER),                                                                         \
        RULE("fp16", JOB_VALUE, "precision.weights", "where no file of settings says it",      \
             TRAINER),                                                                         \
        RULE("config_file accelerate_config", JOB_VALUE, NULL, "Accelerate's YAML file",       \
             ACCELERATE),                                                                      \
        RULE("config", JOB_VALUE, NULL, "TRL's YAML file: flags, under the command line's",    \
             PARSER),                                                                          \
        RULE("mixed_precision", JOB_VALUE, "precision.weights",                                \
             "bf16, fp16, where nothing else says it", ACCELERATE),                            \
        RULE("distributed_type", JOB_VALUE, NULL,                                              \
             "DEEPSPEED, FSDP; MULTI_GPU, NO: zero 0; others are refused", ACCELERATE),        \
        RULE("num_processes", JOB_VALUE, NULL, "ranks in all", ACCELERATE),                    \
        RULE("num_machines", JOB_VALUE, NULL, "nodes", ACCELERATE),                            \
        RULE("lora_dropout", JOB_VALUE, "lora.inputs", "above 0: dropped", PEFT),              \
        NEITHER("lora_alpha", JOB_VALUE, PEFT),                                                \
        NEITHER("machine_rank", JOB_VALUE, ACCELERATE),                                        \
        NEITHER("main_process_ip", JOB_VALUE, ACCELERATE),                                     \
        NEITHER("main_process_port", JOB_VALUE, ACCELERATE),                                   \
        NEITHER("compute_environment", JOB_VALUE, ACCELERATE),                                 \
        NEITHER("main_training_function", JOB_VALUE, ACCELERATE),                              \
        NEITHER("rdzv_backend", JOB_VALUE, ACCELERATE),                                        \
        IDLE(                                                                                  \
            "auto_find_batch_size", JOB_VALUE,                                                 \
            "the batch given is planned; one that does not fit is tried again at nine tenths " \
            "of it, by older releases of Accelerate at half",                                  \
            "accelerate src/accelerate/utils/memory.py"),                                      \
        RULE("label_smoothing_factor", JOB_VALUE, "stack.cross_entropy",                       \
             "not 0: smoothed_f32, of DeepSpeed and without mixed precision smoothed; of "     \
             "losses of texts",                                                                \
             TRAINER),                                                                         \
        RULE("parallelism_config", JOB_VALUE, NULL,                                            \
             "a script's ParallelismConfig: its dp_shard_size, tp_size and so on",             \
             "accelerate src/accelerate/parallelism_config.py"),                               \
        IDLE("neftune_noise_alpha", JOB_VALUE, "noise as large as a layer's input passes",     \
             TRAINER),                                                                         \
        TIME("torch_compile", JOB_VALUE, "false",                                              \
             "kernels of torch's own are planned, which keep no less", TRAINER),               \
        IDLE("torch_empty_cache_steps", JOB_VALUE,                                             \
             "what the allocator keeps is given back; what is allocated is the same",          \
             TRAINER),                                                                         \
        NEITHER("max_grad_norm", JOB_VALUE, TRAINER), /* clipped where they are */             \
        NEITHER("dataloader_pin_memory", JOB_VALUE, TRAINER),                                  \
        NEITHER("learning_rate", JOB_VALUE, TRAINER),                                          \
        NEITHER("output_dir", JOB_VALUE, TRAINER),                                             \
        NEITHER("num_train_epochs", JOB_VALUE, TRAINER)

/* A file that a framework brings along, by its name without folders; `known` ends with NULL. */
struct trainer_file {
    const char *name, *settings;
};

const struct trainer_file *trainer_known(const struct trainer_file *known, const char *name);
enum status trainer_add_known(struct job *job, const struct trainer_file *known,
                              unsigned layer);

/* The format of weights as they are loaded, where what is trained is raised to f32 beside them;
 * NULL: it is one. */
const char *trainer_loaded(struct job *job);

/* Words of a list that is given, each of which may be several with commas between. */
size_t trainer_words(struct job *job, const char *flag, const char *words[PLAN_NAMES]);

/* Whether a setting of targets is an expression and no names; the linear layers that a setting
 * of either kind means and exclude_modules does not, as lora.targets calls them (its model is
 * known already), and lora.layers where that is so of some layers alone. Warns where these
 * differ from one to another; STATUS_INPUT where there are none. */
bool trainer_is_expression(const struct setting *s);
enum status trainer_match_targets(struct job *job, const char *flag,
                                  const char *words[PLAN_NAMES], size_t *n);

/* lora.ranks, by rank_pattern, of the names of lora.targets, to which those of it are added
 * where every linear layer is meant. Warns where they differ from layer to layer; STATUS_INPUT
 * of what is no rank. */
enum status trainer_match_ranks(struct job *job, const char *words[PLAN_NAMES], size_t *n);

/* Accelerate's own file, and how many ranks it starts. STATUS_INPUT where the file is of
 * another kind than the framework's; NULL: any. */
enum status trainer_prepare(struct job *job, const struct job_framework *framework);

/* The job's size, by DeepSpeed's hostfile, of which --num_nodes are the first and --num_gpus a
 * part of each; warns where it is not there. STATUS_INPUT of lines that are no hosts. */
enum status trainer_read_hosts(struct job *job);

/* ---- frameworks whose jobs the trainer runs: trainer_share.c ---- */

/* The rows of both sharers. */
extern const struct job_framework *const trainer_shares[];

/* The job's own file of a launch, which is the first word that ends as one behind its entry,
 * the files it names, Accelerate's among them, and how many ranks start. `known`: DeepSpeed's
 * that the framework brings along. */
enum status trainer_read_files(struct job *job, const struct trainer_file *known);

/* Devices that CUDA_VISIBLE_DEVICES lists are the ranks of a node, where nothing else says how
 * many it has. */
void trainer_count_visible(struct job *job);

/* The first of these alone, and the others. */
enum status trainer_read_own_file(struct job *job);
enum status trainer_read_sharers(struct job *job, const struct trainer_file *known);

/* Who shares the states out, as the settings say. */
enum trainer_sharer { TRAINER_WHOLE, TRAINER_FSDP, TRAINER_DEEPSPEED };
enum trainer_sharer trainer_sharer(struct job *job);

/* recompute.mlp_tiles where a switch has a network take the rows of so many sequences in parts:
 * as many as `count` says (NULL: no flag), else as make each as long as a row is wide. */
enum status trainer_set_tiles(struct job *job, const char *flag, const char *count,
                              uint64_t sequences);

/* optimizer.active_layers of LISA's flag, where one device has all; else a warning. Behind
 * trainer_share. */
enum status trainer_set_drawn(struct job *job, const char *flag);

/* The rest of the draft by it, the stack included. */
enum status trainer_share(struct job *job);

/* The finishes of the two; of FSDP's also where every rank has all (`shards` false). */
enum status deepspeed_share(struct job *job);
enum status fsdp_share(struct job *job, bool shards);

/* What saved activations wait in host memory, where layers are run again; and the same where a
 * flag says so, which warns where they are not. */
void trainer_offload(struct job *job, const char *flag);
enum status trainer_set_offloading(struct job *job, const char *flag);
enum status trainer_set_moved(struct job *job, const char *flag, bool again);

/* The frozen base in so many bits (0: as it is) of a flag, in the trainer's words; `twice`: its
 * scales are quantised, too. */
enum status trainer_tell_bits(struct job *job, const char *flag, uint64_t bits, bool twice);

/* Whether a method's base in so many bits is what trainer_tell_bits says: HQQ's 4 bits have a
 * scale and a zero point of 16 bits per 64, as many as bitsandbytes' f32; 8 bits of EETQ and
 * quanto a scale an output. */
bool trainer_method_is_known(const char *method, uint64_t bits);

/* What Unsloth's layers hold in the place of transformers': their inputs wait in host memory,
 * on one device, adapters share theirs, and the loss of texts is made in parts (unsloth.c). */
enum status unsloth_set_kernels(struct job *job, bool full, bool supervised, const char *flag);

/* model.labels of a model that scores (transformers' *ForSequenceClassification): num_labels
 * where the job gives it, else `unless`. What PEFT copies of so small a head is left out. */
enum status trainer_set_labels(struct job *job, const char *flag, uint64_t unless);

/* A setting that is there and is not "auto"; a bare switch is. */
bool trainer_decides(struct job *job, const char *name);

/* transformers' own loss of balance, of all layers at once, where a flag weighs it above 0;
 * batches have a mask of padding unless sequences are laid end to end (`packs`). */
enum status trainer_set_balance(struct job *job, const char *flag, bool packs);

/* Whether the Trainer makes the loss, of smoothed labels, and what it holds of it: `casts`: its
 * logits are in f32, or mixed precision casts them. trainer_loss.c */
enum status trainer_smooths(struct job *job, bool *smooths);
enum status trainer_set_smoothing(struct job *job, bool casts);

/* Attention of models that transformers has no fused one of, where no flag asks for any. */
enum status trainer_assume_eager(struct job *job);

/* The value of the framework's own switch, or where that is "auto" or missing of the trainer's
 * (NULL: it has none); false and not known where neither says it. */
enum status trainer_switch(struct job *job, const char *name, const char *trainer, bool *value);

/* The micro-batch and the global batch, from those of `global`, `micro` and
 * gradient_accumulation_steps that are given (NULL: the framework has none of its own); `ranks`
 * hold one copy of the model. */
enum status trainer_set_batch(struct job *job, const char *global, const char *micro,
                              uint64_t ranks);

/* The model, recomputation (`checkpoints`: of the framework's own flag), adapters, optimizer
 * (`own`: the framework's flag for it or NULL), loss. */
enum status trainer_finish(struct job *job, bool checkpoints, const char *own);

/* Adapters by TRL's flags, behind the model: trainer_adapters.c; and so many last layers of a
 * flag in the words of layers_to_transform. */
enum status trainer_set_adapter(struct job *job);
enum status trainer_tell_last(struct job *job, const char *flag);
/* The frozen base of adapters in few bits (bitsandbytes; GPTQ and AWQ by its name), behind the
 * other formats. */
enum status trainer_set_base(struct job *job);

/* The optimizer that the trainer makes, by the flag that names it, behind the adapters: its
 * kind, and what of it is not counted. */
enum status trainer_set_optimizer(struct job *job, const char *flag);
void trainer_write_optimizer(struct job_writer *writer);
/* In what format its states are, behind the formats of the weights and of adapters. */
enum status trainer_set_states(struct job *job);

/* ---- TRL's own commands: trl.c ---- */

/* Where "trl sft", "trl grpo" end; 0: no such. `words` may be NULL. */
size_t trl_ends(const struct shell_words *words);

/* A file of Accelerate's that TRL brings along, in its repository's folder or, for its own
 * commands, by a name alone; NULL: none of those. */
const struct trainer_file *trl_file(struct job *job, const char *name);

/* Flags of a trainer that generates, GRPO's or RLOO's (trl_grpo.c), its lengths, and what it
 * has behind the rest. */
bool trl_is_grpo(struct job *job);
/* The same of PPO with a value model of its own, by flags of its script (trl_ppo.c): what it
 * trains is told in the trainer's words, before the model is known. */
bool trl_is_ppo(struct job *job);
enum status trl_tell_ppo(struct job *job);
enum status trl_finish_ppo(struct job *job);
/* Whether it is a trainer with a loss of its own, none of texts; whether it is that of texts.
 */
bool trl_makes_loss(struct job *job);
bool trl_is_sft(struct job *job);
/* A model that scores beside the trained ones, where its size is known, else a warning. */
enum status trl_set_reward(struct job *job, const char *flag);
enum status trl_set_completions(struct job *job);
enum status trl_finish_grpo(struct job *job, bool rloo);
/* workload.colocated.sequences of a trainer whose model generates by itself. */
enum status trl_set_generation(struct job *job);

/* How long sequences are where no flag says it at once. */
enum status trl_set_length(struct job *job);

/* Their defaults, where no flag says it, and what only they have, behind the rest; nothing for
 * other launches. */
enum status trl_assume(struct job *job);
enum status trl_finish(struct job *job);

/* The format of a reference that is loaded as the model is. */
enum status trl_set_reference_format(struct job *job);

/* ---- which of the two a launch is; for plan/launch ---- */

/* The framework that Accelerate starts, or that a trainer's flags name, or NULL; *launcher is
 * where the words end that say how many ranks start. */
const struct job_framework *trainer_find(struct job *job, const struct shell_words *words,
                                         size_t *launcher);

/* ---- writing ---- */

/* STATUS_INPUT for plans that do not train. */
enum status trainer_write_refuse(struct job_writer *writer);

/* A flag of the trainer stands on its command line, everything else in the file of settings. */
void trainer_write_flag(struct job_writer *writer, const char *name, const char *value);

/* The whole launch: the file, the launcher's words, the trainer's script with its flags, of
 * which those that the table cannot say are written before. `file` is named by `flag` of the
 * launcher or (`behind`) of the script. */
struct trainer_launch {
    const char *launcher, *file, *flag;
    bool json, behind;
};
void trainer_write(struct job_writer *writer, const struct trainer_launch *launch);

#endif

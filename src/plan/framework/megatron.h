/* Between the files of Megatron's reader, and what bridges to it take of them. */
#ifndef MOEPLAN_PLAN_FRAMEWORK_MEGATRON_H
#define MOEPLAN_PLAN_FRAMEWORK_MEGATRON_H

#include "plan/job/reader.h"

/* Megatron-LM's own flags, and what its finish does before a bridge's own and behind it. */
extern const struct job_flag megatron_flags[];
extern const size_t megatron_n_flags;
enum status megatron_prepare(struct job *job);
enum status megatron_finish(struct job *job);

/* A number of a flag, or its default; a switch, off unless given. */
enum status megatron_count_or(struct job *job, const char *flag, uint64_t fallback,
                              uint64_t *value);
enum status megatron_is_on(struct job *job, const char *flag, bool *value);

/* Sets a key to a flag's number, or to its default. */
enum status megatron_set_count_or(struct job *job, const char *key, const char *flag,
                                  uint64_t fallback);

/* Bridge's configurations have other defaults than Megatron-LM's command line. */
bool megatron_is_bridge(const struct job *job);

/* model.*: megatron_model.c */
enum status megatron_set_model(struct job *job);

/* A vocabulary that a configuration names is not filled up: Megatron-Bridge
 * (training/utils, validate_and_set_vocab_size: should_pad_vocab false), whose providers slime
 * and NeMo-RL build, mbridge (core/llm_bridge.py: hf_config.vocab_size), Megatron-SWIFT
 * (model/model_config.py: padded_vocab_size is vocab_size). */
void megatron_keep_vocabulary(struct job *job);

/* model.dense_layers and moe_every of moe-layer-freq, by the layers of the draft. */
enum status megatron_set_layers(struct job *job);

/* The same of "[0]*1+[1]*26". */
enum status megatron_set_pattern(struct job *job, const char *text, uint64_t layers);

/* Layers of an expression of 0 and 1 ("([1]*3+[0])*4"), one character each; there must be so
 * many. layer has MEGATRON_PATTERN characters. */
enum { MEGATRON_PATTERN = 4096 };
enum status megatron_read_pattern(struct job *job, const char *flag, const char *text,
                                  uint64_t layers, char *layer);

/* Likewise of an expression of 0, 4 and 128 ("[0,0,4]+[128,4]*20"): '0', '1' and '2'. More
 * entries than layers are those of prediction modules. */
enum status megatron_read_ratios(struct job *job, const char *flag, const char *text,
                                 uint64_t layers, char *layer);

/* model.layer_types, windows, recurrences, an indexer, sinks: megatron_mixers.c */
enum status megatron_set_mixers(struct job *job);

/* The layout as one text, Bridge's list of lists of embedding, decoder, mtp and loss included;
 * untouched when it is not given. */
enum status megatron_read_layout(struct job *job, const char *flag, const char **layout);

/* parallel.stages and vpp of "Et*13|t*14L". */
enum status megatron_set_layout(struct job *job, const char *text, uint64_t pp);

/* The ends of a pipeline: layers of the first and the last stage where they are given, and
 * whether embedding and loss stand for one; the rest is even. megatron.c */
struct megatron_ends {
    bool first, last, embedding, loss;
    uint64_t first_layers, last_layers;
    const char *flag; /* to which errors point */
};
enum status megatron_set_ends(struct job *job, struct megatron_ends ends, uint64_t pp,
                              uint64_t vpp, uint64_t layers);

/* Words of a list, or with commas between. */
enum status megatron_set_list(struct job *job, const char *key, const char *flag);

/* precision and optimizer: megatron_formats.c */
enum status megatron_set_formats(struct job *job);

/* Layers that no recipe applies to, where flags do not say: whether, and how many. */
enum status megatron_set_plain(struct job *job, bool on, uint64_t first, uint64_t last);

/* Flags of the layout, the dispatcher, overlap, recomputation and the optimizer:
 * megatron_write.c. */
void megatron_write_rest(struct job_writer *writer);

/* Bridge's adapters, in the weights' format, split on both sides, one for a rank's experts
 * (peft/utils.py, ParallelLinearAdapter): bridge.c */
enum status bridge_set_adapters(struct job *job);

/* Does the text of a Python script look like one that builds a configuration of Bridge?
 * bridge_python.c */
bool bridge_is_python(const char *text);

/* What it sets, as settings. */
enum status bridge_read_python(struct job *job, const char *name, const char *text,
                               size_t length);

/* The model that a recipe is for, by the longest beginning of its name; NULL: it is not known.
 * bridge.c */
const char *bridge_model_of_recipe(struct job *job, const char *recipe);

/* What Bridge makes of its settings, and NeMo of the same: bridge.c */
enum status bridge_finish(struct job *job);

/* Is it a function of Bridge's that gives a recipe of precision? bridge.c */
bool bridge_is_precision(const char *name);

/* What a recipe sets by itself, below everything else; *commit NULL: it is not known.
 * bridge_recipes.c */
enum status bridge_add_recipe(struct job *job, const char *recipe, const char **commit);

/* What the performance scripts make of their own arguments: bridge_scripts.c */
enum status bridge_set_script(struct job *job);

/* Launches of Megatron-Bridge: bridge_write.c */
enum status bridge_write(struct job_writer *writer);
void bridge_write_flag(struct job_writer *writer, const char *name, const char *value);

/* Bridge's name of a recipe of precision; NULL: it has none. */
const char *bridge_precision(enum precision_recipe recipe);

#endif

/* Low-rank adapters beside frozen matrices (lora.rank > 0): which matrices of a layer have one,
 * and how many parameters they are. Names of targets: those of HuggingFace models and
 * Megatron's. Source: training-stacks.md 5 (PEFT tuners/lora, 5d602fdb). */
#ifndef MOEPLAN_WORK_PIECE_LORA_H
#define MOEPLAN_WORK_PIECE_LORA_H

#include "base/err.h"
#include "work/piece/matrix.h"

/* Whether the plan trains adapters alone. */
bool lora_is_on(const struct plan *plan);
/* Whether an engine has room for adapters beside its weights. */
bool lora_is_served(const struct plan *plan);
/* Whether matrices have adapters beside them, trained or served. */
bool lora_is_there(const struct plan *plan);
/* And whether beside weights in a format with scales (QLoRA). */
bool lora_base_is_quantised(const struct plan *plan);

/* Whether its few bits are of more than the experts. A checkpoint in mxfp4 has no others, and
 * what is whole stays as it is, for PEFT prepares bases of bitsandbytes alone (transformers
 * quantizers/quantizer_mxfp4.py; gpt-oss modules_to_not_convert). */
bool lora_quantises_dense(const struct plan *plan);

/* Whether a layer's experts are one parameter (HuggingFace transformers 5): no linear layer,
 * which a base in few bits and all-linear look for (bitsandbytes issue 1849). An adapter of a
 * parameter is added to it as a whole (PEFT tuners/lora/layer.py, ParamWrapper). */
bool lora_stacks_experts(const struct plan *plan);
/* Whether a part of the frozen base waits in host memory. */
bool lora_waits(const struct plan *plan, enum base_part part);
/* Whether adapters of theirs are added to them, or multiplied beside them by kernels of their
 * own.
 */
bool lora_merges(const struct plan *plan);
/* Whether an adapter of theirs is among the targets. */
bool lora_reaches_stacked(const struct plan *plan);
/* Format of what a base in few bits leaves whole: PEFT's prepare_model_for_kbit_training makes
 * it f32, of bitsandbytes' formats, unless ranks share it (axolotl loaders/model.py, TRL's
 * prepare_peft_model). */
enum dtype lora_plain(const struct plan *plan);
/* Format of the frozen experts: bitsandbytes' formats are of linear layers, checkpoints in
 * others have their own kernels for stacked ones (transformers integrations/finegrained_fp8.py,
 * mxfp4.py).
 */
enum dtype lora_expert_format(const struct plan *plan);

/* Whether the experts of a rank have one adapter of a matrix, and how many a rank has of an
 * expert's. */
bool lora_shares_experts(const struct plan *plan);
struct size lora_copies(const struct plan *plan, const struct dims *d);

/* Modules trained whole beside the adapters (PEFT's modules_to_save): whether one is of them,
 * of embed_tokens and lm_head; elements of this stage's, on a rank of tp; their format, which
 * is that of the module that they copy (PEFT utils/other.py, ModulesToSaveWrapper: a deep copy,
 * which the cast of adapters to f32 passes over). */
bool lora_saves(const struct plan *plan, enum saved_module module);
struct size lora_saved(const struct plan *plan, struct sizes *z);
enum dtype lora_saved_format(const struct plan *plan);

/* Whether rows of the embedding are trained: its table, in the format above, is copied with
 * them in forward, and has a whole gradient in backward, of which their rows are taken (PEFT
 * tuners/trainable_tokens/layer.py, get_merged_weights; index_copy). The rows' own states are
 * left out: 0.6 MiB of ten as wide as 4,096. */
bool lora_trains_rows(const struct plan *plan);

/* Whether an adapter of this matrix has an input of its own: stacked experts' has none, their
 * adapter is multiplied before (PEFT's wrapper of a parameter takes no dropout). */
bool lora_copies_input(const struct plan *plan, const struct layer_matrix *matrix);

/* Format of the gradients of what is trained: adapters in f32 have theirs in f32. */
enum dtype lora_gradients(const struct plan *plan);

/* Whether outputs have magnitudes beside the adapters (DoRA). */
bool lora_has_magnitudes(const struct plan *plan);

/* Adapters of a matrix: of q, k and v each its own; their widths of output, summed and the
 * largest, their ranks, summed, and what their second factors have, rank x width of each.
 * n 0: none. */
struct lora_sides {
    unsigned n;
    uint64_t low;
    struct size outputs, widest, up;
};
struct lora_sides lora_of(const struct plan *plan, struct sizes *z, const struct dims *d,
                          const struct layer_matrix *matrix);

/* Whether some layer of this kind has adapters beside its linear layers. */
bool lora_adapts_kind(const struct plan *plan, enum layer_kind kind);
/* Whether the adapters of this matrix stand in some of its layers alone. */
bool lora_is_in_some(const struct plan *plan, const struct layer_matrix *matrix);

/* Of the layers at hand of a walk those whose matrix has its adapters: PEFT's choice of layers
 * is one of linear layers, not of parameters (tuners/tuners_utils.py,
 * check_target_module_exists). */
struct size lora_layers_of(const struct matrix_walk *walk, struct dims dims);

/* Parameters of a stage's adapters, r (in + out) each, and out of its magnitudes, dense and
 * experts apart. */
struct lora_sum {
    struct size dense, experts;
};
struct lora_sum lora_parameters(const struct plan *plan, struct sizes *z);
/* Those of the encoder, where the stage has it. */
struct size lora_encoder(const struct plan *plan, struct sizes *z);
/* Those of one layer. */
struct lora_sum lora_layer(const struct plan *plan, struct sizes *z, enum layer_kind kind);

/* STATUS_INPUT for a target that no table knows or that this plan's experts do not have, and
 * where the targets leave nothing to train. */
enum status lora_check(const struct plan *plan, struct sizes *z, struct err *err);

#endif

/* What each HuggingFace architecture calls our fields; for plan/hf/import_hf.c alone. */
#ifndef MOEPLAN_PLAN_HF_IMPORT_HF_TABLE_H
#define MOEPLAN_PLAN_HF_IMPORT_HF_TABLE_H

#include <stddef.h>

#include "base/err.h"
#include "plan/plan.h"
#include "plan/source.h"

/* IMPORT_KNOWN: a key that says nothing new for the family. */
enum import_type { IMPORT_COUNT, IMPORT_REAL, IMPORT_BOOL, IMPORT_WORD, IMPORT_KNOWN };

/* A word of config.json and what it means to us. */
struct import_word {
    const char *text;
    int value;
};

/* One field: where it goes, and where it comes from. */
struct import_field {
    enum import_type type;
    size_t offset;                   /* in struct model */
    size_t size;                     /* of the member */
    const char *key;                 /* "a.b" is b inside a; NULL: always the fallback */
    const char *fallback;            /* when the key is absent or null; NULL: required */
    const struct import_word *words; /* IMPORT_WORD: ends with text NULL */
};

struct import_fields {
    size_t n;
    const struct import_field *field;
};

enum { IMPORT_PARTS = 7, IMPORT_NAMES = 12 };

/* Architectures read alike. Later parts overwrite earlier ones. */
struct import_family {
    const char *names[IMPORT_NAMES]; /* model_type, then architectures; NULL-terminated */
    struct import_fields parts[IMPORT_PARTS];
    /* what a table cannot say, or NULL */
    enum status (*finish)(const struct node *config, struct model *model, struct err *err);
};

/* The families of one file, and all files. */
struct import_families {
    size_t n;
    const struct import_family *family;
};

extern const struct import_families import_latent, import_experts, import_recurrent,
    import_dense, import_plain;

/* The configuration of the language model, and in *outer what stands around it: the whole file,
 * or the part of it that thinks (thinker_config of an omni model). */
const struct node *import_text_config(const struct node *config, const struct node **outer);

/* The architecture's own table; NULL where none is known. */
const struct import_family *import_hf_family(const struct node *config);

/* Whether a key of a configuration is read for an architecture, or known to change no memory.
 */
bool import_key_is_read(const struct import_family *family, const char *key);

/* The encoder that vision_config describes, where its kind is known and it is complete, and the
 * parameters of the one beside it that audio_config does; untouched otherwise. model->hidden is
 * set. import_hf_vision.c, import_hf_audio.c */
void import_hf_vision(const struct node *config, struct model *model);
void import_hf_audio(const struct node *config, struct model *model);

/* Of parameters: saturating; of a product with a bias or without. import_hf_vision.c */
uint64_t import_mul(uint64_t a, uint64_t b);
uint64_t import_sum(uint64_t a, uint64_t b, uint64_t c);
uint64_t import_linear(uint64_t in, uint64_t out, bool bias);

/* The layers without experts stand first: `dense` of them in a list by that key, and no others
 * after them; sets dense_layers where the list is there. */
enum status import_dense_first(const struct node *config, const char *key, const char *dense,
                               struct model *model, struct err *err);

/* The rules between keys that families share; see import_hf_finish.c. */
enum status import_finish_deepseek(const struct node *config, struct model *model,
                                   struct err *err);
enum status import_finish_interleaved(const struct node *config, struct model *model,
                                      struct err *err);
enum status import_finish_minimax(const struct node *config, struct model *model,
                                  struct err *err);
enum status import_finish_arctic(const struct node *config, struct model *model,
                                 struct err *err);

enum status import_finish_longcat(const struct node *config, struct model *model,
                                  struct err *err);
enum status import_finish_grok(const struct node *config, struct model *model, struct err *err);
enum status import_finish_ernie(const struct node *config, struct model *model,
                                struct err *err);
enum status import_finish_ernie_vl(const struct node *config, struct model *model,
                                   struct err *err);
enum status import_finish_nas(const struct node *config, struct model *model, struct err *err);
enum status import_finish_bailing(const struct node *config, struct model *model,
                                  struct err *err);
enum status import_finish_bailing_hybrid(const struct node *config, struct model *model,
                                         struct err *err);
enum status import_finish_alice(const struct node *config, struct model *model,
                                struct err *err);
enum status import_finish_muse_glimmer(const struct node *config, struct model *model,
                                       struct err *err);
enum status import_finish_solar_open2(const struct node *config, struct model *model,
                                      struct err *err);

/* And those of models whose window layers have heads of their own; see import_hf_window.c. */
enum status import_finish_gemma4(const struct node *config, struct model *model,
                                 struct err *err);
enum status import_finish_mimo(const struct node *config, struct model *model, struct err *err);
enum status import_finish_step(const struct node *config, struct model *model, struct err *err);
enum status import_finish_step3(const struct node *config, struct model *model,
                                struct err *err);
enum status import_finish_laguna(const struct node *config, struct model *model,
                                 struct err *err);

/* A value of that kind, null being none; whether one is true; the number of one, where it is no
 * other; item `at` of a list, from 0. NULL: there is none. See import_hf_layers.c. */
const struct node *import_value(const struct node *config, const char *key,
                                enum node_kind kind);
bool import_is_true(const struct node *config, const char *key);
uint64_t import_count(const struct node *config, const char *key, uint64_t otherwise);
/* Columns of grouped queries' heads that rotate, where the configuration says so of a part, and
 * of tables beside the first; import_hf_rotary.c. */
void import_rotary(const struct node *config, struct model *model);
const struct node *import_item(const struct node *config, const char *key, uint64_t at);
bool import_item_is(const struct node *config, const char *key, uint64_t at, const char *text);

/* layer_types, or a function of the layer's number from 0; the shortest list that says the
 * same. Items beyond the model's layers are those of prediction modules. */
enum status import_layers(const struct node *config, struct model *model,
                          enum layer_type (*type)(const struct node *config, uint64_t i),
                          struct err *err);

/* The same of a function alone, whatever a list says; or of the list by that key alone, where
 * there is one. STATUS_INPUT: too many layers, or a word that is not known. */
enum status import_set_layers(const struct node *config, struct model *model,
                              enum layer_type (*type)(const struct node *config, uint64_t i),
                              struct err *err);
enum status import_read_list(const struct node *config, const char *key, struct model *model,
                             bool *found, struct err *err);
enum status import_too_long(const struct node *config, uint64_t n, struct err *err);

/* And those that say which layers are of which type; see import_hf_layers.c, for
 * recurrences import_hf_recurrent.c and for those of 2026 import_hf_2026.c. */
enum status import_finish_minimax_m3(const struct node *config, struct model *model,
                                     struct err *err);
enum status import_finish_gpt_oss(const struct node *config, struct model *model,
                                  struct err *err);
enum status import_finish_llama4(const struct node *config, struct model *model,
                                 struct err *err);
enum status import_finish_mixtral(const struct node *config, struct model *model,
                                  struct err *err);
enum status import_finish_qwen2_moe(const struct node *config, struct model *model,
                                    struct err *err);
enum status import_finish_qwen3_moe(const struct node *config, struct model *model,
                                    struct err *err);
enum status import_finish_dense(const struct node *config, struct model *model,
                                struct err *err);
enum status import_finish_llama(const struct node *config, struct model *model,
                                struct err *err);
enum status import_finish_gemma2(const struct node *config, struct model *model,
                                 struct err *err);
enum status import_finish_gemma3(const struct node *config, struct model *model,
                                 struct err *err);
/* Recurrent but for every full_attention_interval-th layer. */
enum layer_type import_interval(const struct node *config, uint64_t i);
enum status import_finish_qwen3_next(const struct node *config, struct model *model,
                                     struct err *err);
enum status import_finish_glm5_next(const struct node *config, struct model *model,
                                    struct err *err);
enum status import_finish_hy_v4(const struct node *config, struct model *model,
                                struct err *err);
enum status import_finish_qwen4(const struct node *config, struct model *model,
                                struct err *err);
enum status import_finish_kimi(const struct node *config, struct model *model, struct err *err);
enum status import_finish_lightning(const struct node *config, struct model *model,
                                    struct err *err);
enum status import_finish_nemotron(const struct node *config, struct model *model,
                                   struct err *err);
enum status import_finish_jamba(const struct node *config, struct model *model,
                                struct err *err);
enum status import_finish_granite(const struct node *config, struct model *model,
                                  struct err *err);
enum status import_finish_bamba(const struct node *config, struct model *model,
                                struct err *err);
enum status import_finish_falcon_h1(const struct node *config, struct model *model,
                                    struct err *err);
enum status import_finish_mamba(const struct node *config, struct model *model,
                                struct err *err);
enum status import_finish_mamba2(const struct node *config, struct model *model,
                                 struct err *err);
enum status import_finish_hyperclovax(const struct node *config, struct model *model,
                                      struct err *err);
enum status import_finish_qwen(const struct node *config, struct model *model, struct err *err);
enum status import_finish_mpt(const struct node *config, struct model *model, struct err *err);
enum status import_finish_granite_dense_swa(const struct node *config, struct model *model,
                                            struct err *err);
enum status import_finish_hunyuan(const struct node *config, struct model *model,
                                  struct err *err);
enum status import_finish_pangu(const struct node *config, struct model *model,
                                struct err *err);
enum status import_finish_lara(const struct node *config, struct model *model, struct err *err);
enum status import_finish_lfm3(const struct node *config, struct model *model, struct err *err);
enum status import_finish_lfm2(const struct node *config, struct model *model, struct err *err);
enum status import_finish_lfm2_dense(const struct node *config, struct model *model,
                                     struct err *err);
enum status import_finish_phi(const struct node *config, struct model *model, struct err *err);
enum status import_finish_gptj(const struct node *config, struct model *model, struct err *err);
enum status import_finish_falcon(const struct node *config, struct model *model,
                                 struct err *err);
enum status import_finish_cohere2_moe(const struct node *config, struct model *model,
                                      struct err *err);
enum status import_finish_stablelm(const struct node *config, struct model *model,
                                   struct err *err);
enum status import_finish_olmo3(const struct node *config, struct model *model,
                                struct err *err);
enum status import_finish_exaone4_windows(const struct node *config, struct model *model,
                                          struct err *err);
enum status import_finish_exaone4(const struct node *config, struct model *model,
                                  struct err *err);
enum status import_finish_afmoe(const struct node *config, struct model *model,
                                struct err *err);
enum status import_finish_exaone_moe(const struct node *config, struct model *model,
                                     struct err *err);
enum status import_finish_windowed(const struct node *config, struct model *model,
                                   struct err *err);
enum status import_finish_granite_swa(const struct node *config, struct model *model,
                                      struct err *err);
enum status import_finish_flint(const struct node *config, struct model *model,
                                struct err *err);
enum status import_finish_kolibri(const struct node *config, struct model *model,
                                  struct err *err);
enum status import_finish_indexed(const struct node *config, struct model *model,
                                  struct err *err);
enum status import_finish_deepseek_v4(const struct node *config, struct model *model,
                                      struct err *err);
enum status import_finish_deepseek_v41(const struct node *config, struct model *model,
                                       struct err *err);

#endif

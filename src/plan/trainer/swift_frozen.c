/* What ms-swift leaves untrained without adapters: parameters by their names, and a part of
 * all, from the first on (swift/utils/torch_utils.py, freeze_parameters and
 * activate_parameters). */
#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "plan/trainer/swift.h"
#include "plan/trainer/trainer.h"
#include "plan/layers.h"

struct swift_frozen {
    struct frozen_words begins, language, searched, trained, trained_searched;
    uint64_t below; /* layers within the ratio */
    bool embedding, head;
};

/* ---- a part of all parameters, in the order of the model ---- */

static uint64_t attention_of(const struct model *m)
{
    const struct attention *a = &m->attention;
    uint64_t wide = a->qk_nope_head_dim + a->qk_rope_head_dim;
    if (a->kind != ATTENTION_MLA)
        return m->hidden * a->head_dim *
               ((a->output_gate ? 3 : 2) * a->heads + 2 * a->kv_heads);
    uint64_t q = a->q_lora_rank ? a->q_lora_rank * (m->hidden + a->heads * wide)
                                : m->hidden * a->heads * wide;
    return q + m->hidden * (a->kv_lora_rank + a->qk_rope_head_dim) +
           a->kv_lora_rank * a->heads * (a->qk_nope_head_dim + a->v_head_dim) +
           a->heads * a->v_head_dim * m->hidden;
}

static uint64_t network_of(const struct model *m, enum ffn ffn)
{
    uint64_t wide = m->moe.glu ? 3 : 2;
    if (ffn == FFN_DENSE)
        return wide * m->hidden * m->dense_intermediate;
    return m->hidden * m->moe.experts + wide * m->hidden * m->moe.shared_intermediate +
           wide * model_row_width(m) * m->moe.intermediate * m->moe.experts;
}

static uint64_t layer_of(const struct model *m, uint64_t layer)
{
    uint64_t count[KIND_COUNT] = {0}, sum = 0;
    model_layers(m, layer, layer + 1, count);
    for (unsigned k = 0; k < KIND_COUNT; k++)
        if (count[k])
            sum = attention_of(m) +
                  network_of(m, m->moe.experts ? kind_ffn((enum layer_kind)k) : FFN_DENSE);
    return sum;
}

/* As many as fit within the ratio of all, whole: those of a layer that it cuts are trained
 * here.
 */
static void fill_ratio(const struct model *m, double ratio, struct swift_frozen *frozen)
{
    uint64_t table = m->vocab * m->hidden, all = table * (m->tied_embeddings ? 1 : 2);
    for (uint64_t i = 0; i < m->layers; i++)
        all += layer_of(m, i);
    uint64_t most = (uint64_t)((double)all * ratio), sum = table;
    frozen->embedding = sum <= most;
    while (frozen->below < m->layers && sum + layer_of(m, frozen->below) <= most)
        sum += layer_of(m, frozen->below++);
    frozen->head = ratio >= 1;
}

static enum status read_ratio(struct job *job, const char *flag, struct swift_frozen *frozen)
{
    struct plan *plan = arena_alloc(job->arena, 1, sizeof *plan);
    bool known;
    double ratio = 0;
    TRY(job_real(job, flag, &ratio));
    TRY(job_part(job, "model", plan, &known));
    if (!(ratio > 0) || !known)
        return STATUS_OK;
    if (ratio < 1 && (plan->model.layer_types.n || plan->model.encoder.layers))
        job_warn(job, job_setting(job, flag)->mark,
                 "which layers are within %s %g matters to memory: of this model it is counted "
                 "as if all layers' attention were as long and no encoder came first",
                 flag, ratio);
    fill_ratio(&plan->model, ratio, frozen);
    return STATUS_OK;
}

/* ---- by names ---- */

static bool within_ratio(const struct swift_frozen *frozen, const struct frozen_name *name)
{
    if (name->layer != FROZEN_NO_LAYER)
        return name->layer < frozen->below;
    return strstr(name->names[0], "embed") ? frozen->embedding : frozen->head;
}

static bool trains(const void *with, const struct frozen_name *name)
{
    const struct swift_frozen *f = with;
    bool frozen = within_ratio(f, name) || frozen_meets(&f->begins, name) ||
                  frozen_meets(&f->language, name) || frozen_meets(&f->searched, name);
    return !frozen || frozen_meets(&f->trained, name) ||
           frozen_meets(&f->trained_searched, name);
}

/* freeze_llm is a beginning of names of models with an encoder, which leaves out the head of
 * those of transformers (swift/model/model_arch.py, qwen3_vl; _init_multimodal_full of
 * tuner_args.py and of megatron_args.py). */
static enum status read_language(struct job *job, bool megatron, struct frozen_words *language)
{
    static const char flag[] = "freeze_llm";
    static const char *const begins[] = {"model.language_model", "language_model"};
    struct plan *plan = arena_alloc(job->arena, 1, sizeof *plan);
    bool on = false, known;
    TRY(job_switch(job, flag, &on));
    TRY(job_model(job, plan, &known));
    if (!on || (known && !plan->model.encoder.layers))
        return STATUS_OK;
    const struct draft_item *alone = draft_find(&job->draft, "lora.language");
    if (draft_find(&job->draft, "lora.rank") && !alone)
        job_warn(job, job_setting(job, flag)->mark,
                 "freeze_llm beside adapters matters to memory and is not modelled without "
                 "freeze_vit false: the language model has them here, the encoder none");
    else if (!alone)
        *language = (struct frozen_words){&begins[megatron], 1, MEET_BEGINS};
    return STATUS_OK;
}

enum status swift_set_frozen(struct job *job, bool megatron)
{
    static const char flags[] = "freeze_parameters_ratio freeze_parameters "
                                "freeze_parameters_regex trainable_parameters freeze_llm",
                      ratio_flag[] = "freeze_parameters_ratio";
    struct swift_frozen frozen = {
        .begins = frozen_words_of(job, "freeze_parameters", MEET_BEGINS),
        .searched = frozen_words_of(job, "freeze_parameters_regex", MEET_SEARCHES),
        .trained = frozen_words_of(job, "trainable_parameters", MEET_BEGINS),
        .trained_searched = frozen_words_of(job, "trainable_parameters_regex", MEET_SEARCHES),
    };
    TRY(read_language(job, megatron, &frozen.language));
    if (draft_find(&job->draft, "lora.rank") ||
        (!frozen.begins.n && !frozen.language.n && !frozen.searched.n &&
         !job_given(job, ratio_flag)))
        return STATUS_OK;
    TRY(read_ratio(job, ratio_flag, &frozen));
    return frozen_set(job, megatron ? FROZEN_MEGATRON : FROZEN_TRANSFORMERS, trains, &frozen,
                      flags, megatron ? NULL : trainer_loaded(job));
}

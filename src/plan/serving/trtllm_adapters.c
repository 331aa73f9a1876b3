/* TensorRT-LLM's cache of adapters, from lora_config. Read at llmapi/llm_args.py,
 * lora_helper.py (LoraConfig: a rank of 64, modules by TensorRT-LLM's names) and
 * _torch/pyexecutor/_util.py 00043967 (create_py_executor_instance: max_loras sizes the cache,
 * else device_cache_percent of what is free does; modules have to be named, but beside a single
 * lora_dir). */
#include <inttypes.h>

#include "base/text.h"
#include "plan/layers.h"
#include "plan/serving/trtllm.h"

static const char modules_flag[] = "lora-config.lora-target-modules";
static const char slots_flag[] = "lora-config.max-loras";
static const char rank_flag[] = "lora-config.max-lora-rank";

/* lora_helper.py, get_default_trtllm_modules_to_hf_modules. */
static const char attention[] = "attn_q=q_proj attn_k=k_proj attn_v=v_proj attn_dense=o_proj";
static const char networks[] = "mlp_h_to_4h=gate_proj mlp_gate=up_proj mlp_4h_to_h=down_proj";

enum { MODULES = 7 };

/* The matrices of the modules; how many, 0: some are not modelled beside this model. */
static size_t convert(struct job *job, const struct model *model, const char *words[MODULES])
{
    const struct setting *s =
        job_given(job, modules_flag) ? job_setting(job, modules_flag) : NULL;
    size_t n = s ? s->n : 0;
    for (size_t i = 0; i < n && n <= MODULES; i++) {
        words[i] = job_convert(job, attention, s->values[i]);
        if (!words[i] && model->moe.experts == 0)
            words[i] = job_convert(job, networks, s->values[i]);
        if (!words[i])
            return 0;
    }
    return n <= MODULES ? n : 0;
}

/* Why the cache is not counted, or NULL. */
static const char *left_out(struct job *job, uint64_t slots, bool plain)
{
    if (!slots)
        return "without max_loras it is a share of what is free, device_cache_percent";
    if (!job_given(job, modules_flag))
        return "its modules are in the adapters' files: lora_target_modules says them";
    if (!plain)
        return "grouped-query attention in every layer, without replicas of it, has one here";
    return "of attention's modules and of dense models' networks there is one here";
}

enum status trtllm_set_adapters(struct job *job)
{
    struct plan *plan = arena_alloc(job->arena, 1, sizeof *plan);
    const char *words[MODULES];
    uint64_t slots = 0, rank = 64;
    bool enabled = false, replicas = false, known;
    TRY(job_switch(job, "enable-lora", &enabled));
    TRY(job_switch(job, "enable-attention-dp", &replicas));
    TRY(job_count(job, slots_flag, &slots));
    TRY(job_count(job, rank_flag, &rank));
    TRY(job_part(job, "model", plan, &known));
    const char *said = job_given(job, slots_flag)               ? slots_flag
                       : job_given(job, modules_flag)           ? modules_flag
                       : job_given(job, "lora-config.lora-dir") ? "lora-config.lora-dir"
                       : job_given(job, rank_flag)              ? rank_flag
                       : enabled                                ? "enable-lora"
                                                                : NULL;
    if (!said || !known)
        return STATUS_OK;
    const struct model *model = &plan->model;
    bool plain = !replicas && model_attends_by_groups(model);
    size_t n = plain ? convert(job, model, words) : 0;
    if (!n || !slots || !rank) {
        job_warn(job, job_setting(job, said)->mark,
                 "the cache of adapters matters to memory and is not counted: %s",
                 left_out(job, slots, plain));
        return STATUS_OK;
    }
    job_set_count(job, "lora.slots", slots, slots_flag);
    job_set_count(job, "lora.rank", rank, rank_flag);
    job_set_list(job, "lora.targets", words, n, modules_flag);
    return STATUS_OK;
}

void trtllm_write_adapters(struct job_writer *writer)
{
    const struct lora *lora = &writer->plan->lora;
    struct text list = {.arena = writer->arena};
    if (!lora->slots || !lora->rank)
        return;
    for (uint64_t i = 0; i < lora->targets.n; i++) {
        const char *word = writer_word(writer, attention, lora->targets.word[i]);
        word = word ? word : writer_word(writer, networks, lora->targets.word[i]);
        text_printf(&list, "%s%s", i ? ", " : "", word ? word : lora->targets.word[i]);
    }
    writer_count(writer, slots_flag, lora->slots);
    writer_count(writer, rank_flag, lora->rank);
    writer_flag(writer, modules_flag, arena_printf(writer->arena, "[%s]", text_string(&list)));
}

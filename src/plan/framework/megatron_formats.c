/* Megatron-LM and Megatron-Bridge: formats of numbers, the optimizer, low precision. */
#include <string.h>

#include "plan/framework/megatron.h"

static const char dtypes[] = "fp32=f32 bf16=bf16 fp16=f16 fp8=fp8 float32=f32 bfloat16=bf16 "
                             "torch.float32=f32 torch.bfloat16=bf16 torch.float16=f16 "
                             "torch.uint8=fp8";

static enum status dtype_of(struct job *job, const char *flag, const char **dtype)
{
    const char *word = NULL;
    TRY(job_word(job, flag, &word));
    if (!word)
        return STATUS_OK;
    *dtype = job_convert(job, dtypes, word);
    return *dtype ? STATUS_OK : job_fail(job, flag, "'%s' is no format", word);
}

/* Under a recipe of fp8 whose scaling is not delayed Megatron keeps a master of its own
 * (optimizer_config.py, use_precision_aware_optimizer_no_fp8_or_ds_fp8). Bridge takes the
 * recipe from its precision recipe, which has one even where nothing runs in fp8; the command
 * line's is delayed unless it says another. */
static enum status keeps_master(struct job *job, bool *keeps)
{
    const char *mixed = "", *recipe = "delayed";
    TRY(job_word(job, "mixed_precision", &mixed));
    TRY(job_word(job, "fp8-recipe", &recipe));
    *keeps =
        megatron_is_bridge(job) ? !strstr(mixed, "delayed") : !text_equal(recipe, "delayed");
    return STATUS_OK;
}

/* The optimizer's own formats. */
static enum status set_aware(struct job *job)
{
    const char *gradients = "f32", *master = "f32", *first = "f32", *second = NULL;
    bool keeps;
    TRY(dtype_of(job, "main-grads-dtype", &gradients));
    TRY(dtype_of(job, "main-params-dtype", &master));
    TRY(dtype_of(job, "exp-avg-dtype", &first));
    TRY(keeps_master(job, &keeps));
    second = first;
    TRY(dtype_of(job, "exp-avg-sq-dtype", &second));
    if (job_given(job, "main-grads-dtype") || !megatron_is_bridge(job))
        job_set(job, "precision.gradients", gradients, "main-grads-dtype");
    bool copied = keeps && text_equal(master, "f32");
    job_set(job, "optimizer.precision_aware", copied ? "copied" : "native",
            "use-precision-aware-optimizer");
    job_set(job, "precision.master", master, "main-params-dtype use-precision-aware-optimizer");
    job_set(job, "precision.moments", first, "exp-avg-dtype");
    if (!text_equal(first, second))
        job_set(job, "precision.moment2", second, "exp-avg-sq-dtype");
    return STATUS_OK;
}

/* Which optimizer, and what part of its states the host keeps; the command line's fraction is
 * 1, the dataclass's 0. */
static enum status set_optimizer(struct job *job)
{
    double fraction = megatron_is_bridge(job) ? 0 : 1;
    bool offload;
    char text[32];
    TRY(megatron_is_on(job, "optimizer-cpu-offload", &offload));
    TRY(job_real(job, "optimizer-offload-fraction", &fraction));
    TRY(job_set_optimizer(job, "optimizer",
                          "adam=adam sgd=sgd muon=muon dist_muon=muon lion=lion"));
    if (!offload || !(fraction > 0))
        return STATUS_OK;
    text_double(text, fraction);
    job_set(job, "optimizer.offload", text, "optimizer-cpu-offload optimizer-offload-fraction");
    return STATUS_OK;
}

enum status megatron_set_plain(struct job *job, bool on, uint64_t first, uint64_t last)
{
    TRY(job_switch(job, "first-last-layers-bf16", &on));
    TRY(job_count(job, "num-layers-at-start-in-bf16", &first));
    TRY(job_count(job, "num-layers-at-end-in-bf16", &last));
    if (!on)
        return STATUS_OK;
    job_set_count(job, "precision.plain_first", first,
                  "num-layers-at-start-in-bf16 first-last-layers-bf16 mixed_precision");
    job_set_count(job, "precision.plain_last", last,
                  "num-layers-at-end-in-bf16 first-last-layers-bf16 mixed_precision");
    return STATUS_OK;
}

/* fp8 or fp4 products, by recipe; 16-bit weights stay beside their copies unless the copies
 * are gathered. */
static enum status set_fp8(struct job *job)
{
    static const char recipes[] =
        "delayed=fp8_delayed tensorwise=fp8_current blockwise=fp8_block mxfp8=mxfp8";
    const char *format = NULL, *four = NULL, *name = "delayed";
    bool gather, pads;
    TRY(job_word(job, "fp8-format", &format));
    TRY(job_word(job, "fp4-format", &four));
    TRY(job_word(job, "fp8-recipe", &name));
    TRY(megatron_is_on(job, "fp8-param-gather", &gather));
    TRY(megatron_is_on(job, "moe-router-padding-for-quantization", &pads));
    if (pads)
        job_set(job, "moe.alignment", text_equal(name, "mxfp8") ? "32" : "16",
                "moe-router-padding-for-quantization");
    if (!format && !four)
        return STATUS_OK;
    const char *recipe = four ? "nvfp4" : job_convert(job, recipes, name);
    if (!recipe)
        return job_fail(job, "fp8-recipe", "'%s' is no recipe a plan has", name);
    job_set(job, "precision.compute", "fp8", "fp8-format fp4-format");
    job_set(job, "precision.recipe", recipe, "fp8-recipe fp8-format fp4-format");
    if (gather)
        job_set(job, "precision.quantized_params", "true", "fp8-param-gather");
    return megatron_set_plain(job, false, 1, 1);
}

enum status megatron_set_formats(struct job *job)
{
    bool bf16, fp16, reduce, aware, reduce_f32 = true;
    TRY(megatron_is_on(job, "bf16", &bf16));
    TRY(megatron_is_on(job, "fp16", &fp16));
    TRY(megatron_is_on(job, "grad-reduce-in-bf16", &reduce));
    TRY(job_switch(job, "grad_reduce_in_fp32", &reduce_f32));
    if (bf16 && fp16)
        return job_fail(job, "fp16", "bf16 and fp16 exclude each other");
    const char *weights = bf16 ? "bf16" : fp16 ? "f16" : "f32";
    const char *gradients = reduce || !reduce_f32 ? "bf16" : "f32";
    job_set(job, "precision.weights", weights, "bf16 fp16 mixed_precision");
    job_set_rows(job, weights, "bf16 fp16 mixed_precision");
    job_set(job, "precision.compute", bf16 || fp16 ? "bf16" : "f32",
            "bf16 fp16 mixed_precision");
    job_set(job, "precision.gradients", gradients, "grad-reduce-in-bf16 grad_reduce_in_fp32");
    job_set(job, "precision.master", bf16 || fp16 ? "f32" : "none",
            "bf16 fp16 mixed_precision");
    job_set(job, "precision.moments", "f32", "");
    TRY(megatron_is_on(job, "use-precision-aware-optimizer", &aware));
    if (aware)
        TRY(set_aware(job));
    TRY(set_optimizer(job));
    return set_fp8(job);
}

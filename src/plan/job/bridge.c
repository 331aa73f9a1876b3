/* Megatron-Bridge: a Python recipe with overrides, in Megatron's names. What only the recipe
 * says is not known; its name may say which model it is for. Read at
 * NVIDIA-NeMo/Megatron-Bridge 067f987df03b. */
#include <string.h>

#include "plan/job/reader.h"

/* Recipes are called "qwen3_30b_a3b_pretrain_config", "deepseek_v3": the longest beginning. */
static const char *model_of_recipe(struct job *job, const char *recipe)
{
    char *name = arena_strdup(job->arena, recipe);
    for (size_t length = strlen(name); length > 2; length--) {
        name[length] = '\0';
        const char *model = model_name_from(NAMES_BRIDGE, name, job->arena);
        if (model)
            return model;
    }
    return NULL;
}

static enum status read_recipe(struct job *job)
{
    const char *recipe = NULL;
    const char *flag = job_given(job, "recipe") ? "recipe" : "model_recipe_name";
    TRY(job_word(job, flag, &recipe));
    if (!recipe)
        return STATUS_OK;
    const char *model = model_of_recipe(job, recipe);
    job_warn(job, job_setting(job, flag)->mark,
             "recipe '%s' is a Python function, which is not read: what it sets is missing",
             recipe);
    if (model && !draft_find(&job->draft, "model"))
        job_set(job, "model", model, flag);
    return STATUS_OK;
}

/* Each derives from bf16_mixed, which reduces gradients in f32. */
static const struct recipe {
    const char *name, *weights, *compute;
} recipes[] = {
    {"bf16_mixed", "bf16", "bf16"},
    {"bf16_with_fp8_delayed_scaling_mixed", "fp8", "fp8"},
    {"bf16_with_fp8_current_scaling_mixed", "fp8", "fp8"},
    {"bf16_with_fp8_subchannel_scaling_mixed", "bf16", "fp8"},
    {"bf16_with_mxfp8_mixed", "mxfp8", "fp8"},
    {"bf16_with_nvfp4_mixed", "nvfp4", "fp8"},
};

static bool same(const char *a, const char *b)
{
    for (; *a && *b; a++, b++)
        if (*a != *b && !(*a == '-' && *b == '_'))
            return false;
    return *a == *b;
}

static enum status read_precision(struct job *job)
{
    static const char *const sixteen[] = {"precision.activations", "precision.dispatch",
                                          "precision.combine"};
    const char *name = "bf16_mixed", *dtype = "bf16";
    TRY(job_word(job, "mixed_precision", &name));
    TRY(job_word(job, "compute_dtype", &dtype));
    if (!job_given(job, "mixed_precision") &&
        (job_given(job, "bf16") || job_given(job, "fp16")))
        return STATUS_OK;
    const struct recipe *found = NULL;
    for (size_t i = 0; i < sizeof recipes / sizeof *recipes; i++)
        if (same(name, recipes[i].name))
            found = &recipes[i];
    if (!found)
        return job_fail(job, "mixed_precision", "'%s' is no precision recipe", name);
    for (size_t i = 0; i < 3; i++)
        job_set(job, sixteen[i], "bf16", "mixed_precision");
    bool fp8 = text_starts(dtype, "fp8") || text_starts(dtype, "FP8");
    job_set(job, "precision.weights", found->weights, "mixed_precision");
    job_set(job, "precision.compute", fp8 ? "fp8" : found->compute,
            "mixed_precision compute_dtype");
    job_set(job, "precision.master", "f32", "mixed_precision");
    if (!job_given(job, "grad_reduce_in_fp32"))
        job_set(job, "precision.gradients", "f32", "mixed_precision");
    return STATUS_OK;
}

/* The performance scripts name the device and the number of ranks. */
static enum status bridge_prepare(struct job *job)
{
    const char *device = NULL;
    TRY(job_count(job, "num_gpus", &job->size.world));
    TRY(job_count(job, "gpus_per_node", &job->size.per_node));
    TRY(job_word(job, "gpu", &device));
    if (device)
        job_set(job, "cluster", device, "gpu");
    return STATUS_OK;
}

static enum status bridge_finish(struct job *job)
{
    TRY(read_recipe(job));
    bool described = job_given(job, "num-layers") || draft_find(&job->draft, "model");
    if (!described) {
        job_fail(job, NULL, "the job does not say which model it runs");
        return err_hint(job->err, "a recipe's model is not read: name it, as in --set "
                                  "model=qwen3-30b-a3b");
    }
    TRY(megatron_finish(job));
    if (!job_given(job, "use-distributed-optimizer") && !job_given(job, "use-megatron-fsdp"))
        job_set(job, "parallel.zero", "1", "");
    return read_precision(job);
}

const struct job_framework job_bridge = {
    .name = "bridge",
    .title = "a Megatron-Bridge job",
    .stack = "megatron",
    .source = "NVIDIA-NeMo/Megatron-Bridge 067f987df03b",
    .syntax = JOB_OVERRIDES,
    .sections =
        "model. train. ddp. optimizer. scheduler. dataset. tokenizer. checkpoint. dist. "
        "logger. rng. comm_overlap. mixed_precision. validation. profiling. "
        "optimizer_config.",
    .flags = megatron_flags,
    .n_flags = &megatron_n_flags,
    .prepare = bridge_prepare,
    .finish = bridge_finish,
    .trains = true,
};

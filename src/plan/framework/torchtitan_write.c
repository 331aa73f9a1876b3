/* A plan as a TOML file of torchtitan's; see torchtitan.h. */
#include "plan/framework/torchtitan.h"

#include <inttypes.h>
#include <string.h>

#include "plan/schema/schema.h"

static bool stands_bare(const char *value)
{
    return strchr("\"[", value[0]) || text_equal(value, "true") ||
           value[strspn(value, "0123456789.")] == '\0';
}

void torchtitan_write_line(struct job_writer *writer, const char *name, const char *value)
{
    const char *text = value ? value : "true", *quote = stands_bare(text) ? "" : "\"";
    text_printf(writer->out, "%s = %s%s%s\n", name, quote, text, quote);
}

static void write_model(struct job_writer *writer)
{
    const char *both = model_name_to(NAMES_TORCHTITAN, writer->plan->model_name);
    const char *space = both ? strchr(both, ' ') : NULL;
    if (!space)
        return;
    writer_flag(writer, "model.name",
                arena_strndup(writer->arena, both, (size_t)(space - both)));
    writer_flag(writer, "model.flavor", space + 1);
}

static void write_recompute(struct job_writer *writer)
{
    static const char *const modes[] = {"none", "selective", "full", "full"};
    const struct plan *plan = writer->plan;
    const struct recompute_plan *r = &plan->recompute;
    uint64_t chunks = plan->parallel.pp * plan->parallel.vpp,
             of_stage = (plan->model.layers + chunks - 1) / chunks;
    bool some = r->kind == RECOMPUTE_FULL && r->layers > 0 && r->layers < of_stage;
    writer_flag(writer, "activation_checkpoint.mode", some ? "memory_budget" : modes[r->kind]);
    if (some)
        writer_flag(
            writer, "activation_checkpoint.memory_budget",
            arena_printf(writer->arena, "%.6f", 1 - (double)r->layers / (double)of_stage));
    if (r->kind == RECOMPUTE_SELECTIVE)
        writer_flag(
            writer, "activation_checkpoint.selective_ac_option",
            arena_printf(writer->arena, "\"%s\"", r->modules.n ? r->modules.word[0] : "op"));
}

enum status torchtitan_write(struct job_writer *writer)
{
    const struct plan *plan = writer->plan;
    const struct parallel *p = &plan->parallel;
    bool pipeline = p->pp > 1;
    if (plan->workload.mode != MODE_TRAIN)
        return err_set(writer->err, STATUS_INPUT,
                       "torchtitan's jobs train: workload.mode is %s",
                       words_mode[plan->workload.mode]);
    write_model(writer);
    writer_count(writer,
                 pipeline ? "parallelism.pipeline_parallel_microbatch_size"
                          : "training.local_batch_size",
                 plan->workload.micro_batch);
    if (plan->workload.global_batch)
        writer_count(writer, "training.global_batch_size", plan->workload.global_batch);
    if (p->zero == 0)
        writer_flag(writer, "parallelism.data_parallel_shard_degree", "1");
    if (pipeline && p->stages.n == 0) {
        writer_count(writer, "parallelism.pipeline_parallel_first_stage_less_layers", 0);
        writer_count(writer, "parallelism.pipeline_parallel_last_stage_less_layers", 0);
    }
    if (p->ep > 1 && p->etp > 1)
        writer_count(writer, "parallelism.expert_tensor_parallel_degree", p->etp);
    writer_direct(writer);
    write_recompute(writer);
    if (plan->precision.activations == DTYPE_F32)
        writer_flag(writer, "training.mixed_precision_param", "float32");
    const char *state =
        writer_word(writer, "float32=f32 bfloat16=bf16", words_dtype[plan->precision.moments]);
    if (state && plan->precision.moments != plan->precision.weights)
        writer_flag(writer, "optimizer.state_dtype", state);
    if (p->tp > 1 && !plan->stack.loss_parallel)
        writer_flag(writer, "parallelism.disable_loss_parallel", "true");
    if (plan->optimizer.offload == 1 && plan->optimizer.offload_params)
        writer_flag(writer, "training.enable_cpu_offload", "true");
    if (plan->workload.async_checkpoint) {
        writer_flag(writer, "checkpoint.enable", "true");
        writer_flag(writer, "checkpoint.async_mode", "async_with_pinned_mem");
    }
    if (plan->stack.compiled)
        writer_flag(writer, "compile.enable", "true");
    if (plan->precision.compute == COMPUTE_FP8)
        writer_flag(writer, "model.converters", "[\"float8\"]");
    return STATUS_OK;
}

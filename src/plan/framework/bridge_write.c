/* A plan as overrides of a Megatron-Bridge recipe: Megatron's flags in Bridge's sections. A
 * recipe sets the layout by itself, so every axis is said, those of one rank too. The model is
 * the recipe's: its sizes are not repeated. */
#include <string.h>

#include "base/text.h"
#include "plan/derive.h"
#include "plan/framework/megatron.h"
#include "plan/schema/schema.h"

/* Where Bridge keeps a flag that is none of `model`, or calls it something else. */
static const struct place {
    const char *flag, *field;
} places[] = {
    {"micro-batch-size", "train.micro_batch_size"},
    {"global-batch-size", "train.global_batch_size"},
    {"use-distributed-optimizer", "ddp.use_distributed_optimizer"},
    {"use-megatron-fsdp", "ddp.use_megatron_fsdp"},
    {"data-parallel-sharding-strategy", "ddp.data_parallel_sharding_strategy"},
    {"overlap-grad-reduce", "ddp.overlap_grad_reduce"},
    {"overlap-param-gather", "ddp.overlap_param_gather"},
    {"grad_reduce_in_fp32", "ddp.grad_reduce_in_fp32"},
    {"num-virtual-stages-per-pipeline-rank", "model.virtual_pipeline_model_parallel_size"},
    {"microbatch-group-size-per-virtual-pipeline-stage",
     "model.microbatch_group_size_per_vp_stage"},
    {"tp-comm-overlap", "comm_overlap.tp_comm_overlap"},
    {"overlap-moe-expert-parallel-comm", "comm_overlap.overlap_moe_expert_parallel_comm"},
    {"async-save", "checkpoint.async_save"},
    {"optimizer", "optimizer.optimizer"},
    {"optimizer-cpu-offload", "optimizer.optimizer_cpu_offload"},
    {"optimizer-offload-fraction", "optimizer.optimizer_offload_fraction"},
    {"mixed_precision", "mixed_precision"},
    /* the recipe that mixed_precision names says so over the model (mixed_precision.py) */
    {"first-last-layers-bf16", NULL},
    {"num-layers-at-start-in-bf16", NULL},
    {"num-layers-at-end-in-bf16", NULL},
    {"no-overlap-p2p-communication", NULL}, /* no field of its own: a "#moeplan" line says it */
};

/* "model.tensor_model_parallel_size" of "tensor-model-parallel-size"; NULL: Bridge has none. */
static const char *field_of(struct job_writer *writer, const char *flag)
{
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (text_equal(places[i].flag, flag))
            return places[i].field;
    const struct job_flag *row = job_flag_find(writer->framework, flag, strlen(flag));
    if (row && row->key && text_starts(row->key, "model."))
        return NULL;
    char *field = arena_printf(writer->arena, "model.%s", flag);
    for (char *at = field; *at; at++)
        *at = *at == '-' ? '_' : *at;
    return field;
}

static bool is_said(const struct job_writer *writer, const char *field)
{
    return strstr(text_string(writer->out), arena_printf(writer->arena, " %s=", field)) != NULL;
}

/* Lists in brackets, quoted texts in Hydra's own quotes inside the shell's. */
void bridge_write_flag(struct job_writer *writer, const char *name, const char *value)
{
    const char *field = field_of(writer, name);
    if (!field || is_said(writer, field))
        return;
    const char *text = value ? value : "true";
    size_t length = strlen(text);
    const struct job_flag *row = job_flag_find(writer->framework, name, strlen(name));
    text_append(writer->out, " \\\n ");
    if (row && row->shape == JOB_LIST) {
        text_printf(writer->out, " '%s=[", field);
        for (; *text; text++)
            text_printf(writer->out, "%c", *text == ' ' ? ',' : *text);
        text_append(writer->out, "]'");
    } else if (text[0] == '\'' && length > 1) {
        text_printf(writer->out, " '%s=\"%.*s\"'", field, (int)length - 2, text + 1);
    } else {
        text_printf(writer->out, " %s=%s", field, text);
    }
}

static void write_precision(struct job_writer *writer)
{
    const struct precision *p = &writer->plan->precision;
    const char *recipe = bridge_precision(p->recipe);
    if (p->activations == DTYPE_BF16 && recipe)
        writer_flag(writer, "mixed_precision", recipe);
    writer_flag(writer, "grad_reduce_in_fp32", p->gradients == DTYPE_F32 ? "true" : "false");
}

static void write_axes(struct job_writer *writer)
{
    const struct parallel *p = &writer->plan->parallel;
    writer_count(writer, "tensor-model-parallel-size", p->tp);
    writer_count(writer, "pipeline-model-parallel-size", p->pp);
    writer_count(writer, "context-parallel-size", p->cp);
    writer_count(writer, "expert-model-parallel-size", p->ep);
    writer_flag(writer, "sequence-parallel", p->sp ? "true" : "false");
    writer_flag(writer, "use-distributed-optimizer", p->zero == 1 ? "true" : "false");
}

enum status bridge_write(struct job_writer *writer)
{
    const struct plan *plan = writer->plan;
    const char *recipe = model_name_to(NAMES_BRIDGE, plan->model_name);
    uint64_t world = plan_world(plan), nodes = plan->cluster.nodes;
    if (plan->workload.mode != MODE_TRAIN)
        return err_set(writer->err, STATUS_INPUT,
                       "Megatron-Bridge's jobs train: workload.mode is %s",
                       words_mode[plan->workload.mode]);
    text_printf(writer->out,
                "torchrun --nnodes %llu --nproc-per-node %llu scripts/training/run_recipe.py",
                (unsigned long long)nodes, (unsigned long long)(nodes ? world / nodes : world));
    if (recipe)
        text_printf(writer->out, " \\\n  --recipe %s_pretrain_config", recipe);
    write_axes(writer);
    writer_direct(writer);
    megatron_write_rest(writer);
    write_precision(writer);
    return STATUS_OK;
}

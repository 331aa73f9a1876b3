/* What Megatron-Bridge's recipes set by themselves, of those that are functions of no
 * arguments but their names: NVIDIA-NeMo/Megatron-Bridge 04eb4f8d6045 (recipes/qwen/h100/
 * qwen3_moe.py), 0edb66993a77 (recipes/deepseek/h100/deepseek_v3.py), 0eca073e6f14
 * (recipes/common.py). Their names stay while their values change, so a job is told. */
#include <string.h>

#include "plan/framework/megatron.h"

#define PRETRAIN(batch, micro)                                                                 \
    "train: {global_batch_size: " batch ", micro_batch_size: " micro "}\n"                     \
    "mixed_precision: bf16_mixed\n"                                                            \
    "ddp: {overlap_grad_reduce: true, overlap_param_gather: true}\n"
#define LORA(rank, targets)                                                                    \
    "peft: {_target_: LoRA, dim: " rank ", target_modules: [" targets "]}\n"
#define ALL "linear_qkv, linear_proj, linear_fc1, linear_fc2"

#define LAYOUT(tp, pp, cp, ep, length)                                                         \
    "  tensor_model_parallel_size: " tp "\n"                                                   \
    "  pipeline_model_parallel_size: " pp "\n"                                                 \
    "  context_parallel_size: " cp "\n"                                                        \
    "  expert_model_parallel_size: " ep "\n"                                                   \
    "  expert_tensor_parallel_size: 1\n"                                                       \
    "  seq_length: " length "\n"                                                               \
    "  cross_entropy_loss_fusion: true\n"                                                      \
    "  cross_entropy_fusion_impl: te\n"
#define SEQUENCES "  sequence_parallel: true\n"
#define FLEX(backend)                                                                          \
    "  moe_token_dispatcher_type: flex\n"                                                      \
    "  moe_flex_dispatcher_backend: " backend "\n"
#define AGAIN                                                                                  \
    "  recompute_granularity: full\n"                                                          \
    "  recompute_method: uniform\n"                                                            \
    "  recompute_num_layers: 1\n"
#define ENDS                                                                                   \
    "  account_for_embedding_in_pipeline_split: true\n"                                        \
    "  account_for_loss_in_pipeline_split: true\n"
#define REDUCES_BF16 "  grad_reduce_in_fp32: false\n"
#define DEEPSEEK(pp, ep, layout)                                                               \
    PRETRAIN("4096", "1")                                                                      \
    "optimizer:\n"                                                                             \
    "  use_precision_aware_optimizer: true\n"                                                  \
    "  main_grads_dtype: torch.bfloat16\n"                                                     \
    "  exp_avg_dtype: torch.bfloat16\n"                                                        \
    "  exp_avg_sq_dtype: torch.bfloat16\n"                                                     \
    "model:\n" LAYOUT("2", pp, "1", ep, "4096") SEQUENCES FLEX("hybridep") REDUCES_BF16        \
        "  mtp_num_layers: 1\n"                                                                \
        "  pipeline_model_parallel_layout: \"" layout "\"\n"

static const struct own {
    const char *names; /* spaces between */
    const char *commit, *text;
} own[] = {
    {"_pretrain_common", "0eca073e6f14", PRETRAIN("32", "2") "model: {seq_length: 4096}\n"},
    {"_sft_common", "0eca073e6f14", PRETRAIN("128", "1") "model: {seq_length: 2048}\n"},
    {"_peft_common", "0eca073e6f14",
     PRETRAIN("128", "1") LORA("32", ALL) "model: {seq_length: 2048}\n"},
    {"qwen3_30b_a3b_pretrain_config qwen3_30b_a3b_pretrain_16gpu_h100_bf16_config",
     "04eb4f8d6045",
     PRETRAIN("1024", "1") "model:\n" LAYOUT("1", "1", "1", "16", "4096") FLEX("hybridep")
         REDUCES_BF16 "  cuda_graph_impl: transformer_engine\n"
                      "  cuda_graph_scope: [moe_router, moe_preprocess]\n"},
    {"qwen3_30b_a3b_pretrain_8gpu_h100_bf16_config", "04eb4f8d6045",
     PRETRAIN("32", "2") "model:\n" LAYOUT("4", "2", "1", "4", "4096") SEQUENCES FLEX("deepep")
         AGAIN},
    {"qwen3_30b_a3b_sft_config qwen3_30b_a3b_sft_8gpu_h100_bf16_config", "04eb4f8d6045",
     PRETRAIN("32", "1") "model:\n" LAYOUT("4", "2", "1", "4", "2048")
         SEQUENCES FLEX("deepep")},
    {"qwen3_30b_a3b_peft_config qwen3_30b_a3b_peft_4gpu_h100_bf16_config", "04eb4f8d6045",
     PRETRAIN("32", "1") LORA("8", "linear_qkv, linear_proj") "model:\n" LAYOUT(
         "4", "1", "1", "4", "2048") SEQUENCES FLEX("deepep")},
    {"qwen3_235b_a22b_pretrain_config qwen3_235b_a22b_pretrain_256gpu_h100_bf16_config",
     "04eb4f8d6045",
     PRETRAIN("32", "1") "model:\n" LAYOUT("4", "16", "2", "8", "4096")
         SEQUENCES ENDS FLEX("deepep")},
    {"qwen3_235b_a22b_sft_config qwen3_235b_a22b_sft_64gpu_h100_bf16_config", "04eb4f8d6045",
     PRETRAIN("32", "1") "model:\n" LAYOUT("4", "16", "1", "4", "2048")
         SEQUENCES ENDS FLEX("deepep")},
    {"qwen3_235b_a22b_peft_config qwen3_235b_a22b_peft_16gpu_h100_bf16_config", "04eb4f8d6045",
     PRETRAIN("32", "1") LORA("8", "linear_qkv, linear_proj") "model:\n" LAYOUT(
         "4", "4", "1", "4", "2048") SEQUENCES ENDS FLEX("deepep")},
    {"deepseek_v3_pretrain_config deepseek_v3_pretrain_1024gpu_h100_bf16_config",
     "0edb66993a77", DEEPSEEK("16", "64", "Et*4|(t*4|)*14tmL")},
    {"deepseek_v3_pretrain_config_32nodes deepseek_v3_pretrain_256gpu_h100_bf16_32nodes_config",
     "0edb66993a77", DEEPSEEK("8", "32", "Et*8|(t*8|)*6t*5mL") AGAIN},
};

static bool has_name(const char *names, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = names; *at;) {
        size_t n = strcspn(at, " ");
        if (n == length && strncmp(at, name, n) == 0)
            return true;
        at += n + (at[n] == ' ');
    }
    return false;
}

enum status bridge_add_recipe(struct job *job, const char *recipe, const char **commit)
{
    const struct own *found = NULL;
    struct node *root = NULL;
    unsigned before = job->layer;
    size_t first = job->n_settings;
    *commit = NULL;
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (has_name(own[i].names, recipe))
            found = &own[i];
    if (!found)
        return STATUS_OK;
    *commit = found->commit;
    TRY(source_read_text(recipe, found->text, strlen(found->text), job->arena, &root,
                         job->err));
    job->layer = JOB_FILE;
    enum status status = job_add_node(job, "", root);
    job->layer = before;
    for (size_t i = first; i < job->n_settings; i++) {
        struct setting *s = &job->settings[i];
        s->mark = (struct mark){0};
        s->used = true;
        s->said = arena_printf(job->arena, "%s of %s", s->name, recipe);
        if (s->flag && s->flag->read > JOB_RULE)
            s->flag = NULL;
    }
    return status;
}

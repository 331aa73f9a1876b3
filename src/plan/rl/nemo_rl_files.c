/* The files of a NeMo-RL configuration: `defaults` names one or several that it inherits from,
 * beside it, each with its own (NVIDIA-NeMo/RL 017238e5abec, nemo_rl/utils/config.py). */
#include <string.h>

#include "plan/rl/nemo_rl.h"

enum { PARENTS = 32, TOP = JOB_COMMAND_LINE - 1 };

bool nemo_rl_says(const struct job *job, const char *head)
{
    for (size_t i = 0; i < job->n_settings; i++)
        if (!job->settings[i].null && text_starts(job->settings[i].name, head))
            return true;
    return false;
}

/* ---- NeMo-RL's own files ---- */

/* What matters to memory in examples/configs of 00294d9baabc (GRPO) and 00455ac0895f. */
#define PARTS                                                                                  \
    "  precision: bfloat16\n"                                                                  \
    "  optimizer: {name: torch.optim.AdamW, kwargs: {foreach: false, fused: false}}\n"

#define DTENSOR(on)                                                                            \
    "  dtensor_cfg: {enabled: " on ", cpu_offload: false, sequence_parallel: false,\n"         \
    "    activation_checkpointing: false, tensor_parallel_size: 1, context_parallel_size: "    \
    "1}\n"

#define MEGATRON(on)                                                                           \
    "  megatron_cfg:\n"                                                                        \
    "    enabled: " on "\n"                                                                    \
    "    activation_checkpointing: false\n"                                                    \
    "    tensor_model_parallel_size: 1\n"                                                      \
    "    expert_tensor_parallel_size: 1\n"                                                     \
    "    expert_model_parallel_size: 1\n"                                                      \
    "    pipeline_model_parallel_size: 1\n"                                                    \
    "    context_parallel_size: 1\n"                                                           \
    "    sequence_parallel: false\n"                                                           \
    "    moe_token_dispatcher_type: alltoall\n"                                                \
    "    optimizer: {optimizer: adam, bf16: true, use_distributed_optimizer: true,\n"          \
    "      use_precision_aware_optimizer: true, optimizer_cpu_offload: false}\n"               \
    "    distributed_data_parallel_config: {grad_reduce_in_fp32: false,\n"                     \
    "      overlap_grad_reduce: true, overlap_param_gather: true}\n"

#define TOKENS                                                                                 \
    "\"${mul:${policy.max_total_sequence_length}, ${policy.train_micro_batch_size}}\""

#define GRPO(dtensor, megatron)                                                                \
    "grpo: {num_prompts_per_step: 32, num_generations_per_prompt: 16}\n"                       \
    "policy:\n"                                                                                \
    "  train_global_batch_size: 512\n"                                                         \
    "  train_micro_batch_size: 4\n"                                                            \
    "  max_total_sequence_length: 512\n" PARTS                                                 \
    DTENSOR(dtensor) MEGATRON(                                                                 \
        megatron) "  sequence_packing: {enabled: true, train_mb_tokens: " TOKENS "}\n"         \
                  "  dynamic_batching: {enabled: false, train_mb_tokens: " TOKENS "}\n"        \
                  "  generation:\n"                                                            \
                  "    backend: vllm\n"                                                        \
                  "    vllm_cfg: {tensor_parallel_size: 1, pipeline_parallel_size: 1,\n"       \
                  "      expert_parallel_size: 1, gpu_memory_utilization: 0.6}\n"              \
                  "    colocated: {enabled: true}\n"                                           \
                  "cluster: {gpus_per_node: 1, num_nodes: 1}\n"

#define SUPERVISED(kind, batch, micro)                                                         \
    kind ": {seed: 42}\n"                                                                      \
         "policy:\n"                                                                           \
         "  train_global_batch_size: " batch "\n"                                              \
         "  train_micro_batch_size: " micro "\n"                                               \
         "  max_total_sequence_length: 1024\n" PARTS DTENSOR("true")                           \
             MEGATRON("false") "  sequence_packing: {enabled: false, train_mb_tokens: " TOKENS \
                               "}\n"                                                           \
                               "  dynamic_batching: {enabled: false, train_mb_tokens: " TOKENS \
                               "}\n"                                                           \
                               "cluster: {gpus_per_node: 1, num_nodes: 1}\n"

static const struct own {
    const char *file, *script, *kind, *text; /* script, kind: whose it is unless told */
} own[] = {
    {"grpo_math_1B.yaml", "run_grpo", "grpo.", GRPO("true", "false")},
    {"grpo_math_1B_megatron.yaml", NULL, NULL, GRPO("false", "true")},
    {"sft.yaml", "run_sft", "sft.", SUPERVISED("sft", "32", "1")},
    {"dpo.yaml", "run_dpo", "dpo.", SUPERVISED("dpo", "128", "2")},
};

/* Files that are read, each in a layer above those that it inherits from. */
struct files {
    struct job *job;
    unsigned n, visits;
};

/* Values that stand unless they are given; none of them is the user's to be told of. */
static enum status add_own(struct files *files, const struct own *file, unsigned layer)
{
    struct job *job = files->job;
    struct node *root = NULL;
    size_t first = job->n_settings;
    job->layer = layer;
    TRY(source_read_text(file->file, file->text, strlen(file->text), job->arena, &root,
                         job->err));
    TRY(job_add_node(job, "", root));
    for (size_t i = first; i < job->n_settings; i++) {
        struct setting *s = &job->settings[i];
        s->mark = (struct mark){0};
        s->used = true;
        if (s->flag && s->flag->read > JOB_RULE)
            s->flag = NULL;
        s->said = arena_printf(job->arena, "%s of %s", s->name, file->file);
    }
    return STATUS_OK;
}

static const struct own *own_file(const char *name)
{
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (text_equal(own[i].file, text_base_name(name)))
            return &own[i];
    return NULL;
}

/* The one that a script, or a file of such settings, has where nothing is named; NULL: there is
 * none. */
static const struct own *own_of(const struct job *job)
{
    for (size_t j = 0; j < sizeof own / sizeof *own; j++) {
        for (size_t i = 0; own[j].script && job->command && i < job->command->n; i++)
            if (text_starts(text_base_name(job->command->items[i].text), own[j].script))
                return &own[j];
        if (own[j].kind && nemo_rl_says(job, own[j].kind))
            return &own[j];
    }
    return NULL;
}

/* ---- inheritance ---- */

static enum status add_parents(struct files *files, const char *child, const char *const *names,
                               size_t n, struct mark mark);

/* Texts of a scalar or of a list. */
static size_t names_of(struct job *job, const struct node *node, const char ***names)
{
    size_t n = 0;
    *names = arena_alloc(job->arena, node ? node->n + 1 : 1, sizeof **names);
    if (node && node->kind == NODE_SCALAR && !node_is_null(node))
        (*names)[n++] = node->text;
    for (const struct node *item = node && node->kind == NODE_SEQUENCE ? node->first : NULL;
         item; item = item->next)
        if (item->kind == NODE_SCALAR)
            (*names)[n++] = item->text;
    return n;
}

/* What a mapping with `_override_` says stands in place of what its parents say of it. */
static void drop_overridden(struct job *job)
{
    static const char marker[] = "._override_";
    for (size_t i = 0; i < job->n_settings; i++) {
        const struct setting *s = &job->settings[i];
        if (!text_ends(s->name, marker))
            continue;
        size_t head = strlen(s->name) - strlen(marker) + 1;
        for (size_t j = 0; j < job->n_settings; j++)
            if (job->settings[j].layer < s->layer &&
                strncmp(job->settings[j].name, s->name, head) == 0)
                job->settings[j].null = true;
    }
}

static enum status add_text(struct files *files, const char *path, const char *text,
                            size_t length)
{
    struct job *job = files->job;
    struct node *root = NULL;
    const char **names;
    TRY(source_read_job(path, text, length, job->arena, &root, job->err));
    if (root->kind != NODE_MAPPING)
        return err_at(job->err, root->mark, "a file of settings is a mapping");
    const struct node *parents = node_get(root, "defaults");
    size_t n = names_of(job, parents, &names);
    TRY(add_parents(files, path, names, n, parents ? parents->mark : root->mark));
    job->layer = JOB_FILE + ++files->n;
    return job_add_node(job, "", root);
}

/* A file beside the one that names it. */
static const char *beside(struct job *job, const char *child, const char *name)
{
    size_t folder = (size_t)(text_base_name(child) - child);
    return name[0] == '/' ? name : arena_printf(job->arena, "%.*s%s", (int)folder, child, name);
}

static enum status add_parent(struct files *files, const char *child, const char *name,
                              struct mark mark)
{
    struct job *job = files->job;
    const char *path, *text;
    size_t length;
    if (files->visits++ == PARENTS)
        return err_at(job->err, mark, "more than %d files below each other", PARENTS);
    TRY(job_other_file(job, beside(job, child, name), &path, &text, &length));
    if (text)
        return add_text(files, path, text, length);
    const struct own *known = own_file(name), *instead = own_of(job);
    if (known)
        return add_own(files, known, JOB_FILE + ++files->n);
    instead = instead ? instead : &own[0];
    job_warn(job, mark,
             "'%s' is not there, and what it sets may matter to memory: what this job does not "
             "say is taken as in NeMo-RL's %s",
             name, instead->file);
    return add_own(files, instead, JOB_FILE); /* below all that are there */
}

static enum status add_parents(struct files *files, const char *child, const char *const *names,
                               size_t n, struct mark mark)
{
    for (size_t i = 0; i < n; i++)
        TRY(add_parent(files, child, names[i], mark));
    return STATUS_OK;
}

/* The configuration of a script: that of --config, or its own. */
static enum status add_script(struct files *files)
{
    struct job *job = files->job;
    const struct setting *config = job_setting(job, "config");
    const char *path, *text = NULL;
    size_t length;
    const char *name = NULL;
    TRY(job_word(job, "config", &name)); /* one that only the shell knows is no default */
    if (config && name) {
        TRY(job_other_file(job, config->values[0], &path, &text, &length));
        return text || own_file(config->values[0])
                   ? add_parent(files, "", config->values[0], config->mark)
                   : job_need_file(job, "config", config->values[0], JOB_FILE);
    }
    const struct own *known = own_of(job);
    return known ? add_own(files, known, JOB_FILE) : STATUS_OK;
}

enum status nemo_rl_add_files(struct job *job)
{
    struct files files = {.job = job};
    const struct setting *parents = job->shell ? NULL : job_setting(job, "defaults");
    unsigned before = job->layer;
    enum status status = STATUS_OK;
    if (!job->shell)
        job_raise(job, TOP);
    if (job->shell)
        status = add_script(&files);
    else if (parents) /* the job's own values stand above: they are there already */
        status = add_parents(&files, text_base_name(job->file), parents->values, parents->n,
                             parents->mark);
    job->layer = before;
    job_given(job, "defaults"); /* those of parents are read, too */
    drop_overridden(job);
    return status;
}

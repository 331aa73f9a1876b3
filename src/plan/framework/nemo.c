/* NeMo 2's recipes in Python: a function of nemo.collections.llm.recipes that gives a
 * run.Partial, or a script that changes what one gives. Its parts are Megatron's settings in
 * other places, which are those of Bridge: trainer.strategy, model.config, data, optim. Read as
 * text, never run. Read at nemo_toolkit 2.5.3 (collections/llm/recipes, lightning/pytorch/
 * strategies/megatron_strategy.py, plugins/mixed_precision.py). */
#include <ctype.h>
#include <string.h>

#include "plan/framework/megatron.h"
#include "plan/job/python_set.h"
#include "plan/text/python_word.h"

static bool is_python(const char *text)
{
    return strstr(text, "nemo.collections") && strstr(text, "llm") &&
           (strstr(text, "_recipe") || strstr(text, "nemo_run"));
}

/* run.Config(Class, a=1), run.Partial(function, model=..). */
static bool is_config(const struct python_value *call)
{
    return text_equal(call->callee, "run.Config") || text_equal(call->callee, "run.Partial") ||
           text_equal(call->callee, "Config") || text_equal(call->callee, "Partial");
}

static bool makes(const struct python_value *call)
{
    const char *name = python_last_part(call->callee);
    return text_equal(name, "pretrain_recipe") || text_equal(name, "finetune_recipe") ||
           (is_config(call) && python_named(call, "trainer") && python_named(call, "model"));
}

static bool is_known(const struct python_value *call)
{
    const char *name = python_last_part(call->callee);
    return is_config(call) || bridge_is_precision(name) ||
           strstr(name, "_with_cosine_annealing") || text_starts(name, "default_log") ||
           text_starts(name, "default_resume") || strstr(name, "tensorboard");
}

/* ---- where settings stand ---- */

/* What stands in front of a field, and in front of Bridge's. */
static const char *const places[][2] = {{"trainer.strategy.ddp.", "ddp."},
                                        {"trainer.strategy.", "model."},
                                        {"model.config.", "model."},
                                        {"optim.config.", "optimizer."},
                                        {"data.", "dataset."},
                                        {"trainer.plugins.", "mixed_precision."},
                                        {"trainer.num_nodes", "num_nodes"},
                                        {"trainer.devices", "gpus_per_node"}};

static const char *place_of(const struct python_walk *walk, const char *field)
{
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (text_starts(field, places[i][0]))
            return arena_printf(walk->job->arena, "%s%s", places[i][1],
                                field + strlen(places[i][0]));
    return field;
}

/* Parts that say nothing of memory or time here. */
static bool is_idle(const char *field)
{
    static const char *const idle[] = {"log", "resume", "fn", "data.tokenizer"};
    for (size_t i = 0; i < sizeof idle / sizeof *idle; i++) {
        size_t n = strlen(idle[i]);
        if (text_starts(field, idle[i]) && (!field[n] || field[n] == '.'))
            return true;
    }
    return false;
}

/* "Llama31Config70B", "Qwen3Config30B_A3B": the letters of the model's name. */
static void set_class(struct python_walk *walk, const char *name, struct mark mark)
{
    struct job *job = walk->job;
    struct text letters = {.arena = job->arena};
    for (const char *at = name; *at; at++) {
        if (text_starts(at, "Config") || text_starts(at, "MoEConfig"))
            at += *at == 'M' ? 9 : 6;
        if (*at && isalnum((unsigned char)*at))
            text_printf(&letters, "%c", tolower((unsigned char)*at));
        if (!*at)
            break;
    }
    const char *model = model_name_of_letters(NAMES_BRIDGE, text_string(&letters), job->arena);
    model = model ? model : model_name_of_letters(NAMES_HUB, text_string(&letters), job->arena);
    if (model)
        draft_set(&job->draft, "model", model, mark, name);
}

static void set_callbacks(struct python_walk *walk, const struct python_value *list,
                          struct mark mark)
{
    for (size_t i = 0; i < list->n; i++) {
        const struct python_value *one = &list->items[i].value;
        const struct python_value *first =
            one->kind == PYTHON_CALL ? python_set_first(one) : NULL;
        if (first && strstr(first->text, "CommOverlap"))
            python_set_arguments(walk, "comm_overlap", one, mark);
        else if (first && strstr(first->text, "TokenDrop"))
            job_warn(walk->job, mark,
                     "'%s' drops tokens, which matters to memory, and is not modelled",
                     first->text);
    }
}

/* run.Config(Class, a=1): its arguments are fields of the part. */
static enum status set_config(struct python_walk *walk, const char *field,
                              const struct python_value *call, struct mark mark)
{
    const struct python_value *first = python_set_first(call);
    if (first && first->kind == PYTHON_WORD && text_equal(field, "model.config"))
        set_class(walk, first->text, mark);
    if (text_equal(field, "peft")) {
        bool dora = first && strstr(first->text, "DoRA");
        python_set_word(walk, "peft", dora ? "dora" : "lora", NULL, mark);
    }
    for (size_t i = 0; i < call->n; i++)
        if (call->items[i].name)
            TRY(python_walk_assign(
                walk,
                *field ? arena_printf(walk->job->arena, "%s.%s", field, call->items[i].name)
                       : call->items[i].name,
                &call->items[i].value, mark));
    return walk->job->err->status;
}

/* "qwen3_30b_a3b" of "llm.qwen3_30b_a3b.pretrain_recipe", whose text is not there. */
static void set_recipe(struct python_walk *walk, const struct python_value *call,
                       struct mark mark)
{
    struct job *job = walk->job;
    const char *dot = strrchr(call->callee, '.');
    char *name =
        arena_strndup(job->arena, call->callee, dot ? (size_t)(dot - call->callee) : 0);
    static const char *const arguments[][2] = {
        {"tensor_parallelism", "model.tensor_model_parallel_size"},
        {"pipeline_parallelism", "model.pipeline_model_parallel_size"},
        {"virtual_pipeline_parallelism", "model.virtual_pipeline_model_parallel_size"},
        {"context_parallelism", "model.context_parallel_size"},
        {"expert_parallelism", "model.expert_model_parallel_size"},
        {"sequence_parallelism", "model.sequence_parallel"},
        {"num_nodes", "num_nodes"},
        {"num_gpus_per_node", "gpus_per_node"},
        {"micro_batch_size", "train.micro_batch_size"},
        {"global_batch_size", "train.global_batch_size"},
        {"seq_length", "dataset.seq_length"},
        {"peft_scheme", "peft"}};
    python_set_word(walk, "recipe", python_last_part(name), NULL, mark);
    for (size_t i = 0; i < sizeof arguments / sizeof *arguments; i++) {
        const struct python_value *value = python_named(call, arguments[i][0]);
        if (value)
            python_set(walk, arguments[i][1], value, mark);
    }
}

static enum status set_field(struct python_walk *walk, const char *field,
                             const struct python_value *value, struct mark mark)
{
    bool call = value->kind == PYTHON_CALL;
    const char *name = call ? python_last_part(value->callee) : "";
    if (is_idle(field))
        return STATUS_OK;
    if (text_equal(field, "trainer.callbacks") && value->kind == PYTHON_LIST)
        set_callbacks(walk, value, mark);
    else if (call && is_config(value))
        return set_config(walk, field, value, mark);
    else if (call && !*field)
        set_recipe(walk, value, mark);
    else if (call && text_equal(field, "trainer.plugins"))
        python_set_word(walk, "mixed_precision",
                        text_equal(name, "MegatronMixedPrecision") ? "bf16_mixed" : name, NULL,
                        mark);
    else if (call && text_equal(field, "optim"))
        python_set_word(walk, "optimizer.optimizer", "adam", NULL, mark);
    else if (*field)
        python_set(walk, place_of(walk, field), value, mark);
    return walk->job->err->status;
}

/* What the performance scripts turn a recipe into (scripts/performance/helpers.py). */
static void set_precision(struct python_walk *walk, const char *dtype, const char *scaling,
                          struct mark mark)
{
    static const char *const recipes[][2] = {{"ds", "bf16_with_fp8_delayed_scaling_mixed"},
                                             {"cs", "bf16_with_fp8_current_scaling_mixed"},
                                             {"ss", "bf16_with_fp8_subchannel_scaling_mixed"},
                                             {"mxfp8", "bf16_with_mxfp8_mixed"}};
    if (text_equal(dtype, "bf16"))
        python_set_word(walk, "optimizer.use_precision_aware_optimizer", "true", NULL, mark);
    for (size_t i = 0; i < 4 && text_equal(dtype, "fp8"); i++)
        if (text_equal(scaling ? scaling : "ds", recipes[i][0]))
            python_set_word(walk, "mixed_precision", recipes[i][1], NULL, mark);
    if (text_equal(dtype, "fp8"))
        python_set_word(walk, "first_last_layers_bf16", "false", NULL, mark);
    python_set_word(walk, "grad_reduce_in_fp32", "false", NULL, mark);
}

static const char *named_word(const struct python_value *call, const char *name)
{
    const struct python_value *value = python_named(call, name);
    return value ? python_set_known(value) : NULL;
}

static void set_performance(struct python_walk *walk, const struct python_value *call,
                            struct mark mark)
{
    static const char *const arguments[][2] = {
        {"num_nodes", "num_nodes"},
        {"num_gpus_per_node", "gpus_per_node"},
        {"mbs", "train.micro_batch_size"},
        {"gbs", "train.global_batch_size"},
        {"tp_size", "model.tensor_model_parallel_size"},
        {"pp_size", "model.pipeline_model_parallel_size"},
        {"cp_size", "model.context_parallel_size"},
        {"vp_size", "model.virtual_pipeline_model_parallel_size"},
        {"ep_size", "model.expert_model_parallel_size"},
        {"etp_size", "model.expert_tensor_parallel_size"},
        {"enable_cuda_graphs", "model.enable_cuda_graph"},
        {"use_mcore_fsdp", "ddp.use_megatron_fsdp"},
        {"use_fsdp_double_buffer", "ddp.fsdp_double_buffer"},
        {"use_user_buffer_registration", "ddp.nccl_ub"},
        {"activation_offload_layers", "model.cpu_offloading_num_layers"},
        {"recompute_modules", "model.recompute_modules"}};
    for (size_t i = 0; i < sizeof arguments / sizeof *arguments; i++) {
        const struct python_value *value = python_named(call, arguments[i][0]);
        if (value)
            python_set(walk, arguments[i][1], value, mark);
    }
    const char *tp = named_word(call, "tp_size"), *dtype = named_word(call, "compute_dtype"),
               *layers = named_word(call, "recompute_layers"),
               *fsdp = named_word(call, "use_mcore_fsdp");
    if (tp)
        python_set_word(walk, "model.sequence_parallel", text_equal(tp, "1") ? "false" : "true",
                        NULL, mark);
    if (layers && !text_equal(layers, "0")) {
        python_set_word(walk, "model.recompute_granularity", "full", NULL, mark);
        python_set_word(walk, "model.recompute_method", "block", NULL, mark);
        python_set_word(walk, "model.recompute_num_layers", layers, NULL, mark);
    }
    if (fsdp && text_equal(fsdp, "true"))
        python_set_word(walk, "ddp.data_parallel_sharding_strategy", "optim_grads_params", NULL,
                        mark);
    python_set_word(walk, "model.cross_entropy_fusion_impl", "te", NULL, mark);
    if (dtype)
        set_precision(walk, dtype, named_word(call, "fp8_recipe"), mark);
}

static bool read_call(struct python_walk *walk, const struct python_value *call,
                      struct mark mark)
{
    static const char *const idle[] = {"run", "add", "print", "pretrain", "finetune"};
    const char *name = python_last_part(call->callee);
    if (text_equal(name, "set_primary_perf_configs")) {
        set_performance(walk, call, mark);
        return true;
    }
    const struct python_value *more =
        text_equal(name, "append") && call->n == 1 ? &call->items[0].value : NULL;
    if (more && text_ends(call->callee, "callbacks.append")) {
        struct python_argument one = {.value = *more};
        const struct python_value list = {
            .kind = PYTHON_LIST, .text = "", .items = &one, .n = 1};
        set_callbacks(walk, &list, mark);
        return true;
    }
    for (size_t i = 0; i < sizeof idle / sizeof *idle; i++)
        if (text_equal(name, idle[i]))
            return true;
    return false;
}

static bool matters(const struct python_walk *walk, const char *field)
{
    return python_set_matters(walk, place_of(walk, field));
}

/* "mixtral_8x22b_64k.py" of the library's recipes is named after its model. */
static void set_file(struct job *job, struct mark made)
{
    if (!made.line || draft_find(&job->draft, "model") || !strstr(made.file, "llm/recipes/"))
        return;
    const char *model = bridge_model_of_recipe(job, text_base_name(made.file));
    if (model)
        draft_set(&job->draft, "model", model, made, "the recipe's file");
}

static enum status read_python(struct job *job, const char *name, const char *text,
                               size_t length)
{
    struct python_walk walk = {.job = job,
                               .makes = makes,
                               .known = is_known,
                               .set = set_field,
                               .call = read_call,
                               .matters = matters,
                               .modules = {.job = job}};
    unsigned before = job->layer, line = job->request->line;
    job->layer = JOB_FILE + 1;
    TRY(python_walk(&walk, name, text, length, line));
    job->layer = before;
    if (!job->mark.line)
        job->mark = walk.made;
    set_file(job, walk.made);
    if (walk.made.line)
        return STATUS_OK;
    err_at(job->err, (struct mark){name, line, line > 0}, "no recipe of NeMo is called %s",
           line ? "on this line" : "in this script");
    return err_hint(job->err, "recipe = llm.qwen3_30b_a3b.pretrain_recipe(..), and "
                              "recipe.trainer.strategy.x = ..");
}

static enum status nemo_prepare(struct job *job)
{
    TRY(job_count(job, "num_nodes", &job->size.nodes));
    TRY(job_count(job, "gpus_per_node", &job->size.per_node));
    if (job->size.nodes && job->size.per_node)
        job->size.world = job->size.nodes * job->size.per_node;
    return STATUS_OK;
}

const struct job_framework job_nemo = {
    .name = "nemo",
    .title = "a NeMo 2 recipe",
    .stack = "megatron",
    .source = "NVIDIA-NeMo/NeMo, nemo_toolkit 2.5.3",
    .syntax = JOB_OVERRIDES,
    .sections = "model. train. ddp. optimizer. dataset. comm_overlap. mixed_precision.",
    .flags = megatron_flags,
    .n_flags = &megatron_n_flags,
    .python = read_python,
    .python_is = is_python,
    .prepare = nemo_prepare,
    .finish = bridge_finish,
    .names = NAMES_BRIDGE,
    .trains = true,
};

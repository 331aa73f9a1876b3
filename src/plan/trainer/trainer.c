/* See trainer.h. */
#include "plan/trainer/trainer.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "base/checked.h"
#include "plan/schema/schema.h"

/* ---- Accelerate ---- */

/* TRL's file of flags. Other scripts that are launched may mean another file by --config: only
 * one that could be of flags is read, and one that is not there is theirs. */
static enum status read_flags(struct job *job)
{
    const char *name = NULL;
    bool found = true;
    if (trl_ends(job->command))
        return job_flag_file(job, "config", JOB_FILE + 2);
    TRY(job_word(job, "config", &name));
    if (!name || !(text_ends(name, ".yaml") || text_ends(name, ".yml")))
        return STATUS_OK;
    TRY(job_add_file(job, name, JOB_FILE + 2, &found));
    if (!found)
        job_warn(job, job_setting(job, "config")->mark,
                 "file '%s' is not there: what it sets is not read", name);
    return STATUS_OK;
}

/* Accelerate's file: as it is there, else TRL's of that name. */
static enum status read_config(struct job *job)
{
    static const char flag[] = "config_file";
    const char *name = NULL;
    bool found = true;
    TRY(job_word(job, flag, &name));
    if (name)
        TRY(job_add_file(job, name, JOB_FILE, &found));
    const struct trainer_file *known = found ? NULL : trl_file(job, name);
    if (known)
        return trainer_add_known(job, known, JOB_FILE);
    return found ? STATUS_OK : job_need_file(job, flag, name, JOB_FILE);
}

enum status trainer_prepare(struct job *job, const struct job_framework *framework)
{
    const char *type = framework ? framework->kind : "";
    uint64_t ranks = job->size.world, nodes = job->size.nodes;
    TRY(read_config(job));
    TRY(read_flags(job));
    TRY(trl_assume(job));
    TRY(job_word(job, "distributed_type", &type));
    if (framework && !job_framework_is(framework, type)) {
        job_fail(job, "distributed_type", "Accelerate's '%s' is not read here", type);
        return err_hint(job->err, "DEEPSPEED, FSDP, MULTI_GPU and NO are");
    }
    TRY(job_count(job, "num_processes", &ranks));
    TRY(job_count(job, "num_machines", &nodes));
    if (job_given(job, "num_processes"))
        job->size = (struct job_size){.world = ranks, .nodes = nodes};
    return STATUS_OK;
}

/* ---- settings that the trainer decides ---- */

bool trainer_decides(struct job *job, const char *name)
{
    const struct setting *s = job_setting(job, name);
    return s && !(s->n == 1 && text_equal(s->values[0], "auto"));
}

/* The flag that decides, or NULL. */
static const char *deciding(struct job *job, const char *name, const char *trainer)
{
    if (name && trainer_decides(job, name))
        return name;
    return trainer && trainer_decides(job, trainer) ? trainer : NULL;
}

/* The count, from 1 on, that the framework's own flag or the trainer's says, as trainer_switch.
 */
static enum status count_said(struct job *job, const char *name, const char *trainer,
                              uint64_t *value, bool *known)
{
    const char *flag = deciding(job, name, trainer);
    *known = flag != NULL;
    if (!flag)
        return STATUS_OK;
    TRY(job_count(job, flag, value));
    return *value
               ? STATUS_OK
               : job_fail(job, flag, "'%s' is from 1 on, not 0", job_setting(job, flag)->name);
}

enum status trainer_switch(struct job *job, const char *name, const char *trainer, bool *value)
{
    const char *flag = deciding(job, name, trainer);
    *value = false;
    return flag ? job_switch(job, flag, value) : STATUS_OK;
}

/* ---- the batch ---- */

static const char per_device[] = "per_device_train_batch_size";

static enum status no_batch(struct job *job, const char *global, const char *micro)
{
    job_fail(job, global ? global : per_device,
             "the micro-batch is neither in the configuration nor among the trainer's flags");
    return err_hint(job->err, "add %s%s--%s, or --set workload.micro_batch=1",
                    micro ? micro : "", micro ? ", " : "", per_device);
}

struct batch {
    uint64_t global, micro, steps;
    bool has_global, has_micro;
};

/* global = micro x steps x dp, of which any two give the third. */
static enum status complete(struct job *job, const char *flag, uint64_t dp, struct batch *b)
{
    bool even = dp && (b->has_micro ? b->micro : b->steps) &&
                b->global % (dp * (b->has_micro ? 1 : b->steps)) == 0;
    if (!dp || !b->has_global)
        return STATUS_OK;
    if (!b->has_micro && !even)
        return job_fail(
            job, flag, "%s %" PRIu64 " is no multiple of %" PRIu64 " ranks x %" PRIu64 " steps",
            flag, b->global, dp, b->steps);
    if (!b->has_micro)
        b->micro = b->global / dp / b->steps;
    if (b->has_micro && b->micro && (b->global % dp != 0 || b->global / dp % b->micro != 0))
        return job_fail(job, flag,
                        "%s %" PRIu64 " is no multiple of %" PRIu64 " sequences x %" PRIu64
                        " ranks",
                        flag, b->global, b->micro, dp);
    return STATUS_OK;
}

enum status trainer_set_batch(struct job *job, const char *global, const char *micro,
                              uint64_t ranks)
{
    struct batch b = {.steps = 1};
    uint64_t world;
    bool has_steps;
    const char *flags = arena_printf(job->arena, "%s %s %s", micro ? micro : per_device,
                                     per_device, global ? global : per_device);
    TRY(count_said(job, global, NULL, &b.global, &b.has_global));
    TRY(count_said(job, micro, per_device, &b.micro, &b.has_micro));
    TRY(count_said(job, "gradient_accumulation_steps", NULL, &b.steps, &has_steps));
    TRY(job_world(job, &world));
    uint64_t dp = ranks && world ? world / ranks : 0;
    if (b.steps > 1000000000)
        return job_fail(job, "gradient_accumulation_steps", "more than 1000000000 steps");
    if (!b.has_micro && !(b.has_global && b.steps) &&
        !job_requested(job, "workload.micro_batch"))
        return no_batch(job, global, micro);
    TRY(complete(job, global, dp, &b));
    if (b.micro)
        job_set_count(job, "workload.micro_batch", b.micro, flags);
    if (b.has_global)
        job_set_count(job, "workload.global_batch", b.global, global);
    else if (dp && b.steps > 1 && b.micro < 1000000 && b.steps < 1000000)
        job_set_count(job, "workload.global_batch", b.micro * b.steps * dp,
                      "gradient_accumulation_steps");
    return STATUS_OK;
}

/* ---- model, adapters, optimizer ---- */

static enum status set_model(struct job *job)
{
    const char *model = NULL;
    TRY(job_word(job, "model_name_or_path", &model));
    if (!model || draft_find(&job->draft, "model"))
        return STATUS_OK;
    const char *ours = model_name_or_folder(model, job->arena);
    if (!ours && job->described)
        return STATUS_OK;
    if (!ours)
        return job_unknown_model(job, job_setting(job, "model_name_or_path")->mark, model);
    job_set(job, "model", ours, "model_name_or_path");
    return STATUS_OK;
}

/* A script may set it itself; activations are proportional to it. */
static void warn_of_length(struct job *job)
{
    static const char key[] = "workload.sequence_length";
    if (!draft_find(&job->draft, key) && !job_requested(job, key))
        job_warn(job, job_place(job),
                 "no flag gives the sequence length, which matters to memory: the plan's "
                 "default of %s stands in",
                 schema_find(key)->fallback);
}

/* transformers gives models with sinks no fused attention but kernels that are asked for by
 * name (models/gpt_oss/modeling_gpt_oss.py: _supports_sdpa is false). */
enum status trainer_assume_eager(struct job *job)
{
    struct plan *plan = arena_alloc(job->arena, 1, sizeof *plan);
    bool known;
    TRY(job_part(job, "model", plan, &known));
    if (known && plan->model.attention.sinks)
        job_set(job, "stack.attention", "unfused", "attn_implementation");
    return STATUS_OK;
}

/* LLaMA-Factory asks for one of gpt-oss whatever it is told (model_utils/attention.py);
 * Unsloth has its own, OpenRLHF a default; axolotl has flags of its own. */
static bool has_own_attention(const struct job *job)
{
    return job->framework == &job_llamafactory || job->framework == &job_unsloth ||
           job->framework == &job_openrlhf || job->framework == &job_axolotl;
}

/* One of so many layers runs again; and the inputs of those that do wait in host memory
 * (trainer.py, _inner_training_loop; modeling_utils.py, activation_checkpointing_enable). */
static enum status set_every(struct job *job)
{
    static const char every[] = "activation_checkpointing_kwargs.every_n_layers",
                      offload[] = "activation_checkpointing_kwargs.offload";
    uint64_t n = 1, layers = 0;
    bool moved = false;
    TRY(job_count(job, every, &n));
    TRY(job_switch(job, offload, &moved));
    TRY(job_layers(job, &layers));
    if (n > 1 && layers)
        job_set_count(job, "recompute.layers", ceil_div(layers, n), every);
    if (moved)
        trainer_offload(job, offload);
    return STATUS_OK;
}

enum status trainer_finish(struct job *job, bool checkpoints, const char *own)
{
    bool trainers, renamed = false, fused = false;
    const char *optimizer = deciding(job, own, "optim"), *attention = "";
    TRY(set_model(job));
    TRY(trainer_switch(job, "gradient_checkpointing", NULL, &trainers));
    TRY(job_switch(job, "activation_checkpointing", &renamed)); /* since transformers 5 */
    const bool again = checkpoints || trainers || renamed;
    job_set(job, "recompute.kind", again ? "full" : "none",
            "fsdp_activation_checkpointing gradient_checkpointing");
    if (again)
        TRY(set_every(job));
    TRY(job_switch(job, "use_liger_kernel", &fused));
    if (fused)
        job_set(job, "stack.cross_entropy", "fused", "use_liger_kernel");
    const struct setting *kernel = job_setting(job, "attn_implementation");
    if (kernel && kernel->n > 0) /* LLaMA-Factory's --flash_attn was a switch */
        TRY(job_word(job, "attn_implementation", &attention));
    if (text_equal(attention, "eager") || text_equal(attention, "disabled"))
        job_set(job, "stack.attention", "unfused", "attn_implementation");
    if (!kernel && !has_own_attention(job))
        TRY(trainer_assume_eager(job));
    TRY(trl_set_length(job));
    warn_of_length(job);
    TRY(trainer_set_adapter(job));
    if (optimizer)
        TRY(trainer_set_optimizer(job, optimizer));
    return trl_finish(job);
}

/* ---- which launch ---- */

static const struct sign {
    const char *flag; /* '_' is '-'; the beginning of a word */
    const struct job_framework *framework;
} signs[] = {{"--use-deepspeed", &job_deepspeed},
             {"--deepspeed", &job_deepspeed},
             {"--zero-stage", &job_deepspeed},
             {"--use-fsdp", &job_fsdp},
             {"--fsdp", &job_fsdp},
             {"--accelerate-config", NULL},
             {"--config-file", NULL}};

static const struct sign *sign_of(const char *word)
{
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++) {
        size_t n = 0;
        while (signs[i].flag[n] &&
               (word[n] == '_' && n > 2 ? '-' : word[n]) == signs[i].flag[n])
            n++;
        if (!signs[i].flag[n])
            return &signs[i];
    }
    return NULL;
}

/* The value of a flag: behind '=', or the next word; "" when there is none. */
static const char *value_of(const struct shell_words *words, size_t i)
{
    const char *equals = strchr(words->items[i].text, '=');
    bool last = i + 1 == words->n;
    return equals ? equals + 1 : last ? "" : words->items[i + 1].text;
}

/* What Accelerate's file says it starts; it is parsed when it is known whose table holds. */
static const struct job_framework *kind_of_file(struct job *job, const char *name)
{
    static const char key[] = "distributed_type:";
    const char *path, *text;
    size_t length;
    if (job_other_file(job, name, &path, &text, &length) != STATUS_OK)
        return NULL;
    const struct trainer_file *known = text ? NULL : trl_file(job, name);
    text = known ? known->settings : text;
    if (!text)
        return NULL;
    const char *at = strstr(text, key);
    const char *word = at ? at + sizeof key - 1 + strspn(at + sizeof key - 1, " '\"") : "";
    word = arena_strndup(job->arena, word, strcspn(word, " '\",}\r\n"));
    for (size_t i = 0; job_frameworks[i]; i++)
        if (job_framework_is(job_frameworks[i], word))
            return job_frameworks[i];
    return NULL;
}

/* A trainer's launch without a sharer: every rank has all. */
static bool is_whole(const struct shell_words *words)
{
    static const char *const both[] = {"--per-device-train-batch-size", "--model-name-or-path"};
    bool found[2] = {false, false};
    for (size_t i = 0; i < words->n; i++)
        for (size_t j = 0; j < 2; j++)
            found[j] = found[j] || shell_option(words->items[i].text, both[j], false);
    return found[0] && found[1];
}

/* Behind "accelerate launch" its own flags stand before the script. */
static size_t accelerate_ends(const struct shell_words *words)
{
    bool launches = false;
    for (size_t i = 1; i < words->n; i++) {
        const char *text = words->items[i].text;
        launches =
            launches || (text_equal(text, "launch") &&
                         text_equal(text_base_name(words->items[i - 1].text), "accelerate"));
        if (launches && (text_ends(text, ".py") || text_equal(text, "-m")))
            return i;
    }
    return 0;
}

/* The value of the flag at `i` is the shell's. */
static bool is_unknown(const struct shell_words *words, size_t i)
{
    bool joined = strchr(words->items[i].text, '=') != NULL;
    return words->items[i].trouble ||
           (!joined && i + 1 < words->n && words->items[i + 1].trouble);
}

const struct job_framework *trainer_find(struct job *job, const struct shell_words *words,
                                         size_t *launcher)
{
    size_t end = accelerate_ends(words);
    end = end ? end : trl_ends(words);
    job->command = words; /* whose own files of Accelerate's have names alone */
    const struct job_framework *found = NULL;
    bool configured = false;
    *launcher = end;
    for (size_t i = 0; i < words->n; i++) {
        const struct sign *sign = sign_of(words->items[i].text);
        const char *value = sign ? value_of(words, i) : "";
        configured = configured || (end && sign && !sign->framework);
        if (sign && !sign->framework && end && i < end && !found)
            found = kind_of_file(job, value);
        if (!sign || !sign->framework || found)
            continue;
        bool follows = value[0] && value[0] != '-', whole = is_whole(words);
        bool settings = text_ends(value, ".json") || value[0] == '{' ||
                        (whole && (follows || is_unknown(words, i)));
        if (!end && !(sign->framework == &job_deepspeed ? settings : follows))
            continue; /* a program of its own that happens to have such a switch */
        found = sign->framework;
        *launcher = end ? end : i;
    }
    if (found || configured)
        return found ? found : &job_deepspeed;
    *launcher = end ? end : words->n;
    return is_whole(words) ? &job_fsdp : NULL;
}

/* ---- writing ---- */

enum status trainer_write_refuse(struct job_writer *writer)
{
    if (writer->plan->workload.mode == MODE_TRAIN)
        return STATUS_OK;
    return err_set(writer->err, STATUS_INPUT, "%s trains: workload.mode is %s",
                   writer->framework->name, words_mode[writer->plan->workload.mode]);
}

void trainer_write_flag(struct job_writer *writer, const char *name, const char *value)
{
    const struct job_flag *row = job_flag_find(writer->framework, name, strlen(name));
    assert(row);
    if (text_equal(row->source, TRAINER) || text_equal(row->source, PEFT))
        text_printf(writer->out, " \\\n  --%s%s%s", name, value ? " " : "", value ? value : "");
    else
        writer_setting(writer, name, value);
}

static void write_trainer(struct job_writer *writer)
{
    const struct plan *plan = writer->plan;
    writer_direct(writer);
    const struct recompute_plan *r = &plan->recompute;
    bool own = writer->framework == &job_deepspeed && (r->distribute || r->offload.n);
    if (r->kind == RECOMPUTE_FULL && !own) /* DeepSpeed's in place of torch's */
        writer_flag(writer, "gradient_checkpointing", "true");
    enum cross_entropy loss = plan->stack.cross_entropy;
    if (loss == LOSS_FUSED)
        writer_flag(writer, "use_liger_kernel", "true");
    if (loss == LOSS_SMOOTHED || loss == LOSS_SMOOTHED_F32)
        writer_flag(writer, "label_smoothing_factor", "0.1");
    if (plan->lora.rank) {
        writer_flag(writer, "use_peft", NULL);
        writer_count(writer, "lora_r", plan->lora.rank);
        if (plan->lora.dora)
            writer_flag(writer, "use_dora", NULL);
        if (plan->lora.inputs == INPUTS_DROPPED)
            writer_flag(writer, "lora_dropout", "0.05");
        enum dtype base = plan->precision.weights;
        if (base == DTYPE_NF4 || base == DTYPE_NF4_DOUBLE)
            writer_flag(writer, "load_in_4bit", NULL);
        if (base == DTYPE_NF4_DOUBLE)
            writer_flag(writer, "use_bnb_nested_quant", NULL);
        if (base == DTYPE_FP8_CHANNEL)
            writer_flag(writer, "load_in_8bit", NULL);
    }
}

void trainer_write(struct job_writer *writer, const struct trainer_launch *launch)
{
    const struct plan *plan = writer->plan;
    const char *model = model_name_to(NAMES_HUB, plan->model_name);
    struct text *whole = writer->out, given = {.arena = writer->arena};
    writer->out = &given;
    write_trainer(writer);
    writer->out = whole;
    const char *file = arena_printf(writer->arena, " --%s %s", launch->flag, launch->file);
    const char *own = text_string(whole); /* flags written before */
    struct text script = {.arena = writer->arena};
    text_printf(&script, "cat > %s <<'EOF'\n", launch->file);
    writer_settings(writer, launch->json, &script);
    text_printf(&script, "EOF\n%s%s train.py%s \\\n  --model_name_or_path %s%s%s",
                launch->launcher, launch->behind ? "" : file, launch->behind ? file : "",
                model ? model : plan->model_name, text_string(&given), own);
    *whole = script;
}

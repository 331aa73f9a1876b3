/* moeplan import: a HuggingFace config.json as a model file, a framework's job as a plan. */
#include <string.h>

#include "base/column.h"
#include "cli/command/commands.h"
#include "cli/option/plan_argument.h"
#include "lib/request.h"
#include "report/plan_json.h"
#include "plan/hf/import_hf.h"
#include "plan/hf/import_hf_quant.h"
#include "plan/read/part.h"
#include "plan/schema/schema.h"
#include "plan/read/show.h"
#include "plan/source.h"

static const char prefix[] = "model.";

struct settings {
    const char *from, *flags;
    uint64_t line;
};

static const struct option options[] = {
    {"from", 0, OPTION_TEXT, offsetof(struct settings, from), "FRAMEWORK", NULL,
     "whose file it is, where it does not tell: megatron, bridge, maxtext, torchtitan, ..."},
    {"line", 0, OPTION_COUNT, offsetof(struct settings, line), "N 1..1048576", NULL,
     "the launch that starts on line N of a script with several"},
    {"flags", 0, OPTION_TEXT, offsetof(struct settings, flags), "FRAMEWORK", NULL,
     "list the flags that are known of a framework, in place of reading a file"},
};

static enum status read_model(const struct invocation *call, const struct node *root,
                              struct plan *plan, struct text *notes, struct err *err)
{
    const char *file = call->operands[0];
    schema_defaults(plan);
    TRY(import_hf_model(root, &plan->model, err));
    TRY(import_hf_quant(root, call->arena, &plan->model, notes, err));
    if (plan->model.name[0] == '\0' && !text_equal(file, "-"))
        part_name_of_path(plan->model.name, file);
    return STATUS_OK;
}

/* --set, for keys of the model. */
static enum status apply_settings(const struct invocation *call, struct plan *plan,
                                  struct err *err)
{
    struct override *overrides = NULL;
    size_t n = 0;
    TRY(plan_argument_overrides(call, &overrides, &n, err));
    for (size_t i = 0; i < n; i++) {
        const struct mark mark = {.file = overrides[i].option};
        const struct field *field = schema_find(overrides[i].key);
        if (!field || !text_starts(field->key, prefix)) {
            err_at(err, mark, "'%s' is not a key of a model", overrides[i].key);
            return err_hint(err, "'moeplan help model' lists them");
        }
        TRY(schema_set(field, plan, overrides[i].value, false, mark, err));
    }
    return STATUS_OK;
}

static void write_csv(const struct invocation *call, const struct plan *plan)
{
    size_t n;
    const struct field *fields = schema_fields(&n);
    fputs("key,value\n", call->out);
    for (size_t i = 0; i < n; i++) {
        struct text value = {.arena = call->arena};
        if (!text_starts(fields[i].key, prefix))
            continue;
        schema_print(&fields[i], plan, &value);
        fprintf(call->out, "%s,", fields[i].key + strlen(prefix));
        column_csv_text(call->out, text_string(&value));
        fputc('\n', call->out);
    }
}

static void write_json(const struct invocation *call, const struct plan *plan)
{
    struct json json;
    json_init(&json, call->out);
    plan_json(&json, NULL, prefix, plan);
}

static void write_yaml(const struct invocation *call, const struct plan *plan)
{
    struct text yaml = {.arena = call->arena};
    plan_print_group(plan, "model", &yaml);
    fprintf(call->out, "# %s, imported from its configuration by moeplan " MOEPLAN_VERSION "\n",
            plan->model.name[0] ? plan->model.name : "a model");
    fputs(text_string(&yaml), call->out);
}

/* What of the configuration the model does not have: to people, whatever the format. */
static void write_notes(const char *line)
{
    while (*line) {
        size_t length = strcspn(line, "\n");
        fprintf(stderr, "moeplan: not modelled: %.*s\n", (int)length, line);
        line += length + (line[length] == '\n');
    }
}

static enum status import_model(const struct invocation *call, const struct node *root,
                                struct err *err)
{
    static void (*const writers[])(const struct invocation *call, const struct plan *plan) = {
        [FORMAT_TEXT] = write_yaml, [FORMAT_JSON] = write_json, [FORMAT_CSV] = write_csv};
    struct plan *plan = arena_alloc(call->arena, 1, sizeof *plan);
    struct text notes = {.arena = call->arena};
    TRY(read_model(call, root, plan, &notes, err));
    TRY(apply_settings(call, plan, err));
    import_hf_notes(root, &plan->model, &notes);
    write_notes(text_string(&notes));
    writers[call->general.format](call, plan);
    return STATUS_OK;
}

/* ---- jobs ---- */

static void write_comments(const struct job_result *job, const char *file, bool warnings,
                           const char *title, struct text *out)
{
    bool any = false;
    for (size_t i = 0; i < job->notes.n; i++) {
        const struct job_note *note = &job->notes.items[i];
        if (note->warning != warnings)
            continue;
        if (!any)
            text_printf(out, "#\n# %s\n", title);
        any = true;
        text_append(out, "#   ");
        text_append_visible(out, note->text);
        bool other = note->mark.file && !text_equal(note->mark.file, file);
        if (note->mark.line)
            text_printf(out, " (%s%sline %u)", other ? note->mark.file : "", other ? ", " : "",
                        note->mark.line);
        text_append(out, "\n");
    }
}

static void write_job_yaml(const struct invocation *call, struct job_result *job)
{
    struct text yaml = {.arena = call->arena};
    unsigned line;
    const char *file = job_file(call->operands[0], call->arena, &line);
    text_append(&yaml, "# ");
    text_append_visible(&yaml, file);
    text_printf(&yaml, ", imported by moeplan " MOEPLAN_VERSION " from %s\n", job->taken_for);
    write_comments(job, file, true, "not modelled:", &yaml);
    write_comments(job, file, false,
                   "not read, matters to neither memory nor time, "
                   "or not known:",
                   &yaml);
    if (job->question)
        text_printf(&yaml, "#\n# it asks for a layout; what answers it:\n#   %s\n",
                    job->question);
    draft_print(&job->draft, file, &yaml);
    fputs(text_string(&yaml), call->out);
}

struct origin_row {
    const char *key, *value, *origin;
    uint64_t line;
};

static const struct column origin_columns[] = {
    {.key = "key", .type = COLUMN_TEXT, .offset = offsetof(struct origin_row, key)},
    {.key = "value", .type = COLUMN_TEXT, .offset = offsetof(struct origin_row, value)},
    {.key = "origin", .type = COLUMN_TEXT, .offset = offsetof(struct origin_row, origin)},
    {.key = "line", .type = COLUMN_COUNT, .offset = offsetof(struct origin_row, line)},
};

static void write_job_csv(const struct invocation *call, const struct job_result *job)
{
    column_csv_header(call->out, origin_columns, 4);
    for (size_t i = 0; i < job->draft.n; i++) {
        const struct draft_item *item = &job->draft.items[i];
        struct text value = {.arena = call->arena};
        for (size_t j = 0; j < item->n; j++)
            text_printf(&value, "%s%s", j ? " " : "", item->words[j]);
        const struct origin_row row = {item->key, text_string(&value), item->origin,
                                       item->mark.line};
        column_csv_row(call->out, origin_columns, 4, &row);
    }
}

/* The plan has to hold before it is written, and its stack to take it: rules and refusals speak
 * of places in the job. */
static enum status import_job(const struct invocation *call, struct job_result *job,
                              struct err *err)
{
    const char *file = call->operands[0];
    struct plan *plan = arena_alloc(call->arena, 1, sizeof *plan);
    struct origins origins = {0};
    struct json json;
    if (plan_load_tree(file, job->root, NULL, 0, true, call->arena, plan, &origins, err) !=
        STATUS_OK)
        return draft_blame(&job->draft, err);
    TRY(request_build(file, plan, &origins, call->arena, err));
    plan_argument_notes(job, file);
    if (call->general.format == FORMAT_TEXT) {
        write_job_yaml(call, job);
    } else if (call->general.format == FORMAT_CSV) {
        write_job_csv(call, job);
    } else {
        json_init(&json, call->out);
        plan_json(&json, NULL, "", plan);
    }
    return STATUS_OK;
}

/* ---- tables ---- */

static const struct column flag_columns[] = {
    {.key = "flag", .type = COLUMN_TEXT, .offset = offsetof(struct job_row, flag)},
    {.key = "key", .type = COLUMN_TEXT, .offset = offsetof(struct job_row, key)},
    {.key = "use", .type = COLUMN_TEXT, .offset = offsetof(struct job_row, use)},
    {.key = "conversion", .type = COLUMN_TEXT, .offset = offsetof(struct job_row, conversion)},
    {.key = "source", .type = COLUMN_TEXT, .offset = offsetof(struct job_row, source)},
};

static enum status list_flags(const struct invocation *call, const char *framework,
                              struct err *err)
{
    struct job_row *rows = NULL;
    size_t n = job_rows(call->arena, framework, &rows);
    if (n == 0)
        return job_unknown_framework(framework, call->arena, err);
    const struct table table = {.columns = flag_columns,
                                .n = 5,
                                .records = rows,
                                .n_records = n,
                                .record_size = sizeof *rows};
    command_print_table(call, &table, 3);
    return STATUS_OK;
}

static enum status not_a_job(const struct invocation *call, const struct node *root,
                             struct err *err)
{
    struct text known = {.arena = call->arena};
    import_hf_known(&known);
    err_at(err, root->mark,
           "neither a HuggingFace configuration (no 'model_type') nor a job of a known "
           "framework");
    if (text_ends(call->operands[0], ".yaml") || text_ends(call->operands[0], ".yml"))
        return err_hint(
            err,
            "jobs in YAML are MaxText's (base_config), Accelerate's, axolotl's, "
            "LLaMA-Factory's, ms-swift's, AutoModel's, NeMo-RL's, "
            "Megatron-Bridge's, NeMo 1's, Primus's, Ray Serve's, Kubernetes manifests, Compose "
            "files and SkyPilot's tasks; '--from FRAMEWORK' says whose it is, or import the "
            "launch script, as in 'trl sft --config FILE' for TRL's");
    return err_hint(err, "config.json of one of: %s", text_string(&known));
}

/* A model's name or file, which a plan takes as it is. */
static enum status not_foreign(const struct invocation *call, const struct job_result *job,
                               struct err *err)
{
    const char *name = call->operands[0];
    err_at(err, (struct mark){.file = name}, "%s: there is nothing to import", job->taken_for);
    return err_hint(
        err, "a plan takes it so, as in `moeplan predict %s --set cluster=h100-8x1`", name);
}

static enum status run_import(const struct invocation *call, struct err *err)
{
    const struct settings *settings = call->settings;
    struct job_result job = {0};
    if (settings->flags)
        return list_flags(call, settings->flags, err);
    if (call->n_operands == 0) {
        err_set(err, STATUS_USAGE, "'moeplan import' needs a file");
        return err_hint(err, "usage: moeplan import [options] <file>");
    }
    struct override *overrides = NULL;
    size_t n = 0;
    TRY(plan_argument_overrides(call, &overrides, &n, err));
    const struct job_request request = {.from = settings->from,
                                        .line = (unsigned)settings->line,
                                        .sets = overrides,
                                        .n_sets = n,
                                        .all_sets = true};
    TRY(job_read(call->operands[0], &request, call->arena, &job, err));
    if (job.config)
        return import_model(call, job.config, err);
    if (job.framework)
        return import_job(call, &job, err);
    return job.taken_for ? not_foreign(call, &job, err) : not_a_job(call, job.root, err);
}

static const char *const examples[] = {
    "moeplan import DeepSeek-V3/config.json -o my-deepseek.yaml",
    "moeplan import run.sh --set cluster=h100 -o plan.yaml",
    "moeplan import deploy.yaml:69 --set cluster=h200",
    "moeplan import deepseek.yml --set cluster=mi355x-8x8",
    "moeplan import serve.sh --line 12 --set cluster=h200",
    "moeplan import --flags vllm",
    NULL,
};

const struct command command_import = {
    .name = "import",
    .operands = "<file>",
    .summary = "a config.json as a model file, a framework's job as a plan",
    .description =
        "Reads the configuration of a model (HuggingFace's config.json) and writes it as a "
        "model "
        "file, which `model:` of a plan can name; or reads the job of a framework and writes "
        "the "
        "plan it stands for, with the origin of each value: scripts and command lines of "
        "Megatron-LM, Megatron-Bridge, MaxText, torchtitan, DeepSpeed, Accelerate and the "
        "Trainer (DeepSpeed, FSDP), TRL, axolotl, LLaMA-Factory, ms-swift and Megatron-SWIFT, "
        "NeMo AutoModel, NeMo-RL, slime, verl, vLLM, SGLang and TensorRT-LLM, YAML of MaxText, "
        "Bridge, NeMo 1, Primus, Accelerate, axolotl, LLaMA-Factory, ms-swift, AutoModel and "
        "NeMo-RL, torchtitan TOML, DeepSpeed JSON; launches in Kubernetes manifests (Dynamo's "
        "and KServe's services, Kubeflow's jobs, RayService, RayJob), Compose files, tasks of "
        "SkyPilot and dstack, units of systemd and podman, Dockerfiles, Makefiles, justfiles "
        "and "
        "notebooks; Ray Serve's applications and values of vLLM's and llm-d's Helm charts; "
        "programs in Python that make a trainer or an engine, or start one; functions in "
        "Python "
        "that give a configuration of Bridge, torchtitan or NeMo 2, "
        "followed through the files of a checkout (own.py:12 is the function on line 12); an "
        "engine's file of settings. Nothing in a job is run.\n"
        "\n"
        "What only a shell knows is given by name: --set job.NNODES=4, --set job.1=VALUE for "
        "a script's first argument, --set job.@=\"--tp 8\" for all of them.\n"
        "\n"
        "A job names no device, but for labels of Kubernetes' nodes, Ray Serve's and "
        "SkyPilot's "
        "accelerators: --set cluster=h100 does, and gets the job's size. Flags that "
        "matter to memory or time and are not modelled are warned of, the rest of what was not "
        "read is listed. A line '#moeplan key=value' in a job sets what the framework has no "
        "flag for.\n"
        "\n"
        "Every command that takes a plan takes such a file too.",
    .examples = examples,
    .min_operands = 0,
    .max_operands = 1,
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .settings_size = sizeof(struct settings),
    .run = run_import,
};

/* moeplan import: a HuggingFace config.json as a model file. */
#include <string.h>

#include "base/column.h"
#include "cli/command/commands.h"
#include "cli/option/plan_argument.h"
#include "report/plan_json.h"
#include "plan/import_hf.h"
#include "plan/part.h"
#include "plan/schema.h"
#include "plan/show.h"
#include "plan/source.h"

static const char prefix[] = "model.";

static enum status read_model(const struct invocation *call, struct plan *plan, struct err *err)
{
    const char *file = call->operands[0];
    struct node *root = NULL;
    TRY(source_read_file(file, call->arena, &root, err));
    if (!import_hf_is_config(root)) {
        struct text known = {.arena = call->arena};
        import_hf_known(&known);
        err_at(err, STATUS_INPUT, root->mark,
               "not a HuggingFace configuration: no 'model_type'");
        return err_hint(err, "config.json of one of: %s", text_string(&known));
    }
    schema_defaults(plan);
    TRY(import_hf_model(root, &plan->model, err));
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
            err_at(err, STATUS_INPUT, mark, "'%s' is not a key of a model", overrides[i].key);
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

static enum status run_import(const struct invocation *call, struct err *err)
{
    static void (*const writers[])(const struct invocation *call, const struct plan *plan) = {
        [FORMAT_TEXT] = write_yaml, [FORMAT_JSON] = write_json, [FORMAT_CSV] = write_csv};
    struct plan *plan = arena_alloc(call->arena, 1, sizeof *plan);
    TRY(read_model(call, plan, err));
    TRY(apply_settings(call, plan, err));
    writers[call->general.format](call, plan);
    return STATUS_OK;
}

static const char *const examples[] = {
    "moeplan import DeepSeek-V3/config.json -o my-deepseek.yaml",
    "moeplan import config.json --format json",
    NULL,
};

const struct command command_import = {
    .name = "import",
    .operands = "<config.json>",
    .summary = "a HuggingFace config.json as a model file",
    .description =
        "Reads the configuration of a model and writes it as a model file, which `model:` of a "
        "plan can name. A plan can also name the config.json itself.",
    .examples = examples,
    .min_operands = 1,
    .max_operands = 1,
    .run = run_import,
};

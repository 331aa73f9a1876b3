/* moeplan show: the resolved plan, every key with its value. */
#include "base/column.h"
#include "cli/command/commands.h"
#include "cli/option/plan_argument.h"
#include "lib/document.h"
#include "plan/schema/schema.h"
#include "report/plan_json.h"

struct setting {
    const char *key, *value, *origin;
};

static const struct column columns[] = {
    {.key = "key", .type = COLUMN_TEXT, .offset = offsetof(struct setting, key)},
    {.key = "value", .type = COLUMN_TEXT, .offset = offsetof(struct setting, value)},
    {.key = "origin", .type = COLUMN_TEXT, .offset = offsetof(struct setting, origin)},
};

enum { N_COLUMNS = sizeof columns / sizeof *columns };

static void show_json(const struct invocation *call, const struct plan *plan)
{
    struct json json;
    json_init(&json, call->out);
    plan_json(&json, NULL, "", plan);
}

/* Where a value came from: "plan.yaml:3:10", "--set a=b", "default". */
static const char *origin_text(struct mark mark, struct arena *arena)
{
    if (!mark.file)
        return "default";
    if (!mark.line)
        return mark.file;
    return arena_printf(arena, "%s:%u:%u", mark.file, mark.line, mark.column);
}

static void show_csv(const struct invocation *call, const struct plan *plan,
                     const struct origins *origins)
{
    size_t n;
    const struct field *fields = schema_fields(&n);
    column_csv_header(call->out, columns, N_COLUMNS);
    for (size_t i = 0; i < n; i++) {
        struct text value = {.arena = call->arena};
        schema_print(&fields[i], plan, &value);
        const struct setting setting = {fields[i].key, text_string(&value),
                                        origin_text(origins->mark[i], call->arena)};
        column_csv_row(call->out, columns, N_COLUMNS, &setting);
    }
}

static enum status run_show(const struct invocation *call, struct err *err)
{
    struct plan *plan = arena_alloc(call->arena, 1, sizeof *plan);
    struct origins origins = {0};
    TRY(plan_argument_load(call, 0, plan, &origins, err));
    if (call->general.format == FORMAT_JSON)
        show_json(call, plan);
    else if (call->general.format == FORMAT_CSV)
        show_csv(call, plan, &origins);
    else
        fputs(document_plan(plan, call->arena), call->out);
    return STATUS_OK;
}

static const char *const examples[] = {
    "moeplan show plan.yaml",
    "moeplan show plan.yaml --set parallel.ep=16 -o wider.yaml",
    "moeplan show plan.yaml --format csv | grep -v ',default$'",
    NULL,
};

const struct command command_show = {
    .name = "show",
    .operands = "<plan.yaml>",
    .summary = "the resolved plan, every key with its value",
    .description =
        "Writes the plan with model, cluster and stack in place and every default filled in. "
        "What it writes, as YAML or JSON, is a plan that gives the same results.\n"
        "\n"
        "As CSV each key comes with its value and where that was set: a place in a file, an "
        "option, or 'default'.",
    .examples = examples,
    .min_operands = 1,
    .max_operands = 1,
    .run = run_show,
};

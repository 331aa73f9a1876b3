/* moeplan schema: JSON Schema of the plan file and of what commands write. */
#include "cli/command/commands.h"
#include "cli/command/schemas.h"
#include "lib/document.h"
#include "report/explain/print.h"
#include "report/run/print.h"

static const char *const words[] = {"plan",     "result", "run",     "search",
                                    "frontier", "check",  "compare", "validate",
                                    "explain",  "report", "pools",   NULL};

static enum status run_schema(const struct invocation *call, struct err *err)
{
    static const struct {
        const char *name;
        void (*print)(FILE *out);
    } own[] = {{"run", run_print_schema},           {"explain", explain_print_schema},
               {"report", dump_print_schema},       {"check", check_print_schema},
               {"validate", validate_print_schema}, {"frontier", frontier_print_schema}};
    const char *name = call->operands[0];
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (text_equal(own[i].name, name)) {
            own[i].print(call->out);
            return STATUS_OK;
        }
    if (document_schema(name, call->arena, call->out))
        return STATUS_OK;
    struct text known = {.arena = call->arena};
    for (size_t i = 0; words[i]; i++)
        text_printf(&known, "%s%s", i ? ", " : "", words[i]);
    err_set(err, STATUS_USAGE, "there is no schema of '%s'", name);
    return err_hint(err, "one of: %s", text_string(&known));
}

static const char *const examples[] = {
    "moeplan schema plan -o plan.schema.json",
    "moeplan schema result",
    "moeplan schema search",
    NULL,
};

const struct command command_schema = {
    .name = "schema",
    .operands = "plan | result | report | <command>",
    .summary = "a JSON Schema of the plan file, or of what a command writes as JSON",
    .description =
        "Writes a JSON Schema (draft 2020-12): 'plan' of the plan file, 'result' of what "
        "predict writes with --format json, 'report' of explain --report, 'pools' of what "
        "search does of a plan with a part prefill; of run, search, frontier, check, compare, "
        "validate and explain by their names. Whatever the format asked for, it is JSON.\n"
        "\n"
        "An editor with a YAML language server completes keys and words and shows their help "
        "where a plan starts with the line that `moeplan show` writes, and plan.schema.json "
        "lies beside it. The schema has each word in one spelling; moeplan also reads others "
        "that say the same.",
    .words = words,
    .examples = examples,
    .min_operands = 1,
    .max_operands = 1,
    .planless = true,
    .run = run_schema,
};

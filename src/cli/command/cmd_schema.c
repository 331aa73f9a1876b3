/* moeplan schema: JSON Schema of the plan file and of what predict writes. */
#include "cli/command/commands.h"
#include "lib/document.h"

static enum status run_schema(const struct invocation *call, struct err *err)
{
    const char *name = call->operands[0];
    if (document_schema(name, call->arena, call->out))
        return STATUS_OK;
    err_set(err, STATUS_USAGE, "there is no schema of '%s'", name);
    return err_hint(err, "one of: plan, result");
}

static const char *const words[] = {"plan", "result", NULL};

static const char *const examples[] = {
    "moeplan schema plan -o plan.schema.json",
    "moeplan schema result",
    NULL,
};

const struct command command_schema = {
    .name = "schema",
    .operands = "plan | result",
    .summary = "a JSON Schema of the plan file and of predict's JSON",
    .description =
        "Writes a JSON Schema (draft 2020-12): 'plan' of the plan file, 'result' of what "
        "predict writes with --format json. Whatever the format asked for, it is JSON.\n"
        "\n"
        "An editor with a YAML language server completes keys and words and shows their help "
        "where a plan starts with the line that `moeplan show` writes, and plan.schema.json "
        "lies beside it. The schema has each word in one spelling; moeplan also reads others "
        "that say the same.",
    .words = words,
    .examples = examples,
    .min_operands = 1,
    .max_operands = 1,
    .run = run_schema,
};

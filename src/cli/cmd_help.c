/* moeplan help: the manual. */
#include "cli/commands.h"
#include "cli/manual.h"

static enum status run_help(const struct invocation *call, struct err *err)
{
    if (call->n_operands == 0) {
        manual_overview(call->out, &call->term, call->arena);
        return STATUS_OK;
    }
    const char *topic = call->operands[0];
    const struct command *command = commands_find(topic);
    if (command) {
        manual_command(command, call->out, &call->term, call->arena);
        return STATUS_OK;
    }
    err_set(err, STATUS_USAGE, "no help on \"%s\"", topic);
    const char *nearest = commands_nearest(topic);
    if (nearest)
        return err_hint(err, "did you mean \"%s\"?", nearest);
    return err_hint(err, "\"moeplan help\" lists the commands");
}

static const char *const examples[] = {"moeplan help", "moeplan help help", NULL};

const struct command command_help = {
    .name = "help",
    .operands = "[command]",
    .summary = "explain a command",
    .description = "Without an operand, lists the commands.",
    .examples = examples,
    .max_operands = 1,
    .run = run_help,
};

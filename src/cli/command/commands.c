/* The command table. */
#include "cli/command/commands.h"

/* clang-format off */
static const struct command *const commands[] = {
    &command_predict,
    &command_check,
    &command_report,
    &command_compare,
    &command_explain,
    &command_run,
    &command_frontier,
    &command_search,
    &command_plot,
    &command_claims,
    &command_probe,
    &command_validate,
    &command_calibrate,
    &command_show,
    &command_import,
    &command_export,
    &command_list,
    &command_schema,
    &command_help,
};
/* clang-format on */

enum { N_COMMANDS = sizeof commands / sizeof *commands };

const struct command *const *commands_all(size_t *n)
{
    *n = N_COMMANDS;
    return commands;
}

const struct command *commands_find(const char *name)
{
    for (size_t i = 0; i < N_COMMANDS; i++)
        if (text_equal(commands[i]->name, name))
            return commands[i];
    return NULL;
}

static const char *command_name_at(const void *table, size_t i)
{
    return ((const struct command *const *)table)[i]->name;
}

const char *commands_nearest(const char *name)
{
    return text_nearest(name, N_COMMANDS, command_name_at, commands);
}

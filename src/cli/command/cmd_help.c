/* moeplan help: the manual, a page of it, or all of it for man and the shells. */
#include "cli/command/commands.h"
#include "cli/help/completion.h"
#include "cli/help/manual.h"
#include "cli/help/manual_key.h"
#include "cli/help/manpage.h"

struct settings {
    bool man;
    unsigned completion; /* enum shell */
};

static const struct settings defaults = {.completion = SHELL_NONE};

static const struct option options[] = {
    {"man", 0, OPTION_FLAG, offsetof(struct settings, man), NULL, NULL,
     "write the manual as a man page"},
    {"completion", 0, OPTION_CHOICE, offsetof(struct settings, completion), "SHELL",
     shell_names, "write the completion script of a shell"},
};

struct topic {
    const struct invocation *call;
    const char *name;
    const struct key_row *rows;
    size_t n_rows;
};

static enum status no_help(const struct topic *topic, const char *ambiguous, struct err *err)
{
    err_set(err, STATUS_USAGE, "no help on '%s'", topic->name);
    if (ambiguous[0])
        return err_hint(err, "several keys end in it: %s", ambiguous);
    const char *nearest = commands_nearest(topic->name);
    if (!nearest)
        nearest = key_nearest(topic->rows, topic->n_rows, topic->name);
    if (nearest)
        return err_hint(err, "did you mean '%s'?", nearest);
    struct text mentions = {.arena = topic->call->arena};
    key_mentions(topic->rows, topic->n_rows, topic->name, &mentions);
    if (mentions.length)
        return err_hint(err, "keys with that word: %s", text_string(&mentions));
    return err_hint(err, "'moeplan help' lists the commands, 'moeplan help keys' the keys");
}

static void print_rows(const struct invocation *call, const struct key_row *rows, size_t n)
{
    if (n == 1 && call->general.format == FORMAT_TEXT)
        manual_key(rows, call->out, &call->term, call->arena);
    else
        manual_keys(call, rows, n);
}

static enum status help_key(const struct topic *topic, struct err *err)
{
    size_t first = 0, n = key_group(topic->rows, topic->n_rows, topic->name, &first);
    if (text_equal(topic->name, "keys"))
        n = topic->n_rows;
    struct text ambiguous = {.arena = topic->call->arena};
    const struct key_row *row =
        n ? NULL : key_find(topic->rows, topic->n_rows, topic->name, &ambiguous);
    if (!n && !row)
        return no_help(topic, text_string(&ambiguous), err);
    print_rows(topic->call, row ? row : topic->rows + first, row ? 1 : n);
    return STATUS_OK;
}

static bool wrote_script(const struct invocation *call)
{
    const struct settings *settings = call->settings;
    if (settings->man)
        manpage_write(call->out, call->arena);
    else if (settings->completion != SHELL_NONE)
        completion_write(settings->completion, call->out);
    return settings->man || settings->completion != SHELL_NONE;
}

static enum status run_help(const struct invocation *call, struct err *err)
{
    if (wrote_script(call))
        return STATUS_OK;
    if (call->n_operands == 0) {
        manual_overview(call);
        return STATUS_OK;
    }
    struct topic topic = {.call = call, .name = call->operands[0]};
    const struct command *command = commands_find(topic.name);
    if (command) {
        manual_command(call, command);
        return STATUS_OK;
    }
    topic.rows = key_rows(call->arena, &topic.n_rows);
    return help_key(&topic, err);
}

static const char *const words[] = {"keys", NULL};

static const char *const examples[] = {
    "moeplan help predict",
    "moeplan help moe.capacity_factor",
    "moeplan help moe.routing",
    "moeplan help keys --format csv",
    "moeplan help --man | man -l -",
    "source <(moeplan help --completion bash)",
    NULL,
};

const struct command command_help = {
    .name = "help",
    .operands = "[command | key | group | keys]",
    .summary = "explain a command or a key of the plan file",
    .description =
        "Without an operand, lists the commands. With the name of a command, explains it and "
        "all its options. With a key of the plan file, gives its meaning, type, unit, default "
        "and limits; the last part of a key is enough where it is unique. With a group of "
        "keys, such as moe or moe.routing, lists its keys; 'keys' lists all of them.\n"
        "\n"
        "With --format json or csv the commands, a command's options, or keys are written as a "
        "table.",
    .words = words,
    .examples = examples,
    .max_operands = 1,
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .settings_size = sizeof(struct settings),
    .defaults = &defaults,
    .planless = true,
    .run = run_help,
};

/* From a command line to a command's run function and back to an exit status. */
#include "cli/command/command.h"

#include <string.h>
#include <sys/stat.h>

#include "base/column.h"
#include "base/output.h"
#include "cli/command/commands.h"
#include "cli/command/side.h"
#include "cli/help/manual.h"

static const char *const format_names[] = {"text", "json", "csv", NULL};

static const struct option options[] = {
    {"set", 0, OPTION_LIST, offsetof(struct general, set), "KEY=VALUE", NULL,
     "set a key of the plan, checked like the file; may be repeated"},
    {"format", 0, OPTION_CHOICE, offsetof(struct general, format), "FORMAT", format_names,
     "what to write: text for people, json or csv for programs; unless given, FILE.json and "
     "FILE.csv of -o say it"},
    {"output", 'o', OPTION_TEXT, offsetof(struct general, output), "FILE", NULL,
     "write to FILE, whole or not at all, instead of standard output"},
    {"seed", 0, OPTION_TEXT, offsetof(struct general, seed), "N", NULL,
     "seed of sampled routing: --set moe.routing.seed=N"},
    {"force", 0, OPTION_FLAG, offsetof(struct general, force), NULL, NULL,
     "replace files that are read, and files beside the output that moeplan did not write"},
    {"help", 'h', OPTION_FLAG, offsetof(struct general, help), NULL, NULL,
     "show this command's help"},
};

const struct option *general_options(size_t *n)
{
    *n = sizeof options / sizeof *options;
    return options;
}

void command_print_table(const struct invocation *call, const struct table *table,
                         size_t n_text)
{
    struct table shown = *table;
    shown.n = n_text;
    if (call->general.format == FORMAT_JSON)
        column_table_json(call->out, table);
    else if (call->general.format == FORMAT_CSV)
        column_table_csv(call->out, table);
    else
        column_table(call->out, &call->term, &shown, call->arena);
}

static enum status count_operands(const struct command *command, size_t n, struct err *err)
{
    if (n >= command->min_operands && n <= command->max_operands)
        return STATUS_OK;
    if (n < command->min_operands)
        err_set(err, STATUS_USAGE, "'moeplan %s' needs %s", command->name, command->operands);
    else if (command->max_operands == 0)
        err_set(err, STATUS_USAGE, "'moeplan %s' takes no operand, %zu given", command->name,
                n);
    else
        err_set(err, STATUS_USAGE, "'moeplan %s' takes %s, %zu operands given", command->name,
                command->operands, n);
    return err_hint(err, "usage: moeplan %s [options] %s", command->name, command->operands);
}

/* An option that would change nothing is a mistake of who typed it. */
static enum status check_plan_options(const struct invocation *call, struct err *err)
{
    const struct general *general = &call->general;
    if (!call->command->planless || (!general->set.n && !general->seed))
        return STATUS_OK;
    return err_set(err, STATUS_USAGE, "'moeplan %s' reads no plan that '--%s' could change",
                   call->command->name, general->set.n ? "set" : "seed");
}

/* Unless --format says it, what the output's name ends in. */
static enum format format_of(const struct general *general)
{
    const char *output = general->output ? general->output : "";
    if (general->format != FORMAT_OF_NAME)
        return (enum format)general->format;
    return text_ends(output, ".csv")    ? FORMAT_CSV
           : text_ends(output, ".json") ? FORMAT_JSON
                                        : FORMAT_TEXT;
}

static enum status parse(struct invocation *call, int n, char *const *arguments,
                         struct err *err)
{
    const struct command *command = call->command;
    void *settings = arena_alloc(call->arena, 1, command->settings_size + 1);
    if (command->defaults)
        memcpy(settings, command->defaults, command->settings_size);
    const struct option_table tables[] = {
        {command->options, command->n_options, settings},
        {options, sizeof options / sizeof *options, &call->general},
    };
    struct option_list operands = {0};
    call->general.format = FORMAT_OF_NAME;
    TRY(option_parse(tables, 2, n, arguments, command->name, call->arena, &operands, err));
    call->general.format = format_of(&call->general);
    call->settings = settings;
    call->operands = operands.items;
    call->n_operands = operands.n;
    if (call->general.output && !call->general.output[0])
        return err_set(err, STATUS_USAGE, "option '--output' needs the name of a file");
    if (call->general.help)
        return STATUS_OK;
    TRY(check_plan_options(call, err));
    return count_operands(command, operands.n, err);
}

/* The output is opened before the work starts, so that a path that cannot be written fails
 * early, and is given up when the command fails. */
static enum status perform(struct invocation *call, struct err *err)
{
    struct output output;
    const struct command *command = call->command;
    if (call->general.output && !call->general.help)
        TRY(side_check_named(call, "-o", call->general.output, err));
    if (command->prepare && !call->general.help)
        TRY(command->prepare(call, err));
    TRY(output_open(&output, call->silent ? "/dev/null" : call->general.output, err));
    if (command->rows && call->general.format == FORMAT_CSV)
        output_keep_rows(&output);
    call->out = output.file;
    term_detect(&call->term, call->out);
    enum status status = STATUS_OK;
    if (call->general.help)
        manual_command(call, command);
    else
        status = command->run(call, err);
    if (err->status != STATUS_OK) {
        output_abandon(&output);
        return status;
    }
    TRY(output_close(&output, err));
    return status;
}

static enum status unknown_command(const char *name, struct err *err)
{
    err_set(err, STATUS_USAGE, "unknown command '%s'", name);
    const char *nearest = commands_nearest(name);
    if (nearest)
        return err_hint(err, "did you mean '%s'? 'moeplan help' lists the commands", nearest);
    struct stat file;
    if (stat(name, &file) == 0 && S_ISREG(file.st_mode))
        return err_hint(err, "to use a plan, name a command first: moeplan predict %s", name);
    return err_hint(err, "'moeplan help' lists the commands");
}

static enum status print_version(struct err *err)
{
    struct output output;
    TRY(output_open(&output, NULL, err));
    fputs("moeplan " MOEPLAN_VERSION "\n", output.file);
    return output_close(&output, err);
}

static bool is_one_of(const char *word, const char *a, const char *b)
{
    return text_equal(word, a) || text_equal(word, b);
}

/* Errors are printed before finish: when processes run together, the first to end may take the
 * others with it. */
static enum status run_command(struct invocation *call, int n, char *const *arguments,
                               struct err *err)
{
    enum status status = parse(call, n, arguments, err);
    if (status == STATUS_OK)
        status = perform(call, err);
    if (err->status != STATUS_OK)
        err_print(err, stderr);
    if (call->command->finish)
        call->command->finish(call);
    err_clear(err);
    return status;
}

/* arguments[0] names the command, or is one of the flags that stand in its place. */
static enum status run_line(int n, char *const *arguments, struct arena *arena, struct err *err)
{
    const char *name = arguments[0];
    if (is_one_of(name, "--version", "-V"))
        return print_version(err);
    if (is_one_of(name, "--help", "-h"))
        name = "help";
    struct invocation call = {.command = commands_find(name), .arena = arena};
    if (call.command)
        return run_command(&call, n - 1, arguments + 1, err);
    if (name[0] != '-')
        return unknown_command(name, err);
    err_set(err, STATUS_USAGE, "unknown option '%s'", name);
    return err_hint(err, "options follow the command: moeplan <command> [options] <plan.yaml>");
}

int command_main(int argc, char **argv)
{
    struct err err = {0};
    struct arena arena = {0};
    enum status status = STATUS_USAGE;
    if (argc < 2)
        manual_usage(stderr);
    else
        status = run_line(argc - 1, argv + 1, &arena, &err);
    if (err.status != STATUS_OK)
        err_print(&err, stderr);
    arena_release(&arena);
    return (int)status;
}

/* Help pages from the command and option tables; see manual.h. */
#include "cli/help/manual.h"

#include "base/column.h"
#include "cli/command/commands.h"
#include "report/page.h"

static const struct {
    int code;
    const char *text;
} statuses[] = {
#define STATUS_ROW(name, code, text) {code, text},
    STATUS_LIST(STATUS_ROW)
#undef STATUS_ROW
};

void manual_usage(FILE *out)
{
    fputs("usage: moeplan <command> [options] <plan.yaml>\n"
          "       moeplan help [command | key]\n"
          "       moeplan --version\n"
          "\n",
          out);
    size_t n;
    const struct command *const *commands = commands_all(&n);
    for (size_t i = 0; i < n; i++)
        fprintf(out, "  %-10s %s\n", commands[i]->name, commands[i]->summary);
}

static void list_options(struct page *page, const struct option *options, size_t n,
                         struct arena *arena)
{
    for (size_t i = 0; i < n; i++) {
        struct text usage = {.arena = arena};
        option_usage(&options[i], &usage);
        page_item(page, 2, 32, text_string(&usage), option_help(&options[i], arena));
    }
}

static void list_statuses(struct page *page, struct arena *arena)
{
    page_heading(page, "exit status");
    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++)
        page_item(page, 2, 6, arena_printf(arena, "%d", statuses[i].code), statuses[i].text);
}

/* ---- as tables ---- */

struct row {
    const char *name, *operands, *text;
};

#define ROW_COLUMN(title, member)                                                              \
    {                                                                                          \
        .key = title, .type = COLUMN_TEXT, .offset = offsetof(struct row, member)              \
    }

static void print_rows(const struct invocation *call, const struct column *columns,
                       const struct row *rows, size_t n)
{
    const struct table table = {.columns = columns,
                                .n = 3,
                                .records = rows,
                                .n_records = n,
                                .record_size = sizeof *rows};
    command_print_table(call, &table, table.n);
}

static void tabulate_commands(const struct invocation *call)
{
    static const struct column columns[] = {ROW_COLUMN("name", name),
                                            ROW_COLUMN("operands", operands),
                                            ROW_COLUMN("summary", text)};
    size_t n;
    const struct command *const *commands = commands_all(&n);
    struct row *rows = arena_alloc(call->arena, n, sizeof *rows);
    for (size_t i = 0; i < n; i++)
        rows[i] = (struct row){commands[i]->name, commands[i]->operands, commands[i]->summary};
    print_rows(call, columns, rows, n);
}

static void tabulate_options(const struct invocation *call, const struct command *command)
{
    static const struct column columns[] = {
        ROW_COLUMN("option", name), ROW_COLUMN("argument", operands), ROW_COLUMN("help", text)};
    size_t n;
    const struct option *general = general_options(&n);
    struct row *rows = arena_alloc(call->arena, n + command->n_options, sizeof *rows);
    for (size_t i = 0; i < n + command->n_options; i++) {
        const struct option *option =
            i < command->n_options ? &command->options[i] : &general[i - command->n_options];
        rows[i] = (struct row){arena_printf(call->arena, "--%s", option->name),
                               option_argument(option, call->arena),
                               option_help(option, call->arena)};
    }
    print_rows(call, columns, rows, n + command->n_options);
}

/* ---- as pages ---- */

void manual_overview(const struct invocation *call)
{
    struct page page = {.out = call->out, .term = &call->term};
    struct arena *arena = call->arena;
    size_t n;
    if (call->general.format != FORMAT_TEXT) {
        tabulate_commands(call);
        return;
    }
    page_text(&page, 0,
              "moeplan simulates and plans Mixture-of-Experts models: does this model, on this "
              "cluster, with this software, fit, and what is in the way when it does not.");
    page_heading(&page, "usage");
    page_text(&page, 2, "moeplan <command> [options] <plan.yaml>");
    page_heading(&page, "commands");
    const struct command *const *commands = commands_all(&n);
    for (size_t i = 0; i < n; i++)
        page_item(&page, 2, 14, commands[i]->name, commands[i]->summary);
    page_heading(&page, "options of every command");
    const struct option *options = general_options(&n);
    list_options(&page, options, n, arena);
    list_statuses(&page, arena);
    page_heading(&page, "more help");
    page_item(&page, 2, 30, "moeplan help <command>", "one command, all its options");
    page_item(&page, 2, 30, "moeplan help <key>",
              "one key of the plan file, or a group of them");
    page_item(&page, 2, 30, "moeplan help keys", "every key of the plan file");
    page_item(&page, 2, 30, "moeplan help --man", "the whole manual as a man page");
}

static void list_examples(struct page *page, const struct command *command)
{
    if (!command->examples)
        return;
    page_heading(page, "examples");
    for (const char *const *example = command->examples; *example; example++)
        page_text(page, 2, *example);
}

void manual_command(const struct invocation *call, const struct command *command)
{
    struct page page = {.out = call->out, .term = &call->term};
    struct arena *arena = call->arena;
    size_t n;
    if (call->general.format != FORMAT_TEXT) {
        tabulate_options(call, command);
        return;
    }
    page_text(&page, 0, arena_printf(arena, "moeplan %s: %s", command->name, command->summary));
    page_heading(&page, "usage");
    page_text(&page, 2,
              arena_printf(arena, "moeplan %s [options] %s", command->name, command->operands));
    page_heading(&page, "description");
    page_text(&page, 2, command->description);
    if (command->n_options)
        page_heading(&page, "options");
    list_options(&page, command->options, command->n_options, arena);
    page_heading(&page, "options of every command");
    const struct option *options = general_options(&n);
    list_options(&page, options, n, arena);
    list_examples(&page, command);
    list_statuses(&page, arena);
}

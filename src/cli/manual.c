/* Help pages from the command and option tables; see manual.h. */
#include "cli/manual.h"

#include "cli/commands.h"
#include "cli/page.h"

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
        page_item(page, 2, 32, text_string(&usage), options[i].help);
    }
}

static void list_statuses(struct page *page, struct arena *arena)
{
    page_heading(page, "exit status");
    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++)
        page_item(page, 2, 6, arena_printf(arena, "%d", statuses[i].code), statuses[i].text);
}

void manual_overview(FILE *out, const struct term *term, struct arena *arena)
{
    struct page page = {.out = out, .term = term};
    size_t n;
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

void manual_command(const struct command *command, FILE *out, const struct term *term,
                    struct arena *arena)
{
    struct page page = {.out = out, .term = term};
    size_t n;
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

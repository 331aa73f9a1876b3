/* moeplan(1) from the tables; see manpage.h. */
#include "cli/help/manpage.h"

#include <string.h>

#include "base/err.h"
#include "cli/command/commands.h"
#include "cli/option/keys.h"

/* Text with roff's own characters escaped; a line may not start with a control character. */
static void roff_text(FILE *out, const char *text)
{
    bool start = true;
    for (; *text; text++) {
        if (start && (*text == '.' || *text == '\''))
            fputs("\\&", out);
        start = *text == '\n';
        if (*text == '\\')
            fputs("\\e", out);
        else if (*text == '-')
            fputs("\\-", out);
        else
            fputc(*text, out);
    }
}

static void section(FILE *out, const char *title)
{
    fprintf(out, ".SH %s\n", title);
}

static void item(FILE *out, const char *term, const char *text)
{
    fputs(".TP\n.B ", out);
    roff_text(out, term);
    fputc('\n', out);
    roff_text(out, text);
    fputc('\n', out);
}

static void verbatim(FILE *out, bool *on, bool wanted)
{
    if (*on != wanted)
        fputs(wanted ? ".RS\n.nf\n" : ".fi\n.RE\n", out);
    *on = wanted;
}

/* Paragraphs are separated by blank lines; lines that start with a space stay as they are. */
static void paragraphs(FILE *out, const char *text, struct arena *arena)
{
    bool as_is = false;
    while (*text) {
        size_t length = strcspn(text, "\n");
        if (length == 0) {
            verbatim(out, &as_is, false);
            fputs(".PP\n", out);
        } else {
            size_t indent = strspn(text, " ");
            verbatim(out, &as_is, indent > 0);
            roff_text(out, arena_strndup(arena, text + indent, length - indent));
            fputc('\n', out);
        }
        text += length + (text[length] == '\n');
    }
    verbatim(out, &as_is, false);
}

static void list_options(FILE *out, const struct option *options, size_t n, struct arena *arena)
{
    for (size_t i = 0; i < n; i++) {
        struct text usage = {.arena = arena};
        option_usage(&options[i], &usage);
        const char *text = text_string(&usage);
        item(out, text + strspn(text, " "), option_help(&options[i], arena));
    }
}

static void write_command(FILE *out, const struct command *command, struct arena *arena)
{
    fputs(".SS \"moeplan ", out);
    roff_text(out, command->name);
    fputs(" [options] ", out);
    roff_text(out, command->operands);
    fputs("\"\n", out);
    paragraphs(out, command->description, arena);
    list_options(out, command->options, command->n_options, arena);
    if (!command->examples)
        return;
    fputs(".PP\nExamples:\n.RS\n.nf\n", out);
    for (const char *const *example = command->examples; *example; example++) {
        roff_text(out, *example);
        fputc('\n', out);
    }
    fputs(".fi\n.RE\n", out);
}

static void write_keys(FILE *out, struct arena *arena)
{
    size_t n;
    const struct key_row *rows = key_rows(arena, &n);
    for (size_t i = 0; i < n; i++) {
        struct text text = {.arena = arena};
        text_append(&text, rows[i].help);
        if (rows[i].choices)
            text_printf(&text, "; one of %s", rows[i].choices);
        if (rows[i].limits)
            text_printf(&text, "; %s", rows[i].limits);
        text_printf(&text, "; default %s", rows[i].shown);
        item(out, rows[i].key, text_string(&text));
    }
}

static void write_environment(FILE *out)
{
    static const char *const variables[][2] = {
        {"MOEPLAN_DATA", "a folder searched for models, clusters and stacks before the ones "
                         "that came with moeplan"},
        {"MOEPLAN_CACHE",
         "the folder that keeps kernels compiled for a GPU and what run probed; "
         "default: moeplan in XDG_CACHE_HOME or ~/.cache"},
        {"MOEPLAN_PROBE", "what run does without a profile: auto, never or again"},
        {"NO_COLOR", "when set, no colour on a terminal"},
        {"TERM", "\"dumb\": no colour"},
        {"LC_ALL, LC_CTYPE, LANG", "bars are drawn with block characters where the encoding is "
                                   "UTF-8"},
    };
    section(out, "ENVIRONMENT");
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        item(out, variables[i][0], variables[i][1]);
}

static void write_statuses(FILE *out)
{
    section(out, "EXIT STATUS");
#define STATUS_ITEM(name, code, text) item(out, #code, text);
    STATUS_LIST(STATUS_ITEM)
#undef STATUS_ITEM
}

void manpage_write(FILE *out, struct arena *arena)
{
    size_t n;
    fputs(".TH MOEPLAN 1 \"\" \"moeplan " MOEPLAN_VERSION "\" \"User Commands\"\n", out);
    section(out, "NAME");
    fputs("moeplan \\- simulate and plan Mixture\\-of\\-Experts models\n", out);
    section(out, "SYNOPSIS");
    fputs(".B moeplan\n.I command\n[options]\n.I plan.yaml\n", out);
    section(out, "DESCRIPTION");
    paragraphs(out,
               "A plan file names a model, a cluster and a software stack, and how the "
               "model is laid out on the cluster. moeplan predicts from it what each "
               "device has to hold, which buffer stands in the way when that is too "
               "much, which changes make it fit, and how long a step takes.\n\nMemory is given "
               "in GiB (2^30 "
               "bytes), rates in SI units.",
               arena);
    section(out, "COMMANDS");
    const struct command *const *commands = commands_all(&n);
    for (size_t i = 0; i < n; i++)
        write_command(out, commands[i], arena);
    section(out, "OPTIONS OF EVERY COMMAND");
    const struct option *options = general_options(&n);
    list_options(out, options, n, arena);
    section(out, "PLAN FILE");
    write_keys(out, arena);
    write_statuses(out);
    write_environment(out);
}

/* Charts through gnuplot; see gnuplot.h. */
#include "report/gnuplot.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/home.h"
#include "base/process.h"

static const struct {
    const char *ending;
    enum chart_type type;
    const char *terminal;
    const char *end; /* what a whole picture ends in, but for blanks */
} types[] = {
    {".png", CHART_PNG, "pngcairo size 1200,800 font 'DejaVu Sans,13' linewidth 1.5",
     "IEND\xae\x42\x60\x82"},
    {".svg", CHART_SVG,
     "svg size 1200,800 font 'DejaVu Sans,13' linewidth 1.5 background '#ffffff'", "</svg>"},
    {".pdf", CHART_PDF, "pdfcairo size 12in,8in font 'DejaVu Sans,13' linewidth 1.5", "%%EOF"},
    {".txt", CHART_TEXT, "dumb", ""},
};

enum { N_TYPES = sizeof types / sizeof *types };

enum status chart_type_of(const char *picture, enum chart_type *type, struct err *err)
{
    for (const char *c = picture; *c; c++)
        if ((unsigned char)*c < 32 || *c == 127)
            return err_set(err, STATUS_USAGE,
                           "\"%s\": a picture's name cannot hold control characters", picture);
    if (text_equal(picture, "-")) {
        *type = CHART_TEXT;
        return STATUS_OK;
    }
    for (size_t i = 0; i < N_TYPES; i++)
        if (text_ends(picture, types[i].ending)) {
            *type = types[i].type;
            return STATUS_OK;
        }
    err_set(err, STATUS_USAGE, "\"%s\" is no kind of picture", picture);
    return err_hint(err,
                    "end the name in .png, .svg, .pdf or .txt, or give - for the terminal");
}

/* An expression for gnuplot that is the text: single-quoted strings joined by "'", since
 * gnuplot does not read all doubled quotes as one. plain: what text_append_visible would escape
 * as a space. */
static void quote(const char *text, bool plain, struct text *out)
{
    text_append(out, "'");
    while (*text) {
        bool visible;
        size_t bytes = text_character(text, &visible);
        if (plain && !visible)
            text_append(out, " ");
        else if (*text == '\'')
            text_append(out, "'.\"'\".'");
        else
            text_append_n(out, text, bytes);
        text += bytes;
    }
    text_append(out, "'");
}

/* gnuplot takes a name that starts with | or < for a command to run, and one that starts with -
 * for an option. */
static void quote_name(const char *path, struct text *out)
{
    struct text name = {.arena = out->arena};
    text_printf(&name, "./%s", text_base_name(path));
    quote(text_string(&name), false, out);
}

static const char *terminal_of(enum chart_type type)
{
    for (size_t i = 0; i < N_TYPES; i++)
        if (types[i].type == type)
            return types[i].terminal;
    return types[0].terminal;
}

static void write_list(const struct chart_variable *variable, struct text *out)
{
    size_t n = 0;
    while (variable->list[n])
        n++;
    text_printf(out, "n_%s = %zu\n", variable->name, n);
    text_printf(out, "array %s[%zu]\n", variable->name, n ? n : 1);
    for (size_t i = 0; i < n; i++) {
        text_printf(out, "%s[%zu] = ", variable->name, i + 1);
        quote(variable->list[i], true, out);
        text_append(out, "\n");
    }
}

static void write_variable(const struct chart_variable *variable, struct text *out)
{
    if (variable->list) {
        write_list(variable, out);
        return;
    }
    text_printf(out, "%s = ", variable->name);
    if (variable->text) {
        quote(variable->text, true, out);
    } else {
        char number[32];
        text_double(number, variable->number);
        text_append(out, number);
    }
    text_append(out, "\n");
}

static void write_head(const struct chart *chart, struct text *out)
{
    bool terminal = chart->type == CHART_TEXT;
    text_printf(out,
                "# moeplan " MOEPLAN_VERSION ", chart \"%s\"; draw it with: gnuplot ./%s\n",
                chart->kind, text_base_name(chart->script));
    text_printf(out, "set terminal %s", terminal_of(chart->type));
    if (terminal)
        text_printf(out, " nofeed %s size %u,%u", chart->colour ? "ansi" : "mono",
                    chart->columns, chart->rows);
    text_append(out, "\n");
    if (!text_equal(chart->picture, "-")) {
        text_append(out, "set output ");
        quote_name(chart->picture, out);
        text_append(out, "\n");
    }
    text_printf(out, "on_terminal = %d\ndata = ", terminal);
    quote_name(chart->data, out);
    text_append(out, "\noverlay = ");
    if (chart->overlay)
        quote_name(chart->overlay, out);
    else
        text_append(out, "''");
    text_append(out, "\n");
    for (size_t i = 0; i < chart->n_variables; i++)
        write_variable(&chart->variables[i], out);
    text_append(out, "\n");
}

/* A template is a program, so it comes from the program's own data or from where the user said.
 */
static enum status read_template(const char *kind, struct arena *arena, const char **text,
                                 struct err *err)
{
    size_t length;
    char *found;
    const char *path = home_file(arena_printf(arena, "plots/%s.gp", kind), arena);
    if (path) {
        TRY(file_read(path, 1 << 20, arena, &found, &length, err));
        *text = found;
        return STATUS_OK;
    }
    err_set(err, STATUS_INPUT, "chart template \"%s.gp\" is not found", kind);
    return err_hint(err, "it belongs to the folder plots/ of moeplan");
}

enum status chart_script(const struct chart *chart, struct text *out, struct err *err)
{
    const char *style, *body;
    TRY(read_template("style", out->arena, &style, err));
    TRY(read_template(chart->kind, out->arena, &body, err));
    write_head(chart, out);
    text_append(out, style);
    text_append(out, body);
    return STATUS_OK;
}

/* ---- running it ---- */

/* gnuplot's cairo terminals draw no text at all without a font, and succeed. */
static enum status check_fonts(enum chart_type type, struct err *err)
{
    char found[64];
    struct process fonts = {.arguments = (char *[]){(char[]){"fc-list"}, NULL},
                            .heard = found,
                            .room = sizeof found};
    if (type == CHART_SVG || type == CHART_TEXT)
        return STATUS_OK;
    int status = process_run(&fonts);
    if (status == PROCESS_ABSENT || found[0] != '\0')
        return STATUS_OK;
    err_set(err, STATUS_ABSENT, "no fonts are installed, so the picture would have no text");
    return err_hint(err, "install fonts-dejavu-core, or draw an .svg or .txt");
}

static void folder_of(const char *path, char folder[4096])
{
    const char *slash = strrchr(path, '/');
    size_t length = slash ? (size_t)(slash - path) : 0;
    snprintf(folder, 4096, "%.*s", (int)(length ? length : 1),
             length  ? path
             : slash ? "/"
                     : ".");
}

/* gnuplot fills every line to the full width; empty lines before and after say nothing. */
static void print_trimmed(const char *text, FILE *out)
{
    size_t length, empty = 0;
    bool started = false;
    for (; *text; text += length + (text[length] == '\n')) {
        length = strcspn(text, "\n");
        size_t used = length;
        while (used > 0 && (text[used - 1] == ' ' || text[used - 1] == '\f'))
            used--;
        if (!used) {
            empty += started;
            continue;
        }
        for (; empty; empty--)
            fputc('\n', out);
        fprintf(out, "%.*s\n", (int)used, text);
        started = true;
    }
}

static int run_gnuplot(struct process *gnuplot, FILE *out)
{
    char *heard = NULL;
    size_t length = 0;
    gnuplot->copy = out ? open_memstream(&heard, &length) : NULL;
    int status = out && !gnuplot->copy ? -1 : process_run(gnuplot);
    if (gnuplot->copy)
        fclose(gnuplot->copy);
    if (status == 0 && heard)
        print_trimmed(heard, out);
    free(heard);
    return status;
}

/* gnuplot's words on one line. */
static void join_lines(char *words)
{
    char *to = words;
    for (const char *from = words; *from; from++)
        if (*from > ' ' || (to > words && to[-1] != ' '))
            *to++ = *from > ' ' || (unsigned char)*from > 126 ? *from : ' ';
    while (to > words && to[-1] == ' ')
        to--;
    *to = '\0';
}

/* gnuplot does not say that a disk is full: it ends well, and the picture ends early. */
static bool is_whole(const struct chart *chart)
{
    enum { LARGEST = 256 << 20 };
    struct arena arena = {0};
    struct err unread = {0};
    const char *end = "";
    char *bytes;
    size_t n = 0;
    for (size_t i = 0; i < N_TYPES; i++)
        if (types[i].type == chart->type)
            end = types[i].end;
    if (file_read(chart->picture, LARGEST, &arena, &bytes, &n, &unread) != STATUS_OK)
        n = 0;
    while (n && *end && isspace((unsigned char)bytes[n - 1]))
        n--;
    size_t length = strlen(end);
    bool whole = n && n >= length && memcmp(bytes + n - length, end, length) == 0;
    arena_release(&arena);
    return whole;
}

static enum status check_picture(const struct chart *chart, struct err *err)
{
    if (access(chart->picture, F_OK) != 0)
        return err_set(err, STATUS_SYSTEM, "gnuplot ended well, but \"%s\" is not there",
                       chart->picture);
    if (!file_is_there(chart->picture) || is_whole(chart))
        return STATUS_OK;
    unlink(chart->picture);
    err_set(err, STATUS_SYSTEM, "gnuplot could not write all of \"%s\"", chart->picture);
    return err_hint(err, "is the disk full? what there was of it is removed");
}

enum status chart_draw(const struct chart *chart, FILE *out, struct err *err)
{
    char folder[4096], script[1024], words[512];
    bool terminal = text_equal(chart->picture, "-");
    TRY(check_fonts(chart->type, err));
    folder_of(chart->script, folder);
    snprintf(script, sizeof script, "./%s", text_base_name(chart->script));
    /* gnuplot warns of UTF-8 in any other locale; -d: no start-up files */
    char *arguments[] = {(char[]){"env"},
                         (char[]){"LC_ALL=C.UTF-8"},
                         (char[]){"gnuplot"},
                         (char[]){"-d"},
                         script,
                         NULL};
    struct process gnuplot = {.arguments = arguments,
                              .folder = folder,
                              .errors = !terminal,
                              .heard = words,
                              .room = sizeof words};
    int status = run_gnuplot(&gnuplot, terminal ? out : NULL);
    if (status == 0)
        return terminal ? STATUS_OK : check_picture(chart, err);
    if (status == PROCESS_ABSENT) {
        err_set(err, STATUS_ABSENT, "gnuplot is not installed");
        return err_hint(err, "install gnuplot-nox, then: gnuplot %s", chart->script);
    }
    join_lines(words);
    err_set(err, STATUS_SYSTEM, "gnuplot failed on \"%s\": %s", chart->script, words);
    return err_hint(err, "run it by hand: gnuplot %s", chart->script);
}

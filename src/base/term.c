/* Terminal abilities, decided in one place; see term.h. */
#include "base/term.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <unistd.h>

static const char *environment(const char *name)
{
    return getenv(name);
}

static unsigned window_columns(int fd)
{
    struct winsize size;
    return ioctl(fd, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

void term_detect(struct term *term, FILE *out)
{
    int fd = fileno(out);
    bool tty = fd >= 0 && isatty(fd);
    term_decide(term, tty, tty ? window_columns(fd) : 0, environment);
}

static bool is_set(const char *value)
{
    return value && value[0] != '\0';
}

/* The first of the locale's variables that is set decides, as in setlocale(3). */
static bool locale_is_utf8(const char *(*variable)(const char *name))
{
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *value = variable(names[i]);
        if (!is_set(value))
            continue;
        const char *encoding = strchr(value, '.');
        return encoding && (strncasecmp(encoding + 1, "UTF-8", 5) == 0 ||
                            strncasecmp(encoding + 1, "UTF8", 4) == 0);
    }
    return false;
}

static unsigned choose_width(unsigned columns, const char *variable)
{
    if (columns == 0 && is_set(variable))
        columns = (unsigned)strtoul(variable, NULL, 10);
    if (columns == 0)
        return TERM_WIDTH;
    if (columns > TERM_WIDTH_MAX)
        return TERM_WIDTH_MAX;
    return columns < TERM_WIDTH_MIN ? TERM_WIDTH_MIN : columns;
}

/* Open MPI gives each process a terminal of its own, and passes on what is written there to
 * wherever mpirun's output goes, such as a file. Others use pipes. */
static bool is_launched(const char *(*variable)(const char *name))
{
    return is_set(variable("OMPI_COMM_WORLD_RANK"));
}

bool term_is_watched(FILE *out)
{
    struct term term;
    term_detect(&term, out);
    return term.tty;
}

void term_decide(struct term *term, bool tty, unsigned columns,
                 const char *(*variable)(const char *name))
{
    const char *kind = variable("TERM");
    tty = tty && !is_launched(variable);
    term->tty = tty;
    term->colour =
        tty && !is_set(variable("NO_COLOR")) && is_set(kind) && !text_equal(kind, "dumb");
    term->utf8 = locale_is_utf8(variable);
    term->width = choose_width(columns, variable("COLUMNS"));
}

const char *term_style(const struct term *term, enum style style)
{
    static const char *const sequences[] = {
        [STYLE_PLAIN] = "\033[0m",   [STYLE_BOLD] = "\033[1m",    [STYLE_DIM] = "\033[2m",
        [STYLE_GOOD] = "\033[1;32m", [STYLE_WARN] = "\033[1;33m", [STYLE_BAD] = "\033[1;31m",
        [STYLE_BAR] = "\033[36m",
    };
    return term->colour ? sequences[style] : "";
}

const char *term_plain(const struct term *term)
{
    return term_style(term, STYLE_PLAIN);
}

void term_bar(const struct term *term, struct text *out, double fraction, unsigned width)
{
    static const char *const blocks[] = {"",
                                         "\xe2\x96\x8f", /* one eighth */
                                         "\xe2\x96\x8e",
                                         "\xe2\x96\x8d",
                                         "\xe2\x96\x8c",
                                         "\xe2\x96\x8b",
                                         "\xe2\x96\x8a",
                                         "\xe2\x96\x89",
                                         "\xe2\x96\x88"}; /* full */
    unsigned parts = term->utf8 ? 8 : 1;
    double exact = fraction * width * parts;
    unsigned filled = exact <= 0 ? 0 : (unsigned)(exact + 0.5);
    if (exact > 0 && filled == 0)
        filled = 1;
    if (filled > width * parts)
        filled = width * parts;
    unsigned columns = 0;
    for (; columns < filled / parts; columns++)
        text_append(out, term->utf8 ? blocks[8] : "#");
    if (filled % parts) {
        text_append(out, blocks[filled % parts]);
        columns++;
    }
    for (; columns < width; columns++)
        text_append(out, " ");
}

size_t term_columns(const char *text)
{
    size_t columns = 0;
    for (; *text; text++)
        columns += ((unsigned char)*text & 0xc0) != 0x80;
    return columns;
}

/* What the place a text goes to can show: colours, bars of eighth blocks, how wide.
 *
 * Colour only on a terminal, never with NO_COLOR or TERM=dumb, nor in a process that Open MPI
 * started, whose terminal is not the reader's. Blocks and signs beyond ASCII
 * only where the locale's encoding is UTF-8 (LC_ALL, LC_CTYPE, LANG; the first that is set). */
#ifndef MOEPLAN_BASE_TERM_H
#define MOEPLAN_BASE_TERM_H

#include <stdbool.h>
#include <stdio.h>

#include "base/text.h"

enum { TERM_WIDTH_MIN = 80, TERM_WIDTH = 96, TERM_WIDTH_MAX = 100 };

struct term {
    bool tty, colour, utf8;
    unsigned width; /* columns to fill: the terminal's or $COLUMNS, 80 to 100; else 96 */
};

enum style { STYLE_PLAIN, STYLE_BOLD, STYLE_DIM, STYLE_GOOD, STYLE_WARN, STYLE_BAD, STYLE_BAR };

/* Looks at the stream and the environment. */
void term_detect(struct term *term, FILE *out);

/* Whether somebody may look at the stream while it is written, as progress is. */
bool term_is_watched(FILE *out);

/* The decision alone, for tests: getenv is a parameter. columns 0: not known. */
void term_decide(struct term *term, bool tty, unsigned columns,
                 const char *(*variable)(const char *name));

/* Escape sequences that start a style and end any; "" without colour. */
const char *term_style(const struct term *term, enum style style);
const char *term_plain(const struct term *term);

/* Appends a bar of exactly `width` columns filled for fraction (0 to 1) of them, the rest
 * blank. What is more than nothing shows at least one eighth. */
void term_bar(const struct term *term, struct text *out, double fraction, unsigned width);

/* Columns a UTF-8 text takes (one per character). */
size_t term_columns(const char *text);

#endif

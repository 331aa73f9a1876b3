/* Charts through gnuplot: a template of plots/ with its variables set in front of it.
 *
 * The .gp file is complete in itself (variables, then the template's text) and names its data
 * and its picture as ./NAME, so that a user can move, restyle and draw it again. Text of the
 * user goes only into single-quoted strings, in which gnuplot runs no commands. */
#ifndef MOEPLAN_REPORT_GNUPLOT_H
#define MOEPLAN_REPORT_GNUPLOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/err.h"
#include "base/text.h"

enum chart_type { CHART_PNG, CHART_SVG, CHART_PDF, CHART_TEXT };

/* A variable of the template: a text, a number, or a list of texts. */
struct chart_variable {
    const char *name;
    const char *text;        /* NULL: not a text */
    double number;           /* when text and list are NULL */
    const char *const *list; /* NULL-terminated, or NULL */
};

struct chart {
    const char *kind;       /* template: plots/<kind>.gp */
    const char *picture;    /* file to draw, "-" for a terminal chart on `out` */
    enum chart_type type;   /* by the picture's ending: chart_type_of */
    const char *data;       /* CSV file the template reads */
    const char *overlay;    /* a second one; NULL: none */
    const char *script;     /* .gp file that holds the script */
    unsigned columns, rows; /* size of a terminal chart */
    bool colour;            /* of a terminal chart */
    const struct chart_variable *variables;
    size_t n_variables;
};

/* png, svg, pdf or txt by the file's ending, "-" is text. STATUS_USAGE for others, and for
 * names with control characters, which would end a line of the script. */
enum status chart_type_of(const char *picture, enum chart_type *type, struct err *err);

/* Appends the text of the script. STATUS_INPUT when the template is not found. */
enum status chart_script(const struct chart *chart, struct text *out, struct err *err);

/* Runs gnuplot on the script. STATUS_ABSENT when gnuplot is not installed, or when a bitmap or
 * PDF has no font to draw with (gnuplot would leave out all text and say nothing);
 * STATUS_SYSTEM when gnuplot fails, with its words. `out` receives a terminal chart, without
 * the blanks around it. */
enum status chart_draw(const struct chart *chart, FILE *out, struct err *err);

#endif

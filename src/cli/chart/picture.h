/* A picture in the making: the chart, its variables, its tables, and the files they go to.
 *
 * FILE.csv and FILE.gp stand beside FILE.png, so that a user can restyle and draw it again; a
 * second table (published points) is FILE-published.csv. A terminal chart ("-") keeps its files
 * in a folder that is removed after drawing. */
#ifndef MOEPLAN_CLI_CHART_PICTURE_H
#define MOEPLAN_CLI_CHART_PICTURE_H

#include "cli/command/command.h"
#include "report/gnuplot.h"

enum { PICTURE_VARIABLES = 40 };

struct picture {
    struct chart chart;
    struct chart_variable variables[PICTURE_VARIABLES];
    struct arena *arena;
    struct text data;      /* CSV that the template reads as `data` */
    struct text published; /* CSV that it reads as `overlay`, or nothing */
    const char *base;      /* the files' name without ending */
    char *folder;          /* of a terminal chart */
};

/* Nothing drawn yet; `file` decides the kind of picture by its ending. STATUS_USAGE for one
 * that cannot be drawn, STATUS_INPUT when it or a file beside it would replace what it should
 * not (side.h). */
enum status picture_init(struct picture *picture, const char *file,
                         const struct invocation *call, struct err *err);

/* Variables of the template; texts and lists are not copied. */
void picture_text(struct picture *picture, const char *name, const char *text);
void picture_number(struct picture *picture, const char *name, double number);
void picture_list(struct picture *picture, const char *name, const char *const *list);

/* FILE-published.csv of FILE or FILE.csv */
const char *picture_published_file(const char *file, struct arena *arena);

/* Replaces what gnuplot cannot read inside a cell of the tables, quotes, commas and
 * backslashes, by ' and ; and / (gnuplot reads a quoted cell only up to its first comma), and
 * leaves out blanks in front. Before the variables are made. */
enum status picture_plain(struct picture *picture, const char *file, struct err *err);

/* Writes tables and script, draws, and says on the output which files were written. Without
 * gnuplot or fonts: STATUS_ABSENT when the picture is `all` that was asked for, otherwise a
 * warning; tables and script stay either way. */
enum status picture_draw(struct picture *picture, bool all, const struct invocation *call,
                         struct err *err);

#endif

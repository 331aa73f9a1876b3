/* Kinds of charts. A kind makes its table from a plan, and draws such a table, one just made or
 * one saved earlier: everything a picture needs besides titles stands in the table.
 *
 * To add a kind: cli/chart/<name>.c with a `const struct chart_kind`, plots/<name>.gp, a row of
 * CHART_LIST. */
#ifndef MOEPLAN_CLI_CHART_CHART_H
#define MOEPLAN_CLI_CHART_CHART_H

#include "base/csv.h"
#include "cli/chart/picture.h"
#include "plan/plan.h"

/* in the order in which help lists them */
#define CHART_LIST(X)                                                                          \
    X(memory, "memory")                                                                        \
    X(map, "map")                                                                              \
    X(categories, "categories")                                                                \
    X(time, "time")                                                                            \
    X(timeline, "timeline")                                                                    \
    X(roofline, "roofline")                                                                    \
    X(pareto, "pareto")                                                                        \
    X(pools, "pools")                                                                          \
    X(losses, "time-to-loss")                                                                  \
    X(waterfall, "waterfall")                                                                  \
    X(load, "load")                                                                            \
    X(drops, "drops")                                                                          \
    X(padding, "padding")

/* What a chart says about where its numbers come from. */
struct chart_names {
    const char *subject; /* "deepseek-v3 on mi355x-8x8" */
    const char *source;  /* the line at the foot */
    double capacity_gib; /* of a rank; 0: not known */
};

struct chart_names chart_names_of(const struct plan *plan, struct arena *arena);

/* The names that FILE.json beside a saved FILE.csv holds, else the file's own name. */
struct chart_names chart_names_of_file(const char *file, struct arena *arena);

/* The same from a JSON that was read; NULL: there is none. */
struct node;
struct chart_names chart_names_of_json(const char *file, const struct node *root,
                                       struct arena *arena);

/* What a table is made from: the call, whose operand is the plan, and what is swept. */
struct chart_request {
    const struct invocation *call;
    struct option_list cases, overs;
};

struct chart_kind {
    const char *name;
    const char *summary; /* one line, lower case */
    const char *needs;   /* what a saved table must be, for messages */
    /* Appends the table as CSV, and what is published beside it where there is something. NULL:
     * tables of the user's alone are drawn. */
    enum status (*make)(const struct chart_request *request, struct chart_names *names,
                        struct picture *picture, struct err *err);
    /* Sets template and variables from picture->data; `file` names it in messages. */
    enum status (*fill)(const char *file, const struct chart_names *names,
                        struct picture *picture, struct err *err);
    bool sweeps; /* takes --over and --case */
    /* Of tables that were read: adds columns; NULL: there is nothing to add. */
    enum status (*extend)(const char *file, struct picture *picture, struct err *err);
};

#define CHART_EXTERN(name, text) extern const struct chart_kind chart_##name;
CHART_LIST(CHART_EXTERN)
#undef CHART_EXTERN

/* All kinds; their names alone, NULL-terminated. */
const struct chart_kind *const *charts_all(size_t *n);
extern const char *const charts_names[];

/* STATUS_USAGE with the nearest name. */
enum status charts_find(const char *name, const struct chart_kind **kind, struct err *err);

/* ---- pieces that several kinds share ---- */

/* Reads picture->data; STATUS_INPUT when one of the columns (NULL-terminated) is missing or
 * there is no row. */
enum status chart_table(const char *file, const char *const *columns, const char *needs,
                        struct picture *picture, struct csv *csv, struct err *err);

/* Title "subject: what" and the source line. */
void chart_titles(struct picture *picture, const struct chart_names *names, const char *what);

/* Whether one of the words of text[length], apart by spaces, is word[n]. */
bool chart_has_word(const char *text, size_t length, const char *word, size_t n);

/* Sets "devices", the numbers of a column of that name; STATUS_INPUT above `most`, which a
 * picture has room for. */
enum status chart_list_devices(const char *file, const struct csv *csv, size_t most,
                               struct picture *picture, struct err *err);

/* The line at the foot of what a search found; `note`: behind the profile's name, or "". */
const char *chart_found_line(const struct plan *plan, const char *profile, const char *note,
                             struct arena *arena);

/* Fills a picture whose data is the table of such a search, and draws it. */
enum status chart_found_draw(const struct chart_kind *kind, const struct plan *plan,
                             const char *line, struct picture *picture,
                             const struct invocation *call, struct err *err);

/* A number of a cell; 0 when there is none. */
double chart_number(const struct csv *csv, size_t row, const char *column);

/* Rows of a list (column "list"), at most so many of them and spread over it, into rows[most];
 * how many they are. */
size_t chart_spread(const struct csv *csv, const char *list, size_t most, size_t *rows);

/* Where a numbered point stands in the picture, 0 to 1 along each axis. */
struct chart_place {
    double x, y;
};

/* What is written at each point, NULL-terminated: its number from 1, "3 4" at the first of
 * those that stand so near that their numbers would lie on one another, "" at the others. */
const char **chart_numbered(const struct chart_place *places, size_t n, struct arena *arena);

/* Distinct texts of a column in order of appearance, NULL-terminated. */
const char *const *chart_distinct(const struct csv *csv, const char *column,
                                  struct arena *arena, size_t *n);

#endif

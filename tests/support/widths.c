/* See widths.h. */
#define _XOPEN_SOURCE 700 /* realpath */
#include "support/widths.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/csv.h"
#include "base/file.h"
#include "base/number.h"
#include "base/stat.h"
#include "base/text.h"

static const char path[] = "tests/data/widths.csv", readme[] = "models/profiles/README.md",
                  header[] = "profile,kind,left_out,values,groups,median_percent,p90_percent,"
                             "width,held,told_mean,told_rms\n";

enum { LIMIT = 1 << 22 };

static void stop(const struct err *err)
{
    fprintf(stderr, "%s: %s %s\n", err->where, err->text, err->hint);
    exit(1);
}

static double real_at(const struct csv *csv, size_t row, const char *column)
{
    double value;
    return number_real(csv_cell(csv, row, column), &value) ? value : (double)NAN;
}

static void read_file(struct widths *w, const char *file, struct arena *arena)
{
    struct err err = {0};
    struct csv csv;
    *w = (struct widths){.root = arena_strndup(arena, file, strlen(file) - strlen(path)),
                         .file = file};
    if (csv_read(file, arena, &csv, &err))
        stop(&err);
    w->list = arena_alloc(arena, csv.n_rows + 1, sizeof *w->list);
    for (size_t row = 0; row < csv.n_rows; row++)
        w->list[w->n++] = (struct width){.profile = csv_cell(&csv, row, "profile"),
                                         .kind = csv_cell(&csv, row, "kind"),
                                         .cut = csv_cell(&csv, row, "left_out"),
                                         .values = (uint64_t)real_at(&csv, row, "values"),
                                         .groups = (uint64_t)real_at(&csv, row, "groups"),
                                         .median = real_at(&csv, row, "median_percent"),
                                         .p90 = real_at(&csv, row, "p90_percent"),
                                         .width = real_at(&csv, row, "width"),
                                         .held = real_at(&csv, row, "held"),
                                         .told_mean = real_at(&csv, row, "told_mean"),
                                         .told_rms = real_at(&csv, row, "told_rms")};
}

void widths_read(struct widths *w, struct arena *arena)
{
    char *file = realpath(path, NULL);
    if (!file) {
        perror(path);
        exit(1);
    }
    read_file(w, arena_strdup(arena, file), arena);
    free(file);
}

static struct width *find(const struct widths *w, const struct width *like)
{
    for (size_t i = 0; i < w->n; i++)
        if (text_equal(w->list[i].profile, like->profile) &&
            text_equal(w->list[i].kind, like->kind) && text_equal(w->list[i].cut, like->cut))
            return &w->list[i];
    return NULL;
}

const struct width *widths_find(const struct widths *w, const char *profile, const char *kind,
                                const char *cut)
{
    return find(w, &(struct width){.profile = profile, .kind = kind, .cut = cut});
}

/* ---- a line ---- */

static void print_line(struct text *out, const struct width *w)
{
    text_printf(out, "%s,%s,%s,%d,%d,%.1f,%.1f,%.3f,", w->profile, w->kind, w->cut,
                (int)w->values, (int)w->groups, w->median, w->p90, w->width);
    if (!isnan(w->held))
        text_printf(out, "%.3f", w->held);
    text_printf(out, ",%.4f,%.4f\n", w->told_mean, w->told_rms);
}

static bool near(double one, double other, double least)
{
    return (isnan(one) && isnan(other)) ||
           fabs(one - other) <= fmax(fmax(fabs(one), fabs(other)) / 50, least);
}

static bool same(const struct width *one, const struct width *other)
{
    return one->values == other->values && one->groups == other->groups &&
           near(one->median, other->median, 0.1) && near(one->p90, other->p90, 0.1) &&
           near(one->width, other->width, 0.001) && near(one->held, other->held, 0.01) &&
           near(one->told_mean, other->told_mean, 0.0005) &&
           near(one->told_rms, other->told_rms, 0.0005);
}

static void write_file(const char *file, const char *text)
{
    FILE *out = fopen(file, "w");
    if (!out || fputs(text, out) < 0 || fclose(out) != 0) {
        perror(file);
        exit(1);
    }
}

static int by_name(const void *a, const void *b)
{
    const struct width *x = a, *y = b;
    int order = strcmp(x->profile, y->profile);
    order = order ? order : strcmp(x->kind, y->kind);
    return order ? order : strcmp(x->cut, y->cut);
}

/* The file may have changed meanwhile: other programs write their own lines. */
static void rewrite(const char *file, const struct width *found, struct arena *arena)
{
    struct widths w;
    struct text text = {.arena = arena};
    read_file(&w, file, arena);
    struct width *mine = find(&w, found);
    mine = mine ? mine : &w.list[w.n++];
    *mine = *found;
    qsort(w.list, w.n, sizeof *w.list, by_name);
    text_printf(&text, "%s", header);
    for (size_t i = 0; i < w.n; i++)
        print_line(&text, &w.list[i]);
    write_file(file, text_string(&text));
}

bool widths_say(struct widths *w, const struct width *found, struct arena *arena)
{
    const struct width *line = find(w, found);
    struct text now = {.arena = arena}, before = {.arena = arena};
    if (line && same(line, found))
        return true;
    print_line(&now, found);
    if (getenv("MOEPLAN_REWRITE")) {
        rewrite(w->file, found, arena);
        return true;
    }
    if (line)
        print_line(&before, line);
    fprintf(stderr, "%s: found %ssaid  %s\n", path, text_string(&now),
            line ? text_string(&before) : "nothing\n");
    return false;
}

/* ---- lines of a README ---- */

bool widths_section(const struct widths *w, const char *name, const char *lines,
                    struct arena *arena)
{
    const char *file = arena_join(arena, w->root, readme);
    struct err err = {0};
    char *text;
    size_t length;
    if (file_read(file, LIMIT, arena, &text, &length, &err))
        stop(&err);
    const char *mark = arena_printf(arena, "<!-- %s -->\n", name);
    char *from = strstr(text, mark), *to = from ? strstr(from, "<!-- end -->") : NULL;
    if (!to) {
        fprintf(stderr, "%s: no section %s", file, mark);
        return false;
    }
    from += strlen(mark);
    if ((size_t)(to - from) == strlen(lines) && strncmp(from, lines, strlen(lines)) == 0)
        return true;
    if (!getenv("MOEPLAN_REWRITE")) {
        fprintf(stderr, "%s: section %s has other lines than these:\n%s", file, name, lines);
        return false;
    }
    write_file(file, arena_printf(arena, "%.*s%s%s", (int)(from - text), text, lines, to));
    return true;
}

/* ---- errors ---- */

void widths_errors(struct width *w, const double *told, const double *measured, size_t n,
                   struct arena *arena)
{
    double *errors = arena_alloc(arena, n + 1, sizeof *errors);
    for (size_t i = 0; i < n; i++)
        errors[i] = 100 * fabs(told[i] / measured[i] - 1);
    stat_sort(errors, n);
    w->values = n;
    w->median = stat_percentile(errors, n, 0.5);
    w->p90 = stat_percentile(errors, n, 0.9);
}

void widths_told(struct width *w, const double *told, const double *measured, size_t n)
{
    struct stat logs = {0};
    for (size_t i = 0; i < n; i++)
        stat_add(&logs, log(told[i] / measured[i]));
    w->told_mean = logs.mean;
    w->told_rms = sqrt(stat_variance(&logs) + logs.mean * logs.mean);
}

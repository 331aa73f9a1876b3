/* The table of charts, and what they share; see chart.h. */
#include <math.h>
#include <string.h>

#include "base/file.h"
#include "base/number.h"
#include "base/unit.h"
#include "cli/chart/chart.h"
#include "cli/frontier/sweep_table.h"
#include "plan/derive.h"
#include "plan/source.h"

static const struct chart_kind *const kinds[] = {
#define CHART_ROW(name, text) &chart_##name,
    CHART_LIST(CHART_ROW)
#undef CHART_ROW
};

enum { N_KINDS = sizeof kinds / sizeof *kinds };

const char *const charts_names[N_KINDS + 1] = {
#define CHART_NAME(name, text) text,
    CHART_LIST(CHART_NAME)
#undef CHART_NAME
};

const struct chart_kind *const *charts_all(size_t *n)
{
    *n = N_KINDS;
    return kinds;
}

static const char *name_at(const void *table, size_t i)
{
    return ((const struct chart_kind *const *)table)[i]->name;
}

enum status charts_find(const char *name, const struct chart_kind **kind, struct err *err)
{
    for (size_t i = 0; i < N_KINDS; i++)
        if (text_equal(kinds[i]->name, name)) {
            *kind = kinds[i];
            return STATUS_OK;
        }
    err_set(err, STATUS_USAGE, "there is no chart '%s'", name);
    const char *nearest = text_nearest(name, N_KINDS, name_at, kinds);
    if (nearest)
        return err_hint(err, "did you mean '%s'? `moeplan help plot` lists them", nearest);
    return err_hint(err, "`moeplan help plot` lists them; the kind comes before the plan");
}

/* ---- names ---- */

struct chart_names chart_names_of(const struct plan *plan, struct arena *arena)
{
    const char *sizing = plan->stack.static_shapes ? "worst case (static shapes)"
                                                   : "what routing needs (dynamic shapes)";
    return (struct chart_names){
        .subject = arena_printf(arena, "%s on %s", plan->model_name, plan->cluster_name),
        .source =
            arena_printf(arena, "moeplan " MOEPLAN_VERSION ": modelled, %s; plan %s, stack %s",
                         sizing, plan->name, plan->stack_name),
        .capacity_gib = (double)plan_rank_memory(plan) / GIB};
}

static const char *stem_of(const char *file, struct arena *arena)
{
    size_t length = strlen(file);
    return arena_strndup(arena, file, length - (text_ends(file, ".csv") ? 4 : 0));
}

struct chart_names chart_names_of_file(const char *file, struct arena *arena)
{
    const char *json = arena_printf(arena, "%s.json", stem_of(file, arena));
    struct node *root = NULL;
    struct err ignored = {0};
    if (!file_is_there(json) || source_read_file(json, arena, &root, &ignored) != STATUS_OK)
        root = NULL;
    return chart_names_of_json(file, root, arena);
}

struct chart_names chart_names_of_json(const char *file, const struct node *root,
                                       struct arena *arena)
{
    struct chart_names names = {
        .subject = text_base_name(stem_of(file, arena)),
        .source = arena_printf(arena, "moeplan " MOEPLAN_VERSION ": drawn from %s", file)};
    const struct node *made_by = node_get(root, "names"), *model = node_get(made_by, "model");
    const struct node *cluster = node_get(made_by, "cluster");
    const struct node *plan = node_get(made_by, "plan"), *stack = node_get(made_by, "stack");
    if (model && cluster)
        names.subject = arena_printf(arena, "%s on %s", model->text, cluster->text);
    if (plan && stack)
        names.source =
            arena_printf(arena, "moeplan " MOEPLAN_VERSION ": drawn from %s; plan %s, stack %s",
                         file, plan->text, stack->text);
    return names;
}

/* ---- tables ---- */

enum status chart_table(const char *file, const char *const *columns, const char *needs,
                        struct picture *picture, struct csv *csv, struct err *err)
{
    const char *text = text_string(&picture->data);
    TRY(csv_parse(file, text, picture->data.length, picture->arena, csv, err));
    for (size_t i = 0; columns[i]; i++)
        if (csv_column(csv, columns[i]) == SIZE_MAX) {
            err_at(err, (struct mark){file, 1, 1}, "the table has no column \"%s\"",
                   columns[i]);
            return err_hint(err, "this chart draws %s", needs);
        }
    if (csv->n_rows > 0)
        return STATUS_OK;
    err_at(err, (struct mark){file, 1, 1}, "the table has no rows to draw");
    return err_hint(err, "this chart draws %s", needs);
}

void chart_titles(struct picture *picture, const struct chart_names *names, const char *what)
{
    picture_text(picture, "title_text",
                 arena_printf(picture->arena, "%s: %s", names->subject, what));
    picture_text(picture, "source_text", names->source);
}

bool chart_has_word(const char *text, size_t length, const char *word, size_t n)
{
    for (const char *at = text; at < text + length;) {
        size_t own = strcspn(at, " ");
        if (own == n && memcmp(at, word, n) == 0)
            return true;
        at += own + strspn(at + own, " ");
    }
    return false;
}

enum status chart_list_devices(const char *file, const struct csv *csv, size_t most,
                               struct picture *p, struct err *err)
{
    size_t n;
    const char *const *devices = chart_distinct(csv, "devices", p->arena, &n);
    if (n > most)
        return err_at(err, (struct mark){file, 1, 1},
                      "%zu numbers of devices are too many to read, at most %zu", n, most);
    picture_list(p, "devices", devices);
    return STATUS_OK;
}

const char *chart_found_line(const struct plan *plan, const char *profile, const char *note,
                             struct arena *arena)
{
    return arena_printf(arena,
                        "moeplan " MOEPLAN_VERSION
                        ": modelled, profile %s%s; plan %s, stack %s; found by search",
                        profile, note, plan->name, plan->stack_name);
}

enum status chart_found_draw(const struct chart_kind *kind, const struct plan *plan,
                             const char *line, struct picture *p, const struct invocation *call,
                             struct err *err)
{
    struct chart_names names = chart_names_of(plan, p->arena);
    names.source = line;
    TRY(picture_plain(p, "search", err));
    TRY(kind->fill("search", &names, p, err));
    return picture_draw(p, false, call, err);
}

double chart_number(const struct csv *csv, size_t row, const char *column)
{
    const char *cell = csv_cell(csv, row, column);
    double value;
    return cell && number_real(cell, &value) ? value : 0;
}

const char *const *chart_distinct(const struct csv *csv, const char *column,
                                  struct arena *arena, size_t *n)
{
    const char **list = arena_alloc(arena, csv->n_rows + 1, sizeof *list);
    *n = 0;
    for (size_t row = 0; row < csv->n_rows; row++) {
        const char *text = csv_cell(csv, row, column);
        size_t i = 0;
        while (i < *n && !text_equal(list[i], text))
            i++;
        if (i == *n)
            list[(*n)++] = text;
    }
    return list;
}

const char **chart_numbered(const struct chart_place *places, size_t n, struct arena *arena)
{
    const double near_x = 0.022, near_y = 0.03; /* of the picture: a number of two digits */
    const char **words = arena_alloc(arena, n + 1, sizeof *words);
    for (size_t i = 0; i < n; i++) {
        size_t at = 0;
        while (at < i && (!words[at][0] || fabs(places[at].x - places[i].x) > near_x ||
                          fabs(places[at].y - places[i].y) > near_y))
            at++;
        words[i] = at < i ? "" : arena_printf(arena, "%zu", i + 1);
        if (at < i)
            words[at] = arena_printf(arena, "%s %zu", words[at], i + 1);
    }
    return words;
}

size_t chart_spread(const struct csv *csv, const char *list, size_t most, size_t *rows)
{
    size_t found = 0, seen = 0, n = 0;
    for (size_t row = 0; row < csv->n_rows; row++)
        found += text_equal(csv_cell(csv, row, "list"), list);
    for (size_t row = 0; row < csv->n_rows && n < most; row++) {
        if (!text_equal(csv_cell(csv, row, "list"), list))
            continue;
        if (found <= most || seen * (most - 1) >= n * (found - 1))
            rows[n++] = row;
        seen++;
    }
    return n;
}

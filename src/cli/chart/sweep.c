/* Pictures of a sweep; see sweep.h. */
#include "cli/chart/sweep.h"

#include "cli/frontier/call.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "base/unit.h"
#include "cli/frontier/published.h"
#include "cli/frontier/rows.h"
#include "cli/frontier/unread.h"
#include "plan/derive.h"
#include "plan/schema/schema.h"

enum { LIMITS = 3, SERIES_NAMED = 3 };

/* Which axis runs along the bottom, and which make the series (or, in a map, the rows). */
struct sweep_chart {
    const struct sweep_table *table;
    struct arena *arena;
    const struct sweep_column *x, *y[SWEEP_TABLE_AXES];
    size_t n_y;
    const char **series; /* NULL-terminated: "deepep, 8" */
    size_t n_series;
};

/* ---- layout ---- */

static void choose(struct sweep_chart *l)
{
    const struct sweep_table *t = l->table;
    l->x = &t->axes[t->n_axes - 1];
    for (size_t i = 0; i < t->n_axes; i++)
        if (t->axes[i].numeric)
            l->x = &t->axes[i];
    for (size_t i = 0; i < t->n_axes; i++)
        if (&t->axes[i] != l->x)
            l->y[l->n_y++] = &t->axes[i];
}

static bool is_map(const struct sweep_chart *l)
{
    return l->table->n_axes == 2 && l->x->numeric == l->y[0]->numeric;
}

/* The series a row belongs to. */
static const char *series_of(const struct sweep_chart *l, size_t row)
{
    struct text text = {.arena = l->arena};
    if (!l->n_y)
        return "memory";
    for (size_t i = 0; i < l->n_y; i++)
        text_printf(&text, "%s%s", i ? ", " : "", csv_cell(&l->table->csv, row, l->y[i]->name));
    return text_string(&text);
}

static void find_series(struct sweep_chart *l)
{
    size_t most = 1;
    for (size_t i = 0; i < l->n_y; i++)
        most *= l->y[i]->n_values;
    l->series = arena_alloc(l->arena, most + 1, sizeof *l->series);
    for (size_t row = 0, last = 0; row < l->table->csv.n_rows; row++) {
        const char *name = series_of(l, row);
        if (l->n_series && text_equal(l->series[last], name))
            continue;
        for (last = 0; last < l->n_series && !text_equal(l->series[last], name); last++)
            ;
        if (last == l->n_series && last < most)
            l->series[l->n_series++] = name;
    }
}

/* ---- variables ---- */

/* "workload.micro_batch: sequences per data-parallel rank and micro-step" */
static const char *title_of(const struct sweep_column *axis, struct arena *arena)
{
    const struct field *field = schema_find(axis->name);
    if (!field || !field->help || strlen(field->help) > 70)
        return axis->name;
    return arena_printf(arena, "%s: %s", axis->name, field->help);
}

/* Powers of two and the like are drawn on a logarithmic axis. */
static bool is_geometric(const struct sweep_column *axis)
{
    if (axis->n_values < 4 || !axis->numeric)
        return false;
    double first = 0, middle = 0, last = 0;
    number_real(axis->values[0], &first);
    number_real(axis->values[axis->n_values / 2], &middle);
    number_real(axis->values[axis->n_values - 1], &last);
    return first > 0 && last >= 16 * first && middle < 0.3 * last;
}

static const char *key_of(const struct sweep_chart *l, size_t i)
{
    return i < l->n_y ? l->y[i]->name : "";
}

/* Names of the series that have this limit: ": sparse-gmm"; "" when all or too many do. */
static const char *limit_owners(const struct sweep_chart *l, double gib)
{
    struct text text = {.arena = l->arena};
    const char *names[SERIES_NAMED + 1];
    size_t n = 0;
    for (size_t row = 0; row < l->table->csv.n_rows && n <= SERIES_NAMED; row++) {
        double bytes;
        const char *cell = csv_cell(&l->table->csv, row, "limit_bytes");
        if (!cell || !number_real(cell, &bytes) || bytes / GIB != gib)
            continue;
        const char *name = series_of(l, row);
        size_t i = 0;
        while (i < n && !text_equal(names[i], name))
            i++;
        if (i == n)
            names[n++] = name;
    }
    if (n == l->n_series || n > SERIES_NAMED)
        return "";
    for (size_t i = 0; i < n; i++)
        text_printf(&text, "%s%s", i ? ", " : ": ", names[i]);
    return text_string(&text);
}

/* One line per limit that occurs; when a sweep moves the limit, the least and the greatest.
 * `layout` says which series a limit belongs to; NULL: not asked. */
static void add_limits(const struct sweep_table *table, const struct sweep_chart *layout,
                       struct picture *p)
{
    double gib[64];
    bool more;
    size_t n = sweep_table_gib(table, "limit_bytes", 64, gib, &more), shown = n;
    if (n > LIMITS) {
        gib[1] = gib[n - 1];
        shown = 2;
    }
    const char **values = arena_alloc(p->arena, shown + 1, sizeof *values);
    const char **titles = arena_alloc(p->arena, shown + 1, sizeof *titles);
    for (size_t i = 0; i < shown; i++) {
        const char *word = shown == n ? "limit" : i ? "greatest limit" : "least limit";
        bool owned = n > 1 && shown == n && layout && layout->n_y;
        values[i] = arena_printf(p->arena, "%.6f", gib[i]);
        titles[i] = arena_printf(p->arena, "%s %.1f GiB%s", word, gib[i],
                                 owned ? limit_owners(layout, gib[i]) : "");
    }
    picture_list(p, "limits", values);
    picture_list(p, "limit_titles", titles);
}

void chart_limits(const struct sweep_table *table, struct picture *p)
{
    add_limits(table, NULL, p);
}

/* Heading of the legend: the keys whose values its rows are; cases speak for themselves. */
static const char *series_title(const struct sweep_chart *l)
{
    struct text text = {.arena = l->arena};
    for (size_t i = 0; i < l->n_y; i++)
        text_printf(&text, "%s%s", i ? ", " : "", l->y[i]->name);
    return l->n_y == 1 && text_equal(l->y[0]->name, "case") ? "" : text_string(&text);
}

/* Three times the greatest limit, or the least value where all are above it, where one value
 * far away would press all others to the ground; 0: nothing is cut. */
static double top_of(const struct sweep_chart *l)
{
    double limit = 0, total = 0, least = HUGE_VAL, value;
    for (size_t row = 0; row < l->table->csv.n_rows; row++) {
        if (number_real(csv_cell(&l->table->csv, row, "total_bytes"), &value)) {
            total = fmax(value, total);
            least = fmin(value, least);
        }
        const char *cell = csv_cell(&l->table->csv, row, "limit_bytes");
        if (cell && number_real(cell, &value))
            limit = value > limit ? value : limit;
    }
    double top = 3 * (isfinite(least) ? fmax(limit, least) : limit);
    return limit > 0 && total > top ? top / GIB : 0;
}

/* The rows of a series as one text: series with the same one lie on one another. */
static const char *fingerprint(const struct sweep_chart *l, const char *series)
{
    const struct csv *csv = &l->table->csv;
    struct text text = {.arena = l->arena};
    for (size_t row = 0; row < csv->n_rows; row++)
        if (text_equal(series_of(l, row), series))
            text_printf(&text, "%s=%s,", csv_cell(csv, row, l->x->name),
                        csv_cell(csv, row, "total_bytes"));
    return text_string(&text);
}

/* Per series an earlier one that it would hide, or "". */
static const char *const *same_series(const struct sweep_chart *l)
{
    enum { COMPARED = 64 };
    const char **same = arena_alloc(l->arena, l->n_series + 1, sizeof *same);
    const char *rows[COMPARED] = {NULL};
    for (size_t i = 0; i < l->n_series; i++) {
        same[i] = "";
        if (i >= COMPARED || l->n_series == 1)
            continue;
        rows[i] = fingerprint(l, l->series[i]);
        for (size_t k = i; k-- > 0;)
            if (text_equal(rows[k], rows[i]))
                same[i] = l->series[k];
    }
    return same;
}

static bool has_verdict(const struct text *published, const char *cell)
{
    return strstr(text_string(published), cell) != NULL;
}

/* The verdicts that occur, for a legend without empty rows; not of what a map leaves out. */
static const char *const *verdicts(const struct sweep_chart *l, bool with_invalid)
{
    static const char *const all[] = {"fits", "marginal", "oom", "invalid"};
    enum { N = sizeof all / sizeof *all };
    const char **words = arena_alloc(l->arena, N + 1, sizeof *words);
    size_t n = 0;
    for (size_t i = 0; i < (size_t)N - !with_invalid; i++) {
        bool occurs = false;
        for (size_t row = 0; row < l->table->csv.n_rows && !occurs; row++)
            occurs = text_equal(csv_cell(&l->table->csv, row, "verdict"), all[i]);
        if (occurs)
            words[n++] = all[i];
    }
    return words;
}

static void add_curves(const struct sweep_chart *l, const struct chart_names *names,
                       struct picture *p)
{
    static const char *const none[] = {NULL};
    p->chart.kind = "memory";
    picture_list(p, "verdicts", verdicts(l, true));
    picture_list(p, "x_values",
                 l->x->numeric ? none : (const char *const *)(const void *)l->x->values);
    picture_text(p, "series_key", key_of(l, 0));
    picture_text(p, "series_key2", key_of(l, 1));
    picture_text(p, "series_key3", key_of(l, 2));
    picture_text(p, "series_title", series_title(l));
    picture_list(p, "series", l->series);
    picture_list(p, "same", same_series(l));
    picture_number(p, "top_gib", top_of(l));
    picture_number(p, "any_invalid", has_verdict(&p->data, ",invalid,"));
    picture_number(p, "any_ran", has_verdict(&p->published, ",fits,"));
    picture_number(p, "any_failed", has_verdict(&p->published, ",oom,"));
    picture_number(p, "capacity_gib", names->capacity_gib);
    picture_number(p, "log_x", is_geometric(l->x));
    add_limits(l->table, l, p);
}

/* Values of an axis at which some point obeys the rules; the others are named in *skipped. All
 * of them where none does. */
static const char *const *valid_values(const struct sweep_chart *l,
                                       const struct sweep_column *axis, size_t *kept,
                                       struct text *skipped)
{
    const struct csv *csv = &l->table->csv;
    const char **values = arena_alloc(l->arena, axis->n_values + 1, sizeof *values);
    struct text left_out = {.arena = l->arena};
    size_t n = 0;
    for (size_t i = 0; i < axis->n_values; i++) {
        bool valid = false;
        for (size_t row = 0; row < csv->n_rows && !valid; row++)
            valid = text_equal(csv_cell(csv, row, axis->name), axis->values[i]) &&
                    !text_equal(csv_cell(csv, row, "verdict"), "invalid");
        if (valid)
            values[n++] = axis->values[i];
        else
            text_printf(&left_out, "%s %s", left_out.length ? "," : "", axis->values[i]);
    }
    *kept = n ? n : axis->n_values;
    if (!n)
        return (const char *const *)(const void *)axis->values;
    if (left_out.length)
        text_printf(skipped, "%s%s%s",
                    skipped->length ? "; " : "not shown, they break a rule: ", axis->name,
                    text_string(&left_out));
    return values;
}

static size_t n_valid(const struct sweep_chart *l)
{
    size_t n = 0;
    for (size_t row = 0; row < l->table->csv.n_rows; row++)
        n += !text_equal(csv_cell(&l->table->csv, row, "verdict"), "invalid");
    return n;
}

static void add_map(const struct sweep_chart *l, struct picture *p)
{
    struct text skipped = {.arena = l->arena};
    size_t n_x, n_y;
    p->chart.kind = "map";
    picture_text(p, "y_key", l->y[0]->name);
    picture_text(p, "y_title", title_of(l->y[0], l->arena));
    picture_list(p, "y_values", valid_values(l, l->y[0], &n_y, &skipped));
    picture_list(p, "x_values", valid_values(l, l->x, &n_x, &skipped));
    picture_list(p, "verdicts", verdicts(l, n_valid(l) < n_x * n_y));
    picture_text(p, "skipped", text_string(&skipped));
}

enum status chart_sweep(const struct sweep_table *table, const struct chart_names *names,
                        enum sweep_view view, struct picture *p, struct err *err)
{
    struct sweep_chart l = {.table = table, .arena = p->arena};
    choose(&l);
    if (view == SWEEP_VIEW_MAP && table->n_axes != 2) {
        err_set(err, STATUS_USAGE, "a map has two keys, not %zu", table->n_axes);
        return err_hint(err, "sweep two: --over parallel.ep=1..64*2 --over "
                             "workload.micro_batch=1..16");
    }
    find_series(&l);
    bool map = view == SWEEP_VIEW_MAP || (view == SWEEP_VIEW_AUTO && is_map(&l));
    chart_titles(p, names,
                 map ? "memory of a rank, GiB in the cells"
                     : "memory of a rank against its limit");
    picture_text(p, "x_key", l.x->name);
    picture_text(p, "x_title", title_of(l.x, p->arena));
    if (map)
        add_map(&l, p);
    else
        add_curves(&l, names, p);
    return STATUS_OK;
}

/* ---- as kinds of `plot` ---- */

static bool is_served(const struct plan *plan)
{
    return plan->workload.mode == MODE_SERVE;
}

static bool is_dense(const struct plan *plan)
{
    return !plan_is_routed(plan);
}

/* What a chart runs over instead, where the plan reads nothing of what it usually does. */
static const struct {
    const char *usual, *other;
    bool (*instead)(const struct plan *plan);
} others[] = {
    {"workload.micro_batch=1..16", "workload.concurrency=1..512*2", is_served},
    {"workload.micro_batch=1,2,4,8", "workload.concurrency=1,8,64,512", is_served},
    {"parallel.ep=1..64*2", "parallel.tp=1..8*2", is_dense},
};

static const char *over_of(const char *usual, const struct plan *plan)
{
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (text_equal(others[i].usual, usual) && others[i].instead(plan))
            return others[i].other;
    return usual;
}

static enum status frontier_of(const struct chart_request *request, const char *const *defaults,
                               struct frontier *frontier, struct err *err)
{
    struct option_list usual = request->overs, overs = {0};
    if (usual.n + request->cases.n)
        return frontier_of_call(frontier, request->call, &request->cases, &usual, err);
    for (size_t i = 0; defaults[i]; i++)
        option_list_add(&usual, defaults[i], request->call->arena);
    TRY(frontier_of_call(frontier, request->call, &request->cases, &usual, err));
    bool differs = false;
    for (size_t i = 0; i < usual.n; i++) {
        const char *over = over_of(usual.items[i], &frontier->base);
        differs = differs || over != usual.items[i];
        option_list_add(&overs, over, request->call->arena);
    }
    if (!differs)
        return STATUS_OK;
    return frontier_of_call(frontier, request->call, &request->cases, &overs, err);
}

enum status chart_frontier(const struct chart_request *request, const char *const *defaults,
                           struct frontier *frontier, struct err *err)
{
    TRY(frontier_of(request, defaults, frontier, err));
    frontier_unread(frontier, stderr);
    return STATUS_OK;
}

static enum status make(const struct chart_request *request, const char *const *defaults,
                        struct chart_names *names, struct picture *p, struct err *err)
{
    struct frontier frontier;
    const struct option_list columns = {0};
    TRY(chart_frontier(request, defaults, &frontier, err));
    TRY(frontier_rows_few(sweep_points(&frontier.sweep), err));
    struct frontier_sink sink = {.kept = &p->data, .points = sweep_points(&frontier.sweep)};
    TRY(frontier_rows(&frontier, &columns, 0, &sink, err));
    TRY(frontier_published(&frontier, &p->published, err));
    *names = chart_names_of(&frontier.base, p->arena);
    return STATUS_OK;
}

static enum status make_memory(const struct chart_request *request, struct chart_names *names,
                               struct picture *p, struct err *err)
{
    static const char *const defaults[] = {"workload.micro_batch=1..16", NULL};
    return make(request, defaults, names, p, err);
}

static enum status make_map(const struct chart_request *request, struct chart_names *names,
                            struct picture *p, struct err *err)
{
    static const char *const defaults[] = {"parallel.ep=1..64*2", "workload.micro_batch=1..16",
                                           NULL};
    return make(request, defaults, names, p, err);
}

static enum status fill(const char *file, const struct chart_names *names, enum sweep_view view,
                        struct picture *p, struct err *err)
{
    struct sweep_table table;
    const char *text = text_string(&p->data);
    TRY(sweep_table_parse(file, text, p->data.length, p->arena, &table, err));
    return chart_sweep(&table, names, view, p, err);
}

static enum status fill_memory(const char *file, const struct chart_names *names,
                               struct picture *p, struct err *err)
{
    return fill(file, names, SWEEP_VIEW_CURVES, p, err);
}

static enum status fill_map(const char *file, const struct chart_names *names,
                            struct picture *p, struct err *err)
{
    return fill(file, names, SWEEP_VIEW_MAP, p, err);
}

const struct chart_kind chart_memory = {
    .name = "memory",
    .summary = "memory of a rank against a key, a line per configuration, with the limit",
    .needs = "what `moeplan frontier -o FILE.csv` writes",
    .make = make_memory,
    .fill = fill_memory,
    .sweeps = true,
};

const struct chart_kind chart_map = {
    .name = "map",
    .summary = "two keys: verdict as colour, GiB in the cells",
    .needs = "what `moeplan frontier -o FILE.csv` writes for two keys",
    .make = make_map,
    .fill = fill_map,
    .sweeps = true,
};

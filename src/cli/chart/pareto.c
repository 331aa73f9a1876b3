/* See pareto.h. */
#include "cli/chart/pareto.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/unit.h"
#include "cli/frontier/csv.h"
#include "cli/option/plan_argument.h"
#include "lib/search_wish.h"
#include "plan/derive.h"

enum { LISTED = 20, LABELS = 12, PARETO_DEVICES = 12 };

void chart_pareto_header(struct text *out)
{
    text_append(out, "devices,list,rank,verdict,total_bytes,limit_bytes,device_s_per_token,"
                     "layout\n");
}

static void append(const char *list, const struct search_variants *variants,
                   const struct search_hit *hits, size_t n, uint64_t devices,
                   struct arena *arena, struct text *out)
{
    for (size_t i = 0; i < n; i++) {
        char seconds[32];
        text_double(seconds, hits[i].seconds_per_token);
        text_printf(out, "%" PRIu64 ",%s,%zu,%s,%" PRIu64 ",%" PRIu64 ",%s,%s\n", devices, list,
                    i + 1, verdict_name(hits[i].verdict), hits[i].total_bytes,
                    hits[i].limit_bytes, seconds,
                    frontier_csv_quote(search_layout(variants, &hits[i], arena), arena));
    }
}

void chart_pareto_rows(const struct search_variants *variants, const struct search_result *r,
                       uint64_t devices, struct arena *arena, struct text *out)
{
    append("best", variants, r->best, r->n_best, devices, arena, out);
    append("pareto", variants, r->pareto, r->n_pareto, devices, arena, out);
}

static enum status make(const struct chart_request *request, struct chart_names *names,
                        struct picture *p, struct err *err)
{
    struct plan *plan = arena_alloc(p->arena, 1, sizeof *plan);
    struct search_space *space = arena_alloc(p->arena, 1, sizeof *space);
    struct origins origins;
    struct profile profile;
    struct search_result result;
    struct routing_data routing = {0};
    TRY(plan_argument_load_searched(request->call, 0, plan, &origins, err));
    if (plan->prefill) {
        err_set(err, STATUS_INPUT,
                "chart 'pareto' draws one pool: this plan has a part "
                "`prefill`");
        return err_hint(err, "`moeplan plot pools` draws both");
    }
    TRY(routing_data_load(plan, p->arena, &routing, err));
    TRY(profile_load(plan, p->arena, &profile, err));
    search_space_default(plan, space);
    const struct search_ask ask = {.plan = plan,
                                   .routing = &routing,
                                   .profile = &profile,
                                   .space = space,
                                   .best = LISTED,
                                   .pool = pool_create(0)};
    enum status status = search_run(&ask, 1, p->arena, &result, err);
    pool_free(ask.pool);
    const struct search_wish usual = {0};
    if (status == STATUS_INPUT)
        search_wish_blame(&usual, plan, space, &origins, p->arena, err);
    TRY(status);
    if (result.missed) {
        err_set(err, STATUS_INPUT, "no layout of the plan fits its cluster");
        return err_hint(err, "`moeplan search` names the nearest; `moeplan search --devices` "
                             "tries larger clusters");
    }
    *names = chart_names_of(plan, p->arena);
    names->source = chart_found_line(plan, profile.name, "", p->arena);
    chart_pareto_header(&p->data);
    const struct search_variants own = {.n = 1, .plans = plan};
    chart_pareto_rows(&own, &result, plan_devices(plan), p->arena, &p->data);
    return STATUS_OK;
}

/* ---- the picture ---- */

/* Whether every row has this "key=value" in its layout. */
static bool is_shared(const struct csv *csv, const char *word, size_t length)
{
    for (size_t row = 0; row < csv->n_rows; row++) {
        const char *layout = csv_cell(csv, row, "layout");
        if (!chart_has_word(layout, strlen(layout), word, length))
            return false;
    }
    return true;
}

/* A layout without what all of them have. */
static const char *layout_of(const struct csv *csv, size_t row, struct arena *arena)
{
    struct text text = {.arena = arena};
    for (const char *at = csv_cell(csv, row, "layout"); *at;) {
        size_t n = strcspn(at, " ");
        if (!is_shared(csv, at, n))
            text_printf(&text, " %.*s", (int)n, at);
        at += n + strspn(at + n, " ");
    }
    return text_string(&text);
}

/* Where a row's point stands, nearly: the axis ends a little beyond what it shows. */
static struct chart_place place_of(const struct csv *csv, size_t row, double fastest)
{
    double least = HUGE_VAL, most = chart_number(csv, row, "limit_bytes");
    for (size_t i = 0; i < csv->n_rows; i++) {
        double bytes = chart_number(csv, i, "total_bytes");
        least = fmin(least, bytes);
        most = fmax(most, bytes);
    }
    double bytes = chart_number(csv, row, "total_bytes");
    bool doubles = most > 8 * least; /* plots/pareto.gp: the axis is logarithmic */
    return (struct chart_place){doubles        ? log(bytes / least) / log(most / least)
                                : most > least ? (bytes - least) / (most - least)
                                               : 0,
                                1 / chart_number(csv, row, "device_s_per_token") / fastest};
}

/* Rows that get a number and a line of the legend: the Pareto set's, spread over it. */
static void add_labels(const struct csv *csv, double fastest, struct picture *p)
{
    size_t *spread = arena_alloc(p->arena, LABELS, sizeof *spread);
    const char **rows = arena_alloc(p->arena, LABELS + 1, sizeof *rows);
    const char **titles = arena_alloc(p->arena, LABELS + 1, sizeof *titles);
    struct chart_place places[LABELS];
    bool layouts = csv_column(csv, "layout") != SIZE_MAX;
    size_t n = layouts ? chart_spread(csv, "pareto", LABELS, spread) : 0;
    for (size_t i = 0; i < n; i++) {
        rows[i] = arena_printf(p->arena, "%zu", spread[i]);
        titles[i] = arena_printf(p->arena, "%zu%s", i + 1, layout_of(csv, spread[i], p->arena));
        places[i] = place_of(csv, spread[i], fastest);
    }
    picture_list(p, "label_words", chart_numbered(places, n, p->arena));
    picture_list(p, "labelled", rows);
    picture_list(p, "label_titles", titles);
}

static enum status fill(const char *file, const struct chart_names *names, struct picture *p,
                        struct err *err)
{
    static const char *const columns[] = {"list", "total_bytes", "limit_bytes",
                                          "device_s_per_token", NULL};
    static const char *const one[] = {"", NULL};
    struct csv csv;
    double limit = 0, least = HUGE_VAL, fastest = 0;
    TRY(chart_table(file, columns, chart_pareto.needs, p, &csv, err));
    for (size_t row = 0; row < csv.n_rows; row++) {
        double s = chart_number(&csv, row, "device_s_per_token");
        limit = fmax(limit, chart_number(&csv, row, "limit_bytes"));
        least = fmin(least, chart_number(&csv, row, "limit_bytes"));
        fastest = s > 0 ? fmax(fastest, 1 / s) : fastest;
    }
    if (!(fastest > 0) || !isfinite(fastest))
        return err_at(err, (struct mark){file, 1, 1}, "no row of the table has a time");
    bool sizes = csv_column(&csv, "devices") != SIZE_MAX;
    if (sizes)
        TRY(chart_list_devices(file, &csv, PARETO_DEVICES, p, err));
    else
        picture_list(p, "devices", one);
    p->chart.kind = "pareto";
    chart_titles(p, names, "memory against speed of layouts");
    picture_number(p, "by_devices", sizes);
    picture_number(p, "limit_gib", limit / GIB);
    picture_number(p, "least_limit_gib", least / GIB);
    picture_number(p, "fastest", fastest);
    add_labels(&csv, fastest, p);
    return STATUS_OK;
}

enum status chart_pareto_draw(const struct plan *plan, const char *profile, struct picture *p,
                              const struct invocation *call, struct err *err)
{
    const char *line = chart_found_line(plan, profile, "", p->arena);
    return chart_found_draw(&chart_pareto, plan, line, p, call, err);
}

const struct chart_kind chart_pareto = {
    .name = "pareto",
    .summary = "layouts found by search: memory, speed, devices, and which no other beats",
    .needs = "what `moeplan search -o FILE.csv` or `moeplan search --plot` writes",
    .make = make,
    .fill = fill,
};

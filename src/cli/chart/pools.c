/* See pools.h. */
#include "cli/chart/pools.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "cli/frontier/csv.h"
#include "cli/option/plan_argument.h"
#include "lib/search_pools.h"
#include "plan/pools.h"
#include "sim/answer/predict.h"

enum { LISTED = 10, LABELS = 12, MOST_DEVICES = 8 };

/* ---- the table ---- */

static void append_numbers(uint64_t devices, const char *list, size_t rank,
                           const struct serve_times *t, const char *layout, struct text *out)
{
    const struct serve_apart *a = &t->apart;
    text_printf(out,
                "%" PRIu64 ",%s,%zu,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64
                ",%.6g,%.6g,%.6g,%s\n",
                devices, list, rank, a->prefill, a->prefill_devices, a->decode,
                a->decode_devices, a->tokens_per_s_per_device, t->ttft_s, t->tpot_s,
                frontier_csv_quote(layout, out->arena));
}

static void append_hits(const struct pools_found *found, size_t i, bool pareto,
                        struct arena *arena, struct text *out)
{
    const struct pools_list list = pools_list(&found->results[i], pareto);
    for (size_t j = 0; j < list.n; j++)
        append_numbers(found->devices[i], list.name, j + 1, &list.hits[j].serving,
                       pools_layout(found, &list.hits[j], arena), out);
}

void chart_pools_table(const struct pools_found *found, struct arena *arena, struct text *out)
{
    text_append(out, "devices,list,rank,prefill,prefill_devices,decode,decode_devices,"
                     "tokens_per_s_per_device,ttft_s,tpot_s,layout\n");
    for (size_t i = 0; i < found->n; i++) {
        append_hits(found, i, false, arena, out);
        append_hits(found, i, true, arena, out);
    }
}

/* ---- of a plan ---- */

/* What the plan itself answers, where it has numbers of servers that keep up. */
static enum status append_answer(const struct plan *plan, const struct pools_ask *ask,
                                 struct picture *p, struct err *err)
{
    const struct serve_ask served = {.routing = ask->routing, .profile = ask->profile};
    struct serve_times *t = arena_alloc(p->arena, 1, sizeof *t);
    TRY(serve_times_of(plan, &served, p->arena, t, NULL, err));
    if (t->apart.present && isfinite(t->ttft_s) && isfinite(t->tpot_s))
        append_numbers(0, "plan", 1, t, "the plan as it is", &p->data);
    return STATUS_OK;
}

static enum status make(const struct chart_request *request, struct chart_names *names,
                        struct picture *p, struct err *err)
{
    static const uint64_t any = 0;
    const struct search_wish usual = {0};
    struct plan *plan = arena_alloc(p->arena, 1, sizeof *plan);
    struct pools_ask *asks, ask = {.best = LISTED, .pareto = true, .pool = pool_create(0)};
    struct pools_result result = {.n_best = 0};
    struct variant_plans v;
    struct request asked;
    struct origins origins;
    enum status status = plan_argument_request(request->call, 0, &asked, err);
    if (status == STATUS_OK)
        status = request_load_searched(&asked, p->arena, plan, &origins, err);
    if (status == STATUS_OK && !search_has_pools(plan))
        status = err_set(err, STATUS_INPUT,
                         "chart 'pools' draws a served plan with a part `prefill`");
    if (status == STATUS_OK)
        status =
            search_pools_read(&usual, &asked, plan, &origins, &ask, p->arena, &v, &asks, err);
    if (status == STATUS_OK)
        status = pools_search(asks, 1, &any, 1, p->arena, &result, err);
    pool_free(ask.pool);
    TRY(status);
    if (!result.n_best)
        return err_set(err, STATUS_INPUT, "no pair of layouts fits and keeps the limits");
    const struct pools_found found = {&v.named, asks, &result, &any, 1};
    *names = chart_names_of(plan, p->arena);
    names->source = chart_found_line(plan, v.profiles[0].name, ", unvalidated", p->arena);
    chart_pools_table(&found, p->arena, &p->data);
    return append_answer(plan, asks, p, err);
}

/* ---- the picture ---- */

static const char rate[] = "tokens_per_s_per_device";

/* Along a panel's axis, 0 to 1; plots/pools.gp: it is logarithmic where it spans doublings. */
static double place_of(const struct csv *csv, size_t row, const char *column)
{
    double least = HUGE_VAL, most = 0, value = chart_number(csv, row, column);
    for (size_t i = 0; i < csv->n_rows; i++) {
        least = fmin(least, chart_number(csv, i, column));
        most = fmax(most, chart_number(csv, i, column));
    }
    if (most > 8 * least && least > 0)
        return log(value / least) / log(most / least);
    return most > 0 ? value / most : 0;
}

/* "3+6": servers that prefill and that decode; nothing where it would lie on one before it. */
static const char **mark_words(const struct csv *csv, const size_t *rows, size_t n,
                               const char *column, struct arena *arena)
{
    const double wide = 0.1, high = 0.05; /* of a panel: four digits and a sign */
    struct chart_place *places = arena_alloc(arena, n + 1, sizeof *places);
    const char **words = arena_alloc(arena, n + 1, sizeof *words);
    for (size_t i = 0; i < n; i++) {
        bool free = true;
        places[i] = (struct chart_place){place_of(csv, rows[i], column),
                                         chart_number(csv, rows[i], rate) /
                                             chart_number(csv, rows[0], rate)};
        for (size_t j = 0; j < i; j++)
            free = free && (!words[j][0] || fabs(places[i].x - places[j].x) > wide ||
                            fabs(places[i].y - places[j].y) > high);
        words[i] = free ? arena_printf(arena, "%s+%s", csv_cell(csv, rows[i], "prefill"),
                                       csv_cell(csv, rows[i], "decode"))
                        : "";
    }
    return words;
}

/* The side of a layout, up to " + " or behind it. */
static const char *side_of(const char *layout, unsigned side, size_t *length)
{
    const char *plus = strstr(layout, " + ");
    size_t first = plus ? (size_t)(plus - layout) : strlen(layout);
    const char *at = side && plus ? plus + strlen(" + ") : layout;
    *length = side ? strlen(at) : first;
    return at;
}

static bool is_shared(const struct csv *csv, unsigned side, const char *word, size_t n)
{
    for (size_t row = 0; row < csv->n_rows; row++) {
        size_t length;
        const char *own = side_of(csv_cell(csv, row, "layout"), side, &length);
        if (!text_equal(csv_cell(csv, row, "list"), "plan") &&
            !chart_has_word(own, length, word, n))
            return false;
    }
    return true;
}

/* A layout of both without the keys that each side has alike in all rows. */
static const char *title_of(const struct csv *csv, size_t row, struct arena *arena)
{
    struct text out = {.arena = arena};
    for (unsigned side = 0; side < 2; side++) {
        size_t length;
        const char *text = side_of(csv_cell(csv, row, "layout"), side, &length);
        text_append(&out, side ? " + " : "");
        for (const char *at = text; at < text + length;) {
            size_t n = strcspn(at, " ");
            bool is_key = memchr(at, '=', n) != NULL;
            if (!is_key || !is_shared(csv, side, at, n))
                text_printf(&out, "%s%.*s", at > text ? " " : "", (int)n, at);
            at += n + strspn(at + n, " ");
        }
    }
    return text_string(&out);
}

/* Rows that get a mark's numbers and a line of the legend: the Pareto set's, spread over it. */
static void add_labels(const struct csv *csv, struct picture *p)
{
    size_t *rows = arena_alloc(p->arena, LABELS, sizeof *rows);
    size_t n = chart_spread(csv, "pareto", LABELS, rows);
    const char **numbers = arena_alloc(p->arena, LABELS + 1, sizeof *numbers);
    const char **titles = arena_alloc(p->arena, LABELS + 1, sizeof *titles);
    for (size_t i = 0; i < n; i++) {
        numbers[i] = arena_printf(p->arena, "%zu", rows[i]);
        titles[i] = title_of(csv, rows[i], p->arena);
    }
    picture_list(p, "labelled", numbers);
    picture_list(p, "label_titles", titles);
    picture_list(p, "tpot_words", mark_words(csv, rows, n, "tpot_s", p->arena));
    picture_list(p, "ttft_words", mark_words(csv, rows, n, "ttft_s", p->arena));
}

static enum status fill(const char *file, const struct chart_names *names, struct picture *p,
                        struct err *err)
{
    static const char *const columns[] = {
        "devices", "list",   "prefill", "decode",
        "ttft_s",  "tpot_s", "layout",  "tokens_per_s_per_device",
        NULL};
    struct csv csv;
    double fastest = 0;
    bool plan = false;
    TRY(chart_table(file, columns, chart_pools.needs, p, &csv, err));
    for (size_t row = 0; row < csv.n_rows; row++) {
        fastest = fmax(fastest, chart_number(&csv, row, rate));
        plan = plan || text_equal(csv_cell(&csv, row, "list"), "plan");
    }
    if (!(fastest > 0) || !isfinite(fastest))
        return err_at(err, (struct mark){file, 1, 1},
                      "no row of the table has tokens a second");
    TRY(chart_list_devices(file, &csv, MOST_DEVICES, p, err));
    p->chart.kind = "pools";
    chart_titles(p, names, "tokens/s against what requests see");
    picture_number(p, "fastest", fastest);
    picture_number(p, "has_plan", plan);
    add_labels(&csv, p);
    return STATUS_OK;
}

enum status chart_pools_draw(const struct plan *plan, const char *profile, struct picture *p,
                             const struct invocation *call, struct err *err)
{
    const char *line = chart_found_line(plan, profile, ", unvalidated", p->arena);
    return chart_found_draw(&chart_pools, plan, line, p, call, err);
}

const struct chart_kind chart_pools = {
    .name = "pools",
    .summary = "servers that prefill and decode: tokens/s against first and further tokens",
    .needs = "what `moeplan search --plot` writes of a plan with a part `prefill`",
    .make = make,
    .fill = fill,
};

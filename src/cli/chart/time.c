/* What a step's time is made of, stacked, a bar per configuration. */
#include <inttypes.h>
#include <math.h>

#include "cli/chart/bars.h"
#include "sim/answer/predict.h"

/* ---- the table ---- */

static void append_header(struct text *out)
{
    text_append(out,
                "verdict,total_bytes,limit_bytes,step_s,low_s,high_s,tokens_per_s_per_device");
    for (unsigned i = 0; i < TIME_PARTS; i++)
        text_printf(out, ",%s", time_part_name((enum time_part)i));
    text_append(out, ",profile");
}

static void append_number(struct text *out, double value)
{
    char text[32];
    text_double(text, value);
    text_printf(out, ",%s", text);
}

static void append_time(const struct prediction *prediction, struct text *out)
{
    const struct time_report *t = &prediction->time;
    const struct memory_report *m = &prediction->memory;
    const double numbers[] = {t->step_s, t->low_s, t->high_s, t->tokens_per_s_per_device};
    text_printf(out, "%s,%" PRIu64 ",%" PRIu64, verdict_name(m->verdict), m->total_bytes,
                m->limit_bytes);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        append_number(out, numbers[i]);
    for (unsigned i = 0; i < TIME_PARTS; i++)
        append_number(out, t->step.part_s[i]);
    text_printf(out, ",%s", t->profile);
}

static void append_invalid(struct text *out)
{
    text_append(out, "invalid,,,,,,");
    for (unsigned i = 0; i < TIME_PARTS; i++)
        text_append(out, ",");
    text_append(out, ",");
}

static bool append_bar(const struct frontier *f, const struct plan *plan, struct arena *arena,
                       struct text *out)
{
    struct profile profile;
    struct prediction *prediction = arena_alloc(arena, 1, sizeof *prediction);
    const struct time_ask ask = {.routing = &f->routing, .profile = &profile};
    const struct predict_options options = {
        .routing = &f->routing, .memory_only = true, .time = &ask};
    struct err refused = {0};
    if (profile_load(plan, arena, &profile, &refused) != STATUS_OK ||
        predict(plan, &options, arena, prediction, &refused) != STATUS_OK ||
        !prediction->time.present)
        return false;
    append_time(prediction, out);
    return true;
}

static enum status make(const struct chart_request *request, struct chart_names *names,
                        struct picture *p, struct err *err)
{
    static const struct bar_table table = {append_header, append_bar, append_invalid};
    struct frontier f;
    TRY(chart_make_bars(request, &table, &f, p, err));
    *names = chart_names_of(&f.base, p->arena);
    names->source = arena_printf(p->arena,
                                 "moeplan " MOEPLAN_VERSION
                                 ": modelled, the expected fullest rank; plan %s, stack %s",
                                 f.base.name, f.base.stack_name);
    return STATUS_OK;
}

/* ---- the picture ---- */

static const char *const *parts_of(const struct csv *csv, struct arena *arena)
{
    const char **list = arena_alloc(arena, TIME_PARTS + 1, sizeof *list);
    size_t n = 0;
    for (unsigned i = 0; i < TIME_PARTS; i++) {
        const char *name = time_part_name((enum time_part)i);
        double most = 0;
        for (size_t row = 0; row < csv->n_rows; row++)
            most = fmax(most, chart_number(csv, row, name));
        if (most > 0)
            list[n++] = name;
    }
    return list;
}

static double longest(const struct csv *csv)
{
    double most = 0;
    for (size_t row = 0; row < csv->n_rows; row++)
        most = fmax(most, chart_number(csv, row, "step_s"));
    return most;
}

static unsigned lacking(const struct csv *csv)
{
    unsigned n = 0;
    for (size_t row = 0; row < csv->n_rows; row++)
        n += text_equal(csv_cell(csv, row, "verdict"), verdict_name(VERDICT_OOM));
    return n;
}

static enum status fill(const char *file, const struct chart_names *names, struct picture *p,
                        struct err *err)
{
    static const char *const columns[] = {"verdict", "step_s", "tokens_per_s_per_device",
                                          "products", NULL};
    struct sweep_table table;
    struct csv csv;
    TRY(chart_table(file, columns, chart_time.needs, p, &csv, err));
    TRY(sweep_table_parse(file, text_string(&p->data), p->data.length, p->arena, &table, err));
    double most = longest(&csv);
    if (!(most > 0))
        return err_at(err, (struct mark){file, 1, 1}, "no row of the table has a time");
    p->chart.kind = "time";
    chart_titles(p, names, "what a step's time is made of");
    chart_bars(&table, p);
    picture_list(p, "parts", parts_of(&csv, p->arena));
    picture_number(p, "most_s", most);
    picture_number(p, "n_lacking", lacking(&csv));
    return STATUS_OK;
}

const struct chart_kind chart_time = {
    .name = "time",
    .summary = "what a step's time is made of, stacked, over a key",
    .needs = "what `moeplan plot time -o FILE.csv` writes",
    .make = make,
    .fill = fill,
    .sweeps = true,
};

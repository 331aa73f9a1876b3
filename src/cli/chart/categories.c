/* What memory holds, stacked, a bar per configuration. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "cli/chart/bars.h"
#include "cli/chart/sweep.h"
#include "sim/answer/predict.h"

/* Parts that are less than this of every bar are one, "other". */
static const double least_part = 0.01;

/* ---- the table ---- */

static void append_header(struct text *out)
{
    text_append(out, "verdict,total_bytes,limit_bytes");
    for (unsigned i = 0; i < CATEGORY_COUNT; i++)
        text_printf(out, ",%s", category_name((enum category)i));
}

static void append_memory(const struct memory_report *m, struct text *out)
{
    uint64_t bytes[CATEGORY_COUNT] = {0};
    for (unsigned i = 0; i < m->n_categories; i++)
        bytes[m->categories[i].category] = m->categories[i].bytes;
    text_printf(out, "%s,%" PRIu64 ",%" PRIu64, verdict_name(m->verdict), m->total_bytes,
                m->limit_bytes);
    for (unsigned i = 0; i < CATEGORY_COUNT; i++)
        text_printf(out, ",%" PRIu64, bytes[i]);
}

static void append_invalid(struct text *out)
{
    text_append(out, "invalid,,");
    for (unsigned i = 0; i < CATEGORY_COUNT; i++)
        text_append(out, ",");
}

static bool append_bar(const struct frontier *f, const struct plan *plan, struct arena *arena,
                       struct text *out)
{
    struct prediction *prediction = arena_alloc(arena, 1, sizeof *prediction);
    const struct predict_options options = {.memory_only = true};
    struct err refused = {0};
    (void)f;
    if (predict(plan, &options, arena, prediction, &refused) != STATUS_OK)
        return false;
    append_memory(&prediction->memory, out);
    return true;
}

static enum status make(const struct chart_request *request, struct chart_names *names,
                        struct picture *p, struct err *err)
{
    static const struct bar_table table = {append_header, append_bar, append_invalid};
    struct frontier f;
    TRY(chart_make_bars(request, &table, &f, p, err));
    *names = chart_names_of(&f.base, p->arena);
    return STATUS_OK;
}

/* ---- the picture ---- */

struct part {
    const char *name;
    double most, share; /* bytes of any bar; of its total */
};

static void measure_parts(const struct csv *csv, struct part *parts)
{
    for (unsigned i = 0; i < CATEGORY_COUNT; i++) {
        parts[i] = (struct part){.name = category_name((enum category)i)};
        for (size_t row = 0; row < csv->n_rows; row++) {
            double bytes = chart_number(csv, row, parts[i].name);
            double total = chart_number(csv, row, "total_bytes");
            parts[i].most = fmax(parts[i].most, bytes);
            parts[i].share = fmax(parts[i].share, total > 0 ? bytes / total : 0);
        }
    }
}

static void add_parts(const struct csv *csv, struct picture *p)
{
    struct part parts[CATEGORY_COUNT];
    const char **shown = arena_alloc(p->arena, CATEGORY_COUNT + 1, sizeof *shown);
    const char **others = arena_alloc(p->arena, CATEGORY_COUNT + 1, sizeof *others);
    size_t n_shown = 0, n_others = 0;
    measure_parts(csv, parts);
    for (unsigned i = 0; i < CATEGORY_COUNT; i++)
        if (parts[i].share >= least_part)
            shown[n_shown++] = parts[i].name;
        else if (parts[i].most > 0)
            others[n_others++] = parts[i].name;
    picture_list(p, "parts", shown);
    picture_list(p, "others", others);
}

static enum status fill(const char *file, const struct chart_names *names, struct picture *p,
                        struct err *err)
{
    static const char *const columns[] = {"total_bytes", "limit_bytes", "weights", "activation",
                                          NULL};
    struct sweep_table table;
    struct csv csv;
    TRY(chart_table(file, columns, chart_categories.needs, p, &csv, err));
    TRY(sweep_table_parse(file, text_string(&p->data), p->data.length, p->arena, &table, err));
    p->chart.kind = "categories";
    chart_titles(p, names, "what the memory of a rank holds");
    chart_bars(&table, p);
    add_parts(&csv, p);
    chart_limits(&table, p);
    picture_number(p, "any_oom", strstr(text_string(&p->data), ",oom,") != NULL);
    return STATUS_OK;
}

const struct chart_kind chart_categories = {
    .name = "categories",
    .summary = "what memory holds, stacked, over a key",
    .needs = "what `moeplan plot categories -o FILE.csv` writes",
    .make = make,
    .fill = fill,
    .sweeps = true,
};

/* A comparison as tables, the largest differences first. */
#include <inttypes.h>

#include "report/amount.h"
#include "report/compare/print.h"
#include "report/page.h"
#include "report/predict/screen.h"

static const struct column key_fields[] = {
    COLUMN(compare_key, key, COLUMN_TEXT, "key"),
    COLUMN(compare_key, a, COLUMN_TEXT, "A"),
    COLUMN(compare_key, b, COLUMN_TEXT, "B"),
};

static const struct column category_fields[] = {
    COLUMN(compare_row, name, COLUMN_TEXT, "category"),
    COLUMN(compare_row, bytes.a, COLUMN_BYTES, "A"),
    COLUMN(compare_row, bytes.b, COLUMN_BYTES, "B"),
    COLUMN(compare_row, bytes.difference, COLUMN_SIGNED, "B - A"),
};

static const struct column buffer_fields[] = {
    COLUMN(compare_row, name, COLUMN_TEXT, "buffer"),
    COLUMN(compare_row, segment, COLUMN_TEXT, "segment"),
    COLUMN(compare_row, bytes.a, COLUMN_BYTES, "A"),
    COLUMN(compare_row, bytes.b, COLUMN_BYTES, "B"),
    COLUMN(compare_row, bytes.difference, COLUMN_SIGNED, "B - A"),
};

static const struct column op_fields[] = {
    COLUMN(compare_row, name, COLUMN_TEXT, "op"),
    COLUMN(compare_row, segment, COLUMN_TEXT, "segment"),
    COLUMN(compare_row, phase, COLUMN_TEXT, "phase"),
    COLUMN(compare_row, flop.difference, COLUMN_INTEGER, "FLOP"),
    COLUMN(compare_row, bytes.difference, COLUMN_SIGNED, "memory"),
    COLUMN(compare_row, sent.difference, COLUMN_SIGNED, "sent"),
    COLUMN(compare_row, seconds.a, COLUMN_SECONDS, "A"),
    COLUMN(compare_row, seconds.b, COLUMN_SECONDS, "B"),
    COLUMN(compare_row, seconds.difference, COLUMN_SECONDS, "B - A"),
};

/* The first `top` rows that differ, the rest of them and what is the same in a row each, and
 * the total: the differences above a total sum to it. */
static void print_rows(const struct compare_view *view, struct page *page, const char *title,
                       const struct compare_rows *rows, const struct column *columns, size_t n)
{
    struct compare_row *shown = arena_alloc(view->arena, rows->n + 3, sizeof *shown);
    struct compare_row others = {.name = "(smaller differences)"},
                       same = {.name = "(the same)"};
    size_t n_shown = 0, n_others = 0, n_same = 0;
    for (size_t i = 0; i < rows->n; i++) {
        bool equal = compare_same(&rows->rows[i]);
        if (!equal && n_shown < view->top)
            shown[n_shown++] = rows->rows[i];
        else
            compare_add(equal ? &same : &others, &rows->rows[i]);
        n_same += equal;
        n_others += !equal;
    }
    if (n_others > n_shown)
        shown[n_shown++] = others;
    if (n_same)
        shown[n_shown++] = same;
    shown[n_shown++] = rows->total;
    const struct table table = {.columns = columns,
                                .n = n,
                                .records = shown,
                                .n_records = n_shown,
                                .record_size = sizeof *shown,
                                .indent = 2};
    page_heading(page, title);
    column_table(view->out, view->term, &table, view->arena);
}

static void print_keys(const struct compare_view *view, struct page *page)
{
    const struct table table = {.columns = key_fields,
                                .n = COUNT_OF(key_fields),
                                .records = view->comparison->keys,
                                .n_records = view->comparison->n_keys,
                                .record_size = sizeof *view->comparison->keys,
                                .indent = 2};
    page_heading(page, "keys that differ");
    if (table.n_records)
        column_table(view->out, view->term, &table, view->arena);
    else
        page_text(page, 2, "none");
}

/* A figure of time as text: of one kind and unit each. */
struct figure_row {
    const char *label, *a, *b, *ratio;
};

static const struct column figure_fields[] = {
    COLUMN(figure_row, label, COLUMN_TEXT, "figure"),
    COLUMN(figure_row, a, COLUMN_TEXT, "A"),
    COLUMN(figure_row, b, COLUMN_TEXT, "B"),
    COLUMN(figure_row, ratio, COLUMN_TEXT, "B / A"),
};

static void print_time(const struct compare_view *view, struct page *page)
{
    const struct comparison *c = view->comparison;
    struct figure_row *rows = arena_alloc(view->arena, c->n_time + 1, sizeof *rows);
    for (size_t i = 0; i < c->n_time; i++) {
        const struct compare_figure *f = &c->time[i];
        const char *(*text)(struct arena *, double) = f->is_rate ? screen_rate : screen_seconds;
        rows[i] =
            (struct figure_row){f->label, text(view->arena, f->a), text(view->arena, f->b),
                                arena_printf(view->arena, "%.4g", f->ratio)};
    }
    const struct table table = {.columns = figure_fields,
                                .n = COUNT_OF(figure_fields),
                                .records = rows,
                                .n_records = c->n_time,
                                .record_size = sizeof *rows,
                                .indent = 2};
    if (!c->n_time)
        return;
    page_heading(page, "time, each by its profile");
    column_table(view->out, view->term, &table, view->arena);
}

/* An engine lets in as many as its cache holds: fewer bytes of each may be more of all. */
static void print_batches(const struct compare_view *view)
{
    const struct comparison *c = view->comparison;
    bool told = view->a->batch == view->b->batch;
    for (size_t i = 0; i < c->n_keys; i++)
        told = told || text_equal(c->keys[i].key, "workload.micro_batch");
    if (!told)
        fprintf(view->out, "sequences a rank in a step: %" PRIu64 ", were %" PRIu64 "\n",
                view->b->batch, view->a->batch);
}

/* Whose cache holds no sequence of the length that both ask for. */
static void print_lengths(const struct compare_view *view)
{
    const struct comparison *c = view->comparison;
    uint64_t a = view->a->serving.context_tokens, b = view->b->serving.context_tokens;
    bool told = !a || !b || a == b;
    for (size_t i = 0; i < c->n_keys; i++)
        told = told || text_ends(c->keys[i].key, "_length");
    if (!told)
        fprintf(view->out, "tokens of a sequence: %" PRIu64 ", were %" PRIu64 "\n", b, a);
}

/* "B needs 3.20 GiB more than A: 10.00 (fits) -> 13.20 GiB (oom)" */
static void print_head(const struct compare_view *view)
{
    const struct compare_count *total = &view->comparison->buffers.total.bytes;
    struct scale scale = scale_for(total->a > total->b ? total->a : total->b);
    char a[32], b[32], by[32];
    scale_print(a, scale, total->a);
    scale_print(b, scale, total->b);
    scale_print(by, scale, total->a > total->b ? total->a - total->b : total->b - total->a);
    if (total->difference == 0)
        fprintf(view->out, "B needs as much as A");
    else
        fprintf(view->out, "B needs %s %s %s than A", by, scale.unit,
                total->difference > 0 ? "more" : "less");
    fprintf(view->out, ": %s %s (%s), was %s (%s)\n", b, scale.unit,
            verdict_name(view->b->memory.verdict), a, verdict_name(view->a->memory.verdict));
    print_batches(view);
    print_lengths(view);
    fputc('\n', view->out);
}

void compare_print_text(const struct compare_view *view)
{
    const struct comparison *c = view->comparison;
    struct page page = {.out = view->out, .term = view->term};
    print_head(view);
    print_keys(view, &page);
    print_time(view, &page);
    print_rows(view, &page, "memory at the peak, by category", &c->categories, category_fields,
               COUNT_OF(category_fields));
    print_rows(view, &page, "memory at the peak, by buffer (all copies)", &c->buffers,
               buffer_fields, COUNT_OF(buffer_fields));
    if (c->has_ops)
        print_rows(view, &page,
                   "ops of a rank: a micro-step of all its layers, the update of a step; "
                   "seconds by the profile, each op alone",
                   &c->ops, op_fields, COUNT_OF(op_fields));
    fputs("\nA: ", view->out);
    provenance_text(view->out, view->term, &view->provenance_a);
    fputs("B: ", view->out);
    provenance_text(view->out, view->term, &view->provenance_b);
}

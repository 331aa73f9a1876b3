/* Every buffer of a prediction as a table, those of the peak first. */
#include "report/bars.h"
#include "report/page.h"
#include "report/predict/print.h"

static const char *formula_of(const void *record)
{
    return ((const struct buffer_report *)record)->formula;
}

/* Of a model without experts, say: in the list, as in every plan's, and nothing to read. */
static bool is_empty(const struct buffer_report *buffer)
{
    return !buffer->bytes && !buffer->expected_bytes && !buffer->worst_bytes;
}

static void print_group(const struct predict_view *view, struct page *page, bool at_peak,
                        const char *title)
{
    static const struct column note = {
        .key = "formula", .type = COLUMN_NAME, .name = formula_of};
    const struct memory_report *memory = &view->prediction->memory;
    struct buffer_report *rows = arena_alloc(view->arena, memory->n_buffers + 1, sizeof *rows);
    struct table table = {
        .records = rows, .record_size = sizeof *rows, .indent = 2, .note = &note};
    for (size_t i = 0; i < memory->n_buffers; i++)
        if (memory->buffers[i].at_peak == at_peak && !is_empty(&memory->buffers[i]))
            rows[table.n_records++] = memory->buffers[i];
    if (table.n_records == 0)
        return;
    page_heading(page, title);
    table.columns = buffer_table(&table.n);
    column_table(view->out, view->term, &table, view->arena);
}

static void print_categories(const struct predict_view *view, struct page *page)
{
    const struct memory_report *memory = &view->prediction->memory;
    struct bar *bars = arena_alloc(view->arena, CATEGORY_COUNT, sizeof *bars);
    for (unsigned i = 0; i < memory->n_categories; i++)
        bars[i] = (struct bar){category_name(memory->categories[i].category),
                               memory->categories[i].bytes};
    bars_print(view->out, view->term, "where the memory goes", bars, memory->n_categories,
               scale_for(memory->total_bytes), view->arena);
    page->used = true;
}

void predict_print_buffers(const struct predict_view *view)
{
    struct page page = {.out = view->out, .term = view->term};
    print_categories(view, &page);
    print_group(view, &page, true, "buffers alive at the peak (all copies; formula of one)");
    print_group(view, &page, false, "buffers not alive at the peak");
    fputc('\n', view->out);
    provenance_text(view->out, view->term, &view->provenance);
}

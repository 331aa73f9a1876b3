/* See spans.h. */
#include "report/predict/spans.h"

#include "base/column.h"
#include "report/schema_json.h"

enum { MOST_SPANS = 8192 }; /* the rest is left out */

struct span_row {
    const char *op, *phase, *stream, *part;
    uint64_t stage, micro_batch;
    double begin_s, end_s;
};

#define ROW(name, kind)                                                                        \
    {                                                                                          \
        .key = #name, .type = COLUMN_##kind, .offset = offsetof(struct span_row, name)         \
    }

static const struct column row_columns[] = {
    ROW(op, TEXT),   ROW(phase, TEXT),        ROW(stage, COUNT),     ROW(stream, TEXT),
    ROW(part, TEXT), ROW(micro_batch, COUNT), ROW(begin_s, SECONDS), ROW(end_s, SECONDS),
};

/* Of a step: what each stage is at, and what it does once. Ops stand inside the tasks. */
static bool of_step(const struct span *span)
{
    return span->stream == SPAN_TASKS || span->stream == SPAN_STEP;
}

static size_t fill_rows(const struct plan_spans *spans, bool step, struct span_row *rows)
{
    const struct span_list *list = &spans->list;
    size_t n = 0;
    for (size_t i = 0; i < list->n && n < MOST_SPANS; i++) {
        const struct span *span = &list->items[i];
        if (step && !of_step(span))
            continue;
        rows[n++] = (struct span_row){
            .op = span->op,
            .phase = span->phase,
            .stream = list->streams[span->stream],
            .part = span->stream == SPAN_TASKS
                        ? NULL
                        : time_part_name(span_part(&spans->stepper, span)),
            .stage = span->rank + 1,
            .micro_batch = span->iteration,
            .begin_s = span->begin_s,
            .end_s = span->end_s,
        };
    }
    return n;
}

void spans_json(struct json *json, const struct plan_spans *spans, struct arena *arena)
{
    struct span_row *rows = arena_alloc(arena, spans->list.n + 1, sizeof *rows);
    size_t n = fill_rows(spans, spans->segment == SEGMENT_COUNT, rows);
    column_json_array(json, "spans", row_columns, sizeof row_columns / sizeof *row_columns,
                      rows, n, sizeof *rows);
}

void spans_schema(struct json *json)
{
    schema_json_records(json, "spans", row_columns, sizeof row_columns / sizeof *row_columns);
}

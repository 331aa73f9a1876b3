/* See along.h. */
#include "lib/along.h"

#include "plan/layers.h"
#include "report/trace_json.h"

enum {
    STEP_SPANS = 200000, /* of a step, about; some 40 MB as a trace */
    JSON_SPANS = 8192    /* that JSON lists; the rest is left out */
};

enum status along_spans(const struct answer *answer, enum segment segment, struct arena *arena,
                        struct plan_spans *out, struct err *err)
{
    const struct plan_spans_ask ask = {&answer->routing, &answer->profile, STEP_SPANS, segment};
    return plan_spans_of(&answer->plan, &ask, arena, out, err);
}

enum status along_trace_print(const struct answer *answer, struct arena *arena, FILE *out,
                              struct err *err)
{
    const struct provenance provenance = answer_view(answer, out, NULL, arena).provenance;
    struct plan_spans *spans = arena_alloc(arena, 1, sizeof *spans);
    enum status status = along_spans(answer, SEGMENT_COUNT, arena, spans, err);
    const struct trace_view view = {&spans->list, "simulated", &provenance};
    if (status == STATUS_OK)
        trace_print_json(&view, out);
    plan_spans_release(spans);
    return status;
}

/* ---- JSON ---- */

struct along_row {
    const char *op, *phase, *stream, *part;
    uint64_t stage, micro_batch;
    double begin_s, end_s;
};

#define ROW(name, kind)                                                                        \
    {                                                                                          \
        .key = #name, .type = COLUMN_##kind, .offset = offsetof(struct along_row, name)        \
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

static size_t fill_rows(const struct plan_spans *spans, bool step, struct along_row *rows)
{
    const struct span_list *list = &spans->list;
    size_t n = 0;
    for (size_t i = 0; i < list->n && n < JSON_SPANS; i++) {
        const struct span *span = &list->items[i];
        if (step && !of_step(span))
            continue;
        rows[n++] = (struct along_row){
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

static enum status print_spans(const struct answer *answer, enum segment segment,
                               struct arena *arena, struct json *json, struct err *err)
{
    bool step = segment == SEGMENT_COUNT;
    struct plan_spans *spans = arena_alloc(arena, 1, sizeof *spans);
    enum status status = along_spans(answer, segment, arena, spans, err);
    const struct span_list *list = &spans->list;
    if (status == STATUS_OK && list->n) {
        struct along_row *rows = arena_alloc(arena, list->n, sizeof *rows);
        size_t n = fill_rows(spans, step, rows);
        json_object(json, step ? "step" : "layer");
        json_string(json, "of", step ? "step" : kind_name(segment_kind(segment)));
        json_real(json, "end_s", list->end_s);
        column_json_array(json, "spans", row_columns, sizeof row_columns / sizeof *row_columns,
                          rows, n, sizeof *rows);
        json_close(json);
    }
    plan_spans_release(spans);
    return status;
}

enum status along_print_json(const struct answer *answer, struct arena *arena, FILE *out,
                             struct err *err)
{
    const enum segment of[] = {plan_spans_layer(&answer->plan.model), SEGMENT_COUNT};
    struct json json;
    json_init(&json, out);
    json_object(&json, NULL);
    for (size_t i = 0; i < 2 && answer->prediction.time.present; i++)
        TRY(print_spans(answer, of[i], arena, &json, err));
    json_close(&json);
    return STATUS_OK;
}

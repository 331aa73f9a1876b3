/* See along.h. */
#include "lib/along.h"

#include "plan/layers.h"
#include "report/predict/spans.h"
#include "report/trace_json.h"

enum { STEP_SPANS = 200000 }; /* of a step, about; some 40 MB as a trace */

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

static enum status print_spans(const struct answer *answer, enum segment segment,
                               struct arena *arena, struct json *json, struct err *err)
{
    bool step = segment == SEGMENT_COUNT;
    struct plan_spans *spans = arena_alloc(arena, 1, sizeof *spans);
    enum status status = along_spans(answer, segment, arena, spans, err);
    const struct span_list *list = &spans->list;
    if (status == STATUS_OK && list->n) {
        json_object(json, step ? "step" : "layer");
        json_string(json, "of", step ? "step" : kind_name(segment_kind(segment)));
        json_real(json, "end_s", list->end_s);
        spans_json(json, spans, arena);
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

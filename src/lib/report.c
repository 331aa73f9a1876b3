/* See report.h. */
#include "lib/report.h"

#include <inttypes.h>
#include <string.h>

#include "lib/along.h"
#include "lib/document.h"
#include "lib/frontier.h"
#include "plan/layers.h"
#include "plan/read/unread.h"
#include "report/html/print.h"
#include "work/stack/stack.h"

enum { POINTS = 24, DOUBLINGS = 3 };

/* What a report sweeps: the first of these that the plan reads. */
static const char *const swept_keys[] = {"workload.micro_batch", "workload.context_length",
                                         "workload.sequence_length"};

static const struct field *swept_field(const struct plan *plan, struct arena *arena)
{
    const struct unread_plan of = {plan, stack_path(plan, NULL)};
    for (size_t i = 0; i < sizeof swept_keys / sizeof *swept_keys; i++) {
        const struct field *field = schema_find(swept_keys[i]);
        if (!unread_reason(field, &of, arena))
            return field;
    }
    return NULL;
}

/* Values around the plan's own: every one up to twice as many while they are few, doublings and
 * halves of it otherwise. */
static const char *swept_values(const struct field *field, uint64_t own, struct arena *arena)
{
    struct text text = {.arena = arena};
    uint64_t top = own < 4 ? 8 : 2 * own;
    if (top <= POINTS)
        return arena_printf(arena, "%s=1..%" PRIu64, field->key, top);
    text_printf(&text, "%s=", field->key);
    for (unsigned i = DOUBLINGS; i > 0; i--)
        if (own >> i > 0 && own % (UINT64_C(1) << i) == 0)
            text_printf(&text, "%" PRIu64 ",", own >> i);
    text_printf(&text, "%" PRIu64, own);
    for (unsigned i = 1; i <= DOUBLINGS; i++)
        text_printf(&text, ",%" PRIu64, own << i);
    return text_string(&text);
}

/* ---- points ---- */

struct points {
    struct html_point *items;
    size_t n;
    const struct frontier *frontier;
    struct arena *arena;
};

static size_t make_point(const void *context, const size_t indices[SWEEP_AXES],
                         const struct plan *plan, const struct evaluation *result, char *out,
                         size_t room)
{
    const struct points *points = context;
    struct html_point point = {
        .label = points->frontier->axes[0].values[indices[0]].label,
        .valid = result->valid,
        .verdict = result->valid ? verdict_name(result->verdict) : "invalid",
        .wall = "",
    };
    (void)plan;
    (void)room;
    if (result->valid) {
        point.total_bytes = result->peak.total_bytes;
        point.limit_bytes = result->limit_bytes;
    }
    if (result->wall && result->valid)
        point.wall = arena_strdup(points->arena, result->wall->name);
    memcpy(out, &point, sizeof point);
    return sizeof point;
}

static enum status take_points(void *context, const char *bytes, size_t n, uint64_t done,
                               struct err *err)
{
    struct points *points = context;
    (void)done;
    (void)err;
    memcpy(points->items + points->n, bytes, n);
    points->n += n / sizeof *points->items;
    return STATUS_OK;
}

static enum status sweep_points_of(const struct request *request, const char *over,
                                   struct arena *arena, struct points *points, struct err *err)
{
    const struct frontier_axes axes = {.overs = &over, .n_overs = 1};
    struct frontier *frontier = arena_alloc(arena, 1, sizeof *frontier);
    TRY(frontier_axes_read(frontier, &axes, arena, err));
    TRY(frontier_init(frontier, request, err));
    size_t most = frontier->axes[0].n_values;
    *points =
        (struct points){arena_alloc(arena, most, sizeof *points->items), 0, frontier, arena};
    const struct sweep_output output = {.row = make_point,
                                        .row_context = points,
                                        .row_room = sizeof *points->items,
                                        .write = take_points,
                                        .write_context = points};
    return sweep_run(&frontier->sweep, NULL, &output, err);
}

/* ---- one layer along time ---- */

static void take_spans(const struct plan_spans *layer, struct html_view *view,
                       struct arena *arena)
{
    const struct span_list *list = &layer->list;
    struct html_span *spans = arena_alloc(arena, list->n + 1, sizeof *spans);
    for (size_t i = 0; i < list->n; i++) {
        const struct span *span = &list->items[i];
        spans[i] = (struct html_span){
            span->op, span_stream_name((enum span_stream)span->stream), span->begin_s,
            span->end_s - span->begin_s, time_part_name(span_part(&layer->stepper, span))};
    }
    view->layer = kind_name(segment_kind(layer->segment));
    view->spans = spans;
    view->n_spans = list->n;
    view->layer_s = list->end_s;
}

/* Nothing where the plan has no layer, or its time cannot be told. */
static enum status add_layer(const struct answer *answer, struct html_view *view,
                             struct arena *arena, struct err *err)
{
    struct plan_spans *layer = arena_alloc(arena, 1, sizeof *layer);
    enum segment segment = plan_spans_layer(&answer->plan.model);
    enum status status = STATUS_OK;
    if (!answer->prediction.time.present)
        return STATUS_OK;
    status = along_spans(answer, segment, arena, layer, err);
    if (status == STATUS_OK)
        take_spans(layer, view, arena);
    plan_spans_release(layer);
    return status;
}

/* ---- the report ---- */

enum status report_write(const struct request *request, const struct answer *answer,
                         struct arena *arena, FILE *out, struct err *err)
{
    static const struct term plain = {.utf8 = true, .width = TERM_WIDTH};
    const struct predict_view predict = answer_view(answer, out, &plain, arena);
    struct html_view view = {.predict = &predict};
    struct points points = {0};
    const struct field *field = swept_field(&answer->plan, arena);
    if (field) {
        uint64_t own;
        memcpy(&own, (const char *)&answer->plan + field->offset, sizeof own);
        TRY(sweep_points_of(request, swept_values(field, own, arena), arena, &points, err));
        view.swept = field->key;
        view.points = points.items;
        view.n_points = points.n;
    }
    TRY(add_layer(answer, &view, arena, err));
    view.yaml = document_plan(&answer->plan, arena);
    html_print_page(&view);
    return STATUS_OK;
}

/* The time of a prediction: five lines of the screen, --why, and "time" of the JSON contract.
 */
#include <inttypes.h>
#include <math.h>

#include "base/unit.h"
#include "report/predict/screen.h"
#include "report/schema_json.h"

#define COLUMN(record, member, kind, heading)                                                  \
    {                                                                                          \
        .key = #member, .type = kind, .offset = offsetof(struct record, member),               \
        .title = heading                                                                       \
    }
#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

/* ---- columns ---- */

static bool step_jitters(const void *time)
{
    return ((const struct time_report *)time)->jitter;
}

static bool layer_jitters(const void *layer)
{
    return ((const struct time_layer *)layer)->jitter;
}

/* Where the cluster states a jitter of its links. */
#define JITTER(record, member, has)                                                            \
    {                                                                                          \
        .key = #member, .type = COLUMN_SECONDS, .offset = offsetof(struct record, member),     \
        .present = has                                                                         \
    }

static const struct column time_columns[] = {
    COLUMN(time_report, step_s, COLUMN_SECONDS, NULL),
    COLUMN(time_report, step_p50_s, COLUMN_SECONDS, NULL),
    COLUMN(time_report, step_p99_s, COLUMN_SECONDS, NULL),
    JITTER(time_report, step_p99_routing_s, step_jitters),
    JITTER(time_report, step_p99_link_s, step_jitters),
    COLUMN(time_report, tokens_per_s, COLUMN_REAL, NULL),
    COLUMN(time_report, tokens_per_s_per_device, COLUMN_REAL, NULL),
    COLUMN(time_report, exposed_comm_s, COLUMN_SECONDS, NULL),
    COLUMN(time_report, host_sync_s, COLUMN_SECONDS, NULL),
    COLUMN(time_report, bubble_s, COLUMN_SECONDS, NULL),
    COLUMN(time_report, skew_tax, COLUMN_REAL, NULL),
    COLUMN(time_report, mfu_useful, COLUMN_REAL, NULL),
    COLUMN(time_report, mfu_executed, COLUMN_REAL, NULL),
    COLUMN(time_report, peak_flop_per_s, COLUMN_REAL, NULL),
    COLUMN(time_report, ttft_s, COLUMN_SECONDS, NULL),
    COLUMN(time_report, tpot_s, COLUMN_SECONDS, NULL),
    COLUMN(time_report, calibrated, COLUMN_BOOL, NULL),
    COLUMN(time_report, elsewhere, COLUMN_BOOL, NULL),
    COLUMN(time_report, outside, COLUMN_TEXT, NULL),
    COLUMN(time_report, samples, COLUMN_COUNT, NULL),
};

static const struct column apart_columns[] = {
    COLUMN(serve_apart, validated, COLUMN_BOOL, NULL),
    COLUMN(serve_apart, prefill_per_s, COLUMN_REAL, NULL),
    COLUMN(serve_apart, decode_per_s, COLUMN_REAL, NULL),
    COLUMN(serve_apart, link_per_s, COLUMN_REAL, NULL),
    COLUMN(serve_apart, prefill_per_decode, COLUMN_REAL, NULL),
    COLUMN(serve_apart, prefill, COLUMN_COUNT, NULL),
    COLUMN(serve_apart, decode, COLUMN_COUNT, NULL),
    COLUMN(serve_apart, requests_per_s, COLUMN_REAL, NULL),
    COLUMN(serve_apart, tokens_per_s_per_device, COLUMN_REAL, NULL),
    COLUMN(serve_apart, limited_by, COLUMN_TEXT, NULL),
    COLUMN(serve_apart, sequences, COLUMN_COUNT, NULL),
    COLUMN(serve_apart, prefill_memory_bytes, COLUMN_BYTES, NULL),
    COLUMN(serve_apart, decode_memory_bytes, COLUMN_BYTES, NULL),
    COLUMN(serve_apart, cache_bytes, COLUMN_BYTES, NULL),
    COLUMN(serve_apart, transfer_s, COLUMN_SECONDS, NULL),
    COLUMN(serve_apart, exposed_s, COLUMN_SECONDS, NULL),
    COLUMN(serve_apart, ttft_s, COLUMN_SECONDS, NULL),
    COLUMN(serve_apart, tpot_s, COLUMN_SECONDS, NULL),
};

static bool has_deployments(const void *times)
{
    return ((const struct serve_times *)times)->queue != NULL;
}

static const struct column serving_columns[] = {
    COLUMN(serve_times, replicas, COLUMN_COUNT, NULL),
    COLUMN(serve_times, sequences, COLUMN_COUNT, NULL),
    COLUMN(serve_times, waiting, COLUMN_COUNT, NULL),
    COLUMN(serve_times, step_tokens, COLUMN_COUNT, NULL),
    COLUMN(serve_times, requests, COLUMN_COUNT, NULL),
    COLUMN(serve_times, ttft_s, COLUMN_SECONDS, NULL),
    COLUMN(serve_times, ttft_low_s, COLUMN_SECONDS, NULL),
    COLUMN(serve_times, ttft_high_s, COLUMN_SECONDS, NULL),
    COLUMN(serve_times, ttft_p50_s, COLUMN_SECONDS, NULL),
    COLUMN(serve_times, ttft_p95_s, COLUMN_SECONDS, NULL),
    COLUMN(serve_times, ttft_p99_s, COLUMN_SECONDS, NULL),
    COLUMN(serve_times, tpot_s, COLUMN_SECONDS, NULL),
    COLUMN(serve_times, tpot_low_s, COLUMN_SECONDS, NULL),
    COLUMN(serve_times, tpot_high_s, COLUMN_SECONDS, NULL),
    COLUMN(serve_times, tpot_p95_s, COLUMN_SECONDS, NULL),
    COLUMN(serve_times, tpot_p99_s, COLUMN_SECONDS, NULL),
    COLUMN(serve_times, latency_s, COLUMN_SECONDS, NULL),
    COLUMN(serve_times, latency_p95_s, COLUMN_SECONDS, NULL),
    COLUMN(serve_times, latency_p99_s, COLUMN_SECONDS, NULL),
    COLUMN(serve_times, requests_per_s, COLUMN_REAL, NULL),
    COLUMN(serve_times, tokens_per_s, COLUMN_REAL, NULL),
    COLUMN(serve_times, decode_step_s, COLUMN_SECONDS, NULL),
    COLUMN(serve_times, prefill_step_s, COLUMN_SECONDS, NULL),
    COLUMN(serve_times, request_rate, COLUMN_REAL, NULL),
    COLUMN(serve_times, capacity_per_s, COLUMN_REAL, NULL),
    COLUMN(serve_times, utilization, COLUMN_REAL, NULL),
    COLUMN(serve_times, queue, COLUMN_TEXT, NULL),
    COLUMN(serve_times, within, COLUMN_REAL, NULL),
    COLUMN(serve_times, goodput_per_s, COLUMN_REAL, NULL),
    {.key = "deployments",
     .type = COLUMN_COUNT,
     .offset = offsetof(struct serve_times, deployments),
     .present = has_deployments},
};

#define LAYER(member, kind)                                                                    \
    {                                                                                          \
        .key = #member, .type = kind, .offset = offsetof(struct time_layer, at.member)         \
    }

static const struct column layer_columns[] = {
    LAYER(forward_s, COLUMN_SECONDS),
    COLUMN(time_layer, forward_p50_s, COLUMN_SECONDS, NULL),
    COLUMN(time_layer, forward_p99_s, COLUMN_SECONDS, NULL),
    JITTER(time_layer, forward_p99_routing_s, layer_jitters),
    JITTER(time_layer, forward_p99_link_s, layer_jitters),
    LAYER(forward_serial_s, COLUMN_SECONDS),
    LAYER(forward_tokens_per_s, COLUMN_REAL),
    LAYER(forward_backward_s, COLUMN_SECONDS),
    COLUMN(time_layer, forward_backward_p50_s, COLUMN_SECONDS, NULL),
    COLUMN(time_layer, forward_backward_p99_s, COLUMN_SECONDS, NULL),
    JITTER(time_layer, forward_backward_p99_routing_s, layer_jitters),
    JITTER(time_layer, forward_backward_p99_link_s, layer_jitters),
    LAYER(forward_backward_tokens_per_s, COLUMN_REAL),
    LAYER(grouped_gemm_s, COLUMN_SECONDS),
    LAYER(useful_flop_per_s, COLUMN_REAL),
    LAYER(mfu_useful, COLUMN_REAL),
};

static const struct column interval_columns[] = {
    COLUMN(time_report, low_s, COLUMN_SECONDS, NULL),
    COLUMN(time_report, high_s, COLUMN_SECONDS, NULL),
    COLUMN(time_report, calibration, COLUMN_TEXT, NULL),
};

static const struct column part_columns[] = {
    COLUMN(time_line, name, COLUMN_TEXT, NULL),
    COLUMN(time_line, seconds, COLUMN_SECONDS, NULL),
};

static const struct column path_columns[] = {
    {.key = "op", .type = COLUMN_TEXT, .offset = offsetof(struct time_line, name)},
    COLUMN(time_line, seconds, COLUMN_SECONDS, NULL),
};

static const struct column constant_columns[] = {
    COLUMN(time_sensitivity, constant, COLUMN_TEXT, "constant"),
    COLUMN(time_sensitivity, percent, COLUMN_REAL, "step % for +10 %"),
    COLUMN(time_sensitivity, value, COLUMN_REAL, "value"),
    COLUMN(time_sensitivity, low, COLUMN_REAL, "from"),
    COLUMN(time_sensitivity, high, COLUMN_REAL, "to"),
    COLUMN(time_sensitivity, source, COLUMN_TEXT, "source"),
};

static const struct column cost_columns[] = {
    COLUMN(time_cost, device_hours_per_mtoken, COLUMN_REAL, NULL),
    COLUMN(time_cost, joules_per_token, COLUMN_REAL, NULL),
    COLUMN(time_cost, price_per_mtoken, COLUMN_REAL, NULL),
    COLUMN(time_cost, days, COLUMN_REAL, NULL),
    COLUMN(time_cost, device_hours, COLUMN_REAL, NULL),
    COLUMN(time_cost, price, COLUMN_REAL, NULL),
};

const struct column *predict_time_columns(size_t *n)
{
    *n = COUNT_OF(time_columns);
    return time_columns;
}

static bool has_time(const struct prediction *prediction)
{
    return prediction->time.present;
}

static bool has_layer(const struct prediction *prediction)
{
    return prediction->time.layer.present;
}

static bool has_requests(const struct prediction *prediction)
{
    return prediction->time.serving.present;
}

#define SECTION(name, list, part, when)                                                        \
    {                                                                                          \
        name, list, COUNT_OF(list), offsetof(struct prediction, part), when                    \
    }

const struct predict_section *predict_time_sections(size_t *n)
{
    static const struct predict_section sections[] = {
        SECTION("time", time_columns, time, has_time),
        SECTION("time.interval", interval_columns, time, has_time),
        SECTION("time.layer", layer_columns, time.layer, has_layer),
        SECTION("time.serving", serving_columns, time.serving, has_requests),
        SECTION("time.cost", cost_columns, time.cost, has_time),
    };
    *n = COUNT_OF(sections);
    return sections;
}

void predict_json_time(struct json *json, const struct time_report *t)
{
    json_object(json, "time");
    column_json(json, time_columns, COUNT_OF(time_columns), t);
    json_object(json, "interval");
    column_json(json, interval_columns, COUNT_OF(interval_columns), t);
    json_close(json);
    if (t->layer.present) {
        json_object(json, "layer");
        column_json(json, layer_columns, COUNT_OF(layer_columns), &t->layer);
        json_close(json);
    }
    if (t->serving.present) {
        json_object(json, "serving");
        column_json(json, serving_columns, COUNT_OF(serving_columns), &t->serving);
        if (t->serving.apart.present) {
            json_object(json, "disaggregated");
            column_json(json, apart_columns, COUNT_OF(apart_columns), &t->serving.apart);
            json_close(json);
        }
        json_close(json);
    }
    column_json_array(json, "categories", part_columns, COUNT_OF(part_columns), t->parts,
                      t->n_parts, sizeof *t->parts);
    if (t->n_path)
        column_json_array(json, "critical_path", path_columns, COUNT_OF(path_columns), t->path,
                          t->n_path, sizeof *t->path);
    if (t->n_whatifs)
        column_json_array(json, "what_if", part_columns, COUNT_OF(part_columns), t->whatifs,
                          t->n_whatifs, sizeof *t->whatifs);
    if (t->n_constants)
        column_json_array(json, "constants", constant_columns, COUNT_OF(constant_columns),
                          t->constants, t->n_constants, sizeof *t->constants);
    json_object(json, "cost");
    column_json(json, cost_columns, COUNT_OF(cost_columns), &t->cost);
    json_close(json);
    json_close(json);
}

void predict_schema_time(struct json *json)
{
    json_object(json, "time");
    json_string(json, "type", "object");
    json_bool(json, "additionalProperties", false);
    json_object(json, "properties");
    schema_json_columns(json, time_columns, COUNT_OF(time_columns));
    schema_json_record(json, "interval", interval_columns, COUNT_OF(interval_columns));
    schema_json_record(json, "layer", layer_columns, COUNT_OF(layer_columns));
    json_object(json, "serving");
    json_string(json, "type", "object");
    json_bool(json, "additionalProperties", false);
    json_object(json, "properties");
    schema_json_columns(json, serving_columns, COUNT_OF(serving_columns));
    schema_json_record(json, "disaggregated", apart_columns, COUNT_OF(apart_columns));
    json_close(json);
    json_close(json);
    schema_json_records(json, "categories", part_columns, COUNT_OF(part_columns));
    schema_json_records(json, "critical_path", path_columns, COUNT_OF(path_columns));
    schema_json_records(json, "what_if", part_columns, COUNT_OF(part_columns));
    schema_json_records(json, "constants", constant_columns, COUNT_OF(constant_columns));
    schema_json_record(json, "cost", cost_columns, COUNT_OF(cost_columns));
    json_close(json);
    json_close(json);
}

/* ---- the screen ---- */

/* Of a served plan the step of all sequences that a replica takes at once: an answer's tokens,
 * whose time stands above, come of steps of as many as there are. */
static const char *step_text(const struct screen *screen, const struct time_report *t)
{
    if (!t->serving.present)
        return "step";
    return arena_printf(screen->view->arena, "decode step of %" PRIu64 " sequence%s",
                        t->serving.sequences, t->serving.sequences == 1 ? "" : "s");
}

static void print_step(struct screen *screen, const struct time_report *t)
{
    struct arena *a = screen->view->arena;
    struct text text = {.arena = a};
    text_printf(&text, "%s a %s, %s to %s by %s%s", screen_seconds(a, t->step_s),
                step_text(screen, t), screen_seconds(a, t->low_s), screen_seconds(a, t->high_s),
                t->profile, t->calibrated ? "" : " (uncalibrated)");
    if (screen->brief >= BRIEF_TIME && !t->serving.present)
        text_printf(&text, "; %s tokens/s a device",
                    screen_rate(a, t->tokens_per_s_per_device));
    else if ((t->samples || t->jitter) && isfinite(t->step_p99_s))
        text_printf(&text, "; p99 %s", screen_seconds(a, t->step_p99_s));
    screen_item(screen, "time", text_string(&text));
}

static void print_rate(struct screen *screen, const struct time_report *t)
{
    struct arena *a = screen->view->arena;
    char peak[48];
    unit_print(peak, UNIT_FLOP_PER_S, t->peak_flop_per_s);
    screen_item(screen, "",
                arena_printf(a, "%s tokens/s a device, %s in all; MFU %.1f %% of %s",
                             screen_rate(a, t->tokens_per_s_per_device),
                             screen_rate(a, t->tokens_per_s), 100 * t->mfu_useful, peak));
}

/* The largest parts, largest first. */
static void print_parts(struct screen *screen, const struct time_report *t)
{
    struct text text = {.arena = screen->view->arena};
    bool told[TIME_PARTS] = {false};
    for (unsigned n = 0; n < t->n_parts && n < 5; n++) {
        unsigned most = TIME_PARTS;
        for (unsigned i = 0; i < t->n_parts; i++)
            if (!told[i] &&
                (most == TIME_PARTS || t->parts[i].seconds > t->parts[most].seconds))
                most = i;
        told[most] = true;
        if (t->parts[most].seconds < 0.005 * t->step_s)
            break;
        text_printf(&text, "%s%s %.0f %%", n ? ", " : "", t->parts[most].name,
                    100 * t->parts[most].seconds / t->step_s);
    }
    screen_item(screen, "", text_string(&text));
}

static void print_waits(struct screen *screen, const struct time_report *t)
{
    struct arena *a = screen->view->arena;
    struct text text = {.arena = a};
    text_printf(&text, "exposed communication %s", screen_seconds(a, t->exposed_comm_s));
    if (t->bubble_s > 0)
        text_printf(&text, ", bubble %s", screen_seconds(a, t->bubble_s));
    if (t->host_sync_s > 0)
        text_printf(&text, ", waits %s", screen_seconds(a, t->host_sync_s));
    text_printf(&text, ", skew %.1f %%", 100 * t->skew_tax);
    if (isfinite(t->cost.days))
        text_printf(&text, "; the run %.3g days", t->cost.days);
    screen_item(screen, "", text_string(&text));
}

static void print_calibration(struct screen *screen, const struct time_report *t)
{
    screen_item(screen, "",
                arena_printf(screen->view->arena, "%s%s%s%s", t->calibration,
                             t->elsewhere ? "; outside its runs" : "",
                             t->outside ? "; outside its range: " : "",
                             t->outside ? t->outside : ""));
}

/* What a run costs: of --why, since it needs figures that few cluster files state. */
static void print_cost(struct screen *screen, const struct time_report *t)
{
    struct text text = {.arena = screen->view->arena};
    text_printf(&text, "%.3g device-hours per million tokens", t->cost.device_hours_per_mtoken);
    if (isfinite(t->cost.joules_per_token))
        text_printf(&text, ", %.3g J a token", t->cost.joules_per_token);
    if (isfinite(t->cost.price_per_mtoken))
        text_printf(&text, ", price %.3g", t->cost.price_per_mtoken);
    if (isfinite(t->cost.device_hours))
        text_printf(&text, "; the run %.4g device-hours", t->cost.device_hours);
    if (isfinite(t->cost.price))
        text_printf(&text, ", price %.4g", t->cost.price);
    screen_item(screen, "", text_string(&text));
}

void screen_time(struct screen *screen)
{
    const struct time_report *t = &screen->view->prediction->time;
    if (!t->present)
        return;
    if (t->serving.present)
        screen_serving(screen, t);
    print_step(screen, t);
    if (screen->brief < BRIEF_TIME && !t->serving.present)
        print_rate(screen, t);
    if (screen->brief < BRIEF_EXPERTS)
        print_parts(screen, t);
    if (screen->brief < BRIEF_SECOND)
        print_waits(screen, t);
    if (screen->brief < BRIEF_DEFAULTS)
        print_calibration(screen, t);
}

/* ---- why ---- */

static void print_lines(const struct predict_view *view, const char *title,
                        const struct time_line *lines, size_t n)
{
    struct page page = {.out = view->out, .term = view->term, .used = true};
    page_heading(&page, title);
    for (size_t i = 0; i < n; i++) {
        double percent = 100 * lines[i].seconds / view->prediction->time.step_s;
        page_item(&page, 2, 12, screen_seconds(view->arena, lines[i].seconds),
                  arena_printf(view->arena, "%5.1f %%  %s", percent, lines[i].name));
    }
}

/* One layer as benchmarks of dispatchers time it. */
static void print_layer(struct screen *screen, const struct time_layer *l)
{
    struct arena *a = screen->view->arena;
    struct text text = {.arena = a};
    char rate[48];
    if (!l->present)
        return;
    unit_print(rate, UNIT_FLOP_PER_S, l->at.useful_flop_per_s);
    text_printf(&text, "one layer's routed part: forward %s",
                screen_seconds(a, l->at.forward_s));
    if (l->at.forward_backward_s > l->at.forward_s)
        text_printf(&text, ", with backward %s", screen_seconds(a, l->at.forward_backward_s));
    text_printf(&text, "; experts' products %s, %s useful",
                screen_seconds(a, l->at.grouped_gemm_s), rate);
    screen_item(screen, "", text_string(&text));
}

/* What each of both alone makes of the tail. */
static void print_tails(struct screen *screen, const struct time_report *t)
{
    struct arena *a = screen->view->arena;
    const struct time_layer *l = &t->layer;
    struct text text = {.arena = a};
    if (!t->jitter)
        return;
    text_printf(&text, "p99 %s: %s by routing alone, %s by the links' jitter alone",
                screen_seconds(a, t->step_p99_s), screen_seconds(a, t->step_p99_routing_s),
                screen_seconds(a, t->step_p99_link_s));
    if (l->present)
        text_printf(&text, "; forward of a layer %s: %s, %s",
                    screen_seconds(a, l->forward_p99_s),
                    screen_seconds(a, l->forward_p99_routing_s),
                    screen_seconds(a, l->forward_p99_link_s));
    screen_item(screen, "", text_string(&text));
}

void predict_print_why(const struct predict_view *view)
{
    const struct time_report *t = &view->prediction->time;
    struct screen screen = {.view = view,
                            .memory = &view->prediction->memory,
                            .page = {.out = view->out, .term = view->term}};
    screen_time(&screen);
    print_cost(&screen, t);
    print_layer(&screen, &t->layer);
    print_tails(&screen, t);
    print_lines(view, "what the step is made of", t->parts, t->n_parts);
    print_lines(view, "the longest ops on its way", t->path, t->n_path);
    print_lines(view, "the step, if there were", t->whatifs, t->n_whatifs);
    const struct table table = {.columns = constant_columns,
                                .n = COUNT_OF(constant_columns),
                                .records = t->constants,
                                .n_records = t->n_constants,
                                .record_size = sizeof *t->constants,
                                .indent = 2};
    struct page page = {.out = view->out, .term = view->term, .used = true};
    page_heading(&page, "what a tenth more of a constant does");
    column_table(view->out, view->term, &table, view->arena);
    fputs("\n", view->out);
    provenance_text(view->out, view->term, &view->provenance);
}

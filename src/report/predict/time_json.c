/* "time" of the JSON contract: its columns, its objects and their schema. */
#include "report/predict/print.h"
#include "report/predict/spans.h"
#include "report/schema_json.h"

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
    COLUMN(time_report, micro_batches, COLUMN_COUNT, NULL),
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
    COLUMN(time_report, requests_per_s, COLUMN_REAL, NULL),
    COLUMN(time_report, calibrated, COLUMN_BOOL, NULL),
    COLUMN(time_report, elsewhere, COLUMN_BOOL, NULL),
    COLUMN(time_report, unlike, COLUMN_TEXT, NULL),
    COLUMN(time_report, outside, COLUMN_TEXT, NULL),
    COLUMN(time_report, samples, COLUMN_COUNT, NULL),
};

static const struct column apart_columns[] = {
    COLUMN(serve_apart, validated, COLUMN_BOOL, NULL),
    COLUMN(serve_apart, prefill_per_s, COLUMN_REAL, NULL),
    COLUMN(serve_apart, decode_per_s, COLUMN_REAL, NULL),
    COLUMN(serve_apart, link_per_s, COLUMN_REAL, NULL),
    COLUMN(serve_apart, receive_per_s, COLUMN_REAL, NULL),
    COLUMN(serve_apart, prefill_per_decode, COLUMN_REAL, NULL),
    COLUMN(serve_apart, prefill, COLUMN_COUNT, NULL),
    COLUMN(serve_apart, decode, COLUMN_COUNT, NULL),
    COLUMN(serve_apart, prefill_devices, COLUMN_COUNT, NULL),
    COLUMN(serve_apart, decode_devices, COLUMN_COUNT, NULL),
    COLUMN(serve_apart, prefill_busy, COLUMN_REAL, NULL),
    COLUMN(serve_apart, decode_busy, COLUMN_REAL, NULL),
    COLUMN(serve_apart, fewest_prefill, COLUMN_COUNT, NULL),
    COLUMN(serve_apart, fewest_decode, COLUMN_COUNT, NULL),
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
    COLUMN(serve_times, latency_mean_s, COLUMN_SECONDS, NULL),
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

const struct column *constant_table(size_t *n)
{
    *n = COUNT_OF(constant_columns);
    return constant_columns;
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

void predict_json_time(struct json *json, const struct predict_view *view)
{
    const struct time_report *t = &view->prediction->time;
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
    if (view->spans)
        spans_json(json, view->spans, view->arena);
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
    spans_schema(json);
    json_close(json);
    json_close(json);
}

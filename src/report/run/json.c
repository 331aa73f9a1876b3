/* A run as the JSON of the contract, and its ops as CSV. */
#include <inttypes.h>

#include "report/run/print.h"
#include "report/schema_json.h"

static void write_section(struct json *json, const struct run_view *view,
                          const struct run_section *section)
{
    json_object(json, section->key);
    column_json(json, section->columns, section->n_columns,
                (const char *)view->report + section->offset);
}

static void write_memory(struct json *json, const struct run_view *view)
{
    size_t n;
    const struct run_memory *memory = &view->report->memory;
    write_section(json, view, &run_section_memory);
    const struct column *columns = run_category_columns(&n);
    column_json_array(json, "categories", columns, n, memory->categories, memory->n_categories,
                      sizeof *memory->categories);
    columns = run_place_columns(&n);
    if (memory->n_places)
        column_json_array(json, "devices", columns, n, memory->places, memory->n_places,
                          sizeof *memory->places);
    json_close(json);
}

static void write_checks(struct json *json, const struct run_view *view)
{
    size_t n;
    const struct column *columns = run_check_columns(&n);
    const struct checks *checks = &view->report->checks;
    column_json_array(json, "checks", columns, n, checks->check, checks->n,
                      sizeof *checks->check);
}

static void write_ops(struct json *json, const struct run_view *view)
{
    size_t n;
    const struct column *columns = run_op_columns(&n);
    column_json_array(json, "ops", columns, n, view->report->ops, view->report->n_ops,
                      sizeof *view->report->ops);
}

/* What was not performed instead: buffers, and what would fit. */
static void write_plan(struct json *json, const struct run_view *view)
{
    size_t n, n_buffers;
    const struct run_report *report = view->report;
    const struct column *columns = run_fix_columns(&n);
    if (report->n_fixes)
        column_json_array(json, "fixes", columns, n, report->fixes, report->n_fixes,
                          sizeof *report->fixes);
    if (report->verdict != RUN_DRY && report->verdict != RUN_OOM)
        return;
    struct run_buffer *buffers = run_buffers(report, view->arena, &n_buffers);
    columns = run_buffer_columns(&n);
    column_json_array(json, "buffers", columns, n, buffers, n_buffers, sizeof *buffers);
}

static void write_hash(struct json *json, const struct checks *checks)
{
    char hash[24];
    if (!checks->tokens)
        return;
    snprintf(hash, sizeof hash, "%016" PRIx64, checks->out_hash);
    json_string(json, "output_hash", hash);
    snprintf(hash, sizeof hash, "%016" PRIx64, checks->integer_hash);
    json_string(json, "integer_hash", hash);
    json_count(json, "tokens_checked", checks->tokens_checked);
    json_count(json, "tokens", checks->tokens);
    if (checks->gradient_stride > 1)
        json_count(json, "gradient_stride", checks->gradient_stride);
}

void run_print_json(const struct run_view *view)
{
    const struct run_report *report = view->report;
    static const struct run_section *const more[] = {
        &run_section_rows, &run_section_loads, &run_section_setup}; /* rows: of routed tokens */
    struct json json;
    json_init(&json, view->out);
    json_object(&json, NULL);
    provenance_json(&json, &view->provenance);
    write_section(&json, view, &run_section_machine);
    json_close(&json);
    json_string(&json, "backend", report->backend);
    if (report->device)
        json_string(&json, "device", report->device);
    if (report->clocks)
        json_string(&json, "clocks", report->clocks);
    if (report->links)
        json_string(&json, "links", report->links);
    json_string(&json, "transport", report->transport);
    if (report->alone) {
        json_count(&json, "rank", report->rank);
        json_count(&json, "ranks", report->ranks);
        json_string(&json, "peers",
                    report->staged ? "absent: rows made up, exchanges are not timed"
                                   : "absent: rows made up, exchanges are copies in memory");
    }
    if (report->blas)
        json_string(&json, "blas", report->blas);
    write_memory(&json, view);
    write_ops(&json, view);
    write_checks(&json, view);
    write_section(&json, view, &run_section_time);
    json_close(&json);
    json_string(&json, "verdict", run_verdict_name(report->verdict));
    for (size_t i = report->routed ? 0 : 1; i < sizeof more / sizeof *more; i++) {
        if (more[i] == &run_section_loads && !report->loads.weight_loads)
            continue;
        write_section(&json, view, more[i]);
        json_close(&json);
    }
    write_hash(&json, &report->checks);
    if (view->step)
        json_string(&json, "step", view->step);
    if (view->shrunk)
        json_string(&json, "shrunk", view->shrunk);
    if (view->share)
        json_string(&json, "share", view->share);
    write_plan(&json, view);
    json_close(&json);
}

void run_print_csv(const struct run_view *view)
{
    size_t n;
    const struct column *columns = run_op_columns(&n);
    column_csv_header(view->out, columns, n);
    for (size_t i = 0; i < view->report->n_ops; i++)
        column_csv_row(view->out, columns, n, &view->report->ops[i]);
}

/* ---- its schema ---- */

#define SECTION(name)                                                                          \
    static const struct column *name##_of(size_t *n)                                           \
    {                                                                                          \
        *n = run_section_##name.n_columns;                                                     \
        return run_section_##name.columns;                                                     \
    }

SECTION(machine)
SECTION(memory)
SECTION(time)
SECTION(rows)
SECTION(loads)
SECTION(setup)

static const struct schema_part memory_parts[] = {
    SCHEMA_COLUMNS(memory_of),
    SCHEMA_TABLE("categories", true, SCHEMA_RECORDS, run_category_columns),
    SCHEMA_TABLE("devices", false, SCHEMA_RECORDS, run_place_columns), SCHEMA_END};

void run_print_schema(FILE *out)
{
    static const struct schema_part parts[] = {
        SCHEMA_PROVENANCE,
        SCHEMA_TABLE("machine", true, SCHEMA_RECORD, machine_of),
        SCHEMA_TEXT("backend", true),
        SCHEMA_TEXT("device", false),
        SCHEMA_TEXT("clocks", false),
        SCHEMA_TEXT("links", false),
        SCHEMA_TEXT("transport", true),
        SCHEMA_COUNT("rank", false),
        SCHEMA_COUNT("ranks", false),
        SCHEMA_TEXT("peers", false),
        SCHEMA_TEXT("blas", false),
        SCHEMA_PARTS("memory", true, SCHEMA_OBJECT, memory_parts),
        SCHEMA_TABLE("ops", true, SCHEMA_RECORDS, run_op_columns),
        SCHEMA_TABLE("checks", true, SCHEMA_RECORDS, run_check_columns),
        SCHEMA_TABLE("time", true, SCHEMA_RECORD, time_of),
        SCHEMA_TEXT("verdict", true),
        SCHEMA_TABLE("rows", false, SCHEMA_RECORD, rows_of),
        SCHEMA_TABLE("loads", false, SCHEMA_RECORD, loads_of),
        SCHEMA_TABLE("setup", true, SCHEMA_RECORD, setup_of),
        SCHEMA_TEXT("output_hash", false),
        SCHEMA_TEXT("integer_hash", false),
        SCHEMA_COUNT("tokens_checked", false),
        SCHEMA_COUNT("tokens", false),
        SCHEMA_COUNT("gradient_stride", false),
        SCHEMA_TEXT("step", false),
        SCHEMA_TEXT("shrunk", false),
        SCHEMA_TEXT("share", false),
        SCHEMA_TABLE("fixes", false, SCHEMA_RECORDS, run_fix_columns),
        SCHEMA_TABLE("buffers", false, SCHEMA_RECORDS, run_buffer_columns),
        SCHEMA_END};
    schema_json_document(out, "run.schema.json", "what moeplan run --format json writes",
                         parts);
}

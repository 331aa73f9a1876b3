/* See validate_trace.h. */
#include "cli/command/validate_trace.h"

#include <inttypes.h>

#include "base/column.h"
#include "base/file.h"
#include "base/home.h"
#include "base/unit.h"
#include "calib/validate/torch_trace.h"
#include "cli/command/trace.h"
#include "cli/frontier/table.h"
#include "cli/option/plan_argument.h"
#include "lib/request.h"
#include "report/provenance.h"

#define FAMILY(member, kind, heading)                                                          \
    {                                                                                          \
        .key = #member, .type = kind, .offset = offsetof(struct torch_family, member),         \
        .title = heading                                                                       \
    }

static const struct column family_columns[] = {
    FAMILY(name, COLUMN_TEXT, "family"),
    FAMILY(kernels, COLUMN_COUNT, NULL),
    FAMILY(measured_s, COLUMN_REAL, "measured s"),
    FAMILY(predicted_s, COLUMN_REAL, "predicted s"),
    FAMILY(error_percent, COLUMN_REAL, "error %"),
};

static const struct column *family_table(size_t *n)
{
    *n = COUNT_OF(family_columns);
    return family_columns;
}

const struct schema_part validate_trace_parts[] = {
    SCHEMA_PROVENANCE,
    SCHEMA_COUNT("steps", true),
    SCHEMA_REAL("step_s", true),
    SCHEMA_REAL("predicted_step_s", true),
    SCHEMA_REAL("kernels_s", true),
    SCHEMA_REAL("not_placed_s", true),
    SCHEMA_TABLE("families", true, SCHEMA_RECORDS, family_table),
    SCHEMA_END};

static enum status read_patterns(struct arena *arena, struct csv *csv, struct err *err)
{
    const char *path = home_file("models/kernel_names.csv", arena);
    if (!path)
        return err_set(err, STATUS_INPUT, "models/kernel_names.csv is not found");
    TRY(csv_read(path, arena, csv, err));
    if (csv_column(csv, "pattern") != SIZE_MAX && csv_column(csv, "family") != SIZE_MAX)
        return STATUS_OK;
    return err_at(err, (struct mark){path, 1, 1},
                  "the table needs the columns pattern and family");
}

static void print_text(const struct invocation *call, const struct torch_trace *t,
                       const struct table *table)
{
    char step[48], predicted[48], kernels[48], lost[48];
    unit_print(step, UNIT_SECONDS, t->step_s);
    unit_print(predicted, UNIT_SECONDS, t->predicted_s);
    unit_print(kernels, UNIT_SECONDS, t->kernels_s);
    unit_print(lost, UNIT_SECONDS, t->not_placed_s);
    fprintf(call->out, "a step: %s measured, %s predicted (%+.1f %%)\n", step, predicted,
            100 * (t->predicted_s / t->step_s - 1));
    fprintf(call->out,
            "kernels: %s a step on all streams, %s of it not placed; steps %" PRIu64 "\n\n",
            kernels, lost, t->steps);
    column_table(call->out, &call->term, table, call->arena);
    if (t->n_longest)
        fputs("\nnot placed, the longest first (models/kernel_names.csv says what is what)\n",
              call->out);
    for (size_t i = 0; i < t->n_longest; i++) {
        struct text name = {.arena = call->arena};
        text_append_visible(&name, t->longest[i]);
        fprintf(call->out, "  %.100s\n", text_string(&name));
    }
}

static void print_json(const struct invocation *call, const struct plan *plan,
                       const struct torch_trace *t, const struct table *table)
{
    struct json json;
    const struct provenance provenance = request_provenance(plan, NULL);
    json_init(&json, call->out);
    json_object(&json, NULL);
    provenance_json(&json, &provenance);
    json_count(&json, "steps", t->steps);
    json_real(&json, "step_s", t->step_s);
    json_real(&json, "predicted_step_s", t->predicted_s);
    json_real(&json, "kernels_s", t->kernels_s);
    json_real(&json, "not_placed_s", t->not_placed_s);
    column_json_array(&json, "families", table->columns, table->n, table->records,
                      table->n_records, table->record_size);
    json_close(&json);
}

static enum status compare(const struct invocation *call, const struct plan *plan,
                           struct torch_trace *trace, struct err *err)
{
    struct plan_spans *spans = arena_alloc(call->arena, 1, sizeof *spans);
    struct routing_data routing = {0};
    struct profile profile;
    TRY(routing_data_load(plan, call->arena, &routing, err));
    TRY(profile_load(plan, call->arena, &profile, err));
    const struct plan_spans_ask ask = {&routing, &profile, SIZE_MAX, SEGMENT_COUNT};
    enum status status = plan_spans_of(plan, &ask, call->arena, spans, err);
    if (status == STATUS_OK)
        torch_trace_compare(trace, spans);
    plan_spans_release(spans);
    return status;
}

enum status validate_trace(const struct invocation *call, const char *file, uint64_t steps,
                           struct err *err)
{
    struct plan *plan = arena_alloc(call->arena, 1, sizeof *plan);
    struct torch_trace *trace = arena_alloc(call->arena, 1, sizeof *trace);
    struct origins origins;
    struct csv patterns;
    char *text;
    size_t length;
    if (call->n_operands != 1) {
        err_set(err, STATUS_USAGE, "option '--trace' needs the plan that was traced");
        return err_hint(err, "moeplan validate plan.yaml --trace trace.json");
    }
    TRY(trace_not_output(call, file, err));
    TRY(plan_argument_load(call, 0, plan, &origins, err));
    TRY(read_patterns(call->arena, &patterns, err));
    TRY(file_read(file, TORCH_TRACE_BYTES, call->arena, &text, &length, err));
    TRY(torch_trace_read(file, text, length, &patterns, steps, call->arena, trace, err));
    TRY(compare(call, plan, trace, err));
    const struct table table = TABLE_OF(family_columns, trace->families, trace->n_families);
    if (call->general.format == FORMAT_JSON)
        print_json(call, plan, trace, &table);
    else if (call->general.format == FORMAT_CSV)
        column_table_csv(call->out, &table);
    else
        print_text(call, trace, &table);
    return STATUS_OK;
}

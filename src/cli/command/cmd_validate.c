/* moeplan validate: predictions beside measurements. */
#include <math.h>

#include "base/column.h"
#include "calib/validate/validate.h"
#include "cli/chart/scatter.h"
#include "cli/command/commands.h"
#include "cli/command/schemas.h"
#include "report/schema_json.h"
#include "cli/command/side.h"
#include "cli/command/validate_trace.h"
#include "cli/frontier/table.h"
#include "cli/option/plan_argument.h"
#include "plan/read/catalog.h"
#include "report/provenance.h"

struct settings {
    bool rows;
    const char *plot, *trace;
    uint64_t steps;
};

static const struct option options[] = {
    {"rows", 0, OPTION_FLAG, offsetof(struct settings, rows), NULL, NULL,
     "as text: show every row, not the summary alone"},
    {"plot", 0, OPTION_TEXT, offsetof(struct settings, plot), "FILE", NULL,
     "draw predicted against measured: .png, .svg, .pdf, .txt, or - for the terminal"},
    {"trace", 0, OPTION_TEXT, offsetof(struct settings, trace), "FILE.json", NULL,
     "the operand is a plan: its step beside a trace of torch.profiler, kernels by family"},
    {"steps", 0, OPTION_COUNT, offsetof(struct settings, steps), "N 1..1000000", NULL,
     "with --trace: steps in it; default: its ProfilerStep marks, or 1"},
};

/* ---- columns ---- */

static const char *word_of(const void *record)
{
    return validate_verdict_name(((const struct validated *)record)->verdict);
}

static bool has_error(const void *record)
{
    return ((const struct validated *)record)->has_error;
}

static bool has_bounds(const void *record)
{
    return ((const struct validated *)record)->low > 0;
}

#define ROW(member, kind, heading)                                                             \
    {                                                                                          \
        .key = #member, .type = kind, .offset = offsetof(struct validated, member),            \
        .title = heading                                                                       \
    }

static const struct column row_columns[] = {
    ROW(table, COLUMN_TEXT, NULL),
    ROW(row, COLUMN_TEXT, NULL),
    ROW(quantity, COLUMN_TEXT, NULL),
    ROW(published, COLUMN_CELL, NULL),
    ROW(predicted, COLUMN_CELL, NULL),
    {.key = "error_percent",
     .type = COLUMN_REAL,
     .offset = offsetof(struct validated, error_percent),
     .present = has_error,
     .title = "error %"},
    {.key = "verdict", .type = COLUMN_NAME, .name = word_of},
    {.key = "low",
     .type = COLUMN_REAL,
     .offset = offsetof(struct validated, low),
     .present = has_bounds,
     .title = "agrees from"},
    {.key = "high",
     .type = COLUMN_REAL,
     .offset = offsetof(struct validated, high),
     .present = has_bounds,
     .title = "to"},
};

static bool has_numbers(const void *record)
{
    return ((const struct validated_summary *)record)->score.n > 0;
}

static bool has_constants(const void *record)
{
    return ((const struct validated_summary *)record)->constants > 0;
}

#define SUMMARY(name, member, kind, heading, when)                                             \
    {                                                                                          \
        .key = name, .type = kind, .offset = offsetof(struct validated_summary, member),       \
        .title = heading, .present = when                                                      \
    }

static const struct column summary_columns[] = {
    SUMMARY("table", table, COLUMN_TEXT, NULL, NULL),
    SUMMARY("family", family, COLUMN_TEXT, NULL, NULL),
    SUMMARY("values", values, COLUMN_COUNT, NULL, NULL),
    SUMMARY("agree", agree, COLUMN_COUNT, NULL, NULL),
    SUMMARY("not_predicted", not_predicted, COLUMN_COUNT, "none", NULL),
    SUMMARY("mean_percent", score.mean, COLUMN_REAL, "mean %", has_numbers),
    SUMMARY("median_percent", score.median, COLUMN_REAL, "median %", has_numbers),
    SUMMARY("p90_percent", score.p90, COLUMN_REAL, "p90 %", has_numbers),
    SUMMARY("max_percent", score.max, COLUMN_REAL, "max %", has_numbers),
    SUMMARY("bias_percent", score.bias, COLUMN_REAL, "bias %", has_numbers),
    SUMMARY("rank_correlation", score.rank, COLUMN_REAL, "rank", has_numbers),
    SUMMARY("width_percent", width_percent, COLUMN_REAL, "width %", has_numbers),
    SUMMARY("constants", constants, COLUMN_COUNT, NULL, has_constants),
    SUMMARY("control", control_name, COLUMN_TEXT, NULL, NULL),
    SUMMARY("control_mean_percent", control_mean, COLUMN_REAL, "its mean %", NULL),
    SUMMARY("control_median_percent", control_median, COLUMN_REAL, "its median %", NULL),
};

#define TOLD(name, member, kind, heading)                                                      \
    {                                                                                          \
        .key = name, .type = kind, .offset = offsetof(struct validated_verdicts, member),      \
        .title = heading                                                                       \
    }

static const struct column verdict_columns[] = {
    TOLD("table", table, COLUMN_TEXT, NULL),
    TOLD("stack", stack, COLUMN_TEXT, NULL),
    TOLD("runs", runs, COLUMN_COUNT, NULL),
    TOLD("refused", refused, COLUMN_COUNT, NULL),
    TOLD("fits_as_fits", confusion.fits_as_fits, COLUMN_COUNT, "fits: fits"),
    TOLD("fits_as_marginal", confusion.fits_as_marginal, COLUMN_COUNT, "marginal"),
    TOLD("fits_as_oom", confusion.fits_as_oom, COLUMN_COUNT, "oom"),
    TOLD("oom_as_fits", confusion.oom_as_fits, COLUMN_COUNT, "oom: fits"),
    TOLD("oom_as_marginal", confusion.oom_as_marginal, COLUMN_COUNT, "marginal"),
    TOLD("oom_as_oom", confusion.oom_as_oom, COLUMN_COUNT, "oom"),
    TOLD("expressible", expressible, COLUMN_REAL, "expressible"),
    TOLD("fits_told", fits_told, COLUMN_REAL, "fits told"),
    TOLD("oom_told", oom_told, COLUMN_REAL, "oom told"),
    TOLD("marginal", marginal, COLUMN_REAL, "marginal"),
    TOLD("accuracy", accuracy, COLUMN_REAL, "right"),
    TOLD("accuracy_of_fits", accuracy_of_fits, COLUMN_REAL, "always fits"),
    TOLD("balanced_accuracy", balanced_accuracy, COLUMN_REAL, "balanced accuracy"),
};

#define COLUMNS(name)                                                                          \
    static const struct column *name##_table(size_t *n)                                        \
    {                                                                                          \
        *n = sizeof name##_columns / sizeof *name##_columns;                                   \
        return name##_columns;                                                                 \
    }

COLUMNS(row)
COLUMNS(summary)
COLUMNS(verdict)

void validate_print_schema(FILE *out)
{
    static const struct schema_part parts[] = {
        SCHEMA_PROVENANCE, SCHEMA_TABLE("summaries", true, SCHEMA_RECORDS, summary_table),
        SCHEMA_TABLE("verdicts", true, SCHEMA_RECORDS, verdict_table),
        SCHEMA_TABLE("rows", true, SCHEMA_RECORDS, row_table), SCHEMA_END};
    schema_json_forms(out, "validate.schema.json",
                      "what moeplan validate --format json writes, of tables or with --trace",
                      &(struct schema_forms){{parts, validate_trace_parts}, 2, false});
}

/* ---- output ---- */

static void print_text(const struct invocation *call, const struct validation *v)
{
    const struct settings *settings = call->settings;
    const struct table rows = TABLE_OF(row_columns, v->rows, v->n),
                       summaries = TABLE_OF(summary_columns, v->summaries, v->n_summaries),
                       told = TABLE_OF(verdict_columns, v->verdicts, v->n_verdicts);
    if (settings->rows) {
        column_table(call->out, &call->term, &rows, call->arena);
        fputc('\n', call->out);
    }
    column_table(call->out, &call->term, &summaries, call->arena);
    if (v->n_verdicts) {
        fprintf(call->out, "\nverdicts: what was published, and what is predicted for it\n\n");
        column_table(call->out, &call->term, &told, call->arena);
    }
    fputc('\n', call->out);
    provenance_text(call->out, &call->term,
                    &(struct provenance){.seed = published_seed(v->sets)});
}

static void write_summaries(struct json *json, const struct validation *v)
{
    const struct table summaries = TABLE_OF(summary_columns, v->summaries, v->n_summaries),
                       told = TABLE_OF(verdict_columns, v->verdicts, v->n_verdicts);
    provenance_json(json, &(struct provenance){.seed = published_seed(v->sets)});
    column_json_array(json, "summaries", summaries.columns, summaries.n, summaries.records,
                      summaries.n_records, summaries.record_size);
    column_json_array(json, "verdicts", told.columns, told.n, told.records, told.n_records,
                      told.record_size);
}

static void print_json(const struct invocation *call, const struct validation *v)
{
    struct json json;
    const struct table rows = TABLE_OF(row_columns, v->rows, v->n);
    json_init(&json, call->out);
    json_object(&json, NULL);
    write_summaries(&json, v);
    column_json_array(&json, "rows", rows.columns, rows.n, rows.records, rows.n_records,
                      rows.record_size);
    json_close(&json);
}

/* Runs whose plan is refused, with the reason. */
static void warn_refused(const struct validation *v)
{
    for (size_t i = 0; i < v->n; i++)
        if (v->rows[i].why && (i == 0 || v->rows[i].why != v->rows[i - 1].why))
            fprintf(stderr, "moeplan: %s: no plan: %s\n", v->rows[i].row, v->rows[i].why);
}

static void write_provenance(struct json *json, const void *context)
{
    write_summaries(json, context);
    json_string(json, "command", "validate");
}

/* ---- the command ---- */

static enum status add_table(const struct invocation *call, const char *name,
                             struct validation *v, struct err *err)
{
    struct csv csv;
    char *path;
    TRY(catalog_find(CATALOG_PUBLISHED, name, NULL, call->arena, &path, err));
    TRY(csv_read(path, call->arena, &csv, err));
    return validate_table(&csv, call->arena, v, err);
}

static enum status draw(const struct invocation *call, const struct validation *v,
                        struct picture *picture, struct err *err)
{
    TRY(chart_scatter(v, picture, err));
    TRY(picture_plain(picture, "rows", err));
    return picture_draw(picture, false, call, err);
}

static enum status run_validate(const struct invocation *call, struct err *err)
{
    const struct settings *settings = call->settings;
    struct published_sets sets;
    struct validation v = {.sets = &sets};
    struct picture picture;
    if (settings->steps && !settings->trace)
        return err_set(err, STATUS_USAGE, "option '--steps' counts those of a '--trace'");
    if (settings->plot && settings->trace)
        return err_set(err, STATUS_USAGE, "options '--plot' and '--trace' exclude each other");
    if (settings->trace)
        return validate_trace(call, settings->trace, settings->steps, err);
    TRY(plan_argument_sets(call, &sets, err));
    if (settings->plot)
        TRY(picture_init(&picture, settings->plot, call, err));
    for (size_t i = 0; !call->n_operands && validate_tables[i]; i++)
        TRY(add_table(call, validate_tables[i], &v, err));
    for (size_t i = 0; i < call->n_operands; i++)
        TRY(add_table(call, call->operands[i], &v, err));
    const struct table rows = TABLE_OF(row_columns, v.rows, v.n);
    warn_refused(&v);
    TRY(side_provenance(call, false, write_provenance, &v, err));
    if (settings->plot)
        TRY(draw(call, &v, &picture, err));
    if (call->general.format == FORMAT_JSON)
        print_json(call, &v);
    else if (call->general.format == FORMAT_CSV)
        column_table_csv(call->out, &rows);
    else
        print_text(call, &v);
    return STATUS_OK;
}

static const char *const examples[] = {
    "moeplan validate",
    "moeplan validate collectives deepgemm_kernels",
    "moeplan validate collectives --plot scatter.png",
    "moeplan validate mine.csv --rows",
    "moeplan validate plan.yaml --trace trace.json",
    "moeplan validate -o rows.csv",
    NULL,
};

const struct command command_validate = {
    .name = "validate",
    .operands = "[table.csv...|plan.yaml]",
    .summary = "predictions beside measurements, published or yours",
    .description =
        "Puts predictions beside what was measured: kernels and collectives by the constants "
        "of the profile that each row names, runs by their plans. Without operands all "
        "tables that are shipped; a table is a name of models/published or a file with the "
        "same columns (models/README.md). Nothing is fitted: see moeplan calibrate.\n"
        "\n"
        "Text is a summary for each family of values: how many agree (words that are equal, "
        "numbers within the error that their profile or stack states), the error's mean "
        "(MAPE), median, 90th percentile, largest and bias, Spearman's rank correlation, the "
        "median of half the width of what agrees, the constants that were fitted, and a "
        "control without any. Verdicts stand by stack: runs "
        "that no plan can say (stderr has the reasons), the share of those that fit or ran out "
        "that were told, marginal as told neither, beside always saying fits. CSV has a line "
        "for each "
        "value; with -o FILE.csv the summaries stand in FILE.json.",
    .examples = examples,
    .min_operands = 0,
    .max_operands = 64,
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .settings_size = sizeof(struct settings),
    .run = run_validate,
};

/* moeplan calibrate: the constants of a profile, fitted to a table of measurements. */
#include <math.h>
#include <string.h>

#include "base/column.h"
#include "base/output.h"
#include "calib/fit/calibrate.h"
#include "calib/fit/calibrate_memory.h"
#include "calib/fit/calibrate_runs.h"
#include "calib/fit/runs_table.h"
#include "cli/command/commands.h"
#include "cli/command/side.h"
#include "cli/option/plan_argument.h"
#include "plan/read/catalog.h"
#include "report/calibrate/memory.h"
#include "report/calibrate/runs.h"
#include "report/provenance.h"

struct settings {
    const char *stack, *device, *model, *profile, *date;
    bool peaks;
};

static const struct option options[] = {
    {"stack", 0, OPTION_TEXT, offsetof(struct settings, stack), "STACK", NULL,
     "only rows of this stack's profiles, or of the profile of this name"},
    {"device", 0, OPTION_TEXT, offsetof(struct settings, device), "DEVICE", NULL,
     "only rows that were measured on this device"},
    {"model", 0, OPTION_TEXT, offsetof(struct settings, model), "MODEL", NULL,
     "of a table of runs only those of this model"},
    {"profile", 0, OPTION_TEXT, offsetof(struct settings, profile), "FILE.yaml", NULL,
     "write the fitted constants as a profile"},
    {"date", 0, OPTION_TEXT, offsetof(struct settings, date), "DATE", NULL,
     "the fit's date in the profile, YYYY-MM-DD (default: today)"},
    {"peaks", 0, OPTION_FLAG, offsetof(struct settings, peaks), NULL, NULL,
     "of a table of runs with times take the measured peaks"},
};

/* ---- columns ---- */

static const struct column constant_columns[] = {
    COLUMN(calibrated_constant, family, COLUMN_TEXT, NULL),
    COLUMN(calibrated_constant, name, COLUMN_TEXT, "constant"),
    COLUMN(calibrated_constant, value, COLUMN_REAL, NULL),
    COLUMN(calibrated_constant, low, COLUMN_REAL, NULL),
    COLUMN(calibrated_constant, high, COLUMN_REAL, NULL),
    COLUMN(calibrated_constant, note, COLUMN_TEXT, ""),
};

static const struct column pair_columns[] = {
    COLUMN(calibrated_pair, family, COLUMN_TEXT, NULL),
    COLUMN(calibrated_pair, one, COLUMN_TEXT, NULL),
    COLUMN(calibrated_pair, other, COLUMN_TEXT, NULL),
    COLUMN(calibrated_pair, correlation, COLUMN_REAL, NULL),
};

#define SCORE(name, member, kind, heading)                                                     \
    {                                                                                          \
        .key = name, .type = kind, .offset = offsetof(struct calibrated_score, score.member),  \
        .title = heading                                                                       \
    }

static bool has_held(const void *record)
{
    return !isnan(((const struct calibrated_score *)record)->held_percent);
}

static bool has_width(const void *record)
{
    return !isnan(((const struct calibrated_score *)record)->width_percent);
}

static const struct column score_columns[] = {
    COLUMN(calibrated_score, family, COLUMN_TEXT, NULL),
    COLUMN(calibrated_score, left_out, COLUMN_TEXT, "left out"),
    SCORE("values", n, COLUMN_COUNT, NULL),
    SCORE("median_percent", median, COLUMN_REAL, "median %"),
    SCORE("p90_percent", p90, COLUMN_REAL, "p90 %"),
    SCORE("mean_percent", mean, COLUMN_REAL, "mean %"),
    SCORE("max_percent", max, COLUMN_REAL, "max %"),
    SCORE("bias_percent", bias, COLUMN_REAL, "bias %"),
    SCORE("rank_correlation", rank, COLUMN_REAL, "rank"),
    {.key = "held_percent",
     .type = COLUMN_REAL,
     .offset = offsetof(struct calibrated_score, held_percent),
     .present = has_held,
     .title = "held %"},
    {.key = "width_percent",
     .type = COLUMN_REAL,
     .offset = offsetof(struct calibrated_score, width_percent),
     .present = has_width,
     .title = "half width %"},
};

/* ---- output ---- */

static void print_text(const struct invocation *call, const struct calibration *c)
{
    const struct table constants = TABLE_OF(constant_columns, c->constants, c->n_constants),
                       scores = TABLE_OF(score_columns, c->scores, c->n_scores),
                       pairs = TABLE_OF(pair_columns, c->pairs, c->n_pairs);
    fprintf(call->out, "constants, in seconds and shares; interval nominal 90 %%\n\n");
    column_table(call->out, &call->term, &constants, call->arena);
    fprintf(call->out, "\nerror on what was left out of the fit\n\n");
    column_table(call->out, &call->term, &scores, call->arena);
    if (c->n_pairs) {
        fprintf(call->out, "\nconstants that these values cannot tell apart\n\n");
        column_table(call->out, &call->term, &pairs, call->arena);
    }
    fputc('\n', call->out);
    provenance_text(call->out, &call->term, &(struct provenance){.seed = 1});
}

static void print_json(const struct invocation *call, const struct calibration *c)
{
    struct json json;
    const struct table lists[] = {TABLE_OF(constant_columns, c->constants, c->n_constants),
                                  TABLE_OF(score_columns, c->scores, c->n_scores),
                                  TABLE_OF(pair_columns, c->pairs, c->n_pairs)};
    static const char *const keys[] = {"constants", "errors", "alike"};
    json_init(&json, call->out);
    json_object(&json, NULL);
    provenance_json(&json, &(struct provenance){.seed = 1});
    json_string(&json, "table", c->table->name);
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        column_json_array(&json, keys[i], lists[i].columns, lists[i].n, lists[i].records,
                          lists[i].n_records, lists[i].record_size);
    json_close(&json);
}

static void print(const struct invocation *call, const struct calibration *c)
{
    const struct table scores = TABLE_OF(score_columns, c->scores, c->n_scores);
    if (call->general.format == FORMAT_JSON)
        print_json(call, c);
    else if (call->general.format == FORMAT_CSV)
        column_table_csv(call->out, &scores);
    else
        print_text(call, c);
}

/* ---- the profile ---- */

/* The one profile that was fitted; STATUS_USAGE when there are several. */
static enum status only_profile(const struct calibration *c, const char **profile,
                                struct err *err)
{
    *profile = c->families[0].family->profile;
    for (size_t i = 1; i < c->n_families; i++)
        if (!text_equal(c->families[i].family->profile, *profile)) {
            err_set(err, STATUS_USAGE, "the table has rows of profiles '%s' and '%s'", *profile,
                    c->families[i].family->profile);
            return err_hint(err, "choose one with --stack");
        }
    return STATUS_OK;
}

/* That of the shipped profile of this name, so that writing it again keeps it. */
static const char *base_of(const char *name, struct arena *arena)
{
    char *path;
    struct profile shipped;
    struct err err = {0};
    if (catalog_has(CATALOG_PROFILE, name, arena, &path) &&
        profile_read(path, arena, &shipped, &err) == STATUS_OK && shipped.base)
        return shipped.base;
    return "generic";
}

static enum status write_profile(const struct invocation *call, const struct calibration *c,
                                 struct err *err)
{
    const struct settings *settings = call->settings;
    const char *profile, *date = settings->date ? settings->date : text_today(call->arena);
    struct output output;
    if (!settings->profile)
        return STATUS_OK;
    TRY(only_profile(c, &profile, err));
    TRY(side_check_named(call, "--profile", settings->profile, err));
    TRY(output_open(&output, settings->profile, err));
    calibrate_write(output.file, c, profile, base_of(profile, call->arena), date, call->arena);
    return output_close(&output, err);
}

/* ---- whole steps ---- */

static enum status write_runs(const struct invocation *call, const struct run_calibration *c,
                              const char *table, struct err *err)
{
    const struct settings *settings = call->settings;
    struct output output;
    if (!settings->profile)
        return STATUS_OK;
    TRY(side_check_named(call, "--profile", settings->profile, err));
    TRY(output_open(&output, settings->profile, err));
    calibrate_runs_write(output.file, c, table,
                         settings->date ? settings->date : text_today(call->arena));
    return output_close(&output, err);
}

static enum status run_steps(const struct invocation *call, const struct csv *csv,
                             struct err *err)
{
    static void (*const printers[])(const struct runs_view *view) = {
        [FORMAT_TEXT] = runs_print_text,
        [FORMAT_JSON] = runs_print_json,
        [FORMAT_CSV] = runs_print_csv,
    };
    const struct settings *settings = call->settings;
    struct run_calibration calibration;
    struct published_sets sets;
    TRY(plan_argument_sets(call, &sets, err));
    const struct run_choice choice = {settings->stack, settings->device, settings->model, &sets,
                                      RUN_JUDGED};
    TRY(calibrate_runs(csv, &choice, call->arena, &calibration, err));
    const char *table = text_base_name(csv->file);
    TRY(write_runs(call, &calibration, table, err));
    const struct runs_view view = {&calibration, table,       published_seed(&sets),
                                   call->out,    &call->term, call->arena};
    printers[call->general.format](&view);
    return STATUS_OK;
}

/* ---- measured peaks ---- */

static enum status run_peaks(const struct invocation *call, const struct csv *csv,
                             struct err *err)
{
    static void (*const printers[])(const struct peaks_view *view) = {
        [FORMAT_TEXT] = peaks_print_text,
        [FORMAT_JSON] = peaks_print_json,
        [FORMAT_CSV] = peaks_print_csv,
    };
    const struct settings *settings = call->settings;
    struct memory_calibration calibration;
    struct published_sets sets;
    if (settings->profile || settings->device || settings->model)
        return err_set(err, STATUS_USAGE, "peaks have no '--%s': they calibrate a stack",
                       settings->profile  ? "profile"
                       : settings->device ? "device"
                                          : "model");
    TRY(plan_argument_sets(call, &sets, err));
    TRY(calibrate_memory(csv, settings->stack, &sets, call->arena, &calibration, err));
    const struct peaks_view view = {&calibration,          text_base_name(csv->file),
                                    published_seed(&sets), call->out,
                                    &call->term,           call->arena};
    printers[call->general.format](&view);
    return STATUS_OK;
}

/* ---- the command ---- */

/* YYYY-MM-DD, or none. */
static enum status check_date(const char *date, struct err *err)
{
    static const char form[] = "0000-00-00";
    size_t length = date ? strlen(date) : 0;
    bool good = length == sizeof form - 1;
    for (size_t i = 0; good && i < length; i++)
        good = form[i] == '0' ? date[i] >= '0' && date[i] <= '9' : date[i] == form[i];
    if (!date || good)
        return STATUS_OK;
    err_set(err, STATUS_USAGE, "option '--date' takes YYYY-MM-DD, not '%s'", date);
    return err_hint(err, "for example --date 2026-01-31");
}

/* Before the fit, which may take long: that the profile can be written. */
static enum status check_profile(const struct invocation *call, const char *file,
                                 struct err *err)
{
    struct output output;
    if (!file)
        return STATUS_OK;
    if (!file[0])
        return err_set(err, STATUS_USAGE, "option '--profile' needs the name of a file");
    TRY(side_check_named(call, "--profile", file, err));
    if (text_equal(file, "-"))
        return STATUS_OK;
    TRY(output_open(&output, file, err));
    output_abandon(&output);
    return STATUS_OK;
}

static enum status run_calibrate(const struct invocation *call, struct err *err)
{
    const struct settings *settings = call->settings;
    struct calibration calibration;
    struct curve_table table;
    struct csv csv;
    char *path;
    TRY(check_date(settings->date, err));
    TRY(side_refuse_yaml(call, "--profile", err));
    TRY(check_profile(call, settings->profile, err));
    TRY(catalog_find(CATALOG_PUBLISHED, call->operands[0], NULL, call->arena, &path, err));
    TRY(csv_read(path, call->arena, &csv, err));
    if (calibrate_is_runs(&csv) && !settings->peaks)
        return run_steps(call, &csv, err);
    if (calibrate_is_memory(&csv))
        return run_peaks(call, &csv, err);
    if (settings->model)
        return err_set(err, STATUS_USAGE,
                       "'--model' chooses runs; of kernels every model is left out in turn");
    if (call->general.set.n || call->general.seed)
        return published_no_sets(&csv, err);
    if (!curve_is_table(&csv))
        return runs_table_lacks(&csv, err);
    TRY(curve_read(&csv, call->arena, &table, err));
    TRY(calibrate_curves(&table, settings->stack, settings->device, call->arena, &calibration,
                         err));
    TRY(write_profile(call, &calibration, err));
    print(call, &calibration);
    return STATUS_OK;
}

static const char *const examples[] = {
    "moeplan calibrate collectives --stack nccl-hopper",
    "moeplan calibrate megatron_moe_memory_b200",
    "moeplan calibrate megatron_moe_memory_b200 --peaks",
    "moeplan calibrate megatron_train_throughput --model deepseek-v3 --device gb200",
    "moeplan calibrate mine.csv --stack vllm-hopper --profile vllm-mine.yaml",
    NULL,
};

const struct command command_calibrate = {
    .name = "calibrate",
    .operands = "<table.csv>",
    .summary = "constants of a profile, fitted to measurements",
    .description =
        "Fits the few constants with which a profile turns kernels and collectives into "
        "seconds to a table of measurements, robustly (errors above a tenth count less) and "
        "within physical bounds: no share of a peak, of a bandwidth or of a link is above "
        "one. The table is a name of models/published or a file with the same columns "
        "(models/README.md).\n"
        "\n"
        "Says how far predictions are from values that were left out of the fit: half of "
        "them by hash (neighbours in size leak there), configurations, whole models, whole "
        "devices; beside them a roofline at 70 % of every peak. Intervals of constants are "
        "the jackknife's over configurations. The error that a profile gets is what nine of "
        "ten values stayed within whose configuration was left out (of n the 0.9 (n + 1)-th), "
        "'half width'; 'held' is the share of configurations that an interval "
        "so made holds when neither its fit nor its width has seen them. Constants that the "
        "values "
        "cannot tell apart are listed. CSV has the errors alone.\n"
        "\n"
        "A table of runs goes through the predictor. It has the columns "
        "row,plan,set,quantity,published,unit, a run a line: a plan's file beside the table, "
        "keys that the run had otherwise, separated by spaces, and time.step_s (s, ms), "
        "time.tokens_per_s_per_device or time.tokens_per_s (tokens/s). The plans' profile is "
        "what is known before, each constant with its interval, and the runs move those that "
        "they say something about, each alone and all together (another release is slower in "
        "everything), as far as predicts these runs best from each other. Five to ten runs of "
        "your own software are enough to be of use; --set stack.profile=NAME begins at another "
        "profile. Of fewer than ten configurations the error is the root mean square of those "
        "left out and of what the profile said before, which counts as two more, times "
        "Student's t; of one alone it is what was said. A line that says a run again (the same "
        "number of the same layout, a rate beside a time) counts once.\n"
        "\n"
        "A table of runs with measured peaks (memory.allocated_bytes and its like) calibrates "
        "the stack instead: how far off one more run will be, which narrows 'marginal' "
        "(stack.error), and the part of memory that explains the differences.\n"
        "\n"
        "With --profile the constants are written as a profile, beside the file and renamed "
        "when complete. Of a table of runs it says which devices, models, paths, degrees, "
        "micro-batches, sequences and recomputation they had: a plan of others is told that no "
        "run was like it, and has the wider interval of the profile below.",
    .examples = examples,
    .min_operands = 1,
    .max_operands = 1,
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .settings_size = sizeof(struct settings),
    .run = run_calibrate,
};

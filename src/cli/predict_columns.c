/* Column tables of a prediction. A part that joins struct prediction gets a table here and a
 * row among the sections; JSON then prints it. */
#include "cli/predict_print.h"

#include "plan/schema.h"

#define COLUMN(record, member, kind, heading)                                                  \
    {                                                                                          \
        .key = #member, .type = kind, .offset = offsetof(struct record, member),               \
        .title = heading                                                                       \
    }
#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

/* ---- names of enums ---- */

static const char *buffer_category(const void *record)
{
    return category_name(((const struct buffer_report *)record)->category);
}

static const char *buffer_segment(const void *record)
{
    return segment_name(((const struct buffer_report *)record)->segment);
}

static const char *buffer_dtype(const void *record)
{
    return words_dtype[((const struct buffer_report *)record)->dtype];
}

static const char *memory_verdict(const void *record)
{
    return verdict_name(((const struct memory_report *)record)->verdict);
}

static const char *fix_verdict(const void *record)
{
    return verdict_name(((const struct fix *)record)->verdict);
}

#define NAME(title_text, key_text, function)                                                   \
    {                                                                                          \
        .key = key_text, .type = COLUMN_NAME, .name = function, .title = title_text            \
    }

#define DIMENSIONS                                                                             \
    {                                                                                          \
        .key = "shape", .type = COLUMN_COUNTS, .offset = offsetof(struct buffer_report, dims), \
        .length_offset = offsetof(struct buffer_report, n_dims)                                \
    }

/* ---- buffers ---- */

const struct column *buffer_columns(size_t *n)
{
    static const struct column columns[] = {
        COLUMN(buffer_report, name, COLUMN_TEXT, NULL),
        NAME(NULL, "category", buffer_category),
        NAME(NULL, "segment", buffer_segment),
        DIMENSIONS,
        NAME(NULL, "dtype", buffer_dtype),
        COLUMN(buffer_report, bytes, COLUMN_BYTES, NULL),
        COLUMN(buffer_report, expected_bytes, COLUMN_BYTES, NULL),
        COLUMN(buffer_report, worst_bytes, COLUMN_BYTES, NULL),
        COLUMN(buffer_report, rule, COLUMN_TEXT, NULL),
        COLUMN(buffer_report, copies, COLUMN_COUNT, NULL),
        COLUMN(buffer_report, at_peak, COLUMN_BOOL, NULL),
        COLUMN(buffer_report, formula, COLUMN_TEXT, NULL),
        COLUMN(buffer_report, source, COLUMN_TEXT, NULL),
    };
    *n = COUNT_OF(columns);
    return columns;
}

const struct column *buffer_table(size_t *n)
{
    static const struct column columns[] = {
        COLUMN(buffer_report, name, COLUMN_TEXT, "buffer"),
        NAME("category", "category", buffer_category),
        COLUMN(buffer_report, bytes, COLUMN_BYTES, "bytes"),
        COLUMN(buffer_report, expected_bytes, COLUMN_BYTES, "expected"),
        COLUMN(buffer_report, worst_bytes, COLUMN_BYTES, "worst"),
        COLUMN(buffer_report, copies, COLUMN_COUNT, "copies"),
        NAME("dtype", "dtype", buffer_dtype),
        DIMENSIONS,
    };
    *n = COUNT_OF(columns);
    return columns;
}

/* ---- memory ---- */

const struct column *memory_columns(size_t *n)
{
    static const struct column columns[] = {
        COLUMN(memory_report, capacity_bytes, COLUMN_BYTES, NULL),
        COLUMN(memory_report, limit_bytes, COLUMN_BYTES, NULL),
        COLUMN(memory_report, state_bytes, COLUMN_BYTES, NULL),
        COLUMN(memory_report, temp_bytes, COLUMN_BYTES, NULL),
        COLUMN(memory_report, total_bytes, COLUMN_BYTES, NULL),
        COLUMN(memory_report, margin_bytes, COLUMN_SIGNED, NULL),
        NAME(NULL, "verdict", memory_verdict),
        COLUMN(memory_report, sizing, COLUMN_TEXT, NULL),
        COLUMN(memory_report, schedule, COLUMN_TEXT, NULL),
        COLUMN(memory_report, expected_bytes, COLUMN_BYTES, NULL),
        COLUMN(memory_report, p99_bytes, COLUMN_BYTES, NULL),
        COLUMN(memory_report, worst_bytes, COLUMN_BYTES, NULL),
        COLUMN(memory_report, allocated_bytes, COLUMN_BYTES, NULL),
        COLUMN(memory_report, reserved_bytes, COLUMN_BYTES, NULL),
        COLUMN(memory_report, resident_bytes, COLUMN_BYTES, NULL),
    };
    *n = COUNT_OF(columns);
    return columns;
}

const struct column *distribution_columns(size_t *n)
{
    static const struct column columns[] = {
        COLUMN(memory_report, oom_probability, COLUMN_REAL, NULL),
        COLUMN(memory_report, oom_samples, COLUMN_COUNT, NULL),
        COLUMN(memory_report, samples, COLUMN_COUNT, NULL),
    };
    *n = COUNT_OF(columns);
    return columns;
}

const struct column *fix_columns(size_t *n)
{
    static const struct column columns[] = {
        COLUMN(fix, set, COLUMN_TEXT, NULL),
        COLUMN(fix, total_bytes, COLUMN_BYTES, NULL),
        NAME(NULL, "verdict", fix_verdict),
    };
    *n = COUNT_OF(columns);
    return columns;
}

/* ---- the other parts ---- */

static const struct column model_columns[] = {
    COLUMN(model_report, parameters, COLUMN_COUNT, NULL),
    COLUMN(model_report, active_parameters, COLUMN_COUNT, NULL),
    COLUMN(model_report, parameters_per_device, COLUMN_COUNT, NULL),
    COLUMN(model_report, flop_per_token, COLUMN_COUNT, NULL),
};

const struct predict_section *predict_sections(size_t *n)
{
    static const struct predict_section sections[] = {
        {"model", model_columns, COUNT_OF(model_columns), offsetof(struct prediction, model),
         NULL},
    };
    *n = COUNT_OF(sections);
    return sections;
}

/* Column tables of a run. */
#include "report/run/print.h"

#include <stdlib.h>
#include <string.h>

#include "plan/schema/schema.h"

/* ---- ops ---- */

const struct column *run_op_columns(size_t *n)
{
    static const struct column columns[] = {
        COLUMN(run_op, name, COLUMN_TEXT, NULL),
        COLUMN(run_op, flop, COLUMN_COUNT, NULL),
        COLUMN(run_op, bytes, COLUMN_BYTES, NULL),
        COLUMN(run_op, rows, COLUMN_COUNT, NULL),
        COLUMN(run_op, bytes_sent, COLUMN_BYTES, NULL),
        COLUMN(run_op, bytes_received, COLUMN_BYTES, NULL),
        COLUMN(run_op, bytes_exchanged, COLUMN_BYTES, NULL),
        COLUMN(run_op, predicted_s, COLUMN_SECONDS, NULL),
        COLUMN(run_op, measured_s, COLUMN_SECONDS, NULL),
        COLUMN(run_op, p50_s, COLUMN_SECONDS, NULL),
        COLUMN(run_op, p99_s, COLUMN_SECONDS, NULL),
        COLUMN(run_op, samples, COLUMN_COUNT, NULL),
        COLUMN(run_op, ratio, COLUMN_REAL, NULL),
        COLUMN(run_op, flop_per_s, COLUMN_REAL, NULL),
        COLUMN(run_op, bytes_per_s, COLUMN_REAL, NULL),
        COLUMN(run_op, low_s, COLUMN_SECONDS, NULL),
        COLUMN(run_op, high_s, COLUMN_SECONDS, NULL),
        COLUMN(run_op, overhead_s, COLUMN_SECONDS, NULL),
        COLUMN(run_op, kind, COLUMN_TEXT, NULL),
        COLUMN(run_op, phase, COLUMN_TEXT, NULL),
    };
    *n = COUNT_OF(columns);
    return columns;
}

static bool has_flop(const void *record)
{
    return ((const struct run_op *)record)->flop > 0;
}

static bool has_exchange(const void *record)
{
    return ((const struct run_op *)record)->bytes_exchanged > 0;
}

static bool has_prediction(const void *record)
{
    return ((const struct run_op *)record)->predicted_s > 0;
}

const struct column *run_op_table(size_t *n)
{
    static const struct column columns[] = {
        COLUMN(run_op, name, COLUMN_TEXT, "op"),
        COLUMN(run_op, phase, COLUMN_TEXT, "phase"),
        {.key = "flop",
         .type = COLUMN_COUNT,
         .offset = offsetof(struct run_op, flop),
         .title = "FLOP",
         .present = has_flop},
        {.key = "bytes_exchanged",
         .type = COLUMN_BYTES,
         .offset = offsetof(struct run_op, bytes_exchanged),
         .title = "exchanged",
         .present = has_exchange},
        {.key = "predicted_s",
         .type = COLUMN_SECONDS,
         .offset = offsetof(struct run_op, predicted_s),
         .title = "predicted",
         .present = has_prediction},
        COLUMN(run_op, measured_s, COLUMN_SECONDS, "measured"),
        COLUMN(run_op, p99_s, COLUMN_SECONDS, "p99"),
        COLUMN(run_op, ratio, COLUMN_REAL, "ratio"),
    };
    *n = COUNT_OF(columns);
    return columns;
}

/* ---- checks, fixes, memory ---- */

static const char *check_detail(const void *record)
{
    const struct check *check = record;
    return check->detail[0] ? check->detail : NULL;
}

const struct column *run_check_columns(size_t *n)
{
    static const struct column columns[] = {
        COLUMN(check, name, COLUMN_TEXT, "check"),
        COLUMN(check, passed, COLUMN_BOOL, "passed"),
        COLUMN(check, error, COLUMN_REAL, "error"),
        COLUMN(check, tolerance, COLUMN_REAL, "tolerance"),
        {.key = "detail", .type = COLUMN_NAME, .name = check_detail, .title = "where"},
    };
    *n = COUNT_OF(columns);
    return columns;
}

const struct column *run_fix_columns(size_t *n)
{
    static const struct column columns[] = {
        COLUMN(run_fix, set, COLUMN_TEXT, "what would fit"),
        COLUMN(run_fix, predicted_peak_bytes, COLUMN_BYTES, "peak"),
    };
    *n = COUNT_OF(columns);
    return columns;
}

static bool says_before(const void *record)
{
    return ((const struct run_place *)record)->left_before_bytes > 0;
}

static bool says_after(const void *record)
{
    return ((const struct run_place *)record)->left_after_bytes > 0;
}

const struct column *run_place_columns(size_t *n)
{
    static const struct column columns[] = {
        COLUMN(run_place, device, COLUMN_TEXT, "memory of"),
        COLUMN(run_place, predicted_peak_bytes, COLUMN_BYTES, "predicted"),
        COLUMN(run_place, measured_peak_bytes, COLUMN_BYTES, "metered"),
        COLUMN(run_place, limit_bytes, COLUMN_BYTES, "limit"),
        {.key = "left_before_bytes",
         .title = "left before",
         .type = COLUMN_BYTES,
         .offset = offsetof(struct run_place, left_before_bytes),
         .present = says_before},
        {.key = "left_after_bytes",
         .title = "left after",
         .type = COLUMN_BYTES,
         .offset = offsetof(struct run_place, left_after_bytes),
         .present = says_after},
    };
    *n = sizeof columns / sizeof *columns;
    return columns;
}

const struct column *run_category_columns(size_t *n)
{
    static const struct column columns[] = {
        COLUMN(run_category, name, COLUMN_TEXT, "memory at the peak"),
        COLUMN(run_category, predicted_bytes, COLUMN_BYTES, "predicted"),
        COLUMN(run_category, measured_bytes, COLUMN_BYTES, "metered"),
    };
    *n = COUNT_OF(columns);
    return columns;
}

/* ---- parts of the report ---- */

static const char *machine_cpu(const void *record)
{
    return ((const struct machine *)record)->cpu;
}

static const char *machine_system(const void *record)
{
    return ((const struct machine *)record)->system;
}

static const struct column machine_columns[] = {
    {.key = "cpu", .type = COLUMN_NAME, .name = machine_cpu},
    {.key = "system", .type = COLUMN_NAME, .name = machine_system},
    COLUMN(machine, cpus, COLUMN_COUNT, NULL),
    COLUMN(machine, memory_bytes, COLUMN_BYTES, NULL),
};

static bool is_metered(const void *record)
{
    return ((const struct run_memory *)record)->measured_peak_bytes > 0;
}

#define METERED(member, kind)                                                                  \
    {                                                                                          \
        .key = #member, .type = kind, .offset = offsetof(struct run_memory, member),           \
        .present = is_metered                                                                  \
    }

static const struct column memory_columns[] = {
    COLUMN(run_memory, predicted_peak_bytes, COLUMN_BYTES, NULL),
    METERED(measured_peak_bytes, COLUMN_BYTES),
    METERED(equal, COLUMN_BOOL),
    COLUMN(run_memory, limit_bytes, COLUMN_BYTES, NULL),
    METERED(resident_growth_bytes, COLUMN_BYTES),
};

static bool is_judged(const void *record)
{
    return ((const struct run_time *)record)->judged;
}

static bool is_timed(const void *record)
{
    return ((const struct run_time *)record)->samples > 0;
}

static const char *time_basis(const void *record)
{
    const struct run_time *time = record;
    return time->profile ? time->profile : "roofline";
}

static const char *time_origin(const void *record)
{
    return ((const struct run_time *)record)->origin;
}

static bool is_gauged(const void *record)
{
    return ((const struct run_time *)record)->products_flop_per_s > 0;
}

static const struct column time_columns[] = {
    COLUMN(run_time, predicted_s, COLUMN_SECONDS, NULL),
    COLUMN(run_time, measured_s, COLUMN_SECONDS, NULL),
    COLUMN(run_time, ratio, COLUMN_REAL, NULL),
    {.key = "prediction", .type = COLUMN_NAME, .name = time_basis},
    {.key = "origin", .type = COLUMN_NAME, .name = time_origin},
    COLUMN(run_time, p50_s, COLUMN_SECONDS, NULL),
    COLUMN(run_time, p99_s, COLUMN_SECONDS, NULL),
    COLUMN(run_time, low_s, COLUMN_SECONDS, NULL),
    COLUMN(run_time, high_s, COLUMN_SECONDS, NULL),
    COLUMN(run_time, overhead_s, COLUMN_SECONDS, NULL),
    COLUMN(run_time, tokens_per_s, COLUMN_REAL, NULL),
    {.key = "samples",
     .type = COLUMN_COUNT,
     .offset = offsetof(struct run_time, samples),
     .present = is_timed},
    {.key = "steps_per_sample",
     .type = COLUMN_COUNT,
     .offset = offsetof(struct run_time, steps),
     .present = is_timed},
    {.key = "clock_step_s",
     .type = COLUMN_SECONDS,
     .offset = offsetof(struct run_time, clock_s),
     .present = is_timed},
    {.key = "products_flop_per_s",
     .type = COLUMN_REAL,
     .offset = offsetof(struct run_time, products_flop_per_s),
     .present = is_gauged},
    {.key = "products_probed_flop_per_s",
     .type = COLUMN_REAL,
     .offset = offsetof(struct run_time, products_probed_flop_per_s),
     .present = is_gauged},
    {.key = "within_band",
     .type = COLUMN_BOOL,
     .offset = offsetof(struct run_time, within),
     .present = is_judged},
};

static bool is_counted(const void *record)
{
    return ((const struct run_rows *)record)->computed > 0;
}

#define COUNTED(member)                                                                        \
    {                                                                                          \
        .key = #member, .type = COLUMN_COUNT, .offset = offsetof(struct run_rows, member),     \
        .present = is_counted                                                                  \
    }

static const struct column rows_columns[] = {
    COLUMN(run_rows, routed, COLUMN_COUNT, NULL),
    COLUMN(run_rows, largest, COLUMN_COUNT, NULL),
    COLUMN(run_rows, smallest, COLUMN_COUNT, NULL),
    COUNTED(dropped),
    COUNTED(computed),
    COUNTED(allocated),
    COLUMN(run_rows, exact_factor, COLUMN_REAL, NULL),
    COLUMN(run_rows, allocated_factor, COLUMN_REAL, NULL),
};

static bool has_blocks(const void *record)
{
    return ((const struct run_loads *)record)->blocks_provisioned > 0;
}

static bool has_counted(const void *record)
{
    return ((const struct run_loads *)record)->counted.weight_bytes > 0;
}

static bool has_counted_blocks(const void *record)
{
    return has_blocks(record) && has_counted(record);
}

#define LOADS(name, member, kind, when)                                                        \
    {                                                                                          \
        .key = name, .type = kind, .offset = offsetof(struct run_loads, member),               \
        .present = when                                                                        \
    }

static const struct column loads_columns[] = {
    LOADS("blocks_provisioned", blocks_provisioned, COLUMN_COUNT, has_blocks),
    LOADS("blocks_valid", blocks_valid, COLUMN_COUNT, has_blocks),
    LOADS("blocks_executed", blocks_executed, COLUMN_COUNT, has_blocks),
    LOADS("weight_loads", weight_loads, COLUMN_COUNT, NULL),
    LOADS("token_rows", token_rows, COLUMN_COUNT, has_blocks),
    LOADS("blocks_executed_counted", counted.blocks_executed, COLUMN_COUNT, has_counted_blocks),
    LOADS("weight_loads_counted", counted.weight_loads, COLUMN_COUNT, has_counted),
    LOADS("token_rows_counted", counted.token_rows, COLUMN_COUNT, has_counted_blocks),
    LOADS("weight_bytes", counted.weight_bytes, COLUMN_BYTES, has_counted),
    LOADS("token_bytes", counted.token_bytes, COLUMN_BYTES, has_counted_blocks),
    LOADS("core_bytes", counted.core_bytes, COLUMN_BYTES, has_counted_blocks),
};

static const struct column setup_columns[] = {
    COLUMN(snapshot, mode, COLUMN_TEXT, NULL),
    COLUMN(snapshot, ranks, COLUMN_COUNT, NULL),
    COLUMN(snapshot, first_rank, COLUMN_COUNT, NULL),
    COLUMN(snapshot, local_ranks, COLUMN_COUNT, NULL),
    COLUMN(snapshot, exchange_bytes, COLUMN_BYTES, NULL),
    COLUMN(snapshot, workers, COLUMN_COUNT, NULL),
};

#define SECTION(name, columns, member)                                                         \
    {                                                                                          \
        name, columns, COUNT_OF(columns), offsetof(struct run_report, member)                  \
    }

const struct run_section run_section_machine = SECTION("machine", machine_columns, machine),
                         run_section_memory = SECTION("memory", memory_columns, memory),
                         run_section_time = SECTION("time", time_columns, time),
                         run_section_rows = SECTION("rows", rows_columns, rows),
                         run_section_loads = SECTION("loads", loads_columns, loads),
                         run_section_setup = SECTION("setup", setup_columns, snapshot);

/* ---- buffers ---- */

const struct column *run_buffer_columns(size_t *n)
{
    static const struct column columns[] = {
        COLUMN(run_buffer, name, COLUMN_TEXT, "buffer"),
        COLUMN(run_buffer, category, COLUMN_TEXT, NULL),
        {.key = "shape",
         .type = COLUMN_COUNTS,
         .offset = offsetof(struct run_buffer, dims),
         .length_offset = offsetof(struct run_buffer, n_dims)},
        COLUMN(run_buffer, dtype, COLUMN_TEXT, NULL),
        COLUMN(run_buffer, bytes, COLUMN_BYTES, NULL),
        COLUMN(run_buffer, rule, COLUMN_TEXT, NULL),
        COLUMN(run_buffer, formula, COLUMN_TEXT, NULL),
    };
    *n = COUNT_OF(columns);
    return columns;
}

static int by_bytes(const void *a, const void *b)
{
    const struct run_buffer *x = a, *y = b;
    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? 1 : -1;
    return strcmp(x->name, y->name);
}

static void describe(const struct run_report *report, const struct buffer *buffer,
                     struct arena *arena, struct run_buffer *out)
{
    static const char *const rules[] = {"fixed", "routing", "worst", "factor"};
    struct text formula = {.arena = arena};
    size_formula(&report->work->sizes, buffer->bytes, &formula);
    *out = (struct run_buffer){.name = buffer->name,
                               .category = category_name(buffer->category),
                               .dtype = words_dtype[buffer->dtype],
                               .rule = rules[buffer->rule],
                               .n_dims = buffer->n_dims,
                               .bytes = report->values[buffer->all.node],
                               .formula = text_string(&formula)};
    for (unsigned i = 0; i < buffer->n_dims; i++)
        out->dims[i] = report->values[buffer->dims[i].node];
}

struct run_buffer *run_buffers(const struct run_report *report, struct arena *arena, size_t *n)
{
    *n = report->work->n_buffers;
    struct run_buffer *buffers = arena_alloc(arena, *n, sizeof *buffers);
    for (size_t b = 0; b < *n; b++)
        describe(report, &report->work->buffers[b], arena, &buffers[b]);
    qsort(buffers, *n, sizeof *buffers, by_bytes);
    return buffers;
}

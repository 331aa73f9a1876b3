/* A comparison as JSON and CSV. */
#include "report/compare/print.h"
#include "report/schema_json.h"

#define ROW_COLUMN(member, key_text, kind, condition)                                          \
    {                                                                                          \
        .key = key_text, .type = kind, .offset = offsetof(struct compare_row, member),         \
        .present = condition                                                                   \
    }

static bool is_work(const void *record)
{
    enum compare_part part = ((const struct compare_row *)record)->part;
    return part == COMPARE_WORK || part == COMPARE_OP;
}

static const char *part_of(const void *record)
{
    return compare_part_name(((const struct compare_row *)record)->part);
}

#define THREE(member, key_text, unsigned_kind, signed_kind, condition)                         \
    ROW_COLUMN(member.a, key_text "_a", unsigned_kind, condition),                             \
        ROW_COLUMN(member.b, key_text "_b", unsigned_kind, condition),                         \
        ROW_COLUMN(member.difference, key_text "_difference", signed_kind, condition)

/* Of struct compare_row, for JSON and CSV. */
static const struct column *compare_columns(size_t *n)
{
    static const struct column columns[] = {
        {.key = "part", .type = COLUMN_NAME, .name = part_of},
        ROW_COLUMN(name, "name", COLUMN_TEXT, NULL),
        ROW_COLUMN(segment, "segment", COLUMN_TEXT, NULL),
        ROW_COLUMN(phase, "phase", COLUMN_TEXT, NULL),
        ROW_COLUMN(category, "category", COLUMN_TEXT, NULL),
        THREE(bytes, "bytes", COLUMN_BYTES, COLUMN_SIGNED, NULL),
        THREE(flop, "flop", COLUMN_COUNT, COLUMN_INTEGER, is_work),
        THREE(sent, "bytes_sent", COLUMN_COUNT, COLUMN_INTEGER, is_work),
        THREE(seconds, "seconds", COLUMN_SECONDS, COLUMN_SECONDS, is_work),
    };
    *n = COUNT_OF(columns);
    return columns;
}

static const struct column key_columns[] = {
    {.key = "key", .type = COLUMN_TEXT, .offset = offsetof(struct compare_key, key)},
    {.key = "a", .type = COLUMN_TEXT, .offset = offsetof(struct compare_key, a)},
    {.key = "b", .type = COLUMN_TEXT, .offset = offsetof(struct compare_key, b)},
};

static const struct column figure_columns[] = {
    COLUMN(compare_figure, key, COLUMN_TEXT, NULL),
    COLUMN(compare_figure, a, COLUMN_REAL, NULL),
    COLUMN(compare_figure, b, COLUMN_REAL, NULL),
    COLUMN(compare_figure, ratio, COLUMN_REAL, NULL),
};

static void json_rows(struct json *json, const char *key, const struct compare_rows *rows)
{
    size_t n;
    const struct column *columns = compare_columns(&n);
    column_json_array(json, key, columns, n, rows->rows, rows->n, sizeof *rows->rows);
}

static void json_total(struct json *json, const char *key, const struct compare_row *total)
{
    size_t n;
    const struct column *columns = compare_columns(&n);
    json_object(json, key);
    column_json(json, columns, n, total);
    json_close(json);
}

static void json_side(struct json *json, const char *key, const struct provenance *provenance,
                      const struct prediction *prediction)
{
    json_object(json, key);
    provenance_json(json, provenance);
    json_string(json, "verdict", verdict_name(prediction->memory.verdict));
    json_close(json);
}

void compare_print_json(const struct compare_view *view)
{
    const struct comparison *c = view->comparison;
    struct json json;
    json_init(&json, view->out);
    json_object(&json, NULL);
    provenance_json_version(&json);
    json_side(&json, "a", &view->provenance_a, view->a);
    json_side(&json, "b", &view->provenance_b, view->b);
    column_json_array(&json, "keys", key_columns, COUNT_OF(key_columns), c->keys, c->n_keys,
                      sizeof *c->keys);
    if (c->n_time)
        column_json_array(&json, "time", figure_columns, COUNT_OF(figure_columns), c->time,
                          c->n_time, sizeof *c->time);
    json_total(&json, "memory", &c->buffers.total);
    json_rows(&json, "categories", &c->categories);
    json_rows(&json, "buffers", &c->buffers);
    if (c->has_ops) {
        json_total(&json, "work", &c->ops.total);
        json_rows(&json, "ops", &c->ops);
    }
    json_close(&json);
}

static void csv_rows(const struct compare_view *view, const struct compare_row *rows, size_t n)
{
    size_t n_columns;
    const struct column *columns = compare_columns(&n_columns);
    for (size_t i = 0; i < n; i++)
        column_csv_row(view->out, columns, n_columns, &rows[i]);
}

void compare_print_csv(const struct compare_view *view)
{
    const struct comparison *c = view->comparison;
    size_t n;
    const struct column *columns = compare_columns(&n);
    column_csv_header(view->out, columns, n);
    csv_rows(view, &c->buffers.total, 1);
    csv_rows(view, c->categories.rows, c->categories.n);
    csv_rows(view, c->buffers.rows, c->buffers.n);
    if (c->has_ops) {
        csv_rows(view, &c->ops.total, 1);
        csv_rows(view, c->ops.rows, c->ops.n);
    }
}

/* ---- the JSON's schema ---- */

static const struct column *keys_of(size_t *n)
{
    *n = COUNT_OF(key_columns);
    return key_columns;
}

static const struct column *figures_of(size_t *n)
{
    *n = COUNT_OF(figure_columns);
    return figure_columns;
}

void compare_print_schema(FILE *out)
{
    static const struct schema_part side[] = {SCHEMA_PROVENANCE, SCHEMA_TEXT("verdict", true),
                                              SCHEMA_END};
    static const struct schema_part parts[] = {
        SCHEMA_VERSIONS,
        SCHEMA_PARTS("a", true, SCHEMA_OBJECT, side),
        SCHEMA_PARTS("b", true, SCHEMA_OBJECT, side),
        SCHEMA_TABLE("keys", true, SCHEMA_RECORDS, keys_of),
        SCHEMA_TABLE("time", false, SCHEMA_RECORDS, figures_of),
        SCHEMA_TABLE("memory", true, SCHEMA_RECORD, compare_columns),
        SCHEMA_TABLE("categories", true, SCHEMA_RECORDS, compare_columns),
        SCHEMA_TABLE("buffers", true, SCHEMA_RECORDS, compare_columns),
        SCHEMA_TABLE("work", false, SCHEMA_RECORD, compare_columns),
        SCHEMA_TABLE("ops", false, SCHEMA_RECORDS, compare_columns),
        SCHEMA_END};
    schema_json_document(out, "compare.schema.json",
                         "what moeplan compare --format json writes", parts);
}

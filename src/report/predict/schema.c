/* The schema of a prediction's JSON, of the tables that print it; see print.h. A member that
 * json.c writes and this file does not know is refused by the schema, and so by the tests. */
#include "report/fixes.h"
#include "report/predict/print.h"
#include "report/schema_json.h"

/* Small records that json.c writes by hand. */
static const struct column path[] = {{.key = "name", .type = COLUMN_TEXT},
                                     {.key = "reason", .type = COLUMN_TEXT}};
static const struct column head[] = {{.key = "schema_version", .type = COLUMN_COUNT},
                                     {.key = "version", .type = COLUMN_TEXT},
                                     {.key = "seed", .type = COLUMN_COUNT}};

static void open_object(struct json *json, const char *key)
{
    json_object(json, key);
    json_string(json, "type", "object");
    json_bool(json, "additionalProperties", false);
    json_object(json, "properties");
}

/* Ends the properties and the object. */
static void close_object(struct json *json)
{
    json_close(json);
    json_close(json);
}

static void record_of(struct json *json, const char *key,
                      const struct column *(*columns_of)(size_t *n))
{
    size_t n;
    const struct column *columns = columns_of(&n);
    schema_json_record(json, key, columns, n);
}

static void records_of(struct json *json, const char *key,
                       const struct column *(*columns_of)(size_t *n))
{
    size_t n;
    const struct column *columns = columns_of(&n);
    schema_json_records(json, key, columns, n);
}

static void lines(struct json *json, const char *key)
{
    json_object(json, key);
    json_string(json, "type", "array");
    schema_json_type(json, "items", "string");
    json_close(json);
}

static void memory(struct json *json)
{
    size_t n;
    const struct column *columns = memory_columns(&n);
    json_object(json, "memory");
    json_string(json, "type", "object");
    json_bool(json, "additionalProperties", false);
    json_list(json, "required");
    schema_json_required(json, columns, n);
    json_string(json, NULL, "verdict");
    json_string(json, NULL, "categories");
    json_string(json, NULL, "buffers");
    json_close(json);
    json_object(json, "properties");
    schema_json_columns(json, columns, n);
    columns = distribution_columns(&n);
    schema_json_columns(json, columns, n);
    records_of(json, "categories", category_columns);
    records_of(json, "buffers", buffer_columns);
    record_of(json, "peak", peak_columns);
    records_of(json, "stages", stage_columns);
    record_of(json, "wall", wall_columns);
    record_of(json, "largest", wall_columns);
    record_of(json, "address_wall", wall_columns);
    record_of(json, "int_wall", wall_columns);
    records_of(json, "fixes", fix_columns);
    close_object(json);
}

/* What run performs, under stack host. */
static void slice(struct json *json)
{
    static const struct column ranks = {.key = "ranks", .type = COLUMN_COUNT};
    static const struct column peak = {.key = "peak_bytes", .type = COLUMN_BYTES};
    open_object(json, "run");
    schema_json_columns(json, &ranks, 1);
    open_object(json, "memory");
    schema_json_columns(json, &peak, 1);
    records_of(json, "categories", category_columns);
    close_object(json);
    records_of(json, "ops", op_columns);
    close_object(json);
}

static void sections(struct json *json)
{
    size_t n;
    const struct predict_section *all = predict_sections(&n);
    for (size_t i = 0; i < n; i++)
        schema_json_record(json, all[i].key, all[i].columns, all[i].n_columns);
}

static void members(struct json *json, struct arena *arena)
{
    size_t n;
    const struct column *columns = provenance_columns(&n);
    schema_json_columns(json, head, 3);
    schema_json_record(json, "names", columns, n);
    json_object(json, "plan");
    schema_json_plan(json, arena);
    json_close(json);
    schema_json_record(json, "path", path, 2);
    schema_json_record(json, "experts", path, 2);
    memory(json);
    records_of(json, "pools", pool_columns);
    records_of(json, "limit_fixes", fix_columns);
    records_of(json, "notes", note_columns);
    sections(json);
    records_of(json, "capacity_trade", trade_columns);
    records_of(json, "block_guidance", block_columns);
    lines(json, "advice");
    columns = ops_columns(&n);
    schema_json_columns(json, columns, n);
    records_of(json, "ops", op_columns);
    records_of(json, "comm", comm_columns);
    slice(json);
    predict_schema_time(json);
    lines(json, "assumptions");
}

void predict_print_schema(FILE *out, struct arena *arena)
{
    static const char *const required[] = {"schema_version", "version", "seed", "names",
                                           "plan",           "memory",  "model"};
    struct json json;
    json_init(&json, out);
    json_object(&json, NULL);
    schema_json_head(&json, "result.schema.json", "what moeplan predict --format json writes");
    json_string(&json, "type", "object");
    json_bool(&json, "additionalProperties", false);
    json_list(&json, "required");
    for (size_t i = 0; i < sizeof required / sizeof *required; i++)
        json_string(&json, NULL, required[i]);
    json_close(&json);
    json_object(&json, "properties");
    members(&json, arena);
    close_object(&json);
}

/* JSON Schema (draft 2020-12) from the tables that read plans and print records. */
#ifndef MOEPLAN_REPORT_SCHEMA_JSON_H
#define MOEPLAN_REPORT_SCHEMA_JSON_H

#include "base/arena.h"
#include "base/column.h"

/* Members that open a schema: $schema, $id, title; into the open object. */
void schema_json_head(struct json *json, const char *name, const char *title);

/* "type": "object" with everything that a plan may say; members of the open object. Patterns
 * are built in the arena. */
void schema_json_plan(struct json *json, struct arena *arena);

/* A property for each column, and their keys among the required ones unless a column may be
 * left out. The first goes into the open "properties", the second into the open list. */
void schema_json_columns(struct json *json, const struct column *columns, size_t n);
void schema_json_required(struct json *json, const struct column *columns, size_t n);

/* "key": a record, or a list of records, with these columns and no others. */
void schema_json_record(struct json *json, const char *key, const struct column *columns,
                        size_t n);
void schema_json_records(struct json *json, const char *key, const struct column *columns,
                         size_t n);

/* "key": {"type": type} */
void schema_json_type(struct json *json, const char *key, const char *type);

#endif

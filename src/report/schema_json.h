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

/* A member of an object, or several. */
enum schema_shape {
    SCHEMA_SCALAR,  /* `type` */
    SCHEMA_LINES,   /* a list of texts */
    SCHEMA_NUMBERS, /* an object of numbers by any name */
    SCHEMA_RECORD,  /* an object of the columns */
    SCHEMA_RECORDS, /* a list of such */
    SCHEMA_MEMBERS, /* the columns as members beside the others: one without `present` is always
                     * there, a text too */
    SCHEMA_OBJECT,  /* an object of the parts */
    SCHEMA_OPEN,    /* the same, which may have others */
    SCHEMA_LIST     /* a list of such */
};

struct schema_part {
    const char *key;
    enum schema_shape shape;
    bool required;
    const char *type; /* "string", "integer", "number", "boolean" */
    const struct column *(*columns)(size_t *n);
    const struct schema_part *parts; /* end with key NULL */
};

/* Rows of such a table; `must`: the member is always there. */
#define SCHEMA_ONE(name, must, word)                                                           \
    {                                                                                          \
        .key = name, .shape = SCHEMA_SCALAR, .required = must, .type = word                    \
    }
#define SCHEMA_TEXT(name, must) SCHEMA_ONE(name, must, "string")
#define SCHEMA_COUNT(name, must) SCHEMA_ONE(name, must, "integer")
#define SCHEMA_REAL(name, must) SCHEMA_ONE(name, must, "number")
#define SCHEMA_BOOL(name, must) SCHEMA_ONE(name, must, "boolean")
#define SCHEMA_TABLE(name, must, form, table)                                                  \
    {                                                                                          \
        .key = name, .shape = form, .required = must, .columns = table                         \
    }
#define SCHEMA_COLUMNS(table)                                                                  \
    {                                                                                          \
        .key = "", .shape = SCHEMA_MEMBERS, .columns = table                                   \
    }
#define SCHEMA_PARTS(name, must, form, below)                                                  \
    {                                                                                          \
        .key = name, .shape = form, .required = must, .parts = below                           \
    }
#define SCHEMA_END                                                                             \
    {                                                                                          \
        .key = NULL                                                                            \
    }

/* What provenance_json writes (report/provenance.h). */
#define SCHEMA_VERSIONS SCHEMA_COUNT("schema_version", true), SCHEMA_TEXT("version", true)
#define SCHEMA_PROVENANCE                                                                      \
    SCHEMA_VERSIONS, SCHEMA_COUNT("seed", true),                                               \
        SCHEMA_TABLE("names", true, SCHEMA_RECORD, provenance_columns)

/* A whole schema, of an object of these parts. */
void schema_json_document(FILE *out, const char *name, const char *title,
                          const struct schema_part *parts);

/* A whole schema of what has several forms: an object of one of the n lists of parts, or, with
 * rows, a list of flat objects by any keys. */
struct schema_forms {
    const struct schema_part *parts[2];
    size_t n;
    bool rows;
};
void schema_json_forms(FILE *out, const char *name, const char *title,
                       const struct schema_forms *forms);

/* "key": {"type": type} */
void schema_json_type(struct json *json, const char *key, const char *type);

#endif

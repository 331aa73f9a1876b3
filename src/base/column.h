/* Column tables: one record per column of a C struct, from which the struct prints itself as
 * members of a JSON object, as a CSV row, or as a row of an aligned table.
 *
 * JSON and CSV carry base units and exact numbers; tables are for people (GiB, digit groups).
 * A column that does not apply (a NULL text, a real that is not finite, `present` false) is
 * absent in JSON and empty in CSV and tables. */
#ifndef MOEPLAN_BASE_COLUMN_H
#define MOEPLAN_BASE_COLUMN_H

#include <stddef.h>

#include "base/json.h"
#include "base/term.h"
#include "base/text.h"

enum column_type {
    COLUMN_COUNT,   /* uint64_t */
    COLUMN_INTEGER, /* int64_t */
    COLUMN_BYTES,   /* uint64_t; tables show GiB */
    COLUMN_SIGNED,  /* int64_t bytes; tables show GiB */
    COLUMN_SECONDS, /* double */
    COLUMN_REAL,    /* double */
    COLUMN_BOOL,    /* bool */
    COLUMN_TEXT,    /* const char * */
    COLUMN_CELL,    /* const char *; in JSON a number where it is one; "" does not apply */
    COLUMN_NAME,    /* name(record): the text of an enum or anything computed */
    COLUMN_COUNTS   /* uint64_t[], its length an `unsigned` at length_offset */
};

struct column {
    const char *key; /* JSON and CSV: "total_bytes" */
    enum column_type type;
    size_t offset;                           /* in the record */
    const char *title;                       /* heading in tables; NULL: the key */
    const char *help;                        /* one line for the manual; may be NULL */
    const char *(*name)(const void *record); /* COLUMN_NAME */
    bool (*present)(const void *record);     /* NULL: always */
    size_t length_offset;                    /* COLUMN_COUNTS */
};

/* Rows of a table: a member of struct record under its own name; what `function` says of it. */
#define COLUMN(record, member, kind, heading)                                                  \
    {                                                                                          \
        .key = #member, .type = kind, .offset = offsetof(struct record, member),               \
        .title = heading                                                                       \
    }
#define COLUMN_SAID(heading, key_text, function)                                               \
    {                                                                                          \
        .key = key_text, .type = COLUMN_NAME, .name = function, .title = heading               \
    }
#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

/* The columns as members of the open JSON object. */
void column_json(struct json *json, const struct column *columns, size_t n, const void *record);

/* A JSON array of n_records objects under key. */
void column_json_array(struct json *json, const char *key, const struct column *columns,
                       size_t n, const void *records, size_t n_records, size_t record_size);

/* RFC 4180, lines ended by LF: the keys; one record. Lists are joined by "x": 8x4096. */
void column_csv_header(FILE *out, const struct column *columns, size_t n);
void column_csv_row(FILE *out, const struct column *columns, size_t n, const void *record);

/* One field of a record; nothing when it does not apply. */
void column_csv_field(FILE *out, const struct column *column, const void *record);

/* All records of a table as a JSON array alone in the stream; as CSV with its header. */
struct table;
void column_table_json(FILE *out, const struct table *table);
void column_table_csv(FILE *out, const struct table *table);

/* One CSV field, quoted when it must be. */
void column_csv_text(FILE *out, const char *text);

/* An aligned table with headings: texts to the left, numbers to the right, two spaces between
 * columns, each line indented. */
struct table {
    const struct column *columns;
    size_t n; /* columns */
    const void *records;
    size_t n_records, record_size;
    unsigned indent;
    const struct column *note; /* printed below its row where it applies; may be NULL */
};

/* One of an array of columns and `count` records of a list, indented as behind a heading. */
#define TABLE_OF(table_columns, list, count)                                                   \
    {                                                                                          \
        .columns = table_columns, .n = sizeof table_columns / sizeof *table_columns,           \
        .records = list, .n_records = count, .record_size = sizeof *(list), .indent = 2        \
    }

/* Memory for the layout comes from the arena. */
void column_table(FILE *out, const struct term *term, const struct table *table,
                  struct arena *arena);

/* The cell of a table; "" when it does not apply. */
void column_cell(const struct column *column, const void *record, struct text *out);

#endif

/* The ops of one rank's step: columns, and as a table. */
#include "report/page.h"
#include "report/predict/print.h"

#define COLUMN(member, kind, heading)                                                          \
    {                                                                                          \
        .key = #member, .type = kind, .offset = offsetof(struct op_report, member),            \
        .title = heading                                                                       \
    }
#define NAME(title_text, key_text, function)                                                   \
    {                                                                                          \
        .key = key_text, .type = COLUMN_NAME, .name = function, .title = title_text            \
    }
#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

static const char *kind_of(const void *record)
{
    return op_kind_name(((const struct op_report *)record)->kind);
}

static const char *segment_of(const void *record)
{
    static const char *const names[SEGMENT_COUNT] = {"step", "embed",
#define SHORT_NAME(name, mixer, ffn, text, word) word,
                                                     LAYER_KIND_LIST(SHORT_NAME)
#undef SHORT_NAME
                                                         "head"};
    return names[((const struct op_report *)record)->segment];
}

static const char *phase_of(const void *record)
{
    return phase_name(((const struct op_report *)record)->phase);
}

static const char *group_of(const void *record)
{
    return process_group_name(((const struct op_report *)record)->group);
}

static const char *level_of(const void *record)
{
    const struct op_report *op = record;
    if (op->group == GROUP_NONE)
        return "local";
    return op->scale_out ? "scale_out" : "scale_up";
}

const struct column *op_columns(size_t *n)
{
    static const struct column columns[] = {
        COLUMN(name, COLUMN_TEXT, NULL),        NAME(NULL, "kind", kind_of),
        NAME(NULL, "segment", segment_of),      NAME(NULL, "phase", phase_of),
        NAME(NULL, "group", group_of),          COLUMN(layers, COLUMN_COUNT, NULL),
        COLUMN(rows, COLUMN_COUNT, NULL),       COLUMN(groups, COLUMN_COUNT, NULL),
        COLUMN(k, COLUMN_COUNT, NULL),          COLUMN(n, COLUMN_COUNT, NULL),
        COLUMN(flop, COLUMN_COUNT, NULL),       COLUMN(bytes, COLUMN_COUNT, NULL),
        COLUMN(bytes_read, COLUMN_COUNT, NULL), COLUMN(bytes_written, COLUMN_COUNT, NULL),
        COLUMN(bytes_sent, COLUMN_COUNT, NULL), COLUMN(bytes_received, COLUMN_COUNT, NULL),
        COLUMN(host_syncs, COLUMN_COUNT, NULL), COLUMN(seconds, COLUMN_SECONDS, NULL),
        NAME(NULL, "level", level_of),
    };
    *n = COUNT_OF(columns);
    return columns;
}

const struct column *op_table(size_t *n)
{
    static const struct column columns[] = {
        COLUMN(name, COLUMN_TEXT, "op"),       NAME("segment", "segment", segment_of),
        NAME("phase", "phase", phase_of),      COLUMN(layers, COLUMN_COUNT, "layers"),
        COLUMN(rows, COLUMN_COUNT, "rows"),    COLUMN(flop, COLUMN_COUNT, "FLOP"),
        COLUMN(bytes, COLUMN_BYTES, "memory"), COLUMN(bytes_sent, COLUMN_BYTES, "sent"),
        NAME("group", "group", group_of),      COLUMN(seconds, COLUMN_SECONDS, "alone"),
    };
    *n = COUNT_OF(columns);
    return columns;
}

#define KEYED(key_text, record, member, kind)                                                  \
    {                                                                                          \
        .key = key_text, .type = kind, .offset = offsetof(struct record, member)               \
    }

const struct column *comm_columns(size_t *n)
{
    static const struct column columns[] = {
        KEYED("op", op_report, name, COLUMN_TEXT),
        NAME(NULL, "segment", segment_of),
        NAME(NULL, "phase", phase_of),
        NAME(NULL, "group", group_of),
        NAME(NULL, "level", level_of),
        COLUMN(layers, COLUMN_COUNT, NULL),
        KEYED("bytes_sent_per_rank", op_report, bytes_sent, COLUMN_BYTES),
        KEYED("bytes_received_per_rank", op_report, bytes_received, COLUMN_BYTES),
        COLUMN(seconds, COLUMN_SECONDS, NULL),
    };
    *n = COUNT_OF(columns);
    return columns;
}

const struct column *ops_columns(size_t *n)
{
    static const struct column columns[] = {
        KEYED("ops_rank", ops_report, rank, COLUMN_COUNT),
        KEYED("ops_sample", ops_report, sample, COLUMN_COUNT),
        KEYED("ops_method", ops_report, method, COLUMN_TEXT),
    };
    *n = COUNT_OF(columns);
    return columns;
}

void predict_json_comm(struct json *json, const struct ops_report *ops)
{
    size_t n;
    const struct column *columns = comm_columns(&n);
    json_array(json, "comm");
    for (size_t i = 0; i < ops->n; i++) {
        if (!ops->ops[i].bytes_sent && !ops->ops[i].bytes_received)
            continue;
        json_object(json, NULL);
        column_json(json, columns, n, &ops->ops[i]);
        json_close(json);
    }
    json_close(json);
}

void predict_print_ops(const struct predict_view *view)
{
    const struct ops_report *ops = &view->prediction->ops;
    struct page page = {.out = view->out, .term = view->term};
    struct table table = {
        .records = ops->ops, .n_records = ops->n, .record_size = sizeof *ops->ops, .indent = 2};
    page_heading(&page,
                 arena_printf(view->arena,
                              "ops of rank %llu, routing sample %llu (%s): one layer and "
                              "micro-step; phase update: one step",
                              (unsigned long long)ops->rank, (unsigned long long)ops->sample,
                              ops->method));
    table.columns = op_table(&table.n);
    column_table(view->out, view->term, &table, view->arena);
    fputc('\n', view->out);
    provenance_text(view->out, view->term, &view->provenance);
}

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
    static const char *const names[] = {"step", "embed", "dense", "moe", "head"};
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
        NAME("group", "group", group_of),      COLUMN(seconds, COLUMN_SECONDS, "at peak"),
    };
    *n = COUNT_OF(columns);
    return columns;
}

/* What crosses links, op by op: bytes of one rank, layer and micro-step. */
void predict_json_comm(struct json *json, const struct ops_report *ops)
{
    json_array(json, "comm");
    for (size_t i = 0; i < ops->n; i++) {
        const struct op_report *op = &ops->ops[i];
        if (!op->bytes_sent && !op->bytes_received)
            continue;
        json_object(json, NULL);
        json_string(json, "op", op->name);
        json_string(json, "segment", segment_of(op));
        json_string(json, "phase", phase_of(op));
        json_string(json, "group", group_of(op));
        json_string(json, "level", level_of(op));
        json_count(json, "layers", op->layers);
        json_count(json, "bytes_sent_per_rank", op->bytes_sent);
        json_count(json, "bytes_received_per_rank", op->bytes_received);
        json_real(json, "seconds", op->seconds);
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

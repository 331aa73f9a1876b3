/* The ops of one rank's step: columns, and as a table. */
#include "report/page.h"
#include "report/predict/print.h"

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

/* Nothing is said of an op that the rate of another one has in it. */
static bool takes_time(const void *record)
{
    return ((const struct op_report *)record)->seconds > 0;
}

const struct column *op_columns(size_t *n)
{
    static const struct column columns[] = {
        COLUMN(op_report, name, COLUMN_TEXT, NULL),
        COLUMN_SAID(NULL, "kind", kind_of),
        COLUMN_SAID(NULL, "segment", segment_of),
        COLUMN_SAID(NULL, "phase", phase_of),
        COLUMN_SAID(NULL, "group", group_of),
        COLUMN(op_report, layers, COLUMN_COUNT, NULL),
        COLUMN(op_report, rows, COLUMN_COUNT, NULL),
        COLUMN(op_report, groups, COLUMN_COUNT, NULL),
        COLUMN(op_report, k, COLUMN_COUNT, NULL),
        COLUMN(op_report, n, COLUMN_COUNT, NULL),
        COLUMN(op_report, flop, COLUMN_COUNT, NULL),
        COLUMN(op_report, bytes, COLUMN_COUNT, NULL),
        COLUMN(op_report, bytes_read, COLUMN_COUNT, NULL),
        COLUMN(op_report, bytes_written, COLUMN_COUNT, NULL),
        COLUMN(op_report, bytes_sent, COLUMN_COUNT, NULL),
        COLUMN(op_report, bytes_received, COLUMN_COUNT, NULL),
        COLUMN(op_report, host_syncs, COLUMN_COUNT, NULL),
        COLUMN(op_report, seconds, COLUMN_SECONDS, NULL),
        COLUMN_SAID(NULL, "level", level_of),
    };
    *n = COUNT_OF(columns);
    return columns;
}

const struct column *op_table(size_t *n)
{
    static const struct column columns[] = {
        COLUMN(op_report, name, COLUMN_TEXT, "op"),
        COLUMN_SAID("segment", "segment", segment_of),
        COLUMN_SAID("phase", "phase", phase_of),
        COLUMN(op_report, layers, COLUMN_COUNT, "layers"),
        COLUMN(op_report, rows, COLUMN_COUNT, "rows"),
        COLUMN(op_report, flop, COLUMN_COUNT, "FLOP"),
        COLUMN(op_report, bytes, COLUMN_BYTES, "memory"),
        COLUMN(op_report, bytes_sent, COLUMN_BYTES, "sent"),
        COLUMN_SAID("group", "group", group_of),
        {.key = "seconds",
         .title = "alone",
         .type = COLUMN_SECONDS,
         .offset = offsetof(struct op_report, seconds),
         .present = takes_time},
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
        COLUMN_SAID(NULL, "segment", segment_of),
        COLUMN_SAID(NULL, "phase", phase_of),
        COLUMN_SAID(NULL, "group", group_of),
        COLUMN_SAID(NULL, "level", level_of),
        COLUMN(op_report, layers, COLUMN_COUNT, NULL),
        KEYED("bytes_sent_per_rank", op_report, bytes_sent, COLUMN_BYTES),
        KEYED("bytes_received_per_rank", op_report, bytes_received, COLUMN_BYTES),
        COLUMN(op_report, seconds, COLUMN_SECONDS, NULL),
        KEYED("fullest_scale_up_bytes", op_report, fullest_up, COLUMN_REAL),
        KEYED("fullest_scale_out_bytes", op_report, fullest_out, COLUMN_REAL),
        KEYED("fullest_s", op_report, fullest_s, COLUMN_SECONDS),
        KEYED("balanced_s", op_report, balanced_s, COLUMN_SECONDS),
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
    fputs("  alone: empty where the rate of another op has it\n\n", view->out);
    provenance_text(view->out, view->term, &view->provenance);
}

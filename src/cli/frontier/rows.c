/* A sweep's rows; see rows.h. */
#include "cli/frontier/rows.h"

#include "cli/frontier/columns.h"
#include "cli/frontier/csv.h"
#include "cli/frontier/table.h"

static enum status write_whole(FILE *file, const char *bytes, size_t n, struct err *err)
{
    if (fwrite(bytes, 1, n, file) == n && fflush(file) == 0)
        return STATUS_OK;
    return err_set(err, STATUS_SYSTEM, "the rows cannot be written");
}

static enum status sink_write(void *context, const char *bytes, size_t n, uint64_t done,
                              struct err *err)
{
    struct frontier_sink *sink = context;
    if (sink->kept)
        text_append_n(sink->kept, bytes, n);
    if (sink->file)
        TRY(write_whole(sink->file, bytes, n, err));
    if (sink->progress)
        fprintf(stderr, "\r%3.0f %%", 100.0 * (double)done / (double)sink->points);
    return STATUS_OK;
}

enum status frontier_rows(const struct frontier *frontier, const struct option_list *columns,
                          unsigned threads, struct frontier_sink *sink, struct err *err)
{
    struct frontier_csv csv;
    struct frontier_columns extra;
    struct text header = {.arena = frontier->arena};
    frontier_csv_init(&csv, frontier->axes, frontier->n_axes, frontier->arena);
    csv.time = sink->time;
    csv.routing = frontier->sweep.routing;
    TRY(frontier_columns_init(&extra, &csv, columns->items, columns->n, err));
    frontier_csv_header(frontier->axes, frontier->n_axes, &header);
    frontier_columns_header(&extra, &header);
    TRY(sink_write(sink, text_string(&header), header.length, 0, err));
    bool plain = columns->n == 0;
    const struct sweep_output output = {
        .row = plain ? frontier_csv_row : frontier_columns_row,
        .row_context = plain ? (const void *)&csv : (const void *)&extra,
        .row_room = frontier_csv_room(&csv, frontier->axes) + frontier_columns_room(&extra),
        .write = sink_write,
        .write_context = sink,
    };
    struct pool *pool = pool_create(threads);
    enum status status = sweep_run(&frontier->sweep, pool, &output, err);
    pool_free(pool);
    if (sink->progress)
        fputs("\r     \r", stderr);
    return status;
}

enum status frontier_rows_few(const struct frontier *frontier, struct err *err)
{
    uint64_t points = sweep_points(&frontier->sweep);
    if (points <= FRONTIER_TABLE_POINTS)
        return STATUS_OK;
    err_set(err, STATUS_USAGE, "%llu points are too many for a table or a chart, at most %d",
            (unsigned long long)points, FRONTIER_TABLE_POINTS);
    return err_hint(err, "write them to a file: -o points.csv, or --format csv");
}

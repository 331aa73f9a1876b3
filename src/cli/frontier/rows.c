/* A sweep's rows; see rows.h. */
#include "cli/frontier/rows.h"

#include <inttypes.h>
#include <math.h>

#include "cli/frontier/columns.h"
#include "cli/frontier/csv.h"
#include "cli/frontier/table.h"
#include "exec/stopwatch.h"

enum { FRONTIER_KEPT_BYTES = 64 << 20 };

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
    if (sink->kept && sink->kept->length + n > FRONTIER_KEPT_BYTES) {
        err_set(err, STATUS_USAGE, "more than %d MiB of rows are too many for a table",
                FRONTIER_KEPT_BYTES >> 20);
        return err_hint(err, "write them to a file: -o points.csv, or --format csv");
    }
    if (sink->kept)
        text_append_n(sink->kept, bytes, n);
    if (sink->file)
        TRY(write_whole(sink->file, bytes, n, err));
    if (sink->progress)
        fprintf(stderr, "\r%3.0f %%", 100.0 * (double)done / (double)sink->points);
    return STATUS_OK;
}

/* Batches of half a second: an interrupted sweep has lost no more than twice that. */
static uint64_t sink_pace(void *context, uint64_t last)
{
    struct frontier_sink *sink = context;
    const double wish_s = 0.5, most_growth = 8;
    const uint64_t first = 1, most = UINT64_C(1) << 40;
    double now = stopwatch_now_s();
    double took = fmax(now - sink->begin_s, 1e-6);
    double next = last ? (double)last * fmin(wish_s / took, most_growth) : (double)first;
    sink->begin_s = now;
    return next < 1 ? 1 : next < (double)most ? (uint64_t)next : most;
}

static enum status write_counts(struct frontier_sink *sink,
                                const uint64_t counts[SWEEP_VERDICTS], struct arena *arena,
                                struct err *err)
{
    struct text text = {.arena = arena};
    for (unsigned i = 0; i < SWEEP_VERDICTS; i++)
        text_printf(&text, "%s,%" PRIu64 "\n",
                    i == SWEEP_INVALID ? "invalid" : verdict_name((enum verdict)i), counts[i]);
    return sink_write(sink, text_string(&text), text.length, sink->points, err);
}

enum status frontier_rows(const struct frontier *frontier, const struct option_list *columns,
                          unsigned threads, struct frontier_sink *sink, struct err *err)
{
    struct frontier_csv csv;
    struct profile profile;
    struct frontier_columns extra;
    struct text header = {.arena = frontier->arena};
    frontier_csv_init(&csv, frontier->axes, frontier->n_axes, frontier->arena);
    csv.routing = frontier->sweep.routing;
    if (sink->time) {
        TRY(profile_load(frontier->sweep.base, frontier->arena, &profile, err));
        csv.timed = frontier->sweep.base;
        csv.profile = &profile;
    }
    TRY(frontier_columns_init(&extra, &csv, columns->items, columns->n, err));
    frontier_csv_header(frontier->axes, frontier->n_axes, &header);
    frontier_columns_header(&extra, &header);
    if (sink->keep.reduce == REDUCE_COUNT) {
        header.length = 0;
        text_append(&header, "verdict,points\n");
    }
    TRY(sink_write(sink, text_string(&header), header.length, 0, err));
    bool plain = columns->n == 0;
    uint64_t counts[SWEEP_VERDICTS] = {0};
    const struct sweep_output output = {
        .row = plain ? frontier_csv_row : frontier_columns_row,
        .row_context = plain ? (const void *)&csv : (const void *)&extra,
        .row_room = frontier_csv_room(&csv, frontier->axes) + frontier_columns_room(&extra),
        .write = sink_write,
        .write_context = sink,
        .pace = sink_pace,
        .part = sink->part,
        .keep = sink->keep,
        .speed = frontier_csv_speed,
        .speed_context = &csv,
        .counts = counts,
    };
    struct pool *pool = pool_create(threads);
    enum status status = sweep_run(&frontier->sweep, pool, &output, err);
    pool_free(pool);
    if (sink->progress)
        fputs("\r     \r", stderr);
    if (status == STATUS_OK && sink->keep.reduce == REDUCE_COUNT)
        status = write_counts(sink, counts, frontier->arena, err);
    return status;
}

enum status frontier_rows_few(uint64_t points, struct err *err)
{
    if (points <= FRONTIER_TABLE_POINTS)
        return STATUS_OK;
    err_set(err, STATUS_USAGE, "%llu points are too many for a table or a chart, at most %d",
            (unsigned long long)points, FRONTIER_TABLE_POINTS);
    return err_hint(err, "write them to a file: -o points.csv, or --format csv");
}

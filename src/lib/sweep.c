/* Sweeps through the library: points as structs, one after another. */
#include <assert.h>
#include <string.h>

#include "lib/frontier.h"
#include "lib/handle.h"

enum { WALL = 256 };

/* A point as sweep_run carries it from where it is evaluated to where rows are taken. */
struct row {
    size_t indices[SWEEP_AXES];
    bool valid;
    enum verdict verdict;
    uint64_t total_bytes, limit_bytes, state_bytes, temp_bytes;
    char wall[WALL], why[RULE_TEXT];
};

struct taker {
    const struct frontier *frontier;
    moeplan_on_point *function;
    void *context;
    uint64_t number;
    bool stopped;
};

static size_t make_row(const void *context, const size_t indices[SWEEP_AXES],
                       const struct plan *plan, const struct evaluation *result, char *out,
                       size_t room)
{
    (void)context;
    struct row row = {.valid = result->valid};
    assert(room >= sizeof row);
    memcpy(row.indices, indices, sizeof row.indices);
    if (result->valid) {
        row.verdict = result->verdict;
        row.total_bytes = result->peak.total_bytes;
        row.limit_bytes = result->limit_bytes;
        row.state_bytes = result->peak.state_bytes;
        row.temp_bytes = result->peak.temp_bytes;
        if (result->wall)
            snprintf(row.wall, sizeof row.wall, "%s", result->wall->name);
    } else {
        frontier_why(plan, row.why);
    }
    memcpy(out, &row, sizeof row);
    return sizeof row;
}

static bool take_row(struct taker *taker, const struct row *row)
{
    const struct frontier *f = taker->frontier;
    const char *values[SWEEP_AXES];
    for (size_t i = 0; i < f->n_axes; i++)
        values[i] = f->axes[i].values[row->indices[i]].label;
    const struct moeplan_point point = {
        .number = taker->number++,
        .points = sweep_points(&f->sweep),
        .n_values = f->n_axes,
        .values = values,
        .verdict = row->valid ? verdict_name(row->verdict) : "invalid",
        .total_bytes = row->total_bytes,
        .limit_bytes = row->limit_bytes,
        .state_bytes = row->state_bytes,
        .temp_bytes = row->temp_bytes,
        .wall = row->wall,
        .why = row->why,
    };
    return taker->function(taker->context, &point) == 0;
}

static enum status take_rows(void *context, const char *bytes, size_t n, uint64_t done,
                             struct err *err)
{
    struct taker *taker = context;
    (void)done;
    for (size_t at = 0; at < n; at += sizeof(struct row)) {
        struct row row;
        memcpy(&row, bytes + at, sizeof row);
        if (take_row(taker, &row))
            continue;
        taker->stopped = true;
        return err_set(err, STATUS_SYSTEM, "the sweep was stopped by its caller");
    }
    return STATUS_OK;
}

struct sweep_ask {
    const struct moeplan_axes *axes;
    struct taker taker;
};

static enum status run_sweep(struct handle_call *call)
{
    struct sweep_ask *ask = call->state;
    const struct frontier_axes axes = {ask->axes->cases, ask->axes->n_cases, ask->axes->overs,
                                       ask->axes->n_overs};
    struct frontier *frontier = arena_alloc(&call->arena, 1, sizeof *frontier);
    struct request request;
    TRY(frontier_axes_read(frontier, &axes, &call->arena, &call->err));
    TRY(handle_read(call, call->plan, &request));
    TRY(frontier_init(frontier, &request, &call->err));
    ask->taker.frontier = frontier;
    const struct sweep_output output = {.row = make_row,
                                        .row_room = sizeof(struct row),
                                        .write = take_rows,
                                        .write_context = &ask->taker};
    return sweep_run(&frontier->sweep, NULL, &output, &call->err);
}

int moeplan_sweep(const struct moeplan_plan *plan, const struct moeplan_axes *axes,
                  moeplan_on_point *function, void *context, struct moeplan_error *error)
{
    struct sweep_ask ask = {axes, {.function = function, .context = context}};
    struct handle_call call = {.plan = plan, .state = &ask};
    int status = handle_run(&call, run_sweep, NULL, NULL, error);
    if (status == MOEPLAN_OK || !ask.taker.stopped)
        return status;
    if (error)
        error->status = MOEPLAN_STOPPED;
    return MOEPLAN_STOPPED;
}

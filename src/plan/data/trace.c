/* The routing and placement files that a plan names; see trace.h. Their readers stand in
 * trace_csv.c and trace_npy.c. */
#include "plan/data/trace.h"

#include "base/file.h"
#include "base/text.h"

enum { FILE_LIMIT = 1 << 30 };

static enum status load_trace(const char *file, struct arena *arena, const struct trace **out,
                              struct err *err)
{
    char *text;
    size_t length;
    struct trace *trace = arena_alloc(arena, 1, sizeof *trace);
    TRY(file_read(file, FILE_LIMIT, arena, &text, &length, err));
    if (text_ends(file, ".npy"))
        TRY(trace_read_npy(file, (const unsigned char *)text, length, arena, trace, err));
    else
        TRY(trace_read_csv(file, text, length, arena, trace, err));
    *out = trace;
    return STATUS_OK;
}

static enum status check_trace(const struct plan *plan, const struct trace *trace,
                               struct err *err)
{
    const struct routing *routing = &plan->moe.routing;
    struct mark file = {routing->file, 0, 0};
    uint64_t experts = plan->model.moe.experts, top_k = plan->model.moe.top_k;
    if (trace->experts > experts || (trace->counts && trace->experts != experts)) {
        err_at(err, file, "the trace has %llu experts, the model %llu",
               (unsigned long long)trace->experts, (unsigned long long)experts);
        return err_hint(err, "give a trace of this model as moe.routing.file, or its experts "
                             "as model.moe.experts");
    }
    if (trace->ids && trace->top_k != top_k)
        return err_at(err, file,
                      "the trace has %llu experts per token, the model's top_k is %llu",
                      (unsigned long long)trace->top_k, (unsigned long long)top_k);
    return STATUS_OK;
}

static enum status load_table(const struct plan *plan, struct arena *arena,
                              struct routing_data *out, struct err *err)
{
    const char *file = plan->moe.routing.placement_file;
    char *text;
    size_t length;
    TRY(file_read(file, FILE_LIMIT, arena, &text, &length, err));
    TRY(placement_read_csv(file, text, length, arena, &out->owner, &out->n_owner, err));
    if (out->n_owner != plan->model.moe.experts)
        return err_at(
            err, (struct mark){file, 0, 0}, "the placement has %llu experts, the model %llu",
            (unsigned long long)out->n_owner, (unsigned long long)plan->model.moe.experts);
    for (uint64_t e = 0; e < out->n_owner; e++)
        if (out->owner[e] >= plan->parallel.ep)
            return err_at(err, (struct mark){file, 0, 0},
                          "expert %llu is on rank %u, the plan's ep is %llu",
                          (unsigned long long)e, out->owner[e],
                          (unsigned long long)plan->parallel.ep);
    return STATUS_OK;
}

enum status routing_data_load(const struct plan *plan, struct arena *arena,
                              struct routing_data *out, struct err *err)
{
    const struct routing *routing = &plan->moe.routing;
    struct routing_data data = {0};
    if (routing->distribution == DISTRIBUTION_TRACE) {
        if (!*routing->file)
            return err_set(err, STATUS_INPUT,
                           "moe.routing.distribution 'trace' needs moe.routing.file");
        TRY(load_trace(routing->file, arena, &data.trace, err));
        TRY(check_trace(plan, data.trace, err));
    }
    if (routing->placement == PLACEMENT_TABLE) {
        if (!*routing->placement_file)
            return err_set(err, STATUS_INPUT,
                           "moe.routing.placement 'table' needs "
                           "moe.routing.placement_file");
        TRY(load_table(plan, arena, &data, err));
    }
    *out = data;
    return STATUS_OK;
}

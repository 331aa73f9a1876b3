/* predict of mode serve: the decode step of all sequences, with the memory of the worse of
 * decode and prefill, and the time that the scheduler plays. */
#include "base/text.h"
#include "plan/derive.h"
#include "sim/answer/notes.h"
#include "sim/answer/predict.h"
#include "sim/serve/serve.h"

/* Bytes over the limit; less than nothing where it fits. */
static int64_t over_limit(const struct prediction *p)
{
    return -p->memory.margin_bytes;
}

/* What keeps requests waiting. */
static const char *cap_text(const struct plan *plan, const struct serve_load *load,
                            struct arena *arena)
{
    unsigned long long held = load->sequences, all = load->requests;
    if (plan_arrives(plan))
        return arena_printf(arena, "%s holds %llu of a replica's %llu sequences at most",
                            load->capped, held, all);
    return arena_printf(arena, "%llu of %llu requests a replica wait: %s", all - held, all,
                        load->capped);
}

/* What the times of requests rest on, before the notes of any plan. */
static void add_notes(const struct plan *plan, const struct predict_options *options,
                      const struct serve_load *load, struct arena *arena,
                      struct prediction *out)
{
    enum { OWN = 2 };
    size_t n;
    const struct note *others = notes_of(plan, options->origins, arena, &n);
    bool arrives = plan_arrives(plan);
    struct note *notes = arena_alloc(arena, n + OWN, sizeof *notes);
    out->n_notes = 0;
    if (load->capped)
        notes[out->n_notes++] =
            (struct note){arrives ? "workload.request_rate" : "workload.concurrency",
                          cap_text(plan, load, arena)};
    if (arrives)
        notes[out->n_notes++] =
            (struct note){"workload.request_rate",
                          "unvalidated: the profile's runs are closed loops, no data judge the "
                          "queue of an open one"};
    for (size_t i = 0; i < n; i++)
        notes[out->n_notes++] = others[i];
    out->notes = notes;
}

static enum status predict_serve(const struct plan *plan, const struct predict_options *options,
                                 struct arena *arena, struct prediction *out, struct err *err)
{
    struct plan *steps = arena_alloc(arena, 2, sizeof *steps);
    struct predict_options decode = *options, prefill = *options;
    struct prediction other;
    struct serve_load load;
    decode.time = prefill.time = NULL;
    decode.origins = prefill.origins = NULL;
    decode.fixes = prefill.fixes = false;
    prefill.ops = NULL;
    prefill.memory_only = true;
    TRY(serve_load_of(plan, arena, &load, err));
    serve_step_plan(plan, MODE_DECODE, load.sequences, &steps[0]);
    serve_step_plan(plan, MODE_PREFILL, load.sequences, &steps[1]);
    TRY(predict_step(&steps[0], &decode, arena, out, err));
    TRY(predict_step(&steps[1], &prefill, arena, &other, err));
    if (over_limit(&other) > over_limit(out))
        out->memory = other.memory;
    add_notes(plan, options, &load, arena, out);
    if (options->fixes && out->memory.verdict == VERDICT_OOM)
        out->memory.fixes =
            fix_find(plan, options->routing, options->time ? options->time->profile : NULL,
                     arena, &out->memory.n_fixes);
    return options->time ? time_of(plan, options->time, arena, &out->time, err) : STATUS_OK;
}

enum status predict(const struct plan *plan, const struct predict_options *options,
                    struct arena *arena, struct prediction *out, struct err *err)
{
    if (plan->workload.mode == MODE_SERVE)
        return predict_serve(plan, options, arena, out, err);
    return predict_step(plan, options, arena, out, err);
}

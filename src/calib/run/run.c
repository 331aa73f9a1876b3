/* Predict, perform, compare; see run.h. */
#include "calib/run/run.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/pool.h"
#include "base/unit.h"
#include "calib/run/run_block.h"
#include "sim/memory/overflow.h"
#include "sim/step/slice.h"
#include "calib/run/run_compare.h"
#include "calib/run/run_fix.h"
#include "calib/run/run_places.h"
#include "calib/run/run_probe.h"
#include "calib/run/run_summary.h"
#include "calib/run/run_trace.h"
#include "exec/execute.h"
#include "exec/gpu/group.h"
#include "exec/measure.h"
#include "plan/read/show.h"

/* FLOP of the oracle, which computes token by token in f64: half a second. */
static const double oracle_budget_flop = 4e8;
static const double measure_budget_s = 0.25, overhead_budget_s = 0.05;

const char *run_verdict_name(enum run_verdict verdict)
{
    static const char *const names[] = {"agrees", "metered", "disagrees", "oom", "dry run"};
    return names[verdict];
}

enum status run_host_plan(struct plan *plan, struct err *err)
{
    TRY(slice_kind_of(plan)->resolve(plan, err));
    plan->stack.kind = STACK_HOST;
    return STATUS_OK;
}

struct run {
    const struct plan *plan;
    const struct run_options *options;
    struct session *session;
    struct arena *arena;
    struct run_report *report;
    struct slice list;
    struct run_summary summary;
    struct clock_rates *clocks; /* of the devices before anything ran */
    struct gauge *gauge;        /* of the CPU's workers; NULL: nothing to hold them against */
};

/* ---- prediction ---- */

enum status run_check_rank(const struct plan *plan, const struct run_options *options,
                           struct err *err)
{
    const struct slice_kind *slice = slice_kind_of(plan);
    uint64_t ranks = slice->ranks(plan);
    if (!options->alone || (slice->routed && options->rank < ranks))
        return STATUS_OK;
    if (!slice->routed) {
        err_set(err, STATUS_USAGE,
                "option '--rank' takes one of the ranks that share experts, "
                "a matmul has none");
        return err_hint(err, "--set parallel.%s=1 performs it on one", slice->axis);
    }
    err_set(err, STATUS_USAGE, "there is no rank %llu in a group of %llu",
            (unsigned long long)options->rank, (unsigned long long)ranks);
    return err_hint(err, "ranks count from 0: --rank takes 0 to %llu",
                    (unsigned long long)ranks - 1);
}

static struct slice_ranks ranks_of(const struct run *run)
{
    const struct session *session = run->session;
    const struct run_options *options = run->options;
    if (!session && options->alone)
        return (struct slice_ranks){options->rank, 1, pool_cpus(), 1};
    if (!session)
        return (struct slice_ranks){0, slice_kind_of(run->plan)->ranks(run->plan), pool_cpus(),
                                    1};
    return (struct slice_ranks){session->transport->first, session->transport->n_local,
                                pool_size(session->pool), session->gpus ? session->gpus->n : 1};
}

static double fraction_of(const struct plan *plan)
{
    const double most = 0.9;
    return plan->memory.fraction > 0 ? plan->memory.fraction : most;
}

static uint64_t limit_of(const struct plan *plan, const struct run *run)
{
    double fraction = fraction_of(plan);
    if (run->session && run->session->gpu)
        return run_places_limit(&run->report->memory);
    uint64_t sharers = run->session ? run->session->transport->node_ranks : 1;
    uint64_t left = run->report->machine.memory_bytes;
    uint64_t taken = run->session ? run->session->blas_bytes : 0;
    left = left > taken ? left - taken : 0;
    return (uint64_t)(fraction * (double)left / (double)sharers);
}

/* All processes go on, or none. */
static enum status agree(const struct run *run, enum status mine, struct err *err)
{
    struct transport *transport = run->session ? run->session->transport : NULL;
    return transport ? transport->ops->agree(transport, mine, err) : mine;
}

/* The profile that the plan names, else what was probed; NULL where there is neither: what the
 * machine could do at most is what a measured time is held against then. */
static enum status take_profile(const struct run *run, const struct profile **out,
                                struct err *err)
{
    const struct run_probe *probe = run->options->probe;
    if (!run->plan->stack.profile[0]) {
        *out = probe ? probe->profile : NULL;
        run->report->time.profile = *out ? (*out)->name : NULL;
        run->report->time.origin = probe ? probe->origin : NULL;
        return STATUS_OK;
    }
    struct profile *profile = arena_alloc(run->arena, 1, sizeof *profile);
    TRY(profile_load(run->plan, run->arena, profile, err));
    run->report->time.profile = profile->name;
    *out = profile;
    return STATUS_OK;
}

/* What is needed whatever routing does, before much memory is taken to sample it; a sample of
 * little memory is taken all the same, as it says exactly what does not fit. */
static enum status check_least(const struct run *run, struct err *err)
{
    char need[48], have[48];
    uint64_t limit = limit_of(run->plan, run), bytes;
    if (slice_sample_bytes(run->plan) <= SLICE_LITTLE)
        return STATUS_OK;
    TRY(slice_least(run->plan, run->options->backward, ranks_of(run), &bytes, err));
    if (bytes <= limit)
        return STATUS_OK;
    unit_print(need, UNIT_BYTES, (double)bytes);
    unit_print(have, UNIT_BYTES, (double)limit);
    err_set(err, STATUS_NOFIT,
            "the layer needs %s at least, its routing sample included; this machine gives %s",
            need, have);
    return err_hint(err, "--shrink N performs a smaller plan, --rank N one rank of it");
}

/* Whether it fits in every process. */
static enum status check_fit(struct run *run, bool *fits, struct err *err)
{
    struct run_memory *memory = &run->report->memory;
    memory->limit_bytes = limit_of(run->plan, run);
    uint64_t over = memory->predicted_peak_bytes > memory->limit_bytes;
    over |= !run_places_fit(memory);
    if (run->session) {
        struct transport *transport = run->session->transport;
        TRY(transport->ops->sum(transport, &over, 1, err));
    }
    *fits = over == 0;
    return STATUS_OK;
}

/* Receive buffers of given size must hold what this step's sample sends: predict's question,
 * asked of the rows at hand. */
static enum status check_room(const struct slice *list, struct err *err)
{
    for (uint64_t i = 0; list->work.room.set && i < list->n; i++) {
        const uint64_t *v = list->slots[i].value;
        const struct demand demand = {
            .rows = v[SLOT_ROWS], .received = v[SLOT_RECEIVED], .padded = v[SLOT_PADDED_ROWS]};
        struct demand_room room = overflow_room(&list->work, list->values[i]);
        TRY(overflow_check(list->plan, list->first + i, &demand, &room, err));
    }
    return STATUS_OK;
}

static enum status predict_all(struct run *run, struct err *err)
{
    uint64_t exchange_bytes = 0;
    for (uint64_t step = 0; step < run->options->samples; step++) {
        if (step > 0)
            TRY(slice_step(&run->list, step, err));
        TRY(check_room(&run->list, err));
        run_summary_predict(&run->summary, &run->list);
        run_places_predict(&run->list, &run->report->memory);
        uint64_t bytes = slice_exchange_bytes(&run->list);
        exchange_bytes = bytes > exchange_bytes ? bytes : exchange_bytes;
    }
    if (run->options->samples > 1)
        TRY(slice_step(&run->list, 0, err));
    return run->session ? session_setup(run->session, exchange_bytes, err) : STATUS_OK;
}

/* ---- performance ---- */

static enum status check(struct run *run, struct execution *x, struct err *err)
{
    struct verify_options options = {.budget_flop = oracle_budget_flop,
                                     .seed = run->plan->moe.routing.seed};
    struct checks *checks = &run->report->checks;
    checks->out_hash = checks->integer_hash = 0;
    TRY(run_block_of(run->plan)->verify(x, &options, run->arena, checks, err));
    run_compare_counts(x, checks);
    run_loads_compare(x, checks);
    run_summary_count(&run->summary, x);
    return STATUS_OK;
}

static enum status measure(struct run *run, struct execution *x, struct err *err)
{
    struct measurement measured, overhead;
    struct measure_options options = {
        .repeat = run->options->repeat, .budget_s = measure_budget_s, .gauge = run->gauge};
    struct measure_options idle = {.repeat = run->options->repeat,
                                   .budget_s = overhead_budget_s};
    TRY(measure_run(x, &options, run->arena, &measured, err));
    if (run->clocks)
        run->report->clocks = run_places_clocks(run->session->gpus, run->clocks, run->arena);
    if (run->options->spans && !run->options->spans->n)
        TRY(run_trace(x, run->options->spans, err));
    TRY(execution_idle(x, true, run->arena, err));
    TRY(measure_run(x, &idle, run->arena, &overhead, err));
    run_summary_measure(&run->summary, &measured, &overhead);
    return execution_idle(x, false, run->arena, err);
}

static enum status perform_begun(struct run *run, struct execution *x, struct err *err)
{
    struct memory_peak peak;
    TRY(measure(run, x, err));
    slice_peak(&run->list, run->arena, &peak);
    run_compare_memory(x, &peak, &run->report->checks);
    run_places_compare(x, &run->list, &run->report->memory, &run->report->checks);
    run_summary_meter(&run->summary, x, &peak);
    return STATUS_OK;
}

static void tell(const struct run *run, const char *what, uint64_t sample)
{
    if (run->options->begins)
        run->options->begins(what, sample);
}

static enum status perform_sample(struct run *run, uint64_t step, struct err *err)
{
    struct execution x;
    struct inputs inputs;
    struct execution_setup setup = {.work = &run->list.work,
                                    .plan = run->plan,
                                    .sample = run->list.sample,
                                    .slots = run->list.slots,
                                    .session = run->session,
                                    .backend = run->options->backend};
    TRY(execution_init(&x, &setup, run->arena, err));
    tell(run, "checking", step);
    if (!backend_of(run->options->backend)->idle)
        TRY(check(run, &x, err));
    tell(run, "measuring", step);
    run_block_of(run->plan)->make_inputs(run->plan, run->arena, &inputs);
    meter_resident_mark();
    uint64_t before = meter_resident_bytes();
    enum status status = execution_begin(&x, &inputs, err);
    if (status == STATUS_OK)
        status = perform_begun(run, &x, err);
    execution_end(&x);
    uint64_t most = meter_resident_peak_bytes();
    run_summary_resident(&run->summary, most > before ? most - before : 0);
    return status;
}

/* Where the CPU performs what a probe's profile predicts. */
static void begin_gauge(struct run *run, const struct profile *profile)
{
    double probed = run_probe_products(profile, &run->plan->cluster);
    if (!(probed > 0) || run->session->gpus || backend_of(run->options->backend)->idle)
        return;
    struct gauge *gauge = arena_alloc(run->arena, 1, sizeof *gauge);
    run->gauge = gauge_open(gauge, run->session) ? gauge : NULL;
    run->report->time.products_probed_flop_per_s = run->gauge ? probed : 0;
}

static enum status perform_all(struct run *run, struct err *err)
{
    for (uint64_t step = 0; step < run->options->samples; step++) {
        if (step > 0)
            TRY(slice_step(&run->list, step, err));
        TRY(perform_sample(run, step, err));
    }
    return STATUS_OK;
}

/* A disagreement between ranks while running is a result, like any failed check. */
static enum status note_mismatch(struct run *run, enum status status, struct err *err)
{
    if (status != STATUS_MISMATCH)
        return status;
    struct check *check = checks_add(&run->report->checks, "performed", 1, 0);
    snprintf(check->detail, sizeof check->detail, "%.150s", err->text);
    err_clear(err);
    return STATUS_OK;
}

/* ---- several processes ---- */

static uint64_t fingerprint(const struct plan *plan, const struct run_options *options)
{
    struct arena arena = {0};
    struct text text = {.arena = &arena};
    const uint64_t numbers[] = {options->backend, options->backward, options->samples,
                                options->repeat};
    plan_print(plan, &text);
    uint64_t hash = hash_bytes(HASH_START, numbers, sizeof numbers);
    hash = hash_bytes(hash, text_string(&text), text.length);
    arena_release(&arena);
    return hash;
}

enum status run_check_same(const struct plan *plan, const struct run_options *options,
                           struct transport *transport, struct err *err)
{
    double hash = (double)(fingerprint(plan, options) >> 12); /* exact as a double */
    double ends[] = {hash, -hash};
    TRY(transport->ops->max(transport, ends, 2, err));
    if (ends[0] + ends[1] <= 0)
        return STATUS_OK;
    err_set(err, STATUS_INPUT, "the processes do not have the same plan and options");
    return err_hint(err, "start all of them with one command line and one plan file");
}

/* ---- the whole ---- */

static bool beyond_band(const struct run_report *report, double percent)
{
    return percent >= 0 && !(fabs(report->time.ratio - 1) * 100 <= percent);
}

/* A harness has neither a rate nor a time that was predicted. */
static void leave_out_rates(struct run_report *report)
{
    for (size_t i = 0; i < report->n_ops; i++) {
        struct run_op *op = &report->ops[i];
        op->ratio = op->flop_per_s = op->bytes_per_s = (double)NAN;
    }
    report->time.ratio = report->time.tokens_per_s = (double)NAN;
}

static void judge(struct run *run)
{
    struct run_report *report = run->report;
    report->time.judged = run->options->band_percent >= 0;
    report->time.within = !beyond_band(report, run->options->band_percent);
    bool agrees = checks_passed(&report->checks) && report->time.within;
    bool performs = run->options->backend != BACKEND_NULL;
    if (!performs)
        leave_out_rates(report);
    report->verdict = !agrees ? RUN_DISAGREES : performs ? RUN_AGREES : RUN_METERED;
}

/* Where it is performed, when that is not the CPU. */
static const char *device_of(const struct run *run)
{
    const struct gpu *gpu = run->session->gpu;
    if (!gpu)
        return NULL;
    struct text text = {.arena = run->arena};
    char kernels[400];
    gpu_kernels_text(gpu, kernels, sizeof kernels);
    for (unsigned i = 0; i < run->session->gpus->n; i++)
        text_printf(&text, "%s%s", i ? ", " : "", gpu_where(run->session->gpus->of[i]));
    text_printf(&text, ", %s, %s; %s", gpu_facts(gpu)->name, gpu_facts(gpu)->driver, kernels);
    return text_string(&text);
}

/* How what ranks exchange gets from device to device; never a rate of a network. */
static const char *links_of(const struct run *run)
{
    const struct gpu_group *gpus = run->session->gpus;
    struct text text = {.arena = run->arena};
    char between[200];
    if (!gpus)
        return NULL;
    uint64_t ranks = run->session->transport->n_local;
    gpu_group_text(gpus, between, sizeof between);
    text_append(&text, between);
    if (ranks > gpus->n)
        text_printf(&text,
                    "%s%llu ranks on %u device%s, each alone: the slowest counts; "
                    "exchanges on a device are copies in its memory, links unmeasured",
                    between[0] ? "; " : "", (unsigned long long)ranks, gpus->n,
                    gpus->n > 1 ? "s" : "");
    return text.length ? text_string(&text) : NULL;
}

static void begin_report(struct run *run)
{
    struct run_report *report = run->report;
    report->backend = backend_of(run->options->backend)->name;
    report->work = &run->list.work;
    report->values = run->list.values[0];
    report->routed = slice_kind_of(run->plan)->routed;
    report->alone = run->options->alone;
    report->staged = report->alone && backend_of(run->options->backend)->far;
    report->rank = run->options->rank;
    report->ranks = slice_kind_of(run->plan)->ranks(run->plan);
    report->transport = run->session ? run->session->transport->ops->name : "local";
    if (!run->session)
        return;
    report->snapshot = run->session->snapshot;
    report->blas = run->session->blas.name;
    report->warning = run->session->warning;
}

static void begin_devices(struct run *run)
{
    const struct gpu_group *gpus = run->session->gpus;
    run_places_init(gpus, fraction_of(run->plan), run->arena, &run->report->memory);
    run->clocks = arena_alloc(run->arena, gpus->n, sizeof *run->clocks);
    for (unsigned i = 0; i < gpus->n; i++)
        run->clocks[i] = clock_read(gpu_clock(gpus->of[i]));
}

static enum status perform(struct run *run, struct err *err)
{
    bool fits;
    const struct run_options *options = run->options;
    if (run->session && run->session->gpus)
        begin_devices(run);
    TRY(agree(run, check_least(run, err), err));
    TRY(slice_init(run->plan, options->routing, options->backward, ranks_of(run), run->arena,
                   &run->list, err));
    const struct profile *profile = NULL;
    TRY(agree(run, take_profile(run, &profile, err), err));
    run_summary_init(&run->summary, run->plan, &run->list, profile, options->samples,
                     run->arena, run->report);
    run->summary.in_turn = run->session && run->session->gpus;
    TRY(agree(run, predict_all(run, err), err));
    begin_report(run);
    TRY(check_fit(run, &fits, err));
    if (!fits) {
        run->report->verdict = RUN_OOM;
        run_find_fixes(run->plan, options, run->report->memory.limit_bytes, ranks_of(run),
                       run->arena, run->report);
    } else if (options->dry_run) {
        run->report->verdict = RUN_DRY;
    } else {
        const struct run_memory *memory = &run->report->memory;
        if (options->takes)
            options->takes(memory->predicted_peak_bytes, memory->limit_bytes);
        begin_gauge(run, profile);
        enum status status = note_mismatch(run, perform_all(run, err), err);
        run->report->time.products_flop_per_s = gauge_rate(run->gauge);
        gauge_close(run->gauge);
        TRY(status);
        TRY(run_compare_everywhere(run->session->transport, &run->report->checks, err));
        run->report->device = device_of(run);
        run->report->links = links_of(run);
        run_places_after(run->session->gpus, &run->report->memory);
    }
    TRY(run_summary_close(&run->summary, run->session, err));
    if (fits && !options->dry_run)
        judge(run);
    return STATUS_OK;
}

enum status run_perform(const struct plan *plan, const struct run_options *options,
                        struct session *session, struct arena *arena, struct run_report *out,
                        struct err *err)
{
    struct run *run = arena_alloc(arena, 1, sizeof *run); /* the report points into it */
    *run = (struct run){
        .plan = plan, .options = options, .session = session, .arena = arena, .report = out};
    memset(out, 0, sizeof *out);
    machine_describe(&out->machine);
    return perform(run, err);
}

/* moeplan run: the plan's MoE layer or matmul performed on this machine, checked and measured.
 */
#include <stdlib.h>

#include "base/unit.h"
#include "calib/run/run.h"
#include "calib/run/run_block.h"
#include "calib/run/run_probe.h"
#include "calib/run/run_share.h"
#include "calib/run/run_shrink.h"
#include "calib/run/run_step.h"
#include "cli/command/commands.h"
#include "cli/command/trace.h"
#include "cli/option/plan_argument.h"
#include "report/run/print.h"

struct settings {
    const char *backend, *transport, *through, *device, *trace, *probe;
    bool backward, dry_run;
    uint64_t shrink, rank, repeat, samples, workers;
    double band, timeout;
};

static const struct option options[] = {
    {"backend", 0, OPTION_TEXT, offsetof(struct settings, backend), "cpu|gpu|null", NULL,
     "what performs the ops: the CPU, a GPU, or nothing: null meters bytes and times the "
     "harness"},
    {"device", 0, OPTION_TEXT, offsetof(struct settings, device), "DRIVER:N,...", NULL,
     "with --backend gpu: which devices, as 'list devices' names them; default: the first"},
    {"transport", 0, OPTION_TEXT, offsetof(struct settings, transport), "local|mpi|nccl", NULL,
     "how rows travel: between ranks of this process, or between processes of mpirun; nccl: "
     "between GPUs of this process, by NCCL or RCCL"},
    {"through", 0, OPTION_TEXT, offsetof(struct settings, through), "host|device|nccl", NULL,
     "with --backend gpu --transport mpi: what rows pass through; device: MPI takes a GPU's "
     "memory, nccl: NCCL or RCCL does"},
    {"backward", 0, OPTION_FLAG, offsetof(struct settings, backward), NULL, NULL,
     "run the backward after the forward, with all gradients"},
    {"shrink", 0, OPTION_COUNT, offsetof(struct settings, shrink), "N 1..1000000", NULL,
     "divide the plan: N times fewer tokens, and ranks as far as N divides them"},
    {"rank", 0, OPTION_COUNT, offsetof(struct settings, rank), "N 0..1000000", NULL,
     "perform rank N of the expert-parallel group alone; what its peers send is made up"},
    {"dry-run", 0, OPTION_FLAG, offsetof(struct settings, dry_run), NULL, NULL,
     "print buffers and bytes, perform nothing"},
    {"trace", 0, OPTION_TEXT, offsetof(struct settings, trace), "FILE", NULL,
     "write three steps as performed as a Chrome trace, a track for each process"},
    {"probe", 0, OPTION_TEXT, offsetof(struct settings, probe), "auto|never|again", NULL,
     "where the plan names no profile: predict by what this machine reaches, probed once and "
     "kept; by the cluster's figures; probe anew. Default: $MOEPLAN_PROBE, else auto"},
    {"band", 0, OPTION_REAL, offsetof(struct settings, band), "PCT 0..100000", NULL,
     "fail (status 7) when time is further than PCT percent from its prediction"},
    {"repeat", 0, OPTION_COUNT, offsetof(struct settings, repeat), "N 1..100000", NULL,
     "measure N samples; default: as many as fit into a quarter of a second, at most 64"},
    {"samples", 0, OPTION_COUNT, offsetof(struct settings, samples), "N 1..1000", NULL,
     "routing samples to perform, each checked and measured; default 1"},
    {"workers", 0, OPTION_COUNT, offsetof(struct settings, workers), "N 1..1024", NULL,
     "threads of a process; default: one per CPU, under MPI one"},
    {"timeout", 0, OPTION_REAL, offsetof(struct settings, timeout), "SECONDS 0.001..1000000",
     NULL, "longest wait for another process of mpirun; default 60"},
};

enum { LARGE = 1 << 30 }; /* bytes */

static const uint64_t all_ranks = UINT64_MAX; /* --rank was not given */

static const struct settings defaults = {.backend = "cpu",
                                         .transport = "local",
                                         .shrink = 1,
                                         .rank = UINT64_MAX,
                                         .samples = 1,
                                         .band = -1};

/* From prepare to finish. */
struct state {
    struct plan plan;
    struct routing_data routing;
    struct run_options options;
    enum through through;
    struct session session;
    enum run_probe_use use;
    struct run_probe probe;
    struct span_list spans; /* with --trace */
    bool opened;
    const char *step, *shrunk;
};

/* ---- options ---- */

struct word {
    const char *name;
    int value;
};

static const struct word backends[] = {
    {"cpu", BACKEND_CPU},
    {"gpu", BACKEND_GPU},
    {"null", BACKEND_NULL},
};

static const struct word transports[] = {
    {"local", TRANSPORT_LOCAL},
    {"mpi", TRANSPORT_MPI},
    {"nccl", TRANSPORT_LOCAL}, /* between devices: `through` */
};

static const struct word ways[] = {
    {"host", THROUGH_HOST},
    {"device", THROUGH_DEVICE},
    {"nccl", THROUGH_NCCL},
};

static const struct word uses[] = {
    {"auto", RUN_PROBE_AUTO},
    {"never", RUN_PROBE_NEVER},
    {"again", RUN_PROBE_AGAIN},
};

static enum status find_word(const char *option, const char *text, const struct word *words,
                             size_t n, int *value, struct err *err)
{
    for (size_t i = 0; i < n; i++) {
        if (!text_equal(words[i].name, text))
            continue;
        *value = words[i].value;
        return STATUS_OK;
    }
    err_set(err, STATUS_USAGE, "option '--%s' does not know '%s'", option, text);
    return err_hint(err, "it takes one of: %s, %s, %s", words[0].name, words[1].name,
                    words[2].name);
}

/* What rows of GPUs pass through. */
static enum status read_through(const struct settings *settings, struct state *state,
                                int transport, struct err *err)
{
    int through = THROUGH_HOST;
    bool nccl = text_equal(settings->transport, "nccl");
    bool gpu = state->options.backend == BACKEND_GPU;
    if (settings->through)
        TRY(find_word("through", settings->through, ways, sizeof ways / sizeof *ways, &through,
                      err));
    if (settings->through && !(gpu && transport == TRANSPORT_MPI))
        return err_set(err, STATUS_USAGE,
                       "option '--through' is for --backend gpu --transport mpi");
    if (nccl && (!gpu || state->options.alone)) {
        err_set(err, STATUS_USAGE,
                "--transport nccl moves rows between GPUs: with --backend gpu"
                " and all ranks");
        return err_hint(err, "--backend gpu --device cuda:0,cuda:1 names one for each rank");
    }
    state->through = nccl ? THROUGH_NCCL : (enum through)through;
    return STATUS_OK;
}

static enum status read_use(const struct settings *settings, enum run_probe_use *use,
                            struct err *err)
{
    const char *word = settings->probe ? settings->probe : getenv("MOEPLAN_PROBE");
    int value = RUN_PROBE_AUTO;
    if (word && *word)
        TRY(find_word("probe", word, uses, sizeof uses / sizeof *uses, &value, err));
    *use = (enum run_probe_use)value;
    return STATUS_OK;
}

static enum status read_options(const struct settings *settings, struct state *state,
                                int *transport, struct err *err)
{
    int backend = 0;
    TRY(find_word("backend", settings->backend, backends, sizeof backends / sizeof *backends,
                  &backend, err));
    TRY(find_word("transport", settings->transport, transports,
                  sizeof transports / sizeof *transports, transport, err));
    if (settings->device && backend != BACKEND_GPU)
        return err_set(err, STATUS_USAGE, "option '--device' is for --backend gpu");
    TRY(read_use(settings, &state->use, err));
    if (settings->band >= 0 && backend == BACKEND_NULL)
        return err_set(err, STATUS_USAGE,
                       "options '--band' and '--backend null' exclude each other: with nothing "
                       "performed no time can be judged");
    bool alone = settings->rank != all_ranks;
    if (alone && *transport == TRANSPORT_MPI) {
        err_set(err, STATUS_USAGE, "options '--rank' and '--transport mpi' exclude each other");
        return err_hint(err, "mpirun makes a rank of every process; --rank performs one alone");
    }
    if (settings->dry_run && settings->trace) {
        err_set(err, STATUS_USAGE, "options '--dry-run' and '--trace' exclude each other");
        return err_hint(err, "a trace shows steps as they were performed");
    }
    state->options = (struct run_options){.backend = (enum backend_kind)backend,
                                          .backward = settings->backward,
                                          .dry_run = settings->dry_run,
                                          .samples = settings->samples,
                                          .repeat = settings->repeat,
                                          .alone = alone,
                                          .rank = alone ? settings->rank : 0,
                                          .band_percent = settings->band,
                                          .routing = &state->routing,
                                          .spans = settings->trace ? &state->spans : NULL};
    return read_through(settings, state, *transport, err);
}

/* ---- the command ---- */

static enum status load(const struct invocation *call, struct state *state, struct err *err)
{
    const struct settings *settings = call->settings;
    TRY(plan_argument_load(call, 0, &state->plan, NULL, err));
    TRY(run_take_step(&state->plan, call->arena, &state->step, err));
    TRY(run_host_plan(&state->plan, err));
    if (settings->shrink != 1)
        TRY(run_shrink(&state->plan, settings->shrink, call->arena, &state->shrunk, err));
    TRY(run_check_rank(&state->plan, &state->options, err));
    return routing_data_load(&state->plan, call->arena, &state->routing, err);
}

static enum status open_session(const struct settings *settings, struct state *state,
                                enum transport_kind transport, uint64_t ranks, struct err *err)
{
    struct session_options open = {.transport = transport,
                                   .ranks = ranks,
                                   .rank = state->options.rank,
                                   .workers = (unsigned)settings->workers,
                                   .gpu = state->options.backend == BACKEND_GPU,
                                   .device = settings->device,
                                   .through = state->through,
                                   .timeout_s = settings->timeout};
    state->opened = true;
    return session_open(&state->session, &open, err);
}

/* Ranks of one process are predicted by what CPU or GPUs reach, where the plan names no
 * profile: processes of mpirun share a machine as one probe cannot know. */
static void take_probe(const struct invocation *call, struct state *state)
{
    const struct settings *settings = call->settings;
    const struct session *session = &state->session;
    if (state->plan.stack.profile[0] || state->options.backend == BACKEND_NULL)
        return;
    bool watched = term_is_watched(stderr);
    if (watched)
        fputs("\rprobing this machine ", stderr);
    run_probe(state->use, session, settings->device, call->arena, &state->probe);
    if (watched)
        fputs("\r                      \r", stderr);
    state->options.probe = &state->probe;
    if (state->probe.profile)
        run_probe_rates(&state->probe, &state->plan);
}

static uint64_t number_in(const char *first, const char *second)
{
    const char *word = getenv(first) ? getenv(first) : getenv(second);
    return word ? strtoull(word, NULL, 10) : 0;
}

/* Of several processes each performs all ranks unless it is told otherwise: one of them says
 * so, by what Open MPI, or MPICH and those like it, tell processes. */
static void warn_of_copies(void)
{
    uint64_t n = number_in("OMPI_COMM_WORLD_SIZE", "PMI_SIZE");
    if (n > 1 && number_in("OMPI_COMM_WORLD_RANK", "PMI_RANK") == 0)
        fprintf(stderr,
                "moeplan: warning: each of the %llu processes that MPI started performs all "
                "ranks: --transport mpi makes one a rank\n",
                (unsigned long long)n);
}

/* All processes go on, or none: each waits for what the others say about their plans. */
static enum status agree_on_plan(struct state *state, enum status status, struct err *err)
{
    struct transport *transport = state->session.transport;
    TRY(transport->ops->agree(transport, status, err));
    TRY(run_check_same(&state->plan, &state->options, transport, err));
    const struct slice_kind *slice = slice_kind_of(&state->plan);
    return session_check_ranks(&state->session, slice->axis, slice->ranks(&state->plan), err);
}

/* MPI is opened before the plan is read, so that a process that cannot read it can tell. */
static enum status prepare_run(struct invocation *call, struct err *err)
{
    const struct settings *settings = call->settings;
    struct state *state = arena_alloc(call->arena, 1, sizeof *state);
    int transport = TRANSPORT_LOCAL;
    call->state = state;
    state->spans.arena = call->arena;
    TRY(read_options(settings, state, &transport, err));
    if (settings->trace)
        TRY(trace_check(call, settings->trace, err));
    if (transport == TRANSPORT_LOCAL || settings->dry_run) {
        TRY(load(call, state, err));
        uint64_t ranks = slice_kind_of(&state->plan)->ranks(&state->plan);
        enum transport_kind kind = state->options.alone ? TRANSPORT_SHARE : TRANSPORT_LOCAL;
        if (settings->dry_run)
            return STATUS_OK;
        warn_of_copies();
        TRY(open_session(settings, state, kind, ranks, err));
        take_probe(call, state);
        return STATUS_OK;
    }
    TRY(open_session(settings, state, TRANSPORT_MPI, 0, err));
    call->silent = state->session.transport->first != 0;
    return agree_on_plan(state, load(call, state, err), err);
}

static void print(const struct invocation *call, const struct run_view *view)
{
    static void (*const printers[])(const struct run_view *view) = {
        [FORMAT_TEXT] = run_print_text,
        [FORMAT_JSON] = run_print_json,
        [FORMAT_CSV] = run_print_csv,
    };
    if (view->report->warning && view->report->warning[0] && !call->silent)
        fprintf(stderr, "moeplan: warning: %s\n", view->report->warning);
    printers[call->general.format](view);
}

/* On a terminal, while a large layer takes its time. */
static void show_progress(const char *what, uint64_t sample)
{
    fprintf(stderr, "\r%s, sample %llu ", what, (unsigned long long)sample + 1);
}

/* Of what is taken for a while and not little, before it is. */
static void show_memory(uint64_t bytes, uint64_t limit)
{
    char need[48], have[48];
    if (bytes < LARGE)
        return;
    unit_print(need, UNIT_BYTES, (double)bytes);
    unit_print(have, UNIT_BYTES, (double)limit);
    fprintf(stderr,
            "moeplan: the layer takes %s of the %s that this machine can give (--dry-run says "
            "of what)\n",
            need, have);
}

static enum status perform(const struct invocation *call, struct state *state,
                           struct run_report *report, struct err *err)
{
    bool progress = term_is_watched(stderr) && !call->silent;
    if (progress)
        state->options.begins = show_progress;
    if (!call->silent)
        state->options.takes = show_memory;
    enum status status =
        run_perform(&state->plan, &state->options, state->opened ? &state->session : NULL,
                    call->arena, report, err);
    if (progress)
        fputs("\r                              \r", stderr);
    return status;
}

static enum status run_run(const struct invocation *call, struct err *err)
{
    static const enum status statuses[] = {[RUN_AGREES] = STATUS_OK,
                                           [RUN_METERED] = STATUS_OK,
                                           [RUN_DISAGREES] = STATUS_MISMATCH,
                                           [RUN_OOM] = STATUS_NOFIT,
                                           [RUN_DRY] = STATUS_OK};
    const struct settings *settings = call->settings;
    struct state *state = call->state;
    struct run_report *report = arena_alloc(call->arena, 1, sizeof *report);
    enum status status = perform(call, state, report, err);
    if (state->opened)
        status = state->session.transport->ops->agree(state->session.transport, status, err);
    TRY(status);
    const struct run_view view = {
        .plan = &state->plan,
        .report = report,
        .provenance = request_provenance(&state->plan, report->time.profile),
        .step = state->step,
        .shrunk = state->shrunk,
        .share = run_share(&state->plan, call->arena),
        .out = call->out,
        .term = &call->term,
        .arena = call->arena,
    };
    const struct trace_view trace = {&state->spans, "measured", &view.provenance};
    if (state->spans.n && !call->silent)
        TRY(trace_write(&trace, settings->trace, err)); /* before an answer is printed */
    print(call, &view);
    return statuses[report->verdict];
}

static void finish_run(struct invocation *call)
{
    struct state *state = call->state;
    if (state && state->opened)
        session_close(&state->session);
}

static const char *const examples[] = {
    "moeplan run examples/host-small.yaml",
    "moeplan run examples/host-small.yaml --set moe.path=deepep --backward",
    "moeplan run examples/host-small.yaml --format json -o run.json",
    "moeplan run examples/host-small.yaml --backward --trace run-trace.json",
    "moeplan run examples/host-collective.yaml --set block.kind=mlp",
    "moeplan run examples/host-deepseek-rank.yaml --rank 0",
    "mpirun -np 2 moeplan run examples/host-small.yaml --transport mpi",
    "moeplan run examples/host-small.yaml --backend gpu --device opencl:0",
    "moeplan run examples/host-small.yaml --backend gpu --device cuda:0,cuda:1 --transport "
    "nccl",
    "mpirun -np 2 moeplan run examples/host-small.yaml --backend gpu --transport mpi --through "
    "nccl",
    NULL,
};

const struct command command_run = {
    .name = "run",
    .operands = "<plan.yaml>",
    .summary = "perform the plan's MoE layer here, checked, beside its prediction",
    .description =
        "Performs the ops of one MoE layer of the plan, the same that 'predict' prices, on "
        "the ranks of its expert-parallel group. Results are held against a reference before "
        "anything is timed; FLOP, bytes, rows, drops and memory are counted while the layer "
        "runs and must equal what was predicted. The plan's path is taken in every mode; its "
        "stack is 'host', in which every byte is a buffer of the list. Of an engine that "
        "serves the step is that of the sequences that its cache holds, as 'predict' has it. "
        "A layer is as large as the plan's: what takes a GiB or more says so before.\n\n"
        "Products multiply operands as they are stored and add in f32, whatever "
        "precision.compute says. Of what tp or etp splits, one rank's share is performed and "
        "named; the sum over the ranks is not. An MLP beside the experts reads the rows that "
        "the experts read. What cannot be performed as the plan says is refused by name.\n\n"
        "With block.kind other than moe it is one matmul, or an MLP, spread over "
        "tensor-parallel ranks; block.collective says how they reduce and gather.\n\n"
        "With --backend gpu the ops are performed on a GPU, through CUDA, HIP or OpenCL: "
        "kernels are compiled when they are first needed, memory is the device's, and the "
        "time of an op is the device's own. Ranks are dealt to the devices of --device in "
        "order. Those that share one take turns, each alone, and the slowest counts; "
        "exchanges between them are copies in its memory, and their times say nothing about a "
        "network. Between devices rows are copied by their driver, directly where it links "
        "them. A process of mpirun takes one of the devices, by its number on its machine.\n\n"
        "With --rank N one rank of the group is performed alone: it has the experts, tokens, "
        "rows and bytes that it has in the full run, and its peers are absent. Counts and row "
        "records that they send follow from the routing; their rows of numbers are made up, "
        "all alike for one peer, so that every result can be known. Exchanges are copies in "
        "memory then, and their times say nothing about a network; on a GPU, where these rows "
        "come through the host's memory, they are not timed.\n\n"
        "Time is compared with what stack.profile predicts, a profile as 'probe --profile' "
        "writes one. Where the plan names none, CPU or GPU is probed at the first run, in "
        "some seconds, and what it reached is kept in the user's cache folder "
        "($MOEPLAN_CACHE, $XDG_CACHE_HOME/moeplan or ~/.cache/moeplan), unless other work "
        "took part of the CPU. Over MPI and with --probe never it is the roofline of the "
        "cluster's figures: FLOP over peak, bytes over bandwidth.\n\n"
        "The status is 7 when bytes, rows or a check disagree, or time with --band; 4 when "
        "the layer does not fit this machine, with what would.",
    .examples = examples,
    .min_operands = 1,
    .max_operands = 1,
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .settings_size = sizeof(struct settings),
    .defaults = &defaults,
    .prepare = prepare_run,
    .run = run_run,
    .finish = finish_run,
};

/* moeplan probe: what this machine can do, as a cluster and a profile. */

#include "base/column.h"
#include "base/output.h"
#include "base/text.h"
#include "calib/run/probe_write.h"
#include "cli/command/commands.h"
#include "cli/command/side.h"
#include "plan/schema/schema.h"
#include "report/provenance.h"

struct settings {
    const char *cluster, *profile, *device;
    unsigned transport, backend;
    uint64_t ranks, workers;
};

static const struct settings defaults = {.ranks = 2};

static const char *const transports[] = {"local", "mpi", NULL};
static const char *const backends[] = {"cpu", "gpu", NULL};

static const struct option options[] = {
    {"cluster", 0, OPTION_TEXT, offsetof(struct settings, cluster), "FILE.yaml", NULL,
     "write this machine as a cluster, a device for each worker"},
    {"profile", 0, OPTION_TEXT, offsetof(struct settings, profile), "FILE.yaml", NULL,
     "write what it reaches as a profile of stack host"},
    {"backend", 0, OPTION_CHOICE, offsetof(struct settings, backend), "KIND", backends,
     "the CPU's workers, or a GPU by the kernels of run"},
    {"device", 0, OPTION_TEXT, offsetof(struct settings, device), "NAME:N,...", NULL,
     "with --backend gpu: which, as 'list devices' names them; default: the first. Of several "
     "the first is measured, and what they exchange"},
    {"transport", 0, OPTION_CHOICE, offsetof(struct settings, transport), "KIND", transports,
     "exchange between ranks of this process, or between processes of mpirun"},
    {"ranks", 0, OPTION_COUNT, offsetof(struct settings, ranks), "N 1..64", NULL,
     "ranks that exchange, of transport local (default: 2)"},
    {"workers", 0, OPTION_COUNT, offsetof(struct settings, workers), "N 1..1024", NULL,
     "threads of a process; default: one per CPU, under MPI one"},
};

/* From prepare to finish. */
struct state {
    struct session session;
};

/* ---- columns ---- */

static const char *kind_of(const void *record)
{
    return probe_kind_name(((const struct probe_point *)record)->kind);
}

static const char *unit_of(const void *record)
{
    return probe_kind_unit(((const struct probe_point *)record)->kind);
}

static const char *format_of(const void *record)
{
    const struct probe_point *point = record;
    return probe_is_product(point->kind) ? words_dtype[point->dtype] : NULL;
}

static bool has_rows(const void *record)
{
    return ((const struct probe_point *)record)->rows > 0;
}

static bool has_groups(const void *record)
{
    return ((const struct probe_point *)record)->groups > 0;
}

static bool has_depth(const void *record)
{
    return ((const struct probe_point *)record)->depth > 0;
}

static bool has_clock(const void *record)
{
    return ((const struct probe_point *)record)->clock_mhz > 0;
}

static bool has_bytes(const void *record)
{
    return ((const struct probe_point *)record)->bytes > 0;
}

#define POINT(name, member, type_of, when)                                                     \
    {                                                                                          \
        .key = name, .type = type_of, .offset = offsetof(struct probe_point, member),          \
        .present = when                                                                        \
    }

static const struct column columns[] = {
    {.key = "what", .type = COLUMN_NAME, .name = kind_of},
    {.key = "dtype", .type = COLUMN_NAME, .name = format_of},
    POINT("rows", rows, COLUMN_COUNT, has_rows),
    POINT("groups", groups, COLUMN_COUNT, has_groups),
    POINT("depth", depth, COLUMN_COUNT, has_depth),
    POINT("columns", columns, COLUMN_COUNT, has_rows),
    POINT("bytes", bytes, COLUMN_COUNT, has_bytes),
    POINT("value", value, COLUMN_REAL, NULL),
    POINT("low", low, COLUMN_REAL, NULL),
    POINT("high", high, COLUMN_REAL, NULL),
    {.key = "unit", .type = COLUMN_NAME, .name = unit_of},
    {.key = "clock",
     .title = "MHz",
     .type = COLUMN_COUNT,
     .name = NULL,
     .offset = offsetof(struct probe_point, clock_mhz),
     .present = has_clock},
};

enum { N_COLUMNS = sizeof columns / sizeof *columns };

/* ---- output ---- */

static struct table table_of(const struct probed *p)
{
    return (struct table){.columns = columns,
                          .n = N_COLUMNS,
                          .records = p->points,
                          .n_records = p->n,
                          .record_size = sizeof *p->points,
                          .indent = 2};
}

static void print_text(const struct invocation *call, const struct probed *p)
{
    const struct table table = table_of(p);
    if (p->gpu)
        fprintf(call->out, "%s; %s\n", p->gpu, p->blas);
    else
        fprintf(call->out, "%s, %llu workers, %s\n", p->machine->cpu,
                (unsigned long long)p->workers, p->blas);
    fprintf(call->out, "%s; median of %d rounds, least and most of them\n",
            p->gpu ? "by the device's clock" : "one worker while all work", PROBE_ROUNDS);
    if (probed_is_disturbed(p))
        fprintf(
            call->out,
            "beside other work, which took a worker's CPU %.0f times a second: these rates are "
            "lower than the machine's\n",
            p->preempted);
    fputc('\n', call->out);
    column_table(call->out, &call->term, &table, call->arena);
    fputc('\n', call->out);
    provenance_text(call->out, &call->term, &(struct provenance){.seed = 1});
}

static void print_json(const struct invocation *call, const struct probed *p)
{
    struct json json;
    json_init(&json, call->out);
    json_object(&json, NULL);
    provenance_json(&json, &(struct provenance){.seed = 1});
    json_string(&json, "cpu", p->machine->cpu);
    json_string(&json, "system", p->machine->system);
    if (p->gpu)
        json_string(&json, "device", p->gpu);
    json_string(&json, p->gpu ? "kernels" : "blas", p->blas);
    json_string(&json, "transport", p->transport);
    json_count(&json, "workers", p->workers);
    json_count(&json, "ranks", p->ranks);
    json_real(&json, "preempted_per_s", p->preempted);
    column_json_array(&json, "points", columns, N_COLUMNS, p->points, p->n, sizeof *p->points);
    json_close(&json);
}

static void print(const struct invocation *call, const struct probed *p)
{
    const struct table table = table_of(p);
    if (call->general.format == FORMAT_JSON)
        print_json(call, p);
    else if (call->general.format == FORMAT_CSV)
        column_table_csv(call->out, &table);
    else
        print_text(call, p);
}

static enum status write_file(const struct invocation *call, const char *option,
                              const char *path, const struct probed *p,
                              void (*write)(FILE *out, const struct probed *p), struct err *err)
{
    struct output output;
    if (!path || call->silent)
        return STATUS_OK;
    TRY(side_check_named(call, option, path, err));
    TRY(output_open(&output, path, err));
    write(output.file, p);
    return output_close(&output, err);
}

/* ---- the command ---- */

/* MPI decides who writes before the output is opened. */
static enum status prepare_probe(struct invocation *call, struct err *err)
{
    const struct settings *settings = call->settings;
    struct state *state = arena_alloc(call->arena, 1, sizeof *state);
    const struct session_options open = {.transport = settings->transport ? TRANSPORT_MPI
                                                                          : TRANSPORT_LOCAL,
                                         .ranks = settings->transport ? 0 : settings->ranks,
                                         .workers = (unsigned)settings->workers,
                                         .gpu = settings->backend != 0,
                                         .device = settings->device};
    TRY(side_refuse_yaml(call, "--cluster", err));
    if (settings->device && !settings->backend)
        return err_set(err, STATUS_USAGE, "option '--device' is for --backend gpu");
    if (settings->backend && settings->transport)
        return err_set(err, STATUS_USAGE,
                       "--backend gpu probes one device: without --transport");
    call->state = state;
    TRY(session_open(&state->session, &open, err));
    call->silent = state->session.transport->first != 0;
    return session_setup(&state->session, 0, err);
}

static enum status run_probe(const struct invocation *call, struct err *err)
{
    const struct settings *settings = call->settings;
    struct state *state = call->state;
    struct probed probed;
    TRY(probed_take(&state->session, call->arena, &probed, err));
    TRY(write_file(call, "--cluster", settings->cluster, &probed, probe_write_cluster, err));
    TRY(write_file(call, "--profile", settings->profile, &probed, probe_write_profile, err));
    print(call, &probed);
    return STATUS_OK;
}

static void finish_probe(struct invocation *call)
{
    struct state *state = call->state;
    if (state)
        session_close(&state->session);
}

static const char *const examples[] = {
    "moeplan probe",
    "moeplan probe --cluster here.yaml --profile host-here.yaml",
    "mpirun -np 2 moeplan probe --transport mpi",
    "moeplan probe --backend gpu --device opencl:0",
    "moeplan probe --backend gpu --device cuda:0,cuda:1 --cluster here.yaml",
    NULL,
};

const struct command command_probe = {
    .name = "probe",
    .operands = "",
    .summary = "measure this machine: a cluster file and a profile",
    .description =
        "Measures what this machine reaches: products by rows, sizes and format, and their "
        "gradients, by run's own kernels and BLAS; copying, reading, writing and gathering; "
        "the activation and its "
        "gradients; the cost of waking "
        "workers; exchanges between ranks by size. Every figure is one worker's while all of "
        "them work, the median of nine rounds that go over all points in turn, with the least "
        "and the most of them.\n"
        "\n"
        "With --cluster the machine is written as a cluster whose devices are workers, with "
        "--profile what it reaches of it as a profile of stack host: put them beside a plan "
        "as cluster and stack.profile.\n"
        "\n"
        "With --backend gpu one GPU is measured, through the kernels that run performs there: "
        "products of several experts on random data, copying, reading, writing and gathering "
        "of rows, the activation and its gradients, a launch by the device's clock; and of "
        "several what they exchange, all at once, by the copies that run makes. Of one GPU "
        "nothing is said about a link.",
    .examples = examples,
    .min_operands = 0,
    .max_operands = 0,
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .settings_size = sizeof(struct settings),
    .defaults = &defaults,
    .prepare = prepare_probe,
    .planless = true,
    .run = run_probe,
    .finish = finish_probe,
};

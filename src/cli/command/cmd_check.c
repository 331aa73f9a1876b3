/* moeplan check: the gate for scripts, a line and a status. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/column.h"
#include "base/number.h"
#include "cli/command/commands.h"
#include "cli/option/plan_argument.h"
#include "plan/data/trace.h"
#include "plan/engine.h"
#include "cli/command/schemas.h"
#include "report/amount.h"
#include "report/provenance.h"
#include "report/schema_json.h"
#include "sim/answer/predict.h"
#include "sim/serve/serve.h"

struct settings {
    double most_chance; /* above 1: not given */
    const char *least_margin;
};

static const struct settings defaults = {.most_chance = 2};

static const struct option options[] = {
    {"max-oom-probability", 0, OPTION_REAL, offsetof(struct settings, most_chance), "P 0..1",
     NULL, "stop where a step of sampled routing runs out of memory more often than this"},
    {"min-margin", 0, OPTION_TEXT, offsetof(struct settings, least_margin), "5%|SIZE", NULL,
     "stop where less than this is free: percent of the limit (0% to 100%) or '2 GiB'"},
};

/* The line, as programs read it. */
struct answer {
    const char *result, *verdict, *why; /* why: what stops it; NULL when it passes */
    const char *shorter;                /* serve_fitted_text */
    uint64_t total_bytes, limit_bytes;
    int64_t margin_bytes;
    double oom_probability; /* not a number: nothing depends on sampled routing */
};

static bool is_stopped(const void *record)
{
    return ((const struct answer *)record)->why != NULL;
}

static bool is_sampled(const void *record)
{
    return !isnan(((const struct answer *)record)->oom_probability);
}

/* A member that is not always there. */
#define WHERE(condition, member, kind)                                                         \
    {                                                                                          \
        .key = #member, .type = kind, .offset = offsetof(struct answer, member),               \
        .present = condition                                                                   \
    }

static const struct column columns[] = {
    COLUMN(answer, result, COLUMN_TEXT, NULL),
    COLUMN(answer, verdict, COLUMN_TEXT, NULL),
    COLUMN(answer, total_bytes, COLUMN_BYTES, NULL),
    COLUMN(answer, limit_bytes, COLUMN_BYTES, NULL),
    COLUMN(answer, margin_bytes, COLUMN_SIGNED, NULL),
    WHERE(is_sampled, oom_probability, COLUMN_REAL),
    WHERE(is_stopped, why, COLUMN_TEXT),
};

enum { N_COLUMNS = sizeof columns / sizeof *columns };

static const struct column *columns_of(size_t *n)
{
    *n = N_COLUMNS;
    return columns;
}

void check_print_schema(FILE *out)
{
    static const struct schema_part parts[] = {SCHEMA_PROVENANCE, SCHEMA_COLUMNS(columns_of),
                                               SCHEMA_END};
    schema_json_document(out, "check.schema.json", "what moeplan check --format json writes",
                         parts);
}

/* What --min-margin asks for: a share of the limit, or bytes. */
struct margin {
    bool given, share;
    double value;
};

static enum status read_margin(const char *text, struct arena *arena, struct margin *margin,
                               struct err *err)
{
    size_t n = text ? strlen(text) : 0;
    double plain;
    *margin = (struct margin){.given = text != NULL};
    if (!text)
        return STATUS_OK;
    margin->share = n > 0 && text[n - 1] == '%';
    if (margin->share) {
        const char *number = arena_strndup(arena, text, n - 1);
        if (number_real(number, &margin->value) && margin->value >= 0 && margin->value <= 100) {
            margin->value /= 100;
            return STATUS_OK;
        }
    } else if (!number_real(text, &plain) && unit_parse(UNIT_BYTES, text, &margin->value) &&
               margin->value >= 0) {
        return STATUS_OK;
    }
    err_set(err, STATUS_USAGE, "option '--min-margin' takes 0%% to 100%% or a size, not '%s'",
            text);
    return err_hint(err, "for example --min-margin 5%% or --min-margin '2 GiB'");
}

/* ---- what stops a plan ---- */

static const char *does_not_fit(const struct plan *plan, const struct prediction *p,
                                struct arena *arena)
{
    const struct memory_report *memory = &p->memory;
    const char *why = predict_beside_sum(plan, p, arena);
    if (why)
        return arena_printf(arena, "does not fit, %s", why);
    if (!memory->wall)
        return "does not fit";
    if (memory->small_wall)
        return arena_printf(arena, "does not fit, routing sends more rows than %s holds",
                            memory->wall->name);
    return arena_printf(arena, "does not fit, memory runs out at %s", memory->wall->name);
}

static const char *too_likely(const struct memory_report *memory, double most,
                              struct arena *arena)
{
    if (!memory->has_distribution || fmin(memory->oom_probability, 1) <= most)
        return NULL;
    return arena_printf(arena,
                        "a step runs out with a chance up to %.3g, above %.3g (%" PRIu64
                        " of %" PRIu64 " sampled steps; moe.routing.samples sets how many)",
                        fmin(memory->oom_probability, 1), most, memory->oom_samples,
                        memory->samples);
}

/* Of an engine whose sequences wait the step is what fits: what is free is its cache's beyond
 * one sequence. */
static const char *too_close(const struct prediction *p, bool queues,
                             const struct margin *least, const char *text, struct arena *arena)
{
    const struct memory_report *memory = &p->memory;
    double bytes = least->share ? least->value * (double)memory->limit_bytes : least->value;
    bool pool = queues && p->serving.present;
    double free = pool ? (double)p->serving.beyond_bytes : (double)memory->margin_bytes;
    if (!least->given || free >= bytes)
        return NULL;
    if (!pool)
        return arena_printf(arena, "the margin is below %s", text);
    return arena_printf(
        arena, "what the cache has beyond one sequence of %" PRIu64 " tokens is below %s",
        p->serving.context_tokens, text);
}

static const char *reason(const struct plan *plan, const struct prediction *p,
                          const struct settings *settings, const struct margin *least,
                          struct arena *arena)
{
    const struct memory_report *memory = &p->memory;
    if (memory->verdict == VERDICT_OOM)
        return does_not_fit(plan, p, arena);
    const char *why = too_likely(memory, settings->most_chance, arena);
    return why ? why : too_close(p, engine_queues(plan), least, settings->least_margin, arena);
}

/* ---- what is said ---- */

static void warn(const struct invocation *call, const struct origins *origins, const char *key,
                 const char *text)
{
    struct err line = {0};
    err_at(&line, request_place(call->operands[0], origins, key, key), "warning: %s", text);
    err_print(&line, stderr);
}

/* What an importer filled in by itself has no line, and nobody can correct it. What a job or a
 * model's file says of the model is so whether a prediction reads it or not. */
static bool is_news(const struct invocation *call, const struct origins *origins,
                    const struct note *note)
{
    const struct mark mark = request_place(call->operands[0], origins, note->key, note->key);
    bool model = text_starts(note->key, "model.") && text_starts(note->text, "not read");
    return text_starts(mark.file, "--") || (mark.line > 0 && !model);
}

static void warn_all(const struct invocation *call, const struct origins *origins,
                     const struct prediction *prediction)
{
    for (size_t i = 0; i < prediction->n_notes; i++) {
        const struct note *note = &prediction->notes[i];
        if (is_news(call, origins, note))
            warn(call, origins, note->key,
                 arena_printf(call->arena, "'%s': %s", note->key, note->text));
    }
    if (prediction->memory.verdict == VERDICT_MARGINAL)
        warn(call, origins, "", "marginal: within the stack's stated error of the limit");
}

static void print_line(FILE *out, const struct answer *answer)
{
    char total[32], limit[32], margin[32];
    const uint64_t largest =
        answer->total_bytes > answer->limit_bytes ? answer->total_bytes : answer->limit_bytes;
    const struct scale scale = scale_for(largest);
    scale_print(total, scale, answer->total_bytes);
    scale_print(limit, scale, answer->limit_bytes);
    scale_print_signed(margin, scale, answer->margin_bytes);
    fprintf(out, "%s: %s, %s of %s %s, margin %s", answer->result, answer->verdict, total,
            limit, scale.unit, margin);
    if (answer->limit_bytes)
        fprintf(out, " (%.1f %%)",
                100 * (double)answer->margin_bytes / (double)answer->limit_bytes);
    if (answer->why)
        fprintf(out, ": %s", answer->why);
    else if (answer->shorter)
        fprintf(out, ": %s", answer->shorter);
    fputc('\n', out);
}

static void print(const struct invocation *call, const struct plan *plan,
                  const struct answer *answer)
{
    struct json json;
    const struct provenance provenance = request_provenance(plan, NULL);
    if (call->general.format == FORMAT_TEXT) {
        print_line(call->out, answer);
    } else if (call->general.format == FORMAT_CSV) {
        column_csv_header(call->out, columns, N_COLUMNS);
        column_csv_row(call->out, columns, N_COLUMNS, answer);
    } else {
        json_init(&json, call->out);
        json_object(&json, NULL);
        provenance_json(&json, &provenance);
        column_json(&json, columns, N_COLUMNS, answer);
        json_close(&json);
    }
}

static enum status run_check(const struct invocation *call, struct err *err)
{
    const struct settings *settings = call->settings;
    struct plan *plan = arena_alloc(call->arena, 1, sizeof *plan);
    struct origins origins = {0};
    struct routing_data routing = {0};
    struct prediction prediction;
    struct margin least;
    TRY(read_margin(settings->least_margin, call->arena, &least, err));
    TRY(plan_argument_load(call, 0, plan, &origins, err));
    TRY(routing_data_load(plan, call->arena, &routing, err));
    const struct predict_options ask = {
        .routing = &routing, .origins = &origins, .memory_only = true};
    if (predict(plan, &ask, call->arena, &prediction, err) != STATUS_OK)
        return request_blame(call->operands[0], &origins, err);
    const struct memory_report *memory = &prediction.memory;
    const char *why = reason(plan, &prediction, settings, &least, call->arena);
    const struct answer answer = {
        .result = why ? "stop" : "pass",
        .verdict = verdict_name(memory->verdict),
        .why = why,
        .shorter = serve_fitted_text(plan, &prediction.serving, call->arena),
        .total_bytes = memory->total_bytes,
        .limit_bytes = memory->limit_bytes,
        .margin_bytes = memory->margin_bytes,
        .oom_probability =
            memory->has_distribution ? fmin(memory->oom_probability, 1) : (double)NAN,
    };
    warn_all(call, &origins, &prediction);
    print(call, plan, &answer);
    return why ? STATUS_NOFIT : STATUS_OK;
}

static const char *const examples[] = {
    "moeplan check train.sh --set cluster=h100-8x4 || exit 1",
    "moeplan check plan.yaml --min-margin 5%",
    "moeplan check plan.yaml --min-margin '2 GiB' --max-oom-probability 0.02",
    NULL,
};

const struct command command_check = {
    .name = "check",
    .operands = "<plan.yaml>",
    .summary = "the gate for scripts: one line, status 0 or 4",
    .description =
        "Says in one line whether a plan, or a framework's job file in its place, may start: "
        "'pass' with status 0, or 'stop' with status 4 and the reason. A plan that does not "
        "fit stops whatever the options allow; they only ask for more.\n\n"
        "Of an engine whose sequences wait for the cache (workload.queue, mode serve) "
        "--min-margin asks what the cache holds beyond one sequence: its step takes what it "
        "has.\n\n"
        "What deserves a look without stopping anything goes to standard error: keys that are "
        "set and not read, flags of a job that matter and are not modelled, a verdict within "
        "the stack's stated error of the limit. Any other status is an error: nothing was "
        "decided.\n\n"
        "--max-oom-probability is of a step, over moe.routing.samples samples: 3 / samples "
        "where none runs out. It asks nothing of plans whose memory no routing changes.",
    .examples = examples,
    .min_operands = 1,
    .max_operands = 1,
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .settings_size = sizeof(struct settings),
    .defaults = &defaults,
    .run = run_check,
};

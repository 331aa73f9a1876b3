/* Quantities of whole plans: what `moeplan predict` says, and fields of models and machines. */
#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "base/unit.h"
#include "calib/claim/claim_quantity.h"
#include "plan/derive.h"
#include "plan/schema/schema.h"
#include "sim/answer/predict.h"
#include "work/path/path.h"
#include "work/stack/stack.h"

/* The prediction of the call's plan; false after an error. */
static bool predicted(struct claim_call *call, struct plan *plan, struct prediction *out)
{
    const struct predict_options options = {.memory_only = true};
    if (!claim_plan(call, plan))
        return false;
    return predict(plan, &options, call->arena, out, call->err) == STATUS_OK;
}

static double gib(uint64_t bytes)
{
    return (double)bytes / GIB;
}

static const char *sum_note(struct claim_call *call, const struct memory_report *m)
{
    const char *close = m->verdict == VERDICT_MARGINAL ? ", marginal" : "";
    return arena_printf(call->arena, "state %.2f + temp %.2f = %.2f GiB of %.2f%s",
                        gib(m->state_bytes), gib(m->temp_bytes), gib(m->total_bytes),
                        gib(m->limit_bytes), close);
}

/* One of the report's byte counts. */
static struct claim_answer bytes_of(struct claim_call *call, size_t offset)
{
    struct plan plan;
    struct prediction p;
    if (!predicted(call, &plan, &p))
        return claim_is(0);
    uint64_t bytes;
    memcpy(&bytes, (const char *)&p.memory + offset, sizeof bytes);
    struct claim_answer answer = claim_is((double)bytes);
    answer.note = sum_note(call, &p.memory);
    return answer;
}

static struct claim_answer temp_bytes(struct claim_call *call)
{
    return bytes_of(call, offsetof(struct memory_report, temp_bytes));
}

static struct claim_answer total_bytes(struct claim_call *call)
{
    return bytes_of(call, offsetof(struct memory_report, total_bytes));
}

/* fits or oom: a marginal plan stands on one side of the limit too. */
static struct claim_answer verdict(struct claim_call *call)
{
    struct plan plan;
    struct prediction p;
    if (!predicted(call, &plan, &p))
        return claim_says("");
    bool fits = p.memory.total_bytes <= p.memory.limit_bytes;
    struct claim_answer answer = claim_says(fits ? "fits" : "oom");
    answer.note = sum_note(call, &p.memory);
    return answer;
}

/* What a framework's counter of reserved memory shows: allocated, and fragmentation. */
static struct claim_answer reserved_bytes(struct claim_call *call)
{
    struct plan plan;
    struct prediction p;
    if (!predicted(call, &plan, &p))
        return claim_is(0);
    struct claim_answer answer = claim_is((double)p.memory.reserved_bytes);
    answer.note = arena_printf(call->arena, "%.2f GiB allocated, reserved %.4g x that",
                               gib(p.memory.allocated_bytes), 1 + plan.stack.fragmentation);
    return answer;
}

static struct claim_answer wall(struct claim_call *call)
{
    struct plan plan;
    struct prediction p;
    if (!predicted(call, &plan, &p))
        return claim_says("");
    struct claim_answer answer = claim_says(p.memory.wall ? p.memory.wall->name : "none");
    if (p.memory.wall)
        answer.note = p.memory.wall->formula;
    return answer;
}

/* How the fraction of memory that the plan needs compares with the stack's own. */
static struct claim_answer fraction_change(struct claim_call *call)
{
    struct plan plan;
    struct prediction p;
    if (!predicted(call, &plan, &p))
        return claim_says("");
    plan.memory.fraction = 0; /* the stack's own */
    double needed = (double)p.memory.total_bytes / (double)plan_usable_memory(&plan);
    double own = plan_memory_fraction(&plan);
    struct claim_answer answer = claim_says(needed > own ? "raised" : "reduced");
    answer.note = arena_printf(call->arena, "needs %.3f of %.2f GiB, the default is %.2f",
                               needed, gib(plan_usable_memory(&plan)), own);
    return answer;
}

/* Devices that share out the state: bytes of an unsharded state over those on one device. */
static struct claim_answer state_shards(struct claim_call *call)
{
    struct plan plan;
    struct prediction p;
    if (!predicted(call, &plan, &p))
        return claim_is(0);
    double whole = (double)p.model.parameters * claim_number(call, "bytes_per_parameter");
    struct claim_answer answer = claim_is(whole / (double)p.memory.state_bytes);
    answer.note =
        arena_printf(call->arena, "%.2f GiB of state on a device", gib(p.memory.state_bytes));
    return answer;
}

static struct claim_answer buffer_bytes(struct claim_call *call)
{
    struct plan plan;
    struct prediction p;
    const char *name = claim_word(call, "buffer");
    if (!predicted(call, &plan, &p))
        return claim_is(0);
    for (size_t i = 0; i < p.memory.n_buffers; i++) {
        const struct buffer_report *b = &p.memory.buffers[i];
        if (!text_equal(b->name, name))
            continue;
        struct claim_answer answer = claim_is((double)b->one_bytes);
        answer.note = b->formula;
        return answer;
    }
    err_set(call->err, STATUS_INPUT, "the plan has no buffer \"%s\"", name);
    return claim_is(0);
}

/* Temp of the plan less temp of the same plan on another path; "relative=1": as a share. */
static struct claim_answer temp_saved(struct claim_call *call)
{
    struct plan plan;
    struct prediction p, other;
    const struct predict_options options = {.memory_only = true};
    const struct mark mark = {.file = "claims"};
    if (!predicted(call, &plan, &p) ||
        schema_set(schema_find("moe.path"), &plan, claim_word(call, "on_path"), false, mark,
                   call->err) != STATUS_OK ||
        predict(&plan, &options, call->arena, &other, call->err) != STATUS_OK)
        return claim_is(0);
    double saved = (double)p.memory.temp_bytes - (double)other.memory.temp_bytes;
    bool relative = claim_number_or(call, "relative", 0) > 0;
    struct claim_answer answer =
        claim_is(relative ? saved / (double)p.memory.temp_bytes : saved);
    answer.note = arena_printf(call->arena, "temp %.1f against %.1f GiB",
                               gib(other.memory.temp_bytes), gib(p.memory.temp_bytes));
    return answer;
}

/* ---- models and machines ---- */

/* A key of a model or cluster file. */
static struct claim_answer plan_value(struct claim_call *call)
{
    struct plan plan;
    struct text text = {.arena = call->arena};
    const char *key = claim_word(call, "key");
    const struct field *field = schema_find(key);
    if (!field) {
        err_set(call->err, STATUS_INPUT, "unknown key \"%s\"", key);
        return claim_is(0);
    }
    if (!claim_parts(call, &plan))
        return claim_is(0);
    if (field->type != FIELD_WORD && field->type != FIELD_BOOL && field->type != FIELD_TEXT)
        return claim_is(schema_number(field, &plan));
    schema_print(field, &plan, &text);
    return claim_says(text_string(&text));
}

static struct claim_answer parameters(struct claim_call *call)
{
    struct plan plan;
    struct params params;
    if (!claim_parts(call, &plan))
        return claim_is(0);
    params_count(&plan.model, &params);
    struct claim_answer answer = claim_is((double)params.parameters);
    answer.note = arena_printf(call->arena, "%" PRIu64 " parameters", params.parameters);
    return answer;
}

/* What the serving stack does with a model when nothing asks for a capacity. */
static struct claim_answer dropping(struct claim_call *call)
{
    struct plan plan;
    const char *why;
    if (!claim_parts(call, &plan))
        return claim_says("");
    plan.stack.kind = STACK_NXD;
    plan.workload.mode = MODE_PREFILL;
    bool drops = path_system_of(stack_path(&plan, &why))->exchange == EXCHANGE_CAPACITY;
    struct claim_answer answer = claim_says(drops ? "dropping" : "dropless");
    answer.note = why;
    return answer;
}

const struct claim_quantity claim_memory[] = {
    {"memory.verdict", verdict, CLAIM_PREDICTED},
    {"memory.temp_bytes", temp_bytes, CLAIM_PREDICTED},
    {"memory.total_bytes", total_bytes, CLAIM_PREDICTED},
    {"memory.reserved_bytes", reserved_bytes, CLAIM_PREDICTED},
    {"memory.wall", wall, CLAIM_PREDICTED},
    {"memory.fraction_change", fraction_change, CLAIM_PREDICTED},
    {"memory.state_shards", state_shards, CLAIM_PREDICTED},
    {"memory.buffer_bytes", buffer_bytes, CLAIM_PREDICTED},
    {"memory.temp_saved", temp_saved, CLAIM_PREDICTED},
    {"plan.value", plan_value, CLAIM_LOOKED_UP},
    {"model.parameters", parameters, CLAIM_PREDICTED},
    {"model.dropping", dropping, CLAIM_PREDICTED},
    {NULL, NULL, CLAIM_UNANSWERED},
};

/* Fixes; see fix.h. Moves of one key stand in order of growing change, so the first that fits
 * is the answer; bisection finds the largest micro-batch, because memory is monotone in it
 * within one schedule. */
#include "sim/search/fix.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "plan/derive.h"
#include "plan/engine.h"
#include "plan/lay_experts.h"
#include "plan/schema/schema.h"
#include "sim/search/fix_parts.h"
#include "sim/moe/predict_moe.h"
#include "sim/serve/serve.h"
#include "sim/step/time.h"
#include "work/stack/stack.h"

enum { FEW = 2 }; /* fixes beside which pairs are tried */

static const char *const kind_names[][2] = {
#define FIX_NAME(name, text, help) {text, help},
    FIX_LIST(FIX_NAME)
#undef FIX_NAME
};

const char *fix_kind_name(enum fix_kind kind)
{
    return kind_names[kind][0];
}

const char *fix_kind_title(enum fix_kind kind)
{
    return kind_names[kind][1];
}

/* ---- one candidate ---- */

/* False when the word does not fit. */
static bool word_to(char *out, size_t size, const char *begin, const char *end)
{
    size_t n = (size_t)(end - begin);
    if (n >= size)
        return false;
    memcpy(out, begin, n);
    out[n] = '\0';
    return true;
}

/* Sets the keys of "a=1 b=2"; false when a value breaks its field's limits. */
static bool set_keys(struct plan *plan, const char *set)
{
    struct err err = {0};
    char key[64], value[256];
    while (*set) {
        const char *equals = strchr(set, '='), *end = set + strcspn(set, " ");
        if (!equals || equals > end || !word_to(key, sizeof key, set, equals) ||
            !word_to(value, sizeof value, equals + 1, end))
            return false;
        set = *end ? end + 1 : end;
        const struct field *field = schema_find(key);
        if (!field || schema_set(field, plan, value, false, (struct mark){.file = key}, &err))
            return false;
    }
    return true;
}

void fix_resolve(struct fix_move *move)
{
    const char *equals = strchr(move->set, '=');
    char key[64];
    bool one = equals && !strchr(move->set, ' ');
    move->field = one && word_to(key, sizeof key, move->set, equals) ? schema_find(key) : NULL;
}

static bool make_move(struct plan *plan, const struct fix_move *move)
{
    struct err err = {0};
    if (!move->field)
        return set_keys(plan, move->set);
    const char *key = move->field->key, *value = move->set + move->field->key_length + 1;
    return schema_set(move->field, plan, value, false, (struct mark){.file = key}, &err) ==
           STATUS_OK;
}

static bool sets_key(const struct fix_move *moves, size_t n, const char *set)
{
    for (size_t i = 0; i < n; i++)
        if (strstr(moves[i].set, set))
            return true;
    return false;
}

/* A stated dp is a check of the layout as it was: it follows a layout that changes. */
bool fix_apply(const struct plan *plan, const struct fix_move *moves, size_t n,
               struct plan *changed)
{
    *changed = *plan;
    for (size_t i = 0; i < n; i++)
        if (!make_move(changed, &moves[i]))
            return false;
    bool moved = changed->optimizer.offload > 0 && plan->optimizer.offload == 0;
    if (moved && !stack_offloads(changed))
        return false;
    if (plan->parallel.dp)
        changed->parallel.dp = plan_dp(changed);
    /* an expert's ranks that are as many as follow from the layout follow another one; an
     * engine's are named (describe) */
    if (!plan_is_engine(plan) && !sets_key(moves, n, "parallel.etp=") &&
        plan->parallel.etp == experts_split(plan))
        changed->parallel.etp = experts_split(changed);
    if (plan_is_engine(plan) && plan->precision.compute == engine_compute(plan))
        changed->precision.compute = engine_compute(changed);
    return true;
}

static bool is_good(const struct fix_search *search, const struct evaluation *result)
{
    return result->valid && result->verdict <= search->accept &&
           result->peak.total_bytes <= result->limit_bytes;
}

bool fix_fits(struct fix_search *search, const struct fix_move *moves, size_t n,
              struct evaluation *result)
{
    struct plan *changed = search->changed;
    if (!fix_apply(search->plan, moves, n, changed))
        return false;
    if (stack_has(search->plan) && !stack_has(changed))
        return false;
    struct fix_known *known = fix_known_of(search, changed);
    /* most of what is tried is far too large */
    if (fix_needs_more(search, changed, known, verdict_limit(changed)))
        return false;
    bool routed = fix_evaluate(search, changed, known, true, result);
    if (!is_good(search, result) || !routed)
        return is_good(search, result);
    fix_evaluate(search, changed, known, false, result);
    return is_good(search, result);
}

/* ---- what a fix costs ---- */

/* Device-seconds per token, as predict has them; 0 where the plan cannot be timed. */
static double seconds_of(struct fix_search *search, const struct plan *plan)
{
    struct step_time step;
    bool timed = time_step(&search->evaluator, plan, search->profile, &step);
    return timed ? time_seconds_per_token(plan, &step) : 0;
}

/* Of the plan as it is, which only what fits is compared with. */
static double seconds_now(struct fix_search *search)
{
    if (!search->timed) {
        search->seconds_per_token = seconds_of(search, search->plan);
        search->timed = true;
    }
    return search->seconds_per_token;
}

/* The dearest of the moves; what costs nothing else may still be slower. */
static enum fix_kind kind_of(struct fix_search *search, const struct fix_move *moves, size_t n,
                             double seconds_per_token)
{
    enum fix_kind kind = FIX_FREE;
    for (size_t i = 0; i < n; i++)
        kind = moves[i].kind > kind ? moves[i].kind : kind;
    if (kind == FIX_FREE && seconds_per_token > 1.001 * seconds_now(search))
        return FIX_THROUGHPUT;
    return kind;
}

double fix_seconds(struct fix_search *search, const struct fix_move *moves, size_t n)
{
    struct plan *changed = search->changed;
    double seconds =
        fix_apply(search->plan, moves, n, changed) ? seconds_of(search, changed) : 0;
    return seconds > 0 ? seconds : HUGE_VAL;
}

/* Where ranks lie otherwise, the degrees of experts that would follow otherwise
 * from what is set (read/follow), or that the plan may state as they were: --set has to name
 * them for the plan that was evaluated. */
static void name_degrees(const struct plan *plan, const struct plan *changed, struct text *set)
{
    static const char *const keys[] = {"parallel.ep=", "parallel.etp=", "parallel.sp="};
    const struct parallel *p = &changed->parallel;
    const uint64_t degrees[] = {p->ep, p->etp};
    bool engine = plan_is_engine(changed);
    unsigned given = engine ? 0 : EXPERTS_EP | EXPERTS_SP;
    for (unsigned i = 0; i < 3; i++)
        given |= strstr(text_string(set), keys[i]) ? 1U << i : 0;
    if (!engine && p->etp != plan->parallel.etp && !(given & EXPERTS_ETP)) {
        text_printf(set, " parallel.etp=%llu", (unsigned long long)p->etp);
        return;
    }
    for (unsigned i = 0; i < 3; i++) {
        struct plan other = *changed;
        other.parallel.ep = given & EXPERTS_EP ? p->ep : 1;
        other.parallel.etp = given & EXPERTS_ETP ? p->etp : 1;
        other.parallel.sp = given & EXPERTS_SP ? p->sp : false;
        experts_lay(&other, given);
        const bool same[] = {other.parallel.ep == p->ep, other.parallel.etp == p->etp,
                             other.parallel.sp == p->sp};
        if (same[i])
            continue;
        given |= 1U << i;
        if (i < 2)
            text_printf(set, " %s%llu", keys[i], (unsigned long long)degrees[i]);
        else
            text_printf(set, " %s%s", keys[i], p->sp ? "true" : "false");
    }
}

/* Whether experts lie otherwise, or what they follow from is another: an engine's ranks. */
static bool moves_experts(const struct plan *plan, const struct plan *changed)
{
    const struct parallel *a = &plan->parallel, *b = &changed->parallel;
    bool ranks = plan_world(plan) != plan_world(changed) || a->pp != b->pp || a->cp != b->cp;
    return experts_follow(plan) && (a->tp != b->tp || a->ep != b->ep || a->etp != b->etp ||
                                    (plan_is_engine(plan) && (ranks || a->sp != b->sp)));
}

static void describe(struct fix_search *search, const struct fix_move *moves, size_t n,
                     const struct plan *changed, struct fix *fix)
{
    struct text set = {.arena = search->arena}, note = {.arena = search->arena};
    if (fix->drop_fraction > 0)
        text_printf(&note, "drops %.2g %% of the routed rows; ", 100 * fix->drop_fraction);
    for (size_t i = 0; i < n; i++) {
        text_printf(&set, "%s%s", i ? " " : "", moves[i].set);
        text_printf(&note, "%s%s", i ? "; " : "", moves[i].note);
    }
    if (changed->parallel.dp != search->plan->parallel.dp)
        text_printf(&set, " parallel.dp=%llu", (unsigned long long)changed->parallel.dp);
    if (changed->precision.compute != search->plan->precision.compute)
        text_printf(&set, " precision.compute=%s", words_compute[changed->precision.compute]);
    if (moves_experts(search->plan, changed))
        name_degrees(search->plan, changed, &set);
    fix->set = text_string(&set);
    fix->note = text_string(&note);
}

/* Keeps moves of which the result is known. */
static void keep(struct fix_search *search, const struct fix_move *moves, size_t n,
                 const struct evaluation *result)
{
    struct plan *changed = search->changed;
    fix_apply(search->plan, moves, n, changed);
    double seconds = seconds_of(search, changed);
    search->fixes = arena_grow(search->arena, search->fixes, search->n, &search->capacity,
                               sizeof *search->fixes);
    struct fix *fix = &search->fixes[search->n++];
    *fix = (struct fix){
        .kind = kind_of(search, moves, n, seconds),
        .total_bytes = result->peak.total_bytes,
        .verdict = result->verdict,
        .seconds_per_token = seconds,
        .tokens_per_s_per_device = seconds > 0 ? 1 / seconds : 0,
        .drop_fraction = drops_of(&search->evaluator, changed, search->arena),
    };
    describe(search, moves, n, changed, fix);
}

/* What a move sets beside its own key; NULL: nothing. */
static const char *set_beside(struct fix_search *search, const struct fix_move *move)
{
    size_t length = strlen(move->key);
    const char *own = strstr(move->set, move->key), *rest;
    if (!own || own[length] != '=' || !strchr(move->set, ' '))
        return NULL;
    rest = own + strcspn(own, " ");
    return arena_printf(search->arena, "%.*s%s", (int)(own - move->set), move->set,
                        *rest ? rest + 1 : rest);
}

/* Whether what a move sets beside its own key does without it: an offload's shards. */
static bool beside_suffices(struct fix_search *search, const struct fix_move *moves, size_t n)
{
    struct fix_move tried[FIX_TOGETHER];
    struct evaluation result;
    for (size_t i = 0; i < n; i++) {
        const char *rest = set_beside(search, &moves[i]);
        if (!rest)
            continue;
        memcpy(tried, moves, n * sizeof *tried);
        tried[i].set = rest;
        tried[i].field = NULL;
        if (fix_fits(search, tried, n, &result))
            return true;
    }
    return false;
}

bool fix_keep(struct fix_search *search, const struct fix_move *moves, size_t n)
{
    struct evaluation result;
    bool fits = fix_fits(search, moves, n, &result) && !beside_suffices(search, moves, n);
    if (fits)
        keep(search, moves, n, &result);
    return fits;
}

/* ---- one change ---- */

/* What fewer sequences at once are asked for by. */
static const char *batch_key(const struct plan *plan)
{
    return plan->workload.mode == MODE_SERVE ? "workload.concurrency" : "workload.micro_batch";
}

static struct fix_move micro_batch_of(struct fix_search *search, uint64_t value)
{
    bool trains = search->plan->workload.mode == MODE_TRAIN;
    const char *key = batch_key(search->plan);
    return (struct fix_move){
        key, arena_printf(search->arena, "%s=%llu", key, (unsigned long long)value),
        trains ? "more micro-steps for the same batch" : "fewer sequences at once",
        FIX_THROUGHPUT, NULL};
}

/* Largest micro-batch that fits, by bisection below the plan's own. */
static bool try_micro_batch(struct fix_search *search)
{
    const struct workload *w = &search->plan->workload;
    uint64_t fits = 0, fails = w->mode == MODE_SERVE ? w->concurrency : w->micro_batch;
    struct evaluation result;
    while (fails - fits > 1) {
        uint64_t middle = fits + (fails - fits) / 2;
        struct fix_move move = micro_batch_of(search, middle);
        if (fix_fits(search, &move, 1, &result))
            fits = middle;
        else
            fails = middle;
    }
    struct fix_move move = micro_batch_of(search, fits);
    return fits && fix_keep(search, &move, 1);
}

void fix_list_batches(struct fix_search *search, struct fix_moves *moves)
{
    const struct workload *w = &search->plan->workload;
    if (w->mode == MODE_SERVE)
        return;
    for (uint64_t value = w->micro_batch / 2; value && moves->n < FIX_MOVES; value /= 2)
        moves->list[moves->n++] = micro_batch_of(search, value);
}

/* A plan that asks an engine for all its sequences at once: as the engine has it, which runs so
 * many as its own pool holds. No other change stands beside it, since any number fits so. */
static void try_queue(struct fix_search *search)
{
    struct plan asked = *search->plan, room;
    enum serve_start start;
    bool engine = plan_is_engine(&asked) && !engine_queues(&asked);
    struct fix_move move = {"workload.queue", "workload.queue=true",
                            "sequences that the engine's own pool does not hold wait",
                            FIX_THROUGHPUT, NULL};
    if (!engine || asked.workload.mode != MODE_DECODE)
        return;
    asked.workload.queue = true;
    if (serve_held(&asked, &room, &start) == &asked) {
        move.note = "the engine's own pool holds all sequences: none waits";
        move.kind = FIX_FREE;
    }
    fix_keep(search, &move, 1);
}

/* One past the last move of the key that stands at i. */
static size_t key_end(const struct fix_moves *moves, size_t i)
{
    size_t end = i;
    while (end < moves->n && strcmp(moves->list[end].key, moves->list[i].key) == 0)
        end++;
    return end;
}

/* The smallest of each key that fits; alone[i]: the key of move i has one. */
static void try_each(struct fix_search *search, const struct fix_moves *moves, bool *alone)
{
    for (size_t i = 0, end; i < moves->n; i = end) {
        bool found = false;
        end = key_end(moves, i);
        for (size_t j = i; j < end && !found; j++)
            found = fix_keep(search, &moves->list[j], 1);
        for (size_t j = i; j < end; j++)
            alone[j] = found;
    }
}

/* ---- two changes ---- */

/* Keeps what fits together, and no part of it. */
static bool keep_pair(struct fix_search *search, const struct fix_move *pair)
{
    struct evaluation both, one;
    if (!fix_fits(search, pair, 2, &both) || fix_fits(search, &pair[0], 1, &one) ||
        fix_fits(search, &pair[1], 1, &one) || beside_suffices(search, pair, 2))
        return false;
    keep(search, pair, 2, &both);
    return true;
}

/* The first pair of two keys that fits: the least of the first key with the least of the
 * other. */
static void try_pair(struct fix_search *search, const struct fix_moves *moves, size_t a,
                     size_t b)
{
    size_t a_end = key_end(moves, a), b_end = key_end(moves, b);
    for (size_t sum = 0; sum + 2 <= a_end - a + b_end - b; sum++)
        for (size_t i = a; i < a_end && i - a <= sum; i++) {
            size_t j = b + sum - (i - a);
            const struct fix_move pair[] = {moves->list[i], moves->list[j < b_end ? j : b]};
            if (j < b_end && keep_pair(search, pair))
                return;
        }
}

/* Whether two keys write the same field ("moe.buffer" twice, recompute's kind and modules). */
static bool related(const struct fix_move *a, const struct fix_move *b)
{
    size_t length = strcspn(a->set, "=") + 1;
    return strncmp(a->set, b->set, length) == 0;
}

/* What is set before all else, so that pairs of it are worth their time where single changes
 * that fit are few. */
static bool is_usual(const char *key)
{
    static const char *const keys[] = {"parallel.zero", "parallel.pp", "parallel.tp",
                                       "recompute.kind", "recompute.modules"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (strcmp(keys[i], key) == 0)
            return true;
    return false;
}

/* Of keys with no value that suffices alone; with `wanted`, of all keys that it takes. */
static void try_pairs(struct fix_search *search, const struct fix_moves *moves,
                      const bool *alone, bool (*wanted)(const char *key))
{
    for (size_t a = 0; a < moves->n; a = key_end(moves, a))
        for (size_t b = key_end(moves, a); b < moves->n; b = key_end(moves, b))
            if ((wanted ? wanted(moves->list[a].key) && wanted(moves->list[b].key)
                        : !alone[a] && !alone[b]) &&
                !related(&moves->list[a], &moves->list[b]))
                try_pair(search, moves, a, b);
}

/* ---- all of them ---- */

static bool changes_result(enum fix_kind kind)
{
    return kind == FIX_NUMERICS;
}

bool fix_offloads(const struct fix *fix)
{
    return strstr(fix->set, FIX_OFFLOAD "=") != NULL;
}

size_t fix_count_harmless(const struct fix_search *search, enum verdict accept)
{
    size_t n = 0;
    for (size_t i = 0; i < search->n; i++) {
        const struct fix *fix = &search->fixes[i];
        n += !changes_result(fix->kind) && fix->verdict <= accept && !fix_offloads(fix);
    }
    return n;
}

static int by_kind(const void *a, const void *b)
{
    const struct fix *x = a, *y = b;
    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    if (x->verdict != y->verdict)
        return x->verdict < y->verdict ? -1 : 1;
    if (x->seconds_per_token != y->seconds_per_token)
        return x->seconds_per_token < y->seconds_per_token ? -1 : 1;
    return strcmp(x->set, y->set);
}

/* A fix that changes the result is not the first while there is another kind: then that other
 * kind, more devices, goes before it. */
static void put_harmless_first(struct fix_search *search)
{
    size_t n = search->n;
    if (n < 2 || !changes_result(search->fixes[0].kind) ||
        changes_result(search->fixes[n - 1].kind))
        return;
    struct fix last = search->fixes[n - 1];
    memmove(&search->fixes[1], &search->fixes[0], (n - 1) * sizeof *search->fixes);
    search->fixes[0] = last;
}

/* On the devices that there are. */
static void try_here(struct fix_search *search, struct fix_moves *moves)
{
    bool alone[FIX_MOVES] = {false};
    bool fewer = try_micro_batch(search);
    try_each(search, moves, alone);
    for (size_t i = moves->n; i < FIX_MOVES; i++)
        alone[i] = fewer;
    fix_list_batches(search, moves);
    if (!fix_count_harmless(search, VERDICT_MARGINAL)) {
        try_pairs(search, moves, alone, NULL);
        fix_layout(search, moves);
    } else if (fix_count_harmless(search, VERDICT_FITS) < FEW) {
        search->accept = VERDICT_FITS;
        try_pairs(search, moves, alone, is_usual);
        search->accept = VERDICT_MARGINAL;
    }
    if (!fix_count_harmless(search, VERDICT_MARGINAL))
        fix_together(search, moves);
}

const struct fix *fix_find(const struct plan *plan, const struct routing_data *routing,
                           const struct profile *profile, struct rows_known *known,
                           struct arena *arena, size_t *n)
{
    if (plan->prefill)
        return fix_pools(plan, routing, profile, known, arena, n);
    /* Too large for a stack, and of pages most of which nothing will touch. */
    struct fix_search *search = arena_alloc(arena, 1, sizeof *search);
    struct plan *whole = arena_alloc(arena, 1, sizeof *whole);
    *whole = *plan;
    whole->workload.fit_context = false; /* what fits holds more than a token */
    search->plan = plan = whole;
    search->routing = routing;
    search->profile = profile;
    search->arena = arena;
    search->accept = VERDICT_MARGINAL;
    search->evaluator.routing = routing;
    search->evaluator.banks = search->banks;
    search->evaluator.n_banks = FIX_BANKS;
    search->evaluator.rows_known = known;
    struct fix_moves *moves = arena_alloc(arena, 1, sizeof *moves);
    search->changed = arena_alloc(arena, 1, sizeof *search->changed);
    fix_list_moves(plan, arena, moves);
    if (!fix_is_hopeless(search, plan, moves, true))
        try_here(search, moves);
    fix_devices(search);
    try_queue(search);
    evaluator_release(&search->evaluator);
    for (unsigned i = 0; i < FIX_LISTS; i++)
        if (search->lists[i])
            evaluator_release(search->lists[i]);
    demand_banks_release(search->banks, FIX_BANKS);
    arena_release(&search->scratch);
    if (search->n)
        qsort(search->fixes, search->n, sizeof *search->fixes, by_kind);
    put_harmless_first(search);
    *n = search->n;
    return search->fixes;
}

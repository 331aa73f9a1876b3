/* The largest value that fits; see find.h.
 *
 * Eighths of each power of two are tried (rules may ask for multiples of 3, 5 or 7) until none
 * of four powers fits, then every value up to the end of the last power that has one, where
 * that is at most FIND_SCAN values. Beyond, bisection from the largest eighth that fits to the
 * next, and every value of the FIND_NEXT behind what that finds. */
#include "cli/frontier/find.h"

#include <string.h>

#include "base/checked.h"
#include "base/text.h"
#include "cli/frontier/csv.h"
#include "cli/frontier/table.h"
#include "plan/engine.h"
#include "plan/pools.h"
#include "plan/read/follow.h"
#include "plan/schema/schema.h"

enum { FIND_SCAN = 4096, FIND_NEXT = 1024, FIND_NEAR = 64, FIND_DOUBLINGS = 40, FAILED = 4 };

struct found {
    uint64_t value; /* 0: none fits */
    bool monotone, scanned;
    bool largest; /* that the key may have */
    struct evaluation at;
};

/* What does not fit by least. */
struct nearest {
    uint64_t value; /* 0: a rule or the stack refuses all */
    uint64_t total_bytes, limit_bytes;
    double over; /* what is needed over what there is, of the device or its share of a host */
    const char *why; /* "" where the device's own bytes say it */
};

/* Whose key it is, of a plan with a part `prefill`. */
enum whose { OF_PLAN, OF_PREFILL, OF_BOTH };

struct finder {
    const char *key; /* as typed */
    const struct field *field;
    enum whose whose;
    struct plan plan, prefill;
    struct evaluator evaluator;
    uint64_t structure;
    bool slot;
    bool marginal; /* a value within the stack's error of the limit will do */
    struct nearest nearest;
};

static void keep_nearest(struct nearest *nearest, uint64_t value, const struct evaluation *at)
{
    double device = (double)at->peak.total_bytes / (double)at->limit_bytes, host = 0;
    if (at->host_limit_bytes)
        host = (double)at->host_bytes / (double)at->host_limit_bytes;
    double over = host > device ? host : device;
    if (nearest->value && over >= nearest->over)
        return;
    *nearest = (struct nearest){value, at->peak.total_bytes, at->limit_bytes, over, ""};
    if (host > device)
        nearest->why = " (over the host's memory)";
    else if (at->verdict == VERDICT_OOM && over <= 1)
        nearest->why = " (the engine does not start)";
}

static bool fits(struct finder *finder, uint64_t value, struct evaluation *result)
{
    if (text_equal(finder->field->key, "workload.context_length"))
        finder->plan.workload.fit_context = false; /* each length is asked of the cache */
    if (finder->whose != OF_PREFILL)
        memcpy((char *)&finder->plan + finder->field->offset, &value, sizeof value);
    if (finder->whose != OF_PLAN)
        memcpy((char *)&finder->prefill + finder->field->offset, &value, sizeof value);
    finder->structure += !finder->slot;
    evaluate(&finder->evaluator, &finder->plan, finder->structure, result);
    if (!result->valid)
        return false;
    if (result->verdict == VERDICT_FITS ||
        (finder->marginal && result->verdict == VERDICT_MARGINAL))
        return true;
    keep_nearest(&finder->nearest, value, result);
    return false;
}

/* The last eighth of a power of two that fits; 0 when none does. */
static uint64_t doubling(struct finder *finder, uint64_t limit)
{
    uint64_t last = 0, before = 0;
    unsigned failed = 0;
    for (unsigned i = 0; i < FIND_DOUBLINGS && failed < FAILED; i++) {
        bool any = false;
        for (uint64_t eighth = 8; eighth < 16; eighth++) {
            uint64_t value = (eighth << i) / 8;
            struct evaluation result;
            if (value > limit || value == before)
                continue;
            before = value;
            if (fits(finder, value, &result)) {
                any = true;
                last = value;
            }
        }
        failed = any ? 0 : failed + 1;
    }
    return last;
}

static void scan(struct finder *finder, uint64_t to, struct found *found)
{
    bool failed = false;
    found->scanned = found->monotone = true;
    for (uint64_t value = 1; value <= to; value++) {
        struct evaluation result;
        if (!fits(finder, value, &result)) {
            failed = failed || result.valid; /* a broken rule says nothing about memory */
            continue;
        }
        found->value = value;
        found->at = result;
        found->monotone = found->monotone && !failed;
    }
}

/* The value of [middle, high), or else (low, middle), next to the middle, that obeys the rules,
 * and whether it fits; `middle` where there is none near it. */
static bool fits_near(struct finder *finder, uint64_t low, uint64_t high, uint64_t *middle)
{
    uint64_t at = *middle;
    for (uint64_t i = 0; i < 2 * FIND_NEAR; i++) {
        struct evaluation result;
        bool below = i >= FIND_NEAR;
        uint64_t away = below ? i - FIND_NEAR + 1 : i;
        if (below ? at - low <= away : high - at <= away)
            continue;
        *middle = below ? at - away : at + away;
        bool good = fits(finder, *middle, &result);
        if (result.valid)
            return good;
    }
    *middle = at;
    return false;
}

static void take(struct finder *finder, uint64_t value, struct found *found)
{
    struct evaluation result;
    if (!fits(finder, value, &result))
        return;
    found->value = value;
    found->at = result;
}

/* `low` fits. */
static void bisect(struct finder *finder, uint64_t low, uint64_t high, uint64_t limit,
                   struct found *found)
{
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        if (fits_near(finder, low, high, &middle))
            low = middle;
        else
            high = middle;
    }
    uint64_t most = limit - low < FIND_NEXT ? limit : low + FIND_NEXT;
    for (uint64_t value = low; value <= most; value++)
        take(finder, value, found);
}

/* The last value of the power of two that has this one. */
static uint64_t power_end(uint64_t value)
{
    uint64_t power = 1;
    while (power <= value)
        power *= 2;
    return power - 1;
}

static void find(struct finder *finder, struct found *found)
{
    const struct field *field = finder->field;
    uint64_t limit =
        field->max > 0 && field->max < 1e15 ? (uint64_t)field->max : UINT64_C(1) << 40;
    finder->nearest = (struct nearest){0};
    uint64_t last = doubling(finder, limit);
    *found = (struct found){0};
    if (!last)
        return;
    uint64_t end = power_end(last), to = end < limit ? end : limit;
    if (to <= FIND_SCAN)
        scan(finder, to, found);
    else
        bisect(finder, last, lesser(last + (end + 1) / 16, limit + 1), limit, found);
    found->largest = found->value == limit;
}

static enum status read_what(const char *what, const struct frontier *frontier,
                             struct finder *finder, struct err *err)
{
    const struct plan *prefill = frontier->base.prefill;
    if (!text_starts(what, "max:")) {
        err_set(err, STATUS_USAGE, "--find \"%s\" is not max:KEY", what);
        return err_hint(err, "for example --find max:workload.micro_batch");
    }
    finder->key = what + strlen("max:");
    bool own = prefill && text_starts(finder->key, POOL_PREFIX), both = false;
    finder->field = schema_find(finder->key + (own ? strlen(POOL_PREFIX) : 0));
    if (!finder->field || finder->field->type != FIELD_COUNT) {
        err_set(err, STATUS_USAGE, "--find \"%s\": %s", what,
                finder->field ? "the key takes no whole number" : "there is no such key");
        return err_hint(err, "for example --find max:workload.micro_batch");
    }
    if (follow_from(finder->field->key, frontier->follows)) {
        err_set(err, STATUS_USAGE, "--find \"%s\": other keys follow from %s", what,
                finder->key);
        return err_hint(err, "sweep it: --over %s=1,2,4,8", finder->key);
    }
    if (prefill && !own)
        TRY(frontier_inherits(frontier, finder->field, &both, err));
    finder->whose = own ? OF_PREFILL : both ? OF_BOTH : OF_PLAN;
    return STATUS_OK;
}

/* The plan of a point, what prefills a copy of its own. */
static void take_point(struct finder *finder, const struct frontier *frontier,
                       const size_t indices[SWEEP_AXES])
{
    sweep_plan(&frontier->sweep, indices, &finder->plan);
    if (finder->plan.prefill) {
        finder->prefill = *finder->plan.prefill;
        finder->plan.prefill = &finder->prefill;
    }
    finder->structure++;
}

static void print_none(const struct nearest *nearest, struct text *out)
{
    if (nearest->value)
        text_printf(out, ",none fits,%llu,%llu,nearest: %llu%s\n",
                    (unsigned long long)nearest->total_bytes,
                    (unsigned long long)nearest->limit_bytes,
                    (unsigned long long)nearest->value, nearest->why);
    else
        text_append(out, ",none fits,,,all are invalid\n");
}

/* Of an engine whose sequences wait for the cache every number fits. */
static bool waits(const struct finder *finder)
{
    return finder->plan.workload.queue && engine_queues(&finder->plan) &&
           strcmp(finder->field->key, "workload.micro_batch") == 0;
}

static void print_row(const struct finder *finder, const struct found *found, struct text *out)
{
    if (!found->value) {
        print_none(&finder->nearest, out);
        return;
    }
    const char *smaller = !found->scanned
                              ? !found->largest ? "not tried"
                                : waits(finder)
                                    ? "more than are held wait: workload.queue=false holds all"
                                    : "not tried; the key's limit"
                          : found->monotone ? "fit"
                                            : "some do not";
    text_printf(out, "%llu,%s,%llu,%llu,%s\n", (unsigned long long)found->value,
                verdict_name(found->at.verdict), (unsigned long long)found->at.peak.total_bytes,
                (unsigned long long)found->at.limit_bytes, smaller);
}

enum status frontier_find(const struct frontier *frontier, const char *what, bool marginal,
                          const struct invocation *call, struct err *err)
{
    struct finder finder = {.evaluator = {.routing = &frontier->routing}, .marginal = marginal};
    bool any = false;
    struct frontier_csv csv;
    struct text rows = {.arena = call->arena};
    TRY(read_what(what, frontier, &finder, err));
    finder.slot = evaluate_is_slot(finder.field->key);
    frontier_csv_init(&csv, frontier->axes, frontier->n_axes, call->arena);
    for (size_t i = 0; i < frontier->n_axes; i++)
        text_printf(&rows, "%s,", frontier->axes[i].column);
    text_printf(&rows, "%s,verdict,total_bytes,limit_bytes,smaller_values\n", finder.key);
    uint64_t points = sweep_points(&frontier->sweep);
    for (uint64_t point = 0; point < points; point++) {
        size_t indices[SWEEP_AXES] = {0};
        struct found found;
        sweep_indices(&frontier->sweep, point, indices);
        take_point(&finder, frontier, indices);
        find(&finder, &found);
        any = any || found.value;
        for (size_t i = 0; i < frontier->n_axes; i++)
            text_printf(&rows, "%s,", csv.labels[i][indices[i]]);
        print_row(&finder, &found, &rows);
    }
    evaluator_release(&finder.evaluator);
    TRY(frontier_table(&rows, call, err));
    return any ? STATUS_OK : STATUS_NOFIT;
}

/* The largest value that fits; see find.h.
 *
 * Values are doubled until one does not fit, then everything up to twice the last that fitted
 * is tried one by one when that is at most FIND_SCAN values; beyond, bisection between them. */
#include "cli/frontier/find.h"

#include <stdio.h>
#include <string.h>

#include "cli/frontier/csv.h"
#include "cli/frontier/table.h"
#include "plan/schema/schema.h"

enum { FIND_SCAN = 4096, FIND_DOUBLINGS = 40 };

struct found {
    uint64_t value; /* 0: none fits */
    bool monotone, scanned;
    struct evaluation at;
};

struct finder {
    const struct field *field;
    struct plan plan;
    struct evaluator evaluator;
    uint64_t structure;
    bool slot;
    bool marginal; /* a value within the stack's error of the limit will do */
};

static bool fits(struct finder *finder, uint64_t value, struct evaluation *result)
{
    memcpy((char *)&finder->plan + finder->field->offset, &value, sizeof value);
    finder->structure += !finder->slot;
    evaluate(&finder->evaluator, &finder->plan, finder->structure, result);
    return result->valid && (result->verdict == VERDICT_FITS ||
                             (finder->marginal && result->verdict == VERDICT_MARGINAL));
}

/* The last power of two that fits; 0 when not even 1 does (larger ones are tried all the same:
 * a rule may ask for a multiple). */
static uint64_t doubling(struct finder *finder, uint64_t limit)
{
    uint64_t last = 0;
    unsigned failed = 0;
    for (uint64_t value = 1, i = 0; i < FIND_DOUBLINGS && value <= limit && failed < 4;
         i++, value *= 2) {
        struct evaluation result;
        bool good = fits(finder, value, &result);
        last = good ? value : last;
        failed = good ? 0 : failed + 1;
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

static void bisect(struct finder *finder, uint64_t low, uint64_t high, struct found *found)
{
    while (high - low > 1) {
        struct evaluation result;
        uint64_t middle = low + (high - low) / 2;
        if (fits(finder, middle, &result))
            low = middle;
        else
            high = middle;
    }
    found->value = low;
    fits(finder, low, &found->at);
}

static void find(struct finder *finder, struct found *found)
{
    const struct field *field = finder->field;
    uint64_t limit =
        field->max > 0 && field->max < 1e15 ? (uint64_t)field->max : UINT64_C(1) << 40;
    uint64_t last = doubling(finder, limit);
    *found = (struct found){0};
    if (!last)
        return;
    uint64_t to = 2 * last - 1 < limit ? 2 * last - 1 : limit;
    if (to <= FIND_SCAN)
        scan(finder, to, found);
    else
        bisect(finder, last, to + 1, found);
}

static enum status read_what(const char *what, const struct field **field, struct err *err)
{
    if (!text_starts(what, "max:")) {
        err_set(err, STATUS_USAGE, "--find \"%s\" is not max:KEY", what);
        return err_hint(err, "for example --find max:workload.micro_batch");
    }
    *field = schema_find(what + strlen("max:"));
    if (*field && (*field)->type == FIELD_COUNT)
        return STATUS_OK;
    err_set(err, STATUS_USAGE, "--find \"%s\": %s", what,
            *field ? "the key takes no whole number" : "there is no such key");
    return err_hint(err, "for example --find max:workload.micro_batch");
}

static void print_row(const struct found *found, struct text *out)
{
    if (!found->value) {
        text_append(out, ",none fits,,,\n");
        return;
    }
    const char *smaller = !found->scanned   ? "not tried"
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
    TRY(read_what(what, &finder.field, err));
    finder.slot = evaluate_is_slot(finder.field->key);
    frontier_csv_init(&csv, frontier->axes, frontier->n_axes, call->arena);
    for (size_t i = 0; i < frontier->n_axes; i++)
        text_printf(&rows, "%s,", frontier->axes[i].column);
    text_printf(&rows, "%s,verdict,total_bytes,limit_bytes,smaller_values\n",
                finder.field->key);
    uint64_t points = sweep_points(&frontier->sweep);
    for (uint64_t point = 0; point < points; point++) {
        size_t indices[SWEEP_AXES] = {0};
        struct found found;
        sweep_indices(&frontier->sweep, point, indices);
        sweep_plan(&frontier->sweep, indices, &finder.plan);
        finder.structure++;
        find(&finder, &found);
        any = any || found.value;
        for (size_t i = 0; i < frontier->n_axes; i++)
            text_printf(&rows, "%s,", csv.labels[i][indices[i]]);
        print_row(&found, &rows);
    }
    evaluator_release(&finder.evaluator);
    TRY(frontier_table(&rows, call, err));
    return any ? STATUS_OK : STATUS_NOFIT;
}

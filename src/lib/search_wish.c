/* See search_wish.h. */
#include "lib/search_wish.h"

#include <string.h>

#include "base/number.h"
#include "base/text.h"
#include "base/unit.h"
#include "lib/axis.h"
#include "plan/schema/schema.h"

/* SEARCH_KEYS: none. */
static enum search_key key_of(const char *name)
{
    unsigned i = 0;
    while (i < SEARCH_KEYS && !text_equal(name, search_key_name((enum search_key)i)) &&
           !text_equal(name, search_key_full((enum search_key)i)))
        i++;
    return (enum search_key)i;
}

bool search_wish_is_layout(const char *name)
{
    return key_of(name) != SEARCH_KEYS;
}

static enum status find_key(const char *name, const char *option, enum search_key *key,
                            struct err *err)
{
    *key = key_of(name);
    if (*key != SEARCH_KEYS)
        return STATUS_OK;
    err_set(err, STATUS_USAGE, "\"%s\": '%s' is no key of a layout", option, name);
    return err_hint(err,
                    "one of: tp, cp, pp, vpp, ep, etp, zero, path, recompute, block_size, "
                    "capacity_factor, micro_batch; --set sets a key of the plan, --over tries "
                    "several values of one");
}

static enum status set_values(const struct axis *axis, const struct plan *base,
                              struct search_space *space, struct err *err)
{
    enum search_key key = SEARCH_TP;
    TRY(find_key(axis->column, axis->option, &key, err));
    if (axis->n_values > SEARCH_VALUES)
        return err_set(err, STATUS_USAGE, "%s: %zu values, at most %d", axis->option,
                       axis->n_values, SEARCH_VALUES);
    space->n[key] = 0;
    for (size_t i = 0; i < axis->n_values; i++) {
        struct plan plan = *base;
        struct mark mark = {.file = axis->option};
        TRY(schema_set(schema_find(search_key_full(key)), &plan, axis->values[i].label, false,
                       mark, err));
        space->value[key][space->n[key]++] = search_get(&plan, key);
    }
    return STATUS_OK;
}

static enum status read_space(const struct search_wish *wish, const struct plan *plan,
                              struct arena *arena, struct search_space *space, struct err *err)
{
    struct axis axis;
    search_space_default(plan, space);
    for (size_t i = 0; i < wish->n_overs; i++) {
        TRY(axis_parse_over(wish->overs[i], arena, &axis, err));
        if (search_wish_is_layout(axis.column) || !schema_find(axis.column))
            TRY(set_values(&axis, plan, space, err));
    }
    for (size_t i = 0; i < wish->n_fixed; i++) {
        TRY(axis_parse_over(wish->fixed[i], arena, &axis, err));
        axis.option = arena_printf(arena, "--fix %s", wish->fixed[i]);
        if (axis.n_values != 1)
            return err_set(err, STATUS_USAGE, "--fix %s: one value, not %zu", wish->fixed[i],
                           axis.n_values);
        TRY(set_values(&axis, plan, space, err));
    }
    return STATUS_OK;
}

void search_wish_blame(const struct search_wish *wish, const struct plan *plan,
                       const struct search_space *space, const struct origins *origins,
                       struct arena *arena, struct err *err)
{
    size_t n;
    const struct field *fields = schema_fields(&n);
    struct plan own = *plan;
    struct err broken = {0};
    struct origins places = *origins;
    places.mark = arena_alloc(arena, n, sizeof *places.mark);
    memcpy(places.mark, origins->mark, n * sizeof *places.mark);
    for (size_t i = 0; i < wish->n_fixed; i++) { /* which search_wish_read has read */
        enum search_key key = SEARCH_TP;
        const char *name = arena_strndup(arena, wish->fixed[i], strcspn(wish->fixed[i], "="));
        if (find_key(name, "", &key, &broken) != STATUS_OK)
            return;
        search_set(&own, key, space->value[key][0]);
        places.mark[schema_find(search_key_full(key)) - fields] =
            (struct mark){.file = arena_printf(arena, "--fix %s", wish->fixed[i])};
    }
    if (plan_check_rules(&own, &places, &broken))
        *err = broken;
}

static const double MOST_BYTES = 1e18; /* as of every amount of a plan */

enum status search_wish_bytes(const char *text, uint64_t *bytes, struct err *err)
{
    double value = 0;
    *bytes = 0;
    if (!text)
        return STATUS_OK;
    const char *size = text_starts(text, "memory=") ? text + strlen("memory=") : "";
    if (number_real(size, &value)) {
        err_set(err, STATUS_USAGE, "--at-most \"%s\" has no unit", text);
        return err_hint(err, "a size is %sGiB, or %sB for bytes", size, size);
    }
    if (unit_parse(UNIT_BYTES, size, &value) && value >= 1 && value <= MOST_BYTES) {
        *bytes = (uint64_t)value;
        return STATUS_OK;
    }
    err_set(err, STATUS_USAGE, "--at-most \"%s\" is not memory=SIZE", text);
    return err_hint(err, "for example --at-most memory=200GiB");
}

enum status search_wish_read(const struct search_wish *wish, const struct plan *plan,
                             struct arena *arena, struct search_space *space,
                             uint64_t *at_most_bytes, struct err *err)
{
    TRY(read_space(wish, plan, arena, space, err));
    return search_wish_bytes(wish->at_most, at_most_bytes, err);
}

enum status search_wish_objective(const char *name, enum search_objective *objective,
                                  struct err *err)
{
    static const char *const names[SEARCH_OBJECTIVES] = {
#define OBJECTIVE_WORD(name, text, title) text,
        SEARCH_OBJECTIVE_LIST(OBJECTIVE_WORD)
#undef OBJECTIVE_WORD
    };
    for (unsigned i = 0; i < SEARCH_OBJECTIVES; i++)
        if (text_equal(name ? name : names[SEARCH_BY_TOKENS], names[i])) {
            *objective = (enum search_objective)i;
            return STATUS_OK;
        }
    err_set(err, STATUS_USAGE, "no layout is best by '%s'", name);
    return err_hint(err, "one of: tokens, tpot, ttft, memory");
}

static enum status read_limit(const char *text, struct search_ask *ask, struct err *err)
{
    bool first = text_starts(text, "ttft=");
    double *to = first ? &ask->most_ttft_s : &ask->most_tpot_s;
    bool known = first || text_starts(text, "tpot=");
    if (known && number_real(text + strlen("tpot="), to)) {
        err_set(err, STATUS_USAGE, "--limit \"%s\" has no unit", text);
        return err_hint(err, "a time is %sms or %ss", text, text);
    }
    if (known && unit_parse(UNIT_SECONDS, text + strlen("tpot="), to) && *to > 0)
        return STATUS_OK;
    err_set(err, STATUS_USAGE, "--limit \"%s\" is not tpot=TIME or ttft=TIME", text);
    return err_hint(err, "for example --limit tpot=50ms --limit ttft=2s");
}

enum status search_wish_serving(const struct search_wish *wish, const struct plan *plan,
                                struct search_ask *ask, struct err *err)
{
    bool serves = plan->workload.mode == MODE_SERVE;
    for (size_t i = 0; i < wish->n_limits; i++)
        TRY(read_limit(wish->limits[i], ask, err));
    if (serves || (!wish->n_limits && ask->objective == SEARCH_BY_TOKENS))
        return STATUS_OK;
    err_set(err, STATUS_USAGE, "%s is of requests, and workload.mode is %s",
            wish->n_limits ? "--limit" : "--objective", words_mode[plan->workload.mode]);
    return err_hint(err, "set workload.mode=serve and workload.concurrency");
}

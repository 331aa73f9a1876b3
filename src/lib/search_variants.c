/* See search_variants.h. */
#include "lib/search_variants.h"

#include <inttypes.h>
#include <string.h>

#include "base/checked.h"
#include "base/number.h"
#include "base/text.h"
#include "lib/axis.h"
#include "plan/derive.h"
#include "plan/pools.h"
#include "plan/read/unread.h"
#include "plan/schema/schema.h"
#include "work/stack/stack.h"

/* ---- the keys ---- */

struct axes {
    struct axis axis[SEARCH_VARIANT_KEYS];
    const struct field *field[SEARCH_VARIANT_KEYS];
    bool joined[SEARCH_VARIANT_KEYS]; /* varies with the one before it */
    size_t n, points;                 /* combinations */
};

/* The request with the values of a combination, whose labels are noted. */
static struct request request_at(const struct axes *axes, size_t point,
                                 const struct request *request, const char **labels,
                                 struct arena *arena)
{
    struct request at = *request;
    at.sets = arena_alloc(arena, request->n_sets + axes->n, sizeof *at.sets);
    for (size_t i = 0; i < request->n_sets; i++)
        at.sets[i] = request->sets[i];
    for (size_t i = axes->n; i-- > 0;) { /* the last varies fastest */
        const struct axis *axis = &axes->axis[i];
        labels[i] = axis->values[point % axis->n_values].label;
        point /= axes->joined[i] ? 1 : axis->n_values;
        at.sets[request->n_sets + i] =
            (struct override){.key = axis->column, .value = labels[i], .option = axis->option};
    }
    at.n_sets += axes->n;
    return at;
}

static bool is_named(const struct axes *axes, const struct field *field)
{
    for (size_t i = 0; i < axes->n; i++)
        if (text_equal(axes->field[i]->key, field->key))
            return true;
    return false;
}

static bool is_of_pool(const struct field *field)
{
    return text_starts(field->key, POOL_PREFIX);
}

/* A key by its name; of servers that prefill, where a plan has them, under their part's. NULL:
 * there is none. */
static const struct field *field_of(const char *name, const struct plan *plan,
                                    struct arena *arena)
{
    bool own = plan->prefill && text_starts(name, POOL_PREFIX);
    const struct field *field = schema_find(name + (own ? sizeof POOL_PREFIX - 1 : 0));
    if (!own || !field)
        return field;
    struct field *copy = arena_alloc(arena, 1, sizeof *copy);
    *copy = *field;
    copy->key = arena_printf(arena, POOL_PREFIX "%s", field->key);
    return copy;
}

/* Each value for itself: what is none of the key's is a mistake, what others rule out is not.
 */
static enum status check_values(const struct axis *axis, const struct field *field,
                                const struct plan *plan, struct err *err)
{
    for (size_t i = 0; i < axis->n_values; i++) {
        struct plan other = *plan;
        TRY(schema_set(field, &other, axis->values[i].label, false,
                       (struct mark){.file = axis->option}, err));
    }
    return STATUS_OK;
}

static enum status add_axis(struct axes *axes, const struct axis *axis,
                            const struct field *field, const struct plan *plan, struct err *err)
{
    if (text_equal(axis->column, "workload.mode"))
        return err_set(err, STATUS_USAGE, "%s: layouts are ranked in one mode", axis->option);
    if (is_named(axes, field))
        return err_set(err, STATUS_USAGE, "%s: %s is named twice", axis->option, field->key);
    if (axes->n == SEARCH_VARIANT_KEYS)
        return err_set(err, STATUS_USAGE, "%s: more than %d keys beside a layout's",
                       axis->option, SEARCH_VARIANT_KEYS);
    TRY(check_values(axis, field, plan, err));
    axes->points *= axes->joined[axes->n] ? 1 : axis->n_values;
    if (axes->points > SEARCH_VARIANTS) {
        err_set(err, STATUS_USAGE, "%s: more than %d combinations of keys beside a layout's",
                axis->option, SEARCH_VARIANTS);
        return err_hint(err, "each is a search of its own; name fewer values");
    }
    axes->axis[axes->n] = *axis;
    axes->field[axes->n++] = field;
    return STATUS_OK;
}

/* Whoever reads plans says what it may have been. */
static enum status unknown_key(const struct request *request, const struct axis *axis,
                               struct arena *arena, struct err *err)
{
    struct axes one = {.axis = {*axis}, .n = 1, .points = axis->n_values};
    const char *label;
    struct plan *plan = arena_alloc(arena, 1, sizeof *plan);
    struct origins origins;
    const struct request with = request_at(&one, 0, request, &label, arena);
    TRY(request_load_searched(&with, arena, plan, &origins, err));
    return err_set(err, STATUS_USAGE, "%s: a search cannot turn '%s'", axis->option,
                   axis->column);
}

/* What one of n servers has of a plan's devices and requests, as values of its keys. */
enum { SERVER_KEYS = 3 };

struct server {
    const char *values[SERVER_KEYS];
};

static const char *const *server_keys(const struct plan *plan)
{
    static const char *const flight[] = {"cluster.nodes", "cluster.node.devices",
                                         "workload.concurrency"};
    static const char *const arriving[] = {"cluster.nodes", "cluster.node.devices",
                                           "workload.request_rate"};
    return plan_arrives(plan) ? arriving : flight;
}

/* Whole nodes, or an equal part of one; false where they do not come out even. */
static bool share_out(const struct plan *plan, uint64_t n, struct arena *arena,
                      struct server *out)
{
    const struct cluster *c = &plan->cluster;
    const struct workload *w = &plan->workload;
    uint64_t nodes = n > c->nodes ? 1 : c->nodes / n;
    uint64_t devices = c->node.devices / (n > c->nodes ? n / c->nodes : 1);
    out->values[0] = arena_printf(arena, "%" PRIu64, nodes);
    out->values[1] = arena_printf(arena, "%" PRIu64, devices);
    out->values[2] = plan_arrives(plan)
                         ? arena_printf(arena, "%.17g", w->request_rate / (double)n)
                         : arena_printf(arena, "%" PRIu64, ceil_div(w->concurrency, n));
    return nodes * devices * n == c->nodes * c->node.devices;
}

/* Servers of their own: each is a plan of fewer devices and fewer requests, and what a device
 * answers is that of the whole. */
static enum status add_servers(const struct search_wish *wish, const struct plan *plan,
                               struct arena *arena, struct axes *axes, struct err *err)
{
    const char *const *keys = server_keys(plan);
    struct axis axis;
    if (plan->workload.mode != MODE_SERVE || plan->prefill)
        return err_set(err, STATUS_USAGE,
                       "--servers: of a served plan of one pool (workload.mode: serve)");
    TRY(axis_parse_over(arena_printf(arena, "servers=%s", wish->servers), arena, &axis, err));
    struct server *servers = arena_alloc(arena, axis.n_values, sizeof *servers);
    for (size_t i = 0; i < axis.n_values; i++) {
        uint64_t n = 0;
        if (!number_count(axis.values[i].label, &n) || !n ||
            !share_out(plan, n, arena, &servers[i])) {
            err_set(err, STATUS_USAGE,
                    "--servers: %" PRIu64 " x %" PRIu64
                    " devices are not shared out among '%s'",
                    plan->cluster.nodes, plan->cluster.node.devices, axis.values[i].label);
            return err_hint(err, "each has whole nodes, or an equal part of one");
        }
        if (!plan_arrives(plan) && n > plan->workload.concurrency)
            return err_set(err, STATUS_USAGE,
                           "--servers: %" PRIu64 " servers have %" PRIu64
                           " requests (workload.concurrency)",
                           n, plan->workload.concurrency);
    }
    axis.option = "--servers";
    for (size_t i = 0; i < SERVER_KEYS; i++) {
        struct axis key = axis;
        key.column = keys[i];
        key.values = arena_alloc(arena, axis.n_values, sizeof *key.values);
        for (size_t j = 0; j < axis.n_values; j++)
            key.values[j] = (struct axis_value){.label = servers[j].values[i]};
        if (axes->n < SEARCH_VARIANT_KEYS)
            axes->joined[axes->n] = i > 0;
        TRY(add_axis(axes, &key, schema_find(keys[i]), plan, err));
    }
    return STATUS_OK;
}

static enum status read_axes(const struct search_wish *wish, const struct request *request,
                             const struct plan *plan, struct arena *arena, struct axes *axes,
                             struct err *err)
{
    *axes = (struct axes){.points = 1};
    for (size_t i = 0; i < wish->n_overs; i++) {
        struct axis axis;
        TRY(axis_parse_over(wish->overs[i], arena, &axis, err));
        if (search_wish_is_layout(axis.column))
            continue;
        const struct field *field = field_of(axis.column, plan, arena);
        if (!field)
            return unknown_key(request, &axis, arena, err);
        TRY(add_axis(axes, &axis, field, plan, err));
    }
    return wish->servers ? add_servers(wish, plan, arena, axes, err) : STATUS_OK;
}

/* ---- the plans ---- */

static const char *settings_of(const struct axes *axes, const char *const *labels,
                               struct arena *arena)
{
    struct text out = {.arena = arena};
    for (size_t i = 0; i < axes->n; i++)
        text_printf(&out, "%s%s=%s", i ? " " : "", axes->field[i]->key, labels[i]);
    return text_string(&out);
}

static void make_room(struct variant_plans *v, size_t n, struct arena *arena)
{
    v->plans = arena_alloc(arena, n, sizeof *v->plans);
    v->profiles = arena_alloc(arena, n, sizeof *v->profiles);
    v->named = (struct search_variants){
        .plans = v->plans, .profiles = arena_alloc(arena, n, sizeof *v->named.profiles)};
}

/* The plan that stands behind the last one becomes one of them, with what prices it. Layouts
 * are ranked at one length: one that holds less would have shorter steps. */
static enum status take(struct variant_plans *v, struct arena *arena, struct err *err)
{
    size_t i = v->named.n;
    v->plans[i].workload.fit_context = false;
    TRY(profile_load(&v->plans[i], arena, &v->profiles[i], err));
    const struct profile *own = &v->profiles[i], *prompts = own->prefill;
    v->named.profiles[i] =
        prompts ? arena_printf(arena, "%s, of prompts %s", own->name, prompts->name)
                : own->name;
    v->named.n++;
    return STATUS_OK;
}

/* Every combination: what cannot be read, or priced, is refused with its reason; `first`: of
 * the first. */
static void take_all(struct variant_plans *v, const struct axes *axes,
                     const struct request *request, struct arena *arena, struct err *first)
{
    const struct field **keys = arena_alloc(arena, axes->n, sizeof *keys);
    const char **labels = arena_alloc(arena, axes->points * axes->n, sizeof *labels);
    struct search_refused *refused = arena_alloc(arena, axes->points, sizeof *refused);
    memcpy(keys, axes->field, axes->n * sizeof *keys);
    v->named.n_keys = axes->n;
    v->named.keys = keys;
    v->named.labels = labels;
    v->named.refused = refused;
    for (size_t i = 0; i < axes->points; i++) {
        const char **own = &labels[v->named.n * axes->n];
        const struct request at = request_at(axes, i, request, own, arena);
        struct origins *places = arena_alloc(arena, 1, sizeof *places);
        struct err why = {0};
        if (request_load_searched(&at, arena, &v->plans[v->named.n], places, &why) ==
                STATUS_OK &&
            take(v, arena, &why) == STATUS_OK) {
            v->origins = v->named.n > 1 ? v->origins : places;
            continue;
        }
        *first = v->named.n_refused ? *first : why;
        refused[v->named.n_refused++] = (struct search_refused){settings_of(axes, own, arena),
                                                                arena_strdup(arena, why.text)};
    }
}

enum status variant_plans_read(const struct search_wish *wish, const struct request *request,
                               const struct plan *plan, const struct origins *origins,
                               struct arena *arena, struct variant_plans *v, struct err *err)
{
    struct axes axes;
    struct err first = {0};
    *v = (struct variant_plans){.origins = origins};
    TRY(read_axes(wish, request, plan, arena, &axes, err));
    make_room(v, axes.points, arena);
    if (!axes.n) {
        v->plans[0] = *plan;
        return take(v, arena, err);
    }
    take_all(v, &axes, request, arena, &first);
    if (!v->named.n)
        *err = first;
    return v->named.n ? STATUS_OK : first.status;
}

enum status variant_plans_ask(const struct variant_plans *v, const struct search_wish *wish,
                              struct search_ask *ask, struct arena *arena,
                              struct search_ask **asks, struct err *err)
{
    size_t n = v->named.n;
    struct search_space *spaces = arena_alloc(arena, n, sizeof *spaces);
    *asks = arena_alloc(arena, n, sizeof **asks);
    TRY(search_wish_serving(wish, v->plans, ask, err));
    for (size_t i = 0; i < n; i++) {
        TRY(search_wish_read(wish, &v->plans[i], arena, &spaces[i], &ask->at_most_bytes, err));
        (*asks)[i] = *ask;
        (*asks)[i].plan = &v->plans[i];
        (*asks)[i].profile = &v->profiles[i];
        (*asks)[i].space = &spaces[i];
    }
    return STATUS_OK;
}

/* ---- what is to be said of them ---- */

/* Why no plan reads the key, as the first says it. What a layout decides is not asked. */
static const char *unread(const struct search_variants *v, const struct field *field,
                          struct arena *arena)
{
    const char *first = NULL;
    for (unsigned key = 0; key < SEARCH_KEYS; key++)
        if (unread_depends(field, search_key_full((enum search_key)key)))
            return NULL;
    for (size_t i = 0; i < v->n; i++) {
        const struct unread_plan of = {&v->plans[i], stack_path(&v->plans[i], NULL)};
        const char *reason = unread_reason(field, &of, arena);
        if (!reason)
            return NULL;
        first = first ? first : reason;
    }
    return first;
}

/* Once for all that have one reason. */
static void note_refused(const struct search_variants *v, size_t i, FILE *out)
{
    const struct search_refused *first = &v->refused[i];
    size_t more = 0;
    for (size_t j = 0; j < v->n_refused; j++) {
        bool same = j != i && text_equal(v->refused[j].why, first->why);
        if (same && j < i)
            return;
        more += same;
    }
    fprintf(out, "note: not searched: %s", first->settings);
    if (more)
        fprintf(out, " and %zu more", more);
    fprintf(out, ": %s\n", first->why);
}

void search_variants_notes(const struct search_variants *v, struct arena *arena, FILE *out)
{
    for (size_t i = 0; i < v->n_refused; i++)
        note_refused(v, i, out);
    for (size_t i = 0; i < v->n_keys; i++) {
        bool pool = is_of_pool(v->keys[i]);
        const char *reason = pool ? NULL : unread(v, v->keys[i], arena);
        if (reason)
            fprintf(out, "note: %s: %s\n", v->keys[i]->key, reason);
    }
}

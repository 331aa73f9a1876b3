/* A sweep as the user asks for it; see frontier.h. */
#include "lib/frontier.h"

#include "plan/read/follow.h"
#include "plan/read/shelf.h"
#include "plan/schema/schema.h"
#include "work/list/work.h"

enum { JOINT_MOST = 1 << 16 };

/* Every --set of the command line, then those of the values, through the loader: for keys that
 * are no plain field (model, cluster, stack, mappings), and for its error messages. What
 * prefills stands at *prefill, the same place each time: patches hold its address. */
static enum status apply_by_loader(const struct frontier *f,
                                   const struct axis_value *const values[SWEEP_AXES],
                                   struct plan **prefill, struct plan *plan, struct err *err)
{
    struct arena arena = {0};
    size_t n = f->n_overrides;
    for (size_t i = 0; i < f->n_axes; i++)
        n += values[i] ? values[i]->n_sets : 0;
    struct override *overrides = arena_alloc(&arena, n + 1, sizeof *overrides);
    for (n = 0; n < f->n_overrides; n++)
        overrides[n] = f->overrides[n];
    for (size_t i = 0; i < f->n_axes; i++)
        for (size_t j = 0; values[i] && j < values[i]->n_sets; j++)
            overrides[n++] = (struct override){values[i]->sets[j].key, values[i]->sets[j].value,
                                               f->axes[i].option};
    enum status status =
        plan_load_unruled(f->file, f->root, overrides, n, f->shelf, &arena, plan, err);
    if (status == STATUS_OK && plan->prefill) {
        if (!*prefill)
            *prefill = arena_alloc(f->arena, 1, sizeof **prefill);
        **prefill = *plan->prefill;
        plan->prefill = *prefill;
    }
    arena_release(&arena);
    return status;
}

/* Whether an axis sets a key that begins so. */
static bool sweeps(const struct frontier *f, const char *start)
{
    for (size_t i = 0; i < f->n_axes; i++)
        for (size_t j = 0; j < f->axes[i].n_values; j++)
            for (size_t k = 0; k < f->axes[i].values[j].n_sets; k++)
                if (text_starts(f->axes[i].values[j].sets[k].key, start))
                    return true;
    return false;
}

/* A number, switch or word from which nothing else is derived when a plan is loaded. Of model,
 * cluster and stack more hangs on a value than its own field; so it does of texts, which name
 * files, and of lists. */
static const struct field *plain_field(const struct frontier *f, const char *key)
{
    static const char *const loaded[] = {"model.", "cluster.", "stack."};
    const struct field *field = schema_find(key);
    for (size_t i = 0; i < sizeof loaded / sizeof *loaded; i++)
        if (text_starts(key, loaded[i]))
            return NULL;
    if (text_equal(key, "recompute.kind") && sweeps(f, "recompute.save"))
        return NULL; /* names to save say the kind, whichever stands last */
    bool plain = field && field->type != FIELD_TEXT && !schema_is_list(field) &&
                 !f->base.prefill; /* which has the key, too */
    return plain && !follow_from(key, f->follows) ? field : NULL;
}

/* Of an axis of plain keys, all of whose values their fields take. */
static enum status apply_plain(void *context, size_t number, struct plan *plan, struct err *err)
{
    const struct axis *axis = context;
    const struct axis_value *value = &axis->values[number];
    const struct mark mark = {.file = axis->option};
    for (size_t i = 0; i < value->n_sets; i++)
        TRY(schema_set(schema_find(value->sets[i].key), plan, value->sets[i].value, false, mark,
                       err));
    return STATUS_OK;
}

/* Whether the keys are plain and take their values as they stand; the loader has the words for
 * what is refused. */
static bool is_plain(const struct frontier *f, const struct axis *axis)
{
    struct plan plan = f->base;
    for (size_t i = 0; i < axis->n_values; i++)
        for (size_t j = 0; j < axis->values[i].n_sets; j++) {
            const struct axis_set *set = &axis->values[i].sets[j];
            const struct field *field = plain_field(f, set->key);
            struct err err = {0};
            if (!field || schema_set(field, &plan, set->value, false, (struct mark){0}, &err))
                return false;
        }
    return true;
}

/* One combination of values of the axes that go through the loader. */
static enum status apply_joint(void *context, size_t number, struct plan *plan, struct err *err)
{
    const struct frontier *f = context;
    const struct axis_value *values[SWEEP_AXES] = {0};
    struct plan **prefill = &f->prefills[number];
    for (size_t i = f->n_axes; i-- > 0;)
        if (f->sweep.joined[i]) {
            values[i] = &f->axes[i].values[number % f->axes[i].n_values];
            number /= f->axes[i].n_values;
        }
    return apply_by_loader(f, values, prefill, plan, err);
}

/* Keys from which others follow are set together, as --set would: what follows from two of
 * them follows from neither alone. */
static enum status join_axes(struct frontier *f, struct err *err)
{
    struct sweep *sweep = &f->sweep;
    size_t n = 1;
    f->follows = sweeps(f, "stack") ? FOLLOWS_RANKS : follow_of(&f->base);
    for (size_t i = 0; i < f->n_axes; i++) {
        sweep->joined[i] = !is_plain(f, &f->axes[i]);
        if (!sweep->joined[i])
            continue;
        sweep->axes[i] = (struct sweep_axis){.n_values = f->axes[i].n_values};
        if (__builtin_mul_overflow(n, f->axes[i].n_values, &n) || n > JOINT_MOST) {
            err_set(err, STATUS_USAGE,
                    "%s has more than %d combinations with what is swept beside it",
                    f->axes[i].column, JOINT_MOST);
            return err_hint(err, "other keys follow from these; sweep fewer values of them");
        }
    }
    f->prefills = arena_alloc(f->arena, n, sizeof(struct plan *));
    return sweep_joint_init(&sweep->joint, &f->base, n, apply_joint, f, f->arena, err);
}

static bool all_slots(const struct axis *axis)
{
    for (size_t i = 0; i < axis->n_values; i++)
        for (size_t j = 0; j < axis->values[i].n_sets; j++)
            if (!evaluate_is_slot(axis->values[i].sets[j].key))
                return false;
    return true;
}

enum status frontier_axes_read(struct frontier *f, const struct frontier_axes *asked,
                               struct arena *arena, struct err *err)
{
    *f = (struct frontier){.arena = arena};
    if (asked->n_overs > SWEEP_AXES - 1) {
        err_set(err, STATUS_USAGE, "%zu keys to sweep, at most %d", asked->n_overs,
                SWEEP_AXES - 1);
        return err_hint(err, "put related keys together with --case NAME:key=value,...");
    }
    if (asked->n_cases)
        TRY(axis_parse_cases(asked->cases, asked->n_cases, arena, &f->axes[f->n_axes++], err));
    for (size_t i = 0; i < asked->n_overs; i++)
        TRY(axis_parse_over(asked->overs[i], arena, &f->axes[f->n_axes++], err));
    for (size_t i = 0; i < f->n_axes; i++)
        for (size_t j = 0; j < i; j++)
            if (text_equal(f->axes[i].column, f->axes[j].column))
                return err_set(err, STATUS_USAGE, "\"%s\" is swept twice", f->axes[i].column);
    return STATUS_OK;
}

/* Lengths that are swept are asked of the cache, each as it stands. */
static void ask_lengths(struct frontier *f)
{
    if (!f->base.workload.fit_context || !sweeps(f, "workload.context_length"))
        return;
    struct override *all = arena_alloc(f->arena, f->n_overrides + 1, sizeof *all);
    for (size_t i = 0; i < f->n_overrides; i++)
        all[i] = f->overrides[i];
    all[f->n_overrides++] = (struct override){"workload.fit_context", "false", "--over"};
    f->overrides = all;
    f->base.workload.fit_context = false;
}

enum status frontier_init(struct frontier *f, const struct request *request, struct err *err)
{
    f->file = request->name;
    f->root = request->root;
    f->overrides = request->sets;
    f->n_overrides = request->n_sets;
    f->shelf = arena_alloc(f->arena, 1, sizeof *f->shelf);
    f->shelf->arena = f->arena;
    TRY(plan_load_unruled(f->file, f->root, f->overrides, f->n_overrides, f->shelf, f->arena,
                          &f->base, err));
    ask_lengths(f);
    TRY(routing_data_load(&f->base, f->arena, &f->routing, err));
    f->sweep = (struct sweep){.base = &f->base, .routing = &f->routing, .n_axes = f->n_axes};
    TRY(join_axes(f, err));
    for (size_t i = 0; i < f->n_axes; i++) {
        if (f->sweep.joined[i])
            continue;
        TRY(sweep_axis_init(&f->sweep.axes[i], &f->base, f->axes[i].n_values,
                            all_slots(&f->axes[i]), apply_plain, &f->axes[i], f->arena, err));
    }
    return STATUS_OK;
}

enum status frontier_inherits(const struct frontier *f, const struct field *field,
                              bool *inherits, struct err *err)
{
    struct arena arena = {0};
    struct plan plan;
    double own = schema_number(field, f->base.prefill);
    struct override *sets = arena_alloc(&arena, f->n_overrides + 1, sizeof *sets);
    for (size_t i = 0; i < f->n_overrides; i++)
        sets[i] = f->overrides[i];
    sets[f->n_overrides] = (struct override){
        field->key, arena_printf(&arena, "%.0f", own > 1 ? own - 1 : own + 1), "--find"};
    enum status status = plan_load_unruled(f->file, f->root, sets, f->n_overrides + 1, f->shelf,
                                           &arena, &plan, err);
    *inherits = status == STATUS_OK && schema_number(field, plan.prefill) != own;
    arena_release(&arena);
    return status;
}

void frontier_why(const struct plan *plan, char why[RULE_TEXT])
{
    char hint[RULE_TEXT] = "";
    struct arena arena = {0};
    struct work work;
    struct err err = {0};
    if (!rule_check(plan, why, hint)) {
        bool refused = work_build(plan, &arena, &work, &err) != STATUS_OK;
        snprintf(why, RULE_TEXT, "%.*s", RULE_TEXT - 1,
                 refused ? err.text : "a size passes 64 bits or the routing cannot be sampled");
    }
    arena_release(&arena);
}

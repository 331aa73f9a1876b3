/* A sweep as the user asks for it; see frontier.h. */
#include "cli/frontier/frontier.h"

#include "cli/option/plan_argument.h"
#include "plan/follow.h"
#include "plan/schema.h"

struct applied {
    const struct frontier *frontier;
    const struct axis *axis;
};

/* Every --set of the command line, then those of the value, through the loader: for keys that
 * are no plain field (model, cluster, stack, mappings), and for its error messages. */
static enum status apply_by_loader(const struct frontier *f, const struct axis *axis,
                                   const struct axis_value *value, struct plan *plan,
                                   struct err *err)
{
    struct arena arena = {0};
    size_t n = f->n_overrides + value->n_sets;
    struct override *overrides = arena_alloc(&arena, n, sizeof *overrides);
    for (size_t i = 0; i < f->n_overrides; i++)
        overrides[i] = f->overrides[i];
    for (size_t i = 0; i < value->n_sets; i++)
        overrides[f->n_overrides + i] =
            (struct override){value->sets[i].key, value->sets[i].value, axis->option};
    enum status status = plan_load_unruled(f->file, f->root, overrides, n, &arena, plan, err);
    arena_release(&arena);
    return status;
}

/* A number, switch or word from which nothing else is derived when a plan is loaded. Of model,
 * cluster and stack more hangs on a value than its own field; so it does of texts, which name
 * files, and of lists. */
static bool is_plain(const char *key)
{
    static const char *const loaded[] = {"model.", "cluster.", "stack."};
    const struct field *field = schema_find(key);
    for (size_t i = 0; i < sizeof loaded / sizeof *loaded; i++)
        if (text_starts(key, loaded[i]))
            return false;
    return field && field->type != FIELD_TEXT && !schema_is_list(field);
}

static enum status apply_value(void *context, size_t number, struct plan *plan, struct err *err)
{
    const struct applied *applied = context;
    const struct axis_value *value = &applied->axis->values[number];
    for (size_t i = 0; i < value->n_sets; i++) {
        const char *key = value->sets[i].key;
        struct err refused = {0};
        struct mark mark = {.file = applied->axis->option};
        if (!is_plain(key) || follow_from(key) ||
            schema_set(schema_find(key), plan, value->sets[i].value, false, mark, &refused) !=
                STATUS_OK)
            return apply_by_loader(applied->frontier, applied->axis, value, plan, err);
    }
    return STATUS_OK;
}

static bool all_slots(const struct axis *axis)
{
    for (size_t i = 0; i < axis->n_values; i++)
        for (size_t j = 0; j < axis->values[i].n_sets; j++)
            if (!evaluate_is_slot(axis->values[i].sets[j].key))
                return false;
    return true;
}

static enum status parse_axes(struct frontier *f, const struct option_list *cases,
                              const struct option_list *overs, struct err *err)
{
    if (overs->n > SWEEP_AXES - 1) {
        err_set(err, STATUS_USAGE, "%zu keys to sweep, at most %d", overs->n, SWEEP_AXES - 1);
        return err_hint(err, "put related keys together with --case NAME:key=value,...");
    }
    if (cases->n)
        TRY(axis_parse_cases(cases->items, cases->n, f->arena, &f->axes[f->n_axes++], err));
    for (size_t i = 0; i < overs->n; i++)
        TRY(axis_parse_over(overs->items[i], f->arena, &f->axes[f->n_axes++], err));
    for (size_t i = 0; i < f->n_axes; i++)
        for (size_t j = 0; j < i; j++)
            if (text_equal(f->axes[i].column, f->axes[j].column))
                return err_set(err, STATUS_USAGE, "\"%s\" is swept twice", f->axes[i].column);
    return STATUS_OK;
}

enum status frontier_init(struct frontier *f, const struct invocation *call,
                          const struct option_list *cases, const struct option_list *overs,
                          struct err *err)
{
    *f = (struct frontier){.file = call->operands[0], .arena = call->arena};
    TRY(parse_axes(f, cases, overs, err));
    TRY(plan_argument_overrides(call, &f->overrides, &f->n_overrides, err));
    TRY(plan_argument_tree(call, 0, f->overrides, &f->n_overrides, &f->root, err));
    TRY(plan_load_unruled(f->file, f->root, f->overrides, f->n_overrides, f->arena, &f->base,
                          err));
    TRY(routing_data_load(&f->base, NULL, f->arena, &f->routing, err));
    f->sweep = (struct sweep){.base = &f->base, .routing = &f->routing, .n_axes = f->n_axes};
    for (size_t i = 0; i < f->n_axes; i++) {
        struct applied applied = {f, &f->axes[i]};
        TRY(sweep_axis_init(&f->sweep.axes[i], &f->base, f->axes[i].n_values,
                            all_slots(&f->axes[i]), apply_value, &applied, f->arena, err));
    }
    return STATUS_OK;
}

/* A sweep as the user asks for it; see frontier.h. */
#include "lib/frontier.h"

#include "plan/read/follow.h"
#include "plan/read/shelf.h"
#include "plan/schema/schema.h"
#include "work/list/work.h"

struct applied {
    const struct frontier *frontier;
    const struct axis *axis;
    const char *key;           /* of the last setting: that of a whole axis, mostly */
    const struct field *plain; /* its field, or NULL where it goes through the loader */
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
    enum status status =
        plan_load_unruled(f->file, f->root, overrides, n, f->shelf, &arena, plan, err);
    arena_release(&arena);
    return status;
}

/* A number, switch or word from which nothing else is derived when a plan is loaded. Of model,
 * cluster and stack more hangs on a value than its own field; so it does of texts, which name
 * files, and of lists. */
static const struct field *plain_field(const char *key)
{
    static const char *const loaded[] = {"model.", "cluster.", "stack."};
    const struct field *field = schema_find(key);
    for (size_t i = 0; i < sizeof loaded / sizeof *loaded; i++)
        if (text_starts(key, loaded[i]))
            return NULL;
    bool plain = field && field->type != FIELD_TEXT && !schema_is_list(field);
    return plain && !follow_from(key) ? field : NULL;
}

static enum status apply_value(void *context, size_t number, struct plan *plan, struct err *err)
{
    struct applied *applied = context;
    const struct axis_value *value = &applied->axis->values[number];
    for (size_t i = 0; i < value->n_sets; i++) {
        const char *key = value->sets[i].key;
        struct err refused = {0};
        struct mark mark = {.file = applied->axis->option};
        if (key != applied->key)
            applied->plain = plain_field(key);
        applied->key = key;
        if (!applied->plain || schema_set(applied->plain, plan, value->sets[i].value, false,
                                          mark, &refused) != STATUS_OK)
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
    TRY(routing_data_load(&f->base, NULL, f->arena, &f->routing, err));
    f->sweep = (struct sweep){.base = &f->base, .routing = &f->routing, .n_axes = f->n_axes};
    for (size_t i = 0; i < f->n_axes; i++) {
        struct applied applied = {.frontier = f, .axis = &f->axes[i]};
        TRY(sweep_axis_init(&f->sweep.axes[i], &f->base, f->axes[i].n_values,
                            all_slots(&f->axes[i]), apply_value, &applied, f->arena, err));
    }
    return STATUS_OK;
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

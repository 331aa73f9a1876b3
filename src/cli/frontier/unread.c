/* Swept keys that no point reads; see unread.h. */
#include "cli/frontier/unread.h"

#include "base/text.h"
#include "plan/read/unread.h"
#include "work/stack/stack.h"

enum { POINTS_ASKED = 4096 };

/* Whether values of the axis can decide if the field is read: its keys do, or a file they name
 * may hold one that does. */
static bool decides(const struct axis *axis, const struct field *field)
{
    const char *last = NULL; /* all values of --over have one key */
    for (size_t i = 0; i < axis->n_values; i++)
        for (size_t j = 0; j < axis->values[i].n_sets; j++) {
            const char *key = axis->values[i].sets[j].key;
            if (key == last)
                continue;
            last = key;
            const struct field *set = schema_find(key);
            if (!set || text_equal(set->key, "model") || text_equal(set->key, "stack") ||
                text_equal(set->key, "cluster") || unread_depends(field, set->key))
                return true;
        }
    return false;
}

/* Why no point reads the field, as the first says it; NULL when one does. Axes that decide
 * nothing stay at their first value. */
static const char *reason_everywhere(const struct frontier *f, const struct field *field,
                                     struct arena *arena)
{
    size_t count[SWEEP_AXES], index[SWEEP_AXES] = {0}, points = 1;
    const char *first = NULL;
    for (size_t i = 0; i < f->n_axes; i++) {
        count[i] = decides(&f->axes[i], field) ? f->axes[i].n_values : 1;
        points *= count[i] < POINTS_ASKED ? count[i] : POINTS_ASKED;
    }
    for (size_t point = 0; points <= POINTS_ASKED && point < points; point++) {
        struct plan plan;
        size_t rest = point;
        for (size_t i = 0; i < f->n_axes; i++, rest /= count[i - 1])
            index[i] = rest % count[i];
        sweep_plan(&f->sweep, index, &plan);
        const struct unread_plan of = {&plan, stack_path(&plan, NULL)};
        const char *reason = unread_reason(field, &of, arena);
        if (!reason)
            return NULL;
        first = first ? first : reason;
    }
    return first;
}

void frontier_unread(const struct frontier *frontier, FILE *out)
{
    for (size_t i = 0; i < frontier->n_axes; i++) {
        const struct field *field = schema_find(frontier->axes[i].column);
        const char *reason = field ? reason_everywhere(frontier, field, frontier->arena) : NULL;
        if (reason)
            fprintf(out, "note: %s: %s\n", field->key, reason);
    }
}

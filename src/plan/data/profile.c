/* Profiles; see profile.h. Reading stands in profile_read.c. */
#include "plan/data/profile.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "plan/read/catalog.h"
#include "plan/schema/schema.h"

/* ---- names ---- */

static const struct {
    const char *name;
    enum profile_item class;
} items[PROFILE_ITEMS] = {
#define ITEM_ROW(name, text, of, help) [PROFILE_##name] = {text, PROFILE_##of},
    PROFILE_ITEM_LIST(ITEM_ROW)
#undef ITEM_ROW
};

const char *profile_item_name(enum profile_item item)
{
    return items[item].name;
}

enum profile_item profile_item_class(enum profile_item item)
{
    return items[item].class;
}

const char *profile_quantity_name(enum profile_quantity quantity)
{
    static const char *const names[PROFILE_QUANTITIES] = {
#define QUANTITY_NAME(name, text, unit, low, high, of, help) [PROFILE_##name] = text,
        PROFILE_QUANTITY_LIST(QUANTITY_NAME)
#undef QUANTITY_NAME
    };
    return names[quantity];
}

const char *profile_axis_name(enum profile_axis axis)
{
    static const char *const names[PROFILE_AXES] = {
#define AXIS_NAME(name, text, help) [PROFILE_BY_##name] = text,
        PROFILE_AXIS_LIST(AXIS_NAME)
#undef AXIS_NAME
    };
    return names[axis];
}

const char *profile_level_name(enum profile_level level)
{
    static const char *const names[PROFILE_LEVELS] = {"scale_up", "scale_out"};
    return names[level];
}

const char *profile_constant_name(const struct constant *c, struct arena *arena)
{
    struct text text = {.arena = arena};
    text_printf(&text, "%s.%s", profile_item_name(c->of), profile_quantity_name(c->is));
    const char *const where[] = {
        c->path == PROFILE_ANY ? NULL : words_path[c->path],
        c->compute == PROFILE_ANY ? NULL : words_compute[c->compute],
        c->level == PROFILE_ANY ? NULL : profile_level_name((enum profile_level)c->level)};
    const char *before = " (";
    for (size_t i = 0; i < sizeof where / sizeof *where; i++)
        if (where[i]) {
            text_printf(&text, "%s%s", before, where[i]);
            before = ", ";
        }
    if (before[0] == ',')
        text_append(&text, ")");
    return text_string(&text);
}

/* ---- looking up ---- */

static bool matches(int wanted, int said)
{
    return said == PROFILE_ANY || said == wanted;
}

/* The higher, the nearer: the file before its base, then an item before its class, then path,
 * dtype, level. */
static int nearness(const struct constant *c, enum profile_item of)
{
    int own = c->depth < 64 ? 64 - (int)c->depth : 0;
    return own * 16 + (c->of == of) * 8 + (c->path != PROFILE_ANY) * 4 +
           (c->compute != PROFILE_ANY) * 2 + (c->level != PROFILE_ANY);
}

const struct constant *profile_find(const struct profile *profile, enum profile_item of,
                                    enum profile_quantity is, int path, int compute, int level)
{
    const struct constant *found = NULL;
    for (size_t i = 0; i < profile->n; i++) {
        const struct constant *c = &profile->constants[i];
        if (c->is != is || (c->of != of && c->of != items[of].class) ||
            !matches(path, c->path) || !matches(compute, c->compute) ||
            !matches(level, c->level))
            continue;
        if (!found || nearness(c, of) > nearness(found, of))
            found = c;
    }
    return found;
}

bool profile_is_of_kernel(const struct constant *efficiency, const struct constant *constant)
{
    return !efficiency || !constant || efficiency->path == PROFILE_ANY ||
           constant->path != PROFILE_ANY || constant->of != efficiency->of;
}

double profile_value(const struct constant *c, double x, bool *outside)
{
    size_t last = c->n - 1;
    bool beyond = c->n > 1 && (x < c->x[0] || x > c->x[last]);
    if (outside)
        *outside = beyond;
    if (c->n == 1 || x <= c->x[0])
        return c->y[0];
    if (x >= c->x[last])
        return c->y[last];
    size_t i = 1;
    while (c->x[i] < x)
        i++;
    double share = log(x / c->x[i - 1]) / log(c->x[i] / c->x[i - 1]);
    return c->y[i - 1] + share * (c->y[i] - c->y[i - 1]);
}

/* ---- a plan's profile ---- */

/* Without the size of the cluster ("-8x8") and what a mapping in place adds (" (changed)"). */
void profile_device(const struct plan *plan, char device[PLAN_NAME])
{
    snprintf(device, PLAN_NAME, "%s",
             plan->cluster.device.name[0] ? plan->cluster.device.name : plan->cluster_name);
    device[strcspn(device, " ")] = '\0';
    char *dash = strrchr(device, '-');
    bool sizes = dash && strchr(dash, 'x');
    for (const char *c = dash; sizes && *++c;)
        sizes = isdigit((unsigned char)*c) || *c == 'x';
    if (sizes)
        *dash = '\0';
    for (char *c = device; *c; c++)
        *c = *c == ' ' ? '-' : (char)tolower((unsigned char)*c);
}

/* Of this name on the plan's device, on its family, anywhere. */
static bool find_named(const struct plan *plan, const char *name, struct arena *arena,
                       char **path)
{
    char device[PLAN_NAME];
    profile_device(plan, device);
    const char *family = plan->cluster.device.family;
    const char *const names[] = {arena_printf(arena, "%s-%s", name, device),
                                 family[0] ? arena_printf(arena, "%s-%s", name, family) : NULL,
                                 name};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i] && catalog_has(CATALOG_PROFILE, names[i], arena, path))
            return true;
    return false;
}

static enum status path_of(const struct plan *plan, struct arena *arena, char **path,
                           struct err *err)
{
    const char *stack = words_stack[plan->stack.kind];
    bool serves = plan->workload.mode == MODE_SERVE;
    if (plan->stack.profile[0])
        return catalog_find(CATALOG_PROFILE, plan->stack.profile, NULL, arena, path, err);
    if ((serves && find_named(plan, arena_printf(arena, "%s-serve", stack), arena, path)) ||
        find_named(plan, stack, arena, path))
        return STATUS_OK;
    return catalog_find(CATALOG_PROFILE, "generic", NULL, arena, path, err);
}

/* Of who decodes, or of one that does both. */
static bool is_chosen_alike(const struct plan *a, const struct plan *b)
{
    char one[PLAN_NAME], other[PLAN_NAME];
    profile_device(a, one);
    profile_device(b, other);
    return a->stack.kind == b->stack.kind && text_equal(a->stack.profile, b->stack.profile) &&
           (a->workload.mode == MODE_SERVE) == (b->workload.mode == MODE_SERVE) &&
           text_equal(a->cluster.device.family, b->cluster.device.family) &&
           text_equal(one, other);
}

bool profile_is_shared(const struct plan *a, const struct plan *b)
{
    bool pools = a->prefill && b->prefill;
    return is_chosen_alike(a, b) && !a->prefill == !b->prefill &&
           (!pools || is_chosen_alike(a->prefill, b->prefill));
}

/* Of servers that prefill, whose requests are the plan's. */
static enum status load_prefill(const struct plan *plan, struct arena *arena,
                                struct profile *profile, struct err *err)
{
    struct plan *pool = arena_alloc(arena, 1, sizeof *pool);
    char *path;
    *pool = *plan->prefill;
    pool->workload.mode = plan->workload.mode;
    if (is_chosen_alike(plan, pool))
        return STATUS_OK;
    struct profile *own = arena_alloc(arena, 1, sizeof *own);
    TRY(path_of(pool, arena, &path, err));
    TRY(profile_read(path, arena, own, err));
    profile->prefill = text_equal(own->file, profile->file) ? NULL : own;
    return STATUS_OK;
}

enum status profile_load(const struct plan *plan, struct arena *arena, struct profile *profile,
                         struct err *err)
{
    char *path;
    TRY(path_of(plan, arena, &path, err));
    TRY(profile_read(path, arena, profile, err));
    return plan->prefill ? load_prefill(plan, arena, profile, err) : STATUS_OK;
}

const struct profile *profile_of_pool(const struct profile *profile, enum duty duty)
{
    return duty == DUTY_PROMPTS && profile && profile->prefill ? profile->prefill : profile;
}

/* ---- several ---- */

struct profile_entry {
    const char *path;
    struct profile profile;
    struct profile_entry *next;
};

enum status profiles_get(struct profiles *profiles, const struct plan *plan,
                         const struct profile **profile, struct err *err)
{
    char *path;
    TRY(path_of(plan, profiles->arena, &path, err));
    for (struct profile_entry *e = profiles->first; e; e = e->next)
        if (text_equal(e->path, path)) {
            *profile = &e->profile;
            return STATUS_OK;
        }
    struct profile_entry *entry = arena_alloc(profiles->arena, 1, sizeof *entry);
    TRY(profile_read(path, profiles->arena, &entry->profile, err));
    entry->path = path;
    entry->next = profiles->first;
    profiles->first = entry;
    *profile = &entry->profile;
    return STATUS_OK;
}

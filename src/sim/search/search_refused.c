/* Why no layout of a search obeys the rules: what refuses most of them; see search_hunt.h.
 *
 * Walked again, slowly, once nothing was found: of each combination all that its software has
 * not, the first rule that it breaks, and where neither is, what its list is refused for. */
#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "plan/rule/rule.h"
#include "sim/search/search_hunt.h"
#include "work/stack/stack.h"

/* Combinations that are looked at, about, and lists that are built to hear why they are
 * refused.
 */
enum { LOOKS = 40000, LISTS = 512 };

/* One reason, and how many combinations have it. */
struct reason {
    const void *id; /* what it is told by */
    const char *key, *text;
    uint64_t n;
};

struct census {
    struct arena *arena;
    struct reason *reasons;
    size_t n_reasons, room;
    uint64_t n, passed; /* combinations that were looked at; and others */
    uint64_t every;     /* one of so many is looked at */
    unsigned lists;
};

/* The first words that a reason has stand for all. */
static struct reason *reason_of(struct census *c, const void *id, const char *key)
{
    for (size_t i = 0; i < c->n_reasons; i++)
        if (c->reasons[i].id == id) {
            c->reasons[i].n++;
            return &c->reasons[i];
        }
    c->reasons = arena_grow(c->arena, c->reasons, c->n_reasons, &c->room, sizeof *c->reasons);
    struct reason *reason = &c->reasons[c->n_reasons++];
    *reason = (struct reason){.id = id, .key = key, .n = 1};
    return reason;
}

static void note(struct census *c, const void *id, const char *key, const char *text)
{
    struct reason *reason = reason_of(c, id, key);
    reason->text = reason->text ? reason->text : arena_strdup(c->arena, text);
}

static bool note_rule(struct census *c, const struct plan *plan)
{
    char text[RULE_TEXT], hint[RULE_TEXT];
    const struct rule *rule = rule_check(plan, text, hint);
    if (rule)
        note(c, rule, rule->key, text);
    return rule != NULL;
}

/* All that the stack lacks of the plan, its path among it. */
static bool note_lacks(struct census *c, const struct plan *plan)
{
    static const char engine[] = "an engine's experts are fused where its ranks have all "
                                 "tokens, and exchanged elsewhere";
    const char *key, *why;
    size_t at = 0;
    struct err err = {0};
    enum moe_path path = stack_path(plan, NULL);
    bool offers = stack_offers(plan);
    while ((why = stack_lacks_next(plan, &at, &key)) != NULL)
        note(c, why, key, why);
    if (!stack_has_path(plan) && stack_runs(plan, path, &err) != STATUS_OK)
        note(c, words_path[path], "moe.path", err.text);
    if (stack_has(plan) && !offers)
        note(c, engine, "moe.path", engine);
    return !offers;
}

static void note_list(struct census *c, const struct plan *plan)
{
    struct arena arena = {0};
    struct work *work = arena_alloc(&arena, 1, sizeof *work);
    struct err err = {0};
    if (c->lists++ < LISTS && work_build(plan, &arena, work, &err) != STATUS_OK) {
        const struct reason *same = NULL;
        for (size_t i = 0; i < c->n_reasons && !same; i++)
            same = text_equal(c->reasons[i].text, err.text) ? &c->reasons[i] : NULL;
        const char *text = same ? same->text : arena_strdup(c->arena, err.text);
        note(c, same ? same->id : text, "", text);
    }
    arena_release(&arena);
}

/* One of so many, whatever the period of keys. */
static bool is_chosen(const struct census *c)
{
    static const uint64_t golden = UINT64_C(0x9e3779b97f4a7c15);
    return (c->n + c->passed) * golden <= UINT64_MAX / c->every;
}

static void visit(struct census *c, const struct plan *plan)
{
    if (!is_chosen(c)) {
        c->passed++;
        return;
    }
    bool lacks = note_lacks(c, plan), breaks = note_rule(c, plan);
    c->n++;
    if (!lacks && !breaks)
        note_list(c, plan);
}

/* ---- which combinations ---- */

/* Of layouts that obey their own rules, with all that varies inside them. */
static void visit_inner(struct census *c, const struct hunt *hunt)
{
    struct plan *plan = arena_alloc(c->arena, 1, sizeof *plan);
    for (size_t i = 0; i < hunt->n_layouts; i++) {
        uint8_t index[SEARCH_KEYS];
        memcpy(index, hunt->layouts[i].index, sizeof index);
        *plan = hunt->base;
        do {
            hunt_set_keys(hunt, 0, index, plan);
            visit(c, plan);
        } while (hunt_turn(hunt, plan, HUNT_INNER, SEARCH_KEYS, index) < SEARCH_KEYS);
    }
}

/* None does: by the first rule that each breaks. */
static void visit_layouts(struct census *c, const struct hunt *hunt)
{
    struct plan *plan = arena_alloc(c->arena, 1, sizeof *plan);
    uint8_t index[SEARCH_KEYS] = {0};
    *plan = hunt->base;
    do {
        hunt_set_keys(hunt, 0, index, plan);
        c->n++;
        note_rule(c, plan);
    } while (hunt_turn(hunt, plan, 0, HUNT_INNER, index) < SEARCH_KEYS);
}

/* ---- the message ---- */

/* The most frequent but one; NULL: there is none. */
static const struct reason *most_of(const struct census *c, const struct reason *but)
{
    const struct reason *most = NULL;
    for (size_t i = 0; i < c->n_reasons; i++)
        if (&c->reasons[i] != but && (!most || c->reasons[i].n > most->n))
            most = &c->reasons[i];
    return most;
}

static const char *said(const struct reason *reason, struct arena *arena)
{
    bool keyed = reason->key && reason->key[0];
    return arena_printf(arena, "%s%s%s", keyed ? reason->key : "", keyed ? ": " : "",
                        reason->text);
}

enum status search_refused(const struct hunt *hunts, size_t n, uint64_t points,
                           struct arena *arena, struct err *err)
{
    struct census c = {.arena = arena, .every = points / LOOKS + 1};
    size_t layouts = 0;
    for (size_t i = 0; i < n; i++)
        layouts += hunts[i].n_layouts;
    for (size_t i = 0; i < n; i++)
        (layouts ? visit_inner : visit_layouts)(&c, &hunts[i]);
    const char *stack = hunts->ask->plan->stack_name;
    const char *what = c.passed  ? "combinations looked at"
                       : layouts ? "combinations"
                                 : "layouts";
    const struct reason *first = most_of(&c, NULL), *second = most_of(&c, first);
    if (!first)
        return err_set(err, STATUS_INPUT, "no layout obeys the rules of %s", stack);
    if (first->n == c.n)
        return err_set(err, STATUS_INPUT,
                       "no layout obeys the rules of %s: all %" PRIu64 " %s are refused, %s",
                       stack, c.n, what, said(first, arena));
    err_set(err, STATUS_INPUT,
            "no layout obeys the rules of %s: %" PRIu64 " of %" PRIu64 " %s are refused, %s",
            stack, first->n, c.n, what, said(first, arena));
    return second ? err_hint(err, "%" PRIu64 " are refused, %s", second->n, said(second, arena))
                  : STATUS_INPUT;
}

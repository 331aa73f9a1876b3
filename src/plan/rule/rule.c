/* How rules are checked and worded; they stand in the files of rule_sets below. */
#include "plan/rule/rule.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/checked.h"
#include "base/text.h"
#include "plan/rule/rule_parts.h"

uint64_t rule_product(uint64_t a, uint64_t b, uint64_t c)
{
    return saturated_mul(saturated_mul(a, b), c);
}

void rule_say(char *to, const char *format, ...)
{
    va_list words;
    va_start(words, format);
    if (to)
        vsnprintf(to, RULE_TEXT, format, words);
    va_end(words);
}

void rule_add(char *to, const char *format, ...)
{
    size_t used = to ? strlen(to) : 0;
    va_list words;
    va_start(words, format);
    if (to)
        vsnprintf(to + used, RULE_TEXT - used, format, words);
    va_end(words);
}

uint64_t rule_one(const struct plan *plan)
{
    (void)plan;
    return 1;
}

uint64_t rule_two(const struct plan *plan)
{
    (void)plan;
    return 2;
}

static uint64_t count_of(const struct quantity *quantity, const struct plan *plan)
{
    uint64_t value;
    if (quantity->derive)
        return quantity->derive(plan);
    memcpy(&value, (const char *)plan + quantity->offset, sizeof value);
    return value;
}

static double real_of(const struct quantity *quantity, const struct plan *plan)
{
    double value;
    if (!quantity->real)
        return (double)count_of(quantity, plan);
    memcpy(&value, (const char *)plan + quantity->offset, sizeof value);
    return value;
}

/* The nearest divisors of n around `value`, within a bound; 0: none there. */
static void near_divisors(uint64_t n, uint64_t value, uint64_t *below, uint64_t *above)
{
    enum { SEARCH = 1 << 16 };
    uint64_t down = value < n ? value : n, up = value + 1;
    uint64_t end = down > SEARCH ? down - SEARCH : 0;
    while (down > end && n % down != 0)
        down--;
    while (up < n && up - value < SEARCH && n % up != 0)
        up++;
    *below = down > end ? down : 0;
    *above = up <= n && n % up == 0 ? up : 0;
}

/* The neighbours of `value` among the divisors of n: what to use in its place. */
static void hint_divisors(char hint[RULE_TEXT], const struct rule *rule, uint64_t n,
                          uint64_t value)
{
    uint64_t below, above;
    near_divisors(n, value, &below, &above);
    if (!below)
        rule_say(hint, "%s must divide %s", rule->b.name, rule->a.name);
    else if (!above)
        rule_say(hint, "divisors of %" PRIu64 " near it: %" PRIu64, n, below);
    else
        rule_say(hint, "divisors of %" PRIu64 " near it: %" PRIu64 ", %" PRIu64, n, below,
                 above);
}

/* Appends what a degree may be, the others as they are: "ep 8", "ep 4 or 8". */
static void append_part(struct text *text, const struct quantity *part, const struct plan *plan,
                        uint64_t whole, uint64_t product)
{
    uint64_t value = count_of(part, plan), rest = product / value, below = 0, above = 0;
    if (whole % rest == 0)
        near_divisors(whole / rest, value, &below, &above);
    if (!below)
        return;
    text_printf(text, "%s%s %" PRIu64, text->length ? " or " : "", part->name, below);
    if (above)
        text_printf(text, " or %" PRIu64, above);
}

/* A layout that does not fill the devices: what one of its degrees may be, another that is no
 * 1, or the devices that it needs. */
static void hint_part(char hint[RULE_TEXT], const struct rule *rule, const struct plan *plan,
                      uint64_t whole, uint64_t product)
{
    struct arena arena = {0};
    struct text text = {.arena = &arena};
    append_part(&text, &rule->part, plan, whole, product);
    if (rule->other.name && count_of(&rule->other, plan) > 1)
        append_part(&text, &rule->other, plan, whole, product);
    text_printf(&text, "%stake devices in multiples of %" PRIu64,
                text.length ? " fits, or " : "", product);
    rule_say(hint, "%s", text_string(&text));
    arena_release(&arena);
}

/* Whether a rule of numbers holds. */
static bool holds(const struct rule *rule, const struct plan *plan)
{
    if (rule->shape == RULE_POSITIVE)
        return real_of(&rule->a, plan) > 0;
    uint64_t a = count_of(&rule->a, plan), b = count_of(&rule->b, plan);
    return rule->shape == RULE_AT_MOST   ? a <= b
           : rule->shape == RULE_DIVIDES ? b > 0 && a % b == 0
                                         : a == b;
}

static void say_positive(const struct rule *rule, char *text)
{
    rule_say(text, "%s is 0, it must be larger", rule->a.name);
}

static void say_pair(const struct rule *rule, const struct plan *plan, char *text, char *hint)
{
    uint64_t a = count_of(&rule->a, plan), b = count_of(&rule->b, plan);
    const char *verb = rule->shape == RULE_AT_MOST   ? "is more than"
                       : rule->shape == RULE_DIVIDES ? "is not divisible by"
                                                     : "is not";
    rule_say(text, "%s %" PRIu64 " %s %s%s%" PRIu64, rule->a.name, a, verb, rule->b.name,
             rule->b.name[0] ? " " : "", b);
    if (!rule->hint && rule->shape == RULE_DIVIDES && a > 0 && b > 0) {
        if (rule->part.name)
            hint_part(hint, rule, plan, a, b);
        else
            hint_divisors(hint, rule, a, b);
        if (rule->also_helps)
            rule->also_helps(plan, hint);
    }
}

/* Whether a plan that obeys the rules before it breaks this one. text, hint: filled by rules of
 * their own; NULL: not a word about it, as searches ask of plans by the thousand. */
static bool breaks(const struct rule *rule, const struct plan *plan, char *text, char *hint)
{
    if (rule->applies && !rule->applies(plan))
        return false;
    return rule->shape == RULE_OTHER ? rule->broken(plan, text, hint) : !holds(rule, plan);
}

static bool says_broken(const struct rule *rule, const struct plan *plan, char text[RULE_TEXT],
                        char hint[RULE_TEXT])
{
    hint[0] = '\0';
    if (!breaks(rule, plan, text, hint))
        return false;
    if (rule->shape == RULE_POSITIVE)
        say_positive(rule, text);
    else if (rule->shape != RULE_OTHER)
        say_pair(rule, plan, text, hint);
    if (rule->hint)
        rule_say(hint, "%s", rule->hint);
    return true;
}

/* In the order of checking: of model, cluster and parallel, and the rest. */
static const struct rule_set *const rule_sets[] = {
    &rule_set_model, &rule_set_mixer,  &rule_set_borrow, &rule_set_shape, &rule_set_layout,
    &rule_set_run,   &rule_set_shared, &rule_set_train,  &rule_set_serve, &rule_set_refused};
enum { LAYOUT_SETS = 5, SETS = sizeof rule_sets / sizeof *rule_sets };

const struct rule *rule_at(size_t i)
{
    for (size_t set = 0; set < SETS; set++) {
        if (i < rule_sets[set]->n)
            return &rule_sets[set]->rules[i];
        i -= rule_sets[set]->n;
    }
    return NULL;
}

const struct rule *rule_check(const struct plan *plan, char text[RULE_TEXT],
                              char hint[RULE_TEXT])
{
    const struct rule *rule;
    for (size_t i = 0; (rule = rule_at(i)) != NULL; i++) {
        if (says_broken(rule, plan, text, hint))
            return rule;
    }
    return plan->prefill ? rule_check(plan->prefill, text, hint) : NULL;
}

static bool obeys(const struct plan *plan, size_t first, size_t end)
{
    for (size_t set = first; set < end; set++)
        for (size_t i = 0; i < rule_sets[set]->n; i++)
            if (breaks(&rule_sets[set]->rules[i], plan, NULL, NULL))
                return false;
    return true;
}

bool rule_check_layout(const struct plan *plan)
{
    return obeys(plan, 0, LAYOUT_SETS);
}

bool rule_check_run(const struct plan *plan)
{
    return obeys(plan, LAYOUT_SETS, SETS);
}

/* ---- by key ---- */

struct rule_keys {
    const char *const *key;
    size_t n;
};

static bool names(const struct rule *rule, const struct rule_keys *keys)
{
    bool any = false;
    for (size_t k = 0; k < keys->n; k++) {
        any = any || text_equal(rule->key, keys->key[k]);
        for (size_t i = 0; i < sizeof rule->also / sizeof *rule->also; i++)
            any = any || (rule->also[i] && text_equal(rule->also[i], keys->key[k]));
    }
    return any;
}

static void take_set(const struct rule_set *set, const struct rule_keys *keys,
                     struct rule_parts *parts)
{
    for (size_t i = 0; i < set->n; i++)
        if (names(&set->rules[i], keys))
            parts->naming[parts->n_naming++] = &set->rules[i];
        else
            parts->rest[parts->n_rest++] = &set->rules[i];
}

void rule_parts_of(const char *const *keys, size_t n, struct rule_parts *parts)
{
    const struct rule_keys named = {keys, n};
    size_t all = 0;
    parts->n_naming = parts->n_rest = 0;
    for (size_t i = LAYOUT_SETS; i < SETS; i++) {
        all += rule_sets[i]->n;
        assert(all <= RULE_RUN_MOST);
        take_set(rule_sets[i], &named, parts);
    }
}

bool rule_obeyed(const struct rule *const *rules, size_t n, const struct plan *plan)
{
    for (size_t i = 0; i < n; i++)
        if (breaks(rules[i], plan, NULL, NULL))
            return false;
    return true;
}

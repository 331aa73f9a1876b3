/* What the searches for fixes know already: single changes come back in pairs, pairs in threes,
 * and every change in what is needed of several. A plan is known by the words in which it
 * differs from the one to be fixed; see fix_parts.h. What it holds all the time is asked for
 * first, by a list of nothing else, which takes a fraction of the whole one's making. */
#include <string.h>

#include "base/hash.h"
#include "plan/rule/rule.h"
#include "plan/schema/schema.h"
#include "sim/memory/steady.h"
#include "sim/memory/verdict.h"
#include "sim/moe/predict_moe.h"
#include "sim/search/fix_parts.h"
#include "sim/search/plan_words.h"
#include "work/list/shape.h"
#include "work/piece/state.h"
#include "work/stack/stack.h"

enum { WORDS_MOST = 32 };

/* A word of a plan that differs. */
struct word {
    size_t at;
    uint64_t value;
};

struct fix_known {
    struct fix_known *next; /* of the same hash */
    size_t n;
    const struct word *words; /* [n] */
    bool lawful;              /* model, cluster and parallel obey their rules */
    uint64_t needs;           /* at least, with the least that routing can ask for */
    uint64_t structure;       /* of its list; 0: not looked up */
    uint64_t exceeds, within; /* the state needs more than the one, no more than the other */
    struct fix_result {
        bool known, routed;
        struct evaluation of;
    } results[2]; /* with the 99th percentile of what routing asks for, with the least of it */
};

/* The words that differ; false when they are more than are worth keeping. */
static bool describe(const struct plan *base, const struct plan *changed,
                     struct word words[WORDS_MOST], size_t *n)
{
    size_t at = plan_words_differ(base, changed, 0);
    for (*n = 0; at < PLAN_WORDS; at = plan_words_differ(base, changed, at + 1)) {
        if (*n == WORDS_MOST)
            return false;
        words[(*n)++] = (struct word){at, plan_word(changed, at)};
    }
    return true;
}

static struct fix_known **slot_of(struct fix_search *search, const struct word *words, size_t n)
{
    uint64_t hash = hash_bytes(HASH_START, words, n * sizeof *words);
    struct fix_known **slot = &search->known[(hash >> 32) % FIX_KNOWN];
    while (*slot && ((*slot)->n != n || memcmp((*slot)->words, words, n * sizeof *words) != 0))
        slot = &(*slot)->next;
    return slot;
}

struct fix_known *fix_known_of(struct fix_search *search, const struct plan *changed)
{
    struct word words[WORDS_MOST];
    size_t n;
    bool brief = describe(search->plan, changed, words, &n);
    struct fix_known **slot = brief ? slot_of(search, words, n) : NULL;
    if (slot && *slot)
        return *slot;
    struct fix_known *known = arena_alloc(search->arena, 1, sizeof *known);
    *known = (struct fix_known){.within = UINT64_MAX};
    known->lawful = rule_check_layout(changed);
    if (!slot)
        return known;
    struct word *kept = arena_alloc(search->arena, n, sizeof *kept);
    memcpy(kept, words, n * sizeof *kept);
    known->n = n;
    known->words = kept;
    return *slot = known;
}

/* Not of two steps, of pools apart or with sequences that wait for others. */
static bool has_one_list(const struct plan *plan)
{
    const struct workload *w = &plan->workload;
    return w->mode != MODE_SERVE && !w->queue && !plan->prefill;
}

/* ---- what it holds all the time ---- */

/* A list of nothing else. */
struct state_list {
    struct work work;
    struct slots slots;
    uint64_t *values;
};

static void list_state(struct fix_search *search, const struct plan *plan,
                       struct state_list *list)
{
    arena_clear(&search->scratch);
    work_init(&list->work, &search->scratch);
    stack_system(plan->stack.kind)->state(plan, &list->work);
    work_index(&list->work);
    list->values = arena_alloc(&search->scratch, list->work.sizes.n, sizeof *list->values);
    slots_from_plan(plan, &list->slots);
}

uint64_t fix_state_bytes(struct fix_search *search, const struct plan *plan)
{
    struct state_list list;
    struct memory_peak peak;
    unsigned schedule;
    list_state(search, plan, &list);
    return verdict_evaluate(plan, &list.work, &list.slots, list.values, &peak, &schedule)
               ? peak.total_bytes
               : 0;
}

static bool state_exceeds(struct fix_search *search, const struct plan *plan, uint64_t bytes,
                          struct steady_book *book)
{
    struct state_list list;
    struct steady none = {.book = book}; /* of one evaluation its stages alone are kept */
    list_state(search, plan, &list);
    steady_book_open(book, plan, &search->scratch);
    return verdict_exceeds(plan, &list.work, &list.slots, list.values, &none, bytes);
}

/* Whether the state does so: then the whole of it does. `book` has the stages that it looked
 * at, until another state is listed. */
static bool state_needs_more(struct fix_search *search, const struct plan *changed,
                             struct fix_known *known, uint64_t bytes, struct steady_book *book)
{
    bool apart = has_one_list(changed) && stack_system(changed->stack.kind)->state;
    if (!apart || !known->lawful || bytes >= known->within)
        return false;
    if (bytes < known->exceeds)
        return true;
    bool exceeds = state_exceeds(search, changed, bytes, book);
    if (exceeds)
        known->exceeds = bytes + 1;
    else
        known->within = bytes;
    return exceeds;
}

/* ---- all of it ---- */

/* Plans whose lists are one differ in words that are mere numbers to it. */
struct fix_structure {
    struct fix_structure *next; /* of the same hash */
    size_t n;
    const struct word *words; /* [n] that differ from the plan to be fixed, but numbers */
    uint64_t number;
};

/* What a structure leaves out: what evaluate_is_slot names. */
static const bool *number_words(struct fix_search *search)
{
    size_t n;
    const struct field *fields = schema_fields(&n);
    if (search->numbers)
        return search->numbers;
    search->numbers = arena_alloc(search->arena, PLAN_WORDS, sizeof *search->numbers);
    for (size_t i = 0; i < n; i++)
        if (evaluate_is_slot(fields[i].key))
            search->numbers[fields[i].offset / PLAN_WORD_BYTES] = true;
    return search->numbers;
}

/* The words of a plan's structure: [known->n]. */
static size_t structure_words(struct fix_search *search, const struct fix_known *known,
                              struct word *words)
{
    const bool *numbers = number_words(search);
    size_t n = 0;
    for (size_t i = 0; i < known->n; i++)
        if (!numbers[known->words[i].at])
            words[n++] = known->words[i];
    return n;
}

/* Numbers from 1 on. Of a plan that differs in too much, one of its own. */
static uint64_t structure_of(struct fix_search *search, const struct fix_known *known)
{
    struct word words[WORDS_MOST];
    if (!known->words)
        return ++search->n_structures;
    size_t n = structure_words(search, known, words);
    uint64_t hash = hash_bytes(HASH_START, words, n * sizeof *words);
    struct fix_structure **slot = &search->structures[(hash >> 32) % FIX_KNOWN];
    while (*slot && ((*slot)->n != n || memcmp((*slot)->words, words, n * sizeof *words) != 0))
        slot = &(*slot)->next;
    if (*slot)
        return (*slot)->number;
    struct word *kept = arena_alloc(search->arena, n, sizeof *kept);
    memcpy(kept, words, n * sizeof *kept);
    *slot = arena_alloc(search->arena, 1, sizeof **slot);
    **slot = (struct fix_structure){.n = n, .words = kept, .number = ++search->n_structures};
    return (*slot)->number;
}

/* Who holds the list of a plan. Served plans have two, which nobody shares. */
static struct evaluator *evaluator_of(struct fix_search *search, struct fix_known *known,
                                      const struct plan *changed)
{
    bool serves = changed->workload.mode == MODE_SERVE;
    if (!known->structure)
        known->structure = structure_of(search, known);
    struct evaluator **at = &search->lists[serves ? 0 : known->structure % FIX_LISTS], *e = *at;
    if (e)
        return e;
    *at = e = arena_alloc(search->arena, 1, sizeof *e);
    e->routing = search->routing;
    e->banks = search->banks;
    e->n_banks = FIX_BANKS;
    e->rows_known = search->evaluator.rows_known;
    return e;
}

/* Whether the list of a plan's structure stands built. */
static bool is_built(struct fix_search *search, const struct plan *changed,
                     struct fix_known *known)
{
    const struct evaluator *e = known->lawful ? evaluator_of(search, known, changed) : NULL;
    return e && e->built && e->structure == known->structure;
}

static struct fix_result *ask(struct evaluator *e, const struct plan *changed,
                              struct fix_known *known, bool least)
{
    struct fix_result *found = &known->results[least];
    e->least = least;
    evaluate(e, changed, known->structure, &found->of);
    found->of.wall = NULL; /* of a list that the next one replaces */
    found->of.by = NULL;
    found->routed = e->routed;
    found->known = true;
    return found;
}

/* Whether a plan needs more than that at some moment of some stage, by a list of all of it. */
static bool list_exceeds(struct fix_search *search, const struct plan *changed,
                         struct fix_known *known, uint64_t bytes, struct steady_book *book)
{
    if (!has_one_list(changed) || !known->lawful || known->results[true].known)
        return false;
    if (bytes < known->needs)
        return true;
    struct evaluator *e = evaluator_of(search, known, changed);
    e->steady.beyond = false;
    e->enough = bytes;
    e->book = book;
    struct fix_result *found = ask(e, changed, known, true);
    e->enough = 0;
    e->book = e->steady.book = NULL;
    found->known = !e->steady.beyond;
    if (e->steady.beyond)
        known->needs = bytes + 1;
    return e->steady.beyond;
}

bool fix_needs_more(struct fix_search *search, const struct plan *changed,
                    struct fix_known *known, uint64_t bytes)
{
    struct steady_book book = {0};
    return (!is_built(search, changed, known) &&
            state_needs_more(search, changed, known, bytes, &book)) ||
           list_exceeds(search, changed, known, bytes, &book);
}

bool fix_evaluate(struct fix_search *search, const struct plan *changed,
                  struct fix_known *known, bool least, struct evaluation *result)
{
    struct fix_result *found = &known->results[least];
    if (!found->known && known->lawful)
        ask(evaluator_of(search, known, changed), changed, known, least);
    found->known = true;
    *result = found->of;
    return found->routed;
}

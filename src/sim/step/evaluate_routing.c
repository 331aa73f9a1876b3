/* What routing asks of a plan, sampled once for all plans that are routed alike; see
 * evaluate_parts.h. */
#include <string.h>

#include "base/hash.h"
#include "plan/derive.h"
#include "sim/step/evaluate_parts.h"

enum { PROBES = 8 }; /* places that a table is looked for something at */

union bank_key {
    struct demand_key key;
    uint64_t words[sizeof(struct demand_key) / 8];
};

/* The bank of a key, or where it belongs: of the next few places the first that is free. */
static struct demand_bank *bank_of(struct evaluator *e, const union bank_key *is)
{
    if (!e->banks)
        return e->own ? e->own : (e->own = arena_alloc(&e->kept, 1, sizeof *e->own));
    size_t first = (hash_words(HASH_START, is->words, sizeof is->words / 8) >> 32) % e->n_banks;
    for (size_t i = 0; i < PROBES && i < e->n_banks; i++) {
        struct demand_bank *bank = &e->banks[(first + i) % e->n_banks];
        if (!bank->known || memcmp(&bank->key, &is->key, sizeof is->key) == 0)
            return bank;
    }
    return &e->banks[first];
}

/* A bank of the plan's routing; NULL when that cannot be sampled. */
static struct demand_bank *bank_open(struct evaluator *e, const struct plan *plan)
{
    struct err err = {0};
    union bank_key is;
    demand_key_of(plan, e->routing, &is.key);
    struct demand_bank *bank = bank_of(e, &is);
    if (bank->known && memcmp(&bank->key, &is.key, sizeof is.key) == 0)
        return bank->refused ? NULL : bank;
    uint64_t turn = bank->turn + 1;
    arena_release(&bank->arena);
    memset(bank, 0, sizeof *bank);
    memcpy(&bank->key, &is.key, sizeof is.key);
    bank->known = true;
    bank->turn = turn;
    const struct demand_laws laws = {.known = e->rows_known};
    bank->refused =
        demand_prepare(plan, e->routing, laws, &bank->arena, &bank->source, &err) != STATUS_OK;
    return bank->refused ? NULL : bank;
}

/* The heaviest rank has at least the mean of the group: balanced rows, each token to as few
 * ranks as can hold its experts. What does not fit with these does not fit with any sample. */
static void set_least(struct slots *slots)
{
    uint64_t *v = slots->value;
    uint64_t together =
        v[SLOT_TOP_K] < v[SLOT_LOCAL_EXPERTS] ? v[SLOT_TOP_K] : v[SLOT_LOCAL_EXPERTS];
    v[SLOT_RECEIVED] = together ? v[SLOT_ROWS] / together : 0;
    v[SLOT_HELD_RECEIVED] = v[SLOT_RECEIVED];
}

static bool same_room(const struct demand_room *a, const struct demand_room *b)
{
    return a->set == b->set && a->padded == b->padded && a->rows == b->rows &&
           a->tokens == b->tokens;
}

/* Where a bank keeps what so many tokens ask for, or will: of the next few places the first
 * that is empty. They are multiples of a sequence: their low bits say nothing. */
static size_t place_of(const uint64_t kept[EVALUATE_CACHE], uint64_t tokens)
{
    size_t first = tokens * UINT64_C(0x9e3779b97f4a7c15) >> 32;
    for (size_t i = 0; i < PROBES; i++) {
        size_t at = (first + i) & (EVALUATE_CACHE - 1);
        if (!kept[at] || kept[at] == tokens)
            return at;
    }
    return first & (EVALUATE_CACHE - 1);
}

/* What was sampled of a routing says the expected rows, too, whatever room there is. */
static void keep_expected(struct demand_bank *bank, uint64_t tokens,
                          const struct demand_spread *spread)
{
    size_t at = place_of(bank->expected_tokens, tokens);
    bank->expected_tokens[at] = tokens;
    bank->expected[at] = spread->expected;
}

/* The 99th percentile of the plan's routing into the slots; what it does to buffers of given
 * size. */
static void set_demand(struct evaluator *e, const struct plan *plan)
{
    uint64_t tokens = plan_joined_tokens(plan);
    struct demand_bank *bank = e->bank;
    size_t at = place_of(bank->tokens, tokens);
    struct demand_room room = {0};
    if (e->work.room.set && steady_sizes(&e->steady, &e->work, &e->slots, e->values))
        room = overflow_room(&e->work, e->values);
    if (bank->tokens[at] != tokens || !same_room(&bank->layer[at].room, &room) ||
        (e->work.apart && !bank->apart[at])) {
        struct demand_spread spread;
        bank->source.room = room;
        demand_sample(&bank->source, tokens, false, &spread);
        keep_expected(bank, tokens, &spread);
        bank->tokens[at] = tokens;
        bank->p99[at] = spread.p99;
        bank->layer[at] = overflow_sampled(&bank->source, &spread);
        bank->apart[at] = e->work.apart;
        if (e->work.apart)
            demand_layers_of(&bank->source, &spread, plan_moe_layers(plan), &bank->layers[at]);
    }
    demand_to_slots(&bank->p99[at], &e->slots);
    if (e->work.apart && !e->staged)
        demand_stages_of(plan, &e->stages);
    e->staged = true;
    if (e->work.apart)
        demand_layers_to_slots(&bank->layers[at], &e->stages, DEMAND_P99, &e->slots);
    overflow_of(plan, &bank->layer[at], &e->overflow);
}

bool evaluate_follow(struct evaluator *e, const struct plan *plan)
{
    e->overflow = (struct overflow){0};
    if (e->least) {
        set_least(&e->slots);
        return true;
    }
    if (plan_joined_tokens(plan) >
        PLAN_MOST_TOKENS) /* others of the structure may be sampled */
        return false;
    if (!e->bank || e->bank->turn != e->turn)
        e->bank = bank_open(e, plan);
    e->refused = !e->bank;
    if (e->refused)
        return false;
    e->turn = e->bank->turn;
    set_demand(e, plan);
    return true;
}

bool evaluate_expected(struct evaluator *e, const struct plan *plan, bool evaluated,
                       struct demand *expected)
{
    uint64_t tokens = plan_joined_tokens(plan);
    bool known = evaluated && e->bank && e->bank->turn == e->turn;
    if (tokens > PLAN_MOST_TOKENS)
        return false;
    struct demand_bank *bank = known ? e->bank : bank_open(e, plan);
    if (!bank)
        return false;
    if (evaluated) {
        e->bank = bank;
        e->turn = bank->turn;
    }
    size_t at = place_of(bank->expected_tokens, tokens);
    if (bank->expected_tokens[at] != tokens) {
        struct demand_spread spread;
        bank->source.room = (struct demand_room){0};
        demand_sample(&bank->source, tokens, false, &spread);
        keep_expected(bank, tokens, &spread);
    }
    *expected = bank->expected[at];
    return true;
}

bool evaluate_rows(struct evaluator *e, const struct plan *plan, struct rows *rows)
{
    struct demand_bank *bank =
        plan_joined_tokens(plan) <= PLAN_MOST_TOKENS ? bank_open(e, plan) : NULL;
    if (!bank)
        return false;
    *rows = bank->source.rows;
    rows->spec.tokens = plan_joined_tokens(plan);
    return true;
}

void demand_banks_release(struct demand_bank *banks, size_t n)
{
    for (size_t i = 0; i < n; i++)
        arena_release(&banks[i].arena);
}

/* See listed.h. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "support/listed.h"

#include "base/text.h"
#include "plan/rule/rule.h"
#include "plan/schema/schema.h"
#include "sim/step/ops.h"
#include "support/drawn_plan.h"
#include "support/draws.h"
#include "work/stack/stack.h"

/* False when a rule or the stack refuses the plan. */
bool listed_plan(const struct plan *plan, struct listed *l)
{
    char text[RULE_TEXT], hint[RULE_TEXT];
    struct err err = {0};
    memset(l, 0, sizeof *l);
    if (!drawn_is_quick(plan) || rule_check(plan, text, hint) ||
        work_build(plan, &l->arena, &l->work, &err) != STATUS_OK) {
        arena_release(&l->arena);
        return false;
    }
    l->plan = *plan;
    l->plan.moe.path = stack_path(plan, NULL);
    l->plan.moe.buffer = stack_sizing(plan);
    if (!l->work.n_ops) /* stack host has them already */
        assert_int_equal(work_ops(plan, &l->work, &err), STATUS_OK);
    return true;
}

uint64_t *listed_sizes(const struct plan *plan, struct work *work)
{
    struct slots slots;
    uint64_t *values = arena_alloc(work->arena, work->sizes.n, sizeof *values);
    slots_from_plan(plan, &slots);
    assert_true(sizes_eval(&work->sizes, &slots, values));
    return values;
}

/* The list of a plan over the arena, and what its sizes come to. */
static uint64_t *build(const struct plan *plan, struct arena *arena, struct work *work)
{
    struct err err = {0};
    if (work_build(plan, arena, work, &err) != STATUS_OK)
        fail_msg("%s", err.text);
    return listed_sizes(plan, work);
}

uint64_t listed_category(const struct plan *plan, enum category category)
{
    struct arena arena = {0};
    struct work work;
    uint64_t sum = 0, *values = build(plan, &arena, &work);
    for (size_t b = 0; b < work.n_buffers; b++)
        if (work.buffers[b].category == category)
            sum += values[work.buffers[b].all.node];
    arena_release(&arena);
    return sum;
}

uint64_t listed_saved(const struct plan *plan, enum layer_kind kind, const char *named)
{
    struct arena arena = {0};
    struct work work;
    uint64_t sum = 0, *values = build(plan, &arena, &work);
    for (size_t i = 0; i < work.n_buffers; i++) {
        const struct buffer *b = &work.buffers[i];
        if (text_equal(b->name, "mlp_input"))
            break;
        if (b->segment == segment_of_kind(kind) && b->life == LIFE_SAVED &&
            (!named || text_equal(b->name, named)))
            sum += values[b->all.node];
    }
    arena_release(&arena);
    return sum;
}

uint64_t listed_at(const struct listed *l, struct size size)
{
    return l->values[size.node];
}

/* False when the routing cannot be sampled. */
bool listed_evaluate(struct listed *l, uint64_t rank)
{
    struct err err = {0};
    struct ops_report report = {0};
    const struct ops_ask ask = {.named = true, .rank = rank};
    if (ops_slots(&l->plan, &ask, &l->arena, &l->slots, &report, &err) != STATUS_OK)
        return false;
    l->values = arena_alloc(&l->arena, l->work.sizes.n, sizeof *l->values);
    return sizes_eval(&l->work.sizes, &l->slots, l->values); /* past 64 bits: not listed */
}

/* Laws hold of what is listed: most draws, some of each stack, and where all are drawn of each
 * mode (four of a share are too few to count on). */
void listed_covers(unsigned listed[STACK_COUNT][MODE_SERVE], unsigned draws)
{
    unsigned total = 0;
    for (int i = 0; i < STACK_COUNT; i++) {
        unsigned before = total;
        for (int j = 0; j < MODE_SERVE; j++) {
            total += listed[i][j];
            if (draws_are_own() && draws_share() == 1 && !listed[i][j] &&
                drawn_has_mode((enum stack_kind)i, (enum mode)j))
                fail_msg("no plan of stack %s, mode %s", words_stack[i], words_mode[j]);
        }
        if (total == before)
            fail_msg("no plan of stack %s", words_stack[i]);
    }
    print_message("%u of %u plans are listed\n", total, draws_of(draws));
    draws_reach("listed", total, draws_of(draws) / 2.0);
}

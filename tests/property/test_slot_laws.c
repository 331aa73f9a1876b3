/* A list is built once for a structure and evaluated for every plan that differs from it in
 * slots alone (evaluate_is_slot): what builders make must then be the same, name by name and
 * size by size, on random plans of every stack with whatever jobs hold besides. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/rng.h"
#include "base/text.h"
#include "plan/derive.h"
#include "plan/rule/rule.h"
#include "plan/schema/schema.h"
#include "sim/step/evaluate.h"
#include "support/draws.h"
#include "support/random_plan.h"
#include "support/shaped_plan.h"
#include "work/stack/stack.h"

enum { DRAWS = 600, VALUE = 32 };

static bool put(struct plan *plan, const char *key, const char *value)
{
    char text[RULE_TEXT], hint[RULE_TEXT];
    struct plan changed = *plan;
    struct err err = {0};
    if (schema_set(schema_find(key), &changed, value, false, (struct mark){0}, &err) ||
        !plan_is_complete(&changed) || rule_check(&changed, text, hint))
        return false;
    *plan = changed;
    return true;
}

/* What jobs hold besides, each in a third of the plans. */
static void draw_besides(struct rng *rng, struct plan *plan)
{
    static const char *const settings[][2] = {
        {"lora.rank", "8"},
        {"frozen.layers", "1"},
        {"frozen.modules", "[attention, lm_head]"},
        {"precision.weights", "nf4"},
        {"parallel.dp_shard", "2"},
        {"parallel.reshard", "never"},
        {"workload.packing.length", "16"},
        {"moe.paged_stash", "true"},
        {"moe.buffer", "1.5"},
        {"optimizer.kind", "muon"},
        {"optimizer.offload", "0.5"},
        {"optimizer.step", "foreach"},
        {"precision.recipe", "fp8_block"},
        {"stack.cross_entropy", "fused"},
        {"stack.graphs", "full"},
        {"stack.overlap.ep", "true"},
        {"workload.colocated.engine", "awake"},
        {"workload.max_num_batched_tokens", "64"},
    };
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        if (rng_below(rng, 3) == 0)
            put(plan, settings[i][0], settings[i][1]);
}

/* Other values of all slots that rules allow; how many differ. */
static unsigned draw_slots(struct rng *rng, struct plan *plan)
{
    size_t n;
    unsigned changed = 0;
    const struct field *fields = schema_fields(&n);
    for (size_t i = 0; i < n; i++) {
        char value[VALUE];
        if (!evaluate_is_slot(fields[i].key))
            continue;
        bool real = fields[i].type == FIELD_REAL;
        uint64_t count =
            rng_below(rng, 2) ? 1 + rng_below(rng, 9) : 32 + 8 * rng_below(rng, 20);
        if (real)
            snprintf(value, VALUE, "%.3f", 0.2 + 0.8 * rng_uniform(rng));
        else
            snprintf(value, VALUE, "%" PRIu64, count);
        changed += put(plan, fields[i].key, value);
    }
    return changed;
}

/* ---- two lists ---- */

struct listed {
    struct arena arena;
    struct work work;
    uint64_t *values;
};

/* The list of `plan`, its sizes those of `numbers`; false where the stack refuses it. */
static bool list_plan(const struct plan *plan, const struct plan *numbers, struct listed *l)
{
    struct err err = {0};
    struct slots slots;
    memset(l, 0, sizeof *l);
    if (work_build(plan, &l->arena, &l->work, &err) != STATUS_OK ||
        (!l->work.n_ops && work_ops(plan, &l->work, &err) != STATUS_OK))
        return false;
    slots_from_plan(numbers, &slots);
    l->values = arena_alloc(&l->arena, l->work.sizes.n, sizeof *l->values);
    sizes_eval(&l->work.sizes, &slots, l->values);
    return true;
}

static const struct plan *at_hand;

static void differ(const char *what, const char *name, uint64_t seed)
{
    fail_msg("seed %" PRIu64 ", stack %s, path %s, mode %d: %s of '%s' follows a slot", seed,
             words_stack[at_hand->stack.kind], words_path[at_hand->moe.path],
             (int)at_hand->workload.mode, what, name);
}

#define SAME(member)                                                                           \
    if (x->member != y->member)                                                                \
    differ(#member, x->name, seed)
#define SAME_SIZE(member)                                                                      \
    if (a->values[x->member.node] != b->values[y->member.node])                                \
    differ(#member, x->name, seed)

static void compare_buffers(const struct listed *a, const struct listed *b, uint64_t seed)
{
    for (size_t i = 0; i < a->work.n_buffers; i++) {
        const struct buffer *x = &a->work.buffers[i], *y = &b->work.buffers[i];
        if (!text_equal(x->name, y->name))
            differ("name", x->name, seed);
        SAME(category);
        SAME(segment);
        SAME(dtype);
        SAME(n_dims);
        SAME(rule);
        SAME(life);
        SAME(first);
        SAME(last);
        SAME(drop_every);
        SAME(schedules);
        SAME(state);
        SAME(outside);
        SAME(addressable_bytes);
        for (unsigned d = 0; d < x->n_dims; d++)
            SAME_SIZE(dims[d]);
        SAME_SIZE(bytes);
        SAME_SIZE(count);
    }
}

static void compare_ops(const struct listed *a, const struct listed *b, uint64_t seed)
{
    for (size_t i = 0; i < a->work.n_ops; i++) {
        const struct op *x = &a->work.ops[i], *y = &b->work.ops[i];
        if (!text_equal(x->name, y->name))
            differ("name", x->name, seed);
        SAME(kind);
        SAME(segment);
        SAME(phase);
        SAME(module);
        SAME(group);
        SAME(kernel);
        SAME(n_operands);
        SAME(loop);
        SAME_SIZE(layers);
        SAME_SIZE(rows);
        SAME_SIZE(flop);
        SAME_SIZE(bytes_read);
        SAME_SIZE(bytes_written);
        SAME_SIZE(bytes_sent);
        SAME_SIZE(bytes_received);
        SAME_SIZE(host_syncs);
        SAME_SIZE(trips);
    }
}

static void compare(const struct listed *a, const struct listed *b, uint64_t seed)
{
    if (a->work.n_buffers != b->work.n_buffers || a->work.n_ops != b->work.n_ops ||
        a->work.n_host != b->work.n_host || a->work.n_schedules != b->work.n_schedules ||
        a->work.n_ticks != b->work.n_ticks || a->work.sizes.n != b->work.sizes.n ||
        a->work.room.set != b->work.room.set)
        differ("how many buffers or ops", "the list", seed);
    compare_buffers(a, b, seed);
    compare_ops(a, b, seed);
    for (size_t i = 0; i < a->work.n_host; i++)
        if (a->values[a->work.host[i].bytes.node] != b->values[b->work.host[i].bytes.node])
            differ("bytes", a->work.host[i].name, seed);
    for (unsigned s = 0; s < SEGMENT_COUNT; s++)
        if (a->values[a->work.use[s].repeat.node] != b->values[b->work.use[s].repeat.node] ||
            a->values[a->work.use[s].in_flight.node] !=
                b->values[b->work.use[s].in_flight.node])
            differ("use", segment_name((enum segment)s), seed);
}

static void lists_follow_slots_alone(void **state)
{
    (void)state;
    unsigned compared = 0, besides = 0, joined = 0;
    draws_print(DRAWS);
    for (uint64_t seed = 1; seed <= draws_of(DRAWS); seed++) {
        struct plan plan, moved;
        struct listed built, again;
        struct rng rng;
        if (!plan_shaped(&plan, (enum stack_kind)(seed % STACK_COUNT), seed))
            continue;
        rng_init(&rng, draws_seed(seed), 17, 0, 0, 0);
        draw_besides(&rng, &plan);
        moved = plan;
        at_hand = &plan;
        if (draw_slots(&rng, &moved) && stack_path(&plan, NULL) == stack_path(&moved, NULL)) {
            bool there = list_plan(&plan, &moved, &built);
            bool other = list_plan(&moved, &moved, &again);
            if (there != other)
                differ("a refusal", "the stack", seed);
            if (there) {
                compare(&built, &again, seed);
                compared++;
                besides += plan.lora.rank > 0;
                joined += plan_joined_replicas(&plan) > 1;
            }
            arena_release(&built.arena);
            arena_release(&again.arena);
        }
    }
    draws_reach("compared", compared, draws_of(DRAWS) / 2.0);
    draws_reach("with a draft", besides, draws_of(DRAWS) / 20.0);
    draws_reach("joined", joined, draws_of(DRAWS) / 30.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(lists_follow_slots_alone)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

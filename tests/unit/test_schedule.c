/* work/piece/schedule: hops fit together, and end where they must; the worked steps of
 * seed-systems.md C3. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "work/piece/schedule.h"

enum { MOST = 16 };

static const struct {
    const char *name;
    bool powers_only;
} schedules[] = {
    [SCHEDULE_RING_REDUCE] = {"ring reduce", false},
    [SCHEDULE_HALVING_REDUCE] = {"halving reduce", true},
    [SCHEDULE_RING_GATHER] = {"ring gather", false},
    [SCHEDULE_DOUBLING_GATHER] = {"doubling gather", true},
    [SCHEDULE_PASS_LEFT] = {"pass left", false},
};

static bool is_power_of_two(uint64_t n)
{
    return (n & (n - 1)) == 0;
}

/* Who I send to receives from me, the chunks I send; so many chunks in all as (p - 1). */
static void both_ends_agree(void **state)
{
    (void)state;
    for (unsigned s = SCHEDULE_RING_REDUCE; s <= SCHEDULE_PASS_LEFT; s++) {
        for (uint64_t ranks = 1; ranks <= MOST; ranks++) {
            if (schedules[s].powers_only && !is_power_of_two(ranks))
                continue;
            uint64_t sent[MOST] = {0};
            for (uint64_t step = 0; step < schedule_steps((enum schedule)s, ranks); step++) {
                for (uint64_t i = 0; i < ranks; i++) {
                    struct hop mine = schedule_hop((enum schedule)s, i, step, ranks);
                    struct hop peer = schedule_hop((enum schedule)s, mine.to, step, ranks);
                    if (peer.from != i || peer.received != mine.sent ||
                        peer.chunks != mine.chunks)
                        fail_msg("%s, %d ranks, step %d: rank %d and its peer disagree",
                                 schedules[s].name, (int)ranks, (int)step, (int)i);
                    sent[i] += mine.chunks;
                }
            }
            for (uint64_t i = 0; i < ranks; i++)
                assert_int_equal(sent[i], ranks - 1);
        }
    }
}

/* Chunks a rank holds, as bits. */
static void gathers_bring_every_chunk(void **state)
{
    (void)state;
    static const enum schedule gathers[] = {SCHEDULE_RING_GATHER, SCHEDULE_DOUBLING_GATHER};
    for (unsigned g = 0; g < 2; g++) {
        for (uint64_t ranks = 1; ranks <= MOST; ranks++) {
            if (g == 1 && !is_power_of_two(ranks))
                continue;
            uint64_t has[MOST], before[MOST];
            for (uint64_t i = 0; i < ranks; i++)
                has[i] = (uint64_t)1 << i;
            for (uint64_t step = 0; step < schedule_steps(gathers[g], ranks); step++) {
                memcpy(before, has, sizeof before);
                for (uint64_t i = 0; i < ranks; i++) {
                    struct hop hop = schedule_hop(gathers[g], i, step, ranks);
                    uint64_t chunks = ((uint64_t)1 << hop.chunks) - 1;
                    assert_int_equal(before[hop.from] & chunks << hop.received,
                                     chunks << hop.received);
                    assert_int_equal(has[i] & chunks << hop.received, 0);
                    has[i] |= chunks << hop.received;
                }
            }
            for (uint64_t i = 0; i < ranks; i++)
                assert_int_equal(has[i], ((uint64_t)1 << ranks) - 1);
        }
    }
}

/* p = 4, by hand: the ring's chunk (i - s - 1) mod 4 goes right; halving's partners are 2, then
 * 1 away; the array of rank i + 1 comes to rank i. */
static void steps_of_four_ranks(void **state)
{
    (void)state;
    static const struct {
        enum schedule schedule;
        uint64_t rank, step;
        struct hop hop;
    } steps[] = {
        {SCHEDULE_RING_REDUCE, 0, 0, {1, 3, 3, 2, 1}},
        {SCHEDULE_RING_REDUCE, 0, 2, {1, 3, 1, 0, 1}},
        {SCHEDULE_RING_REDUCE, 3, 1, {0, 2, 1, 0, 1}},
        {SCHEDULE_HALVING_REDUCE, 0, 0, {2, 2, 2, 0, 2}},
        {SCHEDULE_HALVING_REDUCE, 3, 0, {1, 1, 0, 2, 2}},
        {SCHEDULE_HALVING_REDUCE, 3, 1, {2, 2, 2, 3, 1}},
        {SCHEDULE_RING_GATHER, 0, 0, {1, 3, 0, 3, 1}},
        {SCHEDULE_RING_GATHER, 2, 1, {3, 1, 1, 0, 1}},
        {SCHEDULE_DOUBLING_GATHER, 3, 0, {2, 2, 3, 2, 1}},
        {SCHEDULE_DOUBLING_GATHER, 3, 1, {1, 1, 2, 0, 2}},
        {SCHEDULE_PASS_LEFT, 0, 1, {3, 1, 0, 0, 1}},
    };
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        struct hop hop = schedule_hop(steps[i].schedule, steps[i].rank, steps[i].step, 4);
        assert_memory_equal(&hop, &steps[i].hop, sizeof hop);
    }
    assert_true(schedule_reduces(SCHEDULE_HALVING_REDUCE));
    assert_false(schedule_reduces(SCHEDULE_PASS_LEFT));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_ends_agree),
        cmocka_unit_test(gathers_bring_every_chunk),
        cmocka_unit_test(steps_of_four_ranks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

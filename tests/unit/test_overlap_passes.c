/* What runs beside the compute stream, by hand: seconds of products, of what else the stream
 * does, of collectives on links of one level or of two. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "sim/time/overlap.h"
#include "sim/time/shards.h"

enum { UP = PROFILE_SCALE_UP, OUT = PROFILE_SCALE_OUT };

/* A pass of products and 2 s of norms. */
static struct stretch pass_of(double products)
{
    struct stretch b = {.products_s = products};
    b.part_s[TIME_PRODUCTS] = products;
    b.part_s[TIME_ELEMENTWISE] = products > 0 ? 2 : 0;
    return b;
}

/* A collective that may run beside products, on the links of a level. */
static void add(struct stretch *b, unsigned beside, double seconds, unsigned level)
{
    b->part_s[beside == BESIDE_EXPERTS ? TIME_EXCHANGE : TIME_TENSOR] += seconds;
    b->beside_s[beside] += seconds;
    b->link_s[level] += seconds;
    b->beside_link_s[level] += seconds;
}

/* Gathers of shards that run beside the whole stream. */
static void add_aside(struct stretch *b, double seconds, unsigned level)
{
    b->aside_s += seconds;
    b->link_s[level] += seconds;
}

/* Seconds of both passes; the busiest resource is never longer, the sum never shorter. */
static double both_s(double share, double norm, struct stretch forward, struct stretch backward)
{
    struct pricing pricing = {.rates = {.share = share, .norm = norm}};
    struct stretch pass[PASSES] = {forward, backward};
    double sum = stretch_s(&forward) + stretch_s(&backward) + forward.aside_s;
    sum += backward.aside_s;
    overlap_passes(&pricing, pass);
    double s = stretch_s(&pass[0]) + stretch_s(&pass[1]), least = pass[0].least_s;
    if (s < least * (1 - 1e-12) || s > sum * (1 + 1e-12))
        fail_msg("%g s, bounds %g and %g", s, least, sum);
    return s;
}

static double seconds(double share, struct stretch forward)
{
    return both_s(share, 0, forward, pass_of(0));
}

static void near(double got, double expected)
{
    if (fabs(got - expected) > 1e-12 * fabs(expected))
        fail_msg("%.15g is not %.15g", got, expected);
}

static void links_of_two_levels_run_at_once(void **state)
{
    (void)state;
    struct stretch b = pass_of(10);
    add(&b, BESIDE_EXPERTS, 6, OUT);
    near(seconds(1, b), 2 + 10);
    add(&b, BESIDE_TENSOR, 7, UP);
    near(seconds(1, b), 2 + 10);
    /* a quarter of each is never hidden: their kernels take units, each its own */
    near(seconds(0.75, b), 2 + 10 + 13 / 4.0);
    /* one that lasts longer than the products */
    add(&b, BESIDE_EXPERTS, 9, OUT);
    near(seconds(1, b), 2 + 15);
    near(seconds(0.75, b), 2 + 15 + 7 / 4.0);
    near(seconds(0, b), 2 + 10 + 15 + 7);
}

static void links_of_one_level_take_turns(void **state)
{
    (void)state;
    struct stretch b = pass_of(10);
    add(&b, BESIDE_EXPERTS, 6, UP);
    add(&b, BESIDE_TENSOR, 7, UP);
    near(seconds(1, b), 2 + 13); /* both whole under one product would be 12 */
    near(seconds(0.75, b), 2 + 10 + 13 / 4.0);
    b = pass_of(20);
    add(&b, BESIDE_EXPERTS, 6, UP);
    add(&b, BESIDE_TENSOR, 7, UP);
    near(seconds(1, b), 2 + 20);
}

/* 4 s of a loop's exchange are hidden by its own work already. */
static void loops_hide_once(void **state)
{
    (void)state;
    struct stretch b = pass_of(10);
    add(&b, BESIDE_EXPERTS, 8, UP);
    b.looped_s = 4;
    b.beside_link_s[UP] += 4;
    b.link_s[UP] += 4;
    near(seconds(1, b), 2 + 12);
    add(&b, BESIDE_TENSOR, 9, OUT); /* beside all of them on other links */
    near(seconds(1, b), 2 + 12);
}

/* What every layer's shards are gathered for hides behind that pass alone, and not where the
 * links carry something else. */
static void gathers_hide_behind_their_pass(void **state)
{
    (void)state;
    struct stretch forward = pass_of(10), backward = pass_of(20);
    add_aside(&forward, 15, OUT);
    near(both_s(1, 0, forward, backward), 15 + 22);
    add_aside(&backward, 20, OUT);
    near(both_s(1, 0, forward, backward), 15 + 22);
    near(both_s(0.5, 0, forward, backward), 12 + 15 / 2.0 + 22 + 20 / 2.0);
    forward = pass_of(10);
    add(&forward, BESIDE_EXPERTS, 8, OUT);
    add_aside(&forward, 9, UP);
    near(seconds(1, forward), 12);
    add_aside(&forward, 2, OUT);
    near(seconds(1, forward), 12);
    add_aside(&forward, 7, OUT);
    near(seconds(1, forward), 18); /* 17 s are carried out of the node, 18 s in all aside */
    struct stretch waited = pass_of(10);
    waited.part_s[TIME_EXCHANGE] = waited.link_s[OUT] = 5;
    add_aside(&waited, 16, OUT);
    near(seconds(1, waited), 21); /* 17 s of the stream, of which 5 keep the link */
}

/* Of 12 s of gathers 3 s are the first layer's: nothing runs before it. A link of no time
 * leaves nothing, and nothing beside it all. */
static void the_first_gather_waits(void **state)
{
    (void)state;
    struct stretch b = pass_of(10);
    add_aside(&b, 12, OUT);
    b.end_s = 3;
    near(seconds(1, b), 12 + 3); /* nine of twelve fit beside it */
    near(seconds(0, b), 12 + 12);
    near(seconds(0.5, b), 12 + 6); /* half of it takes units */
    add_aside(&b, 8, OUT);
    near(seconds(1, b), 3 + 17); /* the link's own */
    b = pass_of(10);
    near(seconds(1, b), 12);
}

static void put(struct plan *plan, enum stack_kind kind, uint64_t zero)
{
    plan->stack.kind = kind;
    plan->parallel.zero = zero;
}

/* Of 400 million gradients the last bucket is a tenth of Megatron's, all of DeepSpeed's. */
static void buckets_by_hand(void **state)
{
    (void)state;
    struct plan plan = {.stack = {.kind = STACK_MEGATRON, .overlap_dp = true}};
    plan.parallel.tp = plan.parallel.pp = plan.parallel.cp = plan.parallel.ep = 1;
    plan.parallel.dp = 8;
    plan.cluster.nodes = 1;
    plan.cluster.node.devices = 8;
    near(shards_last(&plan, 4e8, 32), 0.1);
    near(shards_last(&plan, 1e6, 32), 1);
    near(shards_last(&plan, 0, 32), 0);
    put(&plan, STACK_DEEPSPEED, 1);
    near(shards_last(&plan, 4e8, 16), 1);
    plan.parallel.reduce_bucket = 50000000;
    near(shards_last(&plan, 4e8, 16), 0.125);
    assert_false(shards_of_step(&plan, UPDATE_REDUCE)); /* overlap_comm is off */
    plan.parallel.overlap_reduce = true;
    assert_true(shards_of_step(&plan, UPDATE_REDUCE));
    assert_false(shards_of_step(&plan, UPDATE_GATHER)); /* its step ends with it */
    const struct op goes = {.name = "offload_gradients"}, other = {.name = "optimizer"};
    assert_true(shards_go_in_backward(&plan, &goes));
    assert_false(shards_go_in_backward(&plan, &other));
    plan.parallel.overlap_reduce = false;
    assert_false(shards_go_in_backward(&plan, &goes));
    put(&plan, STACK_DEEPSPEED, 3);
    assert_true(shards_go_in_backward(&plan, &goes));
    put(&plan, STACK_MEGATRON, 1);
    assert_false(shards_go_in_backward(&plan, &goes));
    put(&plan, STACK_FSDP, 0);
    near(shards_last(&plan, 25 * 1024 * 1024, 16), 0.5);
    assert_true(shards_of_step(&plan, UPDATE_REDUCE));
}

/* What FSDP's backward_prefetch leaves beside computation. */
static void prefetch_by_hand(void **state)
{
    (void)state;
    static const struct {
        enum prefetch when;
        bool gathers, reduces;
    } cases[] = {{PREFETCH_AUTO, true, true},
                 {PREFETCH_PRE, true, true},
                 {PREFETCH_POST, false, true},
                 {PREFETCH_NONE, false, false}};
    const struct op back = {.phase = PHASE_BACKWARD}, forward = {.phase = PHASE_FORWARD};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct plan plan = {.stack = {.kind = STACK_FSDP, .overlap_dp = true}};
        plan.parallel.prefetch = cases[i].when;
        assert_int_equal(shards_in_layers(&plan, &back, PROFILE_ALL_GATHER), cases[i].gathers);
        assert_int_equal(shards_in_layers(&plan, &back, PROFILE_REDUCE_SCATTER),
                         cases[i].reduces);
        assert_true(shards_in_layers(&plan, &forward, PROFILE_ALL_GATHER));
    }
}

/* sqrt(products^2 + gathers^2) of both passes, as seed 000 was fitted. */
static void a_norm_is_of_the_step(void **state)
{
    (void)state;
    struct stretch forward = pass_of(3), backward = pass_of(5);
    add_aside(&forward, 2, OUT);
    add_aside(&backward, 4, OUT);
    near(both_s(0, 2, forward, backward), 4 + 10);
}

/* A step's reductions beside the last backward, whose links carry 6 s of its 12. */
static void reductions_beside_a_pass(void **state)
{
    (void)state;
    struct pricing pricing = {.rates = {.share = 0.9}};
    struct stretch b = pass_of(10);
    b.link_s[OUT] = 6;
    const double up[PROFILE_LEVELS] = {[UP] = 10}, out[PROFILE_LEVELS] = {[OUT] = 10};
    near(overlap_beside(&pricing, &b, 10, up), 1);
    near(overlap_beside(&pricing, &b, 10, out), 4);
    near(overlap_beside(&pricing, &b, 20, out), 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(links_of_two_levels_run_at_once),
        cmocka_unit_test(links_of_one_level_take_turns),
        cmocka_unit_test(loops_hide_once),
        cmocka_unit_test(gathers_hide_behind_their_pass),
        cmocka_unit_test(the_first_gather_waits),
        cmocka_unit_test(buckets_by_hand),
        cmocka_unit_test(prefetch_by_hand),
        cmocka_unit_test(a_norm_is_of_the_step),
        cmocka_unit_test(reductions_beside_a_pass),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

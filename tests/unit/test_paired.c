/* Layers of two micro-batches beside each other, by hand, and the laws of what they take. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/rng.h"
#include "sim/time/paired.h"
#include "sim/time/pipeline.h"

static void near(double got, double expected)
{
    if (fabs(got - expected) > 1e-12 * fabs(expected) + 1e-15)
        fail_msg("%.15g is not %.15g", got, expected);
}

/* Attention 2 and 4 s, experts 3 and 6 s, every exchange `x`. */
static struct pair_layer layer_of(double x)
{
    return (struct pair_layer){
        .forward_s = {2, x, 3, x}, .backward_s = {4, x, 6, x}, .exchange_s = {2 * x, 2 * x}};
}

/* x = 1: attention 0-2 beside combine back 0-1; experts back 2-8, dispatch 2-3, dispatch back
 * 8-9 beside experts 8-11; combine 11-12 beside attention back 11-15: the 15 s of compute.
 * x = 4: combine back 0-4 (attention 0-2); experts back 4-10, dispatch 4-8; dispatch back 10-14
 * beside experts 10-13; combine 14-18, attention back 14-18: 18 s of 31 in turn. */
static void a_layer_by_hand(void **state)
{
    (void)state;
    struct pair_layer l = layer_of(1);
    near(paired_period_s(&l), 15);
    near(paired_saved_s(&l, 1), 4);
    near(paired_saved_s(&l, 0.75), 3); /* a quarter of each is never hidden */
    near(paired_alone_s(&l, 1), 0);
    l = layer_of(4);
    near(paired_period_s(&l), 18);
    near(paired_saved_s(&l, 1), 13);
    near(paired_saved_s(&l, 0), 0);
    l = layer_of(0);
    near(paired_period_s(&l), 15);
    near(paired_saved_s(&l, 1), 0);
}

/* Half of each backward put off, x = 4: experts back 4-7, their weights' 7-10 beside dispatch
 * 4-8 and dispatch back 8-12; experts 10-13; combine 13-17 beside attention back 13-15 and its
 * weights' 15-17. By itself a backward hides 3 s of the dispatch. */
static void weight_gradients_fill(void **state)
{
    (void)state;
    struct pair_layer l = layer_of(4);
    l.backward_s[NODE_ATTENTION] = l.weight_s[NODE_ATTENTION] = 2;
    l.backward_s[NODE_EXPERTS] = l.weight_s[NODE_EXPERTS] = 3;
    near(paired_period_s(&l), 17);
    near(paired_saved_s(&l, 1), 14);
    near(paired_alone_s(&l, 1), 3);
    near(paired_alone_s(&l, 0.5), 1.5);
}

/* Many layers in a row, event by event, with a first one before them. */
static double played_s(const struct pair_layer *l)
{
    enum { LAYERS = 400, FROM = 200 };
    double compute = 0, comm = 0, from = 0;
    for (unsigned i = 0; i < LAYERS; i++) {
        const double *f = l->forward_s, *b = l->backward_s, *w = l->weight_s;
        double a = compute += f[NODE_ATTENTION], c = comm += b[NODE_COMBINE];
        from = i == FROM ? a : from;
        compute = fmax(compute, c) + b[NODE_EXPERTS];
        comm = fmax(comm, a) + f[NODE_DISPATCH];
        double dispatched = comm, back = compute;
        compute += w[NODE_EXPERTS];
        comm = fmax(comm, back) + b[NODE_DISPATCH];
        compute = fmax(compute, dispatched) + f[NODE_EXPERTS];
        double experts = compute, returned = comm;
        comm = fmax(comm, experts) + f[NODE_COMBINE];
        compute = fmax(compute, returned) + b[NODE_ATTENTION];
        double gradient = compute;
        compute = fmax(compute + w[NODE_ATTENTION], comm); /* forward goes on with the rows */
        comm = fmax(comm, gradient);
        if (i + 1 == LAYERS)
            return (compute + f[NODE_ATTENTION] - from) / (LAYERS - FROM);
    }
    return 0;
}

static void draw(struct rng *rng, struct pair_layer *l)
{
    double *const of[] = {l->forward_s, l->backward_s, l->weight_s};
    for (unsigned i = 0; i < 3; i++)
        for (unsigned k = 0; k < PAIR_NODES; k++)
            of[i][k] = rng_below(rng, 4) ? rng_uniform(rng) : 0;
    l->weight_s[NODE_DISPATCH] = l->weight_s[NODE_COMBINE] = 0;
    l->exchange_s[PASS_FORWARD] = l->forward_s[NODE_DISPATCH] + l->forward_s[NODE_COMBINE];
    l->exchange_s[PASS_BACKWARD] = l->backward_s[NODE_DISPATCH] + l->backward_s[NODE_COMBINE];
}

static void periods_keep_their_bounds(void **state)
{
    (void)state;
    struct rng rng;
    rng_init(&rng, 5, 0, 0, 0, 0);
    for (unsigned i = 0; i < 2000; i++) {
        struct pair_layer l, longer;
        double forward = 0, backward = 0, waits = 0;
        draw(&rng, &l);
        for (unsigned k = 0; k < PAIR_NODES; k++) {
            forward += l.forward_s[k];
            backward += l.backward_s[k];
            waits += l.weight_s[k];
        }
        double links = l.exchange_s[0] + l.exchange_s[1], all = forward + backward + waits;
        double period = paired_period_s(&l), saved = paired_saved_s(&l, 1);
        double least = fmax(fmax(forward, backward), fmax(links, all - links));
        if (period < least - 1e-12 || period > all + 1e-12)
            fail_msg("draw %u: %.6g, bounds %.6g and %.6g", i, period, least, all);
        assert_true(saved <= links && saved >= paired_alone_s(&l, 1) - 1e-12);
        if (fabs(played_s(&l) - period) > 1e-2 * period)
            fail_msg("draw %u: %.6g played, %.6g", i, played_s(&l), period);
        longer = l;
        longer.backward_s[i % PAIR_NODES] += 0.25;
        assert_true(paired_period_s(&longer) >= period);
        longer = l; /* links of no time hide nothing */
        longer.forward_s[NODE_DISPATCH] = longer.forward_s[NODE_COMBINE] = 0;
        longer.backward_s[NODE_DISPATCH] = longer.backward_s[NODE_COMBINE] = 0;
        near(paired_period_s(&longer), all - links);
    }
}

/* ---- micro-batches ---- */

enum { STAGES = 4, CHUNKS = 3, MOST = STAGES * CHUNKS };

struct scene {
    double forward_s[MOST], backward_s[MOST];
    struct pipeline_pair pairs[MOST * CHUNKS];
    struct pipeline p;
};

/* Every forward 1 s, every backward 2 s, both beside each other `pair`. */
static void even(struct scene *scene, uint64_t stages, uint64_t chunks, uint64_t micro,
                 double pair)
{
    for (unsigned i = 0; i < MOST; i++) {
        scene->forward_s[i] = 1;
        scene->backward_s[i] = 2;
    }
    for (unsigned i = 0; i < MOST * CHUNKS; i++)
        scene->pairs[i] = (struct pipeline_pair){.s = pair, .hidden_s = 3 - pair};
    scene->p = (struct pipeline){.schedule = PIPELINE_1F1B,
                                 .stages = stages,
                                 .chunks = chunks,
                                 .micro_batches = micro,
                                 .forward_s = scene->forward_s,
                                 .backward_s = scene->backward_s,
                                 .pairs = scene->pairs,
                                 .overlapped = true};
}

static struct pipeline_times play(const struct scene *scene)
{
    struct arena arena = {0};
    struct pipeline_times t;
    pipeline_play(&scene->p, &arena, &t);
    arena_release(&arena);
    return t;
}

/* The first forward and the last backward are alone: 1 + 4 x 2.5 + 2 of five. Two stages of two
 * chunks, four micro-batches: stage 1 runs 5 forwards, 3 pairs and 5 backwards, stage 2 3, 5
 * and 3. Stage 2's pairs begin at 4, 6.5, 9, 11.5 and 14, stage 1's at 6.5, 9 and 11.5; its
 * backwards at 14, 16.5, 18.5, 20.5 and 22.5. */
static void pairs_by_hand(void **state)
{
    (void)state;
    struct scene scene;
    even(&scene, 1, 1, 5, 2.5);
    struct pipeline_times t = play(&scene);
    near(t.end_s, 13);
    near(t.saved.s, 2);
    near(t.saved.hidden_s, 2);
    even(&scene, 1, 1, 5, 3); /* nothing hidden: in turn */
    near(play(&scene).end_s, 15);
    even(&scene, 1, 1, 1, 2); /* no other micro-batch */
    near(play(&scene).end_s, 3);
    even(&scene, 2, 2, 4, 2.5);
    t = play(&scene);
    near(t.end_s, 24.5);
    near(t.busy_s, 22.5);
    near(t.saved.s, 1.5);
    assert_int_equal(t.busiest, 0);
}

static void draw_scene(struct rng *rng, struct scene *scene)
{
    uint64_t stages = 1 + rng_below(rng, STAGES), chunks = 1 + rng_below(rng, CHUNKS);
    struct pipeline *p = &scene->p;
    even(scene, stages, chunks, stages * (1 + rng_below(rng, 4)), 0);
    for (unsigned i = 0; i < stages * chunks; i++) {
        scene->forward_s[i] = 0.5 + rng_uniform(rng);
        scene->backward_s[i] = 0.5 + 2 * rng_uniform(rng);
    }
    for (unsigned i = 0; i < stages * chunks * chunks; i++) {
        double f = p->forward_s[i / chunks % chunks * stages + i / (chunks * chunks)];
        double b = p->backward_s[i % chunks * stages + i / (chunks * chunks)];
        double s = fmax(f, b) + rng_uniform(rng) * fmin(f, b);
        scene->pairs[i] = (struct pipeline_pair){.s = s,
                                                 .hidden_s = f + b - s,
                                                 .rows_s = rng_uniform(rng) * (s - f),
                                                 .gradients_s = rng_uniform(rng) * (s - b)};
    }
    p->send_s = rng_uniform(rng) / 4;
    p->overlapped = rng_below(rng, 2);
}

/* Chunks of both ends, no time of weight gradients. */
static void as_dual(struct scene *scene)
{
    static const double none[MOST];
    struct pipeline *p = &scene->p;
    p->schedule = PIPELINE_DUALPIPE;
    p->chunks = 1;
    p->weight_s = none;
    for (unsigned i = 0; i < 4 * p->stages; i++) {
        uint64_t stage = i / 4, other = p->stages - 1 - stage;
        double f = p->forward_s[i / 2 % 2 ? other : stage];
        double b = p->backward_s[i % 2 ? other : stage], s = fmax(f, b) + fmin(f, b) / 2;
        scene->pairs[i] = (struct pipeline_pair){.s = s, .hidden_s = f + b - s};
    }
}

/* No shorter than a stage's tasks, a micro-batch's way, or the bound, no longer than all of it;
 * never shorter where a pair is longer. */
static void pairs_keep_their_bounds(void **state)
{
    (void)state;
    struct rng rng;
    rng_init(&rng, 3, 0, 0, 0, 0);
    for (unsigned i = 0; i < 500; i++) {
        struct scene scene;
        struct pipeline_times bound;
        draw_scene(&rng, &scene);
        bool dual = i % 3 == 0 && scene.p.stages > 1 && scene.p.chunks > 1;
        if (dual)
            as_dual(&scene);
        const struct pipeline *p = &scene.p;
        struct pipeline_times t = play(&scene);
        double sends = 2 * p->send_s * (double)(p->micro_batches * p->stages * p->chunks);
        pipeline_bound(p, &bound);
        if (t.end_s < fmax(t.busy_s, t.one_s) - 1e-9 || t.end_s > t.serial_s + sends + 1e-9 ||
            bound.end_s > t.end_s || bound.busy_s > t.busy_s + 1e-9)
            fail_msg("draw %u: end %.6f, busy %.6f, one %.6f, serial %.6f, bound %.6f", i,
                     t.end_s, t.busy_s, t.one_s, t.serial_s, bound.end_s);
        uint64_t sides = dual ? 2 : p->chunks;
        scene.pairs[rng_below(&rng, p->stages * sides * sides)].s += 0.5;
        assert_true(dual || play(&scene).end_s >= t.end_s - 1e-9); /* one that is greedy */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_layer_by_hand),           cmocka_unit_test(weight_gradients_fill),
        cmocka_unit_test(periods_keep_their_bounds), cmocka_unit_test(pairs_by_hand),
        cmocka_unit_test(pairs_keep_their_bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

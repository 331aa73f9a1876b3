/* sim/time/timeline and sim/time/pipeline: worked schedules, closed forms, bounds. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/rng.h"
#include "sim/time/launch.h"
#include "sim/time/pipeline.h"
#include "sim/time/timeline.h"

/* seed-systems.md C2, microseconds */
static void rounds_of_seed_003(void **state)
{
    (void)state;
    static const struct {
        uint64_t rounds;
        double fetch, compute, back, serial, overlapped;
    } cases[] = {
        {4, 46.6, 301.6, 163.1, 2045, 1416},
        {2, 93.2, 313.3, 326.2, 1465, 1059},
        {1, 186.4, 336.6, 652.4, 1175, 1175},
        {8, 93.2, 313.3, 326.2, 5862, 3576},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct rounds_times t;
        timeline_rounds(cases[i].fetch, cases[i].compute, cases[i].back, cases[i].rounds, &t);
        assert_true(fabs(t.serial_s - cases[i].serial) < 1.1);
        if (fabs(t.overlapped_s - cases[i].overlapped) > 1.1)
            fail_msg("case %zu: %.1f, expected %.1f", i, t.overlapped_s, cases[i].overlapped);
        assert_true(t.serial_s + 1e-9 >= t.overlapped_s); /* JX-7 */
        assert_true(t.overlapped_s + 1e-9 >= t.link_s && t.overlapped_s + 1e-9 >= t.compute_s);
    }
}

/* ---- the host beside the device ---- */

/* A layer of ops, one of which the host waits for before it launches the next. */
struct layer_ops {
    double launch_s[8], op_s[8], sync_s;
    int n, wait_before; /* -1: never */
};

static double period_of(const struct layer_ops *l)
{
    struct launch launch;
    launch_init(&launch);
    for (int i = 0; i < l->n; i++) {
        if (i == l->wait_before)
            launch_wait(&launch, l->sync_s);
        launch_op(&launch, l->launch_s[i], l->op_s[i]);
    }
    return launch_period_s(&launch);
}

/* The same layer many times, event by event. */
static double played(const struct layer_ops *l)
{
    enum { LAYERS = 4000 };
    double host = 0, device = 0, half = 0;
    for (int layer = 0; layer < LAYERS; layer++) {
        if (layer == LAYERS / 2)
            half = device;
        for (int i = 0; i < l->n; i++) {
            if (i == l->wait_before)
                host = fmax(host, device) + l->sync_s;
            host += l->launch_s[i];
            device = fmax(device, host) + l->op_s[i];
        }
    }
    return (device - half) / (LAYERS / 2.0);
}

static void host_and_device_by_hand(void **state)
{
    (void)state;
    static const struct {
        struct layer_ops layer;
        double period;
    } cases[] = {
        {{{1, 1}, {5, 5}, 0, 2, -1}, 10}, /* the device binds */
        {{{5, 5}, {1, 1}, 0, 2, -1}, 10}, /* the host binds */
        {{{5, 5}, {9, 1}, 0, 2, -1}, 10}, /* as long as it may run ahead */
        /* a wait empties the queue: the device idles while the first op is launched again, the
         * host while the second runs */
        {{{5, 5}, {9, 1}, 2, 2, 1}, 5 + 9 + 2 + 5},
        {{{5, 5}, {1, 9}, 2, 2, 1}, 2 + 5 + 9 + 1},
        {{{1, 1}, {20, 20}, 3, 2, 1}, 3 + 1 + 20 + 20},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (fabs(period_of(&cases[i].layer) - cases[i].period) > 1e-12)
            fail_msg("case %zu: %g, not %g", i, period_of(&cases[i].layer), cases[i].period);
}

/* The eigenvalue is what playing comes to; no longer op or launch makes it shorter. */
static void the_period_is_what_playing_comes_to(void **state)
{
    (void)state;
    struct rng rng;
    rng_init(&rng, 7, 0, 0, 0, 0);
    for (int draw = 0; draw < 300; draw++) {
        struct layer_ops l = {.n = 1 + (int)rng_below(&rng, 8), .sync_s = rng_uniform(&rng)};
        for (int i = 0; i < l.n; i++) {
            l.launch_s[i] = rng_uniform(&rng);
            l.op_s[i] = 2 * rng_uniform(&rng);
        }
        l.wait_before = (int)rng_below(&rng, (uint64_t)l.n + 1) - 1;
        double period = period_of(&l), slope = played(&l);
        if (fabs(period - slope) > 2e-3 * period)
            fail_msg("draw %d: %.6f, played %.6f", draw, period, slope);
        l.op_s[0] += 0.3;
        assert_true(period_of(&l) >= period);
        l.launch_s[l.n - 1] += 0.3;
        assert_true(period_of(&l) >= period);
    }
}

/* ---- pipelines ---- */

enum { MICRO = 20, MOST = 64 };

static struct pipeline even(enum pipeline_schedule schedule, uint64_t stages, uint64_t chunks,
                            uint64_t micro, double *times)
{
    for (uint64_t i = 0; i < stages * chunks; i++) {
        times[i] = 1.0 / (double)chunks;
        times[MOST + i] = 2.0 / (double)chunks;
        times[2 * MOST + i] = 1.0 / (double)chunks;
    }
    return (struct pipeline){.schedule = schedule,
                             .stages = stages,
                             .chunks = chunks,
                             .micro_batches = micro,
                             .forward_s = times,
                             .backward_s = times + MOST,
                             .weight_s = times + (size_t)2 * MOST};
}

/* (m + pp - 1)(F + B) of 1F1B and GPipe; (m + (pp - 1) / vpp)(F + B) interleaved (Narayanan
 * 2021); a zero-bubble schedule leaves (pp - 1)(F + B - 2 W) (Qi 2023), DualPipe less than
 * 1F1B. */
static void even_stages_follow_closed_forms(void **state)
{
    (void)state;
    static const struct {
        enum pipeline_schedule schedule;
        uint64_t stages, chunks, micro;
        double low, high;
        uint64_t group;
    } cases[] = {
        {PIPELINE_1F1B, 1, 1, 5, 15, 15, 0},
        {PIPELINE_1F1B, 4, 1, 8, 33, 33, 0},
        {PIPELINE_1F1B, 8, 1, 3, 30, 30, 0},
        {PIPELINE_GPIPE, 4, 1, 8, 33, 33, 0},
        {PIPELINE_INTERLEAVED, 4, 2, 8, 28.5, 28.5, 0},
        {PIPELINE_INTERLEAVED, 4, 4, 16, 50.25, 50.25, 0},
        /* larger groups wait no longer, nor does a smaller last one of as many as stages */
        {PIPELINE_INTERLEAVED, 4, 2, 8, 28.5, 28.5, 8},
        {PIPELINE_INTERLEAVED, 4, 4, 16, 50.25, 50.25, 6},
        {PIPELINE_INTERLEAVED, 2, 2, 5, 16.5, 16.5, 3},
        {PIPELINE_ZERO_BUBBLE, 4, 1, 8, 27, 29, 0},
        {PIPELINE_DUALPIPE, 4, 1, 16, 48, 54, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena arena = {0};
        double times[3 * MOST];
        struct pipeline_times t;
        struct pipeline p =
            even(cases[i].schedule, cases[i].stages, cases[i].chunks, cases[i].micro, times);
        p.group = cases[i].group;
        pipeline_play(&p, &arena, &t);
        if (t.end_s < cases[i].low - 1e-9 || t.end_s > cases[i].high + 1e-9)
            fail_msg("case %zu: %.4f, expected %.4f to %.4f", i, t.end_s, cases[i].low,
                     cases[i].high);
        arena_release(&arena);
    }
}

/* Every schedule, uneven chunks: the busiest stage, and one micro-batch's way, are no longer
 * than the whole, everything in turn no shorter; longer tasks never end earlier in a fixed
 * order. */
static void ends_lie_between_their_bounds(void **state)
{
    (void)state;
    static const enum pipeline_schedule schedules[] = {PIPELINE_1F1B, PIPELINE_INTERLEAVED,
                                                       PIPELINE_ZERO_BUBBLE, PIPELINE_DUALPIPE,
                                                       PIPELINE_GPIPE};
    struct rng rng;
    rng_init(&rng, 7, 0, 0, 0, 0);
    for (unsigned draw = 0; draw < 300; draw++) {
        struct arena arena = {0};
        double times[3 * MOST];
        struct pipeline_times t, longer;
        enum pipeline_schedule schedule = schedules[draw % 5];
        uint64_t stages = 1 + rng_below(&rng, 8);
        uint64_t chunks = schedule == PIPELINE_INTERLEAVED ? 1 + rng_below(&rng, 4) : 1;
        struct pipeline p = even(schedule, stages, chunks, 1 + rng_below(&rng, 20), times);
        for (size_t i = 0; i < (size_t)(stages * chunks); i++) {
            times[i] = 0.1 + rng_uniform(&rng);
            times[2 * MOST + i] = rng_uniform(&rng);
            times[MOST + i] = times[2 * MOST + i] + 0.1 + rng_uniform(&rng);
        }
        p.send_s = rng_uniform(&rng) / 4;
        p.overlapped = rng_below(&rng, 2);
        p.inference = rng_below(&rng, 4) == 0;
        pipeline_play(&p, &arena, &t);
        double sends =
            p.overlapped ? 2 * p.send_s * (double)(p.micro_batches * stages * chunks) : 0;
        if (t.end_s < t.busy_s - 1e-9 || t.end_s < t.one_s - 1e-9 ||
            t.end_s > t.serial_s + sends + 1e-9)
            fail_msg("draw %u, schedule %d: busy %.3f, one %.3f, end %.3f, serial %.3f", draw,
                     (int)schedule, t.busy_s, t.one_s, t.end_s, t.serial_s);
        struct pipeline_times bound;
        pipeline_bound(&p, &bound);
        if (bound.end_s > t.end_s || bound.end_s < t.busy_s * (1 - 1e-8) ||
            /* DualPipe's ends mirror each other */
            (schedule != PIPELINE_DUALPIPE && bound.busiest != t.busiest) ||
            fabs(bound.busy_s - t.busy_s) > 1e-9 || fabs(bound.serial_s - t.serial_s) > 1e-9 ||
            fabs(bound.one_s - t.one_s) > 1e-9)
            fail_msg("draw %u, schedule %d: end %.6f, bound %.6f; busy %.6f, bound %.6f", draw,
                     (int)schedule, t.end_s, bound.end_s, t.busy_s, bound.busy_s);
        times[rng_below(&rng, stages * chunks)] += 0.5;
        pipeline_play(&p, &arena, &longer);
        bool fixed = schedule != PIPELINE_ZERO_BUBBLE && schedule != PIPELINE_DUALPIPE;
        if (fixed)
            assert_true(longer.end_s >= t.end_s - 1e-9);
        arena_release(&arena);
    }
}

/* Of very many micro-batches the last are not played: they take what those before them took. */
static void many_micro_batches_go_on_as_they_began(void **state)
{
    (void)state;
    double forward[8], backward[8], weight[8];
    for (unsigned i = 0; i < 8; i++) {
        forward[i] = 1 + 0.1 * i;
        weight[i] = 0.9 - 0.05 * i;
        backward[i] = 2 - 0.05 * i;
    }
    for (unsigned schedule = PIPELINE_1F1B; schedule <= PIPELINE_GPIPE; schedule++) {
        struct arena arena = {0};
        struct pipeline_times played, taken_on, bound;
        struct pipeline p = {.record = true,
                             .schedule = (enum pipeline_schedule)schedule,
                             .stages = 4,
                             .chunks = schedule == PIPELINE_INTERLEAVED ? 2 : 1,
                             .micro_batches = 100003,
                             .forward_s = forward,
                             .backward_s = backward,
                             .weight_s = weight,
                             .send_s = 0.25};
        pipeline_play(&p, &arena, &played);
        p.record = false;
        pipeline_play(&p, &arena, &taken_on);
        pipeline_bound(&p, &bound);
        assert_true(fabs(taken_on.end_s / played.end_s - 1) < 1e-6);
        assert_true(fabs(taken_on.busy_s / played.busy_s - 1) < 1e-6); /* halves of DualPipe */
        assert_true(fabs(taken_on.serial_s / played.serial_s - 1) < 1e-9);
        assert_true(bound.end_s <= taken_on.end_s);
        p.micro_batches = UINT64_C(1) << 40; /* no memory that grows with them */
        pipeline_play(&p, &arena, &taken_on);
        assert_true(taken_on.end_s > 1e12 && taken_on.end_s < 1e14);
        arena_release(&arena);
    }
}

/* When the rows that a task needs have come, by what has ended so far; NAN: not yet. */
static double rows_come(const struct pipeline *p, double end_s[TASK_KINDS][MOST][MICRO],
                        const struct pipeline_task *t)
{
    uint64_t last = p->stages * p->chunks - 1;
    double send = p->overlapped && p->stages > 1 ? p->send_s : 0;
    if (t->kind == TASK_FORWARD)
        return t->chunk ? end_s[TASK_FORWARD][t->chunk - 1][t->micro] + send : 0;
    if (t->kind == TASK_WEIGHT)
        return end_s[TASK_BACKWARD][t->chunk][t->micro];
    double own = end_s[TASK_FORWARD][t->chunk][t->micro];
    if (t->chunk == last || isnan(own))
        return own;
    double after = end_s[TASK_BACKWARD][t->chunk + 1][t->micro] + send;
    return own > after ? own : after;
}

/* Every schedule: a stage does each of its tasks once, begins it at the very moment at which
 * its rows have come and the stage is free, and takes what it takes. */
static void tasks_begin_as_soon_as_they_can(void **state)
{
    (void)state;
    static double end_s[TASK_KINDS][MOST][MICRO];
    struct rng rng;
    rng_init(&rng, 11, 0, 0, 0, 0);
    for (unsigned draw = 0; draw < 300; draw++) {
        struct arena arena = {0};
        double times[3 * MOST], free_s[MOST] = {0};
        struct pipeline_times t;
        uint64_t stages = 1 + rng_below(&rng, 6),
                 chunks = draw % 5 ? 1 : 1 + rng_below(&rng, 4);
        uint64_t micro =
            chunks > 1 ? stages * (1 + rng_below(&rng, 3)) : 1 + rng_below(&rng, 18);
        struct pipeline p = even((enum pipeline_schedule)(draw % 5 ? draw % 5 : PIPELINE_1F1B),
                                 stages, chunks, micro, times);
        for (size_t i = 0; i < 3 * MOST; i++)
            times[i] = 0.5 + (i < 2 * MOST) * rng_uniform(&rng);
        p.record = true;
        p.send_s = rng_uniform(&rng) / 4;
        p.overlapped = rng_below(&rng, 2);
        pipeline_play(&p, &arena, &t);
        unsigned kinds = pipeline_splits(&p) ? 3 : 2;
        assert_int_equal(t.n_tasks, kinds * stages * chunks * micro);
        for (size_t i = 0; i < sizeof end_s / sizeof(double); i++)
            (&end_s[0][0][0])[i] = (double)NAN;
        for (size_t i = 0; i < t.n_tasks; i++) {
            const struct pipeline_task *task = &t.tasks[i];
            double rows = rows_come(&p, end_s, task);
            double *end = &end_s[task->kind][task->chunk][task->micro];
            if (isnan(rows) || !isnan(*end) || task->begin_s != fmax(rows, free_s[task->stage]))
                fail_msg("draw %u: task %zu of %zu begins at %.17g, rows come at %.17g, the "
                         "stage is free at %.17g",
                         draw, i, t.n_tasks, task->begin_s, rows, free_s[task->stage]);
            *end = free_s[task->stage] = task->end_s;
        }
        arena_release(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rounds_of_seed_003),
        cmocka_unit_test(many_micro_batches_go_on_as_they_began),
        cmocka_unit_test(host_and_device_by_hand),
        cmocka_unit_test(the_period_is_what_playing_comes_to),
        cmocka_unit_test(even_stages_follow_closed_forms),
        cmocka_unit_test(ends_lie_between_their_bounds),
        cmocka_unit_test(tasks_begin_as_soon_as_they_can),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

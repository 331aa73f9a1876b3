/* Rounds that overlap: an exchange that runs ahead is under way while the round before is
 * computed, and nobody looks at its rows before it is finished. Watched by a transport that
 * notes what is called when, and that can put off all copying until the end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "plan/schema/schema.h"
#include "support/layer_case.h"

/* ---- a transport that watches ---- */

enum { NOTES = 4096 };

struct watch {
    struct transport base;
    struct transport *inner;
    bool late; /* nothing is copied before `finish` */
    const struct parcel *parcels[TRANSPORT_SLOTS];
    unsigned under_way, most_under_way;
};

/* What happened in order: S start, F finish, C computed, X exchanged. Kernels have no context
 * of their own, so it stands here. */
static char notes[NOTES];

static void note(char what)
{
    size_t n = strlen(notes);
    assert_true(n + 1 < NOTES);
    notes[n] = what;
    notes[n + 1] = '\0';
}

static struct watch *watch_of(struct transport *t)
{
    struct watch *watch = (struct watch *)t;
    watch->inner->ready = t->ready;
    return watch;
}

static enum status watch_start(struct transport *t, unsigned slot, const struct parcel *parcels,
                               struct err *err)
{
    struct watch *watch = watch_of(t);
    note('S');
    assert_true(slot < TRANSPORT_SLOTS);
    assert_null(watch->parcels[slot]);
    watch->parcels[slot] = parcels;
    watch->under_way++;
    if (watch->under_way > watch->most_under_way)
        watch->most_under_way = watch->under_way;
    return watch->late ? STATUS_OK : watch->inner->ops->start(watch->inner, slot, parcels, err);
}

static enum status watch_finish(struct transport *t, unsigned slot, struct err *err)
{
    struct watch *watch = watch_of(t);
    const struct parcel *parcels = watch->parcels[slot];
    note('F');
    assert_non_null(parcels);
    watch->parcels[slot] = NULL;
    watch->under_way--;
    return watch->late ? watch->inner->ops->exchange(watch->inner, parcels, err)
                       : watch->inner->ops->finish(watch->inner, slot, err);
}

static void watch_progress(struct transport *t, unsigned worker)
{
    struct watch *watch = (struct watch *)t;
    assert_true(watch->under_way > 0);
    if (!watch->late)
        watch->inner->ops->progress(watch->inner, worker);
}

static enum status watch_exchange(struct transport *t, const struct parcel *parcels,
                                  struct err *err)
{
    struct watch *watch = watch_of(t);
    if (watch->under_way)
        note('X');
    return watch->inner->ops->exchange(watch->inner, parcels, err);
}

static enum status watch_agree(struct transport *t, enum status mine, struct err *err)
{
    struct watch *watch = watch_of(t);
    if (mine != STATUS_OK) {
        memset(watch->parcels, 0, sizeof watch->parcels);
        watch->under_way = 0;
    }
    return watch->inner->ops->agree(watch->inner, mine, err);
}

static enum status watch_sum(struct transport *t, uint64_t *values, size_t n, struct err *err)
{
    return watch_of(t)->inner->ops->sum(watch_of(t)->inner, values, n, err);
}

static enum status watch_max(struct transport *t, double *values, size_t n, struct err *err)
{
    return watch_of(t)->inner->ops->max(watch_of(t)->inner, values, n, err);
}

static void watch_close(struct transport *t)
{
    transport_close(watch_of(t)->inner);
}

static const struct transport_ops watch_ops = {.name = "watch",
                                               .exchange = watch_exchange,
                                               .start = watch_start,
                                               .finish = watch_finish,
                                               .progress = watch_progress,
                                               .agree = watch_agree,
                                               .sum = watch_sum,
                                               .max = watch_max,
                                               .close = watch_close};

/* ---- a layer under watch ---- */

struct scene {
    struct arena arena;
    struct plan plan;
    struct layer_sample sample;
    struct watch watch;
    struct session session;
    struct kernels kernels;
    uint64_t rounds;
    struct case_options options;
    struct case_result result;
};

/* Notes the first unit of the first rank. */
static enum status noted_activation(struct call *call, uint64_t unit, void *scratch,
                                    struct err *err)
{
    struct kernels fast;
    kernels_cpu(&fast);
    if (unit == 0 && call->rank == 0)
        note('C');
    return fast.table[KERNEL_ACTIVATION].run(call, unit, scratch, err);
}

static void open_scene(struct scene *scene, enum case_routing routing, unsigned workers,
                       bool overlap)
{
    struct err err = {0};
    struct slots slots;
    memset(scene, 0, sizeof *scene);
    notes[0] = '\0';
    case_plan(&scene->plan, PATH_CHUNKED_A2A, 2);
    scene->plan.moe.overlap = overlap;
    scene->plan.moe.chunk = 1;
    case_sample(&scene->plan, routing, &scene->arena, &scene->sample);
    layer_sample_plan_slots(&scene->plan, &scene->sample, 0, workers, &slots);
    scene->rounds = slots.value[SLOT_ROUNDS];
    kernels_cpu(&scene->kernels);
    if (workers == 1)
        scene->kernels.table[KERNEL_ACTIVATION].run = noted_activation;
    scene->options = (struct case_options){.kernels = &scene->kernels, .plain_c = true};
    struct session_options open = {.ranks = 2, .workers = workers, .plain_c = true};
    assert_int_equal(session_open(&scene->session, &open, &err), STATUS_OK);
    scene->watch.base = *scene->session.transport;
    scene->watch.base.ops = &watch_ops;
    scene->watch.inner = scene->session.transport;
    scene->session.transport = &scene->watch.base;
}

static enum status play(struct scene *scene, struct err *err)
{
    return case_run_in(&scene->session, &scene->plan, &scene->sample, &scene->options,
                       &scene->result, err);
}

static void close_scene(struct scene *scene)
{
    assert_int_equal(scene->watch.under_way, 0);
    session_close(&scene->session);
    arena_release(&scene->arena);
}

static void expect_agreement(struct scene *scene)
{
    struct err err = {0};
    if (play(scene, &err) != STATUS_OK)
        fail_msg("%s", err.text);
    assert_true(checks_passed(&scene->result.checks));
    if (!scene->result.counts_equal)
        fail_msg("%s", scene->result.mismatch);
    assert_int_equal(scene->result.metered_bytes, scene->result.predicted_bytes);
}

/* ---- order ---- */

/* One step of n rounds. The return of a round is exchanged while the next one arrives. */
static void write_order(uint64_t n, char *order, size_t size)
{
    size_t length = (size_t)snprintf(order, size, "S");
    for (uint64_t i = 0; i < n; i++)
        length +=
            (size_t)snprintf(order + length, size - length, "%s", i + 1 < n ? "SFCX" : "FC");
}

static void next_round_is_under_way_while_one_is_computed(void **state)
{
    (void)state;
    struct scene scene;
    char step[NOTES / 2], steps[NOTES];
    open_scene(&scene, CASE_ZIPF, 1, true);
    expect_agreement(&scene);
    assert_true(scene.rounds > 2);
    write_order(scene.rounds, step, sizeof step);
    snprintf(steps, sizeof steps, "%s%s", step, step); /* integers, then random numbers */
    assert_string_equal(notes, steps);
    assert_int_equal(scene.watch.most_under_way, 2);
    close_scene(&scene);
}

static void without_overlap_nothing_is_under_way(void **state)
{
    (void)state;
    struct scene scene;
    open_scene(&scene, CASE_ZIPF, 1, false);
    expect_agreement(&scene);
    assert_null(strpbrk(notes, "SFX"));
    close_scene(&scene);
}

/* ---- results ---- */

/* The same bits and bytes whether rows arrive at once, while others compute, or at the very
 * end, with one worker or several: nobody looks before, and what is sent is left alone. */
static void results_do_not_depend_on_when_rows_arrive(void **state)
{
    (void)state;
    for (unsigned routing = 0; routing < CASE_ROUTINGS; routing++) {
        uint64_t hash = 0;
        for (unsigned i = 0; i < 5; i++) {
            struct scene scene;
            open_scene(&scene, (enum case_routing)routing, 1 + i % 3, i > 0);
            scene.watch.late = i > 2;
            scene.options.backward = true;
            expect_agreement(&scene);
            hash = i == 0 ? scene.result.out_hash : hash;
            if (scene.result.out_hash != hash)
                fail_msg("%s, variant %u: other bits", case_routing_name(routing), i);
            close_scene(&scene);
        }
    }
}

/* ---- failure ---- */

static enum status fails_in_second_round(struct call *call, uint64_t unit, void *scratch,
                                         struct err *err)
{
    struct kernels fast;
    kernels_cpu(&fast);
    if (call->iteration == 1)
        return err_set(err, STATUS_SYSTEM, "seeded failure");
    return fast.table[KERNEL_ACTIVATION].run(call, unit, scratch, err);
}

/* What is under way when a step fails is given up: the session serves the next one. */
static void a_failure_gives_up_what_is_under_way(void **state)
{
    (void)state;
    struct scene scene;
    struct err err = {0};
    open_scene(&scene, CASE_ZIPF, 2, true);
    scene.kernels.table[KERNEL_ACTIVATION].run = fails_in_second_round;
    assert_int_equal(play(&scene, &err), STATUS_SYSTEM);
    assert_string_equal(err.text, "seeded failure");
    kernels_cpu(&scene.kernels);
    expect_agreement(&scene);
    close_scene(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(next_round_is_under_way_while_one_is_computed),
        cmocka_unit_test(without_overlap_nothing_is_under_way),
        cmocka_unit_test(results_do_not_depend_on_when_rows_arrive),
        cmocka_unit_test(a_failure_gives_up_what_is_under_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

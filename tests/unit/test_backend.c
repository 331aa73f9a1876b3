/* Nothing outside a backend touches an operand's memory: a backend of the CPU that hands out
 * addresses nobody can follow performs, verifies and measures every path all the same. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "exec/measure.h"
#include "support/layer_case.h"
#include "work/layer/layer.h"

/* A bit that no address of a process has set. */
static const uintptr_t hidden = (uintptr_t)1 << 52;

static void *swap_hidden(const void *memory)
{
    return memory ? (void *)((uintptr_t)memory ^ hidden) : NULL;
}

static void *far_alloc(void *device, unsigned place, uint64_t bytes)
{
    return swap_hidden(backend_cpu.alloc(device, place, bytes));
}

static void far_free(void *device, void *memory)
{
    backend_cpu.free(device, swap_hidden(memory));
}

static void far_fill(void *device, void *memory, unsigned char byte, uint64_t bytes)
{
    backend_cpu.fill(device, swap_hidden(memory), byte, bytes);
}

static void far_copy(void *device, const void *memory, void *to, uint64_t bytes)
{
    backend_cpu.copy(device, swap_hidden(memory), to, bytes);
}

static void far_read_counts(void *device, const int64_t *memory, uint64_t n, int64_t *to)
{
    backend_cpu.read_counts(device, swap_hidden(memory), n, to);
}

static void far_flush(void *device, const void *memory, uint64_t bytes)
{
    backend_cpu.flush(device, swap_hidden(memory), bytes);
}

enum { WORKERS = 2, RANKS = 2 };

static enum status far_launch(void *device, const struct launch *launch, struct err *err)
{
    struct launch near = *launch;
    void *scratch[WORKERS];
    for (unsigned w = 0; w < WORKERS; w++)
        scratch[w] = swap_hidden(launch->scratch[w]);
    near.scratch = scratch;
    for (uint64_t i = 0; i < launch->n; i++)
        for (unsigned role = 0; role < ROLE_COUNT; role++)
            near.calls[i].of[role].data = swap_hidden(near.calls[i].of[role].data);
    return backend_cpu.launch(device, &near, err);
}

static void make_far(struct backend *far)
{
    *far = backend_cpu;
    far->alloc = far_alloc;
    far->free = far_free;
    far->fill = far_fill;
    far->copy = far_copy;
    far->read_counts = far_read_counts;
    far->flush = far_flush;
    far->launch = far_launch;
}

/* ---- the transport takes what it moves as it lies ---- */

static const struct transport_ops *near_ops;

static enum status far_exchange(struct transport *t, const struct parcel *parcels,
                                struct err *err)
{
    struct parcel near[RANKS];
    for (unsigned i = 0; i < RANKS; i++) {
        near[i] = parcels[i];
        near[i].send = swap_hidden(parcels[i].send);
        near[i].receive = swap_hidden(parcels[i].receive);
    }
    return near_ops->exchange(t, near, err);
}

/* ---- layers ---- */

struct far_run {
    struct backend backend;
    struct transport_ops ops;
    struct session session;
    struct work work;
    struct slots slots[RANKS];
    struct layer_sample sample;
    struct execution x;
    struct arena arena;
};

static enum status begin(struct far_run *run, const struct plan *plan, bool backward,
                         struct err *err)
{
    struct session_options open = {
        .transport = TRANSPORT_LOCAL, .ranks = RANKS, .workers = WORKERS};
    TRY(session_open(&run->session, &open, err));
    near_ops = run->session.transport->ops;
    run->ops = *near_ops;
    run->ops.exchange = far_exchange;
    run->session.transport->ops = &run->ops;
    case_sample(plan, CASE_ZIPF, &run->arena, &run->sample);
    TRY(layer_build(plan, backward, &run->arena, &run->work, err));
    for (unsigned i = 0; i < RANKS; i++)
        layer_sample_plan_slots(plan, &run->sample, i, WORKERS, &run->slots[i]);
    struct execution_setup setup = {.work = &run->work,
                                    .plan = plan,
                                    .sample = &run->sample,
                                    .slots = run->slots,
                                    .session = &run->session};
    TRY(execution_init(&run->x, &setup, &run->arena, err));
    make_far(&run->backend);
    run->x.backend = run->x.performs = run->x.meter.backend = &run->backend;
    return session_setup(&run->session, case_largest_exchange(&run->x), err);
}

static enum status verify_and_measure(struct far_run *run, const struct plan *plan,
                                      struct checks *checks, struct err *err)
{
    struct verify_options options = {.seed = 1};
    struct measure_options repeat = {.repeat = 1};
    struct measurement measured;
    struct inputs_shape shape = inputs_shape_of(plan);
    struct inputs inputs;
    inputs_random(&inputs, &shape, 1);
    TRY(verify_run(&run->x, &options, &run->arena, checks, err));
    enum status status = execution_begin(&run->x, &inputs, err);
    if (status == STATUS_OK)
        status = measure_run(&run->x, &repeat, &run->arena, &measured, err);
    execution_end(&run->x);
    return status;
}

static void paths_run_on_memory_out_of_sight(void **state)
{
    (void)state;
    for (size_t p = 0; p < CASE_PATHS; p++) {
        struct plan plan;
        struct far_run run = {.work.n_ops = 0};
        struct checks checks = {.n = 0};
        struct err err = {0};
        case_plan(&plan, case_paths[p], RANKS);
        plan.moe.skip_dynamic = true; /* trips that a rank decides */
        enum status status = begin(&run, &plan, case_paths[p] != PATH_DEEPEP_LL, &err);
        if (status == STATUS_OK)
            status = verify_and_measure(&run, &plan, &checks, &err);
        if (status != STATUS_OK || checks.n == 0 || !checks_passed(&checks))
            fail_msg("%s: status %d, %u checks, %s", words_path[case_paths[p]], (int)status,
                     checks.n, err.text);
        assert_int_equal(run.x.meter.now_bytes, 0);
        session_close(&run.session);
        arena_release(&run.arena);
    }
}

static void rows_have_their_names(void **state)
{
    (void)state;
    assert_string_equal(backend_of(BACKEND_CPU)->name, "cpu");
    assert_string_equal(backend_of(BACKEND_NULL)->name, "null");
    assert_false(backend_of(BACKEND_CPU)->idle);
    assert_true(backend_of(BACKEND_NULL)->idle);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paths_run_on_memory_out_of_sight),
        cmocka_unit_test(rows_have_their_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

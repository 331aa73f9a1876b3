/* Rounds of chunked_a2a with and without overlap, taken in turns in one run, between processes:
 * rank 0 prints how long the loop of rounds takes with overlap as a part of the time without,
 * and the same for what the dispatch leaves exposed. Between processes of one machine it is
 * their own cores that copy, so that the loop gains nothing; it must not lose much either.
 * Start it under mpirun. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"
#include "support/layer_case.h"
#include "work/layer/layer.h"

enum { SAMPLES = 41, TOKENS = 1024, HIDDEN = 1024, INTER = 128, EXPERTS = 16, TOP_K = 4 };

struct side {
    struct plan plan;
    struct work work;
    struct execution x;
    double *seconds; /* by op, of one step */
    double loop_s[SAMPLES], dispatch_s[SAMPLES];
};

static enum status open_side(struct side *side, struct session *session, bool overlap,
                             struct arena *arena, struct err *err)
{
    static struct kernels kernels;
    struct layer_sample *sample = arena_alloc(arena, 1, sizeof *sample);
    struct slots *slots = arena_alloc(arena, 1, sizeof *slots);
    struct plan *plan = &side->plan;
    case_plan(plan, PATH_CHUNKED_A2A, session->transport->n_ranks);
    plan->workload.sequence_length = TOKENS;
    plan->model.hidden = HIDDEN;
    plan->model.moe.intermediate = INTER;
    plan->model.moe.experts = EXPERTS;
    plan->model.moe.top_k = TOP_K;
    plan->moe.chunk = 64;
    plan->moe.overlap = overlap;
    case_sample(plan, CASE_UNIFORM, arena, sample);
    TRY(layer_build(plan, false, arena, &side->work, err));
    layer_sample_plan_slots(plan, sample, session->transport->first, pool_size(session->pool),
                            slots);
    kernels_cpu(&kernels);
    struct execution_setup setup = {&side->work, plan,    sample,     slots,
                                    &kernels,    session, BACKEND_CPU};
    TRY(execution_init(&side->x, &setup, arena, err));
    TRY(session_setup(session, 64 << 20, err));
    side->seconds = arena_alloc(arena, side->work.n_ops, sizeof *side->seconds);
    return STATUS_OK;
}

static double sum_of(const struct side *side, const char *name)
{
    double sum = 0;
    for (size_t op = 0; op < side->work.n_ops; op++)
        if (side->work.ops[op].loop && (!name || strcmp(side->work.ops[op].name, name) == 0))
            sum += side->seconds[op];
    return sum;
}

static enum status take(struct side *side, unsigned i, struct err *err)
{
    struct transport *t = side->x.session->transport;
    TRY(t->ops->agree(t, STATUS_OK, err));
    TRY(execution_step(&side->x, NULL, side->seconds, err));
    /* the rank that comes first waits for the last one: the least is the exchange itself */
    double most[] = {sum_of(side, NULL), -sum_of(side, "dispatch")};
    TRY(t->ops->max(t, most, 2, err));
    side->loop_s[i] = most[0];
    side->dispatch_s[i] = -most[1];
    return STATUS_OK;
}

static enum status take_all(struct side *sides, struct err *err)
{
    struct inputs_shape shape = {.hidden = HIDDEN, .routed = HIDDEN, .inter = INTER};
    struct inputs inputs;
    inputs_random(&inputs, &shape, 1);
    for (unsigned s = 0; s < 2; s++) {
        TRY(execution_begin(&sides[s].x, &inputs, err));
        TRY(execution_step(&sides[s].x, NULL, NULL, err));
    }
    for (unsigned i = 0; i < SAMPLES; i++)
        for (unsigned s = 0; s < 2; s++)
            TRY(take(&sides[s], i, err));
    return STATUS_OK;
}

static void print(struct bench *bench, struct side *sides)
{
    double loop = bench_ratio(sides[1].loop_s, sides[0].loop_s, SAMPLES);
    double dispatch = bench_ratio(sides[1].dispatch_s, sides[0].dispatch_s, SAMPLES);
    double loop_s = bench_median(sides[0].loop_s, SAMPLES);
    double dispatch_s = bench_median(sides[0].dispatch_s, SAMPLES);
    bench_row(bench, "rounds one after the other", 1e3 * loop_s, "ms", BENCH_SHOWN, 0);
    bench_row(bench, "of it dispatch", 1e3 * dispatch_s, "ms", BENCH_SHOWN, 0);
    bench_row(bench, "dispatch exposed by overlap", dispatch, "of it", BENCH_AT_MOST, 1);
    bench_row(bench, "rounds that overlap", loop, "x serial", BENCH_AT_MOST, 1.05);
}

int main(int argc, char **argv)
{
    static struct side sides[2];
    struct bench bench = {0};
    struct session session;
    struct arena arena = {0};
    struct err err = {0};
    char *end = NULL;
    struct session_options options = {.transport = TRANSPORT_MPI,
                                      .ranks = argc > 1 ? strtoul(argv[1], &end, 10) : 2,
                                      .workers = 1};
    enum status status = session_open(&session, &options, &err);
    for (unsigned s = 0; status == STATUS_OK && s < 2; s++)
        status = open_side(&sides[s], &session, s > 0, &arena, &err);
    if (status == STATUS_OK)
        status = take_all(sides, &err);
    if (status == STATUS_OK && session.transport->first == 0)
        print(&bench, sides);
    if (status != STATUS_OK)
        err_print(&err, stderr);
    for (unsigned s = 0; s < 2 && sides[s].x.session; s++)
        execution_end(&sides[s].x);
    session_close(&session);
    arena_release(&arena);
    return status == STATUS_OK ? bench_status(&bench) : 1;
}

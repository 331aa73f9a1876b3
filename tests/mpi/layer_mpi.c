/* Every path and every collective matmul on as many processes as mpirun starts: the same checks
 * as on local ranks, and the same output bits. Prints what failed on stderr; ends with 1 then.
 * With the argument "fail", rank 1 gets a wrong kernel and every rank must end with its error;
 * with "plans", rank 1 has another plan. "matmuls" leaves the paths out: their layers want a
 * power of two of ranks. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/schema/schema.h"
#include "support/layer_case.h"

static int complain(const struct session *session, const char *name, const char *what)
{
    fprintf(stderr, "rank %d: %s: %s\n", (int)session->transport->first, name, what);
    return 1;
}

static uint64_t local_hash(const struct plan *plan, const struct layer_sample *sample,
                           const struct case_options *options)
{
    struct case_result result;
    struct err err = {0};
    case_run(plan, sample, options, &result, &err);
    return result.out_hash;
}

/* sample NULL: a matmul */
static int perform(struct session *session, const char *name, const struct plan *plan,
                   const struct layer_sample *sample, const struct case_options *options)
{
    struct case_result result;
    struct err err = {0};
    if (case_run_in(session, plan, sample, options, &result, &err) != STATUS_OK)
        return complain(session, name, err.text);
    int failed = 0;
    for (unsigned i = 0; i < result.checks.n; i++)
        if (!result.checks.check[i].passed)
            failed = complain(session, name, result.checks.check[i].name);
    if (!result.counts_equal)
        failed = complain(session, name, result.mismatch);
    if (result.metered_bytes != result.predicted_bytes)
        failed = complain(session, name, "metered bytes are not those predicted");
    uint64_t hash = result.out_hash;
    struct transport *t = session->transport;
    if (t->ops->sum(t, &hash, 1, &err) != STATUS_OK)
        return complain(session, name, err.text);
    if (t->first == 0 && hash != local_hash(plan, sample, options))
        failed = complain(session, name, "other output bits than on local ranks");
    return failed;
}

static int run_case(struct session *session, enum moe_path path, enum case_routing routing,
                    bool overlap)
{
    struct plan plan;
    struct arena arena = {0};
    struct layer_sample sample;
    char name[96];
    case_plan(&plan, path, session->transport->n_ranks);
    if (overlap) {
        plan.moe.overlap = true;
        plan.moe.chunk = 1;
    }
    case_sample(&plan, routing, &arena, &sample);
    struct case_options options = {.backward = path != PATH_DEEPEP_LL, .workers = 1};
    snprintf(name, sizeof name, "%s, %s%s", words_path[path], case_routing_name(routing),
             overlap ? ", overlapped" : "");
    int failed = perform(session, name, &plan, &sample, &options);
    arena_release(&arena);
    return failed;
}

static int run_matmuls(struct session *session)
{
    const struct case_options options = {.workers = 1};
    uint64_t ranks = session->transport->n_ranks;
    bool power = (ranks & (ranks - 1)) == 0;
    int failed = 0;
    for (unsigned kind = BLOCK_ALLREDUCE_MATMUL; kind <= BLOCK_MLP; kind++)
        for (unsigned how = COLLECTIVE_BUILTIN; how <= COLLECTIVE_HALVING; how++) {
            struct plan plan;
            char name[96];
            if (how == COLLECTIVE_HALVING && !power)
                continue;
            case_matmul(&plan, (enum block_kind)kind, (enum collective)how, ranks);
            snprintf(name, sizeof name, "%s, %s", words_block[kind], words_collective[how]);
            failed |= perform(session, name, &plan, NULL, &options);
        }
    return failed;
}

static enum status wrong(struct call *call, uint64_t unit, void *scratch, struct err *err)
{
    (void)unit;
    (void)scratch;
    return err_set(err, STATUS_MISMATCH, "seeded failure in \"%s\"", call->op->name);
}

static enum status wrong_later(struct call *call, uint64_t unit, void *scratch, struct err *err)
{
    struct kernels fast;
    if (call->iteration == 1)
        return wrong(call, unit, scratch, err);
    kernels_cpu(&fast);
    return fast.table[call->op->kernel].run(call, unit, scratch, err);
}

/* 0 when this rank ended with an error that says what happened. */
static int run_failing(struct session *session, bool other_plan, bool ahead)
{
    struct plan plan;
    struct arena arena = {0};
    struct layer_sample sample;
    struct case_result result;
    struct err err = {0};
    struct kernels kernels;
    kernels_cpu(&kernels);
    bool mine = session->transport->first == 1;
    case_plan(&plan, ahead ? PATH_CHUNKED_A2A : PATH_RAGGED_A2A, session->transport->n_ranks);
    plan.moe.overlap = ahead;
    if (mine && other_plan)
        plan.model.hidden = 24;
    if (mine && !other_plan)
        kernels.table[KERNEL_ACTIVATION].run = ahead ? wrong_later : wrong;
    case_sample(&plan, CASE_UNIFORM, &arena, &sample);
    struct case_options options = {.kernels = &kernels, .workers = 1};
    enum status status = case_run_in(session, &plan, &sample, &options, &result, &err);
    fprintf(stderr, "rank %d: %s\n", (int)session->transport->first, err.text);
    arena_release(&arena);
    bool told = other_plan
                    ? strstr(err.text, "bytes") != NULL || strstr(err.text, "MPI") != NULL
                    : strstr(err.text, "seeded failure") != NULL;
    return status != STATUS_OK && told ? 0 : 1;
}

static int run_all(struct session *session)
{
    int failed = 0;
    for (unsigned path = PATH_CAPACITY; path < PATH_COUNT; path++)
        for (unsigned routing = 0; routing < CASE_ROUTINGS; routing++)
            failed |= run_case(session, (enum moe_path)path, (enum case_routing)routing, false);
    for (unsigned routing = 0; routing < CASE_ROUTINGS; routing++)
        failed |= run_case(session, PATH_CHUNKED_A2A, (enum case_routing)routing, true);
    return failed | run_matmuls(session);
}

int main(int argc, char **argv)
{
    struct session session;
    struct err err = {0};
    char *end = NULL;
    uint64_t ranks = argc > 1 ? (uint64_t)strtoul(argv[1], &end, 10) : 0;
    struct session_options options = {.transport = TRANSPORT_MPI, .ranks = ranks, .workers = 1};
    if (session_open(&session, &options, &err) != STATUS_OK) {
        err_print(&err, stderr);
        session_close(&session);
        return (int)err.status;
    }
    bool fail = argc > 2 && strcmp(argv[2], "fail") == 0;
    bool ahead = argc > 2 && strcmp(argv[2], "ahead") == 0;
    bool plans = argc > 2 && strcmp(argv[2], "plans") == 0;
    bool matmuls = argc > 2 && strcmp(argv[2], "matmuls") == 0;
    int result = fail || ahead || plans ? run_failing(&session, plans, ahead)
                 : matmuls              ? run_matmuls(&session)
                                        : run_all(&session);
    session_close(&session);
    return result;
}

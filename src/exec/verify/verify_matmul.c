/* See verify_matmul.h. */
#include "exec/verify/verify_matmul.h"

#include <math.h>

#include "base/checked.h"
#include "exec/verify/inputs_matmul.h"
#include "exec/verify/oracle_matmul.h"
#include "exec/verify/verify_rows.h"
#include "plan/derive.h"
#include "work/piece/matmul.h"

/* ---- parts of the result ---- */

/* The n-th part of T rows. */
static struct tensor chunk(const struct tensor *tensor, uint64_t rows, uint64_t n)
{
    struct tensor view = *tensor;
    view.rows = view.dims[0] = rows;
    view.data = tensor_row(tensor, n * rows);
    view.bytes = tensor->bytes / tensor->rows * rows;
    return view;
}

/* Every tile holds some of all columns; of a rank's columns there is one array. */
bool matmul_part_of(const struct plan *plan, const struct rank_state *rank,
                    const struct op *result, uint64_t number, struct matmul_part *part)
{
    bool everywhere = plan->block.kind == BLOCK_ALLREDUCE_MATMUL;
    if (number >= result->n_operands)
        return false;
    const struct tensor *tensor =
        &rank->tensors[op_operands(rank->work, result)[number].buffer];
    part->view =
        chunk(tensor, plan_tokens(plan), matmul_reduces_in_place(plan) ? rank->rank : 0);
    part->first = (everywhere ? number : rank->rank) * tensor->width;
    return true;
}

/* ---- against the reference ---- */

struct look {
    const struct execution *execution;
    const struct plan *plan;
    const struct oracle_matmul *oracle;
    const double *values; /* the oracle's */
    double *squares;
    struct checks *checks;
    double tolerance; /* 0: integers */
};

static void check_part(const struct look *look, const struct rank_state *rank,
                       const struct matmul_part *part, uint64_t number)
{
    const struct oracle_matmul *o = look->oracle;
    struct wanted wanted = {.name = look->tolerance > 0 ? "random: out" : "integers: out",
                            .values = look->values + (part->first - o->first),
                            .rows = ceil_div(part->view.rows, o->stride),
                            .width = part->view.width,
                            .step = o->stride,
                            .across = o->width,
                            .squares = look->squares + (part->first - o->first),
                            .n_squares = o->width,
                            .tolerance = look->tolerance};
    verify_compare(look->execution, look->checks, rank, &part->view, &wanted);
    uint64_t parts = oracle_matmul_columns(look->plan) / part->view.width;
    bool integers = !(look->tolerance > 0);
    uint64_t *hash = integers ? &look->checks->integer_hash : &look->checks->out_hash;
    *hash += verify_hash_rows(look->execution, &part->view,
                              (rank->rank * parts + number) * part->view.rows);
}

static enum status after(void *context, const struct rank_state *rank, const struct op *op,
                         struct err *err)
{
    (void)err;
    const struct look *look = context;
    struct matmul_part part;
    if (op->kernel != KERNEL_RESULT)
        return STATUS_OK;
    for (uint64_t i = 0; matmul_part_of(look->plan, rank, op, i, &part); i++)
        check_part(look, rank, &part, i);
    return STATUS_OK;
}

/* A result is stored once, in hops p times on its way, and an MLP's h and a before it: each
 * rounding is an independent error of at most u of the rms, p + 3 of them have a deviation of
 * u sqrt((p + 3) / 3), the largest of a million is 5.5 deviations. Sums of n terms in f32 add
 * u32 sqrt(n), again times 5.5. Both are doubled for elements several times the rms. */
static double tolerance_of(const struct plan *plan)
{
    double u = verify_unit_roundoff(plan->precision.activations);
    double terms = (double)plan->model.hidden + (double)plan->model.dense_intermediate;
    return 11 * u * sqrt(((double)plan->parallel.tp + 3) / 3) + 12 * 0x1p-24 * sqrt(terms);
}

/* ---- runs ---- */

static struct oracle_matmul oracle_of(const struct execution *x,
                                      const struct verify_options *options)
{
    const struct plan *plan = x->task.plan;
    uint64_t all = oracle_matmul_columns(plan), each = all / plan->parallel.tp;
    bool everywhere = plan->block.kind == BLOCK_ALLREDUCE_MATMUL;
    struct oracle_matmul o = {.plan = plan,
                              .inputs = x->task.inputs,
                              .stride = 1,
                              .first = everywhere ? 0 : x->session->transport->first * each,
                              .width = everywhere ? all : x->n_ranks * each,
                              .least = verify_least(plan->precision.activations)};
    double flop = oracle_matmul_flop(&o);
    if (options->budget_flop > 0 && flop > options->budget_flop)
        o.stride = (uint64_t)ceil(flop / options->budget_flop);
    if (o.stride > plan_tokens(plan))
        o.stride = plan_tokens(plan);
    return o;
}

static enum status run_with(struct execution *x, const struct inputs *inputs,
                            const struct verify_options *options, struct checks *checks,
                            struct err *err)
{
    struct arena own = {0};
    const struct plan *plan = x->task.plan;
    enum status status = execution_begin(x, inputs, err);
    if (status == STATUS_OK) {
        struct oracle_matmul oracle = oracle_of(x, options);
        struct look look = {.execution = x,
                            .plan = plan,
                            .oracle = &oracle,
                            .checks = checks,
                            .tolerance = inputs->picked ? 0 : tolerance_of(plan)};
        look.values = oracle_matmul_compute(&oracle, &own, &look.squares);
        struct observer observer = {&look, after};
        status = execution_step(x, &observer, NULL, err);
        checks->tokens = x->n_ranks * plan_tokens(plan);
        checks->tokens_checked = x->n_ranks * ceil_div(plan_tokens(plan), oracle.stride);
    }
    execution_end(x);
    arena_release(&own);
    return status;
}

enum status verify_matmul(struct execution *x, const struct verify_options *options,
                          struct arena *arena, struct checks *checks, struct err *err)
{
    struct inputs inputs;
    struct inputs_matmul *context = arena_alloc(arena, 1, sizeof *context);
    inputs_matmul_integers(&inputs, context, x->task.plan, options->seed);
    TRY(run_with(x, &inputs, options, checks, err));
    inputs_matmul_random(&inputs, context, x->task.plan, options->seed);
    return run_with(x, &inputs, options, checks, err);
}

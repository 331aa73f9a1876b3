/* Results against the oracle; see verify.h. */
#include "exec/verify/verify.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "exec/absent/absent.h"
#include "exec/kernels/format.h"
#include "exec/verify/verify_rows.h"
#include "exec/verify/verify_sent.h"
#include "exec/verify/verify_tail.h"
#include "plan/derive.h"

bool checks_passed(const struct checks *checks)
{
    for (unsigned i = 0; i < checks->n; i++)
        if (!checks->check[i].passed)
            return false;
    return true;
}

struct check *checks_add(struct checks *checks, const char *name, double error,
                         double tolerance)
{
    struct check *check = NULL;
    for (unsigned i = 0; i < checks->n; i++)
        if (strcmp(checks->check[i].name, name) == 0)
            check = &checks->check[i];
    if (!check && checks->n < VERIFY_CHECKS) {
        check = &checks->check[checks->n++];
        *check = (struct check){.name = name, .passed = true, .tolerance = tolerance};
    }
    if (!check)
        check = &checks->check[VERIFY_CHECKS - 1];
    /* NaN is not within any tolerance */
    check->passed = check->passed && error <= tolerance;
    if (!(error <= check->error))
        check->error = isfinite(error) ? error : DBL_MAX;
    return check;
}

/* ---- what the results are ---- */

struct verify {
    const struct execution *execution;
    struct checks *checks;
    const struct oracle *oracle;
    const struct work *work;
    bool integers;    /* the inputs */
    bool exact;       /* the results of integers */
    double tolerance; /* of activations and their gradients */
    double tolerance_gradient;
};

enum result {
    RESULT_OUT,
    RESULT_DX,
    RESULT_DGATES,
    RESULT_DW13,
    RESULT_DW2,
    RESULT_DROUTER,
    RESULT_DSHARED13,
    RESULT_DSHARED2,
    RESULT_DB13,
    RESULT_DB2,
    RESULT_DRESIDUAL13,
    RESULT_DRESIDUAL2,
    RESULT_DSHARED_GATE,
    RESULT_DLINEAR_BIAS,
    RESULT_DLATENT_DOWN,
    RESULT_DLATENT_UP
};

static const char *const result_names[][2] = {
    [RESULT_OUT] = {"random: out", "integers: out"},
    [RESULT_DX] = {"random: d_x", "integers: d_x"},
    [RESULT_DGATES] = {"random: d_gates", "integers: d_gates"},
    [RESULT_DW13] = {"random: d_w13", "integers: d_w13"},
    [RESULT_DW2] = {"random: d_w2", "integers: d_w2"},
    [RESULT_DROUTER] = {"random: d_router", "integers: d_router"},
    [RESULT_DSHARED13] = {"random: d_shared_w13", "integers: d_shared_w13"},
    [RESULT_DSHARED2] = {"random: d_shared_w2", "integers: d_shared_w2"},
    [RESULT_DB13] = {"random: d_b13", "integers: d_b13"},
    [RESULT_DB2] = {"random: d_b2", "integers: d_b2"},
    [RESULT_DRESIDUAL13] = {"random: d_residual_w13", "integers: d_residual_w13"},
    [RESULT_DRESIDUAL2] = {"random: d_residual_w2", "integers: d_residual_w2"},
    [RESULT_DSHARED_GATE] = {"random: d_shared_gate", "integers: d_shared_gate"},
    [RESULT_DLINEAR_BIAS] = {"random: d_router_bias", "integers: d_router_bias"},
    [RESULT_DLATENT_DOWN] = {"random: d_latent_down", "integers: d_latent_down"},
    [RESULT_DLATENT_UP] = {"random: d_latent_up", "integers: d_latent_up"},
};

static struct wanted wanted_of(const struct verify *v, enum result which, const double *all,
                               uint64_t local, uint64_t rows, uint64_t width)
{
    bool gradient = which >= RESULT_DW13;
    return (struct wanted){.name = result_names[which][v->integers],
                           .values = all ? all + local * rows * width : NULL,
                           .rows = rows,
                           .width = width,
                           .step = gradient ? 1 : v->oracle->setup.stride,
                           .tolerance = v->exact   ? 0
                                        : gradient ? v->tolerance_gradient
                                                   : v->tolerance};
}

static void check_forward(struct verify *v, const struct rank_state *rank,
                          const struct tensor *out, uint64_t local)
{
    const struct oracle *o = v->oracle;
    struct wanted out_rows = wanted_of(v, RESULT_OUT, o->out, local, o->n_tokens, o->H);
    verify_compare(v->execution, v->checks, rank, out, &out_rows);
    uint64_t *hash = v->integers ? &v->checks->integer_hash : &v->checks->out_hash;
    *hash += verify_hash_rows(v->execution, out, rank->rank * o->setup.sample->T);
}

/* dgates [T, K] in the router's order of experts, wanted in the sample's. */
static void check_gates(struct verify *v, const struct rank_state *rank,
                        const struct tensor *dgates, const struct tensor *ids, uint64_t local)
{
    const struct oracle *o = v->oracle;
    const struct layer_sample *s = o->setup.sample;
    struct wanted w = wanted_of(v, RESULT_DGATES, o->dgates, local, o->n_tokens, o->K);
    struct worst worst = {.error = 0};
    if (!dgates->data)
        return;
    double scale = v->exact ? 0 : verify_scale(&w);
    struct arena own = {0};
    float *got = arena_alloc(&own, dgates->bytes, 1);
    int32_t *chosen = arena_alloc(&own, ids->bytes, 1);
    execution_copy(v->execution, dgates->data, dgates->bytes, got);
    execution_copy(v->execution, ids->data, ids->bytes, chosen);
    for (uint64_t i = 0; i < o->n_tokens * o->K; i++) {
        uint64_t t = i / o->K * o->setup.stride, k = 0;
        int32_t expert = s->ids[(rank->rank * s->T + t) * o->K + i % o->K];
        while (k + 1 < o->K && chosen[t * o->K + k] != expert)
            k++;
        verify_look_at(&worst, (double)got[t * o->K + k], w.values[i], scale, t, k);
    }
    checks_add(v->checks, w.name, worst.error, w.tolerance);
    arena_release(&own);
}

static const struct tensor *tensor_of(const struct verify *v, const struct rank_state *rank,
                                      const struct op *op, enum role role)
{
    return &rank->tensors[op_buffer(v->work, op, role)];
}

/* The result that is the gradient of what is filled so, or NULL. */
static const struct tensor *gradient_of(const struct verify *v, const struct rank_state *rank,
                                        const struct op *op, enum fill fill)
{
    const struct operand *operands = op_operands(v->work, op);
    for (unsigned i = 0; i < op->n_operands; i++)
        if (operands[i].role == ROLE_RESULT && operands[i].number == fill)
            return &rank->tensors[operands[i].buffer];
    return NULL;
}

static void check_backward(struct verify *v, const struct rank_state *rank, const struct op *op,
                           uint64_t local)
{
    const struct oracle *o = v->oracle;
    uint64_t e = o->setup.sample->local;
    const struct model *model = &o->setup.plan->model;
    uint64_t shared = plan_shared_width(o->setup.plan);
    uint64_t residual = plan_residual_width(o->setup.plan);
    uint64_t inputs = model->moe.glu ? 2 : 1;
    struct oracle_terms terms = {0};
    if (o->terms)
        terms = o->terms[local];
    const struct {
        enum result which;
        enum fill of;
        const double *all;
        uint64_t rows, width;
        double squares; /* of the products that were added up */
    } results[] = {
        {RESULT_DX, FILL_X, o->dx, o->n_tokens, o->H, 0},
        {RESULT_DW13, FILL_W13, o->dw13, e * o->W, o->GI, terms.dw13},
        {RESULT_DW2, FILL_W2, o->dw2, e * o->I, o->W, terms.dw2},
        {RESULT_DROUTER, FILL_ROUTER, o->drouter, o->H, o->E, terms.drouter},
        {RESULT_DSHARED13, FILL_SHARED_13, o->dshared13, o->H, inputs * shared,
         terms.shared.d13},
        {RESULT_DSHARED2, FILL_SHARED_2, o->dshared2, shared, o->H, terms.shared.d2},
        {RESULT_DB13, FILL_B13, o->db13, e, o->GI, 0},
        {RESULT_DB2, FILL_B2, o->db2, e, o->W, 0},
        {RESULT_DRESIDUAL13, FILL_RESIDUAL_13, o->dresidual13, o->H, inputs * residual,
         terms.residual.d13},
        {RESULT_DRESIDUAL2, FILL_RESIDUAL_2, o->dresidual2, residual, o->H, terms.residual.d2},
        {RESULT_DSHARED_GATE, FILL_SHARED_GATE, o->dshared_gate, o->H, 1, terms.shared.dgate},
        {RESULT_DLINEAR_BIAS, FILL_LINEAR_BIAS, o->dlinear_bias, 1, o->E, terms.dlinear_bias},
        {RESULT_DLATENT_DOWN, FILL_LATENT_DOWN, o->dlatent_down, o->H, o->W,
         terms.dlatent_down},
        {RESULT_DLATENT_UP, FILL_LATENT_UP, o->dlatent_up, o->W, o->H, terms.dlatent_up},
    };
    for (unsigned i = 0; i < sizeof results / sizeof *results; i++) {
        struct wanted wanted = wanted_of(v, results[i].which, results[i].all, local,
                                         results[i].rows, results[i].width);
        if (wanted.values)
            wanted.least = sqrt(results[i].squares / (double)(wanted.rows * wanted.width));
        const struct tensor *got = gradient_of(v, rank, op, results[i].of);
        if (got)
            verify_compare(v->execution, v->checks, rank, got, &wanted);
    }
    check_gates(v, rank, tensor_of(v, rank, op, ROLE_D_GATES), tensor_of(v, rank, op, ROLE_IDS),
                local);
}

static enum status look(void *context, const struct rank_state *rank, const struct op *op,
                        struct err *err)
{
    (void)err;
    struct verify *v = context;
    uint64_t dirty;
    if (verify_tail(v->execution, rank, op, &dirty))
        checks_add(v->checks, "rows behind the groups are zero", (double)dirty, 0);
    if (op->kernel != KERNEL_RESULT)
        return STATUS_OK;
    uint64_t local = rank->rank - v->oracle->setup.first_rank;
    if (op->phase == PHASE_FORWARD)
        check_forward(v, rank, tensor_of(v, rank, op, ROLE_RESULT), local);
    else
        check_backward(v, rank, op, local);
    return STATUS_OK;
}

/* ---- tolerances ---- */

/* Every stored intermediate (h, a, y, partial sums, gradients) adds a relative rounding error
 * of at most u to elements of the size of the rms; about six of them, independent, give a
 * standard deviation of u sqrt(6/3), and the largest of a million normal errors is 5.5
 * deviations: 8 u. Sums of n terms in f32 add u32 sqrt(n), again times 5.5. Both are doubled
 * for intermediates that are themselves several times the rms; results that are have errors as
 * much larger, and are judged by their own size. */
static double tolerance_of(double u, uint64_t longest_sum)
{
    return 16 * u + 12 * 0x1p-24 * sqrt((double)longest_sum);
}

/* Gates, or a projection to latent rows, computed in f32 and in f64 may round an element of the
 * row they make to neighbours in a narrow format, which are a step of 1/16 (e4m3) or 1/3 (e2m1)
 * of its largest apart; one element of a row of H >= 16 changes a product by sqrt(3 / H) of
 * that: 0.03, 0.14, within 16 u. */
static double wire_roundoff(enum dtype wire)
{
    if (format_is_plain(wire))
        return verify_unit_roundoff(wire);
    return wire == DTYPE_MXFP4 || wire == DTYPE_NVFP4 ? 0x1p-6 : 0x1p-8;
}

static void set_tolerances(struct verify *v)
{
    const struct oracle *o = v->oracle;
    const struct work *work = v->work;
    double u = verify_unit_roundoff(o->setup.activation), gradient = 0x1p-24;
    for (size_t b = 0; b < work->n_buffers; b++) {
        const struct buffer *buffer = &work->buffers[b];
        bool wide = buffer->dtype == DTYPE_BF16 || buffer->dtype == DTYPE_F16;
        if (wide && buffer->category == CATEGORY_DISPATCH)
            u = fmax(u, verify_unit_roundoff(buffer->dtype));
        if (wide && buffer->category == CATEGORY_GRADIENTS)
            gradient = verify_unit_roundoff(buffer->dtype);
    }
    if (o->setup.scaled_first || o->setup.plan->model.moe.latent_size)
        u = fmax(u, wire_roundoff(o->setup.wire));
    uint64_t rows = o->setup.sample->R * o->setup.sample->T;
    v->tolerance = tolerance_of(u, o->H + o->GI);
    v->tolerance_gradient = tolerance_of(fmax(u, gradient), o->H + o->GI + rows);
}

/* ---- runs ---- */

static const struct op *find_kernel(const struct work *work, enum kernel kernel)
{
    for (size_t i = 0; i < work->n_ops; i++)
        if (work->ops[i].kernel == kernel)
            return &work->ops[i];
    return NULL;
}

/* The op that multiplies the experts' rows by their gates, or NULL. */
static const struct op *find_scale(const struct work *work)
{
    for (size_t i = 0; i < work->n_ops; i++)
        if (work->ops[i].kernel == KERNEL_GATHER &&
            op_buffer(work, &work->ops[i], ROLE_GATES) != WORK_NONE)
            return &work->ops[i];
    return NULL;
}

/* Rows that every expert computes of every rank, when their number is fixed. */
static uint64_t pair_slots(const struct execution *x)
{
    const struct op *slots = find_kernel(x->work, KERNEL_SLOTS);
    const struct op *chunk = find_kernel(x->work, KERNEL_CHUNK);
    const uint64_t *values = x->ranks[0].values;
    if (slots)
        return values[slots->args.slots.groups.size.node] *
               values[slots->args.slots.capacity.size.node];
    return chunk ? values[chunk->trips.node] * values[chunk->args.chunk.rows.size.node] : 0;
}

/* Steps through `n` things of `flop` each, as many as the budget allows. */
static uint64_t stride_of(double flop, double budget_flop, uint64_t n)
{
    uint64_t stride = flop > budget_flop ? (uint64_t)ceil(flop / budget_flop) : 1;
    return stride < n ? stride : n;
}

/* A rank that is alone computes those rows of its tokens that it owns, and one row for every
 * absent rank and local expert: each gets half of the budget. */
static void set_strides(struct oracle_setup *setup, double budget_flop)
{
    const struct layer_sample *s = setup->sample;
    double flop = oracle_flop(setup->plan, s, setup->n_ranks) * (setup->backward ? 4 : 1);
    if (!setup->alone) {
        setup->stride = stride_of(flop, budget_flop, s->T);
        return;
    }
    double row = flop / (double)(s->T * s->K), half = budget_flop / 2;
    uint64_t rank = setup->first_rank, own = 0;
    for (uint64_t e = 0; e < s->local; e++)
        own += s->rows[rank * s->R * s->local + rank * s->local + e];
    setup->stride = stride_of((double)own * row, half, s->T);
    setup->peer_stride = stride_of((double)((s->R - 1) * s->local) * row, half, s->R);
}

static struct oracle_setup oracle_setup_of(const struct execution *x,
                                           const struct verify_options *options)
{
    const struct work *work = x->work;
    const struct op *pack = find_kernel(work, KERNEL_QUANTIZE);
    const struct op *slots = find_kernel(work, KERNEL_SLOTS);
    const struct op *product = find_kernel(work, KERNEL_ACTIVATION);
    product = product ? product : find_kernel(work, KERNEL_GATED_GEMM);
    const uint64_t *values = x->ranks[0].values;
    struct oracle_setup setup = {
        .plan = x->task.plan,
        .sample = x->task.sample,
        .inputs = x->task.inputs,
        .activation =
            product ? work->buffers[op_buffer(work, product, ROLE_DST)].dtype : DTYPE_F32,
        .weight = x->task.plan->precision.weights,
        .first_rank = x->session->transport->first,
        .n_ranks = x->n_ranks,
        .stride = 1,
        .backward = work->ops[work->n_ops - 1].phase == PHASE_BACKWARD};
    const struct op *scale = find_scale(work);
    setup.scaled_first = scale && (!pack || scale < pack);
    setup.wire = pack ? work->buffers[op_buffer(work, pack, ROLE_DST)].dtype : setup.activation;
    setup.drop_groups = slots ? values[slots->args.slots.groups.size.node] : 1;
    setup.drop_capacity = slots ? values[slots->args.slots.capacity.size.node] : 0;
    setup.alone = x->session->transport->alone;
    setup.peer_stride = 1;
    setup.pair_slots = pair_slots(x);
    if (options->budget_flop > 0 && !setup.inputs->picked)
        set_strides(&setup, options->budget_flop);
    return setup;
}

static void one_and_zeros(const void *context, uint64_t c, uint64_t r0, uint64_t n, float *out)
{
    (void)context;
    (void)c;
    for (uint64_t i = 0; i < n; i++)
        out[i] = r0 + i == 0 ? 1 : 0;
}

/* Whether a column with a single 1 survives the format: the scales of nvfp4 are sixths. */
static bool holds_one(enum dtype dtype)
{
    enum { ROWS = 128 };
    float scratch[128 * 128], back[ROWS];
    unsigned char bytes[ROWS * 8];
    struct matrix_source source = {NULL, one_and_zeros};
    if (format_is_plain(dtype))
        return true;
    format_encode_matrix(dtype, ROWS, 1, &source, scratch, bytes);
    format_decode_columns(dtype, bytes, ROWS, 1, 0, ROWS, 0, 1, back);
    return back[0] == 1;
}

static enum status run_with(struct execution *x, const struct inputs *inputs,
                            const struct verify_options *options, struct checks *checks,
                            struct err *err)
{
    struct arena own = {0};
    struct oracle oracle;
    enum status status = execution_begin(x, inputs, err);
    if (status == STATUS_OK) {
        struct oracle_setup setup = oracle_setup_of(x, options);
        oracle_compute(&oracle, &setup, &own);
        struct verify v = {.execution = x,
                           .checks = checks,
                           .oracle = &oracle,
                           .work = x->work,
                           .integers = inputs->picked,
                           .exact = inputs->picked && holds_one(setup.weight)};
        set_tolerances(&v);
        struct observer observer = {&v, look};
        if (setup.alone)
            absent_audit(x);
        status = execution_step(x, &observer, NULL, err);
        if (setup.alone && status == STATUS_OK)
            verify_sent(x, &oracle, v.integers, v.exact ? 0 : v.tolerance, checks);
        checks->tokens_checked = x->n_ranks * oracle.n_tokens;
        checks->tokens = x->n_ranks * setup.sample->T;
    }
    execution_end(x);
    arena_release(&own);
    return status;
}

enum status verify_run(struct execution *x, const struct verify_options *options,
                       struct arena *arena, struct checks *checks, struct err *err)
{
    struct inputs_shape *shape = arena_alloc(arena, 1, sizeof *shape);
    *shape = inputs_shape_of(x->task.plan);
    struct inputs inputs;
    inputs_integers(&inputs, shape, options->seed);
    TRY(run_with(x, &inputs, options, checks, err));
    inputs_random(&inputs, shape, options->seed);
    return run_with(x, &inputs, options, checks, err);
}

/* Results against the oracle; see verify.h. */
#include "exec/verify/verify.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "exec/absent/absent.h"
#include "exec/kernels/format.h"
#include "exec/verify/oracle_matrix.h"
#include "exec/verify/verify_rows.h"
#include "exec/verify/verify_sent.h"
#include "exec/verify/verify_tail.h"
#include "plan/derive.h"
#include "plan/layers.h"
#include "work/list/dtype.h"

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
    RESULT_DLATENT_UP,
    RESULT_DLATENT_NORM,
    RESULT_DROUTER_NORM,
    RESULT_DGATE_SCALE
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
    [RESULT_DLATENT_NORM] = {"random: d_latent_norm", "integers: d_latent_norm"},
    [RESULT_DROUTER_NORM] = {"random: d_router_norm", "integers: d_router_norm"},
    [RESULT_DGATE_SCALE] = {"random: d_gate_scale", "integers: d_gate_scale"},
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

/* Of the local rank's rows. */
static void take_squares(struct wanted *wanted, const double *all, uint64_t local,
                         int64_t alike)
{
    uint64_t rows = alike > 0 ? wanted->rows / (uint64_t)alike : wanted->rows;
    wanted->n_squares = alike < 0 ? 1 : wanted->width;
    wanted->alike = alike > 0 ? (uint64_t)alike : 1;
    wanted->squares = all ? all + local * rows * wanted->n_squares : NULL;
}

static void check_forward(struct verify *v, const struct rank_state *rank,
                          const struct tensor *out, uint64_t local)
{
    const struct oracle *o = v->oracle;
    struct wanted out_rows = wanted_of(v, RESULT_OUT, o->out, local, o->n_tokens, o->H);
    take_squares(&out_rows, o->squares.out, local, 0);
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
    w.squares = o->squares.dgates ? o->squares.dgates + local * o->n_tokens * o->K : NULL;
    w.n_squares = o->K;
    double rms = verify_rms(&w);
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
        double scale = v->exact ? 0 : fmax(rms, verify_size(&w, i / o->K, i % o->K));
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

/* A result of the backward: of a matrix's the squares are of columns that `alike` rows share,
 * or, marked so, of rows. */
enum { OF_ROWS = -1 };

struct gradient {
    enum result which;
    enum fill of;
    const double *all;
    uint64_t rows, width;
    const double *squares;
    int64_t alike;
    bool matrix; /* whose kept rows are there */
};

static void check_gradient(struct verify *v, const struct rank_state *rank, const struct op *op,
                           const struct gradient *g, uint64_t local)
{
    uint64_t rows = g->matrix ? oracle_kept_rows(v->oracle, g->rows) : g->rows;
    struct wanted wanted = wanted_of(v, g->which, g->all, local, rows, g->width);
    if (g->matrix)
        wanted.step = v->oracle->setup.gradient_stride;
    const struct tensor *got = gradient_of(v, rank, op, g->of);
    take_squares(&wanted, g->squares, local, g->alike);
    if (got)
        verify_compare(v->execution, v->checks, rank, got, &wanted);
}

static void check_backward(struct verify *v, const struct rank_state *rank, const struct op *op,
                           uint64_t local)
{
    const struct oracle *o = v->oracle;
    const struct oracle_squares *q = &o->squares;
    uint64_t e = o->setup.sample->local, H = o->H, W = o->W, E = o->E;
    const struct model *model = &o->setup.plan->model;
    uint64_t shared = plan_shared_width(o->setup.plan);
    uint64_t residual = plan_residual_width(o->setup.plan);
    uint64_t inputs = model->moe.glu ? 2 : 1;
    int64_t h = (int64_t)H, w = (int64_t)W;
    const struct gradient results[] = {
        {RESULT_DX, FILL_X, o->dx, o->n_tokens, H, q->dx, 0, false},
        {RESULT_DW13, FILL_W13, o->dw13, e * W, o->GI, q->dw13, w, true},
        {RESULT_DW2, FILL_W2, o->dw2, e * o->I, W, q->dw2, OF_ROWS, true},
        {RESULT_DROUTER, FILL_ROUTER, o->drouter, H, E, q->drouter, h, true},
        {RESULT_DSHARED13, FILL_SHARED_13, o->dshared13, H, inputs * shared, q->dshared13, h,
         true},
        {RESULT_DSHARED2, FILL_SHARED_2, o->dshared2, shared, H, q->dshared2, OF_ROWS, true},
        {RESULT_DB13, FILL_B13, o->db13, e, o->GI, q->db13, 0, false},
        {RESULT_DB2, FILL_B2, o->db2, e, W, q->db2, 0, false},
        {RESULT_DRESIDUAL13, FILL_RESIDUAL_13, o->dresidual13, H, inputs * residual,
         q->dresidual13, h, true},
        {RESULT_DRESIDUAL2, FILL_RESIDUAL_2, o->dresidual2, residual, H, q->dresidual2, OF_ROWS,
         true},
        {RESULT_DSHARED_GATE, FILL_SHARED_GATE, o->dshared_gate, H, 1, q->dshared_gate, h,
         false},
        {RESULT_DLINEAR_BIAS, FILL_LINEAR_BIAS, o->dlinear_bias, 1, E, q->dlinear_bias, 0,
         false},
        {RESULT_DLATENT_DOWN, FILL_LATENT_DOWN, o->dlatent_down, H, W, q->dlatent_down, h,
         true},
        {RESULT_DLATENT_UP, FILL_LATENT_UP, o->dlatent_up, W, H, q->dlatent_up, OF_ROWS, true},
        {RESULT_DLATENT_NORM, FILL_LATENT_NORM, o->dlatent_norm, 1, W, q->dlatent_norm, 0,
         false},
        {RESULT_DROUTER_NORM, FILL_ROUTER_NORM, o->drouter_norm, 1, H, q->drouter_norm, 0,
         false},
        {RESULT_DGATE_SCALE, FILL_GATE_SCALE, o->dgate_scale, 1, E, q->dgate_scale, 0, false},
    };
    for (unsigned i = 0; i < sizeof results / sizeof *results; i++)
        check_gradient(v, rank, op, &results[i], local);
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
 * of its largest apart; one element of a row of W changes a product by sqrt(3 / W) of that:
 * 0.03, 0.14 where W is 16, within 16 u, and more of shorter rows. */
static double wire_roundoff(enum dtype wire, uint64_t width)
{
    if (dtype_is_plain(wire))
        return verify_unit_roundoff(wire);
    double u = wire == DTYPE_MXFP4 || wire == DTYPE_NVFP4 ? 0x1p-6 : 0x1p-8;
    return u * fmax(1, 2 * sqrt(3 / (double)width));
}

struct tolerances {
    double activation, gradient;
    double least; /* square of the smallest size that all formats hold with all their bits */
};

static struct tolerances tolerances_of(const struct work *work,
                                       const struct oracle_setup *setup)
{
    const struct model *model = &setup->plan->model;
    uint64_t inter = plan_expert_width(setup->plan), rows = setup->sample->R * setup->sample->T;
    double u = verify_unit_roundoff(setup->activation), gradient = 0x1p-24;
    double least = verify_least(setup->activation);
    for (size_t b = 0; b < work->n_buffers; b++) {
        const struct buffer *buffer = &work->buffers[b];
        bool wide = buffer->dtype == DTYPE_BF16 || buffer->dtype == DTYPE_F16;
        if (wide && buffer->category == CATEGORY_DISPATCH) {
            u = fmax(u, verify_unit_roundoff(buffer->dtype));
            least = fmax(least, verify_least(buffer->dtype));
        }
        if (wide && buffer->category == CATEGORY_GRADIENTS)
            gradient = verify_unit_roundoff(buffer->dtype);
    }
    if (setup->scaled_first || model->moe.latent_size)
        u = fmax(u, wire_roundoff(setup->wire, model_row_width(model)));
    uint64_t longest = model->hidden + (model->moe.glu ? 2 : 1) * inter;
    return (struct tolerances){.activation = tolerance_of(u, longest),
                               .gradient = tolerance_of(fmax(u, gradient), longest + rows),
                               .least = least};
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

/* Of gradients on integers every token's part is added up, of as many rows as the budget of
 * adding allows: it is done much faster than an expert's own products. */
static uint64_t gradient_stride_of(const struct oracle_setup *setup, double budget_flop)
{
    enum { TIMES = 8 };
    const struct model *model = &setup->plan->model;
    uint64_t experts = setup->sample->R * setup->sample->local;
    double flop = oracle_flop(setup->plan, setup->sample, setup->n_ranks);
    if (!setup->backward || !setup->exact || !(budget_flop > 0))
        return 1;
    return stride_of(flop, TIMES * budget_flop, experts * model_row_width(model));
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
        .gradient_stride = 1,
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
    if (dtype_is_plain(dtype))
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
        struct tolerances tolerances = tolerances_of(x->work, &setup);
        setup.exact = inputs->picked && holds_one(setup.weight);
        setup.tolerance = tolerances.activation;
        setup.least = tolerances.least;
        setup.gradient_stride = gradient_stride_of(&setup, options->budget_flop);
        oracle_compute(&oracle, &setup, &own);
        struct verify v = {.execution = x,
                           .checks = checks,
                           .oracle = &oracle,
                           .work = x->work,
                           .integers = inputs->picked,
                           .exact = setup.exact,
                           .tolerance = tolerances.activation,
                           .tolerance_gradient = tolerances.gradient};
        struct observer observer = {&v, look};
        if (setup.alone)
            absent_audit(x);
        status = execution_step(x, &observer, NULL, err);
        if (setup.alone && status == STATUS_OK)
            verify_sent(x, &oracle, v.integers, v.exact ? 0 : v.tolerance, checks);
        checks->tokens_checked = x->n_ranks * oracle.n_tokens;
        checks->tokens = x->n_ranks * setup.sample->T;
        if (setup.gradient_stride > checks->gradient_stride)
            checks->gradient_stride = setup.gradient_stride;
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

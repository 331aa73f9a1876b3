/* A wrong kernel is caught: every kernel is replaced by one whose result is off, and the
 * verification, or the run itself, must fail. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "plan/schema/schema.h"
#include "support/layer_case.h"

/* ---- faults: the right kernel first, then damage to what it wrote ---- */

static const struct kernel_ops *right(struct kernels *kernels, const struct call *call)
{
    kernels_cpu(kernels);
    return &kernels->table[call->op->kernel];
}

static enum status run_right(struct call *call, uint64_t unit, void *scratch, struct err *err)
{
    struct kernels kernels;
    return right(&kernels, call)->run(call, unit, scratch, err);
}

/* All units as one, so that damage is done once, behind all of them. */
static enum status run_all(struct call *call, void *scratch, struct err *err)
{
    struct kernels kernels;
    const struct kernel_ops *kernel = right(&kernels, call);
    uint64_t units = kernel->units ? kernel->units(call) : 1;
    for (uint64_t unit = 0; unit < units; unit++)
        TRY(kernel->run(call, unit, scratch, err));
    return STATUS_OK;
}

/* What an op makes, the first of it. */
static struct tensor *made(struct call *call)
{
    static const enum role roles[] = {ROLE_DST, ROLE_D_WEIGHT, ROLE_D_GATES, ROLE_SLOT,
                                      ROLE_INDEX};
    unsigned i = 0, last = sizeof roles / sizeof *roles - 1;
    while (i < last && !call->of[roles[i]].present)
        i++;
    return &call->of[roles[i]];
}

/* Row i takes the place of row i + 1. */
static enum status off_by_one_row(struct call *call, uint64_t unit, void *scratch,
                                  struct err *err)
{
    (void)unit;
    TRY(run_all(call, scratch, err));
    const struct tensor *out = made(call);
    size_t row = tensor_row_bytes(out);
    if (out->rows > 1)
        memmove(tensor_row(out, 1), tensor_row(out, 0), (out->rows - 1) * row);
    return STATUS_OK;
}

/* One row with something in it becomes zero. */
static enum status dropped_row(struct call *call, uint64_t unit, void *scratch, struct err *err)
{
    (void)unit;
    TRY(run_all(call, scratch, err));
    const struct tensor *out = made(call);
    for (uint64_t i = 0; i < out->rows; i++) {
        char *row = tensor_row(out, i);
        for (size_t b = 0; b < tensor_row_bytes(out); b++) {
            if (row[b] != 0 && row[b] != (char)0xff) {
                memset(row, 0, tensor_row_bytes(out));
                return STATUS_OK;
            }
        }
    }
    return STATUS_OK;
}

/* The first two gates of every token change places. */
static enum status swapped_gates(struct call *call, uint64_t unit, void *scratch,
                                 struct err *err)
{
    (void)unit;
    TRY(run_all(call, scratch, err));
    float *gates = tensor_f32(&call->of[ROLE_GATES]);
    for (uint64_t t = 0; t < call->of[ROLE_GATES].rows; t++) {
        float *token = gates + t * call->of[ROLE_GATES].width, first = token[0];
        token[0] = token[1];
        token[1] = first;
    }
    return STATUS_OK;
}

/* A norm's gradient as if what it multiplied by were a constant. */
static enum status factor_alone(struct call *call, uint64_t unit, void *scratch,
                                struct err *err)
{
    (void)unit;
    const struct tensor *dst = &call->of[ROLE_DST];
    TRY(run_all(call, scratch, err));
    for (uint64_t row = 0; row < dst->rows; row++)
        for (uint64_t c = 0; c < dst->width; c++) {
            float weight, d;
            tensor_load(&call->of[ROLE_WEIGHT], 0, c, 1, &weight);
            tensor_load(&call->of[ROLE_D_DST], row, c, 1, &d);
            d *= weight * tensor_f32(&call->of[ROLE_FACTOR])[row];
            tensor_store(dst, row, c, 1, &d);
        }
    return STATUS_OK;
}

/* Its weights are each the next column's. */
static enum status shifted_weights(struct call *call, uint64_t unit, void *scratch,
                                   struct err *err)
{
    (void)unit;
    float weights[16], *own = call->of[ROLE_WEIGHT].data;
    uint64_t n = call->of[ROLE_WEIGHT].width;
    for (uint64_t i = 0; i < n; i++)
        weights[i] = own[(i + 1) % n];
    call->of[ROLE_WEIGHT].data = weights;
    return run_all(call, scratch, err);
}

static enum status no_root(struct call *call, uint64_t unit, void *scratch, struct err *err)
{
    (void)unit;
    call->args.norm.root = false;
    return run_all(call, scratch, err);
}

static enum status unscaled_gates(struct call *call, uint64_t unit, void *scratch,
                                  struct err *err)
{
    (void)unit;
    (void)scratch;
    (void)err;
    memcpy(call->of[ROLE_DST].data, call->of[ROLE_GATES].data, call->of[ROLE_DST].bytes);
    return STATUS_OK;
}

/* Nothing is done at all: what was there stays, poison mostly. */
static enum status nothing(struct call *call, uint64_t unit, void *scratch, struct err *err)
{
    (void)call;
    (void)unit;
    (void)scratch;
    (void)err;
    return STATUS_OK;
}

/* The handle of the dispatch before this one. */
static enum status stale_handle(struct call *call, uint64_t unit, void *scratch,
                                struct err *err)
{
    TRY(run_right(call, unit, scratch, err));
    tensor_i64(&call->of[ROLE_HANDLE])[0]--;
    return STATUS_OK;
}

/* Sorted rows exchange places without their index knowing: two slots of different experts. */
static enum status swapped_index(struct call *call, uint64_t unit, void *scratch,
                                 struct err *err)
{
    TRY(run_right(call, unit, scratch, err));
    int32_t *order = tensor_i32(&call->of[ROLE_ORDER]), first = order[0];
    uint64_t last = call->of[ROLE_ORDER].rows - 1;
    order[0] = order[last];
    order[last] = first;
    return STATUS_OK;
}

/* The second result of an op is not made: a gradient beside another. */
static enum status second_zero(struct call *call, uint64_t unit, void *scratch, struct err *err)
{
    (void)unit;
    TRY(run_all(call, scratch, err));
    bool gates = call->op->kernel == KERNEL_ACCUMULATE_GRAD;
    const struct tensor *second = &call->of[gates ? ROLE_D_GATES : ROLE_D_BIAS];
    if (second->data)
        memset(second->data, 0, second->bytes);
    return STATUS_OK;
}

/* As if there were no gates. */
static enum status unscaled_rows(struct call *call, uint64_t unit, void *scratch,
                                 struct err *err)
{
    (void)unit;
    struct call bare = *call;
    bare.of[ROLE_GATES].present = false;
    return run_all(&bare, scratch, err);
}

static enum status no_linear_bias(struct call *call, uint64_t unit, void *scratch,
                                  struct err *err)
{
    (void)unit;
    TRY(run_all(call, scratch, err));
    if (call->args.fill.fill == FILL_LINEAR_BIAS)
        memset(made(call)->data, 0, made(call)->bytes);
    return STATUS_OK;
}

/* Weights stay what they were at the first trip. */
static enum status stale_weights(struct call *call, uint64_t unit, void *scratch,
                                 struct err *err)
{
    TRY(run_right(call, unit, scratch, err));
    for (uint64_t c = 0; call->iteration > 0 && c < call->of[ROLE_FETCH].rows; c++)
        tensor_i32(&call->of[ROLE_FETCH])[c] = 0;
    return STATUS_OK;
}

/* The second core does what the first one does. */
static enum status one_block_twice(struct call *call, uint64_t unit, void *scratch,
                                   struct err *err)
{
    TRY(run_right(call, unit, scratch, err));
    tensor_i32(&call->of[ROLE_BLOCK])[1] = tensor_i32(&call->of[ROLE_BLOCK])[0];
    tensor_i32(&call->of[ROLE_NUMBER])[1] = tensor_i32(&call->of[ROLE_NUMBER])[0];
    return STATUS_OK;
}

/* Cores exchange their halves of a result (of gate and up alone: with those of down it would be
 * another order of the same sums). */
static enum status swapped_halves(struct call *call, uint64_t unit, void *scratch,
                                  struct err *err)
{
    (void)unit;
    TRY(run_all(call, scratch, err));
    char *data = made(call)->data, other[4096];
    size_t half = (size_t)made(call)->bytes / 2;
    if (half > sizeof other || strcmp(call->op->name, "fetch_w2") == 0)
        return STATUS_OK;
    memcpy(other, data, half);
    memcpy(data, data + half, half);
    memcpy(data + half, other, half);
    return STATUS_OK;
}

/* Nothing comes from the other core. */
static enum status own_part_only(struct call *call, uint64_t unit, void *scratch,
                                 struct err *err)
{
    (void)unit;
    const struct tensor *partial = &call->of[ROLE_SRC];
    for (uint64_t row = partial->rows / 2; row < partial->rows; row++)
        memset(tensor_row(partial, row), 0, tensor_row_bytes(partial));
    return run_all(call, scratch, err);
}

static void with_shared(struct plan *plan)
{
    plan->model.moe.shared_experts = 1;
    plan->model.moe.shared_intermediate = 8;
}

static void with_biases(struct plan *plan)
{
    plan->model.moe.bias = true;
}

typedef enum status run_fn(struct call *call, uint64_t unit, void *scratch, struct err *err);

static const struct fault {
    const char *name;
    enum moe_path path;
    enum kernel kernel;
    run_fn *run;
} faults[] = {
    {"gather, rows off by one", PATH_RAGGED_A2A, KERNEL_GATHER, off_by_one_row},
    {"gather, a row dropped", PATH_RAGGED_A2A, KERNEL_GATHER, dropped_row},
    {"product, rows off by one", PATH_RAGGED_A2A, KERNEL_GEMM, off_by_one_row},
    {"product, a row dropped", PATH_RAGGED_A2A, KERNEL_GEMM, dropped_row},
    {"weight gradient, a matrix dropped", PATH_RAGGED_A2A, KERNEL_WGRAD, dropped_row},
    {"activation, a row dropped", PATH_RAGGED_A2A, KERNEL_ACTIVATION, dropped_row},
    {"activation gradient, a row dropped", PATH_RAGGED_A2A, KERNEL_ACTIVATION_GRAD,
     dropped_row},
    {"combine, rows off by one", PATH_RAGGED_A2A, KERNEL_COMBINE, off_by_one_row},
    {"spread, a row dropped", PATH_RAGGED_A2A, KERNEL_SPREAD, dropped_row},
    {"gate gradient, rows off by one", PATH_RAGGED_A2A, KERNEL_GATE_GRAD, off_by_one_row},
    {"router gradient, a row dropped", PATH_RAGGED_A2A, KERNEL_TOPK_GRAD, dropped_row},
    {"sort, two slots swapped", PATH_RAGGED_A2A, KERNEL_SORT, swapped_index},
    {"gates swapped", PATH_RAGGED_A2A, KERNEL_TOPK, swapped_gates},
    {"swap, rows off by one", PATH_CAPACITY, KERNEL_SWAP, off_by_one_row},
    {"slots, rows off by one", PATH_CAPACITY, KERNEL_SLOTS, off_by_one_row},
    {"layout, a stale handle", PATH_DEEPEP, KERNEL_LAYOUT, stale_handle},
    {"fold, a row dropped", PATH_DEEPEP, KERNEL_COMBINE, dropped_row},
    {"records, rows off by one", PATH_RDEP, KERNEL_RECORD, off_by_one_row},
    {"accumulate, nothing added", PATH_MASKED, KERNEL_ACCUMULATE, nothing},
    {"accumulate gradient, a row dropped", PATH_MASKED, KERNEL_ACCUMULATE_GRAD, dropped_row},
    {"sum not zeroed", PATH_MASKED, KERNEL_ZERO, nothing},
    {"block's rows off by one", PATH_BLOCKWISE, KERNEL_GATHER, off_by_one_row},
    {"weights of another block", PATH_BLOCKWISE, KERNEL_DEAL, stale_weights},
    {"weights not fetched", PATH_BLOCKWISE, KERNEL_FETCH, nothing},
    {"rows of a core's block off by one", PATH_BLOCKWISE, KERNEL_LOAD_BLOCK, off_by_one_row},
    {"block not added", PATH_BLOCKWISE, KERNEL_ADD_BLOCK, nothing},
    {"pick, matrices off by one", PATH_SELECTIVE, KERNEL_PICK, off_by_one_row},
    {"chunk not scattered", PATH_CHUNKED_A2A, KERNEL_SCATTER, nothing},
    {"expanded rows dropped", PATH_RAGGED_DOT, KERNEL_EXPAND, dropped_row},
    {"sparse product, rows off by one", PATH_BLOCK_SPARSE, KERNEL_SDD, off_by_one_row},
    {"dense product, a row dropped", PATH_BLOCK_SPARSE, KERNEL_DSD, dropped_row},
    {"sparse gradient, a matrix dropped", PATH_BLOCK_SPARSE, KERNEL_SPARSE_WGRAD, dropped_row},
};

static void with_shared_gate(struct plan *plan)
{
    with_shared(plan);
    plan->model.moe.shared_gate = true;
}

static void with_residual(struct plan *plan)
{
    plan->model.residual_intermediate = 8;
}

static void with_latent_norm(struct plan *plan)
{
    plan->model.moe.latent_size = 8;
    plan->model.moe.latent_norm = true;
}

static void with_learned_scales(struct plan *plan)
{
    plan->model.moe.router.learned_scale = true;
}

static void with_router_bias(struct plan *plan)
{
    plan->model.moe.router.linear_bias = true;
}

static void with_scale_pre(struct plan *plan)
{
    plan->model.moe.scale = GATE_PRE;
}

static void with_loads_by_token(struct plan *plan)
{
    plan->moe.dedup = false;
}

static void with_cores_on_h(struct plan *plan)
{
    plan->moe.cores = 2;
}

static void with_cores_on_i(struct plan *plan)
{
    plan->moe.cores = 2;
    plan->moe.shard = SHARD_I;
}

static void with_cores_on_blocks(struct plan *plan)
{
    plan->moe.cores = 2;
    plan->moe.shard = SHARD_BLOCK;
}

typedef void change_fn(struct plan *plan);

/* Of layers that are more than the plain one. */
static const struct {
    struct fault fault;
    change_fn *change;
} more_faults[] = {
    {{"add, a row dropped", PATH_RAGGED_A2A, KERNEL_ADD, dropped_row}, with_shared},
    {{"biases' gradients zero", PATH_RAGGED_A2A, KERNEL_WGRAD, second_zero}, with_biases},
    {{"sparse biases' gradients zero", PATH_BLOCK_SPARSE, KERNEL_SPARSE_WGRAD, second_zero},
     with_biases},
    {{"router bias' gradient zero", PATH_RAGGED_A2A, KERNEL_WGRAD, second_zero},
     with_router_bias},
    {{"router bias zero", PATH_RAGGED_A2A, KERNEL_FILL, no_linear_bias}, with_router_bias},
    {{"input not scaled", PATH_RAGGED_A2A, KERNEL_GATHER, unscaled_rows}, with_scale_pre},
    {{"input not scaled at its owner", PATH_DEEPEP, KERNEL_GATHER, unscaled_rows},
     with_scale_pre},
    {{"input of a block not scaled", PATH_BLOCKWISE, KERNEL_GATHER, unscaled_rows},
     with_scale_pre},
    {{"gates' gradient off by one", PATH_RAGGED_A2A, KERNEL_GATE_GRAD, off_by_one_row},
     with_scale_pre},
    {{"gates' gradient not made", PATH_EXPERT_LOOP, KERNEL_ACCUMULATE_GRAD, second_zero},
     with_scale_pre},
    {{"sum of slots' gradients not scaled", PATH_CHUNKED_A2A, KERNEL_COMBINE, unscaled_rows},
     with_scale_pre},
    {{"sigmoid, a gate zero", PATH_RAGGED_A2A, KERNEL_SIGMOID, dropped_row}, with_shared_gate},
    {{"sigmoid, gates off by one", PATH_DEEPEP, KERNEL_SIGMOID, off_by_one_row},
     with_shared_gate},
    {{"sigmoid's gradient, a row dropped", PATH_RAGGED_A2A, KERNEL_SIGMOID_GRAD, dropped_row},
     with_shared_gate},
    {{"weights of another block, two cores", PATH_BLOCKWISE, KERNEL_DEAL, stale_weights},
     with_cores_on_blocks},
    {{"a block dealt twice", PATH_BLOCKWISE, KERNEL_DEAL, one_block_twice},
     with_cores_on_blocks},
    {{"halves of H swapped", PATH_BLOCKWISE, KERNEL_FETCH, swapped_halves}, with_cores_on_h},
    {{"halves of I swapped", PATH_BLOCKWISE, KERNEL_FETCH, swapped_halves}, with_cores_on_i},
    {{"halves of tokens swapped", PATH_BLOCKWISE, KERNEL_LOAD_BLOCK, swapped_halves},
     with_cores_on_h},
    {{"gate and up not exchanged", PATH_BLOCKWISE, KERNEL_CORE_SUM, own_part_only},
     with_cores_on_h},
    {{"down not reduced", PATH_BLOCKWISE, KERNEL_CORE_SUM, own_part_only}, with_cores_on_i},
    {{"cores' outputs not added", PATH_BLOCKWISE, KERNEL_CORE_SUM, own_part_only},
     with_cores_on_blocks},
    {{"cores' output off by one row", PATH_BLOCKWISE, KERNEL_CORE_SUM, off_by_one_row},
     with_cores_on_blocks},
    {{"matrices of another token", PATH_SELECTIVE, KERNEL_PICK, off_by_one_row},
     with_loads_by_token},
    {{"slots off by one", PATH_SELECTIVE, KERNEL_OWN, off_by_one_row}, with_loads_by_token},
    {{"tokens not folded", PATH_SELECTIVE, KERNEL_COMBINE, nothing}, with_loads_by_token},
    {{"norm, a row dropped", PATH_RAGGED_A2A, KERNEL_NORM, dropped_row}, with_latent_norm},
    {{"norm, rows off by one", PATH_DEEPEP, KERNEL_NORM, off_by_one_row}, with_latent_norm},
    {{"norm's gradient as of a constant", PATH_CAPACITY, KERNEL_NORM_GRAD, factor_alone},
     with_latent_norm},
    {{"norm's gradient, a row dropped", PATH_RAGGED_A2A, KERNEL_NORM_GRAD, dropped_row},
     with_latent_norm},
    {{"norm's weights' gradient zero", PATH_RDEP, KERNEL_NORM_WGRAD, dropped_row},
     with_latent_norm},
    {{"norm's weights shifted", PATH_RAGGED_A2A, KERNEL_NORM, shifted_weights},
     with_latent_norm},
    {{"router's norm without its root", PATH_RAGGED_A2A, KERNEL_NORM, no_root},
     with_learned_scales},
    {{"router's norm's gradient as of a constant", PATH_RAGGED_A2A, KERNEL_NORM_GRAD,
      factor_alone},
     with_learned_scales},
    {{"router's weights' gradient zero", PATH_MASKED, KERNEL_NORM_WGRAD, dropped_row},
     with_learned_scales},
    {{"gates not scaled", PATH_RAGGED_A2A, KERNEL_SCALE_GATES, unscaled_gates},
     with_learned_scales},
    {{"gates' factors' gradient zero", PATH_ALLGATHER, KERNEL_SCALE_GATES_WGRAD, dropped_row},
     with_learned_scales},
    {{"MLP beside not added", PATH_RAGGED_A2A, KERNEL_ADD, dropped_row}, with_residual},
};

static enum status run_with(const struct plan *plan, const struct kernels *kernels, bool alone,
                            struct case_result *result, struct err *err)
{
    struct arena arena = {0};
    struct layer_sample sample;
    case_sample(plan, CASE_UNIFORM, &arena, &sample);
    struct case_options options = {
        .backward = true, .kernels = kernels, .alone = alone, .rank = alone ? 1 : 0};
    enum status status = case_run(plan, &sample, &options, result, err);
    arena_release(&arena);
    return status;
}

static void expect_caught(const struct fault *fault, change_fn *change, bool alone)
{
    struct plan plan;
    struct kernels kernels;
    struct case_result result;
    struct err err = {0};
    case_plan(&plan, fault->path, alone ? 4 : 2);
    if (change)
        change(&plan);
    kernels_cpu(&kernels);
    kernels.table[fault->kernel].run = fault->run;
    kernels.table[fault->kernel].units = NULL;
    if (run_with(&plan, &kernels, alone, &result, &err) == STATUS_OK &&
        checks_passed(&result.checks))
        fail_msg("not caught: %s (%s%s)", fault->name, words_path[plan.moe.path],
                 alone ? ", one rank alone" : "");
}

static void expect_all_caught(bool alone)
{
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        expect_caught(&faults[i], NULL, alone);
    for (size_t i = 0; i < sizeof more_faults / sizeof *more_faults; i++)
        expect_caught(&more_faults[i].fault, more_faults[i].change, alone);
}

static void every_fault_is_caught(void **state)
{
    (void)state;
    expect_all_caught(false);
}

/* Three of four ranks are absent: what they get is checked as well as what is kept. */
static void every_fault_of_one_rank_is_caught(void **state)
{
    (void)state;
    expect_all_caught(true);
}

/* A kernel that fetches what it need not, or counts what it does not fetch, gives the right
 * result: the counts tell. */
static void count_twice(const struct call *call, struct counts *counts)
{
    struct kernels kernels;
    right(&kernels, call)->count(call, counts);
    counts->blocks *= 2;
    counts->loads *= 2;
    counts->crossed *= 2;
}

static void wrong_counts_are_caught(void **state)
{
    (void)state;
    static const enum kernel counting[] = {KERNEL_DEAL, KERNEL_FETCH, KERNEL_LOAD_BLOCK,
                                           KERNEL_CORE_SUM};
    for (size_t i = 0; i < sizeof counting / sizeof *counting; i++) {
        struct plan plan;
        struct kernels kernels;
        struct case_result result;
        struct err err = {0};
        case_plan(&plan, PATH_BLOCKWISE, 2);
        with_cores_on_h(&plan);
        kernels_cpu(&kernels);
        kernels.table[counting[i]].count = count_twice;
        assert_int_equal(run_with(&plan, &kernels, false, &result, &err), STATUS_OK);
        if (checks_passed(&result.checks))
            fail_msg("not caught: kernel %s counts twice", kernel_name(counting[i]));
    }
}

/* What is left behind the last group: poison after a product, old rows after a gather. */
static enum status keeps_the_tail(struct call *call, uint64_t unit, void *scratch,
                                  struct err *err)
{
    (void)unit;
    const struct tensor *out = made(call);
    TRY(run_all(call, scratch, err));
    if (strcmp(call->op->name, "fan_out") == 0)
        memset(tensor_row(out, out->rows - 1), 0xff, tensor_row_bytes(out));
    return STATUS_OK;
}

static enum status all_units(struct call *call, uint64_t unit, void *scratch, struct err *err)
{
    (void)unit;
    return run_all(call, scratch, err);
}

static const struct check *find_check(const struct checks *checks, const char *name)
{
    for (unsigned i = 0; i < checks->n; i++)
        if (strcmp(checks->check[i].name, name) == 0)
            return &checks->check[i];
    return NULL;
}

static void unmasked_rows_are_caught(void **state)
{
    (void)state;
    static const struct {
        enum kernel kernel;
        run_fn *run;
        bool passed;
    } cases[] = {
        {KERNEL_MASK, all_units, true},
        {KERNEL_MASK, nothing, false},
        {KERNEL_GATHER, keeps_the_tail, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct plan plan;
        struct kernels kernels;
        struct case_result result;
        struct err err = {0};
        case_plan(&plan, PATH_DEEPEP, 2);
        kernels_cpu(&kernels);
        kernels.table[cases[i].kernel].run = cases[i].run;
        kernels.table[cases[i].kernel].units = NULL;
        assert_int_equal(run_with(&plan, &kernels, false, &result, &err), STATUS_OK);
        const struct check *check =
            find_check(&result.checks, "rows behind the groups are zero");
        assert_non_null(check);
        assert_int_equal(check->passed, cases[i].passed);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_fault_is_caught),
        cmocka_unit_test(every_fault_of_one_rank_is_caught),
        cmocka_unit_test(wrong_counts_are_caught),
        cmocka_unit_test(unmasked_rows_are_caught),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

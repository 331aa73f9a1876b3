/* See device_case.h. */
#include "exec/gpu/device.h"
#include "support/device_case.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "exec/gpu/kernels.h"
#include "exec/gpu/view.h"
#include "work/list/dtype.h"

enum { PURPOSE = 91, UNWRITTEN = 0x5a, SAMPLES = 5, SKIPPED = 77 };

void device_case_begin(struct device_case *m, struct gpu *gpu, enum kernel kernel,
                       uint32_t draw)
{
    memset(m, 0, sizeof *m);
    m->gpu = gpu;
    m->space_bytes = DEVICE_CASE_SPACE;
    rng_init(&m->rng, 1, PURPOSE, kernel, draw, 0);
    m->op = (struct op){.name = gpu_kernel_of(kernel)->name, .kernel = (uint16_t)kernel};
    m->task =
        (struct task){.plan = &m->plan, .sample = &m->sample, .inputs = &m->inputs, .step = 7};
    m->call = (struct call){.task = &m->task, .op = &m->op};
}

void *device_case_give(struct device_case *m, enum role role, enum dtype dtype, uint64_t rows,
                       uint64_t width, bool is_input)
{
    uint64_t bytes = rows * width * (dtype == DTYPE_I64 ? 8 : 4);
    void *data = malloc(bytes ? bytes : 1);
    assert_non_null(data);
    memset(data, UNWRITTEN, bytes);
    m->call.of[role] = (struct tensor){.data = data,
                                       .dtype = dtype,
                                       .dims = {rows, width},
                                       .n_dims = 2,
                                       .rows = rows,
                                       .width = width,
                                       .bytes = bytes,
                                       .copies = 1,
                                       .present = true};
    m->given |= (uint64_t)is_input << role;
    return data;
}

int32_t *device_case_i32(struct device_case *m, enum role role, uint64_t rows, uint64_t width)
{
    return device_case_give(m, role, DTYPE_I32, rows, width, true);
}

int64_t *device_case_i64(struct device_case *m, enum role role, uint64_t rows)
{
    return device_case_give(m, role, DTYPE_I64, rows, 1, true);
}

void device_case_want(struct device_case *m, enum role role, enum dtype dtype, uint64_t rows,
                      uint64_t width)
{
    device_case_give(m, role, dtype, rows, width, false);
}

/* ---- both sides ---- */

/* The status of the call on the host, whose outputs are then in the tensors. */
static enum status perform_here(struct device_case *m)
{
    static struct kernels kernels;
    struct err err = {.status = STATUS_OK};
    kernels_cpu(&kernels);
    const struct kernel_ops *ops = &kernels.table[m->op.kernel];
    void *scratch = calloc(KERNEL_SCRATCH_FLOATS, sizeof(float));
    assert_non_null(scratch);
    uint64_t units = ops->units ? ops->units(&m->call) : 1;
    enum status status = STATUS_OK;
    for (uint64_t u = 0; status == STATUS_OK && u < units; u++)
        status = ops->run(&m->call, u, scratch, &err);
    free(scratch);
    return status;
}

static struct gpu_call device_call(const struct device_case *m)
{
    const struct router *router = &m->plan.model.moe.router;
    return (struct gpu_call){.args = m->call.args,
                             .rank = m->call.rank,
                             .iteration = m->call.iteration,
                             .step = m->task.step,
                             .ranks = m->sample.R,
                             .tokens = m->sample.T,
                             .top_k = m->sample.K,
                             .held = m->sample.local,
                             .logical = m->sample.logical,
                             .space_bytes = m->space_bytes,
                             .router = {.scale = router->scale,
                                        .groups = router->groups,
                                        .top_groups = router->top_groups,
                                        .score = router->score == SCORE_SIGMOID ? GPU_SIGMOID
                                                 : router->score == SCORE_SOFTMAX
                                                     ? GPU_SOFTMAX
                                                     : GPU_SQRTSOFTPLUS,
                                        .score_first = router->order == ORDER_SCORE_THEN_TOPK,
                                        .normalize = router->normalize}};
}

static void assert_fine(enum status status, const struct err *err)
{
    if (status != STATUS_OK)
        fail_msg("%s", err->text);
}

/* An operand on the device: an input, or an output that nobody wrote. */
static void *send(struct device_case *m, const struct tensor *t, bool is_input)
{
    struct err err = {.status = STATUS_OK};
    void *at = gpu_alloc(m->gpu, t->bytes ? t->bytes : 1);
    assert_non_null(at);
    if (is_input)
        assert_fine(gpu_write(m->gpu, at, t->data, t->bytes, &err), &err);
    else
        assert_fine(gpu_fill(m->gpu, at, UNWRITTEN, t->bytes, &err), &err);
    return at;
}

static struct gpu_view view_of(const struct tensor *t)
{
    return gpu_view_rows(t->rows, t->width,
                         t->dtype == DTYPE_I64   ? FORMAT_I64
                         : t->dtype == DTYPE_I32 ? FORMAT_I32
                                                 : FORMAT_F32);
}

/* What the call reports, its workspace cleared as the backend clears it. */
static int64_t launch(struct device_case *m, struct gpu_call *call, uint64_t *memory)
{
    uint64_t offset, groups = gpu_share(&m->call, call);
    int64_t report[GPU_REPORT_WORDS];
    struct err err = {.status = STATUS_OK};
    void *space = gpu_alloc(m->gpu, m->space_bytes);
    assert_non_null(space);
    memory[GPU_TENSORS] = gpu_memory_of(m->gpu, space, &offset);
    assert_fine(gpu_fill(m->gpu, space, UNWRITTEN, m->space_bytes, &err), &err);
    assert_fine(gpu_fill(m->gpu, space, 0, GPU_SPACE_HEAD, &err), &err);
    for (int i = 0; i < (getenv("MOEPLAN_TEST_TIMES") ? SAMPLES : 1); i++) {
        double seconds;
        assert_fine(gpu_perform(m->gpu, (enum kernel)m->op.kernel, call, memory, groups,
                                &seconds, &err),
                    &err);
        m->seconds = i == 0 || seconds < m->seconds ? seconds : m->seconds;
    }
    assert_fine(gpu_read(m->gpu, space, report, sizeof report, &err), &err);
    gpu_free(m->gpu, space);
    return report[1];
}

/* Performs the call on the device, for outputs by role; returns what it reports. */
static int64_t perform_there(struct device_case *m, void *const *outputs)
{
    const struct gpu_kernel *row = gpu_kernel_of((enum kernel)m->op.kernel);
    struct gpu_call call = device_call(m);
    uint64_t memory[GPU_TENSORS + 1] = {0}, offset;
    void *at[GPU_TENSORS] = {0};
    struct err err = {.status = STATUS_OK};
    for (unsigned i = 0; i < row->n_roles; i++) {
        const struct tensor *t = &m->call.of[row->roles[i]];
        if (!t->present)
            continue;
        at[i] = send(m, t, m->given >> row->roles[i] & 1);
        memory[i] = gpu_memory_of(m->gpu, at[i], &offset);
        call.view[i] = view_of(t);
    }
    int64_t reported = launch(m, &call, memory);
    for (unsigned i = 0; i < row->n_roles; i++) {
        void *output = at[i] ? outputs[row->roles[i]] : NULL;
        if (output)
            assert_fine(gpu_read(m->gpu, at[i], output, m->call.of[row->roles[i]].bytes, &err),
                        &err);
        gpu_free(m->gpu, at[i]);
    }
    return reported;
}

/* Gates are rounded from f64, where libraries' exponentials may differ in the last place. */
static bool same_output(const struct tensor *here, const void *there)
{
    const float *a = here->data, *b = there;
    if (here->dtype != DTYPE_F32)
        return memcmp(here->data, there, here->bytes) == 0;
    for (uint64_t i = 0; i < here->bytes / 4; i++)
        if (memcmp(&a[i], &b[i], 4) != 0 && !(a[i] - b[i] < 2e-7F && b[i] - a[i] < 2e-7F))
            return false;
    return true;
}

void device_case_compare(struct device_case *m, const char *what)
{
    const struct gpu_kernel *row = gpu_kernel_of((enum kernel)m->op.kernel);
    void *outputs[ROLE_COUNT] = {0};
    for (unsigned role = 0; role < ROLE_COUNT; role++)
        if (m->call.of[role].present && !(m->given >> role & 1))
            outputs[role] = calloc(1, m->call.of[role].bytes + 1);
    int64_t report = perform_there(m, outputs);
    enum status status = perform_here(m);
    if ((status == STATUS_OK) != (report == REPORT_NOTHING))
        fail_msg("%s, %s: the host's status is %d, the device reports %lld", row->name, what,
                 (int)status, (long long)report);
    for (unsigned role = 0; role < ROLE_COUNT; role++) {
        if (status == STATUS_OK && outputs[role] &&
            !same_output(&m->call.of[role], outputs[role]))
            fail_msg("%s, %s: operand %u differs", row->name, what, role);
        free(outputs[role]);
        free(m->call.of[role].data);
    }
    if (getenv("MOEPLAN_TEST_TIMES"))
        printf("%-12s %-48s %9.1f us\n", row->name, what, m->seconds * 1e6);
}

int device_case_main(struct CMUnitTest *tests, size_t n)
{
    const char *where = getenv("MOEPLAN_TEST_DEVICE");
    struct err err = {.status = STATUS_OK};
    struct gpu *gpu = NULL;
    unsetenv("MOEPLAN_GPU_PIECE");
    if (gpu_open(where ? where : "opencl:0", 0, 0, &gpu, &err) != STATUS_OK) {
        printf("%s: skipped\n", err.text);
        return SKIPPED;
    }
    for (size_t i = 0; i < n; i++)
        tests[i].initial_state = gpu;
    int failed = _cmocka_run_group_tests("device", tests, n, NULL, NULL);
    gpu_close(gpu);
    return failed;
}

/* GPUs: kernels on a device, rank after rank; what the device is, exec/gpu knows.
 *
 * Inputs are made by the host's kernels and sent over: they are functions of where a number
 * stands, not work. What a call did is counted by the host's rules from the maps and counts
 * that lie on the device. Time is the device's own of each kernel; what the host does around it
 * is not in it. */
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "exec/backend/backend.h"
#include "exec/gpu/group.h"
#include "exec/gpu/kernels.h"
#include "exec/session.h"
#include "exec/stopwatch.h"
#include "work/piece/schedule.h"

struct backend_gpu {
    struct session *session;
    struct gpu_group *gpus;
    void *cpu; /* the CPU's backend, for inputs */
    struct kernels kernels;
    double marks[BACKEND_MARKS];
    double *rank_s;    /* [ranks of the process] of kernels since BEGIN */
    bool launched;     /* since BEGIN */
    struct err failed; /* of what cannot return one; said by the next that can */
};

static enum status open_gpu(struct session *session, const struct kernels *kernels,
                            struct arena *arena, void **device, struct err *err)
{
    struct backend_gpu *b = arena_alloc(arena, 1, sizeof *b);
    *b = (struct backend_gpu){
        .session = session,
        .gpus = session->gpus,
        .rank_s = arena_alloc(arena, session->transport->n_local, sizeof *b->rank_s)};
    if (!b->gpus)
        return err_set(err, STATUS_ABSENT, "backend \"gpu\": the session has no device");
    kernels_cpu(&b->kernels);
    *device = b;
    return backend_cpu.open(session, kernels, arena, &b->cpu, err);
}

/* ---- memory ---- */

static unsigned device_places(void *device)
{
    const struct backend_gpu *b = device;
    return b->gpus->n;
}

static struct gpu *gpu_of(const struct backend_gpu *b, const void *memory)
{
    return gpu_group_of(b->gpus, memory);
}

static void *device_alloc(void *device, unsigned place, uint64_t bytes)
{
    const struct backend_gpu *b = device;
    return gpu_alloc(b->gpus->of[place], bytes);
}

static void device_free(void *device, void *memory)
{
    const struct backend_gpu *b = device;
    gpu_free(gpu_of(b, memory), memory);
}

static void device_fill(void *device, void *memory, unsigned char byte, uint64_t bytes)
{
    struct backend_gpu *b = device;
    gpu_fill(gpu_of(b, memory), memory, byte, bytes, &b->failed);
}

static void device_copy(void *device, const void *memory, void *to, uint64_t bytes)
{
    struct backend_gpu *b = device;
    if (gpu_read(gpu_of(b, memory), memory, to, bytes, &b->failed) != STATUS_OK)
        memset(to, 0xff, bytes);
}

static void device_write(void *device, void *memory, const void *from, uint64_t bytes)
{
    struct backend_gpu *b = device;
    gpu_write(gpu_of(b, memory), memory, from, bytes, &b->failed);
}

static void device_move(void *device, const void *from, void *to, uint64_t bytes)
{
    struct backend_gpu *b = device;
    if (b->failed.status == STATUS_OK)
        gpu_group_move(b->gpus, from, to, bytes, &b->failed);
}

static void device_settle(void *device)
{
    struct backend_gpu *b = device;
    if (b->failed.status == STATUS_OK)
        gpu_group_settle(b->gpus, &b->failed);
}

static void *device_address(void *device, const void *memory)
{
    const struct backend_gpu *b = device;
    uint64_t offset, number = gpu_memory_of(gpu_of(b, memory), memory, &offset);
    return (void *)(uintptr_t)(number + offset);
}

static void device_read_counts(void *device, const int64_t *memory, uint64_t n, int64_t *to)
{
    device_copy(device, memory, to, n * sizeof *to);
}

/* Weights are larger than a device's caches, or they would lie in them in a model as well. */
static void device_flush(void *device, const void *memory, uint64_t bytes)
{
    (void)device;
    (void)memory;
    (void)bytes;
}

/* ---- before a list ---- */

static bool is_half(const struct work *work, const struct op *op, enum role role)
{
    uint16_t buffer = op_buffer(work, op, role);
    return buffer != WORK_NONE && work->buffers[buffer].dtype == DTYPE_BF16;
}

/* Products in 16 bits ask engines for known answers, in memory of the device that no meter
 * counts: it is given back before the list's own. */
static enum status device_prepare(void *device, const struct work *work, struct err *err)
{
    struct backend_gpu *b = device;
    bool halves = false;
    for (size_t i = 0; !halves && i < work->n_ops; i++) {
        const struct op *op = &work->ops[i];
        enum role other = op->kernel == KERNEL_WGRAD ? ROLE_D_DST : ROLE_WEIGHT;
        halves = gpu_multiplies((enum kernel)op->kernel) && is_half(work, op, ROLE_SRC) &&
                 is_half(work, op, other);
    }
    for (unsigned n = 0; halves && n < b->gpus->n; n++)
        TRY(gpu_ask_engines(b->gpus->of[n], err));
    return STATUS_OK;
}

/* ---- time ---- */

static void device_mark(void *device, enum backend_mark mark)
{
    struct backend_gpu *b = device;
    b->marks[mark] = stopwatch_now_s();
    if (mark == BACKEND_BEGIN) {
        b->launched = false;
        memset(b->rank_s, 0, b->session->transport->n_local * sizeof *b->rank_s);
    }
}

/* Ranks that share a device take turns, each alone: the slowest counts. An op without a kernel,
 * an exchange, is timed by the host. */
static double device_elapsed_s(void *device)
{
    const struct backend_gpu *b = device;
    double slowest = 0;
    for (uint64_t i = 0; i < b->session->transport->n_local; i++)
        slowest = b->rank_s[i] > slowest ? b->rank_s[i] : slowest;
    return b->launched ? slowest : b->marks[BACKEND_END] - b->marks[BACKEND_BEGIN];
}

static enum status check_failed(struct backend_gpu *b, struct err *err)
{
    if (b->failed.status == STATUS_OK)
        return STATUS_OK;
    *err = b->failed;
    err_clear(&b->failed);
    return err->status;
}

static enum status device_check(void *device, struct err *err)
{
    return check_failed(device, err);
}

/* ---- what the host makes or counts: a call on copies of operands in its own memory ---- */

struct shadow {
    struct call call;
    void *copies[ROLE_COUNT];
};

static void release_shadow(struct shadow *shadow)
{
    for (unsigned role = 0; role < ROLE_COUNT; role++)
        free(shadow->copies[role]);
}

static enum status make_copy(struct backend_gpu *b, struct shadow *shadow, unsigned role,
                             bool filled, struct err *err)
{
    struct tensor *tensor = &shadow->call.of[role];
    if (!tensor->data)
        return STATUS_OK;
    shadow->copies[role] = malloc(tensor->bytes ? tensor->bytes : 1);
    if (!shadow->copies[role])
        return err_set(err, STATUS_SYSTEM, "out of memory for a copy of %llu bytes",
                       (unsigned long long)tensor->bytes);
    if (filled)
        TRY(gpu_read(gpu_of(b, tensor->data), tensor->data, shadow->copies[role], tensor->bytes,
                     err));
    tensor->data = shadow->copies[role];
    return STATUS_OK;
}

static bool is_map(const struct tensor *tensor)
{
    return tensor->present && (tensor->dtype == DTYPE_I32 || tensor->dtype == DTYPE_I64);
}

/* Counts follow from maps, sizes and shapes alone. */
static enum status count_call(struct backend_gpu *b, struct call *call, struct err *err)
{
    const struct kernel_ops *ops = &b->kernels.table[call->op->kernel];
    if (call->op->kernel == KERNEL_SLOTS && call->of[ROLE_DROPPED].data) {
        int64_t dropped = 0;
        TRY(gpu_read(gpu_of(b, call->of[ROLE_DROPPED].data), call->of[ROLE_DROPPED].data,
                     &dropped, sizeof dropped, err));
        call->counts.dropped = (uint64_t)dropped;
    }
    if (!ops->count)
        return STATUS_OK;
    struct shadow shadow = {.call = *call};
    enum status status = STATUS_OK;
    for (unsigned role = 0; status == STATUS_OK && role < ROLE_COUNT; role++)
        if (is_map(&shadow.call.of[role]))
            status = make_copy(b, &shadow, role, true, err);
    if (status == STATUS_OK)
        ops->count(&shadow.call, &call->counts);
    release_shadow(&shadow);
    return status;
}

/* One call by the host's workers, into a copy of dst that is sent over. */
static enum status make_input(struct backend_gpu *b, const struct launch *launch,
                              const struct call *call, void **scratch, struct err *err)
{
    struct shadow shadow = {.call = *call};
    struct tensor *dst = &shadow.call.of[ROLE_DST];
    void *to = dst->data;
    struct launch made = {.op = launch->op, .calls = &shadow.call, .n = 1, .scratch = scratch};
    if (!to)
        return STATUS_OK;
    enum status status = make_copy(b, &shadow, ROLE_DST, false, err);
    if (status == STATUS_OK)
        status = backend_cpu.launch(b->cpu, &made, err);
    if (status == STATUS_OK)
        status = gpu_write(gpu_of(b, to), to, dst->data, dst->bytes, err);
    release_shadow(&shadow);
    return status;
}

static enum status make_inputs(struct backend_gpu *b, const struct launch *launch,
                               struct err *err)
{
    struct arena own = {0};
    enum status status = STATUS_OK;
    void **scratch = session_scratch(b->session, &own);
    for (uint64_t i = 0; status == STATUS_OK && i < launch->n; i++)
        status = make_input(b, launch, &launch->calls[i], scratch, err);
    arena_release(&own);
    return status;
}

/* Gates that inputs prescribe are made like inputs; the device's router takes them over. */
static enum status give_gates(struct backend_gpu *b, const struct call *call, struct err *err)
{
    const struct inputs *inputs = call->task->inputs;
    const struct tensor *gates = &call->of[ROLE_GATES];
    uint64_t n = gates->rows * gates->width, K = call->task->sample->K;
    if (!gates->data || n == 0)
        return STATUS_OK;
    float *values = malloc(n * sizeof *values);
    if (!values)
        return err_set(err, STATUS_SYSTEM, "out of memory for gates");
    for (uint64_t i = 0; i < n; i++)
        values[i] = inputs->gate(inputs, call->rank * call->task->sample->T + i / K, i % K);
    enum status status =
        gpu_write(gpu_of(b, gates->data), gates->data, values, n * sizeof *values, err);
    free(values);
    return status;
}

/* ---- calls ---- */

static uint32_t format_of(enum dtype dtype)
{
    static const uint32_t formats[DTYPE_COUNT] = {
        [DTYPE_F32] = FORMAT_F32,
        [DTYPE_BF16] = FORMAT_BF16,
        [DTYPE_F16] = FORMAT_F16,
        [DTYPE_I32] = FORMAT_I32,
        [DTYPE_I64] = FORMAT_I64,
        [DTYPE_FP8] = FORMAT_FP8,
        [DTYPE_FP8_CHANNEL] = FORMAT_FP8_CHANNEL,
        [DTYPE_FP8_BLOCK] = FORMAT_FP8_BLOCK,
        [DTYPE_MXFP8] = FORMAT_MXFP8,
        [DTYPE_MXFP4] = FORMAT_MXFP4,
        [DTYPE_NVFP4] = FORMAT_NVFP4,
    };
    return formats[dtype];
}

static struct gpu_view view_of(const struct tensor *tensor, uint64_t offset)
{
    struct gpu_view view = {.offset = offset,
                            .rows = tensor->rows,
                            .width = tensor->width,
                            .row_bytes = tensor_row_bytes(tensor),
                            .format = format_of(tensor->dtype),
                            .n_dims = tensor->n_dims,
                            .present = 1};
    for (unsigned i = 0; i < 3 && i < tensor->n_dims; i++)
        view.dims[i] = tensor->dims[i];
    return view;
}

static uint32_t curve_of(const struct call *call)
{
    static const uint32_t curves[] = {[ACTIVATION_SILU] = GPU_SILU,
                                      [ACTIVATION_GELU] = GPU_GELU,
                                      [ACTIVATION_RELU] = GPU_RELU,
                                      [ACTIVATION_SWIGLU_OAI] = GPU_SWIGLU_OAI};
    if (call->task->inputs->linear)
        return GPU_RELU;
    enum op_kind kind = kernel_kind((enum kernel)call->op->kernel);
    if (kind == OP_ACTIVATION && call->args.activation.gelu)
        return GPU_GELU;
    return curves[call->task->plan->model.moe.activation];
}

static struct gpu_router router_of(const struct call *call)
{
    const struct router *router = &call->task->plan->model.moe.router;
    static const uint32_t scores[] = {[SCORE_SOFTMAX] = GPU_SOFTMAX,
                                      [SCORE_SIGMOID] = GPU_SIGMOID,
                                      [SCORE_SQRTSOFTPLUS] = GPU_SQRTSOFTPLUS};
    return (struct gpu_router){.scale = router->scale,
                               .groups = router->groups,
                               .top_groups = router->top_groups,
                               .score = scores[router->score],
                               .score_first = router->order == ORDER_SCORE_THEN_TOPK,
                               .normalize = router->normalize,
                               .given = call->task->inputs->gate != NULL};
}

static void set_hop(const struct call *call, struct gpu_call *out)
{
    if (call->op->kernel != KERNEL_ADD_CHUNKS)
        return;
    const struct hop_args *args = &call->args.hop;
    struct hop hop = schedule_hop((enum schedule)args->schedule, call->rank,
                                  args->first.n + call->iteration, args->ranks.n);
    out->hop_received = hop.received;
    out->hop_chunks = hop.chunks;
}

static void fill_call(const struct call *call, uint64_t space_bytes, struct gpu_call *out)
{
    memset(out, 0, sizeof *out);
    out->args = call->args;
    out->rank = call->rank;
    out->iteration = call->iteration;
    out->step = call->task->step;
    out->space_bytes = space_bytes;
    out->router = router_of(call);
    out->curve = curve_of(call);
    out->whole = call->task->inputs->linear;
    out->chunk = call->op->kernel == KERNEL_CHUNK_GEMM;
    set_hop(call, out);
    const struct layer_sample *sample = call->task->sample;
    if (!sample)
        return;
    out->ranks = sample->R;
    out->tokens = sample->T;
    out->top_k = sample->K;
    out->held = sample->local;
    out->logical = sample->logical;
}

/* ---- what a kernel found wrong ---- */

static enum status overflow(const struct call *call, const int64_t *report, struct err *err)
{
    err_set(err, STATUS_NOFIT, "\"%s\" of rank %llu has %lld rows, its buffer holds %lld",
            call->op->name, (unsigned long long)call->rank, (long long)report[2],
            (long long)report[3]);
    return err_hint(err, "--set moe.buffer=exact or worst");
}

static enum status wrong_router(const struct call *call, const int64_t *report, struct err *err)
{
    return err_set(err, STATUS_MISMATCH,
                   "token %lld of rank %llu: the router chose other experts than the routing "
                   "sample",
                   (long long)report[2], (unsigned long long)call->rank);
}

static enum status stale_handle(const struct call *call, const int64_t *report, struct err *err)
{
    err_set(err, STATUS_MISMATCH,
            "stale handle in \"%s\": it is of dispatch %lld, the last one is %lld",
            call->op->name, (long long)report[2], (long long)report[3]);
    return err_hint(err, "a handle serves the combine and the backward of its own dispatch");
}

static enum status read_report(struct backend_gpu *b, const struct call *call,
                               const void *space, struct err *err)
{
    static enum status (*const say[])(const struct call *call, const int64_t *report,
                                      struct err *err) = {[REPORT_OVERFLOW] = overflow,
                                                          [REPORT_ROUTER] = wrong_router,
                                                          [REPORT_HANDLE] = stale_handle};
    int64_t report[GPU_REPORT_WORDS];
    TRY(gpu_read(gpu_of(b, space), space, report, sizeof report, err));
    if (report[1] <= REPORT_NOTHING || report[1] > REPORT_HANDLE)
        return STATUS_OK;
    return say[report[1]](call, report, err);
}

/* ---- launches ---- */

static uint64_t space_bytes_of(const struct backend_gpu *b)
{
    return pool_size(b->session->pool) * (uint64_t)KERNEL_SCRATCH_FLOATS * sizeof(float);
}

/* Kernels hold their tables in work-group memory of these sizes. */
static enum status check_limits(const struct call *call, struct err *err)
{
    enum kernel kernel = (enum kernel)call->op->kernel;
    bool routes = kernel == KERNEL_TOPK || kernel == KERNEL_TOPK_GRAD;
    uint64_t experts = routes ? call->of[ROLE_LOGITS].width : 0;
    if (experts > GPU_MOST_EXPERTS || (routes && call->task->sample->K > GPU_MOST_CHOSEN))
        return err_set(err, STATUS_INPUT,
                       "\"%s\" chooses %llu of %llu experts, the limits on a GPU are %d of %d",
                       call->op->name, (unsigned long long)call->task->sample->K,
                       (unsigned long long)experts, GPU_MOST_CHOSEN, GPU_MOST_EXPERTS);
    if (kernel == KERNEL_COMBINE && call->args.combine.slots.n > GPU_MOST_SLOTS)
        return err_set(err, STATUS_INPUT, "\"%s\" adds %llu rows, the limit is %d",
                       call->op->name, (unsigned long long)call->args.combine.slots.n,
                       GPU_MOST_SLOTS);
    return STATUS_OK;
}

/* Views of a call's operands, and the memory each is in. */
static void place_operands(const struct gpu *gpu, const struct gpu_kernel *row,
                           const struct call *call, struct gpu_call *device, uint64_t *memory)
{
    uint64_t offset;
    for (unsigned i = 0; i < row->n_roles; i++) {
        const struct tensor *tensor = &call->of[row->roles[i]];
        memory[i] = gpu_memory_of(gpu, tensor->data, &offset);
        if (tensor->present)
            device->view[i] = view_of(tensor, offset);
    }
}

/* *begun: its device is at work. */
static enum status begin_call(struct backend_gpu *b, struct call *call, void *space,
                              bool *begun, struct err *err)
{
    enum kernel kernel = (enum kernel)call->op->kernel;
    const struct gpu_kernel *row = gpu_kernel_of(kernel);
    struct gpu *gpu = gpu_of(b, space);
    struct gpu_call device;
    uint64_t memory[GPU_TENSORS + 1] = {0}, offset;
    if (!row->name)
        return err_set(err, STATUS_ABSENT, "backend \"gpu\" has no kernel \"%s\"",
                       kernel_name(kernel));
    TRY(check_limits(call, err));
    if (kernel == KERNEL_TOPK && call->task->inputs->gate)
        TRY(give_gates(b, call, err));
    fill_call(call, space_bytes_of(b), &device);
    uint64_t groups = gpu_share(call, &device);
    place_operands(gpu, row, call, &device, memory);
    memory[GPU_TENSORS] = gpu_memory_of(gpu, space, &offset);
    TRY(gpu_fill(gpu, space, 0, GPU_SPACE_HEAD, err));
    b->launched = true;
    *begun = groups > 0;
    return *begun ? gpu_start(gpu, kernel, &device, memory, groups, err) : STATUS_OK;
}

static enum status end_call(struct backend_gpu *b, struct call *call, void *space, bool begun,
                            double *rank_s, struct err *err)
{
    double seconds = 0;
    if (begun)
        TRY(gpu_wait(gpu_of(b, space), &seconds, err));
    *rank_s += seconds;
    TRY(read_report(b, call, space, err));
    return count_call(b, call, err);
}

/* The call of the device's ranks whose turn it is, or NULL. */
static struct call *call_in_turn(const struct backend_gpu *b, const struct launch *launch,
                                 unsigned place, uint64_t turn)
{
    uint64_t n = launch->n, first = ceil_div(place * n, b->gpus->n),
             end = ceil_div((place + 1) * n, b->gpus->n);
    struct call *call = first + turn < end ? &launch->calls[first + turn] : NULL;
    return call && !call->skipped ? call : NULL;
}

/* A rank on every device at once. After a failure all that was begun is waited for. */
static enum status perform_turn(struct backend_gpu *b, const struct launch *launch,
                                uint64_t turn, struct err *err)
{
    enum status status = STATUS_OK;
    bool begun[GPU_MOST] = {false};
    unsigned n = 0;
    for (; status == STATUS_OK && n < b->gpus->n; n++) {
        struct call *call = call_in_turn(b, launch, n, turn);
        if (call)
            status = begin_call(b, call, launch->space[call - launch->calls], &begun[n], err);
    }
    for (unsigned place = 0; place < n; place++) {
        struct call *call = call_in_turn(b, launch, place, turn);
        struct err more = {.status = STATUS_OK}, *say = status == STATUS_OK ? err : &more;
        uint64_t i = call ? (uint64_t)(call - launch->calls) : 0;
        bool ends = call && (status == STATUS_OK || begun[place]);
        if (ends &&
            end_call(b, call, launch->space[i], begun[place], &b->rank_s[i], say) != STATUS_OK)
            status = status == STATUS_OK ? say->status : status;
    }
    return status;
}

static enum status gpu_launch(void *device, const struct launch *launch, struct err *err)
{
    struct backend_gpu *b = device;
    TRY(check_failed(b, err));
    if (launch->op->kernel == KERNEL_FILL || launch->op->kernel == KERNEL_SHARD)
        return make_inputs(b, launch, err);
    for (uint64_t turn = 0; turn < ceil_div(launch->n, b->gpus->n); turn++)
        TRY(perform_turn(b, launch, turn, err));
    return check_failed(b, err);
}

const struct backend backend_gpu = {.name = "gpu",
                                    .far = true,
                                    .open = open_gpu,
                                    .prepare = device_prepare,
                                    .places = device_places,
                                    .alloc = device_alloc,
                                    .free = device_free,
                                    .fill = device_fill,
                                    .copy = device_copy,
                                    .write = device_write,
                                    .move = device_move,
                                    .settle = device_settle,
                                    .address = device_address,
                                    .read_counts = device_read_counts,
                                    .flush = device_flush,
                                    .launch = gpu_launch,
                                    .check = device_check,
                                    .mark = device_mark,
                                    .elapsed_s = device_elapsed_s};

/* DeepEP V1 and low latency; see dispatch_deepep.h. V2 stands in dispatch_elastic.c. */
#include "work/dispatch/dispatch_deepep.h"

#include <stddef.h>

/* Tables of deep_ep/buffers/legacy.py and of Primus-Turbo's port; columns as in the struct. */
static const struct deepep_config upstream_dispatch[] = {
    {2, 24, 256, 6, 128},    {4, 6, 256, 6, 128},     {8, 6, 256, 6, 128},
    {16, 36, 288, 20, 128},  {24, 32, 288, 8, 128},   {32, 32, 288, 8, 128},
    {48, 32, 288, 8, 128},   {64, 32, 288, 8, 128},   {96, 20, 480, 12, 128},
    {128, 20, 560, 12, 128}, {144, 32, 720, 12, 128}, {160, 28, 720, 12, 128},
};
static const struct deepep_config upstream_combine[] = {
    {2, 10, 256, 6, 128}, {4, 9, 256, 6, 128},   {8, 4, 256, 6, 128},   {16, 4, 288, 12, 128},
    {24, 1, 288, 8, 128}, {32, 1, 288, 8, 128},  {48, 1, 288, 8, 128},  {64, 1, 288, 8, 128},
    {96, 1, 480, 8, 128}, {128, 1, 560, 8, 128}, {144, 2, 720, 8, 128}, {160, 2, 720, 8, 128},
};
static const struct deepep_config primus_dispatch[] = {
    {2, 24, 256, 6, 128},    {4, 6, 256, 6, 128},     {8, 6, 256, 6, 128},
    {16, 36, 288, 20, 128},  {24, 8, 288, 32, 128},   {32, 32, 288, 32, 128},
    {64, 20, 288, 28, 128},  {128, 20, 560, 32, 128}, {144, 32, 720, 12, 128},
    {160, 28, 720, 12, 128},
};
static const struct deepep_config primus_combine[] = {
    {2, 10, 256, 6, 128},  {4, 9, 256, 6, 128},   {8, 4, 256, 6, 128},   {16, 4, 288, 12, 128},
    {24, 1, 288, 8, 128},  {32, 1, 288, 8, 128},  {64, 1, 288, 20, 128}, {128, 1, 560, 12, 128},
    {144, 2, 720, 8, 128}, {160, 2, 720, 8, 128},
};

#define TABLE(rows)                                                                            \
    {                                                                                          \
        rows, sizeof rows / sizeof *rows                                                       \
    }
static const struct {
    const struct deepep_config *row;
    size_t n;
} tables[2][2] = {
    [DEEPEP_UPSTREAM] = {[DEEPEP_DISPATCH] = TABLE(upstream_dispatch),
                         [DEEPEP_COMBINE] = TABLE(upstream_combine)},
    [DEEPEP_PRIMUS] =
        {[DEEPEP_DISPATCH] = TABLE(primus_dispatch), [DEEPEP_COMBINE] = TABLE(primus_combine)},
};

const struct deepep_config *deepep_config(enum deepep_port port, enum deepep_use use,
                                          uint64_t ranks)
{
    for (size_t i = 0; i < tables[port][use].n; i++)
        if (tables[port][use].row[i].ranks == ranks)
            return &tables[port][use].row[i];
    return NULL;
}

/* How a queue is filled: by which port, with or without source records, by rows of elements of
 * this many bytes. */
struct queue {
    enum deepep_port port;
    uint64_t meta_bytes, element_bytes;
};

/* What a queue slot holds: a row, its source, and the assumed maxima of 128 top-k indices, 128
 * top-k weights and 128 scales. */
static struct size slot_bytes(const struct letters *x, const struct queue *queue)
{
    return size_plus(x->sizes, size_times(x->sizes, x->hidden, queue->element_bytes),
                     queue->meta_bytes + 128 * 8 + 128 * 4 + 128 * 4);
}

static struct size channels(const struct letters *x)
{
    return size_div(x->sizes, x->sms, size_const(x->sizes, 2));
}

static uint64_t nodes_of(uint64_t ranks)
{
    return ranks > DEEPEP_NVL_PEERS ? ranks / DEEPEP_NVL_PEERS : 1;
}

static struct size nvl_row(const struct letters *x, const struct deepep_config *row,
                           const struct queue *queue)
{
    uint64_t peers = row->ranks < DEEPEP_NVL_PEERS ? row->ranks : DEEPEP_NVL_PEERS;
    struct size bytes = size_times(x->sizes, slot_bytes(x, queue), row->nvl_recv);
    bytes = size_plus(x->sizes, bytes, 4 * (2 * nodes_of(row->ranks) + 3));
    struct size all = size_times(x->sizes, channels(x), peers);
    return size_up(x->sizes, size_mul(x->sizes, all, bytes), 128);
}

static struct size rdma_row(const struct letters *x, const struct deepep_config *row,
                            const struct queue *queue)
{
    if (row->ranks <= DEEPEP_NVL_PEERS)
        return size_const(x->sizes, 0);
    uint64_t receive = row->rdma_recv + (uint64_t)row->rdma_send - 1;
    receive -= receive % row->rdma_send; /* Config rounds it to a multiple of the send size */
    struct size slot = size_plus(x->sizes, slot_bytes(x, queue), 16);
    struct size bytes = size_times(x->sizes, slot, receive);
    bytes = size_plus(x->sizes, bytes, 4 * (2 * DEEPEP_NVL_PEERS + 2));
    struct size all = size_times(x->sizes, channels(x), 2 * nodes_of(row->ranks));
    return size_up(x->sizes, size_mul(x->sizes, all, bytes), 128);
}

static struct size config_max(const struct letters *x, const struct queue *queue,
                              struct size (*bytes)(const struct letters *,
                                                   const struct deepep_config *,
                                                   const struct queue *))
{
    const struct deepep_config *dispatch = deepep_config(queue->port, DEEPEP_DISPATCH, x->ep);
    const struct deepep_config *combine = deepep_config(queue->port, DEEPEP_COMBINE, x->ep);
    if (!dispatch || !combine)
        return size_const(x->sizes, 0);
    struct size size = bytes(x, dispatch, queue);
    return queue->port == DEEPEP_PRIMUS ? size
                                        : size_max(x->sizes, size, bytes(x, combine, queue));
}

struct size deepep_nvl_bytes(const struct letters *x, enum deepep_port port, bool meta)
{
    return config_max(x, &(struct queue){port, meta ? 8 : 0, 2}, nvl_row);
}

struct size deepep_rdma_bytes(const struct letters *x, enum deepep_port port, bool meta)
{
    return config_max(x, &(struct queue){port, meta ? 8 : 0, 2}, rdma_row);
}

struct size deepep_nvl_bytes_of(const struct letters *x, uint64_t element_bytes)
{
    return config_max(x, &(struct queue){DEEPEP_UPSTREAM, 8, element_bytes}, nvl_row);
}

struct size deepep_rdma_bytes_of(const struct letters *x, uint64_t element_bytes)
{
    return config_max(x, &(struct queue){DEEPEP_UPSTREAM, 8, element_bytes}, rdma_row);
}

struct size deepep_handle_bytes(const struct letters *x, struct size received)
{
    struct sizes *s = x->sizes;
    struct size squared = size_mul(s, x->ranks, x->ranks);
    return size_sum(s, SIZES(size_times(s, squared, 4),
                             size_times(s, size_mul(s, x->ranks, channels(x)), 8),
                             size_times(s, received, 4),
                             size_times(s, rows_worst_tokens(x), 1 + 4)));
}

/* ---- low latency ---- */

static struct size scale_bytes(const struct letters *x)
{
    struct size scales = size_div(x->sizes, x->hidden, size_const(x->sizes, 128));
    return size_times(x->sizes, scales, 4);
}

struct size low_latency_dispatch_message(const struct letters *x)
{
    struct sizes *s = x->sizes;
    struct size fp8 = size_add(s, x->hidden, scale_bytes(x));
    return size_plus(s, size_max(s, size_times(s, x->hidden, 2), fp8), 16);
}

struct size low_latency_combine_message(const struct letters *x, enum deepep_port port)
{
    struct size row = size_times(x->sizes, x->hidden, 2);
    return port == DEEPEP_PRIMUS ? row : size_add(x->sizes, scale_bytes(x), row);
}

struct size low_latency_bytes(const struct letters *x, struct size tokens,
                              enum deepep_port port)
{
    struct sizes *s = x->sizes;
    struct size dispatch = low_latency_dispatch_message(x);
    struct size slots = size_mul(s, x->experts, tokens);
    struct size combine = size_mul(s, slots, low_latency_combine_message(x, port));
    struct size send = size_max(s, size_mul(s, tokens, dispatch), combine);
    struct size receive = size_max(s, size_mul(s, slots, dispatch), combine);
    struct size signal = size_up(s, size_times(s, x->experts, 4), 128);
    struct size total = size_times(s, size_sum(s, SIZES(send, receive, signal)), 2);
    /* the hint adds a whole line even to an aligned total: floor((total + 128) / 128) * 128 */
    struct size lines = size_div(s, size_plus(s, total, 128), size_const(s, 128));
    return size_times(s, lines, 128);
}

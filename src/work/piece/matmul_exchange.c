/* Reduce-scatter and all-gather of chunks in the ways of block.collective: see matmul.h. */
#include "work/piece/matmul.h"
#include "work/piece/schedule.h"

/* A chunk is a p-th of the array's memory, seen as T rows. */
static struct size chunk_width(struct layer *l, uint16_t array)
{
    const struct buffer *buffer = &l->work->buffers[array];
    struct size elements = size_product(l->z, buffer->n_dims, buffer->dims);
    return size_div(l->z, elements, size_mul(l->z, l->R, l->T));
}

static struct size chunk_bytes(struct layer *l, uint16_t array, struct size chunks)
{
    return size_mul(l->z, size_div(l->z, l->work->buffers[array].bytes, l->R), chunks);
}

static enum schedule reduction_of(const struct layer *l)
{
    return matmul_collective(l->plan) == COLLECTIVE_RING ? SCHEDULE_RING_REDUCE
                                                         : SCHEDULE_HALVING_REDUCE;
}

static enum schedule gather_of(const struct layer *l)
{
    return matmul_collective(l->plan) == COLLECTIVE_RING ? SCHEDULE_RING_GATHER
                                                         : SCHEDULE_DOUBLING_GATHER;
}

static bool is_builtin(const struct layer *l)
{
    return matmul_collective(l->plan) == COLLECTIVE_BUILTIN;
}

static const char *named(struct layer *l, const char *what, const char *name)
{
    return arena_printf(l->arena, "%s_%s", what, name);
}

/* ---- steps of a schedule ---- */

/* Steps first .. first + n - 1, and the chunks that a rank sends in them: of all steps together
 * all but its own. */
struct steps {
    enum schedule schedule;
    uint64_t first, n;
    struct size chunks;
};

static struct steps all_steps(struct layer *l, enum schedule schedule)
{
    return (struct steps){schedule, 0, schedule_steps(schedule, l->plan->parallel.tp),
                          size_sub(l->z, l->R, l->one)};
}

static struct steps first_step(struct layer *l, enum schedule schedule)
{
    struct hop hop = schedule_hop(schedule, 0, 0, l->plan->parallel.tp);
    return (struct steps){schedule, 0, 1, size_const(l->z, hop.chunks)};
}

static struct steps later_steps(struct layer *l, enum schedule schedule)
{
    struct steps all = all_steps(l, schedule), first = first_step(l, schedule);
    return (struct steps){schedule, 1, all.n - 1, size_sub(l->z, all.chunks, first.chunks)};
}

static struct hop_args hop_args(struct layer *l, const struct steps *steps)
{
    return (struct hop_args){.first = {size_const(l->z, steps->first)},
                             .ranks = {l->R},
                             .schedule = (uint8_t)steps->schedule};
}

static void hop(struct layer *l, const char *name, const struct steps *steps, uint16_t array,
                uint16_t own, uint16_t to)
{
    struct size bytes = chunk_bytes(l, array, steps->chunks);
    layer_op(l,
             (struct op){.name = name,
                         .kernel = KERNEL_HOP,
                         .args.hop = hop_args(l, steps),
                         .bytes_sent = bytes,
                         .bytes_received = bytes},
             OPERANDS(IN(SRC, array), IN(OWN, own), OUT(DST, to)));
}

static void add(struct layer *l, const char *name, const struct steps *steps, uint16_t array,
                uint16_t arrived)
{
    struct size bytes = chunk_bytes(l, array, steps->chunks);
    layer_op(l,
             (struct op){.name = named(l, "add", name),
                         .kernel = KERNEL_ADD_CHUNKS,
                         .args.hop = hop_args(l, steps),
                         .bytes_read = size_times(l->z, bytes, 2),
                         .bytes_written = bytes},
             OPERANDS(IN(SRC, arrived), INOUT(DST, array)));
}

static void reduce_steps(struct layer *l, const char *name, const struct steps *steps,
                         uint16_t array, uint16_t arrived)
{
    if (steps->n == 0)
        return;
    layer_loop_begin(l, size_const(l->z, steps->n), WORK_NONE);
    hop(l, named(l, "send", name), steps, array, WORK_NONE, arrived);
    add(l, name, steps, array, arrived);
    layer_loop_end(l);
}

/* With `own`, an iteration before the steps puts it into its place. */
static void gather_steps(struct layer *l, const char *name, const struct steps *steps,
                         uint16_t own, uint16_t all)
{
    uint64_t trips = steps->n + (own == WORK_NONE ? 0 : 1);
    if (trips == 0)
        return;
    layer_loop_begin(l, size_const(l->z, trips), WORK_NONE);
    hop(l, name, steps, all, own, all);
    layer_loop_end(l);
}

/* ---- reduce-scatter ---- */

static uint16_t chunks_of(struct layer *l, const char *name, enum category category,
                          uint16_t array, struct size chunks)
{
    return layer_rows(l, name, category, l->work->buffers[array].dtype,
                      layer_fixed(size_mul(l->z, chunks, l->T)), chunk_width(l, array));
}

/* Room for what arrives in the largest step: one chunk, or half of all; all for builtin. */
static uint16_t room(struct layer *l, const char *name, uint16_t array)
{
    struct size chunks = l->R;
    if (!is_builtin(l) && l->plan->parallel.tp > 1)
        chunks = first_step(l, reduction_of(l)).chunks;
    return chunks_of(l, named(l, name, "arrived"), CATEGORY_COMMUNICATION, array, chunks);
}

/* The chunks of all ranks summed in their order. */
static void sum(struct layer *l, const char *name, uint16_t arrived, uint16_t out)
{
    layer_sum(l, named(l, "sum", name), arrived, out, l->R);
}

/* A chunk to every rank. */
static void scatter(struct layer *l, const char *name, uint16_t array, uint16_t arrived)
{
    struct size bytes = chunk_bytes(l, array, size_sub(l->z, l->R, l->one));
    layer_op(l,
             (struct op){.name = named(l, "scatter", name),
                         .kernel = KERNEL_EXCHANGE_FIXED,
                         .bytes_sent = bytes,
                         .bytes_received = bytes},
             OPERANDS(IN(SRC, array), OUT(DST, arrived)));
}

uint16_t matmul_reduce_scatter(struct layer *l, const char *name, uint16_t array)
{
    uint16_t arrived = room(l, name, array);
    if (!is_builtin(l)) {
        struct steps steps = all_steps(l, reduction_of(l));
        reduce_steps(l, name, &steps, array, arrived);
        return array;
    }
    uint16_t out = chunks_of(l, named(l, name, "sum"), CATEGORY_ACTIVATION, array, l->one);
    scatter(l, name, array, arrived);
    sum(l, name, arrived, out);
    return out;
}

/* ---- all-gather ---- */

void matmul_all_gather(struct layer *l, const char *name, uint16_t own, uint16_t all)
{
    struct steps steps = all_steps(l, gather_of(l));
    if (is_builtin(l))
        layer_allgather(l, name, own, all);
    else
        gather_steps(l, name, &steps, own, all);
}

void matmul_pass(struct layer *l, const char *name, uint16_t own, uint16_t moving)
{
    struct size rows = l->work->buffers[own].dims[0];
    struct size bytes =
        layer_traffic(l, size_mul(l->z, rows, size_sub(l->z, l->R, l->one)), own);
    layer_op(l,
             (struct op){.name = name,
                         .kernel = KERNEL_HOP,
                         .args.hop = {.ranks = {l->R}, .schedule = SCHEDULE_PASS_LEFT},
                         .ahead = true,
                         .bytes_sent = bytes,
                         .bytes_received = bytes},
             OPERANDS(IN(SRC, moving), IN(OWN, own), OUT(DST, moving)));
}

/* ---- all-reduce in halves ---- */

static bool has_steps(const struct layer *l)
{
    return l->plan->parallel.tp > 1;
}

struct matmul_reduction matmul_reduce_begin(struct layer *l, const char *name, uint16_t array)
{
    struct matmul_reduction r = {name, array, room(l, name, array), array};
    if (is_builtin(l)) {
        r.own = chunks_of(l, named(l, name, "sum"), CATEGORY_ACTIVATION, array, l->one);
        scatter(l, name, array, r.arrived);
        layer_last(l)->ahead = true;
    } else if (has_steps(l)) {
        struct steps first = first_step(l, reduction_of(l));
        hop(l, named(l, "begin", name), &first, array, WORK_NONE, r.arrived);
        layer_last(l)->ahead = true;
    }
    return r;
}

void matmul_reduce_end(struct layer *l, const struct matmul_reduction *r)
{
    if (is_builtin(l)) {
        sum(l, r->name, r->arrived, r->own);
    } else if (has_steps(l)) {
        struct steps first = first_step(l, reduction_of(l)),
                     later = later_steps(l, reduction_of(l));
        add(l, r->name, &first, r->array, r->arrived);
        reduce_steps(l, r->name, &later, r->array, r->arrived);
    }
}

void matmul_gather_begin(struct layer *l, const struct matmul_reduction *r)
{
    const char *name = named(l, "gather", r->name);
    if (is_builtin(l)) {
        layer_allgather(l, name, r->own, r->array);
        layer_last(l)->ahead = true;
    } else if (has_steps(l)) {
        struct steps first = first_step(l, gather_of(l));
        hop(l, name, &first, r->array, WORK_NONE, r->array);
        layer_last(l)->ahead = true;
    }
}

void matmul_gather_end(struct layer *l, const struct matmul_reduction *r)
{
    if (!is_builtin(l) && has_steps(l)) {
        struct steps later = later_steps(l, gather_of(l));
        gather_steps(l, named(l, "spread", r->name), &later, WORK_NONE, r->array);
    }
    layer_op(l, (struct op){.name = named(l, "end", r->name), .kernel = KERNEL_WAIT},
             OPERANDS(RESULT(0, r->array), RESULT(1, r->own)));
}

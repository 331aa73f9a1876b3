/* What Hopper's instructions do, performed by fibres: the engine's own source (peak_sm90.cl)
 * runs on them. Barriers with their phases and bytes under way (PTX ISA, mbarrier), boxes of a
 * matrix with their swizzle of 128 bytes (cp.async.bulk.tensor), either way, products of a
 * warpgroup by the descriptors of what lies in work-group memory, their groups and their
 * fragments (wgmma). What may still be under way comes late or at once, in any order that is
 * allowed, as the seed has it; whoever waits lets the others go on. Included by kernels.c
 * alone. */
#ifndef MOEPLAN_TESTS_EMUL_WGMMA_H
#define MOEPLAN_TESTS_EMUL_WGMMA_H

#include "support/emul/map.h"

enum { /* of peak_sm90.cl: a work-group's warpgroups, barriers, memory */
       HOP_GROUPS = 3,
       HOP_GROUP = 128,
       HOP_BARRIERS = 8,
       HOP_BYTES = 230400,
       HOP_BARRIERS_AT = 64, /* addresses in work-group memory; not of 1024, as on a device */
       HOP_LOCAL_AT = 1040,
       HOP_UNDER_WAY = 64,
       HOP_LINES = 16
};

struct hop_barrier {
    uint32_t arrivals, pending, parity;
    int64_t bytes;
};

struct hop_box { /* under way */
    gpu_u32 to, barrier;
    const struct emul_map *map;
    int64_t column, row, matrix;
};

struct hop_sent { /* not gone yet; in which of an item's groups */
    gpu_u32 from;
    const struct emul_map *map;
    int64_t column, row, matrix;
    uint32_t item;
    uint64_t group;
};

struct hop_product {
    float *d[HOP_GROUP];
    gpu_u64 a, b;
    int adds, a_down, b_down;
    uint32_t issued; /* by so many items */
};

struct hop_meeting {
    uint32_t n, phase;
};

static struct {
    gpu_u64 memory_of_barriers[HOP_BARRIERS];
    struct hop_barrier barriers[HOP_BARRIERS];
    struct hop_box boxes[HOP_UNDER_WAY];
    unsigned n_boxes;
    struct hop_sent sent[HOP_UNDER_WAY];
    unsigned n_sent;
    uint64_t sent_groups[WARP_ITEMS];
    struct hop_product products[HOP_GROUPS][HOP_UNDER_WAY];
    uint64_t performed[HOP_GROUPS];
    uint64_t issued[WARP_ITEMS], groups[WARP_ITEMS], ends[WARP_ITEMS][HOP_UNDER_WAY];
    bool fenced[WARP_ITEMS];
    gpu_u32 lines[WARP_ITEMS][HOP_LINES]; /* zeroed, and not shown yet */
    uint32_t n_lines[WARP_ITEMS];
    bool unseen[WARP_ITEMS]; /* it stored words that TMA is not shown yet */
    struct hop_meeting warps[WARP_ITEMS / 32], groups_meet[HOP_GROUPS], multipliers;
} hop;

/* ---- work-group memory ---- */

#define S90_LOCAL(name, barriers)                                                              \
    char *name = (char *)fibre_local(S90_BYTES);                                               \
    gpu_u64 *barriers = hop_begin()

/* Nothing of another work-group is left. */
static gpu_u64 *hop_begin(void)
{
    uint32_t item = fibre_item();
    if (hop.n_boxes)
        fibre_wrong("a box is under way when its work-group ends");
    if (hop.n_sent)
        fibre_wrong("what is sent has not left when its work-group ends");
    hop.unseen[item] = false;
    hop.sent_groups[item] = 0;
    for (unsigned g = 0; g < HOP_GROUPS; g++)
        hop.performed[g] = 0;
    hop.issued[item] = hop.groups[item] = hop.n_lines[item] = 0;
    hop.fenced[item] = false;
    return hop.memory_of_barriers;
}

static gpu_u32 s90_address(const void *at)
{
    const char *local = (char *)fibre_local(HOP_BYTES);
    uintptr_t in = (uintptr_t)at - (uintptr_t)local;
    if (in < HOP_BYTES)
        return (gpu_u32)in + HOP_LOCAL_AT;
    return (gpu_u32)((uintptr_t)at - (uintptr_t)hop.memory_of_barriers) + HOP_BARRIERS_AT;
}

static char *hop_at(gpu_u32 address, gpu_u32 bytes)
{
    bool there = address >= HOP_LOCAL_AT && address - HOP_LOCAL_AT + bytes <= HOP_BYTES;
    if (!there)
        fibre_wrong("an address beside work-group memory");
    return (char *)fibre_local(HOP_BYTES) + (there ? address - HOP_LOCAL_AT : 0);
}

static gpu_u32 hop_swizzled(gpu_u32 address)
{
    return address ^ (address >> 7 & 7) << 4;
}

/* ---- barriers ---- */

static struct hop_barrier *hop_barrier(gpu_u32 address)
{
    gpu_u32 number = (address - HOP_BARRIERS_AT) / 8;
    if (address < HOP_BARRIERS_AT || address % 8 || number >= HOP_BARRIERS) {
        fibre_wrong("no barrier is there");
        number = 0;
    }
    return &hop.barriers[number];
}

static void hop_advance(struct hop_barrier *barrier)
{
    if (barrier->pending || barrier->bytes)
        return;
    barrier->parity ^= 1;
    barrier->pending = barrier->arrivals;
    fibre_moved();
}

static void s90_begin(gpu_u32 barrier, gpu_u32 arrivals)
{
    *hop_barrier(barrier) = (struct hop_barrier){arrivals, arrivals, 0, 0};
}

static void s90_arrive(gpu_u32 address)
{
    struct hop_barrier *barrier = hop_barrier(address);
    if (!barrier->pending)
        fibre_wrong("a barrier is arrived at too often");
    else
        barrier->pending--;
    hop_advance(barrier);
}

static void s90_expect(gpu_u32 barrier, gpu_u32 bytes)
{
    hop_barrier(barrier)->bytes += bytes;
    s90_arrive(barrier);
}

static void s90_show_barriers(void)
{
}

/* ---- boxes ---- */

static void hop_bring(const struct hop_box *box)
{
    const struct emul_map *map = box->map;
    for (uint32_t r = 0; r < map->box[1]; r++)
        for (uint32_t c = 0; c < map->box[0]; c++) {
            uint64_t column = (uint64_t)(box->column + c), row = (uint64_t)(box->row + r);
            uint16_t bits = 0;
            if (column < map->sizes[0] && row < map->sizes[1] &&
                (uint64_t)box->matrix < map->sizes[2])
                memcpy(&bits,
                       (const char *)(uintptr_t)map->memory + column * 2 +
                           row * map->strides[0] + (uint64_t)box->matrix * map->strides[1],
                       sizeof bits);
            memcpy(hop_at(hop_swizzled(box->to + r * 128 + c * 2), 2), &bits, sizeof bits);
        }
    struct hop_barrier *barrier = hop_barrier(box->barrier);
    barrier->bytes -= (int64_t)map->box[0] * map->box[1] * 2;
    hop_advance(barrier);
}

static void hop_leave(const struct hop_sent *box)
{
    const struct emul_map *map = box->map;
    for (uint32_t r = 0; r < map->box[1]; r++)
        for (uint32_t c = 0; c < map->box[0]; c++) {
            uint64_t column = (uint64_t)(box->column + c), row = (uint64_t)(box->row + r);
            if (column < map->sizes[0] && row < map->sizes[1] &&
                (uint64_t)box->matrix < map->sizes[2])
                memcpy((char *)(uintptr_t)map->memory + column * 2 + row * map->strides[0] +
                           (uint64_t)box->matrix * map->strides[1],
                       hop_at(hop_swizzled(box->from + r * 128 + c * 2), 2), 2);
        }
}

/* Box i of those that were sent. */
static void hop_leave_one(unsigned i)
{
    hop_leave(&hop.sent[i]);
    hop.sent[i] = hop.sent[--hop.n_sent];
    fibre_moved();
}

/* One of those under way, now or later. */
static void hop_progress(void)
{
    uint64_t drawn = fibre_draw();
    if (hop.n_sent && drawn & 2)
        hop_leave_one((unsigned)((drawn >> 16 & 0xffff) % hop.n_sent));
    if (!hop.n_boxes || drawn & 1)
        return;
    struct hop_box *box = &hop.boxes[(drawn >> 32) % hop.n_boxes];
    hop_bring(box);
    *box = hop.boxes[--hop.n_boxes];
    fibre_moved();
}

static void s90_fetch(gpu_u32 to, const unsigned char *map, gpu_u32 barrier, gpu_u64 column,
                      gpu_u64 row, gpu_u64 matrix)
{
    if (to % 128 || hop.n_boxes == HOP_UNDER_WAY) {
        fibre_wrong(to % 128 ? "a box does not begin at 128 bytes" : "too many boxes");
        return;
    }
    hop.boxes[hop.n_boxes++] = (struct hop_box){
        to, barrier, (const void *)map, (int32_t)column, (int32_t)row, (int32_t)matrix};
    hop_progress();
}

static void s90_wait(gpu_u32 address, gpu_u32 parity)
{
    while (hop_barrier(address)->parity == parity) {
        hop_progress();
        fibre_pause();
    }
}

/* ---- products ---- */

/* Element (row, k) of a matrix of 64-element panels: by rows along the depth, or down it. */
static float hop_element(gpu_u64 matrix, int down, uint32_t row, uint32_t k)
{
    gpu_u32 start = (matrix & 0x3fff) << 4, panel = (matrix >> 16 & 0x3fff) << 4,
            group = (matrix >> 32 & 0x3fff) << 4;
    gpu_u32 at = down ? row / 64 * panel + k / 8 * group + k % 8 * 128 + row % 64 * 2
                      : row / 8 * group + row % 8 * 128 + k * 2;
    uint16_t bits;
    memcpy(&bits, hop_at(hop_swizzled(start + at), 2), sizeof bits);
    return bf16_decode(bits);
}

static void hop_multiply(const struct hop_product *p)
{
    enum { ROWS = 64, COLUMNS = 256, DEPTH = 16 };
    static float a[ROWS][DEPTH], b[DEPTH][COLUMNS];
    for (uint32_t k = 0; k < DEPTH; k++) {
        for (uint32_t r = 0; r < ROWS; r++)
            a[r][k] = hop_element(p->a, p->a_down, r, k);
        for (uint32_t c = 0; c < COLUMNS; c++)
            b[k][c] = hop_element(p->b, p->b_down, c, k);
    }
    for (uint32_t item = 0; item < HOP_GROUP; item++)
        for (uint32_t j = 0; j < ROWS * COLUMNS / HOP_GROUP; j++) {
            uint32_t row = item / 32 * 16 + item % 32 / 4 + j / 2 % 2 * 8,
                     column = j / 4 * 8 + item % 4 * 2 + j % 2;
            float sum = p->adds ? p->d[item][j] : 0;
            for (uint32_t k = 0; k < DEPTH; k++)
                sum += a[row][k] * b[k][column];
            p->d[item][j] = sum;
        }
}

/* The warpgroup's next product, when all of its items have issued it. */
static bool hop_perform(uint32_t group)
{
    struct hop_product *p = &hop.products[group][hop.performed[group] % HOP_UNDER_WAY];
    if (p->issued < HOP_GROUP)
        return false;
    hop_multiply(p);
    p->issued = 0;
    hop.performed[group]++;
    fibre_moved();
    return true;
}

static void hop_issue(float *d, gpu_u64 a, gpu_u64 b, int adds, int a_down, int b_down)
{
    uint32_t item = fibre_item(), group = item / HOP_GROUP;
    struct hop_product *p = &hop.products[group][hop.issued[item]++ % HOP_UNDER_WAY];
    if (!hop.fenced[item])
        fibre_wrong("a product without a fence");
    if (a >> 62 != 1 || b >> 62 != 1 || (a >> 49 & 7) || (b >> 49 & 7))
        fibre_wrong("a descriptor of another swizzle");
    if (p->issued == 0)
        *p = (struct hop_product){
            .a = a, .b = b, .adds = adds, .a_down = a_down, .b_down = b_down};
    if (p->a != a || p->b != b || p->adds != adds || p->a_down != a_down || p->b_down != b_down)
        fibre_wrong("items of a warpgroup issue different products");
    p->d[item % HOP_GROUP] = d;
    p->issued++;
    while (p->issued == HOP_GROUP && fibre_draw() & 1 && hop_perform(group))
        ;
}

static void s90_multiply_along_down(float *d, gpu_u64 a, gpu_u64 b, int adds)
{
    hop_issue(d, a, b, adds, 0, 1);
}

static void s90_multiply_along_along(float *d, gpu_u64 a, gpu_u64 b, int adds)
{
    hop_issue(d, a, b, adds, 0, 0);
}

static void s90_multiply_down_down(float *d, gpu_u64 a, gpu_u64 b, int adds)
{
    hop_issue(d, a, b, adds, 1, 1);
}

static void s90_multiply_begin(void)
{
    hop.fenced[fibre_item()] = true;
}

static void s90_multiply_commit(void)
{
    uint32_t item = fibre_item();
    hop.ends[item][hop.groups[item]++ % HOP_UNDER_WAY] = hop.issued[item];
    hop.fenced[item] = false;
}

/* All but the last `left` groups that this item committed. */
static void hop_wait(uint64_t left)
{
    uint32_t item = fibre_item(), group = item / HOP_GROUP;
    if (hop.groups[item] <= left)
        return;
    uint64_t end = hop.ends[item][(hop.groups[item] - left - 1) % HOP_UNDER_WAY];
    while (hop.performed[group] < end)
        if (!hop_perform(group)) {
            hop_progress();
            fibre_pause();
        }
}

#define S90_MULTIPLY_WAIT(left) hop_wait(left)

static void s90_hold(float *d)
{
    (void)d;
}

/* ---- stores, loads and meetings ---- */

static void hop_meet(struct hop_meeting *meeting, uint32_t items)
{
    uint32_t phase = meeting->phase;
    if (++meeting->n == items) {
        meeting->n = 0;
        meeting->phase++;
        fibre_moved();
    }
    while (meeting->phase == phase) {
        hop_progress();
        fibre_pause();
    }
}

static void s90_warp_barrier(void)
{
    hop_meet(&hop.warps[fibre_item() / 32], 32);
}

/* Products see what is stored when it is shown, not before. */
static void s90_zero_line(gpu_u32 at)
{
    uint32_t item = fibre_item();
    if (hop.n_lines[item] == HOP_LINES)
        fibre_wrong("too many stores that are not shown");
    else
        hop.lines[item][hop.n_lines[item]++] = at;
}

static void s90_show_multipliers(void)
{
    uint32_t item = fibre_item();
    for (uint32_t i = 0; i < hop.n_lines[item]; i++)
        memset(hop_at(hop.lines[item][i], 16), 0, 16);
    hop.n_lines[item] = 0;
    hop_meet(&hop.multipliers, 2 * HOP_GROUP);
}

/* All items of the group have stored what is sent, and shown it. */
static void s90_send(const unsigned char *map, gpu_u32 from, gpu_u64 column, gpu_u64 row,
                     gpu_u64 matrix)
{
    uint32_t item = fibre_item(), first = item / HOP_GROUP * HOP_GROUP;
    for (uint32_t i = first; i < first + HOP_GROUP; i++)
        if (hop.unseen[i])
            fibre_wrong("what is sent was not shown");
    if (from % 1024 || hop.n_sent == HOP_UNDER_WAY) {
        fibre_wrong(from % 1024 ? "a panel does not begin at 1024 bytes" : "too many panels");
        return;
    }
    hop.sent[hop.n_sent++] = (struct hop_sent){.from = from,
                                               .map = (const void *)map,
                                               .column = (int32_t)column,
                                               .row = (int32_t)row,
                                               .matrix = (int32_t)matrix,
                                               .item = item,
                                               .group = hop.sent_groups[item]};
    hop_progress();
}

static void s90_send_commit(void)
{
    hop.sent_groups[fibre_item()]++;
}

/* All but the last `left` groups that this item committed. */
static void hop_sent(uint64_t left)
{
    uint32_t item = fibre_item();
    for (unsigned i = 0; i < hop.n_sent;)
        if (hop.sent[i].item == item && hop.sent[i].group + left < hop.sent_groups[item])
            hop_leave_one(i);
        else
            i++;
}

#define S90_SENT(left) hop_sent(left)

static void s90_show_group(gpu_u32 group)
{
    uint32_t item = fibre_item();
    hop.unseen[item] = false;
    if (item / HOP_GROUP != group + 1)
        fibre_wrong("a warpgroup meets at the barrier of another");
    hop_meet(&hop.groups_meet[group], HOP_GROUP);
}

static void s90_copy_line(char *to, gpu_u32 from)
{
    memcpy(to, hop_at(from, 16), 16);
}

static void s90_store_word(gpu_u32 at, gpu_u32 word)
{
    memcpy(hop_at(at, 4), &word, sizeof word);
    hop.unseen[fibre_item()] = true;
}

static gpu_u32 s90_load_word(gpu_u32 at)
{
    gpu_u32 word;
    memcpy(&word, hop_at(at, 4), sizeof word);
    return word;
}

static gpu_u32 s90_two(float first, float second)
{
    return bf16_encode(first) | (gpu_u32)bf16_encode(second) << 16;
}

static void s90_few_registers(void)
{
}

static void s90_many_registers(void)
{
}

#endif

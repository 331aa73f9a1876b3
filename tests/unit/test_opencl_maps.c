/* Index maps of a device against the CPU's: every output byte for byte, of drawn shapes with
 * slots of several pieces, skewed and empty bins, and with workspaces in which few pieces fit.
 * With MOEPLAN_TEST_TIMES=1, too, of layers with 65,536 slots. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "support/device_case.h"
#include "work/list/dtype.h"

struct shape {
    uint64_t R, local, T, K;
    uint64_t skew; /* in 16ths: slots of one expert */
    uint64_t space_bytes;
};

static const struct shape shapes[] = {
    {1, 1, 1, 1, 0, 0},      {2, 4, 1, 3, 0, 0},        {4, 2, 700, 3, 4, 0},
    {1, 128, 300, 8, 0, 0},  {3, 5, 771, 2, 16, 0},     {8, 128, 259, 4, 0, 0},
    {1, 1024, 200, 8, 8, 0}, {4, 64, 1100, 6, 2, 6000},
};
static const struct shape large = {1, 256, 8192, 8, 0, 0}, spread = {8, 32, 8192, 8, 1, 0};

static const char *draw_sample(struct device_case *m, const struct shape *s, char text[64])
{
    m->sample = (struct layer_sample){
        .R = s->R, .T = s->T, .K = s->K, .local = s->local, .logical = s->R * s->local};
    m->call.rank = s->R - 1;
    m->space_bytes = s->space_bytes ? s->space_bytes : DEVICE_CASE_SPACE;
    snprintf(text, 64, "R %llu e %llu T %llu K %llu skew %llu", (unsigned long long)s->R,
             (unsigned long long)s->local, (unsigned long long)s->T, (unsigned long long)s->K,
             (unsigned long long)s->skew);
    return text;
}

static void draw_experts(struct device_case *m, enum role role, uint64_t skew, bool absent)
{
    uint64_t n = m->sample.T * m->sample.K, E = m->sample.R * m->sample.local;
    int32_t *ids = device_case_i32(m, role, m->sample.T, m->sample.K);
    for (uint64_t i = 0; i < n; i++) {
        ids[i] = (int32_t)(rng_below(&m->rng, 16) < skew ? E - 1 : rng_below(&m->rng, E));
        if (absent && rng_below(&m->rng, 4) == 0)
            ids[i] = -1;
    }
}

/* Rows of every rank, at most n in all. */
static void draw_receives(struct device_case *m, uint64_t n)
{
    int64_t *receives = device_case_i64(m, ROLE_RECEIVES, m->sample.R);
    for (uint64_t r = 0; r < m->sample.R; r++)
        receives[r] = (int64_t)rng_below(&m->rng, n / m->sample.R + 1);
}

static void want_groups(struct device_case *m, uint64_t rows, uint64_t places)
{
    device_case_want(m, ROLE_OFFSETS, DTYPE_I64, m->sample.local + 1, 1);
    device_case_want(m, ROLE_SIZES, DTYPE_I64, m->sample.local, 1);
    device_case_want(m, ROLE_INDEX, DTYPE_I32, rows, 1);
    device_case_want(m, ROLE_PLACE, DTYPE_I32, places, 1);
}

static void draw_place(struct device_case *m, uint64_t skew, unsigned way)
{
    uint64_t E = m->sample.logical;
    draw_experts(m, ROLE_IDS, skew, false);
    int32_t *start = device_case_i32(m, ROLE_START, E + 1, 1);
    int32_t *replica = device_case_i32(m, ROLE_REPLICA, 3 * E, 1);
    start[0] = 0;
    for (uint64_t x = 0; x < E; x++)
        start[x + 1] = start[x] + 1 + (int32_t)(way ? rng_below(&m->rng, 3) : 0);
    for (uint64_t i = 0; i < 3 * E; i++)
        replica[i] = (int32_t)i;
    device_case_want(m, ROLE_PHYS, DTYPE_I32, m->sample.T, m->sample.K);
}

static void draw_sort(struct device_case *m, uint64_t skew, unsigned way)
{
    uint64_t n = m->sample.T * m->sample.K;
    draw_experts(m, ROLE_PHYS, skew, false);
    m->call.args.sort.by_expert = way == 0;
    device_case_want(m, ROLE_ORDER, DTYPE_I32, n, 1);
    device_case_want(m, ROLE_POSITION, DTYPE_I32, n, 1);
    device_case_want(m, ROLE_COUNTS, DTYPE_I64, m->sample.R * m->sample.local, 1);
    device_case_want(m, ROLE_SENDS, DTYPE_I64, m->sample.R, 1);
}

static void draw_group(struct device_case *m, uint64_t skew, unsigned way)
{
    uint64_t runs = m->sample.R * m->sample.local, most = m->sample.T * m->sample.K / runs + 1,
             room = 3 * most * runs + 16 * m->sample.local;
    int64_t *counts = device_case_i64(m, ROLE_COUNTS, runs);
    for (uint64_t i = 0; i < runs; i++)
        counts[i] = rng_below(&m->rng, 16) < skew ? 0 : (int64_t)rng_below(&m->rng, 2 * most);
    m->call.args.group.fixed = way == 1;
    m->call.args.group.alignment.n = way == 1 ? room / m->sample.local : way == 2 ? 16 : 0;
    device_case_want(m, ROLE_RECEIVES, DTYPE_I64, m->sample.R, 1);
    want_groups(m, room, 2 * most * runs);
}

static void draw_slots(struct device_case *m, uint64_t skew, unsigned way)
{
    uint64_t lots = way == 1 && m->sample.T % 7 == 0 ? 7 : way == 2 ? m->sample.T : 1;
    uint64_t E = m->sample.R * m->sample.local,
             capacity = m->sample.T * m->sample.K / (E * lots) + 1;
    draw_experts(m, ROLE_PHYS, skew, false);
    m->call.args.slots.groups.n = lots;
    m->call.args.slots.capacity.n = capacity;
    device_case_want(m, ROLE_INDEX, DTYPE_I32, E * lots * capacity, 1);
    device_case_want(m, ROLE_POSITION, DTYPE_I32, m->sample.T * m->sample.K, 1);
    device_case_want(m, ROLE_DROPPED, DTYPE_I64, 1, 1);
}

/* Of few or of too many rows, or of all. */
static void draw_fan(struct device_case *m, uint64_t skew, unsigned way)
{
    uint64_t n = m->sample.T * m->sample.K;
    draw_experts(m, ROLE_PHYS, skew, true);
    if (way > 0)
        draw_receives(m, m->sample.T);
    want_groups(m, way == 2 ? n / (2 * m->sample.R) + 1 : n, n);
}

static void draw_layout(struct device_case *m, uint64_t skew, unsigned way)
{
    uint64_t T = m->sample.T, R = m->sample.R, rows = way == 2 ? T / 2 + 1 : T * R;
    draw_experts(m, ROLE_PHYS, skew, false);
    device_case_want(m, ROLE_INDEX, DTYPE_I32, rows, 1);
    device_case_want(m, ROLE_SLOT, DTYPE_I32, rows, 1);
    device_case_want(m, ROLE_POSITION, DTYPE_I32, T, R);
    device_case_want(m, ROLE_SENDS, DTYPE_I64, R, 1);
    device_case_want(m, ROLE_HANDLE, DTYPE_I64, 4, 1);
}

static void draw_pool(struct device_case *m, uint64_t skew, unsigned way)
{
    uint64_t n = m->sample.T * m->sample.K, e = m->sample.local;
    int32_t *records = device_case_i32(m, ROLE_SRC, n, 4);
    for (uint64_t i = 0; i < 4 * n; i++)
        records[i] = (int32_t)(i % 4 != 2                      ? rng_below(&m->rng, 1 << 29)
                               : rng_below(&m->rng, 16) < skew ? e - 1
                                                               : rng_below(&m->rng, e));
    draw_receives(m, n);
    m->call.args.group.alignment.n = way == 1 ? 8 : 1;
    want_groups(m, n + 8 * e, n);
    device_case_want(m, ROLE_GATES, DTYPE_F32, n, 1);
}

static void draw_record(struct device_case *m, uint64_t skew, unsigned way)
{
    uint64_t n = m->sample.T * m->sample.K;
    (void)way;
    draw_experts(m, ROLE_PHYS, skew, false);
    float *gates = device_case_give(m, ROLE_GATES, DTYPE_F32, m->sample.T, m->sample.K, true);
    int32_t *order = device_case_i32(m, ROLE_ORDER, n, 1);
    for (uint64_t i = 0; i < n; i++) {
        gates[i] = (float)rng_below(&m->rng, 100);
        order[i] = (int32_t)rng_below(&m->rng, n);
    }
    device_case_want(m, ROLE_DST, DTYPE_I32, n, 4);
}

/* No token goes to an expert twice. */
static void draw_table(struct device_case *m, uint64_t skew, unsigned way)
{
    uint64_t E = m->sample.R * m->sample.local;
    (void)skew;
    (void)way;
    m->sample.K = m->sample.K < E ? m->sample.K : E;
    int32_t *ids = device_case_i32(m, ROLE_PHYS, m->sample.T, m->sample.K);
    for (uint64_t i = 0; i < m->sample.T * m->sample.K; i++)
        ids[i] = (int32_t)((i / m->sample.K * 5 + i % m->sample.K) % E);
    device_case_want(m, ROLE_PLACE, DTYPE_I32, m->sample.T * m->sample.K, 1);
    device_case_want(m, ROLE_INDEX, DTYPE_I32, m->sample.local * m->sample.T, 1);
}

static void draw_hits(struct device_case *m, uint64_t skew, unsigned way)
{
    uint64_t E = m->sample.R * m->sample.local;
    int64_t *sizes = device_case_i64(m, ROLE_SIZES, E);
    for (uint64_t x = 0; x < E; x++)
        sizes[x] = rng_below(&m->rng, 16) < skew ? 0 : (int64_t)rng_below(&m->rng, 3);
    device_case_want(m, ROLE_HITS, DTYPE_I32, way == 1 ? E / 4 + 1 : E, 1);
    device_case_want(m, ROLE_MAP, DTYPE_I32, E, 1);
}

static void draw_own(struct device_case *m, uint64_t skew, unsigned way)
{
    uint64_t n = m->sample.T * m->sample.K;
    (void)way;
    draw_experts(m, ROLE_PHYS, skew, false);
    device_case_want(m, ROLE_SLOT, DTYPE_I32, n, 1);
    device_case_want(m, ROLE_PLACE, DTYPE_I32, n, 1);
    device_case_want(m, ROLE_HITS, DTYPE_I32, n, 1);
    device_case_want(m, ROLE_SIZES, DTYPE_I64, n, 1);
    device_case_want(m, ROLE_OFFSETS, DTYPE_I64, m->sample.K + 1, 1);
}

static void draw_chunk(struct device_case *m, uint64_t skew, unsigned way)
{
    uint64_t n = m->sample.T * m->sample.K, E = m->sample.R * m->sample.local, left = n;
    int32_t *order = device_case_i32(m, ROLE_ORDER, n, 1);
    int64_t *counts = device_case_i64(m, ROLE_COUNTS, E);
    for (uint64_t i = 0; i < n; i++)
        order[i] = (int32_t)i;
    for (uint64_t x = 0; x < E; x++) {
        counts[x] =
            rng_below(&m->rng, 16) < skew ? 0 : (int64_t)rng_below(&m->rng, left / 4 + 1);
        left -= (uint64_t)counts[x];
    }
    m->call.args.chunk.rows.n = 5;
    m->call.iteration = way;
    device_case_want(m, ROLE_INDEX, DTYPE_I32, 5 * E, 1);
    device_case_want(m, ROLE_HOME, DTYPE_I32, 5 * E, 1);
}

static void draw_largest(struct device_case *m, uint64_t skew, unsigned way)
{
    int64_t *counts = device_case_i64(m, ROLE_COUNTS, m->sample.R * m->sample.local);
    for (uint64_t x = 0; x < m->sample.R * m->sample.local; x++)
        counts[x] = rng_below(&m->rng, 16) < skew ? 0 : (int64_t)rng_below(&m->rng, 5000);
    m->call.args.chunk.rows.n = 7 + way;
    device_case_want(m, ROLE_DST, DTYPE_I64, 1, 1);
}

static void draw_blocks(struct device_case *m, uint64_t skew, unsigned way)
{
    enum { B = 8 };
    uint64_t n = m->sample.T * m->sample.K, N = n / B + m->sample.local;
    draw_experts(m, ROLE_PHYS, skew, true);
    m->call.args.blocks.dynamic = way > 0;
    m->call.args.blocks.always.n = way;
    m->call.args.blocks.step.n = 2;
    device_case_want(m, ROLE_EXPERT, DTYPE_I32, N, 1);
    device_case_want(m, ROLE_INDEX, DTYPE_I32, N * B, 1);
    device_case_want(m, ROLE_PLACE, DTYPE_I32, n, 1);
    device_case_want(m, ROLE_CONDITIONS, DTYPE_I32, N, 1);
    device_case_want(m, ROLE_RUN, DTYPE_I64, 1, 1);
    device_case_want(m, ROLE_TRIPS, DTYPE_I64, 1, 1);
}

static const struct {
    enum kernel kernel;
    void (*draw)(struct device_case *m, uint64_t skew, unsigned way);
    unsigned ways;
} cases[] = {
    {KERNEL_PLACE, draw_place, 2},   {KERNEL_SORT, draw_sort, 2},
    {KERNEL_GROUP, draw_group, 3},   {KERNEL_SLOTS, draw_slots, 3},
    {KERNEL_FAN, draw_fan, 3},       {KERNEL_LAYOUT, draw_layout, 3},
    {KERNEL_POOL, draw_pool, 2},     {KERNEL_RECORD, draw_record, 1},
    {KERNEL_TABLE, draw_table, 1},   {KERNEL_HITS, draw_hits, 2},
    {KERNEL_OWN, draw_own, 1},       {KERNEL_CHUNK, draw_chunk, 2},
    {KERNEL_MOST, draw_largest, 1},  {KERNEL_ROUNDS, draw_largest, 2},
    {KERNEL_BLOCKS, draw_blocks, 2},
};

static void compare_shape(struct gpu *gpu, const struct shape *shape)
{
    struct device_case m;
    char text[64], what[80];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (unsigned way = 0; way < cases[i].ways; way++) {
            device_case_begin(&m, gpu, cases[i].kernel, way);
            snprintf(what, sizeof what, "%s, way %u", draw_sample(&m, shape, text), way);
            cases[i].draw(&m, shape->skew, way);
            device_case_compare(&m, what);
        }
}

static void maps_are_the_hosts(void **state)
{
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        compare_shape(*state, &shapes[s]);
    if (getenv("MOEPLAN_TEST_TIMES")) {
        compare_shape(*state, &large);
        compare_shape(*state, &spread);
    }
}

/* As many pieces as slots allow, and more. */
static void maps_of_many_pieces_are_the_hosts(void **state)
{
    setenv("MOEPLAN_GPU_PIECE", "2", 1);
    for (size_t s = 0; s < 4; s++)
        compare_shape(*state, &shapes[s]);
    unsetenv("MOEPLAN_GPU_PIECE");
}

int main(void)
{
    struct CMUnitTest tests[] = {cmocka_unit_test(maps_are_the_hosts),
                                 cmocka_unit_test(maps_of_many_pieces_are_the_hosts)};
    return device_case_main(tests, sizeof tests / sizeof *tests);
}

/* What instructions of tensor cores do, performed by fibres: the engines' own sources run on
 * them, with the layouts of lanes that the instruction sets document. Copies that may still be
 * under way come late or at once, as the seed has it. Included by kernels.c alone. */
#ifndef MOEPLAN_TESTS_EMUL_WARP_H
#define MOEPLAN_TESTS_EMUL_WARP_H

#include <stdbool.h>
#include <string.h>

#define PEAK_EMULATED

/* ---- cp.async (PTX ISA, cp.async.commit_group and wait_group) ---- */

enum { WARP_ITEMS = 1024, WARP_COPIES = 32 };

struct warp_copy {
    char *to;
    char bytes[16];
    uint64_t group;
};

static struct {
    struct warp_copy copies[WARP_COPIES];
    unsigned n;
    uint64_t group, drawn;
    unsigned turn; /* the half of the slots that its instruction takes */
} warp_items[WARP_ITEMS];

static void s80_copy(char *to, const char *from, int there)
{
    struct warp_copy copy = {.to = to, .group = warp_items[fibre_item()].group};
    uint64_t *drawn = &warp_items[fibre_item()].drawn;
    if (there)
        memcpy(copy.bytes, from, sizeof copy.bytes);
    *drawn = *drawn * 6364136223846793005U + 1442695040888963407U + fibre_item();
    if (*drawn >> 63)
        memcpy(to, copy.bytes, sizeof copy.bytes);
    else
        warp_items[fibre_item()].copies[warp_items[fibre_item()].n++] = copy;
}

static void warp_wait(uint64_t left)
{
    unsigned kept = 0, n = warp_items[fibre_item()].n;
    struct warp_copy *copies = warp_items[fibre_item()].copies;
    for (unsigned i = 0; i < n; i++) {
        if (copies[i].group + left < warp_items[fibre_item()].group)
            memcpy(copies[i].to, copies[i].bytes, sizeof copies[i].bytes);
        else
            copies[kept++] = copies[i];
    }
    warp_items[fibre_item()].n = kept;
}

#define S80_COMMIT() warp_items[fibre_item()].group++
#define S80_WAIT(left) warp_wait(left)
#define S80_LOCAL(name) char *name = (char *)fibre_local(S80_BYTES)

/* ---- what the items of a warp show each other ----
 *
 * An instruction puts what it has into half of its slot, waits, and reads the others' halves.
 * The next one takes the other half: who is two instructions ahead has met all in between, so
 * nobody waits until all have read. */

enum { WARP_HALF = FIBRE_SLOT / 2 };

static char *warp_slot(uint32_t item)
{
    return fibre_slot(item) + warp_items[fibre_item()].turn * WARP_HALF;
}

static void warp_show(const void *own, size_t bytes, int line)
{
    warp_items[fibre_item()].turn ^= 1;
    memcpy(warp_slot(fibre_item()), own, bytes);
    fibre_barrier(line);
}

static float *warp_floats(uint32_t item)
{
    return (float *)(void *)warp_slot(item);
}

/* Whether this item is the first of its warp's `items` to come here: it works for all. */
static bool warp_is_first(uint32_t items)
{
    static uint32_t passed[WARP_ITEMS];
    uint32_t *n = &passed[fibre_item() / items];
    bool first = *n == 0;
    *n = (*n + 1) % items;
    return first;
}

/* ---- ldmatrix and mma.m16n8k16 (PTX ISA, their figures of fragments) ---- */

static float warp_value(uint32_t word, unsigned half)
{
    return fibre_float((word >> 16 * half & 0xffffU) << 16);
}

static void s80_load(gpu_u32 *of, const char *at, int down)
{
    uint32_t lane = fibre_item() % 32, first = fibre_item() - lane;
    warp_show(&at, sizeof at, __LINE__);
    for (uint32_t i = 0; i < 4; i++) {
        const char *row;
        of[i] = 0;
        for (uint32_t j = 0; j < 2; j++) {
            uint32_t r = down ? lane % 4 * 2 + j : lane / 4,
                     c = down ? lane / 4 : lane % 4 * 2 + j;
            uint16_t half;
            memcpy(&row, warp_slot(first + i * 8 + r), sizeof row);
            memcpy(&half, row + c * 2, sizeof half);
            of[i] |= (uint32_t)half << 16 * j;
        }
    }
}

/* A warp's product, from its items' fragments and into them: 8 numbers of a, 4 of b, 4 sums. */
static void s80_warp(uint32_t first)
{
    float a[16][16], b[16][8], c[16][8];
    for (uint32_t lane = 0; lane < 32; lane++) {
        const float *own = warp_floats(first + lane);
        uint32_t line = lane / 4, pair = lane % 4 * 2;
        for (uint32_t i = 0; i < 8; i++)
            a[line + i / 2 % 2 * 8][pair + i / 4 * 8 + i % 2] = own[i];
        for (uint32_t i = 0; i < 4; i++) {
            b[pair + i / 2 * 8 + i % 2][line] = own[8 + i];
            c[line + i / 2 * 8][pair + i % 2] = own[12 + i];
        }
    }
    for (uint32_t r = 0; r < 16; r++)
        for (uint32_t k = 0; k < 16; k++)
            for (uint32_t n = 0; n < 8; n++)
                c[r][n] += a[r][k] * b[k][n];
    for (uint32_t lane = 0; lane < 32; lane++)
        for (uint32_t i = 0; i < 4; i++)
            warp_floats(first + lane)[12 + i] = c[lane / 4 + i / 2 * 8][lane % 4 * 2 + i % 2];
}

static void s80_multiply(float *c, const gpu_u32 *a, const gpu_u32 *b)
{
    float own[16];
    for (uint32_t i = 0; i < 12; i++)
        own[i] = warp_value(i < 8 ? a[i / 2] : b[i / 2 - 4], i % 2);
    memcpy(own + 12, c, 4 * sizeof *c);
    warp_show(own, sizeof own, __LINE__);
    if (warp_is_first(32))
        s80_warp(fibre_item() / 32 * 32);
    memcpy(c, warp_floats(fibre_item()) + 12, 4 * sizeof *c);
}

/* ---- v_mfma_f32_32x32x8_bf16 (AMD's matrix instruction calculator: a row, or column, a lane
 * of 32, 4 of the depth each; results by 4 rows) ---- */

struct cdna_sums {
    float of[2][2][16];
};

/* A wave's product: 4 numbers of a, 4 of b, 16 sums an item. */
static void cdna_wave(uint32_t first)
{
    float a[32][8], b[8][32], c[32][32];
    for (uint32_t lane = 0; lane < 64; lane++) {
        const float *own = warp_floats(first + lane);
        for (uint32_t k = 0; k < 4; k++) {
            a[lane % 32][lane / 32 * 4 + k] = own[k];
            b[lane / 32 * 4 + k][lane % 32] = own[4 + k];
        }
        for (uint32_t v = 0; v < 16; v++)
            c[v / 4 * 8 + lane / 32 * 4 + v % 4][lane % 32] = own[8 + v];
    }
    for (uint32_t r = 0; r < 32; r++)
        for (uint32_t k = 0; k < 8; k++)
            for (uint32_t n = 0; n < 32; n++)
                c[r][n] += a[r][k] * b[k][n];
    for (uint32_t lane = 0; lane < 64; lane++)
        for (uint32_t v = 0; v < 16; v++)
            warp_floats(first + lane)[8 + v] = c[v / 4 * 8 + lane / 32 * 4 + v % 4][lane % 32];
}

static void cdna_multiply(struct cdna_sums *sums, int i, int j, const char *a, const char *b)
{
    float own[24];
    for (uint32_t k = 0; k < 8; k++) {
        uint16_t half;
        memcpy(&half, (k < 4 ? a : b) + k % 4 * 2, sizeof half);
        own[k] = warp_value(half, 0);
    }
    memcpy(own + 8, sums->of[i][j], sizeof sums->of[i][j]);
    warp_show(own, sizeof own, __LINE__);
    if (warp_is_first(64))
        cdna_wave(fibre_item() / 64 * 64);
    memcpy(sums->of[i][j], warp_floats(fibre_item()) + 8, sizeof sums->of[i][j]);
}

#endif

/* What instructions of tensor cores do, performed by fibres: the engines' own sources run on
 * them, with the layouts of lanes that the instruction sets document. Copies that may still be
 * under way come late or at once, as the seed has it. Included by kernels.c alone. */
#ifndef MOEPLAN_TESTS_EMUL_WARP_H
#define MOEPLAN_TESTS_EMUL_WARP_H

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

/* ---- ldmatrix and mma.m16n8k16 (PTX ISA, their figures of fragments) ---- */

static float warp_value(uint32_t word, unsigned half)
{
    return fibre_float((word >> 16 * half & 0xffffU) << 16);
}

static void s80_load(gpu_u32 *of, const char *at, int down)
{
    uint32_t lane = fibre_item() % 32, first = fibre_item() - lane;
    memcpy(fibre_slot(fibre_item()), &at, sizeof at);
    fibre_barrier(__LINE__);
    for (uint32_t i = 0; i < 4; i++) {
        const char *row;
        of[i] = 0;
        for (uint32_t j = 0; j < 2; j++) {
            uint32_t r = down ? lane % 4 * 2 + j : lane / 4,
                     c = down ? lane / 4 : lane % 4 * 2 + j;
            uint16_t half;
            memcpy(&row, fibre_slot(first + i * 8 + r), sizeof row);
            memcpy(&half, row + c * 2, sizeof half);
            of[i] |= (uint32_t)half << 16 * j;
        }
    }
    fibre_barrier(__LINE__);
}

/* What other items put into their slots: numbers, so that they are decoded once. */
static const float *warp_floats(uint32_t item)
{
    return (const float *)(const void *)fibre_slot(item);
}

static void s80_multiply(float *c, const gpu_u32 *a, const gpu_u32 *b)
{
    uint32_t lane = fibre_item() % 32, first = fibre_item() - lane;
    float own[12]; /* 4 words of a, 2 of b */
    for (uint32_t i = 0; i < 12; i++)
        own[i] = warp_value(i < 8 ? a[i / 2] : b[i / 2 - 4], i % 2);
    memcpy(fibre_slot(fibre_item()), own, sizeof own);
    fibre_barrier(__LINE__);
    float of_a[2][16], of_b[2][16]; /* this lane's two rows and columns, along the depth */
    for (uint32_t k = 0; k < 16; k++)
        for (uint32_t i = 0; i < 2; i++) {
            uint32_t column = lane % 4 * 2 + i, at = k / 8 * 2 + k % 2;
            of_a[i][k] =
                warp_floats(first + lane / 4 * 4 + k % 8 / 2)[i * 2 + k / 8 * 4 + k % 2];
            of_b[i][k] = warp_floats(first + column * 4 + k % 8 / 2)[8 + at];
        }
    for (uint32_t v = 0; v < 4; v++)
        for (uint32_t k = 0; k < 16; k++)
            c[v] += of_a[v / 2][k] * of_b[v % 2][k];
    fibre_barrier(__LINE__);
}

/* ---- v_mfma_f32_32x32x8_bf16 (AMD's matrix instruction calculator: a row, or column, a lane
 * of 32, 4 of the depth each; results by 4 rows) ---- */

struct cdna_sums {
    float of[2][2][16];
};

static void cdna_multiply(struct cdna_sums *sums, int i, int j, const char *a, const char *b)
{
    uint32_t lane = fibre_item() % 64, first = fibre_item() - lane;
    float own[8]; /* 4 of a, 4 of b */
    for (uint32_t k = 0; k < 8; k++) {
        uint16_t half;
        memcpy(&half, (k < 4 ? a : b) + k % 4 * 2, sizeof half);
        own[k] = warp_value(half, 0);
    }
    memcpy(fibre_slot(fibre_item()), own, sizeof own);
    fibre_barrier(__LINE__);
    const float *low_b = warp_floats(first + lane % 32) + 4,
                *high_b = warp_floats(first + lane % 32 + 32) + 4;
    for (uint32_t v = 0; v < 16; v++) {
        uint32_t row = v / 4 * 8 + lane / 32 * 4 + v % 4;
        const float *low_a = warp_floats(first + row), *high_a = warp_floats(first + row + 32);
        float sum = sums->of[i][j][v];
        for (uint32_t k = 0; k < 4; k++)
            sum += low_a[k] * low_b[k];
        for (uint32_t k = 0; k < 4; k++)
            sum += high_a[k] * high_b[k];
        sums->of[i][j][v] = sum;
    }
    fibre_barrier(__LINE__);
}

#endif

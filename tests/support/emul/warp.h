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

static const uint32_t *warp_words(uint32_t item)
{
    return (const uint32_t *)(const void *)fibre_slot(item);
}

static void s80_multiply(float *c, const gpu_u32 *a, const gpu_u32 *b)
{
    uint32_t lane = fibre_item() % 32, first = fibre_item() - lane, words[6];
    memcpy(words, a, 4 * sizeof *a);
    memcpy(words + 4, b, 2 * sizeof *b);
    memcpy(fibre_slot(fibre_item()), words, sizeof words);
    fibre_barrier(__LINE__);
    for (uint32_t v = 0; v < 4; v++) {
        uint32_t row = lane / 4 + v / 2 * 8, column = lane % 4 * 2 + v % 2;
        for (uint32_t k = 0; k < 16; k++) {
            const uint32_t *of_a = warp_words(first + row % 8 * 4 + k % 8 / 2),
                           *of_b = warp_words(first + column * 4 + k % 8 / 2);
            c[v] += warp_value(of_a[row / 8 + k / 8 * 2], k % 2) *
                    warp_value(of_b[4 + k / 8], k % 2);
        }
    }
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
    char *own = fibre_slot(fibre_item());
    memcpy(own, a, 8);
    memcpy(own + 8, b, 8);
    fibre_barrier(__LINE__);
    for (uint32_t v = 0; v < 16; v++) {
        uint32_t row = v / 4 * 8 + lane / 32 * 4 + v % 4, column = lane % 32;
        for (uint32_t k = 0; k < 8; k++) {
            uint16_t of_a, of_b;
            memcpy(&of_a, fibre_slot(first + row + k / 4 * 32) + k % 4 * 2, 2);
            memcpy(&of_b, fibre_slot(first + column + k / 4 * 32) + 8 + k % 4 * 2, 2);
            sums->of[i][j][v] += warp_value(of_a, 0) * warp_value(of_b, 0);
        }
    }
    fibre_barrier(__LINE__);
}

#endif

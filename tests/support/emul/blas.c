/* Look-alikes of cuBLAS, rocBLAS and hipBLASLt, as far as tests/bench/bench_gpu calls them:
 * products of bf16, sums in f32, column-major, on the memory of the current card. What their
 * arguments say is what is computed; anything else than these types and sums is refused.
 * MOEPLAN_EMUL_FAULT=blas: results are wrong. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "support/emul/card.h"
#include "support/emul/fault.h"

#define SEEN __attribute__((visibility("default")))

enum { FINE = 0, REFUSED = 7 };

struct product {
    bool turn_a, turn_b, f32; /* f32: of the result */
    int m, n, k;
    uint64_t a, b, c;
    int64_t lda, ldb, ldc;
    float alpha, beta;
};

static float from_bf16(const char *at)
{
    uint32_t bits = 0;
    float value;
    memcpy((char *)&bits + 2, at, 2);
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* To nearest, ties to even. */
static void to_bf16(float value, char *at)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    bits += 0x7fff + (bits >> 16 & 1);
    memcpy(at, (char *)&bits + 2, 2);
}

static const char *element(const char *from, int64_t pitch, int64_t row, int64_t column)
{
    return from + (row + column * pitch) * 2;
}

static float sum_of(const struct product *p, const char *a, const char *b, int i, int j)
{
    float sum = 0;
    for (int x = 0; x < p->k; x++)
        sum += from_bf16(p->turn_a ? element(a, p->lda, x, i) : element(a, p->lda, i, x)) *
               from_bf16(p->turn_b ? element(b, p->ldb, j, x) : element(b, p->ldb, x, j));
    return sum * p->alpha + (fault_asked("blas") && i + j == 3 ? 64.0F : 0);
}

static int multiply(const struct product *p)
{
    struct card *card = card_now();
    size_t a = (size_t)p->lda * (size_t)(p->turn_a ? p->m : p->k) * 2,
           b = (size_t)p->ldb * (size_t)(p->turn_b ? p->k : p->n) * 2,
           c = (size_t)p->ldc * (size_t)p->n * (p->f32 ? 4 : 2);
    if (p->beta != 0 || !card_has(card, p->a, a) || !card_has(card, p->b, b) ||
        !card_has(card, p->c, c) || p->lda < (p->turn_a ? p->k : p->m) ||
        p->ldb < (p->turn_b ? p->n : p->k) || p->ldc < p->m)
        return REFUSED;
    card_finish(card);
    const char *from_a = card_bytes(card, p->a), *from_b = card_bytes(card, p->b);
    char *to = card_bytes(card, p->c);
    for (int j = 0; j < p->n; j++)
        for (int i = 0; i < p->m; i++) {
            float sum = sum_of(p, from_a, from_b, i, j);
            int64_t at = i + j * p->ldc;
            if (p->f32)
                memcpy(to + at * 4, &sum, sizeof sum);
            else
                to_bf16(sum, to + at * 2);
        }
    return FINE;
}

static int make_handle(void **handle)
{
    static char thing;
    *handle = &thing;
    return FINE;
}

/* ---- cuBLAS: 14 is bf16, 0 f32, 68 sums in f32 ---- */

SEEN int cublasCreate_v2(void **handle)
{
    return make_handle(handle);
}

SEEN int cublasGemmEx(void *handle, int turn_a, int turn_b, int m, int n, int k,
                      const float *alpha, uint64_t a, int a_type, int lda, uint64_t b,
                      int b_type, int ldb, const float *beta, uint64_t c, int c_type, int ldc,
                      int sums, int way)
{
    (void)way;
    if (!handle || a_type != 14 || b_type != 14 || (c_type != 14 && c_type != 0) || sums != 68)
        return REFUSED;
    return multiply(&(struct product){turn_a == 1, turn_b == 1, c_type == 0, m, n, k, a, b, c,
                                      lda, ldb, ldc, *alpha, *beta});
}

SEEN int cublasGemmStridedBatchedEx(void *handle, int turn_a, int turn_b, int m, int n, int k,
                                    const float *alpha, uint64_t a, int a_type, int lda,
                                    long long step_a, uint64_t b, int b_type, int ldb,
                                    long long step_b, const float *beta, uint64_t c, int c_type,
                                    int ldc, long long step_c, int batch, int sums, int way)
{
    int code = FINE;
    uint64_t wide = c_type == 0 ? 4 : 2;
    for (int i = 0; code == FINE && i < batch; i++)
        code =
            cublasGemmEx(handle, turn_a, turn_b, m, n, k, alpha, a + (uint64_t)(i * step_a) * 2,
                         a_type, lda, b + (uint64_t)(i * step_b) * 2, b_type, ldb, beta,
                         c + (uint64_t)(i * step_c) * wide, c_type, ldc, sums, way);
    return code;
}

/* Lists of addresses lie on the device. */
SEEN int cublasGemmGroupedBatchedEx(void *handle, const int *turn_a, const int *turn_b,
                                    const int *m, const int *n, const int *k,
                                    const float *alpha, uint64_t a, int a_type, const int *lda,
                                    uint64_t b, int b_type, const int *ldb, const float *beta,
                                    uint64_t c, int c_type, const int *ldc, int groups,
                                    const int *sizes, int sums)
{
    int code = FINE;
    uint64_t at = 0;
    for (int g = 0; g < groups; g++)
        for (int i = 0; code == FINE && i < sizes[g]; i++, at += 8) {
            uint64_t of[3], lists[3] = {a + at, b + at, c + at};
            for (int j = 0; j < 3; j++) {
                if (!card_has(card_now(), lists[j], 8))
                    return REFUSED;
                memcpy(&of[j], card_bytes(card_now(), lists[j]), 8);
            }
            code = cublasGemmEx(handle, turn_a[g], turn_b[g], m[g], n[g], k[g], &alpha[g],
                                of[0], a_type, lda[g], of[1], b_type, ldb[g], &beta[g], of[2],
                                c_type, ldc[g], sums, 0);
        }
    return code;
}

/* ---- rocBLAS: 168 is bf16, 151 f32; 112 turned ---- */

SEEN int rocblas_create_handle(void **handle)
{
    return make_handle(handle);
}

SEEN int rocblas_gemm_ex(void *handle, int turn_a, int turn_b, int m, int n, int k,
                         const float *alpha, uint64_t a, int a_type, int lda, uint64_t b,
                         int b_type, int ldb, const float *beta, uint64_t c, int c_type,
                         int ldc, uint64_t d, int d_type, int ldd, int sums, int way,
                         int32_t solution, uint32_t flags)
{
    (void)way;
    (void)solution;
    (void)flags;
    if (!handle || a_type != 168 || b_type != 168 || (d_type != 168 && d_type != 151) ||
        sums != 151 || c != d || c_type != d_type || ldc != ldd)
        return REFUSED;
    return multiply(&(struct product){turn_a == 112, turn_b == 112, d_type == 151, m, n, k, a,
                                      b, d, lda, ldb, ldd, *alpha, *beta});
}

/* ---- hipBLASLt ---- */

struct layout {
    int type;
    uint64_t rows, columns;
    int64_t pitch;
};

struct desc {
    int32_t turn[2];
};

SEEN int hipblasLtCreate(void **handle)
{
    return make_handle(handle);
}

SEEN int hipblasLtMatmulDescCreate(void **made, int sums, int scale)
{
    struct desc *desc = calloc(1, sizeof *desc);
    *made = desc;
    return desc && sums == 2 && scale == 0 ? FINE : REFUSED;
}

SEEN int hipblasLtMatmulDescSetAttribute(void *made, int what, const void *value, size_t bytes)
{
    struct desc *desc = made;
    if (!desc || (what != 0 && what != 1) || bytes != sizeof(int32_t))
        return REFUSED;
    memcpy(&desc->turn[what], value, bytes);
    return FINE;
}

SEEN int hipblasLtMatmulDescDestroy(void *made)
{
    free(made);
    return FINE;
}

SEEN int hipblasLtMatrixLayoutCreate(void **made, int type, uint64_t rows, uint64_t columns,
                                     int64_t pitch)
{
    struct layout *layout = calloc(1, sizeof *layout);
    if (layout)
        *layout = (struct layout){type, rows, columns, pitch};
    *made = layout;
    return layout ? FINE : REFUSED;
}

SEEN int hipblasLtMatrixLayoutDestroy(void *made)
{
    free(made);
    return FINE;
}

SEEN int hipblasLtMatmulPreferenceCreate(void **made)
{
    *made = malloc(1);
    return *made ? FINE : REFUSED;
}

SEEN int hipblasLtMatmulPreferenceDestroy(void *made)
{
    free(made);
    return FINE;
}

/* Layouts that fit together, and a way that hipblasLtMatmul knows again. */
SEEN int hipblasLtMatmulAlgoGetHeuristic(void *handle, void *made, const struct layout *a,
                                         const struct layout *b, const struct layout *c,
                                         const struct layout *d, void *preference, int n,
                                         char *results, int *found)
{
    const struct desc *desc = made;
    bool ta = desc->turn[0] == 112, tb = desc->turn[1] == 112;
    uint64_t m = ta ? a->columns : a->rows, k = ta ? a->rows : a->columns,
             n_of = tb ? b->rows : b->columns, k_of = tb ? b->columns : b->rows;
    *found = 0;
    if (!handle || !preference || n < 1 || k != k_of || c->rows != m || c->columns != n_of ||
        memcmp(c, d, sizeof *c) != 0 || a->type != 14 || b->type != 14)
        return REFUSED;
    memcpy(results, "chosen", 7);
    *found = 1;
    return FINE;
}

SEEN int hipblasLtMatmul(void *handle, void *made, const float *alpha, uint64_t a,
                         const struct layout *a_of, uint64_t b, const struct layout *b_of,
                         const float *beta, uint64_t c, const struct layout *c_of, uint64_t d,
                         const struct layout *d_of, const char *way, void *space, size_t bytes,
                         void *stream)
{
    const struct desc *desc = made;
    bool ta = desc->turn[0] == 112, tb = desc->turn[1] == 112;
    if (!handle || strcmp(way, "chosen") != 0 || space || bytes || stream || c != d ||
        c_of != d_of || (d_of->type != 14 && d_of->type != 0))
        return REFUSED;
    return multiply(&(struct product){ta, tb, d_of->type == 0, (int)d_of->rows,
                                      (int)d_of->columns,
                                      (int)(ta ? a_of->rows : a_of->columns), a, b, d,
                                      a_of->pitch, b_of->pitch, d_of->pitch, *alpha, *beta});
}

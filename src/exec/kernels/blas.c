/* The home of the CBLAS prototypes; see blas.h. */
#include "exec/kernels/blas.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CBLAS_ROW_MAJOR = 101, CBLAS_NO_TRANS = 111, CBLAS_TRANS = 112 };

/* The pthread variant first: the serial one has no locks, the OpenMP one ties our threads to
 * its own. The soname alone is whatever update-alternatives points to. */
static const char *const library_names[] = {
#if defined(__x86_64__)
    "/usr/lib/x86_64-linux-gnu/openblas-pthread/libopenblas.so.0",
#elif defined(__aarch64__)
    "/usr/lib/aarch64-linux-gnu/openblas-pthread/libopenblas.so.0",
#endif
    "libopenblas.so.0",
};

/* NULL: leave the choice to the library. __builtin_cpu_supports honours what an emulator hides,
 * so AVX-512 kernels are never forced under valgrind. */
static const char *core_type(void)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        return "SkylakeX";
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return "Haswell";
#endif
    return NULL;
}

static void set_environment(void)
{
    const char *set = getenv("OPENBLAS_CORETYPE");
    const char *core = core_type();
    if (core && (!set || set[0] == '\0'))
        setenv("OPENBLAS_CORETYPE", core, 1);
    setenv("OPENBLAS_NUM_THREADS", "1", 1);
}

/* dlsym returns an object pointer; ISO C has no cast from it to a function pointer. */
static bool find_function(void *library, const char *name, void *function_pointer)
{
    void *symbol = dlsym(library, name);
    if (symbol)
        memcpy(function_pointer, &symbol, sizeof symbol);
    return symbol != NULL;
}

static void describe(struct blas *blas)
{
    char *(*config)(void) = NULL, *(*corename)(void) = NULL;
    int (*parallel)(void) = NULL;
    char version[48] = "";
    if (find_function(blas->library, "openblas_get_config", &config))
        sscanf(config(), "OpenBLAS %47s", version);
    snprintf(blas->core, sizeof blas->core, "%s",
             find_function(blas->library, "openblas_get_corename", &corename) ? corename()
                                                                              : "unknown");
    snprintf(blas->name, sizeof blas->name, "OpenBLAS%s%s %s", version[0] ? " " : "", version,
             blas->core);
    blas->one_thread =
        find_function(blas->library, "openblas_get_parallel", &parallel) && parallel() == 0;
}

void blas_plain(struct blas *blas)
{
    *blas = (struct blas){.core = "none", .name = "plain C"};
}

enum status blas_open(struct blas *blas, struct err *err)
{
    blas_plain(blas);
    set_environment();
    void *library = NULL;
    for (size_t i = 0; !library && i < sizeof library_names / sizeof *library_names; i++)
        library = dlopen(library_names[i], RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        err_set(err, STATUS_ABSENT,
                "OpenBLAS cannot be opened: \"libopenblas.so.0\" is absent");
        return err_hint(err, "apt-get install libopenblas0-pthread");
    }
    if (!find_function(library, "cblas_sgemm", &blas->sgemm)) {
        dlclose(library);
        return err_set(err, STATUS_ABSENT, "\"libopenblas.so.0\" has no cblas_sgemm");
    }
    blas->library = library;
    describe(blas);
    return STATUS_OK;
}

void blas_close(struct blas *blas)
{
    if (blas->library)
        dlclose(blas->library);
    blas_plain(blas);
}

static float element(const float *matrix, bool transposed, int ld, int row, int column)
{
    size_t step = (size_t)ld;
    return transposed ? matrix[(size_t)column * step + (size_t)row]
                      : matrix[(size_t)row * step + (size_t)column];
}

static void clear_row(const struct gemm *gemm, float *c)
{
    for (int j = 0; j < gemm->n; j++)
        c[j] = gemm->beta > 0 ? c[j] : 0;
}

/* The first in plain C: every element is one sum over k in ascending order, so a row's result
 * does not depend on the other rows. */
static void gemm_plain(const struct gemm *gemm)
{
    for (int i = 0; i < gemm->m; i++) {
        float *c = gemm->c + (size_t)i * (size_t)gemm->ldc;
        clear_row(gemm, c);
        for (int p = 0; p < gemm->k; p++) {
            float a = element(gemm->a, gemm->a_transposed, gemm->lda, i, p);
            if (gemm->b_transposed) {
                for (int j = 0; j < gemm->n; j++)
                    c[j] += a * gemm->b[(size_t)j * (size_t)gemm->ldb + (size_t)p];
            } else {
                const float *b = gemm->b + (size_t)p * (size_t)gemm->ldb;
                for (int j = 0; j < gemm->n; j++)
                    c[j] += a * b[j];
            }
        }
    }
}

void blas_multiply(const struct blas *blas, int m, int k, int n, const float *a, const float *b,
                   float *c)
{
    const struct gemm gemm = {
        .m = m, .n = n, .k = k, .a = a, .lda = k, .b = b, .ldb = n, .c = c, .ldc = n};
    blas_gemm(blas, &gemm);
}

void blas_gemm(const struct blas *blas, const struct gemm *gemm)
{
    if (gemm->m == 0 || gemm->n == 0)
        return;
    if (!blas->sgemm || gemm->k == 0) {
        gemm_plain(gemm);
        return;
    }
    blas->sgemm(CBLAS_ROW_MAJOR, gemm->a_transposed ? CBLAS_TRANS : CBLAS_NO_TRANS,
                gemm->b_transposed ? CBLAS_TRANS : CBLAS_NO_TRANS, gemm->m, gemm->n, gemm->k,
                1.0F, gemm->a, gemm->lda, gemm->b, gemm->ldb, gemm->beta, gemm->c, gemm->ldc);
}

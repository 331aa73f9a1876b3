/* Single-precision GEMM: OpenBLAS opened at run time, or plain C.
 *
 * OpenBLAS picks its kernels in its constructor from OPENBLAS_CORETYPE or from a table of CPU
 * models that older releases lack, so the variable is set from cpuid before the library is
 * opened (a value the user set is kept). One thread per caller: the executor's workers are the
 * parallelism. */
#ifndef MOEPLAN_EXEC_KERNELS_BLAS_H
#define MOEPLAN_EXEC_KERNELS_BLAS_H

#include <stdbool.h>

#include "base/err.h"

struct gemm {
    bool a_transposed, b_transposed;
    int m, n, k;
    const float *a; /* [m, k], or [k, m] when transposed; rows lda apart */
    int lda;
    const float *b; /* [k, n], or [n, k] when transposed */
    int ldb;
    float beta; /* 0: C is written, whatever it held; 1: added to */
    float *c;   /* [m, n] */
    int ldc;
};

struct blas {
    void *library;   /* NULL: plain C */
    char core[32];   /* "SkylakeX"; "none" for plain C */
    char name[128];  /* for reports: "OpenBLAS 0.3.21 SkylakeX", "plain C" */
    bool one_thread; /* a serial build without locks: never call it from two threads */
    void (*sgemm)(int order, int trans_a, int trans_b, int m, int n, int k, float alpha,
                  const float *a, int lda, const float *b, int ldb, float beta, float *c,
                  int ldc);
};

/* Address space that the library takes when it is opened, and for every thread that multiplies:
 * what VmSize grows by. Without it OpenBLAS waits for memory without end. Measured on Debian's
 * libopenblas0-pthread 0.3.21, one thread of its own: 40 MiB and 128.2 MiB. */
enum { BLAS_LIBRARY_MIB = 48, BLAS_THREAD_MIB = 132 };

/* Opens OpenBLAS; STATUS_ABSENT when there is none (blas is then plain C all the same). Call it
 * before the process starts threads: it sets environment variables. */
enum status blas_open(struct blas *blas, struct err *err);

/* Plain C, without a library. */
void blas_plain(struct blas *blas);

void blas_close(struct blas *blas);

/* C = A B + beta C. Thread-safe unless one_thread. */
void blas_gemm(const struct blas *blas, const struct gemm *gemm);

/* C = A B of whole matrices, [m, k] x [k, n]. */
void blas_multiply(const struct blas *blas, int m, int k, int n, const float *a, const float *b,
                   float *c);

#endif

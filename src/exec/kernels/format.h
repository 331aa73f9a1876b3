/* Number formats as stored: conversion to and from f32, plain and with block scales.
 *
 * A matrix of a quantised format is [rows, columns] with rows the input dimension: elements
 * column by column, then its scales (dtype_matrix_bytes counts both). A quantised activation
 * row of H elements is a [H, 1] matrix. Rounding is to nearest, ties to even; values beyond the
 * format's largest saturate. Rules: seed-systems.md B8. */
#ifndef MOEPLAN_EXEC_KERNELS_FORMAT_H
#define MOEPLAN_EXEC_KERNELS_FORMAT_H

#include <stdint.h>

#include "plan/plan.h"

uint16_t format_to_bf16(float value);

/* An element format narrower than 16 bits: 1 sign, exponent, mantissa. */
struct narrow {
    unsigned exponent_bits, mantissa_bits;
    int bias;
    float largest;
    int largest_exponent; /* of its largest binade: 8 for E4M3, 2 for E2M1 */
};

extern const struct narrow format_e4m3, format_e2m1;

float format_decode(const struct narrow *format, unsigned code);
unsigned format_encode(const struct narrow *format, float value);

/* n elements of a plain format (dtype_is_plain), from element `first` of `data`. */
void format_load(enum dtype dtype, const void *data, uint64_t first, uint64_t n, float *out);
void format_store(enum dtype dtype, void *data, uint64_t first, uint64_t n, const float *in);
/* The value after a trip through a plain format. */
float format_round(enum dtype dtype, float value);
void format_round_all(enum dtype dtype, uint64_t n, float *values);

/* Quantises a matrix; `column` writes rows [r0, r0 + n) of column c into `out`. Plain formats
 * are stored row by row and are not handled here. */
struct matrix_source {
    const void *context;
    void (*column)(const void *context, uint64_t c, uint64_t r0, uint64_t n, float *out);
};

/* A row of elements as a matrix of one column. */
struct matrix_source format_row_source(const float *values);

/* `scratch` holds max(rows, 128 * 128) floats. */
void format_encode_matrix(enum dtype dtype, uint64_t rows, uint64_t columns,
                          const struct matrix_source *source, float *scratch, void *out);

/* Columns [c0, c0 + nc), rows [r0, r0 + nr): out[(c - c0) * nr + (r - r0)]. */
void format_decode_columns(enum dtype dtype, const void *matrix, uint64_t rows,
                           uint64_t columns, uint64_t r0, uint64_t nr, uint64_t c0, uint64_t nc,
                           float *out);

#endif

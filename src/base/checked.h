/* 64-bit arithmetic that notices overflow, and the roundings by name.
 * Bytes, FLOPs, rows and counts are uint64_t everywhere; a size that overflows is an input
 * error, never a wrapped number. */
#ifndef MOEPLAN_BASE_CHECKED_H
#define MOEPLAN_BASE_CHECKED_H

#include <stdbool.h>
#include <stdint.h>

/* a * b, a * b * c, a + b; on overflow UINT64_MAX and *overflow = true (sticky). */
static inline uint64_t checked_mul(uint64_t a, uint64_t b, bool *overflow)
{
    uint64_t product;
    if (!__builtin_mul_overflow(a, b, &product))
        return product;
    *overflow = true;
    return UINT64_MAX;
}

static inline uint64_t checked_mul3(uint64_t a, uint64_t b, uint64_t c, bool *overflow)
{
    return checked_mul(checked_mul(a, b, overflow), c, overflow);
}

static inline uint64_t checked_add(uint64_t a, uint64_t b, bool *overflow)
{
    uint64_t sum;
    if (!__builtin_add_overflow(a, b, &sum))
        return sum;
    *overflow = true;
    return UINT64_MAX;
}

/* a * b, a + b; on overflow UINT64_MAX */
static inline uint64_t saturated_mul(uint64_t a, uint64_t b)
{
    bool overflow = false;
    return checked_mul(a, b, &overflow);
}

static inline uint64_t saturated_add(uint64_t a, uint64_t b)
{
    bool overflow = false;
    return checked_add(a, b, &overflow);
}

static inline uint64_t greater(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static inline uint64_t lesser(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* all - taken, or 0 */
static inline uint64_t remaining(uint64_t all, uint64_t taken)
{
    return all > taken ? all - taken : 0;
}

/* ceil(a / b), b > 0 */
static inline uint64_t ceil_div(uint64_t a, uint64_t b)
{
    return a / b + (a % b != 0);
}

/* a rounded up to a multiple of b, b > 0; saturates at UINT64_MAX */
static inline uint64_t round_up(uint64_t a, uint64_t b)
{
    return saturated_mul(ceil_div(a, b), b);
}

#endif

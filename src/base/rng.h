/* Random numbers by counter: Philox4x32-10 (Salmon et al., SC'11), so a number is a pure
 * function of (seed, where it is used). Nothing depends on order or on the number of threads.
 *
 * A place is four counters; by convention {token, rank, step, purpose << 24 | block}. A stream
 * walks the blocks of one place. Values are the same on every machine: no libm is used below
 * uniform numbers except sqrt, which IEEE fixes. */
#ifndef MOEPLAN_BASE_RNG_H
#define MOEPLAN_BASE_RNG_H

#include <stddef.h>
#include <stdint.h>

/* 128 random bits of a place. */
void rng_block(uint64_t seed, const uint32_t counter[4], uint32_t out[4]);

/* Blocks first_block .. first_block + n_blocks-1 of the streams (purpose, step, rank, token) of
 * n tokens from `first` on: out [n][n_blocks][4], what rng_u32 would hand out. */
void rng_fill(uint64_t seed, uint32_t purpose, uint32_t step, uint32_t rank, uint32_t first,
              uint32_t n, unsigned first_block, unsigned n_blocks, uint32_t *out);

/* The same word by word: out [n_blocks][4][n up to a multiple of four]. */
void rng_fill_across(uint64_t seed, uint32_t purpose, uint32_t step, uint32_t rank,
                     uint32_t first, uint32_t n, unsigned first_block, unsigned n_blocks,
                     uint32_t *out);

/* The words of successive blocks from counter[3] on; plain data, a copy is a second reader. */
struct rng {
    uint64_t seed;
    uint32_t counter[4];
    uint32_t word[4];
    unsigned left; /* words not yet handed out */
};

/* The stream of a place; purpose < 256 keeps the uses of one seed apart. */
void rng_init(struct rng *rng, uint64_t seed, uint32_t purpose, uint32_t step, uint32_t rank,
              uint32_t token);

uint32_t rng_u32(struct rng *rng);
uint64_t rng_u64(struct rng *rng);
uint64_t rng_below(struct rng *rng, uint64_t n);              /* 0 .. n-1 without bias, n > 0 */
void rng_order(struct rng *rng, uint32_t *order, uint32_t n); /* 0 .. n-1, shuffled */
double rng_uniform(struct rng *rng);                          /* in (0, 1), 53 bits */
double rng_exponential(struct rng *rng);                      /* mean 1 */
double rng_normal(struct rng *rng);                           /* mean 0, variance 1 */
double rng_gamma(struct rng *rng, double shape); /* mean and variance `shape`, shape > 0 */

/* Exponential numbers, mean 1, one for each of n random words. */
void rng_exponentials(size_t n, const uint32_t *words, double *out);

/* Natural logarithm of x > 0, to 2 units in the last place on every machine. */
double rng_log(double x);
/* The normal quantile, 0 < p < 1 (Wichura, AS 241, relative error 1e-16). */
double rng_normal_quantile(double p);

#endif

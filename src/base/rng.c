/* Philox4x32-10 from the Random123 headers, and the distributions moeplan needs; see rng.h. */
#include "base/rng.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include <Random123/philox.h>

void rng_block(uint64_t seed, const uint32_t counter[4], uint32_t out[4])
{
    philox4x32_key_t key = {{(uint32_t)seed, (uint32_t)(seed >> 32)}};
    philox4x32_ctr_t place = {{counter[0], counter[1], counter[2], counter[3]}};
    place = philox4x32(place, key);
    memcpy(out, place.v, sizeof place.v);
}

/* ---- many streams at once ----
 *
 * Lanes are tokens: one 64-bit lane holds one 32-bit word of one token's counter, because the
 * processors multiply 32 by 32 bits in 64-bit lanes. Whatever stands in the upper halves is
 * never multiplied and is cut off at the end. The same numbers as rng_block's; a test compares.
 */

struct fill {
    uint64_t seed;
    uint32_t rank, step, last; /* counter words 1 to 3 */
    size_t stride;             /* words between tokens in out; across: between words of one */
};

enum { ROUNDS = 10 };

/* Numbers of tokens token .. token + 3. */
enum { LANES = 4 };
typedef void lanes_function(const struct fill *fill, uint32_t token, uint32_t *out);

static void lanes_plain(const struct fill *fill, uint32_t token, uint32_t *out)
{
    for (uint32_t i = 0; i < LANES; i++) {
        const uint32_t counter[4] = {token + i, fill->rank, fill->step, fill->last};
        rng_block(fill->seed, counter, out + i * fill->stride);
    }
}

static void across_plain(const struct fill *fill, uint32_t token, uint32_t *out)
{
    for (uint32_t i = 0; i < LANES; i++) {
        const uint32_t counter[4] = {token + i, fill->rank, fill->step, fill->last};
        uint32_t words[4];
        rng_block(fill->seed, counter, words);
        for (unsigned word = 0; word < 4; word++)
            out[word * fill->stride + i] = words[word];
    }
}

#if defined __x86_64__
typedef uint64_t lanes4 __attribute__((vector_size(32)));

/* Products of the low halves of the lanes. */
__attribute__((target("avx2"))) static inline lanes4 multiply_low(lanes4 a, uint32_t constant)
{
    lanes4 b = {constant, constant, constant, constant};
#if defined __clang__ /* recognises the mask */
    return (a & UINT32_MAX) * b;
#else
    typedef int ints8 __attribute__((vector_size(32)));
    return (lanes4)__builtin_ia32_pmuludq256((ints8)a, (ints8)b);
#endif
}

/* A block of four tokens: word by word, a token in each lane. */
__attribute__((target("avx2"))) static inline void block_avx2(const struct fill *fill,
                                                              uint32_t token, lanes4 words[4])
{
    lanes4 zero = {0}, c0 = {0, 1, 2, 3};
    c0 += token;
    lanes4 c1 = zero + fill->rank, c2 = zero + fill->step, c3 = zero + fill->last;
    lanes4 k0 = zero + (uint32_t)fill->seed, k1 = zero + (fill->seed >> 32);
    for (int round = 0; round < ROUNDS; round++) {
        lanes4 a = multiply_low(c0, PHILOX_M4x32_0), b = multiply_low(c2, PHILOX_M4x32_1);
        c0 = (b >> 32) ^ c1 ^ k0;
        c2 = (a >> 32) ^ c3 ^ k1;
        c1 = b;
        c3 = a;
        k0 += PHILOX_W32_0;
        k1 += PHILOX_W32_1;
    }
    words[0] = c0;
    words[1] = c1;
    words[2] = c2;
    words[3] = c3;
}

__attribute__((target("avx2"))) static void lanes_avx2(const struct fill *fill, uint32_t token,
                                                       uint32_t *out)
{
    lanes4 c[4];
    block_avx2(fill, token, c);
    lanes4 low = (c[0] & UINT32_MAX) | c[1] << 32, high = (c[2] & UINT32_MAX) | c[3] << 32;
    for (unsigned i = 0; i < LANES; i++, out += fill->stride) {
        uint64_t word01 = low[i], word23 = high[i];
        memcpy(out, &word01, sizeof word01);
        memcpy(out + 2, &word23, sizeof word23);
    }
}

__attribute__((target("avx2"))) static void across_avx2(const struct fill *fill, uint32_t token,
                                                        uint32_t *out)
{
    typedef uint32_t words4 __attribute__((vector_size(16)));
    lanes4 c[4];
    block_avx2(fill, token, c);
    for (unsigned word = 0; word < 4; word++) {
        words4 low = __builtin_convertvector(c[word], words4);
        memcpy(out + word * fill->stride, &low, sizeof low);
    }
}
static lanes_function *best(bool across)
{
    bool avx2 = __builtin_cpu_supports("avx2");
    return across ? (avx2 ? across_avx2 : across_plain) : avx2 ? lanes_avx2 : lanes_plain;
}
#else
static lanes_function *best(bool across)
{
    return across ? across_plain : lanes_plain;
}
#endif

void rng_fill(uint64_t seed, uint32_t purpose, uint32_t step, uint32_t rank, uint32_t first,
              uint32_t n, unsigned first_block, unsigned n_blocks, uint32_t *out)
{
    lanes_function *lanes = best(false);
    struct fill fill = {.seed = seed, .rank = rank, .step = step, .stride = 4ul * n_blocks};
    for (unsigned block = 0; block < n_blocks; block++, out += 4) {
        fill.last = purpose << 24 | (first_block + block);
        uint32_t i = 0;
        for (; n - i >= LANES; i += LANES)
            lanes(&fill, first + i, out + i * fill.stride);
        for (; i < n; i++) {
            const uint32_t counter[4] = {first + i, rank, step, fill.last};
            rng_block(seed, counter, out + i * fill.stride);
        }
    }
}

void rng_fill_across(uint64_t seed, uint32_t purpose, uint32_t step, uint32_t rank,
                     uint32_t first, uint32_t n, unsigned first_block, unsigned n_blocks,
                     uint32_t *out)
{
    lanes_function *across = best(true);
    struct fill fill = {
        .seed = seed, .rank = rank, .step = step, .stride = (n + LANES - 1) / LANES * LANES};
    for (unsigned block = 0; block < n_blocks; block++, out += 4 * fill.stride) {
        fill.last = purpose << 24 | (first_block + block);
        for (uint32_t i = 0; i < n; i += LANES)
            across(&fill, first + i, out + i);
    }
}

void rng_init(struct rng *rng, uint64_t seed, uint32_t purpose, uint32_t step, uint32_t rank,
              uint32_t token)
{
    *rng = (struct rng){.seed = seed, .counter = {token, rank, step, purpose << 24}};
}

uint32_t rng_u32(struct rng *rng)
{
    if (rng->left == 0) {
        rng_block(rng->seed, rng->counter, rng->word);
        rng->counter[3]++;
        rng->left = 4;
    }
    return rng->word[4 - rng->left--];
}

uint64_t rng_u64(struct rng *rng)
{
    uint64_t high = rng_u32(rng);
    return high << 32 | rng_u32(rng);
}

/* Lemire's multiplication; the rejection zone is n out of 2^64, so one draw nearly always. */
uint64_t rng_below(struct rng *rng, uint64_t n)
{
    __extension__ typedef unsigned __int128 wide;
    for (;;) {
        wide product = (wide)rng_u64(rng) * n;
        uint64_t low = (uint64_t)product;
        if (low >= n || low >= (0 - n) % n)
            return (uint64_t)(product >> 64);
    }
}

void rng_order(struct rng *rng, uint32_t *order, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        order[i] = i;
    for (uint32_t i = n; i > 1; i--) {
        uint64_t other = rng_below(rng, i);
        uint32_t kept = order[i - 1];
        order[i - 1] = order[other];
        order[other] = kept;
    }
}

double rng_uniform(struct rng *rng)
{
    return ((double)(rng_u64(rng) >> 11) + 0.5) * 0x1p-53;
}

double rng_exponential(struct rng *rng)
{
    return -rng_log(rng_uniform(rng));
}

double rng_normal(struct rng *rng)
{
    return rng_normal_quantile(rng_uniform(rng));
}

/* Marsaglia and Tsang 2000; shapes below 1 by the power of a uniform number. */
double rng_gamma(struct rng *rng, double shape)
{
    if (shape < 1)
        return rng_gamma(rng, shape + 1) * pow(rng_uniform(rng), 1 / shape);
    double d = shape - 1.0 / 3, c = 1 / sqrt(9 * d);
    for (;;) {
        double x = rng_normal(rng), v = 1 + c * x;
        if (v <= 0)
            continue;
        v = v * v * v;
        if (rng_log(rng_uniform(rng)) < 0.5 * x * x + d - d * v + d * rng_log(v))
            return d * v;
    }
}

/* x = m 2^k with m in [sqrt(1/2), sqrt(2)); log m = 2 atanh(s), s = (m-1)/(m+1), |s| < 0.172:
 * ten odd terms leave less than 1e-16 of the sum. Two half-length Horner schemes run side by
 * side. For normal x > 0. */
static inline __attribute__((always_inline)) double log_normal_range(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    uint64_t shifted = bits - 0x3fe6a09e667f3bcd + (1024ull << 52); /* sqrt(1/2); k + 1024 */
    double exponent = (double)((int32_t)(shifted >> 52) - 1024);
    bits -= (shifted & 0xfff0000000000000) - (1024ull << 52);
    double m;
    memcpy(&m, &bits, sizeof m);
    double s = (m - 1) / (m + 1), s2 = s * s, s4 = s2 * s2;
    double even =
        1.0 / 3 + s4 * (1.0 / 7 + s4 * (1.0 / 11 + s4 * (1.0 / 15 + s4 * (1.0 / 19))));
    double odd = 1.0 / 5 + s4 * (1.0 / 9 + s4 * (1.0 / 13 + s4 * (1.0 / 17)));
    double sum = 2 * (s + s * s2 * (even + s2 * odd));
    double small = exponent * 1.90821492927058770002e-10; /* ln 2 in two parts */
    return exponent * 6.93147180369123816490e-01 + (small + sum);
}

double rng_log(double x)
{
    bool subnormal = x < 0x1p-1022;
    double log = log_normal_range(subnormal ? x * 0x1p54 : x);
    return subnormal ? log - 54 * 6.93147180559945309417e-01 : log;
}

typedef void logs_function(size_t n, const uint32_t *words, double *out);

#define LOGS_BODY                                                                              \
    for (size_t i = 0; i < n; i++)                                                             \
        out[i] = -log_normal_range(((double)words[i] + 0.5) * 0x1p-32);

static void logs_plain(size_t n, const uint32_t *words, double *out)
{
    LOGS_BODY
}

#if defined __x86_64__
__attribute__((target("avx2"))) static void logs_avx2(size_t n, const uint32_t *words,
                                                      double *out)
{
    LOGS_BODY
}

#endif
#undef LOGS_BODY

static logs_function *best_logs(void)
{
#if defined __x86_64__
    if (__builtin_cpu_supports("avx2"))
        return logs_avx2;
#endif
    return logs_plain;
}

void rng_exponentials(size_t n, const uint32_t *words, double *out)
{
    best_logs()(n, words, out);
}

static double polynomial(const double c[8], double x)
{
    double sum = c[7];
    for (int i = 6; i >= 0; i--)
        sum = sum * x + c[i];
    return sum;
}

/* Coefficients of Wichura's algorithm AS 241 (Applied Statistics 37, 1988): numerator and
 * denominator for the centre, the near and the far tail. */
static const double as241[3][2][8] = {
    {{3.3871328727963666080e0, 1.3314166789178437745e2, 1.9715909503065514427e3,
      1.3731693765509461125e4, 4.5921953931549871457e4, 6.7265770927008700853e4,
      3.3430575583588128105e4, 2.5090809287301226727e3},
     {1.0, 4.2313330701600911252e1, 6.8718700749205790830e2, 5.3941960214247511077e3,
      2.1213794301586595867e4, 3.9307895800092710610e4, 2.8729085735721942674e4,
      5.2264952788528545610e3}},
    {{1.42343711074968357734e0, 4.63033784615654529590e0, 5.76949722146069140550e0,
      3.64784832476320460504e0, 1.27045825245236838258e0, 2.41780725177450611770e-1,
      2.27238449892691845833e-2, 7.74545014278341407640e-4},
     {1.0, 2.05319162663775882187e0, 1.67638483018380384940e0, 6.89767334985100004550e-1,
      1.48103976427480074590e-1, 1.51986665636164571966e-2, 5.47593808499534494600e-4,
      1.05075007164441684324e-9}},
    {{6.65790464350110377720e0, 5.46378491116411436990e0, 1.78482653991729133580e0,
      2.96560571828504891230e-1, 2.65321895265761230930e-2, 1.24266094738807843860e-3,
      2.71155556874348757815e-5, 2.01033439929228813265e-7},
     {1.0, 5.99832206555887937690e-1, 1.36929880922735805310e-1, 1.48753612908506148525e-2,
      7.86869131145613259100e-4, 1.84631831751005468180e-5, 1.42151175831644588870e-7,
      2.04426310338993978564e-15}},
};

double rng_normal_quantile(double p)
{
    double q = p - 0.5;
    if (fabs(q) <= 0.425) {
        double r = 0.180625 - q * q;
        return q * polynomial(as241[0][0], r) / polynomial(as241[0][1], r);
    }
    double r = sqrt(-rng_log(q < 0 ? p : 1 - p));
    int tail = r <= 5 ? 1 : 2;
    r -= tail == 1 ? 1.6 : 5.0;
    double value = polynomial(as241[tail][0], r) / polynomial(as241[tail][1], r);
    return q < 0 ? -value : value;
}

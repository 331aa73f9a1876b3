/* Philox4x32-10 from the Random123 headers, and the distributions moeplan needs; see rng.h. */
#include "base/rng.h"

#include <math.h>
#include <string.h>

#include <Random123/philox.h>

void rng_block(uint64_t seed, const uint32_t counter[4], uint32_t out[4])
{
    philox4x32_key_t key = {{(uint32_t)seed, (uint32_t)(seed >> 32)}};
    philox4x32_ctr_t place = {{counter[0], counter[1], counter[2], counter[3]}};
    place = philox4x32(place, key);
    memcpy(out, place.v, sizeof place.v);
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
 * twelve odd terms leave less than 1e-19 of the sum. */
double rng_log(double x)
{
    int exponent;
    double m = frexp(x, &exponent);
    if (m < 0.70710678118654752440) {
        m *= 2;
        exponent--;
    }
    double s = (m - 1) / (m + 1), square = s * s, sum = 0;
    for (int n = 23; n >= 3; n -= 2)
        sum = (sum + 1.0 / n) * square;
    double small = exponent * 1.90821492927058770002e-10; /* ln 2 in two parts */
    return exponent * 6.93147180369123816490e-01 + (small + 2 * (s + s * sum));
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

/* Integer and random inputs; see inputs.h. */
#include "exec/inputs.h"

#include <math.h>

/* The finaliser of splitmix64: every bit of the result depends on every bit of the key. */
static uint64_t mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
}

static uint64_t draw(const struct inputs *inputs, enum fill fill, uint64_t a, uint64_t b,
                     uint64_t c)
{
    uint64_t key = inputs->seed * 0x9e3779b97f4a7c15U + (uint64_t)fill * 0xd1b54a32d192ed03U;
    return mix(mix(key + a * 0x8cb92ba72f3d8dd7U) + b * 0xaef17502108ef2d9U + c);
}

/* ---- integers ---- */

uint64_t inputs_pick(enum fill fill, uint64_t expert, uint64_t column, uint64_t rows)
{
    bool down = fill == FILL_W2 || fill == FILL_SHARED_2;
    return (column + (down ? 5 * expert + 2 : 3 * expert + 1)) % rows;
}

static float sign(const struct inputs *inputs, enum fill fill, uint64_t a, uint64_t c)
{
    return draw(inputs, fill, a, 0, c) & 1 ? 1 : -1;
}

/* x is 1 or 2, negative half of the time; matrices hold one +-1 per column; so gate and up are
 * at most 2, the activated product 4, and K outputs with gates 1 or 2 stay far below 256. */
static float integer_value(const struct inputs *inputs, enum fill fill, uint64_t a, uint64_t b,
                           uint64_t c)
{
    static const float small[] = {-2, -1, 1, 2};
    const struct inputs_shape *shape = inputs->context;
    switch (fill) {
    case FILL_X:
        return small[draw(inputs, fill, a, b, c) % 4];
    case FILL_DOUT:
        return draw(inputs, fill, a, b, c) & 1 ? 1 : -1;
    case FILL_W13:
    case FILL_SHARED_13:
        return b == inputs_pick(fill, a, c, shape->hidden) ? sign(inputs, fill, a, c) : 0;
    case FILL_W2:
        return b == inputs_pick(fill, a, c, shape->inter) ? sign(inputs, fill, a, c) : 0;
    case FILL_SHARED_2:
        return b == inputs_pick(fill, a, c, shape->shared_inter) ? sign(inputs, fill, a, c) : 0;
    case FILL_B13:
    case FILL_B2:
        return (float)(draw(inputs, fill, a, b, c) % 3) - 1;
    case FILL_ROUTER:
    case FILL_BIAS:
    case FILL_WANTED:
    case FILL_START:
    case FILL_REPLICA:
    case FILL_COUNT:
        break;
    }
    return 0;
}

static float integer_gate(const struct inputs *inputs, uint64_t token, uint64_t k)
{
    return draw(inputs, FILL_COUNT, 0, token, k) & 1 ? 2 : 1;
}

void inputs_integers(struct inputs *inputs, const struct inputs_shape *shape, uint64_t seed)
{
    *inputs = (struct inputs){.name = "integers",
                              .seed = seed,
                              .context = shape,
                              .value = integer_value,
                              .gate = integer_gate,
                              .linear = true,
                              .picked = true};
}

/* ---- random ---- */

static float uniform(const struct inputs *inputs, enum fill fill, uint64_t a, uint64_t b,
                     uint64_t c)
{
    return (float)(draw(inputs, fill, a, b, c) >> 40) * 0x1p-23F - 1;
}

/* Matrices have variance 1/rows times 3, tokens 1/3: products keep the size of tokens. */
static float random_value(const struct inputs *inputs, enum fill fill, uint64_t a, uint64_t b,
                          uint64_t c)
{
    const struct inputs_shape *shape = inputs->context;
    float value = uniform(inputs, fill, a, b, c);
    float hidden = (float)shape->hidden, inter = (float)shape->inter;
    switch (fill) {
    case FILL_W13:
    case FILL_SHARED_13:
        return value * sqrtf(3 / hidden);
    case FILL_W2:
        return value * sqrtf(3 / inter);
    case FILL_SHARED_2:
        return value * sqrtf(3 / (float)shape->shared_inter);
    case FILL_ROUTER:
        return value / sqrtf(hidden);
    case FILL_BIAS:
        return value * 0.05F;
    case FILL_B13:
    case FILL_B2:
        return value * 0.25F;
    case FILL_X:
    case FILL_DOUT:
    case FILL_WANTED:
    case FILL_START:
    case FILL_REPLICA:
    case FILL_COUNT:
        break;
    }
    return value;
}

void inputs_random(struct inputs *inputs, const struct inputs_shape *shape, uint64_t seed)
{
    *inputs = (struct inputs){
        .name = "random", .seed = seed, .context = shape, .value = random_value};
}

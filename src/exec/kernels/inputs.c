/* Integer and random inputs; see inputs.h. */
#include "exec/kernels/inputs.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "plan/derive.h"
#include "plan/layers.h"

struct inputs_shape inputs_shape_of(const struct plan *plan)
{
    return (struct inputs_shape){.hidden = plan->model.hidden,
                                 .routed = model_row_width(&plan->model),
                                 .inter = plan_expert_width(plan),
                                 .shared_inter = plan_shared_width(plan),
                                 .residual_inter = plan_residual_width(plan)};
}

/* Finalisers: every bit of the result depends on every bit of the key (splitmix64; lowbias32,
 * whose products of 32 bits vectorise). */
static uint64_t mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
}

static inline uint32_t scramble(uint32_t x)
{
    x = (x ^ x >> 16) * 0x7feb352dU;
    x = (x ^ x >> 15) * 0x846ca68bU;
    return x ^ x >> 16;
}

/* An element's number is made of three: of what is filled and its matrix, row, column. */
static uint32_t key_of(const struct inputs *inputs, uint64_t what, uint64_t a)
{
    uint64_t key = inputs->seed * 0x9e3779b97f4a7c15U + what * 0xd1b54a32d192ed03U;
    return (uint32_t)mix(key + a * 0x8cb92ba72f3d8dd7U);
}

static inline uint32_t key_row(uint32_t key, uint64_t row)
{
    return scramble(key + (uint32_t)row * 0x9e3779b9U);
}

static inline uint32_t draw(uint32_t row_key, uint64_t column)
{
    return scramble(row_key + (uint32_t)column * 0x85ebca77U);
}

/* ---- integers ---- */

/* The row of a column's element is column + shift, modulo the rows. */
static uint64_t shift_of(enum fill fill, uint64_t expert)
{
    bool down = fill == FILL_W2 || fill == FILL_SHARED_2 || fill == FILL_RESIDUAL_2 ||
                fill == FILL_LATENT_UP;
    return down ? 5 * expert + 2 : 3 * expert + 1;
}

uint64_t inputs_pick(enum fill fill, uint64_t expert, uint64_t column, uint64_t rows)
{
    return (column + shift_of(fill, expert)) % rows;
}

static uint64_t rows_of(const struct inputs_shape *shape, enum fill fill)
{
    const uint64_t rows[FILL_COUNT] = {[FILL_W13] = shape->routed,
                                       [FILL_W2] = shape->inter,
                                       [FILL_SHARED_2] = shape->shared_inter,
                                       [FILL_RESIDUAL_2] = shape->residual_inter,
                                       [FILL_LATENT_UP] = shape->routed};
    return rows[fill] ? rows[fill] : shape->hidden;
}

/* Of a column's element: +-1. */
static float sign(uint32_t key, uint64_t column)
{
    return draw(key, column) & 1 ? 1 : -1;
}

/* The elements of a row are `rows` columns apart. */
static void picked_row(const struct inputs *inputs, enum fill fill, uint64_t a, uint64_t row,
                       uint64_t c, uint64_t n, float *out)
{
    uint64_t rows = rows_of(inputs->context, fill);
    uint64_t first = (row + rows - inputs_pick(fill, a, c, rows)) % rows;
    uint32_t key = key_of(inputs, fill, a);
    memset(out, 0, n * sizeof *out);
    for (uint64_t i = first; i < n; i += rows)
        out[i] = sign(key, c + i);
}

bool inputs_is_matrix(enum fill fill)
{
    return fill == FILL_W13 || fill == FILL_W2 || fill == FILL_SHARED_13 ||
           fill == FILL_SHARED_2 || fill == FILL_RESIDUAL_13 || fill == FILL_RESIDUAL_2 ||
           fill == FILL_LATENT_DOWN || fill == FILL_LATENT_UP;
}

/* What values are multiplied by one by one. */
static bool is_factor(enum fill fill)
{
    return fill == FILL_LATENT_NORM || fill == FILL_ROUTER_NORM || fill == FILL_GATE_SCALE;
}

/* Matrices only: nothing else is read by columns. */
static void integer_column(const struct inputs *inputs, enum fill fill, uint64_t a, uint64_t c,
                           uint64_t r, uint64_t n, float *out)
{
    assert(inputs_is_matrix(fill));
    uint64_t pick = inputs_pick(fill, a, c, rows_of(inputs->context, fill));
    memset(out, 0, n * sizeof *out);
    if (pick >= r && pick - r < n)
        out[pick - r] = sign(key_of(inputs, fill, a), c);
}

/* The gradient of a token: +-1 or, where latent rows are projected up to H, one such in every
 * H / H_latent: each latent element gets H / H_latent of them, which would leave bf16's
 * integers. Which ones depends on the token, so that all columns are met. */
static bool has_gradient(const struct inputs_shape *shape, uint32_t key, uint64_t column)
{
    uint64_t parts = (shape->hidden + shape->routed - 1) / shape->routed;
    return column / shape->routed % parts == (key >> 8) % parts;
}

/* x is 1 or 2, negative half of the time; matrices hold one +-1 per column; so gate and up are
 * at most 2, the activated product 4, and K outputs with gates 1 or 2 stay far below 256. */
static void integer_row(const struct inputs *inputs, enum fill fill, uint64_t a, uint64_t row,
                        uint64_t c, uint64_t n, float *out)
{
    static const float small[] = {-2, -1, 1, 2};
    if (inputs_is_matrix(fill)) {
        picked_row(inputs, fill, a, row, c, n, out);
        return;
    }
    uint32_t key = key_row(key_of(inputs, fill, a), row);
    memset(out, 0, n * sizeof *out); /* the router and all gates' logits stay so */
    for (uint64_t i = 0; is_factor(fill) && i < n; i++)
        out[i] = sign(key, c + i);
    for (uint64_t i = 0; fill == FILL_X && i < n; i++)
        out[i] = small[draw(key, c + i) % 4];
    for (uint64_t i = 0; fill == FILL_DOUT && i < n; i++)
        out[i] = has_gradient(inputs->context, key, c + i) ? sign(key, c + i) : 0;
    for (uint64_t i = 0; (fill == FILL_B13 || fill == FILL_B2) && i < n; i++)
        out[i] = (float)(draw(key, c + i) % 3) - 1;
}

static float integer_gate(const struct inputs *inputs, uint64_t token, uint64_t k)
{
    return sign(key_row(key_of(inputs, FILL_COUNT, 0), token), k) > 0 ? 2 : 1;
}

void inputs_integers(struct inputs *inputs, const struct inputs_shape *shape, uint64_t seed)
{
    *inputs = (struct inputs){.name = "integers",
                              .seed = seed,
                              .context = shape,
                              .row = integer_row,
                              .column = integer_column,
                              .gate = integer_gate,
                              .linear = true,
                              .picked = true};
}

/* ---- random ---- */

/* Factors are about 1. The router's norm divides by the root of the width: its weights make up
 * for that, but for a half, so that logits are about those of tokens, whose squares are 1/3. */
static float middle_of(const struct inputs_shape *shape, enum fill fill)
{
    if (fill == FILL_ROUTER_NORM)
        return 0.5F * sqrtf((float)shape->hidden);
    return is_factor(fill) ? 1 : 0;
}

/* Matrices have variance 1/rows, tokens 1/3: products keep the size of tokens. */
static float scale_of(const struct inputs_shape *shape, enum fill fill)
{
    if (inputs_is_matrix(fill) || fill == FILL_SHARED_GATE)
        return sqrtf(3 / (float)rows_of(shape, fill));
    if (fill == FILL_ROUTER)
        return 1 / sqrtf((float)shape->hidden);
    if (is_factor(fill))
        return 0.5F * middle_of(shape, fill);
    if (fill == FILL_BIAS) /* below the scores of 128 chosen experts: it chooses no others */
        return 0x1p-11F;
    return fill == FILL_B13 || fill == FILL_B2 || fill == FILL_LINEAR_BIAS ? 0.25F : 1;
}

/* In [-1, 1] of all 32 bits. */
static inline float uniform(uint32_t bits)
{
    return (float)(int32_t)bits * 0x1p-31F;
}

static void random_row(const struct inputs *inputs, enum fill fill, uint64_t a, uint64_t row,
                       uint64_t c, uint64_t n, float *out)
{
    uint32_t key = key_row(key_of(inputs, fill, a), row);
    float scale = scale_of(inputs->context, fill), middle = middle_of(inputs->context, fill);
    for (uint64_t i = 0; i < n; i++)
        out[i] = middle + uniform(draw(key, c + i)) * scale;
}

static void random_column(const struct inputs *inputs, enum fill fill, uint64_t a, uint64_t c,
                          uint64_t r, uint64_t n, float *out)
{
    uint32_t key = key_of(inputs, fill, a);
    float scale = scale_of(inputs->context, fill);
    for (uint64_t i = 0; i < n; i++)
        out[i] = uniform(draw(key_row(key, r + i), c)) * scale;
}

void inputs_random(struct inputs *inputs, const struct inputs_shape *shape, uint64_t seed)
{
    *inputs = (struct inputs){.name = "random",
                              .seed = seed,
                              .context = shape,
                              .row = random_row,
                              .column = random_column};
}

/* ---- rows of absent ranks ---- */

static float absent_integer(enum absent_row which, uint32_t bits)
{
    float size = 1;
    if (which == ABSENT_TOKENS || which == ABSENT_GATES)
        size = bits & 2 ? 2 : 1;
    return bits & 1 && which != ABSENT_GATES ? -size : size;
}

/* Multiples of 1/128: in (0, 1] for gates, else in [-1, 1). */
static float absent_random(enum absent_row which, uint32_t bits)
{
    if (which == ABSENT_GATES)
        return (float)(1 + (bits >> 25)) / 128;
    return (float)(bits >> 24) / 128 - 1;
}

void inputs_absent(const struct inputs *inputs, enum absent_row which, uint64_t rank,
                   uint64_t n, float *out)
{
    bool one = which == ABSENT_GATES || which == ABSENT_GATE_GRADIENTS;
    uint32_t key = key_row(key_of(inputs, FILL_COUNT + 1 + (uint64_t)which, 0), rank);
    for (uint64_t i = 0; i < n; i++) {
        uint32_t bits = draw(key, one ? 0 : i);
        out[i] = inputs->picked ? absent_integer(which, bits) : absent_random(which, bits);
    }
}

/* See oracle_latent.h. */
#include "exec/verify/oracle_latent.h"

#include <string.h>

#include "exec/kernels/format.h"
#include "plan/layers.h"

void oracle_latent_init(struct oracle_latent *latent, const struct oracle_setup *setup,
                        struct arena *arena)
{
    const struct model *model = &setup->plan->model;
    uint64_t H = model->hidden, W = model_row_width(model);
    *latent =
        (struct oracle_latent){.setup = setup,
                               .down = oracle_matrix_of(setup, FILL_LATENT_DOWN, H, W, arena),
                               .up = oracle_matrix_of(setup, FILL_LATENT_UP, W, H, arena),
                               .token = arena_alloc(arena, H, sizeof(double)),
                               .squares = arena_alloc(arena, H > W ? H : W, sizeof(double)),
                               .normed = model->moe.latent_norm,
                               .row = arena_alloc(arena, W, sizeof(double)),
                               .row2 = arena_alloc(arena, W, sizeof(double)),
                               .back = arena_alloc(arena, W, sizeof(double)),
                               .back2 = arena_alloc(arena, W, sizeof(double))};
    if (latent->normed)
        oracle_norm_init(&latent->norm, setup, FILL_LATENT_NORM, W, false, arena);
}

void oracle_latent_sums(struct oracle_latent *latent, const struct oracle *o, uint64_t n,
                        struct arena *arena)
{
    latent->sums = arena_alloc(arena, n * o->W, sizeof(double));
    if (o->squares.out)
        latent->sums2 = arena_alloc(arena, n * o->W, sizeof(double));
}

/* As an activation is stored. */
static void store(const struct oracle_latent *latent, uint64_t n, double *row)
{
    for (uint64_t i = 0; i < n; i++)
        row[i] = (double)format_round(latent->setup->activation, (float)row[i]);
}

void oracle_latent_store(struct oracle_latent *latent, uint64_t n)
{
    uint64_t W = latent->down.columns;
    store(latent, n * W, latent->sums);
    if (latent->sums2)
        oracle_squares_least(latent->sums2, latent->sums, n * W, latent->setup->least);
}

void oracle_latent_back(const struct oracle_latent *latent, uint64_t place, double *row,
                        double *squares)
{
    uint64_t W = latent->down.columns;
    const double *sum = latent->sums ? latent->sums + place * W : NULL,
                 *sum2 = latent->sums2 ? latent->sums2 + place * W : NULL;
    oracle_norm_back(&latent->norm, sum, sum2, row, squares);
}

void oracle_latent_row(struct oracle_latent *latent, enum fill fill, const double *token,
                       double *row, double *squares)
{
    const struct oracle_setup *setup = latent->setup;
    uint64_t H = latent->down.rows, W = latent->down.columns;
    if (fill == FILL_X)
        oracle_times(&latent->down, token, row);
    else
        oracle_times_column(&latent->up, token, row);
    if (squares)
        oracle_squares_of(token, H, latent->squares);
    if (squares && fill == FILL_X)
        oracle_times_squares(&latent->down, setup->least, latent->squares, row, squares);
    else if (squares)
        oracle_times_column_squares(&latent->up, setup->least, latent->squares, row, squares);
    store(latent, W, row);
}

/* What goes up of token n: its sum, or that normed; and its squares. */
static void load_up(struct oracle_latent *latent, struct oracle *o, uint64_t n)
{
    double *routed = o->routed + n * o->W,
           *squares = o->squares.out ? o->squares.routed + n * o->W : NULL;
    store(latent, o->W, routed);
    if (squares)
        oracle_squares_least(squares, routed, o->W, o->setup.least);
    if (latent->normed) {
        oracle_norm_row(&latent->norm, routed, latent->row, squares,
                        squares ? latent->row2 : NULL);
        return;
    }
    memcpy(latent->row, routed, o->W * sizeof *routed);
    if (squares)
        memcpy(latent->row2, squares, o->W * sizeof *squares);
}

/* Of out and dx of token n, from those of what went up and of its sum. */
static void add_out_squares(struct oracle_latent *latent, struct oracle *o, uint64_t n)
{
    if (!o->squares.out)
        return;
    oracle_times_squares(&latent->up, o->setup.least, latent->row2, latent->token,
                         latent->squares);
    oracle_add(o->squares.out + n * o->H, latent->squares, o->H, 1);
}

static void add_dx_squares(struct oracle_latent *latent, struct oracle *o, uint64_t n)
{
    double *drouted = o->squares.drouted + n * o->W;
    if (!o->squares.dx)
        return;
    oracle_squares_least(drouted, o->drouted + n * o->W, o->W, o->setup.least);
    oracle_times_column_squares(&latent->down, o->setup.least, drouted, latent->token,
                                latent->squares);
    oracle_add(o->squares.dx + n * o->H, latent->squares, o->H, 1);
}

static void add_gradient_squares(struct oracle_latent *latent, struct oracle *o, uint64_t local,
                                 uint64_t n, const double *x, const double *dout)
{
    if (!o->squares.dlatent_down)
        return;
    oracle_squares_of(x, o->H, latent->squares);
    oracle_outer_squares(latent->squares, o->H, o->squares.drouted + n * o->W, o->W, 1,
                         o->squares.dlatent_down + local * o->W);
    oracle_squares_of(dout, o->H, latent->squares);
    oracle_outer_squares(latent->squares, o->H, latent->row2, o->W, 1,
                         o->squares.dlatent_up + local * o->W);
}

/* To the gradient of the norm's weights. */
static void add_norm_gradient(struct oracle_latent *latent, struct oracle *o, uint64_t local,
                              uint64_t n, const double *dout)
{
    bool squares = o->squares.out != NULL;
    if (!latent->normed)
        return;
    oracle_latent_row(latent, FILL_DOUT, dout, latent->back, squares ? latent->back2 : NULL);
    oracle_norm_weights(&latent->norm, o->routed + n * o->W,
                        squares ? o->squares.routed + n * o->W : NULL, latent->back,
                        latent->back2, o->dlatent_norm + local * o->W,
                        squares ? o->squares.dlatent_norm + local * o->W : NULL);
}

void oracle_latent_token(struct oracle_latent *latent, struct oracle *o, uint64_t local,
                         uint64_t n, const double *x, const double *dout)
{
    load_up(latent, o, n);
    oracle_times(&latent->up, latent->row, latent->token);
    oracle_add(o->out + n * o->H, latent->token, o->H, 1);
    add_out_squares(latent, o, n);
    if (!o->setup.backward)
        return;
    double *drouted = o->drouted + n * o->W;
    store(latent, o->W, drouted);
    oracle_times_column(&latent->down, drouted, latent->token);
    oracle_add(o->dx + n * o->H, latent->token, o->H, 1);
    add_dx_squares(latent, o, n);
    if (!o->dlatent_down)
        return;
    oracle_outer(x, o->H, drouted, o->W, 1, oracle_kept(o, o->dlatent_down, o->H, o->W, local));
    oracle_outer(latent->row, o->W, dout, o->H, 1,
                 oracle_kept(o, o->dlatent_up, o->W, o->H, local));
    add_gradient_squares(latent, o, local, n, x, dout);
    add_norm_gradient(latent, o, local, n, dout);
}

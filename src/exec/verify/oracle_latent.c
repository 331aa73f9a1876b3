/* See oracle_latent.h. */
#include "exec/verify/oracle_latent.h"

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
                               .squares = arena_alloc(arena, H > W ? H : W, sizeof(double))};
}

/* As an activation is stored. */
static void store(const struct oracle_latent *latent, uint64_t n, double *row)
{
    for (uint64_t i = 0; i < n; i++)
        row[i] = (double)format_round(latent->setup->activation, (float)row[i]);
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

/* Of out and dx of token n, from those of its sums. */
static void add_out_squares(struct oracle_latent *latent, struct oracle *o, uint64_t n)
{
    double *routed = o->squares.routed + n * o->W;
    if (!o->squares.out)
        return;
    oracle_squares_least(routed, o->routed + n * o->W, o->W, o->setup.least);
    oracle_times_squares(&latent->up, o->setup.least, routed, latent->token, latent->squares);
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
    oracle_outer_squares(latent->squares, o->H, o->squares.routed + n * o->W, o->W, 1,
                         o->squares.dlatent_up + local * o->W);
}

void oracle_latent_token(struct oracle_latent *latent, struct oracle *o, uint64_t local,
                         uint64_t n, const double *x, const double *dout)
{
    double *routed = o->routed + n * o->W;
    store(latent, o->W, routed);
    oracle_times(&latent->up, routed, latent->token);
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
    oracle_outer(routed, o->W, dout, o->H, 1, oracle_kept(o, o->dlatent_up, o->W, o->H, local));
    add_gradient_squares(latent, o, local, n, x, dout);
}

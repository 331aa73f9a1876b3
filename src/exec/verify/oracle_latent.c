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
                               .token = arena_alloc(arena, H, sizeof(double))};
}

/* As an activation is stored. */
static void store(const struct oracle_latent *latent, uint64_t n, double *row)
{
    for (uint64_t i = 0; i < n; i++)
        row[i] = (double)format_round(latent->setup->activation, (float)row[i]);
}

void oracle_latent_row(struct oracle_latent *latent, enum fill fill, const double *token,
                       double *row)
{
    if (fill == FILL_X)
        oracle_times(&latent->down, token, row);
    else
        oracle_times_column(&latent->up, token, row);
    store(latent, latent->down.columns, row);
}

void oracle_latent_token(struct oracle_latent *latent, struct oracle *o, uint64_t local,
                         uint64_t n, const double *x, const double *dout)
{
    double *routed = o->routed + n * o->W;
    store(latent, o->W, routed);
    oracle_times(&latent->up, routed, latent->token);
    oracle_add(o->out + n * o->H, latent->token, o->H, 1);
    if (!o->setup.backward)
        return;
    double *drouted = o->drouted + n * o->W;
    store(latent, o->W, drouted);
    oracle_times_column(&latent->down, drouted, latent->token);
    oracle_add(o->dx + n * o->H, latent->token, o->H, 1);
    if (!o->dlatent_down)
        return;
    uint64_t each = o->H * o->W;
    struct oracle_terms *terms = &o->terms[local];
    terms->dlatent_down += oracle_outer(x, o->H, drouted, o->W, o->dlatent_down + local * each);
    terms->dlatent_up += oracle_outer(routed, o->W, dout, o->H, o->dlatent_up + local * each);
}

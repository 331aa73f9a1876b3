/* Random small layers: whatever the keys, the host performs what the list says, or refuses it
 * by name. Checks pass, FLOP and bytes equal the prediction, the metered peak equals it. So too
 * where widths are one, and little is left of sums. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/rng.h"
#include "base/text.h"
#include "sim/moe/route.h"
#include "plan/derive.h"
#include "plan/schema/schema.h"
#include "support/draws.h"
#include "support/layer_case.h"
#include "work/layer/layer.h"

enum { MOST_VALUES = 10 };

static const struct draw {
    const char *key;
    const char *values[MOST_VALUES]; /* the default is one more */
} draws[] = {
    {"model.moe.top_k", {"1", "2", "3", "4", "5", "6"}},
    {"model.hidden", {"7", "32", "33", "64"}},
    {"model.moe.intermediate", {"1", "5", "16", "48"}},
    {"workload.sequence_length", {"1", "2", "3", "16", "31"}},
    {"workload.micro_batch", {"1", "2", "3"}},
    {"moe.buffer", {"worst", "exact", "3"}},
    {"moe.capacity_factor", {"0.1", "0.5", "1", "2", "8"}},
    {"moe.capacity_scope", {"sequence", "batch"}},
    {"moe.block_size", {"1", "3", "32"}},
    {"moe.chunk", {"1", "5", "64"}},
    {"moe.alignment", {"0", "8", "100"}},
    {"moe.skip.dynamic", {"true"}},
    {"moe.overlap", {"true"}},
    {"moe.matmul", {"ragged_dot"}},
    {"moe.dedup", {"false"}},
    {"moe.cores", {"1", "2"}},
    {"moe.shard", {"h", "i", "block"}},
    {"moe.skip.token", {"true"}},
    {"moe.skip.weight", {"ping_pong", "hi_lo"}},
    {"model.moe.shared_experts", {"1", "2"}},
    {"model.moe.shared_intermediate", {"1", "10"}},
    {"model.moe.glu", {"false"}},
    {"model.moe.bias", {"true"}},
    {"model.moe.activation", {"silu", "gelu", "relu", "swiglu_oai"}},
    {"model.moe.router.score", {"softmax", "sigmoid", "sqrtsoftplus"}},
    {"model.moe.router.normalize", {"true", "false"}},
    {"model.moe.router.bias", {"true"}},
    {"model.moe.router.linear_bias", {"true"}},
    {"model.moe.scale", {"pre"}},
    {"model.moe.shared_gate", {"true"}},
    {"model.residual_intermediate", {"1", "10"}},
    {"precision.weights",
     {"bf16", "f16", "fp8", "fp8_channel", "fp8_block", "mxfp8", "mxfp4", "nvfp4"}},
    {"precision.activations", {"bf16", "f16"}},
    {"precision.dispatch", {"bf16", "f16", "fp8", "fp8_block", "mxfp8"}},
    {"precision.combine", {"bf16", "f16"}},
    {"precision.gradients", {"bf16"}},
    {"moe.routing.distribution", {"uniform", "zipf", "lognormal", "dirichlet", "hot_rank"}},
    {"moe.routing.placement", {"contiguous", "strided", "eplb"}},
    {"moe.routing.alpha", {"0.1", "1", "2.5"}},
    {"moe.cores", {"2"}},
    {"moe.shard", {"i", "block"}},
    {"moe.skip.token", {"true"}},
    {"moe.skip.weight", {"ping_pong", "hi_lo"}},
    {"moe.skip.static", {"kernel"}},
    {"moe.dedup", {"false"}},
    {"model.moe.latent_size", {"8", "16"}},
    {"model.moe.latent_norm", {"true"}},
    {"model.moe.router.learned_scale", {"true"}},
};

static unsigned n_values(const struct draw *draw)
{
    unsigned n = 0;
    while (n < MOST_VALUES && draw->values[n])
        n++;
    return n;
}

/* What was drawn is kept as text, for the message of a failure. */
static void set(struct plan *plan, const char *key, const char *value, struct text *how)
{
    struct err err = {0};
    if (schema_set(schema_find(key), plan, value, false, (struct mark){0}, &err) != STATUS_OK)
        fail_msg("%s=%s: %s", key, value, err.text);
    text_printf(how, " --set %s=%s", key, value);
}

static void random_plan(struct plan *plan, uint64_t number, struct text *how)
{
    struct rng rng;
    rng_init(&rng, draws_seed(1), 77, 0, 0, (uint32_t)number);
    uint64_t ranks = 1ULL << rng_below(&rng, 4);
    case_plan(plan, case_paths[number % CASE_PATHS], ranks);
    text_printf(how, "%s, %d ranks", words_path[plan->moe.path], (int)ranks);
    plan->model.moe.experts = ranks * (1 + rng_below(&rng, 4));
    plan->moe.redundant_experts = rng_below(&rng, 4) ? 0 : ranks;
    text_printf(how, ", %d experts, %d more", (int)plan->model.moe.experts,
                (int)plan->moe.redundant_experts);
    for (size_t i = 0; i < sizeof draws / sizeof *draws; i++)
        if (rng_below(&rng, 2))
            set(plan, draws[i].key, draws[i].values[rng_below(&rng, n_values(&draws[i]))], how);
    if (plan->model.moe.top_k > plan->model.moe.experts)
        plan->model.moe.top_k = plan->model.moe.experts;
    struct err err = {0};
    if (layer_check(plan, &err) != STATUS_OK) /* halves of odd sizes, i with weight skipping */
        set(plan, "moe.cores", "1", how);
}

/* True when it was performed: all ranks, or one alone. */
static bool perform(const struct plan *plan, const char *how, bool alone, uint64_t rank,
                    struct arena *arena)
{
    struct err err = {0};
    struct route routing;
    struct case_result result;
    struct case_options options = {
        .backward = plan->moe.path != PATH_DEEPEP_LL, .alone = alone, .rank = rank};
    if (route_init(plan, NULL, NULL, arena, &routing, &err) != STATUS_OK)
        fail_msg("%s: %s", how, err.text);
    route_step(&routing, 0);
    enum status status = case_run(plan, &routing.sample, &options, &result, &err);
    /* a buffer of three times the balanced rows may be too small: said, not overrun */
    if (status == STATUS_NOFIT && plan->moe.buffer == SIZING_FACTOR)
        return false;
    if (status != STATUS_OK)
        fail_msg("%s: %s", how, err.text);
    case_expect(&result, how);
    return true;
}

/* Of widths at which a result is a sum of one, two or three terms, which may cancel: errors are
 * judged by the terms. */
static void narrow_plan(struct plan *plan, uint64_t number, struct text *how)
{
    static const struct draw widths[] = {
        {"model.hidden", {"1", "2", "3"}},
        {"model.moe.intermediate", {"1", "2"}},
        {"model.moe.latent_size", {"0", "1", "2"}},
        {"model.moe.shared_intermediate", {"0", "1", "2"}},
        {"model.residual_intermediate", {"0", "1", "2"}},
        {"workload.sequence_length", {"1", "2", "5", "24"}},
        {"model.moe.top_k", {"1", "2", "3"}},
    };
    struct rng rng;
    random_plan(plan, number, how);
    rng_init(&rng, draws_seed(2), 77, 0, 0, (uint32_t)number);
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++)
        set(plan, widths[i].key, widths[i].values[rng_below(&rng, n_values(&widths[i]))], how);
    plan->model.moe.shared_experts = plan->model.moe.shared_intermediate > 0;
    if (plan->model.moe.top_k > plan->model.moe.experts)
        plan->model.moe.top_k = plan->model.moe.experts;
    struct err err = {0};
    if (layer_check(plan, &err) != STATUS_OK)
        set(plan, "moe.cores", "1", how);
}

/* The plan performed by all ranks and by one alone; whether the ranks were. */
static bool perform_both(const struct plan *plan, uint64_t number, struct text *how,
                         struct arena *arena)
{
    bool performed = perform(plan, text_string(how), false, 0, arena);
    uint64_t rank = number % plan->parallel.ep;
    text_printf(how, ": rank %d alone", (int)rank);
    perform(plan, text_string(how), true, rank, arena);
    return performed;
}

/* So many of `plans` as the share takes; at least a part of them is performed, as the buffers
 * of some are too small, and others are refused by name. */
static void perform_draws(unsigned plans, double least,
                          void (*draw)(struct plan *plan, uint64_t number, struct text *how))
{
    unsigned performed = 0;
    draws_print(plans);
    for (uint64_t i = 0; i < draws_of(plans); i++) {
        struct arena arena = {0};
        struct plan plan;
        struct text how = {.arena = &arena};
        struct err err = {0};
        draw(&plan, i, &how);
        if (layer_check(&plan, &err) == STATUS_OK)
            performed += perform_both(&plan, i, &how, &arena);
        arena_release(&arena);
    }
    draws_reach("performed", performed, least * draws_of(plans));
}

static void the_host_performs_what_the_list_says(void **state)
{
    (void)state;
    perform_draws(280, 0.75, random_plan);
}

static void a_correct_layer_of_any_width_passes(void **state)
{
    (void)state;
    perform_draws(800, 0.5, narrow_plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_host_performs_what_the_list_says),
        cmocka_unit_test(a_correct_layer_of_any_width_passes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

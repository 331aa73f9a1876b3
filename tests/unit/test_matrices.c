/* The table of a layer's matrices and the closed counts of its parameters say one thing, of
 * every shipped model and every kind of layer that it has. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/text.h"
#include "plan/read/catalog.h"
#include "support/catalogue.h"
#include "support/plans.h"
#include "plan/mixer.h"
#include "work/piece/matrix.h"
#include "work/stack/stack.h"

/* Elements of the table's matrices in a layer, on one device: of the mixer or of the network;
 * `pieces`: of the matrices that a checkpoint has in their place. */
static uint64_t elements(const struct plan *plan, enum layer_kind kind, bool network,
                         bool pieces, struct arena *arena)
{
    struct sizes z;
    struct dims d;
    struct slots slots;
    size_t n;
    sizes_init(&z, arena);
    dims_fill(&d, plan, &z);
    dims_mixer(&d, kind_mixer(kind));
    const struct layer_matrix *m = matrices_of_layer(&n), *end = m + n;
    struct size sum = size_const(&z, 0);
    for (; m < end; m++) {
        bool is_network = m->segments != IN_ALL;
        if (is_network != network || !matrix_exists(m, &d, in_ffn(kind_ffn(kind))))
            continue;
        enum col out[MATRIX_PIECES] = {m->out};
        size_t parts = pieces ? matrix_pieces(m, &d, out) : 1;
        for (size_t i = 0; i < parts; i++) {
            struct size one = size_mul(&z, d.width[m->in], d.width[out[i]]);
            sum = size_add(&z, sum, m->expert ? size_mul(&z, one, d.letters.local) : one);
        }
    }
    uint64_t *values = arena_alloc(arena, z.n, sizeof *values);
    slots_from_plan(plan, &slots);
    assert_true(sizes_eval(&z, &slots, values));
    return values[sum.node];
}

/* Matrices of a mixer without the taps of a convolution, which no product multiplies, and of a
 * layer's own embeddings, which stand beside every mixer. */
static uint64_t mixer_count(const struct model *model, const struct params *params,
                            enum mixer mixer)
{
    bool overflow = false;
    uint64_t taps = mixer_has(mixer, MIXER_LINEAR)
                        ? linear_widths(model, &overflow).conv * model->linear.conv
                        : 0;
    return params->mixer[mixer].matrices - taps + params->layer_input.matrices;
}

static uint64_t network_count(const struct model *model, const struct params *params,
                              enum layer_kind kind)
{
    enum ffn ffn = kind_ffn(kind);
    uint64_t gate =
        model->moe.shared_intermediate && model->moe.shared_gate ? model->hidden : 0;
    if (ffn == FFN_NONE)
        return 0;
    if (ffn == FFN_DENSE)
        return params_dense(params, kind_mixer(kind))->matrices;
    return model->moe.experts * params->expert.matrices + params->router.matrices +
           params->shared.matrices - gate + params->residual.matrices + params->latent.matrices;
}

static void expect_model(const char *name, struct arena *arena)
{
    struct plan plan;
    struct params params;
    bool kinds[KIND_COUNT];
    catalogue_plan(name, NULL, NULL, arena, &plan);
    params_count(&plan.model, &params);
    model_kinds(&plan.model, kinds);
    for (unsigned k = 0; k < KIND_COUNT; k++) {
        enum layer_kind kind = (enum layer_kind)k;
        const uint64_t counts[] = {mixer_count(&plan.model, &params, kind_mixer(kind)),
                                   network_count(&plan.model, &params, kind)};
        for (unsigned i = 0; i < 4 && kinds[k]; i++) {
            uint64_t listed = elements(&plan, kind, i & 1, i & 2, arena);
            if (listed != counts[i & 1])
                fail_msg("%s, kind %u, %s%s: %llu in the table, %llu counted", name, k,
                         i & 1 ? "network" : "mixer", i & 2 ? " in pieces" : "",
                         (unsigned long long)listed, (unsigned long long)counts[i & 1]);
        }
    }
}

static void every_model_has_the_matrices_it_counts(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct catalog_item *items = NULL;
    size_t n = 0;
    catalog_list(CATALOG_MODEL, &arena, &items, &n);
    assert_true(n > 60);
    for (size_t i = 0; i < n; i++) {
        struct arena own = {0};
        expect_model(items[i].name, &own);
        arena_release(&own);
    }
    arena_release(&arena);
}

static uint64_t held(const struct plan_built *b, const char *name)
{
    const struct buffer *buffer = plan_find(&b->work, name);
    return buffer ? b->values[buffer->bytes.node] : 0;
}

/* Arctic's network beside the experts, H = I = 7168, in a step of 4,096 tokens: what a layer
 * keeps of it, T (2 I + I) b fused, T 4 I b unfused. */
static void a_network_beside_the_experts_is_kept(void **state)
{
    (void)state;
    enum { T = 4096, I = 7168, BF16 = 2 };
    static const char text[] = "{model: arctic, cluster: h200-16x8, stack: megatron, workload: "
                               "{mode: train, sequence_length: 4096, micro_batch: 1}, "
                               "parallel: {ep: 16, dp: 128}}";
    struct plan_built b;
    plan_build(text, "", false, &b);
    assert_int_equal(held(&b, "residual_gate_up"), (uint64_t)T * 2 * I * BF16);
    assert_int_equal(held(&b, "residual_activated"), (uint64_t)T * I * BF16);
    arena_release(&b.arena);
    plan_build(text, "stack=torchtitan", false, &b);
    assert_int_equal(held(&b, "residual_gate") + held(&b, "residual_silu") +
                         held(&b, "residual_up") + held(&b, "residual_product"),
                     (uint64_t)T * 4 * I * BF16);
    arena_release(&b.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_model_has_the_matrices_it_counts),
        cmocka_unit_test(a_network_beside_the_experts_is_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Experts on a latent width, Nemotron-3 Super's in numbers: what a rank holds, saves, sends and
 * multiplies of them (layer-kinds.md 1.9). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/text.h"
#include "support/catalogue.h"
#include "support/plans.h"
#include "plan/params.h"
#include "work/stack/stack.h"

enum { H = 4096, LATENT = 1024, I = 2688, K = 22, E = 512, T = 4096, BF16 = 2 };

struct built {
    struct arena arena;
    struct plan plan;
    struct work work;
    uint64_t *values;
};

static void build_with(const char *stack, uint64_t ep, bool norm, struct built *b)
{
    struct slots slots;
    struct err err = {0};
    memset(b, 0, sizeof *b);
    catalogue_plan("nemotron-3-super", "b200-8x8", stack, &b->arena, &b->plan);
    b->plan.model.moe.latent_norm = norm;
    b->plan.workload = (struct workload){.mode = MODE_TRAIN,
                                         .sequence_length = T,
                                         .micro_batch = 1,
                                         .tokens_per_sequence = 1,
                                         .steps = 1};
    b->plan.recompute = (struct recompute_plan){0};
    b->plan.stack.attention = BACKEND_FLASH;
    b->plan.moe.buffer = SIZING_BALANCED;
    b->plan.parallel.ep = ep;
    if (work_build(&b->plan, &b->arena, &b->work, &err) != STATUS_OK ||
        work_ops(&b->plan, &b->work, &err) != STATUS_OK)
        fail_msg("%s", err.text);
    b->values = arena_alloc(&b->arena, b->work.sizes.n, sizeof *b->values);
    slots_from_plan(&b->plan, &slots);
    slots.value[SLOT_ROWS] = (uint64_t)T * K; /* even routing */
    assert_true(sizes_eval(&b->work.sizes, &slots, b->values));
}

static void build(const char *stack, uint64_t ep, struct built *b)
{
    build_with(stack, ep, false, b);
}

/* Bytes of what the stack holds under a name; of one layer. */
static uint64_t held(const struct built *b, const char *name)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < b->work.n_held; i++)
        if (text_equal(b->work.buffers[i].name, name))
            sum += b->values[b->work.buffers[i].bytes.node];
    return sum;
}

static const struct op *op_called(const struct built *b, const char *name)
{
    for (size_t i = 0; i < b->work.n_ops; i++)
        if (text_equal(b->work.ops[i].name, name))
            return &b->work.ops[i];
    fail_msg("no op %s", name);
    return NULL;
}

static void parameters_are_the_published_ones(void **state)
{
    (void)state;
    struct built b;
    struct params p;
    build("megatron", 8, &b);
    params_count(&b.plan.model, &p);
    assert_int_equal(p.expert.matrices, 2 * LATENT * I);
    assert_int_equal(p.latent.matrices, 2 * H * LATENT);
    assert_int_equal(p.router.matrices, (uint64_t)E * H);
    assert_int_equal(p.shared.matrices, 2 * H * 5376);
    assert_int_equal(p.parameters, 120668707840);
    assert_int_equal(p.active / 10000000,
                     1223); /* published: 12 B, 12.233 to the page's digits */
    arena_release(&b.arena);
}

/* K (l + 2 I) b of the routed experts, l b of what the projection up reads. */
static void training_saves_rows_of_the_latent_width(void **state)
{
    (void)state;
    struct built b;
    build("megatron", 8, &b);
    uint64_t saved =
        held(&b, "expert_input") + held(&b, "expert_gate_up") + held(&b, "expert_activated");
    assert_int_equal(saved, (uint64_t)T * K * (LATENT + 2 * I) * BF16);
    assert_int_equal(held(&b, "latent_out"), T * LATENT * BF16);
    assert_int_equal(held(&b, "moe_out"), T * H * BF16);
    assert_int_equal(held(&b, "mlp_norm_out"), T * H * BF16);
    arena_release(&b.arena);
}

/* Forward FLOP of the products: tokens by [H, l] and [l, H], rows by [l, I] and [I, l]. */
static void products_have_the_latent_shapes(void **state)
{
    (void)state;
    struct built b;
    build("megatron", 8, &b);
    static const struct {
        const char *op;
        uint64_t flop;
    } products[] = {
        {"latent_down", UINT64_C(2) * T * H * LATENT},
        {"latent_up", UINT64_C(2) * T * H * LATENT},
        {"gate_up", UINT64_C(2) * T * K * LATENT * I},
        {"down", UINT64_C(2) * T * K * LATENT * I},
        {"router", UINT64_C(2) * T * H * E},
        {"shared_gate_up", UINT64_C(2) * T * H * 5376},
    };
    for (size_t i = 0; i < sizeof products / sizeof *products; i++) {
        print_message("%s\n", products[i].op);
        assert_int_equal(b.values[op_called(&b, products[i].op)->flop.node], products[i].flop);
    }
    arena_release(&b.arena);
}

static size_t ops_called(const struct built *b, const char *name)
{
    size_t n = 0;
    for (size_t i = 0; i < b->work.n_ops; i++)
        n += text_equal(b->work.ops[i].name, name);
    return n;
}

/* A norm of the sums (Kimi-K3): l parameters a layer, its input saved beside what the
 * projection up reads, one op that reads and writes l b a token, no matrix and no FLOP of one.
 */
static void a_norm_of_the_sums_keeps_its_input(void **state)
{
    (void)state;
    static const char *const stacks[] = {"megatron", "fsdp", "torchtitan", "generic"};
    for (size_t i = 0; i < sizeof stacks / sizeof *stacks; i++) {
        struct built plain, normed;
        struct params a, b;
        print_message("%s\n", stacks[i]);
        build_with(stacks[i], 8, false, &plain);
        build_with(stacks[i], 8, true, &normed);
        params_count(&plain.plan.model, &a);
        params_count(&normed.plan.model, &b);
        assert_int_equal(b.parameters - a.parameters, a.moe_layers * LATENT);
        assert_int_equal(b.active_matrices, a.active_matrices);
        assert_int_equal(ops_called(&plain, "latent_norm"), 0);
        const struct op *op = op_called(&normed, "latent_norm");
        assert_int_equal(normed.values[op->bytes_read.node], T * LATENT * BF16);
        assert_int_equal(normed.values[op->bytes_written.node], T * LATENT * BF16);
        assert_int_equal(held(&plain, "latent_sum"), 0);
        if (i < 3)
            assert_int_equal(held(&normed, "latent_sum"), T * LATENT * BF16);
        else
            assert_int_equal(held(&normed, "latent_normed"), T * LATENT * BF16);
        arena_release(&plain.arena);
        arena_release(&normed.arena);
    }
}

/* Rows of 2 x 1024 bytes travel, not of 2 x 4096, on every training stack. */
static void rows_travel_at_the_latent_width(void **state)
{
    (void)state;
    static const char *const stacks[] = {"megatron", "torchtitan", "deepspeed", "generic"};
    for (size_t s = 0; s < sizeof stacks / sizeof *stacks; s++) {
        struct built b;
        unsigned payloads = 0;
        build(stacks[s], 8, &b);
        for (size_t i = 0; i < b.work.n_ops; i++) {
            const struct op *op = &b.work.ops[i];
            if (op->kind != OP_EXCHANGE || op->group != GROUP_EP)
                continue;
            const struct buffer *rows = &b.work.buffers[op_buffer(&b.work, op, ROLE_SRC)];
            if (rows->n_dims != 2 || rows->category == CATEGORY_METADATA)
                continue;
            assert_int_equal(b.values[rows->dims[1].node], LATENT);
            payloads++;
        }
        print_message("%s: %u exchanges of rows\n", stacks[s], payloads);
        assert_in_range(payloads, 4, 16); /* there and back, forward and backward */
        arena_release(&b.arena);
    }
}

/* vLLM gathers rows of replicas inside its experts, behind the projection down; SGLang's dp
 * attention gathers the tokens themselves. */
static void replicas_join_where_their_engine_does(void **state)
{
    (void)state;
    static const struct {
        const char *set;
        uint64_t width, projected;
    } engines[] = {{"stack=vllm", LATENT, 64}, {"stack=sglang", H, 256}};
    static const char text[] =
        "model: nemotron-3-super\ncluster: b200-8x1\nstack: vllm\n"
        "workload: {mode: decode, sequence_length: 1, context_length: 4096, micro_batch: 64}\n"
        "parallel: {tp: 2, ep: 1, etp: 8, attention_dp: 4}\n";
    for (size_t i = 0; i < sizeof engines / sizeof *engines; i++) {
        struct built b = {.values = NULL};
        struct slots slots;
        struct err err = {0};
        plan_set(text, engines[i].set, &b.arena, &b.plan);
        if (work_build(&b.plan, &b.arena, &b.work, &err) != STATUS_OK ||
            work_ops(&b.plan, &b.work, &err) != STATUS_OK)
            fail_msg("%s", err.text);
        b.values = arena_alloc(&b.arena, b.work.sizes.n, sizeof *b.values);
        slots_from_plan(&b.plan, &slots);
        assert_true(sizes_eval(&b.work.sizes, &slots, b.values));
        const struct op *join = op_called(&b, "join_moe_x");
        const struct buffer *rows = &b.work.buffers[op_buffer(&b.work, join, ROLE_DST)];
        assert_int_equal(b.values[rows->dims[0].node], 4 * 64);
        assert_int_equal(b.values[rows->dims[1].node], engines[i].width);
        assert_int_equal(b.values[op_called(&b, "latent_down")->rows.node],
                         engines[i].projected);
        arena_release(&b.arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parameters_are_the_published_ones),
        cmocka_unit_test(training_saves_rows_of_the_latent_width),
        cmocka_unit_test(products_have_the_latent_shapes),
        cmocka_unit_test(a_norm_of_the_sums_keeps_its_input),
        cmocka_unit_test(rows_travel_at_the_latent_width),
        cmocka_unit_test(replicas_join_where_their_engine_does),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

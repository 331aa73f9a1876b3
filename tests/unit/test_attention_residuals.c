/* Attention residuals, Kimi-K3: sums of blocks of twelve layers (vLLM
 * models/kimi_k3/nvidia/model.py at 006193b5, prev_valid_blocks and num_attn_res_blocks). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "support/catalogue.h"
#include "support/listed.h"
#include "work/piece/stage.h"
#include "work/stack/stack.h"

static void load(enum mode mode, uint64_t pp, struct arena *arena, struct plan *plan)
{
    catalogue_plan("kimi-k3", pp > 1 ? "b300-8x1" : "b300-1x1", "vllm", arena, plan);
    plan->precision.activations = DTYPE_BF16;
    plan->parallel.pp = pp;
    plan->parallel.ep = pp > 1 ? 8 / pp : 1;
    plan->workload = (struct workload){.mode = mode,
                                       .sequence_length = 4096,
                                       .context_length = 4096,
                                       .micro_batch = 2,
                                       .tokens_per_sequence = 1,
                                       .steps = 1};
}

/* What the layers of a stage read and write of blocks, layer by layer: of those before it the
 * mixer, and writes one where a block begins; its network reads that too. */
static uint64_t moved_by(uint64_t first, uint64_t last, uint64_t size)
{
    uint64_t moved = 0;
    for (uint64_t i = first; i < last; i++) {
        uint64_t before = (i + size - 1) / size, begins = i % size == 0;
        moved += before + begins + before + begins;
    }
    return moved;
}

static void stages_know_their_blocks(void **state)
{
    (void)state;
    static const uint64_t sizes[] = {1, 2, 7, 12, 93, 1000};
    struct arena arena = {0};
    struct plan plan;
    struct params params;
    load(MODE_PREFILL, 1, &arena, &plan);
    params_count(&plan.model, &params);
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (uint64_t pp = 1; pp <= 8; pp++) {
            uint64_t first = 0;
            plan.parallel.pp = pp;
            plan.model.residual_block = sizes[s];
            for (uint64_t i = 0; i < pp; i++) {
                struct stage stage;
                stage_at(&plan, i, 0, &params, &stage);
                uint64_t last = first + 93 / pp + (i < 93 % pp);
                assert_int_equal(stage.blocks_in, (first + sizes[s] - 1) / sizes[s]);
                assert_int_equal(stage.blocks_out, (last + sizes[s] - 1) / sizes[s]);
                assert_int_equal(stage.blocks_moved,
                                 moved_by(first, last, sizes[s]) * 1000 / (2 * (last - first)));
                first = last;
            }
        }
    plan.parallel.pp = 1;
    plan.model.residual_block = 12;
    struct stage stage;
    stage_at(&plan, 0, 0, &params, &stage);
    assert_int_equal(stage.blocks_out, 8);
    assert_int_equal(stage.blocks_moved, moved_by(0, 93, 12) * 1000 / 186);
    arena_release(&arena);
}

static const struct buffer *named(const struct work *work, const char *name)
{
    for (size_t i = 0; i < work->n_buffers; i++)
        if (!strcmp(work->buffers[i].name, name))
            return &work->buffers[i];
    fail_msg("no buffer %s", name);
    return NULL;
}

/* An engine holds the blocks beside the residual, and a later stage those that come in. */
static void an_engine_holds_the_blocks(void **state)
{
    (void)state;
    static const struct {
        uint64_t pp, stage, in, out;
    } rows[] = {{1, 1, 0, 8}, {2, 1, 0, 4}, {2, 2, 4, 8}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct arena arena = {0};
        struct plan plan;
        struct work work;
        struct err err = {0};
        load(MODE_PREFILL, rows[i].pp, &arena, &plan);
        plan.parallel.stage = rows[i].stage;
        plan.workload.scenario = SCENARIO_PROFILE_RUN;
        if (work_build(&plan, &arena, &work, &err) != STATUS_OK)
            fail_msg("%s", err.text);
        const uint64_t *values = listed_sizes(&plan, &work), row = 2 * 7168;
        const struct buffer *residual = named(&work, "residual");
        assert_int_equal(values[residual->dims[1].node], (rows[i].out + 1) * 7168);
        if (rows[i].pp > 1) {
            const struct buffer *in = named(&work, "incoming_residual"),
                                *hidden = named(&work, "incoming_hidden");
            uint64_t tokens = values[hidden->dims[0].node];
            assert_int_equal(values[in->all.node], rows[i].in * tokens * row);
            assert_int_equal(values[hidden->dims[1].node], 7168);
        }
        arena_release(&arena);
    }
}

/* Bytes of a list's ops with this name, all layers together. */
static uint64_t read_by(const struct work *work, const uint64_t *values, const char *name)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < work->n_ops; i++)
        if (!strcmp(work->ops[i].name, name))
            sum += values[work->ops[i].bytes_read.node] *
                   values[work->use[work->ops[i].segment].repeat.node];
    return sum;
}

/* The kernels before a mixer and a network read so many rows more than a norm, the one before
 * the head all eight blocks; a draft reads none. */
static void kernels_read_the_blocks(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct plan plan;
    struct work with, without;
    struct err err = {0};
    load(MODE_PREFILL, 1, &arena, &plan);
    const uint64_t row = 2 * 7168, tokens = 2 * 4096;
    assert_int_equal(work_build(&plan, &arena, &with, &err), STATUS_OK);
    assert_int_equal(work_ops(&plan, &with, &err), STATUS_OK);
    uint64_t *values = listed_sizes(&plan, &with);
    uint64_t norms =
        read_by(&with, values, "attention_norm") + read_by(&with, values, "mlp_norm");
    assert_int_equal(read_by(&with, values, "weigh_blocks"), 9 * tokens * row);
    plan.model.residual_block = 0;
    assert_int_equal(work_build(&plan, &arena, &without, &err), STATUS_OK);
    assert_int_equal(work_ops(&plan, &without, &err), STATUS_OK);
    values = listed_sizes(&plan, &without);
    uint64_t plain =
        read_by(&without, values, "attention_norm") + read_by(&without, values, "mlp_norm");
    assert_int_equal(plain, 186 * tokens * row);
    uint64_t mean = moved_by(0, 93, 12) * 1000 / 186;
    assert_int_equal(norms - plain, 186 * (tokens * row * mean / 1000));
    assert_int_equal(read_by(&without, values, "weigh_blocks"), 0);
    arena_release(&arena);
}

/* Behind the first of two stages five rows a token are sent: the sum at hand and four blocks.
 */
static void stages_send_the_blocks(void **state)
{
    (void)state;
    for (uint64_t stage = 1; stage <= 2; stage++) {
        struct arena arena = {0};
        struct plan plan;
        struct work work;
        struct err err = {0};
        uint64_t sent = 0, received = 0;
        load(MODE_PREFILL, 2, &arena, &plan);
        plan.parallel.stage = stage;
        assert_int_equal(work_build(&plan, &arena, &work, &err), STATUS_OK);
        assert_int_equal(work_ops(&plan, &work, &err), STATUS_OK);
        const uint64_t *values = listed_sizes(&plan, &work);
        for (size_t i = 0; i < work.n_ops; i++)
            if (!strcmp(work.ops[i].name, "send_rows")) {
                sent = values[work.ops[i].bytes_sent.node];
                received = values[work.ops[i].bytes_received.node];
            }
        assert_int_equal(stage == 1 ? sent : received, 2 * 4096 * 5 * 2 * UINT64_C(7168));
        assert_int_equal(stage == 1 ? received : sent, 0);
        arena_release(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stages_know_their_blocks),
        cmocka_unit_test(an_engine_holds_the_blocks),
        cmocka_unit_test(kernels_read_the_blocks),
        cmocka_unit_test(stages_send_the_blocks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Every path as a work list: what it allocates, how long it lives, and what must hold of all.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "sim/memory/memory.h"
#include "support/plans.h"
#include "work/dispatch/dispatch.h"
#include "work/stack/stack.h"

static const char *const path_names[PATH_COUNT] = {
    "auto",        "capacity",  "ragged_dot",   "ragged_a2a",  "deepep", "deepep_ll",
    "rdep",        "blockwise", "selective",    "all_experts", "masked", "expert_loop",
    "chunked_a2a", "allgather", "block_sparse", "fused",
};

/* A layer alone: its [T, H] input as a saved buffer, then the path. */
struct built {
    struct arena arena;
    struct work work;
    const uint64_t *values;
    uint16_t input, output;
};

static enum status build(const struct plan *plan, const struct dispatch_style *style,
                         struct built *b, struct err *err)
{
    *b = (struct built){0};
    work_init(&b->work, &b->arena);
    struct sizes *s = &b->work.sizes;
    b->input = work_buffer(&b->work, (struct buffer){.name = "mlp_norm_out",
                                                     .category = CATEGORY_ACTIVATION,
                                                     .segment = SEGMENT_MOE,
                                                     .dtype = plan->precision.activations,
                                                     .n_dims = 2,
                                                     .dims = {size_slot(s, SLOT_TOKENS),
                                                              size_slot(s, SLOT_HIDDEN)},
                                                     .life = LIFE_SAVED,
                                                     .last = WORK_NONE});
    enum status status =
        dispatch_layer(plan, &b->work, plan->moe.path, style, b->input, &b->output, err);
    work_index(&b->work);
    work_index(&b->work);
    if (status == STATUS_OK)
        b->values = plan_evaluate(plan, &b->arena, &b->work);
    return status;
}

static void build_plan(const struct plan *plan, struct built *b)
{
    struct err err = {0};
    struct dispatch_style style = dispatch_style_of(plan);
    if (build(plan, &style, b, &err) != STATUS_OK)
        fail_msg("%s: %s", path_names[plan->moe.path], err.text);
}

static uint64_t bytes_of(const struct built *b, const char *name)
{
    return memory_buffer_bytes(&b->work, b->values, plan_buffer(&b->work, name));
}

static uint64_t peak_of(const struct built *b)
{
    struct memory_peak peak;
    memory_fold(&b->work, b->values, 0, &peak);
    return peak.total_bytes;
}

/* Bytes saved for backward by this layer, tables and the input apart. */
static uint64_t saved_rows(const struct built *b)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < b->work.n_buffers; i++) {
        const struct buffer *buffer = &b->work.buffers[i];
        if (buffer->life == LIFE_SAVED && i != b->input &&
            buffer->category != CATEGORY_METADATA)
            bytes += memory_buffer_bytes(&b->work, b->values, buffer);
    }
    return bytes;
}

/* ---- what saved means ---- */

/* buffers.md 1.4 and 9.2: gates in the activation: P (H + 3 I) b; with the activation
 * recomputed P (H + 2 I) b; the whole layer recomputed: nothing but the input. */
static void saved_sets_match_the_reference(void **state)
{
    (void)state;
    static const char *const activation[] = {"expert_activated", NULL};
    const uint64_t rows = 32768, h = 7168, i = 2048;
    struct plan plan = plan_deepseek(1, 8);
    struct dispatch_style style = dispatch_style_of(&plan);
    style.scale_before_down = true;
    style.shared = false;
    struct built b;
    struct err err = {0};
    assert_int_equal(build(&plan, &style, &b, &err), STATUS_OK);
    assert_true(saved_rows(&b) == rows * (h + 3 * i) * 2);
    assert_true(saved_rows(&b) == 13ull << 26); /* 0.8125 GiB */
    arena_release(&b.arena);

    style.flow.dropped = activation;
    assert_int_equal(build(&plan, &style, &b, &err), STATUS_OK);
    assert_true(saved_rows(&b) == 11ull << 26); /* 0.6875 GiB */
    assert_int_equal(plan_buffer(&b.work, "expert_activated")->life, LIFE_TRANSIENT);
    arena_release(&b.arena);

    style.flow.recompute = true;
    assert_int_equal(build(&plan, &style, &b, &err), STATUS_OK);
    assert_true(saved_rows(&b) == 0);
    assert_true(bytes_of(&b, "mlp_norm_out") == 4096 * h * 2);
    arena_release(&b.arena);

    /* gates after down: its output is needed for their gradient */
    style = dispatch_style_of(&plan);
    style.shared = false;
    assert_int_equal(build(&plan, &style, &b, &err), STATUS_OK);
    assert_int_equal(plan_buffer(&b.work, "returned_rows")->life, LIFE_SAVED);
    assert_true(saved_rows(&b) == rows * (2 * h + 3 * i) * 2);
    arena_release(&b.arena);
}

/* ---- the paths' own buffers ---- */

static void rdep_buffers_to_the_byte(void **state)
{
    (void)state;
    struct plan plan = plan_small(8);
    plan.model.hidden = 2048;
    plan.model.moe =
        (struct model_moe){.experts = 64, .top_k = 6, .intermediate = 1408, .glu = true};
    plan.moe.path = PATH_RDEP;
    struct built b;
    build_plan(&plan, &b);
    assert_true(bytes_of(&b, "rdep_x_buf") == 805306368);
    assert_true(bytes_of(&b, "rdep_records") == 3145728);
    assert_true(bytes_of(&b, "rdep_tok_y") == 100761600);
    /* 25,600 allocated rows for 24,576 balanced ones */
    const struct buffer *x = plan_buffer(&b.work, "x_pad");
    assert_true(b.values[x->dims[0].node] == 25600);
    assert_int_equal(x->life, LIFE_TRANSIENT); /* backward dispatches again */
    arena_release(&b.arena);
}

static void deepep_heaps_to_the_byte(void **state)
{
    (void)state;
    struct plan plan = plan_deepseek(8, 8);
    plan.moe.path = PATH_DEEPEP;
    struct built b;
    build_plan(&plan, &b);
    assert_true(bytes_of(&b, "deepep_nvl_buffer") == 335709824);
    assert_null(plan_find(&b.work, "deepep_rdma_buffer"));
    arena_release(&b.arena);
    plan = plan_deepseek(8, 64);
    plan.moe.path = PATH_DEEPEP;
    build_plan(&plan, &b);
    assert_true(bytes_of(&b, "deepep_nvl_buffer") == 377677824);
    assert_true(bytes_of(&b, "deepep_rdma_buffer") == 336047360);
    assert_true(bytes_of(&b, "nvshmem_heap_rounding") == (512ull << 20) - 336047360);
    arena_release(&b.arena);
    plan.parallel.ep = 12;
    struct err err = {0};
    struct dispatch_style style = dispatch_style_of(&plan);
    assert_int_equal(build(&plan, &style, &b, &err), STATUS_INPUT);
    assert_string_equal(err.text, "path deepep has no buffer sizes for parallel.ep 12");
    arena_release(&b.arena);
}

static void elastic_heap_to_the_byte(void **state)
{
    (void)state;
    static const struct {
        uint64_t nodes, ep, bytes;
    } cases[] = {{1, 8, 473956352}, {8, 64, 4838129664}};
    for (unsigned i = 0; i < 2; i++) {
        struct plan plan = plan_deepseek(cases[i].nodes, cases[i].ep);
        plan.moe.path = PATH_DEEPEP;
        struct dispatch_style style = dispatch_style_of(&plan);
        style.library = LIBRARY_DEEPEP_V2;
        struct built b;
        struct err err = {0};
        assert_int_equal(build(&plan, &style, &b, &err), STATUS_OK);
        assert_true(bytes_of(&b, "deepep_elastic_buffer") == cases[i].bytes);
        assert_true(bytes_of(&b, "deepep_workspace") == 14 << 20);
        arena_release(&b.arena);
    }
}

/* Path low latency at (hidden, experts + redundant, tokens): vLLM 57894, SGLang 28994. */
static void low_latency_grows_with_redundant_experts(void **state)
{
    (void)state;
    struct plan plan = plan_deepseek(2, 16);
    plan.workload.mode = MODE_DECODE;
    plan.workload.micro_batch = 2048;
    plan.model.hidden = 5120;
    plan.model.moe.experts = 384;
    plan.moe.path = PATH_DEEPEP_LL;
    struct built b;
    build_plan(&plan, &b);
    uint64_t without = bytes_of(&b, "low_latency_buffer");
    arena_release(&b.arena);
    plan.moe.redundant_experts = 64;
    build_plan(&plan, &b);
    const struct buffer *buffer = plan_buffer(&b.work, "low_latency_buffer");
    uint64_t with = bytes_of(&b, "low_latency_buffer");
    uint64_t addressable = buffer->addressable_bytes;
    assert_true(with == 38168170112 && with > addressable);
    assert_true(without < addressable);
    arena_release(&b.arena);
    plan.workload.micro_batch = 1840;
    build_plan(&plan, &b);
    assert_true(bytes_of(&b, "low_latency_buffer") <= addressable);
    arena_release(&b.arena);
}

/* ragged_dot: 32 x 3.5 GiB for the input of the first product, worst rows. */
static void ragged_dot_expands_every_operand(void **state)
{
    (void)state;
    struct plan plan = plan_deepseek(1, 8);
    plan.moe.path = PATH_RAGGED_DOT;
    plan.moe.buffer = SIZING_WORST;
    struct built b;
    build_plan(&plan, &b);
    assert_true(bytes_of(&b, "expanded_x") == 112ull << 30);
    assert_true(bytes_of(&b, "expanded_x_backward") == 112ull << 30);
    assert_true(bytes_of(&b, "expanded_d_gate_up") == 64ull << 30);
    assert_true(bytes_of(&b, "expanded_activated") == 32ull << 30);
    assert_true(bytes_of(&b, "expanded_d_out") == 112ull << 30);
    arena_release(&b.arena);
    plan.moe.path = PATH_RAGGED_A2A;
    build_plan(&plan, &b);
    assert_null(plan_find(&b.work, "expanded_x"));
    arena_release(&b.arena);
}

static void capacity_masks_and_slots(void **state)
{
    (void)state;
    struct plan plan = plan_deepseek(1, 8);
    plan.moe.path = PATH_CAPACITY;
    plan.moe.capacity_factor = 1;
    struct built b;
    struct err err = {0};
    struct dispatch_style style = dispatch_style_of(&plan);
    style.one_hot = true;
    assert_int_equal(build(&plan, &style, &b, &err), STATUS_OK);
    assert_true(bytes_of(&b, "combine_mask") == 1ull << 28);
    assert_true(bytes_of(&b, "dispatch_mask") == 1ull << 27);
    assert_true(bytes_of(&b, "dispatched_slots") == 7ull << 26);
    arena_release(&b.arena);
    plan.moe.capacity_scope = CAPACITY_BATCH; /* Megatron: no masks, C of the rank's tokens */
    build_plan(&plan, &b);
    assert_null(plan_find(&b.work, "combine_mask"));
    const struct buffer *slots = plan_buffer(&b.work, "dispatched_slots");
    assert_true(b.values[slots->dims[1].node] == 128);
    arena_release(&b.arena);
}

static void neuron_blocks_saved(void **state)
{
    (void)state;
    struct plan plan = plan_deepseek(1, 8);
    plan.moe.path = PATH_BLOCKWISE;
    struct built b;
    build_plan(&plan, &b);
    const uint64_t slots = 543 * 512;
    assert_true(bytes_of(&b, "expert_gate_up") == slots * 4096 * 2);
    assert_true(bytes_of(&b, "expert_out") == slots * 7168 * 2);
    assert_int_equal(plan_buffer(&b.work, "expert_out")->life, LIFE_SAVED);
    assert_true(bytes_of(&b, "token_position_to_id") == (slots + 1) * 8);
    arena_release(&b.arena);
    plan.workload.mode = MODE_PREFILL;
    build_plan(&plan, &b);
    assert_null(plan_find(&b.work, "expert_gate_up"));
    arena_release(&b.arena);
}

/* buffers.md 12: how often a layer's forward waits for the host. */
static void host_syncs_match_the_reference(void **state)
{
    (void)state;
    static const struct {
        enum moe_path path;
        enum buffer_sizing sizing;
        uint64_t sync_free, syncs;
    } cases[] = {
        {PATH_RAGGED_A2A, SIZING_EXACT, 0, 1},   {PATH_RAGGED_A2A, SIZING_WORST, 0, 0},
        {PATH_ALLGATHER, SIZING_EXACT, 0, 1},    {PATH_CAPACITY, SIZING_EXACT, 0, 0},
        {PATH_DEEPEP, SIZING_EXACT, 0, 2},       {PATH_DEEPEP, SIZING_WORST, 0, 0},
        {PATH_DEEPEP, SIZING_EXACT, 2, 1},       {PATH_DEEPEP, SIZING_EXACT, 3, 0},
        {PATH_BLOCK_SPARSE, SIZING_EXACT, 0, 2}, {PATH_BLOCKWISE, SIZING_WORST, 0, 0},
        {PATH_DEEPEP_LL, SIZING_EXACT, 0, 0},    {PATH_MASKED, SIZING_EXACT, 0, 0},
        {PATH_RDEP, SIZING_EXACT, 0, 1},         {PATH_EXPERT_LOOP, SIZING_EXACT, 0, 32},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct plan plan = plan_deepseek(1, 8);
        plan.moe.path = cases[i].path;
        plan.moe.buffer = cases[i].sizing;
        plan.moe.sync_free = cases[i].sync_free;
        struct built b;
        build_plan(&plan, &b);
        uint64_t syncs = 0;
        for (size_t j = 0; j < b.work.n_ticks; j++)
            if (b.work.ticks[j].phase == PHASE_FORWARD)
                syncs += b.values[b.work.ticks[j].host_syncs.node];
        if (syncs != cases[i].syncs)
            fail_msg("case %u, %s: %llu waits, expected %llu", i, path_names[cases[i].path],
                     (unsigned long long)syncs, (unsigned long long)cases[i].syncs);
        arena_release(&b.arena);
    }
}

/* Primus sync-free stages: the receive buffer is T R tokens from 2 on; permuted rows T R K
 * from 3 on, 28 GiB at EP64 (buffers.md 4.5). Other paths do not read the key. */
static void sync_free_stages_fix_buffers(void **state)
{
    (void)state;
    struct plan plan = plan_deepseek(8, 64);
    plan.moe.path = PATH_DEEPEP;
    plan.moe.buffer = SIZING_EXACT;
    struct built b;
    for (uint64_t stage = 0; stage <= 3; stage++) {
        plan.moe.sync_free = stage;
        build_plan(&plan, &b);
        const struct buffer *received = plan_buffer(&b.work, "recv_x");
        const struct buffer *permuted = plan_buffer(&b.work, "permuted_rows");
        assert_int_equal(received->rule, stage >= 2 ? RULE_WORST : RULE_ROUTING);
        assert_int_equal(permuted->rule, stage >= 3 ? RULE_WORST : RULE_ROUTING);
        if (stage == 3)
            assert_true(b.values[permuted->bytes.node] == 28ull << 30);
        arena_release(&b.arena);
    }
    plan.moe.path = PATH_RAGGED_A2A;
    build_plan(&plan, &b);
    assert_int_equal(plan_buffer(&b.work, "received_rows")->rule, RULE_ROUTING);
    arena_release(&b.arena);
}

/* Every library has its heap; names and sizes of the reference calculator. */
static void libraries_have_their_heaps(void **state)
{
    (void)state;
    static const struct {
        enum moe_library library;
        const char *heap;
        uint64_t bytes;
    } cases[] = {
        {LIBRARY_DEEPEP, "deepep_nvl_buffer", 335709824},
        {LIBRARY_DEEPEP_V2, "deepep_elastic_buffer", 473956352},
        {LIBRARY_PRIMUS, "deepep_nvl_buffer", 335709824},
        {LIBRARY_MINIMAL_ASYNC, "symmetric_rows", 7ull << 30},
        {LIBRARY_MEGA_DEEPGEMM, "mega_combine_slots", 4224ull * 8 * 7168 * 2},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct plan plan = plan_deepseek(1, 8);
        plan.moe.path = PATH_DEEPEP;
        plan.moe.library = cases[i].library;
        struct built b;
        build_plan(&plan, &b);
        assert_true(bytes_of(&b, cases[i].heap) == cases[i].bytes);
        assert_true(plan_buffer(&b.work, cases[i].heap)->outside);
        arena_release(&b.arena);
    }
    struct plan plan = plan_deepseek(1, 8);
    plan.moe.path = PATH_DEEPEP;
    plan.moe.library = LIBRARY_HYBRID_EP;
    plan.moe.buffer_factor = 1.5;
    struct built b;
    build_plan(&plan, &b);
    assert_true(bytes_of(&b, "recv_x") == 49152ull * 7168 * 2); /* int(T K f) rows */
    arena_release(&b.arena);
}

/* ---- laws ---- */

static struct plan variant(enum moe_path path, enum mode mode, enum recompute recompute,
                           enum buffer_sizing sizing, uint64_t ep)
{
    struct plan plan = plan_small(ep);
    plan.workload.mode = mode;
    plan.recompute.kind = recompute;
    plan.moe.path = path;
    plan.moe.buffer = sizing;
    return plan;
}

static void check_life(const struct plan *plan, const struct built *b,
                       const struct buffer *buffer)
{
    if (buffer->segment != SEGMENT_MOE || buffer->life == LIFE_PERSISTENT)
        return;
    bool to_the_end = buffer->last == WORK_NONE; /* the layer's stream */
    if (buffer->first > buffer->last || (!to_the_end && buffer->last >= b->work.n_ticks))
        fail_msg("%s mode %d recompute %d: '%s' is alive from tick %u to %u of %zu",
                 path_names[plan->moe.path], (int)plan->workload.mode,
                 (int)plan->recompute.kind, buffer->name, buffer->first, buffer->last,
                 b->work.n_ticks);
    bool saved = buffer->life == LIFE_SAVED && !to_the_end;
    if (saved && b->work.ticks[buffer->last].phase != PHASE_BACKWARD)
        fail_msg("%s: '%s' is saved for '%s'", path_names[plan->moe.path], buffer->name,
                 b->work.ticks[buffer->last].name);
}

/* Every tensor's life lies on the layer's ticks, and what is saved is saved for a backward,
 * whatever the path, mode and recomputation. */
static void lives_lie_on_ticks(void **state)
{
    (void)state;
    static const enum recompute kinds[] = {RECOMPUTE_NONE, RECOMPUTE_FULL};
    for (int path = PATH_CAPACITY; path < PATH_COUNT; path++)
        for (int mode = MODE_TRAIN; mode <= MODE_DECODE; mode++)
            for (unsigned k = 0; k < 2; k++)
                for (uint64_t ep = 1; ep <= 8; ep *= 8) {
                    if ((path == PATH_SELECTIVE || path == PATH_FUSED) && ep > 1)
                        continue;
                    struct plan plan = variant((enum moe_path)path, (enum mode)mode, kinds[k],
                                               SIZING_EXACT, ep);
                    struct built b;
                    build_plan(&plan, &b);
                    assert_in_range(b.work.n_ticks, 4, 400);
                    for (size_t i = 0; i < b.work.n_buffers; i++)
                        check_life(&plan, &b, &b.work.buffers[i]);
                    arena_release(&b.arena);
                }
}

/* More tokens never need less; the worst case never less than the balanced one; training never
 * less than inference; recomputation never more than saving. */
static void more_needs_more(void **state)
{
    (void)state;
    for (int path = PATH_CAPACITY; path < PATH_COUNT; path++) {
        uint64_t ep = path == PATH_SELECTIVE || path == PATH_FUSED ? 1 : 8, peak[5];
        struct plan plans[] = {
            variant((enum moe_path)path, MODE_TRAIN, RECOMPUTE_NONE, SIZING_BALANCED, ep),
            variant((enum moe_path)path, MODE_TRAIN, RECOMPUTE_NONE, SIZING_WORST, ep),
            variant((enum moe_path)path, MODE_TRAIN, RECOMPUTE_NONE, SIZING_BALANCED, ep),
            variant((enum moe_path)path, MODE_PREFILL, RECOMPUTE_NONE, SIZING_BALANCED, ep),
            variant((enum moe_path)path, MODE_TRAIN, RECOMPUTE_FULL, SIZING_BALANCED, ep),
        };
        plans[2].workload.micro_batch = 2;
        for (unsigned i = 0; i < 5; i++) {
            struct built b;
            build_plan(&plans[i], &b);
            b.work.use[SEGMENT_MOE].repeat = size_const(&b.work.sizes, 8);
            b.work.use[SEGMENT_MOE].back = b.work.use[SEGMENT_MOE].repeat;
            work_index(&b.work);
            b.values = plan_evaluate(&plans[i], &b.arena, &b.work);
            peak[i] = peak_of(&b);
            arena_release(&b.arena);
        }
        assert_true(peak[0] > 0);
        if (peak[1] < peak[0] || peak[2] < peak[0] || peak[3] > peak[0] || peak[4] > peak[0])
            fail_msg("%s: balanced %llu, worst %llu, twice the tokens %llu, prefill %llu, "
                     "recomputed %llu",
                     path_names[path], (unsigned long long)peak[0], (unsigned long long)peak[1],
                     (unsigned long long)peak[2], (unsigned long long)peak[3],
                     (unsigned long long)peak[4]);
    }
}

/* Expert parallelism trades rows between ranks; it never removes one. */
static void ep_never_divides_routed_activations(void **state)
{
    (void)state;
    static const enum moe_path list[] = {PATH_RAGGED_A2A, PATH_DEEPEP, PATH_RDEP,
                                         PATH_ALLGATHER, PATH_BLOCK_SPARSE};
    for (unsigned i = 0; i < sizeof list / sizeof *list; i++)
        for (uint64_t ep = 2; ep <= 8; ep *= 2) {
            struct plan plan =
                variant(list[i], MODE_TRAIN, RECOMPUTE_NONE, SIZING_BALANCED, ep);
            struct built b;
            build_plan(&plan, &b);
            uint64_t routed = 4096 * 4 * 2 * 512 * 2;
            if (bytes_of(&b, "expert_gate_up") < routed)
                fail_msg("%s at ep %llu: %llu", path_names[list[i]], (unsigned long long)ep,
                         (unsigned long long)bytes_of(&b, "expert_gate_up"));
            arena_release(&b.arena);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(saved_sets_match_the_reference),
        cmocka_unit_test(rdep_buffers_to_the_byte),
        cmocka_unit_test(deepep_heaps_to_the_byte),
        cmocka_unit_test(elastic_heap_to_the_byte),
        cmocka_unit_test(low_latency_grows_with_redundant_experts),
        cmocka_unit_test(ragged_dot_expands_every_operand),
        cmocka_unit_test(capacity_masks_and_slots),
        cmocka_unit_test(neuron_blocks_saved),
        cmocka_unit_test(host_syncs_match_the_reference),
        cmocka_unit_test(sync_free_stages_fix_buffers),
        cmocka_unit_test(libraries_have_their_heaps),
        cmocka_unit_test(lives_lie_on_ticks),
        cmocka_unit_test(more_needs_more),
        cmocka_unit_test(ep_never_divides_routed_activations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

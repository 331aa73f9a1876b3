/* FSDP2, HSDP and DeepSpeed: what ranks share out, gather and reduce, and what losses hold, as
 * worked out in training-stacks.md 1, 4, 5 and 8. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/text.h"
#include "base/unit.h"
#include "sim/answer/predict.h"
#include "sim/time/comm.h"
#include "support/plans.h"
#include "work/stack/stack.h"

static const char base[] = "model: qwen3-30b-a3b\ncluster: h200-8x1\nstack: fsdp\n";

static void near(double got, double expected, double within)
{
    if (fabs(got - expected) > within)
        fail_msg("%.6f is not %.6f", got, expected);
}

/* ---- buffers of a plan ---- */

static uint64_t state_bytes(const char *set)
{
    return plan_state_bytes(base, set);
}

static uint64_t host_bytes_of(const char *text, const char *set)
{
    struct plan_built b;
    uint64_t sum = 0;
    plan_build(text, set, false, &b);
    for (size_t i = 0; i < b.work.n_host; i++)
        sum += b.values[b.work.host[i].bytes.node];
    arena_release(&b.arena);
    return sum;
}

static uint64_t host_bytes(const char *set)
{
    return host_bytes_of(base, set);
}

/* All copies of every buffer of a MoE layer, or of the step, that has this name. */
static uint64_t named(const char *set, const char *name)
{
    struct plan_built b;
    uint64_t sum = 0;
    plan_build(base, set, false, &b);
    for (size_t i = 0; i < b.work.n_buffers; i++) {
        const struct buffer *buffer = &b.work.buffers[i];
        if ((buffer->segment == SEGMENT_MOE || buffer->segment == SEGMENT_STEP ||
             buffer->segment == SEGMENT_HEAD) &&
            text_equal(buffer->name, name))
            sum += b.values[buffer->all.node];
    }
    arena_release(&b.arena);
    return sum;
}

/* Forward: three gathered layers; backward: two, their gradients, the reduce's input. */
static void a_unit_holds_six_and_ten_bytes_a_parameter(void **state)
{
    (void)state;
    static const struct {
        const char *set;
        double forward, backward;
    } rows[] = {
        {"stack=torchtitan", 3.4820, 5.8033},
        {"stack=fsdp", 3.4820, 4.6426}, /* reduces in bf16 */
        {"stack=torchtitan model=mixtral-8x7b", 8.1096, 13.5160},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double gathered = (double)named(rows[i].set, "gathered_weights") / GIB;
        double reduced = (double)(named(rows[i].set, "unsharded_gradients") +
                                  named(rows[i].set, "reduce_scatter_input")) /
                         GIB;
        /* three copies in forward and two in backward have the same name */
        near(gathered * 3 / 5, rows[i].forward, 1e-4);
        near(gathered * 2 / 5 + reduced, rows[i].backward, 1e-4);
    }
}

/* P = 30,532,122,624: FSDP keeps 16 bytes over 8 ranks, HSDP over 4 twice as much. */
static void states_are_shared_out(void **state)
{
    (void)state;
    static const struct {
        const char *set;
        uint64_t bytes;
    } rows[] = {
        {"", 61064245248},
        {"parallel.dp_shard=4", 2 * UINT64_C(61064245248)},
        {"parallel.dp_shard=1", 16 * UINT64_C(30532122624)},
        /* with FSDP2's CPU offload nothing stays, and 16 bytes wait in host memory */
        {"optimizer.offload=1 optimizer.offload_params=true", 0},
        {"stack=torchtitan optimizer.offload=1 optimizer.offload_params=true", 0},
        {"stack=deepspeed", 16 * UINT64_C(30532122624)},
        {"stack=deepspeed parallel.zero=1",
         4 * UINT64_C(30532122624) + 12 * UINT64_C(3816515328)},
        {"stack=deepspeed parallel.zero=2", 114495459840},
        {"stack=deepspeed parallel.zero=3", 61064245248},
        /* its estimate_zero2_model_states_mem_needs counts 2 bytes a parameter under offload,
         * and that of stage 3 the shard's two */
        {"stack=deepspeed parallel.zero=2 optimizer.offload=1", 2 * UINT64_C(30532122624)},
        {"stack=deepspeed parallel.zero=3 optimizer.offload=1", 2 * UINT64_C(3816515328)},
        {"stack=deepspeed parallel.zero=3 optimizer.offload=1 optimizer.offload_params=true",
         0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        print_message("%s\n", rows[i].set);
        assert_int_equal(state_bytes(rows[i].set), rows[i].bytes);
    }
    assert_int_equal(host_bytes("stack=torchtitan optimizer.offload=1 "
                                "optimizer.offload_params=true"),
                     16 * UINT64_C(3816515328));
    /* MaxText's layer inputs, 48 of 4096 x 2048 in 16 bits, and with them q of 4096 */
#define AWAY "stack=maxtext recompute.kind=full recompute.offload="
    assert_int_equal(host_bytes(AWAY "[decoder_layer_input]"), 48 * 4096 * 2048 * 2);
    assert_int_equal(host_bytes(AWAY "[decoder_layer_input,query_proj]"),
                     48 * 4096 * UINT64_C(6144) * 2);
    assert_int_equal(named(AWAY "[decoder_layer_input]", "layer_input"), 0);
    assert_int_equal(named(AWAY "[query_proj]", "layer_input"), 4096 * 2048 * 2);
    assert_int_equal(host_bytes("stack=deepspeed parallel.zero=2 optimizer.offload=1"),
                     18 * UINT64_C(3816515328));
    /* one gradient at a time passes through: 128 experts' gate and up in 16 bits */
    assert_int_equal(
        named("stack=deepspeed parallel.zero=2 optimizer.offload=1", "offload_gradient"),
        128 * UINT64_C(2048) * 1536 * 2);
}

/* ---- collectives of shards ---- */

static const struct op *op_named(const struct plan_built *b, const char *name, enum phase phase)
{
    for (size_t i = 0; i < b->work.n_ops; i++)
        if (text_equal(b->work.ops[i].name, name) && b->work.ops[i].phase == phase &&
            (b->work.ops[i].segment == SEGMENT_MOE || phase == PHASE_UPDATE))
            return &b->work.ops[i];
    return NULL;
}

/* A MoE layer of Qwen3-30B-A3B on 16 ranks of 2 nodes with ep 1: 128 experts of 3 x 2048 x 768
 * are 603,979,776 parameters, bf16. HSDP over 8: 7/8 of them are gathered inside a node, what
 * each rank keeps of the gradients (75,497,472) is added up between the nodes. */
static void shards_move_inside_their_group(void **state)
{
    (void)state;
    static const struct {
        const char *set, *name;
        enum phase phase;
        enum process_group group;
        uint64_t sent;
        double ranks, inside;
    } rows[] = {
        {"parallel.dp_shard=8", "gather_expert_weights", PHASE_FORWARD, GROUP_EDP_SHARD,
         2 * UINT64_C(603979776) / 8 * 7, 8, 8},
        {"parallel.dp_shard=8", "reduce_gradients_of_expert_weights", PHASE_BACKWARD,
         GROUP_EDP_SHARD, 2 * UINT64_C(603979776) / 8 * 7, 8, 8},
        {"parallel.dp_shard=8", "reduce_copies_of_expert_weights", PHASE_BACKWARD,
         GROUP_EDP_REPLICA, 2 * UINT64_C(75497472), 2, 1},
        {"parallel.dp_shard=4", "reduce_copies_of_expert_weights", PHASE_BACKWARD,
         GROUP_EDP_REPLICA, 2 * UINT64_C(150994944) / 4 * 3 * 2, 4, 2},
        {"", "gather_expert_weights", PHASE_FORWARD, GROUP_EDP,
         2 * UINT64_C(603979776) / 16 * 15, 16, 8},
        {"parallel.cp=2 parallel.dp_shard=4", "gather_weights", PHASE_FORWARD, GROUP_DP_SHARD,
         0, 8, 8},
        {"parallel.cp=2", "gather_weights", PHASE_FORWARD, GROUP_DP, 0, 16, 8},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct plan_built b;
        char set[128];
        snprintf(set, sizeof set, "cluster=h200-8x2 %s", rows[i].set);
        plan_build(base, set, true, &b);
        const struct op *op = op_named(&b, rows[i].name, rows[i].phase);
        print_message("%s: %s\n", rows[i].set, rows[i].name);
        assert_non_null(op);
        assert_int_equal(op->group, rows[i].group);
        if (rows[i].sent)
            assert_int_equal(b.values[op->bytes_sent.node], rows[i].sent);
        struct comm_place place = comm_place(&b.plan, op->group);
        near(place.ranks, rows[i].ranks, 1e-12);
        near(place.inside, rows[i].inside, 1e-12);
        arena_release(&b.arena);
    }
}

/* Weights that stay from forward to backward are gathered once; MiCS adds copies up once a
 * step, not in every backward. */
static void what_runs_once_runs_once(void **state)
{
    (void)state;
    static const struct {
        const char *set, *name;
        enum phase phase;
        bool there;
    } rows[] = {
        {"", "gather_weights", PHASE_BACKWARD, true},
        {"parallel.reshard=never", "gather_weights", PHASE_BACKWARD, false},
        {"parallel.reshard=never", "gather_weights", PHASE_FORWARD, true},
        {"stack=deepspeed parallel.zero=3 parallel.dp_shard=4", "reduce_copies_of_weights",
         PHASE_BACKWARD, false},
        {"stack=deepspeed parallel.zero=3 parallel.dp_shard=4", "reduce_copies_of_weights",
         PHASE_UPDATE, true},
        {"parallel.dp_shard=1", "gather_weights", PHASE_FORWARD, false},
        {"parallel.dp_shard=1", "reduce_copies_of_weights", PHASE_BACKWARD, true},
        {"parallel.dp_shard=8", "reduce_copies_of_weights", PHASE_BACKWARD, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct plan_built b;
        plan_build(base, rows[i].set, true, &b);
        print_message("%s: %s\n", rows[i].set, rows[i].name);
        assert_int_equal(op_named(&b, rows[i].name, rows[i].phase) != NULL, rows[i].there);
        arena_release(&b.arena);
    }
}

/* 5e8 elements in bf16 0.9313 GiB, 1e9 live 1.8626, 48 kept layers of 623,116,288. */
static void what_is_reserved_for_collectives(void **state)
{
    (void)state;
    static const struct {
        const char *set, *name;
        uint64_t bytes;
    } rows[] = {
        {"stack=deepspeed parallel.zero=2", "reduce_bucket", 1000000000},
        {"stack=deepspeed parallel.zero=2 parallel.overlap_reduce=true", "reduce_bucket",
         2000000000},
        {"stack=deepspeed parallel.zero=2 parallel.reduce_bucket=4194304", "reduce_bucket",
         8388608},
        {"stack=deepspeed parallel.zero=3", "live_parameters", 2000000000},
        {"stack=deepspeed parallel.zero=3", "prefetch_bucket", 100000000},
        {"parallel.reshard=never", "gathered_weights_kept", 2 * 48 * UINT64_C(623116288)},
        /* every gradient whole where a step has several micro-batches, the f32 eighth of the
         * state in it; experts of 8 ranks are shared by none, 28,991,029,248 of 30,532,122,624
         * parameters */
        {"precision.accumulated=f32 workload.global_batch=16", "accumulated_gradients",
         4 * UINT64_C(30532122624) - 4 * UINT64_C(30532122624) / 8},
        {"precision.accumulated=f32 workload.global_batch=8", "accumulated_gradients", 0},
        {"precision.accumulated=bf16 workload.global_batch=16 parallel.ep=8",
         "accumulated_gradients",
         2 * (UINT64_C(30532122624) - UINT64_C(28991029248)) -
             4 * (UINT64_C(30532122624) - UINT64_C(28991029248)) / 8},
        /* the Trainer's and Accelerate's own choice, reduced in 16 bits; torchtitan's with
         * stages, of which the larger has the embedding or the head and final norm, and reduces
         * in 32 */
        {"stack=fsdp workload.global_batch=16", "accumulated_gradients",
         2 * UINT64_C(30532122624) - 4 * UINT64_C(30532122624) / 8},
        {"stack=fsdp workload.global_batch=16 precision.accumulated=none",
         "accumulated_gradients", 0},
        {"stack=fsdp workload.global_batch=8", "accumulated_gradients", 0},
        {"stack=torchtitan workload.global_batch=16", "accumulated_gradients", 0},
        {"stack=torchtitan workload.global_batch=16 parallel.pp=2 parallel.stage=1",
         "accumulated_gradients", 3 * (24 * UINT64_C(623120640) + UINT64_C(311164928))},
        {"stack=torchtitan parallel.pp=2 parallel.stage=1", /* several micro-batches unsaid */
         "accumulated_gradients", 3 * (24 * UINT64_C(623120640) + UINT64_C(311164928))},
        {"precision.accumulated=f32 workload.global_batch=16 lora.rank=8",
         "accumulated_gradients", 0},
        {"precision.accumulated=f32 workload.global_batch=2 cluster.node.devices=1",
         "accumulated_gradients", 0},
        /* every gradient once more; one device has no reducer */
        {"parallel.zero=0", "reducer_buckets", 4 * UINT64_C(30532122624)},
        {"parallel.zero=0 precision.gradients=bf16", "reducer_buckets",
         2 * UINT64_C(30532122624)},
        {"parallel.zero=0 cluster.node.devices=1", "reducer_buckets", 0},
        {"parallel.zero=3", "reducer_buckets", 0},
        /* f32 weights cast once: 48 layers and the head of 151,936 x 2,048 */
        {"parallel.zero=0", "autocast_weights",
         2 * (48 * UINT64_C(623116288) + UINT64_C(311164928))},
        {"parallel.zero=0 precision.weights=bf16", "autocast_weights", 0},
        /* adapters: 3,342,336 parameters of r 8 on q, v (training-stacks.md 5) in f32 */
        {"parallel.zero=0 lora.rank=8 lora.targets=[q_proj,v_proj]", "reducer_buckets",
         4 * UINT64_C(3342336)},
        /* of q (2,048 to 4,096) r 16, of v (to 512) the others' 8 */
        {"parallel.zero=0 lora.rank=8 lora.targets=[q_proj,v_proj] lora.ranks=[16,0]",
         "reducer_buckets", 4 * UINT64_C(48) * (16 * 6144 + 8 * 2560)},
        {"parallel.zero=0 lora.rank=8 lora.targets=[all-linear,q_proj] lora.ranks=[0,16]",
         "reducer_buckets", 4 * UINT64_C(48) * (8 * (2560 + 2560 + 6144) + 16 * 6144)},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_int_equal(named(rows[i].set, rows[i].name), rows[i].bytes);
}

/* ---- losses ---- */

/* What the head holds at its fullest tick: logits, or its other tensors that a loss by parts
 * makes. */
static uint64_t head_peak(const char *set, enum category category, const char *name)
{
    struct plan_built b;
    uint64_t most = 0;
    plan_build(base, set, false, &b);
    for (size_t tick = 0; tick < b.work.n_ticks; tick++) {
        uint64_t sum = 0;
        for (size_t i = 0; i < b.work.n_buffers; i++) {
            const struct buffer *buffer = &b.work.buffers[i];
            bool there = buffer->segment == SEGMENT_HEAD && buffer->first <= tick &&
                         tick <= buffer->last && buffer->category == category &&
                         (!name || text_equal(buffer->name, name));
            sum += there ? b.values[buffer->all.node] : 0;
        }
        most = sum > most ? sum : most;
    }
    arena_release(&b.arena);
    return most;
}

static void losses_hold(void **state)
{
    (void)state;
#define LOSS(word) "workload.sequence_length=8192 stack.cross_entropy=" word
    static const struct {
        const char *set;
        double gib;
    } rows[] = {
        {LOSS("f32"), 6.9551},
        {LOSS("te"), 6.9551},
        {LOSS("torch"), 11.5918},
        {LOSS("in_place"), 2.3184},
        {LOSS("chunked"), 1.4490},
        {LOSS("fused"), 0.0362},
        /* 8 bytes a logit of slime's, 12 of NeMo-RL's, 4 + 24 / 8 of its eight parts */
        {LOSS("log_probs"), 9.2734},
        {LOSS("log_softmax"), 13.9102},
        {LOSS("log_probs_part"), 8.1143},
        /* four copies of 2 bytes, or three of 4, of several sequences four */
        {LOSS("smoothed"), 9.2734},
        {LOSS("smoothed_f32"), 13.9102},
        {LOSS("smoothed_f32") " workload.micro_batch=2", 37.0938},
        /* of 1,024 tokens of an answer and the one before them */
        {LOSS("torch") " workload.logits_to_keep=1025", 1.4504},
        {LOSS("torch") " workload.logits_to_keep=9000", 11.5918},
        {LOSS("torch") " workload.logits_to_keep=1025 workload.packing.length=64", 11.5918},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        print_message("%s\n", rows[i].set);
        near((double)head_peak(rows[i].set, CATEGORY_LOGITS, NULL) / GIB, rows[i].gib, 5.1e-5);
    }
    /* over tp each rank has a quarter of the words, of 16 bytes, not 10, in backward, as
     * nothing joins them there (train_head.c), or all; MaxText's tiles are of rows */
#define TITAN LOSS("torch") " stack=torchtitan parallel.tp=4 parallel.ep=8 stack.loss_parallel="
    near((double)head_peak(TITAN "true", CATEGORY_LOGITS, NULL) / GIB, 1.6 * 11.5918 / 4,
         5.1e-5);
    near((double)head_peak(TITAN "false", CATEGORY_LOGITS, NULL) / GIB, 11.5918, 5.1e-5);
#define TILES "stack=maxtext workload.sequence_length=8192 stack.cross_entropy=chunked "
    assert_int_equal(named(TILES "stack.loss_chunks=1", "logits"), 4 * 8192 * UINT64_C(151936));
    assert_int_equal(named(TILES "stack.loss_chunks=8", "logits"), 4 * 1024 * UINT64_C(151936));
    near((double)head_peak(LOSS("chunked"), CATEGORY_GRADIENTS, NULL) / GIB, 1.1592, 5.1e-5);
    near((double)head_peak(LOSS("chunked"), CATEGORY_ACTIVATION, "d_head_input") / GIB, 0.0625,
         1e-6);
    /* the head gathered in 16 bits, and in f32: 151936 x 2048 */
    near((double)head_peak(LOSS("chunked"), CATEGORY_WEIGHTS, NULL) / GIB, 0.5796 + 1.1592,
         1.1e-4);
}

/* NeMo-RL's head and log-softmax in eight parts of 1,024 rows beside 151936 x 2048 of the head:
 * an f32 copy of it, a part's gradient and the same turned around, their sum in 16 bits;
 * gradients of 8,192 rows twice; over tp 4 all ranks' rows, in parts and joined, and a quarter
 * of a head of a multiple of 512 words. */
static void head_and_log_probabilities_in_parts(void **state)
{
    (void)state;
    const uint64_t head = UINT64_C(151936) * 2048, rows = UINT64_C(8192) * 2048;
#define LINEAR LOSS("linear_log_probs") " stack=megatron parallel.ep=8 "
    assert_int_equal(named(LINEAR, "f32_head_weight"), 4 * head);
    assert_int_equal(named(LINEAR, "part_d_head_weight"), 2 * 4 * head);
    assert_int_equal(named(LINEAR, "d_head_weight"), 2 * head);
    assert_int_equal(named(LINEAR, "d_head_input"), 2 * 4 * rows);
    assert_int_equal(named(LINEAR, "gathered_head_input"), 0);
#define OVER_TP LINEAR "parallel.tp=4 parallel.sp=true parallel.etp=1 "
    assert_int_equal(named(OVER_TP, "gathered_head_input"), 2 * 2 * rows);
    assert_int_equal(named(OVER_TP, "f32_head_weight"), UINT64_C(152064) * 2048);
    assert_int_equal(named(LINEAR, "logits"), 0);
}

/* ---- whole plans ---- */

static void what_they_do_not_run_is_refused(void **state)
{
    (void)state;
    static const char *const sets[] = {"recompute.kind=selective", "moe.path=deepep_ll",
                                       "workload.mode=prefill"};
    static const char *const reasons[] = {"whole layers or nothing", "does not run moe.path",
                                          "train only"};
    for (size_t i = 0; i < 3; i++) {
        struct arena arena = {0};
        struct plan plan;
        struct work work;
        struct err err = {0};
        plan_set(base, sets[i], &arena, &plan);
        assert_int_equal(work_build(&plan, &arena, &work, &err), STATUS_INPUT);
        assert_non_null(strstr(err.text, reasons[i]));
        arena_release(&arena);
    }
}

/* axolotl's expert parallelism over 4 of 8 ranks, 4,096 tokens each (hidden 2048, 8 of 128
 * experts a token): experts' weights of a quarter are shared by two ranks, the rest by all
 * eight, in f32. Room for all that can come is one row a token of the four ranks, and at the
 * experts one for each of its eight slots: 4 x 4096 x 2048 x 2 bytes, eight times that.
 * DeepEP's queues take 256 MiB. */
static void experts_of_axolotl_exchange_tokens(void **state)
{
    (void)state;
#define SPREAD_FOUR                                                                            \
    "moe.path=deepep parallel.ep=4 moe.buffer=worst workload.sequence_length=4096 "            \
    "workload.micro_batch=1 "
    const uint64_t experts = UINT64_C(28991029248), rest = UINT64_C(1541093376);
    assert_int_equal(named(SPREAD_FOUR, "expert_weights"), 4 * experts / 4 / 2);
    assert_int_equal(named(SPREAD_FOUR, "weights"), 4 * rest / 8);
    assert_int_equal(named(SPREAD_FOUR, "received_tokens"), 4 * 4096 * 2048 * 2);
    assert_int_equal(named(SPREAD_FOUR "recompute=full", "expert_input"),
                     UINT64_C(8) * 4 * 4096 * 2048 * 2);
    assert_int_equal(named(SPREAD_FOUR "recompute=full", "routed_output"),
                     UINT64_C(8) * 4 * 4096 * 2048 * 2);
    assert_int_equal(named(SPREAD_FOUR, "deepep_nvl_buffer"), 0);
    assert_int_equal(named(SPREAD_FOUR "moe.library=deepep", "deepep_nvl_buffer"), 256 << 20);
}

/* Bytes of a buffer of Llama-3.1-8B's layers, one each. */
static uint64_t of_llama(const char *set, const char *name)
{
    static const char text[] = "model: llama-3.1-8b\ncluster: h100-8x1\nstack: fsdp\n"
                               "workload: {sequence_length: 65536, micro_batch: 1}\n"
                               "parallel: {cp: 8}\n";
    struct plan_built b;
    uint64_t most = 0;
    plan_build(text, set, false, &b);
    for (size_t i = 0; i < b.work.n_buffers; i++) {
        const struct buffer *buffer = &b.work.buffers[i];
        if (text_equal(buffer->name, name) && b.values[buffer->bytes.node] > most)
            most = b.values[buffer->bytes.node];
    }
    arena_release(&b.arena);
    return most;
}

/* Of 8,192 rows two tiles take 4,096 each, 14,336 wide; their outputs are put together. Of the
 * network's 3 x 4096 x 14336 weights a tile's gradients stand beside the sums. */
static void networks_take_tiles(void **state)
{
    (void)state;
    assert_int_equal(of_llama("", "mlp_gate"), 8192 * 14336 * 2);
    assert_int_equal(of_llama("", "mlp_tiles_out"), 0);
#define TWO_TILES "recompute.mlp_tiles=2 "
    assert_int_equal(of_llama(TWO_TILES, "mlp_gate"), 4096 * 14336 * 2);
    assert_int_equal(of_llama(TWO_TILES, "d_mlp_gate_up"), 4096 * 2 * 14336 * 2);
    assert_int_equal(of_llama(TWO_TILES, "mlp_tiles_out"), 8192 * 4096 * 2);
    assert_int_equal(of_llama(TWO_TILES, "d_mlp_tiles_in"), 8192 * 4096 * 2);
    assert_int_equal(of_llama(TWO_TILES, "tile_gradients"), 3 * 4096 * 14336 * 2);
    assert_int_equal(of_llama(TWO_TILES "stack=deepspeed", "tile_gradients"), 0);
    assert_int_equal(of_llama(TWO_TILES "lora.rank=8", "tile_gradients"), 0);
}

/* Qwen3-30B-A3B's 30,532,122,624 parameters on 8 ranks: under FSDP2 f32 weights and two moments
 * of a rank's eighth, or of all of them where every rank holds all; under Megatron bf16
 * weights, master and moments, shared out however the ranks hold them, experts of an eighth
 * each too. Of adapters no more than what is trained. */
static void an_asynchronous_checkpoint_waits_in_host_memory(void **state)
{
    (void)state;
    static const char megatron[] = "model: qwen3-30b-a3b\ncluster: h200-8x1\nstack: megatron\n";
    const uint64_t all = UINT64_C(30532122624);
    static const char *const layouts[] = {"parallel.ep=8 parallel.zero=0",
                                          "parallel.ep=8 parallel.zero=1", "parallel.zero=1"};
    assert_int_equal(host_bytes(""), 0);
    assert_int_equal(host_bytes("workload.async_checkpoint=true"), 12 * all / 8);
    assert_int_equal(host_bytes("workload.async_checkpoint=true parallel.zero=0"), 12 * all);
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
        char set[128];
        snprintf(set, sizeof set, "workload.async_checkpoint=true %s", layouts[i]);
        assert_int_equal(host_bytes_of(megatron, set), 14 * all / 8);
    }
    struct plan_built b;
    const char *adapters = "workload.async_checkpoint=true lora.rank=16";
    plan_build(base, adapters, false, &b);
    uint64_t trained = 0;
    for (size_t i = 0; i < b.work.n_buffers; i++) {
        const struct buffer *buffer = &b.work.buffers[i];
        if (text_equal(buffer->name, "adapters") || text_equal(buffer->name, "adam_moments"))
            trained += b.values[buffer->all.node];
    }
    arena_release(&b.arena);
    assert_true(trained > 0);
    assert_int_equal(host_bytes(adapters), trained);
}

/* Scores of 48 layers of 4,096 tokens over 128 experts, 8 of them chosen: 25,165,824 scores and
 * 201,326,592 places of choices, twice in 64 bits and twice in 32 where there is a mask. The
 * loss before it has let go of the logits in f32. */
/* A score head of seven labels over 8,192 tokens in 16 bits, of every kind of loss; Qwen3-8B
 * without its head has 8,190,735,360 - (151,936 - 7) x 4,096 parameters, a tied one as many as
 * before and the labels' rows. Scores of all layers wait for no loss. */
static void a_score_head_makes_no_logits(void **state)
{
    (void)state;
#define SCORES "workload.sequence_length=8192 model.labels=7 "
    static const char *const losses[] = {"torch", "chunked", "fused", "f32"};
    for (size_t i = 0; i < sizeof losses / sizeof *losses; i++) {
        char set[200];
        snprintf(set, sizeof set, SCORES "stack.cross_entropy=%s", losses[i]);
        assert_int_equal(named(set, "logits"), 8192 * 7 * 2);
        assert_int_equal(named(set, "d_logits"), 8192 * 7 * 2);
        assert_int_equal(head_peak(set, CATEGORY_LOGITS, NULL), 8192 * 7 * 2);
        assert_int_equal(named(set, "d_head_weight"), 7 * 2048 * 4);
        assert_int_equal(named(set, "log_softmax") + named(set, "f32_head_weight"), 0);
    }
    assert_int_equal(named(SCORES "stack.balance_loss=masked", "layers_scores"), 0);
    static const struct {
        const char *set;
        uint64_t parameters;
    } models[] = {
        {"model=qwen3-8b", UINT64_C(8190735360)},
        {"model=qwen3-8b model.labels=7", UINT64_C(8190735360) - UINT64_C(151929) * 4096},
        {"model=qwen3-0.6b", UINT64_C(596049920)},
        {"model=qwen3-0.6b model.labels=7", UINT64_C(596049920) + 7 * 1024}};
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        struct plan_built b;
        struct params params;
        plan_build(base, models[i].set, false, &b);
        params_count(&b.plan.model, &params);
        assert_int_equal(params.parameters, models[i].parameters);
        arena_release(&b.arena);
    }
}

/* Rows of Qwen3-0.6B's table are trained, 151,936 x 1,024 in 16 bits: a copy with them for the
 * embedding, another for the head, which is the same and keeps it, and a gradient of each. */
static void rows_of_the_table_are_trained(void **state)
{
    (void)state;
#define ROWS "model=qwen3-0.6b lora.rank=8 precision.weights=bf16 stack.cross_entropy=torch "
    static const char *const names[] = {"merged_embedding", "d_embedding_weight", "merged_head",
                                        "d_head_weight"};
    const uint64_t table = UINT64_C(151936) * 1024 * 2;
    struct plan_built with, without;
    plan_build(base, ROWS "lora.rows=true", false, &with);
    plan_build(base, ROWS, false, &without);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const struct buffer *buffer = plan_buffer(&with.work, names[i]);
        assert_int_equal(with.values[buffer->all.node], table);
        assert_null(plan_find(&without.work, names[i]));
    }
    arena_release(&with.arena);
    arena_release(&without.arena);
    plan_build(base, ROWS "lora.rows=true model=qwen3-8b", false, &with);
    assert_null(plan_find(&with.work, "merged_head")); /* the head is another matrix */
    assert_non_null(plan_find(&with.work, "merged_embedding"));
    arena_release(&with.arena);
}

static void scores_of_all_layers_wait_for_one_loss(void **state)
{
    (void)state;
    const uint64_t scores = UINT64_C(48) * 4096 * 128, choices = 8 * scores;
#define JOINT "workload.sequence_length=4096 workload.micro_batch=1 stack.balance_loss="
    assert_int_equal(named(JOINT "masked", "layers_scores"), 2 * scores);
    assert_int_equal(named(JOINT "masked", "balance_scores"), 2 * 2 * scores);
    assert_int_equal(named(JOINT "masked", "balance_score_mask"), 8 * scores);
    assert_int_equal(named(JOINT "masked", "balance_choices"), 2 * 8 * choices);
    assert_int_equal(named(JOINT "masked", "balance_choices_f32"), 2 * 4 * choices);
    assert_int_equal(named(JOINT "joint", "balance_score_mask"), 0);
    assert_int_equal(named(JOINT "joint", "balance_choices"), 8 * choices);
    assert_int_equal(named(JOINT "joint", "balance_choices_f32"), 4 * choices);
    assert_int_equal(named(JOINT "layer", "balance_choices"), 0);
    struct plan_built b;
    plan_build(base, JOINT "masked stack.cross_entropy=torch", false, &b);
    const struct buffer *choice = plan_buffer(&b.work, "balance_choices");
    assert_true(choice->first > plan_buffer(&b.work, "f32_logits")->last);
    assert_true(choice->first < plan_buffer(&b.work, "d_f32_logits")->first);
    arena_release(&b.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_unit_holds_six_and_ten_bytes_a_parameter),
        cmocka_unit_test(states_are_shared_out),
        cmocka_unit_test(shards_move_inside_their_group),
        cmocka_unit_test(what_runs_once_runs_once),
        cmocka_unit_test(what_is_reserved_for_collectives),
        cmocka_unit_test(losses_hold),
        cmocka_unit_test(a_score_head_makes_no_logits),
        cmocka_unit_test(rows_of_the_table_are_trained),
        cmocka_unit_test(scores_of_all_layers_wait_for_one_loss),
        cmocka_unit_test(head_and_log_probabilities_in_parts),
        cmocka_unit_test(what_they_do_not_run_is_refused),
        cmocka_unit_test(experts_of_axolotl_exchange_tokens),
        cmocka_unit_test(networks_take_tiles),
        cmocka_unit_test(an_asynchronous_checkpoint_waits_in_host_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* sim/time/price and sim/time/comm by fitted forms: the same seconds as validate's for every
 * measured collective and for an engine's experts; which profile a plan takes; sizes outside a
 * range. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "calib/table/curve.h"
#include "plan/read/catalog.h"
#include "sim/step/range.h"
#include "sim/time/step_time.h"
#include "sim/step/time.h"
#include "support/plans.h"
#include "support/published.h"

static void read_profile(const char *name, struct arena *arena, struct profile *profile)
{
    char *path;
    struct err err = {0};
    assert_true(catalog_has(CATALOG_PROFILE, name, arena, &path));
    assert_int_equal(profile_read(path, arena, profile, &err), STATUS_OK);
}

static void near_to(double got, double wanted, const char *what)
{
    if (fabs(got - wanted) > 1e-9 * wanted)
        fail_msg("%s: %.12g, not %.12g", what, got, wanted);
}

/* Every value of the table of collectives, by comm_s and by the form that was fitted. */
static void collectives_as_validate_says(void **state)
{
    (void)state;
    static const char text[] = "model: deepseek-v3\nstack: vllm\n"
                               "parallel: {tp: 8}\nmoe: {path: fused}\n"
                               "workload: {mode: decode, context_length: 1024}\n";
    struct arena arena = {0};
    struct csv csv;
    struct curve_table table;
    struct err err = {0};
    size_t compared = 0;
    published_read("collectives", &arena, &csv);
    assert_int_equal(curve_read(&csv, &arena, &table, &err), STATUS_OK);
    for (size_t f = 0; f < table.n_families; f++) {
        const struct curve_family *family = &table.families[f];
        struct profile profile;
        double constants[CURVE_CONSTANTS];
        read_profile(family->profile, &arena, &profile);
        assert_int_equal(curve_constants(family, &profile, constants, &err), STATUS_OK);
        for (size_t i = 0; i < family->n; i++) {
            const struct curve_value *value = &table.values[family->values[i]];
            struct plan plan;
            struct rates rates;
            plan_set(text, arena_printf(&arena, "cluster=%s-8x1", value->device), &arena,
                     &plan);
            rates_init(&rates, &plan, PATH_FUSED, &profile, NULL);
            const struct comm_place place = {.ranks = value->point.ranks,
                                             .inside = value->point.ranks};
            const struct comm_ask ask = {
                .item = family->of, .bytes = value->point.bytes, .messages = 1};
            near_to(comm_s(&rates, &place, &ask),
                    family->form->seconds(constants, &value->point), value->row);
            compared++;
            i += family->n / 24; /* some of each family: a plan is read for every one */
        }
    }
    assert_true(compared > 150);
    arena_release(&arena);
}

static const char engine[] = "model: qwen3-235b-a22b\nstack: vllm\nmoe: {path: deepep}\n"
                             "workload: {mode: prefill, sequence_length: 1024}\n"
                             "parallel: {ep: 8}\n";

static void build(const char *set, struct arena *arena, struct plan *plan,
                  struct profile *profile, struct stepper *stepper)
{
    struct err err = {0};
    struct step_time step;
    plan_set(engine, set, arena, plan);
    assert_int_equal(profile_load(plan, arena, profile, &err), STATUS_OK);
    memset(stepper, 0, sizeof *stepper);
    assert_int_equal(stepper_build(stepper, plan, profile, arena, &err), STATUS_OK);
    assert_true(stepper_time(stepper, NULL, &step));
}

/* One call stands for permutation, products, activation and sum, and takes what the form says.
 */
static void experts_as_validate_says(void **state)
{
    (void)state;
    static const char *const precisions[] = {"bf16", "fp8"};
    for (size_t p = 0; p < 2; p++) {
        struct arena arena = {0};
        struct plan plan;
        struct profile profile;
        struct stepper s;
        size_t calls = 0, folded = 0;
        build(arena_printf(&arena, "cluster=h100-8x1 precision.compute=%s precision.weights=%s",
                           precisions[p], precisions[p]),
              &arena, &plan, &profile, &s);
        assert_string_equal(profile.name, "vllm-hopper");
        const struct curve_family family = {.of = PROFILE_EXPERTS,
                                            .path = PATH_DEEPEP,
                                            .compute = (int)plan.precision.compute,
                                            .level = PROFILE_ANY,
                                            .name = "vllm-hopper",
                                            .form = &curve_experts};
        double constants[CURVE_CONSTANTS];
        struct err err = {0};
        assert_int_equal(curve_constants(&family, &profile, constants, &err), STATUS_OK);
        for (size_t i = 0; i < s.work.n_ops; i++) {
            const struct op *op = &s.work.ops[i];
            folded += segment_has_experts(op->segment) &&
                      (op->module == MODULE_ACTIVATE || op->module == MODULE_EXPERT_DOWN) &&
                      s.op_s[i] == 0;
            if (!price_is_call(&s.pricing, op))
                continue;
            struct curve_point point = {.device = {s.pricing.rates.peak_flop_per_s,
                                                   s.pricing.rates.memory_bytes_per_s,
                                                   s.pricing.rates.units}};
            price_experts_call(&s.pricing, op, s.values, &point.experts);
            for (size_t k = 0; k < CURVE_TILES; k++)
                point.padded[k] = point.experts.padded_rows;
            assert_true(point.experts.tokens == 8 * 1024.0);
            assert_true(point.experts.inter == 1536 && point.experts.hidden == 4096);
            assert_true(point.experts.rows == 8 * 1024.0);
            assert_true(point.experts.padded_rows > point.experts.rows);
            near_to(s.op_s[i], curve_experts.seconds(constants, &point), precisions[p]);
            calls++;
        }
        assert_int_equal(calls, 1);
        assert_true(folded >= 2);
        stepper_release(&s);
        arena_release(&arena);
    }
}

/* A product of the list, by the constants and the form that were fitted to DeepGEMM. */
static bool in_8_bits(const struct work *work, const struct op *op)
{
    uint16_t weights = op_buffer(work, op, ROLE_WEIGHT);
    return weights != WORK_NONE && work->buffers[weights].dtype == DTYPE_FP8;
}

static void products_as_validate_says(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct plan plan;
    struct profile profile;
    struct stepper s;
    struct err err = {0};
    double constants[CURVE_CONSTANTS];
    size_t compared = 0;
    build("cluster=h800-8x1 stack.profile=deepgemm-h800 precision.compute=fp8 "
          "precision.weights=fp8",
          &arena, &plan, &profile, &s);
    const struct curve_family family = {.of = PROFILE_GEMM,
                                        .path = PROFILE_ANY,
                                        .compute = (int)plan.precision.compute,
                                        .level = PROFILE_ANY,
                                        .name = "deepgemm-h800",
                                        .form = &curve_gemm};
    assert_int_equal(curve_constants(&family, &profile, constants, &err), STATUS_OK);
    for (size_t i = 0; i < s.work.n_ops; i++) {
        const struct op *op = &s.work.ops[i];
        if (price_item(op, s.values) != PROFILE_GEMM || !s.values[op->flop.node] ||
            op->segment == SEGMENT_HEAD || !in_8_bits(&s.work, op))
            continue;
        double n = (double)s.values[op->n.node], depth = (double)s.values[op->k.node];
        const struct curve_point point = {
            .device = {s.pricing.rates.peak_flop_per_s, s.pricing.rates.memory_bytes_per_s,
                       s.pricing.rates.units},
            .gemm = {.groups = 1,
                     .rows = (double)s.values[op->flop.node] / (2 * n * depth),
                     .columns = n,
                     .depth = depth,
                     .bytes = (double)s.values[op->bytes_read.node] +
                              (double)s.values[op->bytes_written.node]}};
        near_to(s.op_s[i], curve_gemm.seconds(constants, &point), op->name);
        compared++;
    }
    assert_true(compared >= 2);
    stepper_release(&s);
    arena_release(&arena);
}

/* The profile of an engine stands on NCCL's: DeepEP's kernels take nothing of it, an exchange
 * of another path all of it. */
static void a_kernel_s_constants_are_its_own(void **state)
{
    (void)state;
    static const enum moe_path paths[] = {PATH_DEEPEP, PATH_RAGGED_A2A};
    struct arena arena = {0};
    struct plan plan;
    struct profile profile;
    struct err err = {0};
    plan_set(engine, "cluster=h100-8x1", &arena, &plan);
    assert_int_equal(profile_load(&plan, &arena, &profile, &err), STATUS_OK);
    for (size_t i = 0; i < 2; i++) {
        struct rates rates;
        rates_init(&rates, &plan, paths[i], &profile, NULL);
        const struct link_rates *link = &rates.link[PROFILE_ALL_TO_ALL][PROFILE_SCALE_UP];
        assert_int_equal(rate_at(&link->overhead, 8) > 0, i);
        assert_int_equal(link->hop_s > 0, i);
        assert_int_equal(link->chunking > 0, i);
        assert_int_equal(link->protocols.small > 0, i);
        assert_int_equal(link->protocols.large_s > 0, i);
    }
    arena_release(&arena);
}

/* A list that follows a plan of other sizes is priced as one that was built of it: of a call's
 * tokens, too. */
static void a_list_follows_its_sizes(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct plan plan, few;
    struct profile profile;
    struct stepper of_many, of_few;
    struct step_time followed, built;
    build("cluster=h100-8x1 workload.micro_batch=1", &arena, &few, &profile, &of_few);
    build("cluster=h100-8x1 workload.micro_batch=64", &arena, &plan, &profile, &of_many);
    stepper_follow(&of_many, &few);
    assert_true(stepper_time(&of_many, NULL, &followed));
    assert_true(stepper_time(&of_few, NULL, &built));
    near_to(followed.step_s, built.step_s, "a step");
    stepper_release(&of_many);
    stepper_release(&of_few);
    arena_release(&arena);
}

/* Against the sum over the Poisson law itself. */
static void rows_of_an_expert_in_tiles(void **state)
{
    (void)state;
    static const double means[] = {0.05, 0.5, 1, 4, 13, 40, 100, 250, 900, 3000},
                        tiles[] = {16, 64, 128, 256};
    for (size_t m = 0; m < sizeof means / sizeof *means; m++)
        for (size_t t = 0; t < sizeof tiles / sizeof *tiles; t++) {
            double exact = 0, mean = means[m], tile = tiles[t];
            for (double x = 0; x < mean + 12 * sqrt(mean) + 12; x++)
                exact += exp(x * log(mean) - mean - lgamma(x + 1)) * tile * ceil(x / tile);
            double got = form_padded_rows(mean, tile);
            if (fabs(got / exact - 1) > 0.01)
                fail_msg("mean %g, tile %g: %g, not %g", mean, tile, got, exact);
        }
}

static void a_family_shares_its_profile(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"cluster=h100-8x1", "vllm-hopper"},
        {"cluster=h200-8x1", "vllm-hopper"},
        {"cluster=h20-8x1", "vllm-hopper"},
        {"cluster=b200-8x1", "generic"},
        {"cluster=mi300x-8x1", "generic"},
        {"cluster=h200-8x1 stack=sglang", "sglang-hopper"},
        {"cluster=h200-8x1 stack.profile=generic", "generic"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena arena = {0};
        struct plan plan;
        struct profile profile;
        struct err err = {0};
        plan_set(engine, cases[i][0], &arena, &plan);
        assert_int_equal(profile_load(&plan, &arena, &profile, &err), STATUS_OK);
        assert_string_equal(profile.name, cases[i][1]);
        /* h20 is of the family, but nothing was measured on it */
        if (strcmp(profile.name, "vllm-hopper") == 0)
            assert_int_equal(profile_standing(&profile, &plan),
                             i == 2 ? RUNS_ELSEWHERE : RUNS_LIKE);
        arena_release(&arena);
    }
}

static void sizes_outside_are_told(void **state)
{
    (void)state;
    static const struct {
        const char *set, *said;
    } cases[] = {
        {"cluster=h100-8x1", NULL},
        {"cluster=h100-8x1 workload.sequence_length=32768 workload.micro_batch=1",
         "experts at 2.621e+05 tokens, fitted on 1 to 1.638e+04"},
        {"cluster=h100-8x1 workload.sequence_length=32768 workload.micro_batch=1 "
         "moe.path=allgather",
         "experts at 2.621e+05 tokens, fitted on 1 to 1.638e+04; all_to_all at 2.147e+09 "
         "bytes, fitted on 512 to 5.369e+08"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena arena = {0};
        struct plan plan;
        struct profile profile;
        struct stepper s;
        build(cases[i].set, &arena, &plan, &profile, &s);
        const char *said = range_outside(&profile, &s.pricing, &s.work, s.values, &arena);
        if (cases[i].said)
            assert_string_equal(said, cases[i].said);
        else if (said)
            fail_msg("%s", said);
        stepper_release(&s);
        arena_release(&arena);
    }
}

/* DeepEP's normal kernels send a token once to every node; with 8 experts among 16 ranks of two
 * nodes by hand: each token reaches a node with 1 - C(E/2, 8)/C(E, 8). */
static void a_token_crosses_the_network_once(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct plan plan;
    struct profile profile;
    struct stepper s;
    build("cluster=h100-8x2 parallel.ep=16", &arena, &plan, &profile, &s);
    double node = 1, rank = 1;
    for (int i = 0; i < 8; i++) {
        node *= (64.0 - i) / (128 - i);
        rank *= (120.0 - i) / (128 - i);
    }
    near_to(s.pricing.once, (1 - node) / ((1 - rank) * 8), "copies");
    double bytes[PROFILE_LEVELS];
    const struct comm_ask ask = {.to_all = true, .bytes = 15, .once = s.pricing.once};
    comm_levels(&s.pricing.place[GROUP_EP], &ask, bytes);
    near_to(bytes[PROFILE_SCALE_OUT], 8 * s.pricing.once, "network");
    near_to(bytes[PROFILE_SCALE_UP], 14, "forwarded");
    stepper_release(&s);
    arena_release(&arena);
}

/* DeepSeek-V3 chooses 4 of 8 groups of 32 experts, then 8 of theirs, two a group: of 8 nodes 4,
 * of 16 half of each chosen group's two by chance; of 64 ranks one of eight of a group. */
static void groups_of_experts_bound_nodes(void **state)
{
    (void)state;
    static const struct {
        const char *set;
        double node, rank;
    } cases[] = {{"model=deepseek-v3 cluster=h100-8x8 parallel.ep=64", 0.5,
                  0.5 * (1 - 28.0 * 27 / (32 * 31))},
                 {"model=deepseek-v3 cluster=h100-8x16 parallel.ep=128",
                  0.5 * (1 - 16.0 * 15 / (32 * 31)), 0.5 * (1 - 30.0 * 29 / (32 * 31))}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena arena = {0};
        struct plan plan;
        struct profile profile;
        struct stepper s;
        build(cases[i].set, &arena, &plan, &profile, &s);
        near_to(s.pricing.once, cases[i].node / (cases[i].rank * 8), cases[i].set);
        stepper_release(&s);
        arena_release(&arena);
    }
}

/* Seconds of an op by its name; *bytes: what it reads and writes. */
static double seconds_of(const struct stepper *s, const char *name, double *bytes)
{
    for (size_t i = 0; i < s->work.n_ops; i++) {
        const struct op *op = &s->work.ops[i];
        if (strcmp(op->name, name) != 0)
            continue;
        *bytes =
            (double)s->values[op->bytes_read.node] + (double)s->values[op->bytes_written.node];
        return s->op_s[i];
    }
    fail_msg("no op %s", name);
    return 0;
}

/* Whatever the profile's rates of the device are, what host memory takes part in runs at the
 * host's: of 1,000 elements a rank updates there (f32 gradients, master and moments), 4,000
 * bytes go out, 2,000 come back, 16,000 are read and 12,000 written. In a step they follow what
 * the device did. */
static void the_host_updates_at_its_own_pace(void **state)
{
    static const char *const profiles[] = {"megatron", "generic"};
    (void)state;
    for (size_t i = 0; i < sizeof profiles / sizeof *profiles; i++) {
        struct arena arena = {0};
        struct plan plan;
        struct profile profile;
        struct stepper s;
        struct step_time step;
        double out, back, both;
        build(
            arena_printf(&arena,
                         "cluster=h100-8x1 workload.mode=train stack=megatron moe.path=deepep "
                         "optimizer.offload=1 precision.weights=bf16 precision.gradients=f32 "
                         "precision.master=f32 stack.profile=%s",
                         profiles[i]),
            &arena, &plan, &profile, &s);
        double out_s = seconds_of(&s, "offload_gradients", &out);
        double back_s = seconds_of(&s, "reload_weights", &back);
        double both_s = seconds_of(&s, "host_optimizer", &both);
        near_to(out / both, 2 * 4.0 / 28, "gradients, read here and written there");
        near_to(back / both, 2 * 2.0 / 28, "weights");
        double start = rate_at(&s.pricing.rates.kernel[PROFILE_COPY].overhead, 0);
        near_to(out_s, start + out / 2 / (0.85 * 50e9), "out");
        near_to(back_s, start + back / 2 / (0.85 * 50e9), "back");
        near_to(both_s, start + both / (0.5 * 40e9), "update");
        assert_true(stepper_time(&s, NULL, &step));
        assert_true(step.step_s > both_s + out_s + back_s);
        stepper_release(&s);
        arena_release(&arena);
    }
}

/* Gathers on 16 ranks of two nodes, by hand: eight rings, each out of a node at another rank. A
 * rank sends 15 of 16 parts, an eighth of them to the other node, all links at once; twice the
 * nodes do not take from what neighbours in a node send each other. */
static void rings_use_every_link_at_once(void **state)
{
    (void)state;
    static const struct {
        double ranks, out, up;
    } cases[] = {{8, 0, 15}, {16, 15.0 / 8, 15 * 7.0 / 8}, {64, 15.0 / 8, 15 * 7.0 / 8}};
    struct rates rates = {0};
    for (unsigned item = 0; item < PROFILE_ITEMS; item++)
        for (unsigned level = 0; level < PROFILE_LEVELS; level++)
            rates.link[item][level] = (struct link_rates){
                .bytes_per_s = level == PROFILE_SCALE_UP ? 9 : 1, .efficiency = {.value = 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct comm_place place = {.ranks = cases[i].ranks, .inside = 8};
        const struct comm_ask ask = {.item = PROFILE_COLLECTIVE, .bytes = 15, .messages = 1};
        double bytes[PROFILE_LEVELS];
        comm_levels(&place, &ask, bytes);
        near_to(bytes[PROFILE_SCALE_OUT], cases[i].out, "network");
        near_to(bytes[PROFILE_SCALE_UP], cases[i].up, "inside");
        rates.port_bytes_per_s = 0;
        near_to(comm_s(&rates, &place, &ask), fmax(cases[i].out, cases[i].up / 9), "seconds");
        rates.port_bytes_per_s = 9; /* all 15 parts leave the rank by it, whoever gets them */
        near_to(comm_s(&rates, &place, &ask), fmax(cases[i].out, 15.0 / 9), "by one port");
    }
}

/* Eight L40S a node: gathers of two nodes take 15 of 16 parts through a port of 25 GB/s, where
 * 7 of 8 of them would go beside the network; one node is as it was. */
static void peers_and_network_share_a_port(void **state)
{
    (void)state;
    static const struct {
        const char *set;
        double ratio;
    } cases[] = {{"cluster=l40s-8x1", 1}, {"cluster=l40s-8x2", 8.0 / 7}};
    static const struct profile none = {.n = 0};
    for (size_t i = 0; i < 2; i++) {
        struct arena arena = {0};
        struct plan plan;
        double s[2];
        plan_set("model: qwen3-30b-a3b\nstack: torchtitan\nworkload: {sequence_length: 4096}\n",
                 cases[i].set, &arena, &plan);
        assert_true(plan.cluster.node.port_bandwidth == 25e9);
        for (unsigned shared = 0; shared < 2; shared++) {
            struct rates rates;
            plan.cluster.node.port_bandwidth = shared ? 25e9 : 0;
            rates_init(&rates, &plan, PATH_RAGGED_A2A, &none, NULL);
            const struct comm_place place = comm_place(&plan, GROUP_DP);
            const struct comm_ask ask = {.item = PROFILE_ALL_GATHER, .bytes = 15e9};
            s[shared] = comm_s(&rates, &place, &ask);
        }
        near_to(s[1] / s[0], cases[i].ratio, cases[i].set);
        arena_release(&arena);
    }
}

/* B200: 2250, 4500 and 9000 TFLOP/s; H100 has no fp4. Rows beside mxfp4 weights have 8 bits. */
static void four_bits_have_a_peak_of_their_own(void **state)
{
    (void)state;
    static const char served[] = "model: deepseek-r1\nstack: trtllm\nparallel: {tp: 8, ep: 8}\n"
                                 "workload: {mode: decode, context_length: 1024}\n"
                                 "precision: {compute: fp8}\n",
                      trained[] = "model: deepseek-v3\nstack: megatron\nparallel: {ep: 8}\n"
                                  "precision: {compute: fp8}\n";
    static const struct {
        const char *text, *set;
        double peak, wide;
    } cases[] = {
        {served, "cluster=b200-8x1 precision.weights=nvfp4", 9e15, 4.5e15},
        {served, "cluster=b200-8x1 precision.weights=mxfp4", 4.5e15, 4.5e15},
        {served, "cluster=b200-8x1 precision.weights=fp8_block", 4.5e15, 4.5e15},
        {served, "cluster=b200-8x1 precision.weights=nvfp4 precision.compute=bf16", 2.25e15,
         2.25e15},
        {served, "cluster=h200-8x1 precision.weights=nvfp4", 1.978e15, 1.978e15},
        {trained, "cluster=b200-8x1 precision.recipe=nvfp4", 9e15, 2.25e15},
        {trained, "cluster=b200-8x1 precision.recipe=mxfp8", 4.5e15, 2.25e15},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena arena = {0};
        struct plan plan;
        struct rates rates;
        plan_set(cases[i].text, cases[i].set, &arena, &plan);
        rates_init(&rates, &plan, PATH_FUSED, NULL, NULL);
        near_to(rates.peak_flop_per_s, cases[i].peak, cases[i].set);
        near_to(rates.wide_flop_per_s, cases[i].wide, cases[i].set);
        arena_release(&arena);
    }
}

/* Of 94 layers none, half and all multiply in 16 bits: a product takes the mean of its two
 * times. The others do not: scores and values are in 16 bits in every layer. */
static void layers_without_a_recipe_take_their_own_time(void **state)
{
    (void)state;
    static const char *const names[] = {"gate_up", "attention"};
    double s[2][3];
    for (unsigned i = 0; i < 3; i++) {
        struct arena arena = {0};
        struct plan plan;
        struct profile profile;
        struct stepper stepper;
        double bytes;
        build(arena_printf(&arena,
                           "cluster=b200-8x1 workload.mode=train workload.sequence_length=8192 "
                           "stack=megatron precision.recipe=mxfp8 precision.plain_last=%u",
                           i * 47),
              &arena, &plan, &profile, &stepper);
        for (unsigned k = 0; k < 2; k++)
            s[k][i] = seconds_of(&stepper, names[k], &bytes);
        stepper_release(&stepper);
        arena_release(&arena);
    }
    assert_true(s[0][2] > s[0][0] * 1.3);
    near_to(s[0][1], (s[0][0] + s[0][2]) / 2, "half of the layers");
    near_to(s[1][2], s[1][0], "attention");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(collectives_as_validate_says),
        cmocka_unit_test(experts_as_validate_says),
        cmocka_unit_test(products_as_validate_says),
        cmocka_unit_test(a_kernel_s_constants_are_its_own),
        cmocka_unit_test(a_list_follows_its_sizes),
        cmocka_unit_test(rows_of_an_expert_in_tiles),
        cmocka_unit_test(a_family_shares_its_profile),
        cmocka_unit_test(sizes_outside_are_told),
        cmocka_unit_test(a_token_crosses_the_network_once),
        cmocka_unit_test(groups_of_experts_bound_nodes),
        cmocka_unit_test(the_host_updates_at_its_own_pace),
        cmocka_unit_test(rings_use_every_link_at_once),
        cmocka_unit_test(peers_and_network_share_a_port),
        cmocka_unit_test(four_bits_have_a_peak_of_their_own),
        cmocka_unit_test(layers_without_a_recipe_take_their_own_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

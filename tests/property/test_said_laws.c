/* What is said of another plan is what that plan is: every fix of a prediction and every layout
 * that a search lists, set on top of the plan as --set would, gives the verdict, the bytes and
 * the rate that were said of it, and a sweep's point of any size what predict says. Plans of
 * all stacks and modes, through the public calls. */
#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/rng.h"
#include "base/text.h"
#include "lib/moeplan.h"
#include "plan/schema/schema.h"
#include "plan/source.h"
#include "support/draws.h"
#include "support/drawn_plan.h"
#include "support/settings.h"

enum { DRAWS = 240, SIZES = 480, SETTINGS = 24, LISTED = 4 };

/* ---- drawn plans ---- */

static const char *const models[] = {
    "deepseek-v3",      "deepseek-v2-lite",    "qwen3-30b-a3b",
    "qwen3-235b-a22b",  "mixtral-8x7b",        "mixtral-8x22b",
    "gpt-oss-120b",     "gpt-oss-20b",         "qwen3-next-80b-a3b",
    "glm-4.5-air",      "kimi-linear-48b-a3b", "llama4-scout",
    "llama-3.1-70b",    "phi-3.5-moe",         "nemotron-3-super",
    "qwen3-vl-30b-a3b", "deepseek-v3.2",       "jamba-v0.1",
    "arctic",
};

static const char *const clusters[] = {
    "h100-8x1", "h100-8x2", "h200-8x1", "h200-8x4", "b200-8x1", "mi355x-8x2",
    "h800-8x8", "l40s-4x1", "h20-8x1",  "a100-8x2", "h100",
};

/* Keys that make plans differ, the values in words; which are drawn of any stack and mode: a
 * plan that a value breaks is another draw. */
static const char *const settings[] = {
    "parallel.tp=1",
    "parallel.tp=2",
    "parallel.tp=4",
    "parallel.tp=8",
    "parallel.pp=2",
    "parallel.pp=4",
    "parallel.ep=4",
    "parallel.ep=8",
    "parallel.cp=2",
    "parallel.etp=2",
    "parallel.dp=2",
    "parallel.dp=4",
    "parallel.dp=8",
    "parallel.attention_dp=2",
    "parallel.attention_dp=4",
    "parallel.sp=true",
    "parallel.vpp=2",
    "parallel.zero=1",
    "parallel.zero=2",
    "parallel.zero=3",
    "parallel.dcp=2",
    "parallel.attention_cp=2",
    "workload.micro_batch=1",
    "workload.micro_batch=2",
    "workload.micro_batch=16",
    "workload.micro_batch=100",
    "workload.sequence_length=2048",
    "workload.sequence_length=16384",
    "workload.sequence_length=100000",
    "workload.global_batch=256",
    "workload.global_batch=1024",
    "workload.max_num_seqs=64",
    "workload.max_num_seqs=1024",
    "workload.max_num_batched_tokens=2048",
    "workload.max_num_batched_tokens=32768",
    "workload.shared_prefix=256",
    "workload.length_spread=0.5",
    "workload.speculation.tokens=2",
    "workload.disaggregated=true",
    "workload.context_length=8192",
    "workload.context_length=65536",
    "workload.queue=true",
    "moe.path=deepep",
    "moe.path=allgather",
    "moe.path=ragged_a2a",
    "moe.path=capacity",
    "moe.path=deepep_ll",
    "moe.path=chunked_a2a",
    "moe.path=rdep",
    "moe.path=blockwise",
    "moe.routing.distribution=zipf",
    "moe.routing.distribution=lognormal",
    "moe.routing.placement=eplb",
    "moe.redundant_experts=8",
    "moe.alignment=128",
    "moe.capacity_factor=2",
    "moe.buffer=worst",
    "precision.weights=fp8",
    "precision.weights=fp8_block",
    "precision.weights=bf16",
    "precision.weights=mxfp4",
    "precision.activations=bf16",
    "precision.kv_cache=fp8",
    "precision.recipe=mxfp8",
    "precision.compute=fp8",
    "recompute.kind=full",
    "recompute.kind=selective",
    "recompute.kind=none",
    "optimizer.offload=1",
    "optimizer.offload=0.5",
    "optimizer.kind=muon",
    "lora.rank=16",
    "lora.experts=linear",
    "precision.weights=nf4",
    "memory.fraction=0.8",
    "memory.cache_tokens=100000",
    "memory.cache_window=4096",
    "stack.static_shapes=true",
    "stack.graphs=none",
    "stack.comm_per_rank=500MiB",
    "stack.loss_chunks=4",
    "cluster.device.memory=40GiB",
    "cluster.device.memory=20GiB",
    "cluster.device.memory=24GiB",
};

/* A plan's text and what is set on top of it. */
struct drawn {
    struct arena *arena;
    const char *text;
    const char *set[SETTINGS];
    size_t n;
};

static const char *draw_workload(struct rng *rng, enum mode mode, struct arena *arena)
{
    static const uint64_t lengths[] = {512, 1024, 4096, 8192};
    uint64_t in = lengths[rng_below(rng, 4)], out = lengths[rng_below(rng, 3)];
    uint64_t many = UINT64_C(1) << (2 + rng_below(rng, 8));
    if (mode == MODE_SERVE)
        return arena_printf(arena,
                            "{mode: serve, concurrency: %" PRIu64 ", input_length: %" PRIu64
                            ", output_length: %" PRIu64 "}",
                            many, in, out);
    if (mode == MODE_DECODE)
        return arena_printf(
            arena, "{mode: decode, micro_batch: %" PRIu64 ", context_length: %" PRIu64 "}",
            many, in + out);
    return arena_printf(arena, "{mode: %s, sequence_length: %" PRIu64 "}", words_mode[mode],
                        in);
}

static enum mode draw_mode(struct rng *rng, enum stack_kind stack)
{
    static const enum mode engines[] = {MODE_PREFILL, MODE_DECODE, MODE_SERVE};
    bool trains = drawn_has_mode(stack, MODE_TRAIN),
         answers = drawn_has_mode(stack, MODE_PREFILL);
    if (!answers || (trains && rng_below(rng, 3)))
        return MODE_TRAIN;
    return engines[rng_below(rng, trains ? 2 : 3)];
}

/* Small samples, as each of many plans is sampled again and again. */
static void draw(uint64_t seed, struct arena *arena, struct drawn *out)
{
    struct rng rng;
    rng_init(&rng, draws_seed(seed), 101, 0, 0, 0);
    enum stack_kind stack = (enum stack_kind)(seed % STACK_COUNT);
    enum mode mode = draw_mode(&rng, stack);
    *out = (struct drawn){.arena = arena};
    out->text = arena_printf(
        arena, "model: %s\ncluster: %s\nstack: %s\nworkload: %s\n",
        models[rng_below(&rng, sizeof models / sizeof *models)],
        stack == STACK_HOST ? "host"
                            : clusters[rng_below(&rng, sizeof clusters / sizeof *clusters)],
        words_stack[stack], draw_workload(&rng, mode, arena));
    out->set[out->n++] = "moe.routing.samples=8";
    for (uint64_t i = rng_below(&rng, 7); i > 0; i--)
        out->set[out->n++] = settings[rng_below(&rng, sizeof settings / sizeof *settings)];
}

/* ---- plans set and predicted ---- */

static void set_one(struct moeplan_plan *plan, const char *key, const char *value)
{
    struct moeplan_error error;
    if (moeplan_set(plan, key, value, &error) != MOEPLAN_OK)
        fail_msg("%s=%s: %s", key, value, error.text);
}

/* "key=value key=value", or one of them. */
static void set_all(struct moeplan_plan *plan, const char *text, struct arena *arena)
{
    struct override sets[SETTINGS];
    size_t n = settings_split(text, arena, sets, SETTINGS);
    for (size_t i = 0; i < n; i++)
        set_one(plan, sets[i].key, sets[i].value);
}

static struct moeplan_plan *open_plan(const struct drawn *drawn)
{
    struct moeplan_plan *plan;
    struct moeplan_error error;
    if (moeplan_open_text("drawn.yaml", drawn->text, strlen(drawn->text), &plan, &error))
        fail_msg("%s: %s", drawn->text, error.text);
    for (size_t i = 0; i < drawn->n; i++)
        set_all(plan, drawn->set[i], drawn->arena);
    return plan;
}

static const char *print_drawn(const struct drawn *drawn)
{
    struct text out = {.arena = drawn->arena};
    text_append(&out, drawn->text);
    for (size_t i = 0; i < drawn->n; i++)
        text_printf(&out, " --set %s", drawn->set[i]);
    return text_string(&out);
}

/* Of a plan, or what is said of it. */
struct said {
    char verdict[16];
    uint64_t bytes;
    double rate; /* tokens a second of a device; 0: none was said */
};

static int predict(const struct moeplan_plan *plan, unsigned flags,
                   struct moeplan_result **result, struct moeplan_error *error)
{
    const struct moeplan_options options = {.flags =
                                                MOEPLAN_NO_OPS | MOEPLAN_MEMORY_ONLY | flags};
    return moeplan_predict(plan, &options, result, error);
}

static struct said read_said(const struct moeplan_result *result, const char *verdict,
                             const char *bytes, const char *rate)
{
    struct said said = {.rate = 0};
    if (!moeplan_result_text(result, verdict, said.verdict, sizeof said.verdict) ||
        !moeplan_result_count(result, bytes, &said.bytes))
        fail_msg("no %s, no %s", verdict, bytes);
    moeplan_result_real(result, rate, &said.rate);
    return said;
}

/* One that an order of sums leaves is none. */
static bool same_rate(double a, double b)
{
    return fabs(a - b) <= 1e-9 * fmax(fabs(a), fabs(b));
}

/* Prints how the plan with `set` differs from what was said of it; whether it does. */
static bool is_other(const struct drawn *drawn, const char *what, const char *set,
                     const struct said *said)
{
    struct moeplan_plan *plan = open_plan(drawn);
    struct moeplan_result *result = NULL;
    struct moeplan_error error;
    set_all(plan, set, drawn->arena);
    int status = predict(plan, MOEPLAN_NO_FIXES, &result, &error);
    moeplan_close(plan);
    if (status != MOEPLAN_OK) {
        print_error("%s\n  %s %s: refused: %s: %s\n", print_drawn(drawn), what, set,
                    error.where, error.text);
        return true;
    }
    struct said is = read_said(result, "memory.verdict", "memory.total_bytes",
                               "time.tokens_per_s_per_device");
    moeplan_result_free(result);
    bool other = strcmp(is.verdict, said->verdict) != 0 || is.bytes != said->bytes ||
                 !same_rate(is.rate, said->rate);
    if (other)
        print_error("%s\n  %s %s: %s of %" PRIu64 " bytes at %.9g said, %s of %" PRIu64
                    " at %.9g is\n",
                    print_drawn(drawn), what, set, said->verdict, said->bytes, said->rate,
                    is.verdict, is.bytes, is.rate);
    return other;
}

/* ---- fixes ---- */

static unsigned check_fixes(const struct drawn *drawn, const struct moeplan_result *result,
                            unsigned *checked)
{
    size_t n = 0;
    unsigned wrong = 0;
    moeplan_result_length(result, "memory.fixes", &n);
    for (size_t i = 0; i < n; i++) {
        char names[4][64], set[512];
        static const char *const members[] = {"verdict", "total_bytes",
                                              "tokens_per_s_per_device", "set"};
        for (unsigned j = 0; j < 4; j++)
            snprintf(names[j], sizeof names[j], "memory.fixes.%zu.%s", i, members[j]);
        if (!moeplan_result_text(result, names[3], set, sizeof set))
            fail_msg("fix %zu has no settings", i);
        struct said said = read_said(result, names[0], names[1], names[2]);
        wrong += is_other(drawn, "fix", set, &said);
        ++*checked;
    }
    return wrong;
}

/* Whether a fix moves the optimizer's states to the host. */
static bool offloads(const struct moeplan_result *result)
{
    size_t n = 0;
    bool found = false;
    moeplan_result_length(result, "memory.fixes", &n);
    for (size_t i = 0; i < n; i++) {
        char name[64], set[512] = "";
        snprintf(name, sizeof name, "memory.fixes.%zu.set", i);
        moeplan_result_text(result, name, set, sizeof set);
        found = found || strstr(set, "optimizer.offload=");
    }
    return found;
}

/* ---- layouts ---- */

struct sums {
    unsigned plans, wrong, fixes, layouts, mended;
};

/* What JSON says of a layout, as text and as settings. */
static const char *layout_set(const struct node *hit, struct arena *arena)
{
    struct text out = {.arena = arena};
    for (const struct node *key = node_get(hit, "set")->first; key; key = key->next)
        text_printf(&out, "%s%s=%s", out.length ? " " : "", key->key, key->text);
    return text_string(&out);
}

static double number_of(const struct node *hit, const char *key)
{
    return strtod(node_get(hit, key)->text, NULL);
}

static unsigned check_list(const struct drawn *drawn, const struct node *list,
                           unsigned *checked)
{
    unsigned wrong = 0;
    const struct node *hit = list->first;
    for (unsigned i = 0; i < LISTED && hit; i++, hit = hit->next) {
        struct said said = {.bytes = strtoull(node_get(hit, "total_bytes")->text, NULL, 10),
                            .rate = 1 / number_of(hit, "device_s_per_token")};
        snprintf(said.verdict, sizeof said.verdict, "%s", node_get(hit, "verdict")->text);
        wrong += is_other(drawn, "layout", layout_set(hit, drawn->arena), &said);
        ++*checked;
    }
    return wrong;
}

/* What makes the nearest miss fit: changes of its layout. */
static unsigned check_mended(const struct drawn *drawn, const struct node *root,
                             unsigned *checked)
{
    unsigned wrong = 0;
    const struct node *fixes = node_get(root, "fixes");
    for (const struct node *fix = fixes ? fixes->first : NULL; fix; fix = fix->next) {
        struct said said = {.bytes = strtoull(node_get(fix, "total_bytes")->text, NULL, 10),
                            .rate = number_of(fix, "tokens_per_s_per_device")};
        snprintf(said.verdict, sizeof said.verdict, "%s", node_get(fix, "verdict")->text);
        const char *set = arena_printf(drawn->arena, "%s %s",
                                       layout_set(node_get(root, "nearest"), drawn->arena),
                                       node_get(fix, "set")->text);
        wrong += is_other(drawn, "fix of a layout", set, &said);
        ++*checked;
    }
    return wrong;
}

static unsigned check_layouts(const struct drawn *drawn, const struct moeplan_plan *plan,
                              struct sums *sums)
{
    static const char *const fixed[] = {"capacity_factor=1", "block_size=512"};
    const struct moeplan_search search = {
        .fixed = fixed, .n_fixed = 2, .best = LISTED, .marginal = 1};
    struct moeplan_error error;
    struct err err = {0};
    struct node *root;
    char *json;
    size_t length;
    if (moeplan_find(plan, &search, &json, &length, &error) != MOEPLAN_OK)
        return 0;
    if (source_read_text("search.json", json, length, drawn->arena, &root, &err) != STATUS_OK)
        fail_msg("%s: %s", err.where, err.text);
    moeplan_free(json);
    return check_list(drawn, node_get(root, "best"), &sums->layouts) +
           check_list(drawn, node_get(root, "pareto"), &sums->layouts) +
           check_mended(drawn, root, &sums->mended);
}

/* ---- all of them ---- */

static void check_draw(uint64_t seed, struct sums *sums)
{
    struct arena arena = {0};
    struct drawn drawn;
    struct moeplan_result *result = NULL;
    struct moeplan_error error;
    draw(seed, &arena, &drawn);
    struct moeplan_plan *plan = open_plan(&drawn);
    if (predict(plan, 0, &result, &error) == MOEPLAN_OK) {
        sums->plans++;
        sums->wrong += check_fixes(&drawn, result, &sums->fixes);
        if (seed / STACK_COUNT % 3 == 0)
            sums->wrong += check_layouts(&drawn, plan, sums);
    }
    moeplan_result_free(result);
    moeplan_close(plan);
    arena_release(&arena);
}

static void what_is_said_is_so(void **state)
{
    (void)state;
    struct sums sums = {0};
    draws_print(DRAWS);
    for (uint64_t seed = 0; seed < draws_of(DRAWS); seed++)
        check_draw(seed, &sums);
    print_message("%u plans, %u fixes, %u layouts, %u fixes of layouts\n", sums.plans,
                  sums.fixes, sums.layouts, sums.mended);
    draws_reach("plans", sums.plans, draws_of(DRAWS) / 3.0);
    assert_int_equal(sums.wrong, 0);
}

/* Draws seldom come to fixes that offload, which take more settings than their key; a rule or a
 * default that followed from them would make another plan. */
static void states_said_to_fit_the_host_do(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "model: qwen3-30b-a3b\ncluster: h100-8x1\nstack: megatron\n"
        "workload: {sequence_length: 4096}\nparallel: {ep: 8, zero: 1}\n",
        "model: llama-3.1-70b\ncluster: h100-8x2\nstack: megatron\n"
        "workload: {sequence_length: 4096}\nparallel: {tp: 8}\n",
        "model: mixtral-8x22b\ncluster: mi300x-8x1\nstack: primus\n"
        "workload: {sequence_length: 4096}\nparallel: {ep: 8, zero: 1}\n",
        "model: qwen3-30b-a3b\ncluster: h100-8x1\nstack: deepspeed\n"
        "workload: {sequence_length: 4096, micro_batch: 3}\nparallel: {zero: 3}\n",
        "model: mixtral-8x7b\ncluster: h100-8x1\nstack: fsdp\n"
        "workload: {sequence_length: 2048, micro_batch: 2}\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct arena arena = {0};
        struct drawn drawn = {.arena = &arena, .text = texts[i]};
        struct moeplan_plan *plan = open_plan(&drawn);
        struct moeplan_result *result = NULL;
        struct moeplan_error error;
        unsigned checked = 0;
        if (predict(plan, 0, &result, &error) != MOEPLAN_OK)
            fail_msg("%s: %s", texts[i], error.text);
        assert_int_equal(check_fixes(&drawn, result, &checked), 0);
        assert_true(offloads(result));
        moeplan_result_free(result);
        moeplan_close(plan);
        arena_release(&arena);
    }
}

/* ---- points of a sweep ---- */

static int take_point(void *context, const struct moeplan_point *point)
{
    struct said *said = context;
    snprintf(said->verdict, sizeof said->verdict, "%s", point->verdict);
    said->bytes = point->total_bytes;
    return 0;
}

/* Up to sizes that no count holds: what predict refuses is no plan to a sweep either. */
static void check_size(uint64_t seed, unsigned *refused)
{
    struct arena arena = {0};
    struct rng rng;
    struct drawn drawn;
    struct moeplan_result *result = NULL;
    struct moeplan_error error;
    struct said point = {.rate = 0}, is = {.verdict = "invalid"};
    draw(seed, &arena, &drawn);
    rng_init(&rng, draws_seed(seed), 102, 0, 0, 0);
    drawn.n = 1;
    drawn.set[drawn.n++] = arena_printf(&arena, "workload.sequence_length=%g",
                                        pow(10, 3 + (int)rng_below(&rng, 5)));
    const char *batch = arena_printf(&arena, "%g", pow(10, (int)rng_below(&rng, 8)));
    const char *over = arena_printf(&arena, "workload.micro_batch=%s", batch);
    const struct moeplan_axes axes = {.overs = &over, .n_overs = 1};
    struct moeplan_plan *plan = open_plan(&drawn);
    bool swept = moeplan_sweep(plan, &axes, take_point, &point, &error) == MOEPLAN_OK;
    set_one(plan, "workload.micro_batch", batch);
    if (predict(plan, MOEPLAN_NO_FIXES, &result, &error) == MOEPLAN_OK)
        is = read_said(result, "memory.verdict", "memory.total_bytes", "");
    if (swept && (strcmp(is.verdict, point.verdict) != 0 || is.bytes != point.bytes))
        fail_msg("%s %s: predict says %s of %" PRIu64 " bytes, frontier %s of %" PRIu64,
                 print_drawn(&drawn), over, is.verdict, is.bytes, point.verdict, point.bytes);
    *refused += strcmp(is.verdict, "invalid") == 0;
    moeplan_result_free(result);
    moeplan_close(plan);
    arena_release(&arena);
}

static void sizes_are_the_same_to_a_sweep(void **state)
{
    (void)state;
    unsigned refused = 0;
    draws_print(SIZES);
    for (uint64_t seed = 0; seed < draws_of(SIZES); seed++)
        check_size(seed, &refused);
    print_message("%u are no plans\n", refused);
    draws_reach("plans", draws_of(SIZES) - refused, draws_of(SIZES) / 4.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_said_is_so),
        cmocka_unit_test(states_said_to_fit_the_host_do),
        cmocka_unit_test(sizes_are_the_same_to_a_sweep),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

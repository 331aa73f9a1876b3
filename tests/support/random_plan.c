/* see random_plan.h. */
#include "support/draws.h"
#include "support/random_plan.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "plan/layers.h"
#include "plan/rule/rule.h"
#include "plan/schema/schema.h"

void plan_tiny(struct plan *plan)
{
    static const char *const values[][2] = {{"name", "small"},
                                            {"model", "small"},
                                            {"model.name", "small"},
                                            {"model.layers", "8"},
                                            {"model.dense_layers", "2"},
                                            {"model.hidden", "64"},
                                            {"model.dense_intermediate", "128"},
                                            {"model.vocab", "1000"},
                                            {"model.attention.heads", "8"},
                                            {"model.attention.kv_heads", "4"},
                                            {"model.attention.head_dim", "8"},
                                            {"model.moe.experts", "16"},
                                            {"model.moe.top_k", "2"},
                                            {"model.moe.intermediate", "32"},
                                            {"cluster", "small"},
                                            {"cluster.name", "small"},
                                            {"cluster.device.memory", "1 GiB"},
                                            {"cluster.device.memory_bandwidth", "1 TB/s"},
                                            {"cluster.device.peak.bf16", "100 TFLOP/s"},
                                            {"cluster.device.peak.fp8", "200 TFLOP/s"},
                                            {"cluster.node.devices", "4"},
                                            {"cluster.node.link_bandwidth", "100 GB/s"},
                                            {"cluster.nodes", "2"},
                                            {"cluster.network.bandwidth", "10 GB/s"},
                                            {"stack.name", "generic"},
                                            {"workload.sequence_length", "64"}};
    struct err err = {0};
    schema_defaults(plan);
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        schema_set(schema_find(values[i][0]), plan, values[i][1], false, (struct mark){0},
                   &err);
    assert(err.status == STATUS_OK);
}

/* ---- random values, as text ---- */

enum { VALUE = 128 };

static void draw_number(struct rng *rng, const struct field *field, char text[VALUE])
{
    uint64_t most = field->max >= 1 && field->max < 1e15 ? (uint64_t)field->max : 1ull << 40;
    uint64_t small = 1 + rng_below(rng, 8), power = 1ull << rng_below(rng, 14);
    uint64_t any = rng_below(rng, most + 1);
    uint64_t count = (const uint64_t[]){small, power, any}[rng_below(rng, 3)];
    if (field->type == FIELD_COUNT || field->type == FIELD_COUNTS)
        snprintf(text, VALUE, "%" PRIu64, count);
    else if (field->type == FIELD_AMOUNT)
        snprintf(text, VALUE, "%" PRIu64, rng_u64(rng) >> (11 + rng_below(rng, 40)));
    else if (rng_below(rng, 2))
        snprintf(text, VALUE, "%.17g", rng_uniform(rng) * (field->max > 0 ? field->max : 1e3));
    else
        snprintf(text, VALUE, "%.3g", (double)count / 64);
}

static void draw_text(struct rng *rng, char text[VALUE])
{
    static const char *const texts[] = {
        "a",  "deepseek-v3", "8x7b",     "x y",       "null", "True",
        "-",  "[x]",         "a: b # c", "\"q\" \\n", "'",    "\xc3\xa9\xe2\x82\xac",
        "~",  "1e3",         "{a}",      "*x",        "&y",   "%z",
        "no", " lead",       "trail "};
    snprintf(text, VALUE, "%s", texts[rng_below(rng, sizeof texts / sizeof *texts)]);
}

static void draw_words(struct rng *rng, const struct field *field, char text[VALUE])
{
    static const char *const axes[] = {"tp", "cp", "ep", "dp", "pp"};
    static const char *const names[] = {"moe_mlpwo", "out_proj", "null", "a.b", "2x", "-x"};
    static const char *const targets[] = {"q_proj", "v_proj", "o_proj", "linear_fc1",
                                          "down_proj"};
    bool adapted = strstr(field->key, "targets") != NULL;
    bool order = adapted || strstr(field->key, "order") != NULL;
    uint64_t n = rng_below(rng, order ? 6 : 4), first = rng_below(rng, 5);
    size_t used = (size_t)snprintf(text, VALUE, "[");
    for (uint64_t i = 0; i < n; i++)
        used += (size_t)snprintf(text + used, VALUE - used, "%s%s", i ? ", " : "",
                                 adapted ? targets[(first + i) % 5]
                                 : order ? axes[(first + i) % 5]
                                         : names[rng_below(rng, 6)]);
    snprintf(text + used, VALUE - used, "]");
}

static void draw_enums(struct rng *rng, const char *const *words, size_t n_words,
                       char text[VALUE])
{
    uint64_t n = rng_below(rng, 5);
    size_t used = (size_t)snprintf(text, VALUE, "[");
    for (uint64_t i = 0; i < n; i++)
        used += (size_t)snprintf(text + used, VALUE - used, "%s%s", i ? ", " : "",
                                 words[rng_below(rng, n_words)]);
    snprintf(text + used, VALUE - used, "]");
}

static void draw_value(struct rng *rng, const struct field *field, char text[VALUE])
{
    size_t n_words = 0;
    const char *const *words = field->words ? schema_words(field) : NULL;
    while (words && words[n_words])
        n_words++;
    switch (field->type) {
    case FIELD_COUNT:
    case FIELD_REAL:
    case FIELD_AMOUNT:
    case FIELD_RATE:
    case FIELD_COUNTS:
        draw_number(rng, field, text);
        break;
    case FIELD_BOOL:
        snprintf(text, VALUE, "%s", rng_below(rng, 2) ? "true" : "false");
        break;
    case FIELD_WORD:
        snprintf(text, VALUE, "%s", words[rng_below(rng, n_words)]);
        break;
    case FIELD_TEXT:
        draw_text(rng, text);
        break;
    case FIELD_WORDS:
        draw_words(rng, field, text);
        break;
    case FIELD_ENUMS:
        draw_enums(rng, words, n_words, text);
        break;
    }
}

/* What loading would have filled in, or looked for. */
bool plan_is_complete(const struct plan *plan)
{
    const struct model *model = &plan->model;
    bool gqa = model->attention.kind == ATTENTION_GQA;
    return (!gqa || (model->attention.kv_heads && model->attention.head_dim)) &&
           (model->moe.shared_intermediate ||
            !(model->moe.shared_experts && model->moe.intermediate)) &&
           (model->linear.key_heads || !model->linear.heads) &&
           (model->linear.key_dim || !model->linear.head_dim) &&
           (model->layer_embedding.vocab || !model->layer_embedding.width) &&
           (model->linear.state != DTYPE_NONE || plan->workload.mode == MODE_TRAIN ||
            !model_mixers(model, MIXER_LINEAR)) &&
           plan->moe.routing.distribution != DISTRIBUTION_TRACE &&
           plan->moe.routing.placement != PLACEMENT_TABLE && plan->stack.profile[0] == '\0' &&
           plan->workload.speculation.model[0] == '\0';
}

/* Keeps a change only if all rules still hold. */
static void change(struct rng *rng, const struct field *field, struct plan *plan)
{
    char value[VALUE];
    struct err err = {0};
    struct plan changed = *plan;
    draw_value(rng, field, value);
    if (schema_set(field, &changed, value, false, (struct mark){0}, &err) == STATUS_OK &&
        memcmp(&changed, plan, sizeof changed) != 0 && plan_is_complete(&changed) &&
        rule_check_layout(&changed) && rule_check_run(&changed))
        *plan = changed;
}

void plan_vary(struct plan *plan, struct rng *rng)
{
    size_t n;
    const struct field *fields = schema_fields(&n), *field = &fields[rng_below(rng, n)];
    if (!text_equal(field->key, "model") && !text_equal(field->key, "cluster") &&
        !text_equal(field->key, "stack"))
        change(rng, field, plan);
}

void plan_random(struct plan *plan, uint64_t seed)
{
    struct rng rng;
    size_t n;
    schema_fields(&n);
    rng_init(&rng, draws_seed(seed), 0, 0, 0, 0);
    plan_tiny(plan);
    for (size_t i = 0; i < 3 * n; i++)
        plan_vary(plan, &rng);
    memcpy(plan->model_name, plan->model.name, PLAN_NAME);
    memcpy(plan->cluster_name, plan->cluster.name, PLAN_NAME);
    memcpy(plan->stack_name, plan->stack.name, PLAN_NAME);
}

/* ---- near the present value ---- */

static void draw_near(struct rng *rng, const struct field *field, double now, char text[VALUE])
{
    const double choices[] = {now * 2, now + 1,  now / 2, 1 + (double)rng_below(rng, 8),
                              now * 8, now / 1e6};
    double value = choices[rng_below(rng, sizeof choices / sizeof *choices)];
    if (text_equal(field->key, "moe.routing.samples"))
        value = 5 + (double)rng_below(rng, 30); /* each costs time */
    else if (field->max == 1)
        value = rng_uniform(rng);
    bool whole = field->type == FIELD_COUNT || field->type == FIELD_AMOUNT;
    snprintf(text, VALUE, whole ? "%.0f" : "%.17g", value);
}

/* Names that stacks know, so that lists of them are not refused for their spelling. */
static void draw_names(struct rng *rng, const struct field *field, char text[VALUE])
{
    static const char *const modules[] = {"core_attn", "moe_act", "layernorm", "mlp",
                                          "moe",       "op",      "2"};
    static const char *const tensors[] = {"mlpwi", "context", "q", "mlp_gate", "layer_input"};
    static const char *const offload[] = {"attn_norm", "core_attn", "moe_act", "expert_fc1"};
    const char *name = text_equal(field->key, "recompute.save") ? tensors[rng_below(rng, 5)]
                       : text_equal(field->key, "recompute.offload")
                           ? offload[rng_below(rng, 4)]
                           : modules[rng_below(rng, 7)];
    snprintf(text, VALUE, "[%s]", name);
}

/* Meshes of 8 devices, stages of 8 layers. */
static void draw_list(struct rng *rng, char text[VALUE])
{
    static const char *const lists[] = {"[]", "[8]", "[4, 2]", "[3, 5]", "[2, 6]", "[2, 2, 2]"};
    snprintf(text, VALUE, "%s", lists[rng_below(rng, sizeof lists / sizeof *lists)]);
}

static void draw_other(struct rng *rng, const struct field *field, const struct plan *plan,
                       char text[VALUE])
{
    bool number = field->type == FIELD_COUNT || field->type == FIELD_REAL ||
                  field->type == FIELD_AMOUNT || field->type == FIELD_RATE;
    if (number)
        draw_near(rng, field, schema_number(field, plan), text);
    else if (field->type == FIELD_COUNTS && rng_below(rng, 2))
        draw_list(rng, text);
    else if (field->type == FIELD_WORDS && !strstr(field->key, "order"))
        draw_names(rng, field, text);
    else
        draw_value(rng, field, text);
}

static bool is_same(const struct field *field, const struct plan *a, const struct plan *b)
{
    return memcmp((const char *)a + field->offset, (const char *)b + field->offset,
                  field->size) == 0 &&
           (!field->number || is_same(schema_find(field->number), a, b));
}

bool plan_alter(struct rng *rng, const struct field *field, struct plan *plan)
{
    enum { DRAWS = 12 };
    for (int i = 0; i < DRAWS; i++) {
        char value[VALUE], text[RULE_TEXT], hint[RULE_TEXT];
        struct err err = {0};
        struct plan changed = *plan;
        draw_other(rng, field, plan, value);
        if (schema_set(field, &changed, value, false, (struct mark){0}, &err) != STATUS_OK ||
            is_same(field, plan, &changed) || !plan_is_complete(&changed) ||
            rule_check(&changed, text, hint))
            continue;
        *plan = changed;
        return true;
    }
    return false;
}

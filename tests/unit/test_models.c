/* models/: every shipped name loads and says what the published tables say. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/csv.h"
#include "base/text.h"
#include "plan/read/catalog.h"
#include "plan/schema/schema.h"
#include "support/catalogue.h"
#include "plan/params.h"

static void read_table(const char *name, struct arena *arena, struct csv *csv)
{
    struct err err = {0};
    char *path = NULL;
    assert_int_equal(catalog_find(CATALOG_PUBLISHED, name, NULL, arena, &path, &err),
                     STATUS_OK);
    if (csv_read(path, arena, csv, &err))
        fail_msg("%s: %s", err.where, err.text);
}

static bool is_shipped(const char *name, struct arena *arena)
{
    struct catalog_item *items = NULL;
    size_t n = 0;
    catalog_list(CATALOG_MODEL, arena, &items, &n);
    for (size_t i = 0; i < n; i++)
        if (text_equal(items[i].name, name))
            return true;
    return false;
}

static void expect_count(const struct csv *csv, size_t row, const char *column,
                         uint64_t computed)
{
    const char *published = csv_cell(csv, row, column);
    if (computed != strtoull(published, NULL, 10))
        fail_msg("%s: %s %llu, published %s", csv_cell(csv, row, "model"), column,
                 (unsigned long long)computed, published);
}

static void models_have_their_published_counts(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct csv csv;
    read_table("model_shapes", &arena, &csv);
    size_t n = 0;
    for (size_t row = 0; row < csv.n_rows; row++) {
        if (csv_cell(&csv, row, "matrices")[0] == '\0')
            continue;
        struct plan plan;
        struct params params;
        catalogue_plan(csv_cell(&csv, row, "model"), NULL, NULL, &arena, &plan);
        plan.model.indexer = (struct indexer){0}; /* the table's shapes have none of these */
        plan.model.encoder = (struct encoder){0};
        plan.model.layer_types.n = 0;
        params_count(&plan.model, &params);
        expect_count(&csv, row, "matrices", params.matrices);
        expect_count(&csv, row, "active_matrices", params.active_matrices);
        n++;
    }
    assert_int_equal(n, 34);
    arena_release(&arena);
}

/* Published totals that count norms and biases too; sizes of the checkpoints' weights. */
static const struct {
    const char *model;
    uint64_t parameters;
} exact[] = {
    {"deepseek-v3", 671026419200},
    {"deepseek-r1", 671026419200},
    {"mixtral-8x7b", 46702792704},
    {"mixtral-8x22b", 140620634112},
    {"qwen3-30b-a3b", 30532122624},
    {"qwen3-235b-a22b", 235093634560},
    {"gpt-oss-120b", 116829156672},
    {"gpt-oss-20b", 20914757184},
    {"olmoe-1b-7b", 6919161856},
    {"deepseek-v2-lite", 15706484224},
    {"deepseek-v2", 235741434880},
    {"phi-3.5-moe", 41873153344},
    {"qwen3-0.6b", 596049920},
    {"qwen3-1.7b", 1720574976},
    {"qwen3-4b", 4022468096},
    {"qwen3-8b", 8190735360},
    {"qwen3-14b", 14768307200},
    {"qwen2.5-7b", 7615616512},
    {"qwen2.5-14b", 14770033664},
    {"qwen2.5-32b", 32763876352},
    {"qwen2.5-72b", 72706203648},
    {"llama-3.2-1b", 1235814400},
    {"llama-3.2-3b", 3212749824},
    {"lfm2-8b-a1b", 8339929856 + 704},
    /* elements of the checkpoints, encoders included */
    {"qwen3-vl-2b", 2127532032},
    {"qwen3-vl-4b", 4437815808},
    {"qwen3-vl-8b", 8767123696},
    {"qwen3-vl-32b", 33357390064},
    {"qwen2.5-vl-3b", 3754622976},
    {"qwen2.5-vl-7b", 8292166656},
    {"qwen2.5-vl-32b", 33452718336},
    {"qwen2.5-vl-72b", 73410777344},
    {"mistral-small-24b", 23572403200},
    {"mistral-small-3.1-24b", 24011361280},
    {"phi-4", 14659507200},
    {"phi-4-mini", 3836021760},
    {"ling-mini-2.0", 16255643392},
    {"ling-flash-2.0", 102889705216},
    {"ling-1t", 999705328640},
    {"dots.llm1", 142774381696},
    {"exaone-4.0-32b", 32003216384},
    {"glm-4.5v", 107710933120},
    {"granite-4.0-h-tiny", 6939037248},
    {"nemotron-nano-9b-v2", 8888227328},
    {"qwen3-omni-30b-a3b", 31719205488},
    {"gemma-4-26b-a4b", 25805936206},
    {"gemma-4-31b", 31273088876},
    {"minimax-m3", 427040140160},
    /* prediction modules of Qwen3.5 aside */
    {"llama-2-7b", 6738415616},
    {"llama-2-13b", 13015864320},
    {"llama-2-70b", 68976648192},
    {"mistral-7b-v0.1", 7241732096},
    {"mistral-7b-v0.2", 7241732096},
    {"mistral-7b", 7248023552},
    {"mistral-nemo-12b", 12247782400},
    {"qwen2.5-0.5b", 494032768},
    {"qwen2.5-1.5b", 1543714304},
    {"qwen2.5-3b", 3085938688},
    {"deepseek-r1-distill-qwen-1.5b", 1777088000},
    {"deepseek-llm-7b", 6910365696},
    {"deepseek-moe-16b", 16375728128},
    {"qwen3.5-0.8b", 852985920},
    {"qwen3.5-2b", 2213241664},
    {"qwen3.5-4b", 4539265536},
    {"qwen3.5-9b", 9409813744},
    {"qwen2-vl-2b", 2208985600},
    {"qwen2-vl-7b", 8291375616},
    {"qwen2-vl-72b", 73405560320},
    {"gemma-2-2b", 2614341888},
    {"gemma-2-9b", 9241705984},
    {"gemma-2-27b", 27227128320},
    {"gemma-3-1b", 999885952},
    {"gemma-3-4b", 4300079472},
    {"gemma-3-12b", 12187325040},
    {"phi-3.5-mini", 3821079552},
    {"glm-4-9b", 9399951360},
    {"glm-4-9b-0414", 9400279040},
    {"olmo-2-7b", 7298617344},
    {"olmo-2-13b", 13716198400},
    {"olmo-2-32b", 32234279936},
    {"smollm3-3b", 3075098624},
    {"smollm2-1.7b", 1711376384},
    {"smollm2-360m", 361821120},
    {"smollm2-135m", 134515008},
    {"granite-3.3-2b", 2533539840},
    {"granite-3.3-8b", 8170864640},
    {"seed-oss-36b", 36151104512},
    {"ernie-4.5-0.3b", 360748032},
    {"ernie-4.5-300b-a47b", 299484163264},
    {"internlm2-7b", 7737708544},
    {"yi-34b", 34388917248},
    {"tinyllama-1.1b", 1100048384},
    {"gemma-2b", 2506172416},
    {"gemma-7b", 8537680896},
    {"gemma-3-270m", 268098176},
    {"open-llama-3b", 3426473600},
    {"grok-2", 269515497472},
    {"lfm2-350m", 354483968},
    {"lfm2-700m", 742489344},
    {"lfm2-1.2b", 1170340608},
    {"lfm2-2.6b", 2569272320},
    {"apertus-8b", 8053338176 - 2 * 32}, /* of xIELU */
    /* what their shapes give: no copy of the checkpoints' own counts was found */
    {"internlm3-8b", 8804241408},
    {"baichuan2-7b", 7505973248},
    {"internvl3-8b", 7944373760},
    {"internvl3.5-8b", 8528318464},
    {"glm-4.1v-9b", 10292777472},
    {"command-r-08-2024", 32296476672},       /* its card: 32B */
    {"command-r-v01", 34980831232},           /* its card: 35B */
    {"sarvam-30b", 32152650368},              /* its checkpoint: 64.4 GB */
    {"sarvam-105b", 106031767424},            /* its hub: 106.0B */
    {"ernie-4.5-vl-424b-a47b", 423526285184}, /* its card: 424B */
};

static void models_have_their_exact_parameters(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof exact / sizeof *exact; i++) {
        struct arena arena = {0};
        struct plan plan;
        struct params params;
        catalogue_plan(exact[i].model, NULL, NULL, &arena, &plan);
        params_count(&plan.model, &params);
        if (params.parameters != exact[i].parameters)
            fail_msg("%s: %llu parameters, published %llu", exact[i].model,
                     (unsigned long long)params.parameters,
                     (unsigned long long)exact[i].parameters);
        arena_release(&arena);
    }
}

/* As names and model cards round them, embedding and head counted among what a token touches
 * (0: not said): A.X-K1 text index id 52002711421, Laguna 54526238601, Solar 70946687320. */
static void models_round_to_what_is_published(void **state)
{
    (void)state;
    static const struct {
        const char *model;
        double total, active;
    } rows[] = {
        {"a.x-k1", 519e9, 0},
        {"k-exaone-236b-a23b", 236e9, 23e9},
        {"laguna-s-2.1", 118e9, 8e9},
        {"mistral-small-4-119b", 119e9, 0},
        {"solar-open-100b", 102e9, 12e9},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct arena arena = {0};
        struct plan plan;
        struct params p;
        catalogue_plan(rows[i].model, NULL, NULL, &arena, &plan);
        params_count(&plan.model, &p);
        uint64_t idle = plan.model.moe.experts - plan.model.moe.top_k;
        uint64_t active = p.parameters - p.moe_layers * idle * params_part_total(p.expert);
        if (fabs((double)p.parameters - rows[i].total) > 1e9 ||
            (rows[i].active > 0 && fabs((double)active - rows[i].active) > 1e9))
            fail_msg("%s: %llu, active %llu", rows[i].model, (unsigned long long)p.parameters,
                     (unsigned long long)active);
        arena_release(&arena);
    }
}

static uint64_t cell_count(const struct csv *csv, size_t row, const char *column)
{
    return strtoull(csv_cell(csv, row, column), NULL, 10);
}

static void expect_equal(const char *model, const char *what, uint64_t computed,
                         uint64_t published)
{
    if (computed != published)
        fail_msg("%s: %llu %s, published %llu", model, (unsigned long long)computed, what,
                 (unsigned long long)published);
}

/* All parameters, those that a token touches, embedding and head among them, and those of the
 * prediction modules, of every model whose layers are known. */
static void models_have_the_parameters_of_their_layers(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct csv csv;
    read_table("model_layers", &arena, &csv);
    size_t n = 0;
    for (size_t row = 0; row < csv.n_rows; row++) {
        const char *model = csv_cell(&csv, row, "model");
        struct plan plan;
        struct params p;
        if (!is_shipped(model, &arena))
            continue;
        catalogue_plan(model, NULL, NULL, &arena, &plan);
        params_count(&plan.model, &p);
        uint64_t idle = plan.model.moe.experts - plan.model.moe.top_k;
        bool alone = strstr(csv_cell(&csv, row, "note"), "text model of") != NULL;
        uint64_t text = p.parameters - (alone ? params_encoder(&p) : 0);
        expect_equal(model, "parameters", text, cell_count(&csv, row, "parameters"));
        expect_equal(model, "active parameters",
                     text - p.moe_layers * idle * params_part_total(p.expert),
                     cell_count(&csv, row, "active"));
        n++;
        uint64_t module = cell_count(&csv, row, "mtp_parameters");
        if (!module)
            continue;
        plan.model.mtp_enabled = true;
        params_count(&plan.model, &p);
        expect_equal(model, "parameters of prediction modules", params_part_total(p.mtp),
                     module);
    }
    assert_true(n >= 20);
    arena_release(&arena);
}

/* Kimi-K3's checkpoint by the index of its shards: 2,722,740,830,208 parameters of experts,
 * 57,179,884,544 in bf16 and 11,122,432 in f32, vision tower (401,214,464) and projector
 * (46,144,512) among them (text index ids 57694383931, 61569586300, 70111876762). What is left
 * is ours, attention residuals (4 H a layer and 2 H at the end) too, but for A_log, which
 * stands there for 128 heads of 96. */
static void kimi_k3_is_its_checkpoint(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct plan plan;
    struct params p;
    catalogue_plan("kimi-k3", NULL, NULL, &arena, &plan);
    params_count(&plan.model, &p);
    const uint64_t experts = UINT64_C(2722740830208), rest = UINT64_C(57179884544) + 11122432;
    const uint64_t vision = 401214464 + 46144512, heads = 69 * (128 - 96);
    assert_int_equal(params_encoder(&p), vision);
    assert_int_equal(p.routed, experts);
    assert_int_equal(p.parameters, experts + rest - heads);
    /* without the input embedding: 104B, as the model's report has it */
    assert_int_equal(p.active / 100000000, 1041);
    arena_release(&arena);
}

/* MiMo-V2.5-Pro's checkpoint holds 1,023,244,718,976 elements, scales of blocks of fp8 among
 * them: 216 x 48 of q, k and v in 70 layers and 3 modules, 3 x 48 x 128 of a dense network in
 * one and three, 3 x 48 x 16 of an expert (text index id 62727537601). */
static void mimo_is_its_checkpoint(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct plan plan;
    struct params p;
    catalogue_plan("mimo-v2.5-pro", NULL, NULL, &arena, &plan);
    params_count(&plan.model, &p);
    uint64_t model = p.parameters;
    plan.model.mtp_enabled = true;
    params_count(&plan.model, &p);
    const uint64_t scales = 216 * 48 * 73 + 3 * 48 * 128 * 4 + 3 * 48 * 16 * 384 * 69;
    assert_int_equal(model + params_part_total(p.mtp) + scales, UINT64_C(1023244718976));
    arena_release(&arena);
}

/* Every name of a kind in a plan of its own; `part` 0: model, 1: cluster, 2: stack. */
static void every_name_loads(enum catalog_kind kind, unsigned part)
{
    struct arena arena = {0};
    struct catalog_item *items = NULL;
    size_t n = 0;
    catalog_list(kind, &arena, &items, &n);
    for (size_t i = 0; i < n; i++) {
        const char *names[3] = {NULL};
        struct plan plan;
        names[part] = items[i].name;
        catalogue_plan(names[0], names[1], names[2], &arena, &plan);
    }
    arena_release(&arena);
}

static void every_model_cluster_and_stack_loads(void **state)
{
    (void)state;
    every_name_loads(CATALOG_MODEL, 0);
    every_name_loads(CATALOG_CLUSTER, 1);
    every_name_loads(CATALOG_STACK, 2);
}

/* "671B parameters": the number before a word of a description, in parameters. */
static double described(const char *summary, const char *word)
{
    const char *end = strstr(summary, word);
    assert_non_null(end);
    const char *start = end - 1;
    while (start[-1] != ' ')
        start--;
    return catalogue_number(start) * (strchr(start, 'T') == end - 1 ? 1e12 : 1e9);
}

static void descriptions_agree_with_the_counts(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct catalog_item *items = NULL;
    size_t n = 0;
    catalog_list(CATALOG_MODEL, &arena, &items, &n);
    for (size_t i = 0; i < n; i++) {
        struct plan plan;
        struct params params;
        catalogue_plan(items[i].name, NULL, NULL, &arena, &plan);
        params_count(&plan.model, &params);
        double total = described(items[i].summary, " parameters") / (double)params.matrices;
        double active = described(items[i].summary, " active") / (double)params.active;
        if (fabs(total - 1) > 0.006 || fabs(active - 1) > 0.006)
            fail_msg("%s: %s", items[i].name, items[i].summary);
    }
    arena_release(&arena);
}

/* The loader takes a configuration for a model when it is one. */
static void a_configuration_is_a_model(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct plan imported, shipped;
    catalogue_plan("tests/configs/deepseek-v3.json", NULL, NULL, &arena, &imported);
    catalogue_plan("deepseek-v3", NULL, NULL, &arena, &shipped);
    struct params a, b;
    params_count(&imported.model, &a);
    params_count(&shipped.model, &b);
    assert_int_equal(a.parameters, 671026419200);
    assert_memory_equal(&a, &b, sizeof a);
    arena_release(&arena);
}

/* A column of hardware.csv, the key it stands for and the factor between their units. */
static const struct figure {
    const char *column, *key;
    double factor;
} figures[] = {
    {"memory_bandwidth_tb_s", "cluster.device.memory_bandwidth", 1e12},
    {"bf16_tflop_s", "cluster.device.peak.bf16", 1e12},
    {"fp8_tflop_s", "cluster.device.peak.fp8", 1e12},
    {"fp4_tflop_s", "cluster.device.peak.fp4", 1e12},
    {"link_gb_s", "cluster.node.link_bandwidth", 1e9},
    {"network_gbit_s", "cluster.network.bandwidth", 1e9 / 8},
    {"units", "cluster.device.units", 1},
    {"power_w", "cluster.device.tdp_w", 1},
};

static void expect_figure(const struct csv *csv, size_t row, const struct figure *figure,
                          const struct plan *plan)
{
    const char *cell = csv_cell(csv, row, figure->column);
    assert_non_null(cell);
    double published = catalogue_number(cell) * figure->factor;
    double shipped = schema_number(schema_find(figure->key), plan);
    if (isnan(published) || strstr(cell, "int8"))
        return;
    if (fabs(shipped / published - 1) > 1e-9)
        fail_msg("%s: %s is %g, published %s", csv_cell(csv, row, "cluster"), figure->key,
                 shipped, cell);
}

static void devices_have_their_published_figures(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct csv csv;
    read_table("hardware", &arena, &csv);
    assert_int_equal(csv.n_rows, 21);
    for (size_t row = 0; row < csv.n_rows; row++) {
        struct plan plan;
        catalogue_plan(NULL, csv_cell(&csv, row, "cluster"), NULL, &arena, &plan);
        assert_int_equal(plan.cluster.node.devices, 1);
        assert_int_equal(plan.cluster.nodes, 1);
        /* usable memory: the nominal figure read as GiB or a little less (GB200: "185-192") */
        double nominal = catalogue_number(csv_cell(&csv, row, "memory_nominal_gb"));
        assert_true((double)plan.cluster.device.memory_bytes <= nominal * 1.001 * 1073741824.0);
        assert_true((double)plan.cluster.device.memory_bytes >= nominal * 0.95e9);
        for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
            expect_figure(&csv, row, &figures[i], &plan);
    }
    arena_release(&arena);
}

static void clusters_take_their_devices_figures(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct plan plan;
    catalogue_plan(NULL, "mi355x-8x8", NULL, &arena, &plan);
    assert_int_equal(plan.cluster.device.memory_bytes, (uint64_t)(287.98 * 1073741824.0 + 0.5));
    assert_int_equal(plan.cluster.node.devices, 8);
    assert_int_equal(plan.cluster.nodes, 8);
    catalogue_plan(NULL, "tpu-v5e-4x2", NULL, &arena, &plan);
    assert_int_equal(plan.cluster.node.devices, 8);
    assert_int_equal(plan.cluster.mesh.n, 2);
    assert_false(plan.cluster.wrap);
    catalogue_plan(NULL, "h800-8x4", NULL, &arena, &plan);
    assert_int_equal(plan.cluster.device.memory_bytes, 84943110144);
    assert_int_equal(plan.cluster.nodes, 4);
    arena_release(&arena);
}

/* ---- tables of runs ---- */

static const struct named_key {
    const char *key;
    enum catalog_kind kind;
} named_keys[] = {
    {"model", CATALOG_MODEL}, {"cluster", CATALOG_CLUSTER}, {"stack", CATALOG_STACK}};

/* Models and clusters a row names must be in the catalogue (stacks come with their code). */
static bool check_name(const char *key, const char *value, struct arena *arena)
{
    struct err err = {0};
    for (size_t i = 0; i < sizeof named_keys / sizeof *named_keys; i++) {
        if (!text_equal(key, named_keys[i].key))
            continue;
        char *path = NULL;
        struct catalog_cluster cluster;
        enum status status = STATUS_OK;
        if (named_keys[i].kind == CATALOG_CLUSTER)
            status = catalog_find_cluster(value, NULL, arena, &cluster, &err);
        else if (named_keys[i].kind == CATALOG_MODEL)
            status = catalog_find(CATALOG_MODEL, value, NULL, arena, &path, &err);
        if (status)
            fail_msg("%s", err.text);
        return true;
    }
    return false;
}

/* One "key=value" of a row's settings. */
static void check_setting(const char *setting, struct arena *arena)
{
    const char *equals = strchr(setting, '=');
    assert_non_null(equals);
    char *key = arena_strndup(arena, setting, (size_t)(equals - setting));
    if (check_name(key, equals + 1, arena))
        return;
    struct plan plan;
    struct err err = {0};
    struct mark mark = {.file = setting};
    schema_defaults(&plan);
    const struct field *field = schema_find(key);
    if (!field)
        fail_msg("no key '%s'", key);
    if (schema_set(field, &plan, equals + 1, false, mark, &err))
        fail_msg("%s: %s", setting, err.text);
}

static void check_run(const struct csv *csv, size_t row, struct arena *arena)
{
    char *rest = arena_strdup(arena, csv_cell(csv, row, "set"));
    while (*rest) {
        size_t length = strcspn(rest, " ");
        check_setting(arena_strndup(arena, rest, length), arena);
        rest += length + (rest[length] == ' ');
    }
    assert_true(csv_cell(csv, row, "row")[0] != '\0');
    assert_true(csv_cell(csv, row, "quantity")[0] != '\0');
    assert_true(csv_cell(csv, row, "source")[0] != '\0');
    const char *published = csv_cell(csv, row, "published");
    if (text_equal(csv_cell(csv, row, "quantity"), "memory.verdict"))
        assert_true(text_equal(published, "fits") || text_equal(published, "oom"));
    else
        assert_true(catalogue_number(published) > 0);
}

static void tables_of_runs_speak_the_plans_language(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        size_t n_rows, n_oom;
    } tables[] = {{"seed000_primus_turbo", 67, 7},      {"seed001_rdep", 74, 1},
                  {"memory_verdicts", 37, 0},           {"megatron_moe_memory_b200", 36, 0},
                  {"megatron_train_throughput", 42, 0}, {"megatron_golden_memory", 20, 0},
                  {"serving_latency", 682, 0}};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        struct arena arena = {0};
        struct csv csv;
        size_t n_oom = 0;
        read_table(tables[i].name, &arena, &csv);
        assert_int_equal(csv.n_rows, tables[i].n_rows);
        for (size_t row = 0; row < csv.n_rows; row++) {
            check_run(&csv, row, &arena);
            n_oom += text_equal(csv_cell(&csv, row, "published"), "oom");
        }
        assert_int_equal(n_oom, tables[i].n_oom);
        arena_release(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(models_have_their_published_counts),
        cmocka_unit_test(models_have_the_parameters_of_their_layers),
        cmocka_unit_test(models_round_to_what_is_published),
        cmocka_unit_test(kimi_k3_is_its_checkpoint),
        cmocka_unit_test(mimo_is_its_checkpoint),
        cmocka_unit_test(models_have_their_exact_parameters),
        cmocka_unit_test(every_model_cluster_and_stack_loads),
        cmocka_unit_test(descriptions_agree_with_the_counts),
        cmocka_unit_test(a_configuration_is_a_model),
        cmocka_unit_test(devices_have_their_published_figures),
        cmocka_unit_test(clusters_take_their_devices_figures),
        cmocka_unit_test(tables_of_runs_speak_the_plans_language),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

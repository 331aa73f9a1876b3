/* The library's interface: values by name, settings, errors as values, sweeps, searches; calls
 * on several threads and under a foreign locale. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <locale.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/arena.h"
#include "lib/moeplan.h"
#include "lib/value.h"

static const char small[] = "model: mixtral-8x7b\n"
                            "cluster: h100-8x2\n"
                            "stack: megatron\n"
                            "workload: {sequence_length: 4096, micro_batch: 1}\n"
                            "parallel: {tp: 2, ep: 8}\n";

static struct moeplan_plan *open_small(void)
{
    struct moeplan_plan *plan = NULL;
    struct moeplan_error error;
    if (moeplan_open_text("small.yaml", small, sizeof small - 1, &plan, &error) != MOEPLAN_OK)
        fail_msg("%s", error.text);
    return plan;
}

static void set(struct moeplan_plan *plan, const char *key, const char *value)
{
    assert_int_equal(moeplan_set(plan, key, value, NULL), MOEPLAN_OK);
}

static uint64_t total(const struct moeplan_plan *plan)
{
    struct moeplan_result *result = NULL;
    struct moeplan_error error = {0};
    const struct moeplan_options fast = {.flags = MOEPLAN_FAST};
    uint64_t bytes = 0;
    if (moeplan_predict(plan, &fast, &result, &error) != MOEPLAN_OK)
        fail_msg("%s: %s", error.where, error.text);
    assert_true(moeplan_result_count(result, "memory.total_bytes", &bytes));
    moeplan_result_free(result);
    return bytes;
}

/* ---- values of a JSON text ---- */

static void values_by_name(void **state)
{
    (void)state;
    static const char json[] = "{\n  \"a\": 1,\n  \"b\": {\n    \"a\": \"x \\\"}]\\\\\",\n"
                               "    \"e\": {},\n    \"l\": [8, 4096, -2.5e3]\n  },\n"
                               "  \"r\": [\n    {\n      \"n\": \"p\"\n    },\n    {\n"
                               "      \"n\": \"q,\\u001b\\n\"\n    }\n  ],\n  \"z\": true\n}\n";
    static const struct {
        const char *name, *start; /* NULL: there is none */
        size_t length;
    } rows[] = {
        {"", "{\n  \"a\": 1", 4}, {"a", "1,", 0},       {"b", "{\n    \"a\"", 3},
        {"b.a", "\"x \\\"", 0},   {"b.e", "{}", 0},     {"b.l", "[8", 3},
        {"b.l.0", "8,", 0},       {"b.l.2", "-2.5", 0}, {"b.l.3", NULL, 0},
        {"b.l.x", NULL, 0},       {"b.l.-1", NULL, 0},  {"r", "[\n", 2},
        {"r.1.n", "\"q,", 0},     {"r.2", NULL, 0},     {"z", "true", 0},
        {"a.a", NULL, 0},         {"e", NULL, 0},       {"b.", "{\n    \"a\"", 3},
        {"\"", NULL, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *at = value_find(json, rows[i].name);
        print_message("'%s'\n", rows[i].name);
        assert_int_equal(at != NULL, rows[i].start != NULL);
        if (!at)
            continue;
        assert_memory_equal(at, rows[i].start, strlen(rows[i].start));
        assert_int_equal(value_length(at), rows[i].length);
    }
    char text[16];
    value_text(value_find(json, "b.a"), text, sizeof text);
    assert_string_equal(text, "x \"}]\\");
    value_text(value_find(json, "r.1.n"), text, sizeof text);
    assert_string_equal(text, "q,\x1b\n");
    value_text(value_find(json, "b.a"), text, 3);
    assert_string_equal(text, "x ");
}

static void values_of_a_prediction(void **state)
{
    (void)state;
    struct moeplan_plan *plan = open_small();
    struct moeplan_result *result = NULL;
    uint64_t whole, part = 0, sum = 0;
    size_t n, length;
    double real;
    char text[64];
    assert_int_equal(moeplan_predict(plan, NULL, &result, NULL), MOEPLAN_OK);
    const char *json = moeplan_result_json(result, &length);
    assert_int_equal(strlen(json), length);
    assert_true(moeplan_result_text(result, "memory.verdict", text, sizeof text));
    assert_string_equal(text, "oom");
    assert_true(moeplan_result_count(result, "memory.total_bytes", &whole));
    assert_true(moeplan_result_length(result, "memory.categories", &n));
    assert_true(n > 3);
    for (size_t i = 0; i < n; i++) {
        snprintf(text, sizeof text, "memory.categories.%zu.bytes", i);
        assert_true(moeplan_result_count(result, text, &part));
        sum += part;
    }
    assert_int_equal(sum, whole);
    assert_true(moeplan_result_real(result, "padding.exact_factor", &real) || real >= 1);
    assert_true(moeplan_result_length(result, "memory.fixes", &n));
    assert_true(n > 0);
    /* absent, or of another kind: the value stays */
    part = 7;
    assert_false(moeplan_result_count(result, "memory.no_such_bytes", &part));
    assert_false(moeplan_result_count(result, "memory.verdict", &part));
    assert_false(moeplan_result_count(result, "memory.margin_bytes", &part)); /* negative */
    assert_int_equal(part, 7);
    assert_true(moeplan_result_real(result, "memory.margin_bytes", &real));
    assert_true(real < 0);
    moeplan_result_free(result);
    moeplan_close(plan);
}

/* ---- settings ---- */

static void settings_replace_and_come_back(void **state)
{
    (void)state;
    struct moeplan_plan *plan = open_small(), *copy = NULL;
    uint64_t one = total(plan);
    char number[16];
    for (unsigned i = 2; i < 40; i++) { /* far more often than there is room for */
        snprintf(number, sizeof number, "%u", i % 4 + 1);
        set(plan, "workload.micro_batch", number);
    }
    uint64_t four = total(plan);
    assert_true(four > one);
    assert_int_equal(moeplan_copy(plan, &copy, NULL), MOEPLAN_OK);
    assert_int_equal(moeplan_unset(plan, "workload.micro_batch"), 1);
    assert_int_equal(moeplan_unset(plan, "workload.micro_batch"), 0);
    assert_int_equal(total(plan), one);
    assert_int_equal(total(copy), four);
    moeplan_close(copy);
    moeplan_close(plan);
    moeplan_close(NULL);
    moeplan_result_free(NULL);
    moeplan_free(NULL);
}

static void a_key_that_is_not_read_is_named(void **state)
{
    (void)state;
    struct moeplan_plan *plan = open_small();
    struct moeplan_result *result = NULL;
    char text[128] = "";
    set(plan, "moe.capacity_factor", "2");
    assert_int_equal(moeplan_predict(plan, NULL, &result, NULL), MOEPLAN_OK);
    assert_true(moeplan_result_text(result, "notes.0.text", text, sizeof text));
    assert_non_null(strstr(text, "not read"));
    moeplan_result_free(result);
    moeplan_close(plan);
}

static void errors_say_where_and_what_to_do(void **state)
{
    (void)state;
    static const struct {
        const char *text, *key, *value;
        int status;
        unsigned line, column;
        const char *where, *says;
    } rows[] = {
        {"model: deepseek-v3\ncluster: h100-8x2\nparalel: {ep: 8}\n", NULL, NULL, MOEPLAN_INPUT,
         3, 1, "p.yaml:3:1", "unknown key 'paralel'"},
        {"model: deepseek-v3\n", NULL, NULL, MOEPLAN_INPUT, 0, 0, "p.yaml", "'cluster'"},
        {small, "workload.micro_batch", "none", MOEPLAN_INPUT, 0, 0,
         "workload.micro_batch=none", "whole number"},
        {small, "parallel.ep", "7", MOEPLAN_INPUT, 0, 0, "parallel.ep=7", "ep x etp x pp 14"},
        {small, "no.such_key", "1", MOEPLAN_INPUT, 0, 0, "no.such_key=1", "no.such_key"},
        {"[", NULL, NULL, MOEPLAN_INPUT, 2, 1, "p.yaml:2:1", ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct moeplan_plan *plan = NULL;
        struct moeplan_error error;
        struct moeplan_result *result = NULL;
        const char *text = rows[i].text;
        assert_int_equal(moeplan_open_text("p.yaml", text, strlen(text), &plan, &error), 0);
        if (rows[i].key)
            set(plan, rows[i].key, rows[i].value);
        assert_int_equal(moeplan_predict(plan, NULL, &result, &error), rows[i].status);
        print_message("%s: %s\n  %s\n", error.where, error.text, error.hint);
        assert_null(result);
        assert_int_equal(error.status, rows[i].status);
        assert_string_equal(error.where, rows[i].where);
        assert_int_equal(error.line, rows[i].line);
        assert_int_equal(error.column, rows[i].column);
        assert_non_null(strstr(error.text, rows[i].says));
        assert_int_equal(moeplan_predict(plan, NULL, &result, NULL), rows[i].status);
        moeplan_close(plan);
    }
    struct moeplan_plan *plan = NULL;
    struct moeplan_error error;
    assert_int_equal(moeplan_open_file("no such file", &plan, &error), MOEPLAN_INPUT);
    assert_null(plan);
    assert_string_equal(error.where, "no such file");
    plan = open_small();
    assert_int_equal(moeplan_set(plan, "", "1", &error), MOEPLAN_USAGE);
    moeplan_close(plan);
}

/* ---- sweeps ---- */

struct seen {
    uint64_t points, invalid, stop_at, micro_batch[8];
};

static int see(void *context, const struct moeplan_point *point)
{
    struct seen *seen = context;
    assert_int_equal(point->number, seen->points);
    assert_int_equal(point->n_values, 2);
    bool invalid = strcmp(point->verdict, "invalid") == 0;
    assert_int_equal(invalid, point->why[0] != '\0');
    assert_int_equal(invalid, point->total_bytes == 0);
    assert_int_equal(strcmp(point->verdict, "oom") == 0, point->wall[0] != '\0');
    seen->invalid += invalid;
    if (strcmp(point->values[0], "8") == 0)
        seen->micro_batch[strtoul(point->values[1], NULL, 10)] = point->total_bytes;
    return ++seen->points == seen->stop_at;
}

static void a_sweep_is_its_points(void **state)
{
    (void)state;
    static const char *const overs[] = {"parallel.ep=3,8", "workload.micro_batch=1..4"};
    const struct moeplan_axes axes = {.overs = overs, .n_overs = 2};
    struct moeplan_plan *plan = open_small();
    struct moeplan_error error;
    struct seen seen = {0};
    assert_int_equal(moeplan_sweep(plan, &axes, see, &seen, NULL), MOEPLAN_OK);
    assert_int_equal(seen.points, 8);
    assert_int_equal(seen.invalid, 4); /* 8 experts on 3 ranks */
    for (uint64_t i = 1; i <= 4; i++) {
        set(plan, "workload.micro_batch", (char[]){(char)('0' + i), '\0'});
        assert_int_equal(seen.micro_batch[i], total(plan));
    }
    seen = (struct seen){.stop_at = 3};
    assert_int_equal(moeplan_sweep(plan, &axes, see, &seen, &error), MOEPLAN_STOPPED);
    assert_int_equal(error.status, MOEPLAN_STOPPED);
    assert_int_equal(seen.points, 3);
    static const char *const bad[] = {"parallel.ep="};
    const struct moeplan_axes none = {.overs = bad, .n_overs = 1};
    assert_int_equal(moeplan_sweep(plan, &none, see, &seen, &error), MOEPLAN_USAGE);
    moeplan_close(plan);
}

/* ---- what people paste ---- */

static void pasted(void **state)
{
    (void)state;
    static const struct {
        const char *text, *stack, *model;
    } rows[] = {
        {"{\"model_type\": \"mixtral\", \"num_hidden_layers\": 32, \"hidden_size\": 4096,"
         " \"intermediate_size\": 14336, \"num_attention_heads\": 32,"
         " \"num_key_value_heads\": 8, \"vocab_size\": 32000, \"num_local_experts\": 8,"
         " \"num_experts_per_tok\": 2}",
         "vllm", "mixtral"},
        {"# torchtitan's\n[model]\nname = \"deepseek_v3\"\nflavor = \"16B\"\n[training]\n"
         "seq_len = 4096\n",
         NULL, "deepseek-v2-lite"},
        {"cat > c.yaml <<END\ntensor-parallel-size: 4\nEND\n"
         "vllm serve openai/gpt-oss-120b --config c.yaml\n",
         NULL, "gpt-oss-120b"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct moeplan_plan *plan;
        struct moeplan_result *result;
        struct moeplan_error error;
        char name[64];
        assert_int_equal(
            moeplan_open_text("pasted text", rows[i].text, strlen(rows[i].text), &plan, NULL),
            MOEPLAN_OK);
        set(plan, "cluster", "h100-8x1");
        if (rows[i].stack)
            set(plan, "stack", rows[i].stack);
        if (moeplan_predict(plan, NULL, &result, &error) != MOEPLAN_OK)
            fail_msg("%s: %s", error.where, error.text);
        assert_int_equal(moeplan_result_text(result, "names.model", name, sizeof name), 1);
        assert_string_equal(name, rows[i].model);
        moeplan_result_free(result);
        moeplan_close(plan);
    }
}

/* ---- documents ---- */

static void documents(void **state)
{
    (void)state;
    static const struct {
        const char *name, *says;
    } rows[] = {
        {"plan.yaml", "\nworkload:"},     {"plan.json", "\"workload\": {"},
        {"predict.txt", "memory"},        {"predict.csv", "name,category"},
        {"predict.json", "\"verdict\""},  {"launch", "--micro-batch-size"},
        {"timeline.json", "\"begin_s\""}, {"trace.json", "\"traceEvents\""},
    };
    struct moeplan_plan *plan = open_small(), *again = NULL;
    struct moeplan_error error;
    char *text = NULL;
    size_t length;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (moeplan_write(plan, rows[i].name, &text, &length, &error) != MOEPLAN_OK)
            fail_msg("%s: %s", rows[i].name, error.text);
        assert_int_equal(strlen(text), length);
        assert_non_null(strstr(text, rows[i].says));
        moeplan_free(text);
    }
    assert_int_equal(moeplan_write(plan, "plan.doc", &text, &length, &error), MOEPLAN_USAGE);
    assert_non_null(strstr(error.hint, "predict.txt"));
    /* the plan with every key is the same plan */
    assert_int_equal(moeplan_write(plan, "plan.yaml", &text, &length, NULL), MOEPLAN_OK);
    assert_int_equal(moeplan_open_text("again", text, length, &again, NULL), MOEPLAN_OK);
    assert_int_equal(total(again), total(plan));
    moeplan_free(text);
    set(again, "workload.micro_batch", "2");
    assert_int_equal(moeplan_compare(plan, again, &text, NULL, NULL), MOEPLAN_OK);
    assert_non_null(strstr(text, "workload.micro_batch"));
    moeplan_free(text);
    moeplan_close(again);
    for (size_t i = 0; i < 5; i++) {
        const char *const what[] = {"plan", "result", "models", "clusters", "stacks"};
        assert_int_equal(moeplan_describe(what[i], &text, &length, NULL), MOEPLAN_OK);
        assert_true(length > 500);
        moeplan_free(text);
    }
    assert_int_equal(moeplan_describe("weather", &text, NULL, &error), MOEPLAN_USAGE);
    moeplan_close(plan);
}

static void count_progress(void *context, double share)
{
    assert_true(share >= 0 && share <= 1);
    ++*(unsigned *)context;
}

static void a_search(void **state)
{
    (void)state;
    static const char *const fixed[] = {"tp=2", "cp=1"};
    unsigned calls = 0;
    const struct moeplan_search search = {
        .fixed = fixed, .n_fixed = 2, .best = 3, .progress = count_progress, .context = &calls};
    struct moeplan_plan *plan = open_small();
    struct moeplan_error error;
    char *json = NULL;
    if (moeplan_find(plan, &search, &json, NULL, &error) != MOEPLAN_OK)
        fail_msg("%s", error.text);
    assert_true(calls > 0);
    assert_int_equal(value_length(value_find(json, "best")), 3);
    /* a member's own name holds a dot, so the object is asked for */
    assert_non_null(strstr(value_find(json, "best.0.set"), "\"parallel.tp\": 2"));
    moeplan_free(json);
    static const char *const unknown[] = {"tpp=2"};
    const struct moeplan_search wrong = {.fixed = unknown, .n_fixed = 1};
    assert_int_equal(moeplan_find(plan, &wrong, &json, NULL, &error), MOEPLAN_USAGE);
    const struct moeplan_search odd = {.objective = "beauty"};
    assert_int_equal(moeplan_find(plan, &odd, &json, NULL, &error), MOEPLAN_USAGE);
    const struct moeplan_search served = {.objective = "tpot"}; /* of a trained plan */
    assert_int_equal(moeplan_find(plan, &served, &json, NULL, &error), MOEPLAN_USAGE);
    moeplan_close(plan);
}

/* A latency as a limit leaves slower layouts out; the best by tpot is none of those. */
static void a_search_of_a_served_plan(void **state)
{
    (void)state;
    static const char text[] = "model: qwen3-30b-a3b\ncluster: h200-8x1\nstack: vllm\n"
                               "workload: {mode: serve, concurrency: 16}\n";
    static const char *const limits[] = {"tpot=1s"}, *const none[] = {"tpot=1us"},
                             *const fixed[] = {"pp=1", "cp=1"};
    const struct moeplan_search most = {.fixed = fixed, .n_fixed = 2, .best = 1},
                                soon = {.fixed = fixed,
                                        .n_fixed = 2,
                                        .best = 1,
                                        .objective = "tpot",
                                        .limits = limits,
                                        .n_limits = 1},
                                never = {.fixed = fixed,
                                         .n_fixed = 2,
                                         .limits = none,
                                         .n_limits = 1};
    struct moeplan_error error;
    struct moeplan_plan *plan;
    double tpot[2];
    assert_int_equal(moeplan_open_text("served", text, sizeof text - 1, &plan, &error),
                     MOEPLAN_OK);
    for (unsigned i = 0; i < 2; i++) {
        char *json = NULL;
        if (moeplan_find(plan, i ? &soon : &most, &json, NULL, &error) != MOEPLAN_OK)
            fail_msg("%s", error.text);
        const char *serving = strstr(json, "\"tpot_s\": ");
        assert_non_null(serving);
        tpot[i] = strtod(serving + strlen("\"tpot_s\": "), NULL);
        moeplan_free(json);
    }
    assert_true(tpot[1] > 0 && tpot[1] <= tpot[0]);
    char *json = NULL;
    assert_int_equal(moeplan_find(plan, &never, &json, NULL, &error), MOEPLAN_OK);
    assert_int_equal(value_length(value_find(json, "best")), 0);
    moeplan_free(json);
    moeplan_close(plan);
}

/* ---- the process around it ---- */

static void *predict_often(void *context)
{
    char **last = context;
    for (unsigned i = 0; i < 6; i++) {
        struct moeplan_plan *plan = open_small();
        set(plan, "workload.micro_batch", i % 2 ? "2" : "1");
        free(*last);
        assert_int_equal(moeplan_write(plan, "predict.json", last, NULL, NULL), MOEPLAN_OK);
        moeplan_close(plan);
    }
    return NULL;
}

static void threads_do_not_meet(void **state)
{
    (void)state;
    enum { THREADS = 4 };
    pthread_t threads[THREADS];
    char *texts[THREADS] = {NULL};
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, predict_often, &texts[i]), 0);
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (size_t i = 1; i < THREADS; i++)
        assert_string_equal(texts[i], texts[0]);
    for (size_t i = 0; i < THREADS; i++)
        free(texts[i]);
}

static void a_decimal_comma_changes_nothing(void **state)
{
    (void)state;
    struct moeplan_plan *plan = open_small();
    set(plan, "moe.capacity_factor", "1.25");
    set(plan, "memory.fraction", "0.9");
    char *before = NULL, *after = NULL;
    assert_int_equal(moeplan_write(plan, "predict.json", &before, NULL, NULL), MOEPLAN_OK);
    static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "de_DE"};
    locale_t comma = (locale_t)0, own;
    for (size_t i = 0; i < 4 && comma == (locale_t)0; i++)
        comma = newlocale(LC_NUMERIC_MASK, names[i], (locale_t)0);
    if (comma == (locale_t)0) {
        moeplan_free(before);
        moeplan_close(plan);
        print_message("no locale with a decimal comma is installed\n");
        skip();
    }
    own = uselocale(comma);
    int status = moeplan_write(plan, "predict.json", &after, NULL, NULL);
    locale_t left = uselocale(own);
    assert_int_equal(status, MOEPLAN_OK);
    assert_true(left == comma); /* the caller's own again */
    assert_string_equal(before, after);
    freelocale(comma);
    moeplan_free(before);
    moeplan_free(after);
    moeplan_close(plan);
}

static void take_too_much(void *context)
{
    struct arena arena = {0}, other = {0};
    arena_strdup(&other, "given up too");
    for (size_t i = 0; i < 100; i++)
        arena_alloc(&arena, 1000, 1);
    arena_release(&other);
    arena_strdup(&other, "and again");
    *(unsigned *)context = 1;
    arena_alloc(&arena, SIZE_MAX / 4, 8);
    *(unsigned *)context = 2;
}

static void take_a_little(void *context)
{
    struct arena *arena = context;
    struct arena gone = {0};
    arena_strdup(&gone, "x");
    arena_strdup(arena, "kept");
    arena_release(&gone);
    unsigned inner = 0;
    assert_false(arena_guarded(take_too_much, &inner)); /* guards nest */
    assert_int_equal(inner, 1);
}

static void a_guard_gives_back(void **state)
{
    (void)state;
    unsigned reached = 0;
    struct arena arena = {0};
    assert_false(arena_guarded(take_too_much, &reached));
    assert_int_equal(reached, 1);
    assert_true(arena_guarded(take_a_little, &arena));
    assert_string_equal(arena_strdup(&arena, "still usable"), "still usable");
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_by_name),
        cmocka_unit_test(values_of_a_prediction),
        cmocka_unit_test(settings_replace_and_come_back),
        cmocka_unit_test(a_key_that_is_not_read_is_named),
        cmocka_unit_test(errors_say_where_and_what_to_do),
        cmocka_unit_test(a_sweep_is_its_points),
        cmocka_unit_test(pasted),
        cmocka_unit_test(documents),
        cmocka_unit_test(a_search),
        cmocka_unit_test(a_search_of_a_served_plan),
        cmocka_unit_test(threads_do_not_meet),
        cmocka_unit_test(a_decimal_comma_changes_nothing),
        cmocka_unit_test(a_guard_gives_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

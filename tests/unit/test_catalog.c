/* plan/read/catalog: where names are found, what composes, and what is said when nothing is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/text.h"
#include "plan/read/catalog.h"

struct scratch {
    struct arena arena;
    struct err err;
    char folder[64];
};

static int set_up(void **state)
{
    struct scratch *s = calloc(1, sizeof *s);
    snprintf(s->folder, sizeof s->folder, "/tmp/moeplan-catalog-XXXXXX");
    assert_non_null(mkdtemp(s->folder));
    *state = s;
    return 0;
}

static int tear_down(void **state)
{
    struct scratch *s = *state;
    unsetenv("MOEPLAN_DATA");
    rmdir(s->folder);
    arena_release(&s->arena);
    free(s);
    return 0;
}

/* Path of a new file in the scratch folder. */
static char *write_file(struct scratch *s, const char *name, const char *text)
{
    char *path = arena_printf(&s->arena, "%s/%s", s->folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    return path;
}

static char *find(struct scratch *s, enum catalog_kind kind, const char *name)
{
    char *path = NULL;
    err_clear(&s->err);
    catalog_find(kind, name, s->folder, &s->arena, &path, &s->err);
    return path;
}

static void shipped_names_are_found(void **state)
{
    struct scratch *s = *state;
    assert_string_equal(find(s, CATALOG_MODEL, "deepseek-v3"), "models/deepseek-v3.yaml");
    assert_string_equal(find(s, CATALOG_CLUSTER, "h200"), "models/clusters/h200.yaml");
    assert_string_equal(find(s, CATALOG_PUBLISHED, "model_shapes"),
                        "models/published/model_shapes.csv");
    assert_string_equal(find(s, CATALOG_MODEL, "models/arctic.yaml"), "models/arctic.yaml");
}

static void the_plans_folder_comes_first(void **state)
{
    struct scratch *s = *state;
    char *path = write_file(s, "deepseek-v3.yaml", "layers: 1\n");
    assert_string_equal(find(s, CATALOG_MODEL, "deepseek-v3"), path);
    assert_string_equal(find(s, CATALOG_MODEL, "deepseek-v3.yaml"), path);
    unlink(path);
}

static void a_plan_is_never_taken_for_its_model(void **state)
{
    struct scratch *s = *state;
    char *path = write_file(s, "arctic.yaml", "# a plan\nmodel: arctic\n");
    assert_string_equal(find(s, CATALOG_MODEL, "arctic"), "models/arctic.yaml");
    unlink(path);
}

/* "accelerate launch --config_file fsdp.yaml" takes stack fsdp, and its own file for itself. */
static void a_file_of_another_kind_is_passed_over(void **state)
{
    struct scratch *s = *state;
    char *path = write_file(s, "fsdp.yaml", "compute_environment: LOCAL_MACHINE\n");
    assert_string_equal(find(s, CATALOG_STACK, "fsdp"), "models/stacks/fsdp.yaml");
    unlink(path);
    path = write_file(s, "fsdp.yaml", "# mine\nkind: fsdp\nfraction: 0.5\n");
    assert_string_equal(find(s, CATALOG_STACK, "fsdp"), path);
    unlink(path);
    path = write_file(s, "mine.yaml", "fraction: 0.5\n"); /* its mistake is to be told */
    assert_string_equal(find(s, CATALOG_STACK, "mine"), path);
    unlink(path);
}

static void the_data_folder_comes_before_the_shipped_one(void **state)
{
    struct scratch *s = *state;
    char *path = write_file(s, "dbrx.yaml", "layers: 1\n");
    assert_int_equal(setenv("MOEPLAN_DATA", s->folder, 1), 0);
    char *found = NULL;
    assert_int_equal(catalog_find(CATALOG_MODEL, "dbrx", NULL, &s->arena, &found, &s->err),
                     STATUS_OK);
    assert_string_equal(found, path);
    unlink(path);
}

static void unknown_names_get_the_nearest(void **state)
{
    struct scratch *s = *state;
    static const struct {
        enum catalog_kind kind;
        const char *name, *text, *hint;
    } cases[] = {
        {CATALOG_MODEL, "deepseek-v33", "no model is called 'deepseek-v33'",
         "did you mean 'deepseek-v3'?"},
        {CATALOG_MODEL, "deepseek-ai/DeepSeek-R1",
         "model file 'deepseek-ai/DeepSeek-R1' cannot be opened: No such file or directory",
         "did you mean 'deepseek-r1'?"},
        {CATALOG_MODEL, "Mixtral_8x7B", "no model is called 'Mixtral_8x7B'",
         "did you mean 'mixtral-8x7b'?"},
        {CATALOG_CLUSTER, "h2000", "no cluster is called 'h2000'", "did you mean 'h200'?"},
        {CATALOG_MODEL, "zzzzzzzzzzzz", "no model is called 'zzzzzzzzzzzz'",
         "`moeplan list models` shows them all; a HuggingFace config.json may stand in place "
         "of "
         "a name"},
        {CATALOG_CLUSTER, "nowhere/c.yaml",
         "cluster file 'nowhere/c.yaml' cannot be opened: No such file or directory",
         "`moeplan list clusters` shows them all"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_null(find(s, cases[i].kind, cases[i].name));
        assert_int_equal(s->err.status, STATUS_INPUT);
        assert_string_equal(s->err.text, cases[i].text);
        assert_string_equal(s->err.hint, cases[i].hint);
    }
}

static void unsupported_models_are_refused_with_the_reason(void **state)
{
    struct scratch *s = *state;
    static const struct {
        const char *name, *why;
    } cases[] = {
        {"gemma-3n-e2b", "mixes copies of the residual"},
        {"inclusionAI/LLaDA2.0-mini", "denoises blocks of tokens"},
        {"stepfun-ai/Step-3.8", "no public source tells its sizes"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_null(find(s, CATALOG_MODEL, cases[i].name));
        assert_int_equal(s->err.status, STATUS_INPUT);
        assert_non_null(strstr(s->err.text, "is not supported: "));
        assert_non_null(strstr(s->err.text, cases[i].why));
        assert_non_null(strstr(s->err.text, cases[i].name));
    }
    static const char *const files[] = {"step-3.8.yaml", "step-3.8.csv", "step-3.8.sbatch"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        assert_null(find(s, CATALOG_MODEL, files[i]));
        assert_null(strstr(s->err.text, "is not supported"));
    }
}

static void clusters_compose_from_their_device(void **state)
{
    struct scratch *s = *state;
    static const struct {
        const char *name, *path;
        uint64_t devices, nodes, last_axis, second_axis;
    } cases[] = {
        {"h100-8x2", "models/clusters/h100.yaml", 8, 2, 0, 0},
        {"tpu-v5p-4x16", "models/clusters/tpu-v5p.yaml", 4, 16, 0, 0},
        {"tpu-v5p-4x4x8", "models/clusters/tpu-v5p.yaml", 128, 1, 8, 4},
        {"tpu-v6e-16x8", "models/clusters/tpu-v6e.yaml", 128, 1, 0, 8}, /* a slice */
        {"tpu-v6e-8x1", "models/clusters/tpu-v6e.yaml", 8, 1, 0, 0},
        {"tpu-v5p-4x4x4", "models/clusters/tpu-v5p-4x4x4.yaml", 0, 0, 0, 0},
        {"h100", "models/clusters/h100.yaml", 0, 0, 0, 0},
        {"mi355x-8x8", "models/clusters/mi355x-8x8.yaml", 0, 0, 0, 0},
        {"tpu-v5e-4x2", "models/clusters/tpu-v5e-4x2.yaml", 0, 0, 0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct catalog_cluster cluster = {0};
        assert_int_equal(
            catalog_find_cluster(cases[i].name, NULL, &s->arena, &cluster, &s->err), STATUS_OK);
        assert_string_equal(cluster.path, cases[i].path);
        assert_int_equal(cluster.devices, cases[i].devices);
        assert_int_equal(cluster.nodes, cases[i].nodes);
        assert_int_equal(cluster.mesh[2], cases[i].last_axis);
        assert_int_equal(cluster.mesh[1], cases[i].second_axis);
    }
}

static void odd_cluster_names_do_not_compose(void **state)
{
    struct scratch *s = *state;
    static const char *const names[] = {"h100-0x8",
                                        "h100-8x",
                                        "h100-x8",
                                        "h100-08x8",
                                        "h100-8x8x",
                                        "h100-8",
                                        "-8x8",
                                        "x",
                                        "h100-8x-8",
                                        "b1000-8x1",
                                        "h100-4x4x4",
                                        "tpu-v5p-4x4x0",
                                        "tpu-v5p-4x4x4x4",
                                        "tpu-v5p-999x999x999"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct catalog_cluster cluster = {0};
        err_clear(&s->err);
        assert_int_equal(catalog_find_cluster(names[i], NULL, &s->arena, &cluster, &s->err),
                         STATUS_INPUT);
        assert_null(cluster.path);
    }
}

/* A file of the user's own in the data folder may be named as no node is. */
static void a_guessed_cluster_divides_by_no_odd_name(void **state)
{
    struct scratch *s = *state;
    static const char *const names[] = {"h200-0x1", "h200-anyx1"};
    struct catalog_cluster cluster;
    char *clusters = arena_printf(&s->arena, "%s/clusters", s->folder);
    assert_int_equal(mkdir(clusters, 0700), 0);
    setenv("MOEPLAN_DATA", s->folder, 1);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char *path = write_file(s, arena_printf(&s->arena, "clusters/%s.yaml", names[i]), "");
        err_clear(&s->err);
        assert_int_equal(catalog_find_cluster("h200x16", NULL, &s->arena, &cluster, &s->err),
                         STATUS_INPUT);
        assert_string_equal(s->err.hint, "did you mean 'h200-8x2'?");
        remove(path);
    }
    rmdir(clusters);
}

static void lists_are_sorted_and_described(void **state)
{
    struct scratch *s = *state;
    static const size_t at_least[CATALOG_KIND_COUNT] = {34, 32, 0, 1, 1};
    for (unsigned kind = 0; kind < CATALOG_KIND_COUNT; kind++) {
        struct catalog_item *items = NULL;
        size_t n = 0;
        catalog_list((enum catalog_kind)kind, &s->arena, &items, &n);
        assert_true(n >= at_least[kind]);
        for (size_t i = 0; i < n; i++) {
            assert_true(items[i].summary[0] != '\0');
            assert_true(i == 0 || strcmp(items[i - 1].name, items[i].name) < 0);
            assert_string_equal(find(s, (enum catalog_kind)kind, items[i].name), items[i].path);
        }
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(shipped_names_are_found),
        TEST(the_plans_folder_comes_first),
        TEST(a_plan_is_never_taken_for_its_model),
        TEST(a_file_of_another_kind_is_passed_over),
        TEST(the_data_folder_comes_before_the_shipped_one),
        TEST(unknown_names_get_the_nearest),
        TEST(unsupported_models_are_refused_with_the_reason),
        TEST(clusters_compose_from_their_device),
        TEST(odd_cluster_names_do_not_compose),
        TEST(a_guessed_cluster_divides_by_no_odd_name),
        TEST(lists_are_sorted_and_described),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

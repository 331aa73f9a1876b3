/* A plan asked about from C: does it fit, what would make it fit, and how large may the
 * micro-batch be?
 *
 *     cc library.c $(pkg-config --cflags --libs moeplan) -o library
 *     ./library seed000-primus-turbo.yaml workload.micro_batch=10
 */
#include <moeplan.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int fail(const struct moeplan_error *error)
{
    fprintf(stderr, "%s%s%s\n", error->where, error->where[0] ? ": " : "", error->text);
    if (error->hint[0])
        fprintf(stderr, "  hint: %s\n", error->hint);
    return error->status;
}

/* "key=value" */
static int set(struct moeplan_plan *plan, char *setting, struct moeplan_error *error)
{
    char *equals = strchr(setting, '=');
    if (!equals)
        return moeplan_set(plan, setting, "", error);
    *equals = '\0';
    return moeplan_set(plan, setting, equals + 1, error);
}

static void print_fixes(const struct moeplan_result *result)
{
    size_t n = 0;
    moeplan_result_length(result, "memory.fixes", &n);
    for (size_t i = 0; i < n; i++) {
        char name[64], change[256];
        uint64_t bytes = 0;
        snprintf(name, sizeof name, "memory.fixes.%zu.set", i);
        moeplan_result_text(result, name, change, sizeof change);
        snprintf(name, sizeof name, "memory.fixes.%zu.total_bytes", i);
        moeplan_result_count(result, name, &bytes);
        printf("  %s: %.2f GiB\n", change, (double)bytes / (1 << 30));
    }
}

static int predict(const struct moeplan_plan *plan, struct moeplan_error *error)
{
    struct moeplan_result *result;
    char verdict[16] = "", wall[64];
    uint64_t total = 0, limit = 0;
    int status = moeplan_predict(plan, NULL, &result, error);
    if (status != MOEPLAN_OK)
        return status;
    moeplan_result_text(result, "memory.verdict", verdict, sizeof verdict);
    moeplan_result_count(result, "memory.total_bytes", &total);
    moeplan_result_count(result, "memory.limit_bytes", &limit);
    printf("%s: %" PRIu64 " bytes of %" PRIu64 "\n", verdict, total, limit);
    if (moeplan_result_text(result, "memory.wall.buffer", wall, sizeof wall))
        printf("wall: %s; what makes it fit:\n", wall);
    print_fixes(result);
    moeplan_result_free(result);
    return MOEPLAN_OK;
}

static int print_point(void *context, const struct moeplan_point *point)
{
    (void)context;
    printf("  %2s  %-8s  %6.2f GiB  %s%s\n", point->values[0], point->verdict,
           (double)point->total_bytes / (1 << 30), point->wall, point->why);
    return 0; /* not 0 would end the sweep */
}

int main(int argc, char **argv)
{
    static const char *const over[] = {"workload.micro_batch=1..16"};
    const struct moeplan_axes axes = {.overs = over, .n_overs = 1};
    struct moeplan_plan *plan = NULL;
    struct moeplan_error error = {0};
    if (argc < 2) {
        fprintf(stderr, "usage: library PLAN [KEY=VALUE...]\n");
        return 2;
    }
    int status = moeplan_open_file(argv[1], &plan, &error);
    for (int i = 2; i < argc && status == MOEPLAN_OK; i++)
        status = set(plan, argv[i], &error);
    if (status == MOEPLAN_OK)
        status = predict(plan, &error);
    if (status == MOEPLAN_OK) {
        printf("micro-batches:\n");
        status = moeplan_sweep(plan, &axes, print_point, NULL, &error);
    }
    moeplan_close(plan);
    return status == MOEPLAN_OK ? 0 : fail(&error);
}

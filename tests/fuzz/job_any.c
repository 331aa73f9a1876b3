/* See job_any.h. */
#include "fuzz/job_any.h"

#include <stdlib.h>
#include <string.h>

#include "plan/job/job.h"

/* Fails loudly in every build. */
static void require(int holds)
{
    if (!holds)
        abort();
}

static enum status load(const struct job_result *job, struct arena *arena, struct plan *plan,
                        struct err *err)
{
    return plan_load_tree("-", job->root, NULL, 0, true, arena, plan, NULL, err);
}

/* What people get to read is the plan itself. */
static void print_and_read(struct job_result *job, const struct plan *plan, struct arena *arena)
{
    struct err err = {0};
    struct plan *again = arena_alloc(arena, 1, sizeof *again);
    struct text text = {.arena = arena};
    draft_print(&job->draft, "-", &text);
    enum status status =
        plan_load_text("-", text.data, text.length, NULL, 0, arena, again, NULL, &err);
    require(status == STATUS_OK && memcmp(plan, again, sizeof *again) == 0);
}

static void read_with(const char *framework, const uint8_t *data, size_t size,
                      const struct override *sets, size_t n_sets)
{
    struct arena arena = {0};
    struct err err = {0};
    struct plan *plan = arena_alloc(&arena, 1, sizeof *plan);
    struct job_result job = {0};
    const struct job_request request = {
        .from = framework, .sets = sets, .n_sets = n_sets, .all_sets = true};
    enum status status =
        job_read_text("-", (const char *)data, size, &request, &arena, &job, &err);
    if (status == STATUS_OK && job.draft.n) {
        status = load(&job, &arena, plan, &err);
        if (status == STATUS_OK)
            print_and_read(&job, plan, &arena);
    }
    require(status == STATUS_OK ? err.text[0] == '\0' : err.text[0] != '\0');
    arena_release(&arena);
}

void job_any(const char *framework, const uint8_t *data, size_t size)
{
    static const struct override sets[] = {
        {"cluster", "h100", "--set cluster=h100"},
        {"model", "mixtral-8x7b", "--set model=mixtral-8x7b"},
    };
    read_with(framework, data, size, sets, 1);
    read_with(framework, data, size, sets, 2);
}

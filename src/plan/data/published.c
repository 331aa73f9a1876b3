/* Rows of published runs as plans; see published.h. */
#include "plan/data/published.h"

#include <inttypes.h>
#include <string.h>

#include "base/file.h"
#include "base/number.h"
#include "base/text.h"

bool published_is_runs(const struct csv *csv)
{
    static const char *const needed[] = {"row", "set", "quantity", "published"};
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
        if (csv_column(csv, needed[i]) == SIZE_MAX)
            return false;
    return true;
}

enum status published_sets(const struct csv *csv, size_t row, struct arena *arena,
                           struct override **sets, size_t *n, struct err *err)
{
    size_t capacity = 0;
    const char *at = csv_cell(csv, row, "set");
    *sets = NULL;
    *n = 0;
    while (at && *at) {
        size_t length = strcspn(at, " ");
        const char *set = arena_strndup(arena, at, length), *equal = strchr(set, '=');
        if (!equal) {
            err_at(err, (struct mark){csv->file, csv->lines[row], 1},
                   "\"%s\" in column 'set' is no key=value", set);
            return err_hint(err, "keys of the plan with blanks between them: parallel.ep=8 "
                                 "workload.micro_batch=2");
        }
        *sets = arena_grow(arena, *sets, *n, &capacity, sizeof **sets);
        (*sets)[(*n)++] = (struct override){
            arena_strndup(arena, set, (size_t)(equal - set)), equal + 1,
            arena_printf(arena, "%s:%" PRIu32 ":1", csv->file, csv->lines[row])};
        at += length + strspn(at + length, " ");
    }
    return STATUS_OK;
}

/* <folder>/models/published/x.csv names plans from <folder>; a file of the user's from its own.
 */
static const char *plan_file(const struct csv *csv, const char *plan, struct arena *arena)
{
    static const char shipped[] = "models/published/";
    const char *slash = strrchr(csv->file, '/');
    size_t folder = slash ? (size_t)(slash - csv->file) + 1 : 0, tail = sizeof shipped - 1;
    if (plan[0] == '/')
        return plan;
    if (folder >= tail && strncmp(csv->file + folder - tail, shipped, tail) == 0)
        folder -= tail;
    return arena_printf(arena, "%.*s%s", (int)folder, csv->file, plan);
}

static enum status all_sets(const struct csv *csv, size_t row,
                            const struct published_sets *more, struct arena *arena,
                            struct override **sets, size_t *n, struct err *err)
{
    struct override *own;
    TRY(published_sets(csv, row, arena, &own, n, err));
    *sets = own;
    if (!more || !more->n)
        return STATUS_OK;
    *sets = arena_alloc(arena, *n + more->n, sizeof **sets);
    for (size_t i = 0; i < *n; i++)
        (*sets)[i] = own[i];
    for (size_t i = 0; i < more->n; i++)
        (*sets)[(*n)++] = more->items[i];
    return STATUS_OK;
}

static enum status load_file(const struct csv *csv, size_t row, const char *file,
                             const struct override *sets, size_t n, struct arena *arena,
                             struct plan *plan, struct err *err)
{
    if (file_is_there(file))
        return plan_load(file, sets, n, arena, plan, NULL, err);
    err_at(err, (struct mark){csv->file, csv->lines[row], 1}, "the plan '%s' is not there",
           file);
    return err_hint(err, "the column 'plan' names a file beside the table");
}

uint64_t published_seed(const struct published_sets *sets)
{
    uint64_t seed = 1, asked;
    for (size_t i = 0; i < sets->n; i++)
        if (text_equal(sets->items[i].key, "moe.routing.seed") &&
            number_count(sets->items[i].value, &asked))
            seed = asked;
    return seed;
}

enum status published_no_sets(const struct csv *csv, struct err *err)
{
    return err_set(err, STATUS_USAGE, "'%s' has no plans that '--set' or '--seed' could change",
                   csv->file);
}

enum status published_plan(const struct csv *csv, size_t row, struct arena *arena,
                           struct plan *plan, struct err *err)
{
    return published_plan_with(csv, row, NULL, arena, plan, err);
}

enum status published_plan_with(const struct csv *csv, size_t row,
                                const struct published_sets *more, struct arena *arena,
                                struct plan *plan, struct err *err)
{
    static const char bare[] = "workload: {mode: train}\n";
    const char *file = csv_cell(csv, row, "plan");
    struct override *sets;
    size_t n;
    enum status status = all_sets(csv, row, more, arena, &sets, &n, err);
    if (status == STATUS_OK && file && file[0])
        status = load_file(csv, row, plan_file(csv, file, arena), sets, n, arena, plan, err);
    else if (status == STATUS_OK)
        status = plan_load_text("row", bare, sizeof bare - 1, sets, n, arena, plan, NULL, err);
    if (status == STATUS_OK)
        return status;
    return err_place(err, (struct mark){csv->file, csv->lines[row], 1});
}

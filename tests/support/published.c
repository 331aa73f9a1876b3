/* Published tables of runs; see published.h. */
#include "support/published.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "plan/catalog.h"
#include "plan/load.h"

void published_read(const char *name, struct arena *arena, struct csv *csv)
{
    struct err err = {0};
    char *path = NULL;
    if (catalog_find(CATALOG_PUBLISHED, name, NULL, arena, &path, &err) ||
        csv_read(path, arena, csv, &err))
        fail_msg("%s: %s", err.where, err.text);
}

/* "a=1 b=2" as overrides; returns their number. */
static size_t settings(const char *set, struct arena *arena, struct override *overrides,
                       size_t room)
{
    size_t n = 0;
    for (const char *at = set; *at && n < room; n++) {
        size_t length = strcspn(at, " ");
        const char *option = arena_strndup(arena, at, length);
        size_t key = strcspn(option, "=");
        overrides[n] =
            (struct override){arena_strndup(arena, option, key), option + key + 1, option};
        at += length + strspn(at + length, " ");
    }
    return n;
}

void published_plan(const struct csv *csv, size_t row, struct arena *arena, struct plan *plan)
{
    struct err err = {0};
    struct override overrides[64];
    const char *file = csv_cell(csv, row, "plan");
    static const char bare[] = "workload: {mode: train}\n";
    size_t n = settings(csv_cell(csv, row, "set"), arena, overrides, 64);
    enum status status = file[0]
                             ? plan_load(arena_printf(arena, "%s/%s", MOEPLAN_SOURCE_DIR, file),
                                         overrides, n, arena, plan, NULL, &err)
                             : plan_load_text("row", bare, sizeof bare - 1, overrides, n, arena,
                                              plan, NULL, &err);
    if (status != STATUS_OK)
        fail_msg("%s: %s: %s (%s)", csv_cell(csv, row, "row"), err.where, err.text, err.hint);
}

void published_predict(const struct csv *csv, size_t row, struct arena *arena,
                       struct prediction *prediction)
{
    struct err err = {0};
    struct plan *plan = arena_alloc(arena, 1, sizeof *plan);
    const struct predict_options options = {0};
    published_plan(csv, row, arena, plan);
    if (predict(plan, &options, arena, prediction, &err))
        fail_msg("%s: %s (%s)", csv_cell(csv, row, "row"), err.text, err.hint);
}

double published_error(uint64_t predicted, double published)
{
    return 100 * ((double)predicted / published - 1);
}

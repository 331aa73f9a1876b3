/* Published tables of runs; see published.h. */
#include "support/published.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "plan/read/catalog.h"
#include "plan/data/published.h"

void published_read(const char *name, struct arena *arena, struct csv *csv)
{
    struct err err = {0};
    char *path = NULL;
    if (catalog_find(CATALOG_PUBLISHED, name, NULL, arena, &path, &err) ||
        csv_read(path, arena, csv, &err))
        fail_msg("%s: %s", err.where, err.text);
}

void published_load(const struct csv *csv, size_t row, struct arena *arena, struct plan *plan)
{
    struct err err = {0};
    if (published_plan(csv, row, arena, plan, &err) != STATUS_OK)
        fail_msg("%s: %s: %s (%s)", csv_cell(csv, row, "row"), err.where, err.text, err.hint);
}

void published_predict(const struct csv *csv, size_t row, struct arena *arena,
                       struct prediction *prediction)
{
    struct err err = {0};
    struct plan *plan = arena_alloc(arena, 1, sizeof *plan);
    const struct predict_options options = {0};
    published_load(csv, row, arena, plan);
    if (predict(plan, &options, arena, prediction, &err))
        fail_msg("%s: %s (%s)", csv_cell(csv, row, "row"), err.text, err.hint);
}

double published_error(uint64_t predicted, double published)
{
    return 100 * ((double)predicted / published - 1);
}

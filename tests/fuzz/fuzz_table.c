/* A table of measurements, of kernels or of runs: what is predicted beside it are numbers, or
 * the table is refused with a text and a place. */
#include "fuzz/fuzz.h"

#include <math.h>
#include <stdlib.h>

#include "base/arena.h"
#include "calib/validate/validate.h"

enum { ROWS = 3, COLUMNS = 24 };

static void require(int holds)
{
    if (!holds)
        abort();
}

static void check(const struct validation *v)
{
    for (size_t i = 0; i < v->n; i++) {
        const struct validated *row = &v->rows[i];
        require(row->published && row->predicted && row->row);
        require(!row->has_error || isfinite(row->error_percent));
        require(!isinf(row->value) && !isinf(row->measured));
    }
    for (size_t i = 0; i < v->n_summaries; i++)
        require(v->summaries[i].agree <= v->summaries[i].values);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena = {0};
    struct err err = {0};
    struct csv csv;
    struct validation validation = {0};
    enum status status = csv_parse("t.csv", (const char *)data, size, &arena, &csv, &err);
    bool small = status != STATUS_OK || (csv.n_rows <= ROWS && csv.n_columns <= COLUMNS);
    if (status == STATUS_OK && small)
        status = validate_table(&csv, &arena, &validation, &err);
    if (status != STATUS_OK)
        require(err.text[0] != '\0');
    else if (small)
        check(&validation);
    arena_release(&arena);
    return 0;
}

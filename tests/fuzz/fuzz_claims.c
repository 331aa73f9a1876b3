/* Rows of the table of claims, behind its header: each is computed and compared, or refused
 * with a text. */
#include "fuzz/fuzz.h"

#include <math.h>
#include <stdlib.h>

#include "base/text.h"
#include "calib/claim/claims.h"

enum { ROWS = 4 };

static void require(int holds)
{
    if (!holds)
        abort();
}

static void check(const struct claims *claims)
{
    for (size_t i = 0; i < claims->n; i++) {
        const struct claim *claim = &claims->claims[i];
        require(claim->predicted && claim->why);
        require(!claim->has_error || isfinite(claim->error_percent));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena = {0};
    struct err err = {0};
    struct csv csv;
    struct claims claims;
    struct text text = {.arena = &arena};
    text_append(&text, "table,row,quantity,published,unit,place,compute,arguments,"
                       "tolerance_percent,why\n");
    text_append_n(&text, (const char *)data, size);
    enum status status =
        csv_parse("a/b/claims.csv", text.data, text.length, &arena, &csv, &err);
    if (status == STATUS_OK && csv.n_rows <= ROWS)
        status = claims_evaluate(&csv, NULL, &arena, &claims, &err);
    if (status != STATUS_OK)
        require(err.text[0]);
    else if (csv.n_rows <= ROWS)
        check(&claims);
    arena_release(&arena);
    return 0;
}

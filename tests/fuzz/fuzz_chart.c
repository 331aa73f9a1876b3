/* A saved sweep, and the JSON beside it behind a NUL: every kind of chart draws the table or
 * says why not; nothing is written. */
#include "fuzz/fuzz.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/chart/chart.h"
#include "plan/source.h"

static void require(int holds)
{
    if (!holds)
        abort();
}

static struct chart_names read_names(const char *json, size_t size, struct arena *arena)
{
    struct node *root = NULL;
    struct err err = {0};
    if (!json || source_read_text("t.json", json, size, arena, &root, &err) != STATUS_OK)
        root = NULL;
    struct chart_names names = chart_names_of_json("t.csv", root, arena);
    require(names.subject && names.source);
    return names;
}

static void fill(const struct chart_kind *kind, const char *text, size_t size,
                 const struct chart_names *names, struct arena *arena)
{
    struct picture picture = {.arena = arena, .data.arena = arena, .published.arena = arena};
    struct err err = {0};
    text_append_n(&picture.data, text, size);
    enum status status = picture_plain(&picture, "t.csv", &err);
    if (status == STATUS_OK)
        status = kind->fill("t.csv", names, &picture, &err);
    require(status == STATUS_OK || err.text[0]);
    for (size_t i = 0; status == STATUS_OK && i < picture.chart.n_variables; i++)
        require(isfinite(picture.variables[i].number));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena = {0};
    const char *text = (const char *)data, *nul = size ? memchr(text, '\0', size) : NULL;
    size_t length = nul ? (size_t)(nul - text) : size, n;
    const struct chart_kind *const *kinds = charts_all(&n);
    struct chart_names names =
        read_names(nul ? nul + 1 : NULL, nul ? size - length - 1 : 0, &arena);
    for (size_t i = 0; i < n; i++)
        fill(kinds[i], text, length, &names, &arena);
    arena_release(&arena);
    return 0;
}

/* The table of claims, row by row; see claims.h. */
#include "calib/claim/claims.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "base/text.h"
#include "calib/claim/claim_quantity.h"
#include "calib/table/printed_unit.h"
#include "plan/read/catalog.h"

const char *claims_title(const char *document)
{
    static const char *const titles[][2] = {
        {"seed000", "Dropless MoE training in JAX with Primus-Turbo"},
        {"seed001", "RDEP: keeping sparse expert compute hot across an NVLink fabric"},
        {"seed002", "Mixture-of-Experts inference on Neuron: a deep dive"},
        {"seed003", "Scaling LLMs: MoE routing and JAX parallelism on TPU"},
    };
    for (size_t i = 0; i < sizeof titles / sizeof *titles; i++)
        if (text_equal(document, titles[i][0]))
            return titles[i][1];
    return NULL;
}

enum status claims_read(struct arena *arena, struct csv *csv, struct err *err)
{
    static const char *const needed[] = {
        "table", "row",     "quantity",  "published",         "unit",
        "place", "compute", "arguments", "tolerance_percent", "why"};
    char *path;
    TRY(catalog_find(CATALOG_PUBLISHED, "claims", NULL, arena, &path, err));
    TRY(csv_read(path, arena, csv, err));
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
        if (csv_column(csv, needed[i]) == SIZE_MAX)
            return err_at(err, (struct mark){path, 1, 1}, "no column \"%s\"", needed[i]);
    return STATUS_OK;
}

/* What holds models/ and examples/: <folder>/models/published/claims.csv. */
static const char *data_folder(const char *file, struct arena *arena)
{
    return arena_printf(arena, "%s/../..", text_folder(file, arena));
}

/* Adds what rounding of each printed argument may change. */
static void add_spread(const struct claim_quantity *quantity, struct claim_call *call,
                       struct claim_answer *answer)
{
    for (size_t i = 0; i < call->n_arguments && answer->kind != CLAIM_WORDS; i++) {
        double most = 0;
        if (call->arguments[i].value[0] != '~')
            continue;
        call->shifted = i;
        for (call->shift = -1; call->shift < 2; call->shift += 2)
            most = fmax(most, fabs(quantity->compute(call).number - answer->number));
        call->shifted = SIZE_MAX;
        answer->spread += most;
    }
}

static enum claim_basis basis_of(const struct claim_quantity *quantity,
                                 const struct claim_answer *answer)
{
    bool bound = answer->kind == CLAIM_AT_LEAST || answer->kind == CLAIM_AT_MOST;
    return bound ? CLAIM_BOUNDED : answer->fitted ? CLAIM_FITTED : quantity->basis;
}

static enum status compute(const struct csv *csv, size_t row, struct arena *arena,
                           struct claim_answer *answer, enum claim_basis *basis,
                           struct err *err)
{
    const char *name = csv_cell(csv, row, "compute"), *nearest = NULL;
    struct claim_call call = {.arena = arena, .folder = data_folder(csv->file, arena)};
    *answer = (struct claim_answer){0};
    *basis = CLAIM_UNANSWERED;
    if (!*name)
        return STATUS_OK;
    const struct claim_quantity *quantity = claim_quantity_find(name, &nearest);
    if (!quantity) {
        err_set(err, STATUS_INPUT, "unknown quantity \"%s\"", name);
        return nearest ? err_hint(err, "did you mean '%s'?", nearest) : STATUS_INPUT;
    }
    TRY(claim_call_read(&call, csv_cell(csv, row, "arguments"), err));
    *answer = quantity->compute(&call);
    *basis = basis_of(quantity, answer);
    if (err->status == STATUS_OK)
        add_spread(quantity, &call, answer);
    return err->status == STATUS_OK ? claim_call_finish(&call, err) : err->status;
}

static const char *reason(const struct csv *csv, size_t row, const struct claim_answer *answer,
                          struct arena *arena)
{
    const char *why = csv_cell(csv, row, "why");
    if (!answer->note)
        return why;
    return *why ? arena_printf(arena, "%s: %s", answer->note, why) : answer->note;
}

static enum status evaluate_row(const struct csv *csv, size_t row, struct arena *arena,
                                struct claim *claim, struct err *err)
{
    struct claim_answer answer;
    const char *table = csv_cell(csv, row, "table");
    *claim = (struct claim){
        .document = arena_strndup(arena, table, strcspn(table, ".")),
        .table = table,
        .row = csv_cell(csv, row, "row"),
        .quantity = csv_cell(csv, row, "quantity"),
        .published = csv_cell(csv, row, "published"),
        .unit = csv_cell(csv, row, "unit"),
        .place = csv_cell(csv, row, "place"),
    };
    double unit = printed_unit(claim->unit);
    if (!(unit > 0))
        return err_set(err, STATUS_INPUT, "unknown unit \"%s\"", claim->unit);
    TRY(compute(csv, row, arena, &answer, &claim->basis, err));
    double percent = 0;
    const char *tolerated = csv_cell(csv, row, "tolerance_percent");
    if (*tolerated && !number_real(tolerated, &percent))
        return err_set(err, STATUS_INPUT, "tolerance_percent \"%s\" is no number", tolerated);
    struct claim_comparison c = claim_compare(claim->published, unit, percent / 100, &answer);
    claim->verdict = c.verdict;
    claim->has_error = c.has_error;
    claim->error_percent = c.error_percent;
    claim->predicted = claim_print(&answer, unit, arena);
    claim->why = reason(csv, row, &answer, arena);
    return STATUS_OK;
}

enum status claims_evaluate(const struct csv *csv, const char *only, struct arena *arena,
                            struct claims *out, struct err *err)
{
    *out = (struct claims){.claims = arena_alloc(arena, csv->n_rows + 1, sizeof *out->claims)};
    for (size_t row = 0; row < csv->n_rows; row++) {
        struct claim *claim = &out->claims[out->n];
        if (only && !text_starts(csv_cell(csv, row, "table"), only))
            continue;
        if (evaluate_row(csv, row, arena, claim, err) != STATUS_OK)
            return err_place(err, (struct mark){csv->file, csv->lines[row], 1});
        out->count[claim->verdict]++;
        out->n++;
    }
    return STATUS_OK;
}

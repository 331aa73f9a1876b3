/* Peaks, the width of marginal and the terms that are off; see memory.h. */
#include "report/calibrate/memory.h"

#include "base/column.h"
#include "report/provenance.h"

#define MEMBER(record, name, member, kind, heading)                                            \
    {                                                                                          \
        .key = name, .type = kind, .offset = offsetof(struct record, member), .title = heading \
    }

static const struct column value_columns[] = {
    MEMBER(peak_value, "row", row, COLUMN_TEXT, "run"),
    MEMBER(peak_value, "quantity", quantity, COLUMN_TEXT, NULL),
    MEMBER(peak_value, "measured_bytes", measured, COLUMN_REAL, "measured"),
    MEMBER(peak_value, "predicted_bytes", predicted, COLUMN_REAL, "predicted"),
    MEMBER(peak_value, "off", off, COLUMN_REAL, "off / temp"),
};

static const struct column peak_term_columns[] = {
    MEMBER(peak_term, "term", category, COLUMN_TEXT, NULL),
    MEMBER(peak_term, "factor", factor, COLUMN_REAL, "factor (or bytes)"),
    MEMBER(peak_term, "explained", explained, COLUMN_REAL, NULL),
    MEMBER(peak_term, "largest", largest, COLUMN_TEXT, "its largest buffer"),
    MEMBER(peak_term, "formula", formula, COLUMN_TEXT, NULL),
};

void peaks_print_text(const struct peaks_view *view)
{
    const struct memory_calibration *c = view->calibration;
    const struct table values = TABLE_OF(value_columns, c->values, c->n),
                       terms = TABLE_OF(peak_term_columns, c->terms, c->n_terms);
    fprintf(view->out, "peaks of stack %s, bytes\n\n", c->stack);
    column_table(view->out, view->term, &values, view->arena);
    fprintf(view->out,
            "\nerror: mean %.2f %%, median %.2f %%, largest %.2f %%\n"
            "of temp: bias %+.2f %%, one more run within %.2f %% (90 %%); the stack states "
            "%.2f %%\n",
            c->score.mean, c->score.median, c->score.max, 100 * c->bias, 100 * c->error,
            100 * c->stated);
    if (c->error < c->stated)
        fprintf(view->out, "these runs narrow marginal: --set stack.error=%.3g\n", c->error);
    else
        fprintf(view->out, "these runs do not narrow marginal\n");
    if (c->n_terms) {
        fprintf(view->out, "\nwhat explains the differences, each alone\n\n");
        column_table(view->out, view->term, &terms, view->arena);
    }
    fputc('\n', view->out);
    provenance_text(view->out, view->term,
                    &(struct provenance){.seed = view->seed, .stack = c->stack});
}

void peaks_print_json(const struct peaks_view *view)
{
    const struct memory_calibration *c = view->calibration;
    const struct table values = TABLE_OF(value_columns, c->values, c->n),
                       terms = TABLE_OF(peak_term_columns, c->terms, c->n_terms);
    struct json json;
    json_init(&json, view->out);
    json_object(&json, NULL);
    provenance_json(&json, &(struct provenance){.seed = view->seed, .stack = c->stack});
    json_string(&json, "table", view->table);
    json_real(&json, "stated_error", c->stated);
    json_real(&json, "bias", c->bias);
    json_real(&json, "error", c->error);
    column_json_array(&json, "terms", terms.columns, terms.n, terms.records, terms.n_records,
                      terms.record_size);
    column_json_array(&json, "runs", values.columns, values.n, values.records, values.n_records,
                      values.record_size);
    json_close(&json);
}

void peaks_print_csv(const struct peaks_view *view)
{
    const struct memory_calibration *c = view->calibration;
    const struct table values = TABLE_OF(value_columns, c->values, c->n);
    column_table_csv(view->out, &values);
}

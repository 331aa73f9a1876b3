/* The buffers of a prediction as CSV. */
#include "report/predict/print.h"

void predict_print_csv(const struct predict_view *view)
{
    const struct memory_report *memory = &view->prediction->memory;
    size_t n;
    const struct column *columns = buffer_columns(&n);
    column_csv_header(view->out, columns, n);
    for (size_t i = 0; i < memory->n_buffers; i++)
        column_csv_row(view->out, columns, n, &memory->buffers[i]);
}

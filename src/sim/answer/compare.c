/* Rows of two predictions matched by name; see compare.h. */
#include "sim/answer/compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "plan/schema/schema.h"

enum side { SIDE_A, SIDE_B };

const char *compare_part_name(enum compare_part part)
{
    static const char *const names[] = {"memory", "category", "buffer", "work", "op"};
    return names[part];
}

/* ---- keys ---- */

static void find_keys(const struct plan *a, const struct plan *b, struct arena *arena,
                      struct comparison *out)
{
    size_t n;
    const struct field *fields = schema_fields(&n);
    out->keys = arena_alloc(arena, n, sizeof *out->keys);
    for (size_t i = 0; i < n; i++) {
        struct text of_a = {.arena = arena}, of_b = {.arena = arena};
        schema_print(&fields[i], a, &of_a);
        schema_print(&fields[i], b, &of_b);
        if (!text_equal(text_string(&of_a), text_string(&of_b)))
            out->keys[out->n_keys++] =
                (struct compare_key){fields[i].key, text_string(&of_a), text_string(&of_b)};
    }
}

/* ---- amounts ---- */

static void count_add(struct compare_count *sum, const struct compare_count *more)
{
    sum->a += more->a;
    sum->b += more->b;
    sum->difference += more->difference;
}

void compare_add(struct compare_row *sum, const struct compare_row *row)
{
    count_add(&sum->bytes, &row->bytes);
    count_add(&sum->flop, &row->flop);
    count_add(&sum->sent, &row->sent);
    sum->seconds.a += row->seconds.a;
    sum->seconds.b += row->seconds.b;
    sum->seconds.difference += row->seconds.difference;
}

static bool count_same(const struct compare_count *count)
{
    return count->difference == 0;
}

bool compare_same(const struct compare_row *row)
{
    return count_same(&row->bytes) && count_same(&row->flop) && count_same(&row->sent) &&
           row->seconds.a == row->seconds.b;
}

/* Adds to a side, its difference with it; false when that leaves 63 bits. */
static bool count_side(struct compare_count *count, enum side side, uint64_t amount,
                       uint64_t times)
{
    uint64_t *sum = side == SIDE_A ? &count->a : &count->b;
    if (times && amount > (INT64_MAX - *sum) / times)
        return false;
    *sum += amount * times;
    count->difference = (int64_t)count->b - (int64_t)count->a;
    return true;
}

static void seconds_side(struct compare_seconds *seconds, enum side side, double amount)
{
    *(side == SIDE_A ? &seconds->a : &seconds->b) += amount;
    seconds->difference = seconds->b - seconds->a;
}

/* ---- rows ---- */

static bool text_same(const char *a, const char *b)
{
    return a == b || (a && b && text_equal(a, b));
}

/* The row of this name, made when there is none; there is room. */
static struct compare_row *row_of(struct compare_rows *rows, const struct compare_row *name)
{
    for (size_t i = 0; i < rows->n; i++) {
        struct compare_row *row = &rows->rows[i];
        if (text_same(row->name, name->name) && text_same(row->segment, name->segment) &&
            text_same(row->phase, name->phase) && text_same(row->category, name->category))
            return row;
    }
    rows->rows[rows->n] = *name;
    return &rows->rows[rows->n++];
}

static bool add_memory(struct comparison *out, enum side side, const struct memory_report *m)
{
    bool fits = count_side(&out->buffers.total.bytes, side, m->total_bytes, 1);
    for (unsigned i = 0; fits && i < m->n_categories; i++) {
        const struct compare_row name = {.part = COMPARE_CATEGORY,
                                         .name = category_name(m->categories[i].category)};
        fits = count_side(&row_of(&out->categories, &name)->bytes, side, m->categories[i].bytes,
                          1);
    }
    for (size_t i = 0; fits && i < m->n_buffers; i++) {
        const struct buffer_report *buffer = &m->buffers[i];
        const struct compare_row name = {.part = COMPARE_BUFFER,
                                         .name = buffer->name,
                                         .segment = segment_name(buffer->segment),
                                         .category = category_name(buffer->category)};
        if (buffer->at_peak)
            fits = count_side(&row_of(&out->buffers, &name)->bytes, side, buffer->bytes, 1);
    }
    return fits;
}

static bool add_ops(struct compare_rows *rows, enum side side, const struct ops_report *ops)
{
    bool fits = true;
    for (size_t i = 0; fits && i < ops->n; i++) {
        const struct op_report *op = &ops->ops[i];
        const struct compare_row name = {.part = COMPARE_OP,
                                         .name = op->name,
                                         .segment = segment_name(op->segment),
                                         .phase = phase_name(op->phase)};
        struct compare_row *const to[] = {row_of(rows, &name), &rows->total};
        for (size_t j = 0; fits && j < sizeof to / sizeof *to; j++)
            fits = count_side(&to[j]->bytes, side, op->bytes, op->layers) &&
                   count_side(&to[j]->flop, side, op->flop, op->layers) &&
                   count_side(&to[j]->sent, side, op->bytes_sent, op->layers);
        seconds_side(&to[0]->seconds, side, op->seconds * (double)op->layers);
    }
    return fits;
}

/* ---- order ---- */

static uint64_t magnitude(int64_t value)
{
    return value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
}

static int by_size(uint64_t a, uint64_t b)
{
    return (a < b) - (a > b);
}

/* The larger difference first: in seconds, then in bytes, then by what B has. */
static int compare_rows_order(const void *one, const void *other)
{
    const struct compare_row *a = one, *b = other;
    double seconds_a = fabs(a->seconds.difference), seconds_b = fabs(b->seconds.difference);
    if (seconds_a != seconds_b)
        return seconds_a < seconds_b ? 1 : -1;
    int order = by_size(magnitude(a->bytes.difference), magnitude(b->bytes.difference));
    if (order == 0)
        order = by_size(a->bytes.b, b->bytes.b);
    if (order == 0)
        order = strcmp(a->name, b->name);
    if (order == 0 && a->segment && b->segment)
        order = strcmp(a->segment, b->segment);
    return order || !a->phase || !b->phase ? order : strcmp(a->phase, b->phase);
}

static void sort_rows(struct compare_rows *rows)
{
    if (rows->n > 1)
        qsort(rows->rows, rows->n, sizeof *rows->rows, compare_rows_order);
}

static struct compare_rows rows_new(enum compare_part total, size_t n, struct arena *arena)
{
    return (struct compare_rows){
        .total = {.part = total, .name = "total"},
        .rows = arena_alloc(arena, n + 1, sizeof(struct compare_row)),
    };
}

/* What both take; some is of served plans, of prompts or of answers alone. */
static void find_figures(const struct time_report *a, const struct time_report *b,
                         struct arena *arena, struct comparison *out)
{
    static const struct {
        const char *key, *label;
        size_t at;
        bool is_rate;
    } figures[] = {
        {"step_s", "a step", offsetof(struct time_report, step_s), false},
        {"ttft_s", "first token", offsetof(struct time_report, ttft_s), false},
        {"tpot_s", "each token", offsetof(struct time_report, tpot_s), false},
        {"requests_per_s", "requests/s", offsetof(struct time_report, requests_per_s), true},
        {"tokens_per_s", "tokens/s", offsetof(struct time_report, tokens_per_s), true},
        {"tokens_per_s_per_device", "tokens/s a device",
         offsetof(struct time_report, tokens_per_s_per_device), true},
    };
    enum { FIGURES = sizeof figures / sizeof *figures };
    out->time = arena_alloc(arena, FIGURES, sizeof *out->time);
    for (size_t i = 0; a->present && b->present && i < FIGURES; i++) {
        double x = *(const double *)((const char *)a + figures[i].at),
               y = *(const double *)((const char *)b + figures[i].at);
        if (isfinite(x) && isfinite(y) && x > 0)
            out->time[out->n_time++] = (struct compare_figure){
                figures[i].key, figures[i].label, figures[i].is_rate, x, y, y / x};
    }
}

enum status compare(const struct compare_side *a, const struct compare_side *b,
                    struct arena *arena, struct comparison *out, struct err *err)
{
    const struct prediction *const sides[] = {a->prediction, b->prediction};
    *out = (struct comparison){.has_ops = sides[0]->has_ops && sides[1]->has_ops};
    find_keys(a->plan, b->plan, arena, out);
    find_figures(&sides[0]->time, &sides[1]->time, arena, out);
    out->categories = rows_new(COMPARE_MEMORY, CATEGORY_COUNT, arena);
    out->buffers = rows_new(COMPARE_MEMORY,
                            sides[0]->memory.n_buffers + sides[1]->memory.n_buffers, arena);
    out->ops = rows_new(COMPARE_WORK, sides[0]->ops.n + sides[1]->ops.n, arena);
    bool fits = true;
    for (unsigned s = SIDE_A; fits && s <= SIDE_B; s++)
        fits = add_memory(out, (enum side)s, &sides[s]->memory) &&
               (!out->has_ops || add_ops(&out->ops, (enum side)s, &sides[s]->ops));
    if (!fits)
        return err_set(err, STATUS_INPUT, "a sum over the layers of a plan leaves 63 bits");
    out->categories.total = out->buffers.total;
    sort_rows(&out->categories);
    sort_rows(&out->buffers);
    sort_rows(&out->ops);
    for (size_t i = 0; i < out->ops.n; i++) {
        const struct compare_row seconds = {.seconds = out->ops.rows[i].seconds};
        compare_add(&out->ops.total, &seconds);
    }
    return STATUS_OK;
}

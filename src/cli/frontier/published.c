/* Published runs among the points of a sweep; see published.h. */
#include "cli/frontier/published.h"

#include <inttypes.h>
#include <string.h>

#include "base/csv.h"
#include "base/file.h"
#include "base/unit.h"
#include "cli/frontier/csv.h"
#include "plan/read/catalog.h"
#include "plan/data/published.h"
#include "plan/derive.h"
#include "plan/schema/schema.h"

/* One published run of this plan. */
struct run {
    const char *name, *source;
    struct plan *plan;
    bool known, ran;      /* known: its verdict, or the value wanted, is published */
    const char *value;    /* of the wanted quantity */
    uint64_t temp, total; /* bytes; 0: not published */
};

struct matcher {
    const struct frontier *frontier;
    const char *wanted; /* a quantity in place of verdict and bytes; or NULL */
    const char *file;   /* of the plan that the table names, and what stands in it */
    struct node *root;
    struct run *runs;
    size_t n_runs, run_capacity;
    const struct field **fields; /* those in which any run or point differs from the base */
    size_t n_fields;
};

/* ---- the runs ---- */

static bool is_of_plan(const char *file, const char *plan)
{
    const char *name = text_base_name(file);
    size_t length = strlen(plan);
    return strncmp(name, plan, length) == 0 && (name[length] == '.' || !name[length]);
}

/* What the stack gives and what the plan states are one fraction. */
static void settle(struct plan *plan)
{
    if (plan->memory.fraction == 0)
        plan->memory.fraction = plan_memory_fraction(plan);
}

static enum status add_run(struct matcher *m, const struct csv *csv, size_t row,
                           struct err *err)
{
    const struct frontier *f = m->frontier;
    struct override *sets;
    size_t n;
    TRY(published_sets(csv, row, f->arena, &sets, &n, err));
    m->runs = arena_grow(f->arena, m->runs, m->n_runs, &m->run_capacity, sizeof *m->runs);
    struct run *run = &m->runs[m->n_runs];
    *run = (struct run){.name = csv_cell(csv, row, "row"),
                        .source = csv_cell(csv, row, "source"),
                        .plan = arena_alloc(f->arena, 1, sizeof *run->plan)};
    TRY(plan_load_unruled(m->file, m->root, sets, n, f->shelf, f->arena, run->plan, err));
    settle(run->plan);
    m->n_runs++;
    return STATUS_OK;
}

static enum status read_bytes(const struct csv *csv, size_t row, uint64_t *bytes,
                              struct err *err)
{
    const char *value = csv_cell(csv, row, "published"), *unit = csv_cell(csv, row, "unit");
    char text[64];
    double number;
    snprintf(text, sizeof text, "%s %s", value, unit);
    if (!unit_parse(UNIT_BYTES, text, &number) || number < 0)
        return err_at(err, (struct mark){csv->file, csv->lines[row], 1},
                      "\"%s\" is no amount of memory", text);
    *bytes = (uint64_t)number;
    return STATUS_OK;
}

static enum status add_quantity(const char *wanted, struct run *run, const struct csv *csv,
                                size_t row, struct err *err)
{
    const char *quantity = csv_cell(csv, row, "quantity");
    if (wanted && text_equal(quantity, wanted)) {
        run->known = true;
        run->value = csv_cell(csv, row, "published");
    }
    if (wanted)
        return STATUS_OK;
    if (text_equal(quantity, "memory.temp_bytes"))
        return read_bytes(csv, row, &run->temp, err);
    if (text_equal(quantity, "memory.total_bytes"))
        return read_bytes(csv, row, &run->total, err);
    if (text_equal(quantity, "memory.verdict")) {
        run->known = true;
        run->ran = !text_equal(csv_cell(csv, row, "published"), "oom");
    }
    return STATUS_OK;
}

/* The plan as it was published, not as the user's copy may have become: examples/ stands beside
 * models/. Without it there is nothing to compare with. */
static enum status read_plan(struct matcher *m, const char *table, const char *plan,
                             bool *found, struct err *err)
{
    struct arena *arena = m->frontier->arena;
    const char *path = arena_printf(arena, "%s/../../%s", text_folder(table, arena), plan);
    *found = m->file && text_equal(m->file, path);
    if (*found || !file_is_there(path))
        return STATUS_OK;
    TRY(source_read_file(path, arena, &m->root, err));
    m->file = path;
    *found = true;
    return STATUS_OK;
}

static enum status read_runs(struct matcher *m, const struct csv *csv, struct err *err)
{
    static const char *const needed[] = {"row",  "plan",      "set",   "quantity",
                                         "unit", "published", "source"};
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
        if (csv_column(csv, needed[i]) == SIZE_MAX)
            return STATUS_OK;
    for (size_t row = 0; row < csv->n_rows; row++) {
        if (!is_of_plan(csv_cell(csv, row, "plan"), m->frontier->base.name))
            continue;
        const char *name = csv_cell(csv, row, "row");
        bool found;
        TRY(read_plan(m, csv->file, csv_cell(csv, row, "plan"), &found, err));
        if (!found)
            continue;
        if (!m->n_runs || !text_equal(m->runs[m->n_runs - 1].name, name))
            TRY(add_run(m, csv, row, err));
        TRY(add_quantity(m->wanted, &m->runs[m->n_runs - 1], csv, row, err));
    }
    return STATUS_OK;
}

/* ---- which keys can differ ---- */

static bool same(const struct field *field, const struct plan *a, const struct plan *b,
                 struct arena *arena)
{
    const char *x = (const char *)a + field->offset, *y = (const char *)b + field->offset;
    if (field->type == FIELD_TEXT)
        return text_equal(x, y);
    if (!schema_is_list(field))
        return memcmp(x, y, field->size) == 0;
    struct text one = {.arena = arena}, other = {.arena = arena};
    schema_print(field, a, &one);
    schema_print(field, b, &other);
    return text_equal(text_string(&one), text_string(&other));
}

static void mark_differences(const struct frontier *f, const struct plan *plan, bool *differs)
{
    size_t n;
    const struct field *fields = schema_fields(&n);
    struct plan base = f->base;
    settle(&base);
    for (size_t i = 0; i < n; i++)
        differs[i] = differs[i] || !same(&fields[i], &base, plan, f->arena);
}

static void point_plan(const struct frontier *f, const size_t indices[SWEEP_AXES],
                       struct plan *plan)
{
    sweep_plan(&f->sweep, indices, plan);
    settle(plan);
}

static void find_fields(struct matcher *m)
{
    const struct frontier *f = m->frontier;
    size_t n;
    const struct field *fields = schema_fields(&n);
    bool *differs = arena_alloc(f->arena, n, sizeof *differs);
    struct plan *plan = arena_alloc(f->arena, 1, sizeof *plan);
    for (size_t i = 0; i < m->n_runs; i++)
        mark_differences(f, m->runs[i].plan, differs);
    for (size_t axis = 0; axis < f->n_axes; axis++)
        for (size_t value = 0; value < f->axes[axis].n_values; value++) {
            size_t indices[SWEEP_AXES] = {0};
            indices[axis] = value;
            point_plan(f, indices, plan);
            mark_differences(f, plan, differs);
        }
    m->fields = arena_alloc(f->arena, n, sizeof *m->fields);
    for (size_t i = 0; i < n; i++)
        if (differs[i])
            m->fields[m->n_fields++] = &fields[i];
}

static bool matches(const struct matcher *m, const struct run *run, const struct plan *point)
{
    for (size_t i = 0; i < m->n_fields; i++)
        if (!same(m->fields[i], run->plan, point, m->frontier->arena))
            return false;
    return run->known;
}

/* ---- rows ---- */

static void print_run(const struct frontier_csv *csv, const size_t indices[SWEEP_AXES],
                      const struct run *run, const struct evaluation *predicted,
                      struct text *out)
{
    uint64_t total = run->ran     ? predicted->peak.total_bytes
                     : run->total ? run->total
                     : run->temp  ? run->temp + predicted->peak.state_bytes
                                  : predicted->peak.total_bytes;
    for (size_t i = 0; i < csv->n_axes; i++)
        text_printf(out, "%s,", csv->labels[i][indices[i]]);
    text_printf(out, "%s,%" PRIu64 ",%s,%s\n", run->ran ? "fits" : "oom", total,
                frontier_csv_quote(run->name, out->arena),
                frontier_csv_quote(run->source, out->arena));
}

static void print_value(const struct frontier_csv *csv, const size_t indices[SWEEP_AXES],
                        const struct run *run, struct text *out)
{
    for (size_t i = 0; i < csv->n_axes; i++)
        text_printf(out, "%s,", csv->labels[i][indices[i]]);
    text_printf(out, "%s,%s,%s\n", frontier_csv_quote(run->value, out->arena),
                frontier_csv_quote(run->name, out->arena),
                frontier_csv_quote(run->source, out->arena));
}

static void match_points(const struct matcher *m, struct text *out)
{
    const struct frontier *f = m->frontier;
    struct frontier_csv csv;
    struct evaluator evaluator = {0};
    uint64_t points = sweep_points(&f->sweep), structure = 0;
    struct plan *plan = arena_alloc(f->arena, 1, sizeof *plan);
    frontier_csv_init(&csv, f->axes, f->n_axes, f->arena);
    for (uint64_t point = 0; point < points; point++) {
        size_t indices[SWEEP_AXES] = {0};
        sweep_indices(&f->sweep, point, indices);
        point_plan(f, indices, plan);
        for (size_t i = 0; i < m->n_runs; i++) {
            struct evaluation predicted;
            if (!matches(m, &m->runs[i], plan))
                continue;
            if (m->wanted) {
                print_value(&csv, indices, &m->runs[i], out);
                continue;
            }
            evaluate(&evaluator, plan, ++structure, &predicted);
            if (predicted.valid)
                print_run(&csv, indices, &m->runs[i], &predicted, out);
        }
    }
    evaluator_release(&evaluator);
}

static enum status match_all(struct matcher *m, struct text *out, struct err *err)
{
    const struct frontier *f = m->frontier;
    struct catalog_item *items;
    struct text rows = {.arena = f->arena};
    size_t n;
    catalog_list(CATALOG_PUBLISHED, f->arena, &items, &n);
    for (size_t i = 0; i < n; i++) {
        struct csv csv;
        TRY(csv_read(items[i].path, f->arena, &csv, err));
        TRY(read_runs(m, &csv, err));
    }
    if (!m->n_runs)
        return STATUS_OK;
    find_fields(m);
    match_points(m, &rows);
    if (!rows.length)
        return STATUS_OK;
    for (size_t i = 0; i < f->n_axes; i++)
        text_printf(out, "%s,", f->axes[i].column);
    text_printf(out, "%s,row,source\n", m->wanted ? m->wanted : "verdict,total_bytes");
    text_append_n(out, text_string(&rows), rows.length);
    return STATUS_OK;
}

enum status frontier_published(const struct frontier *f, struct text *out, struct err *err)
{
    struct matcher m = {.frontier = f};
    return match_all(&m, out, err);
}

enum status frontier_published_value(const struct frontier *f, const char *quantity,
                                     struct text *out, struct err *err)
{
    struct matcher m = {.frontier = f, .wanted = quantity};
    return match_all(&m, out, err);
}

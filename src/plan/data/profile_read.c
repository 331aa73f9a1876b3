/* Reading a profile's file: every row complete, in range, and no faster than the device; see
 * profile.h and models/profiles/README.md. */
#include <string.h>

#include "base/csv.h"
#include "base/number.h"
#include "base/text.h"
#include "base/unit.h"
#include "plan/read/catalog.h"
#include "plan/read/part.h"
#include "plan/read/unread.h"
#include "plan/data/profile.h"
#include "plan/schema/schema.h"
#include "plan/source.h"

enum { BASES = 4 };

/* Where a row comes from: its own words, or those at the top of its file. */
struct origin {
    const char *source, *date, *range, *set;
};

struct reader {
    struct arena *arena;
    struct profile *profile;
    struct constant *rows;
    size_t n, capacity;
    const char *folder; /* of the file being read */
    struct origin origin;
    unsigned depth;
    struct err *err;
};

static const struct quantity {
    const char *name;
    enum unit unit;
    double low, high;
    const char *of; /* classes that may have it */
} quantities[PROFILE_QUANTITIES] = {
#define QUANTITY_ROW(name, text, unit, low, high, of, help)                                    \
    [PROFILE_##name] = {text, unit, low, high, of},
    PROFILE_QUANTITY_LIST(QUANTITY_ROW)
#undef QUANTITY_ROW
};

/* ---- words ---- */

static const char *item_at(const void *table, size_t i)
{
    (void)table;
    return profile_item_name((enum profile_item)i);
}

static const char *quantity_at(const void *table, size_t i)
{
    (void)table;
    return profile_quantity_name((enum profile_quantity)i);
}

static const char *axis_at(const void *table, size_t i)
{
    (void)table;
    return profile_axis_name((enum profile_axis)i);
}

static const char *level_at(const void *table, size_t i)
{
    (void)table;
    return profile_level_name((enum profile_level)i);
}

static const char *word_at(const void *table, size_t i)
{
    return ((const char *const *)table)[i];
}

/* The words that a key of a row takes. */
struct words {
    const char *key;
    const char *(*name_at)(const void *table, size_t i);
    const void *table;
    size_t n;
};

static size_t count_words(const char *const *words)
{
    size_t n = 0;
    while (words[n])
        n++;
    return n;
}

static enum status is_scalar(struct reader *r, const struct node *node, const char *key)
{
    if (node->kind == NODE_SCALAR && node->text[0])
        return STATUS_OK;
    if (node->kind == NODE_SCALAR)
        return err_at(r->err, node->mark, "'%s' has no value", key);
    return err_at(r->err, node->mark, "'%s' takes a value, not %s", key,
                  node_kind_name(node->kind));
}

/* *found stays as it is where the row does not have the key. */
static enum status read_word(struct reader *r, const struct node *row, const struct words *w,
                             int *found)
{
    const struct node *node = node_get(row, w->key);
    if (!node)
        return STATUS_OK;
    TRY(is_scalar(r, node, w->key));
    for (size_t i = 0; i < w->n; i++)
        if (text_equal(w->name_at(w->table, i), node->text)) {
            *found = (int)i;
            return STATUS_OK;
        }
    const char *meant = text_nearest(node->text, w->n, w->name_at, w->table);
    err_at(r->err, node->mark, "'%s' is no %s of a profile", node->text, w->key);
    return err_hint(r->err, meant ? "did you mean '%s'?" : "see models/profiles/README.md",
                    meant);
}

/* ---- numbers ---- */

static enum status read_number(struct reader *r, const struct node *node,
                               const struct constant *c, double *value)
{
    const struct quantity *q = &quantities[c->is];
    TRY(is_scalar(r, node, "value"));
    if (!unit_parse(q->unit, node->text, value))
        return err_at(r->err, node->mark, "'%s' is no number%s", node->text,
                      q->unit == UNIT_SECONDS ? " of seconds" : "");
    if (*value >= q->low && *value <= q->high)
        return STATUS_OK;
    err_at(r->err, node->mark, "%s.%s is %s; it lies in %g to %g", profile_item_name(c->of),
           q->name, node->text, q->low, q->high);
    bool fast = *value > 1 && (c->is == PROFILE_EFFICIENCY || c->is == PROFILE_BANDWIDTH);
    return err_hint(r->err, fast ? "no rate is above the physical peak; it is a share of it"
                                 : "see models/profiles/README.md");
}

static enum status check_rising(struct reader *r, struct mark mark, const double *x, size_t i)
{
    if (x[i] > 0 && (i == 0 || x[i] > x[i - 1]))
        return STATUS_OK;
    return err_at(r->err, mark, "the places of a curve are positive and rise");
}

static enum status read_points(struct reader *r, const struct node *points, struct constant *c)
{
    double *x = arena_alloc(r->arena, points->n + 1, sizeof *x);
    double *y = arena_alloc(r->arena, points->n + 1, sizeof *y);
    size_t n = 0;
    for (const struct node *p = points->first; p; p = p->next, n++) {
        if (p->kind != NODE_SEQUENCE || p->n != 2 || p->first->kind != NODE_SCALAR ||
            !number_real(p->first->text, &x[n]))
            return err_at(r->err, p->mark, "a point is [place, value]");
        TRY(check_rising(r, p->mark, x, n));
        TRY(read_number(r, p->first->next, c, &y[n]));
    }
    if (n == 0)
        return err_at(r->err, points->mark, "a curve has points");
    c->x = x;
    c->y = y;
    c->n = n;
    return STATUS_OK;
}

/* Columns named after the axis and the constant. */
static enum status read_table(struct reader *r, const struct node *node, struct constant *c)
{
    struct csv csv;
    TRY(is_scalar(r, node, "table"));
    TRY(csv_read(arena_printf(r->arena, "%s/%s", r->folder, node->text), r->arena, &csv,
                 r->err));
    const char *place = profile_axis_name(c->by), *value = profile_quantity_name(c->is);
    if (csv_column(&csv, place) == SIZE_MAX || csv_column(&csv, value) == SIZE_MAX)
        return err_at(r->err, node->mark, "'%s' needs columns '%s' and '%s'", node->text, place,
                      value);
    double *x = arena_alloc(r->arena, csv.n_rows + 1, sizeof *x);
    double *y = arena_alloc(r->arena, csv.n_rows + 1, sizeof *y);
    for (size_t i = 0; i < csv.n_rows; i++) {
        struct mark mark = {csv.file, csv.lines[i], 1};
        const struct node cell = {
            .kind = NODE_SCALAR, .text = csv_cell(&csv, i, value), .mark = mark};
        if (!number_real(csv_cell(&csv, i, place), &x[i]))
            return err_at(r->err, mark, "'%s' is no number", csv_cell(&csv, i, place));
        TRY(check_rising(r, mark, x, i));
        TRY(read_number(r, &cell, c, &y[i]));
    }
    c->x = x;
    c->y = y;
    c->n = csv.n_rows;
    return c->n ? STATUS_OK : err_at(r->err, node->mark, "'%s' has no rows", node->text);
}

static enum status read_value(struct reader *r, const struct node *row, struct constant *c)
{
    const struct node *value = node_get(row, "value"), *points = node_get(row, "points"),
                      *table = node_get(row, "table");
    bool curve = c->by != PROFILE_BY_NONE;
    if (curve ? !points == !table : !value || points || table) {
        err_at(r->err, row->mark, "a constant has a value, or a curve");
        return err_hint(r->err, "a curve says 'by' and 'points: [[place, value], ...]' or "
                                "'table: file.csv'");
    }
    if (table)
        return read_table(r, table, c);
    if (points)
        return read_points(r, points, c);
    double *y = arena_alloc(r->arena, 1, sizeof *y);
    TRY(read_number(r, value, c, y));
    c->y = y;
    c->n = 1;
    return STATUS_OK;
}

/* [low, high]: values beside a value, factors beside a curve. */
static enum status read_interval(struct reader *r, const struct node *row, struct constant *c)
{
    const struct node *node = node_get(row, "interval");
    double ends[2];
    if (!node)
        return err_at(r->err, row->mark, "%s.%s has no interval", profile_item_name(c->of),
                      profile_quantity_name(c->is));
    if (node->kind != NODE_SEQUENCE || node->n != 2)
        return err_at(r->err, node->mark, "'interval' takes [low, high]");
    const struct node *end = node->first;
    for (size_t i = 0; i < 2; i++, end = end->next) {
        enum unit unit = c->by == PROFILE_BY_NONE ? quantities[c->is].unit : UNIT_NONE;
        TRY(is_scalar(r, end, "interval"));
        if (!unit_parse(unit, end->text, &ends[i]))
            return err_at(r->err, end->mark, "'%s' is no number", end->text);
    }
    double middle = c->by == PROFILE_BY_NONE ? c->y[0] : 1;
    if (ends[0] > middle || ends[1] < middle || ends[0] < 0) {
        err_at(r->err, node->mark, "the interval from '%s' to '%s' does not hold %s%g",
               node->first->text, node->first->next->text,
               c->by == PROFILE_BY_NONE ? "its value, " : "", middle);
        return err_hint(r->err, c->by == PROFILE_BY_NONE
                                    ? "low <= value <= high, none below 0"
                                    : "of a curve it is a share: low <= 1 <= high");
    }
    c->low = middle > 0 ? ends[0] / middle : 1;
    c->high = middle > 0 ? ends[1] / middle : 1;
    return STATUS_OK;
}

/* within: [least, most], sizes in the unit of the family's table. */
static enum status read_within(struct reader *r, const struct node *row, struct constant *c)
{
    const struct node *node = node_get(row, "within");
    if (!node)
        return STATUS_OK;
    if (node->kind == NODE_SEQUENCE && node->n == 2 && node->first->kind == NODE_SCALAR &&
        node->first->next->kind == NODE_SCALAR && number_real(node->first->text, &c->least) &&
        number_real(node->first->next->text, &c->most) && c->least > 0 && c->most >= c->least)
        return STATUS_OK;
    return err_at(r->err, node->mark, "'within' takes [least, most]");
}

/* ---- a row ---- */

static enum status check_keys(struct reader *r, const struct node *mapping,
                              const char *const *keys)
{
    for (const struct node *child = mapping->first; child; child = child->next) {
        size_t n = count_words(keys), i = 0;
        while (i < n && !text_equal(keys[i], child->key))
            i++;
        if (i < n)
            continue;
        const char *meant = text_nearest(child->key, n, word_at, keys);
        err_at(r->err, child->key_mark, "unknown key '%s'", child->key);
        return err_hint(r->err, meant ? "did you mean '%s'?" : "see models/profiles/README.md",
                        meant);
    }
    return STATUS_OK;
}

static enum status read_text(struct reader *r, const struct node *mapping, const char *key,
                             const char **text)
{
    const struct node *node = node_get(mapping, key);
    if (!node)
        return STATUS_OK;
    TRY(is_scalar(r, node, key));
    *text = node->text;
    return STATUS_OK;
}

static enum status read_origin(struct reader *r, const struct node *mapping,
                               struct origin *origin)
{
    TRY(read_text(r, mapping, "source", &origin->source));
    TRY(read_text(r, mapping, "date", &origin->date));
    TRY(read_text(r, mapping, "range", &origin->range));
    return read_text(r, mapping, "set", &origin->set);
}

/* Which constant, and where it holds. */
static enum status read_place(struct reader *r, const struct node *row, struct constant *c)
{
    int of = PROFILE_ANY, is = PROFILE_ANY, by = PROFILE_BY_NONE;
    const struct {
        struct words words;
        int *to;
    } keys[] = {
        {{"of", item_at, NULL, PROFILE_ITEMS}, &of},
        {{"is", quantity_at, NULL, PROFILE_QUANTITIES}, &is},
        {{"by", axis_at, NULL, PROFILE_AXES}, &by},
        {{"path", word_at, words_path, count_words(words_path)}, &c->path},
        {{"dtype", word_at, words_compute, count_words(words_compute)}, &c->compute},
        {{"level", level_at, NULL, PROFILE_LEVELS}, &c->level},
    };
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        TRY(read_word(r, row, &keys[i].words, keys[i].to));
    if (of == PROFILE_ANY || is == PROFILE_ANY)
        return err_at(r->err, row->mark, "a constant says 'of' and 'is'");
    c->of = (enum profile_item)of;
    c->is = (enum profile_quantity)is;
    c->by = (enum profile_axis)by;
    if (strstr(quantities[is].of, profile_item_name(profile_item_class(c->of))))
        return STATUS_OK;
    err_at(r->err, row->mark, "%s has no constant '%s'", profile_item_name(c->of),
           quantities[is].name);
    return err_hint(r->err, "'%s' is of: %s", quantities[is].name, quantities[is].of);
}

static enum status read_row(struct reader *r, const struct node *row)
{
    static const char *const keys[] = {
        "of",    "is",       "path",   "dtype",  "level", "by",    "value", "points",
        "table", "interval", "within", "source", "date",  "range", "set",   NULL};
    struct constant c = {.path = PROFILE_ANY,
                         .compute = PROFILE_ANY,
                         .level = PROFILE_ANY,
                         .depth = r->depth,
                         .mark = row->mark};
    struct origin origin = r->origin;
    if (row->kind != NODE_MAPPING)
        return err_at(r->err, row->mark, "a constant is a mapping, not %s",
                      node_kind_name(row->kind));
    TRY(check_keys(r, row, keys));
    TRY(read_place(r, row, &c));
    TRY(read_value(r, row, &c));
    TRY(read_interval(r, row, &c));
    TRY(read_within(r, row, &c));
    TRY(read_origin(r, row, &origin));
    if (!origin.source || !origin.date || !origin.range || !origin.set) {
        err_at(r->err, row->mark,
               "%s.%s does not say its source, date, range "
               "and set",
               profile_item_name(c.of), profile_quantity_name(c.is));
        return err_hint(r->err, "a row says them, or the top of the file for all of its rows");
    }
    c.source = origin.source;
    c.set = origin.set;
    r->rows = arena_grow(r->arena, r->rows, r->n, &r->capacity, sizeof c);
    r->rows[r->n++] = c;
    return STATUS_OK;
}

/* ---- a file ---- */

/* The models of the calibration set's runs. */
static enum status read_models(struct reader *r, const struct node *root)
{
    const struct node *list = node_get(root, "models");
    if (!list)
        return STATUS_OK;
    if (list->kind != NODE_SEQUENCE)
        return err_at(r->err, list->mark, "'models' takes a list of names");
    const char **names = arena_alloc(r->arena, list->n + 1, sizeof *names);
    size_t n = 0;
    for (const struct node *name = list->first; name; name = name->next) {
        TRY(is_scalar(r, name, "models"));
        names[n++] = name->text;
    }
    r->profile->models = names;
    return STATUS_OK;
}

static enum status read_run(struct reader *r, const struct node *key, struct profile_run *run)
{
    const struct field *field = schema_find(key->key);
    bool list = key->kind == NODE_SEQUENCE;
    if (!field || schema_is_list(field))
        return err_at(r->err, key->key_mark, "'%s' is no key of one value", key->key);
    struct profile_held *held = arena_alloc(r->arena, list ? key->n + 1 : 1, sizeof *held);
    *run = (struct profile_run){
        .field = field, .held = held, .sometimes = unread_when(field, r->arena) != NULL};
    for (const struct node *v = list ? key->first : key; v; v = list ? v->next : NULL) {
        TRY(is_scalar(r, v, "runs"));
        if (profile_held_read(field, v->text, &held[run->n++]))
            continue;
        err_at(r->err, v->mark, "'%s' is not what '%s' takes", v->text, field->key);
        return err_hint(r->err, "%s, or numbers from 4 to 16 as 4..16", schema_takes(field));
    }
    return STATUS_OK;
}

/* "runs: {moe.path: [deepep, capacity], parallel.ep: 8}": what the plan's keys were. */
static enum status read_runs(struct reader *r, const struct node *root)
{
    const struct node *runs = node_get(root, "runs");
    if (!runs)
        return STATUS_OK;
    if (runs->kind != NODE_MAPPING)
        return err_at(r->err, runs->mark, "'runs' takes keys of a plan");
    struct profile_run *all = arena_alloc(r->arena, runs->n + 1, sizeof *all);
    size_t n = 0;
    for (const struct node *key = runs->first; key; key = key->next)
        TRY(read_run(r, key, &all[n++]));
    r->profile->runs = all;
    r->profile->n_runs = n;
    return STATUS_OK;
}

static enum status read_file(struct reader *r, const char *path);

static enum status read_base(struct reader *r, const struct node *root)
{
    const char *name = NULL;
    char *path;
    TRY(read_text(r, root, "base", &name));
    if (!name)
        return STATUS_OK;
    if (r->depth == 0)
        r->profile->base = name;
    if (++r->depth > BASES)
        return err_at(r->err, node_get(root, "base")->mark,
                      "more than %d bases on top of each other", BASES);
    if (catalog_find(CATALOG_PROFILE, name, r->folder, r->arena, &path, r->err) != STATUS_OK)
        return err_place(r->err, node_get(root, "base")->mark);
    return read_file(r, path);
}

static enum status read_file(struct reader *r, const char *path)
{
    static const char *const keys[] = {"device", "models",    "runs",   "calibration",
                                       "base",   "constants", "source", "date",
                                       "range",  "set",       NULL};
    struct node *root;
    const char *device = "", *calibration = NULL;
    TRY(source_read_file(path, r->arena, &root, r->err));
    if (root->kind != NODE_MAPPING)
        return err_at(r->err, root->mark, "a profile is a mapping, not %s",
                      node_kind_name(root->kind));
    TRY(check_keys(r, root, keys));
    r->folder = text_folder(path, r->arena);
    r->origin = (struct origin){0};
    TRY(read_text(r, root, "device", &device));
    TRY(read_text(r, root, "calibration", &calibration));
    TRY(read_origin(r, root, &r->origin));
    if (r->depth == 0) {
        r->profile->device = device;
        TRY(read_models(r, root));
        TRY(read_runs(r, root));
        r->profile->calibrated = calibration != NULL;
        r->profile->calibration = calibration ? calibration : r->origin.set;
    }
    const struct node *rows = node_get(root, "constants");
    if (!rows || rows->kind != NODE_SEQUENCE)
        return err_at(r->err, root->mark, "a profile has a list of constants");
    for (const struct node *row = rows->first; row; row = row->next)
        TRY(read_row(r, row));
    return read_base(r, root);
}

enum status profile_read(const char *path, struct arena *arena, struct profile *profile,
                         struct err *err)
{
    struct profile read = {.file = arena_strdup(arena, path)};
    struct reader r = {.arena = arena, .profile = &read, .err = err};
    char name[PLAN_NAME];
    TRY(read_file(&r, path));
    part_name_of_path(name, path);
    read.name = arena_strdup(arena, name);
    read.constants = r.rows;
    read.n = r.n;
    *profile = read;
    return STATUS_OK;
}

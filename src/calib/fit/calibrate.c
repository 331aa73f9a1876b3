/* Fits and what is left out of them; see calibrate.h. */
#include "calib/fit/calibrate.h"

#include <math.h>
#include <string.h>

#include "base/fit.h"
#include "base/stat.h"
#include "base/text.h"
#include "calib/fit/left_out.h"

enum { MOST_FOLDS = 10, NESTED = 5 };

static const double SCALE = 0.1;  /* of the robust cost: errors above a tenth count less */
static const double ALIKE = 0.95; /* correlation from which two constants are one */

struct fitter {
    const struct curve_table *table;
    const struct curve_family *family;
    struct fit_bound bounds[CURVE_CONSTANTS];
    double *measured; /* [family->n] seconds */
    uint32_t *fold;   /* [family->n] */
    uint32_t *kept;   /* scratch, [family->n] */
    struct arena *arena;
};

static const char *const split_names[SPLIT_COUNT] = {
#define SPLIT_NAME(name, text) [SPLIT_##name] = text,
    CALIBRATE_SPLIT_LIST(SPLIT_NAME)
#undef SPLIT_NAME
};

static const struct curve_value *value_at(const struct fitter *f, size_t i)
{
    return &f->table->values[f->family->values[i]];
}

/* ---- one fit ---- */

static double predict(const void *context, const double *constants, size_t row)
{
    const struct fitter *f = context;
    return f->family->form->seconds(constants, &value_at(f, row)->point);
}

/* Fits the values outside of two folds (UINT32_MAX: of none); false when none is left. */
static bool fit_without_both(struct fitter *f, uint32_t fold, uint32_t other,
                             const double *warm, struct fit_result *result)
{
    struct fit_problem problem = {.n_constants = f->family->form->n_constants,
                                  .bounds = f->bounds,
                                  .predict = predict,
                                  .context = f,
                                  .measured = f->measured,
                                  .rows = f->kept,
                                  .scale = SCALE};
    struct arena scratch = {0};
    for (size_t i = 0; i < f->family->n; i++)
        if (f->fold[i] != fold && f->fold[i] != other)
            f->kept[problem.n_rows++] = (uint32_t)i;
    fit_run(&problem, warm, &scratch, result);
    arena_release(&scratch);
    return problem.n_rows > problem.n_constants / 2;
}

static bool fit_without(struct fitter *f, uint32_t fold, const double *warm,
                        struct fit_result *result)
{
    return fit_without_both(f, fold, UINT32_MAX, warm, result);
}

static void hold(struct fit_bound *bound, double value)
{
    *bound = (struct fit_bound){value, value, value};
}

/* Tiles are no continuous constant: each size is tried on all values, the best is kept; of
 * calls of few tokens the same size and the smallest. */
static void fit_tiles(struct fitter *f, size_t tile, size_t few, struct fit_result *best)
{
    double kept[2] = {0, 0};
    best->cost = HUGE_VAL;
    for (size_t t = 0; t < 2 * CURVE_TILES; t++) {
        struct fit_result result;
        double rows = curve_tiles[t / 2], less = t % 2 ? curve_tiles[0] : rows;
        if (t == 1) /* the smallest again */
            continue;
        hold(&f->bounds[tile], rows);
        hold(&f->bounds[few], less);
        fit_without(f, UINT32_MAX, NULL, &result);
        if (result.cost < best->cost) {
            *best = result;
            kept[0] = rows;
            kept[1] = less;
        }
    }
    hold(&f->bounds[tile], kept[0]);
    hold(&f->bounds[few], kept[1]);
}

static void fit_all(struct fitter *f, struct fit_result *best)
{
    size_t n = f->family->form->n_constants, tile = n, few = n;
    for (size_t i = 0; i < n; i++) {
        const struct curve_constant *c = &f->family->form->constants[i];
        f->bounds[i] = (struct fit_bound){c->start, c->low, c->high};
        tile = c->is == PROFILE_TILE_ROWS ? i : tile;
        few = c->is == PROFILE_FEW_TILE ? i : few;
    }
    if (tile < n && few < n)
        fit_tiles(f, tile, few, best);
    else
        fit_without(f, UINT32_MAX, NULL, best);
}

/* ---- folds ---- */

static uint32_t hash(const char *text)
{
    uint32_t h = 2166136261u; /* FNV-1a */
    for (; *text; text++)
        h = (h ^ (unsigned char)*text) * 16777619u;
    return h ^ h >> 16;
}

static const char *word_of(const struct curve_value *value, enum calibrate_split split)
{
    return split == SPLIT_MODEL ? value->model : value->device;
}

/* Numbers words in order of appearance; returns how many there are. */
static uint32_t fold_by_word(struct fitter *f, enum calibrate_split split)
{
    const char *seen[64];
    uint32_t n = 0;
    for (size_t i = 0; i < f->family->n; i++) {
        const char *word = word_of(value_at(f, i), split);
        uint32_t k = 0;
        while (k < n && !text_equal(seen[k], word))
            k++;
        if (k == n && n < sizeof seen / sizeof *seen)
            seen[n++] = word;
        f->fold[i] = k;
    }
    return n;
}

static uint32_t fold_by_configuration(struct fitter *f)
{
    uint32_t n = 0;
    for (size_t i = 0; i < f->family->n; i++) {
        bool new = i == 0 || value_at(f, i)->configuration != value_at(f, i - 1)->configuration;
        n += new;
        f->fold[i] = (n - 1) % MOST_FOLDS;
    }
    return n < MOST_FOLDS ? n : MOST_FOLDS;
}

/* Sets the folds of a split; returns how many, 0 or 1 when nothing can be left out. */
static uint32_t set_folds(struct fitter *f, enum calibrate_split split)
{
    switch (split) {
    case SPLIT_HALF:
        for (size_t i = 0; i < f->family->n; i++)
            f->fold[i] = hash(value_at(f, i)->row) & 1;
        return 2;
    case SPLIT_CONFIGURATION:
        return fold_by_configuration(f);
    case SPLIT_MODEL:
    case SPLIT_DEVICE:
        return fold_by_word(f, split);
    case SPLIT_NONE:
    case SPLIT_COUNT:
        break;
    }
    return 0;
}

/* ---- a family ---- */

/* Variance of the logarithm of each constant, over fits that each left out one of g groups. */
static void jackknife(const struct fitter *f, const struct fit_result *fits, uint32_t g,
                      struct calibrated_family *out)
{
    for (size_t k = 0; k < f->family->form->n_constants; k++) {
        const struct curve_constant *c = &f->family->form->constants[k];
        struct stat logs = {0};
        for (uint32_t i = 0; i < g; i++)
            stat_add(&logs, log(fits[i].constants[k]));
        double sd = g > 1 ? sqrt((g - 1) * stat_variance(&logs)) : 0;
        out->low[k] = fmax(out->constants[k] * exp(-STAT_NINETY * sd), c->low);
        out->high[k] = fmin(out->constants[k] * exp(STAT_NINETY * sd), c->high);
    }
}

static void predict_fold(struct fitter *f, const struct fit_result *fit, uint32_t fold,
                         double *predicted)
{
    for (size_t i = 0; i < f->family->n; i++)
        if (fold == UINT32_MAX || f->fold[i] == fold)
            predicted[i] = predict(f, fit->constants, i);
}

static double *nothing(size_t n, struct arena *arena)
{
    double *values = arena_alloc(arena, n + 1, sizeof *values);
    for (size_t i = 0; i < n; i++)
        values[i] = (double)NAN;
    return values;
}

static void leave_out(struct fitter *f, enum calibrate_split split,
                      const struct fit_result *all, struct calibrated_family *out)
{
    uint32_t n = set_folds(f, split);
    struct fit_result fits[64];
    bool whole = true;
    out->predicted[split] = nothing(f->family->n, f->arena);
    if (n < 2)
        return;
    for (uint32_t k = 0; k < n; k++) {
        bool enough = fit_without(f, k, all->constants, &fits[k]);
        whole = whole && enough;
        if (enough)
            predict_fold(f, &fits[k], k, out->predicted[split]);
    }
    if (split == SPLIT_CONFIGURATION && whole)
        jackknife(f, fits, n, out);
}

/* ---- how wide, and whether that holds ---- */

static double error_of(const struct fitter *f, double predicted, size_t i)
{
    return fabs(predicted / f->measured[i] - 1);
}

static void predict_pair(struct fitter *f, const struct fit_result *fit, uint32_t fold,
                         double *error)
{
    for (size_t i = 0; i < f->family->n; i++)
        if (f->fold[i] == fold)
            error[i] = error_of(f, predict(f, fit->constants, i), i);
}

/* Of configurations left out; what it holds of some whose fits and widths know nothing of them,
 * a fifth of the configurations at a time. */
static void judge_error(struct fitter *f, const struct fit_result *all,
                        struct calibrated_family *out)
{
    struct left_out_pairs pairs;
    struct fit_result fit;
    uint32_t n = fold_by_configuration(f);
    double *error = arena_alloc(f->arena, f->family->n + 1, sizeof *error);
    const struct left_out_rule rule = {LEFT_OUT_SHARE, 0}; /* values of one err on their own */
    for (size_t i = 0; i < f->family->n; i++) {
        error[i] = error_of(f, out->predicted[SPLIT_CONFIGURATION][i], i);
        f->fold[i] %= NESTED;
    }
    out->error = left_out_width(error, f->fold, f->family->n, UINT32_MAX, rule, f->arena);
    n = n < NESTED ? n : NESTED;
    left_out_open(&pairs, f->fold, f->family->n, n, f->arena);
    for (uint32_t a = 0; a < n; a++)
        for (uint32_t b = a + 1; b < n; b++)
            if (fit_without_both(f, a, b, all->constants, &fit)) {
                predict_pair(f, &fit, a, pairs.error[b]);
                predict_pair(f, &fit, b, pairs.error[a]);
            }
    out->held = left_out_held(&pairs, error, rule, f->arena);
}

static void add_pairs(const struct curve_family *family, const struct fit_result *fit,
                      struct calibration *c, struct arena *arena);

static void calibrate_family(const struct curve_table *table, const struct curve_family *family,
                             struct arena *arena, struct calibration *c,
                             struct calibrated_family *out)
{
    struct fitter f = {.table = table, .family = family, .arena = arena};
    struct fit_result all = {0};
    f.measured = arena_alloc(arena, family->n + 1, sizeof *f.measured);
    f.fold = arena_alloc(arena, family->n + 1, sizeof *f.fold);
    f.kept = arena_alloc(arena, family->n + 1, sizeof *f.kept);
    for (size_t i = 0; i < family->n; i++)
        f.measured[i] = value_at(&f, i)->seconds;
    fit_all(&f, &all);
    out->family = family;
    memcpy(out->constants, all.constants, sizeof out->constants);
    memcpy(out->low, all.constants, sizeof out->low);
    memcpy(out->high, all.constants, sizeof out->high);
    out->predicted[SPLIT_NONE] = nothing(family->n, arena);
    predict_fold(&f, &all, UINT32_MAX, out->predicted[SPLIT_NONE]);
    for (enum calibrate_split s = SPLIT_HALF; s < SPLIT_COUNT; s++)
        leave_out(&f, s, &all, out);
    judge_error(&f, &all, out);
    add_pairs(family, &all, c, arena);
}

/* ---- the report ---- */

static const char *constant_name(const struct curve_family *family, size_t k,
                                 struct arena *arena)
{
    const struct curve_constant *c = &family->form->constants[k];
    struct text text = {.arena = arena};
    enum profile_item of = c->of == PROFILE_COLLECTIVE ? family->of : c->of;
    text_printf(&text, "%s.%s", profile_item_name(of), profile_quantity_name(c->is));
    if (c->level != PROFILE_ANY)
        text_printf(&text, " %s", profile_level_name((enum profile_level)c->level));
    if (c->place > 0)
        text_printf(&text, " at %g ranks", c->place);
    return text_string(&text);
}

static void add_pairs(const struct curve_family *family, const struct fit_result *fit,
                      struct calibration *c, struct arena *arena)
{
    for (size_t a = 0; a < family->form->n_constants; a++)
        for (size_t b = 0; b < a; b++)
            if (fabs(fit->correlation[a][b]) >= ALIKE)
                c->pairs[c->n_pairs++] = (struct calibrated_pair){
                    family->name, constant_name(family, b, arena),
                    constant_name(family, a, arena), fit->correlation[a][b]};
}

static const char *bound_note(const struct curve_constant *c, double value)
{
    if (c->is == PROFILE_TILE_ROWS)
        return "best of 16 to 256";
    if (c->is == PROFILE_FEW_TILE)
        return "16 or tile_rows";
    if (c->is == PROFILE_TILE_CHOICE)
        return "said, not fitted";
    if (value >= c->high * (1 - 1e-6))
        return "at its upper bound";
    return value <= c->low * (1 + 1e-6) ? "at its lower bound: no effect seen" : NULL;
}

static void list_constants(struct calibration *c, struct arena *arena)
{
    for (size_t f = 0; f < c->n_families; f++) {
        const struct calibrated_family *family = &c->families[f];
        for (size_t k = 0; k < family->family->form->n_constants; k++) {
            const struct curve_constant *constant = &family->family->form->constants[k];
            c->constants[c->n_constants++] = (struct calibrated_constant){
                .family = family->family->name,
                .name = constant_name(family->family, k, arena),
                .place = constant->place,
                .value = family->constants[k],
                .low = family->low[k],
                .high = family->high[k],
                .note = bound_note(constant, family->constants[k])};
        }
    }
}

static double *roofline(const struct curve_table *table, const struct curve_family *family,
                        struct arena *arena)
{
    double *seconds = arena_alloc(arena, family->n + 1, sizeof *seconds);
    for (size_t i = 0; i < family->n; i++)
        seconds[i] = family->form->roofline(&table->values[family->values[i]].point);
    return seconds;
}

static const double *predicted_of(const struct calibration *c,
                                  const struct calibrated_family *f, size_t line,
                                  struct arena *arena)
{
    return line < SPLIT_COUNT ? f->predicted[line] : roofline(c->table, f->family, arena);
}

/* Of all values of the families for which it is known. */
static double held_percent(const struct calibrated_family *families, size_t n)
{
    double sum = 0, values = 0;
    for (size_t f = 0; f < n; f++)
        if (!isnan(families[f].held)) {
            sum += families[f].held * (double)families[f].family->n;
            values += (double)families[f].family->n;
        }
    return values > 0 ? 100 * sum / values : (double)NAN;
}

/* The median over all values of half their interval. */
static double width_percent(const struct calibrated_family *families, size_t n,
                            struct arena *arena)
{
    size_t most = 0, at = 0;
    for (size_t f = 0; f < n; f++)
        most += families[f].family->n;
    double *widths = arena_alloc(arena, most + 1, sizeof *widths);
    for (size_t f = 0; f < n; f++)
        for (size_t i = 0; i < families[f].family->n && !isnan(families[f].error); i++)
            widths[at++] = 100 * families[f].error;
    stat_sort(widths, at);
    return at ? stat_percentile(widths, at, 0.5) : (double)NAN;
}

/* One line a split, then the control; lines without values are left out. */
static void score_lines(struct calibration *c, const struct calibrated_family *families,
                        size_t n, const char *name, struct arena *arena)
{
    size_t most = 0, at;
    for (size_t f = 0; f < n; f++)
        most += families[f].family->n;
    double *measured = arena_alloc(arena, most + 1, sizeof *measured);
    double *predicted = arena_alloc(arena, most + 1, sizeof *predicted);
    for (size_t line = 0; line <= SPLIT_COUNT; line++) {
        at = 0;
        for (size_t f = 0; f < n; f++) {
            const double *p = predicted_of(c, &families[f], line, arena);
            for (size_t i = 0; i < families[f].family->n; i++, at++) {
                measured[at] = c->table->values[families[f].family->values[i]].seconds;
                predicted[at] = p[i];
            }
        }
        struct score score = score_of(measured, predicted, at, arena);
        const char *left_out = line < SPLIT_COUNT ? split_names[line] : "control";
        bool widths = line == SPLIT_CONFIGURATION;
        if (score.n)
            c->scores[c->n_scores++] = (struct calibrated_score){
                name, left_out, score, widths ? held_percent(families, n) : (double)NAN,
                widths ? width_percent(families, n, arena) : (double)NAN};
    }
}

/* The family's values that were measured on a device. */
static struct curve_family restricted(const struct curve_table *table,
                                      const struct curve_family *family, const char *device,
                                      struct arena *arena)
{
    struct curve_family out = *family;
    uint32_t *values = arena_alloc(arena, family->n + 1, sizeof *values);
    out.n = 0;
    for (size_t i = 0; i < family->n; i++)
        if (!device || text_equal(table->values[family->values[i]].device, device))
            values[out.n++] = family->values[i];
    out.values = values;
    return out;
}

/* A profile by its name, or else all whose names start with "stack-". */
static bool is_chosen(const struct curve_table *table, const char *profile, const char *wanted)
{
    bool whole = false;
    for (size_t f = 0; wanted && f < table->n_families; f++)
        whole = whole || text_equal(table->families[f].profile, wanted);
    if (!wanted || text_equal(profile, wanted))
        return true;
    return !whole && text_starts(profile, wanted) && profile[strlen(wanted)] == '-';
}

static enum status nothing_chosen(const struct curve_table *table, const char *profile,
                                  const char *device, struct arena *arena, struct err *err)
{
    struct text known = {.arena = arena};
    for (size_t f = 0; f < table->n_families; f++)
        if (!f || !text_equal(table->families[f].profile, table->families[f - 1].profile))
            text_printf(&known, "%s%s", f ? ", " : "", table->families[f].profile);
    err_set(err, STATUS_INPUT, "table '%s' has no values of %s%s%s%s%s", table->name,
            profile ? "profile '" : "any profile", profile ? profile : "", profile ? "'" : "",
            device ? " on device " : "", device ? device : "");
    return err_hint(err, "its profiles: %s", text_string(&known));
}

enum status calibrate_curves(const struct curve_table *table, const char *profile,
                             const char *device, struct arena *arena, struct calibration *c,
                             struct err *err)
{
    size_t n = table->n_families, lines = (n + 1) * (SPLIT_COUNT + 1);
    struct curve_family *families = arena_alloc(arena, n + 1, sizeof *families);
    *c = (struct calibration){.table = table};
    c->families = arena_alloc(arena, n + 1, sizeof *c->families);
    c->constants = arena_alloc(arena, n * CURVE_CONSTANTS + 1, sizeof *c->constants);
    c->pairs = arena_alloc(arena, n * CURVE_CONSTANTS * CURVE_CONSTANTS + 1, sizeof *c->pairs);
    c->scores = arena_alloc(arena, lines, sizeof *c->scores);
    for (size_t f = 0; f < n; f++) {
        struct curve_family *family = &families[c->n_families];
        if (!is_chosen(table, table->families[f].profile, profile))
            continue;
        *family = restricted(table, &table->families[f], device, arena);
        if (family->n)
            calibrate_family(table, family, arena, c, &c->families[c->n_families++]);
    }
    if (c->n_families == 0)
        return nothing_chosen(table, profile, device, arena, err);
    list_constants(c, arena);
    for (size_t f = 0; f < c->n_families; f++)
        score_lines(c, &c->families[f], 1, c->families[f].family->name, arena);
    if (c->n_families > 1)
        score_lines(c, c->families, c->n_families, "all", arena);
    return STATUS_OK;
}

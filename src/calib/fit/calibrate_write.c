/* A calibration as a profile; see calibrate.h. */
#include <inttypes.h>
#include <math.h>

#include "base/text.h"
#include "calib/fit/calibrate.h"
#include "plan/schema/schema.h"

/* The families of one profile, and what their values have in common. */
struct selection {
    const struct calibration *c;
    const char *profile;
    struct text devices;
    uint64_t n_values;
};

static bool is_of(const struct calibrated_family *f, const char *profile)
{
    return text_equal(f->family->profile, profile);
}

static void select_values(struct selection *s)
{
    for (size_t f = 0; f < s->c->n_families; f++) {
        const struct curve_family *family = s->c->families[f].family;
        if (!is_of(&s->c->families[f], s->profile))
            continue;
        s->n_values += family->n;
        for (size_t i = 0; i < family->n; i++)
            text_list_add(&s->devices, s->c->table->values[family->values[i]].device);
    }
}

static bool is_time(enum profile_quantity is)
{
    return is == PROFILE_OVERHEAD || is == PROFILE_HOP || is == PROFILE_LARGE;
}

/* Seconds as microseconds; five digits, which rounding keeps in order. */
static void write_value(FILE *out, enum profile_quantity is, double value)
{
    char digits[32];
    snprintf(digits, sizeof digits, "%.5g", is_time(is) ? value * 1e6 : value);
    fprintf(out, "%s%s", digits, is_time(is) ? " us" : "");
}

static void write_place(FILE *out, const struct curve_family *family, enum profile_item of,
                        enum profile_quantity is, int level)
{
    fprintf(out, "- {of: %s, is: %s", profile_item_name(of), profile_quantity_name(is));
    if (family->path != PROFILE_ANY)
        fprintf(out, ", path: %s", words_path[family->path]);
    if (family->compute != PROFILE_ANY)
        fprintf(out, ", dtype: %s", words_compute[family->compute]);
    if (level != PROFILE_ANY)
        fprintf(out, ", level: %s", profile_level_name((enum profile_level)level));
}

static void sizes_of(const struct calibration *c, const struct curve_family *family,
                     double *least, double *most)
{
    *least = HUGE_VAL;
    *most = 0;
    for (size_t i = 0; i < family->n; i++) {
        *least = fmin(*least, c->table->values[family->values[i]].size);
        *most = fmax(*most, c->table->values[family->values[i]].size);
    }
}

/* The sizes of experts' calls and collectives stand at their overhead. */
static void write_within(FILE *out, const struct calibration *c, const struct curve_family *f,
                         enum profile_quantity is)
{
    double least, most;
    if (is != PROFILE_OVERHEAD ||
        (f->form != &curve_experts && f->form != &curve_collective && f->form != &curve_peers))
        return;
    sizes_of(c, f, &least, &most);
    fprintf(out, ", within: [%.0f, %.0f]", least, most);
}

/* Places of one curve follow each other; its interval is the widest of its points, as factors.
 */
static size_t write_curve(FILE *out, const struct calibrated_family *f, size_t first)
{
    const struct curve_form *form = f->family->form;
    const struct curve_constant *c = &form->constants[first];
    double low = 1, high = 1;
    size_t k = first;
    fputs(", by: ranks, points: [", out);
    for (; k < form->n_constants && form->constants[k].place > 0 &&
           form->constants[k].is == c->is && form->constants[k].level == c->level;
         k++) {
        fprintf(out, "%s[%g, ", k > first ? ", " : "", form->constants[k].place);
        write_value(out, c->is, f->constants[k]);
        fputc(']', out);
        low = fmin(low, f->low[k] / f->constants[k]);
        high = fmax(high, f->high[k] / f->constants[k]);
    }
    fprintf(out, "], interval: [%.4g, %.4g]}\n", low, high);
    return k;
}

static size_t write_constant(FILE *out, const struct selection *s,
                             const struct calibrated_family *f, size_t k)
{
    const struct curve_constant *c = &f->family->form->constants[k];
    enum profile_item of = c->of == PROFILE_COLLECTIVE ? f->family->of : c->of;
    write_place(out, f->family, of, c->is, c->level);
    if (c->place > 0)
        return write_curve(out, f, k);
    fputs(", value: ", out);
    write_value(out, c->is, f->constants[k]);
    fputs(", interval: [", out);
    write_value(out, c->is, f->low[k]);
    fputs(", ", out);
    write_value(out, c->is, f->high[k]);
    fputc(']', out);
    write_within(out, s->c, f->family, c->is);
    fputs("}\n", out);
    return k + 1;
}

static void write_range(FILE *out, const struct selection *s, const struct curve_family *family)
{
    double least, most;
    sizes_of(s->c, family, &least, &most);
    fprintf(out, "# %s: %zu values, %.0f to %.0f %s; %s\n", family->name, family->n, least,
            most, family->form->size, family->form->what);
}

/* Error of the values whose configuration was left out, as everywhere in a profile. */
static void write_error(FILE *out, const struct calibrated_family *f)
{
    if (isnan(f->error))
        return;
    const struct curve_constant *first = &f->family->form->constants[0];
    enum profile_item of = first->of == PROFILE_COLLECTIVE ? f->family->of : first->of;
    write_place(out, f->family, of, PROFILE_ERROR, PROFILE_ANY);
    fprintf(out, ", value: %.3g, interval: [%.3g, %.3g]}\n", f->error, f->error, f->error);
}

void calibrate_write(FILE *out, const struct calibration *calibration, const char *profile,
                     const char *base, const char *date, struct arena *arena)
{
    struct selection s = {.c = calibration, .profile = profile, .devices = {.arena = arena}};
    select_values(&s);
    fprintf(out, "# %s on %s, fitted to the table %s\n#\n", profile, text_string(&s.devices),
            calibration->table->name);
    fputs(
        "# Written by `moeplan calibrate`: robust fits within physical bounds; intervals are\n"
        "# the jackknife's over configurations, nominal 90 %; an error is what nine of ten\n"
        "# values stayed within whose configuration was left out.\n",
        out);
    fprintf(out, "device: %s\n", text_string(&s.devices));
    fprintf(out, "calibration: \"%s: %" PRIu64 " values\"\n", calibration->table->name,
            s.n_values);
    fprintf(out, "base: %s\n", base); /* what was not measured here */
    fprintf(out, "source: models/published/%s.csv, fitted by moeplan calibrate\ndate: %s\n",
            calibration->table->name, date);
    fprintf(out, "range: as said above each family\nset: %s\nconstants:\n",
            calibration->table->name);
    for (size_t i = 0; i < calibration->n_families; i++) {
        const struct calibrated_family *f = &calibration->families[i];
        if (!is_of(f, profile))
            continue;
        write_range(out, &s, f->family);
        for (size_t k = 0; k < f->family->form->n_constants;)
            k = write_constant(out, &s, f, k);
        write_error(out, f);
    }
}

/* See torch_trace.h. */
#include "calib/validate/torch_trace.h"

#include <ctype.h>
#include <fnmatch.h>
#include <math.h>
#include <string.h>

#include "base/json_read.h"

enum { NAME_BYTES = 512, OTHERS = 4096 };

/* One event, as far as it matters. */
struct event {
    char name[NAME_BYTES]; /* lower case, cut */
    bool kernel, step;
    double begin_us, duration_us;
};

struct other {
    const char *name;
    double seconds;
};

struct pattern {
    const char *name; /* with * and ? */
    size_t item;
};

struct reader {
    struct json_read json;
    struct pattern *patterns;
    size_t n_patterns;
    struct arena *arena;
    struct torch_trace *out;
    double seconds[PROFILE_ITEMS + 1];
    uint64_t kernels[PROFILE_ITEMS + 1];
    struct other others[OTHERS]; /* not placed, by name */
    size_t n_others;
    uint64_t marks;
    double first_us, last_us;
};

/* ---- names ---- */

/* The table is the data folder's, which may be the user's own: a family must be one. */
static enum status read_patterns(struct reader *r, const struct csv *csv, struct err *err)
{
    r->patterns = arena_alloc(r->arena, csv->n_rows + 1, sizeof *r->patterns);
    r->n_patterns = csv->n_rows;
    for (size_t row = 0; row < csv->n_rows; row++) {
        struct pattern *p = &r->patterns[row];
        const char *family = csv_cell(csv, row, "family");
        *p = (struct pattern){csv_cell(csv, row, "pattern"), 0};
        while (p->item < PROFILE_ITEMS &&
               !text_equal(profile_item_name((enum profile_item)p->item), family))
            p->item++;
        if (p->item == PROFILE_ITEMS)
            return err_at(err, (struct mark){csv->file, csv->lines[row], 1},
                          "family: '%s' is none of a profile's", family);
    }
    return STATUS_OK;
}

static size_t item_of(const struct reader *r, const char *name)
{
    for (size_t i = 0; i < r->n_patterns; i++)
        if (fnmatch(r->patterns[i].name, name, FNM_NOESCAPE) == 0)
            return r->patterns[i].item;
    return PROFILE_ITEMS;
}

static void keep_other(struct reader *r, const struct event *event)
{
    size_t i = 0;
    while (i < r->n_others && !text_equal(r->others[i].name, event->name))
        i++;
    if (i == OTHERS)
        return;
    if (i == r->n_others)
        r->others[r->n_others++] = (struct other){arena_strdup(r->arena, event->name), 0};
    r->others[i].seconds += event->duration_us * 1e-6;
}

static void take(struct reader *r, const struct event *event)
{
    r->marks += event->step;
    if (!event->kernel || !(event->duration_us >= 0))
        return;
    size_t item = item_of(r, event->name);
    double end = event->begin_us + event->duration_us;
    r->first_us = r->out->kernels ? fmin(r->first_us, event->begin_us) : event->begin_us;
    r->last_us = r->out->kernels ? fmax(r->last_us, end) : end;
    r->seconds[item] += event->duration_us * 1e-6;
    r->kernels[item]++;
    r->out->kernels++;
    if (item == PROFILE_ITEMS)
        keep_other(r, event);
}

/* ---- events ---- */

static void copy_name(const struct json_read *j, char name[NAME_BYTES])
{
    size_t n = j->length < NAME_BYTES - 1 ? j->length : NAME_BYTES - 1;
    for (size_t i = 0; i < n; i++)
        name[i] = (char)tolower((unsigned char)j->value[i]);
    name[n] = '\0';
}

static enum status read_number(struct json_read *j, double *value, struct err *err)
{
    enum json_token token;
    TRY(json_read_next(j, &token, err));
    if (token != JSON_NUMBER)
        return json_read_fail(j, "ts and dur of an event are numbers, in microseconds", err);
    *value = j->number;
    return STATUS_OK;
}

static enum status read_text(struct json_read *j, bool *is_text, struct err *err)
{
    struct json_read before = *j;
    enum json_token token;
    TRY(json_read_next(j, &token, err));
    *is_text = token == JSON_STRING;
    if (token != JSON_OBJECT && token != JSON_ARRAY)
        return STATUS_OK;
    *j = before;
    return json_read_skip(j, err);
}

static enum status read_member(struct json_read *j, struct event *event, struct err *err)
{
    bool is_text = false;
    if (json_read_is(j, "ts"))
        return read_number(j, &event->begin_us, err);
    if (json_read_is(j, "dur"))
        return read_number(j, &event->duration_us, err);
    if (json_read_is(j, "name")) {
        TRY(read_text(j, &is_text, err));
        if (is_text)
            copy_name(j, event->name);
        return STATUS_OK;
    }
    if (!json_read_is(j, "cat"))
        return json_read_skip(j, err);
    TRY(read_text(j, &is_text, err));
    event->kernel = is_text && (json_read_is(j, "kernel") || json_read_is(j, "gpu_memcpy") ||
                                json_read_is(j, "gpu_memset"));
    event->step = is_text && json_read_is(j, "user_annotation");
    return STATUS_OK;
}

static enum status read_event(struct reader *r, struct err *err)
{
    struct event event = {.duration_us = -1};
    enum json_token token;
    for (;;) {
        TRY(json_read_next(&r->json, &token, err));
        if (token == JSON_CLOSE)
            break;
        TRY(read_member(&r->json, &event, err));
    }
    event.step = event.step && text_starts(event.name, "profilerstep#");
    take(r, &event);
    return STATUS_OK;
}

static enum status read_events(struct reader *r, struct err *err)
{
    struct json_read before;
    enum json_token token;
    for (;;) {
        before = r->json;
        TRY(json_read_next(&r->json, &token, err));
        if (token == JSON_CLOSE)
            return STATUS_OK;
        if (token == JSON_OBJECT) {
            TRY(read_event(r, err));
            continue;
        }
        if (token != JSON_ARRAY)
            continue;
        r->json = before;
        TRY(json_read_skip(&r->json, err));
    }
}

static enum status read_document(struct reader *r, struct err *err)
{
    enum json_token token;
    TRY(json_read_next(&r->json, &token, err));
    if (token == JSON_ARRAY) { /* events alone are a trace, too */
        TRY(read_events(r, err));
        return json_read_next(&r->json, &token, err);
    }
    if (token != JSON_OBJECT)
        return json_read_fail(&r->json, "a trace is an object or a list of events", err);
    for (;;) {
        TRY(json_read_next(&r->json, &token, err));
        if (token == JSON_CLOSE)
            return json_read_next(&r->json, &token, err); /* nothing may follow */
        if (!json_read_is(&r->json, "traceEvents")) {
            TRY(json_read_skip(&r->json, err));
            continue;
        }
        TRY(json_read_next(&r->json, &token, err));
        if (token != JSON_ARRAY)
            return json_read_fail(&r->json, "traceEvents is a list", err);
        TRY(read_events(r, err));
    }
}

/* ---- the whole ---- */

static void keep_longest(struct reader *r)
{
    for (size_t n = 0; n < TORCH_LONGEST && n < r->n_others; n++) {
        size_t best = n;
        for (size_t i = n + 1; i < r->n_others; i++)
            if (r->others[i].seconds > r->others[best].seconds)
                best = i;
        struct other first = r->others[best];
        r->others[best] = r->others[n];
        r->others[n] = first;
        r->out->longest[r->out->n_longest++] = first.name;
    }
}

enum status torch_trace_read(const char *file, const char *text, size_t length,
                             const struct csv *patterns, uint64_t steps, struct arena *arena,
                             struct torch_trace *out, struct err *err)
{
    struct reader *r = arena_alloc(arena, 1, sizeof *r);
    struct torch_trace found = {.steps = steps};
    *r = (struct reader){.arena = arena, .out = &found};
    TRY(read_patterns(r, patterns, err));
    json_read_init(&r->json, file, text, length);
    TRY(read_document(r, err));
    if (!found.kernels) {
        err_at(err, (struct mark){.file = file}, "the trace has no kernels");
        return err_hint(err,
                        "export_chrome_trace of a torch.profiler with ProfilerActivity.CUDA "
                        "writes events with cat \"kernel\"");
    }
    if (!found.steps)
        found.steps = r->marks ? r->marks : 1;
    for (size_t i = 0; i <= PROFILE_ITEMS; i++) {
        double seconds = r->seconds[i] / (double)found.steps;
        found.families[i] = (struct torch_family){
            .name = i < PROFILE_ITEMS ? profile_item_name((enum profile_item)i) : "not placed",
            .kernels = r->kernels[i],
            .measured_s = seconds,
            .error_percent = (double)NAN};
        found.kernels_s += seconds;
    }
    found.not_placed_s = found.families[PROFILE_ITEMS].measured_s;
    found.step_s = (r->last_us - r->first_us) * 1e-6 / (double)found.steps;
    keep_longest(r);
    *out = found;
    return STATUS_OK;
}

void torch_trace_compare(struct torch_trace *trace, const struct plan_spans *spans)
{
    const struct stepper *s = &spans->stepper;
    struct torch_family kept[PROFILE_ITEMS + 1];
    for (size_t i = 0; i < spans->list.n; i++) {
        const struct span *span = &spans->list.items[i];
        if (span->rank || span->number == SIZE_MAX || span->stream == SPAN_HOST)
            continue;
        enum profile_item item = price_item(&s->work.ops[span->number], s->values);
        trace->families[item].predicted_s += span->end_s - span->begin_s;
    }
    size_t n = 0;
    for (size_t i = 0; i <= PROFILE_ITEMS; i++) {
        struct torch_family *family = &trace->families[i];
        if (family->measured_s > 0 && family->predicted_s > 0)
            family->error_percent = 100 * (family->predicted_s / family->measured_s - 1);
        if (family->measured_s > 0 || family->predicted_s > 0)
            kept[n++] = *family;
    }
    memcpy(trace->families, kept, n * sizeof *kept);
    trace->n_families = n;
    trace->predicted_s = spans->step.step_s;
}

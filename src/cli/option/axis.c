/* Axes of a sweep; see axis.h. */
#include "cli/option/axis.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

enum { AXIS_VALUES = 1000000 };

/* A list that grows while one axis is read. */
struct values {
    struct axis_value *items;
    size_t n, capacity;
};

static void values_add(struct values *values, const char *key, const char *text,
                       struct arena *arena)
{
    struct axis_set *set = arena_alloc(arena, 1, sizeof *set);
    *set = (struct axis_set){key, text};
    values->items =
        arena_grow(arena, values->items, values->n, &values->capacity, sizeof *values->items);
    values->items[values->n++] = (struct axis_value){text, 1, set};
}

/* Length of the part up to a separator outside brackets, braces and quotes. */
static size_t part_length(const char *text, char separator)
{
    int depth = 0;
    size_t i = 0;
    for (; text[i]; i++) {
        if (strchr("[{", text[i]))
            depth++;
        else if (strchr("]}", text[i]))
            depth--;
        else if (text[i] == separator && depth <= 0)
            break;
    }
    return i;
}

struct range {
    double from, to, step;
    bool multiply;
};

/* "1..32", "1..64*2", "8..64+8"; false when the text is no range. */
static bool range_read(const char *text, struct range *range)
{
    char *end;
    const char *dots = strstr(text, "..");
    if (!dots)
        return false;
    range->from = strtod(text, &end);
    if (end == text || end > dots + 1)
        return false;
    range->to = strtod(dots + 2, &end);
    if (end == dots + 2)
        return false;
    range->step = 1;
    range->multiply = *end == '*';
    if (*end == '*' || *end == '+') {
        const char *step = end + 1;
        range->step = strtod(step, &end);
        if (end == step)
            return false;
    }
    return *end == '\0';
}

static enum status range_expand(const struct range *range, const char *key, const char *part,
                                struct values *values, struct arena *arena, struct err *err)
{
    bool grows = range->multiply ? range->step > 1 && range->from > 0 : range->step > 0;
    if (range->to < range->from || !grows) {
        err_set(err, STATUS_USAGE, "range \"%s\" of %s has no values", part, key);
        return err_hint(err, "write FROM..TO, FROM..TO+STEP or FROM..TO*FACTOR, upward");
    }
    double count = range->multiply ? log(range->to / range->from) / log(range->step)
                                   : (range->to - range->from) / range->step;
    if (count >= AXIS_VALUES)
        return err_set(err, STATUS_USAGE, "range \"%s\" of %s has more than %d values", part,
                       key, AXIS_VALUES);
    /* by index, so that steps such as 0.1 do not drift */
    double value = range->from;
    for (uint64_t i = 1; value <= range->to * (1 + 1e-12); i++) {
        char text[32];
        text_double(text, value);
        values_add(values, key, arena_strdup(arena, text), arena);
        value = range->multiply ? value * range->step : range->from + (double)i * range->step;
    }
    return STATUS_OK;
}

/* strtod reads "1." of "1..32", so ranges are looked for before numbers. */
static enum status part_add(const char *key, const char *part, struct values *values,
                            struct arena *arena, struct err *err)
{
    struct range range;
    if (range_read(part, &range))
        return range_expand(&range, key, part, values, arena, err);
    if (part[0] == '\0') {
        err_set(err, STATUS_USAGE, "--over %s: empty value in the list", key);
        return err_hint(err, "write --over %s=1..8 or --over %s=a,b,c", key, key);
    }
    values_add(values, key, part, arena);
    return STATUS_OK;
}

enum status axis_parse_over(const char *text, struct arena *arena, struct axis *axis,
                            struct err *err)
{
    const char *equal = strchr(text, '=');
    if (!equal || equal == text) {
        err_set(err, STATUS_USAGE, "--over \"%s\" has no \"key=values\"", text);
        return err_hint(err, "for example --over workload.micro_batch=1..32");
    }
    const char *key = arena_strndup(arena, text, (size_t)(equal - text));
    struct values values = {0};
    for (const char *at = equal + 1;;) {
        size_t length = part_length(at, ',');
        TRY(part_add(key, arena_strndup(arena, at, length), &values, arena, err));
        if (at[length] == '\0')
            break;
        at += length + 1;
    }
    *axis = (struct axis){key, arena_printf(arena, "--over %s", text), values.n, values.items};
    return STATUS_OK;
}

static enum status case_parse(const char *text, struct arena *arena, struct axis_value *value,
                              struct err *err)
{
    const char *colon = strchr(text, ':');
    const char *example = "for example --case cf2:moe.path=capacity,moe.capacity_factor=2";
    if (!colon || colon == text) {
        err_set(err, STATUS_USAGE, "--case \"%s\" has no \"NAME:key=value,...\"", text);
        return err_hint(err, "%s", example);
    }
    size_t capacity = 0;
    *value = (struct axis_value){.label = arena_strndup(arena, text, (size_t)(colon - text))};
    for (const char *at = colon + 1; *at;) {
        size_t length = part_length(at, ',');
        const char *part = arena_strndup(arena, at, length);
        const char *equal = strchr(part, '=');
        if (!equal || equal == part) {
            err_set(err, STATUS_USAGE, "--case %s: \"%s\" is no \"key=value\"", value->label,
                    part);
            return err_hint(err, "%s", example);
        }
        value->sets =
            arena_grow(arena, value->sets, value->n_sets, &capacity, sizeof *value->sets);
        value->sets[value->n_sets++] =
            (struct axis_set){arena_strndup(arena, part, (size_t)(equal - part)), equal + 1};
        at += length + (at[length] == ',');
    }
    return STATUS_OK;
}

enum status axis_parse_cases(const char *const *texts, size_t n, struct arena *arena,
                             struct axis *axis, struct err *err)
{
    *axis = (struct axis){.column = "case", .option = "--case", .n_values = n};
    axis->values = arena_alloc(arena, n, sizeof *axis->values);
    for (size_t i = 0; i < n; i++) {
        TRY(case_parse(texts[i], arena, &axis->values[i], err));
        for (size_t j = 0; j < i; j++)
            if (text_equal(axis->values[j].label, axis->values[i].label))
                return err_set(err, STATUS_USAGE, "--case \"%s\" is given twice",
                               axis->values[i].label);
    }
    return STATUS_OK;
}

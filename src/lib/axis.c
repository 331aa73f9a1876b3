/* Axes of a sweep; see axis.h. */
#include "lib/axis.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/number.h"
#include "base/text.h"

enum { AXIS_VALUES = 1000000 };

/* A list that grows while one axis is read. A sweep may have a million values: their texts and
 * sets lie side by side. */
struct values {
    struct axis_value *items;
    size_t n, capacity;
    struct axis_set *sets; /* room for so many more */
    char *text;
    size_t sets_left, text_left;
};

enum { SETS_ROOM = 64, TEXT_ROOM = 4096 };

/* Room for n values more, before a range. */
static void values_expect(struct values *values, size_t n, struct arena *arena)
{
    struct axis_value *items = arena_alloc(arena, values->n + n, sizeof *items);
    if (values->n)
        memcpy(items, values->items, values->n * sizeof *items);
    values->items = items;
    values->capacity = values->n + n;
}

static const char *values_keep(struct values *values, const char *text, struct arena *arena)
{
    size_t n = strlen(text) + 1;
    if (n > values->text_left) {
        values->text_left = n < TEXT_ROOM ? TEXT_ROOM : n;
        values->text = arena_alloc(arena, values->text_left, 1);
    }
    char *kept = memcpy(values->text, text, n);
    values->text += n;
    values->text_left -= n;
    return kept;
}

static void values_add(struct values *values, const char *key, const char *text,
                       struct arena *arena)
{
    if (!values->sets_left) {
        values->sets = arena_alloc(arena, SETS_ROOM, sizeof *values->sets);
        values->sets_left = SETS_ROOM;
    }
    struct axis_set *set = values->sets++;
    values->sets_left--;
    *set = (struct axis_set){key, values_keep(values, text, arena)};
    if (values->n == values->capacity)
        values->items = arena_grow(arena, values->items, values->n, &values->capacity,
                                   sizeof *values->items);
    values->items[values->n++] = (struct axis_value){set->value, 1, set};
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

/* A range; of whole numbers, which are exact, when its ends and its step are. */
struct range {
    bool whole, multiply;
    uint64_t from, to, step;
    double real_from, real_to, real_step;
};

/* "1..32", "1..64*2", "8..64+8" cut at its dots and its sign; false when the text is no range
 * of numbers. */
static bool range_read(const char *text, struct arena *arena, struct range *range)
{
    const char *dots = strstr(text, "..");
    if (!dots)
        return false;
    const char *from = arena_strndup(arena, text, (size_t)(dots - text)), *step = "1";
    size_t length = strcspn(dots + 2, "*+");
    /* the sign of an exponent, "1e+6", is none of a step */
    if (dots[2 + length] == '+' && length && strchr("eE", dots[1 + length]))
        length += 1 + strcspn(dots + 3 + length, "*+");
    const char *to = arena_strndup(arena, dots + 2, length);
    *range = (struct range){.multiply = dots[2 + length] == '*'};
    if (dots[2 + length] != '\0')
        step = dots + 3 + length;
    range->whole = number_count(from, &range->from) && number_count(to, &range->to) &&
                   number_count(step, &range->step);
    return number_real(from, &range->real_from) && number_real(to, &range->real_to) &&
           number_real(step, &range->real_step);
}

/* The next value of a range of whole numbers; false when it is past the end, or past 2^64. */
static bool range_next(const struct range *range, uint64_t *value)
{
    uint64_t next;
    bool over = range->multiply ? __builtin_mul_overflow(*value, range->step, &next)
                                : __builtin_add_overflow(*value, range->step, &next);
    *value = next;
    return !over && next <= range->to;
}

static void expand_whole(const struct range *range, const char *key, struct values *values,
                         struct arena *arena)
{
    uint64_t value = range->from;
    do {
        char text[24];
        snprintf(text, sizeof text, "%" PRIu64, value);
        values_add(values, key, text, arena);
    } while (range_next(range, &value));
}

/* By index, so that steps such as 0.1 do not drift; the last value may miss the end by a
 * rounding. */
static void expand_real(const struct range *range, const char *key, struct values *values,
                        struct arena *arena)
{
    double value = range->real_from, before = -HUGE_VAL;
    double end = range->real_to + fabs(range->real_to) * 1e-12;
    for (uint64_t i = 1; value <= end && value > before && values->n < AXIS_VALUES; i++) {
        char text[32];
        text_double(text, value);
        values_add(values, key, text, arena);
        before = value;
        value = range->multiply ? value * range->real_step
                                : range->real_from + (double)i * range->real_step;
    }
}

static enum status range_expand(const struct range *range, const char *key, const char *part,
                                struct values *values, struct arena *arena, struct err *err)
{
    double from = range->real_from, to = range->real_to, step = range->real_step;
    bool grows = range->multiply ? step > 1 && from > 0 : step > 0;
    if (to < from || !grows) {
        err_set(err, STATUS_USAGE, "range \"%s\" of %s has no values", part, key);
        return err_hint(err, "write FROM..TO, FROM..TO+STEP or FROM..TO*FACTOR, upward");
    }
    double count = range->multiply ? log(to / from) / log(step) : (to - from) / step;
    if (!(count + (double)values->n < AXIS_VALUES))
        return err_set(err, STATUS_USAGE, "range \"%s\" of %s has more than %d values", part,
                       key, AXIS_VALUES);
    if (!range->whole && !range->multiply && to > from && to + step == to)
        return err_set(err, STATUS_USAGE,
                       "range \"%s\" of %s has steps too small to be told "
                       "apart",
                       part, key);
    values_expect(values, (size_t)count + 1, arena);
    if (range->whole)
        expand_whole(range, key, values, arena);
    else
        expand_real(range, key, values, arena);
    return STATUS_OK;
}

/* An end is a word for no number, or a number with a letter behind it ("4k..64k"): a range that
 * was meant, and that would be one text. */
static bool is_endless(const char *part)
{
    static const char *const words[] = {"inf", "nan", "-inf", "infinity"};
    const char *dots = strstr(part, "..");
    if (dots && isdigit((unsigned char)part[0]))
        return true;
    for (size_t i = 0; dots && i < sizeof words / sizeof *words; i++) {
        size_t length = strlen(words[i]);
        if (strncasecmp(part, words[i], length) == 0 ||
            strncasecmp(dots + 2, words[i], length) == 0)
            return true;
    }
    return false;
}

static enum status part_add(const char *key, const char *part, struct values *values,
                            struct arena *arena, struct err *err)
{
    struct range range;
    if (range_read(part, arena, &range))
        return range_expand(&range, key, part, values, arena, err);
    if (is_endless(part)) {
        err_set(err, STATUS_USAGE, "range \"%s\" of %s has an end that is no number", part,
                key);
        return err_hint(err, "write FROM..TO, FROM..TO+STEP or FROM..TO*FACTOR, upward, the "
                             "numbers in full, as in 4096..65536*2");
    }
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
        if (values.n > AXIS_VALUES)
            return err_set(err, STATUS_USAGE, "--over %s: more than %d values", key,
                           AXIS_VALUES);
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

/* Printed values and what agrees with them; see claim_value.h. */
#include "calib/claim/claim_value.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

const char *claim_basis_name(enum claim_basis basis)
{
    static const char *const names[CLAIM_BASES] = {"prediction", "fit",     "bound",
                                                   "arithmetic", "look-up", "none"};
    return names[basis];
}

const char *claim_verdict_name(enum claim_verdict verdict)
{
    static const char *const names[] = {"agrees", "differs", "not reproducible"};
    return names[verdict];
}

/* A decimal number with optional sign and thousands commas: its value, and half of its last
 * digit. Returns what follows it, or NULL. */
static const char *read_number(const char *at, double *value, double *half)
{
    char digits[48];
    size_t n = 0;
    bool point = false, any = false;
    *half = 0.5;
    if (*at == '-' || *at == '+')
        digits[n++] = *at++;
    for (; n < sizeof digits - 1; at++) {
        if (isdigit((unsigned char)*at)) {
            digits[n++] = *at;
            any = true;
            *half = point ? *half / 10 : *half;
        } else if (*at == '.' && !point && isdigit((unsigned char)at[1])) {
            digits[n++] = *at;
            point = true;
        } else if (!(*at == ',' && !point && isdigit((unsigned char)at[1]))) {
            break;
        }
    }
    digits[n] = '\0';
    *value = strtod(digits, NULL);
    return any ? at : NULL;
}

/* ~40 means its tens. */
static double rough(const char *text, double half)
{
    const char *end = text + strlen(text);
    if (*text != '~' || strchr(text, '.'))
        return half;
    while (end > text + 2 && end[-1] == '0') {
        half *= 10;
        end--;
    }
    return half;
}

struct claim_printed claim_read(const char *text)
{
    struct claim_printed p = {0};
    double low, high, half, half_high;
    const char *at = read_number(*text == '~' ? text + 1 : text, &low, &half);
    if (!at)
        return p;
    half = rough(text, half);
    p = (struct claim_printed){true, low - half, low + half, low, low};
    if (text_equal(at, "+"))
        p.high = HUGE_VAL;
    else if (*at == '-' && (at = read_number(at + 1, &high, &half_high)) && *at == '\0')
        p = (struct claim_printed){true, low - half, high + half_high, low, high};
    else if (!at || *at != '\0')
        p.number = false;
    return p;
}

double claim_half_digit(const char *text)
{
    double value, half;
    const char *at = read_number(text, &value, &half);
    return at && *at == '\0' ? half : 0;
}

/* Error relative to the nearer end; 0 inside a range. */
static double error_percent(const struct claim_printed *p, double value)
{
    double end = value < p->at_low ? p->at_low : value > p->at_high ? p->at_high : value;
    if (!(p->high < HUGE_VAL))
        end = value < p->at_low ? p->at_low : value;
    return 100 * (value - end) / fabs(end);
}

static enum claim_verdict judge(const struct claim_printed *p, double slack,
                                const struct claim_answer *answer, double value)
{
    bool above = value > p->high + slack, below = value < p->low - slack;
    if (answer->kind == CLAIM_NUMBER)
        return above || below ? CLAIM_DIFFERS : CLAIM_AGREES;
    bool violated = answer->kind == CLAIM_AT_LEAST ? above : below;
    return violated ? CLAIM_DIFFERS : CLAIM_NOT_REPRODUCIBLE;
}

struct claim_comparison claim_compare(const char *published, double unit, double tolerance,
                                      const struct claim_answer *answer)
{
    struct claim_comparison c = {.verdict = CLAIM_NOT_REPRODUCIBLE};
    struct claim_printed p = claim_read(published);
    if (answer->kind == CLAIM_NOTHING)
        return c;
    if (answer->kind == CLAIM_WORDS || !p.number) {
        bool same = answer->kind == CLAIM_WORDS && text_equal(published, answer->text);
        c.verdict = same ? CLAIM_AGREES : CLAIM_DIFFERS;
        return c;
    }
    double value = answer->number / unit;
    double slack = tolerance * fmax(fabs(p.at_low), fabs(p.at_high)) + answer->spread / unit +
                   1e-9 * fabs(value);
    c.verdict = judge(&p, slack, answer, value);
    c.error_percent = error_percent(&p, value);
    c.has_error = isfinite(c.error_percent) && c.verdict != CLAIM_NOT_REPRODUCIBLE;
    return c;
}

const char *claim_print(const struct claim_answer *answer, double unit, struct arena *arena)
{
    static const char *const bounds[] = {
        [CLAIM_NUMBER] = "", [CLAIM_AT_LEAST] = ">= ", [CLAIM_AT_MOST] = "<= "};
    if (answer->kind == CLAIM_NOTHING)
        return "";
    if (answer->kind == CLAIM_WORDS)
        return answer->text;
    double value = answer->number / unit;
    bool whole = fabs(value) < 1e15 && fabs(value - nearbyint(value)) < 1e-9 * fabs(value);
    if (fabs(value) > 0 && !whole)
        return arena_printf(arena, "%s%.6g", bounds[answer->kind], value);
    return arena_printf(arena, "%s%.0f", bounds[answer->kind], value);
}

/* Quantities with units; see unit.h.
 *
 * A unit is a power of ten times a power of two, so a text is read exactly: the power of ten
 * goes into the exponent that strtod sees ("3.35 TB/s" is 3.35e12), the power of two (and the
 * 8 of bits) is exact in binary. */
#include "base/unit.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

enum usage {
    READ_ONLY, /* accepted, never printed */
    EXACT,     /* printed where exact */
    PEOPLE     /* printed in both ways */
};

/* Within a unit those for people go from small to large. */
static const struct symbol {
    enum unit unit;
    const char *text;
    int ten, two; /* exponents */
    enum usage usage;
} symbols[] = {
    {UNIT_BYTES, "B", 0, 0, PEOPLE},
    {UNIT_BYTES, "KiB", 0, 10, PEOPLE},
    {UNIT_BYTES, "MiB", 0, 20, PEOPLE},
    {UNIT_BYTES, "GiB", 0, 30, PEOPLE},
    {UNIT_BYTES, "TiB", 0, 40, PEOPLE},
    {UNIT_BYTES, "PiB", 0, 50, PEOPLE},
    {UNIT_BYTES, "kB", 3, 0, EXACT},
    {UNIT_BYTES, "KB", 3, 0, READ_ONLY},
    {UNIT_BYTES, "MB", 6, 0, EXACT},
    {UNIT_BYTES, "GB", 9, 0, EXACT},
    {UNIT_BYTES, "TB", 12, 0, EXACT},
    {UNIT_BYTES, "PB", 15, 0, EXACT},
    {UNIT_BYTES_PER_S, "B/s", 0, 0, PEOPLE},
    {UNIT_BYTES_PER_S, "kB/s", 3, 0, PEOPLE},
    {UNIT_BYTES_PER_S, "KB/s", 3, 0, READ_ONLY},
    {UNIT_BYTES_PER_S, "MB/s", 6, 0, PEOPLE},
    {UNIT_BYTES_PER_S, "GB/s", 9, 0, PEOPLE},
    {UNIT_BYTES_PER_S, "TB/s", 12, 0, PEOPLE},
    {UNIT_BYTES_PER_S, "PB/s", 15, 0, PEOPLE},
    {UNIT_BYTES_PER_S, "MiB/s", 0, 20, READ_ONLY},
    {UNIT_BYTES_PER_S, "GiB/s", 0, 30, READ_ONLY},
    {UNIT_BYTES_PER_S, "TiB/s", 0, 40, READ_ONLY},
    {UNIT_BYTES_PER_S, "Mbit/s", 6, -3, READ_ONLY},
    {UNIT_BYTES_PER_S, "Gbit/s", 9, -3, READ_ONLY},
    {UNIT_BYTES_PER_S, "Tbit/s", 12, -3, READ_ONLY},
    {UNIT_BYTES_PER_S, "Mb/s", 6, -3, READ_ONLY},
    {UNIT_BYTES_PER_S, "Gb/s", 9, -3, READ_ONLY},
    {UNIT_BYTES_PER_S, "Tb/s", 12, -3, READ_ONLY},
    {UNIT_FLOP_PER_S, "FLOP/s", 0, 0, PEOPLE},
    {UNIT_FLOP_PER_S, "kFLOP/s", 3, 0, PEOPLE},
    {UNIT_FLOP_PER_S, "MFLOP/s", 6, 0, PEOPLE},
    {UNIT_FLOP_PER_S, "GFLOP/s", 9, 0, PEOPLE},
    {UNIT_FLOP_PER_S, "TFLOP/s", 12, 0, PEOPLE},
    {UNIT_FLOP_PER_S, "PFLOP/s", 15, 0, PEOPLE},
    {UNIT_FLOP_PER_S, "EFLOP/s", 18, 0, PEOPLE},
    {UNIT_FLOP_PER_S, "GFLOPS", 9, 0, READ_ONLY},
    {UNIT_FLOP_PER_S, "TFLOPS", 12, 0, READ_ONLY},
    {UNIT_FLOP_PER_S, "PFLOPS", 15, 0, READ_ONLY},
    {UNIT_SECONDS, "ns", -9, 0, PEOPLE},
    {UNIT_SECONDS, "us", -6, 0, PEOPLE},
    {UNIT_SECONDS, "\xc2\xb5s", -6, 0, READ_ONLY}, /* micro sign */
    {UNIT_SECONDS, "\xce\xbcs", -6, 0, READ_ONLY}, /* Greek mu */
    {UNIT_SECONDS, "ms", -3, 0, PEOPLE},
    {UNIT_SECONDS, "s", 0, 0, PEOPLE},
    {UNIT_HERTZ, "Hz", 0, 0, PEOPLE},
    {UNIT_HERTZ, "kHz", 3, 0, PEOPLE},
    {UNIT_HERTZ, "MHz", 6, 0, PEOPLE},
    {UNIT_HERTZ, "GHz", 9, 0, PEOPLE},
};

enum { N_SYMBOLS = sizeof symbols / sizeof *symbols, MANTISSA_MAX = 64 };

static const struct symbol *symbol_find(enum unit unit, const char *text)
{
    for (size_t i = 0; i < N_SYMBOLS; i++) {
        if (symbols[i].unit == unit && text_equal(symbols[i].text, text))
            return &symbols[i];
    }
    return NULL;
}

static const char *skip_digits(const char *text)
{
    while (isdigit((unsigned char)*text))
        text++;
    return text;
}

/* End of "-12.5" at the start of text, or NULL when there is no digit. */
static const char *mantissa_end(const char *text)
{
    const char *start = text + (*text == '-');
    const char *end = skip_digits(start);
    size_t digits = (size_t)(end - start);
    if (*end == '.') {
        const char *fraction = end + 1;
        end = skip_digits(fraction);
        digits += (size_t)(end - fraction);
    }
    return digits > 0 ? end : NULL;
}

/* Reads "e-6" if there is one; text moves behind it. */
static int read_exponent(const char **text)
{
    const char *at = *text;
    if (*at != 'e' && *at != 'E')
        return 0;
    const char *digits = at + 1 + (at[1] == '-' || at[1] == '+');
    if (!isdigit((unsigned char)*digits))
        return 0;
    *text = skip_digits(digits);
    long value = strtol(at + 1, NULL, 10);
    return value > 9999 ? 9999 : value < -9999 ? -9999 : (int)value;
}

bool unit_parse(enum unit unit, const char *text, double *value)
{
    const char *end = mantissa_end(text);
    if (!end || end - text >= MANTISSA_MAX)
        return false;
    char number[MANTISSA_MAX + 16];
    size_t length = (size_t)(end - text);
    memcpy(number, text, length);
    int ten = read_exponent(&end), two = 0;
    if (*end != '\0') {
        const struct symbol *symbol = symbol_find(unit, end + strspn(end, " "));
        if (!symbol)
            return false;
        ten += symbol->ten;
        two = symbol->two;
    }
    snprintf(number + length, sizeof number - length, "e%d", ten);
    double read = ldexp(strtod(number, NULL), two);
    if (!isfinite(read))
        return false;
    *value = read;
    return true;
}

const char *unit_names(enum unit unit)
{
    static const char *const names[] = {
        [UNIT_NONE] = "a plain number",
        [UNIT_BYTES] = "B, KiB, MiB, GiB, TiB, kB, MB, GB, TB",
        [UNIT_BYTES_PER_S] = "B/s, MB/s, GB/s, TB/s, GiB/s, Gbit/s",
        [UNIT_FLOP_PER_S] = "FLOP/s, GFLOP/s, TFLOP/s, PFLOP/s",
        [UNIT_SECONDS] = "s, ms, us, ns",
        [UNIT_HERTZ] = "Hz, kHz, MHz, GHz",
    };
    return names[unit];
}

/* value in a unit; may be off by one rounding, which the caller checks by reading it back */
static double in_symbol(const struct symbol *symbol, double value)
{
    double scaled = ldexp(value, -symbol->two);
    double ten = pow(10, abs(symbol->ten));
    return symbol->ten < 0 ? scaled * ten : scaled / ten;
}

void unit_print_exact(char buffer[48], enum unit unit, double value)
{
    char number[32];
    text_double(number, value);
    const char *base = unit == UNIT_NONE ? "" : "B";
    for (size_t i = 0; i < N_SYMBOLS; i++) {
        if (symbols[i].unit == unit && symbols[i].ten == 0 && symbols[i].two == 0)
            base = symbols[i].text;
    }
    snprintf(buffer, 48, unit == UNIT_NONE ? "%s%s" : "%s %s", number, base);
    for (size_t i = 0; i < N_SYMBOLS && value != 0; i++) {
        const struct symbol *symbol = &symbols[i];
        if (symbol->unit != unit || symbol->usage == READ_ONLY)
            continue;
        char text[48];
        double back;
        text_double(number, in_symbol(symbol, value));
        snprintf(text, sizeof text, "%s %s", number, symbol->text);
        if (strlen(text) <= strlen(buffer) && unit_parse(unit, text, &back) && back == value)
            memcpy(buffer, text, sizeof text);
    }
}

/* Decimals that leave `digits` significant ones in a number of at least 1. */
static int decimals(double value, int digits)
{
    double limit = 10;
    while (digits > 1 && value >= limit) {
        limit *= 10;
        digits--;
    }
    return digits - 1;
}

void unit_print(char buffer[48], enum unit unit, double value)
{
    int digits = unit == UNIT_BYTES ? 4 : 3;
    double base = unit == UNIT_BYTES ? 1024 : 1000, size = fabs(value);
    const char *sign = value < 0 ? "-" : "", *name = "";
    char number[32];
    snprintf(number, sizeof number, "%.*g", digits, size);
    for (size_t i = 0; i < N_SYMBOLS; i++) {
        if (symbols[i].unit != unit || symbols[i].usage != PEOPLE)
            continue;
        double scaled = in_symbol(&symbols[i], size);
        bool whole = size == 0 || (unit == UNIT_BYTES && symbols[i].two == 0);
        snprintf(number, sizeof number, "%.*f", whole ? 0 : decimals(scaled, digits), scaled);
        name = symbols[i].text;
        if (size == 0 ? symbols[i].ten == 0 : strtod(number, NULL) < base)
            break;
    }
    snprintf(buffer, 48, "%s%s%s%s", sign, number, *name ? " " : "", name);
}

void unit_print_count(char buffer[32], uint64_t value)
{
    char digits[24];
    int length = snprintf(digits, sizeof digits, "%" PRIu64, value);
    char *out = buffer;
    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0)
            *out++ = ',';
        *out++ = digits[i];
    }
    *out = '\0';
}

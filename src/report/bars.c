/* Bars in a terminal; see bars.h. */
#include "report/bars.h"

enum { NAME_WIDTH = 22, AMOUNT_WIDTH = 10, PERCENT_WIDTH = 8, BAR_MAX = 50 };

static const double TINY = 0.0005; /* prints as 0.0 % */

static size_t smallest(const struct bar *bars, size_t n)
{
    size_t found = 0;
    for (size_t i = 1; i < n; i++)
        if (bars[i].bytes < bars[found].bytes)
            found = i;
    return found;
}

static size_t count_tiny(const struct bar *bars, size_t n, uint64_t total)
{
    size_t tiny = 0;
    for (size_t i = 0; i < n; i++)
        tiny += (double)bars[i].bytes < TINY * (double)total;
    return tiny;
}

/* Moves the smallest parts to `other` until `kept` are left; their order stays. */
static size_t merge_smallest(struct bar *bars, size_t n, size_t kept, uint64_t *other)
{
    while (n > kept) {
        size_t gone = smallest(bars, n);
        *other += bars[gone].bytes;
        for (size_t i = gone; i + 1 < n; i++)
            bars[i] = bars[i + 1];
        n--;
    }
    return n;
}

static void print_row(FILE *out, const struct term *term, const struct bar *bar,
                      struct scale scale, uint64_t total, uint64_t largest, struct arena *arena)
{
    char amount[32], percent[32];
    unsigned width = term->width - 2 - NAME_WIDTH - AMOUNT_WIDTH - PERCENT_WIDTH - 2;
    struct text drawn = {.arena = arena};
    scale_print(amount, scale, bar->bytes);
    percent_print(percent, bar->bytes, total);
    term_bar(term, &drawn, largest ? (double)bar->bytes / (double)largest : 0,
             width < BAR_MAX ? width : BAR_MAX);
    while (drawn.length && drawn.data[drawn.length - 1] == ' ')
        drawn.data[--drawn.length] = '\0';
    fprintf(out, "  %-*s%*s%*s%s%s%s%s\n", NAME_WIDTH, bar->name, AMOUNT_WIDTH, amount,
            PERCENT_WIDTH, percent, drawn.length ? "  " : "", term_style(term, STYLE_BAR),
            text_string(&drawn), term_plain(term));
}

void bars_print(FILE *out, const struct term *term, const char *heading, const struct bar *bars,
                size_t n, struct scale scale, struct arena *arena)
{
    struct bar *rows = arena_alloc(arena, n + 1, sizeof *rows);
    uint64_t total = 0, largest = 0, other = 0;
    for (size_t i = 0; i < n; i++) {
        rows[i] = bars[i];
        total += bars[i].bytes;
    }
    size_t tiny = count_tiny(rows, n, total);
    size_t shown = tiny > 1 ? n - tiny : n;
    if (shown > BARS_MAX || (shown == BARS_MAX && shown < n))
        shown = BARS_MAX - 1;
    size_t kept = merge_smallest(rows, n, shown, &other);
    if (other)
        rows[kept++] = (struct bar){"other", other};
    for (size_t i = 0; i < kept; i++)
        largest = rows[i].bytes > largest ? rows[i].bytes : largest;
    fprintf(out, "%s%-*s%s%s%*s%*s%s\n", term_style(term, STYLE_BOLD), NAME_WIDTH + 2, heading,
            term_plain(term), term_style(term, STYLE_DIM), AMOUNT_WIDTH, scale.unit,
            PERCENT_WIDTH, "%", term_plain(term));
    for (size_t i = 0; i < kept; i++)
        print_row(out, term, &rows[i], scale, total, largest, arena);
}

/* Fixes, as records and as people read them; see fixes.h. */
#include "report/fixes.h"

#include <string.h>

static const char *fix_kind_of(const void *record)
{
    return fix_kind_name(((const struct fix *)record)->kind);
}

static const char *fix_verdict(const void *record)
{
    return verdict_name(((const struct fix *)record)->verdict);
}

const struct column *fix_columns(size_t *n)
{
    static const struct column columns[] = {
        COLUMN(fix, set, COLUMN_TEXT, NULL),
        COLUMN_SAID(NULL, "kind", fix_kind_of),
        COLUMN(fix, total_bytes, COLUMN_BYTES, NULL),
        COLUMN_SAID(NULL, "verdict", fix_verdict),
        COLUMN(fix, tokens_per_s_per_device, COLUMN_REAL, NULL),
        COLUMN(fix, drop_fraction, COLUMN_REAL, NULL),
        COLUMN(fix, note, COLUMN_TEXT, NULL),
    };
    *n = COUNT_OF(columns);
    return columns;
}

const char *fix_options(const struct fix *fix, struct arena *arena)
{
    struct text options = {.arena = arena};
    for (const char *at = fix->set; *at;) {
        size_t length = strcspn(at, " ");
        text_append(&options, options.length ? " --set " : "--set ");
        text_append_n(&options, at, length);
        at += length + strspn(at + length, " ");
    }
    return text_string(&options);
}

/* ---- for people ---- */

enum { KIND_WIDTH = 18, AMOUNT_WIDTH = 8, VERDICT_WIDTH = 10 };
enum { AMOUNT_END = 2 + KIND_WIDTH + AMOUNT_WIDTH, SETTINGS = AMOUNT_END + 2 + VERDICT_WIDTH };
enum { OPTION = sizeof "--set " - 1 };

/* A list that no line holds: quoted, and broken behind its commas, where --set takes it so. The
 * column behind it. */
static size_t print_list(FILE *out, const char *set, size_t length, size_t width)
{
    enum { INDENT = SETTINGS + OPTION + 1 };
    size_t column = INDENT;
    fputs("--set '", out);
    for (const char *at = set, *end = set + length; at < end;) {
        size_t left = (size_t)(end - at), item = strcspn(at, ",") + 1;
        item = item < left ? item : left;
        if (at > set && column + item + (item == left) > width) {
            fprintf(out, "\n%*s", INDENT, "");
            column = INDENT;
        }
        column += (size_t)fprintf(out, "%.*s", (int)item, at);
        at += item;
    }
    fputc('\'', out);
    return column + 1;
}

/* The settings of a fix from the present column on, none of them but a list broken by a line's
 * end. The column behind them. */
static size_t print_settings(FILE *out, const char *set, size_t width)
{
    size_t column = SETTINGS;
    for (const char *at = set; *at;) {
        size_t length = strcspn(at, " ");
        if (at > set && column + 1 + OPTION + length > width) {
            fprintf(out, "\n%*s", SETTINGS, "");
            column = SETTINGS;
        } else if (at > set) {
            column += (size_t)fprintf(out, " ");
        }
        if (SETTINGS + OPTION + length > width)
            column = print_list(out, at, length, width);
        else
            column += (size_t)fprintf(out, "--set %.*s", (int)length, at);
        at += length + strspn(at + length, " ");
    }
    return column;
}

static void print_drops(FILE *out, double fraction, size_t column, size_t width)
{
    char text[32] = "drops ~0 %";
    if (fraction <= 0)
        return;
    if (fraction >= 0.001)
        snprintf(text, sizeof text, "drops %.2g %%", 100 * fraction);
    if (column + 2 + strlen(text) > width)
        fprintf(out, "\n%*s%s", SETTINGS, "", text);
    else
        fprintf(out, "  %s", text);
}

static void print_fix(const struct fixes_page *page, const struct fix *fix, bool titled)
{
    FILE *out = page->out;
    char amount[32];
    scale_print(amount, page->scale, fix->total_bytes);
    fprintf(out, "  %-*s%*s  %-*s", KIND_WIDTH, titled ? fix_kind_title(fix->kind) : "",
            AMOUNT_WIDTH, amount, VERDICT_WIDTH, verdict_name(fix->verdict));
    size_t width = page->term->width;
    print_drops(out, fix->drop_fraction, print_settings(out, fix->set, width), width);
    fputc('\n', out);
}

/* How much room a fix takes: 0 where all its settings fit into a line, 1 where each does. */
static unsigned room_of(const struct fix *fix, size_t width)
{
    size_t all = SETTINGS;
    for (const char *at = fix->set; *at;) {
        size_t length = strcspn(at, " ");
        if (SETTINGS + OPTION + length > width)
            return 2;
        all += (size_t)(at > fix->set) + OPTION + length;
        at += length + strspn(at + length, " ");
    }
    return all > width;
}

/* The first of every kind, of those that take no more room where there are such; then, while
 * there is space, the next ones in their order. */
static size_t choose(const struct fix *fixes, size_t n_fixes, size_t most, size_t width,
                     unsigned room, bool *shown)
{
    size_t n = 0;
    for (size_t i = 0, end; i < n_fixes; i = end, n++) {
        size_t best = i;
        for (end = i; end < n_fixes && fixes[end].kind == fixes[i].kind; end++) {
            unsigned least = room_of(&fixes[best], width);
            if (least > room && room_of(&fixes[end], width) < least)
                best = end;
        }
        shown[best] = true;
    }
    for (size_t i = 0; i < n_fixes && n < most; i++) {
        n += !shown[i];
        shown[i] = true;
    }
    return n;
}

void fixes_print(const struct fixes_page *page, const struct fix *fixes, size_t n_fixes)
{
    if (n_fixes == 0)
        return;
    FILE *out = page->out;
    const struct term *term = page->term;
    bool *shown = arena_alloc(page->arena, n_fixes, sizeof *shown);
    size_t rest = n_fixes - choose(fixes, n_fixes, page->most, term->width, page->room, shown);
    fprintf(out, "%s%-*s%s%s%s", term_style(term, STYLE_BOLD), AMOUNT_END - 3,
            "what makes it fit", term_plain(term), term_style(term, STYLE_DIM),
            page->scale.unit);
    if (rest)
        fprintf(out, "%*s(%zu more in --format json)", SETTINGS - AMOUNT_END, "", rest);
    fprintf(out, "%s\n", term_plain(term));
    const struct fix *last = NULL;
    for (size_t i = 0; i < n_fixes; i++) {
        if (!shown[i])
            continue;
        print_fix(page, &fixes[i], !last || last->kind != fixes[i].kind);
        last = &fixes[i];
    }
}

/* Fixes on the first screen, by what they cost; see screen.h. */
#include "report/predict/print.h"
#include "report/predict/screen.h"

#include <string.h>

enum { FIXES_SHOWN = 5, KIND_WIDTH = 20, SET_WIDTH = 50 };

const char *predict_fix_options(const struct fix *fix, struct arena *arena)
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

static void print_fix(struct screen *screen, const struct fix *fix, bool titled)
{
    struct arena *arena = screen->view->arena;
    fprintf(screen->page.out, "  %-*s%-*s%10s  %s", KIND_WIDTH,
            titled ? fix_kind_title(fix->kind) : "", SET_WIDTH, predict_fix_options(fix, arena),
            screen_amount(screen, fix->total_bytes), verdict_name(fix->verdict));
    if (fix->drop_fraction > 0 && fix->drop_fraction < 0.001)
        fputs(", drops ~0 %", screen->page.out);
    else if (fix->drop_fraction > 0)
        fprintf(screen->page.out, ", drops %.2g %%", 100 * fix->drop_fraction);
    fputc('\n', screen->page.out);
}

/* The first of every kind, then, while there is room, the next ones in their order. */
static size_t choose(const struct memory_report *memory, size_t most, bool *shown)
{
    size_t n = 0;
    for (size_t i = 0; i < memory->n_fixes; i++) {
        shown[i] = i == 0 || memory->fixes[i].kind != memory->fixes[i - 1].kind;
        n += shown[i];
    }
    for (size_t i = 0; i < memory->n_fixes && n < most; i++) {
        n += !shown[i];
        shown[i] = true;
    }
    return n;
}

void screen_fixes(struct screen *screen)
{
    const struct memory_report *memory = screen->memory;
    const struct term *term = screen->view->term;
    if (memory->verdict != VERDICT_OOM)
        return;
    if (memory->n_fixes == 0) {
        page_heading(&screen->page, "no change that was tried makes it fit");
        return;
    }
    bool *shown = arena_alloc(screen->view->arena, memory->n_fixes, sizeof *shown);
    size_t most = screen->brief >= BRIEF_FIXES ? 0 : FIXES_SHOWN;
    size_t n = choose(memory, most, shown), rest = memory->n_fixes - n;
    const char *more = rest
                           ? arena_printf(screen->view->arena,
                                          "what makes it fit (%zu more in --format json)", rest)
                           : "what makes it fit";
    fprintf(screen->page.out, "%s%-*s%s%s%10s%s\n", term_style(term, STYLE_BOLD),
            KIND_WIDTH + SET_WIDTH + 2, more, term_plain(term), term_style(term, STYLE_DIM),
            screen->scale.unit, term_plain(term));
    const struct fix *last = NULL;
    for (size_t i = 0; i < memory->n_fixes; i++) {
        if (!shown[i])
            continue;
        print_fix(screen, &memory->fixes[i], !last || last->kind != memory->fixes[i].kind);
        last = &memory->fixes[i];
    }
}

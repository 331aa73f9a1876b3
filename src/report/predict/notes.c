/* Notes grouped by what they say; see notes.h. */
#include "report/predict/notes.h"

#include <string.h>

#include "base/text.h"

enum { REASONS_SHOWN = 2, KEYS_SHOWN = 2, LABEL = 10 };

static bool is_first(const struct note *notes, size_t i)
{
    for (size_t j = 0; j < i; j++)
        if (text_equal(notes[j].text, notes[i].text))
            return false;
    return true;
}

/* "moe.chunk, moe.overlap: not read, moe.path is deepep"; returns how many keys it names. */
static size_t print_reason(const struct prediction *p, size_t first, struct page *page,
                           struct arena *arena)
{
    struct text line = {.arena = arena};
    size_t keys = 0;
    for (size_t i = first; i < p->n_notes; i++)
        if (text_equal(p->notes[i].text, p->notes[first].text))
            text_printf(&line, "%s%s", keys++ ? ", " : "", p->notes[i].key);
    text_printf(&line, ": %s", p->notes[first].text);
    page_item(page, 0, LABEL, first ? "" : "notes", text_string(&line));
    return keys;
}

/* Whether a note before it is on the same key, of which the lengths tell most apart. */
static bool is_named(const struct prediction *p, const size_t *lengths, size_t i)
{
    for (size_t j = 0; j < i; j++)
        if (lengths[j] == lengths[i] && text_equal(p->notes[j].key, p->notes[i].key))
            return true;
    return false;
}

void predict_notes_brief(const struct prediction *p, struct text *line)
{
    size_t keys = 0, *lengths = arena_alloc(line->arena, p->n_notes, sizeof *lengths);
    for (size_t i = 0; i < p->n_notes; i++) {
        lengths[i] = strlen(p->notes[i].key);
        bool shown = !p->notes[i].weighs && !is_named(p, lengths, i) && keys++ < KEYS_SHOWN;
        if (shown)
            text_printf(line, "%s%s", keys > 1 ? ", " : "; notes on ", p->notes[i].key);
    }
    if (keys > KEYS_SHOWN)
        text_printf(line, " and %zu more", keys - KEYS_SHOWN);
    if (keys)
        text_printf(line, ": --format json");
}

void predict_notes_weighty(const struct prediction *p, struct page *page)
{
    size_t n = 0;
    for (size_t i = 0; i < p->n_notes; i++)
        if (p->notes[i].weighs)
            page_item(page, 0, LABEL, n++ ? "" : "notes", p->notes[i].text);
}

void predict_notes_print(const struct prediction *prediction, struct page *page,
                         struct arena *arena)
{
    size_t reasons = 0, named = 0;
    for (size_t i = 0; i < prediction->n_notes && reasons < REASONS_SHOWN; i++) {
        if (!is_first(prediction->notes, i))
            continue;
        named += print_reason(prediction, i, page, arena);
        reasons++;
    }
    if (named < prediction->n_notes)
        page_item(page, 0, LABEL, named ? "" : "notes",
                  arena_printf(arena, "%s%zu more: --format json", named ? "and " : "",
                               prediction->n_notes - named));
}

/* Fixes on the first screen, by what they cost; see screen.h. */
#include "report/fixes.h"
#include "report/predict/screen.h"

enum { FIXES_SHOWN = 5 };

void screen_fixes(struct screen *screen)
{
    const struct memory_report *memory = screen->memory;
    if (!predict_lacks_memory(memory))
        return;
    if (memory->n_fixes == 0) {
        page_heading(&screen->page, "no change that was tried makes it fit");
        return;
    }
    const struct fixes_page page = {
        .out = screen->page.out,
        .term = screen->page.term,
        .scale = screen->scale,
        .arena = screen->view->arena,
        .most = screen->brief >= BRIEF_FIXES ? 0 : FIXES_SHOWN,
        .room = screen->brief < BRIEF_LINES,
    };
    fixes_print(&page, memory->fixes, memory->n_fixes);
}

/* Wrapping and layout of help pages; see page.h. */
#include "report/page.h"

#include <string.h>

void page_heading(struct page *page, const char *title)
{
    fprintf(page->out, "%s%s%s%s\n", page->used ? "\n" : "", term_style(page->term, STYLE_BOLD),
            title, term_plain(page->term));
    page->used = true;
}

/* Prints text from column `at` on, wrapped, later lines indented; ends the line. */
static void wrap(struct page *page, unsigned at, unsigned indent, const char *text,
                 size_t length)
{
    const char *end = text + length;
    bool first = true;
    while (text < end) {
        text += strspn(text, " ");
        size_t word = strcspn(text, " ");
        if (text + word > end)
            word = (size_t)(end - text);
        if (word == 0)
            break;
        if (!first && at + 1 + word > page->term->width) {
            fprintf(page->out, "\n%*s", (int)indent, "");
            at = indent;
            first = true;
        }
        at += (unsigned)fprintf(page->out, "%s%.*s", first ? "" : " ", (int)word, text);
        first = false;
        text += word;
    }
    fputc('\n', page->out);
}

void page_text(struct page *page, unsigned indent, const char *text)
{
    page->used = true;
    while (*text) {
        size_t line = strcspn(text, "\n");
        if (line == 0 || *text == ' ') {
            fprintf(page->out, "%*s%.*s\n", line ? (int)indent : 0, "", (int)line, text);
        } else {
            fprintf(page->out, "%*s", (int)indent, "");
            wrap(page, indent, indent, text, line);
        }
        text += line + (text[line] == '\n');
    }
}

void page_item(struct page *page, unsigned indent, unsigned column, const char *term,
               const char *text)
{
    page->used = true;
    unsigned at = indent + (unsigned)term_columns(term);
    fprintf(page->out, "%*s%s", (int)indent, "", term);
    if (at + 2 > column) {
        fputc('\n', page->out);
        at = 0;
    }
    fprintf(page->out, "%*s", (int)(column - at), "");
    wrap(page, column, column, text, strlen(text));
}

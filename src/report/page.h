/* Pages of help: wrapped paragraphs, headings, and lists of terms with their explanation. */
#ifndef MOEPLAN_REPORT_PAGE_H
#define MOEPLAN_REPORT_PAGE_H

#include <stdio.h>

#include "base/term.h"

struct page {
    FILE *out;
    const struct term *term;
    bool used; /* something was printed: headings leave a blank line before them */
};

void page_heading(struct page *page, const char *title);

/* Paragraphs (separated by blank lines) wrapped to the width; a line that starts with a space
 * is not wrapped. */
void page_text(struct page *page, unsigned indent, const char *text);

/* A term and, from the given column on, its explanation. */
void page_item(struct page *page, unsigned indent, unsigned column, const char *term,
               const char *text);

#endif

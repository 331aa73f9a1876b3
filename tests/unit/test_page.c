/* report/page: wrapping, indentation, lists. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "report/page.h"
#include "support/sink.h"

static const struct term narrow = {.width = 24};

static void paragraphs_wrap_at_the_width(void **state)
{
    (void)state;
    struct sink sink;
    struct page page = {.out = sink_open(&sink), .term = &narrow};
    page_text(&page, 2,
              "one two three four five six seven\n\nnext\n  kept   as it is, however long");
    sink_expect(&sink, "  one two three four\n  five six seven\n\n  next\n"
                       "    kept   as it is, however long\n");
}

static void a_long_word_stands_alone(void **state)
{
    (void)state;
    struct sink sink;
    struct page page = {.out = sink_open(&sink), .term = &narrow};
    page_text(&page, 2, "a incomprehensibilities-and-more b");
    sink_expect(&sink, "  a\n  incomprehensibilities-and-more\n  b\n");
}

static void items_line_up(void **state)
{
    (void)state;
    struct sink sink;
    struct page page = {.out = sink_open(&sink), .term = &narrow};
    page_item(&page, 2, 10, "one", "text that goes on and on");
    page_item(&page, 2, 10, "terribly long", "text");
    page_heading(&page, "title");
    sink_expect(&sink, "  one     text that goes\n          on and on\n"
                       "  terribly long\n          text\n\ntitle\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paragraphs_wrap_at_the_width),
        cmocka_unit_test(a_long_word_stands_alone),
        cmocka_unit_test(items_line_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

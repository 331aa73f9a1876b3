/* Writing to memory; see sink.h. */
#include "support/sink.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

FILE *sink_open(struct sink *sink)
{
    memset(sink, 0, sizeof *sink);
    sink->out = open_memstream(&sink->text, &sink->size);
    assert_non_null(sink->out);
    return sink->out;
}

char *sink_close(struct sink *sink)
{
    fclose(sink->out);
    sink->out = NULL;
    return sink->text;
}

void sink_expect(struct sink *sink, const char *expected)
{
    char *text = sink_close(sink);
    assert_string_equal(text, expected);
    free(text);
}

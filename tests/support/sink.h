/* What a function that writes to a FILE wrote, as a string. */
#ifndef MOEPLAN_TESTS_SUPPORT_SINK_H
#define MOEPLAN_TESTS_SUPPORT_SINK_H

#include <stdio.h>

struct sink {
    FILE *out;
    char *text;
    size_t size;
};

/* Opens it: write to the result. */
FILE *sink_open(struct sink *sink);

/* Closes it; the text is the caller's to free. */
char *sink_close(struct sink *sink);

/* Closes it and asserts what was written. */
void sink_expect(struct sink *sink, const char *expected);

#endif

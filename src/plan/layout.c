/* See layout.h. */
#include "plan/layout.h"

#include <ctype.h>
#include <string.h>

enum { LETTERS = 4096 };

/* The text with repetitions written out. */
struct letters_of {
    char text[LETTERS];
    size_t n;
    bool failed;
};

static const char *read_times(const char *at, size_t *times)
{
    *times = 1;
    if (*at != '*')
        return at;
    at++;
    *times = 0;
    while (isdigit((unsigned char)*at) && *times < LETTERS)
        *times = *times * 10 + (size_t)(*at++ - '0');
    return at;
}

static void add(struct letters_of *out, const char *text, size_t n, size_t times)
{
    if (n * times > LETTERS - out->n) {
        out->failed = true;
        return;
    }
    for (size_t i = 0; i < times; i++, out->n += n)
        memmove(out->text + out->n, text, n);
}

static void expand(struct letters_of *out, const char *text)
{
    size_t open = 0, times;
    bool inside = false;
    for (const char *at = text; *at && !out->failed;) {
        if (*at == '(' || *at == ')') {
            bool closes = *at == ')';
            if (closes != inside)
                out->failed = true;
            at = closes ? read_times(at + 1, &times) : at + 1;
            if (closes && times)
                add(out, out->text + open, out->n - open, times - 1);
            open = out->n;
            inside = !closes;
        } else if (strchr(", \"'", *at)) {
            at++;
        } else {
            char c = *at;
            if (!strchr("EtmL|", c))
                out->failed = true;
            at = read_times(at + 1, &times);
            add(out, &c, 1, times);
        }
    }
    out->failed = out->failed || inside;
}

bool layout_read(const char *text, struct layout *layout)
{
    struct letters_of letters = {.n = 0};
    memset(layout, 0, sizeof *layout);
    expand(&letters, text);
    layout->n = 1;
    for (size_t i = 0; i < letters.n && !letters.failed; i++) {
        if (letters.text[i] == '|' && layout->n == PLAN_LIST)
            return false;
        if (letters.text[i] == '|') {
            layout->n++;
            continue;
        }
        struct layout_chunk *chunk = &layout->chunk[layout->n - 1];
        chunk->embedding |= letters.text[i] == 'E';
        chunk->loss |= letters.text[i] == 'L';
        chunk->layers += letters.text[i] == 't';
        chunk->modules += letters.text[i] == 'm';
    }
    return !letters.failed;
}

bool layout_is_plain(const struct layout *layout)
{
    for (uint64_t i = 0; i < layout->n; i++) {
        const struct layout_chunk *chunk = &layout->chunk[i];
        bool last = i + 1 == layout->n;
        if (!chunk->layers || (chunk->embedding && i > 0) ||
            ((chunk->loss || chunk->modules) && !last))
            return false;
    }
    return true;
}

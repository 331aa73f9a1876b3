/* Growing strings and names; see text.h. */
#include "base/text.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void text_reserve(struct text *text, size_t more)
{
    if (text->length + more + 1 <= text->capacity)
        return;
    size_t capacity = 2 * (text->length + more + 1);
    char *data = arena_alloc(text->arena, capacity < 128 ? 128 : capacity, 1);
    if (text->length)
        memcpy(data, text->data, text->length);
    text->data = data;
    text->capacity = capacity < 128 ? 128 : capacity;
}

void text_append_n(struct text *text, const char *more, size_t length)
{
    text_reserve(text, length);
    memcpy(text->data + text->length, more, length);
    text->length += length;
    text->data[text->length] = '\0';
}

void text_append(struct text *text, const char *more)
{
    text_append_n(text, more, strlen(more));
}

void text_printf(struct text *text, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (length <= 0)
        return;
    text_reserve(text, (size_t)length);
    va_start(args, format);
    vsnprintf(text->data + text->length, (size_t)length + 1, format, args);
    va_end(args);
    text->length += (size_t)length;
}

/* ---- characters ---- */

size_t text_utf8(const char *at, size_t length, uint32_t *code)
{
    static const struct {
        unsigned char mask, lead;
        uint32_t smallest;
    } forms[] = {
        {0x80, 0x00, 0}, {0xe0, 0xc0, 0x80}, {0xf0, 0xe0, 0x800}, {0xf8, 0xf0, 0x10000}};
    const unsigned char *text = (const unsigned char *)at;
    for (size_t bytes = 1; bytes <= 4; bytes++) {
        if ((text[0] & forms[bytes - 1].mask) != forms[bytes - 1].lead)
            continue;
        if (bytes > length)
            return 0;
        uint32_t value = text[0] & (unsigned char)~forms[bytes - 1].mask;
        for (size_t i = 1; i < bytes; i++) {
            if ((text[i] & 0xc0) != 0x80)
                return 0;
            value = value << 6 | (text[i] & 0x3f);
        }
        bool surrogate = value >= 0xd800 && value <= 0xdfff;
        *code = value;
        return value < forms[bytes - 1].smallest || surrogate || value > 0x10ffff ? 0 : bytes;
    }
    return 0;
}

/* Controls, line and paragraph separator, marks, embeddings, overrides and isolates of writing
 * directions, byte order mark, and what is no character. */
static bool is_invisible(uint32_t code)
{
    return code < 0x20 || (code >= 0x7f && code < 0xa0) || (code >= 0x2028 && code <= 0x202e) ||
           code == 0x200e || code == 0x200f || (code >= 0x2066 && code <= 0x2069) ||
           code == 0xfeff || code == 0xfffe || code == 0xffff;
}

static size_t read_character(const char *at, uint32_t *code, bool *visible)
{
    size_t bytes = text_utf8(at, strnlen(at, 4), code);
    *visible = bytes > 0 && !is_invisible(*code);
    return bytes;
}

size_t text_character(const char *at, bool *visible)
{
    uint32_t code = 0;
    size_t bytes = read_character(at, &code, visible);
    return bytes ? bytes : 1;
}

void text_append_visible(struct text *text, const char *more)
{
    while (*more) {
        uint32_t code = 0;
        bool visible;
        size_t bytes = read_character(more, &code, &visible);
        if (visible)
            text_append_n(text, more, bytes);
        else if (bytes == 0)
            text_printf(text, "\\x%02x", (unsigned)(unsigned char)*more);
        else
            text_printf(text, code < 0x100 ? "\\x%02x" : "\\u%04x", (unsigned)code);
        more += bytes ? bytes : 1;
    }
}

/* ---- strings ---- */

const char *text_string(const struct text *text)
{
    return text->data ? text->data : "";
}

bool text_equal(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}

bool text_starts(const char *text, const char *prefix)
{
    while (*prefix && *text == *prefix) {
        text++;
        prefix++;
    }
    return !*prefix;
}

bool text_ends(const char *text, const char *suffix)
{
    size_t n = strlen(text), m = strlen(suffix);
    return n >= m && text_equal(text + n - m, suffix);
}

bool text_lists(const char *list, const char *word)
{
    size_t n = strlen(word);
    for (const char *at = list; *at; at += strcspn(at, ",")) {
        at += strspn(at, ", ");
        if (strcspn(at, ",") == n && strncmp(at, word, n) == 0)
            return true;
    }
    return false;
}

void text_list_add(struct text *list, const char *word)
{
    if (word[0] && !text_lists(text_string(list), word))
        text_printf(list, "%s%s", list->length ? ", " : "", word);
}

char *text_lines(const char *text, size_t n, struct arena *arena)
{
    char *lines = arena_alloc(arena, n + 1, 1);
    for (size_t i = 0; i < n; i++)
        lines[i] = text[i] ? text[i] : ' ';
    return lines;
}

char *text_next_line(char **at, char *end)
{
    char *line = *at;
    if (line >= end)
        return NULL;
    char *stop = memchr(line, '\n', (size_t)(end - line));
    stop = stop ? stop : end;
    *stop = '\0';
    *at = stop + 1;
    return line;
}

const char *text_base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

const char *text_folder(const char *path, struct arena *arena)
{
    const char *slash = strrchr(path, '/');
    if (!slash)
        return ".";
    return slash == path ? "/" : arena_strndup(arena, path, (size_t)(slash - path));
}

const char *text_without_slashes(const char *path, struct arena *arena)
{
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/')
        n--;
    return arena_strndup(arena, path, n);
}

enum { DISTANCE_MAX = 64 };

static unsigned smaller(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

/* Optimal string alignment distance over three rows (Damerau-Levenshtein, no substring edited
 * twice). */
unsigned text_distance(const char *a, const char *b)
{
    size_t n = strlen(a), m = strlen(b);
    if (n > DISTANCE_MAX || m > DISTANCE_MAX)
        return (unsigned)(n > m ? n : m);
    unsigned rows[3][DISTANCE_MAX + 1];
    unsigned *before = rows[0], *above = rows[1], *row = rows[2];
    for (size_t j = 0; j <= m; j++)
        above[j] = (unsigned)j;
    for (size_t i = 1; i <= n; i++) {
        row[0] = (unsigned)i;
        for (size_t j = 1; j <= m; j++) {
            unsigned change = above[j - 1] + (a[i - 1] != b[j - 1]);
            row[j] = smaller(change, smaller(above[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = smaller(row[j], before[j - 2] + 1);
        }
        unsigned *spare = before;
        before = above;
        above = row;
        row = spare;
    }
    return above[m];
}

const char *text_nearest(const char *name, size_t n,
                         const char *(*name_at)(const void *table, size_t i), const void *table)
{
    const char *best = NULL;
    unsigned limit = (unsigned)strlen(name) / 3;
    unsigned best_distance = (limit < 2 ? 2 : limit) + 1;
    for (size_t i = 0; i < n; i++) {
        unsigned distance = text_distance(name, name_at(table, i));
        if (distance < best_distance) {
            best_distance = distance;
            best = name_at(table, i);
        }
    }
    return best;
}

void text_double(char buffer[32], double value)
{
    assert(isfinite(value));
    if (value == 0) {
        snprintf(buffer, 32, "0");
        return;
    }
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(buffer, 32, "%.*g", digits, value);
        if (digits == 17 || strtod(buffer, NULL) == value)
            return;
    }
}

const char *text_today(struct arena *arena)
{
    char date[16];
    time_t now = time(NULL);
    struct tm parts;
    if (!gmtime_r(&now, &parts) || !strftime(date, sizeof date, "%Y-%m-%d", &parts))
        return "unknown";
    return arena_strdup(arena, date);
}

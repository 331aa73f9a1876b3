/* See encoding.h. */
#include "plan/encoding.h"

#include <stdint.h>
#include <string.h>

#include "base/text.h"

static bool is_printable(uint32_t code)
{
    if (code < 0x20)
        return code == '\t' || code == '\n' || code == '\r';
    return code < 0x7f || code == 0x85 || (code >= 0xa0 && code != 0xfffe && code != 0xffff);
}

enum status encoding_check(const char *name, bool option, const char *text, size_t length,
                           struct err *err)
{
    struct mark mark = {name, 1, 1};
    size_t used;
    for (size_t i = 0; i < length; i += used) {
        uint32_t code = 0;
        used = text_utf8(text + i, length - i, &code);
        struct mark place = option ? (struct mark){.file = name} : mark;
        if (used == 0) {
            err_at(err, place, "byte 0x%02x is not UTF-8", (unsigned)(unsigned char)text[i]);
            return err_hint(err, "save the file as UTF-8 text");
        }
        if (!is_printable(code)) {
            err_at(err, place, "control character 0x%02x in the text", code);
            return err_hint(err, "this looks like a binary file");
        }
        mark.line += code == '\n';
        mark.column = code == '\n' ? 1 : mark.column + 1;
    }
    return STATUS_OK;
}

bool encoding_is_line(const char *text)
{
    bool visible = true;
    while (*text && visible)
        text += text_character(text, &visible);
    return visible;
}

bool encoding_looks_json(const char *text, size_t length)
{
    size_t i = 0;
    while (i < length && strchr(" \t\r\n", text[i]))
        i++;
    return i < length && text[i] == '{';
}

/* The value of "\uXXXX" at text, or 0 when it is not one. */
static uint32_t escape_at(const char *text, size_t length)
{
    static const char digits[] = "0123456789abcdef0123456789ABCDEF";
    if (length < 6 || text[0] != '\\' || text[1] != 'u')
        return 0;
    uint32_t value = 0;
    for (size_t i = 2; i < 6; i++) {
        const char *digit = memchr(digits, text[i], sizeof digits - 1);
        if (!digit)
            return 0;
        value = value << 4 | (uint32_t)((digit - digits) & 15);
    }
    return value;
}

const char *encoding_join_surrogates(struct arena *arena, const char *text, size_t *length)
{
    static const char hex[] = "0123456789abcdef";
    char *joined = arena_alloc(arena, *length + 1, 1);
    size_t n = 0;
    for (size_t i = 0; i < *length;) {
        uint32_t high = escape_at(text + i, *length - i);
        uint32_t low = high >> 10 == 0x36 ? escape_at(text + i + 6, *length - i - 6) : 0;
        if (low >> 10 == 0x37) {
            uint32_t code = 0x10000 + ((high & 0x3ff) << 10 | (low & 0x3ff));
            memcpy(joined + n, "\\U", 2);
            for (unsigned digit = 0; digit < 8; digit++)
                joined[n + 2 + digit] = hex[code >> (28 - 4 * digit) & 15];
            n += 10;
            i += 12;
            continue;
        }
        size_t step = text[i] == '\\' && i + 1 < *length ? 2 : 1;
        memcpy(joined + n, text + i, step);
        n += step;
        i += step;
    }
    *length = n;
    return joined;
}

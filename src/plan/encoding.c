/* See encoding.h. */
#include "plan/encoding.h"

#include <stdint.h>
#include <string.h>

/* Bytes of the UTF-8 character at text, its code in *code; 0 when it is not one (overlong
 * forms, surrogates and codes over 0x10ffff included). Source: RFC 3629, section 4. */
static size_t decode(const unsigned char *text, size_t length, uint32_t *code)
{
    static const struct {
        unsigned char mask, lead;
        uint32_t smallest;
    } forms[] = {
        {0x80, 0x00, 0}, {0xe0, 0xc0, 0x80}, {0xf0, 0xe0, 0x800}, {0xf8, 0xf0, 0x10000}};
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

static bool is_printable(uint32_t code)
{
    if (code < 0x20)
        return code == '\t' || code == '\n' || code == '\r';
    return code < 0x7f || code == 0x85 || (code >= 0xa0 && code != 0xfffe && code != 0xffff);
}

enum status encoding_check(const char *name, bool option, const char *text, size_t length,
                           struct err *err)
{
    const unsigned char *bytes = (const unsigned char *)text;
    struct mark mark = {name, 1, 1};
    size_t used;
    for (size_t i = 0; i < length; i += used) {
        uint32_t code = 0;
        used = decode(bytes + i, length - i, &code);
        struct mark place = option ? (struct mark){.file = name} : mark;
        if (used == 0) {
            err_at(err, STATUS_INPUT, place, "byte 0x%02x is not UTF-8", bytes[i]);
            return err_hint(err, "save the file as UTF-8 text");
        }
        if (!is_printable(code)) {
            err_at(err, STATUS_INPUT, place, "control character 0x%02x in the text", code);
            return err_hint(err, "this looks like a binary file");
        }
        mark.line += code == '\n';
        mark.column = code == '\n' ? 1 : mark.column + 1;
    }
    return STATUS_OK;
}

bool encoding_is_line(const char *text)
{
    const unsigned char *bytes = (const unsigned char *)text;
    size_t length = strlen(text), used;
    for (size_t i = 0; i < length; i += used) {
        uint32_t code = 0;
        used = decode(bytes + i, length - i, &code);
        bool breaks = code < 0x20 || code == 0x85 || code == 0x2028 || code == 0x2029;
        if (used == 0 || breaks || code == 0xfeff || !is_printable(code))
            return false;
    }
    return true;
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

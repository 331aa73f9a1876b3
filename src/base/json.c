/* JSON writer; see json.h. The stack of open brackets knows where commas and line breaks go. */
#include "base/json.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/text.h"

void json_init(struct json *json, FILE *out)
{
    memset(json, 0, sizeof *json);
    json->out = out;
}

static void json_break(struct json *json)
{
    static const char line[] = "\n                                "
                               "                                "
                               "                                "
                               "                                ";
    _Static_assert(sizeof line >= 2 * JSON_DEPTH + 2, "a line's blanks");
    fwrite(line, 1, 1 + 2 * (size_t)json->depth, json->out);
}

/* Comma, place and key of the next value. */
static void json_place(struct json *json, const char *key)
{
    if (json->depth > 0) {
        struct json_level *level = &json->levels[json->depth - 1];
        assert((key != NULL) == (level->close == '}'));
        if (level->used)
            fputs(level->in_line ? ", " : ",", json->out);
        level->used = true;
        if (!level->in_line)
            json_break(json);
    }
    if (key) {
        json_quote(json->out, key);
        fputs(": ", json->out);
    }
}

static void json_open(struct json *json, const char *key, const char *brackets, bool in_line)
{
    assert(json->depth < JSON_DEPTH);
    json_place(json, key);
    fputc(brackets[0], json->out);
    json->levels[json->depth++] = (struct json_level){brackets[1], false, in_line};
}

void json_object(struct json *json, const char *key)
{
    json_open(json, key, "{}", false);
}

void json_array(struct json *json, const char *key)
{
    json_open(json, key, "[]", false);
}

void json_list(struct json *json, const char *key)
{
    json_open(json, key, "[]", true);
}

void json_close(struct json *json)
{
    assert(json->depth > 0);
    struct json_level *level = &json->levels[--json->depth];
    if (level->used && !level->in_line)
        json_break(json);
    fputc(level->close, json->out);
    if (json->depth == 0)
        fputc('\n', json->out);
}

void json_count(struct json *json, const char *key, uint64_t value)
{
    char digits[20]; /* of a list of ops half the text are counts: printf takes twice as long */
    size_t first = sizeof digits;
    do
        digits[--first] = (char)('0' + value % 10);
    while (value /= 10);
    json_place(json, key);
    fwrite(digits + first, 1, sizeof digits - first, json->out);
}

void json_integer(struct json *json, const char *key, int64_t value)
{
    json_place(json, key);
    fprintf(json->out, "%" PRId64, value);
}

void json_real(struct json *json, const char *key, double value)
{
    if (!isfinite(value))
        return;
    char number[32];
    text_double(number, value);
    json_place(json, key);
    fputs(number, json->out);
}

void json_bool(struct json *json, const char *key, bool value)
{
    json_place(json, key);
    fputs(value ? "true" : "false", json->out);
}

void json_string(struct json *json, const char *key, const char *value)
{
    json_place(json, key);
    json_quote(json->out, value);
}

/* Quotes, backslashes and control characters; DEL too, which YAML does not read. */
static void json_escape(FILE *out, unsigned char c)
{
    static const char plain[] = "\"\\\b\f\n\r\t", letters[] = "\"\\bfnrt";
    const char *found = c ? strchr(plain, c) : NULL;
    if (found)
        fprintf(out, "\\%c", letters[found - plain]);
    else if (c < 0x20 || c == 0x7f)
        fprintf(out, "\\u%04x", (unsigned)c);
    else
        fputc(c, out);
}

/* How many bytes from here on stand for themselves. */
static size_t plain_length(const char *at)
{
    size_t n = 0;
    while (at[n] >= 0x20 && at[n] < 0x7f && at[n] != '"' && at[n] != '\\')
        n++;
    return n;
}

void json_quote(FILE *out, const char *value)
{
    const char *at = value, *end = value + strlen(value);
    fputc('"', out);
    while (at < end) {
        uint32_t code;
        size_t plain = plain_length(at);
        if (plain) {
            fwrite(at, 1, plain, out);
            at += plain;
            continue;
        }
        size_t length = text_utf8(at, (size_t)(end - at), &code);
        if (length == 1)
            json_escape(out, (unsigned char)*at);
        else if (length == 0)
            fputs("\xef\xbf\xbd", out);
        else
            fwrite(at, 1, length, out);
        at += length ? length : 1;
    }
    fputc('"', out);
}

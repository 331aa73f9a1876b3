/* See json_read.h. */
#include "base/json_read.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

void json_read_init(struct json_read *j, const char *file, const char *text, size_t length)
{
    *j = (struct json_read){
        .file = file, .text = text, .at = text, .end = text + length, .first = true};
}

enum status json_read_fail(const struct json_read *j, const char *what, struct err *err)
{
    unsigned line = 1, column = 1;
    for (const char *c = j->text; c < j->at; c++) {
        bool inner = ((unsigned char)*c & 0xc0) == 0x80; /* of a character of several bytes */
        column = *c == '\n' ? 1 : column + !inner;
        line += *c == '\n';
    }
    return err_at(err, (struct mark){j->file, line, column}, "%s", what);
}

static void skip_blanks(struct json_read *j)
{
    while (j->at < j->end && strchr(" \t\r\n", *j->at) && *j->at)
        j->at++;
}

static bool is_hex(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/* Bytes of an escape behind its backslash; 0: there is no such escape. */
static size_t escape_length(const char *at, const char *end)
{
    if (at >= end || !*at)
        return 0;
    if (strchr("\"\\/bfnrt", *at))
        return 1;
    if (*at != 'u' || end - at < 5)
        return 0;
    for (unsigned i = 1; i < 5; i++)
        if (!is_hex(at[i]))
            return 0;
    return 5;
}

static enum status read_string(struct json_read *j, struct err *err)
{
    j->value = ++j->at;
    while (j->at < j->end && *j->at != '"') {
        if ((unsigned char)*j->at < 32)
            return json_read_fail(j, "a string holds a control character", err);
        if (*j->at++ != '\\')
            continue;
        size_t n = escape_length(j->at, j->end);
        if (!n)
            return json_read_fail(j, "there is no such escape in a string", err);
        j->at += n;
    }
    if (j->at == j->end)
        return json_read_fail(j, "a string does not end", err);
    j->length = (size_t)(j->at++ - j->value);
    return STATUS_OK;
}

/* Digits from `n` on; none is none. */
static size_t digits(const char *text, size_t n)
{
    while (text[n] >= '0' && text[n] <= '9')
        n++;
    return n;
}

/* -? (0 | [1-9] digits) (. digits)? ([eE] [+-]? digits)? and nothing behind it */
static bool is_number(const char *text)
{
    size_t n = text[0] == '-', from = n;
    n = digits(text, n);
    if (n == from || (text[from] == '0' && n > from + 1))
        return false;
    if (text[n] == '.') {
        from = n + 1;
        n = digits(text, from);
        if (n == from)
            return false;
    }
    if (text[n] == 'e' || text[n] == 'E') {
        from = n + 1 + (text[n + 1] == '+' || text[n + 1] == '-');
        n = digits(text, from);
        if (n == from)
            return false;
    }
    return !text[n];
}

static enum status read_number(struct json_read *j, struct err *err)
{
    char text[64];
    size_t n = 0;
    while (j->at + n < j->end && n < sizeof text - 1 && j->at[n] &&
           strchr("+-0123456789.eE", j->at[n])) {
        text[n] = j->at[n];
        n++;
    }
    text[n] = '\0';
    j->number = is_number(text) ? strtod(text, NULL) : (double)NAN;
    if (!isfinite(j->number))
        return json_read_fail(j, "this is no value of JSON", err);
    j->at += n;
    return STATUS_OK;
}

static bool read_word(struct json_read *j)
{
    static const char *const words[] = {"true", "false",    "null",
                                        "NaN",  "Infinity", "-Infinity"};
    for (size_t i = 0; i < (j->python ? 6 : 3); i++) {
        size_t n = strlen(words[i]);
        if ((size_t)(j->end - j->at) < n || memcmp(j->at, words[i], n) != 0)
            continue;
        j->value = j->at;
        j->length = n;
        j->at += n;
        return true;
    }
    return false;
}

static enum status open_bracket(struct json_read *j, enum json_token *token, struct err *err)
{
    if (j->depth == JSON_READ_DEPTH)
        return json_read_fail(j, "brackets are nested deeper than 64", err);
    *token = *j->at == '{' ? JSON_OBJECT : JSON_ARRAY;
    j->open[j->depth++] = *j->at++;
    j->first = true;
    j->keyed = false;
    return STATUS_OK;
}

static enum status read_value(struct json_read *j, enum json_token *token, struct err *err)
{
    if (*j->at == '{' || *j->at == '[')
        return open_bracket(j, token, err);
    j->first = j->keyed = false;
    if (*j->at == '"') {
        *token = JSON_STRING;
        return read_string(j, err);
    }
    *token = JSON_WORD;
    if (read_word(j))
        return STATUS_OK;
    *token = JSON_NUMBER;
    return read_number(j, err);
}

/* The comma between two of a bracket, and a member's key with its colon. */
static enum status read_key(struct json_read *j, enum json_token *token, struct err *err)
{
    if (*j->at != '"')
        return json_read_fail(j, "a member needs a name in double quotes", err);
    TRY(read_string(j, err));
    skip_blanks(j);
    if (j->at == j->end || *j->at != ':')
        return json_read_fail(j, "a colon is missing after a member's name", err);
    j->at++;
    j->keyed = true;
    *token = JSON_KEY;
    return STATUS_OK;
}

static bool closes(const struct json_read *j)
{
    return j->depth && !j->keyed && *j->at == (j->open[j->depth - 1] == '{' ? '}' : ']');
}

static enum status spare_comma(struct json_read *j, const char *comma, struct err *err)
{
    char what[] = "a comma stands before '}', which JSON does not take";
    *strchr(what, '}') = *j->at;
    j->at = comma;
    j->spare = true;
    json_read_fail(j, what, err);
    return err_hint(err, "remove it: there is none behind the last entry");
}

enum status json_read_next(struct json_read *j, enum json_token *token, struct err *err)
{
    skip_blanks(j);
    if (!j->depth && j->done) {
        *token = JSON_END;
        return j->at == j->end ? STATUS_OK
                               : json_read_fail(j, "something stands after the end", err);
    }
    if (j->at == j->end)
        return json_read_fail(j, "the file ends before its JSON does", err);
    if (closes(j)) {
        j->at++;
        j->done = !--j->depth;
        j->first = false;
        *token = JSON_CLOSE;
        return STATUS_OK;
    }
    if (j->depth && !j->keyed && !j->first) {
        if (*j->at != ',')
            return json_read_fail(j, "a comma is missing", err);
        const char *comma = j->at++;
        skip_blanks(j);
        if (j->at == j->end)
            return json_read_fail(j, "the file ends before its JSON does", err);
        if (*j->at == '}' || *j->at == ']')
            return spare_comma(j, comma, err);
    }
    if (j->depth && !j->keyed && j->open[j->depth - 1] == '{')
        return read_key(j, token, err);
    j->done = !j->depth;
    TRY(read_value(j, token, err));
    j->done = j->done && !j->depth;
    return STATUS_OK;
}

enum status json_read_skip(struct json_read *j, struct err *err)
{
    unsigned depth = j->depth;
    enum json_token token;
    do
        TRY(json_read_next(j, &token, err));
    while (j->depth > depth);
    return STATUS_OK;
}

bool json_read_is(const struct json_read *j, const char *text)
{
    return strlen(text) == j->length && memcmp(text, j->value, j->length) == 0;
}

enum status json_read_check(const char *file, const char *text, size_t length, struct err *err)
{
    static const char bom[] = "\xef\xbb\xbf";
    struct json_read json;
    enum json_token token;
    json_read_init(&json, file, text, length);
    json.python = true;
    if (length >= 3 && memcmp(text, bom, 3) == 0)
        json.at += 3;
    do
        TRY(json_read_next(&json, &token, err));
    while (token != JSON_END);
    return STATUS_OK;
}

/* Errors as values; see err.h. */
#include "base/err.h"

#include <stdarg.h>
#include <string.h>

#include "base/text.h"

static void err_record(struct err *err, enum status status, const char *where,
                       const char *format, va_list args) __attribute__((format(printf, 4, 0)));

static void err_record(struct err *err, enum status status, const char *where,
                       const char *format, va_list args)
{
    err->status = status;
    snprintf(err->where, sizeof err->where, "%s", where);
    vsnprintf(err->text, sizeof err->text, format, args);
    err->hint[0] = '\0';
}

enum status err_set(struct err *err, enum status status, const char *format, ...)
{
    if (err->status != STATUS_OK)
        return err->status;
    va_list args;
    va_start(args, format);
    err_record(err, status, "", format, args);
    va_end(args);
    return status;
}

/* "file:line:column", "file", or "" */
static void print_mark(char where[512], struct mark mark)
{
    where[0] = '\0';
    if (mark.file && mark.line)
        snprintf(where, 512, "%s:%u:%u", mark.file, mark.line, mark.column);
    else if (mark.file)
        snprintf(where, 512, "%s", mark.file);
}

enum status err_place(struct err *err, struct mark mark)
{
    if (err->where[0] == '\0')
        print_mark(err->where, mark);
    return err->status;
}

enum status err_at(struct err *err, struct mark mark, const char *format, ...)
{
    if (err->status != STATUS_OK)
        return err->status;
    char where[sizeof err->where];
    print_mark(where, mark);
    va_list args;
    va_start(args, format);
    err_record(err, STATUS_INPUT, where, format, args);
    va_end(args);
    return STATUS_INPUT;
}

enum status err_hint(struct err *err, const char *format, ...)
{
    if (err->hint[0] != '\0')
        return err->status;
    va_list args;
    va_start(args, format);
    vsnprintf(err->hint, sizeof err->hint, format, args);
    va_end(args);
    return err->status;
}

void err_clear(struct err *err)
{
    memset(err, 0, sizeof *err);
}

/* In one piece: several processes may write to one terminal. */
void err_print(const struct err *err, FILE *out)
{
    struct arena arena = {0};
    struct text text = {.arena = &arena};
    text_append_visible(&text, err->where[0] ? err->where : "moeplan");
    text_append(&text, ": ");
    text_append_visible(&text, err->text);
    if (err->hint[0]) {
        text_append(&text, "\n  hint: ");
        text_append_visible(&text, err->hint);
    }
    text_append(&text, "\n");
    fputs(text_string(&text), out);
    arena_release(&arena);
}

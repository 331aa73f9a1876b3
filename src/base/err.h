/* Errors as values: a status that is also the process's exit status, a text, a hint, a place.
 *
 * Every function that can fail returns `enum status` and takes `struct err *` as its last
 * argument; the first error wins and out parameters stay untouched. Only cli/ prints one. */
#ifndef MOEPLAN_BASE_ERR_H
#define MOEPLAN_BASE_ERR_H

#include <stdint.h>
#include <stdio.h>

/* name, exit status, what it means (printed in the manual) */
#define STATUS_LIST(X)                                                                         \
    X(OK, 0, "done (the plan fits, or is marginal)")                                           \
    X(USAGE, 2, "bad command line")                                                            \
    X(INPUT, 3, "bad plan or data, a file that cannot be opened included")                     \
    X(NOFIT, 4, "the plan does not fit")                                                       \
    X(ABSENT, 5, "backend, device or library not present")                                     \
    X(SYSTEM, 6, "out of memory, or an I/O error")                                             \
    X(MISMATCH, 7, "prediction and measurement disagree")

enum status {
#define STATUS_ENUM(name, code, text) STATUS_##name = code,
    STATUS_LIST(STATUS_ENUM)
#undef STATUS_ENUM
};

/* A place in some input. line 0: the place has a name only (an option such as "--set a=b"). */
struct mark {
    const char *file; /* not owned; lives as long as the plan or the command line */
    uint32_t line;    /* from 1 */
    uint32_t column;  /* from 1 */
};

struct err {
    enum status status; /* STATUS_OK while nothing failed */
    char where[512];    /* "file:line:column", "file", or "" */
    char text[1024];    /* problem first, subject in quotes, value and limit shown */
    char hint[2048];    /* what the user can do, or "" */
};

/* Records an error without a place; returns status. Keeps an earlier error. */
enum status err_set(struct err *err, enum status status, const char *format, ...)
    __attribute__((cold, format(printf, 3, 4)));

/* Records an error of some input at its place; returns STATUS_INPUT. Keeps an earlier error,
 * whose status it then returns. */
enum status err_at(struct err *err, struct mark mark, const char *format, ...)
    __attribute__((cold, format(printf, 3, 4)));

/* Adds the hint to the error just recorded; returns its status, to be the value of a return. */
enum status err_hint(struct err *err, const char *format, ...)
    __attribute__((cold, format(printf, 2, 3)));

/* Gives the error just recorded a place, unless it has one; returns its status. */
enum status err_place(struct err *err, struct mark mark) __attribute__((cold));

/* Ready for reuse. */
void err_clear(struct err *err);

/* Writes "where: text\n  hint: ...\n" (parts that are empty are left out); what comes from
 * outside is made visible (text.h). */
void err_print(const struct err *err, FILE *out);

/* Relays a failure upward. */
#define TRY(call)                                                                              \
    do {                                                                                       \
        enum status try_status_ = (call);                                                      \
        if (__builtin_expect(try_status_ != STATUS_OK, 0))                                     \
            return try_status_;                                                                \
    } while (0)

#endif

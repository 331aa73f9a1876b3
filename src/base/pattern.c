/* See pattern.h. An expression is tried from left to right without being translated: what
 * follows a piece is a chain of continuations on the stack. */
#include "base/pattern.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

enum { STEPS = 100000, DEPTH = 2000 };

struct trial {
    unsigned steps, depth;
    bool unknown;
};

/* What has to fit behind the piece at hand; NULL: nothing. */
struct rest {
    bool (*fits)(struct trial *trial, const struct rest *rest, const char *text);
    const struct rest *next;
    const char *at, *end;  /* of the sequence behind it */
    const char *atom, *to; /* a repeated atom, [atom, to) */
    const char *tried;     /* where its last repetition began */
};

static bool sequence(struct trial *trial, const char *at, const char *end, const char *text,
                     const struct rest *next);

static bool done(struct trial *trial, const struct rest *rest, const char *text)
{
    return !rest || rest->fits(trial, rest, text);
}

/* Behind a '[': where its ']' is, or the end. */
static const char *set_end(const char *at, const char *end)
{
    at += at < end && *at == '^';
    at += at < end && *at == ']';
    while (at < end && *at != ']')
        at += *at == '\\' && at + 1 < end ? 2 : 1;
    return at;
}

/* Behind an atom that begins at `at`. */
static const char *atom_end(const char *at, const char *end)
{
    if (*at == '\\')
        return at + 2 <= end ? at + 2 : end;
    if (*at == '[') {
        at = set_end(at + 1, end);
        return at < end ? at + 1 : end;
    }
    if (*at != '(')
        return at + 1;
    for (unsigned open = 0; at < end; at++) {
        if (*at == '[')
            at = set_end(at + 1, end);
        else if (*at == '\\')
            at++;
        else if (*at == '(')
            open++;
        else if (*at == ')' && --open == 0)
            return at + 1;
    }
    return end;
}

static bool in_class(char class, char c)
{
    unsigned char u = (unsigned char)c;
    return class == 'd'   ? isdigit(u) != 0
           : class == 'w' ? isalnum(u) || c == '_'
                          : isspace(u) != 0;
}

static bool is_class(char c)
{
    return c == 'd' || c == 'w' || c == 's';
}

static bool in_set(const char *at, const char *end, char c)
{
    bool not = at < end && *at == '^', found = false;
    for (at += not ; at < end; at++) {
        bool escaped = *at == '\\' && at + 1 < end;
        at += escaped;
        if (escaped && is_class(*at)) {
            found |= in_class(*at, c);
        } else if (end - at > 2 && at[1] == '-') {
            found |= *at <= c && c <= at[2];
            at += 2;
        } else {
            found |= *at == c;
        }
    }
    return found != not ;
}

/* An escape stands for itself unless it is a letter or a digit. */
static bool one(struct trial *trial, const char *at, const char *to, char c)
{
    if (*at == '.')
        return true;
    if (*at == '[')
        return in_set(at + 1, to - 1, c);
    if (*at != '\\')
        return *at == c;
    if (is_class(at[1]))
        return in_class(at[1], c);
    trial->unknown |= isalnum((unsigned char)at[1]) != 0;
    return at[1] == c;
}

/* One of the alternatives between here and there. */
static bool alternatives(struct trial *trial, const char *at, const char *end, const char *text,
                         const struct rest *next)
{
    for (const char *from = at;; at = atom_end(at, end))
        if (at >= end || *at == '|') {
            if (sequence(trial, from, at, text, next))
                return true;
            if (at >= end)
                return false;
            from = at + 1;
        }
}

static bool atom(struct trial *trial, const char *at, const char *to, const char *text,
                 const struct rest *next)
{
    if (*at == '^')
        return done(trial, next, text); /* only ever at the beginning in names */
    if (*at == '$')
        return !*text && done(trial, next, text);
    if (*at != '(')
        return *text && one(trial, at, to, *text) && done(trial, next, text + 1);
    at++;
    if (at < to && *at == '?') {
        trial->unknown |= at[1] != ':';
        at += 2;
    }
    return !trial->unknown && alternatives(trial, at, to - 1, text, next);
}

static bool behind(struct trial *trial, const struct rest *rest, const char *text)
{
    return sequence(trial, rest->at, rest->end, text, rest->next);
}

/* After a repetition: another, as long as it moves on, or what follows. */
static bool repeated(struct trial *trial, const struct rest *rest, const char *text)
{
    struct rest once = *rest;
    once.tried = text;
    if (text != rest->tried && atom(trial, rest->atom, rest->to, text, &once))
        return true;
    return !trial->unknown && behind(trial, rest, text);
}

static bool quantified(struct trial *trial, const struct rest *rest, char how, const char *text)
{
    if (how == '*')
        return repeated(trial, rest, text);
    return atom(trial, rest->atom, rest->to, text, rest) ||
           (how == '?' && !trial->unknown && behind(trial, rest, text));
}

static bool sequence(struct trial *trial, const char *at, const char *end, const char *text,
                     const struct rest *next)
{
    if (at >= end)
        return done(trial, next, text);
    if (++trial->steps > STEPS || trial->depth >= DEPTH || *at == '*' || *at == '+' ||
        *at == '?' || *at == ')')
        trial->unknown = true;
    if (trial->unknown)
        return false;
    const char *to = atom_end(at, end), *behind_it = to;
    char how = to < end && strchr("*+?{", *to) ? *to : '\0';
    bool open = (*at == '(' && (to - at < 2 || to[-1] != ')')) ||
                (*at == '[' && (to - at < 2 || to[-1] != ']')) || (*at == '\\' && to - at < 2);
    trial->unknown |= open || how == '{';
    behind_it += how != '\0';
    behind_it += how && behind_it < end && *behind_it == '?';
    struct rest rest = {.next = next, .at = behind_it, .end = end, .atom = at, .to = to};
    rest.fits = how == '*' || how == '+' ? repeated : behind;
    trial->depth++;
    bool fits = !trial->unknown &&
                (how ? quantified(trial, &rest, how, text) : atom(trial, at, to, text, &rest));
    trial->depth--;
    return fits;
}

enum pattern_fit pattern_begins(const char *expression, const char *text)
{
    struct trial trial = {0};
    bool fits = alternatives(&trial, expression, expression + strlen(expression), text, NULL);
    return trial.unknown ? PATTERN_UNKNOWN : fits ? PATTERN_YES : PATTERN_NO;
}

/* Whether a glob fits from here on, up to the end of a part. */
static bool fits_here(const char *glob, const char *at)
{
    const char *star = NULL, *resume = NULL;
    for (;;) {
        if (*glob == '*') {
            star = glob++;
            resume = at;
        } else if (!*glob && (!*at || *at == '.')) {
            return true;
        } else if (*glob && *at && *glob == *at) {
            glob++;
            at++;
        } else if (star && *resume) {
            glob = star + 1;
            at = ++resume;
        } else {
            return false;
        }
    }
}

bool pattern_names(const char *glob, const char *name)
{
    for (const char *at = name; at; at = strchr(at, '.')) {
        at += at != name;
        if (fits_here(glob, at))
            return true;
    }
    return false;
}

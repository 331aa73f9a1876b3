/* Conditions of a shell script that can be told from the script; see shell_branch.h. */
#include "plan/text/shell_branch.h"

#include <string.h>

#include "base/number.h"

/* ---- words that are not commands ---- */

enum shell_keyword shell_keyword_at(const struct cursor *cursor, size_t *length)
{
    static const struct {
        const char *word;
        enum shell_keyword kind;
    } keywords[] = {
        {"if", KEYWORD_IF},           {"then", KEYWORD_THEN},      {"elif", KEYWORD_ELIF},
        {"else", KEYWORD_ELSE},       {"for", KEYWORD_FOR},        {"case", KEYWORD_CASE},
        {"while", KEYWORD_OPENS},     {"until", KEYWORD_OPENS},    {"{", KEYWORD_OPENS},
        {"fi", KEYWORD_CLOSES},       {"done", KEYWORD_CLOSES},    {"esac", KEYWORD_CLOSES},
        {"}", KEYWORD_CLOSES},        {"do", KEYWORD_PASSES},      {"!", KEYWORD_PASSES},
        {"time", KEYWORD_PASSES},     {"declare", KEYWORD_PASSES}, {"local", KEYWORD_PASSES},
        {"readonly", KEYWORD_PASSES}, {"export", KEYWORD_EXPORT}};
    const char *at = cursor->at;
    *length = 0;
    while (at + *length < cursor->end && !strchr(" \t\r\n;|&()<>\"'$\\", at[*length]))
        ++*length;
    for (size_t i = 0; i < sizeof keywords / sizeof *keywords; i++)
        if (strlen(keywords[i].word) == *length && memcmp(keywords[i].word, at, *length) == 0)
            return keywords[i].kind;
    return KEYWORD_NONE;
}

/* ---- three values ---- */

enum truth { FALSE_IS_KNOWN, TRUE_IS_KNOWN, UNKNOWN };

static enum truth known(bool value)
{
    return value ? TRUE_IS_KNOWN : FALSE_IS_KNOWN;
}

static enum truth not_of(enum truth a)
{
    return a == UNKNOWN ? UNKNOWN : known(a == FALSE_IS_KNOWN);
}

static enum truth and_of(enum truth a, enum truth b)
{
    if (a == FALSE_IS_KNOWN || b == FALSE_IS_KNOWN)
        return FALSE_IS_KNOWN;
    return a == UNKNOWN || b == UNKNOWN ? UNKNOWN : TRUE_IS_KNOWN;
}

/* ---- tests ---- */

static enum truth compare_numbers(const char *a, const char *sign, const char *b)
{
    static const char *const names[] = {"-eq", "-ne", "-lt", "-le", "-gt", "-ge"};
    uint64_t x, y;
    if (!number_count(a, &x) || !number_count(b, &y))
        return UNKNOWN;
    const bool values[] = {x == y, x != y, x<y, x <= y, x> y, x >= y};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (text_equal(sign, names[i]))
            return known(values[i]);
    return UNKNOWN;
}

/* Of "[[", what stands behind == may be a pattern. */
static enum truth compare(const char *a, const char *sign, const char *b, bool patterns)
{
    bool equal = text_equal(sign, "=") || text_equal(sign, "==");
    if (!equal && !text_equal(sign, "!="))
        return compare_numbers(a, sign, b);
    if (patterns && strpbrk(b, "*?["))
        return UNKNOWN;
    return known(text_equal(a, b) == equal);
}

/* [ ... ], [[ ... ]], test ..., true and false. */
static enum truth test_of(const struct shell_words *words)
{
    size_t n = words->n, first = 1;
    for (size_t i = 0; i < n; i++)
        if (words->items[i].trouble)
            return UNKNOWN;
    const char *name = n ? words->items[0].text : "";
    bool twice = text_equal(name, "[["), once = text_equal(name, "[");
    if (n == 1 && (text_equal(name, "true") || text_equal(name, "false")))
        return known(text_equal(name, "true"));
    if (!twice && !once && !text_equal(name, "test"))
        return UNKNOWN;
    if ((twice || once) && !text_equal(words->items[--n].text, twice ? "]]" : "]"))
        return UNKNOWN;
    bool negated = n > 1 && text_equal(words->items[1].text, "!");
    first += negated;
    const struct shell_word *at = words->items + first;
    enum truth truth = UNKNOWN;
    if (n - first == 1)
        truth = known(at[0].text[0] != '\0');
    else if (n - first == 2 && text_equal(at[0].text, "-n"))
        truth = known(at[1].text[0] != '\0');
    else if (n - first == 2 && text_equal(at[0].text, "-z"))
        truth = known(at[1].text[0] == '\0');
    else if (n - first == 3)
        truth = compare(at[0].text, at[1].text, at[2].text, twice);
    return negated ? not_of(truth) : truth;
}

/* Of the commands since `first`, joined by && and ||: what the last list of them gives. */
static enum truth condition_of(const struct shell *shell, size_t first)
{
    enum truth truth = UNKNOWN;
    for (size_t i = first; i < shell->n_commands; i++) {
        const struct shell_command *c = &shell->commands[i];
        enum truth own = c->negated ? not_of(test_of(&c->words)) : test_of(&c->words);
        if (c->joined == '&')
            truth = and_of(truth, own);
        else if (c->joined == '|')
            truth = not_of(and_of(not_of(truth), not_of(own)));
        else
            truth = c->joined ? UNKNOWN : own;
    }
    return truth;
}

/* ---- branches ---- */

struct shell_branch *shell_branch_innermost(struct shell_reader *reader)
{
    struct shell_branches *all = &reader->branches;
    return all->n && all->n <= SHELL_BRANCHES ? &all->items[all->n - 1] : NULL;
}

static void open_branch(struct shell_reader *reader, enum shell_branch_kind kind)
{
    reader->branches.n++;
    struct shell_branch *b = shell_branch_innermost(reader);
    if (b)
        *b = (struct shell_branch){.kind = kind, .first = reader->shell->n_commands};
}

/* Forgets what a branch that does not run has. A name that is set there alone is empty: what
 * it would have added is not added. */
static void forget(struct shell_reader *reader, const struct shell_branch *b)
{
    struct shell *shell = reader->shell;
    size_t last = shell->n_variables;
    shell->n_commands = b->n_commands;
    shell->n_variables = b->n_variables;
    shell->n_files = b->n_files;
    for (size_t i = b->n_variables; i < last; i++) {
        struct shell_variable v = {.name = shell->variables[i].name};
        if (shell->variables[i].unset ||
            shell_variable(shell, shell->n_variables, v.name, false))
            continue;
        shell_words_add(&v.value, (struct shell_word){.text = ""}, reader->arena);
        shell->variables[shell->n_variables++] = v;
    }
}

static bool end_part(struct shell_reader *reader, struct shell_branch *b)
{
    bool forgot = b->skips;
    if (forgot)
        forget(reader, b);
    b->skips = b->certain = false;
    b->first = reader->shell->n_commands;
    return forgot;
}

/* A part that runs where `truth` holds and none before it did. */
static void begin_part(struct shell_reader *reader, struct shell_branch *b, enum truth truth)
{
    b->skips = b->done || truth == FALSE_IS_KNOWN;
    b->certain = !b->skips && truth == TRUE_IS_KNOWN && !b->maybe;
    b->done = b->done || b->certain;
    b->maybe = b->maybe || (!b->skips && !b->certain);
    b->n_commands = reader->shell->n_commands;
    b->n_variables = reader->shell->n_variables;
    b->n_files = reader->shell->n_files;
}

static bool close_branch(struct shell_reader *reader)
{
    struct shell_branch *b = shell_branch_innermost(reader);
    bool forgot = b && end_part(reader, b);
    reader->branches.n -= reader->branches.n > 0;
    return forgot;
}

/* A word between the parts of the innermost `if`. */
static bool part_word(struct shell_reader *reader, struct shell_branch *b,
                      enum shell_keyword keyword)
{
    bool ends = keyword == KEYWORD_ELIF || keyword == KEYWORD_ELSE;
    bool forgot = ends && end_part(reader, b);
    if (keyword == KEYWORD_THEN)
        begin_part(reader, b, condition_of(reader->shell, b->first));
    else if (keyword == KEYWORD_ELSE)
        begin_part(reader, b, TRUE_IS_KNOWN);
    return forgot;
}

void shell_branch_group(struct shell_reader *reader)
{
    open_branch(reader, SHELL_OTHER);
}

bool shell_branch_word(struct shell_reader *reader, enum shell_keyword keyword)
{
    static const enum shell_branch_kind kinds[] = {[KEYWORD_IF] = SHELL_IF,
                                                   [KEYWORD_FOR] = SHELL_LOOP_HEAD,
                                                   [KEYWORD_CASE] = SHELL_CASE_HEAD,
                                                   [KEYWORD_OPENS] = SHELL_OTHER};
    if (keyword == KEYWORD_CLOSES)
        return close_branch(reader);
    if (keyword == KEYWORD_IF || keyword == KEYWORD_FOR || keyword == KEYWORD_CASE ||
        keyword == KEYWORD_OPENS)
        open_branch(reader, kinds[keyword]);
    struct shell_branch *b = shell_branch_innermost(reader);
    return b && b->kind == SHELL_IF && part_word(reader, b, keyword);
}

/* ---- case ---- */

/* One of a case's patterns against its word. */
static enum truth fits(const struct shell_branch *b, const struct shell_word *pattern)
{
    if (text_equal(pattern->text, "*"))
        return TRUE_IS_KNOWN;
    if (b->trouble || pattern->trouble || strpbrk(pattern->text, "*?["))
        return UNKNOWN;
    return known(text_equal(b->word, pattern->text));
}

bool shell_branch_case(struct shell_reader *reader, const struct shell_words *words, char end,
                       bool *forgot)
{
    struct shell_branch *b = shell_branch_innermost(reader);
    size_t first = 0;
    *forgot = false;
    if (!b || b->kind < SHELL_CASE_HEAD)
        return false;
    if (b->kind == SHELL_CASE_BODY) {
        bool over = end == ';' && reader->cursor.at + 1 < reader->cursor.end &&
                    reader->cursor.at[1] == ';';
        b->kind = over ? SHELL_CASE_PATTERN : SHELL_CASE_BODY;
        b->fits = FALSE_IS_KNOWN;
        return false; /* the last command of the body is one: forgotten with the next part */
    }
    if (b->kind == SHELL_CASE_HEAD) { /* without a word where that is empty */
        bool whole = words->n >= 2 && text_equal(words->items[1].text, "in");
        b->word = whole ? words->items[0].text : "";
        b->trouble = !whole || words->items[0].trouble;
        b->kind = SHELL_CASE_PATTERN;
        b->fits = FALSE_IS_KNOWN;
        first = whole ? 2 : words->n > 0;
    }
    for (size_t i = first; i < words->n; i++)
        b->fits =
            not_of(and_of(not_of((enum truth)b->fits), not_of(fits(b, &words->items[i]))));
    if (end == ')' && b->kind == SHELL_CASE_PATTERN) {
        *forgot = end_part(reader, b);
        begin_part(reader, b, (enum truth)b->fits);
        b->kind = SHELL_CASE_BODY;
    }
    return true;
}

/* ---- loops ---- */

enum status shell_branch_loop(struct shell_reader *reader, const struct shell_words *words,
                              struct mark mark)
{
    struct shell_branch *b = shell_branch_innermost(reader);
    if (!b || b->kind != SHELL_LOOP_HEAD || !words->n)
        return STATUS_OK;
    b->kind = SHELL_OTHER;
    if (words->n < 3 || !text_equal(words->items[1].text, "in"))
        return STATUS_OK;
    struct shell_variable v = {.name = words->items[0].text};
    struct shell_word first = words->items[2];
    if (words->n > 3 && !first.trouble)
        first.trouble = arena_printf(reader->arena,
                                     "variable '%.64s' is one of several in a loop, on line %u",
                                     v.name, mark.line);
    shell_words_add(&v.value, first, reader->arena);
    return shell_set_variable(reader, v, mark);
}

/* ---- where a command stands ---- */

unsigned shell_branch_unknown(const struct shell_reader *reader)
{
    unsigned unknown = 0;
    for (size_t i = 0; i < reader->branches.n; i++)
        unknown += i >= SHELL_BRANCHES || !reader->branches.items[i].certain;
    return unknown;
}

bool shell_branch_skips(const struct shell_reader *reader)
{
    for (size_t i = 0; i < reader->branches.n && i < SHELL_BRANCHES; i++)
        if (reader->branches.items[i].skips)
            return true;
    return false;
}

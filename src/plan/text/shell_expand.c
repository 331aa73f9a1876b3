/* Words of a shell script: quotes, variables, splitting; see shell_expand.h. */
#include "plan/text/shell_expand.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

void cursor_step(struct cursor *cursor)
{
    bool newline = *cursor->at++ == '\n';
    cursor->mark.line += newline;
    cursor->mark.column = newline ? 1 : cursor->mark.column + 1;
}

size_t shell_name_length(const char *at, const char *end)
{
    size_t n = 0;
    while (at + n < end && (isalpha((unsigned char)at[n]) || at[n] == '_' ||
                            (n > 0 && isdigit((unsigned char)at[n]))))
        n++;
    return n;
}

/* A word while it is read. */
struct building {
    struct shell_reader *reader;
    struct shell_words *fields; /* NULL: no splitting, everything goes to `text` */
    struct text text;
    bool begun; /* there is a field, if only an empty one in quotes */
    const char *trouble;
    struct mark mark;
};

/* A text that another reading made may have places that it did not know. */
static void find_marks(struct building *b)
{
    static const char why[] = "it is known to the shell around the launch alone";
    if (!b->trouble && !b->reader->shell->raw && strstr(text_string(&b->text), SHELL_UNKNOWN))
        b->trouble = why;
}

static void end_field(struct building *b)
{
    find_marks(b);
    if (b->fields && (b->begun || b->trouble))
        shell_words_add(b->fields,
                        (struct shell_word){text_string(&b->text), b->mark, b->trouble},
                        b->reader->arena);
    b->text = (struct text){.arena = b->reader->arena};
    b->begun = false;
    b->trouble = NULL;
}

static enum status add(struct building *b, const char *text, size_t length)
{
    struct shell_reader *reader = b->reader;
    reader->expanded += length;
    if (reader->expanded > SHELL_TEXT)
        return err_at(reader->err, b->mark,
                      "variables grow the script beyond the limit of %d bytes", SHELL_TEXT);
    text_append_n(&b->text, text, length);
    b->begun = true;
    return STATUS_OK;
}

/* What a variable holds: split at blanks unless it stands in quotes. */
static enum status add_value(struct building *b, const char *text, bool quoted)
{
    if (quoted || !b->fields)
        return add(b, text, strlen(text));
    while (*text) {
        size_t blank = strspn(text, " \t\n");
        if (blank && b->begun)
            end_field(b);
        text += blank;
        size_t length = strcspn(text, " \t\n");
        if (length)
            TRY(add(b, text, length));
        text += length;
    }
    return STATUS_OK;
}

static void trouble(struct building *b, const char *why)
{
    if (!b->trouble)
        b->trouble = why;
}

/* What only a shell knows: in a raw reading its place is marked. */
static enum status unknown(struct building *b, const char *why)
{
    trouble(b, why);
    return b->reader->shell->raw ? add(b, SHELL_UNKNOWN, sizeof SHELL_UNKNOWN - 1) : STATUS_OK;
}

/* The items of an array: each its own field, or all in one text for ${A[*]} in quotes. */
static enum status add_items(struct building *b, const struct shell_variable *v, bool quoted,
                             bool joined)
{
    for (size_t i = 0; i < v->value.n; i++) {
        const struct shell_word *item = &v->value.items[i];
        if (i > 0 && b->fields && !joined)
            end_field(b);
        else if (i > 0)
            TRY(add(b, " ", 1));
        if (b->fields && !joined)
            b->mark = item->mark;
        TRY(add_value(b, item->text, quoted));
        if (item->trouble)
            trouble(b, item->trouble);
    }
    return STATUS_OK;
}

/* ---- ${...} ---- */

/* The place behind the bracket that closes what stands at the cursor; NULL: it stays open. */
static const char *closing(const struct cursor *cursor, char open, char close)
{
    unsigned depth = 1;
    char quote = 0;
    for (const char *at = cursor->at; at < cursor->end; at++) {
        if (*at == '\\' && quote != '\'') {
            at++;
        } else if (quote) {
            quote = *at == quote ? '\0' : quote;
        } else if (*at == '\'' || *at == '"') {
            quote = *at;
        } else if (*at == open) {
            depth++;
        } else if (*at == close && --depth == 0) {
            return at;
        }
    }
    return NULL;
}

static enum status read_part(struct building *b, struct cursor *cursor, bool quoted);
static enum status read_quoted(struct building *b, struct cursor *cursor);

/* The default of ${V:-default}; quotes in it are quotes ("${V:-"4"}" too). */
static enum status add_default(struct building *b, struct cursor cursor, bool quoted)
{
    struct shell_reader *reader = b->reader;
    if (reader->nesting == SHELL_NESTING)
        return err_at(reader->err, cursor.mark, "variables are nested deeper than %d levels",
                      SHELL_NESTING);
    reader->nesting++;
    enum status status = STATUS_OK;
    struct building inner = {.reader = reader, .mark = b->mark};
    inner.text.arena = reader->arena;
    bool whole = quoted;
    while (cursor.at < cursor.end && status == STATUS_OK) {
        bool quote = *cursor.at == '"' || (*cursor.at == '\'' && !quoted);
        whole = whole || quote;
        status = quote ? read_quoted(&inner, &cursor) : read_part(&inner, &cursor, quoted);
    }
    reader->nesting--;
    TRY(status);
    if (inner.trouble)
        trouble(b, inner.trouble);
    return add_value(b, text_string(&inner.text), whole);
}

/* What every shell has: no job is planned by where its home is, the end of a path says enough;
 * the folder that it runs in is the job's own, and so is the script's. NULL: another name. */
static const char *own_value(const struct building *b, const char *name)
{
    if (text_equal(name, "HOME"))
        return "~";
    if (text_equal(name, "0") || text_equal(name, "BASH_SOURCE"))
        return text_base_name(b->mark.file);
    return text_equal(name, "PWD") ? "." : NULL;
}

/* Whether a variable has a text of its own that another may stand in place of: one that is set
 * under a condition, in which no place is marked. */
static bool may_differ(const struct shell_variable *v)
{
    const struct shell_word *word = &v->value.items[0];
    return v->value.n == 1 && !v->pieces && (v->trouble || word->trouble) &&
           !strstr(word->text, SHELL_UNKNOWN);
}

static enum status add_variable(struct building *b, const char *name, bool array, bool joined,
                                bool quoted)
{
    const struct shell *shell = b->reader->shell;
    const struct shell_variable *v = shell_variable(shell, shell->n_variables, name, false);
    if (!v && own_value(b, name))
        return add_value(b, own_value(b, name), quoted);
    if (!v)
        return unknown(b, arena_printf(b->reader->arena,
                                       isdigit((unsigned char)name[0])
                                           ? "the script's argument $%s is not given"
                                           : "variable '%s' is not set",
                                       name));
    if (v->trouble)
        trouble(b, v->trouble);
    if (shell->raw && !array && may_differ(v))
        return unknown(b, v->trouble ? v->trouble : v->value.items[0].trouble);
    if (array || v->pieces)
        return add_items(b, v, quoted, (joined || !array) && quoted);
    if (v->value.n == 0)
        return STATUS_OK;
    if (v->value.items[0].trouble)
        trouble(b, v->value.items[0].trouble);
    return add_value(b, v->value.items[0].text, quoted);
}

/* The script's own arguments: none where nobody gives them, "$@" each a word of its own. */
static enum status add_arguments(struct building *b, bool each, bool quoted)
{
    const struct shell *shell = b->reader->shell;
    const struct shell_variable *v = shell_variable(shell, shell->n_variables, "@", false);
    return v ? add_items(b, v, quoted, quoted && !each) : STATUS_OK;
}

static bool is_set(const struct building *b, const char *name, bool and_not_empty)
{
    const struct shell *shell = b->reader->shell;
    const struct shell_variable *v = shell_variable(shell, shell->n_variables, name, false);
    if (!v)
        return own_value(b, name) != NULL;
    return (!and_not_empty || v->trouble || (v->value.n && v->value.items[0].text[0]) ||
            (v->value.n && v->value.items[0].trouble));
}

/* The cursor stands behind "${"; `end` is the closing bracket. */
static enum status expand_braces(struct building *b, struct cursor cursor, bool quoted)
{
    struct arena *arena = b->reader->arena;
    const char *start = cursor.at;
    size_t length = shell_name_length(cursor.at, cursor.end);
    if (length == 0)
        length = strspn(cursor.at, "0123456789@*#?");
    if (length > (size_t)(cursor.end - cursor.at))
        length = (size_t)(cursor.end - cursor.at);
    const char *name = arena_strndup(arena, cursor.at, length);
    for (size_t i = 0; i < length; i++)
        cursor_step(&cursor);
    bool all = cursor.end - cursor.at >= 3 && cursor.at[0] == '[' && cursor.at[2] == ']';
    bool array = all && (cursor.at[1] == '@' || cursor.at[1] == '*');
    bool joined = array && cursor.at[1] == '*', first = all && cursor.at[1] == '0';
    for (int i = 0; i < 3 && (array || first); i++) /* "${A[0]}" is "$A" */
        cursor_step(&cursor);
    if (cursor.at == cursor.end && (text_equal(name, "@") || text_equal(name, "*")))
        return add_arguments(b, name[0] == '@', quoted);
    if (cursor.at == cursor.end && length && name[0] != '#')
        return add_variable(b, name, array, joined, quoted);
    bool colon = cursor.at < cursor.end && *cursor.at == ':';
    if (colon)
        cursor_step(&cursor);
    char how = cursor.at < cursor.end ? *cursor.at : '\0';
    bool known = length && how && strchr("-=?", how);
    if (!known)
        return unknown(b, arena_printf(arena, "'${%.*s}' is worked out by the shell",
                                       (int)(cursor.end - start > 60 ? 60 : cursor.end - start),
                                       start));
    cursor_step(&cursor);
    if (is_set(b, name, colon) || how == '?')
        return add_variable(b, name, array, joined, quoted);
    return add_default(b, cursor, quoted);
}

static enum status open_bracket(struct building *b, struct mark mark, const char *what)
{
    return err_at(b->reader->err, mark, "%s is not closed", what);
}

/* What is to be calculated of "$((...))" and of "$(expr ...)", whose stars are escaped; NULL:
 * another command. */
static const char *expression(struct arena *arena, const char *at, const char *end)
{
    static const char command[] = "expr ";
    if (at < end && *at == '(' && end > at + 1 && end[-1] == ')')
        return arena_strndup(arena, at + 1, (size_t)(end - at) - 2);
    if (!text_starts(at, command) || end - at < (ptrdiff_t)sizeof command)
        return NULL;
    struct text plain = {.arena = arena};
    for (at += sizeof command - 1; at < end; at++)
        if (*at != '\\')
            text_printf(&plain, "%c", *at);
    return text_string(&plain);
}

/* What an expression gives; where it has more than numbers and names, as "${N:-8} * 2", with
 * that put in as between double quotes. *known false: only a shell can tell. */
static enum status evaluate(struct shell_reader *reader, const char *sum, int64_t *value,
                            bool *known)
{
    struct cursor inside = {sum, sum + strlen(sum), reader->cursor.mark};
    struct text text = {.arena = reader->arena};
    const char *why = NULL;
    *known = shell_arithmetic(reader->shell, sum, strlen(sum), value);
    if (*known || reader->nesting == SHELL_NESTING)
        return STATUS_OK;
    reader->nesting++;
    enum status status = shell_expand_text(reader, inside, &text, &why);
    reader->nesting--;
    *known = !status && !why &&
             shell_arithmetic(reader->shell, text_string(&text), text.length, value);
    return status;
}

/* Why the first name of an expression that is not known is not; NULL: all are. `bare`: names
 * stand without '$', too. */
static const char *unknown_in(const struct shell_reader *reader, const char *sum, bool bare)
{
    const struct shell *shell = reader->shell;
    const char *end = sum + strlen(sum);
    for (const char *at = sum; at < end; at++) {
        size_t n = shell_name_length(at, end);
        const char *name = arena_strndup(reader->arena, at, n);
        bool named = n && (bare || (at > sum && strchr("${", at[-1])));
        const struct shell_variable *v =
            named ? shell_variable(shell, shell->n_variables, name, false) : NULL;
        const char *why = v && v->value.n ? v->value.items[0].trouble : NULL;
        if (v && (v->trouble || why))
            return v->trouble ? v->trouble : why;
        if (named && !v)
            return arena_printf(reader->arena, "variable '%s' is not set", name);
        at += n;
    }
    return NULL;
}

/* "$(...)" and "$((...))"; the cursor stands behind "$(". */
static enum status expand_round(struct building *b, struct cursor *cursor, const char *end,
                                bool quoted)
{
    struct arena *arena = b->reader->arena;
    const char *sum = expression(arena, cursor->at, end);
    int64_t value = 0;
    bool known = false;
    if (sum)
        TRY(evaluate(b->reader, sum, &value, &known));
    if (known) {
        const char *text = arena_printf(arena, "%" PRId64, value);
        return add(b, text, strlen(text));
    }
    const char *unset = sum ? unknown_in(b->reader, sum, *cursor->at == '(') : NULL;
    if (unset)
        return unknown(b, unset);
    const char *text, *why;
    TRY(shell_substitute(b->reader, (struct cursor){cursor->at, end, cursor->mark}, &text,
                         &why));
    if (text) {
        if (why)
            trouble(b, why);
        return add_value(b, text, quoted);
    }
    return unknown(b, arena_printf(arena, "'$(%.*s)' is worked out by the shell",
                                   (int)(end - cursor->at > 60 ? 60 : end - cursor->at),
                                   cursor->at));
}

static enum status expand_bracket(struct building *b, struct cursor *cursor, bool quoted)
{
    struct mark mark = cursor->mark;
    bool brace = *cursor->at == '{';
    cursor_step(cursor);
    const char *end = brace ? closing(cursor, '{', '}') : closing(cursor, '(', ')');
    if (!end)
        return open_bracket(b, mark, brace ? "'${'" : "'$('");
    const struct cursor part = {cursor->at, end, cursor->mark};
    TRY(brace ? expand_braces(b, part, quoted) : expand_round(b, cursor, end, quoted));
    while (cursor->at <= end)
        cursor_step(cursor);
    return STATUS_OK;
}

/* The cursor stands on '$'. */
static enum status expand_dollar(struct building *b, struct cursor *cursor, bool quoted)
{
    cursor_step(cursor);
    if (cursor->at < cursor->end && (*cursor->at == '{' || *cursor->at == '('))
        return expand_bracket(b, cursor, quoted);
    size_t length = shell_name_length(cursor->at, cursor->end);
    if (length == 0 && cursor->at < cursor->end && strchr("0123456789", *cursor->at))
        length = 1;
    bool special = length == 0 && cursor->at < cursor->end && strchr("@*#?$!", *cursor->at);
    if (special) {
        bool all = *cursor->at == '@', arguments = all || *cursor->at == '*';
        cursor_step(cursor);
        if (arguments)
            return add_arguments(b, all, quoted);
        return unknown(b, "a special variable is known to the shell only");
    }
    if (length == 0)
        return add(b, "$", 1);
    const char *name = arena_strndup(b->reader->arena, cursor->at, length);
    for (size_t i = 0; i < length; i++)
        cursor_step(cursor);
    return add_variable(b, name, false, false, quoted);
}

/* ---- words ---- */

/* The closing quote of the one that the cursor stands on; NULL: there is none. */
static const char *shell_quote_end(const struct cursor *cursor)
{
    char quote = *cursor->at;
    for (struct cursor c = {cursor->at + 1, cursor->end, cursor->mark}; c.at < c.end; c.at++) {
        bool opens = c.at + 1 < c.end && *c.at == '$' && (c.at[1] == '{' || c.at[1] == '(');
        if (*c.at == quote)
            return c.at;
        if (quote != '"')
            continue;
        if (*c.at == '\\') {
            c.at++;
        } else if (opens) {
            bool brace = c.at[1] == '{';
            c.at += 2;
            c.at = brace ? closing(&c, '{', '}') : closing(&c, '(', ')');
            if (!c.at)
                return NULL;
        }
    }
    return NULL;
}

static enum status skip_backquotes(struct building *b, struct cursor *cursor)
{
    struct mark mark = cursor->mark;
    cursor_step(cursor);
    while (cursor->at < cursor->end && *cursor->at != '`')
        cursor_step(cursor);
    if (cursor->at == cursor->end)
        return open_bracket(b, mark, "a backquote");
    cursor_step(cursor);
    return unknown(b, "a command in backquotes is worked out by the shell");
}

/* A character with its escape, a variable, or a command; inside double quotes or not. */
static enum status read_part(struct building *b, struct cursor *cursor, bool quoted)
{
    char c = *cursor->at;
    if (c == '$')
        return expand_dollar(b, cursor, quoted);
    if (c == '`')
        return skip_backquotes(b, cursor);
    if (c != '\\' || cursor->at + 1 >= cursor->end) {
        TRY(add(b, cursor->at, 1));
        cursor_step(cursor);
        return STATUS_OK;
    }
    char next = cursor->at[1];
    cursor_step(cursor);
    if (quoted && !strchr("$`\"\\\n", next))
        TRY(add(b, "\\", 1));
    if (next != '\n')
        TRY(add(b, cursor->at, 1));
    cursor_step(cursor);
    return STATUS_OK;
}

static enum status read_quoted(struct building *b, struct cursor *cursor)
{
    struct mark mark = cursor->mark;
    char quote = *cursor->at;
    cursor_step(cursor);
    bool empty = true;
    while (cursor->at < cursor->end && *cursor->at != quote) {
        empty = false;
        if (quote == '"') {
            TRY(read_part(b, cursor, true));
        } else {
            TRY(add(b, cursor->at, 1));
            cursor_step(cursor);
        }
    }
    if (cursor->at == cursor->end)
        return open_bracket(b, mark, quote == '"' ? "a double quote" : "a single quote");
    cursor_step(cursor);
    b->begun = b->begun || empty; /* "" is a word; "${A[@]}" of an empty array is none */
    return STATUS_OK;
}

static enum status read_parts(struct building *b, struct cursor *cursor)
{
    while (cursor->at < cursor->end && !strchr(" \t\r\n;|&()<>", *cursor->at)) {
        bool quote = *cursor->at == '"' || *cursor->at == '\'';
        TRY(quote ? read_quoted(b, cursor) : read_part(b, cursor, false));
    }
    return STATUS_OK;
}

enum status shell_read_word(struct shell_reader *reader, struct shell_words *fields)
{
    struct building b = {.reader = reader, .fields = fields, .mark = reader->cursor.mark};
    b.text.arena = reader->arena;
    TRY(read_parts(&b, &reader->cursor));
    end_field(&b);
    return STATUS_OK;
}

enum status shell_read_value(struct shell_reader *reader, struct shell_word *word)
{
    struct building b = {.reader = reader, .mark = reader->cursor.mark};
    b.text.arena = reader->arena;
    TRY(read_parts(&b, &reader->cursor));
    find_marks(&b);
    *word = (struct shell_word){text_string(&b.text), b.mark, b.trouble};
    return STATUS_OK;
}

enum status shell_expand_text(struct shell_reader *reader, struct cursor cursor,
                              struct text *out, const char **why)
{
    struct building b = {.reader = reader, .mark = cursor.mark};
    b.text.arena = reader->arena;
    while (cursor.at < cursor.end)
        TRY(read_part(&b, &cursor, true));
    find_marks(&b);
    *out = b.text;
    *why = b.trouble;
    return STATUS_OK;
}

enum status shell_read_into(struct shell_reader *reader, const struct shell_words *command,
                            const char *text, const char *trouble, struct mark mark)
{
    static const char blanks[] = " \t\r\n";
    const struct shell_word *words = command->items;
    size_t n = command->n, length;
    bool whole = false; /* "-d ''": up to the end, not of one line */
    for (size_t i = 1; i < n; i++)
        whole = whole || (!words[i].text[0] && text_starts(words[i - 1].text, "-"));
    if (n < 2 || !text_equal(words[0].text, "read") || !whole ||
        shell_name_length(words[n - 1].text, words[n - 1].text + strlen(words[n - 1].text)) !=
            strlen(words[n - 1].text))
        return STATUS_OK;
    text += strspn(text, blanks);
    for (length = strlen(text); length && strchr(blanks, text[length - 1]);)
        length--;
    struct shell_variable variable = {.name = words[n - 1].text};
    const struct shell_word value = {
        .text = arena_strndup(reader->arena, text, length), .mark = mark, .trouble = trouble};
    reader->expanded += length;
    shell_words_add(&variable.value, value, reader->arena);
    return shell_set_variable(reader, variable, mark);
}

/* ---- a script in quotes ---- */

/* Appends what stands in quotes as the inner shell sees it: within double ones some characters
 * are escaped. */
static void append_quoted(const char *at, const char *end, bool twice, struct text *text)
{
    for (; at < end; at++) {
        at += twice && *at == '\\' && at + 1 < end && strchr("\"\\$`", at[1]);
        text_append_n(text, at, 1);
    }
}

bool shell_read_quotes(struct shell_reader *reader, struct cursor *script)
{
    struct cursor *cursor = &reader->cursor;
    struct text text = {.arena = reader->arena};
    const char *start = cursor->at, *end = NULL;
    *script = *cursor;
    while (cursor->at < cursor->end && !strchr(" \t\n;|&()<>", *cursor->at)) {
        bool quoted = *cursor->at == '\'' || *cursor->at == '"';
        const char *first = cursor->at + (quoted || *cursor->at == '\\');
        end = quoted ? shell_quote_end(cursor) : first < cursor->end ? first + 1 : first;
        if (!end)
            return false;
        append_quoted(first, end, quoted && *cursor->at == '"', &text);
        while (cursor->at < end + quoted)
            cursor_step(cursor);
    }
    const char *inner = text_string(&text);
    bool same = cursor->at == end + 1 && start + 1 + text.length == end;
    cursor_step(script);
    script->at = same ? script->at : inner;
    script->end = same ? end : inner + text.length;
    return true;
}

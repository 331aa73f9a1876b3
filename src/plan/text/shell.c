/* Commands of a shell script; see shell.h. */
#include "plan/text/shell.h"

#include <string.h>

#include "plan/encoding.h"
#include "plan/text/shell_branch.h"
#include "plan/text/shell_command.h"
#include "plan/text/shell_function.h"

enum { SHELL_COMMANDS = 65536 };

void shell_words_add(struct shell_words *words, struct shell_word word, struct arena *arena)
{
    words->items =
        arena_grow(arena, words->items, words->n, &words->capacity, sizeof *words->items);
    words->items[words->n++] = word;
}

const struct shell_variable *shell_variable(const struct shell *shell, size_t before,
                                            const char *name, bool exported)
{
    for (size_t i = before; i > 0; i--) {
        const struct shell_variable *v = &shell->variables[i - 1];
        if ((!exported || v->exported || v->unset) && text_equal(v->name, name))
            return v->unset ? NULL : v;
    }
    return NULL;
}

/* A value that the script does not tell is what it was given from outside. */
static void take_given(const struct shell *shell, struct shell_variable *v)
{
    bool unknown = v->trouble != NULL;
    for (size_t i = 0; i < v->value.n; i++)
        unknown = unknown || v->value.items[i].trouble;
    for (size_t i = 0; unknown && i < shell->n_given; i++) {
        if (!text_equal(shell->given[i].name, v->name))
            continue;
        v->value = shell->given[i].value;
        v->trouble = NULL;
        v->pieces = false;
        return;
    }
}

enum status shell_set_variable(struct shell_reader *reader, struct shell_variable variable,
                               struct mark mark)
{
    struct shell *shell = reader->shell;
    take_given(shell, &variable);
    if (shell->n_variables == SHELL_VARIABLES)
        return err_at(reader->err, mark, "more than the limit of %d assignments",
                      SHELL_VARIABLES);
    shell->variables = arena_grow(reader->arena, shell->variables, shell->n_variables,
                                  &reader->variable_capacity, sizeof *shell->variables);
    shell->variables[shell->n_variables++] = variable;
    return STATUS_OK;
}

/* ---- blanks, comments, #SBATCH ---- */

static enum status read_sbatch(struct shell_reader *reader, const char *line, size_t length)
{
    struct shell_reader inner = *reader;
    inner.cursor.at = line;
    inner.cursor.end = line + length;
    size_t first = reader->shell->sbatch.n;
    while (inner.cursor.at < inner.cursor.end && *inner.cursor.at != '#') {
        const char *before = inner.cursor.at;
        TRY(shell_read_word(&inner, &reader->shell->sbatch));
        while (inner.cursor.at < inner.cursor.end &&
               (inner.cursor.at == before || strchr(" \t;|&()<>", *inner.cursor.at)))
            cursor_step(&inner.cursor);
    }
    return shell_slurm_variables(reader, first);
}

static enum status skip_comment(struct shell_reader *reader)
{
    static const char sbatch[] = "#SBATCH";
    struct cursor *cursor = &reader->cursor;
    const char *newline = memchr(cursor->at, '\n', (size_t)(cursor->end - cursor->at));
    const char *end = newline ? newline : cursor->end;
    size_t length = (size_t)(end - cursor->at), head = sizeof sbatch - 1;
    if (length > head && strncmp(cursor->at, sbatch, head) == 0 && cursor->at[head] == ' ')
        TRY(read_sbatch(reader, cursor->at + head + 1, length - head - 1));
    while (cursor->at < end)
        cursor_step(cursor);
    return STATUS_OK;
}

void shell_skip_blank(struct cursor *cursor)
{
    while (cursor->at < cursor->end) {
        bool joined =
            *cursor->at == '\\' && cursor->at + 1 < cursor->end &&
            (cursor->at[1] == '\n' ||
             (cursor->at[1] == '\r' && cursor->at + 2 < cursor->end && cursor->at[2] == '\n'));
        if (!joined && !strchr(" \t\r", *cursor->at))
            return;
        bool carriage = joined && cursor->at[1] == '\r';
        cursor_step(cursor);
        for (int i = 0; i < (joined ? 1 + carriage : 0); i++)
            cursor_step(cursor);
    }
}

/* ---- assignments ---- */

/* Characters of "NAME=" or "NAME+=" at the cursor; 0: no assignment. */
static size_t assignment_length(const struct cursor *cursor, bool *adds)
{
    size_t length = shell_name_length(cursor->at, cursor->end);
    size_t left = (size_t)(cursor->end - cursor->at) - length;
    *adds = length && left >= 2 && cursor->at[length] == '+' && cursor->at[length + 1] == '=';
    if (*adds)
        return length + 2;
    return length && left >= 1 && cursor->at[length] == '=' ? length + 1 : 0;
}

static enum status read_array(struct shell_reader *reader, struct shell_words *items)
{
    struct cursor *cursor = &reader->cursor;
    struct mark mark = cursor->mark;
    cursor_step(cursor);
    for (;;) {
        shell_skip_blank(cursor);
        if (cursor->at == cursor->end)
            return err_at(reader->err, mark, "'(' is not closed");
        if (*cursor->at == ')')
            break;
        if (*cursor->at == '#')
            TRY(skip_comment(reader));
        else if (strchr("\n;|&(<>", *cursor->at))
            cursor_step(cursor);
        else
            TRY(shell_read_word(reader, items));
    }
    cursor_step(cursor);
    return STATUS_OK;
}

static void prepend(struct shell_reader *reader, struct shell_variable *v, bool array)
{
    const struct shell_variable *old =
        shell_variable(reader->shell, reader->shell->n_variables, v->name, false);
    if (!old)
        return;
    v->trouble = old->trouble;
    v->pieces = old->pieces && !array;
    if (!array && old->value.n == 1) {
        struct shell_word *mine = &v->value.items[0];
        const struct shell_word *first = &old->value.items[0];
        mine->text = arena_printf(reader->arena, "%s%s", first->text, mine->text);
        mine->trouble = mine->trouble ? mine->trouble : first->trouble;
        return;
    }
    struct shell_words all = {0};
    for (size_t i = 0; i < old->value.n; i++)
        shell_words_add(&all, old->value.items[i], reader->arena);
    for (size_t i = 0; i < v->value.n; i++)
        shell_words_add(&all, v->value.items[i], reader->arena);
    v->value = all;
}

/* The value stands in one word, never split. */
static enum status read_scalar(struct shell_reader *reader, struct shell_words *value)
{
    struct shell_word word;
    TRY(shell_read_value(reader, &word));
    reader->expanded += strlen(word.text);
    shell_words_add(value, word, reader->arena);
    return STATUS_OK;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n';
}

/* What an assignment adds to the words that stood there, X="$X --flag" or X+=" --flag"; NULL
 * where it is another value. What of it is not known for `old`'s own sake does not count. */
static const char *added_text(const struct shell_variable *old, const struct shell_word *whole,
                              const char *before, bool adds)
{
    const char *tail = whole->text, *trouble = whole->trouble;
    size_t length = strlen(before);
    if (!adds && !text_starts(tail, before))
        return NULL;
    for (size_t i = 0; i < old->value.n && !adds; i++)
        trouble = trouble == old->value.items[i].trouble ? NULL : trouble;
    tail += adds ? 0 : length;
    bool apart = !*tail || is_blank(*tail) || is_blank(before[length - 1]);
    return apart && !trouble ? tail : NULL;
}

/* The words before stay as they are known; the new ones are pieces that may not be there, as
 * `why` says, or NULL: they are, behind some that may not. */
static bool add_pieces(struct shell_reader *reader, struct shell_variable *v, bool adds,
                       const char *why)
{
    const struct shell_variable *old =
        shell_variable(reader->shell, reader->shell->n_variables, v->name, false);
    struct text before = {.arena = reader->arena};
    struct shell_words all = {0};
    if (!old || old->trouble || v->value.n != 1 || (!why && !old->pieces))
        return false;
    for (size_t i = 0; i < old->value.n; i++) {
        text_printf(&before, "%s%s", i ? " " : "", old->value.items[i].text);
        shell_words_add(&all, old->value.items[i], reader->arena);
    }
    const char *at =
        before.length ? added_text(old, &v->value.items[0], text_string(&before), adds) : NULL;
    if (!at)
        return false;
    while (*at) {
        size_t blank = strspn(at, " \t\n"), n = strcspn(at + blank, " \t\n");
        const struct shell_word word = {arena_strndup(reader->arena, at + blank, n),
                                        v->value.items[0].mark, why};
        if (n)
            shell_words_add(&all, word, reader->arena);
        at += blank + n;
    }
    v->value = all;
    v->pieces = true;
    return true;
}

static enum status read_assignment(struct shell_reader *reader,
                                   struct shell_open_command *command, size_t length, bool adds)
{
    struct cursor *cursor = &reader->cursor;
    struct mark mark = cursor->mark;
    struct shell_variable v = {
        .name = arena_strndup(reader->arena, cursor->at, length - 1 - (size_t)adds)};
    for (size_t i = 0; i < length; i++)
        cursor_step(cursor);
    bool array = cursor->at < cursor->end && *cursor->at == '(';
    TRY(array ? read_array(reader, &v.value) : read_scalar(reader, &v.value));
    const struct shell_variable *old =
        shell_variable(reader->shell, reader->shell->n_variables, v.name, false);
    v.exported = command->exported || (old && old->exported);
    const char *condition = arena_printf(
        reader->arena, "variable '%s' is set under a condition, on line %u", v.name, mark.line);
    bool conditional =
        shell_branch_unknown(reader) > 0 || command->joined == '&' || command->joined == '|';
    if (!array && add_pieces(reader, &v, adds, conditional ? condition : NULL))
        return shell_set_variable(reader, v, mark);
    if (adds && !array)
        prepend(reader, &v, false);
    for (size_t i = 0; i < v.value.n && conditional; i++)
        v.value.items[i].trouble = condition;
    if (adds && array)
        prepend(reader, &v, true);
    if (conditional && !(adds && array)) /* what stood in the array before stays known */
        v.trouble = condition;
    return shell_set_variable(reader, v, mark);
}

/* ---- commands ---- */

/* Assignments in front of a command are its environment, V=x cmd, and end with it. */
static void export_assignments(struct shell_reader *reader,
                               const struct shell_open_command *command)
{
    for (size_t i = command->first_assignment; i < reader->shell->n_variables; i++)
        reader->shell->variables[i].exported = true;
}

static enum status restore_assignments(struct shell_reader *reader,
                                       const struct shell_open_command *command)
{
    size_t first = command->first_assignment, last = reader->shell->n_variables;
    for (size_t i = first; i < last && !command->exported; i++) {
        const char *name = reader->shell->variables[i].name;
        const struct shell_variable *old = shell_variable(reader->shell, first, name, false);
        struct shell_variable before = {.name = name, .unset = true};
        TRY(shell_set_variable(reader, old ? *old : before, command->mark));
    }
    return STATUS_OK;
}

static void mark_exported(struct shell_reader *reader, const char *name)
{
    struct shell *shell = reader->shell;
    for (size_t i = shell->n_variables; i > 0; i--) {
        if (!text_equal(shell->variables[i - 1].name, name))
            continue;
        shell->variables[i - 1].exported = true;
        return;
    }
}

/* "unset A B": from here on there are none; under a condition nobody knows. */
static enum status unset_names(struct shell_reader *reader, const struct shell_words *words)
{
    if (!text_equal(words->items[0].text, "unset") ||
        (words->n > 1 && text_equal(words->items[1].text, "-f")))
        return STATUS_OK;
    for (size_t i = 1; i < words->n; i++) {
        const char *name = words->items[i].text;
        const struct shell_variable *old =
            shell_variable(reader->shell, reader->shell->n_variables, name, false);
        struct shell_variable v = {.name = name, .unset = true};
        if (!old)
            continue;
        if (shell_branch_unknown(reader)) {
            v = *old;
            v.trouble = arena_printf(reader->arena,
                                     "variable '%s' is unset under a condition, on line %u",
                                     name, words->items[0].mark.line);
        }
        TRY(shell_set_variable(reader, v, words->items[0].mark));
    }
    return STATUS_OK;
}

static enum status keep(struct shell_reader *reader, struct shell_open_command *command)
{
    struct shell *shell = reader->shell;
    if (command->words.n == 0)
        return STATUS_OK;
    export_assignments(reader, command);
    if (shell->n_commands == SHELL_COMMANDS)
        return err_at(reader->err, command->mark, "more than the limit of %d commands",
                      SHELL_COMMANDS);
    shell->commands = arena_grow(reader->arena, shell->commands, shell->n_commands,
                                 &reader->command_capacity, sizeof *shell->commands);
    struct shell_words words = {0};
    for (size_t i = 0; i < reader->prefix.n; i++)
        shell_words_add(&words, reader->prefix.items[i], reader->arena);
    for (size_t i = 0; i < command->words.n; i++)
        shell_words_add(&words, command->words.items[i], reader->arena);
    shell->commands[shell->n_commands++] = (struct shell_command){
        words,           command->mark,   shell->n_variables, shell_branch_unknown(reader) > 0,
        command->joined, command->negated};
    shell_write_file(reader, command);
    TRY(restore_assignments(reader, command));
    TRY(unset_names(reader, &command->words));
    return shell_function_shift(reader, &command->words);
}

/* What stands where a command may begin: a keyword, an assignment, or its first word. */
static enum status read_beginning(struct shell_reader *reader,
                                  struct shell_open_command *command)
{
    struct cursor *cursor = &reader->cursor;
    size_t length;
    bool adds;
    enum shell_keyword keyword = shell_keyword_at(cursor, &length);
    if (keyword != KEYWORD_NONE) {
        const struct shell_branch *b = shell_branch_innermost(reader);
        const struct shell_function *ended =
            keyword == KEYWORD_CLOSES && b ? b->function : NULL;
        if (shell_branch_word(reader, keyword))
            command->first_assignment = reader->shell->n_variables;
        if (ended)
            TRY(shell_function_close(reader, ended));
        if (keyword == KEYWORD_OPENS && *cursor->at == '{')
            TRY(shell_function_open(reader, shell_branch_innermost(reader)));
        if (keyword == KEYWORD_OPENS || ended)
            command->first_assignment = reader->shell->n_variables;
        command->exported = keyword == KEYWORD_EXPORT;
        command->negated = *cursor->at == '!' && !command->negated;
        for (size_t i = 0; i < length; i++)
            cursor_step(cursor);
        return STATUS_OK;
    }
    length = assignment_length(cursor, &adds);
    if (length)
        return read_assignment(reader, command, length, adds);
    size_t name = command->exported ? shell_name_length(cursor->at, cursor->end) : 0;
    if (name && !shell_branch_skips(reader))
        mark_exported(reader, arena_strndup(reader->arena, cursor->at, name));
    command->mark = cursor->mark;
    return shell_read_word(reader, &command->words);
}

/* ---- bash -c "..." ---- */

static enum status read_commands(struct shell_reader *reader);

/* A quote behind "bash -c", "sh -lc" and their like. */
static bool is_script(const struct shell_reader *reader, const struct shell_words *words)
{
    size_t i = words->n;
    const char *option = i ? words->items[i - 1].text : "";
    if (!strchr("'\"", *reader->cursor.at) || option[0] != '-' || !text_ends(option, "c"))
        return false;
    while (i > 1 && words->items[i - 1].text[0] == '-')
        i--;
    const char *name = text_base_name(words->items[i - 1].text);
    return text_equal(name, "bash") || text_equal(name, "sh");
}

enum status shell_read_inner(struct shell_reader *reader, struct cursor script,
                             const struct shell_words *words)
{
    struct shell_reader inner = *reader;
    if (reader->nesting == SHELL_NESTING)
        return err_at(reader->err, script.mark, "shells inside each other");
    inner.expanded += words->n * sizeof *words->items;
    if (inner.expanded > SHELL_TEXT)
        return err_at(reader->err, script.mark,
                      "scripts in quotes grow the script beyond the limit of %d bytes",
                      SHELL_TEXT);
    inner.cursor = script;
    inner.nesting++;
    for (size_t i = 0; i < words->n; i++)
        shell_words_add(&inner.prefix, words->items[i], reader->arena);
    enum status status = read_commands(&inner);
    inner.cursor = reader->cursor;
    inner.nesting = reader->nesting;
    inner.prefix = reader->prefix;
    inner.branches = reader->branches;
    *reader = inner;
    return status;
}

static enum status read_script(struct shell_reader *reader,
                               const struct shell_open_command *command)
{
    struct mark mark = reader->cursor.mark;
    struct cursor script;
    if (!shell_read_quotes(reader, &script))
        return err_at(reader->err, mark, "a quote is not closed");
    return shell_read_inner(reader, script, &command->words);
}

static enum status read_next(struct shell_reader *reader, struct shell_open_command *command)
{
    struct cursor *cursor = &reader->cursor;
    if (*cursor->at == '<' || *cursor->at == '>') {
        struct shell_words *words = &command->words;
        bool joined = words->n && cursor->at[-1] >= '0' && cursor->at[-1] <= '9';
        if (joined && strspn(words->items[words->n - 1].text, "0123456789") ==
                          strlen(words->items[words->n - 1].text))
            words->n--; /* "2>": the number of a stream */
        return shell_read_redirection(reader, command);
    }
    if (is_script(reader, &command->words))
        return read_script(reader, command);
    return command->words.n ? shell_read_word(reader, &command->words)
                            : read_beginning(reader, command);
}

/* Ends the command at a newline or an operator, and begins the next one. */
static enum status end_command(struct shell_reader *reader, struct shell_open_command *command)
{
    struct cursor *cursor = &reader->cursor;
    char c = *cursor->at;
    bool forgot, head;
    TRY(shell_function_head(reader, &command->words, c, &head));
    if (!head && !shell_branch_case(reader, &command->words, c, &forgot))
        TRY(keep(reader, command));

    TRY(shell_branch_loop(reader, &command->words, command->mark));
    cursor_step(cursor);
    bool twice = cursor->at < cursor->end && *cursor->at == c && (c == '&' || c == '|');
    if (twice)
        cursor_step(cursor);
    if (c == '\n' && command->delimiter)
        TRY(shell_read_document(reader, command));
    bool waits = command->delimiter && c != '\n'; /* cat <<EOF && next */
    struct shell_open_command next = {.joined = c == '\n' || c == ';' ? '\0'
                                                : twice               ? c
                                                                      : '(',
                                      .first_assignment = reader->shell->n_variables};
    if (waits) {
        next.delimiter = command->delimiter;
        next.target = command->target;
        next.appends = command->appends;
        next.literal = command->literal;
        next.strip = command->strip;
    }
    *command = next;
    return STATUS_OK;
}

static enum status read_commands(struct shell_reader *reader)
{
    struct cursor *cursor = &reader->cursor;
    struct shell_open_command command = {.first_assignment = reader->shell->n_variables};
    for (;;) {
        shell_skip_blank(cursor);
        if (cursor->at == cursor->end)
            return keep(reader, &command);
        if (*cursor->at == '#')
            TRY(skip_comment(reader));
        else if (strchr("\n;|&()", *cursor->at))
            TRY(end_command(reader, &command));
        else
            TRY(read_next(reader, &command));
    }
}

/* Reads the whole script with what is known of its functions' calls. */
static enum status read_all(struct shell_reader *reader, const char *name, const char *text,
                            size_t length)
{
    struct shell *shell = reader->shell;
    reader->cursor = (struct cursor){text, text + length, {name, 1, 1}};
    for (size_t i = 0; i < shell->n_given; i++) {
        const struct shell_given *given = &shell->given[i];
        const struct shell_variable v = {
            .name = given->name, .value = given->value, .exported = true};
        TRY(shell_set_variable(reader, v, reader->cursor.mark));
    }
    return read_commands(reader);
}

/* A shell as it begins, with what it has from outside, is read into. */
static enum status read_passes(const char *name, const char *text, size_t length,
                               const struct shell *begin, struct arena *arena,
                               struct shell *shell, struct err *err)
{
    enum { PASSES = 3 }; /* a function called by one that is called */
    struct shell_functions *functions = arena_alloc(arena, 1, sizeof *functions);
    TRY(encoding_check(name, false, text, length, err));
    for (unsigned pass = 0; pass < PASSES; pass++) {
        struct shell_reader reader = {
            .shell = shell, .arena = arena, .err = err, .functions = functions};
        *shell = *begin;
        TRY(read_all(&reader, name, text, length));
        if (!shell_function_calls(shell, functions))
            break;
    }
    return STATUS_OK;
}

enum status shell_read(const char *name, const char *text, size_t length,
                       const struct shell_given *given, size_t n_given, struct arena *arena,
                       struct shell *shell, struct err *err)
{
    const struct shell begin = {.given = given, .n_given = n_given};
    return read_passes(name, text, length, &begin, arena, shell, err);
}

enum status shell_read_raw(const char *name, const char *text, size_t length,
                           const struct shell_given *given, size_t n_given, struct arena *arena,
                           struct shell *shell, struct err *err)
{
    const struct shell begin = {.given = given, .n_given = n_given, .raw = true};
    return read_passes(name, text, length, &begin, arena, shell, err);
}

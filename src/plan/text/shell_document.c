/* Redirections of a script's commands, here-documents, and files that are written with echo;
 * see shell_command.h. */
#include "plan/text/shell_command.h"

#include <string.h>

/* ---- files ---- */

/* What is appended stands behind what was written before. */
static void add_file(struct shell_reader *reader, struct shell_file file, bool appends)
{
    struct shell *shell = reader->shell;
    for (size_t i = shell->n_files; appends && i > 0; i--) {
        const struct shell_file *old = &shell->files[i - 1];
        if (!text_equal(old->name, file.name))
            continue;
        file.text = arena_join(reader->arena, old->text, file.text);
        file.trouble = old->trouble ? old->trouble : file.trouble;
        file.mark = old->mark;
        break;
    }
    reader->expanded += strlen(file.text);
    shell->files = arena_grow(reader->arena, shell->files, shell->n_files,
                              &reader->file_capacity, sizeof *shell->files);
    shell->files[shell->n_files++] = file;
}

/* A word as "echo -e" and printf write it: with its line ends. */
static void append_escaped(struct text *out, const char *word)
{
    for (; *word; word++) {
        bool line = word[0] == '\\' && word[1] == 'n', tab = word[0] == '\\' && word[1] == 't';
        text_append(out, line ? "\n" : tab ? "\t" : "");
        if (!line && !tab)
            text_append_n(out, word, 1);
        word += line || tab;
    }
}

/* "echo 'tp: 8' > FILE", "echo -e 'a\nb'", "printf '..'" without conversions. */
void shell_write_file(struct shell_reader *reader, const struct shell_open_command *command)
{
    const struct shell_word *words = command->words.items;
    size_t n = command->words.n, first = 1;
    if (!command->target || command->delimiter || n < 2)
        return;
    bool echo = text_equal(words[0].text, "echo"), escapes = !echo, ends = echo;
    if (!echo && (!text_equal(words[0].text, "printf") || n > 2 || strchr(words[1].text, '%')))
        return;
    for (; echo && first < n && words[first].text[0] == '-'; first++) {
        size_t length = strspn(words[first].text + 1, "neE");
        if (!length || words[first].text[1 + length])
            break;
        escapes = escapes || strchr(words[first].text, 'e');
        ends = ends && !strchr(words[first].text, 'n');
    }
    struct text text = {.arena = reader->arena};
    struct shell_file file = {.name = command->target, .mark = command->mark};
    for (size_t i = first; i < n; i++) {
        text_append(&text, i > first ? " " : "");
        if (escapes)
            append_escaped(&text, words[i].text);
        else
            text_append(&text, words[i].text);
        file.trouble = file.trouble ? file.trouble : words[i].trouble;
    }
    text_append(&text, ends ? "\n" : "");
    file.text = text_string(&text);
    if (reader->expanded + text.length < SHELL_TEXT)
        add_file(reader, file, command->appends);
}

/* ---- redirections ---- */

static enum status read_one(struct shell_reader *reader, struct shell_word *word)
{
    struct shell_words fields = {0};
    shell_skip_blank(&reader->cursor);
    TRY(shell_read_word(reader, &fields));
    if (fields.n)
        *word = fields.items[0];
    return STATUS_OK;
}

static enum status read_delimiter(struct shell_reader *reader,
                                  struct shell_open_command *command)
{
    struct cursor *cursor = &reader->cursor;
    command->strip = cursor->at < cursor->end && *cursor->at == '-';
    if (command->strip)
        cursor_step(cursor);
    shell_skip_blank(cursor);
    command->literal = cursor->at < cursor->end && strchr("'\"\\", *cursor->at);
    struct shell_word word = {.text = ""};
    TRY(read_one(reader, &word));
    command->delimiter = word.text;
    return STATUS_OK;
}

enum status shell_read_redirection(struct shell_reader *reader,
                                   struct shell_open_command *command)
{
    struct cursor *cursor = &reader->cursor;
    bool out = *cursor->at == '>';
    size_t same = 0;
    for (char c = *cursor->at; cursor->at < cursor->end && *cursor->at == c && same < 3; same++)
        cursor_step(cursor);
    if (!out && same == 2)
        return read_delimiter(reader, command);
    while (cursor->at < cursor->end && strchr("&|", *cursor->at))
        cursor_step(cursor);
    struct shell_word word = {.text = ""};
    TRY(read_one(reader, &word));
    if (out && word.text[0] && !word.trouble) {
        command->target = word.text;
        command->appends = same == 2;
    }
    return STATUS_OK;
}

/* Lines up to the delimiter alone on its line; the cursor stands behind the command's line. */
static struct cursor document(struct shell_reader *reader,
                              const struct shell_open_command *command)
{
    struct cursor *cursor = &reader->cursor;
    struct cursor body = *cursor;
    size_t length = strlen(command->delimiter);
    while (cursor->at < cursor->end) {
        const char *newline = memchr(cursor->at, '\n', (size_t)(cursor->end - cursor->at));
        const char *end = newline ? newline : cursor->end, *line = cursor->at;
        while (command->strip && line < end && *line == '\t')
            line++;
        bool last =
            (size_t)(end - line) == length && memcmp(line, command->delimiter, length) == 0;
        if (last)
            body.end = cursor->at;
        while (cursor->at < end)
            cursor_step(cursor);
        if (newline)
            cursor_step(cursor);
        if (last)
            return body;
    }
    body.end = cursor->end;
    return body;
}

/* The cursor stands on "cat <<EOF" and a line end: *body is the document. */
static enum status find_shown(struct shell_reader *reader, struct shell_open_command *command,
                              struct cursor *body, bool *found)
{
    static const char name[] = "cat ";
    struct cursor *cursor = &reader->cursor;
    *found = false;
    shell_skip_blank(cursor);
    if (cursor->end - cursor->at < (ptrdiff_t)sizeof name || !text_starts(cursor->at, name))
        return STATUS_OK;
    for (size_t i = 0; i < sizeof name - 1; i++)
        cursor_step(cursor);
    shell_skip_blank(cursor);
    if (cursor->end - cursor->at < 2 || !text_starts(cursor->at, "<<"))
        return STATUS_OK;
    TRY(shell_read_redirection(reader, command));
    shell_skip_blank(cursor);
    if (!command->delimiter || cursor->at == cursor->end || *cursor->at != '\n')
        return STATUS_OK;
    cursor_step(cursor);
    *body = document(reader, command);
    *found = true;
    return STATUS_OK;
}

/* <<-: tabs that begin lines are not the document's. */
static const char *without_tabs(struct shell_reader *reader, const char *text)
{
    struct text out = {.arena = reader->arena};
    bool begins = true;
    for (; *text; text++) {
        if (!begins || *text != '\t')
            text_append_n(&out, text, 1);
        begins = *text == '\n' || (begins && *text == '\t');
    }
    return text_string(&out);
}

/* $(cat <<EOF ..): what cat shows is the document, without the line ends behind it. */
enum status shell_show_document(struct shell_reader *reader, struct cursor part,
                                const char **shown, const char **why)
{
    const struct cursor before = reader->cursor;
    struct shell_open_command command = {.mark = part.mark};
    struct text text = {.arena = reader->arena};
    struct cursor body;
    bool found;
    *shown = *why = NULL;
    reader->cursor = part;
    enum status status = find_shown(reader, &command, &body, &found);
    if (status == STATUS_OK && found && command.literal)
        text_append_n(&text, body.at, (size_t)(body.end - body.at));
    else if (status == STATUS_OK && found)
        status = shell_expand_text(reader, body, &text, why);
    reader->cursor = before;
    const char *all = text_string(&text);
    all = command.strip ? without_tabs(reader, all) : all;
    size_t length = strlen(all);
    while (length && all[length - 1] == '\n')
        length--;
    if (status == STATUS_OK && found)
        *shown = arena_strndup(reader->arena, all, length);
    return status;
}

/* "srun bash <<EOF", "ssh node bash -s <<EOF": what a shell gets is a script. */
static bool feeds_shell(const struct shell_words *words)
{
    size_t i = words->n;
    while (i > 1 && words->items[i - 1].text[0] == '-')
        i--;
    const char *name = i ? text_base_name(words->items[i - 1].text) : "";
    return text_equal(name, "bash") || text_equal(name, "sh");
}

enum status shell_read_document(struct shell_reader *reader,
                                const struct shell_open_command *command)
{
    struct cursor body = document(reader, command);
    struct text text = {.arena = reader->arena};
    const char *trouble = NULL, *name = command->target;
    if (!name && feeds_shell(&command->words))
        return shell_read_inner(reader, body, &command->words);
    if (command->literal)
        text_append_n(&text, body.at, (size_t)(body.end - body.at));
    else
        TRY(shell_expand_text(reader, body, &text, &trouble));
    if (!name && command->words.n > 1 && text_equal(command->words.items[0].text, "tee"))
        name = command->words.items[1].text;
    if (!name)
        return shell_read_into(reader, &command->words, text_string(&text), trouble, body.mark);
    if (trouble)
        return err_at(reader->err, body.mark, "file '%s' is not known: %s", name, trouble);
    const char *all = text_string(&text);
    add_file(reader,
             (struct shell_file){name, command->strip ? without_tabs(reader, all) : all,
                                 body.mark, NULL},
             command->appends);
    return STATUS_OK;
}

/* Commands whose output can be told from a script: parts of paths, "$(basename $MODEL)", and
 * the script's own folder, "$(cd "$(dirname "$0")" && pwd)", and "$(cat <<EOF ..)". Other files
 * are looked for beside the job, so its folder, and the one that it runs in, is "."; see
 * shell_expand.h. */
#include <ctype.h>
#include <string.h>

#include "plan/text/shell_command.h"

/* ---- words ---- */

/* "2>/dev/null" says nothing of the output. */
static enum status skip_redirection(struct shell_reader *reader, struct shell_words *words)
{
    struct cursor *cursor = &reader->cursor;
    struct shell_words target = {0};
    const char *last = words->n ? words->items[words->n - 1].text : "";
    bool number = words->n && *cursor->at != '&' && isdigit((unsigned char)cursor->at[-1]) &&
                  strspn(last, "0123456789") == strlen(last);
    words->n -= number;
    while (cursor->at < cursor->end && strchr("<>&", *cursor->at))
        cursor_step(cursor);
    shell_skip_blank(cursor);
    return shell_read_word(reader, &target);
}

/* The words of one command, or of two with && between; *plain false: it is more than that. */
static enum status read_words(struct shell_reader *reader, struct shell_words words[2],
                              bool *plain)
{
    struct cursor *cursor = &reader->cursor;
    size_t at = 0;
    *plain = true;
    for (shell_skip_blank(cursor); cursor->at < cursor->end; shell_skip_blank(cursor)) {
        char c = *cursor->at, next = cursor->at + 1 < cursor->end ? cursor->at[1] : '\0';
        bool both = c == '&' && next == '&';
        *plain = !strchr(";|()\n#", c) && !(both && at) && (c != '&' || both || next == '>') &&
                 !(c == '<' && next == '<');
        if (!*plain)
            return STATUS_OK;
        if (both) {
            cursor_step(cursor);
            cursor_step(cursor);
            at++;
        } else if (strchr("<>&", c)) {
            TRY(skip_redirection(reader, &words[at]));
        } else {
            TRY(shell_read_word(reader, &words[at]));
        }
    }
    return STATUS_OK;
}

/* ---- commands ---- */

static const char *name_of(struct arena *arena, const char *path, const char *ending)
{
    const char *name = text_base_name(text_without_slashes(path, arena));
    size_t n = strlen(name), length = strlen(ending);
    return n > length && text_ends(name, ending) ? arena_strndup(arena, name, n - length)
                                                 : name;
}

/* The first word of a command that is no option, and what stands behind. */
static size_t operand(const struct shell_words *words)
{
    size_t i = 1;
    while (i < words->n && words->items[i].text[0] == '-' && !words->items[i].trouble)
        i++;
    return i;
}

/* What a command of one operand writes; NULL: none of those that are known. */
static const char *output_of(struct arena *arena, const struct shell_words *words, size_t at)
{
    const char *name = words->items[0].text, *of = words->items[at].text;
    bool ending = words->n == at + 2;
    if (text_equal(name, "basename") && (ending || words->n == at + 1))
        return name_of(arena, of, ending ? words->items[at + 1].text : "");
    if (words->n != at + 1)
        return NULL;
    if (text_equal(name, "dirname"))
        return text_folder(text_without_slashes(of, arena), arena);
    bool same = text_equal(name, "realpath") || text_equal(name, "readlink");
    return same ? of : NULL;
}

enum status shell_substitute(struct shell_reader *reader, struct cursor part, const char **text,
                             const char **why)
{
    struct shell_words words[2] = {{0}, {0}};
    const struct cursor before = reader->cursor;
    bool plain;
    *text = *why = NULL;
    if (reader->nesting == SHELL_NESTING)
        return STATUS_OK;
    reader->nesting++;
    enum status shows = shell_show_document(reader, part, text, why);
    if (shows != STATUS_OK || *text) {
        reader->nesting--;
        return shows;
    }
    reader->cursor = part;
    enum status status = read_words(reader, words, &plain);
    reader->nesting--;
    reader->cursor = before;
    TRY(status);
    size_t n = words[0].n, at = operand(&words[0]);
    const struct shell_word *of = at < n ? &words[0].items[at] : NULL;
    if (!plain || !n || words[0].items[0].trouble)
        return STATUS_OK;
    bool moves = text_equal(words[0].items[0].text, "cd") && at + 1 == n && words[1].n &&
                 operand(&words[1]) == words[1].n;
    const struct shell_words *last = moves ? &words[1] : &words[0];
    if (!moves && words[1].n)
        return STATUS_OK;
    if (text_equal(last->items[0].text, "pwd") && (moves || at == n))
        *text = moves ? of->text : ".";
    else if (!moves && of)
        *text = output_of(reader->arena, &words[0], at);
    *why = *text && of ? of->trouble : NULL;
    return STATUS_OK;
}

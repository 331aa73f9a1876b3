/* Inside the shell reader: a command while it is read, between shell.c, which walks commands,
 * and shell_document.c, which has what they write. */
#ifndef MOEPLAN_PLAN_TEXT_SHELL_COMMAND_H
#define MOEPLAN_PLAN_TEXT_SHELL_COMMAND_H

#include "plan/text/shell_expand.h"

struct shell_open_command {
    struct shell_words words;
    struct mark mark;
    bool exported;           /* "export" stands in front */
    size_t first_assignment; /* of the assignments in front of it */
    const char *target;      /* "> file" */
    bool appends;            /* ">> file" */
    const char *delimiter;   /* "<<EOF" */
    bool literal, strip;     /* <<'EOF', <<-EOF */
    char joined;             /* shell_command's */
    bool negated;
};

/* Blanks and continued lines. */
void shell_skip_blank(struct cursor *cursor);

/* The commands of a script, each behind the words that start the inner shell. */
enum status shell_read_inner(struct shell_reader *reader, struct cursor script,
                             const struct shell_words *words);

/* The cursor stands on '<' or '>'. */
enum status shell_read_redirection(struct shell_reader *reader,
                                   struct shell_open_command *command);

/* Behind the line of a command with "<<EOF": its document is a file, a variable, or a shell's
 * script. STATUS_INPUT for a file with words that only a shell knows. */
enum status shell_read_document(struct shell_reader *reader,
                                const struct shell_open_command *command);

/* What $(cat <<EOF ..) gives, between "$(" and ")", and what of it is not known; *shown NULL:
 * another command. */
enum status shell_show_document(struct shell_reader *reader, struct cursor part,
                                const char **shown, const char **why);

/* The file that echo or printf writes, as it is known; other commands write none. */
void shell_write_file(struct shell_reader *reader, const struct shell_open_command *command);

#endif

/* Branches of a script whose conditions are known: tests of texts and numbers that stand in the
 * script itself. What a false condition leaves out is forgotten, what a true one runs stands as
 * if there were no condition; everything else stays "under a condition". */
#ifndef MOEPLAN_PLAN_TEXT_SHELL_BRANCH_H
#define MOEPLAN_PLAN_TEXT_SHELL_BRANCH_H

#include "plan/text/shell_expand.h"

enum shell_keyword {
    KEYWORD_NONE,
    KEYWORD_IF,
    KEYWORD_THEN,
    KEYWORD_ELIF,
    KEYWORD_ELSE,
    KEYWORD_FOR,
    KEYWORD_CASE,
    KEYWORD_OPENS, /* another loop, or a group */
    KEYWORD_CLOSES,
    KEYWORD_PASSES,
    KEYWORD_EXPORT
};

/* What the word at the cursor is, and its characters. */
enum shell_keyword shell_keyword_at(const struct cursor *cursor, size_t *length);

/* A word that opens, parts or closes if, case, loops and groups: called where a command may
 * begin with it. True where what it ends was left out: commands and assignments since the
 * branch began are gone. */
bool shell_branch_word(struct shell_reader *reader, enum shell_keyword keyword);

/* A group opens without its word. */
void shell_branch_group(struct shell_reader *reader);

/* The innermost branch that is open, or NULL. */
struct shell_branch *shell_branch_innermost(struct shell_reader *reader);

/* The words of a command, as one of `case` is read: "WORD in", patterns; `end` is the character
 * that ends it. True where they are none of a command. Sets *forgot as shell_branch_word. */
bool shell_branch_case(struct shell_reader *reader, const struct shell_words *words, char end,
                       bool *forgot);

/* The words of a command, as "NAME in WORD" of a loop: sets the name to a word that is alone,
 * and not known where there are several. Others do nothing. */
enum status shell_branch_loop(struct shell_reader *reader, const struct shell_words *words,
                              struct mark mark);

/* Levels of if, case, loops and groups around the next command whose branch may not run. */
unsigned shell_branch_unknown(const struct shell_reader *reader);

/* Whether what is read now is left out. */
bool shell_branch_skips(const struct shell_reader *reader);

#endif

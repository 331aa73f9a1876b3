/* Functions of a script: what their arguments are, "$1" and the like, where the script calls
 * them alike. A script is read again once its calls are known. */
#ifndef MOEPLAN_PLAN_TEXT_SHELL_FUNCTION_H
#define MOEPLAN_PLAN_TEXT_SHELL_FUNCTION_H

#include "plan/text/shell_expand.h"

enum { SHELL_FUNCTIONS = 64, SHELL_ARGUMENTS = 32 };

struct shell_function {
    const char *name;
    const struct shell_words *call; /* name and arguments; NULL: it is called nowhere */
    struct mark mark;               /* of the call */
    bool several;                   /* calls with other arguments */
    bool certain;                   /* one of the calls is under no condition */
};

struct shell_functions {
    struct shell_function items[SHELL_FUNCTIONS];
    size_t n;
};

/* *head: the words that `end` ends are the head of a function, "NAME(" or "function NAME {",
 * and no command. The group that opens next is its body. */
enum status shell_function_head(struct shell_reader *reader, const struct shell_words *words,
                                char end, bool *head);

/* A group opens, behind a head with the arguments of the call; closes. Sets variables. */
enum status shell_function_open(struct shell_reader *reader, struct shell_branch *group);
enum status shell_function_close(struct shell_reader *reader,
                                 const struct shell_function *function);

/* "shift" and "shift 2" move the arguments; other commands do not. */
enum status shell_function_shift(struct shell_reader *reader, const struct shell_words *words);

/* The calls of what was read; false: they are those that it was read with. */
bool shell_function_calls(const struct shell *shell, struct shell_functions *functions);

#endif

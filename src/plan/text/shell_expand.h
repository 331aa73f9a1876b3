/* Between the two halves of the shell reader: shell.c walks commands, shell_expand.c words. */
#ifndef MOEPLAN_PLAN_TEXT_SHELL_EXPAND_H
#define MOEPLAN_PLAN_TEXT_SHELL_EXPAND_H

#include <stdint.h>

#include "base/text.h"
#include "plan/text/shell.h"

enum { SHELL_VARIABLES = 4096, SHELL_NESTING = 16, SHELL_TEXT = 4 * 1024 * 1024 };

/* A place in the script, or in a part of it that is expanded by itself. */
struct cursor {
    const char *at, *end;
    struct mark mark;
};

struct shell_function;
struct shell_functions;

enum { SHELL_BRANCHES = 32 };

enum shell_branch_kind {
    SHELL_OTHER,     /* loops, functions, groups */
    SHELL_LOOP_HEAD, /* before the words of "for NAME in" */
    SHELL_IF,
    SHELL_CASE_HEAD, /* before "in" */
    SHELL_CASE_PATTERN,
    SHELL_CASE_BODY
};

/* An if, case, loop or group that is open; see shell_branch.h. */
struct shell_branch {
    enum shell_branch_kind kind;
    size_t first;                            /* command of the condition that is read */
    size_t n_commands, n_variables, n_files; /* where the part began that is read */
    bool skips, certain;                     /* it does not run; it does */
    bool done, maybe;                        /* a part before it does; one may */
    unsigned fits;                           /* of case: whether a pattern does */
    const char *word;
    bool trouble;
    const struct shell_function *function; /* whose body it is; or NULL */
};

struct shell_branches {
    struct shell_branch items[SHELL_BRANCHES];
    size_t n; /* deeper ones are counted alone */
};

struct shell_reader {
    struct shell *shell;
    struct arena *arena;
    struct err *err;
    struct cursor cursor;
    size_t expanded; /* bytes made so far */
    size_t variable_capacity, command_capacity, file_capacity;
    unsigned nesting;
    struct shell_branches branches;
    struct shell_words prefix;         /* in front of every command: srun ... bash -c */
    struct shell_functions *functions; /* of the script; or NULL */
    struct shell_function *head;       /* the one whose body opens next; or NULL */
};

/* One step forward, counting lines and columns. */
void cursor_step(struct cursor *cursor);

/* Characters of a name at `at`: [A-Za-z_][A-Za-z0-9_]*. */
size_t shell_name_length(const char *at, const char *end);

/* Reads one word at the cursor and adds the fields it splits into (none, one or several). */
enum status shell_read_word(struct shell_reader *reader, struct shell_words *fields);

/* The same where nothing splits, as behind "NAME=": one word with the blanks that it has. */
enum status shell_read_value(struct shell_reader *reader, struct shell_word *word);

/* The script that a word of quotes and of what stands between them is, 'a '\''b'\'' c'. Its
 * lines are those of the word, its columns where nothing is escaped. The cursor steps behind
 * the word; false: a quote is not closed. */
bool shell_read_quotes(struct shell_reader *reader, struct cursor *script);

/* The text between two places with variables put in, as between double quotes. */
enum status shell_expand_text(struct shell_reader *reader, struct cursor cursor,
                              struct text *out, const char **trouble);

/* What a command between "$(" and ")" writes, of those that say parts of paths (*why: what of
 * that is not known); *text NULL: another command. */
enum status shell_substitute(struct shell_reader *reader, struct cursor part, const char **text,
                             const char **why);

/* Another assignment; STATUS_INPUT where there are too many. */
enum status shell_set_variable(struct shell_reader *reader, struct shell_variable variable,
                               struct mark mark);

/* The variable that "read -r -d '' NAME <<EOF" fills with a text, whose ends IFS takes off;
 * other commands fill none. */
enum status shell_read_into(struct shell_reader *reader, const struct shell_words *command,
                            const char *text, const char *trouble, struct mark mark);

/* The variables that Slurm gives a batch script by its own #SBATCH words from `first` on:
 * SLURM_NNODES for --nodes, and so on (sbatch(1), "OUTPUT ENVIRONMENT VARIABLES"). */
enum status shell_slurm_variables(struct shell_reader *reader, size_t first);

/* Integer arithmetic over numbers and variables; false when it is none, or leaves 1e15. */
bool shell_arithmetic(const struct shell *shell, const char *text, size_t length,
                      int64_t *value);

#endif

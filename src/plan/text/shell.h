/* Shell scripts read, never run: the commands of a script as words, with the variables that
 * stand in the script itself put in.
 *
 * Read are line continuations, comments, quotes, assignments, export, unset, arrays,
 * ${V:-default}, integer $((...)), branches of if and case where the script says what their
 * conditions compare, what Slurm sets by #SBATCH lines, here-documents that a command writes to
 * a file, the text of bash -c "..." (its commands, with the words in front of it as theirs),
 * and #SBATCH lines. What only a shell can know (unset variables, $(...), ${V%x}) makes the
 * word carry the reason instead; whoever needs the word reports it. Nothing is looked up in the
 * environment of this process, and no file is opened. Everything lives in the arena. */
#ifndef MOEPLAN_PLAN_TEXT_SHELL_H
#define MOEPLAN_PLAN_TEXT_SHELL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"

struct shell_word {
    const char *text;
    struct mark mark;
    const char *trouble; /* why (a part of) the text is not known: "variable 'TP' is not set" */
};

struct shell_words {
    struct shell_word *items;
    size_t n, capacity;
};

/* An assignment; a later one of the same name hides it. */
struct shell_variable {
    const char *name;
    struct shell_words value; /* one word, or the items of an array */
    bool exported;
    bool unset;          /* from here on there is none of this name */
    bool pieces;         /* a text whose words are the items: the last ones may not be there */
    const char *trouble; /* it depends on what only a shell knows */
};

struct shell_command {
    struct shell_words words; /* without its assignments and redirections */
    struct mark mark;
    size_t n_variables; /* of shell.variables stand before it */
    bool nested;        /* inside if, case, a loop or a function that may not run */
    char joined;        /* '&' of && and '|' of || in front; another: what no list is */
    bool negated;       /* '!' stands in front */
};

/* What a command writes to a file: a here-document, or words of echo. */
struct shell_file {
    const char *name, *text;
    struct mark mark;    /* of its first line */
    const char *trouble; /* why (a part of) it is not known */
};

/* What a variable is that the script has from outside: its environment, its arguments ("1", and
 * "@" for all of them). Holds where the script itself gives no value that is known. */
struct shell_given {
    const char *name;
    struct shell_words value;
};

struct shell {
    struct shell_command *commands;
    size_t n_commands;
    struct shell_variable *variables;
    size_t n_variables;
    struct shell_file *files;
    size_t n_files;
    struct shell_words sbatch; /* the words of all #SBATCH lines */
    const struct shell_given *given;
    size_t n_given;
    bool raw; /* places of what only a shell knows are marked */
};

/* STATUS_INPUT with a place: an open quote or bracket, too many assignments, texts that grow
 * without end. `given`: variables from outside, which are kept in `shell`. */
enum status shell_read(const char *name, const char *text, size_t length,
                       const struct shell_given *given, size_t n_given, struct arena *arena,
                       struct shell *shell, struct err *err);

/* The mark of a place that a raw reading does not know: an "object replacement character". */
#define SHELL_UNKNOWN "\xef\xbf\xbc"

/* The same where the places of what only a shell knows are marked in the words that carry the
 * reason: a word that is read as a script again says then which of its own are not known. */
enum status shell_read_raw(const char *name, const char *text, size_t length,
                           const struct shell_given *given, size_t n_given, struct arena *arena,
                           struct shell *shell, struct err *err);

/* The value of a variable before a command, or NULL; exported ones only on request. */
const struct shell_variable *shell_variable(const struct shell *shell, size_t before,
                                            const char *name, bool exported);

/* Characters of an option that a word begins with, "--nodes" of "--nodes=4"; 0: another word.
 * '_' is '-'; joined: a number may follow at once ("-N4"). */
size_t shell_option(const char *word, const char *option, bool joined);

/* A number of nodes, tasks or devices: "8", "gpu:8", "gpu:h100:8". */
bool shell_count(const char *text, uint64_t *value);

void shell_words_add(struct shell_words *words, struct shell_word word, struct arena *arena);

#endif

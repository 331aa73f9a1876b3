/* A command is one file, cli/command/cmd_<name>.c, that defines one `const struct command`, and
 * one row in the table of cli/command/commands.c. Parsing, -h, `moeplan help`, the man page and
 * completions follow from the record; nothing else has to change.
 *
 * To add a command:
 *   1. struct with the values of its own options, a `struct option[]` with offsets into it;
 *   2. a run function, which reads call->settings, call->operands and call->general, does its
 *      work, and only then writes to call->out (an error must leave the output empty);
 *   3. `const struct command command_<name>` declared in cli/command/commands.h, a row in
 * commands.c.
 *
 * run returns STATUS_OK, or a status with a text in err (it is printed, what was written is
 * discarded where that is possible), or STATUS_NOFIT / STATUS_MISMATCH without a text: the
 * output is complete and the process ends with that status. */
#ifndef MOEPLAN_CLI_COMMAND_COMMAND_H
#define MOEPLAN_CLI_COMMAND_COMMAND_H

#include "base/arena.h"
#include "base/err.h"
#include "base/term.h"
#include "cli/option/option.h"

enum format { FORMAT_TEXT, FORMAT_JSON, FORMAT_CSV, FORMAT_OF_NAME /* while it is parsed */ };

/* What every command takes. */
struct general {
    struct option_list set; /* "key=value", as typed */
    struct option_list own; /* more of them, by another option of the command: own_option, with
                               what it puts before the key ("--with-set B:") */
    const char *own_option;
    unsigned format;    /* enum format */
    const char *output; /* -o, or NULL */
    const char *seed;   /* --seed, or NULL */
    bool force;         /* files that stand in the way are replaced */
    bool help;
};

/* One call of a command. */
struct invocation {
    const struct command *command;
    struct general general;
    const void *settings; /* the command's struct, filled */
    const char *const *operands;
    size_t n_operands; /* within the command's limits */
    struct arena *arena;
    FILE *out; /* the result, and nothing else */
    struct term term;
    void *state; /* the command's own, from prepare to finish */
    bool silent; /* set by prepare: another process writes the result */
};

struct command {
    const char *name;
    const char *operands;        /* "<plan.yaml>" */
    const char *summary;         /* one line, lower case, no full stop */
    const char *description;     /* paragraphs, separated by blank lines */
    const char *const *words;    /* operands it knows by name, NULL-terminated; may be NULL */
    const char *const *examples; /* command lines, NULL-terminated; may be NULL */
    size_t min_operands, max_operands;
    bool rows;     /* its CSV is written by whole rows, which an interrupted one leaves */
    bool planless; /* it reads no plan: --set and --seed have nothing to set */
    const struct option *options;
    size_t n_options;
    size_t settings_size; /* of its struct; 0 without options of its own */
    const void *defaults; /* such a struct; NULL: all zero */
    /* Before the output is opened, for what concerns several processes; may be NULL. */
    enum status (*prepare)(struct invocation *call, struct err *err);
    enum status (*run)(const struct invocation *call, struct err *err);
    /* After the output is closed and errors are printed, also when prepare failed; may be NULL.
     */
    void (*finish)(struct invocation *call);
};

/* Writes a table in the call's format; as text only its first n_text columns. */
struct table;
void command_print_table(const struct invocation *call, const struct table *table,
                         size_t n_text);

/* The options every command takes; their values go to a struct general. */
const struct option *general_options(size_t *n);

/* Runs a command line: finds the command, parses, opens the output, calls run, reports. The
 * return value is the process's exit status. */
int command_main(int argc, char **argv);

#endif

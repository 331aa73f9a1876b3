/* Options as tables: the same rows drive parsing, -h, the manual and shell completion.
 *
 * As in git: options stand before or after operands, "--" ends them, a value follows as
 * "--name value", "--name=value", "-o value" or "-ovalue"; "-" alone is an operand. A repeated
 * option takes its last value, a list collects them all. */
#ifndef MOEPLAN_CLI_OPTION_OPTION_H
#define MOEPLAN_CLI_OPTION_OPTION_H

#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/text.h"

enum option_type {
    OPTION_FLAG,   /* bool: true when given */
    OPTION_TEXT,   /* const char *: NULL until given */
    OPTION_COUNT,  /* uint64_t */
    OPTION_REAL,   /* double */
    OPTION_CHOICE, /* unsigned: index into choices */
    OPTION_LIST    /* struct option_list: every value, in order */
};

struct option_list {
    const char **items;
    size_t n, capacity;
};

struct option {
    const char *name; /* without the dashes */
    char letter;      /* one-letter form, or 0 */
    enum option_type type;
    size_t offset;              /* of the value in the struct the table belongs to */
    const char *argument;       /* "FILE", "KEY=VALUE"; of a number with its limits, which are
                                 * shown and hold: "N 1..64"; NULL for a flag */
    const char *const *choices; /* OPTION_CHOICE: NULL-terminated */
    const char *help;           /* one line, lower case, no full stop */
};

/* A table and the struct its values go to; the struct holds the defaults before parsing. */
struct option_table {
    const struct option *options;
    size_t n;
    void *values;
};

/* Reads the arguments (n of them, the command's name not among them). Operands go to the list.
 * STATUS_USAGE with the nearest name as hint; `command` is named in hints ("predict"). */
enum status option_parse(const struct option_table *tables, size_t n_tables, int n,
                         char *const *arguments, const char *command, struct arena *arena,
                         struct option_list *operands, struct err *err);

/* "-o, --output FILE" / "    --set KEY=VALUE" / "    --format text|json|csv" */
void option_usage(const struct option *option, struct text *out);

/* The argument's name ("N", NULL for a flag) and the help with the limits of a number behind
 * it: "threads to search on (0 to 1024)". */
const char *option_argument(const struct option *option, struct arena *arena);
const char *option_help(const struct option *option, struct arena *arena);

/* Adds an item to a list that lives in the arena. */
void option_list_add(struct option_list *list, const char *item, struct arena *arena);

#endif

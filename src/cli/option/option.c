/* Option tables read a command line; see option.h. */
#include "cli/option/option.h"

#include <string.h>

#include "base/number.h"

/* One run through the arguments. */
struct scan {
    const struct option_table *tables;
    size_t n_tables;
    char *const *arguments;
    int n, at;
    const char *command;
    struct arena *arena;
    struct err *err;
};

void option_list_add(struct option_list *list, const char *item, struct arena *arena)
{
    list->items = arena_grow(arena, list->items, list->n, &list->capacity, sizeof *list->items);
    list->items[list->n++] = item;
}

/* ---- values: a function per type ---- */

struct slot {
    const struct option *option;
    void *value;
    struct arena *arena;
    struct err *err;
};

static enum status bad_value(const struct slot *slot, const char *text, const char *wanted)
{
    return err_set(slot->err, STATUS_USAGE, "option '--%s' takes %s, not '%s'",
                   slot->option->name, wanted, text);
}

static enum status store_flag(const struct slot *slot, const char *text)
{
    (void)text;
    *(bool *)slot->value = true;
    return STATUS_OK;
}

static enum status store_text(const struct slot *slot, const char *text)
{
    *(const char **)slot->value = text;
    return STATUS_OK;
}

/* The limits of a number: "1..64" of "N 1..64"; "" when it has none. */
static const char *limits_of(const struct option *option)
{
    const char *blank = option->argument ? strchr(option->argument, ' ') : NULL;
    return blank ? blank + 1 : "";
}

/* "1..64" -> "1 to 64" */
static const char *limits_text(const char *limits, struct arena *arena)
{
    const char *dots = strstr(limits, "..");
    return dots ? arena_printf(arena, "%.*s to %s", (int)(dots - limits), limits, dots + 2)
                : "";
}

static enum status bad_number(const struct slot *slot, const char *text, const char *kind)
{
    const char *limits = limits_text(limits_of(slot->option), slot->arena);
    if (!*limits)
        return bad_value(slot, text, kind);
    return bad_value(slot, text, arena_printf(slot->arena, "%s from %s", kind, limits));
}

static bool within(const struct slot *slot, double value)
{
    double least, most;
    return !number_limits(limits_of(slot->option), &least, &most) ||
           (value >= least && value <= most);
}

static enum status store_count(const struct slot *slot, const char *text)
{
    uint64_t value;
    if (!number_count(text, &value) || !within(slot, (double)value))
        return bad_number(slot, text, "a whole number");
    *(uint64_t *)slot->value = value;
    return STATUS_OK;
}

static enum status store_real(const struct slot *slot, const char *text)
{
    double value;
    if (!number_real(text, &value) || !within(slot, value))
        return bad_number(slot, text, "a number");
    *(double *)slot->value = value;
    return STATUS_OK;
}

static const char *choice_name(const void *table, size_t i)
{
    return ((const char *const *)table)[i];
}

static void join_choices(const char *const *choices, const char *between, struct text *out)
{
    for (size_t i = 0; choices[i]; i++) {
        text_append(out, i ? between : "");
        text_append(out, choices[i]);
    }
}

static enum status store_choice(const struct slot *slot, const char *text)
{
    const char *const *choices = slot->option->choices;
    size_t n = 0;
    for (; choices[n]; n++) {
        if (!text_equal(choices[n], text))
            continue;
        *(unsigned *)slot->value = (unsigned)n;
        return STATUS_OK;
    }
    struct text names = {.arena = slot->arena};
    join_choices(choices, ", ", &names);
    err_set(slot->err, STATUS_USAGE, "option '--%s' does not know '%s'", slot->option->name,
            text);
    const char *nearest = text_nearest(text, n, choice_name, choices);
    if (nearest)
        return err_hint(slot->err, "did you mean '%s'? it takes one of: %s", nearest,
                        text_string(&names));
    return err_hint(slot->err, "it takes one of: %s", text_string(&names));
}

static enum status store_list(const struct slot *slot, const char *text)
{
    option_list_add(slot->value, text, slot->arena);
    return STATUS_OK;
}

static enum status (*const store[])(const struct slot *slot, const char *text) = {
    [OPTION_FLAG] = store_flag, [OPTION_TEXT] = store_text,     [OPTION_COUNT] = store_count,
    [OPTION_REAL] = store_real, [OPTION_CHOICE] = store_choice, [OPTION_LIST] = store_list,
};

/* ---- finding the option an argument names ---- */

static const struct option *option_at(const struct scan *scan, size_t i, void **values)
{
    size_t table = 0;
    while (table < scan->n_tables && i >= scan->tables[table].n)
        i -= scan->tables[table++].n;
    if (table == scan->n_tables)
        return NULL;
    *values = scan->tables[table].values;
    return &scan->tables[table].options[i];
}

static bool find(const struct scan *scan, const char *name, size_t length, char letter,
                 struct slot *slot)
{
    void *values = NULL;
    const struct option *option;
    for (size_t i = 0; (option = option_at(scan, i, &values)) != NULL; i++) {
        bool named = length > 0 && strlen(option->name) == length &&
                     strncmp(option->name, name, length) == 0;
        if (!named && (letter == 0 || option->letter != letter))
            continue;
        *slot = (struct slot){option, (char *)values + option->offset, scan->arena, scan->err};
        return true;
    }
    return false;
}

static const char *option_name_at(const void *table, size_t i)
{
    void *values = NULL;
    return option_at(table, i, &values)->name;
}

static enum status unknown(const struct scan *scan, const char *name)
{
    void *values = NULL;
    size_t n = 0;
    while (option_at(scan, n, &values))
        n++;
    const char *bare = name[1] == '-' ? name + 2 : "";
    const char *nearest = *bare ? text_nearest(bare, n, option_name_at, scan) : NULL;
    err_set(scan->err, STATUS_USAGE, "unknown option '%s'", name);
    if (nearest)
        return err_hint(scan->err, "did you mean '--%s'? 'moeplan %s -h' lists the options",
                        nearest, scan->command);
    return err_hint(scan->err, "'moeplan %s -h' lists the options", scan->command);
}

/* ---- arguments ---- */

/* The value that stands in the next argument. */
static enum status take_next(struct scan *scan, const struct slot *slot)
{
    if (scan->at >= scan->n)
        return err_set(scan->err, STATUS_USAGE, "option '--%s' needs a value: %s",
                       slot->option->name, option_argument(slot->option, scan->arena));
    return store[slot->option->type](slot, scan->arguments[scan->at++]);
}

static enum status read_long(struct scan *scan, const char *argument)
{
    const char *name = argument + 2;
    size_t length = strcspn(name, "=");
    struct slot slot;
    if (!find(scan, name, length, 0, &slot))
        return unknown(scan, arena_strndup(scan->arena, argument, length + 2));
    bool given = name[length] == '=';
    if (slot.option->type != OPTION_FLAG)
        return given ? store[slot.option->type](&slot, name + length + 1)
                     : take_next(scan, &slot);
    if (given)
        return err_set(scan->err, STATUS_USAGE, "option '--%s' takes no value",
                       slot.option->name);
    return store_flag(&slot, NULL);
}

/* One or more letters; the first that takes a value takes the rest of the argument. */
static enum status read_letters(struct scan *scan, const char *argument)
{
    for (const char *letter = argument + 1; *letter; letter++) {
        struct slot slot;
        if (!find(scan, "", 0, *letter, &slot))
            return unknown(scan, letter == argument + 1
                                     ? argument
                                     : arena_printf(scan->arena, "-%c", *letter));
        if (slot.option->type == OPTION_FLAG) {
            TRY(store_flag(&slot, NULL));
            continue;
        }
        return letter[1] ? store[slot.option->type](&slot, letter + 1) : take_next(scan, &slot);
    }
    return STATUS_OK;
}

/* As "$PLAN" is while nothing sets it. */
static enum status empty(const struct scan *scan)
{
    err_set(scan->err, STATUS_USAGE, "argument %d is empty", scan->at);
    return err_hint(scan->err, "if it is a shell's variable, nothing has set it");
}

enum status option_parse(const struct option_table *tables, size_t n_tables, int n,
                         char *const *arguments, const char *command, struct arena *arena,
                         struct option_list *operands, struct err *err)
{
    struct scan scan = {tables, n_tables, arguments, n, 0, command, arena, err};
    bool ended = false;
    while (scan.at < n) {
        const char *argument = arguments[scan.at++];
        if (argument[0] == '\0')
            return empty(&scan);
        if (ended || argument[0] != '-' || argument[1] == '\0')
            option_list_add(operands, argument, arena);
        else if (text_equal(argument, "--"))
            ended = true;
        else if (argument[1] == '-')
            TRY(read_long(&scan, argument));
        else
            TRY(read_letters(&scan, argument));
    }
    return STATUS_OK;
}

static size_t argument_length(const struct option *option)
{
    return strcspn(option->argument, " ");
}

void option_usage(const struct option *option, struct text *out)
{
    if (option->letter)
        text_printf(out, "-%c, ", option->letter);
    else
        text_append(out, "    ");
    text_printf(out, "--%s", option->name);
    if (option->type == OPTION_FLAG)
        return;
    text_append(out, " ");
    if (option->type == OPTION_CHOICE)
        join_choices(option->choices, "|", out);
    else
        text_append_n(out, option->argument, argument_length(option));
}

const char *option_argument(const struct option *option, struct arena *arena)
{
    if (!option->argument)
        return NULL;
    return arena_strndup(arena, option->argument, argument_length(option));
}

const char *option_help(const struct option *option, struct arena *arena)
{
    const char *limits = limits_text(limits_of(option), arena);
    return *limits ? arena_printf(arena, "%s (%s)", option->help, limits) : option->help;
}

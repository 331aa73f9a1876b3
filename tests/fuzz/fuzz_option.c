/* A command line, one argument a line, the command's name first: it is parsed or refused with a
 * text, and its numbers are within the limits that its help says. Every argument is also read
 * as a range, a case and a quantity, as the options that take those do. */
#include "fuzz/fuzz.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "base/unit.h"
#include "cli/command/commands.h"
#include "lib/axis.h"

enum { ARGUMENTS = 24 };

static void require(int holds)
{
    if (!holds)
        abort();
}

static void check_limits(const struct option *option, const char *values, const char *defaults)
{
    double least, most, value;
    const char *limits = option->argument ? strchr(option->argument, ' ') : NULL;
    if (option->type == OPTION_COUNT)
        value = (double)*(const uint64_t *)(const void *)(values + option->offset);
    else if (option->type == OPTION_REAL)
        value = *(const double *)(const void *)(values + option->offset);
    else
        return;
    bool given = !defaults || memcmp(values + option->offset, defaults + option->offset, 8);
    if (given && (defaults || value != 0) && limits && number_limits(limits + 1, &least, &most))
        require(value >= least && value <= most);
}

static void parse_line(const struct command *command, int n, char *const *arguments,
                       struct arena *arena)
{
    struct general general = {0};
    struct option_list operands = {0};
    struct err err = {0};
    size_t n_general;
    const struct option *all = general_options(&n_general);
    char *values = arena_alloc(arena, 1, command->settings_size + 1);
    if (command->defaults)
        memcpy(values, command->defaults, command->settings_size);
    const struct option_table tables[] = {{command->options, command->n_options, values},
                                          {all, n_general, &general}};
    enum status status =
        option_parse(tables, 2, n, arguments, command->name, arena, &operands, &err);
    require(status == STATUS_OK || err.text[0]);
    for (size_t i = 0; i < command->n_options; i++)
        check_limits(&command->options[i], values, command->defaults);
}

static void read_values(const char *text, struct arena *arena)
{
    struct err err = {0};
    struct axis axis;
    double value;
    uint64_t count;
    require(axis_parse_over(text, arena, &axis, &err) == STATUS_OK ? axis.n_values > 0
                                                                   : err.text[0] != '\0');
    err_clear(&err);
    require(axis_parse_cases(&text, 1, arena, &axis, &err) == STATUS_OK ? axis.n_values == 1
                                                                        : err.text[0] != '\0');
    if (number_count(text, &count))
        require(number_is_whole(text));
    for (unsigned unit = UNIT_NONE; unit <= UNIT_HERTZ; unit++)
        if (unit_parse((enum unit)unit, text, &value))
            require(isfinite(value));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena = {0};
    char *arguments[ARGUMENTS];
    int n = 0;
    char *text = arena_strndup(&arena, (const char *)data, size);
    for (char *line = text; line && n < ARGUMENTS; n++) {
        char *end = strchr(line, '\n');
        if (end)
            *end++ = '\0';
        arguments[n] = line;
        line = end;
    }
    const struct command *command = commands_find(arguments[0]);
    if (command)
        parse_line(command, n - 1, arguments + 1, &arena);
    for (int i = 1; i < n; i++)
        read_values(arguments[i], &arena);
    arena_release(&arena);
    return 0;
}

/* Completion for bash, zsh and fish; see completion.h. Operands without known names are files,
 * which all three shells complete by themselves. */
#include "cli/help/completion.h"

#include <string.h>

#include "cli/command/commands.h"
#include "plan/schema/schema.h"

const char *const shell_names[] = {"bash", "zsh", "fish", NULL};

/* Inside single quotes of all three shells, with `special` characters behind a backslash. */
static void quoted(FILE *out, const char *text, const char *special)
{
    for (; *text; text++) {
        if (*text == '\'') {
            fputs("'\\''", out);
            continue;
        }
        if (strchr(special, *text))
            fputc('\\', out);
        fputc(*text, out);
    }
}

static void words(FILE *out, const char *const *list)
{
    for (size_t i = 0; list && list[i]; i++)
        fprintf(out, "%s%s", i ? " " : "", list[i]);
}

static void keys(FILE *out, const char *ending)
{
    size_t n;
    const struct field *fields = schema_fields(&n);
    for (size_t i = 0; i < n; i++)
        fprintf(out, "%s%s%s", i ? " " : "", fields[i].key, ending);
}

/* Whether an option's argument spells its words: "cpu|gpu|null". */
static bool spells_words(const struct option *option)
{
    const char *argument = option->argument;
    return option->type == OPTION_TEXT && argument && strchr(argument, '|') &&
           argument[strspn(argument, "abcdefghijklmnopqrstuvwxyz0123456789-|")] == '\0';
}

static void spelled(FILE *out, const char *argument)
{
    for (; *argument; argument++)
        fputc(*argument == '|' ? ' ' : *argument, out);
}

static void choices(FILE *out, const struct option *option)
{
    if (option->type == OPTION_CHOICE)
        words(out, option->choices);
    else
        spelled(out, option->argument);
}

static bool has_choices(const struct option *option)
{
    return option->type == OPTION_CHOICE || spells_words(option);
}

/* What stands for an operand: the command's words; `help` explains keys, too. */
static void operands(FILE *out, const struct command *command)
{
    words(out, command->words);
    if (!text_equal(command->name, "help"))
        return;
    size_t n;
    const struct command *const *commands = commands_all(&n);
    for (size_t i = 0; i < n; i++)
        fprintf(out, "%s ", commands[i]->name);
    keys(out, "");
}

static bool has_operands(const struct command *command)
{
    return command->words || text_equal(command->name, "help");
}

/* Keys whose values are names of the data folder, and what `moeplan list` calls those: asked
 * when they are wanted, since a user's own folder has names of its own. */
static const struct {
    const char *key, *list;
} named[] = {{"model", "models"}, {"cluster", "clusters"}, {"stack", "stacks"}};

enum { N_NAMED = sizeof named / sizeof *named };

static void list_names(FILE *out, size_t i)
{
    fprintf(out, "moeplan list %s --format csv 2> /dev/null | sed '1d; s/,.*//'",
            named[i].list);
}

/* "    moe.path) words='...' ;;" for each key whose values are words; `set` is what stands in
 * front of them, `end` behind. */
static void key_cases(FILE *out, const char *set, const char *end)
{
    size_t n;
    const struct field *fields = schema_fields(&n);
    for (size_t i = 0; i < n; i++) {
        if (!fields[i].words)
            continue;
        fprintf(out, "    %s) %s", fields[i].key, set);
        words(out, schema_words(&fields[i]));
        fprintf(out, "%s ;;\n", end);
    }
}

static bool is_key_option(const struct option *option)
{
    return option->type == OPTION_LIST && option->argument &&
           text_starts(option->argument, "KEY");
}

/* Calls `each` for the command's own options, then for those of every command. */
static void each_option(const struct command *command, FILE *out,
                        void (*each)(const struct option *option, const struct command *command,
                                     FILE *out))
{
    size_t n;
    const struct option *general = general_options(&n);
    for (size_t i = 0; i < command->n_options; i++)
        each(&command->options[i], command, out);
    for (size_t i = 0; i < n; i++)
        each(&general[i], command, out);
}

/* ---- bash ---- */

static void bash_value(const struct option *option, const struct command *command, FILE *out)
{
    if (has_choices(option)) {
        fprintf(out, "    *:%s:--%s) words='", command->name, option->name);
        choices(out, option);
        fputs("' ;;\n", out);
    } else if (is_key_option(option)) {
        fprintf(out, "    *:%s:--%s) compopt -o nospace; words=$keys ;;\n", command->name,
                option->name);
    } else if (option->type != OPTION_FLAG) {
        fprintf(out, "    *:%s:--%s) return ;;\n", command->name, option->name);
        if (option->letter)
            fprintf(out, "    *:%s:-%c) return ;;\n", command->name, option->letter);
    }
}

static void bash_name(const struct option *option, const struct command *command, FILE *out)
{
    (void)command;
    fprintf(out, " --%s", option->name);
}

static void bash_operands(const struct command *command, FILE *out)
{
    fprintf(out, "    *:%s:*) words='", command->name);
    operands(out, command);
    fputs("'; [[ $current != -* ]] || words='", out);
    each_option(command, out, bash_name);
    fputs("' ;;\n", out);
}

static void write_bash(FILE *out)
{
    size_t n;
    const struct command *const *commands = commands_all(&n);
    fputs("_moeplan()\n{\n"
          "    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}\n"
          "    local words= keys='",
          out);
    keys(out, "=");
    /* bash breaks words at "=": what stands before it is the key */
    fputs("' key=\n    COMPREPLY=()\n"
          "    [[ $current != = ]] || { key=$previous; current=; }\n"
          "    [[ $previous != = ]] || key=${COMP_WORDS[COMP_CWORD-2]}\n"
          "    case $key in\n",
          out);
    key_cases(out, "words='", "'");
    for (size_t i = 0; i < N_NAMED; i++) {
        fprintf(out, "    %s) words=$(", named[i].key);
        list_names(out, i);
        fputs(") ;;\n", out);
    }
    fputs("    esac\n    if [[ $key ]]; then\n"
          "        COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
          "        return\n    fi\n    case $COMP_CWORD:${COMP_WORDS[1]}:$previous in\n"
          "    1:*) words='",
          out);
    for (size_t i = 0; i < n; i++)
        fprintf(out, "%s ", commands[i]->name);
    fputs("--help --version' ;;\n", out);
    for (size_t i = 0; i < n; i++) {
        each_option(commands[i], out, bash_value);
        bash_operands(commands[i], out);
    }
    fputs("    esac\n    COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n}\n"
          "complete -o default -F _moeplan moeplan\n",
          out);
}

/* ---- zsh ---- */

static void zsh_option(const struct option *option, const struct command *command, FILE *out)
{
    (void)command;
    fputs(" \\\n            '", out);
    if (option->type == OPTION_LIST)
        fputc('*', out);
    if (option->letter)
        fprintf(out, "(-%c --%s)'{-%c,--%s}'[", option->letter, option->name, option->letter,
                option->name);
    else
        fprintf(out, "--%s[", option->name);
    quoted(out, option->help, "[]:\\");
    fputc(']', out);
    if (option->type != OPTION_FLAG) {
        fputc(':', out);
        quoted(out, option->argument, "[]:\\");
        fputc(':', out);
    }
    if (has_choices(option)) {
        fputc('(', out);
        choices(out, option);
        fputc(')', out);
    } else if (is_key_option(option)) {
        fputs("_moeplan_keys", out);
    } else if (option->type == OPTION_TEXT) {
        fputs("_files", out);
    }
    fputc('\'', out);
}

static void write_zsh(FILE *out)
{
    size_t n;
    const struct command *const *commands = commands_all(&n);
    fputs("#compdef moeplan\n_moeplan_keys()\n{\n    local -a keys\n"
          "    local key=${PREFIX%%=*}\n    if compset -P '*='; then\n    case $key in\n",
          out);
    key_cases(out, "compadd -- ", "");
    for (size_t i = 0; i < N_NAMED; i++) {
        fprintf(out, "    %s) compadd -- ${(f)\"$(", named[i].key);
        list_names(out, i);
        fputs(")\"} ;;\n", out);
    }
    fputs("    esac\n    return\n    fi\n    keys=(", out);
    keys(out, "");
    fputs(")\n    compadd -S = -a keys\n}\n_moeplan()\n{\n    local -a commands\n"
          "    commands=(",
          out);
    for (size_t i = 0; i < n; i++) {
        fprintf(out, "\n        '%s:", commands[i]->name);
        quoted(out, commands[i]->summary, ":\\");
        fputc('\'', out);
    }
    fputs(")\n    if (( CURRENT == 2 )); then\n        _describe command commands\n"
          "        return\n    fi\n    local command=$words[2]\n    shift words\n"
          "    (( CURRENT-- ))\n    case $command in\n",
          out);
    for (size_t i = 0; i < n; i++) {
        fprintf(out, "    %s)\n        _arguments", commands[i]->name);
        each_option(commands[i], out, zsh_option);
        fputs(" \\\n            '*:operand:", out);
        if (has_operands(commands[i])) {
            fputc('(', out);
            operands(out, commands[i]);
            fputc(')', out);
        } else {
            fputs("_files", out);
        }
        fputs("' ;;\n", out);
    }
    fputs("    esac\n}\n_moeplan \"$@\"\n", out);
}

/* ---- fish ---- */

/* " moe.path=deepep" of every key and word. */
static void fish_values(FILE *out)
{
    size_t n;
    const struct field *fields = schema_fields(&n);
    for (size_t i = 0; i < n; i++)
        for (const char *const *word = fields[i].words ? schema_words(&fields[i]) : NULL;
             word && *word; word++)
            fprintf(out, " %s=%s", fields[i].key, *word);
}

static void fish_option(const struct option *option, const struct command *command, FILE *out)
{
    fprintf(out, "complete -c moeplan -n '__fish_seen_subcommand_from %s' -l %s", command->name,
            option->name);
    if (option->letter)
        fprintf(out, " -s %c", option->letter);
    if (has_choices(option)) {
        fputs(" -x -a '", out);
        choices(out, option);
        fputc('\'', out);
    } else if (is_key_option(option)) {
        fputs(" -x -a '(__moeplan_keys)'", out);
    } else if (option->type != OPTION_FLAG) {
        fputs(" -r", out);
    }
    fputs(" -d '", out);
    quoted(out, option->help, "\\");
    fputs("'\n", out);
}

static void write_fish(FILE *out)
{
    size_t n;
    const struct command *const *commands = commands_all(&n);
    fputs("function __moeplan_keys\n    printf '%s\\n' ", out);
    keys(out, "=");
    fish_values(out);
    for (size_t i = 0; i < N_NAMED; i++) {
        fprintf(out, "\n    string match -q '%s=*' -- (commandline -ct); and ", named[i].key);
        list_names(out, i);
        fprintf(out, " | sed 's/^/%s=/'", named[i].key);
    }
    fputs("\nend\n", out);
    for (size_t i = 0; i < n; i++) {
        fprintf(out, "complete -c moeplan -n __fish_use_subcommand -f -a %s -d '",
                commands[i]->name);
        quoted(out, commands[i]->summary, "\\");
        fputs("'\n", out);
        if (has_operands(commands[i])) {
            fprintf(out, "complete -c moeplan -n '__fish_seen_subcommand_from %s' -f -a '",
                    commands[i]->name);
            operands(out, commands[i]);
            fputs("'\n", out);
        }
        each_option(commands[i], out, fish_option);
    }
}

void completion_write(enum shell shell, FILE *out)
{
    static void (*const write[])(FILE * out) = {
        [SHELL_BASH] = write_bash, [SHELL_ZSH] = write_zsh, [SHELL_FISH] = write_fish};
    if (shell != SHELL_NONE)
        write[shell](out);
}

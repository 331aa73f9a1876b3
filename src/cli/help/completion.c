/* Completion for bash, zsh and fish; see completion.h. Operands without known names are files,
 * which all three shells complete by themselves. */
#include "cli/help/completion.h"

#include <string.h>

#include "cli/command/commands.h"
#include "plan/schema.h"

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
    if (option->type == OPTION_CHOICE) {
        fprintf(out, "    *:%s:--%s) words='", command->name, option->name);
        words(out, option->choices);
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
    words(out, command->words);
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
    fputs("'\n    COMPREPLY=()\n    case $COMP_CWORD:${COMP_WORDS[1]}:$previous in\n"
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
    if (option->type == OPTION_CHOICE) {
        fputc('(', out);
        words(out, option->choices);
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
    fputs("#compdef moeplan\n_moeplan_keys()\n{\n    local -a keys\n    keys=(", out);
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
        if (commands[i]->words) {
            fputc('(', out);
            words(out, commands[i]->words);
            fputc(')', out);
        } else {
            fputs("_files", out);
        }
        fputs("' ;;\n", out);
    }
    fputs("    esac\n}\n_moeplan \"$@\"\n", out);
}

/* ---- fish ---- */

static void fish_option(const struct option *option, const struct command *command, FILE *out)
{
    fprintf(out, "complete -c moeplan -n '__fish_seen_subcommand_from %s' -l %s", command->name,
            option->name);
    if (option->letter)
        fprintf(out, " -s %c", option->letter);
    if (option->type == OPTION_CHOICE) {
        fputs(" -x -a '", out);
        words(out, option->choices);
        fputc('\'', out);
    } else if (is_key_option(option)) {
        fputs(" -x -a '", out);
        keys(out, "=");
        fputc('\'', out);
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
    for (size_t i = 0; i < n; i++) {
        fprintf(out, "complete -c moeplan -n __fish_use_subcommand -f -a %s -d '",
                commands[i]->name);
        quoted(out, commands[i]->summary, "\\");
        fputs("'\n", out);
        if (commands[i]->words) {
            fprintf(out, "complete -c moeplan -n '__fish_seen_subcommand_from %s' -f -a '",
                    commands[i]->name);
            words(out, commands[i]->words);
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

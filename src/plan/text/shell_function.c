/* See shell_function.h. */
#include "plan/text/shell_function.h"

#include "base/number.h"
#include "plan/text/shell_branch.h"

/* ---- heads ---- */

static struct shell_function *find(struct shell_functions *functions, const char *name)
{
    for (size_t i = 0; i < functions->n; i++)
        if (text_equal(functions->items[i].name, name))
            return &functions->items[i];
    return NULL;
}

/* Beyond the limit the last one stands for the others, which nobody calls then. */
static struct shell_function *declare(struct shell_functions *functions, const char *name)
{
    struct shell_function *f = find(functions, name);
    if (f || functions->n == SHELL_FUNCTIONS)
        return f;
    f = &functions->items[functions->n++];
    *f = (struct shell_function){.name = name};
    return f;
}

/* The cursor stands on '(': does ')' follow? */
static bool is_empty(const struct cursor *cursor)
{
    const char *at = cursor->at + 1;
    while (at < cursor->end && (*at == ' ' || *at == '\t'))
        at++;
    return at < cursor->end && *at == ')';
}

/* ---- bodies ---- */

static enum status set_argument(struct shell_reader *reader, const struct shell_function *f,
                                const char *name, struct shell_words value)
{
    struct shell_variable v = {.name = name, .value = value};
    const char *why = arena_printf(reader->arena,
                                   "argument $%s of '%.64s' differs between its calls, the "
                                   "first on line %u",
                                   name, f->name, f->mark.line);
    for (size_t i = 0; i < v.value.n && f->several; i++)
        v.value.items[i].trouble = why;
    return shell_set_variable(reader, v, f->mark);
}

enum status shell_function_open(struct shell_reader *reader, struct shell_branch *group)
{
    struct shell_function *f = reader->head;
    reader->head = NULL;
    if (!f || !group)
        return STATUS_OK;
    group->function = f;
    group->certain = f->certain;
    struct shell_words all = {0};
    for (size_t i = 1; f->call && i < f->call->n && i <= SHELL_ARGUMENTS; i++) {
        struct shell_words one = {0};
        shell_words_add(&one, f->call->items[i], reader->arena);
        shell_words_add(&all, f->call->items[i], reader->arena);
        TRY(set_argument(reader, f, arena_printf(reader->arena, "%zu", i), one));
    }
    return f->call ? set_argument(reader, f, "@", all) : STATUS_OK;
}

/* The script's own again. */
static enum status restore(struct shell_reader *reader, const char *name, struct mark mark)
{
    const struct shell *shell = reader->shell;
    struct shell_variable v = {.name = name, .unset = true};
    for (size_t i = 0; i < shell->n_given; i++)
        if (text_equal(shell->given[i].name, name))
            v = (struct shell_variable){
                .name = name, .value = shell->given[i].value, .exported = true};
    return shell_set_variable(reader, v, mark);
}

enum status shell_function_close(struct shell_reader *reader,
                                 const struct shell_function *function)
{
    for (size_t i = 1; function->call && i < function->call->n && i <= SHELL_ARGUMENTS; i++)
        TRY(restore(reader, arena_printf(reader->arena, "%zu", i), function->mark));
    return function->call ? restore(reader, "@", function->mark) : STATUS_OK;
}

enum status shell_function_head(struct shell_reader *reader, const struct shell_words *words,
                                char end, bool *head)
{
    size_t first = words->n && text_equal(words->items[0].text, "function");
    size_t n = words->n - first;
    bool opened = first && n == 2 && text_equal(words->items[2].text, "{");
    bool round = end == '(' && n == 1 && is_empty(&reader->cursor);
    *head = opened || round || (first && n == 1);
    if (!*head)
        return STATUS_OK;
    const struct shell_word *name = &words->items[first];
    if (!name->trouble && reader->functions)
        reader->head = declare(reader->functions, name->text);
    if (!opened)
        return STATUS_OK;
    shell_branch_group(reader);
    return shell_function_open(reader, shell_branch_innermost(reader));
}

/* Under a condition nobody knows where the arguments are then. */
enum status shell_function_shift(struct shell_reader *reader, const struct shell_words *words)
{
    const struct shell *shell = reader->shell;
    struct shell_words all = {0};
    uint64_t by = 1;
    if (!text_equal(words->items[0].text, "shift"))
        return STATUS_OK;
    bool known =
        !shell_branch_unknown(reader) &&
        (words->n < 2 || (!words->items[1].trouble && number_count(words->items[1].text, &by)));
    for (size_t i = 1; i <= SHELL_ARGUMENTS; i++) {
        const char *name = arena_printf(reader->arena, "%zu", i);
        const struct shell_variable *old =
                                        shell_variable(shell, shell->n_variables, name, false),
                                    *from =
                                        known && by <= SHELL_ARGUMENTS
                                            ? shell_variable(shell, shell->n_variables,
                                                             arena_printf(reader->arena, "%zu",
                                                                          i + (size_t)by),
                                                             false)
                                            : NULL;
        struct shell_variable v = {.name = name, .unset = true};
        if (from)
            v = (struct shell_variable){.name = name, .value = from->value};
        if (from && from->value.n)
            shell_words_add(&all, from->value.items[0], reader->arena);
        if (old || from)
            TRY(shell_set_variable(reader, v, words->items[0].mark));
    }
    const struct shell_variable rest = {.name = "@", .value = all};
    return shell_variable(shell, shell->n_variables, "@", false)
               ? shell_set_variable(reader, rest, words->items[0].mark)
               : STATUS_OK;
}

/* ---- calls ---- */

static bool alike(const struct shell_words *a, const struct shell_words *b)
{
    for (size_t i = 0; i < a->n && a->n == b->n; i++) {
        bool known = !a->items[i].trouble && !b->items[i].trouble;
        if (known != (a->items[i].trouble == b->items[i].trouble) ||
            !text_equal(a->items[i].text, b->items[i].text))
            return false;
    }
    return a->n == b->n;
}

bool shell_function_calls(const struct shell *shell, struct shell_functions *functions)
{
    struct shell_functions before = *functions;
    bool changed = false;
    for (size_t i = 0; i < functions->n; i++)
        functions->items[i] = (struct shell_function){.name = functions->items[i].name};
    for (size_t i = 0; i < shell->n_commands; i++) {
        const struct shell_command *c = &shell->commands[i];
        struct shell_function *f = find(functions, c->words.items[0].text);
        if (!f)
            continue;
        f->several = f->several || (f->call && !alike(f->call, &c->words));
        f->mark = f->call ? f->mark : c->mark;
        f->call = f->call ? f->call : &c->words;
        f->certain = f->certain || (!c->nested && c->joined != '&' && c->joined != '|');
    }
    for (size_t i = 0; i < functions->n; i++) {
        const struct shell_function *a = &before.items[i], *b = &functions->items[i];
        bool same = a->several == b->several && a->certain == b->certain &&
                    (a->call && b->call ? alike(a->call, b->call) : a->call == b->call);
        changed = changed || !same;
    }
    return changed;
}

/* See python_commands.h. docs.python.org/3/library/subprocess.html, modal.com/docs/guide/gpu.
 */
#include "plan/text/python_commands.h"

#include <ctype.h>
#include <string.h>

#include "plan/text/container.h"
#include "plan/text/python_word.h"

enum { DEPTH = 8 };

/* ---- words ---- */

static void append_quoted(struct text *out, const char *text)
{
    text_append(out, "'");
    for (; *text; text++)
        text_printf(out, *text == '\'' ? "'\\''" : *text == '\n' ? " " : "%c", *text);
    text_append(out, "'");
}

static bool is_name(const char *text)
{
    size_t n = 0;
    while (isalnum((unsigned char)text[n]) || text[n] == '_')
        n++;
    return n && !text[n] && !isdigit((unsigned char)text[0]);
}

/* A mapping as JSON. false: a part of it is not known. */
static bool append_json(struct text *out, const struct python_value *v, unsigned depth)
{
    bool list = v->kind == PYTHON_LIST, mapping = v->kind == PYTHON_CALL;
    if (depth == DEPTH || v->kind == PYTHON_UNKNOWN ||
        (mapping && !text_equal(v->callee, "dict")))
        return false;
    if (!list && !mapping) {
        const char *word = v->kind == PYTHON_NONE ? "null" : python_literal(v);
        text_printf(out, word && v->quoted ? "\"%s\"" : "%s", word ? word : "");
        return word != NULL && !strpbrk(word, "\"\\\n");
    }
    text_append(out, list ? "[" : "{");
    bool known = true;
    for (size_t i = 0; i < v->n; i++) {
        text_append(out, i ? ", " : "");
        if (mapping)
            text_printf(out, "\"%s\": ", v->items[i].name ? v->items[i].name : "");
        known = append_json(out, &v->items[i].value, depth + 1) && known;
    }
    text_append(out, list ? "]" : "}");
    return known;
}

static void append_word(struct text *out, const struct python *python,
                        const struct python_value *v)
{
    struct text json = {.arena = out->arena};
    const char *word = python_literal(v);
    bool dumps = v->kind == PYTHON_CALL && v->n &&
                 text_equal(python_last_part(v->callee), "dumps") &&
                 append_json(&json, python_made(python, &v->items[0].value), 0);
    text_append(out, " ");
    if (word || dumps)
        append_quoted(out, word ? word : text_string(&json));
    else if (v->kind != PYTHON_CALL && v->text && is_name(v->text))
        text_printf(out, "\"$%s\"", v->text);
    else
        text_append(out, "$(python)");
}

/* ---- commands ---- */

static bool starts_command(const char *callee)
{
    static const char *const names[] = {"Popen",
                                        "run",
                                        "call",
                                        "check_call",
                                        "check_output",
                                        "create_subprocess_exec",
                                        "system",
                                        "popen",
                                        "execvp",
                                        "execv",
                                        "create_subprocess_shell"};
    static const char *const owners[] = {"subprocess.", "asyncio.", "os.", "sp."};
    const char *name = python_last_part(callee);
    bool named = false, owned = text_equal(callee, "Popen");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        named = named || text_equal(name, names[i]);
    for (size_t i = 0; i < sizeof owners / sizeof *owners; i++)
        owned = owned || text_starts(callee, owners[i]);
    return named && (owned || text_starts(name, "check_"));
}

/* The value that shlex.split gets is the command, too. */
static const struct python_value *command_of(const struct python_value *call)
{
    const struct python_value *first = NULL;
    size_t at = text_starts(python_last_part(call->callee), "execv"); /* behind its file */
    for (size_t i = at; i < call->n && !first; i++) {
        const char *name = call->items[i].name;
        if (!name || text_equal(name, "args"))
            first = &call->items[i].value;
    }
    bool split = first && first->kind == PYTHON_CALL && first->n &&
                 text_equal(python_last_part(first->callee), "split");
    return split ? &first->items[0].value : first;
}

static void append_command(struct text *out, const struct python *python,
                           const struct python_value *call)
{
    const struct python_value *of = command_of(call);
    if (!of)
        return;
    bool each = text_equal(python_last_part(call->callee), "create_subprocess_exec");
    if (of->kind == PYTHON_LIST)
        for (size_t i = 0; i < of->n; i++)
            append_word(out, python, &of->items[i].value);
    else if (each)
        for (size_t i = 0; i < call->n; i++) {
            if (!call->items[i].name)
                append_word(out, python, &call->items[i].value);
        }
    else if (of->quoted)
        for (const char *at = of->text; *at; at++)
            text_printf(out, "%c", *at == '\n' ? ' ' : *at);
}

static void look_into(struct text *out, const struct python *python,
                      const struct python_value *v, unsigned depth)
{
    if (v->kind != PYTHON_CALL || depth == DEPTH)
        return;
    if (starts_command(v->callee)) {
        append_command(out, python, v);
        text_append(out, ";");
        return;
    }
    for (size_t i = 0; i < v->n; i++)
        look_into(out, python, &v->items[i].value, depth + 1);
}

/* "H100" of @app.function(gpu="H100:8"), as Modal and Beam have it; NULL: it says none, or a
 * choice. */
static const char *device_of(const struct python *python, struct arena *arena)
{
    for (size_t i = 0; i < python->n; i++) {
        const struct python_statement *s = &python->statements[i];
        for (size_t j = 0; s->decorates && j < s->value.n; j++) {
            const struct python_argument *a = &s->value.items[j];
            if (a->name && text_equal(a->name, "gpu") && a->value.quoted)
                return arena_strndup(arena, a->value.text, strcspn(a->value.text, ":!"));
        }
    }
    return NULL;
}

void python_commands(const struct python *python, struct text *script)
{
    const char *device = device_of(python, script->arena);
    unsigned line = 1;
    for (size_t i = 0; i < python->n; i++) {
        struct text command = {.arena = script->arena};
        look_into(&command, python, &python->statements[i].value, 0);
        if (!command.length)
            continue;
        for (; line < python->statements[i].mark.line; line++)
            text_append(script, "\n");
        if (device) {
            text_append(script, "export " CONTAINER_DEVICE "=");
            append_quoted(script, device);
            text_append(script, ";");
        }
        text_append(script, text_string(&command));
    }
    text_append(script, line > 1 || script->length ? "\n" : "");
}

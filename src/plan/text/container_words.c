/* Words of a description of containers as words of a shell; see container_writer.h. */
#include <inttypes.h>
#include <string.h>

#include "plan/text/container_writer.h"
#include "plan/text/shell_expand.h"

void container_go_to(struct container_writer *w, unsigned line)
{
    for (; w->line < line; w->line++)
        text_append(w->out, " \\\n");
}

void container_end_line(struct container_writer *w)
{
    text_append(w->out, "\n");
    w->line++;
}

void container_end(struct container_writer *w)
{
    if (w->own.length)
        text_printf(w->out, "; unset%s", text_string(&w->own));
    w->own = (struct text){.arena = w->out->arena};
    container_end_line(w);
}

/* What $(NAME) stands for; NULL: nothing that is known here. */
static const char *value_of(const struct container_writer *w, const char *name, size_t length)
{
    if (w->group && length == strlen(CONTAINER_GROUP) &&
        !strncmp(name, CONTAINER_GROUP, length))
        return w->group->text;
    for (const struct node *item = w->env ? w->env->first : NULL; item; item = item->next) {
        const struct node *called = node_get(item, "name");
        const char *text = item->key ? item->key : called ? called->text : "";
        if (strlen(text) == length && strncmp(text, name, length) == 0)
            return item->key ? item->text : container_env_text(w, item);
    }
    return NULL;
}

static void append_char(struct container_writer *w, char c)
{
    w->line += c == '\n';
    text_printf(w->out, c == '\'' ? "'\\''" : "%c", c);
}

/* The length of "${NAME}" or "${NAME:-8}" that the text begins with, which whoever fills a
 * template in replaces (envsubst, kustomize, Helm's users); 0: it does not. */
static size_t blank_length(const char *text)
{
    const char *close = strncmp(text, "${", 2) == 0 ? strchr(text, '}') : NULL;
    size_t n = close ? shell_name_length(text + 2, close) : 0;
    bool plain = n && (text[2 + n] == '}' || text[2 + n] == ':');
    return plain && !memchr(text, '"', (size_t)(close - text)) ? (size_t)(close + 1 - text) : 0;
}

void container_literal(struct container_writer *w, const char *text)
{
    bool script =
        strpbrk(text, " \t\n") != NULL; /* of a shell within, whose variables are its */
    text_append(w->out, "'");
    for (; *text; text++) {
        size_t blank = script ? 0 : blank_length(text);
        if (blank) {
            text_printf(w->out, "'\"%.*s\"'", (int)blank, text);
            text += blank - 1;
            continue;
        }
        const char *close = strncmp(text, "$(", 2) == 0 ? strchr(text, ')') : NULL;
        const char *value = close ? value_of(w, text + 2, (size_t)(close - text - 2)) : NULL;
        if (!value) {
            append_char(w, *text);
            continue;
        }
        for (const char *at = value; *at; at++) /* its lines are another file's */
            append_char(w, *at == '\n' ? ' ' : *at);
        text = close;
    }
    text_append(w->out, "'");
}

void container_filled(struct container_writer *w, const char *text)
{
    text_append(w->out, "\"");
    for (; *text; text++) {
        w->line += *text == '\n';
        text_printf(w->out, strchr("\"\\`", *text) ? "\\%c" : "%c", *text);
    }
    text_append(w->out, "\"");
}

void container_word(struct container_writer *w, const struct node *node)
{
    container_go_to(w, node->mark.line);
    text_append(w->out, " ");
    if (w->compose)
        container_filled(w, node->text);
    else
        container_literal(w, node->text);
}

bool container_words(struct container_writer *w, const struct node *node)
{
    if (!node || node_is_null(node))
        return false;
    if (node->kind == NODE_SCALAR) {
        container_go_to(w, node->mark.line);
        text_append(w->out, " ");
        for (const char *at = node->text; *at; at++)
            text_printf(w->out, "%c", *at == '\n' ? ' ' : *at);
        return true;
    }
    for (const struct node *word = node->first; word; word = word->next)
        if (word->kind == NODE_SCALAR)
            container_word(w, word);
    return node->first != NULL;
}

void container_export(struct container_writer *w, const char *name, size_t length,
                      const char *value)
{
    bool plain = length && shell_name_length(name, name + length) == length;
    if (!plain || strchr(value, '\n'))
        return;
    text_printf(w->out, "export %.*s=", (int)length, name);
    container_literal(w, value);
    text_append(w->out, "; ");
    text_printf(&w->own, " %.*s", (int)length, name);
}

void container_export_count(struct container_writer *w, const char *name, uint64_t n)
{
    container_export(w, name, strlen(name), arena_printf(w->out->arena, "%" PRIu64, n));
}

void container_export_pool(struct container_writer *w)
{
    if (!w->pool)
        return;
    container_export(w, CONTAINER_POOL, strlen(CONTAINER_POOL), w->pool);
    if (w->replicas)
        container_export(w, CONTAINER_REPLICAS, strlen(CONTAINER_REPLICAS), w->replicas);
}

void container_export_env(struct container_writer *w)
{
    if (w->group)
        container_export(w, CONTAINER_GROUP, strlen(CONTAINER_GROUP), w->group->text);
    for (const struct node *item = w->env ? w->env->first : NULL; item; item = item->next) {
        const struct node *name = node_get(item, "name");
        const char *value = container_env_text(w, item);
        const char *equals = item->kind == NODE_SCALAR ? strchr(item->text, '=') : NULL;
        if (item->kind == NODE_SCALAR && item->key)
            container_export(w, item->key, strlen(item->key), item->text);
        else if (equals)
            container_export(w, item->text, (size_t)(equals - item->text), equals + 1);
        else if (name && value)
            container_export(w, name->text, strlen(name->text), value);
    }
}

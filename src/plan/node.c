/* What is asked of trees, whatever they were read from; see source.h. */
#include "base/number.h"
#include "base/text.h"
#include "plan/source.h"

struct node *node_get(const struct node *node, const char *key)
{
    if (!node || node->kind != NODE_MAPPING)
        return NULL;
    for (struct node *child = node->first; child; child = child->next) {
        if (text_equal(child->key, key))
            return child;
    }
    return NULL;
}

const struct node *node_entries(const struct node *node)
{
    return node && node->kind == NODE_MAPPING ? node->first : NULL;
}

bool node_is(const struct node *node, const char *text)
{
    return node && node->kind == NODE_SCALAR && text_equal(node->text, text);
}

bool node_says(const struct node *mapping, const char *key, const char *text)
{
    return node_is(node_get(mapping, key), text);
}

bool node_is_null(const struct node *node)
{
    static const char *const nulls[] = {"", "~", "null", "Null", "NULL"};
    if (node->kind != NODE_SCALAR || node->quoted)
        return false;
    for (size_t i = 0; i < sizeof nulls / sizeof *nulls; i++) {
        if (text_equal(node->text, nulls[i]))
            return true;
    }
    return false;
}

const char *node_text(const struct node *node)
{
    return node && node->kind == NODE_SCALAR && !node_is_null(node) ? node->text : NULL;
}

uint64_t node_count(const struct node *node)
{
    const char *text = node_text(node);
    uint64_t n = 0;
    return text && number_count(text, &n) ? n : 0;
}

const char *node_kind_name(enum node_kind kind)
{
    static const char *const names[] = {"a value", "a list", "a mapping"};
    return names[kind];
}

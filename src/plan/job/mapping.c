/* Values that are mappings in one word, `{"a": 1}`; see reader.h. */
#include <string.h>

#include "base/json_read.h"
#include "base/number.h"
#include "plan/job/reader.h"

enum { SHOWN = 60 };

static enum status read_value(struct job *job, const struct setting *setting,
                              struct node **root)
{
    struct err refused = {0};
    if (source_read_option(setting->said, setting->values[0], job->arena, root, &refused) ==
            STATUS_OK &&
        (*root)->kind == NODE_MAPPING)
        return STATUS_OK;
    return err_at(job->err, setting->mark, "'%s' holds no mapping: %s", setting->said,
                  refused.text[0] ? refused.text : "a value");
}

static enum status add_entries(struct job *job, const char *prefix,
                               const struct setting *setting, const struct node *root)
{
    size_t first = job->n_settings;
    TRY(job_add_node(job, prefix, root));
    for (size_t i = first; i < job->n_settings; i++)
        job->settings[i].mark = setting->mark;
    return STATUS_OK;
}

enum status job_add_mapping(struct job *job, const char *prefix, const struct setting *setting)
{
    struct node *root = NULL;
    TRY(read_value(job, setting, &root));
    return add_entries(job, prefix, setting, root);
}

bool job_holds_json(const struct setting *setting)
{
    return setting->flag && setting->flag->shape == JOB_JSON && setting->n == 1 &&
           setting->values[0][0] == '{' && !setting->trouble;
}

/* Words and numbers of JSON; of Python, too, which some parsers read in its place. */
static bool is_plain(const char *text)
{
    static const char *const words[] = {"true", "false", "null", "True", "False", "None"};
    double number;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (text_equal(text, words[i]))
            return true;
    return number_real(text, &number);
}

/* The first key or value that stands without the quotes it needs, "" for one that is missing;
 * NULL: all is JSON. What is no mapping, list or value was refused as text. */
static const char *unquoted(const struct node *node)
{
    if (node->kind == NODE_SCALAR)
        return node->quoted || is_plain(node->text) ? NULL : node->text;
    for (const struct node *child = node->first; child; child = child->next) {
        const char *bad = child->key && !child->key_quoted ? child->key : unquoted(child);
        if (bad)
            return bad;
    }
    return NULL;
}

/* A comma behind the last entry, which YAML takes. */
static bool has_spare_comma(const char *text)
{
    struct json_read json;
    struct err ignored = {0};
    enum json_token token;
    json_read_init(&json, "", text, strlen(text));
    while (json_read_next(&json, &token, &ignored) == STATUS_OK && token != JSON_END)
        ;
    return json.spare;
}

enum status job_add_json(struct job *job, const char *prefix, const struct setting *setting)
{
    struct node *root = NULL;
    TRY(read_value(job, setting, &root));
    const char *bad = unquoted(root);
    if (!bad && has_spare_comma(setting->values[0]))
        return err_at(job->err, setting->mark,
                      "'%s' takes JSON: a comma stands behind the last entry", setting->name);
    if (!bad)
        return add_entries(job, prefix, setting, root);
    if (!bad[0])
        return err_at(job->err, setting->mark, "'%s' takes JSON: a value is missing",
                      setting->name);
    err_at(job->err, setting->mark, "'%s' takes JSON: '%.*s' stands without double quotes",
           setting->name, SHOWN, bad);
    return err_hint(job->err, "a shell takes double quotes away unless all stands in single "
                              "ones: '{\"key\": \"value\"}'");
}

/* Settings of a job: flags of a command line and entries of a file; what they say is read in
 * setting_values.c. */
#include <ctype.h>
#include <string.h>

#include "plan/job/reader.h"

enum { SETTINGS = 4000, VISITS = 100000, ITEMS = 256 };

/* ---- names ---- */

static bool same_name(const char *a, size_t length, const char *b, size_t other)
{
    if (length != other)
        return false;
    for (size_t i = 0; i < length; i++) {
        char x = a[i] == '_' ? '-' : a[i], y = b[i] == '_' ? '-' : b[i];
        if (x != y)
            return false;
    }
    return true;
}

static bool has_name(const char *names, const char *name, size_t length)
{
    for (const char *at = names; *at;) {
        size_t n = strcspn(at, " ");
        if (same_name(at, n, name, length))
            return true;
        at += n + (at[n] == ' ');
    }
    return false;
}

static const struct job_flag *find_row(const struct job_framework *framework, const char *name,
                                       size_t length)
{
    for (size_t i = 0; i < *framework->n_flags; i++)
        if (has_name(framework->flags[i].names, name, length))
            return &framework->flags[i];
    return NULL;
}

/* By its whole name, or behind a section's. */
static const struct job_flag *find_own(const struct job_framework *framework, const char *name,
                                       size_t length)
{
    const struct job_flag *row = find_row(framework, name, length);
    for (const char *at = framework->sections; !row && at && *at;) {
        size_t n = strcspn(at, " ");
        if (length > n && strncmp(name, at, n) == 0)
            row = find_row(framework, name + n, length - n);
        at += n + (at[n] == ' ');
    }
    return row;
}

static const struct job_flag *find_shared(const struct job_framework *framework,
                                          const char *name, size_t length)
{
    const struct job_flag *row = NULL;
    for (size_t i = 0; !row && framework->shares && framework->shares[i]; i++)
        row = job_flag_find(framework->shares[i], name, length);
    return row;
}

const struct job_flag *job_flag_find(const struct job_framework *framework, const char *name,
                                     size_t length)
{
    const struct job_flag *row = find_own(framework, name, length);
    row = row ? row : find_shared(framework, name, length);
    for (const char *at = framework->sections; !row && at && *at;) {
        size_t n = strcspn(at, " ");
        if (length > n && strncmp(name, at, n) == 0)
            row = find_shared(framework, name + n, length - n);
        at += n + (at[n] == ' ');
    }
    return row;
}

/* ---- adding ---- */

static bool same_values(const struct setting *a, const struct setting *b)
{
    if (a->n != b->n || a->off != b->off)
        return false;
    for (size_t i = 0; i < a->n; i++)
        if (!text_equal(a->values[i], b->values[i]))
            return false;
    return true;
}

/* A flag given twice on one command line: the last holds, as in the frameworks. */
static void warn_of_repetition(struct job *job, const struct setting *setting)
{
    for (size_t i = 0; i < job->n_settings && setting->flag; i++) {
        struct setting *old = &job->settings[i];
        if (old->flag != setting->flag || old->layer != setting->layer || old->used)
            continue;
        old->used = true;
        if (!same_values(old, setting))
            job_warn(job, setting->mark,
                     "'%s' is given again with another value; it was '%s' "
                     "on line %u",
                     setting->said, old->said, old->mark.line);
    }
}

void job_add(struct job *job, struct setting setting)
{
    if (job->n_settings == SETTINGS) {
        err_at(job->err, setting.mark, "more than the limit of %d settings", SETTINGS);
        return;
    }
    setting.layer = job->layer;
    warn_of_repetition(job, &setting);
    job->settings = arena_grow(job->arena, job->settings, job->n_settings, &job->capacity,
                               sizeof *job->settings);
    job->settings[job->n_settings++] = setting;
}

static enum status added(const struct job *job)
{
    return job->err->status;
}

/* ---- trees ---- */

/* A list inside a list is its scalars with commas. */
static const char *leaf(struct job *job, const struct node *node, const char **trouble)
{
    if (node->kind == NODE_SCALAR)
        return job_resolve_text(job, node->text, trouble);
    bool flat = node->kind == NODE_SEQUENCE;
    struct text text = {.arena = job->arena};
    for (const struct node *item = flat ? node->first : NULL; item; item = item->next) {
        flat = flat && item->kind == NODE_SCALAR;
        text_printf(&text, "%s%s", item == node->first ? "" : ",", flat ? item->text : "");
    }
    if (flat)
        return text_string(&text);
    *trouble = arena_printf(job->arena, "%s stands where a value is expected",
                            node_kind_name(node->kind));
    return "";
}

static enum status add_leaf(struct job *job, const char *name, const struct node *node)
{
    size_t n = node->kind == NODE_SEQUENCE ? node->n : 1, i = 0;
    n = n > ITEMS ? ITEMS : n;
    const char **values = arena_alloc(job->arena, n + 1, sizeof *values);
    struct setting setting = {.flag = job_flag_find(job->framework, name, strlen(name)),
                              .name = name,
                              .said = name,
                              .mark = node->key ? node->key_mark : node->mark,
                              .values = values,
                              .n = n};
    setting.null = node_is_null(node);
    if (setting.null)
        setting.n = 0;
    else if (node->kind == NODE_SEQUENCE)
        for (const struct node *item = node->first; item && i < n; item = item->next)
            values[i++] = leaf(job, item, &setting.trouble);
    else
        values[0] = leaf(job, node, &setting.trouble);
    if (values[0] && values[0] != node->text && text_equal(values[0], "null"))
        setting.null = true;
    setting.used = setting.null; /* as if it were not there, in the layers below either */
    if (job_holds_json(&setting))
        return job_add_json(job, name, &setting);
    job_add(job, setting);
    return added(job);
}

enum status job_add_node(struct job *job, const char *prefix, const struct node *node)
{
    for (const struct node *child = node->first; child; child = child->next) {
        if (job->n_visits++ == VISITS)
            return err_at(job->err, child->mark, "more than the limit of %d values", VISITS);
        const char *name = *prefix && child->key
                               ? arena_printf(job->arena, "%s.%s", prefix, child->key)
                               : child->key;
        if (!name)
            name = prefix;
        if (child->kind == NODE_MAPPING && strlen(name) < 512)
            TRY(job_add_node(job, name, child));
        else
            TRY(add_leaf(job, name, child));
    }
    return STATUS_OK;
}

/* ---- command lines ---- */

/* Characters of the dashes in front of a flag; 0: a value (-1 is one, and so is a lone dash).
 */
static size_t dashes(const char *text)
{
    size_t n = strspn(text, "-");
    return n >= 1 && n <= 2 && (isalpha((unsigned char)text[n])) ? n : 0;
}

/* "no-x" and "disable-x" of a switch x. */
static const struct job_flag *find_turned_off(const struct job *job, const char *name,
                                              size_t length)
{
    static const char *const prefixes[] = {"no-", "no_", "disable-", "disable_"};
    for (size_t i = 0; i < 4; i++) {
        size_t head = strlen(prefixes[i]);
        if (length <= head || strncmp(name, prefixes[i], head) != 0)
            continue;
        const struct job_flag *flag = job_flag_find(job->framework, name + head, length - head);
        if (flag && flag->shape == JOB_SWITCH)
            return flag;
    }
    return NULL;
}

/* Rows of a table with a name that begins so; *row the last of them. */
static size_t count_beginning(const struct job_flag *flags, size_t n, const char *name,
                              size_t length, const struct job_flag **row)
{
    size_t rows = 0;
    for (size_t i = 0; i < n; i++) {
        bool begins = false;
        for (const char *at = flags[i].names; *at;) {
            size_t whole = strcspn(at, " ");
            begins = begins || (whole > length && same_name(at, length, name, length));
            at += whole + (at[whole] == ' ');
        }
        rows += begins;
        *row = begins ? &flags[i] : *row;
    }
    return rows;
}

/* The flag of which a name is the beginning, as Python's argparse takes it: one alone. Of few
 * letters no table of ours is sure to know every other. */
static const struct job_flag *find_abbreviated(const struct job *job, const char *name,
                                               size_t length)
{
    enum { FEW = 8 };
    const struct job_framework *f = job->framework;
    const struct job_flag *row = NULL;
    if (!f->abbreviates || length < FEW)
        return NULL;
    return count_beginning(f->flags, *f->n_flags, name, length, &row) == 1 ? row : NULL;
}

static bool is_truth(const char *text)
{
    return text_equal(text, "true") || text_equal(text, "True") || text_equal(text, "false") ||
           text_equal(text, "False");
}

/* "key=value" of a framework whose settings are such words. */
static bool is_override(const struct job *job, const char *text)
{
    const char *equals = strchr(text, '=');
    size_t head = strspn(text, "+~");
    return job->framework->syntax == JOB_OVERRIDES && equals &&
           (isalpha((unsigned char)text[head]) || text[head] == '_') && !strchr(text, ' ');
}

/* How many of the words behind a flag are its own. */
static size_t own_words(const struct job *job, const struct setting *setting,
                        const struct shell_word *words, size_t n)
{
    size_t most = n, own = 0;
    if (setting->flag && setting->flag->shape == JOB_SWITCH) /* "--x false" of some parsers */
        return n && is_truth(words[0].text) ? 1 : 0;
    if (setting->flag && setting->flag->shape != JOB_LIST)
        most = n ? 1 : 0;
    while (own < most && !dashes(words[own].text) && !is_override(job, words[own].text))
        own++;
    return own;
}

/* A long mapping is a file in a word: what comes of it says which of its keys. */
static const char *shown(const char *value)
{
    enum { LONG = 64 };
    return value[0] == '{' && strlen(value) > LONG ? "{..}" : value;
}

static const char *said(struct job *job, const struct shell_word *word,
                        const struct setting *setting, size_t own)
{
    struct text text = {.arena = job->arena};
    text_append(&text, word->text);
    for (size_t i = 0; i < own && i < 8 && text.length < 80; i++)
        text_printf(&text, " %s", shown(setting->values[i]));
    return text_string(&text);
}

/* Adds the flag at words[0]; *used is the number of words it took. */
static enum status add_flag(struct job *job, const struct shell_word *words, size_t n,
                            size_t *used)
{
    const char *name = words->text + dashes(words->text);
    const char *equals = strchr(name, '=');
    size_t length = equals ? (size_t)(equals - name) : strlen(name);
    struct setting s = {.name = arena_strndup(job->arena, name, length),
                        .mark = words->mark,
                        .trouble = words->trouble};
    s.flag = job_flag_find(job->framework, name, length);
    if (!s.flag) {
        s.flag = find_turned_off(job, name, length);
        s.off = s.flag != NULL;
    }
    s.flag = s.flag ? s.flag : find_abbreviated(job, name, length);
    size_t own = equals ? 0 : own_words(job, &s, words + 1, n - 1);
    const char **values = arena_alloc(job->arena, own + 2, sizeof *values);
    s.values = values;
    s.n = equals ? 1 : own;
    if (equals)
        values[0] = equals + 1;
    for (size_t i = 0; i < own; i++) {
        values[i] = words[1 + i].text;
        s.trouble = s.trouble ? s.trouble : words[1 + i].trouble;
    }
    s.said = said(job, words, &s, own);
    *used = 1 + own;
    if (job_holds_json(&s))
        return job_add_json(job, s.name, &s);
    job_add(job, s);
    return added(job);
}

/* "key=value", "+key=value", "++key=value", "~key" */
static enum status add_override(struct job *job, const struct shell_word *word)
{
    const char *name = word->text + strspn(word->text, "+~");
    const char *equals = strchr(name, '=');
    bool removed = word->text[0] == '~';
    size_t length = equals ? (size_t)(equals - name) : strlen(name);
    if (removed)
        return STATUS_OK;
    struct setting s = {.name = arena_strndup(job->arena, name, length),
                        .mark = word->mark,
                        .trouble = word->trouble,
                        .said = word->text};
    s.flag = job_flag_find(job->framework, name, length);
    const char *value = equals ? equals + 1 : "";
    struct node *root = NULL;
    struct err refused = {0};
    bool flow = value[0] == '[' || value[0] == '{';
    if (flow && !s.trouble &&
        source_read_option(word->text, value, job->arena, &root, &refused) == STATUS_OK) {
        size_t first = job->n_settings;
        root->key = s.name;
        struct node around = {.kind = NODE_MAPPING, .n = 1, .first = root};
        TRY(job_add_node(job, "", &around));
        for (size_t i = first; i < job->n_settings; i++)
            job->settings[i].mark = word->mark;
        return STATUS_OK;
    }
    const char **values = arena_alloc(job->arena, 1, sizeof *values);
    values[0] = job_unquoted(job, value, strlen(value)); /* a second pair: Hydra's own */
    s.values = values;
    s.n = 1;
    job_add(job, s);
    return added(job);
}

static void warn_of_word(struct job *job, const struct shell_word *word)
{
    if (word->trouble)
        job_warn(job, word->mark, "%s: what it may add to the command line is missing",
                 word->trouble);
}

enum status job_add_words(struct job *job, const struct shell_word *words, size_t n)
{
    for (size_t i = 0; i < n;) {
        size_t used = 1;
        const char *text = words[i].text;
        bool overrides = job->framework->syntax == JOB_OVERRIDES;
        if (dashes(text))
            TRY(add_flag(job, words + i, n - i, &used));
        else if (overrides && (strchr(text, '=') || text[0] == '~'))
            TRY(add_override(job, words + i));
        else if (!words[i].trouble && !job->positional)
            job->positional = words + i;
        else
            warn_of_word(job, words + i);
        i += used;
    }
    return STATUS_OK;
}

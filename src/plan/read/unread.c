/* The table of unread_table.c asked about one plan; see unread.h. */
#include "plan/read/unread.h"

#include <inttypes.h>

#include "base/text.h"
#include "plan/derive.h"
#include "plan/read/unread_table.h"

/* ---- values that decide ---- */

static uint64_t list_length(const struct field *field, const struct plan *plan)
{
    const void *member = (const char *)plan + field->offset;
    return ((const struct number_list *)member)->n; /* every list begins with its length */
}

/* As the plan's software takes it: a path for auto, the cores for 0. */
static double value_of(const struct condition *c, const struct unread_plan *of)
{
    const struct field *field = schema_find(c->key);
    if (text_equal(c->key, "moe.path") && !c->as_written)
        return of->path;
    if (text_equal(c->key, "moe.cores"))
        return (double)plan_cores(of->plan);
    return schema_is_list(field) ? (double)list_length(field, of->plan)
                                 : schema_number(field, of->plan);
}

static bool condition_holds(const struct condition *c, const struct unread_plan *of)
{
    switch (c->kind) {
    case CONDITION_WORD:
        return c->words >> (unsigned)value_of(c, of) & 1;
    case CONDITION_ABOVE:
        return value_of(c, of) > (double)c->above;
    case CONDITION_ZERO:
        return !(value_of(c, of) > 0);
    case CONDITION_OTHER:
        return c->holds(of->plan);
    case CONDITION_END:
        break;
    }
    return true;
}

/* The first condition that does not hold; NULL: the row reads its key. */
static const struct condition *failing(const struct unread_row *row,
                                       const struct unread_plan *of)
{
    for (size_t i = 0; i < UNREAD_CONDITIONS; i++)
        if (!condition_holds(&row->when[i], of))
            return &row->when[i];
    return NULL;
}

/* ---- rows of a key: neighbours ---- */

/* Of the row that is the first of its key: how many that key has. */
static size_t count_rows(const struct unread_row *first)
{
    size_t n = 1;
    while (first + n < unread_rows + unread_rows_n && text_equal(first[n].key, first->key))
        n++;
    return n;
}

static const struct unread_row *rows_of(const struct field *field, size_t *n)
{
    size_t first = 0;
    while (first < unread_rows_n && !text_equal(unread_rows[first].key, field->key))
        first++;
    *n = first < unread_rows_n ? count_rows(&unread_rows[first]) : 0;
    return *n ? &unread_rows[first] : NULL;
}

/* The same of all fields: the first row of each, NULL where it has none. */
static const struct unread_row **rows_of_all(struct arena *arena)
{
    size_t n_fields;
    const struct field *fields = schema_fields(&n_fields);
    const struct unread_row **firsts = arena_alloc(arena, n_fields, sizeof *firsts);
    for (size_t i = 0; i < unread_rows_n; i += count_rows(&unread_rows[i]))
        firsts[schema_find(unread_rows[i].key) - fields] = &unread_rows[i];
    return firsts;
}

/* ---- why ---- */

static void print_value(const struct condition *c, const struct unread_plan *of,
                        struct text *out)
{
    if (c->kind == CONDITION_OTHER) {
        text_append(out, c->otherwise);
        return;
    }
    text_printf(out, "%s is ", c->key);
    if (text_equal(c->key, "moe.cores"))
        text_printf(out, "%" PRIu64, plan_cores(of->plan));
    else
        schema_print(schema_find(c->key), of->plan, out);
    if (text_equal(c->key, "moe.path") && !plan_names_path(of->plan) && !c->as_written)
        text_printf(out, ", here %s", words_path[of->path]);
}

/* "a is x, b is y": what keeps each row from reading, each key once, the key itself never. */
static const char *reason_of(const struct unread_row *rows, size_t n,
                             const struct unread_plan *of, struct arena *arena)
{
    struct text text = {.arena = arena};
    for (size_t i = 0; i < n; i++) {
        const struct condition *c = failing(&rows[i], of);
        bool said = text_equal(c->key, rows->key);
        for (size_t j = 0; j < i; j++)
            said = said || text_equal(failing(&rows[j], of)->key, c->key);
        if (said)
            continue;
        text_append(&text, text.length ? ", " : "not read, ");
        print_value(c, of, &text);
    }
    return text_string(&text);
}

/* Why none of n rows reads their key; NULL: one does, or there is none. */
static const char *why_none(const struct unread_row *rows, size_t n,
                            const struct unread_plan *of, struct arena *arena)
{
    for (size_t i = 0; i < n; i++)
        if (!rows[i].never && !failing(&rows[i], of))
            return NULL;
    if (n && rows->never)
        return arena_printf(arena, "not read, %s", rows->never);
    return n ? reason_of(rows, n, of, arena) : NULL;
}

const char *unread_reason(const struct field *field, const struct unread_plan *of,
                          struct arena *arena)
{
    size_t n;
    const struct unread_row *rows = rows_of(field, &n);
    return why_none(rows, n, of, arena);
}

/* A context that a launch allows beside requests of their own lengths: what is longer than it
 * an engine refuses (vLLM renderers/params.py, SGLang managers/tokenizer_manager.py); NULL:
 * none are. */
static const char *outgrown(const struct field *field, const struct plan *plan,
                            struct arena *arena)
{
    const struct workload *w = &plan->workload;
    uint64_t request = w->input_length + w->output_length;
    if (w->mode != MODE_SERVE || request <= w->context_length ||
        !text_equal(field->key, "workload.context_length"))
        return NULL;
    return arena_printf(arena,
                        "requests of %" PRIu64 " tokens are longer than %" PRIu64
                        ": an engine that is started so refuses them",
                        request, w->context_length);
}

const struct note *unread_notes(const struct unread_plan *of, const struct origins *origins,
                                struct arena *arena, size_t *n)
{
    size_t n_fields;
    const struct field *fields = schema_fields(&n_fields);
    struct note *notes = arena_alloc(arena, n_fields, sizeof *notes);
    const struct unread_row **rows = rows_of_all(arena);
    *n = 0;
    for (size_t i = 0; i < n_fields; i++) {
        if (!rows[i] || !origins_by_user(origins, &fields[i]))
            continue;
        const char *text = why_none(rows[i], count_rows(rows[i]), of, arena);
        const char *loud = text ? outgrown(&fields[i], of->plan, arena) : NULL;
        if (text)
            notes[(*n)++] =
                loud ? note_loud(fields[i].key, loud) : note_of(fields[i].key, text);
    }
    return notes;
}

bool unread_depends(const struct field *field, const char *other)
{
    size_t n;
    const struct unread_row *rows = rows_of(field, &n);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < UNREAD_CONDITIONS; j++)
            if (rows[i].when[j].kind && text_equal(rows[i].when[j].key, other))
                return true;
    return false;
}

/* ---- help ---- */

static unsigned count_bits(uint32_t bits)
{
    unsigned n = 0;
    for (; bits; bits &= bits - 1)
        n++;
    return n;
}

/* "is a or b", or what it is not where that is shorter. */
static void print_words(const struct condition *c, const char *const *words, struct text *out)
{
    static const char *const switches[] = {"false", "true", NULL};
    unsigned n = 0, said = 0;
    words = words ? words : switches;
    while (words[n])
        n++;
    uint32_t all = (UINT32_C(1) << n) - 1;
    bool inverted = 2 * count_bits(c->words) > n;
    uint32_t bits = inverted ? all & ~c->words : c->words;
    if (text_equal(c->key, "moe.path") && inverted)
        bits &= ~UINT32_C(1); /* auto is what the stack makes of it */
    text_printf(out, "%s is %s", c->key, inverted ? "not " : "");
    for (unsigned i = 0; i < n; i++)
        if (bits >> i & 1)
            text_printf(out, "%s%s", said++ ? " or " : "", words[i]);
}

static void print_condition(const struct condition *c, struct text *out)
{
    const struct field *field = schema_find(c->key);
    if (c->kind == CONDITION_OTHER)
        text_append(out, c->text);
    else if (c->kind == CONDITION_ZERO)
        text_printf(out, "%s is 0", c->key);
    else if (c->kind == CONDITION_ABOVE && schema_is_list(field))
        text_printf(out, "%s is not empty", c->key);
    else if (c->kind == CONDITION_ABOVE)
        text_printf(out, "%s is above %" PRIu64, c->key, c->above);
    else
        print_words(c, field->words, out);
}

const char *unread_when(const struct field *field, struct arena *arena)
{
    size_t n;
    const struct unread_row *rows = rows_of(field, &n);
    struct text text = {.arena = arena};
    if (!n)
        return NULL;
    if (rows->never)
        return arena_printf(arena, "not yet, %s", rows->never);
    for (size_t i = 0; i < n; i++) {
        text_append(&text, i ? "; or " : "when ");
        for (size_t j = 0; j < UNREAD_CONDITIONS && rows[i].when[j].kind; j++) {
            text_append(&text, j ? ", " : "");
            print_condition(&rows[i].when[j], &text);
        }
    }
    return text_string(&text);
}

/* See corpus.h. */
#include "corpus/corpus.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/column.h"
#include "base/hash.h"
#include "base/number.h"
#include "base/output.h"
#include "plan/read/load.h"
#include "plan/rule/rule.h"
#include "plan/schema/schema.h"
#include "plan/source.h"
#include "plan/data/profile.h"
#include "plan/data/trace.h"
#include "sim/answer/predict.h"
#include "work/stack/stack.h"

const char *const corpus_kinds[CORPUS_KINDS] = {"model", "cluster", "stack", "base"};

enum { KEYS = 512 };

/* ---- plans as text ---- */

/* Settings "key=value; key=value" as overrides; the text is cut into pieces. */
static size_t split_settings(char *text, struct override overrides[KEYS])
{
    size_t n = 0;
    for (char *piece = text; piece && *piece && n < KEYS;) {
        char *end = strstr(piece, "; ");
        if (end)
            *end = '\0';
        char *equals = strchr(piece, '=');
        overrides[n].option = overrides[n].key = piece;
        overrides[n].value = equals ? equals + 1 : "";
        if (equals)
            *equals = '\0';
        n++;
        piece = end ? end + 2 : NULL;
    }
    return n;
}

enum status corpus_set(struct plan *plan, const char *key, const char *value,
                       struct arena *arena, struct err *err)
{
    const struct field *field = schema_find(key);
    struct node *node;
    if (!field)
        return err_set(err, STATUS_INPUT, "the corpus sets '%s', which is no key", key);
    TRY(source_read_option(key, value, arena, &node, err));
    if (node->kind == NODE_SCALAR)
        return schema_set(field, plan, node->text, node->quoted, node->mark, err);
    schema_list_clear(field, plan);
    for (const struct node *item = node->first; item; item = item->next)
        TRY(schema_list_add(field, plan, item->text, item->quoted, item->mark, err));
    return STATUS_OK;
}

static enum status apply_settings(const char *settings, struct arena *arena, struct plan *plan,
                                  struct err *err)
{
    struct override overrides[KEYS];
    size_t n = split_settings(arena_strdup(arena, settings), overrides);
    for (size_t i = 0; i < n; i++)
        TRY(corpus_set(plan, overrides[i].key, overrides[i].value, arena, err));
    return STATUS_OK;
}

static enum status apply_part(const struct csv *parts, enum corpus_kind kind, const char *name,
                              struct arena *arena, struct plan *plan, struct err *err)
{
    for (size_t i = 0; i < parts->n_rows; i++)
        if (text_equal(csv_cell(parts, i, "kind"), corpus_kinds[kind]) &&
            text_equal(csv_cell(parts, i, "name"), name))
            return apply_settings(csv_cell(parts, i, "keys"), arena, plan, err);
    return err_set(err, STATUS_INPUT, "no %s '%s' in parts.csv", corpus_kinds[kind], name);
}

enum status corpus_parts(struct arena *arena, struct csv *parts, struct err *err)
{
    return csv_read(CORPUS_FOLDER "parts.csv", arena, parts, err);
}

static enum status plan_of_parts(const struct csv *parts, char *names, const char *settings,
                                 struct arena *arena, struct plan *plan, struct err *err)
{
    char text[RULE_TEXT], hint[RULE_TEXT];
    char *rest = names, *const copies[] = {plan->model_name, plan->cluster_name,
                                           plan->stack_name};
    memset(plan, 0, sizeof *plan);
    schema_defaults(plan);
    TRY(apply_part(parts, CORPUS_BASE, "base", arena, plan, err));
    for (unsigned kind = 0; kind < CORPUS_BASE; kind++) {
        const char *name = strtok_r(NULL, " ", &rest);
        if (!name)
            return err_set(err, STATUS_INPUT, "the plan names no %s", corpus_kinds[kind]);
        TRY(apply_part(parts, (enum corpus_kind)kind, name, arena, plan, err));
        snprintf(copies[kind], PLAN_NAME, "%s", name);
    }
    memcpy(plan->model.name, plan->model_name, PLAN_NAME);
    memcpy(plan->cluster.name, plan->cluster_name, PLAN_NAME);
    memcpy(plan->stack.name, plan->stack_name, PLAN_NAME);
    TRY(apply_settings(settings, arena, plan, err));
    const struct rule *rule = rule_check(plan, text, hint);
    return rule ? err_set(err, STATUS_INPUT, "rule %s: %s", rule->name, text) : STATUS_OK;
}

enum status corpus_plan(const struct csv *parts, const char *text, struct arena *arena,
                        struct plan *plan, struct err *err)
{
    struct override overrides[KEYS];
    if (text[0] == '{')
        return plan_load_text("corpus.yaml", text, strlen(text), NULL, 0, arena, plan, NULL,
                              err);
    char *names = arena_strdup(arena, text), *settings = strstr(names, "; ");
    if (settings)
        *settings = '\0';
    settings = settings ? settings + 2 : names + strlen(names);
    if (!text_ends(names, ".yaml"))
        return plan_of_parts(parts, names, settings, arena, plan, err);
    size_t n = split_settings(settings, overrides);
    return plan_load(names, overrides, n, arena, plan, NULL, err);
}

static enum corpus_kind kind_of(const struct field *field)
{
    for (unsigned kind = 0; kind < CORPUS_BASE; kind++)
        if (text_starts(field->key, corpus_kinds[kind]))
            return (enum corpus_kind)kind;
    return CORPUS_BASE;
}

void corpus_print(enum corpus_kind kind, const struct plan *plan, const struct plan *like,
                  struct text *out)
{
    size_t n;
    const struct field *fields = schema_fields(&n);
    for (size_t i = 0; i < n; i++) {
        const struct field *field = &fields[i];
        struct text value = {.arena = out->arena}, other = {.arena = out->arena};
        if (kind_of(field) != kind ||
            (field->type == FIELD_TEXT && !text_starts(field->key, "moe.routing.")))
            continue;
        schema_print(field, plan, &value);
        if (like)
            schema_print(field, like, &other);
        if (text_equal(text_string(&value), like ? text_string(&other) : "\"\""))
            continue;
        text_printf(out, "%s%s=%s", out->length ? "; " : "", field->key, text_string(&value));
    }
}

/* ---- what is recorded ---- */

enum cell_type {
    CELL_STATUS,   /* "ok", or why the plan is refused */
    CELL_PATH,     /* what moe.path came to */
    CELL_VERDICT,  /* a word */
    CELL_LARGEST,  /* bytes of the largest buffer */
    CELL_NAME,     /* const char * */
    CELL_COUNT,    /* uint64_t */
    CELL_SPREAD,   /* uint64_t, "" where it is the total */
    CELL_BUFFER,   /* const struct buffer_report *, its bytes, "" without one */
    CELL_CATEGORY, /* bytes of a category */
    CELL_FIXES,    /* how many, "" without one */
    CELL_DIGEST,   /* of them: what each sets, costs and comes to, in any order */
    CELL_SECONDS,  /* double: seconds, or a rate; "" where the plan has none */
    CELL_TYPES
};

struct cell {
    const char *key;
    enum cell_type type;
    size_t at; /* offset in struct prediction, or the category */
};

#define PLACE(member) offsetof(struct prediction, member)
#define CATEGORY_CELL(name, text) {text, CELL_CATEGORY, CATEGORY_##name},
static const struct cell cells[] = {
    {"status", CELL_STATUS, 0},
    {"path", CELL_PATH, 0},
    {"verdict", CELL_VERDICT, 0},
    {"sizing", CELL_NAME, PLACE(memory.sizing)},
    {"schedule", CELL_NAME, PLACE(memory.schedule)},
    {"limit_bytes", CELL_COUNT, PLACE(memory.limit_bytes)},
    {"state_bytes", CELL_COUNT, PLACE(memory.state_bytes)},
    {"temp_bytes", CELL_COUNT, PLACE(memory.temp_bytes)},
    {"total_bytes", CELL_COUNT, PLACE(memory.total_bytes)},
    {"expected_bytes", CELL_SPREAD, PLACE(memory.expected_bytes)},
    {"p99_bytes", CELL_SPREAD, PLACE(memory.p99_bytes)},
    {"worst_bytes", CELL_SPREAD, PLACE(memory.worst_bytes)},
    {"allocated_bytes", CELL_SPREAD, PLACE(memory.allocated_bytes)},
    {"resident_bytes", CELL_SPREAD, PLACE(memory.resident_bytes)},
    {"wall_bytes", CELL_BUFFER, PLACE(memory.wall)},
    {"int_wall_bytes", CELL_BUFFER, PLACE(memory.int_wall)},
    {"largest_bytes", CELL_LARGEST, 0},
    {"fixes", CELL_FIXES, 0},
    {"fixes_digest", CELL_DIGEST, 0},
    {"parameters_per_device", CELL_COUNT, PLACE(model.parameters_per_device)},
    {"flop_per_token", CELL_COUNT, PLACE(model.flop_per_token)},
    {"syncs_per_layer", CELL_COUNT, PLACE(sync.per_layer)},
    CATEGORY_LIST(CATEGORY_CELL){"step_s", CELL_SECONDS, PLACE(time.step_s)},
    {"ttft_s", CELL_SECONDS, PLACE(time.ttft_s)},
    {"tpot_s", CELL_SECONDS, PLACE(time.tpot_s)},
    {"tokens_per_s", CELL_SECONDS, PLACE(time.tokens_per_s)},
    {"exposed_comm_s", CELL_SECONDS, PLACE(time.exposed_comm_s)},
    {"bubble_s", CELL_SECONDS, PLACE(time.bubble_s)},
    {"executed_flop", CELL_SECONDS, PLACE(time.step.executed_flop)}};

/* Libraries and compilers differ in the last digits of a quotient. */
bool corpus_same(size_t i, const char *recorded, const char *now)
{
    double a, b;
    if (cells[i].type != CELL_SECONDS || !number_real(recorded, &a) || !number_real(now, &b))
        return text_equal(recorded, now);
    return fabs(a - b) <= 1e-7 * fabs(a);
}

size_t corpus_n_cells(void)
{
    return sizeof cells / sizeof *cells;
}

const char *corpus_key(size_t i)
{
    return cells[i].key;
}

/* A prediction whose cells are printed. */
struct printed {
    const struct plan *plan;
    const struct prediction *prediction;
    struct arena *arena;
};

static const char *print_count(const struct printed *p, uint64_t count)
{
    return arena_printf(p->arena, "%" PRIu64, count);
}

static const void *member(const struct printed *p, const struct cell *cell)
{
    return (const char *)p->prediction + cell->at;
}

static const char *print_status(const struct printed *p, const struct cell *cell)
{
    (void)p, (void)cell;
    return "ok";
}

static const char *print_path(const struct printed *p, const struct cell *cell)
{
    (void)cell;
    return words_path[stack_path(p->plan, NULL)];
}

static const char *print_verdict(const struct printed *p, const struct cell *cell)
{
    (void)cell;
    return verdict_name(p->prediction->memory.verdict);
}

static const char *print_largest(const struct printed *p, const struct cell *cell)
{
    const struct memory_report *memory = &p->prediction->memory;
    uint64_t most = 0;
    (void)cell;
    for (size_t i = 0; i < memory->n_buffers; i++)
        most = memory->buffers[i].bytes > most ? memory->buffers[i].bytes : most;
    return print_count(p, most);
}

static const char *print_name(const struct printed *p, const struct cell *cell)
{
    return *(const char *const *)member(p, cell);
}

static const char *print_member(const struct printed *p, const struct cell *cell)
{
    return print_count(p, *(const uint64_t *)member(p, cell));
}

static const char *print_spread(const struct printed *p, const struct cell *cell)
{
    uint64_t bytes = *(const uint64_t *)member(p, cell);
    return bytes == p->prediction->memory.total_bytes ? "" : print_count(p, bytes);
}

static const char *print_buffer(const struct printed *p, const struct cell *cell)
{
    const struct buffer_report *buffer = *(struct buffer_report *const *)member(p, cell);
    return buffer ? print_count(p, buffer->bytes) : "";
}

static const char *print_fixes(const struct printed *p, const struct cell *cell)
{
    size_t n = p->prediction->memory.n_fixes;
    (void)cell;
    return n ? print_count(p, n) : "";
}

/* In any order: they are sorted by speed, whose last digits are the compiler's. */
static const char *print_digest(const struct printed *p, const struct cell *cell)
{
    const struct memory_report *memory = &p->prediction->memory;
    uint64_t sum = 0;
    (void)cell;
    for (size_t i = 0; i < memory->n_fixes; i++) {
        const struct fix *fix = &memory->fixes[i];
        const char *text =
            arena_printf(p->arena, "%s %s %" PRIu64 " %s", fix->set, fix_kind_name(fix->kind),
                         fix->total_bytes, verdict_name(fix->verdict));
        sum += hash_bytes(HASH_START, text, strlen(text));
    }
    return memory->n_fixes ? arena_printf(p->arena, "#%08" PRIx32, (uint32_t)(sum >> 32)) : "";
}

static const char *print_category(const struct printed *p, const struct cell *cell)
{
    const struct memory_report *memory = &p->prediction->memory;
    for (unsigned i = 0; i < memory->n_categories; i++)
        if (memory->categories[i].category == cell->at)
            return print_count(p, memory->categories[i].bytes);
    return "";
}

static const char *print_seconds(const struct printed *p, const struct cell *cell)
{
    double value = *(const double *)member(p, cell);
    bool told = p->prediction->time.present && isfinite(value) && value != 0;
    return told ? arena_printf(p->arena, "%.9g", value) : "";
}

static const char *(*const printers[CELL_TYPES])(const struct printed *,
                                                 const struct cell *) = {
    [CELL_STATUS] = print_status,     [CELL_PATH] = print_path,
    [CELL_VERDICT] = print_verdict,   [CELL_LARGEST] = print_largest,
    [CELL_NAME] = print_name,         [CELL_COUNT] = print_member,
    [CELL_SPREAD] = print_spread,     [CELL_BUFFER] = print_buffer,
    [CELL_CATEGORY] = print_category, [CELL_SECONDS] = print_seconds,
    [CELL_FIXES] = print_fixes,       [CELL_DIGEST] = print_digest,
};

static enum status predict_plan(const struct plan *plan, struct arena *arena,
                                struct prediction *prediction, struct err *err)
{
    struct routing_data routing = {0};
    struct profile profile;
    const struct time_ask time = {.routing = &routing, .profile = &profile};
    const struct predict_options options = {
        .routing = &routing, .memory_only = true, .time = &time, .fixes = true};
    TRY(routing_data_load(plan, arena, &routing, err));
    TRY(profile_load(plan, arena, &profile, err));
    return predict(plan, &options, arena, prediction, err);
}

const char **corpus_cells(const struct plan *plan, struct arena *arena)
{
    struct err err = {0};
    struct prediction prediction = {0};
    const struct printed printed = {plan, &prediction, arena};
    const char **out = arena_alloc(arena, corpus_n_cells(), sizeof *out);
    bool refused = predict_plan(plan, arena, &prediction, &err) != STATUS_OK;
    for (size_t i = 0; i < corpus_n_cells(); i++)
        out[i] = refused ? "" : printers[cells[i].type](&printed, &cells[i]);
    if (refused)
        out[0] = arena_printf(arena, "refused: %.*s", (int)strcspn(err.text, "\n"), err.text);
    return out;
}

/* ---- the table ---- */

static int compare_rows(const void *a, const void *b)
{
    const struct corpus_row *first = a, *second = b;
    return strcmp(first->plan, second->plan);
}

enum status corpus_write(const char *file, struct corpus_row *rows, size_t n, struct err *err)
{
    struct output output;
    TRY(output_open(&output, file, err));
    qsort(rows, n, sizeof *rows, compare_rows);
    fputs("plan", output.file);
    for (size_t i = 0; i < corpus_n_cells(); i++)
        fprintf(output.file, ",%s", corpus_key(i));
    for (size_t i = 0; i < n; i++) {
        fputc('\n', output.file);
        column_csv_text(output.file, rows[i].plan);
        for (size_t j = 0; j < corpus_n_cells(); j++) {
            fputc(',', output.file);
            column_csv_text(output.file, rows[i].cells[j]);
        }
    }
    fputc('\n', output.file);
    return output_close(&output, err);
}

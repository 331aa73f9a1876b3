/* Reading the tables of kernels and collectives; see curve.h, and models/README.md for their
 * columns. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "base/text.h"
#include "calib/table/curve.h"
#include "plan/read/load.h"
#include "plan/schema/schema.h"

struct reader {
    const struct csv *csv;
    struct arena *arena;
    struct curve_value *values;
    size_t n, capacity;
    struct curve_family *families;
    size_t n_families, family_capacity;
    uint32_t *family_of; /* [n] */
    size_t family_of_capacity;
    struct curve_routing *routing;
    struct err *err;
};

/* The part of a row that all of its values share. */
struct row {
    size_t at;
    const char *device;
    struct plan plan; /* of the device alone */
    int path, compute;
    struct curve_value value; /* label, device, model and configuration filled in */
    uint32_t family;
};

struct layout {
    const char *const *columns; /* that tell it, NULL-terminated */
    const struct curve_form *form;
    enum status (*read)(struct reader *r, struct row *row);
};

/* Of the numbers in cells: tokens, sizes and counts all stay below. */
enum { LARGEST = 1000000000 };

/* ---- cells ---- */

static struct mark mark_of(const struct reader *r, size_t row)
{
    return (struct mark){r->csv->file, r->csv->lines[row], 1};
}

static const char *cell(const struct reader *r, const struct row *row, const char *name)
{
    return csv_cell(r->csv, row->at, name);
}

static enum status number(struct reader *r, const struct row *row, const char *name,
                          double *value)
{
    const char *text = cell(r, row, name);
    if (number_real(text, value) && *value >= 0 && *value <= LARGEST)
        return STATUS_OK;
    err_at(r->err, mark_of(r, row->at), "'%s' is no number of column '%s'", text, name);
    return err_hint(r->err, "a number from 0 to %d", LARGEST);
}

struct number {
    const char *column;
    double *value;
};

static enum status numbers(struct reader *r, const struct row *row, const struct number *list,
                           size_t n)
{
    for (size_t i = 0; i < n; i++)
        TRY(number(r, row, list[i].column, list[i].value));
    return STATUS_OK;
}

/* A word of a list, PROFILE_ANY for an empty cell. */
static enum status word(struct reader *r, const struct row *row, const char *column,
                        const char *const *words, int *found)
{
    const char *text = cell(r, row, column);
    *found = PROFILE_ANY;
    for (int i = 0; words[i] && *text; i++)
        if (text_equal(words[i], text))
            *found = i;
    if (*text && *found == PROFILE_ANY)
        return err_at(r->err, mark_of(r, row->at), "'%s' is no %s", text, column);
    return STATUS_OK;
}

/* The cluster of one device, from the catalogue. */
static enum status read_device(struct reader *r, struct row *row)
{
    struct origins origins;
    row->device = cell(r, row, "device");
    const char *text =
        arena_printf(r->arena, "model: qwen3-30b-a3b\ncluster: %s\n", row->device);
    if (plan_load_text("table", text, strlen(text), NULL, 0, r->arena, &row->plan, &origins,
                       r->err) == STATUS_OK)
        return STATUS_OK;
    return err_place(r->err, mark_of(r, row->at));
}

/* ---- families and values ---- */

static const char *family_name(struct reader *r, const struct curve_family *f)
{
    struct text text = {.arena = r->arena};
    text_append(&text, f->profile);
    if (f->of != PROFILE_EXPERTS && f->of != PROFILE_GEMM)
        text_printf(&text, "/%s", profile_item_name(f->of));
    if (f->path != PROFILE_ANY)
        text_printf(&text, "/%s", words_path[f->path]);
    if (f->compute != PROFILE_ANY)
        text_printf(&text, "/%s", words_compute[f->compute]);
    return text_string(&text);
}

static uint32_t family(struct reader *r, const struct row *row, const struct curve_form *form,
                       enum profile_item of)
{
    struct curve_family f = {.profile = cell(r, row, "profile"),
                             .of = of,
                             .path = row->path,
                             .compute = row->compute,
                             .level = PROFILE_ANY,
                             .form = form};
    for (size_t i = 0; i < r->n_families; i++) {
        const struct curve_family *old = &r->families[i];
        if (text_equal(old->profile, f.profile) && old->of == of && old->path == f.path &&
            old->compute == f.compute)
            return (uint32_t)i;
    }
    f.name = family_name(r, &f);
    r->families =
        arena_grow(r->arena, r->families, r->n_families, &r->family_capacity, sizeof f);
    r->families[r->n_families] = f;
    return (uint32_t)r->n_families++;
}

static void add(struct reader *r, const struct row *row, const struct curve_value *value)
{
    r->values = arena_grow(r->arena, r->values, r->n, &r->capacity, sizeof *value);
    r->family_of =
        arena_grow(r->arena, r->family_of, r->n, &r->family_of_capacity, sizeof *r->family_of);
    r->values[r->n] = *value;
    r->family_of[r->n++] = row->family;
}

/* Each number of a cell "465.6;470.1", in microseconds: rows that repeat in the source. */
static enum status add_all(struct reader *r, const struct row *row, const char *text,
                           const struct curve_value *common)
{
    for (const char *at = text; *at;) {
        char one[32];
        size_t length = strcspn(at, ";");
        struct curve_value value = *common;
        snprintf(one, sizeof one, "%.*s", (int)(length < sizeof one ? length : 0), at);
        if (!number_real(one, &value.seconds) || !(value.seconds > 0))
            return err_at(r->err, mark_of(r, row->at), "'%s' is no time", text);
        value.seconds *= 1e-6;
        add(r, row, &value);
        at += length + (at[length] == ';');
    }
    return STATUS_OK;
}

/* ---- the layouts ---- */

/* What the timed call holds beside the routing's law: nothing, "4 of 8 groups" or "remote on
 * the first expert". */
static enum status read_choices(struct reader *r, const struct row *row,
                                struct curve_call *call)
{
    const char *text = cell(r, row, "choices");
    char tail[8];
    unsigned kept, groups;
    if (!text || !*text)
        return STATUS_OK;
    call->remote_first = text_equal(text, "remote on the first expert");
    if (call->remote_first)
        return STATUS_OK;
    if (sscanf(text, "%u of %u %7s", &kept, &groups, tail) != 3 || !text_equal(tail, "groups"))
        return err_at(r->err, mark_of(r, row->at), "'%s' is no word of column 'choices'", text);
    call->kept = kept;
    call->groups = groups;
    return STATUS_OK;
}

static enum status refuse_routing(struct reader *r, const struct row *row, const char *routing,
                                  const struct curve_call *call)
{
    if (!curve_routing_is(routing)) {
        err_at(r->err, mark_of(r, row->at), "'%s' is no routing of this table", routing);
        return err_hint(r->err, "balanced, uniform, power_law_1.2 or power_law_1.2_eplb");
    }
    err_at(r->err, mark_of(r, row->at),
           "%llu tokens cannot go to top_k %llu of %llu experts over ep %llu",
           (unsigned long long)call->tokens, (unsigned long long)call->top_k,
           (unsigned long long)call->experts, (unsigned long long)call->ranks);
    return err_hint(r->err,
                    "at most 4194304 tokens, 65536 experts in equal shares of ranks and "
                    "groups, top_k 1 to 32 of them");
}

static enum status read_experts(struct reader *r, struct row *row)
{
    double top_k, experts, ep, hidden, inter;
    const struct number list[] = {{"top_k", &top_k},
                                  {"experts", &experts},
                                  {"ep", &ep},
                                  {"hidden", &hidden},
                                  {"intermediate", &inter}};
    const char *routing = cell(r, row, "routing");
    TRY(word(r, row, "path", words_path, &row->path));
    TRY(word(r, row, "dtype", words_compute, &row->compute));
    TRY(numbers(r, row, list, sizeof list / sizeof *list));
    const struct device *device = &row->plan.cluster.device;
    bool fp8 = row->compute == COMPUTE_FP8;
    struct curve_value v = row->value;
    struct curve_call call = {
        .experts = (uint64_t)experts, .top_k = (uint64_t)top_k, .ranks = (uint64_t)ep};
    TRY(read_choices(r, row, &call));
    v.quantity = "experts_s";
    v.model = cell(r, row, "model");
    v.point.device = (struct form_device){fp8 ? device->peak_fp8 : device->peak_bf16,
                                          device->memory_bandwidth, (double)device->units};
    row->family = family(r, row, &curve_experts, PROFILE_EXPERTS);
    for (size_t c = 0; c < r->csv->n_columns; c++) {
        struct curve_rows rows;
        const char *text = r->csv->cells[row->at * r->csv->n_columns + c];
        if (!number_count(r->csv->columns[c], &call.tokens) || !*text)
            continue;
        if (!curve_routing_rows(r->routing, routing, &call, &rows))
            return refuse_routing(r, row, routing, &call);
        v.row = arena_printf(r->arena, "%s/%s/ep%g/%s/%llu tokens", row->device, v.model, ep,
                             routing, (unsigned long long)call.tokens);
        v.size = (double)call.tokens;
        memcpy(v.point.padded, rows.padded, sizeof rows.padded);
        v.point.experts = (struct form_experts_call){.tokens = rows.tokens,
                                                     .experts = experts / ep,
                                                     .rows = rows.rows,
                                                     .hit = rows.hit,
                                                     .hidden = hidden,
                                                     .inter = inter,
                                                     .weight_bytes = fp8 ? 1 : 2};
        TRY(add_all(r, row, text, &v));
    }
    return STATUS_OK;
}

static enum status read_gemm(struct reader *r, struct row *row)
{
    double tflop_s;
    struct curve_value v = row->value;
    struct form_gemm *g = &v.point.gemm;
    const struct device *device = &row->plan.cluster.device;
    const struct number list[] = {{"groups", &g->groups},
                                  {"rows", &g->rows},
                                  {"columns", &g->columns},
                                  {"depth", &g->depth},
                                  {"tflop_s", &tflop_s}};
    TRY(word(r, row, "dtype", words_compute, &row->compute));
    TRY(numbers(r, row, list, sizeof list / sizeof *list));
    row->path = PROFILE_ANY;
    row->family = family(r, row, &curve_gemm, PROFILE_GEMM);
    /* fp8 operands, bf16 result, as the source counts its GB/s */
    g->bytes =
        g->groups * (g->rows * g->depth + g->depth * g->columns + 2 * g->rows * g->columns);
    v.point.device =
        (struct form_device){device->peak_fp8, device->memory_bandwidth, (double)device->units};
    v.size = g->rows;
    v.quantity = "product_flop_per_s";
    v.model = cell(r, row, "layout");
    v.amount = 2 * g->groups * g->rows * g->columns * g->depth;
    if (!(tflop_s > 0))
        return err_at(r->err, mark_of(r, row->at), "a rate of zero");
    v.seconds = v.amount / (tflop_s * 1e12);
    v.row = arena_printf(r->arena, "%s/%s/%gx%gx%gx%g/%s", row->device, v.model, g->groups,
                         g->rows, g->columns, g->depth, cell(r, row, "release"));
    add(r, row, &v);
    return STATUS_OK;
}

/* Steps of a ring: once around, or twice to reduce and gather. */
static enum status read_collective(struct reader *r, struct row *row)
{
    const char *op = cell(r, row, "op");
    enum profile_item of = PROFILE_ALL_GATHER;
    double ranks;
    while (of <= PROFILE_SEND && !text_equal(profile_item_name(of), op))
        of++;
    if (of > PROFILE_SEND)
        return err_at(r->err, mark_of(r, row->at), "'%s' is no collective", op);
    TRY(number(r, row, "ranks", &ranks));
    if (ranks < 2)
        return err_at(r->err, mark_of(r, row->at), "a collective has two ranks or more");
    struct curve_value v = row->value;
    double rounds = of == PROFILE_ALL_REDUCE ? 2 : 1;
    row->path = row->compute = PROFILE_ANY;
    row->family =
        family(r, row, of == PROFILE_ALL_TO_ALL ? &curve_peers : &curve_collective, of);
    v.quantity = arena_printf(r->arena, "%s_s", op);
    v.model = "";
    v.point.ranks = ranks;
    v.point.messages = rounds * (ranks - 1);
    v.point.link = row->plan.cluster.node.link_bandwidth;
    for (size_t c = 0; c < r->csv->n_columns; c++) {
        uint64_t bytes;
        const char *text = r->csv->cells[row->at * r->csv->n_columns + c];
        if (!number_count(r->csv->columns[c], &bytes) || !*text)
            continue;
        v.row = arena_printf(r->arena, "%s/%s/%g ranks/%llu bytes", row->device,
                             cell(r, row, "dtype"), ranks, (unsigned long long)bytes);
        v.size = (double)bytes;
        v.point.bytes = rounds * (ranks - 1) / ranks * (double)bytes;
        TRY(add_all(r, row, text, &v));
    }
    return STATUS_OK;
}

/* Chance that none of k drawn of n without replacement is among m. */
static double none_of(double n, double m, double k)
{
    double chance = 1;
    for (double i = 0; i < k; i++)
        chance *= fmax(n - m - i, 0) / (n - i);
    return chance;
}

enum { GROUPS = 8, NODE = 8, EXPERTS = 100000 };

/* Of a token's experts, how many nodes and how many ranks it reaches: the router takes `chosen`
 * of 8 groups of experts (DeepSeek-V3), then top_k experts among those of the groups. A node
 * has 8 ranks (H800); with more than 8 nodes, or no groups, every expert is its own draw. */
static void reach(double ep, double experts, double top_k, double chosen, double *nodes,
                  double *ranks)
{
    double n_nodes = fmax(ep / NODE, 1), pool = experts / GROUPS * chosen;
    *nodes = n_nodes * (1 - none_of(GROUPS, GROUPS / n_nodes, chosen));
    *ranks = pool / (experts / ep) * (1 - none_of(pool, experts / ep, top_k));
}

static enum status check_reach(struct reader *r, const struct row *row, double ep,
                               double experts, double top_k, double chosen)
{
    double pool = experts / GROUPS * chosen;
    if (ep >= 1 && ep <= experts && experts <= EXPERTS && chosen >= 1 && chosen <= GROUPS &&
        top_k >= 1 && top_k <= pool)
        return STATUS_OK;
    err_at(r->err, mark_of(r, row->at),
           "top_k %g of %g experts in %g of %d groups, over ep %g: no token is sent so", top_k,
           experts, chosen, GROUPS, ep);
    return err_hint(r->err,
                    "1 <= ep <= experts <= %d, 1 <= groups <= %d, and top_k at most "
                    "the experts of these groups",
                    EXPERTS, GROUPS);
}

static enum status read_exchange(struct reader *r, struct row *row)
{
    double ep, tokens, hidden, top_k, experts, groups, published, nodes, ranks;
    const struct number list[] = {
        {"ep", &ep},           {"tokens", &tokens}, {"hidden", &hidden},      {"top_k", &top_k},
        {"experts", &experts}, {"groups", &groups}, {"published", &published}};
    TRY(word(r, row, "path", words_path, &row->path));
    TRY(numbers(r, row, list, sizeof list / sizeof *list));
    const char *direction = cell(r, row, "direction");
    /* the source gives times of its low-latency kernels, bandwidths of the others */
    bool direct = text_equal(cell(r, row, "unit"), "us");
    bool fp8 = text_equal(cell(r, row, "dtype"), "fp8");
    double n_nodes = fmax(ep / 8, 1), row_bytes = tokens * hidden * (fp8 ? 1 : 2);
    struct curve_value v = row->value;
    row->compute = PROFILE_ANY;
    row->family = family(r, row, direct ? &curve_direct : &curve_staged, PROFILE_ALL_TO_ALL);
    v.model = "";
    v.size = ep;
    v.point.nodes = n_nodes > 1;
    v.point.exchange.inside_link = row->plan.cluster.node.link_bandwidth;
    v.point.exchange.between_link = row->plan.cluster.network.bandwidth;
    v.row = arena_printf(r->arena, "%s/%s/ep%g/%g tokens", row->device, words_path[row->path],
                         ep, tokens);
    if (direct) {
        double scales = fp8 ? 1 + 4 / 128.0 : 1, sent = row_bytes * top_k * scales;
        v.quantity = arena_printf(r->arena, "%s_s", direction);
        v.point.exchange.inside = sent / n_nodes;
        v.point.exchange.between = sent - sent / n_nodes;
        v.seconds = published * 1e-6;
    } else {
        TRY(check_reach(r, row, ep, experts, top_k, groups));
        reach(ep, experts, top_k, groups, &nodes, &ranks);
        v.quantity = arena_printf(r->arena, "%s_bytes_per_s", direction);
        v.point.exchange.inside = row_bytes * ranks * 7 / 8;
        v.point.exchange.between = row_bytes * nodes * (n_nodes - 1) / n_nodes;
        /* the source's bandwidth counts rows for the own rank, or node, too */
        v.amount = row_bytes * (n_nodes > 1 ? nodes : ranks);
        v.seconds = v.amount / (published * 1e9);
    }
    if (!(v.seconds > 0))
        return err_at(r->err, mark_of(r, row->at), "a value of zero");
    add(r, row, &v);
    return STATUS_OK;
}

/* ---- tables ---- */

static const char *const experts_columns[] = {"profile",      "path",  "dtype",   "device",
                                              "model",        "top_k", "experts", "hidden",
                                              "intermediate", "ep",    "routing", NULL};
static const char *const gemm_columns[] = {"profile", "dtype",   "device",  "layout",
                                           "groups",  "rows",    "columns", "depth",
                                           "tflop_s", "release", NULL};
static const char *const collective_columns[] = {"profile", "op",    "dtype",
                                                 "device",  "ranks", NULL};
static const char *const exchange_columns[] = {
    "profile", "path",   "device",    "ep",    "tokens",    "hidden", "top_k",
    "experts", "groups", "direction", "dtype", "published", "unit",   NULL};

static const struct layout layouts[] = {
    {experts_columns, &curve_experts, read_experts},
    {gemm_columns, &curve_gemm, read_gemm},
    {collective_columns, &curve_collective, read_collective},
    {exchange_columns, &curve_staged, read_exchange},
};

static const struct layout *layout_of(const struct csv *csv)
{
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
        const char *const *column = layouts[i].columns;
        while (*column && csv_column(csv, *column) != SIZE_MAX)
            column++;
        if (!*column)
            return &layouts[i];
    }
    return NULL;
}

bool curve_is_table(const struct csv *csv)
{
    return layout_of(csv) != NULL;
}

/* Families' values in the table's order. */
static void gather(struct reader *r)
{
    for (size_t f = 0; f < r->n_families; f++) {
        size_t n = 0;
        for (size_t i = 0; i < r->n; i++)
            n += r->family_of[i] == f;
        uint32_t *values = arena_alloc(r->arena, n + 1, sizeof *values);
        n = 0;
        for (size_t i = 0; i < r->n; i++)
            if (r->family_of[i] == f)
                values[n++] = (uint32_t)i;
        r->families[f].values = values;
        r->families[f].n = n;
    }
}

/* "moe_kernels_hopper" of a path. */
static const char *table_name(const char *file, struct arena *arena)
{
    const char *name = text_base_name(file);
    return arena_strndup(arena, name, strcspn(name, "."));
}

/* A profile beside which nothing was measured is a mistake, and nothing to compare. */
static enum status check_measured(const struct reader *r)
{
    size_t f = 0;
    while (f < r->n_families && r->families[f].n)
        f++;
    if (r->n && f == r->n_families)
        return STATUS_OK;
    const struct mark mark = {r->csv->file, 1, 1};
    if (f == r->n_families)
        err_at(r->err, mark, "the table has no measurements");
    else
        err_at(r->err, mark, "the table has no measurements of '%s'", r->families[f].name);
    return err_hint(r->err, "columns that are called by their tokens or bytes, as 512, hold "
                            "times in microseconds");
}

enum status curve_read(const struct csv *csv, struct arena *arena, struct curve_table *table,
                       struct err *err)
{
    const struct layout *layout = layout_of(csv);
    struct reader r = {.csv = csv, .arena = arena, .err = err};
    struct row row = {.device = ""};
    if (!layout)
        return err_at(err, (struct mark){csv->file, 1, 1},
                      "these are not the columns of a table of kernels or collectives");
    r.routing = curve_routing_create(arena);
    for (row.at = 0; row.at < csv->n_rows; row.at++) {
        if (!text_equal(cell(&r, &row, "device"), row.device))
            TRY(read_device(&r, &row));
        row.value =
            (struct curve_value){.device = row.device, .configuration = (uint32_t)row.at};
        TRY(layout->read(&r, &row));
    }
    gather(&r);
    TRY(check_measured(&r));
    *table = (struct curve_table){.name = table_name(csv->file, arena),
                                  .values = r.values,
                                  .n = r.n,
                                  .families = r.families,
                                  .n_families = r.n_families};
    return STATUS_OK;
}

/* ---- constants from a profile ---- */

enum status curve_constants(const struct curve_family *family, const struct profile *profile,
                            double *constants, struct err *err)
{
    for (size_t i = 0; i < family->form->n_constants; i++) {
        const struct curve_constant *c = &family->form->constants[i];
        enum profile_item of = c->of == PROFILE_COLLECTIVE ? family->of : c->of;
        const struct constant *found =
            profile_find(profile, of, c->is, family->path, family->compute, c->level);
        if (!found || found->of != of)
            return err_set(err, STATUS_INPUT, "profile '%s' has no %s.%s for %s", profile->name,
                           profile_item_name(of), profile_quantity_name(c->is), family->name);
        constants[i] = profile_value(found, c->place, NULL);
    }
    return STATUS_OK;
}

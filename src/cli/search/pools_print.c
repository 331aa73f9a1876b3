/* See pools_print.h. */
#include "cli/search/pools_print.h"

#include <inttypes.h>

#include "base/unit.h"
#include "cli/frontier/csv.h"
#include "cli/frontier/table.h"
#include "plan/derive.h"
#include "plan/pools.h"

static const char *const names[] = {"prefill", "decode"};

/* A row's hit and the devices that it was looked for in. */
struct hit_row {
    const struct pools_hit *hit;
    uint64_t devices;
};

struct hit_rows {
    struct hit_row *items;
    size_t n;
};

static struct hit_rows list_rows(const struct pools_view *view)
{
    struct hit_rows rows = {.n = 0};
    size_t most = 0;
    for (size_t i = 0; i < view->n; i++)
        most += view->results[i].n_best;
    rows.items = arena_alloc(view->call->arena, most + 1, sizeof *rows.items);
    for (size_t i = 0; i < view->n; i++)
        for (size_t j = 0; j < view->results[i].n_best && (!j || view->n == 1); j++)
            rows.items[rows.n++] =
                (struct hit_row){&view->results[i].best[j], view->devices[i]};
    return rows;
}

/* ---- which keys ---- */

/* Keys that layouts of engines have. */
static bool is_shown(unsigned key)
{
    return key == SEARCH_TP || key == SEARCH_CP || key == SEARCH_PP || key == SEARCH_EP ||
           key == SEARCH_ETP || key == SEARCH_PATH;
}

static bool differs(const struct hit_rows *rows, unsigned side, unsigned key)
{
    for (size_t i = 1; i < rows->n; i++)
        if (rows->items[i].hit->side[side].value[key] !=
            rows->items[0].hit->side[side].value[key])
            return true;
    return false;
}

static bool label_differs(const struct pools_view *view, const struct hit_rows *rows,
                          size_t key)
{
    const struct search_variants *v = view->variants;
    for (size_t i = 1; i < rows->n; i++)
        if (!text_equal(search_label(v, rows->items[i].hit->variant, key),
                        search_label(v, rows->items[0].hit->variant, key)))
            return true;
    return false;
}

/* ---- what to set ---- */

static void append_side(const struct pools_view *view, const struct pools_hit *hit,
                        unsigned side, struct text *out)
{
    const char *prefix = side ? "" : POOL_PREFIX;
    const struct search_hit *own = &hit->side[side];
    const struct plan *plan = view->asks[hit->variant].plan;
    const struct parallel *p = side ? &plan->parallel : &plan->prefill->parallel;
    for (unsigned key = 0; key < SEARCH_KEYS; key++)
        if (key != SEARCH_MICRO_BATCH)
            text_printf(out, " %s%s=%s", prefix, search_key_full((enum search_key)key),
                        search_value((enum search_key)key, own->value[key], out->arena));
    text_printf(out, " %sparallel.sp=%s", prefix, own->splits ? "true" : "false");
    if (p->dp || plan->parallel.dp)
        text_printf(out, " %sparallel.dp=0", prefix);
    if (p->attention_dp || plan->parallel.attention_dp)
        text_printf(out, " %sparallel.attention_dp=0", prefix);
}

/* Settings that make the plan of a hit. */
static const char *set_of(const struct pools_view *view, const struct pools_hit *hit)
{
    const struct serve_apart *a = &hit->serving.apart;
    const struct search_variants *v = view->variants;
    const struct limit *limit = &view->asks[hit->variant].plan->workload.limit;
    struct text out = {.arena = view->call->arena};
    text_printf(&out,
                "workload.deployments.prefill=%" PRIu64 " workload.deployments.decode=%" PRIu64,
                a->prefill, a->decode);
    if (limit->ttft_s > 0)
        text_printf(&out, " workload.limit.ttft=%.9gs", limit->ttft_s);
    if (limit->tpot_s > 0)
        text_printf(&out, " workload.limit.tpot=%.9gs", limit->tpot_s);
    for (size_t key = 0; key < v->n_keys; key++)
        text_printf(&out, " %s=%s", v->keys[key]->key, search_label(v, hit->variant, key));
    for (unsigned side = 0; side < 2; side++)
        append_side(view, hit, side, &out);
    return text_string(&out);
}

/* ---- rows ---- */

/* "prefill tp", "decode tp" of a table; elsewhere as the plan has it. */
static void append_key(unsigned side, enum search_key key, bool table, struct text *out)
{
    if (table)
        text_printf(out, ",%s %s", names[side], search_key_name(key));
    else
        text_printf(out, ",%s%s", side ? "" : POOL_PREFIX, search_key_full(key));
}

static void append_header(const struct pools_view *view, const struct hit_rows *rows,
                          bool table, struct text *out)
{
    const struct search_variants *v = view->variants;
    bool sizes = view->n > 1 || view->devices[0];
    text_append(out, view->n > 1 ? "devices" : "rank");
    for (unsigned side = 0; side < 2; side++) {
        text_printf(out, table ? ",%s" : ",workload.deployments.%s", names[side]);
        for (unsigned key = 0; key < SEARCH_KEYS; key++)
            if (is_shown(key) && (!table || differs(rows, side, key)))
                append_key(side, (enum search_key)key, table, out);
    }
    for (size_t key = 0; key < v->n_keys; key++)
        if (!table || label_differs(view, rows, key))
            text_printf(out, ",%s", v->keys[key]->key);
    text_append(out, table ? ",used,first token ms,per token ms,limited by,tokens/s"
                           : ",devices_used,ttft_s,tpot_s,limited_by,prefill_busy,decode_busy,"
                             "requests_per_s,tokens_per_s,tokens_per_s_per_device,"
                             "prefill_total_bytes,decode_total_bytes,set");
    text_append(out, table && sizes ? ",in all\n" : "\n");
}

static void append_numbers(const struct pools_view *view, const struct hit_row *row, bool table,
                           struct text *out)
{
    const struct pools_hit *hit = row->hit;
    const struct serve_times *t = &hit->serving;
    const struct serve_apart *a = &t->apart;
    text_printf(out, ",%" PRIu64, hit->devices);
    if (table) {
        text_printf(out, ",%.0f,%.2f,%s,%.0f", 1e3 * t->ttft_s, 1e3 * t->tpot_s, a->limited_by,
                    a->tokens_per_s_per_device);
        if (row->devices)
            text_printf(out, ",%.0f", t->tokens_per_s);
        text_append(out, "\n");
        return;
    }
    text_printf(out, ",%.6g,%.6g,%s,%.4g,%.4g,%.6g,%.6g,%.6g,%" PRIu64 ",%" PRIu64 ",%s\n",
                t->ttft_s, t->tpot_s, a->limited_by, a->prefill_busy, a->decode_busy,
                t->requests_per_s, t->tokens_per_s, a->tokens_per_s_per_device,
                hit->side[0].total_bytes, hit->side[1].total_bytes,
                frontier_csv_quote(set_of(view, hit), out->arena));
}

static void append_row(const struct pools_view *view, const struct hit_rows *rows, size_t i,
                       bool table, struct text *out)
{
    const struct hit_row *row = &rows->items[i];
    const struct search_variants *v = view->variants;
    const struct serve_apart *a = &row->hit->serving.apart;
    const uint64_t counts[] = {a->prefill, a->decode};
    text_printf(out, "%" PRIu64, view->n > 1 ? row->devices : (uint64_t)i + 1);
    for (unsigned side = 0; side < 2; side++) {
        const struct search_hit *own = &row->hit->side[side];
        text_printf(out, table ? ",%" PRIu64 " x %" PRIu64 : ",%" PRIu64, counts[side],
                    side ? a->decode_devices : a->prefill_devices);
        for (unsigned key = 0; key < SEARCH_KEYS; key++)
            if (is_shown(key) && (!table || differs(rows, side, key)))
                text_printf(out, ",%s",
                            search_value((enum search_key)key, own->value[key], out->arena));
    }
    for (size_t key = 0; key < v->n_keys; key++)
        if (!table || label_differs(view, rows, key))
            text_printf(
                out, ",%s",
                frontier_csv_quote(search_label(v, row->hit->variant, key), out->arena));
    append_numbers(view, row, table, out);
}

/* ---- for people ---- */

static void print_head(const struct pools_view *view)
{
    struct arena *arena = view->call->arena;
    FILE *out = view->call->out;
    const struct pools_result *r = view->results;
    const struct plan *plan = view->asks->plan;
    fprintf(out, "%s, stack %s\n", search_names(view->variants, SEARCH_MODEL, arena),
            search_names(view->variants, SEARCH_STACK, arena));
    for (unsigned i = 0; i < 2; i++) {
        const struct plan *own = i ? plan : plan->prefill;
        const struct search_result *s = &r->side[i];
        fprintf(out, "%-8s ", names[i]);
        if (view->variants->n == 1)
            fprintf(out, "%s, %" PRIu64 " device%s each: ", own->cluster_name,
                    plan_devices(own), plan_devices(own) == 1 ? "" : "s");
        fprintf(out,
                "%" PRIu64 " layouts, %" PRIu64 " refused, %" PRIu64 " evaluated; %zu stay\n",
                s->points, s->invalid, s->exact, r->front[i]);
    }
    size_t pairs = 0, exact = 0;
    for (size_t i = 0; i < view->n; i++) {
        pairs += view->results[i].pairs;
        exact += view->results[i].exact;
    }
    fprintf(out,
            "%zu pairs with numbers of servers, %zu evaluated exactly (unvalidated)\n"
            "tokens/s: per device of both, by profile %s\n\n",
            pairs, exact, search_names(view->variants, SEARCH_PROFILE, arena));
}

/* The most that a server of a pool needs in any row. */
static uint64_t most_bytes(const struct hit_rows *rows, unsigned side)
{
    uint64_t most = 0;
    for (size_t i = 0; i < rows->n; i++)
        if (rows->items[i].hit->side[side].total_bytes > most)
            most = rows->items[i].hit->side[side].total_bytes;
    return most;
}

/* What all rows have in common. */
static void print_shared(const struct pools_view *view, const struct hit_rows *rows)
{
    FILE *out = view->call->out;
    for (unsigned side = 0; side < 2; side++) {
        const struct search_hit *first = &rows->items[0].hit->side[side];
        fprintf(out, "%s:", names[side]);
        for (unsigned key = 0; key < SEARCH_KEYS; key++)
            if (is_shown(key) && !differs(rows, side, key))
                fprintf(
                    out, " %s=%s", search_key_name((enum search_key)key),
                    search_value((enum search_key)key, first->value[key], view->call->arena));
        fprintf(out, "; %.2f of %.2f GiB at most\n", (double)most_bytes(rows, side) / GIB,
                (double)first->limit_bytes / GIB);
    }
    const struct search_variants *v = view->variants;
    for (size_t key = 0, n = 0; key < v->n_keys; key++)
        if (!label_differs(view, rows, key))
            fprintf(out, "%s%s=%s\n", n++ ? " " : "all: ", v->keys[key]->key,
                    search_label(v, rows->items[0].hit->variant, key));
}

static void print_miss(const struct pools_view *view)
{
    FILE *out = view->call->out;
    size_t missed = view->results->missed;
    if (!missed) {
        fputs("no pair of layouts keeps the limits\n", out);
        return;
    }
    const struct search_hit *nearest = &view->results->side[missed - 1].nearest;
    fprintf(out, "no layout of servers that %s fits and keeps its limit", names[missed - 1]);
    if (nearest->total_bytes > nearest->limit_bytes)
        fprintf(out, "; the least memory found: %.2f of %.2f GiB",
                (double)nearest->total_bytes / GIB, (double)nearest->limit_bytes / GIB);
    fputc('\n', out);
}

enum status pools_print(const struct pools_view *view, struct err *err)
{
    struct hit_rows rows = list_rows(view);
    bool table = frontier_is_table(view->call);
    struct text out = {.arena = view->call->arena};
    if (table)
        print_head(view);
    if (table && !rows.n) {
        print_miss(view);
        return STATUS_NOFIT;
    }
    append_header(view, &rows, table, &out);
    for (size_t i = 0; i < rows.n; i++)
        append_row(view, &rows, i, table, &out);
    TRY(frontier_table(&out, view->call, err));
    if (table)
        print_shared(view, &rows);
    return rows.n ? STATUS_OK : STATUS_NOFIT;
}

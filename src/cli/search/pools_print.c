/* See pools_print.h. */
#include "cli/search/pools_print.h"

#include <inttypes.h>

#include "base/unit.h"
#include "cli/frontier/csv.h"
#include "cli/frontier/table.h"
#include "lib/request.h"
#include "plan/derive.h"
#include "plan/pools.h"

enum { PARETO_SHOWN = 10 };

/* A row's hit, the list that it is of with its place there, and the devices that it was looked
 * for in. */
struct hit_row {
    const struct pools_hit *hit;
    const char *list;
    size_t rank;
    uint64_t devices;
};

struct hit_rows {
    struct hit_row *items;
    size_t n;
};

static struct hit_rows list_rows(const struct pools_view *view, bool pareto, size_t most)
{
    const struct pools_found *f = &view->found;
    struct hit_rows rows = {.n = 0};
    size_t room = 1;
    for (size_t i = 0; i < f->n; i++)
        room += pools_list(&f->results[i], pareto).n;
    rows.items = arena_alloc(view->call->arena, room, sizeof *rows.items);
    for (size_t i = 0; i < f->n; i++) {
        const struct pools_list list = pools_list(&f->results[i], pareto);
        for (size_t j = 0; j < list.n && j < most && (!j || f->n == 1); j++)
            rows.items[rows.n++] =
                (struct hit_row){&list.hits[j], list.name, j + 1, f->devices[i]};
    }
    return rows;
}

/* ---- which keys ---- */

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
    const struct search_variants *v = view->found.variants;
    for (size_t i = 1; i < rows->n; i++)
        if (!text_equal(search_label(v, rows->items[i].hit->variant, key),
                        search_label(v, rows->items[0].hit->variant, key)))
            return true;
    return false;
}

/* ---- rows ---- */

/* "prefill tp", "decode tp" of a table; elsewhere as the plan has it. */
static void append_key(unsigned side, enum search_key key, bool table, struct text *out)
{
    if (table)
        text_printf(out, ",%s %s", pools_sides[side], search_key_name(key));
    else
        text_printf(out, ",%s%s", side ? "" : POOL_PREFIX, search_key_full(key));
}

static void append_header(const struct pools_view *view, const struct hit_rows *rows,
                          bool table, struct text *out)
{
    const struct search_variants *v = view->found.variants;
    bool sizes = view->found.n > 1 || view->found.devices[0];
    text_append(out, view->found.n > 1 ? "devices" : table ? "rank" : "list,rank");
    for (unsigned side = 0; side < 2; side++) {
        text_printf(out, table ? ",%s" : ",workload.deployments.%s", pools_sides[side]);
        for (unsigned key = 0; key < SEARCH_KEYS; key++)
            if (pools_is_shown((enum search_key)key) && (!table || differs(rows, side, key)))
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
                frontier_csv_quote(pools_set(&view->found, hit, out->arena), out->arena));
}

static void append_row(const struct pools_view *view, const struct hit_rows *rows, size_t i,
                       bool table, struct text *out)
{
    const struct hit_row *row = &rows->items[i];
    const struct search_variants *v = view->found.variants;
    if (view->found.n == 1 && !table)
        text_printf(out, "%s,", row->list);
    text_printf(out, "%" PRIu64, view->found.n > 1 ? row->devices : (uint64_t)row->rank);
    for (unsigned side = 0; side < 2; side++) {
        const struct search_hit *own = &row->hit->side[side];
        text_printf(out, table ? ",%" PRIu64 " x %" PRIu64 : ",%" PRIu64,
                    pools_count(row->hit, side), pools_devices(row->hit, side));
        for (unsigned key = 0; key < SEARCH_KEYS; key++)
            if (pools_is_shown((enum search_key)key) && (!table || differs(rows, side, key)))
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
    const struct pools_result *r = view->found.results;
    const struct plan *plan = view->found.asks->plan;
    fprintf(out, "%s, stack %s\n", search_names(view->found.variants, SEARCH_MODEL, arena),
            search_names(view->found.variants, SEARCH_STACK, arena));
    for (unsigned i = 0; i < 2; i++) {
        const struct plan *own = i ? plan : plan->prefill;
        const struct search_result *s = &r->side[i];
        fprintf(out, "%-8s ", pools_sides[i]);
        if (view->found.variants->n == 1)
            fprintf(out, "%s, %" PRIu64 " device%s each: ", own->cluster_name,
                    plan_devices(own), plan_devices(own) == 1 ? "" : "s");
        fprintf(out,
                "%" PRIu64 " layouts, %" PRIu64 " refused, %" PRIu64 " evaluated; %zu stay\n",
                s->points, s->invalid, s->exact, r->front[i]);
    }
    size_t pairs = 0, exact = 0;
    for (size_t i = 0; i < view->found.n; i++) {
        pairs += view->found.results[i].pairs;
        exact += view->found.results[i].exact;
    }
    fprintf(out,
            "stay: most requests when full, or soonest when empty; not what is best only "
            "between\n"
            "%zu pairs with numbers of servers, %zu evaluated exactly (unvalidated)\n"
            "tokens/s: per device of both, by profile %s\n\n",
            pairs, exact, search_names(view->found.variants, SEARCH_PROFILE, arena));
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
        fprintf(out, "%s:", pools_sides[side]);
        for (unsigned key = 0; key < SEARCH_KEYS; key++)
            if (pools_is_shown((enum search_key)key) && !differs(rows, side, key))
                fprintf(
                    out, " %s=%s", search_key_name((enum search_key)key),
                    search_value((enum search_key)key, first->value[key], view->call->arena));
        fprintf(out, "; %.2f of %.2f GiB at most\n", (double)most_bytes(rows, side) / GIB,
                (double)first->limit_bytes / GIB);
    }
    const struct search_variants *v = view->found.variants;
    for (size_t key = 0, n = 0; key < v->n_keys; key++)
        if (!label_differs(view, rows, key))
            fprintf(out, "%s%s=%s\n", n++ ? " " : "all: ", v->keys[key]->key,
                    search_label(v, rows->items[0].hit->variant, key));
}

static void print_miss(const struct pools_view *view)
{
    FILE *out = view->call->out;
    size_t missed = view->found.results->missed;
    if (!missed) {
        fputs("no pair of layouts keeps the limits\n", out);
        return;
    }
    const struct search_hit *nearest = &view->found.results->side[missed - 1].nearest;
    fprintf(out, "no layout of servers that %s fits and keeps its limit",
            pools_sides[missed - 1]);
    if (nearest->total_bytes > nearest->limit_bytes)
        fprintf(out, "; the least memory found: %.2f of %.2f GiB",
                (double)nearest->total_bytes / GIB, (double)nearest->limit_bytes / GIB);
    fputc('\n', out);
}

static void append_rows(const struct pools_view *view, const struct hit_rows *rows, bool table,
                        struct text *out)
{
    for (size_t i = 0; i < rows->n; i++)
        append_row(view, rows, i, table, out);
}

static enum status print_rows(const struct pools_view *view, const struct hit_rows *rows,
                              struct err *err)
{
    struct text out = {.arena = view->call->arena};
    append_header(view, rows, true, &out);
    append_rows(view, rows, true, &out);
    TRY(frontier_table(&out, view->call, err));
    print_shared(view, rows);
    return STATUS_OK;
}

static enum status print_text(const struct pools_view *view, const struct hit_rows *best,
                              struct err *err)
{
    FILE *out = view->call->out;
    const struct pools_result *r = view->found.results;
    print_head(view);
    if (!best->n) {
        print_miss(view);
        return STATUS_OK;
    }
    TRY(print_rows(view, best, err));
    if (view->found.n > 1 || r->n_pareto < 2) /* one is the best in all */
        return STATUS_OK;
    const struct hit_rows pareto = list_rows(view, true, PARETO_SHOWN);
    fputs("\nsooner for fewer tokens/s (Pareto set)\n", out);
    TRY(print_rows(view, &pareto, err));
    if (r->n_pareto > pareto.n)
        fprintf(out, "and %zu more: --format csv lists all\n", r->n_pareto - pareto.n);
    return STATUS_OK;
}

static enum status print_csv(const struct pools_view *view, const struct hit_rows *best,
                             struct err *err)
{
    struct text out = {.arena = view->call->arena};
    append_header(view, best, false, &out);
    append_rows(view, best, false, &out);
    if (view->found.n == 1) {
        const struct hit_rows pareto = list_rows(view, true, SIZE_MAX);
        append_rows(view, &pareto, false, &out);
    }
    return frontier_table(&out, view->call, err);
}

enum status pools_print(const struct pools_view *view, struct err *err)
{
    const struct invocation *call = view->call;
    const struct hit_rows best = list_rows(view, false, SIZE_MAX);
    if (frontier_is_table(call)) {
        TRY(print_text(view, &best, err));
    } else if (call->general.format == FORMAT_JSON) {
        const struct provenance provenance =
            request_provenance(view->found.asks->plan,
                               search_names(view->found.variants, SEARCH_PROFILE, call->arena));
        pools_print_json(&view->found, &provenance, call->arena, call->out);
    } else {
        TRY(print_csv(view, &best, err));
    }
    return best.n ? STATUS_OK : STATUS_NOFIT;
}

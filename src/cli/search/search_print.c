/* The result of a search; see search_print.h. */
#include "cli/search/search_print.h"

#include <inttypes.h>

#include "base/unit.h"
#include "cli/frontier/csv.h"
#include "cli/frontier/table.h"
#include "plan/derive.h"
#include "plan/engine.h"
#include "report/fixes.h"

enum { PARETO_SHOWN = 12, FIXES_SHOWN = 5 };

static double tokens_per_s(const struct search_hit *hit)
{
    return 1 / hit->seconds_per_token;
}

/* ---- text ---- */

/* Whether a column says anything: the hits differ in it. */
static bool differs(const struct search_hit *hits, size_t n, unsigned key)
{
    for (size_t i = 1; i < n; i++)
        if (hits[i].value[key] != hits[0].value[key])
            return true;
    return false;
}

/* The same of a key beside a layout's. */
static bool labels_differ(const struct search_variants *variants, const struct search_hit *hits,
                          size_t n, size_t key)
{
    for (size_t i = 1; i < n; i++)
        if (!text_equal(search_label(variants, hits[i].variant, key),
                        search_label(variants, hits[0].variant, key)))
            return true;
    return false;
}

/* Whether some lie outside what the profile's runs had. */
static bool any_outside(const struct search_hit *hits, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (hits[i].outside)
            return true;
    return false;
}

/* Whether some drop rows. */
static bool any_drops(const struct search_hit *hits, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (hits[i].drop_fraction > 0)
            return true;
    return false;
}

static void hits_header(const struct search_view *view, const struct search_hit *hits, size_t n,
                        bool serves, bool drops, bool outside, struct text *rows)
{
    const struct search_variants *v = view->variants;
    text_append(rows, "rank");
    for (unsigned key = 0; key < SEARCH_KEYS; key++)
        if (differs(hits, n, key))
            text_printf(rows, ",%s", search_key_name((enum search_key)key));
    for (size_t key = 0; key < v->n_keys; key++)
        if (labels_differ(v, hits, n, key))
            text_printf(rows, ",%s", v->keys[key]->key);
    text_printf(rows, ",verdict,total_bytes%s,tokens/s%s%s,loses by\n",
                serves ? ",first token ms,per token ms" : "", drops ? ",drops" : "",
                outside ? ",runs" : "");
}

static void hit_row(const struct search_view *view, const struct search_hit *hits, size_t n,
                    size_t i, bool drops, bool outside, struct text *rows)
{
    const struct search_variants *v = view->variants;
    const struct search_hit *hit = &hits[i];
    struct arena *arena = view->call->arena;
    text_printf(rows, "%zu", i + 1);
    for (unsigned key = 0; key < SEARCH_KEYS; key++)
        if (differs(hits, n, key))
            text_printf(rows, ",%s",
                        search_value((enum search_key)key, hit->value[key], arena));
    for (size_t key = 0; key < v->n_keys; key++)
        if (labels_differ(v, hits, n, key))
            text_printf(rows, ",%s",
                        frontier_csv_quote(search_label(v, hit->variant, key), arena));
    text_printf(rows, ",%s,%" PRIu64, verdict_name(hit->verdict), hit->total_bytes);
    if (hit->serving.present)
        text_printf(rows, ",%.0f,%.2f", 1e3 * hit->serving.ttft_s, 1e3 * hit->serving.tpot_s);
    text_printf(rows, ",%.0f", tokens_per_s(hit));
    if (drops)
        text_printf(rows, ",%s",
                    hit->drop_fraction > 0
                        ? arena_printf(arena, "%.2g %%", 100 * hit->drop_fraction)
                        : "");
    if (outside)
        text_printf(rows, ",%s +-%.0f%%", hit->outside ? "outside" : "within",
                    100 * hit->error);
    text_printf(rows, ",%s\n", search_loss(hit, &hits[0], arena));
}

static enum status print_hits(const struct search_view *view, const struct search_hit *hits,
                              size_t n, struct err *err)
{
    struct text rows = {.arena = view->call->arena};
    bool outside = any_outside(hits, n), drops = any_drops(hits, n);
    hits_header(view, hits, n, n && hits[0].serving.present, drops, outside, &rows);
    for (size_t i = 0; i < n; i++)
        hit_row(view, hits, n, i, drops, outside, &rows);
    return frontier_table(&rows, view->call, err);
}

static void print_word(const struct search_view *view, const char *name, const char *value,
                       size_t *column)
{
    FILE *out = view->call->out;
    size_t length = term_columns(name) + term_columns(value) + 2;
    if (*column + length > view->call->term.width)
        *column = (size_t)fprintf(out, "\n    ") - 1;
    fprintf(out, " %s=%s", name, value);
    *column += length;
}

/* What all of them have in common, wrapped. */
static void print_shared(const struct search_view *view, const struct search_hit *hits,
                         size_t n)
{
    FILE *out = view->call->out;
    const struct search_variants *v = view->variants;
    size_t column = (size_t)fprintf(out, "all:");
    for (unsigned key = 0; key < SEARCH_KEYS; key++)
        if (!differs(hits, n, key))
            print_word(
                view, search_key_name((enum search_key)key),
                search_value((enum search_key)key, hits[0].value[key], view->call->arena),
                &column);
    for (size_t key = 0; key < v->n_keys; key++)
        if (!labels_differ(v, hits, n, key))
            print_word(view, v->keys[key]->key, search_label(v, hits[0].variant, key), &column);
    size_t splits = 0;
    for (size_t i = 0; i < n; i++)
        splits += hits[i].splits;
    if (splits)
        fprintf(out, splits == n ? " sp=true" : "\n     sp=true where tp%s > 1",
                plan_is_engine(view->plan) ? ", dp and ep" : "");
    fputc('\n', out);
}

/* "72.06", or of plans that have several "64.00 to 72.06". */
static const char *limits_of(const struct search_variants *v, struct arena *arena)
{
    uint64_t least = UINT64_MAX, most = 0;
    for (size_t i = 0; i < v->n; i++) {
        uint64_t limit = verdict_limit(&v->plans[i]);
        least = limit < least ? limit : least;
        most = limit > most ? limit : most;
    }
    if (least == most)
        return arena_printf(arena, "%.2f", (double)most / GIB);
    return arena_printf(arena, "%.2f to %.2f", (double)least / GIB, (double)most / GIB);
}

static void print_head(const struct search_view *view)
{
    const struct plan *plan = view->plan;
    const struct search_result *r = view->result;
    struct arena *arena = view->call->arena;
    FILE *out = view->call->out;
    fprintf(out, "%s on %s, stack %s: %" PRIu64 " ranks, limit %s GiB each",
            search_names(view->variants, SEARCH_MODEL, arena),
            search_names(view->variants, SEARCH_CLUSTER, arena),
            search_names(view->variants, SEARCH_STACK, arena), plan_world(plan),
            limits_of(view->variants, arena));
    if (view->at_most_bytes)
        fprintf(out, ", at most %.2f wanted", (double)view->at_most_bytes / GIB);
    fprintf(out,
            "\n%" PRIu64 " combinations: %" PRIu64 " refused, %" PRIu64 " too large, %" PRIu64
            " may fit; %" PRIu64 " evaluated exactly\n"
            "tokens/s: per device, on the expected fullest rank, by profile %s; ranked by the "
            "slow end\n",
            r->points, r->invalid, r->too_large, r->points - r->invalid - r->too_large,
            r->exact, search_names(view->variants, SEARCH_PROFILE, arena));
    if (plan->workload.mode == MODE_TRAIN && !plan_states_batch(plan))
        fputs("batch: of each layout its own, as workload.global_batch is not set\n", out);
    if (plan->workload.fit_context && plan->workload.mode == MODE_DECODE)
        fprintf(out,
                "context: each holds a sequence of %" PRIu64 " tokens; an engine starts with "
                "shorter ones, too\n",
                plan->workload.context_length);
}

/* What is marginal, and not listed as --marginal was not said. */
static void print_left(const struct search_view *view)
{
    const struct search_result *r = view->result;
    if (r->marginal)
        fprintf(view->call->out, "\nleft out: %zu marginal%s; --marginal lists %s\n",
                r->marginal, r->missed ? "" : ", as good as these or better",
                r->marginal > 1 ? "them" : "it");
}

static void print_miss(const struct search_view *view)
{
    const struct search_hit *nearest = &view->result->nearest;
    fprintf(view->call->out, "\nnothing fits%s; the least memory found: %.2f GiB%s%s\n  %s\n",
            nearest->serving.present ? ", or none is as soon as it has to be" : "",
            (double)nearest->total_bytes / GIB, nearest->wall ? ", wall " : "",
            nearest->wall ? nearest->wall : "",
            search_layout(view->variants, nearest, view->call->arena));
    const struct fixes_page page = {.out = view->call->out,
                                    .term = &view->call->term,
                                    .scale = scale_for(nearest->total_bytes),
                                    .arena = view->call->arena,
                                    .most = FIXES_SHOWN};
    fixes_print(&page, view->result->fixes, view->result->n_fixes);
}

static const char *title_of(const struct search_view *view)
{
    static const char *const titles[] = {
#define OBJECTIVE_TITLE(name, text, title) title,
        SEARCH_OBJECTIVE_LIST(OBJECTIVE_TITLE)
#undef OBJECTIVE_TITLE
    };
    return titles[view->objective];
}

/* The Pareto set without layouts that are slower and print the same GiB: as many as shown. */
static size_t pareto_shown(const struct search_result *r, struct search_hit shown[PARETO_SHOWN])
{
    size_t n = 0;
    for (size_t i = 0; i < r->n_pareto && n < PARETO_SHOWN; i++)
        if (!n || (double)(shown[n - 1].total_bytes - r->pareto[i].total_bytes) > 0.01 * GIB)
            shown[n++] = r->pareto[i];
    return n;
}

static enum status print_text(const struct search_view *view, struct err *err)
{
    const struct search_result *r = view->result;
    FILE *out = view->call->out;
    print_head(view);
    if (r->missed) {
        print_miss(view);
        print_left(view);
        return STATUS_OK;
    }
    fprintf(out, "\n%s first\n", title_of(view));
    TRY(print_hits(view, r->best, r->n_best, err));
    print_shared(view, r->best, r->n_best);
    fputs("\nless memory for more time (Pareto set)\n", out);
    struct search_hit pareto[PARETO_SHOWN];
    size_t shown = pareto_shown(r, pareto);
    TRY(print_hits(view, pareto, shown, err));
    print_shared(view, pareto, shown);
    if (shown < r->n_pareto)
        fprintf(out, "and %zu more, down to %.2f GiB: --format csv lists all\n",
                r->n_pareto - shown, (double)r->pareto[r->n_pareto - 1].total_bytes / GIB);
    print_left(view);
    return STATUS_OK;
}

/* ---- JSON and CSV ---- */

static enum status print_json(const struct search_view *view, struct err *err)
{
    (void)err;
    struct arena *arena = view->call->arena;
    const struct provenance provenance =
        request_provenance(view->plan, search_names(view->variants, SEARCH_PROFILE, arena));
    search_print_json(view->variants, &provenance, view->result, arena, view->call->out);
    return STATUS_OK;
}

/* What the layout brings along. */
static const char *split_of(const struct search_hit *hit)
{
    return hit->splits ? "true" : "false";
}

static void csv_hits(const char *list, const struct search_variants *v,
                     const struct search_hit *hits, size_t n, struct arena *arena, FILE *out)
{
    for (size_t i = 0; i < n; i++) {
        char seconds[32], drops[32];
        fprintf(out, "%s,%zu", list, i + 1);
        for (unsigned key = 0; key < SEARCH_KEYS; key++)
            fprintf(out, ",%s", search_value((enum search_key)key, hits[i].value[key], arena));
        for (size_t key = 0; key < v->n_keys; key++)
            fprintf(out, ",%s",
                    frontier_csv_quote(search_label(v, hits[i].variant, key), arena));
        text_double(seconds, hits[i].seconds_per_token);
        text_double(drops, hits[i].drop_fraction);
        fprintf(out, ",%s,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%s,%s",
                verdict_name(hits[i].verdict), hits[i].total_bytes, hits[i].limit_bytes,
                hits[i].state_bytes, seconds, search_loss(&hits[i], &hits[0], arena));
        if (hits[i].serving.present)
            fprintf(out, ",%.6g,%.6g", hits[i].serving.ttft_s, hits[i].serving.tpot_s);
        fprintf(out, ",%s,%s\n", split_of(&hits[i]), drops);
    }
}

static enum status print_csv(const struct search_view *view, struct err *err)
{
    const struct search_result *r = view->result;
    FILE *out = view->call->out;
    (void)err;
    fputs("list,rank", out);
    for (unsigned key = 0; key < SEARCH_KEYS; key++)
        fprintf(out, ",%s", search_key_full((enum search_key)key));
    for (size_t key = 0; key < view->variants->n_keys; key++)
        fprintf(out, ",%s", view->variants->keys[key]->key);
    fprintf(out,
            ",verdict,total_bytes,limit_bytes,state_bytes,device_s_per_token,loses_by%s,"
            "parallel.sp,drop_fraction\n",
            view->plan->workload.mode == MODE_SERVE ? ",ttft_s,tpot_s" : "");
    csv_hits("best", view->variants, r->best, r->n_best, view->call->arena, out);
    csv_hits("pareto", view->variants, r->pareto, r->n_pareto, view->call->arena, out);
    if (r->missed)
        csv_hits("nearest", view->variants, &r->nearest, 1, view->call->arena, out);
    return STATUS_OK;
}

enum status search_print(const struct search_view *view, struct err *err)
{
    enum status (*const printers[])(const struct search_view *view, struct err *err) = {
        [FORMAT_TEXT] = print_text, [FORMAT_JSON] = print_json, [FORMAT_CSV] = print_csv};
    TRY(printers[view->call->general.format](view, err));
    return view->result->missed ? STATUS_NOFIT : STATUS_OK;
}

/* ---- every layout ---- */

static void every_row(const struct search_variants *v, const struct search_hit *hit,
                      bool serves, struct text *rows)
{
    char seconds[32];
    text_double(seconds, hit->seconds_per_token);
    text_printf(rows, "%" PRIu64, hit->number);
    for (unsigned key = 0; key < SEARCH_KEYS; key++)
        text_printf(rows, ",%s",
                    search_value((enum search_key)key, hit->value[key], rows->arena));
    for (size_t key = 0; key < v->n_keys; key++)
        text_printf(rows, ",%s",
                    frontier_csv_quote(search_label(v, hit->variant, key), rows->arena));
    text_printf(rows, ",%s,%" PRIu64 ",%" PRIu64 ",%s,%.2g", verdict_name(hit->verdict),
                hit->total_bytes, hit->state_bytes, seconds, hit->error);
    if (serves)
        text_printf(rows, ",%.6g,%.6g", hit->serving.ttft_s, hit->serving.tpot_s);
    text_printf(rows, ",%s\n", split_of(hit));
}

enum status search_print_every(const struct search_view *view, struct err *err)
{
    const struct search_result *r = view->result;
    bool serves = view->plan->workload.mode == MODE_SERVE;
    struct text rows = {.arena = view->call->arena};
    bool table = frontier_is_table(view->call);
    if (r->missed && table && !view->is_part) {
        print_head(view);
        print_miss(view);
        return STATUS_NOFIT;
    }
    text_append(&rows, "layout");
    for (unsigned key = 0; key < SEARCH_KEYS; key++)
        text_printf(&rows, ",%s",
                    table ? search_key_name((enum search_key)key)
                          : search_key_full((enum search_key)key));
    for (size_t key = 0; key < view->variants->n_keys; key++)
        text_printf(&rows, ",%s", view->variants->keys[key]->key);
    text_printf(&rows, ",verdict,total_bytes,state_bytes,device_s_per_token,error%s,%s\n",
                serves ? ",ttft_s,tpot_s" : "", table ? "sp" : "parallel.sp");
    for (size_t i = 0; i < r->n_best; i++)
        every_row(view->variants, &r->best[i], serves, &rows);
    TRY(frontier_table(&rows, view->call, err));
    return r->missed && !view->is_part ? STATUS_NOFIT : STATUS_OK;
}

/* ---- sizes of a cluster ---- */

/* What people read as "+-4% outside", programs as a fraction and whether runs were alike. */
static void size_error(const struct search_hit *hit, bool table, struct text *rows)
{
    if (table)
        text_printf(rows, ",+-%.0f%%%s", 100 * hit->error, hit->outside ? " outside" : "");
    else
        text_printf(rows, ",%.6g,%s", hit->error, hit->outside ? "true" : "false");
}

static void size_row(const struct search_size *size, bool table, struct arena *arena,
                     struct text *rows)
{
    const struct search_hit *hit = &size->hit;
    text_printf(rows, "%" PRIu64 ",", size->devices);
    if (size->refused) {
        text_printf(rows, "invalid,,,%s,%s\n", table ? "" : ",",
                    frontier_csv_quote(size->refused, arena));
        return;
    }
    bool told = size->fits || hit->verdict == VERDICT_MARGINAL; /* else more than is wanted */
    text_printf(rows, "%s,%" PRIu64 ",", told ? verdict_name(hit->verdict) : "oom",
                hit->total_bytes);
    if (size->fits)
        text_printf(rows, "%.0f", tokens_per_s(hit) * (double)size->devices);
    if (size->fits)
        size_error(hit, table, rows);
    else
        text_append(rows, table ? "," : ",,");
    text_printf(rows, ",%s\n",
                frontier_csv_quote(search_layout(size->variants, hit, arena), arena));
}

enum status search_print_sizes(const struct search_size *sizes, size_t n,
                               const struct search_view *view, struct err *err)
{
    const struct invocation *call = view->call;
    struct text rows = {.arena = call->arena};
    const struct search_size *smallest = NULL;
    bool table = frontier_is_table(call);
    text_append(&rows, "devices,verdict,total_bytes,");
    text_append(&rows,
                table ? "tokens/s,interval,layout\n" : "tokens_per_s,error,outside,layout\n");
    for (size_t i = 0; i < n; i++) {
        size_row(&sizes[i], table, call->arena, &rows);
        if (sizes[i].fits && !smallest)
            smallest = &sizes[i];
    }
    TRY(frontier_table(&rows, call, err));
    enum status status = smallest ? STATUS_OK : STATUS_NOFIT;
    if (!frontier_is_table(call))
        return status;
    if (smallest)
        fprintf(call->out, "\n%" PRIu64 " devices are the fewest that fit\n",
                smallest->devices);
    else
        fputs("\nnone of these sizes fits; oom rows show the least memory found\n", call->out);
    for (size_t i = 0; i < n; i++)
        if (sizes[i].marginal) {
            fputs("marginal layouts, as good or better, are left out: --marginal takes them\n",
                  call->out);
            break;
        }
    fprintf(call->out, "tokens/s: all devices, by profile %s; ranked by the slow end\n",
            search_names(view->variants, SEARCH_PROFILE, call->arena));
    for (size_t i = 0; i < n; i++)
        if (sizes[i].fits && sizes[i].hit.outside) {
            fputs("outside: like no run of that profile\n", call->out);
            break;
        }
    return status;
}

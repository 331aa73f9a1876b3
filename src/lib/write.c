/* Whole texts through the library: what the commands write about one plan or two. */
#include <string.h>

#include "base/column.h"
#include "base/pool.h"
#include "lib/along.h"
#include "lib/document.h"
#include "lib/handle.h"
#include "lib/report.h"
#include "lib/search_pools.h"
#include "plan/read/catalog.h"
#include "report/compare/print.h"
#include "report/plan_json.h"
#include "report/search/pools.h"

enum { SEARCH_BEST = 10 };

static const struct term people = {.utf8 = true, .width = TERM_WIDTH};

/* ---- of one plan ---- */

static enum status plan_yaml(struct handle_call *call)
{
    struct plan *plan = arena_alloc(&call->arena, 1, sizeof *plan);
    TRY(handle_load(call, call->plan, plan, NULL));
    fputs(document_plan(plan, &call->arena), call->out);
    return STATUS_OK;
}

static enum status plan_as_json(struct handle_call *call)
{
    struct plan *plan = arena_alloc(&call->arena, 1, sizeof *plan);
    struct json json;
    TRY(handle_load(call, call->plan, plan, NULL));
    json_init(&json, call->out);
    plan_json(&json, NULL, "", plan);
    return STATUS_OK;
}

static enum status launch(struct handle_call *call)
{
    struct plan *plan = arena_alloc(&call->arena, 1, sizeof *plan);
    struct text out = {.arena = &call->arena};
    TRY(handle_load(call, call->plan, plan, NULL));
    const char *stack =
        arena_strndup(&call->arena, plan->stack_name, strcspn(plan->stack_name, " "));
    TRY(job_export(plan, stack, &call->arena, &out, &call->err));
    fputs(text_string(&out), call->out);
    return STATUS_OK;
}

/* A whole prediction, printed one way. */
static enum status predicted(struct handle_call *call,
                             void (*print)(const struct predict_view *view))
{
    struct answer *answer = arena_alloc(&call->arena, 1, sizeof *answer);
    struct answer_ask ask = answer_whole;
    ask.options.workers = pool_cpus();
    TRY(handle_load(call, call->plan, &answer->plan, &answer->origins));
    TRY(answer_predict(call->plan->name, &ask, &call->arena, answer, &call->err));
    const struct predict_view view = answer_view(answer, call->out, &people, &call->arena);
    print(&view);
    return STATUS_OK;
}

static enum status report_html(struct handle_call *call)
{
    struct answer *answer = arena_alloc(&call->arena, 1, sizeof *answer);
    struct answer_ask ask = answer_whole;
    struct request request;
    ask.options.workers = pool_cpus();
    TRY(handle_read(call, call->plan, &request));
    TRY(request_load(&request, &call->arena, &answer->plan, &answer->origins, &call->err));
    TRY(answer_predict(call->plan->name, &ask, &call->arena, answer, &call->err));
    return report_write(&request, answer, &call->arena, call->out, &call->err);
}

/* A prediction's seconds, along time. */
static enum status along(struct handle_call *call,
                         enum status (*print)(const struct answer *answer, struct arena *arena,
                                              FILE *out, struct err *err))
{
    struct answer *answer = arena_alloc(&call->arena, 1, sizeof *answer);
    const struct answer_ask ask = {.options = {.memory_only = true, .workers = 1},
                                   .time = true};
    TRY(handle_load(call, call->plan, &answer->plan, &answer->origins));
    TRY(answer_predict(call->plan->name, &ask, &call->arena, answer, &call->err));
    return print(answer, &call->arena, call->out, &call->err);
}

static enum status timeline_json(struct handle_call *call)
{
    return along(call, along_print_json);
}

static enum status trace_json(struct handle_call *call)
{
    return along(call, along_trace_print);
}

static enum status predict_txt(struct handle_call *call)
{
    return predicted(call, predict_print_text);
}

static enum status predict_csv(struct handle_call *call)
{
    return predicted(call, predict_print_csv);
}

static enum status predict_json(struct handle_call *call)
{
    return predicted(call, predict_print_json);
}

static const struct document {
    const char *name;
    handle_work *write;
} documents[] = {
    {"plan.yaml", plan_yaml},
    {"plan.json", plan_as_json},
    {"predict.txt", predict_txt},
    {"predict.csv", predict_csv},
    {"predict.json", predict_json},
    {"report.html", report_html},
    {"timeline.json", timeline_json},
    {"trace.json", trace_json},
    {"launch", launch},
};

enum { DOCUMENTS = sizeof documents / sizeof *documents };

static enum status unknown(struct handle_call *call)
{
    struct text names = {.arena = &call->arena};
    for (size_t i = 0; i < DOCUMENTS; i++)
        text_printf(&names, "%s%s", i ? ", " : "", documents[i].name);
    err_set(&call->err, STATUS_USAGE, "there is no document '%s'", (const char *)call->ask);
    return err_hint(&call->err, "one of: %s", text_string(&names));
}

int moeplan_write(const struct moeplan_plan *plan, const char *document, char **text,
                  size_t *length, struct moeplan_error *error)
{
    struct handle_call call = {.plan = plan, .ask = document};
    handle_work *write = unknown;
    for (size_t i = 0; i < DOCUMENTS; i++)
        if (text_equal(documents[i].name, document))
            write = documents[i].write;
    return handle_run(&call, write, text, length, error);
}

/* ---- of two ---- */

static enum status answer_side(struct handle_call *call, const struct moeplan_plan *plan,
                               struct answer *side)
{
    TRY(handle_load(call, plan, &side->plan, &side->origins));
    return answer_predict(plan->name, &answer_compared, &call->arena, side, &call->err);
}

static enum status compare_json(struct handle_call *call)
{
    struct answer *sides = arena_alloc(&call->arena, 2, sizeof *sides);
    struct comparison comparison;
    struct compare_view view;
    TRY(answer_side(call, call->plan, &sides[0]));
    TRY(answer_side(call, call->ask, &sides[1]));
    TRY(answer_compare(sides, &call->arena, &comparison, &view, &call->err));
    view.out = call->out;
    view.term = &people;
    compare_print_json(&view);
    return STATUS_OK;
}

int moeplan_compare(const struct moeplan_plan *a, const struct moeplan_plan *b, char **json,
                    size_t *length, struct moeplan_error *error)
{
    struct handle_call call = {.plan = a, .ask = b};
    return handle_run(&call, compare_json, json, length, error);
}

/* ---- of a search ---- */

/* What a call asks of a search, its plan loaded. */
struct find {
    const struct moeplan_search *search;
    struct search_wish wish;
    struct request request;
    struct answer *answer;
    size_t best;
    enum search_objective objective;
};

static enum status open_find(struct handle_call *call, struct find *find)
{
    static const struct moeplan_search usual = {0};
    const struct moeplan_search *search = call->ask ? call->ask : &usual;
    find->search = search;
    find->wish = (struct search_wish){.overs = search->overs,
                                      .n_overs = search->n_overs,
                                      .fixed = search->fixed,
                                      .n_fixed = search->n_fixed,
                                      .at_most = search->at_most,
                                      .limits = search->limits,
                                      .n_limits = search->n_limits};
    find->best = search->best ? search->best : SEARCH_BEST;
    find->answer = arena_alloc(&call->arena, 1, sizeof *find->answer);
    TRY(handle_read(call, call->plan, &find->request));
    TRY(request_load_searched(&find->request, &call->arena, &find->answer->plan,
                              &find->answer->origins, &call->err));
    return search_wish_objective(search->objective, &find->objective, &call->err);
}

static struct provenance provenance_of(const struct find *find,
                                       const struct search_variants *variants,
                                       struct arena *arena)
{
    return request_provenance(&find->answer->plan,
                              search_names(variants, SEARCH_PROFILE, arena));
}

static enum status find_pools(struct handle_call *call, const struct find *find)
{
    static const uint64_t any = 0;
    const struct pools_ask ask = {.best = find->best,
                                  .objective = find->objective,
                                  .marginal = find->search->marginal != 0,
                                  .pareto = true};
    struct pools_ask *asks;
    struct pools_result result;
    struct variant_plans v;
    if (find->objective == SEARCH_BY_MEMORY)
        return err_set(&call->err, STATUS_USAGE,
                       "objective memory is of one pool: this plan has a part `prefill`");
    TRY(search_pools_read(&find->wish, &find->request, &find->answer->plan,
                          &find->answer->origins, &ask, &call->arena, &v, &asks, &call->err));
    TRY(pools_search(asks, v.named.n, &any, 1, &call->arena, &result, &call->err));
    const struct pools_found found = {&v.named, asks, &result, &any, 1};
    const struct provenance provenance = provenance_of(find, &v.named, &call->arena);
    pools_print_json(&found, &provenance, &call->arena, call->out);
    return STATUS_OK;
}

static enum status find_json(struct handle_call *call)
{
    struct find find;
    struct search_result result;
    struct variant_plans v;
    struct search_ask *asks;
    TRY(open_find(call, &find));
    if (search_has_pools(&find.answer->plan))
        return find_pools(call, &find);
    struct search_ask ask = {.best = find.best,
                             .objective = find.objective,
                             .progress = find.search->progress,
                             .context = find.search->context,
                             .marginal = find.search->marginal != 0,
                             .fixes = true};
    TRY(variant_plans_read(&find.wish, &find.request, &find.answer->plan, &find.answer->origins,
                           &call->arena, &v, &call->err));
    TRY(variant_plans_ask(&v, &find.wish, &ask, &call->arena, &asks, &call->err));
    enum status found = search_run(asks, v.named.n, &call->arena, &result, &call->err);
    if (found == STATUS_INPUT)
        search_wish_blame(&find.wish, v.plans, asks->space, v.origins, &call->arena,
                          &call->err);
    TRY(found);
    const struct provenance provenance = provenance_of(&find, &v.named, &call->arena);
    search_print_json(&v.named, &provenance, &result, &call->arena, call->out);
    return STATUS_OK;
}

int moeplan_find(const struct moeplan_plan *plan, const struct moeplan_search *search,
                 char **json, size_t *length, struct moeplan_error *error)
{
    struct handle_call call = {.plan = plan, .ask = search};
    return handle_run(&call, find_json, json, length, error);
}

/* ---- of nothing ---- */

static const struct column catalog_columns[] = {
    {.key = "name", .type = COLUMN_TEXT, .offset = offsetof(struct catalog_item, name)},
    {.key = "summary", .type = COLUMN_TEXT, .offset = offsetof(struct catalog_item, summary)},
};

static enum status describe(struct handle_call *call)
{
    static const struct {
        const char *name;
        enum catalog_kind kind;
    } kinds[] = {
        {"models", CATALOG_MODEL}, {"clusters", CATALOG_CLUSTER}, {"stacks", CATALOG_STACK}};
    const char *what = call->ask;
    struct catalog_item *items;
    size_t n;
    if (document_schema(what, &call->arena, call->out))
        return STATUS_OK;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (!text_equal(kinds[i].name, what))
            continue;
        catalog_list(kinds[i].kind, &call->arena, &items, &n);
        const struct table table = {catalog_columns,
                                    sizeof catalog_columns / sizeof *catalog_columns,
                                    items,
                                    n,
                                    sizeof *items,
                                    0,
                                    NULL};
        column_table_json(call->out, &table);
        return STATUS_OK;
    }
    err_set(&call->err, STATUS_USAGE, "nothing is called '%s'", what);
    return err_hint(&call->err,
                    "one of: plan, result, search, pools, compare, models, clusters, stacks");
}

int moeplan_describe(const char *what, char **json, size_t *length, struct moeplan_error *error)
{
    struct handle_call call = {.ask = what};
    return handle_run(&call, describe, json, length, error);
}

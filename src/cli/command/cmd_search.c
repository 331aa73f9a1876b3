/* moeplan search: the best layouts of a model on a cluster. */
#include <inttypes.h>

#include "base/number.h"
#include "cli/chart/pareto.h"
#include "cli/chart/pools.h"
#include "cli/command/commands.h"
#include "cli/command/side.h"
#include "cli/option/less.h"
#include "cli/option/plan_argument.h"
#include "cli/search/pools_print.h"
#include "cli/search/search_print.h"
#include "lib/axis.h"
#include "lib/search_pools.h"
#include "lib/search_variants.h"
#include "plan/derive.h"
#include "plan/engine.h"
#include "report/provenance.h"

enum { SIZES = 64, MOST_NODES = 1000000 /* limit of cluster.nodes */ };

struct settings {
    struct option_list fix, over, limit;
    unsigned objective;
    bool marginal, every;
    const char *at_most, *devices, *servers, *part, *plot;
    uint64_t best, threads;
};

static const struct settings defaults = {.best = 10};

static const char *const objectives[] = {
#define OBJECTIVE_WORD(name, text, help) text,
    SEARCH_OBJECTIVE_LIST(OBJECTIVE_WORD)
#undef OBJECTIVE_WORD
        NULL};

static const struct option options[] = {
    {"fix", 0, OPTION_LIST, offsetof(struct settings, fix), "KEY=VALUE", NULL,
     "keep a key at this value: ep=8, path=deepep, parallel.zero=3; repeatable"},
    {"over", 0, OPTION_LIST, offsetof(struct settings, over), "KEY=VALUES", NULL,
     "try these values of a key in place of the usual ones, tp=1..64*2, or of any other key of "
     "a plan: precision.recipe=none,blockwise; repeatable"},
    {"at-most", 0, OPTION_TEXT, offsetof(struct settings, at_most), "memory=SIZE", NULL,
     "want layouts of at most this total per rank, such as memory=200GiB"},
    {"marginal", 0, OPTION_FLAG, offsetof(struct settings, marginal), NULL, NULL,
     "list what is marginal, too: within the stack's error of the limit"},
    {"every", 0, OPTION_FLAG, offsetof(struct settings, every), NULL, NULL,
     "list every layout that fits, unranked, by its place among those tried: what parts list, "
     "one after the other, is what one search lists"},
    {"objective", 0, OPTION_CHOICE, offsetof(struct settings, objective), "WHAT", objectives,
     "what the best layout has: most tokens/s a device, or of a served plan the least time per "
     "token (tpot), to the first token (ttft), or memory"},
    {"limit", 0, OPTION_LIST, offsetof(struct settings, limit), "WHAT=TIME", NULL,
     "of a served plan, want at most this latency: tpot=50ms, ttft=2s; repeatable"},
    {"devices", 0, OPTION_TEXT, offsetof(struct settings, devices), "COUNTS", NULL,
     "how many devices are needed: the best layout for each count, such as 8..1024*2; of a "
     "plan with a part `prefill`, the servers of each pool that fit into so many"},
    {"servers", 0, OPTION_TEXT, offsetof(struct settings, servers), "COUNTS", NULL,
     "of a served plan, share its devices and requests out among so many servers of their own, "
     "1..8*2, and rank the layouts of all together"},
    {"best", 0, OPTION_COUNT, offsetof(struct settings, best), "N 1..10000", NULL,
     "how many layouts to list; default 10"},
    {"part", 0, OPTION_TEXT, offsetof(struct settings, part), "I/N", NULL,
     "only the I-th of N equal parts of the layouts; the best of all are among those of parts, "
     "and --every lists the same"},
    {"plot", 0, OPTION_TEXT, offsetof(struct settings, plot), "FILE", NULL,
     "draw memory against speed, with --devices a line for each count: .png, .svg, .pdf, .txt, "
     "-"},
    {"threads", 0, OPTION_COUNT, offsetof(struct settings, threads), "N 0..1024", NULL,
     "threads to search on; 0: one per CPU"},
};

/* ---- one search ---- */

static void show_progress(void *context, double share)
{
    const char *what = context;
    fprintf(stderr, "\r%s%3.0f %%", what, 100 * share);
}

static struct search_wish wish_of(const struct settings *settings)
{
    return (struct search_wish){.overs = settings->over.items,
                                .n_overs = settings->over.n,
                                .fixed = settings->fix.items,
                                .n_fixed = settings->fix.n,
                                .at_most = settings->at_most,
                                .limits = settings->limit.items,
                                .n_limits = settings->limit.n,
                                .servers = settings->servers};
}

/* origins: where no layout obeys, to say why; NULL: of no plan that was written. */
static enum status search_plans(const struct invocation *call, const struct variant_plans *v,
                                const struct origins *origins, size_t best, const char *what,
                                struct pool *pool, struct search_result *result,
                                struct err *err)
{
    const struct settings *settings = call->settings;
    const struct search_wish wish = wish_of(settings);
    struct search_ask *asks, ask = {.best = best, .pool = pool};
    char label[64];
    ask.objective = (enum search_objective)settings->objective;
    ask.marginal = settings->marginal;
    ask.every = settings->every;
    ask.fixes = !settings->every && !settings->devices && !settings->part;
    bool progress = term_is_watched(stderr);
    snprintf(label, sizeof label, "%s", what);
    if (progress) {
        ask.progress = show_progress;
        ask.context = label;
    }
    TRY(less_part(settings->part, &ask.part, err));
    TRY(variant_plans_ask(v, &wish, &ask, call->arena, &asks, err));
    enum status status = search_run(asks, v->named.n, call->arena, result, err);
    if (progress)
        fputs("\r                    \r", stderr);
    if (status == STATUS_INPUT && origins)
        search_wish_blame(&wish, v->plans, asks->space, origins, call->arena, err);
    return status;
}

/* ---- several sizes ---- */

/* The same nodes, more or fewer of them; less than a node is a part of one. */
static bool resize(struct plan *plan, uint64_t devices, const char **refused)
{
    struct cluster *c = &plan->cluster;
    if (devices > c->node.devices && devices % c->node.devices) {
        *refused = "not a whole number of nodes";
        return false;
    }
    if (devices / c->node.devices > MOST_NODES) {
        *refused = "more than a million nodes";
        return false;
    }
    c->nodes = devices < c->node.devices ? 1 : devices / c->node.devices;
    c->node.devices = devices < c->node.devices ? devices : c->node.devices;
    c->mesh.n = 0;
    return true;
}

/* An engine's plan on other devices is read again: its experts follow from how many there are
 * (read/follow). So are those that follow from the request. */
static enum status read_again(const struct invocation *call, struct request *request,
                              struct plan *plan, struct err *err)
{
    const struct override sets[] = {
        {.key = "cluster.nodes", .option = "--devices"},
        {.key = "cluster.node.devices", .option = "--devices"},
    };
    const uint64_t counts[] = {plan->cluster.nodes, plan->cluster.node.devices};
    struct request sized = *request;
    struct origins origins;
    sized.sets = arena_alloc(call->arena, request->n_sets + 2, sizeof *sized.sets);
    for (size_t i = 0; i < request->n_sets; i++)
        sized.sets[i] = request->sets[i];
    for (size_t i = 0; i < 2; i++) {
        struct override *set = &sized.sets[sized.n_sets++];
        *set = sets[i];
        set->value = arena_printf(call->arena, "%" PRIu64, counts[i]);
    }
    *request = sized;
    return request_load_searched(request, call->arena, plan, &origins, err);
}

static enum status search_size(const struct invocation *call, const struct request *request,
                               const struct plan *plan, struct pool *pool,
                               struct search_size *size, struct text *rows, struct err *err)
{
    struct plan sized = *plan;
    struct request asked = *request;
    struct search_result result;
    struct err none = {0};
    struct variant_plans *v = arena_alloc(call->arena, 1, sizeof *v);
    const struct search_wish wish = wish_of(call->settings);
    if (!resize(&sized, size->devices, &size->refused))
        return STATUS_OK;
    if (plan_is_engine(plan) && read_again(call, &asked, &sized, &none) != STATUS_OK) {
        size->refused = arena_strdup(call->arena, none.text);
        return STATUS_OK;
    }
    TRY(variant_plans_read(&wish, &asked, &sized, NULL, call->arena, v, err));
    size->variants = &v->named;
    for (size_t i = 0; i < v->named.n; i++)
        if (!resize(&v->plans[i], size->devices, &size->refused))
            return STATUS_OK;
    const char *what = arena_printf(call->arena, "%" PRIu64 " devices: ", size->devices);
    enum status status = search_plans(call, v, NULL, 1, what, pool, &result, &none);
    if (status == STATUS_INPUT) { /* no layout of this size */
        size->refused = arena_strdup(call->arena, none.text);
        return STATUS_OK;
    }
    if (status != STATUS_OK) {
        *err = none;
        return status;
    }
    size->fits = !result.missed;
    size->marginal = result.marginal;
    size->hit = size->fits ? result.best[0] : result.nearest;
    if (size->fits)
        chart_pareto_rows(&v->named, &result, size->devices, call->arena, rows);
    return STATUS_OK;
}

static enum status read_devices(const char *text, uint64_t *devices, struct err *err)
{
    if (number_count(text, devices) && *devices > 0)
        return STATUS_OK;
    err_set(err, STATUS_USAGE, "--devices: '%s' is no number of devices", text);
    return err_hint(err, "for example --devices 8..1024*2");
}

/* Those of --devices; without it one, 0. */
static enum status read_counts(const struct invocation *call, uint64_t counts[SIZES], size_t *n,
                               struct err *err)
{
    const struct settings *settings = call->settings;
    struct axis axis;
    *n = 1;
    counts[0] = 0;
    if (!settings->devices)
        return STATUS_OK;
    TRY(axis_parse_over(arena_printf(call->arena, "devices=%s", settings->devices), call->arena,
                        &axis, err));
    if (axis.n_values > SIZES)
        return err_set(err, STATUS_USAGE, "--devices: %zu counts, at most %d", axis.n_values,
                       SIZES);
    *n = axis.n_values;
    for (size_t i = 0; i < *n; i++)
        TRY(read_devices(axis.values[i].label, &counts[i], err));
    return STATUS_OK;
}

/* Nothing to draw where nothing fits: the answer says so already. */
static enum status draw(const struct search_view *view, struct picture *picture, bool any,
                        struct err *err)
{
    const struct settings *settings = view->call->settings;
    if (!settings->plot || !any)
        return STATUS_OK;
    return chart_pareto_draw(view->plan,
                             search_names(view->variants, SEARCH_PROFILE, view->call->arena),
                             picture, view->call, err);
}

static enum status search_sizes(const struct invocation *call, const struct request *request,
                                const struct plan *plan, struct pool *pool,
                                struct picture *picture, struct err *err)
{
    struct profile profile;
    TRY(profile_load(plan, call->arena, &profile, err));
    const char *priced = profile.name;
    const struct search_variants own = {.n = 1, .plans = plan, .profiles = &priced};
    struct search_view view = {.call = call, .plan = plan, .variants = &own};
    struct search_size sizes[SIZES] = {{.devices = 0}};
    bool fits = false;
    uint64_t counts[SIZES];
    size_t n;
    TRY(read_counts(call, counts, &n, err));
    for (size_t i = 0; i < n; i++) {
        sizes[i].devices = counts[i];
        TRY(search_size(call, request, plan, pool, &sizes[i], &picture->data, err));
        fits = fits || sizes[i].fits;
        view.variants = sizes[i].variants ? sizes[i].variants : view.variants;
    }
    search_variants_notes(view.variants, call->arena, stderr);
    enum status status = search_print_sizes(sizes, n, &view, err);
    TRY(draw(&view, picture, fits, err));
    return status;
}

/* ---- servers that prefill and that decode ---- */

static enum status check_pools(const struct settings *settings, struct err *err)
{
    if (settings->every || settings->part || settings->servers)
        return err_set(err, STATUS_USAGE,
                       "--every, --part and --servers are of one pool: this plan has a part "
                       "`prefill`");
    if (settings->objective == SEARCH_BY_MEMORY)
        return err_set(err, STATUS_USAGE,
                       "--objective memory is of one pool: this plan has a part `prefill`");
    return STATUS_OK;
}

/* The same of what search of one pool draws. */
static enum status draw_pools(const struct pools_view *view, struct picture *picture, bool any,
                              struct err *err)
{
    const struct invocation *call = view->call;
    const struct settings *settings = call->settings;
    const struct pools_found *found = &view->found;
    if (!settings->plot || !any)
        return STATUS_OK;
    chart_pools_table(found, call->arena, &picture->data);
    return chart_pools_draw(found->asks->plan,
                            search_names(found->variants, SEARCH_PROFILE, call->arena), picture,
                            call, err);
}

static enum status run_pools(const struct invocation *call, const struct request *request,
                             const struct plan *plan, const struct origins *origins,
                             struct pool *pool, struct err *err)
{
    const struct settings *settings = call->settings;
    const struct search_wish wish = wish_of(settings);
    struct pools_ask *asks, ask = {.pool = pool, .marginal = settings->marginal};
    struct variant_plans v;
    struct picture picture = {.data = {.arena = call->arena}};
    uint64_t counts[SIZES];
    size_t n;
    ask.objective = (enum search_objective)settings->objective;
    ask.best = settings->best ? settings->best : 1;
    TRY(check_pools(settings, err));
    if (settings->plot)
        TRY(picture_init(&picture, settings->plot, call, err));
    TRY(read_counts(call, counts, &n, err));
    ask.pareto = n == 1 || settings->plot;
    struct pools_result *results = arena_alloc(call->arena, n, sizeof *results);
    TRY(search_pools_read(&wish, request, plan, origins, &ask, call->arena, &v, &asks, err));
    TRY(pools_search(asks, v.named.n, counts, n, call->arena, results, err));
    search_variants_notes(&v.named, call->arena, stderr);
    const struct pools_view view = {call, {&v.named, asks, results, counts, n}};
    enum status status = pools_print(&view, err);
    TRY(draw_pools(&view, &picture, status == STATUS_OK, err));
    return status;
}

/* Options that only a ranking has. */
static enum status check_every(const struct settings *settings, struct err *err)
{
    if (settings->every && (settings->devices || settings->plot))
        return err_set(err, STATUS_USAGE,
                       "option '--every' excludes --devices and --plot: it ranks nothing");
    if (settings->servers && settings->devices)
        return err_set(err, STATUS_USAGE,
                       "option '--servers' excludes --devices: both say how many a server has");
    return STATUS_OK;
}

static enum status run(const struct invocation *call, const struct request *request,
                       const struct plan *plan, const struct origins *origins,
                       struct pool *pool, struct err *err)
{
    const struct settings *settings = call->settings;
    const struct search_wish wish = wish_of(settings);
    struct search_result result;
    struct variant_plans v;
    struct search_view view = {
        .call = call, .plan = plan, .variants = &v.named, .result = &result};
    view.objective = (enum search_objective)settings->objective;
    view.is_part = settings->part != NULL;
    if (search_has_pools(plan))
        return run_pools(call, request, plan, origins, pool, err);
    TRY(check_every(settings, err));
    struct picture picture = {.data = {.arena = call->arena}};
    if (settings->plot)
        TRY(picture_init(&picture, settings->plot, call, err));
    chart_pareto_header(&picture.data);
    if (settings->devices)
        return search_sizes(call, request, plan, pool, &picture, err);
    TRY(search_wish_bytes(settings->at_most, &view.at_most_bytes, err));
    TRY(variant_plans_read(&wish, request, plan, origins, call->arena, &v, err));
    TRY(search_plans(call, &v, v.origins, settings->best ? settings->best : 1, "", pool,
                     &result, err));
    search_variants_notes(&v.named, call->arena, stderr);
    if (settings->every)
        return search_print_every(&view, err);
    chart_pareto_rows(&v.named, &result, plan_devices(plan), call->arena, &picture.data);
    enum status status = search_print(&view, err);
    TRY(draw(&view, &picture, !result.missed, err));
    return status;
}

/* ---- what stands beside a CSV ---- */

struct beside {
    const struct invocation *call;
    const struct plan *plan;
};

static void write_list(struct json *json, const char *key, const struct option_list *list)
{
    json_list(json, key);
    for (size_t i = 0; i < list->n; i++)
        json_string(json, NULL, list->items[i]);
    json_close(json);
}

static void write_provenance(struct json *json, const void *context)
{
    const struct beside *beside = context;
    const struct settings *settings = beside->call->settings;
    struct profile profile;
    struct err none = {0};
    bool timed = profile_load(beside->plan, beside->call->arena, &profile, &none) == STATUS_OK;
    const struct provenance provenance =
        request_provenance(beside->plan, timed ? profile.name : NULL);
    provenance_json(json, &provenance);
    json_string(json, "command", "search");
    write_list(json, "set", &beside->call->general.set);
    write_list(json, "fix", &settings->fix);
    write_list(json, "over", &settings->over);
    if (settings->devices)
        json_string(json, "devices", settings->devices);
}

static enum status run_search(const struct invocation *call, struct err *err)
{
    const struct settings *settings = call->settings;
    struct plan *plan = arena_alloc(call->arena, 1, sizeof *plan);
    struct origins origins;
    struct request request;
    TRY(plan_argument_request(call, 0, &request, err));
    TRY(request_load_searched(&request, call->arena, plan, &origins, err));
    bool rows = (settings->devices || settings->every) && !search_has_pools(plan);
    TRY(side_provenance_check(call, rows, err));
    struct pool *pool = pool_create((unsigned)settings->threads);
    enum status status = run(call, &request, plan, &origins, pool, err);
    pool_free(pool);
    if (status == STATUS_OK || status == STATUS_NOFIT)
        TRY(side_provenance(call, rows, write_provenance, &(struct beside){call, plan}, err));
    return status;
}

static const char *const examples[] = {
    "moeplan search plan.yaml",
    "moeplan search plan.yaml --fix ep=8 --fix path=deepep --at-most memory=200GiB",
    "moeplan search plan.yaml --over tp=1..64*2 --best 3",
    "moeplan search plan.yaml --over stack.overlap.ep=false,true "
    "--over optimizer.offload=0,0.5,1",
    "moeplan search plan.yaml --devices 8..1024*2",
    "moeplan search served.yaml --objective tokens --limit tpot=50ms --limit ttft=2s",
    "moeplan search served.yaml --servers 1..8*2",
    "moeplan search apart.yaml --devices 64 --fix prefill.tp=8 --limit ttft=2s",
    NULL,
};

const struct command command_search = {
    .name = "search",
    .operands = "<plan.yaml>",
    .summary = "best layouts for the cluster under its memory limit, ranked",
    .description =
        "Tries every combination of tp, cp, pp, vpp, ep, etp, zero, path, recompute, block "
        "size, capacity factor and micro-batch that the rules allow, and lists those that fit, "
        "fastest first, each with the part of its time by which it loses to the first; then "
        "the Pareto set of memory and time. What is marginal, within the stack's error of the "
        "limit, is counted, and listed with --marginal only. Where nothing fits, the layout "
        "that needs least is named, with the changes of other keys that make it fit, as "
        "`predict` lists them, and in training the best layout with the optimizer's states on "
        "the host, or gradients of 16 bits.\n\n"
        "tp and etp stay within a node's links and cp within 16 unless --over says otherwise. "
        "In training, tp splits the sequence too (parallel.sp). Capacity paths drop rows at "
        "small factors: `drops` is the expected share of them, and --over "
        "path=deepep,allgather leaves such paths out.\n\n"
        "Other keys of a plan keep its values, unless --over names them: then all layouts are "
        "tried with each combination of their values, and ranked together.\n\n"
        "A served plan (workload.mode: serve) is searched for its layouts at its concurrency, "
        "by --objective, under --limit. --servers 1..8*2 shares devices and requests out among "
        "1, 2, 4 and 8 servers that know nothing of each other: one over all devices, or a "
        "copy on each.\n\n"
        "Of a served plan with a part `prefill` both pools are searched, each alone: of their "
        "layouts those stay of which no other answers as many requests for its devices when it "
        "is full, and as soon when it is empty: one that is best only between both is not "
        "looked at. Pairs of them, with numbers of servers that balance (those of "
        "workload.deployments, or within --devices), are evaluated as the plan of both, best "
        "tokens/s a device first, or in all within --devices; then the Pareto set of tokens/s, "
        "first tokens and further ones. --fix and --over take keys of "
        "who prefills as prefill.tp; --limit is the plan's workload.limit, and requests in "
        "flight are workload.concurrency, whatever the numbers. CSV and JSON have in `set` "
        "what makes each plan.\n\n"
        "Time is the step that `predict` says, by the plan's profile, on the expected fullest "
        "rank; memory is that of `predict`, too.\n\n"
        "With -o FILE.csv the layouts are CSV, and FILE.json says what made it; so does "
        "FILE.provenance.json where --every or --devices lists rows in FILE.json.\n\n"
        "--every evaluates all that may fit, which takes as much longer. Its parts run "
        "anywhere; but for their headers, joined in order, they are the bytes of one run, and "
        "a part in which nothing fits is none that failed:\n\n"
        "  parallel -k moeplan search --every --part {}/8 --format csv plan.yaml "
        "'|' tail -n +2 ::: 1 2 3 4 5 6 7 8",
    .examples = examples,
    .min_operands = 1,
    .max_operands = 1,
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .settings_size = sizeof(struct settings),
    .defaults = &defaults,
    .run = run_search,
};

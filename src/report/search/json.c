/* A search as JSON, and its values as texts; see print.h. */
#include "report/search/print.h"

#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "plan/derive.h"
#include "report/fixes.h"
#include "report/plan_json.h"
#include "report/schema_json.h"

const char *search_value(enum search_key key, double value, struct arena *arena)
{
    char text[32];
    if (key == SEARCH_PATH)
        return words_path[(unsigned)value];
    if (key == SEARCH_RECOMPUTE)
        return words_recompute[(unsigned)value];
    text_double(text, value);
    return arena_strdup(arena, text);
}

static const char *name_at(const struct search_variants *v, enum search_name of, size_t i)
{
    const struct plan *plan = &v->plans[i];
    const char *const names[] = {[SEARCH_MODEL] = plan->model_name,
                                 [SEARCH_CLUSTER] = plan->cluster_name,
                                 [SEARCH_STACK] = plan->stack_name,
                                 [SEARCH_PROFILE] = v->profiles[i]};
    return names[of];
}

const char *search_names(const struct search_variants *v, enum search_name of,
                         struct arena *arena)
{
    struct text out = {.arena = arena};
    for (size_t i = 0; i < v->n; i++) {
        bool again = false;
        for (size_t j = 0; j < i && !again; j++)
            again = text_equal(name_at(v, of, i), name_at(v, of, j));
        if (!again)
            text_printf(&out, "%s%s", i ? ", " : "", name_at(v, of, i));
    }
    return text_string(&out);
}

const char *search_label(const struct search_variants *variants, size_t variant, size_t key)
{
    return variants->labels[variant * variants->n_keys + key];
}

const char *search_layout(const struct search_variants *variants, const struct search_hit *hit,
                          struct arena *arena)
{
    struct text out = {.arena = arena};
    for (unsigned key = 0; key < SEARCH_KEYS; key++)
        text_printf(&out, "%s%s=%s", key ? " " : "", search_key_name((enum search_key)key),
                    search_value((enum search_key)key, hit->value[key], arena));
    if (hit->splits)
        text_append(&out, " sp=true");
    for (size_t i = 0; i < variants->n_keys; i++)
        text_printf(&out, " %s=%s", variants->keys[i]->key,
                    search_label(variants, hit->variant, i));
    return text_string(&out);
}

/* Device-seconds per token of a part. */
static double part_of(const struct search_hit *hit, unsigned part)
{
    double step_s = hit->time.step_s;
    return step_s > 0 ? hit->time.part_s[part] / step_s * hit->seconds_per_token : 0;
}

const char *search_loss(const struct search_hit *hit, const struct search_hit *best,
                        struct arena *arena)
{
    enum time_part worst = TIME_PRODUCTS;
    double most = 0;
    for (unsigned i = 0; i < TIME_PARTS; i++) {
        double more = part_of(hit, i) - part_of(best, i);
        if (more > most) {
            most = more;
            worst = (enum time_part)i;
        }
    }
    if (most <= 0)
        return "";
    return arena_printf(arena, "%s +%.1f %%", time_part_name(worst),
                        100 * most / best->seconds_per_token);
}

/* What a layout brings along beside the keys that were searched, so that --set of all makes the
 * plan that was evaluated: the sequence's split, and what the plan stated of another layout. */
static void json_follows(struct json *json, const struct plan *plan,
                         const struct search_hit *hit)
{
    const struct parallel *p = &plan->parallel;
    double ranks = hit->value[SEARCH_TP] * hit->value[SEARCH_CP] * hit->value[SEARCH_PP];
    json_bool(json, "parallel.sp", hit->splits);
    if (p->dp)
        json_count(json, "parallel.dp", plan_world(plan) / (uint64_t)ranks);
    if (p->attention_dp)
        json_count(json, "parallel.attention_dp", 0);
}

static void json_hit(struct json *json, const char *key, const struct search_variants *variants,
                     const struct search_hit *hit, const struct search_hit *best,
                     struct arena *arena)
{
    const struct plan *plan = &variants->plans[hit->variant];
    json_object(json, key);
    json_object(json, "set");
    for (unsigned i = 0; i < SEARCH_KEYS; i++) {
        const char *name = search_key_full((enum search_key)i);
        if (i == SEARCH_PATH || i == SEARCH_RECOMPUTE)
            json_string(json, name, search_value((enum search_key)i, hit->value[i], arena));
        else
            json_real(json, name, hit->value[i]);
    }
    json_follows(json, plan, hit);
    for (size_t i = 0; i < variants->n_keys; i++)
        plan_json_value(json, variants->keys[i], plan);
    json_close(json);
    json_string(json, "verdict", verdict_name(hit->verdict));
    json_count(json, "total_bytes", hit->total_bytes);
    json_count(json, "state_bytes", hit->state_bytes);
    json_count(json, "limit_bytes", hit->limit_bytes);
    if (hit->wall)
        json_string(json, "wall", hit->wall);
    json_real(json, "step_s", hit->time.step_s);
    json_real(json, "device_s_per_token", hit->seconds_per_token);
    json_real(json, "drop_fraction", hit->drop_fraction);
    json_real(json, "error", hit->error);
    json_bool(json, "outside", hit->outside);
    if (hit->serving.present) {
        json_object(json, "serving");
        json_real(json, "ttft_s", hit->serving.ttft_s);
        if (hit->serving.tpot_s > 0) /* answers of one token have none */
            json_real(json, "tpot_s", hit->serving.tpot_s);
        json_real(json, "requests_per_s", hit->serving.requests_per_s);
        json_real(json, "tokens_per_s", hit->serving.tokens_per_s);
        json_count(json, "waiting", hit->serving.waiting);
        json_close(json);
    }
    json_object(json, "device_s_per_token_parts");
    for (unsigned i = 0; i < TIME_PARTS; i++)
        json_real(json, time_part_name((enum time_part)i), part_of(hit, i));
    json_close(json);
    if (best && search_loss(hit, best, arena)[0])
        json_string(json, "loses_by", search_loss(hit, best, arena));
    json_close(json);
}

static void json_hits(struct json *json, const char *key,
                      const struct search_variants *variants, const struct search_hit *hits,
                      size_t n, struct arena *arena)
{
    json_array(json, key);
    for (size_t i = 0; i < n; i++)
        json_hit(json, NULL, variants, &hits[i], &hits[0], arena);
    json_close(json);
}

void search_json_refused(struct json *json, const struct search_variants *variants)
{
    if (!variants->n_refused)
        return;
    json_array(json, "not_searched");
    for (size_t i = 0; i < variants->n_refused; i++) {
        json_object(json, NULL);
        json_string(json, "set", variants->refused[i].settings);
        json_string(json, "why", variants->refused[i].why);
        json_close(json);
    }
    json_close(json);
}

static void json_fixes(struct json *json, const struct search_result *r)
{
    size_t n;
    const struct column *columns = fix_columns(&n);
    if (r->n_fixes)
        column_json_array(json, "fixes", columns, n, r->fixes, r->n_fixes, sizeof *r->fixes);
}

void search_print_json(const struct search_variants *variants,
                       const struct provenance *provenance, const struct search_result *r,
                       struct arena *arena, FILE *out)
{
    struct json json;
    json_init(&json, out);
    json_object(&json, NULL);
    provenance_json(&json, provenance);
    json_count(&json, "ranks", plan_world(variants->plans));
    json_count(&json, "combinations", r->points);
    json_count(&json, "refused", r->invalid);
    json_count(&json, "too_large", r->too_large);
    json_count(&json, "evaluated", r->exact);
    json_count(&json, "marginal_left_out", r->marginal);
    search_json_refused(&json, variants);
    json_hits(&json, "best", variants, r->best, r->n_best, arena);
    json_hits(&json, "pareto", variants, r->pareto, r->n_pareto, arena);
    if (r->missed)
        json_hit(&json, "nearest", variants, &r->nearest, NULL, arena);
    json_fixes(&json, r);
    json_close(&json);
}

/* ---- its schema: members of hits are written by hand above ---- */

static const struct schema_part serving_parts[] = {
    SCHEMA_REAL("ttft_s", false),         SCHEMA_REAL("tpot_s", false),
    SCHEMA_REAL("requests_per_s", false), SCHEMA_REAL("tokens_per_s", false),
    SCHEMA_COUNT("waiting", true),        SCHEMA_END};

/* The keys that a search sets, and the parts of a step. */
enum { SET_PARTS = SEARCH_KEYS + 4 };

static void fill_keys(struct schema_part parts[SET_PARTS])
{
    const struct schema_part follow[] = {
        SCHEMA_BOOL("parallel.sp", true), SCHEMA_COUNT("parallel.dp", false),
        SCHEMA_COUNT("parallel.attention_dp", false), SCHEMA_END};
    for (unsigned i = 0; i < SEARCH_KEYS; i++) {
        bool word = i == SEARCH_PATH || i == SEARCH_RECOMPUTE;
        parts[i] =
            (struct schema_part){search_key_full((enum search_key)i), SCHEMA_SCALAR, true,
                                 word ? "string" : "number",          NULL,          NULL};
    }
    memcpy(&parts[SEARCH_KEYS], follow, sizeof follow);
}

static void fill_times(struct schema_part parts[TIME_PARTS + 1])
{
    for (unsigned i = 0; i < TIME_PARTS; i++)
        parts[i] = (struct schema_part){
            time_part_name((enum time_part)i), SCHEMA_SCALAR, true, "number", NULL, NULL};
    parts[TIME_PARTS] = (struct schema_part)SCHEMA_END;
}

void search_print_schema(FILE *out)
{
    struct schema_part keys[SET_PARTS], times[TIME_PARTS + 1];
    fill_keys(keys);
    fill_times(times);
    const struct schema_part refused[] = {SCHEMA_TEXT("set", true), SCHEMA_TEXT("why", true),
                                          SCHEMA_END};
    const struct schema_part hit[] = {
        SCHEMA_PARTS("set", true, SCHEMA_OPEN, keys),
        SCHEMA_TEXT("verdict", true),
        SCHEMA_COUNT("total_bytes", true),
        SCHEMA_COUNT("state_bytes", true),
        SCHEMA_COUNT("limit_bytes", true),
        SCHEMA_TEXT("wall", false),
        SCHEMA_REAL("step_s", false),
        SCHEMA_REAL("device_s_per_token", false),
        SCHEMA_REAL("drop_fraction", false),
        SCHEMA_REAL("error", false),
        SCHEMA_BOOL("outside", true),
        SCHEMA_PARTS("serving", false, SCHEMA_OBJECT, serving_parts),
        SCHEMA_PARTS("device_s_per_token_parts", true, SCHEMA_OBJECT, times),
        SCHEMA_TEXT("loses_by", false),
        SCHEMA_END};
    const struct schema_part parts[] = {
        SCHEMA_PROVENANCE,
        SCHEMA_COUNT("ranks", true),
        SCHEMA_COUNT("combinations", true),
        SCHEMA_COUNT("refused", true),
        SCHEMA_COUNT("too_large", true),
        SCHEMA_COUNT("evaluated", true),
        SCHEMA_COUNT("marginal_left_out", true),
        SCHEMA_PARTS("not_searched", false, SCHEMA_LIST, refused),
        SCHEMA_PARTS("best", true, SCHEMA_LIST, hit),
        SCHEMA_PARTS("pareto", true, SCHEMA_LIST, hit),
        SCHEMA_PARTS("nearest", false, SCHEMA_OBJECT, hit),
        SCHEMA_TABLE("fixes", false, SCHEMA_RECORDS, fix_columns),
        SCHEMA_END};
    schema_json_forms(
        out, "search.schema.json",
        "what moeplan search --format json writes; with --every or --devices: "
        "rows, whose version, seed and names stand in FILE.provenance.json beside "
        "-o FILE.json",
        &(struct schema_forms){{parts}, 1, true});
}

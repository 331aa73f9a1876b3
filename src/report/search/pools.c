/* See pools.h. */
#include "report/search/pools.h"

#include <inttypes.h>
#include <string.h>

#include "base/number.h"
#include "base/text.h"
#include "plan/pools.h"
#include "plan/schema/schema.h"
#include "report/plan_json.h"
#include "report/schema_json.h"

const char *const pools_sides[2] = {"prefill", "decode"};

struct pools_list pools_list(const struct pools_result *result, bool pareto)
{
    return pareto ? (struct pools_list){"pareto", result->pareto, result->n_pareto}
                  : (struct pools_list){"best", result->best, result->n_best};
}

uint64_t pools_count(const struct pools_hit *hit, unsigned side)
{
    const struct serve_apart *a = &hit->serving.apart;
    return side ? a->decode : a->prefill;
}

uint64_t pools_devices(const struct pools_hit *hit, unsigned side)
{
    const struct serve_apart *a = &hit->serving.apart;
    return side ? a->decode_devices : a->prefill_devices;
}

bool pools_is_shown(enum search_key key)
{
    return key == SEARCH_TP || key == SEARCH_CP || key == SEARCH_PP || key == SEARCH_EP ||
           key == SEARCH_ETP || key == SEARCH_PATH;
}

const char *pools_layout(const struct pools_found *found, const struct pools_hit *hit,
                         struct arena *arena)
{
    const struct search_variants *v = found->variants;
    struct text out = {.arena = arena};
    for (unsigned side = 0; side < 2; side++) {
        text_printf(&out, "%s%" PRIu64 " x %" PRIu64, side ? " + " : "", pools_count(hit, side),
                    pools_devices(hit, side));
        for (unsigned key = 0; key < SEARCH_KEYS; key++)
            if (pools_is_shown((enum search_key)key))
                text_printf(
                    &out, " %s=%s", search_key_name((enum search_key)key),
                    search_value((enum search_key)key, hit->side[side].value[key], arena));
    }
    for (size_t key = 0; key < v->n_keys; key++)
        text_printf(&out, " %s=%s", v->keys[key]->key, search_label(v, hit->variant, key));
    return text_string(&out);
}

/* ---- what to set ---- */

/* Takes one setting: a word, or the number that it spells. */
typedef void take_setting(void *context, const char *key, const char *value, bool word);

static void set_count(const char *key, uint64_t value, take_setting *take, void *context,
                      struct arena *arena)
{
    take(context, key, arena_printf(arena, "%" PRIu64, value), false);
}

static void set_side(const struct pools_found *found, const struct pools_hit *hit,
                     unsigned side, take_setting *take, void *context, struct arena *arena)
{
    const char *prefix = side ? "" : POOL_PREFIX;
    const struct search_hit *own = &hit->side[side];
    const struct plan *plan = found->asks[hit->variant].plan;
    const struct parallel *p = side ? &plan->parallel : &plan->prefill->parallel;
    for (unsigned key = 0; key < SEARCH_KEYS; key++)
        if (key != SEARCH_MICRO_BATCH)
            take(context, arena_join(arena, prefix, search_key_full((enum search_key)key)),
                 search_value((enum search_key)key, own->value[key], arena),
                 key == SEARCH_PATH || key == SEARCH_RECOMPUTE);
    take(context, arena_join(arena, prefix, "parallel.sp"), own->splits ? "true" : "false",
         false);
    if (p->dp || plan->parallel.dp)
        set_count(arena_join(arena, prefix, "parallel.dp"), 0, take, context, arena);
    if (p->attention_dp || plan->parallel.attention_dp)
        set_count(arena_join(arena, prefix, "parallel.attention_dp"), 0, take, context, arena);
}

static void set_limit(const char *key, double seconds, take_setting *take, void *context,
                      struct arena *arena)
{
    if (seconds > 0)
        take(context, key, arena_printf(arena, "%.9gs", seconds), true);
}

/* All but the keys beside layouts, which have values of their own types. */
static void set_layouts(const struct pools_found *found, const struct pools_hit *hit,
                        take_setting *take, void *context, struct arena *arena)
{
    for (unsigned side = 0; side < 2; side++)
        set_side(found, hit, side, take, context, arena);
}

static void set_requests(const struct pools_found *found, const struct pools_hit *hit,
                         take_setting *take, void *context, struct arena *arena)
{
    const struct limit *limit = &found->asks[hit->variant].plan->workload.limit;
    set_count("workload.deployments.prefill", pools_count(hit, 0), take, context, arena);
    set_count("workload.deployments.decode", pools_count(hit, 1), take, context, arena);
    set_limit("workload.limit.ttft", limit->ttft_s, take, context, arena);
    set_limit("workload.limit.tpot", limit->tpot_s, take, context, arena);
}

static void take_text(void *context, const char *key, const char *value, bool word)
{
    struct text *out = context;
    (void)word;
    text_printf(out, "%s%s=%s", out->length ? " " : "", key, value);
}

const char *pools_set(const struct pools_found *found, const struct pools_hit *hit,
                      struct arena *arena)
{
    const struct search_variants *v = found->variants;
    struct text out = {.arena = arena};
    set_requests(found, hit, take_text, &out, arena);
    for (size_t key = 0; key < v->n_keys; key++)
        take_text(&out, v->keys[key]->key, search_label(v, hit->variant, key), true);
    set_layouts(found, hit, take_text, &out, arena);
    return text_string(&out);
}

/* ---- JSON ---- */

static void take_json(void *context, const char *key, const char *value, bool word)
{
    double number;
    if (word)
        json_string(context, key, value);
    else if (number_real(value, &number))
        json_real(context, key, number);
    else
        json_bool(context, key, text_equal(value, "true"));
}

static void json_server(struct json *json, const struct pools_hit *hit, unsigned side)
{
    const struct serve_apart *a = &hit->serving.apart;
    const struct search_hit *own = &hit->side[side];
    json_object(json, pools_sides[side]);
    json_count(json, "deployments", pools_count(hit, side));
    json_count(json, "devices", pools_devices(hit, side));
    json_real(json, "busy", side ? a->decode_busy : a->prefill_busy);
    json_string(json, "verdict", verdict_name(own->verdict));
    json_count(json, "total_bytes", own->total_bytes);
    json_count(json, "state_bytes", own->state_bytes);
    json_count(json, "limit_bytes", own->limit_bytes);
    json_close(json);
}

static void json_hit(struct json *json, const struct pools_found *found,
                     const struct pools_hit *hit, uint64_t most, struct arena *arena)
{
    const struct search_variants *v = found->variants;
    const struct serve_times *t = &hit->serving;
    json_object(json, NULL);
    if (most)
        json_count(json, "devices_at_most", most);
    json_object(json, "set");
    set_requests(found, hit, take_json, json, arena);
    for (size_t key = 0; key < v->n_keys; key++)
        plan_json_value(json, v->keys[key], &v->plans[hit->variant]);
    set_layouts(found, hit, take_json, json, arena);
    json_close(json);
    json_string(json, "layout", pools_layout(found, hit, arena));
    json_count(json, "devices", hit->devices);
    json_real(json, "device_s_per_token", hit->device_s_per_token);
    json_real(json, "ttft_s", t->ttft_s);
    json_real(json, "tpot_s", t->tpot_s);
    json_real(json, "requests_per_s", t->requests_per_s);
    json_real(json, "tokens_per_s", t->tokens_per_s);
    json_real(json, "tokens_per_s_per_device", t->apart.tokens_per_s_per_device);
    json_string(json, "limited_by", t->apart.limited_by);
    for (unsigned side = 0; side < 2; side++)
        json_server(json, hit, side);
    json_close(json);
}

static void json_side(struct json *json, const struct pools_result *r, unsigned side)
{
    const struct search_result *s = &r->side[side];
    json_object(json, pools_sides[side]);
    json_count(json, "combinations", s->points);
    json_count(json, "refused", s->invalid);
    json_count(json, "too_large", s->too_large);
    json_count(json, "evaluated", s->exact);
    json_count(json, "stay", r->front[side]);
    json_close(json);
}

/* Of one number of devices all that are listed, of each of several the best. */
static void json_hits(struct json *json, const struct pools_found *found, bool pareto,
                      struct arena *arena)
{
    json_array(json, pareto ? "pareto" : "best");
    for (size_t i = 0; i < found->n; i++) {
        const struct pools_list list = pools_list(&found->results[i], pareto);
        for (size_t j = 0; j < list.n && (!j || found->n == 1); j++)
            json_hit(json, found, &list.hits[j], found->devices[i], arena);
    }
    json_close(json);
}

/* The pool without a layout that fits and keeps its limit, and the nearest one's memory. */
static void json_missed(struct json *json, const struct pools_result *r)
{
    if (!r->missed)
        return;
    const struct search_hit *nearest = &r->side[r->missed - 1].nearest;
    json_object(json, "missed");
    json_string(json, "pool", pools_sides[r->missed - 1]);
    json_count(json, "total_bytes", nearest->total_bytes);
    json_count(json, "limit_bytes", nearest->limit_bytes);
    json_close(json);
}

void pools_print_json(const struct pools_found *found, const struct provenance *provenance,
                      struct arena *arena, FILE *out)
{
    struct json json;
    size_t pairs = 0, exact = 0;
    for (size_t i = 0; i < found->n; i++) {
        pairs += found->results[i].pairs;
        exact += found->results[i].exact;
    }
    json_init(&json, out);
    json_object(&json, NULL);
    provenance_json(&json, provenance);
    for (unsigned side = 0; side < 2; side++)
        json_side(&json, found->results, side);
    json_count(&json, "pairs", pairs);
    json_count(&json, "evaluated", exact);
    search_json_refused(&json, found->variants);
    json_hits(&json, found, false, arena);
    json_hits(&json, found, true, arena);
    json_missed(&json, found->results);
    json_close(&json);
}

/* ---- its schema ---- */

static const struct schema_part side_parts[] = {
    SCHEMA_COUNT("combinations", true), SCHEMA_COUNT("refused", true),
    SCHEMA_COUNT("too_large", true),    SCHEMA_COUNT("evaluated", true),
    SCHEMA_COUNT("stay", true),         SCHEMA_END};

static const struct schema_part server_parts[] = {
    SCHEMA_COUNT("deployments", true), SCHEMA_COUNT("devices", true),
    SCHEMA_REAL("busy", false),        SCHEMA_TEXT("verdict", true),
    SCHEMA_COUNT("total_bytes", true), SCHEMA_COUNT("state_bytes", true),
    SCHEMA_COUNT("limit_bytes", true), SCHEMA_END};

/* Keys of a plan, as many as differ; those that are always there. */
static const struct schema_part set_parts[] = {
    SCHEMA_COUNT("workload.deployments.prefill", true),
    SCHEMA_COUNT("workload.deployments.decode", true), SCHEMA_END};

static const struct schema_part hit_parts[] = {
    SCHEMA_COUNT("devices_at_most", false),
    SCHEMA_PARTS("set", true, SCHEMA_OPEN, set_parts),
    SCHEMA_TEXT("layout", true),
    SCHEMA_COUNT("devices", true),
    SCHEMA_REAL("device_s_per_token", false),
    SCHEMA_REAL("ttft_s", false),
    SCHEMA_REAL("tpot_s", false),
    SCHEMA_REAL("requests_per_s", false),
    SCHEMA_REAL("tokens_per_s", false),
    SCHEMA_REAL("tokens_per_s_per_device", false),
    SCHEMA_TEXT("limited_by", true),
    SCHEMA_PARTS("prefill", true, SCHEMA_OBJECT, server_parts),
    SCHEMA_PARTS("decode", true, SCHEMA_OBJECT, server_parts),
    SCHEMA_END};

static const struct schema_part missed_parts[] = {
    SCHEMA_TEXT("pool", true), SCHEMA_COUNT("total_bytes", true),
    SCHEMA_COUNT("limit_bytes", true), SCHEMA_END};

void pools_print_schema(FILE *out)
{
    static const struct schema_part refused[] = {SCHEMA_TEXT("set", true),
                                                 SCHEMA_TEXT("why", true), SCHEMA_END};
    const struct schema_part parts[] = {
        SCHEMA_PROVENANCE,
        SCHEMA_PARTS("prefill", true, SCHEMA_OBJECT, side_parts),
        SCHEMA_PARTS("decode", true, SCHEMA_OBJECT, side_parts),
        SCHEMA_COUNT("pairs", true),
        SCHEMA_COUNT("evaluated", true),
        SCHEMA_PARTS("not_searched", false, SCHEMA_LIST, refused),
        SCHEMA_PARTS("best", true, SCHEMA_LIST, hit_parts),
        SCHEMA_PARTS("pareto", true, SCHEMA_LIST, hit_parts),
        SCHEMA_PARTS("missed", false, SCHEMA_OBJECT, missed_parts),
        SCHEMA_END};
    schema_json_document(
        out, "pools.schema.json",
        "what moeplan search --format json writes of a plan with a part prefill", parts);
}

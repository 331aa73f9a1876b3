/* See document.h. */
#include "lib/document.h"

#include <inttypes.h>

#include "lib/request.h"
#include "plan/read/show.h"
#include "report/compare/print.h"
#include "report/predict/print.h"
#include "report/schema_json.h"
#include "report/search/pools.h"

const char *document_plan(const struct plan *plan, struct arena *arena)
{
    const struct provenance provenance = request_provenance(plan, NULL);
    struct text yaml = {.arena = arena};
    text_printf(&yaml,
                "# yaml-language-server: $schema=plan.schema.json\n"
                "# %s, resolved by moeplan " MOEPLAN_VERSION "\n"
                "# seed %" PRIu64 ", model %s, cluster %s, stack %s\n",
                provenance.plan, provenance.seed, provenance.model, provenance.cluster,
                provenance.stack);
    plan_print(plan, &yaml);
    return text_string(&yaml);
}

static void plan_schema(struct arena *arena, FILE *out)
{
    struct json json;
    json_init(&json, out);
    json_object(&json, NULL);
    schema_json_head(&json, "plan.schema.json", "a plan of moeplan");
    schema_json_plan(&json, arena);
    json_close(&json);
}

static void result_schema(struct arena *arena, FILE *out)
{
    predict_print_schema(out, arena);
}

bool document_schema(const char *name, struct arena *arena, FILE *out)
{
    static const struct {
        const char *name;
        void (*with)(struct arena *arena, FILE *out);
        void (*print)(FILE *out);
    } schemas[] = {{"plan", plan_schema, NULL},
                   {"result", result_schema, NULL},
                   {"search", NULL, search_print_schema},
                   {"pools", NULL, pools_print_schema},
                   {"compare", NULL, compare_print_schema}};
    for (size_t i = 0; i < sizeof schemas / sizeof *schemas; i++) {
        if (!text_equal(schemas[i].name, name))
            continue;
        if (schemas[i].with)
            schemas[i].with(arena, out);
        else
            schemas[i].print(out);
        return true;
    }
    return false;
}

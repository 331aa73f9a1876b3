/* See document.h. */
#include "lib/document.h"

#include <inttypes.h>

#include "lib/request.h"
#include "plan/show.h"
#include "report/predict/print.h"
#include "report/schema_json.h"

const char *document_plan(const struct plan *plan, struct arena *arena)
{
    const struct provenance provenance = request_provenance(plan);
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

bool document_schema(const char *name, struct arena *arena, FILE *out)
{
    if (text_equal(name, "plan"))
        plan_schema(arena, out);
    else if (text_equal(name, "result"))
        predict_print_schema(out, arena);
    else
        return false;
    return true;
}

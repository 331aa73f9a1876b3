/* Provenance lines; see provenance.h. */
#include "report/provenance.h"

#include <inttypes.h>
#include <string.h>

#include "base/column.h"

static const struct column names[] = {COLUMN(provenance, plan, COLUMN_TEXT, NULL),
                                      COLUMN(provenance, model, COLUMN_TEXT, NULL),
                                      COLUMN(provenance, cluster, COLUMN_TEXT, NULL),
                                      COLUMN(provenance, stack, COLUMN_TEXT, NULL),
                                      COLUMN(provenance, profile, COLUMN_TEXT, NULL)};

enum { N_NAMES = sizeof names / sizeof *names };

const struct column *provenance_columns(size_t *n)
{
    *n = N_NAMES;
    return names;
}

void provenance_json_version(struct json *json)
{
    json_count(json, "schema_version", SCHEMA_VERSION);
    json_string(json, "version", MOEPLAN_VERSION);
}

void provenance_json(struct json *json, const struct provenance *provenance)
{
    provenance_json_version(json);
    json_count(json, "seed", provenance->seed);
    json_object(json, "names");
    column_json(json, names, N_NAMES, provenance);
    json_close(json);
}

void provenance_text(FILE *out, const struct term *term, const struct provenance *provenance)
{
    const char *between = term->utf8 ? " \xc2\xb7 " : ", ";
    const char *const values[N_NAMES] = {provenance->plan, provenance->model,
                                         provenance->cluster, provenance->stack,
                                         provenance->profile};
    fprintf(out, "%smoeplan " MOEPLAN_VERSION "%sseed %" PRIu64, term_style(term, STYLE_DIM),
            between, provenance->seed);
    size_t columns = strlen("moeplan " MOEPLAN_VERSION) + strlen(", seed 1");
    for (size_t i = 0; i < N_NAMES; i++) {
        if (!values[i])
            continue;
        size_t more = term_columns(values[i]) + strlen(names[i].key) + 4;
        bool fits = columns + more <= term->width;
        columns = fits ? columns + more : more;
        fprintf(out, "%s%s %s", fits ? between : "\n", names[i].key, values[i]);
    }
    fprintf(out, "%s\n", term_plain(term));
}

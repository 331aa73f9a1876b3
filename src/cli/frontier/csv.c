/* Rows of a frontier's CSV; see csv.h. A million rows a second pass through here, so
 * numbers are written by hand. */
#include "cli/frontier/csv.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "lib/frontier.h"
#include "sim/step/time.h"
#include "cli/command/schemas.h"
#include "report/schema_json.h"

enum {
    ROW_FIXED = 256, /* room of everything but the labels and the reason */
    WHY_LENGTH = 200 /* of a reason, without quotes */
};

const char *frontier_csv_quote(const char *text, struct arena *arena)
{
    if (!strpbrk(text, ",\"\n\r"))
        return text;
    struct text out = {.arena = arena};
    text_append(&out, "\"");
    for (; *text; text++)
        text_append(&out, *text == '"' ? "\"\"" : (char[]){*text, '\0'});
    text_append(&out, "\"");
    return text_string(&out);
}

void frontier_csv_init(struct frontier_csv *csv, const struct axis *axes, size_t n_axes,
                       struct arena *arena)
{
    *csv = (struct frontier_csv){.n_axes = n_axes};
    for (size_t i = 0; i < n_axes; i++) {
        csv->labels[i] = arena_alloc(arena, axes[i].n_values, sizeof *csv->labels[i]);
        for (size_t j = 0; j < axes[i].n_values; j++)
            csv->labels[i][j] = frontier_csv_quote(axes[i].values[j].label, arena);
    }
}

/* Behind a point's own values; with their types in JSON. */
static const struct {
    const char *name, *type;
} results[] = {{"verdict", "string"},      {"total_bytes", "integer"},
               {"limit_bytes", "integer"}, {"state_bytes", "integer"},
               {"temp_bytes", "integer"},  {"tokens_per_s_per_device", "number"},
               {"wall", "string"},         {"why", "string"}};

enum { N_RESULTS = sizeof results / sizeof *results };

void frontier_csv_header(const struct axis *axes, size_t n_axes, struct text *out)
{
    for (size_t i = 0; i < n_axes; i++)
        text_printf(out, "%s,", axes[i].column);
    for (size_t i = 0; i < N_RESULTS; i++)
        text_printf(out, "%s%s", results[i].name, i + 1 < N_RESULTS ? "," : "\n");
}

/* Swept keys and columns asked for are texts, numbers or truth values, by their plans. */
void frontier_print_schema(FILE *out)
{
    struct json json;
    json_init(&json, out);
    json_object(&json, NULL);
    schema_json_head(
        &json, "frontier.schema.json",
        "what moeplan frontier --format json writes; version, seed and names stand "
        "in FILE.provenance.json beside -o FILE.json");
    json_string(&json, "type", "array");
    json_object(&json, "items");
    json_string(&json, "type", "object");
    json_list(&json, "required");
    json_string(&json, NULL, results[0].name);
    json_close(&json);
    json_object(&json, "additionalProperties");
    json_list(&json, "type");
    json_string(&json, NULL, "string");
    json_string(&json, NULL, "number");
    json_string(&json, NULL, "boolean");
    json_close(&json);
    json_close(&json);
    json_object(&json, "properties");
    for (size_t i = 0; i < N_RESULTS; i++)
        schema_json_type(&json, results[i].name, results[i].type);
    json_close(&json);
    json_close(&json);
    json_close(&json);
}

size_t frontier_csv_room(const struct frontier_csv *csv, const struct axis *axes)
{
    size_t room = ROW_FIXED + 2 * WHY_LENGTH;
    for (size_t i = 0; i < csv->n_axes; i++) {
        size_t longest = 0;
        for (size_t j = 0; j < axes[i].n_values; j++) {
            size_t length = strlen(csv->labels[i][j]);
            longest = length > longest ? length : longest;
        }
        room += longest + 1;
    }
    return room;
}

static char *put_text(char *at, const char *text)
{
    size_t length = strlen(text);
    memcpy(at, text, length);
    return at + length;
}

/* As one CSV field: in quotes, which are doubled, when it has to be. */
static char *put_quoted(char *at, const char *text)
{
    bool quote = strpbrk(text, ",\"\n\r") != NULL;
    if (quote)
        *at++ = '"';
    for (size_t i = 0; text[i] && i < WHY_LENGTH; i++) {
        if (text[i] == '"')
            *at++ = '"';
        *at++ = text[i];
    }
    if (quote)
        *at++ = '"';
    return at;
}

static char *put_why(char *at, const struct plan *plan)
{
    char why[RULE_TEXT] = "";
    frontier_why(plan, why);
    return put_quoted(at, why);
}

static char *put_count(char *at, uint64_t value)
{
    char digits[20];
    size_t n = 0;
    do
        digits[n++] = (char)('0' + value % 10);
    while (value /= 10);
    while (n)
        *at++ = digits[--n];
    return at;
}

/* The plan's own rate, from its file of constants on. */
static bool rate_alone(const struct frontier_csv *csv, const struct plan *plan, double *rate)
{
    struct arena arena = {0};
    struct err err = {0};
    struct profile profile;
    struct time_report time = {.present = false};
    const struct time_ask ask = {.routing = csv->routing, .profile = &profile};
    bool timed = profile_load(plan, &arena, &profile, &err) == STATUS_OK &&
                 time_of(plan, &ask, &arena, &time, &err) == STATUS_OK;
    *rate = timed ? time.tokens_per_s_per_device : 0;
    arena_release(&arena);
    return timed;
}

/* The same from the list that its memory was evaluated on, which is most of the work. */
static bool rate_of(const struct frontier_csv *csv, const struct plan *plan,
                    const struct evaluation *result, double *rate)
{
    struct step_time step;
    if (!result->by || !profile_is_shared(csv->timed, plan))
        return rate_alone(csv, plan, rate);
    bool timed = time_evaluated(result->by, plan, csv->profile, &step);
    *rate = timed ? time_tokens_per_s_per_device(plan, &step) : 0;
    return timed;
}

double frontier_csv_speed(const void *context, const struct plan *plan,
                          const struct evaluation *result, bool most)
{
    const struct frontier_csv *csv = context;
    struct step_time step;
    double rate;
    if (most && result->by && profile_is_shared(csv->timed, plan))
        return time_least(result->by, plan, result->by->structure, csv->profile, &step)
                   ? time_tokens_per_s_per_device(plan, &step)
                   : HUGE_VAL;
    if (most)
        return HUGE_VAL;
    return rate_of(csv, plan, result, &rate) ? rate : 0;
}

/* Tokens per second and device of the plan; nothing where it cannot be timed. */
static char *put_rate(char *at, const struct frontier_csv *csv, const struct plan *plan,
                      const struct evaluation *result)
{
    double rate;
    char text[32] = "";
    if (csv->timed && rate_of(csv, plan, result, &rate))
        text_double(text, rate);
    return put_text(at, text);
}

size_t frontier_csv_row(const void *context, const size_t indices[SWEEP_AXES],
                        const struct plan *plan, const struct evaluation *result, char *out,
                        size_t room)
{
    const struct frontier_csv *csv = context;
    char *at = out;
    for (size_t i = 0; i < csv->n_axes; i++) {
        at = put_text(at, csv->labels[i][indices[i]]);
        *at++ = ',';
    }
    if (!result->valid) {
        at = put_text(at, "invalid,,,,,,,");
        at = put_why(at, plan);
        *at++ = '\n';
    } else {
        const uint64_t numbers[] = {result->peak.total_bytes, result->limit_bytes,
                                    result->peak.state_bytes, result->peak.temp_bytes};
        at = put_text(at, verdict_name(result->verdict));
        for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
            *at++ = ',';
            at = put_count(at, numbers[i]);
        }
        *at++ = ',';
        at = put_rate(at, csv, plan, result);
        *at++ = ',';
        at = put_text(at, result->wall ? result->wall->name : "");
        at = put_text(at, ",\n");
    }
    assert((size_t)(at - out) <= room);
    (void)room;
    return (size_t)(at - out);
}

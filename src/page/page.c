/* What the page asks of the planner: one function from texts to a text, through moeplan.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <emscripten.h>

#include "lib/moeplan.h"

enum { SETTINGS = 64 };

/* A call: the plan's text, "KEY=VALUE" lines, and what more the question takes, in lines. */
struct page_call {
    struct moeplan_plan *plan;
    struct moeplan_error error;
    const char *lines[SETTINGS]; /* of the argument */
    size_t n_lines;
    char *answer;
};

/* ---- JSON ---- */

static void put_text(FILE *out, const char *text)
{
    fputc('"', out);
    for (; *text; text++)
        if (*text == '"' || *text == '\\')
            fprintf(out, "\\%c", *text);
        else if ((unsigned char)*text < ' ')
            fprintf(out, "\\u%04x", (unsigned char)*text);
        else
            fputc(*text, out);
    fputc('"', out);
}

static void put_member(FILE *out, const char *name, const char *text)
{
    fprintf(out, ",\"%s\":", name);
    put_text(out, text);
}

static char *error_json(const struct moeplan_error *error)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    fprintf(out, "{\"status\":%d,\"line\":%u,\"column\":%u", error->status, error->line,
            error->column);
    put_member(out, "where", error->where);
    put_member(out, "text", error->text);
    put_member(out, "hint", error->hint);
    fputc('}', out);
    fclose(out);
    return text;
}

/* ---- questions ---- */

static int predict(struct page_call *call, unsigned flags)
{
    /* one worker: a run's threads are not the page's to know */
    const struct moeplan_options options = {.flags = flags, .workers = 1};
    struct moeplan_result *result = NULL;
    int status = moeplan_predict(call->plan, &options, &result, &call->error);
    if (status == MOEPLAN_OK)
        call->answer = strdup(moeplan_result_json(result, NULL));
    moeplan_result_free(result);
    return status;
}

static int ask_predict(struct page_call *call)
{
    return predict(call, 0);
}

/* While a slider moves: the verdict and what holds memory. */
static int ask_quick(struct page_call *call)
{
    return predict(call, MOEPLAN_FAST);
}

static int ask_write(struct page_call *call)
{
    return moeplan_write(call->plan, call->n_lines ? call->lines[0] : "", &call->answer, NULL,
                         &call->error);
}

static int ask_describe(struct page_call *call)
{
    return moeplan_describe(call->n_lines ? call->lines[0] : "", &call->answer, NULL,
                            &call->error);
}

struct points {
    FILE *out;
    uint64_t told; /* the last percent */
};

static void tell(double share)
{
    EM_ASM(
        {
            if (Module.onProgress)
                Module.onProgress($0);
        },
        share);
}

static void put_progress(void *context, double share)
{
    (void)context;
    tell(share);
}

static int put_point(void *context, const struct moeplan_point *point)
{
    struct points *points = context;
    FILE *out = points->out;
    fprintf(out, "%s{\"values\":[", point->number ? ",\n" : "");
    for (size_t i = 0; i < point->n_values; i++) {
        fputs(i ? "," : "", out);
        put_text(out, point->values[i]);
    }
    fprintf(out, "],\"total_bytes\":%llu,\"limit_bytes\":%llu",
            (unsigned long long)point->total_bytes, (unsigned long long)point->limit_bytes);
    put_member(out, "verdict", point->verdict);
    put_member(out, "wall", point->wall);
    put_member(out, "why", point->why);
    fputc('}', out);
    uint64_t percent = 100 * (point->number + 1) / point->points;
    if (percent != points->told)
        tell((double)percent / 100);
    points->told = percent;
    return 0;
}

static int ask_frontier(struct page_call *call)
{
    const struct moeplan_axes axes = {.overs = call->lines, .n_overs = call->n_lines};
    size_t length = 0;
    struct points points = {open_memstream(&call->answer, &length), 0};
    fputs("[", points.out);
    int status = moeplan_sweep(call->plan, &axes, put_point, &points, &call->error);
    fputs("]", points.out);
    fclose(points.out);
    if (status != MOEPLAN_OK) {
        free(call->answer);
        call->answer = NULL;
    }
    return status;
}

/* Lines are keys to keep, "tp=1"; one that starts with "over " names values to try, and
 * "marginal" asks for what is marginal, too. */
static int ask_search(struct page_call *call)
{
    const char *overs[SETTINGS], *fixed[SETTINGS];
    struct moeplan_search search = {.overs = overs, .fixed = fixed, .progress = put_progress};
    for (size_t i = 0; i < call->n_lines; i++)
        if (strcmp(call->lines[i], "marginal") == 0)
            search.marginal = 1;
        else if (strncmp(call->lines[i], "over ", 5) == 0)
            overs[search.n_overs++] = call->lines[i] + 5;
        else
            fixed[search.n_fixed++] = call->lines[i];
    return moeplan_find(call->plan, &search, &call->answer, NULL, &call->error);
}

static int set_lines(struct moeplan_plan *plan, char *lines, struct moeplan_error *error);

/* The argument is the other plan: its settings, an empty line, its text. */
static int compare_with(struct page_call *call, const char *argument)
{
    struct moeplan_plan *other = NULL;
    const char *text = strstr(argument, "\n\n");
    if (!text)
        return MOEPLAN_USAGE;
    char *sets = strndup(argument, (size_t)(text - argument));
    int status = moeplan_open_text("plan A", text + 2, strlen(text + 2), &other, &call->error);
    if (status == MOEPLAN_OK)
        status = set_lines(other, sets, &call->error);
    if (status == MOEPLAN_OK)
        status = moeplan_compare(other, call->plan, &call->answer, NULL, &call->error);
    moeplan_close(other);
    free(sets);
    return status;
}

static const struct {
    const char *name;
    int (*ask)(struct page_call *call);
} questions[] = {
    {"predict", ask_predict}, {"quick", ask_quick},       {"write", ask_write},
    {"search", ask_search},   {"frontier", ask_frontier}, {"describe", ask_describe},
};

/* ---- calls ---- */

/* "KEY=VALUE" on each line */
static int set_lines(struct moeplan_plan *plan, char *lines, struct moeplan_error *error)
{
    char *rest = NULL;
    for (char *line = strtok_r(lines, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        char *equals = strchr(line, '=');
        if (!equals)
            continue;
        *equals = '\0';
        int status = moeplan_set(plan, line, equals + 1, error);
        if (status != MOEPLAN_OK)
            return status;
    }
    return MOEPLAN_OK;
}

static void split_lines(struct page_call *call, char *argument)
{
    char *rest = NULL;
    for (char *line = strtok_r(argument, "\n", &rest); line && call->n_lines < SETTINGS;
         line = strtok_r(NULL, "\n", &rest))
        call->lines[call->n_lines++] = line;
}

static int ask(struct page_call *call, const char *question, const char *argument)
{
    if (strcmp(question, "compare") == 0)
        return compare_with(call, argument);
    char *copy = strdup(argument);
    int status = MOEPLAN_USAGE;
    split_lines(call, copy);
    for (size_t i = 0; i < sizeof questions / sizeof *questions; i++)
        if (strcmp(questions[i].name, question) == 0)
            status = questions[i].ask(call);
    free(copy);
    return status;
}

/* The answer, to be freed: a document, or, with *status not 0, an error as JSON. */
EMSCRIPTEN_KEEPALIVE char *page_call(const char *question, const char *name, const char *text,
                                     const char *sets, const char *argument, int *status)
{
    struct page_call call = {0};
    char *copy = strdup(sets);
    *status = moeplan_open_text(name, text, strlen(text), &call.plan, &call.error);
    if (*status == MOEPLAN_OK)
        *status = set_lines(call.plan, copy, &call.error);
    if (*status == MOEPLAN_OK)
        *status = ask(&call, question, argument);
    moeplan_close(call.plan);
    free(copy);
    return *status == MOEPLAN_OK ? call.answer : error_json(&call.error);
}

/* See trace_json.h. */
#include "report/trace_json.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>

/* Begin and end are rounded, not lengths: what touches stays so, and nothing overlaps. */
static uint64_t nanoseconds(double seconds)
{
    return seconds > 0 ? (uint64_t)llround(seconds * 1e9) : 0;
}

static void microseconds(FILE *out, const char *key, uint64_t ns)
{
    fprintf(out, ",\"%s\":%" PRIu64 ".%03u", key, ns / 1000, (unsigned)(ns % 1000));
}

static void member(FILE *out, const char *key, const char *value)
{
    fprintf(out, "\"%s\":", key);
    json_quote(out, value);
}

/* A name, and a place among its like, of a process or a thread. */
static void name_track(FILE *out, const char *what, uint64_t process, size_t thread,
                       const char *name, bool first)
{
    fprintf(out, "%s\n{\"ph\":\"M\",\"pid\":%" PRIu64 ",\"tid\":%zu,", first ? "" : ",",
            process, thread);
    fprintf(out, "\"name\":\"%s_name\",\"args\":{", what);
    member(out, "name", name);
    fprintf(out, "}},\n{\"ph\":\"M\",\"pid\":%" PRIu64 ",\"tid\":%zu,", process, thread);
    fprintf(out, "\"name\":\"%s_sort_index\",\"args\":{\"sort_index\":%" PRIu64 "}}", what,
            what[0] == 'p' ? process : thread);
}

static void print_names(const struct span_list *list, FILE *out)
{
    uint64_t rank = UINT64_MAX;
    unsigned stream = 0;
    for (size_t i = 0; i < list->n; i++) {
        const struct span *span = &list->items[i];
        if (span->rank != rank)
            name_track(out, "process", span->rank, 0,
                       span->rank < list->n_ranks ? list->ranks[span->rank] : "a rank", i == 0);
        if (span->rank != rank || span->stream != stream)
            name_track(out, "thread", span->rank, span->stream + 1, list->streams[span->stream],
                       false);
        rank = span->rank;
        stream = span->stream;
    }
}

static void print_span(const struct span *span, FILE *out)
{
    uint64_t begin = nanoseconds(span->begin_s), end = nanoseconds(span->end_s);
    fprintf(out, ",\n{\"ph\":\"X\",\"pid\":%" PRIu64 ",\"tid\":%u,", span->rank,
            span->stream + 1);
    member(out, "name", span->op);
    if (span->phase) {
        fputc(',', out);
        member(out, "cat", span->phase);
    }
    microseconds(out, "ts", begin);
    microseconds(out, "dur", end - begin);
    fprintf(out, ",\"args\":{\"iteration\":%" PRIu64, span->iteration);
    if (span->part) {
        fputc(',', out);
        member(out, "part", span->part);
    }
    fputs("}}", out);
}

void trace_print_json(const struct trace_view *view, FILE *out)
{
    const struct provenance *p = view->provenance;
    const struct span_list *list = view->spans;
    const char *const names[][2] = {{"plan", p->plan},       {"model", p->model},
                                    {"cluster", p->cluster}, {"stack", p->stack},
                                    {"profile", p->profile}, {"note", list->about}};
    fputs("{\"displayTimeUnit\":\"ms\",\n\"otherData\":{", out);
    member(out, "made_by", "moeplan " MOEPLAN_VERSION);
    fputc(',', out);
    member(out, "times", view->what);
    fprintf(out, ",\"seed\":%" PRIu64 ",\"end_ns\":%" PRIu64, p->seed,
            nanoseconds(list->end_s));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (!names[i][1])
            continue;
        fputc(',', out);
        member(out, names[i][0], names[i][1]);
    }
    fputs("},\n\"traceEvents\":[", out);
    print_names(list, out);
    for (size_t i = 0; i < list->n; i++)
        print_span(&list->items[i], out);
    fputs("\n]}\n", out);
}

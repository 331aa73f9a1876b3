/* See record.h. */
#include "support/record.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "report/predict/print.h"

static void close_record(FILE *out)
{
    assert_int_equal(fclose(out), 0);
}

/* What a printer writes; the caller frees it. */
static char *printed(const struct predict_view *view,
                     void (*print)(const struct predict_view *view))
{
    char *bytes = NULL;
    size_t n = 0;
    struct predict_view to = *view;
    to.out = open_memstream(&bytes, &n);
    assert_non_null(to.out);
    print(&to);
    close_record(to.out);
    return bytes;
}

/* Behind the member "plan" of the JSON: the first line that closes an outermost member. */
static const char *behind_plan(const char *json)
{
    const char *plan = strstr(json, "\n  \"plan\": {\n");
    const char *end = plan ? strstr(plan, "\n  },\n") : NULL;
    assert_non_null(end);
    return end;
}

/* Writes the screen without the lines that repeat the plan: model's name and layout. */
static void put_without_job(FILE *out, const char *text)
{
    const char *model = strstr(text, "\nmodel "), *software = strstr(text, "\nsoftware ");
    const char *layout = strstr(text, "\nlayout "), *memory = strstr(text, "\nmemory ");
    const char *routing = strstr(text, "\nrouting "), *cache = strstr(text, "\nKV cache ");
    const char *end = cache ? cache : routing ? routing : memory;
    if (model && software && layout && end) {
        fwrite(text, 1, (size_t)(model - text), out);
        fwrite(software, 1, (size_t)(layout - software), out);
        text = end;
    }
    fputs(text, out);
}

/* Both in one text of the arena. Written in pieces: printf takes a long text byte by byte. */
static const char *record_of(const struct predict_view *view)
{
    char *screen = printed(view, predict_print_text), *json = printed(view, predict_print_json);
    char *bytes = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&bytes, &n);
    assert_non_null(out);
    put_without_job(out, screen);
    fputs(behind_plan(json), out);
    close_record(out);
    const char *record = arena_strndup(view->arena, bytes, n);
    free(bytes);
    free(json);
    free(screen);
    return record;
}

const char *plan_record(const struct plan *plan, struct arena *arena)
{
    static const struct term term = {.width = 200};
    struct err err = {0};
    struct prediction prediction;
    struct profile profile;
    if (profile_load(plan, arena, &profile, &err) != STATUS_OK)
        return arena_printf(arena, "refused: %s", err.text);
    const struct ops_ask ops = {.profile = &profile};
    const struct time_ask time = {.profile = &profile, .spread = true};
    const struct predict_options options = {
        .fixes = false, .ops = &ops, .time = &time, .workers = 1};
    if (predict(plan, &options, arena, &prediction, &err) != STATUS_OK)
        return arena_printf(arena, "refused: %s", err.text);
    const struct predict_view view = {
        .plan = plan,
        .prediction = &prediction,
        .provenance = {.plan = "p", .model = "m", .cluster = "c", .stack = "s", .profile = "f"},
        .term = &term,
        .arena = arena,
    };
    return record_of(&view);
}

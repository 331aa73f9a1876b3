/* See served.h. */
#include "support/served.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/text.h"
#include "plan/read/load.h"

struct plan load_text(const char *text, struct arena *arena)
{
    struct plan plan;
    struct err err = {0};
    if (plan_load_text("plan.yaml", text, strlen(text), NULL, 0, arena, &plan, NULL, &err))
        fail_msg("%s: %s (%s)", err.where, err.text, err.hint);
    return plan;
}

void assert_refused(const char *text, const char *why)
{
    struct arena arena = {0};
    struct plan plan;
    struct err err = {0};
    if (!plan_load_text("plan.yaml", text, strlen(text), NULL, 0, &arena, &plan, NULL, &err))
        fail_msg("%s: is taken", text);
    if (!strstr(err.text, why))
        fail_msg("%s: %s, without '%s'", text, err.text, why);
    arena_release(&arena);
}

struct prediction predict_text(const char *text, struct arena *arena)
{
    struct plan *plan = arena_alloc(arena, 1, sizeof *plan);
    struct prediction prediction = {0};
    struct err err = {0};
    const struct predict_options options = {0};
    *plan = load_text(text, arena);
    if (predict(plan, &options, arena, &prediction, &err))
        fail_msg("%s (%s)", err.text, err.hint);
    return prediction;
}

uint64_t buffer_bytes(const struct prediction *prediction, const char *name)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < prediction->memory.n_buffers; i++)
        if (text_equal(prediction->memory.buffers[i].name, name))
            sum += prediction->memory.buffers[i].bytes;
    return sum;
}

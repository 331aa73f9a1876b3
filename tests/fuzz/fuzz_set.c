/* --set KEY=VALUE, one per line, on a sound plan: ends in a plan that can be predicted, or in
 * an error with a text that names an option. */
#include "fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "fuzz/predict_any.h"
#include "plan/read/load.h"

enum { OVERRIDES = 16 };

static const char base[] =
    "model: deepseek-v3\n"
    "cluster: mi355x-8x8\n"
    "stack: maxtext\n"
    "workload: {sequence_length: 256, micro_batch: 2}\n" /* routing is what costs */
    "parallel: {ep: 8, zero: 3}\n"
    "moe: {path: deepep}\n";

/* Cuts the text into lines of KEY=VALUE; those without "=" are left out, as cli refuses them.
 */
static size_t cut(char *text, struct arena *arena, struct override *overrides)
{
    size_t n = 0;
    for (char *line = text; line && n < OVERRIDES;) {
        char *next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        char *option = arena_printf(arena, "--set %s", line);
        char *equals = strchr(line, '=');
        if (equals && equals != line) {
            *equals = '\0';
            overrides[n++] =
                (struct override){.key = line, .value = equals + 1, .option = option};
        }
        line = next;
    }
    return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena = {0};
    struct err err = {0};
    struct plan plan;
    struct origins origins = {0};
    struct override overrides[OVERRIDES];
    size_t n = cut(arena_strndup(&arena, (const char *)data, size), &arena, overrides);
    enum status status = plan_load_text("plan.yaml", base, sizeof base - 1, overrides, n,
                                        &arena, &plan, &origins, &err);
    if (status == STATUS_OK)
        predict_any(&plan, false);
    else if (err.text[0] == '\0')
        abort();
    arena_release(&arena);
    return 0;
}

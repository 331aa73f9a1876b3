/* A plan file: any text ends in a plan that can be predicted and that reads back as it is
 * printed, or in an error with a text. An error leaves the plan as it was. */
#include "fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "fuzz/predict_any.h"
#include "plan/read/load.h"
#include "plan/read/show.h"

static void read_back(const struct plan *plan, struct arena *arena)
{
    struct err err = {0};
    struct plan again = {0};
    struct text text = {.arena = arena};
    plan_print(plan, &text);
    enum status status =
        plan_load_text("plan.yaml", text.data, text.length, NULL, 0, arena, &again, NULL, &err);
    if (status != STATUS_OK || memcmp(&again, plan, sizeof again) != 0)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct plan untouched = {.parallel.tp = 77};
    struct arena arena = {0};
    struct err err = {0};
    struct plan plan = untouched;
    struct origins origins = {0};
    enum status status = plan_load_text("plan.yaml", (const char *)data, size, NULL, 0, &arena,
                                        &plan, &origins, &err);
    if (status == STATUS_OK) {
        read_back(&plan, &arena);
        predict_any(&plan, true);
    } else if (err.text[0] == '\0' || memcmp(&plan, &untouched, sizeof plan) != 0) {
        abort();
    }
    arena_release(&arena);
    return 0;
}

/* See predict_any.h. */
#include "fuzz/predict_any.h"

#include <stdlib.h>

#include "sim/answer/predict.h"

enum { SAMPLES = 4 }; /* each walks the same code */

/* Fails loudly in every build. */
static void require(bool holds)
{
    if (!holds)
        abort();
}

void predict_any(const struct plan *plan, bool fixes)
{
    struct arena arena = {0};
    struct err err = {0};
    struct prediction prediction = {0};
    struct predict_options options = {.fixes = fixes};
    struct plan few = *plan;
    few.moe.routing.samples =
        SAMPLES < few.moe.routing.samples ? SAMPLES : few.moe.routing.samples;
    enum status status = predict(&few, &options, &arena, &prediction, &err);
    if (status == STATUS_OK) {
        const struct memory_report *memory = &prediction.memory;
        require(memory->state_bytes + memory->temp_bytes == memory->total_bytes);
        require(memory->verdict != VERDICT_FITS || memory->margin_bytes >= 0);
    } else {
        require(err.status == status && err.text[0] != '\0');
    }
    arena_release(&arena);
}

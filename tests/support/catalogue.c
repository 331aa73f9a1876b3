/* Plans around single parts; see catalogue.h. */
#include "support/catalogue.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "plan/read/load.h"

void catalogue_plan(const char *model, const char *cluster, const char *stack,
                    struct arena *arena, struct plan *plan)
{
    struct err err = {0};
    struct origins origins;
    const char *text = arena_printf(arena, "model: %s\ncluster: %s\nstack: %s\n",
                                    model ? model : "olmoe-1b-7b", cluster ? cluster : "h200",
                                    stack ? stack : "generic");
    if (plan_load_text("plan.yaml", text, strlen(text), NULL, 0, arena, plan, &origins, &err))
        fail_msg("%s: %s (%s)", err.where, err.text, err.hint);
}

double catalogue_number(const char *cell)
{
    char *end = NULL;
    double value = strtod(cell, &end);
    return end == cell ? (double)NAN : value;
}

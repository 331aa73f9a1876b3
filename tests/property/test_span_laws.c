/* Laws of a step's spans, on random plans of every stack: on a stream they follow one another,
 * none begins before the step or ends after it, and they end when step_s says. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sim/step/plan_spans.h"
#include "support/draws.h"
#include "support/shaped_plan.h"

enum { DRAWS = 300, MOST = 4000 };

static void check(const struct span_list *list, double step_s, uint64_t seed)
{
    double end = 0, room = 1e-9 * step_s;
    for (size_t i = 0; i < list->n; i++) {
        const struct span *span = &list->items[i], *before = i ? span - 1 : NULL;
        bool follows = before && before->rank == span->rank && before->stream == span->stream;
        end = fmax(end, span->end_s);
        if (!(span->begin_s >= -room && span->end_s >= span->begin_s))
            fail_msg("seed %d: %s from %g to %g", (int)seed, span->op, span->begin_s,
                     span->end_s);
        if (follows && span->begin_s < before->end_s - room)
            fail_msg("seed %d, %s: %s ends at %.12g, %s begins at %.12g", (int)seed,
                     list->streams[span->stream], before->op, before->end_s, span->op,
                     span->begin_s);
    }
    if (fabs(end - step_s) > 1e-6 * step_s || list->end_s != step_s)
        fail_msg("seed %d: spans end at %.9g, the step at %.9g", (int)seed, end, step_s);
}

/* What a rank does on its streams is what the model adds up: computation as a whole. */
static double computed_s(const struct span_list *list)
{
    double sum = 0;
    for (size_t i = 0; i < list->n; i++)
        if (list->items[i].stream == SPAN_COMPUTE)
            sum += list->items[i].end_s - list->items[i].begin_s;
    return sum;
}

/* The first segment with experts; SEGMENT_MOE in a model without. */
static enum segment experts_segment(const struct model *model)
{
    bool has[KIND_COUNT];
    model_kinds(model, has);
    for (unsigned i = 0; i < KIND_COUNT; i++)
        if (has[i] && segment_has_experts(segment_of_kind((enum layer_kind)i)))
            return segment_of_kind((enum layer_kind)i);
    return SEGMENT_MOE;
}

static void spans_are_the_step(void **state)
{
    (void)state;
    unsigned timed = 0;
    draws_print(DRAWS);
    for (uint64_t seed = 1; seed <= draws_of(DRAWS); seed++) {
        struct plan plan;
        struct arena arena = {0};
        struct err err = {0};
        struct profile profile;
        struct plan_spans spans, layer;
        if (!plan_shaped(&plan, (enum stack_kind)(seed % STACK_COUNT), seed))
            continue;
        plan.moe.routing.samples = 5;
        plan.workload.colocated.passes = seed / STACK_COUNT % 2;
        assert_int_equal(profile_load(&plan, &arena, &profile, &err), STATUS_OK);
        struct plan_spans_ask ask = {NULL, &profile, MOST, SEGMENT_COUNT};
        if (plan_spans_of(&plan, &ask, &arena, &spans, &err) == STATUS_OK) {
            check(&spans.list, spans.step.step_s, seed);
            ask.segment = experts_segment(&plan.model);
            assert_int_equal(plan_spans_of(&plan, &ask, &arena, &layer, &err), STATUS_OK);
            assert_true(computed_s(&layer.list) <= layer.list.end_s * (1 + 1e-9));
            if (layer.list.n)
                check(&layer.list, layer.list.end_s, seed);
            plan_spans_release(&layer);
            timed++;
        }
        plan_spans_release(&spans);
        arena_release(&arena);
    }
    draws_reach("timed", timed, draws_of(DRAWS) / 3.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(spans_are_the_step)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

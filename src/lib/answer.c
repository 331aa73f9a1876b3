/* See answer.h. */
#include "lib/answer.h"

const struct answer_ask answer_whole = {.options = {.fixes = true}, .time = true, .ops = true};

const struct answer_ask answer_compared = {
    .options = {.memory_only = true, .workers = 1}, .time = true, .ops = true};

enum status answer_predict(const char *name, const struct answer_ask *ask, struct arena *arena,
                           struct answer *answer, struct err *err)
{
    TRY(routing_data_load(&answer->plan, arena, &answer->routing, err));
    TRY(profile_load(&answer->plan, arena, &answer->profile, err));
    const struct time_ask time = {.routing = &answer->routing,
                                  .profile = &answer->profile,
                                  .spread = true,
                                  .path = true,
                                  .why = ask->why};
    const struct ops_ask ops = {.data = &answer->routing,
                                .profile = &answer->profile,
                                .named = ask->rank_named,
                                .rank = ask->rank,
                                .sample = ask->sample};
    struct predict_options options = ask->options;
    options.routing = &answer->routing;
    options.origins = &answer->origins;
    options.ops = ask->ops ? &ops : NULL;
    options.time = ask->time ? &time : NULL;
    if (predict(&answer->plan, &options, arena, &answer->prediction, err) == STATUS_OK)
        return STATUS_OK;
    return request_blame(name, &answer->origins, err);
}

struct predict_view answer_view(const struct answer *answer, FILE *out, const struct term *term,
                                struct arena *arena)
{
    const struct provenance provenance =
        request_provenance(&answer->plan, answer->profile.name);
    return (struct predict_view){
        .plan = &answer->plan,
        .origins = &answer->origins,
        .prediction = &answer->prediction,
        .provenance = provenance,
        .out = out,
        .term = term,
        .arena = arena,
    };
}

enum status answer_compare(const struct answer sides[2], struct arena *arena,
                           struct comparison *comparison, struct compare_view *view,
                           struct err *err)
{
    const struct compare_side a = {&sides[0].plan, &sides[0].prediction};
    const struct compare_side b = {&sides[1].plan, &sides[1].prediction};
    TRY(compare(&a, &b, arena, comparison, err));
    *view = (struct compare_view){
        .comparison = comparison,
        .a = a.prediction,
        .b = b.prediction,
        .provenance_a = request_provenance(a.plan, sides[0].profile.name),
        .provenance_b = request_provenance(b.plan, sides[1].profile.name),
        .arena = arena,
    };
    return STATUS_OK;
}

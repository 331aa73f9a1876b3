/* See answer.h. */
#include "lib/answer.h"

const struct answer_ask answer_whole = {.options = {.fixes = true}, .ops = true};

const struct answer_ask answer_compared = {.options = {.memory_only = true, .workers = 1},
                                           .ops = true};

enum status answer_predict(const char *name, const struct answer_ask *ask, struct arena *arena,
                           struct answer *answer, struct err *err)
{
    TRY(routing_data_load(&answer->plan, NULL, arena, &answer->routing, err));
    const struct ops_ask ops = {.data = &answer->routing,
                                .named = ask->rank_named,
                                .rank = ask->rank,
                                .sample = ask->sample};
    struct predict_options options = ask->options;
    options.routing = &answer->routing;
    options.origins = &answer->origins;
    options.ops = ask->ops ? &ops : NULL;
    if (predict(&answer->plan, &options, arena, &answer->prediction, err) == STATUS_OK)
        return STATUS_OK;
    return err_place(err, request_place(name, &answer->origins, err->text, "moe.path"));
}

struct predict_view answer_view(const struct answer *answer, FILE *out, const struct term *term,
                                struct arena *arena)
{
    return (struct predict_view){
        .plan = &answer->plan,
        .origins = &answer->origins,
        .prediction = &answer->prediction,
        .provenance = request_provenance(&answer->plan),
        .out = out,
        .term = term,
        .arena = arena,
    };
}

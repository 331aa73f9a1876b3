/* Predictions as handles: the JSON of the command, and its values by name. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "base/pool.h"
#include "lib/handle.h"
#include "lib/value.h"

/* A name's value, and where it ends; NULL when there is none, or of another kind: `first` are
 * the characters it may start with. */
static const char *find(const struct moeplan_result *result, const char *name,
                        const char *first, const char **end)
{
    const char *at = value_find(result->json, name);
    if (!at || !*at || !strchr(first, *at))
        return NULL;
    *end = value_end(at);
    return at;
}

static enum status predict_json(struct handle_call *call)
{
    const struct moeplan_options *options = call->ask;
    static const struct term plain = {.width = TERM_WIDTH};
    struct answer *answer = arena_alloc(&call->arena, 1, sizeof *answer);
    struct answer_ask ask = answer_whole;
    unsigned flags = options ? options->flags : 0;
    ask.options.exact = flags & MOEPLAN_EXACT;
    ask.options.fixes = !(flags & MOEPLAN_NO_FIXES);
    ask.options.memory_only = flags & MOEPLAN_MEMORY_ONLY;
    ask.options.workers = options && options->workers ? options->workers : pool_cpus();
    ask.ops = !(flags & MOEPLAN_NO_OPS);
    ask.time = ask.time && !(flags & MOEPLAN_NO_TIME);
    TRY(handle_load(call, call->plan, &answer->plan, &answer->origins));
    TRY(answer_predict(call->plan->name, &ask, &call->arena, answer, &call->err));
    const struct predict_view view = answer_view(answer, call->out, &plain, &call->arena);
    predict_print_json(&view);
    return STATUS_OK;
}

int moeplan_predict(const struct moeplan_plan *plan, const struct moeplan_options *options,
                    struct moeplan_result **result, struct moeplan_error *error)
{
    struct handle_call call = {.plan = plan, .ask = options};
    struct moeplan_result *made = malloc(sizeof *made);
    if (!made)
        return handle_out_of_memory(error);
    int status = handle_run(&call, predict_json, &made->json, &made->length, error);
    if (status == MOEPLAN_OK)
        *result = made;
    else
        free(made);
    return status;
}

void moeplan_result_free(struct moeplan_result *result)
{
    if (result)
        free(result->json);
    free(result);
}

const char *moeplan_result_json(const struct moeplan_result *result, size_t *length)
{
    if (length)
        *length = result->length;
    return result->json;
}

enum { NUMBER_ROOM = 40 };

/* A number's text alone; false when it is too long to be one. */
static bool number_of(const struct moeplan_result *result, const char *name,
                      char text[NUMBER_ROOM])
{
    const char *end, *at = find(result, name, "-0123456789", &end);
    if (!at || end - at >= NUMBER_ROOM)
        return false;
    memcpy(text, at, (size_t)(end - at));
    text[end - at] = '\0';
    return true;
}

int moeplan_result_count(const struct moeplan_result *result, const char *name, uint64_t *value)
{
    char text[NUMBER_ROOM];
    return number_of(result, name, text) && number_count(text, value);
}

int moeplan_result_real(const struct moeplan_result *result, const char *name, double *value)
{
    char text[NUMBER_ROOM];
    return number_of(result, name, text) && number_real(text, value);
}

int moeplan_result_text(const struct moeplan_result *result, const char *name, char *text,
                        size_t room)
{
    const char *end, *at = find(result, name, "\"", &end);
    if (!at || room == 0)
        return 0;
    value_text(at, text, room);
    return 1;
}

int moeplan_result_length(const struct moeplan_result *result, const char *name, size_t *length)
{
    const char *end, *at = find(result, name, "{[", &end);
    if (!at)
        return 0;
    *length = value_length(at);
    return 1;
}

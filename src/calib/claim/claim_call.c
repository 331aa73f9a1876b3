/* Arguments of a claim; see claim_call.h. */
#include "calib/claim/claim_call.h"

#include <stdint.h>
#include <string.h>

#include "base/number.h"
#include "base/text.h"
#include "calib/claim/claim_value.h"
#include "plan/read/load.h"

enum status claim_call_read(struct claim_call *call, const char *text, struct err *err)
{
    call->n_arguments = 0;
    call->shifted = SIZE_MAX;
    call->err = err;
    for (text += strspn(text, " "); *text; text += strspn(text, " ")) {
        size_t length = strcspn(text, " "), name = strcspn(text, "=");
        if (name >= length)
            return err_set(err, STATUS_INPUT, "\"%.*s\" is not name=value", (int)length, text);
        if (call->n_arguments == CLAIM_ARGUMENTS)
            return err_set(err, STATUS_INPUT, "more than %d arguments", CLAIM_ARGUMENTS);
        call->arguments[call->n_arguments++] = (struct claim_argument){
            .name = arena_strndup(call->arena, text, name),
            .value = arena_strndup(call->arena, text + name + 1, length - name - 1)};
        text += length;
    }
    return STATUS_OK;
}

static struct claim_argument *find(struct claim_call *call, const char *name)
{
    for (size_t i = 0; i < call->n_arguments; i++)
        if (text_equal(call->arguments[i].name, name)) {
            call->arguments[i].used = true;
            return &call->arguments[i];
        }
    return NULL;
}

bool claim_has(struct claim_call *call, const char *name)
{
    return find(call, name) != NULL;
}

const char *claim_word(struct claim_call *call, const char *name)
{
    const struct claim_argument *argument = find(call, name);
    if (argument)
        return argument->value;
    err_set(call->err, STATUS_INPUT, "argument \"%s\" is missing", name);
    return "";
}

double claim_number(struct claim_call *call, const char *name)
{
    const char *text = claim_word(call, name), *digits = text + (*text == '~');
    double value = 0;
    if (!number_real(digits, &value) && *text)
        err_set(call->err, STATUS_INPUT, "argument \"%s=%s\" is not a number", name, text);
    if (call->shifted < call->n_arguments &&
        text_equal(call->arguments[call->shifted].name, name))
        value += call->shift * claim_half_digit(digits);
    return value;
}

double claim_number_or(struct claim_call *call, const char *name, double fallback)
{
    return claim_has(call, name) ? claim_number(call, name) : fallback;
}

uint64_t claim_count(struct claim_call *call, const char *name)
{
    double value = claim_number(call, name);
    if (value >= 0 && value < 1e18)
        return (uint64_t)value;
    err_set(call->err, STATUS_INPUT, "argument \"%s\" is not a count", name);
    return 1;
}

size_t claim_numbers(struct claim_call *call, const char *name, size_t room, double *numbers)
{
    const char *at = claim_word(call, name);
    size_t n = 0;
    while (*at && n < room) {
        size_t length = strcspn(at, "|");
        if (!number_real(arena_strndup(call->arena, at, length), &numbers[n])) {
            err_set(call->err, STATUS_INPUT, "argument \"%s\" is not a list a|b|c", name);
            return n;
        }
        n++;
        at += length + (at[length] == '|');
    }
    return n;
}

/* ---- plans ---- */

/* Every argument that is a key of the plan file; the parts' files are arguments of their own.
 */
static struct override *overrides(struct claim_call *call, bool parts, size_t *n)
{
    struct override *list = arena_alloc(call->arena, call->n_arguments + 1, sizeof *list);
    *n = 0;
    for (size_t i = 0; i < call->n_arguments; i++) {
        struct claim_argument *a = &call->arguments[i];
        bool key = strchr(a->name, '.') || text_equal(a->name, "stack") ||
                   (!parts && text_equal(a->name, "cluster"));
        if (!key)
            continue;
        a->used = true;
        list[(*n)++] = (struct override){a->name, a->value,
                                         arena_printf(call->arena, "%s=%s", a->name, a->value)};
    }
    return list;
}

bool claim_plan(struct claim_call *call, struct plan *plan)
{
    size_t n;
    struct origins origins = {0};
    const struct override *list = overrides(call, false, &n);
    const char *file =
        arena_printf(call->arena, "%s/%s", call->folder, claim_word(call, "plan"));
    if (call->err->status != STATUS_OK)
        return false;
    return plan_load(file, list, n, call->arena, plan, &origins, call->err) == STATUS_OK;
}

bool claim_parts(struct claim_call *call, struct plan *plan)
{
    size_t n;
    struct origins origins = {0};
    const struct override *list = overrides(call, true, &n);
    const char *model = claim_has(call, "model") ? claim_word(call, "model") : "mixtral-8x7b";
    const char *cluster = claim_has(call, "cluster") ? claim_word(call, "cluster") : "h200";
    const char *text =
        arena_printf(call->arena, "model: %s\ncluster: %s\nstack: generic\n", model, cluster);
    return plan_load_text("claims", text, strlen(text), list, n, call->arena, plan, &origins,
                          call->err) == STATUS_OK;
}

enum status claim_call_finish(const struct claim_call *call, struct err *err)
{
    for (size_t i = 0; i < call->n_arguments; i++)
        if (!call->arguments[i].used)
            return err_set(err, STATUS_INPUT, "argument \"%s\" is not one of this quantity",
                           call->arguments[i].name);
    return STATUS_OK;
}

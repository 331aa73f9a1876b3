/* Plans as handles, and the frame around every call; see handle.h and moeplan.h. */
#include "lib/handle.h"

#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"

enum { SETS_FIRST = 8 };

const char *moeplan_version(void)
{
    return MOEPLAN_VERSION;
}

void moeplan_free(char *text)
{
    free(text);
}

/* ---- calls ---- */

/* "file:3:10" ends in line and column. */
static void read_place(struct moeplan_error *error)
{
    unsigned numbers[2] = {0};
    char *end = error->where + strlen(error->where);
    for (unsigned i = 0; i < 2; i++) {
        char *at = end;
        while (at > error->where && at[-1] >= '0' && at[-1] <= '9')
            at--;
        if (at == end || at == error->where || at[-1] != ':')
            return;
        numbers[i] = (unsigned)strtoul(at, NULL, 10);
        end = at - 1;
    }
    error->line = numbers[1];
    error->column = numbers[0];
}

int handle_fail(const struct err *err, struct moeplan_error *error)
{
    if (!error)
        return (int)err->status;
    *error = (struct moeplan_error){.status = (int)err->status};
    memcpy(error->where, err->where, sizeof error->where);
    memcpy(error->text, err->text, sizeof error->text);
    memcpy(error->hint, err->hint, sizeof error->hint);
    read_place(error);
    return error->status;
}

int handle_out_of_memory(struct moeplan_error *error)
{
    struct err err = {0};
    err_set(&err, STATUS_SYSTEM, "out of memory");
    return handle_fail(&err, error);
}

struct frame {
    struct handle_call *call;
    handle_work *work;
    enum status status;
};

static void work_in_frame(void *context)
{
    struct frame *frame = context;
    frame->status = frame->work(frame->call);
}

/* Numbers are read and written with a point, whatever the process has set for its texts. */
static bool run_guarded(struct frame *frame)
{
    locale_t plain = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
    if (plain == (locale_t)0)
        return false;
    locale_t before = uselocale(plain);
    bool done = arena_guarded(work_in_frame, frame);
    uselocale(before);
    freelocale(plain);
    return done;
}

int handle_run(struct handle_call *call, handle_work *work, char **text, size_t *length,
               struct moeplan_error *error)
{
    struct frame frame = {call, work, STATUS_OK};
    if (text && !(call->out = open_memstream(&call->text, &call->length)))
        return handle_out_of_memory(error);
    bool guarded = run_guarded(&frame);
    if (guarded)
        arena_release(&call->arena);
    bool failed = call->out && ferror(call->out);
    bool closed = !call->out || fclose(call->out) == 0;
    bool whole = closed && !failed;
    if (guarded && whole && call->err.status == STATUS_OK && frame.status == STATUS_OK) {
        if (text) {
            *text = call->text;
            if (length)
                *length = call->length;
        }
        return MOEPLAN_OK;
    }
    free(call->text);
    return guarded && whole ? handle_fail(&call->err, error) : handle_out_of_memory(error);
}

enum status handle_read(struct handle_call *call, const struct moeplan_plan *plan,
                        struct request *request)
{
    struct job_result job;
    *request = (struct request){
        .name = plan->name,
        .text = plan->text,
        .length = plan->length,
        .sets = arena_alloc(&call->arena, plan->n_sets + 1, sizeof *request->sets),
        .n_sets = plan->n_sets,
    };
    for (size_t i = 0; i < plan->n_sets; i++) {
        const struct moeplan_setting *set = &plan->sets[i];
        request->sets[i] = (struct override){
            set->key, set->value, arena_printf(&call->arena, "%s=%s", set->key, set->value)};
    }
    return request_read(request, &call->arena, &job, &call->err);
}

enum status handle_load(struct handle_call *call, const struct moeplan_plan *plan,
                        struct plan *loaded, struct origins *origins)
{
    struct request request;
    TRY(handle_read(call, plan, &request));
    return request_load(&request, &call->arena, loaded, origins, &call->err);
}

/* ---- plans ---- */

static char *copy_bytes(const char *bytes, size_t length)
{
    char *copy = malloc(length + 1);
    if (copy) {
        memcpy(copy, bytes, length);
        copy[length] = '\0';
    }
    return copy;
}

int moeplan_open_text(const char *name, const char *text, size_t length,
                      struct moeplan_plan **plan, struct moeplan_error *error)
{
    struct moeplan_plan *opened = calloc(1, sizeof *opened);
    if (opened) {
        opened->name = copy_bytes(name, strlen(name));
        opened->text = copy_bytes(text, length);
        opened->length = length;
    }
    if (!opened || !opened->name || !opened->text) {
        moeplan_close(opened);
        return handle_out_of_memory(error);
    }
    *plan = opened;
    return MOEPLAN_OK;
}

/* The file's text is the call's output: it outlives the arena. */
static enum status read_file(struct handle_call *call)
{
    char *text = NULL;
    size_t length = 0;
    TRY(file_read(call->ask, JOB_BYTES, &call->arena, &text, &length, &call->err));
    fwrite(text, 1, length, call->out);
    return STATUS_OK;
}

int moeplan_open_file(const char *file, struct moeplan_plan **plan, struct moeplan_error *error)
{
    struct handle_call call = {.ask = file};
    char *text = NULL;
    size_t length = 0;
    int status = handle_run(&call, read_file, &text, &length, error);
    if (status == MOEPLAN_OK)
        status = moeplan_open_text(file, text, length, plan, error);
    free(text);
    return status;
}

int moeplan_copy(const struct moeplan_plan *plan, struct moeplan_plan **copy,
                 struct moeplan_error *error)
{
    struct moeplan_plan *made = NULL;
    int status = moeplan_open_text(plan->name, plan->text, plan->length, &made, error);
    for (size_t i = 0; status == MOEPLAN_OK && i < plan->n_sets; i++)
        status = moeplan_set(made, plan->sets[i].key, plan->sets[i].value, error);
    if (status == MOEPLAN_OK)
        *copy = made;
    else
        moeplan_close(made);
    return status;
}

void moeplan_close(struct moeplan_plan *plan)
{
    if (!plan)
        return;
    for (size_t i = 0; i < plan->n_sets; i++)
        free(plan->sets[i].key);
    free(plan->sets);
    free(plan->text);
    free(plan->name);
    free(plan);
}

int moeplan_unset(struct moeplan_plan *plan, const char *key)
{
    for (size_t i = 0; i < plan->n_sets; i++) {
        if (strcmp(plan->sets[i].key, key) != 0)
            continue;
        free(plan->sets[i].key);
        memmove(&plan->sets[i], &plan->sets[i + 1],
                (plan->n_sets - i - 1) * sizeof *plan->sets);
        plan->n_sets--;
        return 1;
    }
    return 0;
}

static bool make_room(struct moeplan_plan *plan)
{
    if (plan->n_sets < plan->room)
        return true;
    size_t room = plan->room ? 2 * plan->room : SETS_FIRST;
    struct moeplan_setting *larger = realloc(plan->sets, room * sizeof *larger);
    if (!larger)
        return false;
    plan->sets = larger;
    plan->room = room;
    return true;
}

int moeplan_set(struct moeplan_plan *plan, const char *key, const char *value,
                struct moeplan_error *error)
{
    struct err err = {0};
    size_t key_length = strlen(key), value_length = strlen(value);
    if (!key_length) {
        err_set(&err, STATUS_USAGE, "the key to set is empty");
        return handle_fail(&err, error);
    }
    char *both = malloc(key_length + value_length + 2);
    if (!both || !make_room(plan)) {
        free(both);
        return handle_out_of_memory(error);
    }
    memcpy(both, key, key_length + 1);
    memcpy(both + key_length + 1, value, value_length + 1);
    moeplan_unset(plan, key);
    plan->sets[plan->n_sets++] = (struct moeplan_setting){both, both + key_length + 1};
    return MOEPLAN_OK;
}

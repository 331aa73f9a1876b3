/* What stands behind the handles of moeplan.h, and how a call into the library runs. */
#ifndef MOEPLAN_LIB_HANDLE_H
#define MOEPLAN_LIB_HANDLE_H

#include "lib/answer.h"
#include "lib/moeplan.h"

struct moeplan_setting {
    char *key, *value; /* one allocation, at key */
};

struct moeplan_plan {
    char *name, *text;
    size_t length;
    struct moeplan_setting *sets;
    size_t n_sets, room;
};

struct moeplan_result {
    char *json; /* ended by a zero byte */
    size_t length;
};

/* A call under way. Everything that it takes from its arena is gone when it ends. */
struct handle_call {
    struct arena arena;
    FILE *out; /* the text to hand out, or NULL */
    char *text;
    size_t length;
    struct err err;
    const struct moeplan_plan *plan;
    const void *ask; /* the function's own */
    void *state;     /* the same, where it changes */
};

typedef enum status handle_work(struct handle_call *call);

/* Runs the work under a guard and ends the call: a status, and *error when that is not OK. With
 * `text` the work writes to call->out, which becomes *text (to be freed) and *length. */
int handle_run(struct handle_call *call, handle_work *work, char **text, size_t *length,
               struct moeplan_error *error);

/* Hands an error out; returns its status. */
int handle_fail(const struct err *err, struct moeplan_error *error);
int handle_out_of_memory(struct moeplan_error *error);

/* The plan's request, read; its loaded plan, with where values came from. */
enum status handle_read(struct handle_call *call, const struct moeplan_plan *plan,
                        struct request *request);
enum status handle_load(struct handle_call *call, const struct moeplan_plan *plan,
                        struct plan *loaded, struct origins *origins);

#endif

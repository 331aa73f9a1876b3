/* libmoeplan: plans of Mixture-of-Experts models, predicted in the caller's process.
 *
 *     struct moeplan_plan *plan;
 *     struct moeplan_result *result;
 *     struct moeplan_error error;
 *     uint64_t bytes;
 *     if (moeplan_open_file("plan.yaml", &plan, &error) == MOEPLAN_OK &&
 *         moeplan_set(plan, "workload.micro_batch", "4", &error) == MOEPLAN_OK &&
 *         moeplan_predict(plan, NULL, &result, &error) == MOEPLAN_OK &&
 *         moeplan_result_count(result, "memory.total_bytes", &bytes))
 *
 * Numbers are those of the command line: the same code computes both. The library prints
 * nothing, ends no process, starts no thread and keeps nothing between calls but what a handle
 * holds. It reads files that a plan names and those of the catalogue (models, clusters,
 * stacks), found as by the command: $MOEPLAN_DATA, ./models, the installed copy beside the
 * library.
 *
 * Threads: any number may call at once, each with handles of its own. A plan that nobody sets
 * may be used by many; a result never changes.
 *
 * Errors are values: a function that can fail returns MOEPLAN_OK or another status, and then
 * fills *error (which may be NULL) and leaves its other results untouched. A call that ran out
 * of memory has freed what it took, and ends with MOEPLAN_SYSTEM. Only a mistake of the library
 * itself aborts, by an assertion.
 *
 * Stability: what stands here keeps its meaning under one soname. Structs that the caller fills
 * may be initialised with {0}; later versions add members at their end only with a new soname.
 * Names and words follow `moeplan help` and `moeplan schema`. */
#ifndef MOEPLAN_LIB_MOEPLAN_H
#define MOEPLAN_LIB_MOEPLAN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined __GNUC__
#define MOEPLAN_API __attribute__((visibility("default")))
#else
#define MOEPLAN_API
#endif

/* The statuses of the command, where they apply. */
enum moeplan_status {
    MOEPLAN_OK = 0,
    MOEPLAN_USAGE = 2,  /* a call that makes no sense: a name that there is not */
    MOEPLAN_INPUT = 3,  /* a bad plan, key, value or data file */
    MOEPLAN_ABSENT = 5, /* something this machine lacks */
    MOEPLAN_SYSTEM = 6, /* out of memory, or an I/O error */
    MOEPLAN_STOPPED = 8 /* the caller's function asked to stop */
};

struct moeplan_error {
    int status;            /* enum moeplan_status */
    unsigned line, column; /* from 1; 0: the place has none */
    char where[512];       /* "plan.yaml:3:10", "workload.micro_batch=0", or "" */
    char text[1024];       /* what is wrong, with value and limit */
    char hint[1024];       /* what to do, or "" */
};

struct moeplan_plan;
struct moeplan_result;

/* The library's own: "0.1.0". */
MOEPLAN_API const char *moeplan_version(void);

/* Frees a text that a call handed out; NULL is fine. */
MOEPLAN_API void moeplan_free(char *text);

/* ---- plans ---- */

/* A plan file, a framework's job file or a config.json. The file is read now; what it says is
 * checked when it is asked about, together with the keys that are set by then. */
MOEPLAN_API int moeplan_open_file(const char *file, struct moeplan_plan **plan,
                                  struct moeplan_error *error);

/* The same from memory, which is copied; `name` stands for the file in messages, and its folder
 * is where files that the plan names are looked for. */
MOEPLAN_API int moeplan_open_text(const char *name, const char *text, size_t length,
                                  struct moeplan_plan **plan, struct moeplan_error *error);

/* A plan of its own with the same text and keys. */
MOEPLAN_API int moeplan_copy(const struct moeplan_plan *plan, struct moeplan_plan **copy,
                             struct moeplan_error *error);

MOEPLAN_API void moeplan_close(struct moeplan_plan *plan); /* NULL is fine */

/* Sets a key ("moe.path", "cluster") to a value as --set takes it ("deepep", "8 GiB"), in place
 * of an earlier setting. Whether key and value are right shows when the plan is asked about:
 * only all keys together make a plan. MOEPLAN_USAGE for an empty key. */
MOEPLAN_API int moeplan_set(struct moeplan_plan *plan, const char *key, const char *value,
                            struct moeplan_error *error);

/* Takes a setting back: the text's own value holds again. 1 when there was one, else 0. */
MOEPLAN_API int moeplan_unset(struct moeplan_plan *plan, const char *key);

/* ---- predictions ---- */

enum moeplan_flags {
    MOEPLAN_EXACT = 1,       /* sample routing token by token even where a law is close */
    MOEPLAN_NO_FIXES = 2,    /* do not look for changes that make the plan fit */
    MOEPLAN_NO_OPS = 4,      /* leave the list of ops out */
    MOEPLAN_MEMORY_ONLY = 8, /* leave loads and padding of the experts out */
    MOEPLAN_NO_TIME = 16,    /* leave seconds out */
    MOEPLAN_FAST = 30        /* the four of them */
};

struct moeplan_options {
    unsigned flags;   /* of enum moeplan_flags */
    unsigned workers; /* threads of a run (stack host); 0: the CPUs of this process */
};

/* Predicts the plan; options NULL: all that `moeplan predict --format json` says. */
MOEPLAN_API int moeplan_predict(const struct moeplan_plan *plan,
                                const struct moeplan_options *options,
                                struct moeplan_result **result, struct moeplan_error *error);

MOEPLAN_API void moeplan_result_free(struct moeplan_result *result); /* NULL is fine */

/* The JSON that `moeplan predict --format json` writes, ended by a zero byte; the result's. */
MOEPLAN_API const char *moeplan_result_json(const struct moeplan_result *result,
                                            size_t *length);

/* Values by their names in that JSON, from the outside in, list items by number:
 * "memory.total_bytes", "memory.buffers.0.name". 1 when there is such a value of that kind,
 * else 0 and the value is untouched (what does not apply to a plan is absent). */
MOEPLAN_API int moeplan_result_count(const struct moeplan_result *result, const char *name,
                                     uint64_t *value); /* a whole number, not negative */
MOEPLAN_API int moeplan_result_real(const struct moeplan_result *result, const char *name,
                                    double *value); /* any number */
/* A text, cut to room - 1 bytes and ended by a zero byte. */
MOEPLAN_API int moeplan_result_text(const struct moeplan_result *result, const char *name,
                                    char *text, size_t room);
/* How many members or items an object or a list has. */
MOEPLAN_API int moeplan_result_length(const struct moeplan_result *result, const char *name,
                                      size_t *length);

/* ---- documents, as texts that the caller frees ---- */

/* What the commands write about a plan, by the name of the document:
 *   "plan.yaml", "plan.json"    the plan with every key (show)
 *   "predict.txt", "predict.csv", "predict.json"
 *   "report.html"               all of it as one page (report)
 *   "timeline.json"             a layer and a step along time, as they are played
 *   "trace.json"                the step as a Chrome trace (predict --trace)
 *   "launch"                    its stack's own flags (export) */
MOEPLAN_API int moeplan_write(const struct moeplan_plan *plan, const char *document,
                              char **text, size_t *length, struct moeplan_error *error);

/* What the second plan changes, as `moeplan compare --format json` says it. */
MOEPLAN_API int moeplan_compare(const struct moeplan_plan *a, const struct moeplan_plan *b,
                                char **json, size_t *length, struct moeplan_error *error);

/* JSON Schema of "plan", "result", "search", "pools" or "compare", or the catalogue's "models",
 * "clusters" or "stacks" as a list of {name, summary}. */
MOEPLAN_API int moeplan_describe(const char *what, char **json, size_t *length,
                                 struct moeplan_error *error);

struct moeplan_search {
    const char *const *overs; /* "tp=1..64*2": values to try in place of the usual ones, or of
                               * any other key of the plan */
    size_t n_overs;
    const char *const *fixed; /* "ep=8": keys to keep */
    size_t n_fixed;
    const char *at_most;                           /* "memory=200GiB", or NULL */
    size_t best;                                   /* layouts to list; 0: ten */
    void (*progress)(void *context, double share); /* 0 to 1; or NULL */
    void *context;
    const char *objective; /* "tokens" (or NULL); of a served plan "tpot", "ttft", "memory" */
    const char *const *limits; /* of a served plan: "tpot=50ms", "ttft=2s" */
    size_t n_limits;
    int marginal; /* not 0: list what is within the stack's error of the limit, too */
};

/* The layouts that fit the plan's cluster, cheapest first, as `moeplan search --format json`
 * lists them; search NULL: all the usual ones. Of a served plan with a part `prefill`, pairs of
 * layouts of both pools with their numbers of servers: another document, "pools" of
 * moeplan_describe. */
MOEPLAN_API int moeplan_find(const struct moeplan_plan *plan,
                             const struct moeplan_search *search, char **json, size_t *length,
                             struct moeplan_error *error);

/* ---- sweeps ---- */

struct moeplan_point {
    uint64_t number, points;   /* from 0; of how many */
    size_t n_values;           /* one for each axis */
    const char *const *values; /* as written; of a case its name */
    const char *verdict;       /* "fits", "marginal", "oom", "invalid" */
    uint64_t total_bytes, limit_bytes, state_bytes, temp_bytes; /* zero when invalid */
    const char *wall; /* the buffer at which memory runs out, or "" */
    const char *why;  /* why it is invalid, or "" */
};

/* Not 0: the sweep stops. The point and its texts are gone when it returns. */
typedef int moeplan_on_point(void *context, const struct moeplan_point *point);

struct moeplan_axes {
    const char *const *overs; /* "workload.micro_batch=1..32", "parallel.ep=1..64*2" */
    size_t n_overs;           /* at most 3; the last varies fastest */
    const char *const *cases; /* "cf2:moe.path=capacity,moe.capacity_factor=2": one axis */
    size_t n_cases;
};

/* Every combination, in order, on the caller's thread; the function is called between.
 * It may not jump out of the call. */
MOEPLAN_API int moeplan_sweep(const struct moeplan_plan *plan, const struct moeplan_axes *axes,
                              moeplan_on_point *function, void *context,
                              struct moeplan_error *error);

#ifdef __cplusplus
}
#endif

#endif

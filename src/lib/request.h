/* A plan that is asked about: where its text stands, the keys that are set besides, and from
 * both a loaded plan. What command lines and the library's interface have in common. */
#ifndef MOEPLAN_LIB_REQUEST_H
#define MOEPLAN_LIB_REQUEST_H

#include "plan/job/job.h"
#include "plan/read/load.h"
#include "report/provenance.h"

struct request {
    const char *name; /* the file ("-": standard input), or what stands for it in messages */
    const char *text; /* NULL: the file is read */
    size_t length;
    struct override *sets; /* applied in order; each checked like the file */
    size_t n_sets;
    const struct node *root; /* by request_read */
    struct draft *draft;     /* of a job, by request_read; or NULL */
};

/* Reads the text, which may be a framework's job or a config.json; `job` says what it was taken
 * for. Sets that the job has taken in leave the request. Memory from the arena. */
enum status request_read(struct request *request, struct arena *arena, struct job_result *job,
                         struct err *err);

/* The plan of a request that was read. */
enum status request_load(const struct request *request, struct arena *arena, struct plan *plan,
                         struct origins *origins, struct err *err);

/* The same of a plan that layouts are searched for: its own layout may break what the searched
 * ones have to obey (search_turns). */
enum status request_load_searched(const struct request *request, struct arena *arena,
                                  struct plan *plan, struct origins *origins, struct err *err);

/* Whether the plan's stack builds its list; what it refuses belongs to the place of the key
 * that it names. */
enum status request_build(const char *name, const struct plan *plan,
                          const struct origins *origins, struct arena *arena, struct err *err);

/* Where an error of a loaded plan belongs: where the key that its text names was set, in the
 * text or by a set, else where the key `otherwise` was, else the text as a whole. */
struct mark request_place(const char *name, const struct origins *origins, const char *text,
                          const char *otherwise);

/* The same of an error: where the key stands that its text names, else one of its hint, else
 * what says the path. */
enum status request_blame(const char *name, const struct origins *origins, struct err *err);

/* The names that the outputs of a plan carry; they point into the plan. `profile`: the name of
 * what priced it, or NULL where nothing did. */
struct provenance request_provenance(const struct plan *plan, const char *profile);

#endif

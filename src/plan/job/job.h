/* Job files of training and serving frameworks, as plans: what a launch script, a command line
 * or a configuration file says about memory and time becomes plan keys, by one table for each
 * framework. Files are read, never run; nothing is looked up in the environment.
 *
 * A line "#moeplan key=value" in any of these files sets a plan key that the framework has no
 * word for (the cluster, above all). */
#ifndef MOEPLAN_PLAN_JOB_JOB_H
#define MOEPLAN_PLAN_JOB_JOB_H

#include "plan/job/draft.h"
#include "plan/read/load.h"

/* What the user adds: all may be zero. */
struct job_request {
    const char *from; /* a framework's name, where the file does not tell; or NULL */
    unsigned line;    /* the launch that starts on this line; 0: the only one */
    const struct override *sets;
    size_t n_sets;
    bool all_sets; /* put every set into the draft; otherwise only what reading needs */
};

struct job_note {
    bool warning; /* matters to memory or time, and is not modelled */
    struct mark mark;
    const char *text;
};

struct job_notes {
    struct job_note *items;
    size_t n, capacity;
};

struct job_result {
    const char *taken_for;     /* "a Megatron-LM launch (line 12)"; NULL: a plan as it stands */
    const char *framework;     /* "megatron"; NULL: none */
    const struct node *config; /* a HuggingFace configuration, as it stands; or NULL */
    struct node *root;         /* what plan_load_tree reads */
    struct draft draft;        /* the same for people; empty when it is a plan as it stands */
    struct job_notes notes;
    const char *question; /* the command that answers what the file asks for; NULL: it says */
    bool cluster_taken;   /* the set of "cluster" is in the tree already, with the job's size */
};

/* The NAME of "job.NAME", which gives a job's script a variable or an argument that only its
 * shell knows: --set job.NNODES=4, --set job.1=Qwen/Qwen3-8B. NULL: another key. */
const char *job_given_name(const char *key);

/* Largest file that is read. */
enum { JOB_BYTES = 1024 * 1024 };

/* "deploy.yaml:69" of a file that is there: the file, and of its launches the one that starts
 * on that line (*line, else left alone). Other names as they are. */
const char *job_file(const char *name, struct arena *arena, unsigned *line);

/* A file of any kind, or one of its launches (job_file); "-" is the standard input.
 * STATUS_INPUT with a place for what cannot be read, and for what a plan needs and the file
 * does not say. Memory from the arena. */
enum status job_read(const char *file, const struct job_request *request, struct arena *arena,
                     struct job_result *result, struct err *err);

/* The same from memory. */
enum status job_read_text(const char *name, const char *text, size_t length,
                          const struct job_request *request, struct arena *arena,
                          struct job_result *result, struct err *err);

/* Frameworks by number, and the rows of their tables, for lists; *n is their number. */
struct job_row {
    const char *framework, *flag, *key, *conversion, *use, *source;
};
size_t job_rows(struct arena *arena, const char *framework, struct job_row **rows);

/* The error of a framework's name that is none. */
enum status job_unknown_framework(const char *name, struct arena *arena, struct err *err);

/* The stack that launches for a framework's or a stack's name run on: "megatron" of "bridge".
 */
const char *job_export_stack(const char *name);

/* The launch of a plan as its stack's own flags, read back and compared: what the flags cannot
 * say follows as "#moeplan key=value" lines. `stack` may be a framework's name, which decides
 * where several run on one stack. STATUS_INPUT for a stack without launch flags, and for a plan
 * it cannot run. */
enum status job_export(const struct plan *plan, const char *stack, struct arena *arena,
                       struct text *out, struct err *err);

#endif

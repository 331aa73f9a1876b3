/* Inside plan/job/: what the readers of the frameworks share. */
#ifndef MOEPLAN_PLAN_JOB_READER_H
#define MOEPLAN_PLAN_JOB_READER_H

#include "plan/job/job.h"
#include "plan/read/model_from.h"
#include "plan/text/shell.h"

/* ---- tables ---- */

enum job_shape {
    JOB_SWITCH, /* no value; "no-" or "disable-" in front turns it off */
    JOB_VALUE,  /* one word */
    JOB_LIST,   /* words up to the next flag */
    JOB_JSON    /* a word that holds a mapping: "a.b" are its entries */
};

enum job_reading {
    JOB_DIRECT, /* the value, by `words`, is the key's */
    JOB_NEEDED, /* the same, and the framework starts with it only: always written */
    JOB_RULE,   /* read together with others: the framework's finish, as `note` says */
    JOB_MEMORY, /* not modelled, matters to memory */
    JOB_TIME,   /* not modelled, matters to time */
    JOB_NEITHER /* known to matter to neither */
};

struct job_flag {
    const char *names; /* spaces between; '-' and '_' are the same; the first is written */
    enum job_shape shape;
    enum job_reading read;
    const char *key;      /* of the plan */
    const char *words;    /* "hybrid=fp8 e4m3=fp8": its words in a plan; NULL: as they stand */
    const char *fallback; /* the framework's default in its own words; NULL: sets nothing */
    const char *note;
    const char *source; /* file in the framework's repository */
};

enum job_syntax {
    JOB_DASHES,   /* --flag value, --flag=value */
    JOB_OVERRIDES /* key=value */
};

struct job;
struct job_writer;

struct job_framework {
    const char *name;   /* as --from takes it */
    const char *title;  /* "a Megatron-LM launch" */
    const char *stack;  /* of the plan; as --for takes it */
    const char *source; /* repository and commit */
    enum job_syntax syntax;
    bool abbreviates;     /* its parser takes the beginning of a flag that no other has */
    const char *sections; /* "model. train. ": in front of names, left out there */
    const struct job_flag *flags;
    const size_t *n_flags; /* where it stands: tables are files of their own */
    /* Frameworks whose rows hold where its own table has none, ending with NULL; or NULL. */
    const struct job_framework *const *shares;
    bool loose_json; /* files named .json may be what hjson or YAML takes beyond JSON */
    bool wrapped;    /* what stands in front of its launch are settings, too: a trainer's */
    /* Its settings may be a file of their own, YAML or JSON; rows whose source begins with
     * `own` (NULL: all) tell one, and before them the word `kind` of a key that several share.
     */
    bool files;
    const char *own;
    const char *telling; /* keys of which each of them has one, spaces between; or NULL */
    const char *kind_key, *kind;
    bool (*claims)(
        const struct node *root); /* a file that says itself that it is its; or NULL */
    const char *kinds; /* other words of the key that are its, spaces between; or NULL */
    bool toml;         /* such a file is TOML */
    /* The settings of a script in Python that it is given to, read and not run; or NULL. */
    enum status (*python)(struct job *job, const char *name, const char *text, size_t length);
    bool (*python_is)(const char *text); /* whether it is one of its own; NULL: by default */
    /* Variables in front of a launch with the ranks of a node, and with nodes, of which it
     * starts ranks by itself; or NULL. */
    const char *per_node, *nodes;
    /* Before anything is read: other files and variables the job names; or NULL. */
    enum status (*prepare)(struct job *job);
    /* What the table cannot say. Direct rows are in the draft already. */
    enum status (*finish)(struct job *job);
    /* The launch of a plan; NULL: cannot be exported. */
    enum status (*write)(struct job_writer *writer);
    /* Servers that prefill and that decode, each written into its own writer by `write`, as one
     * launch; NULL: the first in the background, then the other. */
    void (*write_pools)(const struct job_writer *prefill, const struct job_writer *decode,
                        struct text *out);
    /* One flag of it; NULL: "--name value". */
    void (*write_flag)(struct job_writer *writer, const char *name, const char *value);
    const char *launch;       /* the file it is written to: "job.yml"; NULL: "job.sh" */
    const char *pools;        /* that of write_pools */
    enum model_catalog names; /* that the launch names models by */
    bool serves, trains;
};

/* All of them, ending with NULL; in order of precedence where a file fits several. */
extern const struct job_framework *const job_frameworks[];

/* Is a file of a kind, by the word of its key, the framework's? */
bool job_framework_is(const struct job_framework *framework, const char *kind);

/* By its name, or NULL. */
const struct job_framework *job_framework_named(const char *name);

/* Names of all, or stacks of those that launches are written of, as "a, b, c". */
const char *job_framework_list(struct arena *arena, bool exported);

extern const struct job_framework job_megatron, job_bridge, job_maxtext, job_torchtitan,
    job_vllm, job_sglang, job_deepspeed, job_fsdp, job_trtllm, job_primus, job_verl,
    job_verl_sft, job_axolotl, job_llamafactory, job_slime, job_automodel, job_swift,
    job_swift_megatron, job_nemo_rl, job_openrlhf, job_trl, job_unsloth, job_nemo, job_nemo1;

/* ---- a job while it is read ---- */

/* Layers of settings: those of the command line hold against a file's. */
enum { JOB_FILE, JOB_COMMAND_LINE = 100, JOB_ENVIRONMENT };

struct setting {
    const struct job_flag *flag; /* NULL: not in the table */
    const char *name;            /* as it stands in the file, dashes left out */
    const char *const *values;
    size_t n;
    const char *trouble; /* why a value is not known */
    struct mark mark;
    unsigned layer; /* later layers override: file, command line, environment */
    bool off;       /* --no-x */
    bool null;      /* YAML's: as if it were not given, in the layers below either */
    bool used;
    const char *said; /* "--tp 8", "parallelism.tp" */
};

/* How many ranks the job starts; 0: it does not say. */
struct job_size {
    uint64_t nodes, per_node, world;
};

struct job {
    struct arena *arena;
    struct err *err;
    const char *file, *folder;
    const struct job_framework *framework;
    const struct job_request *request;
    struct setting *settings;
    size_t n_settings, capacity, n_visits;
    unsigned layer;
    struct mark mark; /* of the launch */
    struct draft draft;
    const struct draft *asked; /* what "#moeplan" lines say, while the framework finishes */
    struct job_notes notes;
    struct job_size size;
    bool size_asked;      /* a count of it is not known: the user's size holds */
    struct job_size axes; /* what its layout comes to, where nothing else says the size */
    const struct shell_word *words; /* behind the launch */
    size_t n_words;
    size_t entry; /* of them, the first behind the words that start the framework */
    const struct shell_word *positional; /* the first that is known, and no flag nor one's
                                          * value; NULL: none */
    const struct shell_words *command;   /* the whole of it; NULL: the job is no script */
    const struct shell *shell;           /* NULL: the job is no script */
    size_t before;                       /* variables of the script before the launch */
    bool cluster_taken;
    bool loose_json; /* the same of the file that is read now */
    bool described;  /* "#moeplan model.layers=" and the like give the model */
};

/* The row of a flag by any of its names, or NULL. */
const struct job_flag *job_flag_find(const struct job_framework *framework, const char *name,
                                     size_t length);

/* Rows of its own table and of those it shares, each that a name leads to; *n their number. */
const struct job_flag *const *job_flags(const struct job_framework *framework,
                                        struct arena *arena, size_t *n);

/* Settings from words of a command line, from a tree ("a.b" for b inside a), from a file of
 * either, and from one text. */
enum status job_add_words(struct job *job, const struct shell_word *words, size_t n);
enum status job_add_node(struct job *job, const char *prefix, const struct node *node);
/* A mapping as a value: its entries are settings of their own, which stand where it does. */
enum status job_add_mapping(struct job *job, const char *prefix, const struct setting *setting);
/* The same of a flag whose value a framework reads as JSON, on a command line or as a text in a
 * file: whether it is one, and its entries; STATUS_INPUT for what no parser of JSON takes. */
bool job_holds_json(const struct setting *setting);
enum status job_add_json(struct job *job, const char *prefix, const struct setting *setting);
void job_add(struct job *job, struct setting setting);

/* Megatron-LM's own tests have a command line as a mapping, MODEL_ARGS: {--bf16: true}
 * (tests/functional_tests, run_ci_test.sh: true is a flag alone, false is none): NULL, it is no
 * such file; and its words. */
const struct node *job_arguments_of(const struct node *root);
struct shell_words job_argument_words(const struct node *arguments, struct arena *arena);

/* A setting that stands unless it is given: of the framework's own files, which `said` names.
 */
void job_assume(struct job *job, const char *flag, const char *value, const char *said);

/* What a setting means in the words of another row, or of its own: holds against it. */
void job_retell(struct job *job, const char *from, const char *flag, const char *value);

/* "${a.b}", "${mul:${a.b},2}" and the like, of settings that the job says itself; others keep
 * their trouble. */
void job_interpolate(struct job *job);
/* The text of one setting, without what others say; *trouble: why it is not known. */
const char *job_resolve_text(struct job *job, const char *text, const char **trouble);
/* Without a pair of quotes around it. */
const char *job_unquoted(struct job *job, const char *text, size_t length);

/* The job's own file holds against those that it names, which are layers below. */
void job_raise(struct job *job, unsigned layer);

/* What a file named .json holds is JSON, unless the framework (NULL: none) reads more. */
enum status job_check_json(const char *name, const char *text, size_t length,
                           const struct job_framework *framework, struct err *err);

/* The text of another file that the job names: a here-document of the script, or a file beside
 * it. *text NULL: there is none. */
enum status job_other_file(struct job *job, const char *name, const char **path,
                           const char **text, size_t *length);

/* Reads a file of settings that the job names, YAML or TOML by its ending, as a layer of its
 * own. *found false: there is no such file. */
enum status job_add_file(struct job *job, const char *name, unsigned layer, bool *found);

/* The same of a file that has to be there; the error stands at the flag. NULL: nothing to read.
 * job_flag_file: the file that the flag's word names, if it is given. */
enum status job_need_file(struct job *job, const char *flag, const char *name, unsigned layer);
enum status job_flag_file(struct job *job, const char *flag, unsigned layer);

/* A file's text where its name would be: settings that stand where the flag does. */
enum status job_flag_text(struct job *job, const char *flag, unsigned layer);

/* A value of a script as a setting; one that only the script knows is none yet. None adds
 * nothing. */
struct python;
struct python_value;
void job_add_python(struct job *job, const struct python *python, const char *name,
                    const struct python_value *value, struct mark mark);

/* Hints that one of the file's launches, such as that on `line` or `other` (0: none), can be
 * chosen. */
enum status job_hint_lines(struct job *job, unsigned line, unsigned other);

/* Variables of the launch's environment, or NULL. */
const struct shell_variable *job_environment(const struct job *job, const char *name);
/* Its value where that is one word that is known, or NULL. */
const struct shell_word *job_environment_word(const struct job *job, const char *name);

/* The setting of a row that holds (the last of the last layer), or NULL. Marks it as used. */
struct setting *job_setting(struct job *job, const char *name);
bool job_given(struct job *job, const char *name);

/* Values: untouched when the flag is not given. Switches: given and not off, or a value that
 * says so. */
enum status job_count(struct job *job, const char *name, uint64_t *value);
enum status job_integer(struct job *job, const char *name, int64_t *value); /* -1 too */
enum status job_real(struct job *job, const char *name, double *value);
enum status job_word(struct job *job, const char *name, const char **value);
/* The same of a model's folder, of which the last part is enough where it is one's name: what
 * stands in front, "$MODELS/Qwen3-8B/", may be known to the shell alone. */
enum status job_path(struct job *job, const char *name, const char **value);
enum status job_switch(struct job *job, const char *name, bool *value);

/* The value of the draft as a number; `fallback` when there is none, or when it is not one. */
uint64_t job_drafted(const struct job *job, const char *key, uint64_t fallback);

/* Sets a plan key because of a flag ("a b": of several, the mark is the first given one's). */
void job_set(struct job *job, const char *key, const char *value, const char *flags);
void job_set_count(struct job *job, const char *key, uint64_t value, const char *flags);

void job_set_list(struct job *job, const char *key, const char *const *words, size_t n,
                  const char *flags);

/* The format of rows: precision.activations, dispatch and combine. */
void job_set_rows(struct job *job, const char *format, const char *flags);

/* The model that a flag names on a hub, or whose folder it is, unless another setting named
 * one. STATUS_INPUT for one that is not known. */
enum status job_set_model(struct job *job, const char *flag);

/* optimizer.kind of a flag's word by `words`; Adam's is the plan's default, others warn. */
enum status job_set_optimizer(struct job *job, const char *flag, const char *words);

/* workload.async_checkpoint by two switches: whether checkpoints are written, and behind the
 * next steps; what holds of each unless given. */
enum status job_set_checkpoint(struct job *job, const char *writes, bool written,
                               const char *behind, bool asynchronous);

/* job_finish, and what comes of it. */
enum status job_deliver(struct job *job, const char *text, size_t length,
                        struct job_result *result);

/* Everything behind the settings; `text` is the whole file, for its "#moeplan" lines. */
enum status job_finish(struct job *job, const char *text, size_t length);

/* Notes. */
void job_note(struct job *job, bool warning, struct mark mark, const char *text);
void job_warn(struct job *job, struct mark mark, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Of each setting that the framework did not read: whether it matters, and what it may mean. */
void job_note_rest(struct job *job);

/* An error at a flag, or of the job as a whole, which is also where one of a flag that is not
 * given stands. */
enum status job_fail(struct job *job, const char *flag, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
enum status job_refuse(struct job *job, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
struct mark job_place(const struct job *job);

/* The value of a row's word: "hybrid" of "hybrid=fp8 e4m3=fp8"; NULL: none of them. */
const char *job_convert(const struct job *job, const char *words, const char *word);

/* The size in the name of the cluster that the user gives, --set cluster=h100-8x4: holds where
 * the job's own is known to a shell alone. false: there is none. */
bool job_asked_size(const struct job *job, struct job_size *size);

/* The size by two flags, 1 node of 8 devices unless given; where one is not known, the user's
 * size holds. */
enum status job_read_size(struct job *job, const char *nodes, const char *per_node);

/* Ranks of the job: what it says, else those of the cluster named; 0: neither. */
enum status job_world(struct job *job, uint64_t *world);

/* The part that the draft names so far ("model", "cluster"), loaded into a plan of its own;
 * *known false: it names none. */
enum status job_part(struct job *job, const char *key, struct plan *plan, bool *known);

/* The same of a part by its name. */
enum status job_part_named(struct job *job, const char *key, const char *name, struct mark mark,
                           struct plan *plan);

/* The same of the model, by its name or key by key. */
enum status job_model(struct job *job, struct plan *plan, bool *known);

/* The value of the plan as a number: the user's, or the draft's. */
uint64_t job_planned(const struct job *job, const char *key, uint64_t fallback);

/* Does the user give this key, with --set or in a "#moeplan" line? */
bool job_requested(const struct job *job, const char *key);

/* Layers of the model, as drafted or as it is named; 0: not known. */
enum status job_layers(struct job *job, uint64_t *layers);

/* Says that jobs of torchtune are not read, and what to write; STATUS_INPUT. */
enum status job_refuse_torchtune(struct mark mark, struct err *err);

/* The same of a launch of ROLL, AReaL or SkyRL; STATUS_OK: it is none. */
enum status job_refuse_trainers(const struct shell_words *words, struct err *err);

/* A tree that no framework here reads, though it has keys of one that does. */
enum status job_refuse_tree(const struct node *root, struct err *err);

/* ---- what the user gives a script; see given.c ---- */

/* The variables that --set and "#moeplan" lines give, which `script` reads somewhere.
 * STATUS_INPUT for a name that is none, or that it has nowhere. */
enum status job_given_values(struct job *job, const char *text, size_t length,
                             const char *script, const struct shell_given **given, size_t *n);

/* The end of a hint, ", or give it: --set job.TP=.." for a value that is unknown for the sake
 * of a variable; "" for another trouble. */
const char *job_given_hint(struct job *job, const char *trouble);

/* ---- names of devices elsewhere; see device_names.c ---- */

/* The cluster that has the device of a node's label or a job's description, "NVIDIA-H200",
 * "H100", "nvidia-h100-80gb", "AMD-Instinct-MI300X-OAM"; NULL: none of ours. */
const char *device_name_from(const char *name, struct arena *arena);

/* Drafts the cluster that a container's description asks for, where nobody names one. */
void job_set_device(struct job *job);

/* ---- a model in the place of a plan; see model_alone.c ---- */

/* The model that a name stands for where no such file is there: one of ours, by our name or a
 * hub's, or a folder's config.json; NULL: none. */
const char *model_alone(const char *name, struct arena *arena);

/* The framework whose file a tree is: the one that its keys name, or whose table knows most of
 * them; NULL: a plan's, or nobody's. */
const struct job_framework *job_framework_of(const struct node *root);

/* Top-level keys of a tree that are flags of a framework; "a.b" counts for a mapping a. */
size_t job_known_keys(const struct job_framework *framework, const struct node *root);

/* A job names its model, and may say beside it which class loads it (axolotl's and ms-swift's
 * model_type); a configuration is the model. */
bool job_names_model(const struct node *root);

/* Is it a model's file, with nothing of a plan? */
bool model_alone_is(const struct node *root);

/* STATUS_INPUT at the mark for a name that is none, with the nearest that is. */
enum status job_unknown_model(struct job *job, struct mark mark, const char *name);

/* Adds to the error of a name that is neither a file nor a model the nearest that is one, or
 * where names stand. */
enum status model_alone_hint(const char *name, struct arena *arena, struct err *err);

/* ---- finding launches; see plan/launch ---- */

/* What a shell was read from. */
struct launch_script {
    const char *text;
    size_t length;
};

/* Finds the launch of a script and fills the job: framework, words, size. */
enum status launch_read(struct job *job, const struct shell *shell,
                        const struct launch_script *script);

/* The engines that a script starts where some prefill and others decode: of each pool the lines
 * that its launches stand on, of several nodes of one the first alone, and how many servers
 * they are, replicas of their descriptions counted. False: it starts no such pair. */
enum { LAUNCH_LINES = 64 };
struct launch_pool {
    unsigned lines[LAUNCH_LINES];
    size_t n;
    uint64_t servers;
};
bool launch_pools(struct job *job, const struct shell *shell, struct launch_pool *prefill,
                  struct launch_pool *decode);

/* ---- servers that prefill and that decode as one plan; see pools.c ---- */

/* A file in memory, as job_read_text takes it. */
struct job_text {
    const char *name, *text;
    size_t length;
    const struct job_request *request;
};

/* What was read of one launch of each. */
struct job_pair {
    struct job_result *prefill, *decode;
    uint64_t n_prefill, n_decode; /* servers; 0: not said */
    const char *taken_for;
};

/* One plan of the two; sets of the part `prefill` go into its draft. STATUS_INPUT where they
 * cannot be one deployment. */
enum status job_join(const struct job_text *file, const struct job_pair *pair,
                     struct arena *arena, struct job_result *result, struct err *err);

/* The same of all launches of a script, of which those of a pool must be alike. */
enum status job_read_pools(const struct job_text *file, const struct launch_pool *prefill,
                           const struct launch_pool *decode, struct arena *arena,
                           struct job_result *result, struct err *err);

/* The user's sets without those that are of the plan of both pools. */
void job_single_sets(const struct job_request *request, struct arena *arena,
                     struct job_request *single);

/* STATUS_INPUT for a script in which no launch is found: launch_none.c. */
enum status launch_none(struct job *job, const struct shell *shell);

/* Does a file's name end as a script's? Or is there a word in the text that only a launch has?
 */
bool launch_ends_as_script(const char *name);
bool launch_is_script(const char *name, const char *text, size_t length);

/* Does a program in Python build a recipe of Megatron-Bridge? */
bool launch_builds_recipe(const char *text);

/* ---- writing ---- */

struct job_writer {
    const struct plan *plan;
    const struct job_framework *framework;
    struct arena *arena;
    struct text *out;
    struct text settings; /* of a file beside the launch: lines "name: value" */
    const char *pool;     /* "prefill", "decode": servers that stand beside others; or NULL */
    uint64_t servers;     /* of the pool, 0: the plan does not say how many */
    struct err *err;
};

/* One flag in the framework's syntax; value NULL: a switch. */
void writer_flag(struct job_writer *writer, const char *name, const char *value);
void writer_count(struct job_writer *writer, const char *name, uint64_t value);
/* The rows of the table that stand for plan keys by themselves. */
void writer_direct(struct job_writer *writer);
/* The framework's word for a plan's: "hybrid=fp8 e4m3=fp8" backwards, the first that fits;
 * NULL: none. */
const char *writer_word(const struct job_writer *writer, const char *words, const char *value);

/* A setting of a file that the launch names, "a.b" for b inside a; value NULL: true. What was
 * set so far, as a mapping of YAML or of JSON; false: nothing was. */
void writer_setting(struct job_writer *writer, const char *name, const char *value);
bool writer_settings(const struct job_writer *writer, bool json, struct text *out);

/* The value of a plan key as the user would write it. */
const char *writer_value(const struct job_writer *writer, const char *key);

#endif

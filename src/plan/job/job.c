/* What kind of file it is, and who reads it; see job.h. */
#include "plan/job/job.h"

#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/number.h"
#include "plan/hf/import_hf.h"
#include "plan/text/container.h"
#include "plan/text/python_commands.h"
#include "plan/text/scripted.h"
#include "plan/job/described.h"
#include "plan/job/reader.h"
#include "plan/text/toml.h"

/* ---- which kind of file ---- */

struct input {
    const char *name, *text;
    size_t length;
    const struct job_request *request;
    struct arena *arena;
    struct job_result *result;
    struct err *err;
    bool is_file; /* the text is what stands in the file of that name */
};

static struct job new_job(const struct input *in, const struct job_framework *framework)
{
    struct job job = {.arena = in->arena,
                      .err = in->err,
                      .file = arena_strdup(in->arena, in->name),
                      .folder = text_folder(in->name, in->arena),
                      .framework = framework,
                      .request = in->request};
    job.draft.arena = in->arena;
    return job;
}

enum status job_deliver(struct job *job, const char *text, size_t length,
                        struct job_result *result)
{
    TRY(job_finish(job, text, length));
    const char *line =
        job->mark.line ? arena_printf(job->arena, " (line %u)", job->mark.line) : "";
    *result = (struct job_result){
        .taken_for = arena_printf(job->arena, "%s%s", job->framework->title, line),
        .framework = job->framework->name,
        .root = draft_tree(&job->draft, job->file),
        .draft = job->draft,
        .notes = job->notes,
        .cluster_taken = job->cluster_taken,
    };
    return STATUS_OK;
}

static enum status deliver(const struct input *in, struct job *job)
{
    return job_deliver(job, in->text, in->length, in->result);
}

/* A word that was written to a line has a place in the text no further than that line's end. */
static void keep_columns(const struct input *in, struct shell *shell)
{
    size_t lines = 1, line = 0;
    for (size_t i = 0; i < in->length; i++)
        lines += in->text[i] == '\n';
    size_t *ends = arena_alloc(in->arena, lines + 1, sizeof *ends), start = 0;
    for (size_t i = 0; i <= in->length; i++)
        if (i == in->length || in->text[i] == '\n') {
            ends[line++] = i - start;
            start = i + 1;
        }
    for (size_t i = 0; i < shell->n_commands; i++) {
        struct shell_command *c = &shell->commands[i];
        struct mark *mark = &c->mark;
        for (size_t j = 0; j <= c->words.n; mark = &c->words.items[j].mark, j++)
            if (mark->line && mark->line <= lines && mark->column > ends[mark->line - 1] + 1)
                mark->column = 1;
    }
}

/* `script`: what the shell reads, of a text that is no script itself. */
static enum status read_script(const struct input *in, const char *script, size_t length)
{
    struct launch_pool prefill, decode;
    struct job job = new_job(in, NULL);
    struct shell shell;
    const struct shell_given *given;
    size_t n_given;
    TRY(job_given_values(&job, in->text, in->length, script, &given, &n_given));
    TRY(shell_read(job.file, script, length, given, n_given, in->arena, &shell, in->err));
    if (script != in->text)
        keep_columns(in, &shell);
    if (!in->request->line && launch_pools(&job, &shell, &prefill, &decode))
        return job_read_pools(&(struct job_text){in->name, in->text, in->length, in->request},
                              &prefill, &decode, in->arena, in->result, in->err);
    TRY(launch_read(&job, &shell, &(struct launch_script){script, length}));
    job.shell = &shell;
    return deliver(in, &job);
}

static enum status read_tree(const struct input *in, const struct job_framework *framework,
                             const struct node *root)
{
    struct job job = new_job(in, framework);
    if (root->kind != NODE_MAPPING)
        return err_at(in->err, root->mark, "a job file is a mapping, not %s",
                      node_kind_name(root->kind));
    TRY(job_add_node(&job, "", root));
    return deliver(in, &job);
}

static enum status read_arguments(const struct input *in, const struct node *arguments)
{
    struct job job = new_job(in, &job_megatron);
    struct shell_words words = job_argument_words(arguments, in->arena);
    job.mark = arguments->mark;
    TRY(job_add_words(&job, words.items, words.n));
    return deliver(in, &job);
}

static enum status take(const struct input *in, struct draft *draft, const char *what)
{
    *in->result = (struct job_result){.taken_for = arena_printf(in->arena, "a %s", what),
                                      .root = draft_tree(draft, in->name),
                                      .draft = *draft};
    return STATUS_OK;
}

/* A model in the place of a plan, by its name. */
static enum status read_named(const struct input *in, const char *model)
{
    static const char what[] = "model's name";
    struct draft draft = {.arena = in->arena};
    draft_set(&draft, "model", model, (struct mark){in->name, 1, 1}, what);
    const char *ours = model_name_from(NAMES_HUB, model, in->arena);
    draft_set(&draft, "name", ours ? ours : model, (struct mark){0}, what);
    return take(in, &draft, what);
}

/* By its file, or as the text stands. */
static enum status read_model(const struct input *in, const struct node *root, const char *what)
{
    struct draft draft = {.arena = in->arena};
    if (in->is_file)
        draft_set(&draft, "model", in->name, (struct mark){in->name, 1, 1}, what);
    else
        draft_set_node(&draft, "model", root, what);
    return take(in, &draft, what);
}

static enum status read_config(const struct input *in, struct node *root)
{
    TRY(read_model(in, root, "HuggingFace configuration"));
    in->result->config = root;
    return STATUS_OK;
}

/* A plan's own rules of YAML are stricter than other programs': what fails them may still be a
 * job, and when it is none either, the plan's complaint is the one to give. What passes them is
 * the same tree under both. */
static enum status read_yaml(const struct input *in)
{
    struct node *root = NULL;
    struct err refused = {0}, ignored = {0};
    const char *file = arena_strdup(in->arena, in->name);
    const struct job_framework *framework = job_framework_named(in->request->from);
    enum status strict =
        source_read_text(file, in->text, in->length, in->arena, &root, &refused);
    if (strict == STATUS_OK && !framework && import_hf_is_config(root) &&
        !job_names_model(root))
        return read_config(in, root);
    enum status loose = strict;
    if (strict != STATUS_OK)
        loose = source_read_job(file, in->text, in->length, in->arena, &root,
                                framework ? in->err : &ignored);
    if (strict != STATUS_OK && loose == STATUS_OK)
        TRY(job_check_json(file, in->text, in->length,
                           framework ? framework : job_framework_of(root), in->err));
    if (framework)
        TRY(loose);
    else if (loose == STATUS_OK && root->kind == NODE_MAPPING)
        TRY(job_refuse_tree(root, in->err));
    if (!framework && loose == STATUS_OK && job_arguments_of(root))
        return read_arguments(in, job_arguments_of(root));
    if (!framework && loose == STATUS_OK && described_is(root)) {
        const struct described_file described = {file, in->text, in->length, root, in->request};
        return described_read(&described, in->arena, in->result, in->err);
    }
    if (!framework && loose == STATUS_OK)
        framework = job_framework_of(root);
    if (framework)
        return read_tree(in, framework, root);
    if (strict == STATUS_OK && model_alone_is(root))
        return read_model(in, root, "model file");
    if (strict == STATUS_OK)
        *in->result = (struct job_result){.root = root};
    else
        *in->err = refused;
    return strict;
}

/* A file that a description names. */
static const char *read_beside(void *context, const char *name, size_t *length)
{
    const char *path, *text;
    return job_other_file(context, name, &path, &text, length) == STATUS_OK ? text : NULL;
}

static enum status read_containers(const struct input *in)
{
    struct text script = {.arena = in->arena};
    struct job job = new_job(in, NULL);
    struct node *root = NULL;
    struct err several = {0};
    if (source_read_job(job.file, in->text, in->length, in->arena, &root, &several) ==
            STATUS_OK &&
        described_is(root)) {
        const struct described_file described = {job.file, in->text, in->length, root,
                                                 in->request};
        return described_read(&described, in->arena, in->result, in->err);
    }
    const struct container_beside beside = {&job, read_beside};
    TRY(container_script(job.file, in->text, in->length, &beside, &script, in->err));
    return read_script(in, text_string(&script), script.length);
}

/* A file with commands that is no script: *read, or it is none of these. */
static enum status read_scripted(const struct input *in, bool *read)
{
    struct text script = {.arena = in->arena};
    *read = true;
    if (dockerfile_is(in->name, in->text))
        dockerfile_script(in->text, in->length, &script);
    else if (unit_file_is(in->name, in->text))
        unit_file_script(in->text, in->length, &script);
    else if (makefile_is(in->name))
        makefile_script(in->text, in->length, &script);
    else if (justfile_is(in->name))
        justfile_script(in->text, in->length, &script);
    else
        *read = false;
    return *read ? read_script(in, text_string(&script), script.length) : STATUS_OK;
}

static enum status read_toml(const struct input *in)
{
    struct node *root = NULL;
    const char *file = arena_strdup(in->arena, in->name);
    TRY(toml_read(file, in->text, in->length, in->arena, &root, in->err));
    for (size_t i = 0; job_frameworks[i]; i++)
        if (job_frameworks[i]->toml && job_known_keys(job_frameworks[i], root) > 0)
            return read_tree(in, job_frameworks[i], root);
    err_at(in->err, (struct mark){.file = file}, "no key of torchtitan in this TOML file");
    return err_hint(in->err, "torchtitan's have sections [model], [training], [parallelism]");
}

/* What a program in Python starts, where nobody knows it for its own. */
static enum status read_started(const struct input *in, const char *text, size_t length,
                                bool *started)
{
    struct python python;
    struct text script = {.arena = in->arena};
    TRY(python_read(in->name, text, length, in->arena, &python, in->err));
    python_commands(&python, &script);
    *started = script.length > 0;
    return *started ? read_script(in, text_string(&script), script.length) : STATUS_OK;
}

/* A script in Python, of whoever knows it for its own. */
static enum status read_python(const struct input *in)
{
    const struct job_framework *found = job_framework_named(in->request->from);
    found = found && found->python ? found : NULL;
    const bool asked = found != NULL;
    bool known = false;
    for (size_t i = 0; job_frameworks[i]; i++) {
        const struct job_framework *f = job_frameworks[i];
        bool own = f->python_is && f->python_is(in->text);
        if (!asked && f->python && (own || (!f->python_is && !found)))
            found = f;
        known = known || (!asked && own);
        if (known)
            break;
    }
    if (!asked && !known && !launch_builds_recipe(in->text)) {
        bool started;
        TRY(read_started(in, in->text, in->length, &started));
        if (started)
            return STATUS_OK;
    }
    struct job job = new_job(in, found);
    TRY(found->python(&job, job.file, in->text, in->length));
    return deliver(in, &job);
}

/* Its Python where somebody knows that for its own, or else what it gives a shell. */
static enum status read_notebook(const struct input *in)
{
    struct text python = {.arena = in->arena}, script = {.arena = in->arena};
    struct input cells = *in;
    bool own = false;
    TRY(notebook_read(arena_strdup(in->arena, in->name), in->text, in->length, &python, &script,
                      in->err));
    cells.text = text_string(&python);
    cells.length = python.length;
    for (size_t i = 0; job_frameworks[i]; i++)
        own = own || (job_frameworks[i]->python_is && job_frameworks[i]->python_is(cells.text));
    return own || !script.length ? read_python(&cells)
                                 : read_script(in, text_string(&script), script.length);
}

/* A text without a file's name is TOML when it begins with a section: [model] alone on a line.
 */
static bool begins_section(const char *text)
{
    text += strspn(text, " \t\r\n");
    while (*text == '#') {
        text += strcspn(text, "\n");
        text += strspn(text, " \t\r\n");
    }
    size_t name = *text == '[' ? strcspn(text + 1, "[],\"' \n") : 0;
    return name > 0 && text[name + 1] == ']' && strchr("\r\n", text[name + 2]);
}

/* Values of llm-d's chart, which has templates in them. */
static bool has_filled_values(const char *text)
{
    return text_starts(text, "modelArtifacts:") || strstr(text, "\nmodelArtifacts:");
}

/* A chart's template is none of YAML's yet. */
static enum status refuse_template(const struct input *in)
{
    static const char *const own[] = {"{{ .Values.",  "{{ .Release.", "{{- define ",
                                      "{{- include ", "{{ include ",  "{{- if ",
                                      "{{- with ",    "{{.Values.",   "{{- range "};
    struct mark mark = {arena_strdup(in->arena, in->name), 1, 1};
    const char *at = NULL;
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
        const char *found = strstr(in->text, own[i]);
        at = found && (!at || found < at) ? found : at;
    }
    if (!at || has_filled_values(in->text) ||
        (!strstr(in->text, ".Values") && !strstr(in->text, "{{- define ")))
        return STATUS_OK;
    for (const char *c = in->text; c < at; c++) {
        mark.line += *c == '\n';
        mark.column = *c == '\n' ? 1 : mark.column + 1;
    }
    err_at(in->err, mark, "a template of a Helm chart, which no values fill yet");
    return err_hint(in->err,
                    "fill it in: helm template CHART -f values.yaml | moeplan predict -");
}

static enum status read_input(const struct input *in)
{
    const struct job_framework *from = job_framework_named(in->request->from);
    if (in->request->from && !from)
        return job_unknown_framework(in->request->from, in->arena, in->err);
    bool read;
    if (text_ends(in->name, ".py"))
        return read_python(in);
    if (notebook_is(in->name, in->text, in->length))
        return read_notebook(in);
    TRY(read_scripted(in, &read));
    if (read)
        return STATUS_OK;
    if (launch_is_script(in->name, in->text, in->length))
        return read_script(in, in->text, in->length);
    if (from && from->python_is) /* of its scripts alone */
        return read_python(in);
    TRY(refuse_template(in));
    if (container_is(in->text, in->length))
        return read_containers(in);
    bool toml = text_ends(in->name, ".toml") || (from && from->toml) ||
                (!from && !in->is_file && begins_section(in->text));
    return toml ? read_toml(in) : read_yaml(in);
}

enum status job_read_text(const char *name, const char *text, size_t length,
                          const struct job_request *request, struct arena *arena,
                          struct job_result *result, struct err *err)
{
    char *terminated = arena_alloc(arena, length + 1, 1);
    memcpy(terminated, text, length);
    const struct input in = {name, terminated, length, request, arena, result, err, false};
    return read_input(&in);
}

const char *job_file(const char *name, struct arena *arena, unsigned *line)
{
    enum { MOST = 1048576 };
    const char *colon = strrchr(name, ':');
    uint64_t value = 0;
    if (!colon || !number_count(colon + 1, &value) || !value || value > MOST ||
        access(name, F_OK) == 0)
        return name;
    const char *file = arena_strndup(arena, name, (size_t)(colon - name));
    if (access(file, F_OK) != 0)
        return name;
    *line = (unsigned)value;
    return file;
}

enum status job_hint_lines(struct job *job, unsigned line, unsigned other)
{
    if (text_equal(job->file, "-"))
        return err_hint(job->err, "choose one, as in import --line %u", line);
    if (!other || other == line)
        return err_hint(job->err, "choose one, as in %s:%u", job->file, line);
    return err_hint(job->err, "choose one, as in %s:%u or %s:%u", job->file, line, job->file,
                    other);
}

enum status job_read(const char *file, const struct job_request *asked, struct arena *arena,
                     struct job_result *result, struct err *err)
{
    char *text;
    size_t length;
    struct job_request chosen = *asked, *request = &chosen;
    file = job_file(file, arena, &chosen.line);
    const char *model = text_equal(file, "-") ? NULL : model_alone(file, arena);
    if (model && !text_ends(model, "/config.json")) {
        const struct input in = {file, "", 0, request, arena, result, err, false};
        return read_named(&in, model);
    }
    file = model ? model : file;
    if (file_read(file, JOB_BYTES, arena, &text, &length, err) != STATUS_OK)
        return model_alone_hint(file, arena, err);
    const struct input in = {file,  text,   length, request,
                             arena, result, err,    !text_equal(file, "-")};
    return read_input(&in);
}

/* ---- lists ---- */

enum status job_unknown_framework(const char *name, struct arena *arena, struct err *err)
{
    err_set(err, STATUS_USAGE, "'%s' is no framework that jobs are read of", name);
    return err_hint(err, "one of: %s", job_framework_list(arena, false));
}

size_t job_rows(struct arena *arena, const char *framework, struct job_row **rows)
{
    static const char *const uses[] = {
        "read", "read", "read", "memory, not modelled", "time, not modelled", "neither"};
    const struct job_framework *f = job_framework_named(framework);
    size_t n;
    if (!f)
        return 0;
    const struct job_flag *const *flags = job_flags(f, arena, &n);
    *rows = arena_alloc(arena, n, sizeof **rows);
    for (size_t i = 0; i < n; i++) {
        const struct job_flag *flag = flags[i];
        (*rows)[i] = (struct job_row){
            .framework = f->name,
            .flag = flag->names,
            .key = flag->key ? flag->key : "",
            .conversion = flag->note    ? flag->note
                          : flag->words ? flag->words
                                        : "",
            .use = uses[flag->read],
            .source = flag->source,
        };
    }
    return n;
}

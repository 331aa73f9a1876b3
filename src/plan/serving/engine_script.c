/* See engine_script.h. Read at vllm-project/vllm vllm/entrypoints/llm.py, vllm/engine/
 * arg_utils.py, ray-project/ray .../serve/core/configs/llm_config.py, sgl-project/sglang
 * python/sglang/srt/entrypoints/engine.py and NVIDIA/TensorRT-LLM tensorrt_llm/llmapi. */
#include "plan/serving/engine_script.h"

#include <string.h>

#include "plan/text/python.h"
#include "plan/text/python_word.h"

enum { DEPTH = 4 };

/* ---- which scripts ---- */

/* A training script has an engine for its samples. */
static bool trains(const char *text)
{
    return strstr(text, "Trainer(") || python_imports(text, "unsloth");
}

bool engine_script_is_vllm(const char *text)
{
    bool own =
        python_imports(text, "vllm") && (strstr(text, "LLM(") || strstr(text, "EngineArgs("));
    bool ray = python_imports(text, "ray") && strstr(text, "LLMConfig(");
    return (own || ray) && !trains(text);
}

bool engine_script_is_sglang(const char *text)
{
    bool made = strstr(text, "Engine(") || strstr(text, "ServerArgs(");
    return python_imports(text, "sglang") && made && !trains(text);
}

bool engine_script_is_trtllm(const char *text)
{
    return python_imports(text, "tensorrt_llm") && strstr(text, "LLM(") && !trains(text);
}

/* ---- calls ---- */

static const struct {
    const char *class;
    const struct job_framework *framework;
    const char *model; /* what the first argument is, where it has no name */
} classes[] = {
    {"LLM", &job_vllm, "model"},
    {"EngineArgs", &job_vllm, "model"},
    {"AsyncEngineArgs", &job_vllm, "model"},
    {"LLMConfig", &job_vllm, NULL},
    {"Engine", &job_sglang, NULL},
    {"ServerArgs", &job_sglang, "model-path"},
    {"LLM", &job_trtllm, "model"},
};

struct reading {
    struct job *job;
    const struct python *python;
    struct mark made; /* where the engine is; line 0: nowhere yet */
};

static void read_arguments(struct reading *r, const char *before, const struct python_value *of,
                           unsigned depth);

/* MTPDecodingConfig(..) of TensorRT-LLM says by its name how drafts are made. */
static void read_draft(struct reading *r, const char *before, const char *class,
                       struct mark mark)
{
    static const char end[] = "DecodingConfig";
    size_t length = strlen(class);
    if (!text_ends(class, end))
        return;
    const char *kind = arena_strndup(r->job->arena, class, length - (sizeof end - 1));
    const struct python_value word = {.kind = PYTHON_WORD, .text = kind, .quoted = true};
    job_add_python(r->job, r->python, arena_printf(r->job->arena, "%sdecoding_type", before),
                   &word, mark);
}

/* Ray's model, its engine's keywords and the device. */
static void read_ray(struct reading *r, const struct python_argument *a,
                     const struct python_value *v, unsigned depth)
{
    struct job *job = r->job;
    const char *trouble = NULL, *word = python_word(r->python, v, job->arena, &trouble);
    const char *device = NULL;
    if (text_equal(a->name, "engine_kwargs") && v->kind == PYTHON_CALL)
        read_arguments(r, "", v, depth);
    else if (text_equal(a->name, "accelerator_type") && word)
        device = device_name_from(word, job->arena);
    if (device && !draft_find(&job->draft, "cluster"))
        draft_set(&job->draft, "cluster", device, a->mark, word);
    const struct python_argument *model = NULL;
    for (size_t i = 0; text_equal(a->name, "model_loading_config") && i < v->n; i++) {
        const char *name = v->items[i].name ? v->items[i].name : "";
        if (text_equal(name, "model_source") || (!model && text_equal(name, "model_id")))
            model = &v->items[i];
    }
    if (model)
        job_add_python(job, r->python, "model", &model->value, model->mark);
}

static void read_argument(struct reading *r, const char *before,
                          const struct python_argument *a, unsigned depth)
{
    struct job *job = r->job;
    bool mapping = !a->name && a->value.text && text_starts(a->value.text, "**");
    struct python_value given = a->value;
    if (mapping)
        given.text += 2;
    const struct python_value *v = python_made(r->python, &given);
    if (mapping && v->kind == PYTHON_CALL && depth < DEPTH) {
        read_arguments(r, before, v, depth + 1);
    } else if (mapping) {
        job_warn(job, a->mark, "what '%.60s' adds to the arguments is not read", a->value.text);
    } else if (a->name && v->kind == PYTHON_CALL && depth < DEPTH) {
        const char *name = arena_printf(job->arena, "%s%s.", before, a->name);
        read_draft(r, name, python_last_part(v->callee), a->mark);
        read_arguments(r, name, v, depth + 1);
    } else if (a->name) {
        job_add_python(job, r->python, arena_printf(job->arena, "%s%s", before, a->name), v,
                       a->mark);
    }
}

static void read_arguments(struct reading *r, const char *before, const struct python_value *of,
                           unsigned depth)
{
    for (size_t i = 0; i < of->n; i++)
        read_argument(r, before, &of->items[i], depth);
}

static void read_engine(struct reading *r, const struct python_value *v, const char *class,
                        const char *model)
{
    const struct python_argument *first = v->n ? &v->items[0] : NULL;
    bool ray = text_equal(class, "LLMConfig");
    if (model && first && !first->name && !text_starts(first->value.text, "*"))
        job_add_python(r->job, r->python, model, &first->value, first->mark);
    for (size_t i = 0; ray && i < v->n; i++)
        if (v->items[i].name)
            read_ray(r, &v->items[i], python_made(r->python, &v->items[i].value), 1);
    if (!ray)
        read_arguments(r, "", v, 0);
    const struct python_value yes = {.kind = PYTHON_WORD, .text = "true", .quoted = true};
    if (text_equal(class, "LLM") && r->job->framework == &job_vllm)
        job_add_python(r->job, r->python, ENGINE_SCRIPT_CLASS, &yes, r->made);
}

/* The first engine holds; a call may be an argument of another. */
static void read_value(struct reading *r, const struct python_value *v,
                       const struct python_statement *statement)
{
    const char *class = v->kind == PYTHON_CALL ? python_last_part(v->callee) : "";
    for (size_t i = 0; i < sizeof classes / sizeof *classes && !r->made.line; i++) {
        if (classes[i].framework != r->job->framework || !text_equal(class, classes[i].class))
            continue;
        r->made = statement->mark;
        if (statement->nested)
            job_warn(r->job, statement->mark,
                     "'%s' stands inside a condition or a loop: it is read as it stands there",
                     v->callee);
        read_engine(r, v, class, classes[i].model);
    }
    for (size_t i = 0; v->kind == PYTHON_CALL && i < v->n && !r->made.line; i++)
        read_value(r, &v->items[i].value, statement);
}

enum status engine_script_read(struct job *job, const char *name, const char *text,
                               size_t length)
{
    struct python python;
    struct reading r = {.job = job, .python = &python};
    const unsigned before = job->layer, line = job->request->line;
    TRY(python_read(name, text, length, job->arena, &python, job->err));
    job->layer = JOB_FILE + 1;
    for (size_t i = 0; i < python.n; i++)
        if (!line || python.statements[i].mark.line == line)
            read_value(&r, &python.statements[i].value, &python.statements[i]);
    job->layer = before;
    if (!job->mark.line)
        job->mark = r.made;
    if (job->err->status != STATUS_OK || r.made.line)
        return job->err->status;
    err_at(job->err, (struct mark){name, line, line > 0}, "no engine is made %s",
           line ? "on this line" : "in this script");
    return err_hint(job->err, "LLM(model=.., tensor_parallel_size=..) and its likes are read");
}

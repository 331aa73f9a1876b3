/* Deployments that say settings of vLLM in place of its command; see container_writer.h. Read
 * at ray-project/ray python/ray/llm/_internal/serve/core/configs/llm_config.py, vllm-project/
 * production-stack helm/templates/deployment-vllm-multi.yaml and kserve/kserve config/llmisvc.
 */
#include <string.h>

#include "plan/text/container_writer.h"

static bool is_true(const struct node *node)
{
    return node_is(node, "true") || node_is(node, "True");
}

static bool is_false(const struct node *node)
{
    return node_is(node, "false") || node_is(node, "False");
}

/* ---- flags ---- */

void container_serve(struct container_writer *w, const struct node *node, const char *image)
{
    for (; w->line < node->mark.line; w->line++) /* of its own: no word stands before it */
        text_append(w->out, "\n");
    if (image)
        container_export(w, CONTAINER_IMAGE, strlen(CONTAINER_IMAGE), image);
    if (w->device)
        container_export(w, CONTAINER_DEVICE, strlen(CONTAINER_DEVICE), w->device);
    container_export_pool(w);
    container_export_env(w);
    text_append(w->out, "vllm serve");
}

/* "--NAME=VALUE" on the value's line. */
static void write_flag(struct container_writer *w, const struct node *at, const char *name,
                       const char *value)
{
    container_go_to(w, at->mark.line);
    text_append(w->out, " ");
    container_literal(w, name);
    if (value)
        text_append(w->out, "=");
    if (value)
        container_literal(w, value);
}

/* A keyword of the engine's, entries of a mapping as flags with dots. */
static void write_keyword(struct container_writer *w, const char *before, const char *key,
                          const struct node *node)
{
    char *name = arena_printf(w->out->arena, "--%s%s", before, key);
    if (node->kind == NODE_MAPPING) {
        for (const struct node *item = node->first; item; item = item->next)
            write_keyword(w, name + 2, arena_printf(w->out->arena, ".%s", item->key), item);
    } else if (node->kind == NODE_SEQUENCE) {
        write_flag(w, node, name, NULL);
        container_words(w, node);
    } else if (is_false(node) && !strchr(name, '.')) {
        write_flag(w, node, arena_printf(w->out->arena, "--no-%s", name + 2), NULL);
    } else if (!node_is_null(node)) {
        write_flag(w, node, name, is_true(node) ? NULL : node->text);
    }
}

/* "hf://Qwen/Qwen3-8B:main" is "Qwen/Qwen3-8B"; of other stores a path, "/claim/model". */
static const char *model_of(struct container_writer *w, const char *uri)
{
    const char *scheme = strstr(uri, "://");
    const char *path = scheme ? scheme + 3 : uri;
    const char *tag = scheme ? strrchr(path, ':') : NULL;
    size_t n = tag ? (size_t)(tag - path) : strlen(path);
    bool stored = scheme && !text_starts(uri, "hf://");
    return arena_printf(w->out->arena, "%s%.*s", stored ? "/" : "", (int)n, path);
}

/* ---- Ray Serve ---- */

static bool write_ray_model(struct container_writer *w, const struct node *config)
{
    const struct node *loading = node_get(config, "model_loading_config");
    const struct node *source = node_get(loading, "model_source");
    const char *before = w->device, *device = node_text(node_get(config, "accelerator_type"));
    if (source && source->kind == NODE_MAPPING)
        source = node_get(source, "bucket_uri");
    source = source ? source : node_get(loading, "model_id");
    if (!node_text(source))
        return false;
    w->device = device ? device : before;
    w->env = node_get(node_get(config, "runtime_env"), "env_vars");
    container_serve(w, config, NULL);
    for (const struct node *part = config->first; part; part = part->next) {
        if (part == loading)
            write_flag(w, source, "--model", model_of(w, source->text));
        bool keywords = text_equal(part->key, "engine_kwargs");
        for (const struct node *item = keywords ? node_entries(part) : NULL; item;
             item = item->next)
            write_keyword(w, "", item->key, item);
    }
    container_end(w);
    w->device = before;
    return true;
}

/* All of a file's words stand where it is named. */
static void stand_at(struct node *node, struct mark mark)
{
    node->mark = mark;
    for (struct node *child = node->first; child; child = child->next)
        stand_at(child, mark);
}

/* A model in a file of its own, "llm_configs: [qwen.yaml]". */
static bool write_ray_file(struct container_writer *w, const struct node *name)
{
    size_t length = 0;
    struct node *root = NULL;
    const char *text =
        w->beside ? w->beside->read(w->beside->context, name->text, &length) : NULL;
    if (!text) {
        err_at(w->err, name->mark, "file '%s' is not there", name->text);
        err_hint(w->err, "it is looked for beside the job and in the working directory");
        return false;
    }
    if (source_read_job(name->text, text, length, w->out->arena, &root, w->err) != STATUS_OK)
        return false;
    stand_at(root, name->mark);
    return write_ray_model(w, root);
}

static bool write_ray(struct container_writer *w, const struct node *root)
{
    const struct node *applications = node_get(root, "applications");
    bool any = false;
    if (node_get(root, "model_loading_config"))
        return write_ray_model(w, root);
    for (const struct node *a = applications ? applications->first : NULL; a; a = a->next) {
        const struct node *configs = node_get(node_get(a, "args"), "llm_configs");
        for (const struct node *c = configs ? configs->first : NULL; c; c = c->next)
            any |= c->kind == NODE_SCALAR ? write_ray_file(w, c) : write_ray_model(w, c);
    }
    return any;
}

/* The text of a RayService's application is YAML again, on the lines below its key. */
static bool write_ray_service(struct container_writer *w, const struct node *config)
{
    struct text padded = {.arena = w->out->arena};
    struct node *root = NULL;
    struct err ignored = {0};
    for (unsigned i = 0; i < config->mark.line; i++)
        text_append(&padded, "\n");
    text_append(&padded, config->text);
    return source_read_job(config->mark.file, text_string(&padded), padded.length,
                           w->out->arena, &root, &ignored) == STATUS_OK &&
           write_ray(w, root);
}

/* ---- vLLM's production stack ---- */

static const struct {
    const char *key, *flag;
} chart_keys[] = {
    {"enableChunkedPrefill", "enable-chunked-prefill"},
    {"enablePrefixCaching", "enable-prefix-caching"},
    {"maxModelLen", "max-model-len"},
    {"dtype", "dtype"},
    {"tensorParallelSize", "tensor-parallel-size"},
    {"pipelineParallelSize", "pipeline-parallel-size"},
    {"maxNumSeqs", "max-num-seqs"},
    {"gpuMemoryUtilization", "gpu-memory-utilization"},
    {"maxLoras", "max-loras"},
};

static void write_chart_settings(struct container_writer *w, const struct node *settings)
{
    for (const struct node *item = node_entries(settings); item; item = item->next) {
        if (text_equal(item->key, "extraArgs"))
            container_words(w, item);
        for (size_t i = 0; i < sizeof chart_keys / sizeof *chart_keys; i++)
            if (text_equal(item->key, chart_keys[i].key))
                write_keyword(w, "", chart_keys[i].flag, item);
    }
}

/* The chart turns prefix caching off where it is not asked for. */
static bool write_chart_model(struct container_writer *w, const struct node *model)
{
    const struct node *name = node_get(model, "modelURL"),
                      *settings = node_get(model, "vllmConfig"),
                      *adapters = node_get(model, "enableLoRA");
    const char *image = node_text(node_get(model, "repository")),
               *tag = node_text(node_get(model, "tag"));
    if (!node_text(name))
        return false;
    w->env = node_get(model, "env");
    container_serve(w, model,
                    image && tag ? arena_printf(w->out->arena, "%s:%s", image, tag) : NULL);
    for (const struct node *part = model->first; part; part = part->next) {
        if (part == name)
            write_flag(w, name, "--model", name->text);
        if (part == adapters && is_true(part))
            write_flag(w, part, "--enable-lora", NULL);
        if (part == settings)
            write_chart_settings(w, settings);
    }
    if (settings && !node_get(settings, "enablePrefixCaching"))
        text_append(w->out, " --no-enable-prefix-caching");
    container_end(w);
    return true;
}

static bool write_chart(struct container_writer *w, const struct node *root)
{
    const struct node *models = node_get(node_get(root, "servingEngineSpec"), "modelSpec");
    bool any = false;
    for (const struct node *m = models ? models->first : NULL; m; m = m->next)
        any |= write_chart_model(w, m);
    return any;
}

/* ---- KServe ---- */

/* A predictor whose runtime is vLLM's: its arguments, --model_id the hub's name there. */
static bool write_predictor(struct container_writer *w, const struct node *model)
{
    static const char id[] = "--model_id=";
    const char *format = node_text(node_get(node_get(model, "modelFormat"), "name"));
    const struct node *args = node_get(model, "args"), *uri = node_get(model, "storageUri");
    if (!format || (!text_equal(format, "huggingface") && !text_equal(format, "vLLM")))
        return false;
    w->env = node_get(model, "env");
    container_serve(w, model, node_text(node_get(model, "image")));
    for (const struct node *part = model->first; part; part = part->next) {
        if (part == uri && node_text(uri))
            write_flag(w, uri, "--model", model_of(w, uri->text));
        for (const struct node *word = part == args ? args->first : NULL; word;
             word = word->next)
            if (text_starts(word->text, id))
                write_flag(w, word, "--model", word->text + sizeof id - 1);
            else
                container_word(w, word);
    }
    container_end(w);
    return true;
}

static const struct {
    const char *key, *flag;
} degrees[] = {{"tensor", "tensor-parallel-size"},
               {"pipeline", "pipeline-parallel-size"},
               {"data", "data-parallel-size"},
               {"expert", "enable-expert-parallel"}};

/* What the service's own container adds to the flags that it starts with. */
static void write_additions(struct container_writer *w, const struct node *container)
{
    static const char additions[] = "VLLM_ADDITIONAL_ARGS";
    for (const struct node *e = w->env ? w->env->first : NULL; e; e = e->next)
        if (node_says(e, "name", additions))
            container_words(w, node_get(e, "value"));
    container_words(w, node_get(container, "args"));
}

static const struct node *main_of(const struct node *template)
{
    const struct node *containers = node_get(template, "containers");
    for (const struct node *c = containers ? containers->first : NULL; c; c = c->next)
        if (node_says(c, "name", "main"))
            return c;
    return NULL;
}

/* Its drafts: keys of vLLM's speculative-config, and of later releases by names of its own. */
static void write_speculator(struct container_writer *w, const struct node *spec)
{
    static const struct {
        const char *key, *flag;
    } keys[] = {{"method", "--speculative-config.method"},
                {"numSpeculativeTokens", "--speculative-config.num_speculative_tokens"}};
    const struct node *later = node_get(spec, "speculativeDecoding");
    const struct node *speculator = node_get(later ? later : spec, "speculator");
    const struct node *uri = node_get(node_get(speculator, "model"), "uri");
    const struct node *tensor = node_get(speculator, "tensorParallelSize");
    if (node_get(speculator, "config"))
        write_keyword(w, "", "speculative-config", node_get(speculator, "config"));
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (node_text(node_get(later, keys[i].key)))
            write_flag(w, node_get(later, keys[i].key), keys[i].flag,
                       node_get(later, keys[i].key)->text);
    if (node_text(uri))
        write_flag(w, uri, "--speculative-config.model", model_of(w, uri->text));
    if (node_text(tensor))
        write_flag(w, tensor, "--speculative-config.draft_tensor_parallel_size", tensor->text);
}

static void write_service_part(struct container_writer *w, const struct node *model,
                               const struct node *part, bool prompts)
{
    const struct node *parallel = node_get(part, "parallelism"),
                      *main = main_of(node_get(part, "template")),
                      *uri = node_get(model, "uri"), *name = node_get(model, "name");
    w->env = node_get(main, "env");
    container_serve(w, part, node_text(node_get(main, "image")));
    write_flag(w, part, "--model", model_of(w, uri->text));
    if (node_text(name)) /* whose weights those of a volume are */
        write_flag(w, part, "--served-model-name", name->text);
    if (prompts)
        write_flag(w, part, "--is-prefill-worker", NULL);
    for (const struct node *item = node_entries(parallel); item; item = item->next)
        for (size_t i = 0; i < sizeof degrees / sizeof *degrees; i++)
            if (text_equal(item->key, degrees[i].key) && !is_false(item))
                write_keyword(w, "", degrees[i].flag, item);
    write_speculator(w, part);
    write_additions(w, main);
    container_end(w);
}

static bool write_service(struct container_writer *w, const struct node *spec)
{
    const struct node *model = node_get(spec, "model"), *prefill = node_get(spec, "prefill");
    if (!node_text(node_get(model, "uri")))
        return false;
    write_service_part(w, model, spec, false);
    if (prefill)
        write_service_part(w, model, prefill, true);
    return true;
}

/* ---- what a document is ---- */

bool container_engine_line(const char *at, const char *end)
{
    static const char *const starts[] = {
        "applications:", "model_loading_config:", "servingEngineSpec:", "modelArtifacts:"};
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
        size_t n = strlen(starts[i]);
        if ((size_t)(end - at) >= n && strncmp(at, starts[i], n) == 0)
            return true;
    }
    return false;
}

bool container_engine(struct container_writer *w, const struct node *root)
{
    const struct node *spec = node_get(root, "spec");
    const struct node *config = node_get(spec, "serveConfigV2");
    const char *kind = node_text(node_get(root, "kind"));
    if (!kind)
        return write_ray(w, root) || write_chart(w, root) || container_llmd(w, root);
    if (node_text(config))
        return write_ray_service(w, config);
    if (text_equal(kind, "InferenceService"))
        return write_predictor(w, node_get(node_get(spec, "predictor"), "model"));
    return text_equal(kind, "LLMInferenceService") && write_service(w, spec);
}

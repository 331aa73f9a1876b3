/* See described.h. Read at NVIDIA/TensorRT-LLM tensorrt_llm/llmapi/disagg_utils.py
 * (extract_disagg_cfg) and examples/disaggregated/slurm/benchmark/submit.py, NVIDIA/srt-slurm
 * recipes/ and ai-dynamo/dynamo benchmarks/profiler/deploy/ (v1alpha1),
 * components/src/dynamo/profiler/deploy/ (v1beta1). */
#include <string.h>

#include "base/number.h"
#include "plan/job/described.h"

/* Servers of one pool. */
struct described {
    const char *framework;
    const struct node *below, *own; /* settings: of both pools, or NULL; of this one */
    struct mark mark;
    uint64_t servers, nodes;   /* nodes of one server; 0: not said */
    const struct node *device; /* as the file calls it, or NULL */
    const struct node *model;  /* its name or path where the settings have none, or NULL */
    const char *model_flag;
    const char *flag, *value; /* what says that they prefill or decode; or NULL */
};

/* What the file says of requests; NULL: nothing. */
struct requests {
    const struct node *input, *output, *in_flight, *rate;
    const char *concurrency; /* the most of in_flight */
};

static const struct node *at(const struct node *root, const char *const *keys)
{
    for (; root && *keys; keys++)
        root = root->kind == NODE_MAPPING ? node_get(root, *keys) : NULL;
    return root && node_is_null(root) ? NULL : root;
}

#define AT(root, ...) at(root, (const char *const[]){__VA_ARGS__, NULL})

static const char *text_at(const struct node *node)
{
    return node && node->kind == NODE_SCALAR ? node->text : NULL;
}

static uint64_t count_at(const struct node *node, uint64_t otherwise)
{
    uint64_t n = node_count(node);
    return n ? n : otherwise;
}

static bool is_one_of(const char *key, const char *const *keys)
{
    for (; *keys; keys++)
        if (text_equal(*keys, key))
            return true;
    return false;
}

/* The mapping without these keys. */
static struct node *without(const struct node *mapping, const char *const *keys,
                            struct arena *arena)
{
    struct node *copy = arena_alloc(arena, 1, sizeof *copy), **link = &copy->first;
    *copy = *mapping;
    copy->first = NULL;
    copy->n = 0;
    for (const struct node *child = mapping->first; child; child = child->next) {
        if (is_one_of(child->key, keys))
            continue;
        struct node *own = arena_alloc(arena, 1, sizeof *own);
        *own = *child;
        own->next = NULL;
        *link = own;
        link = &own->next;
        copy->n++;
    }
    return copy;
}

/* ---- TensorRT-LLM ---- */

/* Of the servers, not of what they are started with. */
static const char *const server_keys[] = {"num_instances", "urls", "router", NULL};
/* Of the front; what else stands beside the servers both inherit. */
static const char *const front_keys[] = {"context_servers",
                                         "generation_servers",
                                         "hostname",
                                         "port",
                                         "max_retries",
                                         "perf_metrics_max_requests",
                                         "return_perf_metrics",
                                         "perf_metrics_output_dir",
                                         "conditional_disagg_config",
                                         "otlp_config",
                                         "disagg_cluster",
                                         "node_id",
                                         "schedule_style",
                                         "allow_request_chat_template",
                                         "gen_strip_message_history",
                                         "gen_tokids_ctxbytes",
                                         "num_workers",
                                         "disagg_coordinator_url",
                                         NULL};

static bool is_trtllm(const struct node *root)
{
    return AT(root, "context_servers") && AT(root, "generation_servers");
}

static void describe_trtllm(const struct node *root, enum duty duty, struct arena *arena,
                            struct described *out)
{
    bool prompts = duty == DUTY_PROMPTS;
    const struct node *servers =
        node_get(root, prompts ? "context_servers" : "generation_servers");
    *out = (struct described){.framework = "trtllm",
                              .below = without(root, front_keys, arena),
                              .own = without(servers, server_keys, arena),
                              .mark = servers->key_mark,
                              .servers = count_at(AT(servers, "num_instances"), 1),
                              .flag = "server-role",
                              .value = prompts ? "context" : "generation"};
}

/* ---- srt-slurm ---- */

static const struct {
    const char *key, *framework;
} recipe_backends[] = {
    {"sglang_config", "sglang"}, {"trtllm_config", "trtllm"}, {"vllm_config", "vllm"}};

static const struct node *recipe_config(const struct node *root, const char **framework)
{
    for (size_t i = 0; i < sizeof recipe_backends / sizeof *recipe_backends; i++) {
        const struct node *config = AT(root, "backend", recipe_backends[i].key);
        if (!config)
            continue;
        *framework = recipe_backends[i].framework;
        return config;
    }
    return NULL;
}

static bool is_recipe(const struct node *root)
{
    const char *framework;
    const struct node *config = recipe_config(root, &framework);
    return AT(root, "resources") && AT(config, "prefill") && AT(config, "decode");
}

static void describe_recipe(const struct node *root, enum duty duty, struct arena *arena,
                            struct described *out)
{
    static const char *const none[] = {NULL};
    const char *pool = duty == DUTY_PROMPTS ? "prefill" : "decode";
    const struct node *resources = node_get(root, "resources");
    const struct node *path = AT(root, "model", "path");
    *out = (struct described){.mark = {0}};
    const struct node *config = node_get(recipe_config(root, &out->framework), pool);
    uint64_t servers =
        count_at(node_get(resources, arena_printf(arena, "%s_workers", pool)), 1);
    uint64_t nodes = count_at(node_get(resources, arena_printf(arena, "%s_nodes", pool)), 0);
    out->own = without(config, none, arena);
    out->mark = config->key_mark;
    out->servers = servers;
    out->nodes = nodes > servers ? nodes / servers : 1;
    out->device = node_get(resources, "gpu_type");
    /* a path is often a name that the cluster's own settings resolve */
    const struct node *served = node_get(config, "served-model-name");
    bool known = text_at(path) && model_name_or_folder(path->text, arena);
    out->model = known || !text_at(served) ? path : served;
    out->model_flag = text_equal(out->framework, "sglang") ? "model-path" : "model";
    bool vllm = text_equal(out->framework, "vllm");
    out->flag = !vllm                  ? "disaggregation-mode"
                : duty == DUTY_PROMPTS ? "is-prefill-worker"
                                       : NULL;
    out->value = vllm ? "true" : pool;
}

/* The last of "32x64x128", of "32 64 128", or of a list: the most requests in flight. */
static const char *most_of(const struct node *node, struct arena *arena)
{
    const char *text = text_at(node), *last;
    if (node && node->kind == NODE_SEQUENCE)
        for (const struct node *item = node->first; item; item = item->next)
            text = text_at(item);
    if (!text)
        return NULL;
    for (last = text + strlen(text); last > text && !strchr("x ,", last[-1]); last--)
        ;
    return arena_strdup(arena, last);
}

static void recipe_requests(const struct node *root, struct arena *arena, struct requests *out)
{
    const struct node *benchmark = AT(root, "benchmark");
    const struct node *rate = AT(benchmark, "req_rate");
    double value;
    out->input = AT(benchmark, "isl");
    out->output = AT(benchmark, "osl");
    out->in_flight = AT(benchmark, "concurrencies");
    out->concurrency = most_of(out->in_flight, arena);
    if (text_at(rate) && number_real(rate->text, &value) && value > 0)
        out->rate = rate;
}

/* ---- TensorRT-LLM's scripts for Slurm ---- */

static bool is_slurm(const struct node *root)
{
    return AT(root, "worker_config", "ctx") && AT(root, "worker_config", "gen");
}

static void describe_slurm(const struct node *root, enum duty duty, struct arena *arena,
                           struct described *out)
{
    static const char *const none[] = {NULL};
    bool prompts = duty == DUTY_PROMPTS;
    const struct node *servers =
        AT(root, "hardware", prompts ? "num_ctx_servers" : "num_gen_servers");
    const struct node *config = AT(root, "worker_config", prompts ? "ctx" : "gen");
    const struct node *path = AT(root, "environment", "model_path");
    bool named = text_at(path) && path->text[0] != '<'; /* a template has "<model_path>" */
    *out = (struct described){.framework = "trtllm",
                              .own = without(config, none, arena),
                              .mark = config->key_mark,
                              .servers = count_at(servers, 1),
                              .model = named ? path : NULL,
                              .model_flag = "model",
                              .flag = "server-role",
                              .value = prompts ? "context" : "generation"};
}

static void slurm_requests(const struct node *root, struct arena *arena, struct requests *out)
{
    const struct node *benchmark = AT(root, "benchmark");
    out->input = AT(benchmark, "input_length");
    out->output = AT(benchmark, "output_length");
    out->in_flight = AT(benchmark, "concurrency_list");
    out->concurrency = most_of(out->in_flight, arena);
}

/* ---- all of them ---- */

static const struct {
    bool (*is)(const struct node *root);
    void (*describe)(const struct node *root, enum duty duty, struct arena *arena,
                     struct described *out);
    void (*requests)(const struct node *root, struct arena *arena, struct requests *out);
    const char *title;
} kinds[] = {
    {is_trtllm, describe_trtllm, NULL, "context and generation servers of TensorRT-LLM"},
    {is_recipe, describe_recipe, recipe_requests, "a recipe of srt-slurm"},
    {is_slurm, describe_slurm, slurm_requests, "a configuration of TensorRT-LLM for Slurm"},
};

enum { KINDS = sizeof kinds / sizeof *kinds };

static size_t kind_of(const struct node *root)
{
    size_t kind = 0;
    while (kind < KINDS && !kinds[kind].is(root))
        kind++;
    return kind;
}

/* ---- one pool ---- */

static struct job new_job(const struct described_file *in, const char *framework,
                          const struct job_request *request, struct arena *arena,
                          struct err *err)
{
    struct job job = {.arena = arena,
                      .err = err,
                      .file = in->file,
                      .folder = text_folder(in->file, arena),
                      .framework = job_framework_named(framework),
                      .request = request};
    job.draft.arena = arena;
    return job;
}

/* A key of a server that says other than what both inherit (TensorRT-LLM refuses it). */
static enum status check_inherited(const struct described *d, struct err *err)
{
    for (const struct node *all = d->below ? d->below->first : NULL; all; all = all->next) {
        const struct node *own = node_get(d->own, all->key);
        if (!own || own->kind != NODE_SCALAR || all->kind != NODE_SCALAR ||
            text_equal(own->text, all->text))
            continue;
        err_at(err, own->mark, "'%s' is %s here and %s beside the servers", own->key, own->text,
               all->text);
        return err_hint(err, "TensorRT-LLM takes a key of both in one place");
    }
    return STATUS_OK;
}

/* A device that is none of ours is left to the user. */
static void set_device(const struct described *d, struct job *job)
{
    const char *name =
        text_at(d->device) ? device_name_from(d->device->text, job->arena) : NULL;
    if (name)
        draft_set(&job->draft, "cluster", name, d->device->mark, d->device->text);
}

static enum status read_pool(const struct described_file *in, const struct described *d,
                             const struct job_request *single, struct arena *arena,
                             struct job_result *result, struct err *err)
{
    struct job job = new_job(in, d->framework, single, arena, err);
    TRY(check_inherited(d, err));
    job.mark = d->mark;
    if (d->below)
        TRY(job_add_node(&job, "", d->below));
    job.layer++;
    TRY(job_add_node(&job, "", d->own));
    if (d->flag)
        job_assume(&job, d->flag, d->value, d->value);
    if (text_at(d->model))
        job_assume(&job, d->model_flag, d->model->text, "model.path");
    if (d->nodes > 1 && text_equal(d->framework, "sglang"))
        job_assume(&job, "nnodes", arena_printf(arena, "%u", (unsigned)d->nodes), "nodes");
    set_device(d, &job);
    return job_deliver(&job, in->text, in->length, result);
}

/* ---- requests ---- */

static void set_node(struct draft *draft, const char *key, const struct node *node,
                     const char *value, const char *origin)
{
    if (node)
        draft_set(draft, key, value ? value : node->text, node->mark, origin);
}

/* A plan that answers requests, of one that makes steps. */
static void serve(struct draft *draft, const struct requests *r)
{
    if (!text_at(r->input) || !text_at(r->output))
        return;
    draft_set(draft, "workload.mode", "serve", r->input->mark, r->input->key);
    set_node(draft, "workload.input_length", r->input, NULL, r->input->key);
    set_node(draft, "workload.output_length", r->output, NULL, r->output->key);
    if (r->rate)
        set_node(draft, "workload.request_rate", r->rate, NULL, "req_rate");
    else
        set_node(draft, "workload.concurrency", r->in_flight, r->concurrency, "concurrencies");
    draft_drop(draft, "workload.micro_batch");
    draft_drop(draft, "workload.context_length");
    draft_drop(draft, "workload.queue");
    draft_drop(draft, "workload.fit_context");
}

/* ---- Dynamo's requests ---- */

/* Where the release has them: v1beta1's own keys, or those of its profiler. */
static const struct node *wish(const struct node *root, const char *group, const char *key,
                               const char *older)
{
    const struct node *spec = node_get(root, "spec");
    const struct node *config = AT(spec, "profilingConfig", "config");
    const struct node *found = AT(spec, group, key);
    found = found ? found : AT(config, text_equal(group, "workload") ? "sla" : group, key);
    return found || !older ? found : AT(config, group, older);
}

static bool is_request(const struct node *root)
{
    return node_says(root, "kind", "DynamoGraphDeploymentRequest") && AT(root, "spec");
}

/* Milliseconds as Dynamo has them, "200", "200.0", or with a unit. */
static void set_limit(struct draft *draft, const char *key, const struct node *node)
{
    double value;
    if (!text_at(node))
        return;
    bool plain = number_real(node->text, &value);
    const char *time = plain ? arena_printf(draft->arena, "%gms", value) : node->text;
    draft_set(draft, key, time, node->mark, "sla");
}

/* "8..16*2", "32": devices of one engine, or of all. */
static const char *devices_of(const struct node *root, struct arena *arena)
{
    uint64_t least =
        count_at(wish(root, "hardware", "minNumGpusPerEngine", "min_num_gpus_per_engine"), 0);
    uint64_t most =
        count_at(wish(root, "hardware", "maxNumGpusPerEngine", "max_num_gpus_per_engine"), 0);
    uint64_t total = count_at(wish(root, "hardware", "totalGpus", "total_gpus"), 0);
    most = most ? most : total;
    least = least ? least : 1;
    return most > least ? arena_printf(arena, "%u..%u*2", (unsigned)least, (unsigned)most)
           : most       ? arena_printf(arena, "%u", (unsigned)most)
                        : NULL;
}

static const char *question_of(const struct node *root, struct arena *arena)
{
    const char *devices = devices_of(root, arena);
    struct text text = {.arena = arena};
    text_append(&text, "moeplan search PLAN --objective tokens");
    if (devices)
        text_printf(&text, " --devices %s", devices);
    if (!text_at(wish(root, "workload", "concurrency", NULL)) &&
        !text_at(wish(root, "workload", "requestRate", NULL)))
        text_append(&text, " --over workload.concurrency=1..256*2");
    static const struct {
        const char *key, *option;
    } limits[] = {{"ttft", "ttft"}, {"itl", "tpot"}};
    for (size_t i = 0; i < 2; i++) {
        const struct node *node = wish(root, "sla", limits[i].key, NULL);
        double value;
        if (text_at(node))
            text_printf(&text, " --limit %s=%s%s", limits[i].option, node->text,
                        number_real(node->text, &value) ? "ms" : "");
    }
    return text_string(&text);
}

/* What it asks for as a plan of one node, which the search lays out. */
static enum status read_request(const struct described_file *in, struct arena *arena,
                                struct job_result *result, struct err *err)
{
    const struct node *root = in->root, *spec = node_get(root, "spec");
    const struct node *model = node_get(spec, "model"), *backend = node_get(spec, "backend");
    backend = backend ? backend : node_get(spec, "backendFramework");
    const struct node *per_node = wish(root, "hardware", "numGpusPerNode", "num_gpus_per_node");
    const char *name =
        text_at(backend) && !text_equal(backend->text, "auto") ? backend->text : "vllm";
    struct requests requests = {wish(root, "workload", "isl", NULL),
                                wish(root, "workload", "osl", NULL),
                                wish(root, "workload", "concurrency", NULL),
                                wish(root, "workload", "requestRate", NULL), NULL};
    if (!text_at(model))
        return err_at(err, spec->mark, "the request names no model");
    const struct job_framework *framework = job_framework_named(name);
    if (!framework || !framework->serves)
        return err_at(err, backend->mark, "backend '%s' is none of ours", name);
    struct job job = new_job(in, name, in->request, arena, err);
    job.mark = model->mark;
    job_assume(&job, text_equal(name, "sglang") ? "model-path" : "model", model->text, "model");
    if (text_at(per_node))
        job_assume(&job, "tensor-parallel-size", per_node->text, "numGpusPerNode");
    const struct described device = {.device = wish(root, "hardware", "gpuSku", "gpu_sku")};
    set_device(&device, &job);
    TRY(job_deliver(&job, in->text, in->length, result));
    serve(&result->draft, &requests);
    draft_set(&result->draft, "workload.disaggregated", "true", job.mark,
              "Dynamo profiles prefill and decode apart");
    set_limit(&result->draft, "workload.limit.ttft", wish(root, "sla", "ttft", NULL));
    set_limit(&result->draft, "workload.limit.tpot", wish(root, "sla", "itl", NULL));
    result->root = draft_tree(&result->draft, in->file);
    result->taken_for = "a request for a deployment of Dynamo";
    result->question = question_of(root, arena);
    return STATUS_OK;
}

/* ---- all of it ---- */

bool described_is(const struct node *root)
{
    return root->kind == NODE_MAPPING && (is_request(root) || kind_of(root) < KINDS);
}

enum status described_read(const struct described_file *in, struct arena *arena,
                           struct job_result *result, struct err *err)
{
    static const enum duty duties[] = {DUTY_PROMPTS, DUTY_ANSWERS};
    struct job_result results[2];
    struct described pools[2];
    struct job_request single;
    struct requests requests = {NULL, NULL, NULL, NULL, NULL};
    size_t kind = kind_of(in->root);
    if (is_request(in->root))
        return read_request(in, arena, result, err);
    job_single_sets(in->request, arena, &single);
    for (size_t i = 0; i < 2; i++) {
        kinds[kind].describe(in->root, duties[i], arena, &pools[i]);
        TRY(read_pool(in, &pools[i], &single, arena, &results[i], err));
    }
    if (kinds[kind].requests)
        kinds[kind].requests(in->root, arena, &requests);
    const struct job_pair pair = {&results[0], &results[1], pools[0].servers, pools[1].servers,
                                  kinds[kind].title};
    const struct job_text text = {in->file, in->text, in->length, in->request};
    TRY(job_join(&text, &pair, arena, result, err));
    serve(&result->draft, &requests);
    result->root = draft_tree(&result->draft, in->file);
    return STATUS_OK;
}

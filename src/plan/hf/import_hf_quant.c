/* See import_hf_quant.h. Formats: github.com/NVIDIA/Model-Optimizer, modelopt/torch/export. */
#include "plan/hf/import_hf_quant.h"

#include <string.h>
#include <unistd.h>

#include "plan/hf/import_hf_format.h"

static const char name[] = "hf_quant_config.json";

/* Its path, or NULL: a configuration that no file holds, or none beside it. */
static const char *path_beside(const struct node *config, struct arena *arena)
{
    const char *file = config->mark.file, *slash = file ? strrchr(file, '/') : NULL;
    if (!file || access(file, R_OK) != 0)
        return NULL;
    const char *path =
        arena_printf(arena, "%.*s%s", slash ? (int)(slash - file) + 1 : 0, file, name);
    return access(path, R_OK) == 0 ? path : NULL;
}

static void note(struct text *notes, const struct node *value, const char *what)
{
    text_printf(notes, "'%s' (%s, line %u): %s\n", value->key, name, value->mark.line, what);
}

static void take(const struct node *how, struct model *model, struct text *notes)
{
    const struct node *algorithm = node_get(how, "quant_algo");
    const struct node *cache = node_get(how, "kv_cache_quant_algo");
    import_hf_format(how, model, notes);
    if (algorithm && !node_is_null(algorithm) && model->checkpoint == DTYPE_NONE)
        note(notes, algorithm,
             "a format that is not known; the matrices are taken for 16 bits");
    if (cache && !node_is_null(cache))
        note(notes, cache,
             "a cache in a format of the checkpoint's own is for precision.kv_cache to say");
}

enum status import_hf_quant(const struct node *config, struct arena *arena, struct model *model,
                            struct text *notes, struct err *err)
{
    const char *path = path_beside(config, arena);
    struct node *root = NULL;
    if (!path || model->checkpoint != DTYPE_NONE)
        return STATUS_OK;
    TRY(source_read_file(path, arena, &root, err));
    const struct node *how = root->kind == NODE_MAPPING ? node_get(root, "quantization") : NULL;
    if (how && how->kind == NODE_MAPPING)
        take(how, model, notes);
    return STATUS_OK;
}

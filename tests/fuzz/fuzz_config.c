/* config.json: any text ends in a model whose counts can be taken, or in an error with a text.
 * An error leaves the model as it was. */
#include "fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "plan/hf/import_hf.h"
#include "plan/params.h"

/* Fails loudly in every build, with or without NDEBUG. */
static void require(int holds)
{
    if (!holds)
        abort();
}

static void check_model(const struct model *model)
{
    require(model->layers >= 1 && model->hidden >= 1 && model->attention.heads >= 1);
    require(model->moe_every >= 1 || model->dense_layers == 0);
    require(memchr(model->name, '\0', sizeof model->name) != NULL);
    struct params params;
    params_count(model, &params);
    require(params.overflow || params.parameters >= params.matrices);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena = {0};
    struct err err = {0};
    struct node *root = NULL;
    static const struct model untouched = {.layers = 77};
    struct model model = untouched;
    enum status status =
        source_read_text("config.json", (const char *)data, size, &arena, &root, &err);
    if (status == STATUS_OK) {
        import_hf_is_config(root);
        status = import_hf_model(root, &model, &err);
    }
    if (status == STATUS_OK)
        check_model(&model);
    else
        require(err.text[0] != '\0' && memcmp(&model, &untouched, sizeof model) == 0);
    arena_release(&arena);
    return 0;
}

/* See model_from.h. */
#include "plan/read/model_from.h"

#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "plan/read/load.h"

const struct model *model_alone_read(const char *name, struct arena *arena)
{
    const char *text = arena_printf(arena, "{model: '%s', cluster: h100-8x1}", name);
    struct plan *plan = arena_alloc(arena, 1, sizeof *plan);
    struct origins origins = {0};
    struct err err = {0};
    enum status status =
        plan_load_text(name, text, strlen(text), NULL, 0, arena, plan, &origins, &err);
    return status == STATUS_OK ? &plan->model : NULL;
}

static bool is_of_size(const char *model, double size, struct arena *arena)
{
    const struct model *ours = model_alone_read(model, arena);
    return !ours || model_has_size(ours, size);
}

const char *model_name_from(enum model_catalog catalog, const char *name, struct arena *arena)
{
    if (catalog != NAMES_HUB)
        return model_name_called(catalog, name);
    const char *rest, *model = model_name_begun(name, &rest, arena);
    double size = model ? model_name_size(rest) : 0;
    return size > 0 && !is_of_size(model, size, arena) ? NULL : model;
}

const char *model_name_or_folder(const char *name, struct arena *arena)
{
    const char *config = arena_printf(arena, "%s/config.json", name);
    return access(config, R_OK) == 0 ? config : model_name_from(NAMES_HUB, name, arena);
}

const char *model_name_of_path(const char *path, struct arena *arena)
{
    const char *name = text_without_slashes(path, arena);
    const char *model = model_name_or_folder(name, arena);
    return model ? model : model_name_from(NAMES_HUB, text_base_name(name), arena);
}

const char *model_name_inside(const char *path, struct arena *arena)
{
    const char *model = model_name_of_path(path, arena);
    const char *at = text_base_name(text_without_slashes(path, arena));
    while (!model && (at = strchr(at, '-')) != NULL)
        model = model_name_from(NAMES_HUB, ++at, arena);
    return model;
}

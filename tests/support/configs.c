/* See configs.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "plan/hf/import_hf.h"
#include "plan/hf/import_hf_quant.h"
#include "support/configs.h"

void config_read(const char *name, struct arena *arena, struct model *model, struct text *notes)
{
    struct err err = {0};
    struct node *root = NULL;
    const char *path = arena_printf(arena, "tests/configs/%s.json", name);
    if (source_read_file(path, arena, &root, &err) || import_hf_model(root, model, &err) ||
        import_hf_quant(root, arena, model, notes, &err))
        fail_msg("%s: %s (%s)", name, err.text, err.hint);
    import_hf_notes(root, model, notes);
}

enum status config_read_text(const char *text, struct arena *arena, struct model *model,
                             struct text *notes, struct err *err)
{
    struct node *root = NULL;
    TRY(source_read_text("config.json", text, strlen(text), arena, &root, err));
    TRY(import_hf_model(root, model, err));
    import_hf_notes(root, model, notes);
    return STATUS_OK;
}

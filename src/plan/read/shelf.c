/* See shelf.h. */
#include "plan/read/shelf.h"

#include "base/text.h"

enum status shelf_read(struct shelf *shelf, const char *path, struct node **root,
                       struct err *err)
{
    for (size_t i = 0; i < shelf->n; i++) {
        if (text_equal(shelf->files[i].path, path)) {
            *root = shelf->files[i].root;
            return STATUS_OK;
        }
    }
    TRY(source_read_file(path, shelf->arena, root, err));
    shelf->files = arena_grow(shelf->arena, shelf->files, shelf->n, &shelf->capacity,
                              sizeof *shelf->files);
    shelf->files[shelf->n++] = (struct shelf_file){arena_strdup(shelf->arena, path), *root};
    return STATUS_OK;
}

/* The table of backends; see backend.h. */
#include "exec/backend/backend.h"

const struct backend *backend_of(enum backend_kind kind)
{
    static const struct backend *const rows[] = {
#define BACKEND_ROW(name, text) &backend_##text,
        BACKEND_LIST(BACKEND_ROW)
#undef BACKEND_ROW
    };
    return rows[kind];
}

/* See fault.h. */
#include "support/emul/fault.h"

#include <stdlib.h>
#include <string.h>

const char *fault_asked(const char *kind)
{
    const char *asked = getenv("MOEPLAN_EMUL_FAULT");
    size_t length = strlen(kind);
    if (!asked || strncmp(asked, kind, length) != 0)
        return NULL;
    return asked[length] == ':' ? asked + length + 1 : asked[length] ? NULL : "";
}

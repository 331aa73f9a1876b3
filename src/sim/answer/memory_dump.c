/* See memory_dump.h. */
#include "sim/answer/memory_dump_list.h"

#include <string.h>

enum status memory_dump_read(const char *file, const char *text, size_t length,
                             struct arena *arena, struct memory_dump *out, struct err *err)
{
    size_t blank = strspn(text, " \t\r\n");
    *out = (struct memory_dump){0};
    if (length && (unsigned char)text[0] == 0x80) {
        err_at(err, (struct mark){.file = file}, "a pickle, which only Python reads");
        return err_hint(err,
                        "write it as JSON: python3 -c \"import json, pickle, sys; "
                        "json.dump(pickle.load(open(sys.argv[1], 'rb')), sys.stdout)\" %s",
                        file);
    }
    if (text[blank] == '{' || text[blank] == '[')
        return memory_dump_torch(file, text, length, arena, out, err);
    if (memory_dump_xla(text, length, arena, out))
        return STATUS_OK;
    err_at(err, (struct mark){.file = file}, "no report of buffers");
    return err_hint(err, "known: XLA's *-buffer-assignment.txt and *-memory-usage-report.txt "
                         "(XLA_FLAGS=--xla_dump_to=DIR), the 'Peak buffers' and 'Largest "
                         "program allocations' of a failure, a torch memory snapshot as JSON");
}

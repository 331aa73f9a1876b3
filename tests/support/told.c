/* See told.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "plan/read/load.h"
#include "support/told.h"

enum status tell(const char *text, struct told *t)
{
    struct origins origins = {0};
    struct predict_options options = {0};
    *t = (struct told){0};
    enum status status = plan_load_text("plan.yaml", text, strlen(text), NULL, 0, &t->arena,
                                        &t->plan, &origins, &t->err);
    if (status != STATUS_OK)
        return status;
    return predict(&t->plan, &options, &t->arena, &t->prediction, &t->err);
}

void must_tell(const char *text, struct told *t)
{
    if (tell(text, t) != STATUS_OK)
        fail_msg("%s: %s", t->err.where, t->err.text);
}

const struct buffer_report *told_buffer(const struct told *t, const char *name)
{
    const struct memory_report *m = &t->prediction.memory;
    for (size_t i = 0; i < m->n_buffers; i++)
        if (!strcmp(m->buffers[i].name, name))
            return &m->buffers[i];
    return NULL;
}

bool told_note(const struct told *t, const char *part)
{
    for (size_t i = 0; i < t->prediction.n_notes; i++)
        if (strstr(t->prediction.notes[i].text, part))
            return true;
    return false;
}

bool told_fits(const struct told *t)
{
    return t->prediction.memory.verdict != VERDICT_OOM;
}

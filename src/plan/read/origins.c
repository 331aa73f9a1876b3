/* See origins.h. */
#include "plan/read/origins.h"

#include "base/text.h"
#include "plan/read/part.h"
#include "plan/rule/rule.h"
#include "plan/schema/schema.h"

static bool is_same_place(const struct mark *a, const struct mark *b)
{
    return a->line == b->line && a->column == b->column && text_equal(a->file, b->file);
}

/* A caller of the library names its options as it likes: no word of them tells. */
static bool is_of_override(const struct origins *origins, const char *option)
{
    for (size_t i = 0; i < origins->n_overrides; i++)
        if (text_equal(option, origins->overrides[i].option))
            return true;
    return false;
}

/* How well a place helps: a --set before a line of the file, and that before what an importer
 * filled in, which has a file and no line. */
static int worth(const struct origins *origins, const struct mark *mark)
{
    if (!mark->file)
        return 0;
    return mark->line > 0 ? 2 : is_of_override(origins, mark->file) ? 3 : 1;
}

struct mark origins_of_rule(const struct origins *origins, const struct rule *rule)
{
    size_t n;
    const struct field *fields = schema_fields(&n);
    const char *keys[] = {rule->key, rule->also[0], rule->also[1]};
    struct mark best = {0};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const struct field *field = keys[i] ? schema_find(keys[i]) : NULL;
        struct mark mark = field ? origins->mark[field - fields] : best;
        const struct mark *stack = &origins->mark[schema_find("stack") - fields];
        if (i > 0 && mark.file && stack->file && is_same_place(&mark, stack))
            continue; /* it follows from the layout: nobody wrote it */
        if (worth(origins, &mark) > worth(origins, &best))
            best = mark;
    }
    return best.file ? best : (struct mark){.file = origins->file};
}

/* A config.json in place gives all fields of its part one origin, that of the part. */
static bool is_of_part(const struct origins *origins, const struct mark *mark)
{
    size_t n;
    const struct field *fields = schema_fields(&n);
    for (size_t i = 0; part_keys[i]; i++) {
        const struct mark *part = &origins->mark[schema_find(part_keys[i]) - fields];
        if (part->file && is_same_place(mark, part))
            return true;
    }
    return false;
}

bool origins_by_user(const struct origins *origins, const struct field *field)
{
    size_t n;
    const struct mark *mark = &origins->mark[field - schema_fields(&n)];
    if (!mark->file)
        return false;
    if (mark->line == 0) /* an option, or what an importer filled in for a job that is silent */
        return is_of_override(origins, mark->file);
    return text_equal(mark->file, origins->file) && !is_of_part(origins, mark);
}

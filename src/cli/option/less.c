/* See less.h. */
#include "cli/option/less.h"

#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "base/text.h"

enum status less_reduce(const char *text, struct sweep_keep *keep, struct err *err)
{
    static const struct {
        const char *word;
        enum sweep_reduce reduce;
    } words[] = {
        {"boundary", REDUCE_BOUNDARY}, {"pareto", REDUCE_PARETO}, {"count", REDUCE_COUNT}};
    *keep = (struct sweep_keep){.reduce = REDUCE_NOTHING};
    if (!text)
        return STATUS_OK;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (text_equal(words[i].word, text)) {
            keep->reduce = words[i].reduce;
            return STATUS_OK;
        }
    keep->reduce = REDUCE_TOP;
    if (text_starts(text, "top:") && number_count(text + strlen("top:"), &keep->top) &&
        keep->top > 0 && keep->top <= SWEEP_TOP_MOST)
        return STATUS_OK;
    err_set(err, STATUS_USAGE, "option '--reduce' does not know '%s'", text);
    return err_hint(err, "it takes boundary, pareto, count, or top:N with N from 1 to %d",
                    SWEEP_TOP_MOST);
}

enum status less_part(const char *text, struct sweep_part *part, struct err *err)
{
    char number[32];
    *part = (struct sweep_part){0};
    if (!text)
        return STATUS_OK;
    const char *slash = strchr(text, '/');
    size_t length = slash ? (size_t)(slash - text) : sizeof number;
    if (length < sizeof number) {
        snprintf(number, sizeof number, "%.*s", (int)length, text);
        if (number_count(number, &part->part) && number_count(slash + 1, &part->of) &&
            part->part > 0 && part->part <= part->of)
            return STATUS_OK;
    }
    err_set(err, STATUS_USAGE, "option '--part' takes I/N, not '%s'", text);
    return err_hint(err, "for example --part 1/8, the first of eight parts");
}

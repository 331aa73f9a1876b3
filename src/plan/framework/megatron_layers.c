/* Two small languages of Megatron's: which layers have experts, and which layers stand on which
 * pipeline chunk. */
#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "plan/framework/megatron.h"
#include "plan/layout.h"

/* ---- which layers have experts: "[0]*1+[1]*26", "([0]+[1])*24" ---- */

enum { PATTERN = MEGATRON_PATTERN };

struct pattern {
    const char *at;
    const char *const *numbers; /* that may stand in it; a layer is the place of its own: '0' */
    char layer[PATTERN];
    size_t n;
    bool failed;
};

static void pattern_sum(struct pattern *p, unsigned depth);

static void pattern_space(struct pattern *p)
{
    while (*p->at == ' ')
        p->at++;
}

static void pattern_repeat(struct pattern *p, size_t from)
{
    size_t length = p->n - from, times = 0;
    if (!isdigit((unsigned char)*p->at))
        p->failed = true;
    while (isdigit((unsigned char)*p->at) && times < PATTERN)
        times = times * 10 + (size_t)(*p->at++ - '0');
    if (times * length > PATTERN - from)
        p->failed = true;
    if (p->failed)
        return;
    for (size_t i = 1; i < times; i++)
        memcpy(p->layer + from + i * length, p->layer + from, length);
    p->n = from + times * length;
}

static bool pattern_number(struct pattern *p, size_t digits)
{
    char place = '0';
    for (const char *const *number = p->numbers; *number; number++, place++)
        if (strlen(*number) == digits && !strncmp(*number, p->at, digits) && p->n < PATTERN) {
            p->layer[p->n++] = place;
            return true;
        }
    return false;
}

static void pattern_list(struct pattern *p)
{
    for (p->at++; *p->at && *p->at != ']' && !p->failed;) {
        size_t digits = strspn(p->at, "0123456789");
        p->failed = digits ? !pattern_number(p, digits) : !strchr(", ", *p->at);
        p->at += digits ? digits : 1;
    }
    if (*p->at != ']')
        p->failed = true;
    else
        p->at++;
}

static void pattern_term(struct pattern *p, unsigned depth)
{
    size_t from = p->n;
    pattern_space(p);
    if (*p->at == '[') {
        pattern_list(p);
    } else if (*p->at == '(' && depth < 16) {
        p->at++;
        pattern_sum(p, depth + 1);
        if (*p->at == ')')
            p->at++;
        else
            p->failed = true;
    } else {
        p->failed = true;
    }
    pattern_space(p);
    while (*p->at == '*' && !p->failed) {
        p->at++;
        pattern_space(p);
        pattern_repeat(p, from);
        pattern_space(p);
    }
}

static void pattern_sum(struct pattern *p, unsigned depth)
{
    pattern_term(p, depth);
    while (*p->at == '+' && !p->failed) {
        p->at++;
        pattern_term(p, depth);
    }
}

static bool is_periodic(const struct pattern *p, size_t every)
{
    for (size_t i = 0; i < p->n; i++)
        if ((p->layer[i] == '1') != ((i + 1) % every == 0))
            return false;
    return true;
}

/* An entry for every layer, and as many more as may stand behind them. */
static enum status read_list(struct job *job, const char *flag, const char *text,
                             const char *const *numbers, const char *what, uint64_t layers,
                             size_t more, struct pattern **read)
{
    struct pattern *p = arena_alloc(job->arena, 1, sizeof *p);
    p->at = text;
    p->numbers = numbers;
    pattern_sum(p, 0);
    if (p->failed || *p->at)
        return job_fail(job, flag, "%s '%.200s' is no list of %s", flag, text, what);
    if (p->n < layers || p->n - layers > more)
        return job_fail(job, flag, "%s has %zu entries for %" PRIu64 " layers", flag, p->n,
                        layers);
    *read = p;
    return STATUS_OK;
}

static enum status read_pattern(struct job *job, const char *flag, const char *text,
                                uint64_t layers, struct pattern **read)
{
    static const char *const kinds[] = {"0", "1", NULL};
    return read_list(job, flag, text, kinds, "0 and 1", layers, 0, read);
}

enum status megatron_read_pattern(struct job *job, const char *flag, const char *text,
                                  uint64_t layers, char *layer)
{
    struct pattern *p = NULL;
    TRY(read_pattern(job, flag, text, layers, &p));
    memcpy(layer, p->layer, p->n);
    return STATUS_OK;
}

enum status megatron_read_ratios(struct job *job, const char *flag, const char *text,
                                 uint64_t layers, char *layer)
{
    static const char *const ratios[] = {"0", "4", "128", NULL};
    struct pattern *p = NULL;
    TRY(read_list(job, flag, text, ratios, "0, 4 and 128", layers, PATTERN, &p));
    memcpy(layer, p->layer, layers);
    return STATUS_OK;
}

enum status megatron_set_pattern(struct job *job, const char *text, uint64_t layers)
{
    static const char flag[] = "moe-layer-freq";
    struct pattern *p = NULL;
    TRY(read_pattern(job, flag, text, layers, &p));
    size_t dense = 0, experts = 0;
    while (dense < p->n && p->layer[dense] == '0')
        dense++;
    for (size_t i = 0; i < p->n; i++)
        experts += p->layer[i] == '1';
    if (experts && experts != p->n - dense) {
        if (!is_periodic(p, dense + 1))
            return job_fail(job, flag,
                            "moe-layer-freq '%s': a plan has its dense layers first, or "
                            "experts in every n-th layer",
                            text);
        job_set_count(job, "model.moe_every", dense + 1, flag);
    }
    job_set_count(job, "model.dense_layers", layers - experts, flag);
    return STATUS_OK;
}

/* ---- the pipeline ---- */

enum status megatron_read_layout(struct job *job, const char *flag, const char **layout)
{
    static const char parts[] = "embedding=E decoder=t mtp=m loss=L";
    const struct setting *s = job_setting(job, flag);
    if (!s || s->trouble || (s->n == 1 && !strstr(s->values[0], "decoder")))
        return job_word(job, flag, layout);
    struct text text = {.arena = job->arena};
    for (size_t i = 0; i < s->n; i++) {
        text_append(&text, i ? "|" : "");
        for (const char *at = s->values[i]; *at;) {
            size_t skip = strspn(at, ",[] "), n = strcspn(at + skip, ",[] ");
            const char *name = arena_strndup(job->arena, at + skip, n);
            const char *letter = n ? job_convert(job, parts, name) : "";
            if (!letter)
                return job_fail(job, flag, "'%.40s' is no part of a layout", name);
            text_append(&text, letter);
            at += skip + n;
        }
    }
    *layout = text_string(&text);
    return STATUS_OK;
}

/* "E t*13|t*14,L": layers of each chunk, or the text itself where a list of layers does not say
 * it: chunks without layers, ends and modules that stand alone. */
enum status megatron_set_layout(struct job *job, const char *text, uint64_t pp)
{
    static const char flag[] = "pipeline-model-parallel-layout";
    struct layout *layout = arena_alloc(job->arena, 1, sizeof *layout);
    const char **stages = arena_alloc(job->arena, PLAN_LIST + 1, sizeof *stages);
    if (!layout_read(text, layout))
        return job_fail(job, flag, "'%.100s' is no layout of E, t, m, L and |", text);
    if (pp == 0 || layout->n % pp != 0)
        return job_fail(job, flag, "%" PRIu64 " chunks for %" PRIu64 " pipeline ranks",
                        layout->n, pp);
    for (uint64_t i = 0; i < layout->n; i++)
        stages[i] = arena_printf(job->arena, "%" PRIu64, layout->chunk[i].layers);
    if (layout_is_plain(layout))
        job_set_list(job, "parallel.stages", stages, layout->n, flag);
    else
        job_set(job, "parallel.layout", text, flag);
    if (layout->n / pp > 1)
        job_set_count(job, "parallel.vpp", layout->n / pp, flag);
    return STATUS_OK;
}

/* Adapters' targets that a job says by an expression of their modules' names: re.fullmatch of
 * PEFT (tuners/tuners_utils.py, check_target_module_exists). Names: transformers' models of
 * Qwen, Llama, DeepSeek, Gemma, GLM and Qwen3-Next. */
#include <inttypes.h>
#include <string.h>

#include "base/number.h"
#include "base/pattern.h"
#include "base/text.h"
#include "plan/trainer/trainer.h"

/* Linear layers by the module they stand in. */
static const struct {
    const char *modules, *layers; /* '|' between those of versions and models */
} linear[] = {
    {"self_attn.",
     "q_proj|k_proj|v_proj|o_proj|q_a_proj|q_b_proj|kv_a_proj_with_mqa|kv_b_proj"},
    {"self_attn.indexer.", "wq_b|wk|weights_proj"},
    {"linear_attn.",
     "in_proj_qkvz|in_proj_ba|in_proj_qkv|in_proj_z|in_proj_b|in_proj_a|out_proj"},
    {"mixer.|mamba.", "in_proj|x_proj|dt_proj|out_proj"},
    {"mlp.|feed_forward.|mlp.shared_expert.|mlp.shared_experts.|feed_forward.shared_expert.|"
     "mlp.experts.0.",
     "gate_proj|up_proj|down_proj"},
};

static const char *const before[] = {"model.layers.", "model.language_model.layers.",
                                     "language_model.model.layers."};

enum { BEFORE = sizeof before / sizeof *before };

bool trainer_is_expression(const struct setting *s)
{
    return s && s->n == 1 && s->values[0] && strpbrk(s->values[0], "\\()|[]*+?^$");
}

static const char *after(const char *words)
{
    const char *bar = strchr(words, '|');
    return bar ? bar + 1 : NULL;
}

/* What a setting means of a linear layer's name: an expression of all of it, or names that it
 * ends with. */
struct chooser {
    const char *expression; /* NULL: names */
    const char *words[PLAN_NAMES];
    size_t n;
    bool all;
};

static struct chooser chooser_of(struct job *job, const char *flag)
{
    const struct setting *s = job_setting(job, flag);
    struct chooser c = {.n = trainer_words(job, flag, c.words)};
    if (trainer_is_expression(s))
        return (struct chooser){.expression =
                                    arena_printf(job->arena, "(?:%s)$", s->values[0])};
    c.all = c.n == 1 && (text_equal(c.words[0], "all-linear") || text_equal(c.words[0], "all"));
    return c;
}

static bool ends_so(const char *name, const char *word)
{
    size_t n = strlen(name), m = strlen(word);
    return text_equal(name, word) ||
           (n > m && name[n - m - 1] == '.' && text_equal(name + n - m, word));
}

static enum pattern_fit means(const struct chooser *c, const char *name)
{
    if (c->expression)
        return pattern_begins(c->expression, name);
    bool found = c->all;
    for (size_t i = 0; i < c->n; i++)
        found = found || ends_so(name, c->words[i]);
    return found ? PATTERN_YES : PATTERN_NO;
}

/* Whether one of the names that a linear layer of a model's layer may have is meant by one and
 * not by the other. */
static enum pattern_fit fits(struct arena *arena, const struct chooser of[2], uint64_t layer,
                             const char *modules, const char *name)
{
    enum pattern_fit best = PATTERN_NO;
    for (unsigned i = 0; i < BEFORE; i++)
        for (const char *m = modules; m && best == PATTERN_NO; m = after(m)) {
            const char *whole =
                arena_printf(arena, "%s%" PRIu64 ".%.*s%.*s", before[i], layer,
                             (int)strcspn(m, "|"), m, (int)strcspn(name, "|"), name);
            best = means(&of[0], whole);
            enum pattern_fit out = best == PATTERN_NO ? PATTERN_NO : means(&of[1], whole);
            best = out == PATTERN_NO ? best : out == PATTERN_YES ? PATTERN_NO : out;
        }
    return best;
}

/* Of the layers that some linear layer is meant in alone the numbers, those of all such. */
struct meant {
    const char *words[PLAN_NAMES];
    size_t n;
    const char *layers[PLAN_LIST];
    size_t n_layers; /* 0: all */
    bool differ;     /* from one to another */
};

static bool has_word(const char *const *words, size_t n, const char *word)
{
    for (size_t i = 0; i < n; i++)
        if (text_equal(words[i], word))
            return true;
    return false;
}

static void add_meant(struct meant *meant, const char *word, const char *const *layers,
                      size_t n, bool some)
{
    size_t here = some && n <= PLAN_LIST ? n : 0;
    bool same = here == meant->n_layers;
    for (size_t i = 0; i < here && same && meant->n; i++)
        same = text_equal(layers[i], meant->layers[i]);
    meant->differ = meant->differ || (meant->n && !same) || (some && !here);
    if (!meant->n)
        for (size_t i = 0; i < here; i++)
            meant->layers[i] = layers[i];
    meant->n_layers = meant->n ? meant->n_layers : here;
    if (meant->n < PLAN_NAMES && !has_word(meant->words, meant->n, word))
        meant->words[meant->n++] = word;
}

/* One linear layer in all layers. */
static enum pattern_fit ask(struct job *job, const struct chooser of[2], uint64_t layers,
                            const char *modules, const char *name, struct meant *meant)
{
    const char **numbers = arena_alloc(job->arena, layers, sizeof *numbers);
    size_t n = 0;
    for (uint64_t i = 0; i < layers; i++) {
        enum pattern_fit fit = fits(job->arena, of, i, modules, name);
        if (fit == PATTERN_UNKNOWN)
            return fit;
        if (fit == PATTERN_YES)
            numbers[n++] = arena_printf(job->arena, "%" PRIu64, i);
    }
    if (n)
        add_meant(meant, arena_strndup(job->arena, name, strcspn(name, "|")), numbers, n,
                  n < layers);
    return PATTERN_YES;
}

/* Whether a model has what stands in a module: a list of names without one would be long. */
static bool may_have(const struct plan *plan, const char *modules, const char *name)
{
    bool latent = plan->model.attention.kind == ATTENTION_MLA;
    bool low = strstr(name, "_a_proj") == name + 1 || strstr(name, "_b_proj") == name + 1 ||
               text_starts(name, "kv_");
    if (text_starts(modules, "linear_attn.") || text_starts(modules, "mixer."))
        return plan->model.layer_types.n > 0;
    if (strstr(modules, "indexer."))
        return plan->model.indexer.heads > 0;
    return !low || latent;
}

enum status trainer_match_targets(struct job *job, const char *flag,
                                  const char *words[PLAN_NAMES], size_t *n)
{
    static const char exclude[] = "exclude_modules";
    const struct setting *s = job_setting(job, flag), *other = job_setting(job, exclude);
    const struct chooser of[2] = {chooser_of(job, flag), chooser_of(job, exclude)};
    struct plan *plan = arena_alloc(job->arena, 1, sizeof *plan);
    struct meant meant = {.n = 0};
    struct mark mark = s ? s->mark : other ? other->mark : job_place(job);
    uint64_t layers = 0;
    bool known, named = !of[0].expression;
    *n = 0;
    TRY(job_layers(job, &layers));
    TRY(job_model(job, plan, &known));
    for (size_t i = 0; i < sizeof linear / sizeof *linear; i++)
        for (const char *name = linear[i].layers; name; name = after(name)) {
            if (named && known && !may_have(plan, linear[i].modules, name))
                continue;
            if (ask(job, of, layers ? layers : 1, linear[i].modules, name, &meant) !=
                PATTERN_UNKNOWN)
                continue;
            job_warn(job, mark,
                     "the expression of '%s' is not understood, which matters to memory: every "
                     "linear layer has an adapter here",
                     of[0].expression ? flag : exclude);
            words[0] = "all-linear";
            *n = 1;
            return STATUS_OK;
        }
    if (!meant.n)
        return job_fail(job, flag, "no linear layer of the model is called as '%s' says",
                        s && s->n ? s->values[0] : flag);
    memcpy(words, meant.words, meant.n * sizeof *words);
    *n = meant.n;
    if (meant.differ)
        job_warn(job, mark,
                 "adapters of some layers alone that differ from one linear layer to another "
                 "matter to memory and are not modelled: all layers have them here");
    else if (meant.n_layers && layers)
        job_set_list(job, "lora.layers", meant.layers, meant.n_layers, flag);
    return STATUS_OK;
}

/* ---- ranks ---- */

/* What rank_pattern says, one name or expression an entry (PEFT utils/other.py,
 * get_pattern_key: of the whole name of a module, or of what stands behind a dot of it). */
struct ranks {
    const char *patterns[PLAN_NAMES];
    uint64_t ranks[PLAN_NAMES];
    size_t n;
    struct setting *first;
};

static enum status read_ranks(struct job *job, struct ranks *r)
{
    static const char *const heads[] = {"rank_pattern.", "lora_rank_pattern."};
    *r = (struct ranks){.n = 0};
    for (size_t i = 0; i < job->n_settings; i++)
        for (size_t h = 0; h < sizeof heads / sizeof *heads; h++) {
            struct setting *s = &job->settings[i];
            uint64_t rank = 0;
            if (s->null || s->trouble || s->n != 1 || !text_starts(s->name, heads[h]))
                continue;
            if (!number_count(s->values[0], &rank) || rank < 1 || rank > 1000000)
                return err_at(job->err, s->mark,
                              "'%s' of '%s' is no rank: a whole number from 1 to 1000000",
                              s->values[0], s->name);
            s->used = true;
            if (r->n == PLAN_NAMES)
                return err_at(job->err, s->mark,
                              "more than the limit of %d entries of rank_pattern", PLAN_NAMES);
            r->first = r->first ? r->first : s;
            r->patterns[r->n] = s->name + strlen(heads[h]);
            r->ranks[r->n++] = rank;
        }
    return STATUS_OK;
}

/* The rank that the first fitting pattern gives a linear layer of a layer, 0: none does. */
static uint64_t rank_in(struct job *job, const struct ranks *r, uint64_t layer,
                        const char *modules, const char *name, bool *unknown)
{
    for (size_t p = 0; p < r->n; p++) {
        const struct chooser of[2] = {
            {.expression = arena_printf(job->arena, "(?:.*\\.)?(?:%s)$", r->patterns[p])},
            {.n = 0}};
        enum pattern_fit fit = fits(job->arena, of, layer, modules, name);
        *unknown = *unknown || fit == PATTERN_UNKNOWN;
        if (fit == PATTERN_YES)
            return r->ranks[p];
    }
    return 0;
}

/* That of a name in all layers; *differ where some have another, of which the greatest. */
static uint64_t rank_of(struct job *job, const struct ranks *r, uint64_t layers,
                        const char *modules, const char *name, bool *differ, bool *unknown)
{
    uint64_t most = 0;
    for (uint64_t i = 0; i < layers; i++) {
        uint64_t rank = rank_in(job, r, i, modules, name, unknown);
        *differ = *differ || (i && rank != most);
        most = rank > most ? rank : most;
    }
    return most;
}

static size_t place_of(const char *words[PLAN_NAMES], size_t *n, const char *name, bool all)
{
    size_t at = 0;
    while (at < *n && !text_equal(words[at], name))
        at++;
    if (at == *n && all && *n < PLAN_NAMES)
        words[(*n)++] = name;
    return at;
}

enum status trainer_match_ranks(struct job *job, const char *words[PLAN_NAMES], size_t *n)
{
    struct ranks r;
    uint64_t layers = 0, given[PLAN_NAMES] = {0};
    bool differ = false, unknown = false, any = false;
    TRY(read_ranks(job, &r));
    TRY(job_layers(job, &layers));
    if (!r.n)
        return STATUS_OK;
    if (!*n)
        words[(*n)++] = "all-linear";
    const bool all = has_word(words, *n, "all-linear");
    for (size_t i = 0; i < sizeof linear / sizeof *linear; i++)
        for (const char *name = linear[i].layers; name; name = after(name)) {
            uint64_t rank = rank_of(job, &r, layers ? layers : 1, linear[i].modules, name,
                                    &differ, &unknown);
            const char *word = arena_strndup(job->arena, name, strcspn(name, "|"));
            size_t at = rank ? place_of(words, n, word, all) : *n;
            if (at >= *n)
                continue;
            any = true;
            given[at] = rank > given[at] ? rank : given[at];
        }
    if (differ || unknown || !any)
        job_warn(job, r.first->mark, "%s",
                 unknown ? "an expression of rank_pattern is not understood, which matters to "
                           "memory: what it names has lora_r here"
                 : differ
                     ? "ranks that differ from layer to layer matter to memory and are not "
                       "modelled: the greatest is that of all layers here"
                     : "no linear layer with an adapter is called as rank_pattern says, "
                       "which matters to memory: all have lora_r");
    const char *ranks[PLAN_NAMES];
    for (size_t i = 0; i < *n; i++)
        ranks[i] = arena_printf(job->arena, "%" PRIu64, given[i]);
    if (any)
        draft_set_list(&job->draft, "lora.ranks", ranks, *n, r.first->mark, "rank_pattern");
    return STATUS_OK;
}

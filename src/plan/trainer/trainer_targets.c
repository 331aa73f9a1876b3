/* Adapters' targets that a job says by an expression of their modules' names: re.fullmatch of
 * PEFT (tuners/tuners_utils.py, check_target_module_exists). Names: transformers' models of
 * Qwen, Llama, DeepSeek, Gemma, GLM and Qwen3-Next. */
#include <inttypes.h>
#include <string.h>

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

/* Whether one of the names that a linear layer of a model's layer may have fits. */
static enum pattern_fit fits(struct arena *arena, const char *expression, uint64_t layer,
                             const char *modules, const char *name)
{
    enum pattern_fit best = PATTERN_NO;
    for (unsigned i = 0; i < BEFORE; i++)
        for (const char *m = modules; m && best == PATTERN_NO; m = after(m))
            best =
                pattern_begins(expression, arena_printf(arena, "%s%" PRIu64 ".%.*s%.*s",
                                                        before[i], layer, (int)strcspn(m, "|"),
                                                        m, (int)strcspn(name, "|"), name));
    return best;
}

/* Of the model's layers that have the linear layer those where it fits. */
static enum pattern_fit count_fits(struct arena *arena, const char *expression, uint64_t layers,
                                   const char *modules, const char *name, uint64_t *n)
{
    *n = 0;
    for (uint64_t i = 0; i < layers; i++) {
        enum pattern_fit fit = fits(arena, expression, i, modules, name);
        if (fit == PATTERN_UNKNOWN)
            return fit;
        *n += fit == PATTERN_YES;
    }
    return *n ? PATTERN_YES : PATTERN_NO;
}

static bool has_word(const char *const *words, size_t n, const char *word)
{
    for (size_t i = 0; i < n; i++)
        if (text_equal(words[i], word))
            return true;
    return false;
}

enum status trainer_match_targets(struct job *job, const char *flag,
                                  const char *words[PLAN_NAMES], size_t *n)
{
    const struct setting *s = job_setting(job, flag);
    const char *whole = arena_printf(job->arena, "(?:%s)$", s->values[0]);
    uint64_t layers = 0, fitting;
    bool some = false;
    *n = 0;
    TRY(job_layers(job, &layers));
    for (size_t i = 0; i < sizeof linear / sizeof *linear; i++)
        for (const char *name = linear[i].layers; name; name = after(name)) {
            const char *word = arena_strndup(job->arena, name, strcspn(name, "|"));
            enum pattern_fit fit = count_fits(job->arena, whole, layers ? layers : 1,
                                              linear[i].modules, name, &fitting);
            if (fit == PATTERN_UNKNOWN) {
                job_warn(job, s->mark,
                         "the expression of '%s' is not understood, which matters to memory: "
                         "every linear layer has an adapter here",
                         flag);
                words[0] = "all-linear";
                *n = 1;
                return STATUS_OK;
            }
            some = some || (fitting && fitting < layers);
            if (fit == PATTERN_YES && *n < PLAN_NAMES && !has_word(words, *n, word))
                words[(*n)++] = word;
        }
    if (!*n)
        return job_fail(job, flag, "no linear layer of the model is called as '%s' says",
                        s->values[0]);
    if (some)
        job_warn(job, s->mark,
                 "adapters of some layers alone matter to memory and are not modelled: all "
                 "layers have them here");
    return STATUS_OK;
}

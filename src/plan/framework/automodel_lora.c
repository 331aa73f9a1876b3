/* Which matrices have adapters by Automodel's patterns, which meet whole names of modules; see
 * automodel.h. Read at NVIDIA-NeMo/Automodel 0c85dc1289ab
 * (components/_peft/module_matcher.py) and 98f4a6892a01 (components/_peft/lora.py). */
#include <fnmatch.h>
#include <string.h>

#include "base/text.h"
#include "plan/framework/automodel.h"

/* Linear layers of a layer, as they are called on the hub; the next layer's name would do. */
static const struct module {
    const char *name;
    const char *paths[2]; /* in a dense network, in shared experts; NULL: no more */
} modules[] = {
#define ATTENTION "model.layers.1.self_attn."
#define DENSE "model.layers.1.mlp."
#define SHARED "model.layers.1.mlp.shared_experts."
    {"q_proj", {ATTENTION "q_proj", NULL}},
    {"k_proj", {ATTENTION "k_proj", NULL}},
    {"v_proj", {ATTENTION "v_proj", NULL}},
    {"o_proj", {ATTENTION "o_proj", NULL}},
    {"q_a_proj", {ATTENTION "q_a_proj", NULL}},
    {"q_b_proj", {ATTENTION "q_b_proj", NULL}},
    {"kv_a_proj_with_mqa", {ATTENTION "kv_a_proj_with_mqa", NULL}},
    {"kv_b_proj", {ATTENTION "kv_b_proj", NULL}},
    {"gate_proj", {DENSE "gate_proj", SHARED "gate_proj"}},
    {"up_proj", {DENSE "up_proj", SHARED "up_proj"}},
    {"down_proj", {DENSE "down_proj", SHARED "down_proj"}},
};

enum { MODULES = sizeof modules / sizeof *modules };

/* With a backend all routed experts are one module, which is no linear layer; without they are
 * linear layers each. */
static const char experts_name[] = "model.layers.1.mlp.experts",
                  expert_name[] = "model.layers.1.mlp.experts.1.gate_proj";

static bool lists(const struct setting *s, const char *name)
{
    for (size_t i = 0; s && !s->trouble && i < s->n; i++)
        if (text_equal(s->values[i], name) || fnmatch(s->values[i], name, FNM_NOESCAPE) == 0)
            return true;
    return false;
}

static bool has(const struct setting *s)
{
    return s && !s->null && !s->trouble && s->n > 0;
}

/* ModuleMatcher.match: every linear layer; what is listed; what is not; or names in _proj. */
static bool meets(const struct automodel_patterns *p, const char *name, bool linear)
{
    if (p->all || (!has(p->targets) && has(p->excluded)))
        return linear && (p->all || !lists(p->excluded, name));
    return has(p->targets) ? lists(p->targets, name)
                           : fnmatch("*_proj", name, FNM_NOESCAPE) == 0;
}

/* Names of one matrix each, which need no patterns. */
static bool names_alone(const struct setting *s, const char *words[PLAN_NAMES], size_t *n)
{
    *n = 0;
    for (size_t i = 0; i < s->n && *n < PLAN_NAMES; i++) {
        const char *dot = strrchr(s->values[i], '.'), *last = dot ? dot + 1 : s->values[i];
        if (strchr(last, '*'))
            return false;
        words[(*n)++] = last;
    }
    return true;
}

static size_t by_patterns(const struct automodel_patterns *p, const char *words[PLAN_NAMES])
{
    size_t n = 0;
    for (size_t i = 0; i < MODULES; i++) {
        const struct module *m = &modules[i];
        if (meets(p, m->paths[0], true) || (m->paths[1] && meets(p, m->paths[1], true)))
            words[n++] = m->name;
    }
    return n;
}

static bool has_network(const char *const words[], size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < MODULES; k++)
            if (modules[k].paths[1] && text_equal(words[i], modules[k].name))
                return true;
    return false;
}

enum status automodel_set_targets(struct job *job, const struct automodel_patterns *p)
{
    const char *words[PLAN_NAMES];
    struct plan *plan = arena_alloc(job->arena, 1, sizeof *plan);
    bool known;
    size_t n;
    TRY(job_part(job, "model", plan, &known));
    const bool routed = known && plan->model.moe.experts > 0;
    const bool experts = meets(p, p->backend ? experts_name : expert_name, !p->backend);
    if (!has(p->targets) || p->all || !names_alone(p->targets, words, &n))
        n = by_patterns(p, words);
    if (n && n < MODULES) /* else all of a layer, which is the key's default */
        job_set_list(job, "lora.targets", words, n, p->flags);
    if (routed && !experts && (!n || n == MODULES || has_network(words, n)))
        job_set(job, "lora.skip_experts", "true", p->flags);
    if (!routed || !experts || !p->scales || !p->backend)
        return STATUS_OK;
    uint64_t rank = p->rank / (plan->model.moe.top_k ? plan->model.moe.top_k : 1);
    job_set_count(job, "lora.expert_rank", rank ? rank : 1, p->scale_flag);
    return STATUS_OK;
}

/* See lora.h. */
#include "work/piece/lora.h"

#include "base/text.h"

/* A target of the plan, the matrix it stands beside and the width of what it adds to. */
static const struct target {
    const char *name, *matrix;
    enum col out;
    bool usual; /* of an empty list: all linear layers */
} targets[] = {
    {"q_proj", "qkv", COL_Q, true},
    {"q_proj", "q", COL_Q, true},
    {"q_a_proj", "q_down", COL_Q_RANK, true},
    {"q_b_proj", "q_up", COL_Q, true},
    {"kv_a_proj_with_mqa", "kv_down", COL_KV_LATENT, true},
    {"kv_b_proj", "kv_up", COL_KV_UP, true},
    {"k_proj", "qkv", COL_K, true},
    {"v_proj", "qkv", COL_V, true},
    {"o_proj", "attention_out", COL_HIDDEN, true},
    {"gate_proj", "mlp_gate_up", COL_DENSE, true},
    {"gate_proj", "shared_gate_up", COL_SHARED_INTER, true},
    {"gate_proj", "expert_gate_up", COL_INTER, true},
    {"up_proj", "mlp_gate_up", COL_DENSE, true},
    {"up_proj", "shared_gate_up", COL_SHARED_INTER, true},
    {"up_proj", "expert_gate_up", COL_INTER, true},
    {"down_proj", "mlp_down", COL_HIDDEN, true},
    {"down_proj", "shared_down", COL_HIDDEN, true},
    {"down_proj", "expert_down", COL_HIDDEN, true},
    {"linear_qkv", "qkv", COL_QKV, false},
    {"linear_q_down_proj", "q_down", COL_Q_RANK, false},
    {"linear_q_up_proj", "q_up", COL_Q, false},
    {"linear_q_proj", "q", COL_Q, false},
    {"linear_kv_down_proj", "kv_down", COL_KV_LATENT, false},
    {"linear_kv_up_proj", "kv_up", COL_KV_UP, false},
    {"linear_proj", "attention_out", COL_HIDDEN, false},
    {"linear_fc1", "mlp_gate_up", COL_DENSE_IN, false},
    {"linear_fc1", "shared_gate_up", COL_SHARED_IN, false},
    {"linear_fc1", "expert_gate_up", COL_INTER_IN, false},
    {"linear_fc2", "mlp_down", COL_HIDDEN, false},
    {"linear_fc2", "shared_down", COL_HIDDEN, false},
    {"linear_fc2", "expert_down", COL_HIDDEN, false},
};

enum { TARGETS = sizeof targets / sizeof *targets };

bool lora_is_on(const struct plan *plan)
{
    return plan->workload.mode == MODE_TRAIN && plan->lora.rank > 0;
}

static bool is_asked(const struct plan *plan, const struct target *target)
{
    const struct word_list *words = &plan->lora.targets;
    bool found = words->n == 0 && target->usual;
    for (uint64_t i = 0; i < words->n; i++)
        found = found || text_equal(words->word[i], target->name) ||
                (text_equal(words->word[i], "all-linear") && target->usual);
    return found;
}

struct lora_sides lora_of(const struct plan *plan, struct sizes *z, const struct dims *d,
                          const struct layer_matrix *matrix)
{
    struct lora_sides sides = {0, size_const(z, 0)};
    for (size_t i = 0; i < TARGETS && lora_is_on(plan); i++) {
        if (!text_equal(targets[i].matrix, matrix->name) || !is_asked(plan, &targets[i]))
            continue;
        sides.n++;
        sides.outputs = size_add(z, sides.outputs, d->width[targets[i].out]);
    }
    return sides;
}

struct lora_sum lora_parameters(const struct plan *plan, struct sizes *z)
{
    struct dims d;
    size_t n;
    const struct layer_matrix *matrices = matrices_of_layer(&n);
    struct size layers;
    struct lora_sum sum = {size_const(z, 0), size_const(z, 0)};
    dims_fill(&d, plan, z);
    for (size_t i = 0; i < n; i++) {
        const struct layer_matrix *m = &matrices[i];
        if (!matrix_in_model(m, &d, &layers))
            continue;
        struct lora_sides sides = lora_of(plan, z, &d, m);
        if (!sides.n)
            continue;
        struct size both = size_add(z, size_times(z, d.width[m->in], sides.n), sides.outputs);
        struct size all = size_times(z, size_mul(z, layers, both), plan->lora.rank);
        if (m->expert)
            sum.experts = size_add(z, sum.experts, size_mul(z, all, d.letters.local));
        else
            sum.dense = size_add(z, sum.dense, all);
    }
    return sum;
}

static const char *target_at(const void *table, size_t i)
{
    return ((const struct target *)table)[i].name;
}

enum status lora_check(const struct plan *plan, struct err *err)
{
    const struct word_list *words = &plan->lora.targets;
    for (uint64_t i = 0; i < words->n && lora_is_on(plan); i++) {
        bool known = text_equal(words->word[i], "all-linear");
        for (size_t j = 0; j < TARGETS; j++)
            known = known || text_equal(targets[j].name, words->word[i]);
        if (known)
            continue;
        err_set(err, STATUS_INPUT, "lora.targets: no matrix is called '%s'", words->word[i]);
        const char *nearest = text_nearest(words->word[i], TARGETS, target_at, targets);
        return err_hint(err, "did you mean '%s'? 'all-linear' is every matrix of a layer",
                        nearest ? nearest : "q_proj");
    }
    return STATUS_OK;
}

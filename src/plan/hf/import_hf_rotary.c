/* What rotates: columns of heads, and the tables of cosines and sines that engines make of it,
 * one for each base and width (vLLM transformers_utils/config.py 0.33, patch_rope_parameters;
 * layers/ rotary_embedding, get_rope). */
#include "base/number.h"
#include "base/text.h"
#include "plan/hf/import_hf_table.h"
#include "plan/layers.h"

/* Number `at` of a list; 0: there is none. */
static double number_at(const struct node *config, const char *key, uint64_t at)
{
    const struct node *item = import_item(config, key, at);
    double value;
    return item && number_real(item->text, &value) ? value : 0;
}

static double number_of(const struct node *config, const char *key)
{
    const struct node *node = config ? import_value(config, key, NODE_SCALAR) : NULL;
    double value;
    return node && number_real(node->text, &value) ? value : 0;
}

/* A number between 0 and 1 under one of its names; 0: none. */
static double share_of(const struct node *config)
{
    static const char *const names[] = {"partial_rotary_factor", "rotary_pct",
                                        "rotary_emb_fraction"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        double share = number_of(config, names[i]);
        if (share > 0 && share < 1)
            return share;
    }
    return 0;
}

/* Columns of a head, where a share of them rotates. */
static uint64_t columns_of(double share, uint64_t head)
{
    return share > 0 ? (uint64_t)(share * (double)head) : head;
}

/* The first layer of a kind from 0 on; no layer: UINT64_MAX. */
static uint64_t first_of(const struct node *config, const char *type)
{
    for (uint64_t i = 0; import_item(config, "layer_types", i); i++)
        if (import_item_is(config, "layer_types", i, type))
            return i;
    return UINT64_MAX;
}

/* One kind of layers and its rope: base, what scales it, the share of a head that rotates. */
struct rope {
    double base, share;
    const char *type;
};

static struct rope rope_of(const struct node *mapping)
{
    const struct node *type = import_value(mapping, "rope_type", NODE_SCALAR);
    return (struct rope){number_of(mapping, "rope_theta"), share_of(mapping),
                         type ? type->text : "default"};
}

/* As lists of all layers have it (vLLM models/step3p5.py, _get_rope_parameters). */
static struct rope rope_at(const struct node *config, uint64_t layer)
{
    double share = number_at(config, "partial_rotary_factors", layer);
    return (struct rope){number_at(config, "rope_theta", layer), share < 1 ? share : 0,
                         "default"};
}

/* Those of full layers and of window layers, where the configuration has both: by kinds
 * (transformers 5), by layers (Step-3.5), or under names of their own (Gemma 3, MiMo-V2,
 * Laguna's first). */
static bool read_ropes(const struct node *config, struct rope *full, struct rope *window)
{
    const struct node *all = import_value(config, "rope_parameters", NODE_MAPPING);
    const struct node *whole = all ? import_value(all, "full_attention", NODE_MAPPING) : NULL;
    const struct node *slides =
        all ? import_value(all, "sliding_attention", NODE_MAPPING) : NULL;
    const struct node *swa = import_value(config, "swa_rope_parameters", NODE_MAPPING);
    uint64_t one = first_of(config, "full_attention");
    uint64_t other = first_of(config, "sliding_attention");
    double local = number_of(config, "rope_local_base_freq");
    double share = share_of(config);
    *full = (struct rope){number_of(config, "rope_theta"), share, "default"};
    *window = *full;
    if (whole && slides) {
        *full = rope_of(whole);
        *window = rope_of(slides);
    } else if (swa && all) {
        *full = rope_of(all);
        *window = rope_of(swa);
    } else if (import_item(config, "rope_theta", 0) && one != UINT64_MAX &&
               other != UINT64_MAX) {
        *full = rope_at(config, one);
        *window = rope_at(config, other);
    } else if (local > 0) {
        window->base = local;
    } else if (number_of(config, "swa_rope_theta") > 0) {
        window->base = number_of(config, "swa_rope_theta");
    } else {
        return false;
    }
    return true;
}

static bool is_one_table(const struct rope *a, const struct rope *b)
{
    return a->base == b->base && a->share == b->share && text_equal(a->type, b->type);
}

/* An indexer's halves lie as attention's: it says so, and in GLM-5 always. */
static bool shares_index(const struct node *config)
{
    const struct node *type = import_value(config, "model_type", NODE_SCALAR);
    return import_is_true(config, "indexer_rope_interleave") ||
           (type && text_starts(type->text, "glm"));
}

/* Beside the first: window layers' own, unless heads of another size say it; the indexer's,
 * whose halves lie otherwise than attention's (vLLM models/deepseek_v2.py, indexer_rope_emb:
 * is_neox_style); of compressed layers (vLLM models/deepseek_v4/common/rope.py). */
static void set_beside(const struct node *config, struct model *model, bool two,
                       const struct rope *full, const struct rope *window)
{
    const struct attention *a = &model->attention;
    bool slides = model_mixers(model, MIXER_WINDOW) > 0;
    bool own_head = model->window.head_dim && model->window.head_dim != a->head_dim;
    if (a->kind == ATTENTION_SHARED_KV && slides)
        model->rotary_beside = a->qk_rope_head_dim;
    else if (a->kind == ATTENTION_MLA && model->indexer.heads && !shares_index(config))
        model->rotary_beside = a->qk_rope_head_dim;
    else if (a->kind == ATTENTION_GQA && slides && two && !own_head &&
             !is_one_table(full, window))
        model->rotary_beside = columns_of(window->share, a->head_dim);
}

void import_rotary(const struct node *config, struct model *model)
{
    struct attention *a = &model->attention;
    const struct node *rope = import_value(config, "rope_parameters", NODE_MAPPING);
    struct rope full, window;
    bool two = read_ropes(config, &full, &window);
    double share = share_of(config);
    uint64_t columns = import_count(config, "rotary_dim", 0);
    if (share <= 0)
        share = share_of(rope);
    if (share <= 0 && two && !text_equal(full.type, "proportional")) /* Gemma 4's is whole */
        share = full.share;
    if (!columns)
        columns = (uint64_t)(share * (double)a->head_dim);
    if (a->kind == ATTENTION_GQA && columns && columns < a->head_dim)
        a->qk_rope_head_dim = columns;
    set_beside(config, model, two, &full, &window);
}

/* Reads config.json by the table of its architecture; see import_hf.h. */
#include "plan/hf/import_hf.h"

#include "plan/hf/import_hf_format.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "plan/hf/import_hf_table.h"
#include "plan/layers.h"

enum { IMPORT_KEY = 64 };

#define IMPORT_LIMIT UINT64_C(1000000000)

/* The language model of a multimodal configuration, and what stands around it. */
struct config {
    const struct node *inner, *outer;
    const char *architecture; /* as the file calls it */
};

/* ---- which architecture ---- */

/* The value of model_type, or the first of architectures; NULL when neither is a text. */
static const struct node *architecture_node(const struct node *config)
{
    const struct node *list = node_get(config, "architectures");
    if (list && list->kind == NODE_SEQUENCE && list->first && list->first->kind == NODE_SCALAR)
        return list->first;
    const struct node *type = node_get(config, "model_type");
    return type && type->kind == NODE_SCALAR && !node_is_null(type) ? type : NULL;
}

static const struct node *mapping(const struct node *config, const char *key)
{
    const struct node *value = node_get(config, key);
    return value && value->kind == NODE_MAPPING ? value : NULL;
}

const struct node *import_text_config(const struct node *config, const struct node **outer)
{
    const struct node *thinker = mapping(config, "thinker_config");
    *outer = thinker ? thinker : config;
    const struct node *text = mapping(*outer, "text_config");
    text = text ? text : mapping(*outer, "llm_config"); /* InternVL's name */
    return text ? text : *outer;
}

bool import_hf_is_config(const struct node *config)
{
    if (config->kind != NODE_MAPPING)
        return false;
    if (node_get(config, "model_type") || node_get(config, "architectures"))
        return true;
    const struct node *outer;
    return node_get(import_text_config(config, &outer), "model_type");
}

static const struct import_families *const files[] = {
    &import_latent, &import_experts, &import_recurrent, &import_dense, &import_plain};

static const struct import_family *find_family(const char *name)
{
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        for (size_t j = 0; j < files[i]->n; j++)
            for (const char *const *known = files[i]->family[j].names; *known; known++)
                if (text_equal(*known, name))
                    return &files[i]->family[j];
    return NULL;
}

/* The i-th name of all, or NULL behind the last. */
static const char *name_at(const void *table, size_t i)
{
    (void)table;
    for (size_t f = 0; f < sizeof files / sizeof *files; f++)
        for (size_t j = 0; j < files[f]->n; j++)
            for (const char *const *name = files[f]->family[j].names; *name; name++)
                if (i-- == 0)
                    return *name;
    return NULL;
}

void import_hf_known(struct text *out)
{
    const char *name;
    for (size_t i = 0; (name = name_at(NULL, i)); i++)
        if (!isupper((unsigned char)*name) && !text_ends(name, "_text"))
            text_printf(out, "%s%s", text_string(out)[0] ? ", " : "", name);
}

static enum status refuse(const struct node *name, struct err *err)
{
    const char *reason = import_refused(name->text);
    if (reason) {
        err_at(err, name->mark, "architecture '%s' is not supported: it has %s", name->text,
               reason);
        return err_hint(err, "write the model's own keys where its layers are of known "
                             "types, as models/*.yaml do");
    }
    size_t n = 0;
    while (name_at(NULL, n))
        n++;
    const char *near = text_nearest(name->text, n, name_at, NULL);
    err_at(err, name->mark, "architecture '%s' is not known", name->text);
    if (near)
        return err_hint(err,
                        "did you mean '%s'? Else write the model's own keys, as "
                        "models/*.yaml do",
                        near);
    return err_hint(err, "write the model's own keys, as models/*.yaml do");
}

static enum status find_architecture(struct config *config, const struct import_family **family,
                                     struct err *err)
{
    const struct node *places[] = {config->inner, config->outer};
    const struct node *unknown = NULL;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        const struct node *names[] = {architecture_node(places[i]),
                                      node_get(places[i], "model_type")};
        for (size_t j = 0; j < sizeof names / sizeof *names; j++) {
            if (!names[j] || names[j]->kind != NODE_SCALAR)
                continue;
            *family = find_family(names[j]->text);
            config->architecture = names[j]->text;
            if (*family)
                return STATUS_OK;
            unknown = unknown ? unknown : names[j];
        }
    }
    if (unknown)
        return refuse(unknown, err);
    err_at(err, config->outer->mark,
           "configuration names no architecture: 'model_type' is missing");
    return STATUS_INPUT;
}

const struct import_family *import_hf_family(const struct node *config)
{
    struct config c = {0};
    struct err ignored = {0};
    const struct import_family *family = NULL;
    c.inner = import_text_config(config, &c.outer);
    return find_architecture(&c, &family, &ignored) == STATUS_OK ? family : NULL;
}

/* ---- values ---- */

/* The value of "a.b" below a mapping; NULL when absent or null. */
static const struct node *find_below(const struct node *node, const char *key)
{
    char part[IMPORT_KEY];
    while (node) {
        size_t length = strcspn(key, ".");
        snprintf(part, sizeof part, "%.*s", (int)length, key);
        node = node_get(node, part);
        if (key[length] == '\0')
            return node && !node_is_null(node) ? node : NULL;
        key += length + 1;
    }
    return NULL;
}

static const struct node *find_named(const struct config *config, const char *key)
{
    const struct node *value = find_below(config->inner, key);
    return value ? value : find_below(config->outer, key);
}

/* What transformers 5 writes in the place of keys of published configurations (attribute_map of
 * qwen3_moe, fields of kimi_linear). */
static const char *const renamed[][2] = {
    {"num_experts", "num_local_experts"},
    {"linear_attn_config.num_heads", "linear_num_heads"},
    {"linear_attn_config.head_dim", "linear_head_dim"},
    {"linear_attn_config.short_conv_kernel_size", "linear_conv_kernel_dim"},
    {"q_lora_rank", "attention_q_lora_dim"}, /* of openPangu */
    {"kv_lora_rank", "attention_kv_lora_dim"},
    {"qk_nope_head_dim", "attention_qk_dim"},
    {"qk_rope_head_dim", "attention_qk_rope_dim"},
    {"v_head_dim", "attention_v_dim"},
    {"n_routed_experts", "num_routed_experts"},
    {"n_shared_experts", "num_shared_experts"},
    {"first_k_dense_replace", "num_dense_layers"},
    {"num_nextn_predict_layers", "num_mtp_layers"},
};

/* Whether the head is tied the whole model says, where it does: its class does so, whatever its
 * language model's configuration holds (transformers modeling_utils.py, tie_weights). */
static const struct node *find_value(const struct config *config, const char *key)
{
    bool tied = text_equal(key, "tie_word_embeddings");
    const struct node *value = tied ? find_below(config->outer, key) : NULL;
    value = value ? value : find_named(config, key);
    for (size_t i = 0; !value && i < sizeof renamed / sizeof *renamed; i++)
        if (text_equal(key, renamed[i][0]))
            value = find_named(config, renamed[i][1]);
    return value;
}

static bool parse_count(const char *text, uint64_t least, uint64_t *value)
{
    uint64_t count;
    if (!number_count(text, &count) || count < least || count > IMPORT_LIMIT)
        return false;
    *value = count;
    return true;
}

static bool parse_real(const char *text, double *value)
{
    double real;
    if (!number_real(text, &real) || real < 0 || real > 1e9)
        return false;
    *value = real;
    return true;
}

static bool parse_bool(const char *text, bool *value)
{
    if (!text_equal(text, "true") && !text_equal(text, "false"))
        return false;
    *value = text_equal(text, "true");
    return true;
}

static bool parse_word(const struct import_word *words, const char *text, size_t size,
                       void *member)
{
    for (; words->text; words++) {
        if (!text_equal(words->text, text))
            continue;
        bool flag = words->value != 0;
        const void *value = size == sizeof flag ? (const void *)&flag : &words->value;
        memcpy(member, value, size);
        return true;
    }
    return false;
}

/* Counts that a configuration must give are at least 1; so is what every model has, where a
 * family's own default stands in for it, and the distance of MoE layers. */
static uint64_t least_count(const struct import_field *field)
{
    static const size_t whole[] = {
        offsetof(struct model, layers), offsetof(struct model, hidden),
        offsetof(struct model, vocab), offsetof(struct model, attention.heads),
        offsetof(struct model, moe_every)};
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
        if (field->offset == whole[i])
            return 1;
    return !field->fallback;
}

/* Reads a text into the field's member; false when it is not of the field's type. */
static bool parse_field(const struct import_field *field, const char *text, struct model *model)
{
    void *member = field->type == IMPORT_KNOWN ? NULL : (char *)model + field->offset;
    switch (field->type) {
    case IMPORT_COUNT:
        return parse_count(text, least_count(field), member);
    case IMPORT_REAL:
        return parse_real(text, member);
    case IMPORT_BOOL:
        return parse_bool(text, member);
    case IMPORT_WORD:
        return parse_word(field->words, text, field->size, member);
    case IMPORT_KNOWN:
        return true;
    }
    return false;
}

static enum status wrong_value(const struct import_field *field, const struct node *value,
                               struct err *err)
{
    static const char *const expected[] = {
        [IMPORT_COUNT] = "a whole number up to 1000000000",
        [IMPORT_REAL] = "a number from 0 to 1e9",
        [IMPORT_BOOL] = "true or false",
        [IMPORT_WORD] = "one of the known words",
    };
    const char *got = value->kind == NODE_SCALAR ? value->text : node_kind_name(value->kind);
    err_at(err, value->mark, "'%s' must be %s, not '%s'", field->key, expected[field->type],
           got);
    if (field->type == IMPORT_COUNT && least_count(field))
        return err_hint(err, "it must be at least 1");
    if (field->type != IMPORT_WORD)
        return STATUS_INPUT;
    struct arena arena = {0};
    struct text words = {.arena = &arena};
    for (const struct import_word *word = field->words; word->text; word++)
        text_printf(&words, "%s%s", word == field->words ? "" : ", ", word->text);
    err_hint(err, "known: %s", text_string(&words));
    arena_release(&arena);
    return STATUS_INPUT;
}

/* A list of one item a layer is its item where all are alike. */
static const struct node *alike(const struct node *value)
{
    if (!value || value->kind != NODE_SEQUENCE || !value->first)
        return value;
    for (const struct node *item = value->first; item; item = item->next)
        if (item->kind != NODE_SCALAR || item->quoted ||
            !text_equal(item->text, value->first->text))
            return value;
    return value->n > 1 ? value->first : value;
}

static enum status read_field(const struct config *config, const struct import_field *field,
                              struct model *model, struct err *err)
{
    const struct node *value = field->key ? find_value(config, field->key) : NULL;
    if (field->type == IMPORT_KNOWN)
        return STATUS_OK;
    if (!value && !field->fallback) {
        err_at(err, config->inner->mark, "configuration has no '%s'", field->key);
        return err_hint(err, "architecture '%s' needs it", config->architecture);
    }
    if (field->type == IMPORT_COUNT)
        value = alike(value);
    bool is_text = field->type == IMPORT_WORD;
    bool fits = !value || (value->kind == NODE_SCALAR && (is_text || !value->quoted));
    if (fits && parse_field(field, value ? value->text : field->fallback, model))
        return STATUS_OK;
    return wrong_value(field, value, err);
}

/* ---- the whole model ---- */

/* What window layers have as the others do is none of their own. */
static void same_window(struct model *model)
{
    struct window *w = &model->window;
    struct attention a = model_attention(model, MIXER_FULL),
                     own = model_attention(model, MIXER_WINDOW);
    bool head = own.head_dim == a.head_dim;
    w->heads = own.heads == a.heads ? 0 : own.heads;
    w->kv_heads = own.kv_heads == a.kv_heads ? 0 : own.kv_heads;
    w->head_dim = head ? 0 : own.head_dim;
    w->v_head_dim = own.v_head_dim == (head ? a.v_head_dim : own.head_dim) ? 0 : own.v_head_dim;
    w->sinks = w->sinks && !a.sinks;
}

/* What is left open by configurations: as many k and v heads as heads, heads that split the
 * hidden state, shared experts as wide as routed ones. */
static enum status fill_in(const struct config *config, struct model *model, struct err *err)
{
    struct attention *attention = &model->attention;
    if (attention->kind == ATTENTION_GQA && attention->kv_heads == 0)
        attention->kv_heads = attention->heads;
    if (attention->kind == ATTENTION_GQA && attention->head_dim == 0) {
        if (model->hidden % attention->heads != 0)
            return err_at(err, config->inner->mark,
                          "hidden size %llu is not a multiple of the %llu attention heads",
                          (unsigned long long)model->hidden,
                          (unsigned long long)attention->heads);
        attention->head_dim = model->hidden / attention->heads;
    }
    import_rotary(config->inner, model);
    same_window(model);
    if (model->moe.shared_intermediate == 0)
        model->moe.shared_intermediate = model->moe.shared_experts * model->moe.intermediate;
    if (model_has_parts(model))
        model->dense_layers = model_ffns(model, FFN_DENSE);
    if (model->dense_layers == 0)
        model->dense_intermediate = 0;
    return STATUS_OK;
}

/* A required key that a later row of the family gives a default. */
static bool is_given_later(const struct import_family *family, size_t part,
                           const struct import_field *field)
{
    const size_t n = sizeof family->parts / sizeof *family->parts;
    for (size_t i = part + 1; !field->fallback && i < n; i++)
        for (size_t j = 0; j < family->parts[i].n; j++)
            if (family->parts[i].field[j].offset == field->offset)
                return true;
    return false;
}

enum status import_hf_model(const struct node *config, struct model *model, struct err *err)
{
    if (config->kind != NODE_MAPPING)
        return err_at(err, config->mark, "configuration must be a mapping");
    struct config c = {0};
    c.inner = import_text_config(config, &c.outer);
    const struct import_family *family = NULL;
    TRY(find_architecture(&c, &family, err));
    struct model m = {.rotary = true}; /* unless a family says it does not */
    for (size_t i = 0; i < sizeof family->parts / sizeof *family->parts; i++)
        for (size_t j = 0; j < family->parts[i].n; j++)
            if (!is_given_later(family, i, &family->parts[i].field[j]))
                TRY(read_field(&c, &family->parts[i].field[j], &m, err));
    if (family->finish)
        TRY(family->finish(c.inner, &m, err));
    /* what transformers 5 writes in place of first_k_dense_replace */
    TRY(import_dense_first(c.inner, "mlp_layer_types", "dense", &m, err));
    TRY(fill_in(&c, &m, err));
    if (m.moe.experts && !m.moe.top_k) {
        err_at(err, c.inner->mark, "configuration has no 'num_experts_per_tok'");
        return err_hint(err, "architecture '%s' needs it", c.architecture);
    }
    import_hf_format(find_value(&c, "quantization_config"), &m, NULL);
    static const char *const experts[] = {"expert_dtype", "quantization_config.expert_dtype",
                                          "quantization_config.routed_experts_quant_method",
                                          "quantization_config.store_dtype"};
    for (size_t i = 0; i < sizeof experts / sizeof *experts; i++)
        import_hf_experts(find_value(&c, experts[i]), &m);
    m.encoder = (struct encoder){.bias = true, .norm_bias = true, .merge = 4, .outputs = 1};
    import_hf_vision(c.outer, &m);
    snprintf(m.name, sizeof m.name, "%s", c.architecture);
    *model = m;
    return STATUS_OK;
}

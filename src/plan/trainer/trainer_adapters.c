/* PEFT's adapters and the frozen base beside them, by the trainer's flags; see trainer.h. Read
 * at huggingface/peft 0.21 (tuners/tuners_utils.py, utils/other.py) and transformers 5.24
 * (quantizers). */
#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "plan/hf/import_hf_format.h"
#include "plan/schema/schema.h"
#include "plan/trainer/trainer.h"

/* What a module is called: "linear_attn.out_proj" is out_proj. */
static const char *last_of(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot ? dot + 1 : name;
}

/* Words of a list, each of which may be several with commas between, at most so many. */
static size_t split(struct job *job, const struct setting *s, const char **words, size_t most)
{
    size_t n = 0;
    for (size_t i = 0; i < s->n; i++)
        for (const char *at = s->values[i]; *at;) {
            size_t skip = strspn(at, ", []"), length = strcspn(at + skip, ", []");
            if (length && n < most)
                words[n++] = arena_strndup(job->arena, at + skip, length);
            at += skip + length;
        }
    return n;
}

/* A list that only the shell knows is none. */
static size_t known_words(struct job *job, const struct setting *s,
                          const char *words[PLAN_NAMES])
{
    if (s && s->trouble)
        job_warn(job, s->mark, "'%s' is not known and left out: %s", s->name, s->trouble);
    return s && !s->trouble ? split(job, s, words, PLAN_NAMES) : 0;
}

size_t trainer_words(struct job *job, const char *flag, const char *words[PLAN_NAMES])
{
    return known_words(job, job_setting(job, flag), words);
}

/* Behind n words those of stacked experts, "mlp.experts.down_proj", as a plan calls them. */
static size_t add_parameters(struct job *job, const char *words[PLAN_NAMES], size_t n)
{
    static const char *const known[] = {"experts.gate_up_proj", "experts.down_proj"};
    static const char flag[] = "lora_target_parameters";
    const struct setting *s = job_setting(job, flag);
    const char *names[PLAN_NAMES], *found;
    size_t n_names = known_words(job, s, names);
    for (size_t i = 0; i < n_names && n < PLAN_NAMES; i++) {
        found = NULL;
        for (size_t j = 0; j < sizeof known / sizeof *known; j++)
            found = text_equal(last_of(names[i]), last_of(known[j])) ? known[j] : found;
        if (found)
            words[n++] = found;
        else
            job_warn(job, s->mark,
                     "an adapter of '%s' matters to memory and is not modelled: of parameters "
                     "those of stacked experts are",
                     names[i]);
    }
    return n;
}

/* Modules trained whole beside the adapters: those a plan knows, by the last of their names. */
static void set_saved(struct job *job)
{
    static const char flag[] = "lora_modules_to_save";
    const struct setting *s = job_setting(job, flag);
    const char *names[PLAN_NAMES], *known[2];
    size_t n = known_words(job, s, names), n_known = 0;
    for (size_t i = 0; i < n; i++) {
        const char *name = last_of(names[i]);
        if (!text_equal(name, "embed_tokens") && !text_equal(name, "lm_head"))
            job_warn(job, s->mark,
                     "module '%s', trained whole, matters to memory and is not modelled: 16 "
                     "bytes a parameter at most",
                     names[i]);
        else if (n_known < 2)
            known[n_known++] = name;
    }
    if (n_known)
        job_set_list(job, "lora.modules_to_save", known, n_known, flag);
}

/* ---- layers ---- */

static bool is_number(const char *word)
{
    return word[0] && strspn(word, "0123456789") == strlen(word);
}

/* Layers by their numbers: of linear layers that targets name, not of parameters. */
static enum status set_layers(struct job *job)
{
    static const char flag[] = "layers_to_transform";
    const struct setting *s = job_setting(job, flag);
    const char *words[PLAN_LIST + 1];
    size_t n = s && !s->trouble ? split(job, s, words, PLAN_LIST + 1) : 0;
    bool numbers = n <= PLAN_LIST;
    for (size_t i = 0; i < n; i++)
        numbers = numbers && is_number(words[i]);
    if (!s || (!n && !s->trouble))
        return STATUS_OK;
    if (s->trouble || !numbers) {
        job_warn(job, s->mark,
                 "which layers have adapters matters to memory and is not known here: all have "
                 "them; --set lora.layers=[30,31] names them");
        return STATUS_OK;
    }
    job_set_list(job, "lora.layers", words, n, flag);
    return STATUS_OK;
}

enum status trainer_tell_last(struct job *job, const char *flag)
{
    uint64_t last = 0, layers = 0;
    const char *words = "";
    TRY(job_count(job, flag, &last));
    if (last)
        TRY(job_set_model(job, "model_name_or_path"));
    TRY(job_layers(job, &layers));
    if (!last || last >= layers || job_given(job, "layers_to_transform"))
        return STATUS_OK;
    for (uint64_t i = layers - last; i < layers; i++)
        words = arena_printf(job->arena, "%s%s%" PRIu64, words, words[0] ? "," : "", i);
    job_retell(job, flag, "layers_to_transform", words);
    return job->err->status;
}

/* ---- adapters ---- */

enum status trainer_set_adapter(struct job *job)
{
    static const char targets[] = "lora_target_modules";
    bool used = job_given(job, "lora_r"), magnitudes = false;
    uint64_t rank = 16;
    TRY(job_switch(job, "use_peft", &used));
    if (!used)
        return STATUS_OK;
    TRY(job_count(job, "lora_r", &rank));
    job_set_count(job, "lora.rank", rank, "lora_r use_peft");
    const struct setting *s = job_setting(job, targets);
    const char *words[PLAN_NAMES];
    size_t n = 0;
    if (trainer_is_expression(s) || job_given(job, "exclude_modules"))
        TRY(trainer_match_targets(job, targets, words, &n));
    else
        n = trainer_words(job, targets, words);
    for (size_t i = 0; i < n; i++)
        words[i] = last_of(words[i]);
    bool all = n == 1 && (text_equal(words[0], "all-linear") || text_equal(words[0], "all"));
    if (all)
        words[0] = "all-linear"; /* which no list is, too */
    size_t n_all = add_parameters(job, words, n);
    TRY(trainer_match_ranks(job, words, &n_all));
    if (n_all && (!all || n_all > n))
        job_set_list(job, "lora.targets", words, n_all,
                     "lora_target_modules lora_target_parameters");
    set_saved(job);
    const struct setting *rows = job_setting(job, "trainable_token_indices");
    if (rows && rows->n && !rows->null)
        job_set(job, "lora.rows", "true", "trainable_token_indices");
    TRY(set_layers(job));
    TRY(job_switch(job, "use_dora", &magnitudes));
    if (magnitudes)
        job_set(job, "lora.dora", "true", "use_dora");
    return STATUS_OK;
}

/* ---- a base in few bits ---- */

/* A base of GPTQ's or AWQ's stays as its checkpoint is, 4 bits with a scale per 128, 8 bits as
 * LLM.int8()'s (transformers quantizers/quantizer_gptq.py, quantizer_awq.py), and what they
 * leave whole in 16 bits: none of these trainers prepares it (axolotl loaders/model.py,
 * _prepare_model_for_quantization; PEFT utils/other.py passes it by). Zero points and orders of
 * rows, some 0.8 %, are left out. */
static bool stays(struct job *job, const char *name, const char *format)
{
    static const char *const methods[] = {"gptq", "GPTQ", "Gptq", "awq", "AWQ", "Awq"};
    bool four = text_equal(format, "int4"), found = false;
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
        found = found || strstr(name, methods[i]);
    if (!found || (!four && !text_equal(format, "int8")))
        return false;
    job_set(job, "precision.weights", four ? "int4" : "fp8_channel", "model_name_or_path");
    job_set(job, "lora.plain_format", "bf16", "model_name_or_path");
    return true;
}

/* Formats of few bits that a plan has no word for, as checkpoints' names have them. */
static const char *foreign_format(const char *name, struct arena *arena)
{
    static const char *const words[] = {"aqlm", "hqq", "eetq", "quip", "spqr", "vptq", "higgs"};
    char *lower = arena_strdup(arena, name);
    for (char *at = lower; *at; at++)
        *at = (char)tolower((unsigned char)*at);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strstr(lower, words[i]))
            return words[i];
    return NULL;
}

/* A frozen base may stay in the few bits that its checkpoint has; its name says so. */
static void set_named_base(struct job *job)
{
    const struct setting *s = job_setting(job, "model_name_or_path");
    const char *foreign = s && s->n ? foreign_format(s->values[0], job->arena) : NULL;
    if (foreign && !job_requested(job, "precision.weights"))
        job_warn(job, s->mark,
                 "a base in %s matters to memory and is not modelled: 16 bits stand in; "
                 "--set precision.weights=int4 plans four",
                 foreign);
    const char *format = s && s->n ? model_name_format(s->values[0]) : NULL;
    if (format && !text_equal(format, "bf16") && draft_find(&job->draft, "lora.rank") &&
        !job_requested(job, "precision.weights") && !stays(job, s->values[0], format))
        job_warn(
            job, s->mark,
            "a base in %s matters to memory and is not read from a name: 16 bits stand in; "
            "--set precision.weights=%s",
            format, format);
}

/* Modules that bitsandbytes passes by, as parts whose matrices all are: by the names that a
 * checkpoint's list would have (transformers quantizers/quantizers_utils.py,
 * should_convert_module). */
static enum status set_left(struct job *job)
{
    static const char flag[] = "llm_int8_skip_modules";
    const struct setting *s = job_setting(job, flag);
    const char *names[PLAN_LIST], *parts[PLAN_NAMES], *text = "";
    size_t n = s && !s->trouble ? split(job, s, names, PLAN_LIST) : 0;
    struct plan *plan = arena_alloc(job->arena, 1, sizeof *plan);
    struct node *how = NULL;
    bool known;
    for (size_t i = 0; i < n; i++)
        text = arena_printf(job->arena, "%s%s\"%s\"", text, i ? ", " : "", names[i]);
    text = arena_printf(job->arena,
                        "{quant_method: bitsandbytes, load_in_4bit: true, "
                        "llm_int8_skip_modules: [%s]}",
                        text);
    TRY(job_model(job, plan, &known));
    if (s && (s->trouble || !known))
        job_warn(job, s->mark,
                 "which linear layers stay whole matters to memory and is not known here: all "
                 "are in few bits; --set precision.plain=[attention] names parts");
    if (!n || !known)
        return STATUS_OK;
    bool head = false; /* the list takes the place of the usual one, which is the head */
    for (size_t i = 0; i < n; i++)
        head = head || strstr(names[i], "lm_head");
    if (!head && !plan->model.tied_embeddings)
        job_warn(job, s->mark,
                 "without lm_head in llm_int8_skip_modules the head is in few bits, too, which "
                 "matters to memory and is not modelled: it is whole here");
    TRY(source_read_job(flag, text, strlen(text), job->arena, &how, job->err));
    struct text notes = {.arena = job->arena};
    if (!plan->model.moe.experts)
        plan->model.dense_layers = plan->model.layers;
    import_hf_format(how, &plan->model, &notes);
    const struct enum_list *plain = &plan->model.plain;
    size_t n_parts = 0;
    for (uint64_t i = 0; i < plain->n && n_parts < PLAN_NAMES; i++)
        parts[n_parts++] = words_part[plain->value[i]];
    if (n_parts)
        job_set_list(job, "precision.plain", parts, n_parts, flag);
    if (text_string(&notes)[0])
        job_warn(
            job, s->mark,
            "linear layers of a part that stay whole in some layers, or experts, matter to "
            "memory and are not modelled: they are counted as most of their part");
    return STATUS_OK;
}

enum status trainer_set_base(struct job *job)
{
    bool four = false, eight = false, nested = false;
    TRY(job_switch(job, "load_in_4bit", &four));
    TRY(job_switch(job, "load_in_8bit", &eight));
    TRY(job_switch(job, "use_bnb_nested_quant", &nested));
    if (four && eight)
        return job_fail(job, "load_in_8bit",
                        "load_in_4bit and load_in_8bit exclude each other");
    if (!four && !eight) {
        set_named_base(job);
        return STATUS_OK;
    }
    if (!draft_find(&job->draft, "lora.rank")) {
        job_warn(job, job_setting(job, four ? "load_in_4bit" : "load_in_8bit")->mark,
                 "a base in few bits is frozen, and there are no adapters to train: not read");
        return STATUS_OK;
    }
    const char *flags = eight ? "load_in_8bit" : "load_in_4bit use_bnb_nested_quant";
    job_set(job, "precision.weights",
            eight    ? "fp8_channel"
            : nested ? "nf4_double"
                     : "nf4",
            flags);
    /* axolotl prepares it as PEFT does; TRL (models/utils.py), LLaMA-Factory
     * (model_utils/checkpointing.py) and ms-swift (tuner.py) raise nothing to f32 */
    if (job->framework != &job_axolotl)
        job_set(job, "lora.plain_format", "bf16", flags);
    return set_left(job);
}

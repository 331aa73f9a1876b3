/* See script.h. */
#include "plan/trainer/script.h"

#include <ctype.h>
#include <string.h>

#include "base/text.h"
#include "plan/text/python.h"
#include "plan/text/python_word.h"

/* What a call says of the job. */
enum call {
    CALL_NONE,
    CALL_MODEL,   /* AutoModelForCausalLM.from_pretrained, FastLanguageModel.from_pretrained */
    CALL_ADAPTER, /* LoraConfig */
    CALL_ADAPT,   /* FastLanguageModel.get_peft_model */
    CALL_BITS,    /* BitsAndBytesConfig */
    CALL_MXFP4,   /* Mxfp4Config */
    CALL_METHOD,  /* GPTQConfig and other ways of few bits */
    CALL_ARGUMENTS, /* TrainingArguments, SFTConfig */
    CALL_TRAINER,   /* Trainer, SFTTrainer */
    CALL_PREPARE,   /* prepare_model_for_kbit_training */
    CALL_AGAIN,     /* model.gradient_checkpointing_enable */
    CALL_MESH,      /* ParallelismConfig */
    CALLS
};

enum { ROOTS = 32, MAPPINGS = 32 };

struct script {
    struct job *job;
    const struct python *python;
    struct mark first[CALLS]; /* where a call of the kind is read; line 0: nowhere */
    struct {
        const char *name;
        enum call kind;
    } roots[ROOTS]; /* variables that hold what such a call gives */
    size_t n_roots;
    unsigned mappings; /* that were read by their names: one may hold itself */
};

/* ---- which calls ---- */

/* The class in front of the method: "AutoModelForCausalLM" of "AutoModelForCausalLM.x". */
static const char *class_of(struct arena *arena, const char *callee)
{
    const char *dot = strrchr(callee, '.');
    return dot ? python_last_part(arena_strndup(arena, callee, (size_t)(dot - callee))) : "";
}

static bool is_fast(const char *class)
{
    return text_starts(class, "Fast") && strstr(class, "Model");
}

/* Models that score every token, by modeling_layers.py and what is written alike. */
static bool scores_tokens(const char *class)
{
    return strstr(class, "ForSequenceClassification") ||
           strstr(class, "ForTokenClassification");
}

static bool loads_model(const char *class)
{
    static const char *const words[] = {"ForCausalLM", "ForConditionalGeneration",
                                        "ForImageTextToText", "ForVision2Seq",
                                        "ForMultimodalLM"};
    if (strstr(class, "Peft"))
        return false;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strstr(class, words[i]))
            return true;
    return is_fast(class) || scores_tokens(class);
}

static enum call kind_of(struct arena *arena, const char *callee)
{
    static const struct {
        const char *name;
        enum call kind;
    } names[] = {{"LoraConfig", CALL_ADAPTER},
                 {"BitsAndBytesConfig", CALL_BITS},
                 {"Mxfp4Config", CALL_MXFP4},
                 {"GPTQConfig", CALL_METHOD},
                 {"AwqConfig", CALL_METHOD},
                 {"HqqConfig", CALL_METHOD},
                 {"EetqConfig", CALL_METHOD},
                 {"QuantoConfig", CALL_METHOD},
                 {"FineGrainedFP8Config", CALL_METHOD},
                 {"FbgemmFp8Config", CALL_METHOD},
                 {"TrainingArguments", CALL_ARGUMENTS},
                 {"Seq2SeqTrainingArguments", CALL_ARGUMENTS},
                 {"UnslothTrainingArguments", CALL_ARGUMENTS},
                 {"SFTConfig", CALL_ARGUMENTS},
                 {"DPOConfig", CALL_ARGUMENTS},
                 {"GRPOConfig", CALL_ARGUMENTS},
                 {"RLOOConfig", CALL_ARGUMENTS},
                 {"KTOConfig", CALL_ARGUMENTS},
                 {"ORPOConfig", CALL_ARGUMENTS},
                 {"CPOConfig", CALL_ARGUMENTS},
                 {"RewardConfig", CALL_ARGUMENTS},
                 {"PPOConfig", CALL_ARGUMENTS},
                 {"prepare_model_for_kbit_training", CALL_PREPARE},
                 {"gradient_checkpointing_enable", CALL_AGAIN},
                 {"ParallelismConfig", CALL_MESH}};
    const char *name = python_last_part(callee), *class = class_of(arena, callee);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (text_equal(name, names[i].name))
            return names[i].kind;
    if (text_equal(name, "from_pretrained") && loads_model(class))
        return CALL_MODEL;
    if (text_equal(name, "get_peft_model") && is_fast(class))
        return CALL_ADAPT;
    return text_ends(name, "Trainer") ? CALL_TRAINER : CALL_NONE;
}

/* ---- arguments by the trainer's names ---- */

/* What an argument is called as a flag; others are called alike. */
static const struct {
    enum call call;
    const char *argument, *flag;
} renamed[] = {
    {CALL_MODEL, "model_name", "model_name_or_path"},
    {CALL_MODEL, "pretrained_model_name_or_path", "model_name_or_path"},
    {CALL_MODEL, "dtype", "torch_dtype"},
    {CALL_MODEL, "max_seq_length", "model_max_seq_length"},
    {CALL_ADAPTER, "r", "lora_r"},
    {CALL_ADAPTER, "target_modules", "lora_target_modules"},
    {CALL_ADAPTER, "target_parameters", "lora_target_parameters"},
    {CALL_ADAPTER, "modules_to_save", "lora_modules_to_save"},
    {CALL_BITS, "bnb_4bit_use_double_quant", "use_bnb_nested_quant"},
    {CALL_MXFP4, "dequantize", SCRIPT_WIDENED},
    {CALL_METHOD, "bits", SCRIPT_METHOD_BITS},
    {CALL_METHOD, "nbits", SCRIPT_METHOD_BITS},
    {CALL_METHOD, "weights", SCRIPT_METHOD_BITS},
    {CALL_TRAINER, "model", "model_name_or_path"},
};

/* Of a trainer's own arguments those that older releases have in place of its configuration's;
 * the others are objects. */
static bool is_read(enum call call, const struct python_argument *a)
{
    static const char *const trainers[] = {"max_seq_length", "max_length", "packing", "beta"};
    if (call == CALL_AGAIN || call == CALL_PREPARE)
        return false;
    if (call == CALL_ADAPT)
        return !text_equal(a->name, "model") && !text_equal(a->name, "max_seq_length");
    if (call == CALL_METHOD)
        return text_ends(a->name, "bits") || text_equal(a->name, "weights");
    if (call == CALL_MESH) /* not how axes are run */
        return text_ends(a->name, "_size");
    if (call != CALL_TRAINER)
        return true;
    for (size_t i = 0; i < sizeof trainers / sizeof *trainers; i++)
        if (text_equal(a->name, trainers[i]))
            return true;
    return text_equal(a->name, "model") && a->value.quoted;
}

static const char *flag_of(enum call call, const char *argument)
{
    enum call alike = call == CALL_ADAPT ? CALL_ADAPTER : call;
    for (size_t i = 0; i < sizeof renamed / sizeof *renamed; i++)
        if (renamed[i].call == alike && text_equal(renamed[i].argument, argument))
            return renamed[i].flag;
    return argument;
}

/* ---- values ---- */

/* The last argument's text ends with the line. */
static bool is_root(const struct script *script, const char *name)
{
    size_t n = strcspn(name, " \t\r\n");
    bool alone = name[n + strspn(name + n, " \t\r\n")] == '\0';
    for (size_t i = 0; i < script->n_roots && alone; i++)
        if (strlen(script->roots[i].name) == n && strncmp(script->roots[i].name, name, n) == 0)
            return true;
    return false;
}

static void add_word(struct script *script, const char *name, const char *word,
                     struct mark mark);

/* Which of the 16 bits a script computes in by what the device can: bfloat16, of those that are
 * planned. */
static bool is_half(struct script *script, const char *name, const struct python_value *value,
                    struct mark mark)
{
    const char *trouble = NULL;
    bool bf16 = text_equal(name, "bf16");
    if ((!bf16 && !text_equal(name, "fp16")) ||
        python_word(script->python, value, script->job->arena, &trouble))
        return false;
    if (bf16) {
        job_warn(script->job, mark, "%s: bf16 is planned", trouble);
        add_word(script, name, "true", mark);
    }
    return true;
}

static void add_setting(struct script *script, const char *name,
                        const struct python_value *value, struct mark mark)
{
    if (value->kind != PYTHON_NONE && !is_half(script, name, value, mark))
        job_add_python(script->job, script->python, name, value, mark);
}

static void add_word(struct script *script, const char *name, const char *word,
                     struct mark mark)
{
    const struct python_value value = {.kind = PYTHON_WORD, .text = word, .quoted = true};
    add_setting(script, name, &value, mark);
}

/* ---- calls ---- */

/* `prefix`: of what stands in a mapping; NULL: of the call's own. */
static void read_arguments(struct script *script, enum call call, const char *prefix,
                           const struct python_value *of);

/* Mappings among the arguments: of what the model is made with, and the sharers' settings. */
static void read_mapping(struct script *script, const struct python_argument *a)
{
    static const struct {
        const char *name, *prefix;
        enum call call;
    } known[] = {
        {"model_init_kwargs", NULL, CALL_MODEL},
        {"activation_checkpointing_kwargs", "activation_checkpointing_kwargs.", CALL_ARGUMENTS},
        {"gradient_checkpointing_kwargs", "gradient_checkpointing_kwargs.", CALL_ARGUMENTS},
        {"fsdp_config", "fsdp_config.", CALL_ARGUMENTS},
        {"accelerator_config", "accelerator_config.", CALL_ARGUMENTS},
        {"rank_pattern", "rank_pattern.", CALL_ADAPTER},
        {"alpha_pattern", "alpha_pattern.", CALL_ADAPTER},
        {"deepspeed", "", CALL_ARGUMENTS}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (text_equal(a->name, known[i].name))
            read_arguments(script, known[i].call, known[i].prefix, &a->value);
    const struct job_flag *flag =
        job_flag_find(script->job->framework, a->name, strlen(a->name));
    if (flag && a->value.n && (flag->read == JOB_MEMORY || flag->read == JOB_TIME))
        add_word(script, a->name, "{..}", a->mark); /* of which its row says why not */
}

static void read_argument(struct script *script, enum call call, const char *prefix,
                          const struct python_argument *a)
{
    struct job *job = script->job;
    const struct python_value *v = &a->value;
    bool mapping = v->kind == PYTHON_CALL && text_equal(v->callee, "dict");
    bool name = v->kind == PYTHON_UNKNOWN || (v->kind == PYTHON_WORD && !v->quoted);
    if (!a->name && v->text && text_starts(v->text, "**")) {
        const struct python_value *of = python_call_named(script->python, v->text + 2);
        if (of && text_equal(of->callee, "dict") && script->mappings < MAPPINGS) {
            script->mappings++;
            read_arguments(script, call, prefix, of);
            return;
        }
        job_warn(job, a->mark, "what '%.60s' adds to the arguments is not read", v->text);
        return;
    }
    if (!a->name || !is_read(call, a) || (name && v->text && is_root(script, v->text)))
        return;
    const char *before = prefix ? prefix : "";
    if (mapping && prefix)
        read_arguments(script, call, arena_printf(job->arena, "%s%s.", prefix, a->name), v);
    else if (mapping)
        read_mapping(script, a);
    else if (v->kind != PYTHON_CALL || kind_of(job->arena, v->callee) == CALL_NONE)
        add_setting(script, arena_printf(job->arena, "%s%s", before, flag_of(call, a->name)), v,
                    a->mark);
}

static void read_arguments(struct script *script, enum call call, const char *prefix,
                           const struct python_value *of)
{
    for (size_t i = 0; i < of->n; i++)
        read_argument(script, call, prefix, &of->items[i]);
}

/* A model by its place, and what a call is by itself. */
static void read_itself(struct script *script, enum call call, const struct python_value *v,
                        struct mark mark)
{
    static const char *const switches[CALLS] = {[CALL_ADAPTER] = "use_peft",
                                                [CALL_ADAPT] = "use_peft",
                                                [CALL_PREPARE] = SCRIPT_PREPARED,
                                                [CALL_MXFP4] = SCRIPT_MXFP4,
                                                [CALL_AGAIN] = "gradient_checkpointing"};
    const struct python_argument *first = v->n && !v->items[0].name ? &v->items[0] : NULL;
    bool names = call == CALL_MODEL || (call == CALL_TRAINER && first && first->value.quoted);
    if (names && first)
        add_setting(script, "model_name_or_path", &first->value, first->mark);
    if (switches[call])
        add_word(script, switches[call], "true", mark);
    if (call == CALL_ARGUMENTS)
        add_word(script, SCRIPT_CONFIG, python_last_part(v->callee), mark);
    if (call == CALL_MODEL && scores_tokens(v->callee))
        add_word(script, SCRIPT_SCORES, class_of(script->job->arena, v->callee), mark);
    if (call == CALL_METHOD)
        add_word(script, SCRIPT_METHOD, python_last_part(v->callee), mark);
    if (call == CALL_TRAINER)
        add_word(script, SCRIPT_TRAINER, python_last_part(v->callee), mark);
}

/* The first of a kind holds: models loaded again once the training is over, say. */
static bool is_again(struct script *script, enum call call, const struct python_value *v,
                     const struct python_statement *statement)
{
    if (!script->first[call].line) {
        script->first[call] = statement->mark;
        return false;
    }
    bool told = call == CALL_MODEL || call == CALL_ARGUMENTS || call == CALL_ADAPTER;
    if (told && !statement->nested)
        job_warn(script->job, statement->mark,
                 "a second '%s', after that on line %u, is not read: what it holds while the "
                 "trainer steps matters to memory",
                 v->callee, script->first[call].line);
    return true;
}

static void read_value(struct script *script, const struct python_value *v,
                       const struct python_statement *statement)
{
    enum call call =
        v->kind == PYTHON_CALL ? kind_of(script->job->arena, v->callee) : CALL_NONE;
    if (call != CALL_NONE && !is_again(script, call, v, statement)) {
        if (statement->nested)
            job_warn(script->job, statement->mark,
                     "'%s' stands inside a condition or a loop: it is read as it stands there",
                     v->callee);
        read_itself(script, call, v, statement->mark);
        read_arguments(script, call, NULL, v);
    }
    for (size_t i = 0; v->kind == PYTHON_CALL && i < v->n; i++)
        read_value(script, &v->items[i].value, statement);
}

/* args.max_length = 4096 of what such a call gave. */
static void read_field(struct script *script, const struct python_statement *statement)
{
    const char *dot = statement->target ? strchr(statement->target, '.') : NULL;
    for (size_t i = 0; dot && i < script->n_roots; i++) {
        size_t n = strlen(script->roots[i].name);
        bool of = n == (size_t)(dot - statement->target) &&
                  strncmp(script->roots[i].name, statement->target, n) == 0;
        enum call kind = script->roots[i].kind;
        if (of && (kind == CALL_ARGUMENTS || kind == CALL_ADAPTER || kind == CALL_BITS ||
                   kind == CALL_MXFP4))
            add_setting(script, flag_of(kind, dot + 1), &statement->value, statement->mark);
    }
}

static void read_statement(struct script *script, const struct python_statement *statement)
{
    const struct python_value *v = &statement->value;
    enum call call =
        v->kind == PYTHON_CALL ? kind_of(script->job->arena, v->callee) : CALL_NONE;
    bool plain = statement->target && !strchr(statement->target, '.');
    if (plain && call != CALL_NONE && script->n_roots < ROOTS) {
        script->roots[script->n_roots].name = statement->target;
        script->roots[script->n_roots++].kind = call;
    }
    read_field(script, statement);
    read_value(script, v, statement);
}

/* ---- the script ---- */

bool script_is_unsloth(const char *text)
{
    return python_imports(text, "unsloth") && strstr(text, "from_pretrained");
}

bool script_is(const char *text)
{
    bool trains = strstr(text, "Trainer(") || strstr(text, "Trainer (");
    return script_is_unsloth(text) ||
           (trains && (python_imports(text, "trl") || python_imports(text, "transformers")));
}

/* os.environ["UNSLOTH_VLLM_STANDBY"] = "1" */
static void read_standby(struct script *script, const char *text)
{
    static const char name[] = SCRIPT_STANDBY;
    const char *at = strstr(text, name);
    const char *value = at ? at + sizeof name - 1 : "";
    value += strspn(value, "'\"]=, ");
    if (!at || value[0] != '1' || isalnum((unsigned char)value[1]))
        return;
    struct mark mark = {script->job->file, 1, 1};
    for (const char *line = text; line < at; line++)
        mark.line += *line == '\n';
    add_word(script, name, "true", mark);
}

enum status script_read(struct job *job, const char *name, const char *text, size_t length)
{
    struct python python;
    struct script script = {.job = job, .python = &python};
    const unsigned before = job->layer;
    TRY(python_read(name, text, length, job->arena, &python, job->err));
    job->layer = JOB_FILE + 3;
    for (size_t i = 0; i < python.n; i++)
        read_statement(&script, &python.statements[i]);
    read_standby(&script, text);
    job->layer = before;
    const struct mark *made = script.first;
    if (!job->mark.line)
        job->mark = made[CALL_TRAINER].line ? made[CALL_TRAINER] : made[CALL_ARGUMENTS];
    if (job->err->status != STATUS_OK || made[CALL_TRAINER].line || made[CALL_ARGUMENTS].line)
        return job->err->status;
    err_at(job->err, (struct mark){.file = name},
           "the script makes no trainer of transformers' or TRL's");
    return err_hint(job->err, "SFTTrainer(.., args=SFTConfig(..)) and its likes are read");
}

enum status script_launched(struct job *job, const char **path, const char **text,
                            size_t *length)
{
    *text = NULL;
    for (size_t i = 0; job->command && i < job->command->n && !*text; i++)
        if (text_ends(job->command->items[i].text, ".py"))
            TRY(job_other_file(job, job->command->items[i].text, path, text, length));
    return STATUS_OK;
}

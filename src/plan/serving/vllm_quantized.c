/* Weights that vLLM quantises as it loads them: --quantization with one of its short names, and
 * --quantization-config, which says it of linear layers and of routed experts apart. Read at
 * config/quantization.py 0.33 (QUANT_KEY_NAMES, _ONLINE_SHORTHANDS) and
 * layers/quantization/online/base.py (get_quant_method: linear layers and routed experts alone;
 * embeddings and the head stay in 16 bits). */
#include "plan/serving/serving.h"
#include "plan/serving/vllm.h"

static const char linear_flag[] = "quantization-config.linear",
                  moe_flag[] = "quantization-config.moe";

/* Of both, or of experts alone where `linear` is none. */
static const struct {
    const char *name, *linear, *moe;
} shorthands[] = {
    {"fp8_per_tensor", "fp8", "fp8"},
    {"fp8_per_block", "fp8_block", "fp8_block"},
    {"fp8_per_channel", "fp8_channel", "fp8_channel"},
    {"mxfp8", "mxfp8", "mxfp8"},
    {"mxfp4", "mxfp4", "mxfp4"},
    {"int8_per_channel_weight_only", NULL, "int8"},
    {"nvfp4_per_token", NULL, "nvfp4"},
};

static const char keys[] =
    "fp8_per_tensor_static=fp8 fp8_per_tensor_dynamic=fp8 fp8_per_channel_static=fp8_channel "
    "fp8_per_block_static=fp8_block fp8_per_block_dynamic=fp8_block mxfp8=mxfp8 mxfp4=mxfp4 "
    "nvfp4_per_token=nvfp4 int8_per_channel_static=int8 int4_per_group_32=int4_32";

struct formats {
    const char *linear, *moe; /* NULL: as the checkpoint has them */
    const char *flags;        /* that say so */
};

static bool take_short(const char *word, struct formats *formats)
{
    for (size_t i = 0; i < sizeof shorthands / sizeof *shorthands; i++)
        if (text_equal(shorthands[i].name, word)) {
            formats->linear = shorthands[i].linear;
            formats->moe = shorthands[i].moe;
            return true;
        }
    return false;
}

/* What the configuration says of one of the two: a short name, or the weights' key. */
static enum status take_kind(struct job *job, const char *flag, bool moe, const char **format)
{
    const char *word = NULL;
    struct formats both = {0};
    TRY(job_word(job, flag, &word));
    if (!word)
        return STATUS_OK;
    const char *key = job_convert(job, keys, word);
    if (!key && take_short(word, &both))
        key = moe ? both.moe : both.linear;
    if (!key)
        return job_fail(job, flag, "'%s' is no format that vLLM quantises %s to", word,
                        moe ? "experts" : "linear layers");
    *format = key;
    return STATUS_OK;
}

static bool is_configured(struct job *job)
{
    return job_given(job, linear_flag) || job_given(job, moe_flag);
}

static enum status read_formats(struct job *job, struct formats *formats)
{
    const char *word = "";
    TRY(job_word(job, "quantization", &word));
    *formats = (struct formats){.flags = "quantization"};
    bool named = take_short(word, formats), online = text_equal(word, "online");
    if (!named && !online && !is_configured(job))
        return STATUS_OK;
    formats->flags = "quantization-config.linear quantization-config.moe quantization";
    TRY(take_kind(job, linear_flag, false, &formats->linear));
    return take_kind(job, moe_flag, true, &formats->moe);
}

/* Experts alone, or both in different formats: the parts beside experts are named. Experts that
 * stay as they are stand in no plan. */
static void set_formats(struct job *job, const struct formats *f, bool experts)
{
    bool apart = experts && f->moe && (!f->linear || !text_equal(f->linear, f->moe));
    job_set(job, "precision.weights", experts ? f->moe : f->linear, f->flags);
    if (!apart)
        return;
    serving_name_parts(job, f->flags);
    if (f->linear)
        job_set(job, "precision.plain_format", f->linear, f->flags);
}

enum status vllm_set_quantized(struct job *job, bool *done)
{
    struct formats f;
    struct plan *plan = arena_alloc(job->arena, 1, sizeof *plan);
    bool known;
    *done = false;
    TRY(read_formats(job, &f));
    TRY(job_part(job, "model", plan, &known));
    bool experts = known && plan->model.moe.experts > 0;
    const struct draft_item *stored = draft_find(&job->draft, "precision.weights");
    bool wide =
        !stored || text_equal(stored->words[0], "bf16") || text_equal(stored->words[0], "f16");
    if ((!f.linear && !f.moe) || (!wide && !is_configured(job)))
        return STATUS_OK; /* a name that checkpoints have, too */
    const char *why = !wide               ? "of a checkpoint that is quantised already"
                      : experts && !f.moe ? "of linear layers beside experts in 16 bits"
                                          : NULL;
    const char *said = job_given(job, moe_flag)      ? moe_flag
                       : job_given(job, linear_flag) ? linear_flag
                                                     : "quantization";
    const struct setting *s = job_setting(job, said);
    if (why) {
        job_warn(job, s ? s->mark : job_place(job),
                 "weights quantised as they are loaded, %s, matter to memory and are not "
                 "modelled: they stay as the checkpoint stores them",
                 why);
    } else if (experts || f.linear) {
        set_formats(job, &f, experts);
    }
    *done = true;
    return STATUS_OK;
}

/* Parts of a step are two with --enable-dbo whatever this says; alone it cuts into so many, on
 * the workspaces of one (config/parallel.py 0.33, num_ubatches; v1/worker/gpu_worker.py). */
enum status vllm_check_parts(struct job *job)
{
    static const char flag[] = "ubatch-size";
    uint64_t parts = 0;
    bool two = false;
    TRY(job_count(job, flag, &parts));
    TRY(job_switch(job, "enable-dbo", &two));
    if (parts > 1 && !two)
        job_warn(job, job_setting(job, flag)->mark,
                 "a step in parts without --enable-dbo matters to memory and time and is not "
                 "modelled: it is whole here");
    return STATUS_OK;
}

/* Layers whose cache is not quantised: by their kind, which a plan has, or one by one. */
enum status vllm_set_skipped(struct job *job)
{
    static const char flag[] = "kv-cache-dtype-skip-layers";
    const struct setting *s = job_given(job, flag) ? job_setting(job, flag) : NULL;
    const struct draft_item *activations = draft_find(&job->draft, "precision.activations");
    bool numbers = false;
    for (size_t i = 0; s && i < s->n; i++) {
        if (text_equal(s->values[i], "sliding_window"))
            job_set(job, "precision.window_cache", activations->words[0], flag);
        else
            numbers = true;
    }
    if (numbers)
        job_warn(job, s->mark,
                 "caches of some layers in a format of their own matter to memory and are not "
                 "modelled: only sliding_window is, the others are as --kv-cache-dtype says");
    return STATUS_OK;
}

void vllm_write_skipped(struct job_writer *writer)
{
    if (writer->plan->precision.window_cache != DTYPE_NONE)
        writer_flag(writer, "kv-cache-dtype-skip-layers", "sliding_window");
}

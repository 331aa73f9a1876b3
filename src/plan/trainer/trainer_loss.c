/* The loss that HuggingFace's Trainer makes itself where labels are smoothed. See trainer.h. */
#include <string.h>

#include "base/text.h"
#include "plan/trainer/script.h"

static const char factor_flag[] = "label_smoothing_factor";

/* Trainers that make losses of their own pass it by: of preferences, of answers that are
 * scored, TRL's of texts where loss_type is no likelihood (trl sft_trainer.py, compute_loss).
 */
static enum status makes_other(struct job *job, bool *other)
{
    static const struct {
        const char *flag, *words; /* with which the loss is the Trainer's; "": none */
    } rows[] = {{"stage", "pt=pt sft=sft"},
                {"rl", ""},
                {"rlhf_type", ""},
                {"loss_type", "nll=nll chunked_nll=nll"}};
    *other = trl_makes_loss(job) || draft_find(&job->draft, "model.labels");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *word = NULL;
        bool known = job_flag_find(job->framework, rows[i].flag, strlen(rows[i].flag));
        if (known)
            TRY(job_word(job, rows[i].flag, &word));
        *other = *other || (word && !job_convert(job, rows[i].words, word));
    }
    return STATUS_OK;
}

enum status trainer_smooths(struct job *job, bool *smooths)
{
    double factor = 0;
    bool other = false;
    TRY(job_real(job, factor_flag, &factor));
    *smooths = factor != 0;
    if (*smooths)
        TRY(makes_other(job, &other));
    *smooths = *smooths && !other;
    return STATUS_OK;
}

/* The model is given no labels and makes whole logits, whatever its own loss would be. */
enum status trainer_set_smoothing(struct job *job, bool casts)
{
    bool smooths;
    TRY(trainer_smooths(job, &smooths));
    if (!smooths)
        return STATUS_OK;
    const struct mark at = job_setting(job, factor_flag)->mark;
    if (job->framework == &job_unsloth) {
        job_warn(job, at,
                 "'%s' matters to memory and is not modelled with Unsloth, whose models return "
                 "no logits where they are given no labels",
                 factor_flag);
        return STATUS_OK;
    }
    job_set(job, "stack.cross_entropy", casts ? "smoothed_f32" : "smoothed", factor_flag);
    if (trl_is_sft(job))
        job_warn(job, at,
                 "'%s' matters to time: TRL's trainer runs forward once more for what it logs, "
                 "which is not counted",
                 factor_flag);
    return STATUS_OK;
}

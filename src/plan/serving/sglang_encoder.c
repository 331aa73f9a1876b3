/* Whether an SGLang launch takes images (configs/model_config.py: enable_multimodal,
 * language_only). */
#include "plan/serving/serving.h"
#include "plan/serving/sglang.h"

static const char text_flag[] = "language-model-only", images_flag[] = "enable-multimodal";

/* Of other models images are taken without a word. */
static enum status set_requested(struct job *job)
{
    struct plan *plan = arena_alloc(job->arena, 1, sizeof *plan);
    bool known, asked = false;
    TRY(job_switch(job, images_flag, &asked));
    if (!asked)
        return STATUS_OK;
    TRY(job_part(job, "model", plan, &known));
    const struct encoder *encoder = &plan->model.encoder;
    if (known && encoder->layers && (encoder->on_request || encoder->loaded_on_request))
        job_set(job, "workload.encoder.requested", "true", images_flag);
    return STATUS_OK;
}

enum status sglang_set_encoder(struct job *job)
{
    bool text = false;
    TRY(job_switch(job, text_flag, &text));
    if (text)
        job_set_count(job, "workload.encoder.limit", 0, text_flag);
    return set_requested(job);
}

void sglang_write_encoder(struct job_writer *writer)
{
    const struct workload_encoder *encoder = &writer->plan->workload.encoder;
    if (!encoder->limit)
        writer_flag(writer, text_flag, NULL);
    if (encoder->requested)
        writer_flag(writer, images_flag, NULL);
}

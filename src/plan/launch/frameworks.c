/* The frameworks whose jobs are read. */
#include <string.h>

#include "plan/job/reader.h"

const struct job_framework *const job_frameworks[] = {
    &job_maxtext,  &job_primus,    &job_bridge,   &job_nemo,       &job_nemo1,
    &job_megatron, &job_deepspeed, &job_fsdp,     &job_torchtitan, &job_vllm,
    &job_sglang,   &job_trtllm,    &job_verl,     &job_axolotl,    &job_llamafactory,
    &job_slime,    &job_automodel, &job_verl_sft, &job_swift,      &job_swift_megatron,
    &job_nemo_rl,  &job_openrlhf,  &job_unsloth,  &job_trl,        NULL};

bool job_framework_is(const struct job_framework *framework, const char *kind)
{
    size_t length = strlen(kind);
    if (!framework->kind || text_equal(framework->kind, kind))
        return framework->kind != NULL;
    for (const char *at = framework->kinds; at && *at;) {
        size_t n = strcspn(at, " ");
        if (n == length && strncmp(at, kind, n) == 0)
            return true;
        at += n + (at[n] == ' ');
    }
    return false;
}

const struct job_framework *job_framework_named(const char *name)
{
    for (size_t i = 0; name && job_frameworks[i]; i++)
        if (text_equal(job_frameworks[i]->name, name))
            return job_frameworks[i];
    return NULL;
}

const char *job_framework_list(struct arena *arena, bool exported)
{
    struct text text = {.arena = arena};
    for (size_t i = 0; job_frameworks[i]; i++) {
        const struct job_framework *f = job_frameworks[i];
        if (!exported || f->write)
            text_printf(&text, "%s%s", text.length ? ", " : "", f->name);
    }
    return text_string(&text);
}

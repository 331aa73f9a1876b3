/* What the readers of verl's settings ask alike; see verl.h. */
#include "plan/rl/verl.h"

bool verl_is_megatron(const struct job *job)
{
    const struct draft_item *stack = draft_find(&job->draft, "stack");
    return stack && text_equal(stack->words[0], "megatron");
}

enum status verl_either_on(struct job *job, const char *const flags[2], const char **on)
{
    *on = NULL;
    for (size_t i = 0; i < 2; i++) {
        bool set = false;
        TRY(job_switch(job, flags[i], &set));
        *on = set ? flags[i] : *on;
    }
    return STATUS_OK;
}

enum status verl_read_micro(struct job *job, const char *own, const char *all, uint64_t *micro,
                            const char **flag)
{
    uint64_t rows = 0, world = 0, cp = job_drafted(job, "parallel.cp", 1);
    *micro = 0;
    *flag = own;
    TRY(job_count(job, own, micro));
    TRY(job_count(job, all, &rows));
    TRY(job_world(job, &world));
    if (*micro || !rows || !world)
        return STATUS_OK;
    *flag = all;
    const uint64_t ranks = world / (cp ? cp : 1);
    *micro = ranks && rows > ranks ? rows / ranks : 1;
    return STATUS_OK;
}

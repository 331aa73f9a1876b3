/* Which vLLM a launch runs, by the tag of its container's image: vllm/vllm-openai:v0.11.0, also
 * of a registry of one's own. Releases hold other things outside the cache (engine.c). */
#include <string.h>

#include "plan/framework/vllm.h"
#include "plan/text/container.h"

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* "0.11.0" of "vllm/vllm-openai:v0.11.0-x86_64"; NULL where no tag says it (latest, a hash). */
static const char *release_of(struct job *job, const char *image)
{
    static const char tag[] = "vllm-openai:v";
    const char *at = strstr(image, tag), *end, *dot;
    if (!at)
        return NULL;
    end = at += sizeof tag - 1;
    while (is_digit(*end) || (*end == '.' && is_digit(end[1])))
        end++;
    dot = memchr(at, '.', (size_t)(end - at));
    return dot && is_digit(*at) ? arena_strndup(job->arena, at, (size_t)(end - at)) : NULL;
}

static bool take(struct job *job, const struct shell_word *word)
{
    const char *release = word->trouble ? NULL : release_of(job, word->text);
    if (release)
        draft_set(&job->draft, "stack.version", release, word->mark,
                  arena_printf(job->arena, "%s", word->text));
    return release != NULL;
}

void vllm_set_release(struct job *job)
{
    const struct shell_variable *image = job_environment(job, CONTAINER_IMAGE);
    for (size_t i = 0; job->command && i < job->command->n; i++)
        if (take(job, &job->command->items[i]))
            return;
    if (image && image->value.n == 1 && !image->trouble)
        take(job, &image->value.items[0]);
}

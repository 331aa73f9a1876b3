/* Servers that prefill and servers that decode in one script; see plan/job/reader.h. */
#include <string.h>
#include <strings.h>

#include "base/number.h"
#include "plan/launch/launch.h"
#include "plan/text/container.h"

/* ---- flags ---- */

/* The value of a flag in "--flag=value" or the next word; NULL: the word is another. */
static const char *value_of(const struct shell_words *words, size_t i, const char *flag)
{
    const struct shell_word *word = &words->items[i];
    size_t length = shell_option(word->text, flag, false);
    if (!length)
        return NULL;
    if (word->text[length] == '=')
        return word->text + length + 1;
    return i + 1 < words->n && !words->items[i + 1].trouble ? words->items[i + 1].text : "";
}

static const struct {
    const char *flag, *value; /* value "": a switch; NULL: any */
    enum duty duty;
} duties[] = {
    {"--disaggregation-mode", "prefill", DUTY_PROMPTS},
    {"--disaggregation-mode", "decode", DUTY_ANSWERS},
    {"--is-prefill-worker", NULL, DUTY_PROMPTS},
    {"--is-decode-worker", NULL, DUTY_ANSWERS},
    {"--server-role", "context", DUTY_PROMPTS},
    {"--server-role", "generation", DUTY_ANSWERS},
};

/* vLLM's kv-transfer-config, in whatever form it stands. */
static enum duty duty_of_cache(const char *text)
{
    if (!strstr(text, "kv_role") && !strstr(text, "kv-role"))
        return DUTY_ALL;
    return strstr(text, "kv_producer")   ? DUTY_PROMPTS
           : strstr(text, "kv_consumer") ? DUTY_ANSWERS
                                         : DUTY_ALL;
}

static enum duty duty_of_words(const struct shell_words *words, size_t from)
{
    enum duty duty = DUTY_ALL;
    for (size_t i = from; i < words->n; i++) {
        if (words->items[i].trouble)
            continue;
        enum duty cache = duty_of_cache(words->items[i].text);
        duty = cache != DUTY_ALL ? cache : duty;
        for (size_t j = 0; j < sizeof duties / sizeof *duties; j++) {
            const char *value = value_of(words, i, duties[j].flag);
            if (value && (!duties[j].value || strcasecmp(value, duties[j].value) == 0))
                duty = duties[j].duty;
        }
    }
    return duty;
}

bool launch_follows(const struct job_framework *framework, const struct shell_words *words,
                    size_t from)
{
    static const char *const ranks[] = {"--node-rank", "--data-parallel-start-rank"};
    for (size_t i = from; framework->serves && i < words->n; i++) {
        uint64_t rank;
        if (text_equal(words->items[i].text, "--headless"))
            return true;
        for (size_t j = 0; j < sizeof ranks / sizeof *ranks; j++) {
            const char *value = value_of(words, i, ranks[j]);
            if (value && number_count(value, &rank) && rank)
                return true;
        }
    }
    return false;
}

/* ---- what its description says ---- */

static const char *said(const struct shell *shell, const struct shell_command *command,
                        const char *name)
{
    const struct shell_variable *v = shell_variable(shell, command->n_variables, name, true);
    return v && !v->trouble && v->value.n == 1 && !v->value.items[0].trouble
               ? v->value.items[0].text
               : NULL;
}

static enum duty duty_of_name(const char *name)
{
    return !name                         ? DUTY_ALL
           : text_equal(name, "prefill") ? DUTY_PROMPTS
           : text_equal(name, "decode")  ? DUTY_ANSWERS
                                         : DUTY_ALL;
}

static void add(struct launch_pool *pool, unsigned line, uint64_t servers)
{
    for (size_t i = 0; i < pool->n; i++)
        if (pool->lines[i] == line)
            return;
    if (pool->n == LAUNCH_LINES)
        return;
    pool->lines[pool->n++] = line;
    pool->servers += servers;
}

bool launch_pools(struct job *job, const struct shell *shell, struct launch_pool *prefill,
                  struct launch_pool *decode)
{
    struct launch_pool whole = {.n = 0};
    *prefill = *decode = whole;
    for (size_t i = 0; i < shell->n_commands; i++) {
        const struct shell_command *command = &shell->commands[i];
        size_t entry;
        const struct job_framework *f = launch_in_command(job, command, &entry);
        if (!f || !f->serves || launch_follows(f, &command->words, entry))
            continue;
        enum duty duty = duty_of_words(&command->words, entry);
        if (duty == DUTY_ALL)
            duty = duty_of_name(said(shell, command, CONTAINER_POOL));
        const char *replicas = said(shell, command, CONTAINER_REPLICAS);
        uint64_t servers = 1;
        if (replicas && (!number_count(replicas, &servers) || !servers))
            servers = 1;
        add(duty == DUTY_PROMPTS   ? prefill
            : duty == DUTY_ANSWERS ? decode
                                   : &whole,
            command->mark.line, servers);
    }
    if (prefill->n && !decode->n) /* beside one that prefills alone the others decode */
        *decode = whole;
    else if (whole.n)
        return false;
    return prefill->n && decode->n;
}

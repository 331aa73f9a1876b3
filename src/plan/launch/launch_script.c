/* Whether a text is a script, by its name and by how it begins. */
#include <ctype.h>
#include <string.h>

#include "plan/job/reader.h"

/* "NPROC_PER_NODE=8 ..": no file of settings writes a name and its value like that. */
static bool sets_variable(const char *at, const char *end)
{
    const char *begin = at;
    while (at < end && (isupper((unsigned char)*at) || *at == '_' ||
                        (at > begin && isdigit((unsigned char)*at))))
        at++;
    return at > begin && at < end && *at == '=';
}

bool launch_ends_as_script(const char *name)
{
    static const char *const endings[] = {".sh", ".bash", ".slurm", ".sbatch", ".job"};
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        if (text_ends(name, endings[i]))
            return true;
    return false;
}

bool launch_is_script(const char *name, const char *text, size_t length)
{
    static const char *const words[] = {"torchrun ",
                                        "python ",
                                        "python3 ",
                                        "srun ",
                                        "mpirun ",
                                        "vllm serve",
                                        "sglang serve",
                                        "deepspeed ",
                                        "export ",
                                        "accelerate ",
                                        "trtllm-serve ",
                                        "docker ",
                                        "podman ",
                                        "bash ",
                                        "cat >",
                                        "cat <<",
                                        "axolotl ",
                                        "automodel ",
                                        "llamafactory-cli ",
                                        "swift ",
                                        "megatron "};
    if (launch_ends_as_script(name))
        return true;
    if (length > 2 && text[0] == '#' && text[1] == '!')
        return true;
    const char *at = text, *end = text + length;
    while (at < end && (*at == '#' || strchr(" \t\r\n", *at))) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        at = *at == '#' ? (newline ? newline + 1 : end) : at + 1;
    }
    if (sets_variable(at, end))
        return true;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if ((size_t)(end - at) > strlen(words[i]) &&
            strncmp(at, words[i], strlen(words[i])) == 0)
            return true;
    return false;
}

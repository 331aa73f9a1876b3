/* Formats that names of checkpoints tell; see model_names.h. */
#include <string.h>

#include "base/text.h"
#include "plan/plan.h"
#include "plan/read/model_names.h"

/* What a checkpoint's name says of its format, the first that fits: NVIDIA's fp8 has one scale
 * a tensor (ModelOpt), Red Hat's too unless its name says otherwise, Meta's and Z.ai's of GLM-4
 * one a channel (compressed-tensors), Tencent's of Hy4 one per 32 values; Qwen's, MiniMax' and
 * DeepSeek's has blocks, and so have GLM-5.3's files where their name says nothing
 * (Megatron-Bridge pull request 6117). */
static const struct {
    const char *words, *owner, *weights;
} marks[] = {
    {"mxfp4", NULL, "mxfp4"},
    {"nvfp4", NULL, "nvfp4"},
    {"-fp4", NULL, "nvfp4"},
    {"mxfp8", NULL, "mxfp8"},
    {"gptq-int8", NULL, "int8"},
    {"gptq-8bit", NULL, "int8"},
    {"awq-8bit", NULL, "int8"},
    {"awq-int8", NULL, "int8"},
    {"bnb-4bit", NULL, "nf4"},
    {"awq", NULL, "int4"},
    {"gptq", NULL, "int4"},
    {"int4", NULL, "int4"},
    {"w4a16", NULL, "int4"},
    {"w4afp8", NULL, "int4"},
    {"-4bit", NULL, "int4"},
    {"-8bit", NULL, "int8"},
    {"int8", NULL, "int8"},
    {"w8a8", NULL, "int8"},
    {"w8a16", NULL, "int8"},
    {"fp8-block", NULL, "fp8_block"},
    {"fp8-dynamic", NULL, "fp8_channel"},
    {"fp8", "nvidia/", "fp8"},
    {"fp8", "redhatai/", "fp8"},
    {"fp8", "neuralmagic/", "fp8"},
    {"fp8", "meta-llama/", "fp8_channel"},
    {"fp8", "zai-org/glm-4", "fp8_channel"},
    {"fp8", "tencent/hy4", "mxfp8"},
    {"fp8", NULL, "fp8_block"},
    {"-bf16", NULL, "bf16"},
    {"glm-5.3", NULL, "fp8_block"},
};

const char *model_name_format(const char *name)
{
    char lower[PLAN_NAME] = "";
    for (size_t i = 0; name[i] && i + 1 < sizeof lower; i++)
        lower[i] = name[i] >= 'A' && name[i] <= 'Z' ? (char)(name[i] - 'A' + 'a') : name[i];
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        if (strstr(lower, marks[i].words) &&
            (!marks[i].owner || text_starts(lower, marks[i].owner)))
            return marks[i].weights;
    return NULL;
}

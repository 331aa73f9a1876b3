/* See model_names.h. */
#include "plan/read/model_names.h"

#include <ctype.h>
#include <string.h>

#include "base/text.h"
#include "plan/schema/word.h"

/* Hub (checkpoint formats: their quantization_config): the beginning of the name behind the
 * owner, in lower case; the longest that fits wins. MaxText: src/maxtext/configs/models/.
 * torchtitan: model and flavor. Bridge: the recipe. */
static const struct model_name {
    const char *ours, *hub, *maxtext, *torchtitan, *bridge;
    const char *id;      /* on the hub, in full */
    const char *weights; /* of the checkpoint, where it is not bf16 */
} names[] = {
    {"deepseek-v3", "deepseek-v3", "deepseek3-671b", "deepseek_v3 671B", "deepseek_v3",
     "deepseek-ai/DeepSeek-V3", "fp8_block"},
    {"deepseek-v3", "deepseek-v3.1", NULL, NULL, NULL, NULL, "fp8_block"}, /* same shape */
    {"deepseek-v3.2", "deepseek-v3.2", "deepseek3.2-671b", NULL, NULL,
     "deepseek-ai/DeepSeek-V3.2", "fp8_block"},
    {"deepseek-v3.2", "deepseek-v32", NULL, NULL, NULL, NULL, "fp8_block"}, /* a folder's */
    {"deepseek-v4-flash", "deepseek-v4-flash", "deepseek4-284b", NULL, NULL,
     "deepseek-ai/DeepSeek-V4-Flash", "mxfp4"},
    {"deepseek-v4-pro", "deepseek-v4-pro", NULL, NULL, NULL, "deepseek-ai/DeepSeek-V4-Pro",
     "mxfp4"},
    {"deepseek-v4-flash-vision-exp", "deepseek-v4-flash-vision-exp", NULL, NULL, NULL,
     "deepseek-ai/DeepSeek-V4-Flash-Vision-Exp", "mxfp4"},
    {"deepseek-v4.1-flash", "deepseek-v4.1-flash", NULL, NULL, NULL,
     "deepseek-ai/DeepSeek-V4.1-Flash", "mxfp4"},
    {"deepseek-r1", "deepseek-r1", NULL, NULL, NULL, "deepseek-ai/DeepSeek-R1", "fp8_block"},
    {"deepseek-v2", "deepseek-v2", "deepseek2-236b", "deepseek_v3 236B", "deepseek_v2",
     "deepseek-ai/DeepSeek-V2", NULL},
    {"deepseek-v2", "deepseek-v2.5", NULL, NULL, NULL, NULL,
     NULL}, /* same shape, as the next */
    {"deepseek-v2", "deepseek-coder-v2-instruct", NULL, NULL, NULL, NULL, NULL},
    {"deepseek-v2-lite", "deepseek-v2-lite", "deepseek2-16b", "deepseek_v3 16B",
     "deepseek_v2_lite", "deepseek-ai/DeepSeek-V2-Lite", NULL},
    {"deepseek-v2-lite", "deepseek-coder-v2-lite", NULL, NULL, NULL, NULL, NULL},
    {"mixtral-8x7b", "mixtral-8x7b", "mixtral-8x7b", NULL, "mixtral_8x7b",
     "mistralai/Mixtral-8x7B-v0.1", NULL},
    {"mixtral-8x22b", "mixtral-8x22b", "mixtral-8x22b", NULL, "mixtral_8x22b",
     "mistralai/Mixtral-8x22B-v0.1", NULL},
    {"qwen3-30b-a3b", "qwen3-30b-a3b", "qwen3-30b-a3b", "qwen3 30B-A3B", "qwen3_30b_a3b",
     "Qwen/Qwen3-30B-A3B", NULL},
    {"qwen3-30b-a3b", "qwen3-30b-a3b-instruct-2507", NULL, NULL, NULL, NULL, NULL},
    {"qwen3-30b-a3b", "qwen3-30b-a3b-thinking-2507", NULL, NULL, NULL, NULL, NULL},
    {"qwen3-30b-a3b", "qwen3-coder-30b-a3b", NULL, NULL, NULL, NULL, NULL},
    {"qwen3-235b-a22b", "qwen3-235b-a22b", "qwen3-235b-a22b", "qwen3 235B-A22B",
     "qwen3_235b_a22b", "Qwen/Qwen3-235B-A22B", NULL},
    {"qwen3-235b-a22b", "qwen3-235b-a22b-instruct-2507", NULL, NULL, NULL, NULL, NULL},
    {"qwen3-235b-a22b", "qwen3-235b-a22b-thinking-2507", NULL, NULL, NULL, NULL, NULL},
    {"qwen3-vl-30b-a3b", "qwen3-vl-30b-a3b", "qwen3-vl-30b-a3b", "qwen3_vl 30B-A3B",
     "qwen3_vl_30b_a3b", "Qwen/Qwen3-VL-30B-A3B-Instruct", NULL},
    {"qwen3-vl-235b-a22b", "qwen3-vl-235b-a22b", NULL, "qwen3_vl 235B-A22B",
     "qwen3_vl_235b_a22b", "Qwen/Qwen3-VL-235B-A22B-Instruct", NULL},
    {"qwen3-vl-2b", "qwen3-vl-2b", "qwen3-vl-2b", NULL, NULL, "Qwen/Qwen3-VL-2B-Instruct",
     NULL},
    {"qwen3-vl-4b", "qwen3-vl-4b", "qwen3-vl-4b", NULL, NULL, "Qwen/Qwen3-VL-4B-Instruct",
     NULL},
    {"qwen3-vl-8b", "qwen3-vl-8b", NULL, NULL, NULL, "Qwen/Qwen3-VL-8B-Instruct", NULL},
    {"qwen3-vl-32b", "qwen3-vl-32b", NULL, NULL, NULL, "Qwen/Qwen3-VL-32B-Instruct", NULL},
    {"qwen2.5-vl-3b", "qwen2.5-vl-3b", NULL, NULL, NULL, "Qwen/Qwen2.5-VL-3B-Instruct", NULL},
    {"qwen2.5-vl-7b", "qwen2.5-vl-7b", NULL, NULL, NULL, "Qwen/Qwen2.5-VL-7B-Instruct", NULL},
    {"qwen2.5-vl-32b", "qwen2.5-vl-32b", NULL, NULL, NULL, "Qwen/Qwen2.5-VL-32B-Instruct",
     NULL},
    {"qwen2.5-vl-72b", "qwen2.5-vl-72b", NULL, NULL, NULL, "Qwen/Qwen2.5-VL-72B-Instruct",
     NULL},
    {"qwen3-omni-30b-a3b", "qwen3-omni-30b-a3b", "qwen3-omni-30b-a3b", NULL, NULL,
     "Qwen/Qwen3-Omni-30B-A3B-Thinking", NULL},
    {"qwen3-coder-480b-a35b", "qwen3-coder-480b-a35b", "qwen3-480b-a35b", NULL, NULL,
     "Qwen/Qwen3-Coder-480B-A35B-Instruct", NULL},
    {"gpt-oss-20b", "gpt-oss-20b", "gpt-oss-20b", "gpt_oss 20b", "gpt_oss_20b",
     "openai/gpt-oss-20b", "mxfp4"},
    {"gpt-oss-120b", "gpt-oss-120b", "gpt-oss-120b", "gpt_oss 120b", "gpt_oss_120b",
     "openai/gpt-oss-120b", "mxfp4"},
    {"gpt-oss-20b", "gpt-oss-safeguard-20b", NULL, NULL, NULL, NULL, "mxfp4"},
    {"gpt-oss-120b", "gpt-oss-safeguard-120b", NULL, NULL, NULL, NULL, "mxfp4"},
    {"llama4-scout", "llama-4-scout", "llama4-17b-16e", "llama4 17bx16e", NULL,
     "meta-llama/Llama-4-Scout-17B-16E", NULL},
    {"llama4-maverick", "llama-4-maverick", "llama4-17b-128e", "llama4 17bx128e", NULL,
     "meta-llama/Llama-4-Maverick-17B-128E", NULL},
    {"kimi-k2", "kimi-k2", "kimi-k2-1t", NULL, "kimi_k2", "moonshotai/Kimi-K2-Instruct",
     "fp8_block"},
    {"kimi-k2", "kimi-k2-instruct-0905", NULL, NULL, NULL, NULL, "fp8_block"},
    {"kimi-k2-thinking", "kimi-k2-thinking", NULL, NULL, NULL, "moonshotai/Kimi-K2-Thinking",
     "int4_32"},
    {"kimi-k2.5", "kimi-k2.5", NULL, "kimi_k2_7 Kimi-K2.5", NULL, "moonshotai/Kimi-K2.5",
     "int4_32"},
    {"kimi-k2.5", "kimi-k2.6", NULL, NULL, NULL, NULL, "int4_32"}, /* same shape */
    {"glm-4.5", "glm-4.5", NULL, NULL, "glm45_355b", "zai-org/GLM-4.5", NULL},
    {"glm-4.5-air", "glm-4.5-air", NULL, NULL, "glm45_air_106b", "zai-org/GLM-4.5-Air", NULL},
    {"glm-4.5v", "glm-4.5v", NULL, NULL, NULL, "zai-org/GLM-4.5V", NULL},
    {"glm-4.5v", "glm-4.6v", NULL, NULL, NULL, NULL, NULL},
    {"glm-4.6", "glm-4.6", NULL, NULL, NULL, "zai-org/GLM-4.6", NULL},
    {"glm-4.6", "glm-4.7", NULL, NULL, NULL, NULL, NULL}, /* same shape */
    {"glm-4.7-flash", "glm-4.7-flash", NULL, NULL, NULL, "zai-org/GLM-4.7-Flash", NULL},
    {"glm-5", "glm-5", NULL, NULL, NULL, "zai-org/GLM-5", NULL},
    {"glm-5.1", "glm-5.1", NULL, NULL, NULL, "zai-org/GLM-5.1", NULL},
    {"glm-5.2", "glm-5.2", NULL, NULL, NULL, "zai-org/GLM-5.2", NULL},
    {"glm-5.2", "glm-5.3", NULL, NULL, NULL, NULL, NULL}, /* same shape */
    {"glm-5.3-flash", "glm-5.3-flash", NULL, NULL, NULL, "zai-org/GLM-5.3-Flash", "fp8_block"},
    {"minimax-text-01", "minimax-text-01", NULL, NULL, NULL, "MiniMaxAI/MiniMax-Text-01", NULL},
    {"minimax-m2.5", "minimax-m2.5", NULL, NULL, NULL, "MiniMaxAI/MiniMax-M2.5", "fp8_block"},
    {"minimax-m2.5", "minimax-m2", NULL, NULL, NULL, NULL, "fp8_block"}, /* same shape */
    {"minimax-m2.5", "minimax-m2.1", NULL, NULL, NULL, NULL, "fp8_block"},
    {"minimax-m2.7", "minimax-m2.7", NULL, NULL, NULL, "MiniMaxAI/MiniMax-M2.7", NULL},
    {"minimax-m3", "minimax-m3", NULL, NULL, NULL, "MiniMaxAI/MiniMax-M3", NULL},
    {"qwen3-32b", "qwen3-32b", "qwen3-32b", "qwen3 32B", "qwen3_32b", "Qwen/Qwen3-32B", NULL},
    {"qwen3-0.6b", "qwen3-0.6b", "qwen3-0.6b", "qwen3 0.6B", "qwen3_600m", "Qwen/Qwen3-0.6B",
     NULL},
    {"qwen3-1.7b", "qwen3-1.7b", "qwen3-1.7b", "qwen3 1.7B", "qwen3_1p7b", "Qwen/Qwen3-1.7B",
     NULL},
    {"qwen3-4b", "qwen3-4b", "qwen3-4b", "qwen3 4B", NULL, "Qwen/Qwen3-4B", NULL},
    {"qwen3-4b", "qwen3-4b-instruct-2507", NULL, NULL, NULL, NULL, NULL},
    {"qwen3-4b", "qwen3-4b-thinking-2507", "qwen3-4b-thinking-2507", NULL, NULL, NULL, NULL},
    {"qwen3-8b", "qwen3-8b", "qwen3-8b", "qwen3 8B", NULL, "Qwen/Qwen3-8B", NULL},
    {"qwen3-14b", "qwen3-14b", "qwen3-14b", "qwen3 14B", NULL, "Qwen/Qwen3-14B", NULL},
    {"qwen2.5-7b", "qwen2.5-7b", "qwen2.5-7b", NULL, NULL, "Qwen/Qwen2.5-7B", NULL},
    {"qwen2.5-14b", "qwen2.5-14b", "qwen2.5-14b", NULL, NULL, "Qwen/Qwen2.5-14B", NULL},
    {"qwen2.5-32b", "qwen2.5-32b", NULL, NULL, NULL, "Qwen/Qwen2.5-32B", NULL},
    {"qwen2.5-72b", "qwen2.5-72b", NULL, NULL, NULL, "Qwen/Qwen2.5-72B", NULL},
    {"qwen2.5-7b", "qwen2.5-coder-7b", NULL, NULL, NULL, NULL, NULL}, /* same shapes */
    {"qwen2.5-7b", "qwen2-7b", NULL, NULL, NULL, NULL, NULL},
    {"qwen2.5-7b", "qwen2.5-math-7b", NULL, NULL, NULL, NULL, NULL},
    {"qwen2.5-14b", "qwen2.5-coder-14b", NULL, NULL, NULL, NULL, NULL},
    {"qwen2.5-32b", "qwen2.5-coder-32b", NULL, NULL, NULL, NULL, NULL},
    {"qwen2.5-32b", "qwq-32b", NULL, NULL, NULL, NULL, NULL},
    {"qwen2.5-7b", "deepseek-r1-distill-qwen-7b", NULL, NULL, NULL, NULL, NULL},
    {"qwen2.5-14b", "deepseek-r1-distill-qwen-14b", NULL, NULL, NULL, NULL, NULL},
    {"qwen2.5-32b", "deepseek-r1-distill-qwen-32b", NULL, NULL, NULL, NULL, NULL},
    {"qwen3-next-80b-a3b", "qwen3-next-80b-a3b", "qwen3-next-80b-a3b", NULL,
     "qwen3_next_80b_a3b", "Qwen/Qwen3-Next-80B-A3B-Instruct", NULL},
    {"qwen3-next-80b-a3b", "qwen3-coder-next", NULL, NULL, NULL, NULL, NULL}, /* same shape */
    {"qwen3.5-397b-a17b", "qwen3.5-397b-a17b", "qwen3.5-397b-a17b", "qwen3_5 397B-A17B", NULL,
     "Qwen/Qwen3.5-397B-A17B", NULL},
    {"qwen3.5-122b-a10b", "qwen3.5-122b-a10b", NULL, "qwen3_5 122B-A10B", NULL,
     "Qwen/Qwen3.5-122B-A10B", NULL},
    {"qwen3.5-35b-a3b", "qwen3.5-35b-a3b", "qwen3.5-35b-a3b", "qwen3_5 35B-A3B", NULL,
     "Qwen/Qwen3.5-35B-A3B", NULL},
    {"qwen3.5-35b-a3b", "qwen3.6-35b-a3b", NULL, NULL, NULL, NULL, NULL}, /* same shape */
    {"qwen3.5-27b", "qwen3.5-27b", NULL, "qwen3_5 27B", NULL, "Qwen/Qwen3.5-27B", NULL},
    {"qwen3.5-27b", "qwen3.6-27b", NULL, NULL, NULL, NULL, NULL}, /* same shape */
    {"qwen3.5-27b", "qwen3.8-27b", NULL, NULL, NULL, NULL, NULL},
    {"qwen3.8-2.4t-a95b", "qwen3.8-2.4t-a95b", NULL, NULL, NULL, "Qwen/Qwen3.8-2.4T-A95B",
     NULL},
    {"qwen3.8-flash-next", "qwen3.8-flash-next", NULL, NULL, NULL, "Qwen/Qwen3.8-Flash-Next",
     NULL},
    {"gemma-3-27b", "gemma-3-27b", "gemma3-27b", NULL, NULL, "google/gemma-3-27b-it", NULL},
    {"gemma-4-26b-a4b", "gemma-4-26b-a4b", "gemma4-26b", NULL, NULL,
     "google/gemma-4-26B-A4B-it", NULL},
    {"gemma-4-31b", "gemma-4-31b", "gemma4-31b", NULL, NULL, "google/gemma-4-31B-it", NULL},
    {"gemma-4-e2b", "gemma-4-e2b", "gemma4-e2b", NULL, NULL, "google/gemma-4-E2B-it", NULL},
    {"gemma-4-e4b", "gemma-4-e4b", "gemma4-e4b", NULL, NULL, "google/gemma-4-E4B-it", NULL},
    {"mimo-v2.5-pro", "mimo-v2.5-pro", NULL, NULL, NULL, "XiaomiMiMo/MiMo-V2.5-Pro",
     "fp8_block"},
    {"solar-open2-250b", "solar-open2-250b", NULL, NULL, NULL, "upstage/Solar-Open2-250B",
     NULL},
    {"muse-glimmer-30b", "muse-glimmer-30b", NULL, NULL, NULL, "facebook/Muse-Glimmer-30B",
     NULL},
    {"alice-ai-80b-a3b", "aliceai-foundation-80b-a3b", NULL, NULL, NULL,
     "yandex/AliceAI-Foundation-80B-A3B-Base", NULL},
    {"mimo-v2-flash", "mimo-v2-flash", NULL, NULL, NULL, "XiaomiMiMo/MiMo-V2-Flash",
     "fp8_block"},
    {"mimo-v2-flash", "mimo-v2.6-flash", NULL, NULL, NULL, NULL, "mxfp4"}, /* same shape */
    {"step-3.7-flash", "step-3.7-flash", NULL, NULL, NULL, "stepfun-ai/Step-3.7-Flash", NULL},
    {"step-3.7-flash", "step-3.5-flash", NULL, NULL, NULL, NULL, NULL}, /* same shape */
    {"k-exaone-236b-a23b", "k-exaone-236b-a23b", NULL, NULL, NULL,
     "LGAI-EXAONE/K-EXAONE-236B-A23B", NULL},
    {"solar-open-100b", "solar-open-100b", NULL, NULL, NULL, "upstage/Solar-Open-100B", NULL},
    {"hy3", "hy3-preview", NULL, NULL, NULL, "tencent/Hy3-preview", NULL},
    {"hy4-preview", "hy4-preview", NULL, NULL, NULL, "tencent/Hy4-preview", NULL},
    {"a.x-k1", "a.x-k1", NULL, NULL, NULL, "skt/A.X-K1", NULL},
    {"trinity-nano", "trinity-nano-preview", NULL, NULL, NULL, "arcee-ai/Trinity-Nano-Preview",
     NULL},
    {"trinity-nano", "trinity-nano-base", NULL, NULL, NULL, NULL, NULL},
    {"trinity-mini", "trinity-mini", NULL, NULL, NULL, "arcee-ai/Trinity-Mini", NULL},
    {"trinity-large", "trinity-large-preview", NULL, NULL, NULL,
     "arcee-ai/Trinity-Large-Preview", NULL},
    {"laguna-xs.2", "laguna-xs.2", NULL, NULL, NULL, "poolside/Laguna-XS.2", NULL},
    {"laguna-s-2.1", "laguna-s-2.1", NULL, NULL, NULL, "poolside/Laguna-S-2.1", NULL},
    {"mistral-small-4-119b", "mistral-small-4-119b", NULL, NULL, NULL,
     "mistralai/Mistral-Small-4-119B-2603", NULL},
    {"qwen1.5-moe-a2.7b", "qwen1.5-moe-a2.7b", NULL, NULL, NULL, "Qwen/Qwen1.5-MoE-A2.7B",
     NULL},
    {"qwen2-57b-a14b", "qwen2-57b-a14b", NULL, NULL, NULL, "Qwen/Qwen2-57B-A14B-Instruct",
     NULL},
    {"llama-3.1-8b", "llama-3.1-8b", "llama3.1-8b", "llama3 8B", "llama31_8b",
     "meta-llama/Llama-3.1-8B", NULL},
    {"llama-3.1-70b", "llama-3.1-70b", "llama3.1-70b", "llama3 70B", "llama31_70b",
     "meta-llama/Llama-3.1-70B", NULL},
    {"llama-3.3-nemotron-super-49b", "llama-3_3-nemotron-super-49b-v1", NULL, NULL, NULL,
     "nvidia/Llama-3_3-Nemotron-Super-49B-v1", NULL},
    {"llama-3.3-nemotron-super-49b", "llama-3_3-nemotron-super-49b-v1_5", NULL, NULL, NULL,
     NULL, NULL},                                                               /* same shape */
    {"llama-3.1-70b", "llama-3.3-70b", "llama3.3-70b", NULL, NULL, NULL, NULL}, /* same shape */
    {"llama-3.1-70b", "meta-llama-3.1-70b", NULL, NULL, NULL, NULL, NULL},
    {"llama-3.1-8b", "meta-llama-3.1-8b", NULL, NULL, NULL, NULL, NULL},
    {"llama-3.1-8b", "meta-llama-3-8b", NULL, NULL, NULL, NULL, NULL}, /* same shapes */
    {"llama-3.1-8b", "llama-3-8b", "llama3-8b", NULL, "llama3_8b", NULL, NULL},
    {"llama-3.1-70b", "meta-llama-3-70b", NULL, NULL, NULL, NULL, NULL},
    {"llama-3.1-70b", "llama-3-70b", "llama3-70b", NULL, "llama3_70b", NULL, NULL},
    {"llama-3.1-8b", "deepseek-r1-distill-llama-8b", NULL, NULL, NULL, NULL, NULL},
    {"llama-3.1-70b", "deepseek-r1-distill-llama-70b", NULL, NULL, NULL, NULL, NULL},
    {"llama-3.2-1b", "llama-3.2-1b", NULL, NULL, NULL, "meta-llama/Llama-3.2-1B", NULL},
    {"llama-3.2-3b", "llama-3.2-3b", NULL, NULL, NULL, "meta-llama/Llama-3.2-3B", NULL},
    {"llama-3.1-405b", "llama-3.1-405b", "llama3.1-405b", "llama3 405B", "llama31_405b",
     "meta-llama/Llama-3.1-405B", NULL},
    {"llama-3.1-405b", "meta-llama-3.1-405b", NULL, NULL, NULL, NULL, NULL},
    {"kimi-k3", "kimi-k3", NULL, NULL, NULL, "moonshotai/Kimi-K3", "mxfp4"},
    {"kimi-linear-48b-a3b", "kimi-linear-48b-a3b", NULL, NULL, NULL,
     "moonshotai/Kimi-Linear-48B-A3B-Instruct", NULL},
    {"nemotron-3-nano", "nvidia-nemotron-3-nano-30b-a3b", NULL, NULL, "nemotron_3_nano",
     "nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", NULL},
    {"nemotron-3-super", "nvidia-nemotron-3-super-120b-a12b", NULL, NULL, "nemotron_3_super",
     "nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-BF16", NULL},
    {"nemotron-3-ultra", "nvidia-nemotron-3-ultra-550b-a55b", NULL, NULL, "nemotron_3_ultra",
     "nvidia/NVIDIA-Nemotron-3-Ultra-550B-A55B-BF16", NULL},
    {"nemotron-3-nano", "nemotron-3-nano-30b-a3b", NULL, NULL, NULL, NULL, NULL},
    {"nemotron-3-super", "nemotron-3-super-120b-a12b", NULL, NULL, NULL, NULL, NULL},
    {"jamba-v0.1", "jamba-v0.1", NULL, NULL, NULL, "ai21labs/Jamba-v0.1", NULL},
    {"jamba-v0.1", "ai21-jamba-mini-1.5", NULL, NULL, NULL, NULL, NULL}, /* same shape */
    {"jamba-v0.1", "ai21-jamba-mini-1.6", NULL, NULL, NULL, NULL, NULL},
    {"jamba-v0.1", "ai21-jamba-mini-1.7", NULL, NULL, NULL, NULL, NULL},
    {"jamba-v0.1", "ai21-jamba-1.5-mini", NULL, NULL, NULL, NULL, NULL},
    {"jamba-1.5-large", "ai21-jamba-large-1.5", NULL, NULL, NULL,
     "ai21labs/AI21-Jamba-Large-1.5", NULL},
    {"jamba-1.5-large", "ai21-jamba-1.5-large", NULL, NULL, NULL, NULL, NULL},
    {"jamba-1.5-large", "ai21-jamba-large-1.6", NULL, NULL, NULL, NULL, NULL}, /* same shape */
    {"jamba-1.5-large", "ai21-jamba-large-1.7", NULL, NULL, NULL, NULL, NULL},
    {"lfm2-8b-a1b", "lfm2-8b-a1b", NULL, NULL, NULL, "LiquidAI/LFM2-8B-A1B", NULL},
    {"nemotron-nano-9b-v2", "nvidia-nemotron-nano-9b-v2", NULL, NULL, NULL,
     "nvidia/NVIDIA-Nemotron-Nano-9B-v2", NULL},
    {"ling-mini-2.0", "ling-mini-2.0", NULL, NULL, NULL, "inclusionAI/Ling-mini-2.0", NULL},
    {"ling-mini-2.0", "ring-mini-2.0", NULL, NULL, NULL, NULL, NULL},
    {"ling-flash-2.0", "ling-flash-2.0", NULL, NULL, NULL, "inclusionAI/Ling-flash-2.0", NULL},
    {"ling-flash-2.0", "ring-flash-2.0", NULL, NULL, NULL, NULL, NULL},
    {"ling-1t", "ling-1t", NULL, NULL, NULL, "inclusionAI/Ling-1T", NULL},
    {"ling-1t", "ring-1t", NULL, NULL, NULL, NULL, NULL},
    {"ling-3.0-flash", "ling-3.0-flash", NULL, NULL, NULL, "inclusionAI/Ling-3.0-flash", NULL},
    {"ling-3.0-tiny", "ling-3.0-tiny", NULL, NULL, NULL, "inclusionAI/Ling-3.0-tiny", NULL},
    {"ring-2.5-1t", "ring-2.5-1t", NULL, NULL, NULL, "inclusionAI/Ring-2.5-1T", NULL},
    {"ring-mini-linear-2.0", "ring-mini-linear-2.0", NULL, NULL, NULL,
     "inclusionAI/Ring-mini-linear-2.0", NULL},
    {"dots.llm1", "dots.llm1.inst", NULL, NULL, NULL, "rednote-hilab/dots.llm1.inst", NULL},
    {"dots.llm1", "dots.llm1.base", NULL, NULL, NULL, NULL, NULL},
    {"exaone-4.0-32b", "exaone-4.0-32b", NULL, NULL, NULL, "LGAI-EXAONE/EXAONE-4.0-32B", NULL},
    {"hunyuan-a13b", "hunyuan-a13b", NULL, NULL, NULL, "tencent/Hunyuan-A13B-Instruct", NULL},
    {"ernie-4.5-21b-a3b", "ernie-4.5-21b-a3b", NULL, NULL, NULL, "baidu/ERNIE-4.5-21B-A3B-PT",
     NULL},
    {"ernie-4.5-300b-a47b", "ernie-4.5-300b-a47b", NULL, NULL, NULL,
     "baidu/ERNIE-4.5-300B-A47B-PT", NULL},
    {"ernie-4.5-vl-28b-a3b", "ernie-4.5-vl-28b-a3b", NULL, NULL, NULL,
     "baidu/ERNIE-4.5-VL-28B-A3B-PT", NULL},
    {"ernie-4.5-vl-424b-a47b", "ernie-4.5-vl-424b-a47b", NULL, NULL, NULL,
     "baidu/ERNIE-4.5-VL-424B-A47B-PT", NULL},
    {"mistral-large-3", "mistral-large-3-675b", NULL, NULL, NULL,
     "mistralai/Mistral-Large-3-675B-Instruct-2512", "fp8_block"},
    {"mistral-small-24b", "mistral-small-24b", NULL, NULL, NULL,
     "mistralai/Mistral-Small-24B-Instruct-2501", NULL},
    {"mistral-small-24b", "devstral-small-2505", NULL, NULL, NULL, NULL, NULL},
    {"mistral-small-24b", "devstral-small-2507", NULL, NULL, NULL, NULL, NULL},
    {"mistral-small-3.1-24b", "mistral-small-3.1-24b", NULL, NULL, NULL,
     "mistralai/Mistral-Small-3.1-24B-Instruct-2503", NULL},
    {"mistral-small-3.1-24b", "mistral-small-3.2-24b", NULL, NULL, NULL, NULL, NULL},
    {"devstral-small-2-24b", "devstral-small-2-24b", NULL, NULL, NULL,
     "mistralai/Devstral-Small-2-24B-Instruct-2512", "fp8"},
    {"devstral-2-123b", "devstral-2-123b", NULL, NULL, NULL,
     "mistralai/Devstral-2-123B-Instruct-2512", "fp8"},
    {"moonlight-16b-a3b", "moonlight-16b-a3b", NULL, "kimi_k2_7 moonlight-16B-A3B",
     "moonlight_16b", "moonshotai/Moonlight-16B-A3B", NULL},
    {"olmoe-1b-7b", "olmoe-1b-7b", NULL, NULL, "olmoe_7b", "allenai/OLMoE-1B-7B-0924", NULL},
    {"phi-4", "phi-4", NULL, NULL, NULL, "microsoft/phi-4", NULL},
    {"phi-4-mini", "phi-4-mini", NULL, NULL, NULL, "microsoft/Phi-4-mini-instruct", NULL},
    {"phi-3.5-moe", "phi-3.5-moe", NULL, NULL, NULL, "microsoft/Phi-3.5-MoE-instruct", NULL},
    {"dbrx", "dbrx", NULL, NULL, NULL, "databricks/dbrx-base", NULL},
    {"grok-1", "grok-1", NULL, NULL, NULL, "xai-org/grok-1", NULL},
    {"arctic", "snowflake-arctic", NULL, NULL, NULL, "Snowflake/snowflake-arctic-base", NULL},
    {"granite-3.1-3b-a800m", "granite-3.1-3b-a800m", NULL, NULL, NULL,
     "ibm-granite/granite-3.1-3b-a800m-base", NULL},
    {"granite-4.0-h-tiny", "granite-4.0-h-tiny", NULL, NULL, NULL,
     "ibm-granite/granite-4.0-h-tiny", NULL},
    {"granite-4.0-h-small", "granite-4.0-h-small", NULL, NULL, NULL,
     "ibm-granite/granite-4.0-h-small", NULL},
    {"llama-2-7b", "llama-2-7b", "llama2-7b", NULL, NULL, "meta-llama/Llama-2-7b-hf", NULL},
    {"llama-2-13b", "llama-2-13b", "llama2-13b", NULL, NULL, "meta-llama/Llama-2-13b-hf", NULL},
    {"llama-2-70b", "llama-2-70b", "llama2-70b", NULL, NULL, "meta-llama/Llama-2-70b-hf", NULL},
    {"llama-2-7b", "vicuna-7b", NULL, NULL, NULL, NULL, NULL}, /* same shape */
    {"llama-2-13b", "vicuna-13b", NULL, NULL, NULL, NULL, NULL},
    {"tinyllama-1.1b", "tinyllama-1.1b", NULL, NULL, NULL, "TinyLlama/TinyLlama-1.1B-Chat-v1.0",
     NULL},
    {"tinyllama-1.1b", "tinyllama_v1.1", NULL, NULL, NULL, NULL, NULL},
    {"yi-34b", "yi-34b", NULL, NULL, NULL, "01-ai/Yi-34B", NULL},
    {"yi-34b", "yi-1.5-34b", NULL, NULL, NULL, NULL, NULL}, /* same shape */
    {"mistral-7b", "mistral-7b-v0.3", NULL, NULL, NULL, "mistralai/Mistral-7B-v0.3", NULL},
    {"mistral-7b", "mistral-7b-instruct-v0.3", NULL, NULL, NULL, NULL, NULL},
    {"mistral-7b-v0.1", "mistral-7b-v0.1", NULL, NULL, NULL, "mistralai/Mistral-7B-v0.1", NULL},
    {"mistral-7b-v0.1", "mistral-7b-instruct-v0.1", NULL, NULL, NULL, NULL, NULL},
    {"mistral-7b-v0.1", "zephyr-7b", NULL, NULL, NULL, NULL, NULL},
    {"mistral-7b-v0.2", "mistral-7b-instruct-v0.2", "mistral-7b", NULL, NULL,
     "mistralai/Mistral-7B-Instruct-v0.2", NULL},
    {"mistral-7b-v0.2", "mistral-7b-v0.2", NULL, NULL, NULL, NULL, NULL},
    {"mistral-nemo-12b", "mistral-nemo", NULL, NULL, NULL, "mistralai/Mistral-Nemo-Base-2407",
     NULL},
    {"qwen2.5-0.5b", "qwen2.5-0.5b", NULL, NULL, "qwen25_500m", "Qwen/Qwen2.5-0.5B", NULL},
    {"qwen2.5-1.5b", "qwen2.5-1.5b", "qwen2.5-1.5b", NULL, "qwen25_1p5b", "Qwen/Qwen2.5-1.5B",
     NULL},
    {"qwen2.5-3b", "qwen2.5-3b", NULL, NULL, NULL, "Qwen/Qwen2.5-3B", NULL},
    {"qwen2.5-0.5b", "qwen2-0.5b", NULL, NULL, NULL, NULL, NULL}, /* same shape */
    {"qwen2.5-1.5b", "qwen2-1.5b", NULL, NULL, NULL, NULL, NULL},
    {"qwen2.5-0.5b", "qwen2.5-coder-0.5b", NULL, NULL, NULL, NULL, NULL},
    {"qwen2.5-1.5b", "qwen2.5-coder-1.5b", NULL, NULL, NULL, NULL, NULL},
    {"qwen2.5-3b", "qwen2.5-coder-3b", NULL, NULL, NULL, NULL, NULL},
    {"qwen2.5-1.5b", "qwen2.5-math-1.5b", NULL, NULL, NULL, NULL, NULL},
    {"qwen2.5-72b", "qwen2-72b", NULL, NULL, NULL, NULL, NULL},
    {"qwen2.5-72b", "qwen2.5-math-72b", NULL, NULL, NULL, NULL, NULL},
    {"deepseek-r1-distill-qwen-1.5b", "deepseek-r1-distill-qwen-1.5b", NULL, NULL, NULL,
     "deepseek-ai/DeepSeek-R1-Distill-Qwen-1.5B", NULL},
    {"deepseek-r1-distill-qwen-1.5b", "deepscaler-1.5b", NULL, NULL, NULL, NULL, NULL},
    {"deepseek-llm-7b", "deepseek-llm-7b", NULL, NULL, NULL, "deepseek-ai/deepseek-llm-7b-base",
     NULL},
    {"deepseek-moe-16b", "deepseek-moe-16b", NULL, NULL, NULL,
     "deepseek-ai/deepseek-moe-16b-base", NULL},
    {"qwen3.5-0.8b", "qwen3.5-0.8b", NULL, "qwen3_5 0.8B", NULL, "Qwen/Qwen3.5-0.8B", NULL},
    {"qwen3.5-2b", "qwen3.5-2b", NULL, "qwen3_5 2B", NULL, "Qwen/Qwen3.5-2B", NULL},
    {"qwen3.5-4b", "qwen3.5-4b", NULL, "qwen3_5 4B", NULL, "Qwen/Qwen3.5-4B", NULL},
    {"qwen3.5-9b", "qwen3.5-9b", NULL, "qwen3_5 9B", NULL, "Qwen/Qwen3.5-9B", NULL},
    {"qwen2-vl-2b", "qwen2-vl-2b", NULL, NULL, NULL, "Qwen/Qwen2-VL-2B-Instruct", NULL},
    {"qwen2-vl-7b", "qwen2-vl-7b", NULL, NULL, NULL, "Qwen/Qwen2-VL-7B-Instruct", NULL},
    {"qwen2-vl-72b", "qwen2-vl-72b", NULL, NULL, NULL, "Qwen/Qwen2-VL-72B-Instruct", NULL},
    {"gemma-2-2b", "gemma-2-2b", "gemma2-2b", NULL, NULL, "google/gemma-2-2b", NULL},
    {"gemma-2-9b", "gemma-2-9b", "gemma2-9b", NULL, NULL, "google/gemma-2-9b", NULL},
    {"gemma-2-27b", "gemma-2-27b", "gemma2-27b", NULL, NULL, "google/gemma-2-27b", NULL},
    {"gemma-3-1b", "gemma-3-1b", NULL, NULL, NULL, "google/gemma-3-1b-it", NULL},
    {"gemma-3-4b", "gemma-3-4b", "gemma3-4b", NULL, NULL, "google/gemma-3-4b-it", NULL},
    {"gemma-3-12b", "gemma-3-12b", "gemma3-12b", NULL, NULL, "google/gemma-3-12b-it", NULL},
    {"phi-3.5-mini", "phi-3.5-mini", NULL, NULL, NULL, "microsoft/Phi-3.5-mini-instruct", NULL},
    {"phi-3.5-mini", "phi-3-mini", NULL, NULL, NULL, NULL, NULL}, /* same shape */
    {"glm-4-9b", "glm-4-9b", NULL, NULL, NULL, "THUDM/glm-4-9b-chat", NULL},
    {"glm-4-9b-0414", "glm-4-9b-0414", NULL, NULL, NULL, "THUDM/GLM-4-9B-0414", NULL},
    {"glm-4-9b-0414", "glm-z1-9b-0414", NULL, NULL, NULL, NULL, NULL},
    {"olmo-2-7b", "olmo-2-1124-7b", NULL, NULL, NULL, "allenai/OLMo-2-1124-7B", NULL},
    {"olmo-2-13b", "olmo-2-1124-13b", NULL, NULL, NULL, "allenai/OLMo-2-1124-13B", NULL},
    {"olmo-2-32b", "olmo-2-0325-32b", NULL, NULL, NULL, "allenai/OLMo-2-0325-32B", NULL},
    {"smollm3-3b", "smollm3-3b", NULL, NULL, NULL, "HuggingFaceTB/SmolLM3-3B", NULL},
    {"smollm2-1.7b", "smollm2-1.7b", NULL, NULL, NULL, "HuggingFaceTB/SmolLM2-1.7B", NULL},
    {"smollm2-360m", "smollm2-360m", NULL, NULL, NULL, "HuggingFaceTB/SmolLM2-360M", NULL},
    {"smollm2-135m", "smollm2-135m", NULL, NULL, NULL, "HuggingFaceTB/SmolLM2-135M", NULL},
    {"granite-3.3-2b", "granite-3.3-2b", NULL, NULL, NULL, "ibm-granite/granite-3.3-2b-base",
     NULL},
    {"granite-3.3-8b", "granite-3.3-8b", NULL, NULL, NULL, "ibm-granite/granite-3.3-8b-base",
     NULL},
    {"seed-oss-36b", "seed-oss-36b", NULL, NULL, NULL, "ByteDance-Seed/Seed-OSS-36B-Base",
     NULL},
    {"ernie-4.5-0.3b", "ernie-4.5-0.3b", NULL, NULL, NULL, "baidu/ERNIE-4.5-0.3B-PT", NULL},
    {"internlm3-8b", "internlm3-8b", NULL, NULL, NULL, "internlm/internlm3-8b-instruct", NULL},
    {"internlm2-7b", "internlm2-7b", NULL, NULL, NULL, "internlm/internlm2-7b", NULL},
    {"baichuan2-7b", "baichuan2-7b", NULL, NULL, NULL, "baichuan-inc/Baichuan2-7B-Base", NULL},
    {"gemma-2b", "gemma-2b", "gemma-2b", NULL, NULL, "google/gemma-2b", NULL},
    {"gemma-7b", "gemma-7b", "gemma-7b", NULL, NULL, "google/gemma-7b", NULL},
    {"gemma-2b", "gemma-1.1-2b", NULL, NULL, NULL, NULL, NULL},
    {"gemma-7b", "gemma-1.1-7b", NULL, NULL, NULL, NULL, NULL},
    {"gemma-3-270m", "gemma-3-270m", NULL, NULL, NULL, "google/gemma-3-270m", NULL},
    {"open-llama-3b", "open_llama_3b", NULL, NULL, NULL, "openlm-research/open_llama_3b_v2",
     NULL},
    {"open-llama-3b", "open_llama_3b_v2", NULL, NULL, NULL, NULL, NULL},
    {"llama-2-7b", "llama-7b", NULL, NULL, NULL, NULL, NULL}, /* same shape */
    {"llama-2-13b", "llama-13b", NULL, NULL, NULL, NULL, NULL},
    {"kimi-vl-a3b", "kimi-vl-a3b", NULL, "kimi_k2_7 Kimi-VL-A3B", NULL,
     "moonshotai/Kimi-VL-A3B-Instruct", NULL},
    {"grok-2", "grok-2", NULL, NULL, NULL, "xai-org/grok-2", NULL},
    {"longcat-flash", "longcat-flash-chat", NULL, NULL, NULL,
     "meituan-longcat/LongCat-Flash-Chat", NULL},
    {"longcat-flash", "longcat-flash-thinking", NULL, NULL, NULL, NULL, NULL}, /* same shape */
    {"longcat-flash-lite", "longcat-flash-lite", NULL, NULL, NULL,
     "meituan-longcat/LongCat-Flash-Lite", NULL},
    {"step3", "step3", NULL, NULL, NULL, "stepfun-ai/step3", NULL},
    {"phi-2", "phi-2", NULL, NULL, NULL, "microsoft/phi-2", NULL},
    {"gpt-j-6b", "gpt-j-6b", NULL, NULL, NULL, "EleutherAI/gpt-j-6b", NULL},
    {"falcon-7b", "falcon-7b", NULL, NULL, NULL, "tiiuae/falcon-7b", NULL},
    {"falcon-h1-0.5b", "falcon-h1-0.5b-base", NULL, NULL, NULL, "tiiuae/Falcon-H1-0.5B-Base",
     NULL},
    {"falcon-mamba-7b", "falcon-mamba-7b", NULL, NULL, NULL, "tiiuae/falcon-mamba-7b", NULL},
    {"mamba-codestral-7b", "mamba-codestral-7b-v0.1", NULL, NULL, NULL,
     "mistralai/Mamba-Codestral-7B-v0.1", NULL},
    {"falcon-40b", "falcon-40b", NULL, NULL, NULL, "tiiuae/falcon-40b", NULL},
    {"sarvam-30b", "sarvam-30b", NULL, NULL, NULL, "sarvamai/sarvam-30b", NULL},
    {"sarvam-105b", "sarvam-105b", NULL, NULL, NULL, "sarvamai/sarvam-105b", NULL},
    {"command-r-v01", "c4ai-command-r-v01", NULL, NULL, NULL, "CohereLabs/c4ai-command-r-v01",
     NULL},
    {"command-r-08-2024", "c4ai-command-r-08-2024", NULL, NULL, NULL,
     "CohereLabs/c4ai-command-r-08-2024", NULL},
    {"command-r7b", "c4ai-command-r7b", NULL, NULL, NULL, "CohereLabs/c4ai-command-r7b-12-2024",
     NULL},
    {"command-r-plus", "c4ai-command-r-plus", NULL, NULL, NULL,
     "CohereLabs/c4ai-command-r-plus", NULL},
    {"aya-expanse-8b", "aya-expanse-8b", NULL, NULL, NULL, "CohereLabs/aya-expanse-8b", NULL},
    {"minimax-text-01", "minimax-m1-40k", NULL, NULL, NULL, NULL, NULL}, /* same shape */
    {"minimax-text-01", "minimax-m1-80k", NULL, NULL, NULL, NULL, NULL},
    {"internvl3-8b", "internvl3-8b", NULL, NULL, NULL, "OpenGVLab/InternVL3-8B", NULL},
    {"internvl3.5-8b", "internvl3_5-8b", NULL, NULL, NULL, "OpenGVLab/InternVL3_5-8B", NULL},
    {"lfm2-350m", "lfm2-350m", NULL, NULL, NULL, "LiquidAI/LFM2-350M", NULL},
    {"lfm2-700m", "lfm2-700m", NULL, NULL, NULL, "LiquidAI/LFM2-700M", NULL},
    {"lfm2-1.2b", "lfm2-1.2b", NULL, NULL, NULL, "LiquidAI/LFM2-1.2B", NULL},
    {"lfm2-2.6b", "lfm2-2.6b", NULL, NULL, NULL, "LiquidAI/LFM2-2.6B", NULL},
    {"lfm2-1.2b", "lfm2.5-1.2b", NULL, NULL, NULL, NULL, NULL}, /* same shape */
    {"lfm2-350m", "lfm2.5-350m", NULL, NULL, NULL, NULL, NULL},
    {"apertus-8b", "apertus-8b", NULL, NULL, NULL, "swiss-ai/Apertus-8B-2509", NULL},
    {"glm-4.1v-9b", "glm-4.1v-9b", NULL, NULL, NULL, "THUDM/GLM-4.1V-9B-Thinking", NULL},
};

enum { N_NAMES = sizeof names / sizeof *names };

/* Checkpoints of a known shape for longer or shorter sequences than its first one (config.json
 * of each, max_position_embeddings). */
static const struct {
    const char *hub;
    uint64_t positions;
} lengths[] = {
    {"qwen3-30b-a3b-instruct-2507", 262144},
    {"qwen3-30b-a3b-thinking-2507", 262144},
    {"qwen3-coder-30b-a3b", 262144},
    {"qwen3-235b-a22b-instruct-2507", 262144},
    {"qwen3-235b-a22b-thinking-2507", 262144},
    {"kimi-k2-instruct-0905", 262144},
    {"qwen1.5-moe-a2.7b-chat", 32768},
    {"qwen3-4b-instruct-2507", 262144},
    {"qwen3-4b-thinking-2507", 262144},
    {"qwen2.5-7b-instruct", 32768},
    {"qwen2-7b-instruct", 32768},
    {"qwen2.5-14b-instruct", 32768},
    {"qwen2.5-32b-instruct", 32768},
    {"qwen2.5-72b-instruct", 32768},
    {"qwen2.5-coder-7b", 32768},
    {"qwen2.5-coder-14b", 32768},
    {"qwen2.5-coder-32b", 32768},
    {"qwen2-0.5b-instruct", 32768},
    {"qwen2-0.5b", 131072},
    {"qwen2-1.5b-instruct", 32768},
    {"qwen2-1.5b", 131072},
    {"qwen2-72b-instruct", 32768},
    {"qwen2.5-math-1.5b", 4096},
    {"qwen2.5-math-72b", 4096},
    {"phi-3-mini-4k", 4096},
    {"minimax-m1-", 10240000},
    {"mimo-v2.6-flash", 1048576},
    {"llama-7b", 2048},
    {"llama-13b", 2048},
    {"glm-4-9b-chat-1m", 1048576},
    {"qwq-32b-preview", 32768},
    {"qwq-32b", 40960},
    {"meta-llama-3-8b", 8192},
    {"llama-3-8b", 8192},
    {"meta-llama-3-70b", 8192},
    {"llama-3-70b", 8192},
    {"devstral-small-2505", 131072},
    {"devstral-small-2507", 131072},
    {"glm-4.6v", 131072},
};

static const char *spelling(const struct model_name *name, enum model_catalog catalog)
{
    const char *const all[] = {name->hub, name->maxtext, name->torchtitan, name->bridge};
    return all[catalog];
}

/* The last part of a path, in lower case; of a snapshot in the hub's cache, .../models--OWNER--
 * NAME/snapshots/HASH, its name. */
const char *model_name_base(const char *name, struct arena *arena)
{
    static const char cached[] = "/models--";
    const char *base = text_base_name(text_without_slashes(name, arena));
    const char *folder = strstr(name, cached);
    const char *owner = folder ? strstr(folder + sizeof cached - 1, "--") : NULL;
    if (owner)
        base = arena_strndup(arena, owner + 2, strcspn(owner + 2, "/"));
    char *lower = arena_strdup(arena, base);
    for (char *at = lower; *at; at++)
        *at = (char)tolower((unsigned char)*at);
    return lower;
}

bool model_names_a_file(const char *name)
{
    static const char *const ends[] = {".yaml",    ".yml",  ".json",  ".toml",   ".csv",
                                       ".sh",      ".bash", ".slurm", ".sbatch", ".job",
                                       ".service", ".mk",   ".py",    ".ipynb"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (text_ends(name, ends[i]))
            return true;
    return false;
}

const char *model_name_called(enum model_catalog catalog, const char *name)
{
    for (size_t i = 0; i < N_NAMES; i++) {
        const char *known = spelling(&names[i], catalog);
        if (known && text_equal(name, known))
            return names[i].ours;
    }
    return NULL;
}

const char *model_name_begun(const char *name, const char **rest, struct arena *arena)
{
    const char *best = NULL, *wanted = model_name_base(name, arena);
    size_t longest = 0;
    if (model_names_a_file(name))
        return NULL;
    for (size_t i = 0; i < N_NAMES; i++) {
        size_t length = strlen(names[i].hub);
        bool begins = text_starts(wanted, names[i].hub) &&
                      (wanted[length] == '\0' || wanted[length] == '-');
        if (begins && length > longest) {
            best = names[i].ours;
            longest = length;
        }
    }
    if (!best || word_is_another(wanted + longest))
        return NULL;
    *rest = wanted + longest;
    return best;
}

uint64_t model_name_positions(const char *name, struct arena *arena)
{
    const char *wanted = model_name_base(name, arena);
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        if (text_starts(wanted, lengths[i].hub))
            return lengths[i].positions;
    return 0;
}

static const char *name_at(const void *table, size_t i)
{
    (void)table;
    return names[i].hub;
}

const char *model_name_near(const char *name, struct arena *arena)
{
    return text_nearest(model_name_base(name, arena), N_NAMES, name_at, NULL);
}

const char *model_name_of_letters(enum model_catalog catalog, const char *name,
                                  struct arena *arena)
{
    for (size_t i = 0; i < N_NAMES; i++) {
        struct text plain = {.arena = arena};
        for (const char *at = spelling(&names[i], catalog); at && *at; at++)
            if (isalnum((unsigned char)*at))
                text_printf(&plain, "%c", tolower((unsigned char)*at));
        if (plain.length && text_equal(text_string(&plain), name))
            return names[i].ours;
    }
    return NULL;
}

const char *model_name_to(enum model_catalog catalog, const char *name)
{
    for (size_t i = 0; i < N_NAMES; i++)
        if (text_equal(names[i].ours, name))
            return catalog == NAMES_HUB ? names[i].id : spelling(&names[i], catalog);
    return NULL;
}

const char *model_name_weights(const char *name)
{
    for (size_t i = 0; i < N_NAMES; i++)
        if (text_equal(names[i].ours, name) && names[i].weights)
            return names[i].weights;
    return "bf16";
}

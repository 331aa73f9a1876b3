/* Programs in Python that start an engine themselves: vllm.LLM(..) and its EngineArgs, Ray's
 * LLMConfig(..), sglang.Engine(..), tensorrt_llm.LLM(..). Their keywords are the engine's
 * flags. Read as text, never run. */
#ifndef MOEPLAN_PLAN_SERVING_ENGINE_SCRIPT_H
#define MOEPLAN_PLAN_SERVING_ENGINE_SCRIPT_H

#include "plan/job/reader.h"

/* A setting that says which class of vLLM is made: LLM has a batch of its own. */
#define ENGINE_SCRIPT_CLASS "llm-class"

/* Whether a script starts such an engine, and is no trainer's. */
bool engine_script_is_vllm(const char *text);
bool engine_script_is_sglang(const char *text);
bool engine_script_is_trtllm(const char *text);

/* The arguments of its first such call, as settings below a command line's. STATUS_INPUT for
 * what no Python is, and where no engine is made. */
enum status engine_script_read(struct job *job, const char *name, const char *text,
                               size_t length);

#endif

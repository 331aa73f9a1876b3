# Ray Serve's configuration, which says the device.
from ray import serve
from ray.serve.llm import LLMConfig, build_openai_app

llm_config = LLMConfig(
    model_loading_config={"model_id": "r1", "model_source": "deepseek-ai/DeepSeek-R1"},
    accelerator_type="H200",
    deployment_config={"autoscaling_config": {"min_replicas": 1, "max_replicas": 2}},
    engine_kwargs=dict(tensor_parallel_size=8, max_model_len=32768, enable_expert_parallel=True),
)
serve.run(build_openai_app({"llm_configs": [llm_config]}), blocking=True)

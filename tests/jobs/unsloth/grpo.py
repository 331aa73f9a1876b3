# GRPO with vLLM inside: the batch becomes the answers of one prompt.
#moeplan cluster=h100-1x1
import os
os.environ["UNSLOTH_VLLM_STANDBY"] = "1"
from unsloth import FastLanguageModel
from trl import GRPOConfig, GRPOTrainer

lora_rank = 32
model, tokenizer = FastLanguageModel.from_pretrained(
    model_name = "unsloth/Qwen3-8B",
    max_seq_length = 2048,
    load_in_4bit = False,
    fast_inference = True,
    max_lora_rank = lora_rank,
    gpu_memory_utilization = 0.6,
)
model = FastLanguageModel.get_peft_model(
    model, r = lora_rank,
    target_modules = ["q_proj", "k_proj", "v_proj", "o_proj"],
    use_gradient_checkpointing = True,
)
training_args = GRPOConfig(
    use_vllm = True,
    per_device_train_batch_size = 1,
    gradient_accumulation_steps = 1,
    num_generations = 6,
    max_prompt_length = 256,
    max_completion_length = 2048 - 256,
    optim = "paged_adamw_8bit",
)
trainer = GRPOTrainer(
    model = model, processing_class = tokenizer,
    reward_funcs = [lambda c, **kw: [len(x) for x in c]],
    args = training_args, train_dataset = dataset,
)
trainer.train()

# Unsloth's targets of a mixture of experts, of a model with shared ones, too.
#moeplan cluster=h100
from unsloth import FastLanguageModel
from trl import SFTConfig, SFTTrainer

model, tokenizer = FastLanguageModel.from_pretrained("zai-org/GLM-4.7-Flash", max_seq_length=2048,
                                                     load_in_4bit=False)
model = FastLanguageModel.get_peft_model(
    model, r=8, lora_alpha=16, use_gradient_checkpointing="unsloth",
    target_modules=["q_proj", "k_proj", "v_proj", "o_proj", "gate_up_proj", "down_proj"])
SFTTrainer(model=model, args=SFTConfig(per_device_train_batch_size=1)).train()

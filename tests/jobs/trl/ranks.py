#moeplan cluster=h100-1x1
# The default of all linear layers, of which one has another rank.
from peft import LoraConfig
from trl import SFTConfig, SFTTrainer

SFTTrainer(
    model="Qwen/Qwen3-8B",
    args=SFTConfig(loss_type="nll", max_length=2048, bf16=True, per_device_train_batch_size=1,
                   model_init_kwargs={"dtype": "bfloat16"}),
    peft_config=LoraConfig(r=16, target_modules="all-linear", rank_pattern={"o_proj": 4},
                           alpha_pattern={"o_proj": 8}),
).train()

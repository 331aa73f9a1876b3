# Two copies of a model that four ranks share out, each with parts of a context on two.
#moeplan cluster=h100-8x2
from accelerate import ParallelismConfig
from transformers import AutoModelForCausalLM
from trl import SFTConfig, SFTTrainer

mesh = ParallelismConfig(dp_replicate_size=2, dp_shard_size=4, cp_size=2)
model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen3-8B", torch_dtype="bfloat16")
args = SFTConfig(
    output_dir="out", per_device_train_batch_size=1, max_length=16384, bf16=True,
    fsdp="full_shard auto_wrap", fsdp_config={"fsdp_version": 2, "reshard_after_forward": True},
    parallelism_config=mesh, label_smoothing_factor=0.1,
)
trainer = SFTTrainer(model=model, args=args, train_dataset=dataset)
trainer.train()

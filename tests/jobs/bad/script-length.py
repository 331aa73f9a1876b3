#moeplan cluster=h100-1x1
from unsloth import FastLanguageModel
from trl import SFTConfig, SFTTrainer

def load(max_seq_length):
    return FastLanguageModel.from_pretrained("unsloth/Qwen3-8B",
                                             max_seq_length=max_seq_length)

SFTTrainer(model=load(2048), args=SFTConfig(per_device_train_batch_size=1))

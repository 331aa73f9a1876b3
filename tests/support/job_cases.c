/* See job_cases.h. */
#include "support/job_cases.h"

const struct job_case job_cases[] = {
    {"megatron/mixtral.sh", "",
     "parallel.tp=2 parallel.pp=4 parallel.vpp=2 parallel.ep=4 parallel.etp=2 parallel.sp=true "
     "parallel.schedule=interleaved parallel.zero=1 moe.path=ragged_a2a workload.micro_batch=1 "
     "workload.global_batch=256 precision.gradients=f32 precision.master=f32 cluster.nodes=4 "
     "cluster.node.devices=8 model.moe.intermediate=14336 model.attention.kv_heads=8",
     0},
    {"megatron/deepseek-v2-lite.sh", "",
     "parallel.pp=2 parallel.ep=8 moe.path=deepep recompute.kind=selective cluster.nodes=2 "
     "model.dense_layers=1 model.attention.kind=mla model.attention.qk_rope_head_dim=64 "
     "workload.async_checkpoint=true",
     0},
    {"megatron/deepseek-v4.sh", "",
     "parallel.pp=8 parallel.ep=8 recompute.kind=selective cluster.nodes=16 "
     "model.attention.kind=shared_kv model.attention.head_dim=512 model.attention.o_groups=8 "
     "model.attention.window=128 model.attention.csa_ratio=4 model.attention.sinks=true "
     "model.indexer.top_k=512 model.residual_streams=4 model.moe.hash_layers=3 "
     "model.moe.router.score=sqrtsoftplus model.moe.router.normalize=true",
     0},
    {"megatron/deepseek-v4-eager.sh", "",
     "model.attention.kind=shared_kv model.residual_streams=4 recompute.kind=selective", 3},
    {"megatron/qwen3-drop-and-pad.sh", "",
     "parallel.ep=16 moe.path=capacity moe.capacity_factor=1 moe.drop=probs "
     "recompute.kind=full "
     "precision.compute=fp8 precision.weights=bf16 model.dense_intermediate=6144 "
     "cluster.nodes=2",
     1},
    {"megatron/fsdp.sh", "",
     "parallel.zero=3 precision.gradients=bf16 precision.master=f32 precision.moments=bf16 "
     "optimizer.precision_aware=native "
     "moe.library=hybrid_ep parallel.ep=32 stack.cross_entropy=in_place cluster.nodes=8 "
     "parallel.double_buffer=true",
     0},
    {"megatron/layers-to-host.sh", "",
     "parallel.zero=3 parallel.dp_shard=32 parallel.outer_zero=1 parallel.double_buffer=true "
     "precision.recipe=fp8_current precision.keep_transpose=true recompute.offload_layers=20 "
     "recompute.kind=none",
     0},
    {"megatron/ends-in-bf16.sh", "cluster=b200-8x8",
     "precision.recipe=mxfp8 precision.quantized_params=true precision.plain_first=0 "
     "precision.plain_last=4 parallel.ep=8",
     0},
    {"megatron/distributed-inputs.sh", "",
     "parallel.tp=4 parallel.sp=false recompute.kind=full recompute.distribute=true", 0},
    {"megatron/micro-batch-groups.sh", "",
     "parallel.pp=4 parallel.vpp=2 parallel.vpp_group=6 parallel.schedule=interleaved", 0},
    {"megatron/uniform-groups.sh", "",
     "parallel.tp=2 parallel.pp=4 parallel.ep=4 recompute.kind=full recompute.every=2 "
     "optimizer.offload=0.5 moe.path=capacity",
     0},
    {"megatron/first-and-last.slurm", "",
     "parallel.pp=8 model.dense_layers=3 model.mtp_enabled=true stack.vocab_multiple=1 "
     "model.moe.router.scale=2.5 moe.dispatch_sms=24 precision.gradients=bf16 cluster.nodes=8",
     0},
    {"megatron/sections.yaml", "",
     "parallel.tp=2 parallel.sp=true parallel.ep=8 parallel.etp=2 workload.micro_batch=1 "
     "model.attention.kv_heads=8 model.vocab=32000 moe.path=ragged_a2a parallel.zero=1",
     0},
    {"megatron/shown-and-run.sh", "cluster=h100",
     "parallel.pp=4 parallel.vpp=4 parallel.ep=4 moe.capacity_factor=1.5 optimizer.offload=0.5 "
     "precision.recipe=fp8_delayed cluster.nodes=4 cluster.node.devices=8",
     0},
    {"megatron/yaml-cfg.sh", "cluster=h100",
     "parallel.tp=2 workload.micro_batch=1 workload.global_batch=128 cluster.nodes=2", 0},
    {"verl/grpo-fsdp.sh", "",
     "stack.kind=fsdp workload.micro_batch=1 workload.sequence_length=4096 "
     "workload.global_batch=512 workload.colocated.engine=asleep workload.colocated.tp=2 "
     "workload.colocated.fraction=0.6 workload.colocated.reference=1 parallel.zero=3 "
     "precision.weights=f32 precision.gradients=f32 precision.activations=bf16 "
     "recompute.kind=full cluster.nodes=1 cluster.node.devices=8",
     0},
    {"verl/engine-fp8.sh", "",
     "workload.colocated.engine=asleep workload.colocated.weights=fp8_block "
     "workload.colocated.tp=2 precision.weights=f32",
     0},
    {"verl/sft-moved.sh", "", "recompute.kind=full recompute.offload=[layer_input]", 0},
    {"verl/dapo-megatron.sh", "",
     "stack.kind=megatron parallel.tp=2 parallel.sp=true parallel.cp=2 parallel.ep=8 "
     "parallel.etp=1 parallel.zero=1 workload.sequence_length=16384 workload.micro_batch=1 "
     "workload.packing.length=8192 workload.global_batch=128 "
     "workload.colocated.engine=awake "
     "workload.colocated.reference=0 precision.weights=bf16 precision.master=f32 "
     "recompute.kind=none workload.colocated.critic=1 cluster.nodes=4",
     0},
    {"verl/ppo-critic.sh", "cluster=h100",
     "workload.colocated.critic_parameters=6816141312 workload.colocated.critic=0 "
     "workload.colocated.reference=0 workload.colocated.away=[] parallel.zero=3 "
     "workload.micro_batch=4 workload.global_batch=256 cluster.nodes=4",
     1},
    /* 8,030,261,248 and 7,615,616,512 parameters, of which a row stands for the head */
    {"verl/reward-model.sh", "cluster=h100",
     "model.name=qwen2.5-14b workload.colocated.critic_parameters=7504928768 "
     "workload.colocated.critic=0 workload.colocated.parameters=7070622720 "
     "workload.colocated.away=[weights,states,critic,reference,frozen] "
     "workload.colocated.reference=1 workload.micro_batch=2 workload.sequence_length=3072",
     0},
    {"verl/turns.sh", "",
     "parallel.cp=2 parallel.dp_shard=4 workload.colocated.engine=asleep "
     "workload.colocated.reference=1 recompute.kind=none workload.micro_batch=2 "
     "workload.sequence_length=1024 workload.global_batch=256 cluster.nodes=2",
     0},
    {"verl/states-away.sh", "",
     "workload.colocated.engine=asleep workload.colocated.tp=4 "
     "workload.colocated.fraction=0.5 workload.colocated.reference=0 parallel.zero=3 "
     "recompute.kind=full",
     0},
    {"verl/critic-away.sh", "",
     "workload.colocated.critic=1 workload.colocated.reference=0 stack.kind=megatron "
     "parallel.ep=8 parallel.tp=1",
     0},
    /* nine of a rank, in six micro-batches: two of 9,216 tokens in the fullest, 18,432 for
       16,384; of 82,944 tokens that makes five, in groups of two stages six */
    {"verl/uneven-tokens.sh", "",
     "workload.sequence_length=18432 workload.packing.length=9216 workload.micro_batch=1 "
     "parallel.vpp=2 workload.global_batch=24",
     0},
    {"verl/sft-engine.sh", "",
     "stack.kind=megatron parallel.tp=2 parallel.pp=2 parallel.ep=4 parallel.etp=1 "
     "workload.sequence_length=4096 workload.micro_batch=1 workload.packing.length=2048 "
     "workload.global_batch=48 "
     "optimizer.precision_aware=native optimizer.offload=0 recompute.kind=full "
     "workload.colocated.engine=none cluster.nodes=2",
     0},
    {"verl/sft-fsdp2.sh", "",
     "stack.kind=fsdp parallel.cp=2 parallel.dp_shard=2 parallel.reshard=never "
     "workload.sequence_length=8192 workload.micro_batch=2 workload.global_batch=256 "
     "precision.weights=bf16 precision.moments=bf16 precision.master=none lora.rank=16 "
     "recompute.kind=full",
     0},
    {"verl/sft-trainer.sh", "",
     "parallel.cp=2 workload.sequence_length=4096 workload.micro_batch=1 "
     "optimizer.offload=1 optimizer.offload_params=true recompute.kind=full "
     "precision.weights=f32 cluster.node.devices=8",
     1},
    {"verl/grpo-megatron-235b.sh", "cluster=h100",
     "model.name=qwen3-235b-a22b parallel.pp=8 parallel.tp=2 parallel.etp=1 parallel.ep=8 "
     "optimizer.offload=1 "
     "optimizer.precision_aware=native recompute.kind=full recompute.every=1 "
     "moe.path=deepep "
     "workload.colocated.engine=asleep workload.colocated.reference=1 cluster.nodes=8",
     0},
    {"verl/lora-megatron.sh", "cluster=h100",
     "lora.rank=16 lora.share_experts=true lora.sharded=true lora.format=bf16 "
     "recompute.kind=selective "
     "workload.colocated.reference=0 workload.global_batch=512 parallel.sp=true",
     0},
    {"verl/grpo-lora.sh", "cluster=h100",
     "lora.rank=64 lora.targets=[] lora.share_experts=false precision.weights=f32 "
     "parallel.cp=2 recompute.kind=full workload.packing.length=4096 "
     "workload.colocated.engine=asleep",
     0},
    {"bridge/pretrain-fields.py", "",
     "model.name=qwen3-30b-a3b parallel.tp=4 parallel.sp=true parallel.pp=2 parallel.ep=8 "
     "parallel.vpp=2 parallel.etp=1 workload.sequence_length=8192 workload.micro_batch=1 "
     "workload.global_batch=128 moe.path=deepep moe.library=deepep precision.recipe=mxfp8 "
     "precision.gradients=f32 precision.moments=bf16 optimizer.precision_aware=copied "
     "stack.overlap.ep=true stack.cross_entropy=in_place "
     "recompute.kind=selective",
     2},
    {"bridge/own-script.slurm", "",
     "model.name=moonlight-16b-a3b parallel.tp=2 parallel.sp=true parallel.ep=4 lora.rank=16 "
     "workload.sequence_length=4096 workload.global_batch=64 recompute.kind=full "
     "cluster.node.devices=8 cluster.nodes=1",
     2},
    {"bridge/performance.py", "",
     "model.name=qwen3-30b-a3b parallel.tp=1 parallel.ep=8 workload.micro_batch=4 "
     "precision.recipe=mxfp8 precision.gradients=bf16 moe.library=hybrid_ep "
     "stack.graphs=partial recompute.kind=none",
     2},
    {"nemo/script.py", "",
     "model.name=mixtral-8x7b parallel.tp=1 parallel.pp=4 parallel.ep=8 cluster.nodes=4 "
     "workload.micro_batch=1 workload.global_batch=256 recompute.kind=full "
     "precision.gradients=bf16",
     1},
    {"nemo/recipe.py", "",
     "model.name=qwen3-30b-a3b parallel.tp=4 parallel.sp=true parallel.ep=8 parallel.pp=1 "
     "cluster.nodes=2 workload.sequence_length=2048 workload.global_batch=128 lora.rank=8 "
     "precision.weights=bf16 precision.gradients=f32",
     0},
    {"nemo/performance.py", "",
     "model.name=qwen3-30b-a3b parallel.tp=2 parallel.sp=true parallel.pp=2 parallel.vpp=1 "
     "parallel.ep=8 cluster.nodes=4 workload.sequence_length=8192 workload.global_batch=256 "
     "precision.recipe=fp8_current precision.gradients=bf16 stack.cross_entropy=in_place "
     "recompute.kind=full recompute.layers=3",
     1},
    {"nemo1/mixtral.yaml", "",
     "model.norm_bias=false model.attention.bias=false model.moe.glu=true "
     "model.moe.activation=silu model.moe.experts=8 model.vocab=32000 cluster.nodes=4 "
     "parallel.tp=2 parallel.sp=true parallel.pp=2 parallel.ep=4 parallel.zero=1 "
     "workload.sequence_length=2048 precision.weights=bf16 precision.gradients=bf16 "
     "precision.master=f32 precision.recipe=none moe.path=ragged_a2a recompute.kind=full "
     "recompute.layers=3 stack.overlap.dp=true stack.overlap.tp=false",
     0},
    {"nemo1/plain.yaml", "",
     "model.norm_bias=true model.attention.bias=true model.moe.glu=false "
     "model.moe.activation=gelu parallel.tp=4 parallel.sp=false parallel.zero=0 "
     "cluster.nodes=2 precision.weights=f32 precision.compute=bf16 precision.gradients=f32 "
     "precision.master=none precision.activations=bf16 model.tied_embeddings=true",
     0},
    {"nemo1/launch.sh", "cluster=h200",
     "cluster.nodes=2 workload.micro_batch=2 precision.recipe=fp8_delayed "
     "precision.quantized_params=true stack.overlap.tp=true model.norm_bias=false",
     0},
    {"bridge/template.yaml", "job.NODES=2 job.TP=2",
     "model.name=qwen3-30b-a3b cluster.nodes=2 cluster.node.devices=8 parallel.tp=2 "
     "parallel.ep=8 parallel.etp=1 workload.global_batch=64",
     1},
    {"bridge/worker-script.sh", "",
     "model.name=qwen3-235b-a22b parallel.tp=2 parallel.sp=true parallel.pp=4 parallel.vpp=1 "
     "parallel.ep=16 parallel.etp=1 moe.path=deepep moe.library=hybrid_ep "
     "recompute.kind=selective recompute.modules=[moe_act,layernorm] stack.overlap.ep=false "
     "optimizer.precision_aware=copied workload.global_batch=1024 cluster.nodes=16",
     1},
    {"bridge/family-and-size.sh", "",
     "model.name=deepseek-v3 parallel.pp=8 parallel.vpp=2 parallel.ep=8 cluster.nodes=32 "
     "precision.recipe=mxfp8 precision.gradients=bf16 stack.overlap.ep=true "
     "stack.delay_wgrad=true recompute.kind=none recompute.offload_layers=0 "
     "stack.cross_entropy=in_place",
     1},
    {"deepspeed/visible.sh", "",
     "cluster.nodes=1 cluster.node.devices=2 parallel.zero=3 workload.micro_batch=2 "
     "workload.global_batch=8 optimizer.offload=1 recompute.kind=full",
     0},
    {"verl/model-engine.sh", "",
     "stack.kind=megatron parallel.tp=2 parallel.ep=8 parallel.etp=1 parallel.zero=1 "
     "workload.sequence_length=5120 precision.gradients=f32 workload.colocated.tp=4",
     0},
    {"bridge/primus-lora.yaml", "", "model.name=qwen3-30b-a3b parallel.ep=8 lora.rank=0", 1},
    {"bridge/checkout/followed.py", "",
     "model.mtp_enabled=true parallel.pp=8 parallel.ep=32 parallel.stages=[8,8,8,8,8,8,8,5] "
     "workload.sequence_length=4096 workload.micro_batch=1 workload.global_batch=2048 "
     "precision.recipe=fp8_current precision.gradients=bf16 lora.rank=16",
     0},
    {"bridge/ends-alone.yaml", "",
     "parallel.pp=2 parallel.vpp=17 parallel.layout=\"E|(t*1|)*32L\" "
     "recompute.offload_layers=0 "
     "stack.cross_entropy=in_place",
     0},
    {"bridge/modules-by-checkpoint.yaml", "", "model.mtp_enabled=true model.mtp_layers=1", 0},
    {"bridge/primus-adapters.yaml", "",
     "model.name=llama-3.1-8b parallel.tp=2 parallel.sp=false parallel.zero=0 lora.rank=8 "
     "workload.global_batch=64 workload.sequence_length=2048 precision.weights=bf16",
     0},
    {"bridge/container.py", "",
     "model.name=deepseek-v3 parallel.pp=4 parallel.vpp=4 parallel.ep=32 "
     "parallel.schedule=interleaved moe.library=hybrid_ep workload.global_batch=2048 "
     "precision.gradients=f32 recompute.kind=none",
     0},
    {"bridge/recipe-alone.sh", "",
     "model.name=qwen3-235b-a22b parallel.tp=4 parallel.pp=16 parallel.ep=4 parallel.cp=1 "
     "workload.sequence_length=2048 workload.micro_batch=1 workload.global_batch=64 "
     "cluster.nodes=8",
     1},
    {"verl/config-name.sh", "",
     "stack.kind=megatron parallel.tp=4 parallel.sp=true parallel.ep=8 parallel.etp=1 "
     "parallel.zero=1 recompute.kind=none precision.weights=bf16 workload.colocated.tp=4 "
     "cluster.nodes=2",
     0},
    {"bridge/parts.py", "",
     "model.name=qwen3-235b-a22b parallel.tp=2 parallel.pp=8 parallel.cp=1 parallel.ep=8 "
     "workload.global_batch=1024 workload.micro_batch=1",
     1},
    {"fsdp/trl-config.sh", "",
     "stack.kind=fsdp parallel.zero=3 parallel.reshard=always workload.sequence_length=4096 "
     "precision.weights=f32 cluster.nodes=1",
     1},
    {"deepspeed/sequences.sh", "",
     "stack.kind=deepspeed parallel.cp=2 parallel.zero=3 workload.sequence_length=32768 "
     "workload.micro_batch=1 workload.global_batch=8 recompute.kind=full",
     0},
    {"nemo-rl/grpo-qwen3-30b.yaml", "",
     "stack.kind=megatron model.name=qwen3-30b-a3b parallel.tp=4 parallel.sp=true "
     "parallel.pp=4 "
     "parallel.ep=8 parallel.etp=1 parallel.zero=1 workload.sequence_length=8192 "
     "workload.micro_batch=1 workload.global_batch=512 workload.packing.length=0 "
     "precision.weights=bf16 precision.gradients=bf16 optimizer.precision_aware=native "
     "optimizer.offload=1 recompute.kind=full moe.path=ragged_a2a stack.overlap.dp=true "
     "workload.colocated.engine=asleep workload.colocated.tp=4 "
     "workload.colocated.fraction=0.7 workload.colocated.reference=1 cluster.nodes=8 "
     "cluster.node.devices=8",
     0},
    {"nemo-rl/grpo-longer.yaml", "",
     "parallel.tp=4 parallel.pp=4 parallel.cp=2 parallel.stages=[] optimizer.offload=0 "
     "workload.sequence_length=32768 workload.micro_batch=1 workload.packing.length=16384 "
     "workload.global_batch=256 precision.gradients=f32 moe.path=deepep moe.library=deepep "
     "workload.colocated.tp=4 "
     "cluster.nodes=16",
     0},
    {"nemo-rl/grpo-automodel.yaml", "",
     "stack.kind=torchtitan parallel.ep=8 parallel.zero=3 parallel.reshard=never "
     "moe.path=deepep workload.micro_batch=4 workload.sequence_length=4096 "
     "workload.global_batch=256 precision.weights=f32 precision.activations=bf16 "
     "recompute.kind=full "
     "workload.colocated.tp=2 workload.colocated.fraction=0.6 cluster.nodes=2",
     1},
    {"nemo-rl/section-renamed.yaml", "",
     "stack.kind=torchtitan parallel.ep=8 parallel.cp=2 parallel.zero=3 moe.path=deepep "
     "recompute.kind=full cluster.nodes=1",
     0},
    {"nemo-rl/grpo-apart.sh", "",
     "stack.kind=torchtitan parallel.ep=8 parallel.reshard=always "
     "workload.colocated.engine=none workload.colocated.reference=1 cluster.nodes=4",
     0},
    {"nemo-rl/engine-fp8.yaml", "",
     "workload.colocated.engine=asleep workload.colocated.weights=fp8_block "
     "workload.colocated.tp=4",
     0},
    {"nemo-rl/sft-dtensor.yaml", "",
     "stack.kind=fsdp parallel.tp=2 parallel.sp=false parallel.pp=1 parallel.zero=3 "
     "parallel.reshard=always workload.sequence_length=4096 workload.micro_batch=2 "
     "workload.global_batch=128 workload.colocated.engine=none "
     "workload.colocated.reference=0 optimizer.step=fused lora.rank=0 cluster.nodes=1",
     0},
    {"nemo-rl/dpo.sh", "",
     "stack.kind=megatron parallel.tp=2 parallel.sp=true parallel.ep=8 "
     "workload.sequence_length=4096 workload.micro_batch=2 workload.global_batch=128 "
     "optimizer.precision_aware=none precision.gradients=bf16 precision.master=f32 "
     "workload.colocated.engine=none workload.colocated.reference=1 cluster.nodes=4",
     0},
    {"nemo-rl/dpo-automodel.yaml", "",
     "stack.kind=torchtitan parallel.ep=8 moe.path=deepep recompute.kind=none "
     "workload.micro_batch=2 workload.global_batch=32 workload.sequence_length=2048 "
     "workload.packing.length=0 workload.colocated.engine=none cluster.node.devices=8",
     0},
    {"nemo-rl/sft-missing.yaml", "",
     "stack.kind=fsdp model.name=llama-3.1-8b parallel.tp=2 workload.sequence_length=16384 "
     "workload.micro_batch=1 workload.packing.length=8192 recompute.kind=full "
     "workload.global_batch=64 workload.colocated.reference=0 cluster.nodes=2 "
     "cluster.node.devices=8",
     1},
    {"nemo-rl/lora.yaml", "",
     "stack.kind=fsdp parallel.tp=4 parallel.sp=true lora.rank=16 lora.format=f32 "
     "precision.weights=f32 optimizer.offload=1 optimizer.offload_params=true "
     "workload.sequence_length=2048 workload.micro_batch=1 workload.colocated.engine=none",
     2},
    {"primus/mixtral-pipeline.yaml", "",
     "model.layers=56 parallel.pp=4 parallel.vpp=7 parallel.schedule=interleaved "
     "parallel.ep=8 recompute.kind=full recompute.layers=2 parallel.zero=1 cluster.nodes=8 "
     "stack.wgrad_placeholders=false",
     1},
    {"primus/deepseek-v3-turbo.yaml", "",
     "stack.kind=primus model.layers=8 model.dense_layers=2 model.attention.kind=mla "
     "model.mtp_enabled=false workload.micro_batch=1 workload.global_batch=64 "
     "workload.sequence_length=2048 parallel.pp=2 parallel.ep=8 parallel.zero=1 "
     "moe.path=deepep moe.sync_free=2 moe.dispatch_sms=64 recompute.kind=full "
     "recompute.layers=2 precision.gradients=f32 precision.master=f32 cluster.nodes=2",
     0},
    {"primus/changed-shape.yaml", "",
     "model.moe.experts=64 model.attention.kind=mla parallel.ep=8 parallel.zero=0", 2},
    {"primus/mixtral-defaults.yaml", "",
     "model.moe.experts=8 workload.micro_batch=2 workload.global_batch=16 "
     "workload.sequence_length=1024 parallel.ep=8 parallel.zero=1 moe.path=ragged_a2a "
     "moe.sync_free=0 precision.gradients=bf16 precision.master=f32",
     0},
    {"primus/layer-ids.yaml", "",
     "recompute.kind=full recompute.layers=3 parallel.pp=2 parallel.ep=8", 1},
    {"maxtext/primus-capacity.yaml", "",
     "model.name=deepseek-v2-lite moe.path=capacity moe.capacity_factor=1.25 "
     "precision.weights=bf16 parallel.ep=8 workload.micro_batch=2 "
     "workload.async_checkpoint=false",
     0},
    {"megatron/model-args.yaml", "",
     "model.layers=24 parallel.tp=2 parallel.sp=true parallel.zero=1 recompute.kind=selective "
     "recompute.modules=[core_attn,layernorm] model.vocab=32000",
     0},
    {"primus/qwen3-tensor.yaml", "",
     "parallel.tp=2 parallel.sp=true parallel.etp=1 parallel.zero=0 moe.path=allgather "
     "precision.recipe=fp8_block precision.compute=fp8 model.moe.experts=128",
     0},
    {"bridge/qwen3-script.sh", "",
     "parallel.ep=16 workload.micro_batch=1 workload.global_batch=1024 model.layers=48 "
     "cluster.nodes=2 precision.gradients=bf16 parallel.zero=1",
     1},
    {"bridge/recipe.sh", "",
     "parallel.ep=8 recompute.kind=selective workload.global_batch=512 model.layers=48", 1},
    {"bridge/anchors.yaml", "",
     "parallel.tp=2 parallel.sp=true parallel.ep=8 workload.sequence_length=4096 "
     "precision.gradients=f32",
     0},
    {"bridge/sizes.yaml", "",
     "parallel.ep=64 precision.recipe=mxfp8 precision.quantized_params=true "
     "precision.weights=bf16 precision.compute=fp8 moe.library=hybrid_ep "
     "model.moe.experts=128 model.attention.head_dim=128 model.moe.glu=true parallel.vpp=1",
     0},
    {"bridge/provider-lora.yaml", "",
     "parallel.pp=4 parallel.ep=16 model.layers=36 model.moe.experts=128 lora.rank=16 "
     "recompute.kind=full recompute.layers=5",
     0},
    {"bridge/pipeline.sh", "",
     "parallel.pp=8 parallel.vpp=2 parallel.ep=16 workload.global_batch=2048 cluster.nodes=32",
     2},
    {"maxtext/seed000.yml", "",
     "parallel.ep=8 parallel.zero=3 workload.micro_batch=8 workload.sequence_length=4096 "
     "moe.path=deepep moe.matmul=grouped precision.weights=bf16 precision.gradients=bf16 "
     "precision.moments=bf16 precision.master=none recompute.kind=full",
     0},
    /* 8 pairs, and a reference in the weights' format: f32 unless given */
    {"maxtext/preference.yml", "",
     "workload.micro_batch=16 workload.colocated.reference=1 workload.colocated.passes=1 "
     "workload.colocated.format=f32 precision.weights=f32",
     0},
    {"maxtext/one-shard.sh", "",
     "parallel.ep=1 parallel.zero=3 moe.path=ragged_a2a moe.matmul=grouped", 0},
    {"maxtext/mixtral-compile.sh", "",
     "parallel.zero=3 workload.sequence_length=2048 workload.micro_batch=8 moe.path=ragged_a2a "
     "moe.matmul=megablox moe.buffer=worst recompute.kind=full precision.weights=f32 "
     "cluster.name=tpu-v5p-4x4x4",
     0},
    {"maxtext/mixtral-dropping.sh", "",
     "parallel.tp=4 parallel.zero=3 workload.micro_batch=48 moe.path=capacity "
     "moe.capacity_factor=1.25 recompute.kind=save workload.async_checkpoint=true",
     0},
    {"maxtext/written-out.yml", "",
     "parallel.pp=4 parallel.vpp=4 parallel.ep=2 workload.micro_batch=4 model.hidden=4096 "
     "workload.global_batch=256 precision.compute=fp8 recompute.kind=save",
     0},
    {"maxtext/two-files.sh", "",
     "parallel.cp=2 parallel.ep=4 workload.micro_batch=8 workload.sequence_length=4096 "
     "moe.path=allgather precision.weights=bf16",
     0},
    {"torchtitan/deepseek-16b.toml", "",
     "parallel.ep=8 parallel.etp=1 parallel.zero=3 workload.micro_batch=4 "
     "recompute.kind=selective stack.compiled=false moe.path=ragged_a2a model.layers=27 "
     "stack.cross_entropy=f32",
     0},
    {"torchtitan/deepseek_v3/config_registry.py", "",
     "model.name=deepseek-v3 parallel.ep=8 parallel.tp=2 parallel.sp=false moe.path=deepep "
     "moe.library=hybrid_ep stack.cross_entropy=chunked stack.loss_chunks=4 "
     "recompute.kind=full precision.compute=fp8 workload.micro_batch=2",
     0},
    {"torchtitan/checkout/run.sh", "",
     "model.name=llama-3.1-8b workload.sequence_length=8192 workload.micro_batch=2 "
     "recompute.kind=none",
     0},
    {"torchtitan/primus-fp8.yaml", "",
     "model.name=deepseek-v2-lite parallel.ep=8 precision.compute=fp8 recompute.kind=none "
     "stack.compiled=true moe.routing.distribution=uniform",
     0},
    {"torchtitan/inline.toml", "",
     "parallel.ep=8 parallel.zero=3 workload.micro_batch=4 precision.weights=f32 "
     "recompute.kind=selective moe.path=ragged_a2a",
     0},
    {"torchtitan/override.sh", "",
     "parallel.tp=2 parallel.sp=true recompute.kind=full workload.micro_batch=4 "
     "cluster.node.devices=8",
     0},
    {"torchtitan/module.sh", "",
     "parallel.ep=8 workload.micro_batch=4 workload.sequence_length=4096", 1},
    {"torchtitan/pipeline.toml", "",
     "parallel.pp=8 parallel.zero=3 parallel.dp_shard=4 workload.micro_batch=1 "
     "workload.global_batch=128 "
     "parallel.schedule=interleaved precision.weights=bf16 precision.gradients=f32 "
     "precision.compute=fp8",
     0},
    {"vllm/deepseek-tp8.sh", "",
     "parallel.tp=8 parallel.sp=false parallel.ep=8 workload.mode=decode "
     "workload.micro_batch=128 "
     "workload.context_length=8192 moe.path=auto precision.kv_cache=fp8 "
     "precision.weights=fp8_block",
     0},
    {"vllm/two-nodes-of-dp.sh", "cluster=h200",
     "cluster.nodes=2 cluster.node.devices=8 parallel.dp=16 parallel.ep=16 "
     "memory.fraction=0.85 "
     "workload.micro_batch=256 stack.random_dummies=true",
     0},
    {"vllm/chunk-sizes.sh", "",
     "moe.path=deepep_ll moe.expert_tokens=8192 moe.dispatch_tokens=384 parallel.ep=16", 0},
    {"vllm/wide-ep.sh", "",
     "parallel.dp=16 parallel.ep=16 parallel.etp=1 moe.path=deepep_ll moe.redundant_experts=32 "
     "cluster.nodes=2 memory.fraction=0.85 precision.dispatch=fp8_block",
     0},
    {"vllm/halves.sh", "",
     "moe.overlap=true moe.overlap_decode=16 moe.overlap_prefill=1024 moe.path=deepep_ll "
     "parallel.dp=16 parallel.ep=16",
     0},
    {"vllm/config-file.sh", "",
     "parallel.tp=4 parallel.etp=4 parallel.ep=1 memory.fraction=0.85 precision.weights=fp8 "
     "workload.context_length=32768",
     0},
    {"vllm/module.sh", "",
     "parallel.tp=2 parallel.etp=2 workload.max_num_batched_tokens=16384 "
     "workload.micro_batch=512 "
     "stack.graphs=none "
     "precision.weights=mxfp4",
     1},
    {"vllm/speculative.sh", "",
     "parallel.tp=4 parallel.ep=4 workload.tokens_per_sequence=3 workload.speculation.tokens=2 "
     "workload.speculation.method=mtp model.mtp_enabled=true moe.routing.placement=strided "
     "precision.weights=fp8_channel",
     1},
    {"sglang/qwen3.sh", "",
     "parallel.tp=8 parallel.sp=false parallel.ep=8 moe.path=auto memory.fraction=0.8 "
     "workload.micro_batch=128",
     0},
    {"sglang/decode.sh", "",
     "parallel.tp=1 parallel.dp=16 parallel.ep=16 moe.path=deepep_ll workload.mode=decode "
     "workload.micro_batch=128 cluster.nodes=2 moe.redundant_experts=32 "
     "stack.graph_batch=128",
     0},
    {"sglang/prefill.sh", "",
     "parallel.tp=8 parallel.etp=8 workload.mode=prefill workload.sequence_length=16384 "
     "workload.micro_batch=1 workload.queue=true",
     0},
    {"sglang/two-nodes.sh", "cluster=h100",
     "cluster.nodes=2 cluster.node.devices=8 parallel.tp=16 parallel.etp=16", 0},
    {"sglang/triton-amd.sh", "", "parallel.tp=8 memory.fraction=0.85 memory.attention_share=1",
     2},
    {"sglang/aiter-honored.sh", "",
     "parallel.tp=8 memory.fraction=0.8 memory.attention_share=1", 1},
    {"sglang/config.sh", "",
     "parallel.tp=4 memory.fraction=0.9 precision.kv_cache=fp8 workload.micro_batch=256", 0},
    {"sglang/deepep-flags.sh", "",
     "parallel.tp=8 parallel.dp=4 parallel.ep=32 moe.path=deepep moe.overlap=true "
     "workload.max_num_batched_tokens=16384 workload.tokens_per_sequence=4 cluster.nodes=4",
     2},
    {"sglang/one-batch.sh", "",
     "moe.overlap_single=true moe.path=deepep_ll parallel.ep=16 workload.mode=decode", 0},
    {"trtllm/attention-dp.sh", "",
     "parallel.tp=1 parallel.dp=8 parallel.ep=8 parallel.etp=1 moe.path=allgather "
     "memory.fraction=0.85 memory.cache_block=32 precision.kv_cache=fp8 "
     "stack.experts=trtllm_gen workload.max_num_seqs=256 workload.micro_batch=256 "
     "workload.max_num_batched_tokens=4096 workload.context_length=8192",
     0},
    {"deepspeed/zero2.json", "cluster=h100-8x1 model=mixtral-8x7b",
     "parallel.zero=2 workload.micro_batch=2 workload.global_batch=128 precision.master=f32 "
     "precision.gradients=bf16",
     1},
    {"deepspeed/zero3-auto.json", "cluster=h100-8x1 model=mixtral-8x7b workload.micro_batch=1",
     "parallel.zero=3 optimizer.offload=1", 1},
    {"deepspeed/experts.json", "cluster=h100-8x2 model=mixtral-8x7b",
     "parallel.ep=4 workload.micro_batch=4 workload.global_batch=64 moe.path=ragged_a2a", 1},
    {"deepspeed/trainer.sh", "",
     "parallel.zero=3 workload.micro_batch=1 recompute.kind=full precision.weights=bf16 "
     "workload.sequence_length=4096 model.layers=48",
     0},
    {"deepspeed/heredoc.sh", "",
     "parallel.tp=2 parallel.zero=1 workload.micro_batch=1 precision.gradients=f32 "
     "cluster.nodes=2",
     1},
    {"megatron/deepseek-v3-layout.slurm", "cluster=h100",
     "parallel.pp=8 parallel.vpp=4 parallel.ep=32 parallel.etp=1 parallel.schedule=interleaved "
     "parallel.layout=\"Et*3|(tt|)*29,m|L\" cluster.nodes=32 model.dense_layers=3 "
     "model.mtp_enabled=true model.attention.kind=mla moe.path=deepep moe.library=deepep "
     "precision.recipe=fp8_block precision.moments=bf16 stack.overlap.dp=true "
     "workload.global_batch=8192 stack.cross_entropy=in_place",
     0},
    {"megatron/mixtral-variables.sh", "cluster=h100",
     "parallel.pp=4 parallel.ep=8 parallel.zero=1 cluster.nodes=4 model.vocab=32000 "
     "moe.path=ragged_a2a workload.global_batch=256",
     1},
    {"megatron/conditional.sh", "cluster=h100",
     "parallel.cp=2 parallel.ep=8 parallel.dp_shard=4 workload.micro_batch=2 "
     "workload.global_batch=16 optimizer.offload=0.5 "
     "stack.overlap.dp=false moe.routing.distribution=uniform cluster.nodes=2 "
     "recompute.kind=full recompute.layers=10",
     2},
    {"megatron/gpt-oss-windows.slurm", "cluster=h100",
     "model.attention.window=128 model.attention.sinks=true parallel.zero=3 "
     "parallel.dp_shard=32 stack.graphs=partial optimizer.kind=muon cluster.nodes=8 "
     "parallel.outer_zero=1 parallel.double_buffer=true stack.wgrad_placeholders=false",
     1},
    {"megatron/layer-pattern.sh", "cluster=h100",
     "model.layers=9 model.norms_per_layer=1 model.linear.kind=mamba2 model.linear.heads=128 "
     "model.dense_layers=4 cluster.nodes=2",
     0},
    {"megatron/latent.sh", "cluster=b200",
     "model.layers=88 model.moe.latent_size=1024 model.moe.experts=512 model.moe.glu=false "
     "model.linear.heads=128 parallel.ep=8 cluster.nodes=4",
     1},
    {"megatron/sparse.sh", "cluster=h100",
     "model.attention.kind=mla model.indexer.heads=16 model.indexer.top_k=512 parallel.ep=8",
     2},
    {"megatron/linear.sh", "cluster=h100",
     "model.linear.kind=gated_delta_net model.linear.heads=32 model.linear.key_heads=16 "
     "model.attention.output_gate=true model.attention.head_dim=256 model.moe.shared_gate=true "
     "parallel.ep=8 parallel.zero=1",
     0},
    {"bridge/lists.yaml", "cluster=h100-8x128",
     "model.dense_layers=3 model.moe.activation=silu model.moe.glu=true parallel.pp=16 "
     "precision.moments=bf16 optimizer.precision_aware=copied precision.gradients=bf16",
     0},
    {"bridge/environment.yaml", "cluster=h100-8x4 model=qwen3-30b-a3b",
     "parallel.tp=4 parallel.ep=8 parallel.pp=4 parallel.etp=1 stack.graphs=partial "
     "precision.recipe=fp8_delayed",
     0},
    {"bridge/performance.sh", "",
     "parallel.pp=4 parallel.vpp=4 parallel.ep=64 parallel.zero=1 precision.recipe=mxfp8 "
     "recompute.kind=selective stack.graphs=partial cluster.nodes=64",
     1},
    {"bridge/adapter.sh", "cluster=h100",
     "lora.rank=32 parallel.ep=8 model.layers=24 workload.sequence_length=2048", 1},
    {"bridge/current-scaling.sh", "cluster=h100",
     "precision.recipe=fp8_current precision.plain_first=1 precision.plain_last=1 "
     "parallel.ep=8 cluster.nodes=2",
     1},
    {"bridge/overrides.sh", "cluster=b200",
     "parallel.tp=2 parallel.ep=8 moe.library=hybrid_ep precision.moments=bf16 "
     "precision.recipe=mxfp8 stack.overlap.ep=true cluster.nodes=2",
     1},
    {"maxtext/deepseek-custom.yml", "cluster=h100-8x32",
     "parallel.ep=16 parallel.zero=3 parallel.dp_shard=128 workload.micro_batch=4 "
     "workload.global_batch=2048 recompute.kind=full",
     1},
    {"maxtext/mixtral-out-proj.sh", "cluster=h100-8x32",
     "parallel.tp=4 workload.micro_batch=8 recompute.kind=save moe.matmul=ragged_dot "
     "precision.compute=fp8",
     0},
    {"maxtext/gpt-oss.yml", "cluster=h100-8x8",
     "parallel.ep=8 optimizer.kind=muon precision.weights=bf16 precision.moments=f32 "
     "stack.cross_entropy=chunked stack.loss_chunks=8 stack.unrolled=true",
     0},
    {"maxtext/host-parameters.yml", "",
     "parallel.zero=3 optimizer.offload=1 optimizer.offload_params=true "
     "stack.unrolled=false recompute.kind=full",
     0},
    {"maxtext/axes.sh", "cluster=h100",
     "parallel.tp=2 parallel.cp=2 parallel.ep=4 workload.micro_batch=4 "
     "workload.global_batch=512 cluster.nodes=16 cluster.node.devices=8",
     0},
    {"maxtext/axes.sh", "cluster=tpu-v5p", "cluster.nodes=1 cluster.node.devices=128", 0},
    {"maxtext/slices.sh", "cluster=mi300x-8x16",
     "parallel.zero=3 optimizer.offload=1 recompute.kind=full model.layers=48", 0},
    {"maxtext/windows.yml", "cluster=h100-8x8",
     "model.attention.window=4096 parallel.pp=4 parallel.vpp=2 parallel.tp=2 "
     "workload.micro_batch=1",
     0},
    {"torchtitan/deepseek-671b.toml", "cluster=h100-8x64",
     "parallel.pp=8 parallel.vpp=2 parallel.tp=8 parallel.ep=8 parallel.etp=1 "
     "parallel.schedule=interleaved recompute.kind=full precision.compute=fp8 "
     "stack.compiled=false",
     0},
    {"torchtitan/qwen3-replicas.toml", "cluster=h100-8x2",
     "parallel.dp_shard=4 parallel.ep=4 parallel.reshard=never optimizer.step=foreach "
     "optimizer.offload=1 optimizer.offload_params=true "
     "moe.routing.distribution=uniform",
     0},
    {"torchtitan/defaults.sh", "cluster=h100",
     "parallel.dp_shard=4 cluster.node.devices=8 workload.micro_batch=2", 0},
    {"torchtitan/memory-budget.toml", "cluster=h100-8x1",
     "parallel.tp=8 parallel.etp=8 recompute.kind=full recompute.layers=24 "
     "precision.weights=bf16 stack.loss_parallel=false",
     0},
    {"torchtitan/parts.toml", "",
     "parallel.pp=2 parallel.vpp=1 parallel.ep=8 recompute.kind=full", 0},
    {"torchtitan/early-step.toml", "",
     "parallel.zero=3 optimizer.in_backward=true workload.async_checkpoint=true", 0},
    {"torchtitan/zero-bubble.toml", "cluster=h100-8x2",
     "parallel.pp=4 parallel.schedule=zero_bubble workload.micro_batch=2 "
     "workload.global_batch=64",
     1},
    {"vllm/deepseek-r1-two-nodes.sh", "cluster=h200",
     "parallel.dp=16 parallel.ep=16 moe.path=deepep moe.redundant_experts=32 "
     "workload.max_num_batched_tokens=16384 workload.micro_batch=256 stack.graphs=full "
     "workload.sequence_length=4096 workload.context_length=32000 precision.kv_cache=fp8 "
     "stack.graph_batch=128",
     1},
    {"vllm/compose.yaml", "cluster=h100",
     "parallel.tp=2 workload.context_length=40960 memory.fraction=0.9 "
     "precision.weights=fp8_block cluster.node.devices=2",
     0},
    {"vllm/kubernetes.yaml", "cluster=h200",
     "parallel.tp=8 parallel.ep=8 parallel.etp=1 workload.context_length=16384 "
     "precision.weights=fp8_block",
     0},
    {"vllm/kubernetes-shell.yaml", "cluster=h200",
     "parallel.tp=2 workload.context_length=32768 memory.fraction=0.92 precision.weights=bf16",
     0},
    {"sglang/leader-worker.yaml", "",
     "parallel.tp=16 parallel.etp=16 cluster.nodes=2 memory.fraction=0.85", 0},
    {"torchtitan/train-job.yaml", "cluster=h100",
     "cluster.nodes=2 cluster.node.devices=8 parallel.tp=2 parallel.zero=3", 0},
    {"megatron/pytorch-job.yaml", "",
     "cluster.nodes=4 cluster.node.devices=2 parallel.ep=8 model.layers=4", 0},
    {"verl/ray-job.yaml", "cluster=h100",
     "cluster.nodes=2 cluster.node.devices=8 model.layers=48 workload.colocated.tp=4", 0},
    {"torchtitan/kubernetes-job.yaml", "cluster=h100",
     "parallel.tp=2 parallel.ep=8 workload.micro_batch=4 parallel.zero=3 "
     "recompute.kind=selective",
     0},
    {"vllm/dynamo-values.yaml", "",
     "cluster.node.devices=1 cluster.device.peak.bf16=989TFLOP/s stack.graphs=full "
     "stack.graph_batch=64 "
     "workload.tokens_per_sequence=4 workload.context_length=131072 workload.micro_batch=64",
     0},
    {"vllm/ray-serve.yaml", "",
     "cluster.node.devices=8 cluster.device.peak.bf16=989TFLOP/s parallel.tp=8 parallel.ep=8 "
     "workload.context_length=16384 workload.micro_batch=256 precision.kv_cache=fp8 "
     "stack.graphs=full",
     0},
    {"vllm/ray-service.yaml", "",
     "cluster.node.devices=4 cluster.device.peak.bf16=312TFLOP/s parallel.tp=4 "
     "memory.fraction=0.88 "
     "model.layers=32",
     0},
    {"vllm/production-stack.yaml", "cluster=h200",
     "cluster.node.devices=4 parallel.tp=4 parallel.ep=4 workload.context_length=65536 "
     "workload.micro_batch=128 memory.fraction=0.92 precision.kv_cache=fp8 "
     "stack.graphs=auto",
     0},
    {"vllm/llm-d.yaml", "",
     "cluster.node.devices=4 cluster.nodes=1 parallel.tp=4 parallel.ep=1 parallel.dp=1", 0},
    {"vllm/kserve.yaml", "cluster=h100",
     "cluster.node.devices=2 parallel.tp=2 model.layers=48 workload.context_length=40960", 0},
    {"vllm/kserve-llm.yaml", "cluster=h200",
     "cluster.nodes=2 parallel.dp=16 parallel.ep=16 moe.path=deepep_ll "
     "workload.context_length=32768",
     0},
    {"vllm/skypilot-device.yaml", "",
     "cluster.node.devices=8 cluster.device.peak.bf16=989TFLOP/s parallel.tp=8", 0},
    {"sglang/dynamo-config.yaml", "",
     "cluster.node.devices=8 cluster.device.peak.bf16=2.25PFLOP/s parallel.tp=1 parallel.dp=8 "
     "parallel.ep=8 memory.fraction=0.82 memory.cache_block=64 workload.micro_batch=64",
     0},
    {"trtllm/dynamo.yaml", "",
     "cluster.node.devices=4 cluster.device.peak.bf16=989TFLOP/s parallel.tp=1 parallel.dp=4 "
     "parallel.ep=4 workload.mode=decode workload.micro_batch=256 "
     "workload.max_num_batched_tokens=1024 stack.graph_batch=256 precision.kv_cache=fp8",
     0},
    {"trtllm/dynamo-prefill.sh", "",
     "cluster.node.devices=4 parallel.tp=4 parallel.ep=4 workload.mode=prefill "
     "workload.sequence_length=2048 workload.micro_batch=4 memory.fraction=0.6 "
     "precision.kv_cache=fp8 workload.role=prompts memory.transfer_tokens=8448 "
     "workload.queue=true",
     0},
    {"vllm/served-as.sh", "cluster=h100",
     "parallel.tp=2 model.layers=48 precision.weights=fp8_block", 1},
    {"trtllm/snapshot.sh", "",
     "parallel.tp=4 model.layers=36 stack.experts=cutlass workload.max_num_seqs=800", 0},
    {"vllm/branches.sh", "cluster=h200",
     "parallel.dp=16 parallel.ep=16 memory.fraction=0.8 precision.kv_cache=fp8 "
     "workload.micro_batch=256 moe.path=deepep_ll",
     0},
    {"vllm/leader-worker.yaml", "cluster=h200",
     "cluster.nodes=2 parallel.dp=16 parallel.ep=16 workload.micro_batch=512", 0},
    {"vllm/offline.py", "cluster=h200",
     "parallel.tp=4 parallel.ep=4 memory.fraction=0.85 workload.context_length=16384 "
     "workload.max_num_batched_tokens=16384 workload.tokens_per_sequence=4 stack.graphs=full "
     "precision.weights=fp8_block",
     0},
    {"vllm/async-engine.py", "cluster=h100",
     "parallel.tp=2 workload.micro_batch=128 workload.max_num_batched_tokens=0 "
     "precision.kv_cache=fp8 model.layers=36",
     0},
    {"vllm/ray-config.py", "",
     "cluster.node.devices=8 parallel.tp=8 parallel.ep=8 workload.context_length=32768", 0},
    {"sglang/engine.py", "cluster=h200",
     "parallel.tp=1 parallel.dp=8 parallel.ep=8 memory.fraction=0.8 workload.micro_batch=64",
     0},
    {"trtllm/llm-api.py", "cluster=b200",
     "parallel.tp=1 parallel.dp=8 parallel.ep=8 memory.fraction=0.75 precision.kv_cache=fp8 "
     "stack.experts=cutlass workload.speculation.tokens=1 workload.max_num_batched_tokens=4096",
     0},
    {"vllm/ray-files.yaml", "",
     "cluster.node.devices=2 parallel.tp=2 workload.context_length=32768", 0},
    {"vllm/kserve-prefill.yaml", "cluster=h200",
     "model.dense_layers=3 cluster.nodes=2 parallel.dp=16 parallel.ep=16 moe.path=deepep "
     "stack.graphs=none workload.context_length=8192",
     1},
    {"vllm/kserve-speculator.yaml", "cluster=h100",
     "parallel.tp=4 workload.speculation.method=mtp workload.speculation.tokens=2", 0},
    {"vllm/kserve-draft.yaml", "cluster=h100",
     "workload.speculation.tokens=4 workload.speculation.model=llama-3.2-1b "
     "workload.micro_batch=16",
     0},
    {"vllm/start.Dockerfile", "",
     "parallel.tp=1 parallel.dp=2 parallel.ep=2 moe.path=deepep_ll "
     "workload.context_length=16384 model.moe.experts=128",
     0},
    {"vllm/image.Dockerfile", "cluster=h200",
     "parallel.tp=4 workload.micro_batch=64 precision.weights=fp8_channel", 0},
    {"vllm/tagged.Dockerfile", "cluster=h100", "stack.version=\"0.11.2\" parallel.tp=2", 0},
    {"vllm/server.service", "cluster=h100",
     "parallel.tp=4 workload.context_length=65536 precision.kv_cache=fp8 "
     "precision.weights=fp8_channel",
     0},
    {"vllm/quoted.service", "cluster=h100",
     "parallel.tp=4 workload.context_length=65536 precision.kv_cache=fp8 "
     "workload.speculation.method=ngram workload.speculation.tokens=3",
     0},
    {"vllm/tagged.container", "cluster=h100",
     "stack.version=\"0.11.2\" parallel.tp=2 workload.speculation.tokens=3 "
     "workload.speculation.method=ngram",
     0},
    {"vllm/json-in-a-file.yaml", "cluster=h200",
     "workload.speculation.tokens=2 workload.speculation.method=mtp "
     "workload.tokens_per_sequence=3",
     0},
    {"vllm/modules.sh", "cluster=h200",
     "workload.speculation.tokens=1 workload.tokens_per_sequence=2 model.max_position=262144 "
     "workload.context_length=200000",
     1},
    {"vllm/dspark.sh", "cluster=h200",
     "parallel.tp=8 memory.ngram_host=true workload.speculation.tokens=5 "
     "workload.speculation.method=dspark workload.tokens_per_sequence=6",
     0},
    {"vllm/mounted-folder.sh", "cluster=h200",
     "stack.version=\"0.20.0\" parallel.tp=8 memory.fraction=0.95 "
     "workload.context_length=65536 model.moe.experts=160",
     0},
    {"vllm/one-sequence.sh", "cluster=rtx5090",
     "workload.micro_batch=1 workload.max_num_seqs=1 workload.context_length=131072", 0},
    {"vllm/spark.yaml", "",
     "cluster=gb10 stack.version=\"0.33.0\" workload.micro_batch=256 "
     "workload.context_length=32768",
     0},
    {"vllm/a10g.yaml", "", "cluster=a10 stack.version=\"0.26.0\" workload.micro_batch=256", 0},
    {"vllm/first-module.sh", "cluster=h200",
     "workload.speculation.tokens=2 workload.speculation.method=mtp model.mtp_layers=3 "
     "model.mtp_enabled=true model.mtp_first=true",
     0},
    {"vllm/all-modules.sh", "cluster=h200",
     "workload.speculation.tokens=1 workload.speculation.method=mtp model.mtp_layers=3 "
     "model.mtp_enabled=true",
     0},
    {"vllm/long-context.sh", "cluster=h100",
     "workload.context_length=65536 model.max_position=40960 precision.kv_cache=fp8", 0},
    {"trtllm/long-context.sh", "cluster=h100", "workload.context_length=40960", 1},
    {"trtllm/ignored.yaml", "",
     "parallel.tp=2 precision.weights=bf16 precision.kv_cache=bf16 "
     "workload.context_length=8192",
     0},
    {"vllm/uncached-states.sh", "cluster=h200",
     "stack.version=\"0.33.0\" memory.state_copies=1", 0},
    {"sglang/whole-shared.sh", "cluster=h200",
     "parallel.tp=8 parallel.etp=8 moe.shared=sp workload.context_length=32768", 0},
    {"sglang/own-steps.sh", "cluster=h200",
     "workload.tokens_per_sequence=4 workload.speculation.tokens=3 "
     "workload.speculation.method=mtp",
     0},
    {"sglang/chain.sh", "cluster=h200",
     "workload.tokens_per_sequence=3 workload.speculation.tokens=2 "
     "workload.speculation.method=mtp",
     0},
    {"vllm/no-window.sh", "cluster=h100", "workload.context_length=4096", 0},
    {"vllm/shell.Dockerfile", "cluster=h100", "parallel.tp=2 workload.micro_batch=32", 0},
    {"vllm/serve.mk", "cluster=h100",
     "parallel.tp=2 parallel.ep=1 workload.micro_batch=48 stack.graphs=none", 0},
    {"vllm/serve.just", "cluster=h100", "parallel.tp=4 workload.context_length=16384", 0},
    {"vllm/magic.ipynb", "cluster=h100",
     "parallel.tp=2 workload.micro_batch=24 workload.context_length=8192", 0},
    {"unsloth/cells.ipynb", "cluster=h100",
     "workload.sequence_length=4096 workload.micro_batch=2 lora.rank=32 "
     "precision.weights=nf4_double model.layers=36",
     0},
    {"vllm/started.py", "",
     "cluster.node.devices=2 parallel.tp=2 workload.micro_batch=28 stack.graphs=none", 0},
    {"sglang/started.py", "cluster=h200", "parallel.tp=8 memory.fraction=0.85", 0},
    {"vllm/function.sh", "cluster=h100", "parallel.tp=4 workload.micro_batch=96", 0},
    {"vllm/arguments.sh", "cluster=h200 job.1=deepseek-ai/DeepSeek-R1 job.LENGTH=8192",
     "cluster.nodes=2 parallel.dp=16 parallel.ep=16 workload.context_length=8192", 0},
    {"megatron/paths.sh", "cluster=h100", "parallel.pp=2 parallel.ep=8 cluster.nodes=2", 1},
    {"trtllm/echoed.sh", "cluster=b200",
     "parallel.dp=8 parallel.tp=1 memory.fraction=0.85 precision.kv_cache=fp8", 0},
    {"trtllm/helix.sh", "cluster=b200",
     "parallel.tp=8 parallel.dcp=2 parallel.ep=8 parallel.etp=1 cluster.node.devices=8 "
     "workload.context_length=131072 precision.kv_cache=fp8",
     1},
    {"trtllm/options.yaml", "",
     "parallel.dp=4 parallel.ep=4 memory.fraction=0.8 precision.kv_cache=fp8 "
     "workload.micro_batch=96",
     0},
    {"vllm/settings.yaml", "",
     "parallel.tp=4 workload.context_length=16384 workload.micro_batch=64", 0},
    {"sglang/settings.yaml", "",
     "parallel.tp=8 memory.fraction=0.85 workload.micro_batch=64 precision.kv_cache=fp8", 0},
    {"sglang/dstack.yml", "", "parallel.tp=8 cluster.node.devices=8 memory.fraction=0.9", 0},
    {"deepspeed/dstack-nodes.yml", "",
     "cluster.nodes=2 cluster.node.devices=8 parallel.zero=3 workload.sequence_length=4096", 0},
    {"vllm/skypilot-choice.yaml", "cluster=h200", "parallel.tp=4 workload.micro_batch=32", 0},
    {"maxtext/xpk.sh", "cluster.network.bandwidth=50GB/s",
     "cluster.nodes=2 cluster.node.devices=64 workload.micro_batch=2", 0},
    /* 2048 x 4, 16 x 8, 7168 x 8 and 16 x 4; half a sequence on each of 8 */
    {"maxtext/scaled.sh", "cluster=tpu-v5p-4x4x4",
     "model.hidden=8192 model.attention.heads=128 model.attention.kv_heads=128 "
     "model.dense_intermediate=57344 model.layers=64 model.dense_layers=64 "
     "workload.micro_batch=4 parallel.tp=8 recompute.kind=save precision.compute=fp8",
     1},
    {"maxtext/xpk-dated.sh", "",
     "cluster.node.devices=64 cluster.device.logical_cores=2 workload.micro_batch=8 "
     "model.name=deepseek-v3 precision.weights=f32 precision.moments=bf16 "
     "precision.moment2=f32 precision.gradients=bf16 recompute.kind=full",
     0},
    {"maxtext/gcluster.sh", "cluster.network.bandwidth=50GB/s",
     "cluster.nodes=2 cluster.node.devices=256 workload.sequence_length=8192 "
     "model.vocab=262144 model.encoder.layers=0 parallel.zero=3",
     0},
    {"maxtext/jobset.yaml", "cluster.network.bandwidth=50GB/s",
     "cluster.nodes=2 cluster.node.devices=64 parallel.ep=8 workload.micro_batch=4 "
     "model.vocab=32768",
     0},
    {"maxtext/machines.sh", "",
     "cluster.nodes=1 cluster.node.devices=32 cluster.device.memory=32GiB parallel.cp=32 "
     "parallel.zero=3 workload.micro_batch=1 stack.loss_chunks=16",
     0},
    {"maxtext/tokamax.sh", "",
     "cluster.nodes=2 cluster.node.devices=8 cluster.device.logical_cores=2 parallel.ep=16 "
     "parallel.zero=3 parallel.dp_shard=16 moe.matmul=grouped workload.micro_batch=1 "
     "workload.global_batch=64",
     1},
    {"maxtext/named-in-file.yml", "cluster=h100-8x8",
     "model.layers=80 model.attention.head_dim=128 model.name=llama-3.1-70b", 2},
    {"maxtext/no-devices.sh", "cluster=tpu-v5p", "parallel.zero=3 workload.micro_batch=8", 1},
    {"maxtext/sft.sh", "cluster=tpu-v5p-2x2x2",
     "model.name=llama-3.1-8b precision.weights=bf16 precision.moments=bf16 "
     "workload.sequence_length=1024 parallel.zero=3",
     1},
    {"maxtext/images.sh", "cluster=tpu-v5p-4x4x4",
     "model.name=qwen3-30b-a3b precision.moments=bf16 precision.moment2=none", 0},
    {"maxtext/xpk-cores.sh", "",
     "cluster.nodes=1 cluster.node.devices=64 cluster.device.logical_cores=2 parallel.zero=3",
     0},
    {"axolotl/empty-key.yaml", "cluster=h100", "lora.rank=16 workload.sequence_length=4096", 0},
    {"llamafactory/aqlm.yaml", "cluster=h100", "lora.rank=8 precision.weights=bf16", 1},
    {"llamafactory/megatron.yaml", "cluster=h100-8x2",
     "stack.kind=megatron parallel.tp=4 parallel.pp=2 workload.micro_batch=1 "
     "workload.global_batch=2 precision.gradients=f32 model.vocab=151936",
     0},
    {"llamafactory/megatron-experts.yaml", "",
     "stack.kind=megatron parallel.pp=4 parallel.ep=2 parallel.zero=1 recompute.kind=full "
     "recompute.every=1 moe.path=ragged_a2a moe.matmul=grouped workload.global_batch=16",
     0},
    {"torchtitan/older.toml", "cluster=h100-8x2",
     "parallel.tp=2 parallel.pp=2 parallel.schedule=1f1b workload.sequence_length=8192 "
     "precision.compute=fp8 recompute.kind=full workload.global_batch=8",
     1},
    {"vllm/unset-mapping.sh", "cluster=h100", "parallel.tp=2", 1},
    {"verl/own-config.sh", "cluster=h100",
     "stack.kind=megatron parallel.tp=2 parallel.ep=4 workload.sequence_length=4096 "
     "workload.micro_batch=1 cluster.node.devices=8",
     0},
    {"llamafactory/ray.yaml", "cluster=h100",
     "cluster.node.devices=4 workload.global_batch=32 workload.micro_batch=2", 0},
    {"vllm/in-a-string.sh", "cluster=h100", "parallel.tp=2 workload.micro_batch=48", 0},
    {"vllm/to-a-shell.sh", "cluster=h100", "model.layers=24 workload.micro_batch=32", 0},
    {"vllm/written-script.sh", "cluster=h200",
     "parallel.tp=8 workload.context_length=16384 cluster.node.devices=8", 0},
    {"megatron/wrapped.sh", "cluster=h200",
     "cluster.nodes=2 cluster.node.devices=8 parallel.pp=2 parallel.ep=8 parallel.zero=1 "
     "workload.global_batch=128",
     0},
    {"vllm/docker.sh", "cluster=h100",
     "parallel.tp=2 model.layers=36 workload.max_num_batched_tokens=8192 "
     "precision.weights=mxfp4",
     0},
    {"vllm/image-serve.sh", "cluster=h200",
     "parallel.tp=8 parallel.ep=8 stack.experts=deepgemm "
     "precision.weights=fp8_block",
     0},
    {"sglang/attention-dp.sh", "cluster=h200",
     "parallel.tp=1 parallel.ep=8 cluster.node.devices=8 moe.path=deepep_ll "
     "stack.experts=marlin stack.graphs=none precision.kv_cache=bf16 parallel.dense_apart=true",
     0},
    {"vllm/eager.sh", "cluster=h100",
     "stack.graphs=none parallel.ep=4 memory.cache_block=32 precision.weights=fp8_block", 0},
    {"vllm/heredoc.sh", "cluster=h200",
     "parallel.tp=16 parallel.ep=16 workload.micro_batch=64 stack.graphs=partial "
     "workload.mode=decode workload.queue=true",
     0},
    {"vllm/half-a-node.sh", "cluster=h200-8x2",
     "cluster.nodes=1 cluster.node.devices=4 parallel.pp=2 workload.micro_batch=64 "
     "workload.max_num_seqs=128 workload.queue=true workload.context_length=163840 "
     "precision.weights=fp8_block",
     1},
    {"vllm/prefill-node.sh", "cluster=h200",
     "workload.mode=prefill workload.sequence_length=8192 workload.max_num_seqs=64", 0},
    {"vllm/awq.sh", "cluster=h100",
     "precision.weights=int4 precision.activations=f16 lora.rank=64 lora.slots=4 "
     "memory.weight_offload=4GiB",
     1},
    {"sglang/decode-72.sh", "cluster=h100",
     "parallel.tp=1 parallel.dp=72 parallel.ep=72 moe.path=deepep_ll workload.micro_batch=256 "
     "workload.sequence_length=4096 moe.redundant_experts=32 cluster.nodes=9 "
     "stack.graph_batch=256",
     2},
    {"vllm/pool.sh", "cluster=h100", "memory.cache_blocks=4000 stack.graph_batch=64", 0},
    {"sglang/pool.sh", "cluster=h100",
     "memory.cache_tokens=200000 stack.graph_batch=96 workload.fit_context=false", 0},
    {"sglang/dp-attention.sh", "cluster=h200",
     "parallel.tp=1 parallel.dp=8 parallel.ep=1 parallel.etp=8 parallel.sp=false "
     "workload.micro_batch=64 workload.queue=true precision.kv_cache=fp8 memory.fraction=0.85 "
     "workload.context_length=16384",
     0},
    {"vllm/data-parallel.sh", "cluster=h200",
     "parallel.tp=2 parallel.dp=2 parallel.ep=1 parallel.etp=4 parallel.sp=false "
     "cluster.node.devices=4 workload.micro_batch=256 memory.fraction=0.92 "
     "workload.context_length=32768",
     0},
    {"trtllm/attention-dp-tensor.sh", "cluster=h200",
     "parallel.tp=1 parallel.dp=4 parallel.ep=1 parallel.etp=4 cluster.node.devices=4 "
     "workload.micro_batch=64 memory.fraction=0.8",
     0},
    {"vllm/minimax.sh", "cluster=h100",
     "model.layers=62 model.moe.experts=256 precision.weights=fp8_block parallel.tp=4", 0},
    {"sglang/replicas.sh", "cluster=h100",
     "parallel.tp=2 parallel.dp=2 parallel.ep=1 parallel.etp=2 cluster.node.devices=4 "
     "workload.context_length=32768",
     0},
    {"sglang/mxfp4.sh", "cluster=b200",
     "workload.fit_context=true parallel.tp=4 stack.experts=trtllm_gen memory.fraction=0.9", 0},
    {"trtllm/experts-both-ways.sh", "cluster=h200",
     "parallel.tp=8 parallel.ep=4 parallel.etp=2 parallel.dp=1 workload.micro_batch=128 "
     "workload.max_num_batched_tokens=2048 memory.fraction=0.85",
     0},
    {"trtllm/two-nodes.sh", "",
     "cluster.nodes=2 parallel.tp=8 parallel.pp=2 parallel.ep=8 workload.micro_batch=64 "
     "workload.queue=true memory.fraction=0.8 workload.context_length=16384",
     0},
    {"trtllm/docker.sh", "cluster=h200",
     "cluster.node.devices=4 parallel.ep=4 parallel.etp=1 precision.kv_cache=fp8 "
     "precision.weights=fp8_block workload.context_length=262144 workload.fit_context=true",
     0},
    {"trtllm/tensor.sh", "",
     "cluster.node.devices=4 parallel.ep=1 parallel.etp=4 stack.experts=cutlass "
     "memory.fraction=0.9 workload.max_num_seqs=32 workload.chunked_prefill=true",
     2},
    {"vllm/adapters.sh", "cluster=h100",
     "lora.rank=32 lora.slots=4 memory.weight_offload=12.5GiB stack.graphs=partial "
     "stack.graph_batch=64",
     0},
    {"vllm/thinking.sh", "cluster=h200-8x1",
     "precision.weights=int4_32 model.checkpoint=int4_32 parallel.tp=8 lora.sharded=true "
     "lora.rank=16 lora.slots=1",
     0},
    {"sglang/adapters.sh", "cluster=h200-8x1",
     "parallel.tp=1 parallel.dp=8 parallel.ep=8 parallel.dense_apart=true "
     "parallel.head_apart=true lora.slots=4 lora.rank=32 lora.targets=[o_proj] "
     "workload.micro_batch=64",
     0},
    {"vllm/overrides.sh", "cluster=h200",
     "model.layers=31 model.max_position=163840 parallel.dcp=8 parallel.tp=8", 0},
    {"vllm/alike.sh", "cluster=h100",
     "memory.window_ratio=1 workload.context_length=32768 parallel.tp=2", 0},
    {"vllm/text-only.sh", "cluster=h100", "workload.encoder.limit=0 parallel.tp=8", 0},
    {"sglang/host-cache.sh", "cluster=h200",
     "memory.host_cache=120GB memory.host_cache_ratio=0 "
     "memory.weight_offload=4GiB "
     "model.max_position=65536",
     0},
    {"vllm/images.sh", "cluster=h100",
     "parallel.tp=4 parallel.encoder_apart=true workload.encoder.limit=4", 0},
    {"vllm/longer.sh", "cluster=h100",
     "model.max_position=262144 workload.context_length=262144 workload.fit_context=true "
     "precision.weights=fp8_block",
     0},
    {"sglang/prompts.sh", "cluster=h200",
     "workload.mode=prefill workload.sequence_length=4096 workload.micro_batch=8 "
     "parallel.dense_apart=true",
     0},
    {"vllm/states.sh", "cluster=h100",
     "model.linear.conv_state=f32 model.linear.state=f32 memory.state_block=512 "
     "memory.state_copies=0",
     0},
    {"vllm/aligned.sh", "cluster=h100",
     "model.linear.conv_state=none model.linear.state=f32 memory.state_block=0 "
     "memory.state_copies=2",
     0},
    {"sglang/states.sh", "cluster=h100",
     "model.linear.state=bf16 memory.state_ratio=0.5 memory.state_copies=5 "
     "workload.context_length=65536 parallel.tp=4",
     0},
    {"sglang/dispatch.sh", "cluster=h200",
     "moe.path=deepep precision.weights=fp8_block precision.dispatch=bf16 "
     "memory.offload_group=4",
     1},
    {"sglang/dispatch-nvfp4.sh", "cluster=b200",
     "moe.path=deepep_ll precision.weights=fp8_block precision.dispatch=nvfp4", 0},
    {"trtllm/generation.sh", "cluster=b200",
     "workload.role=answers memory.transfer_tokens=8192 stack.prompt_graphs=partial "
     "stack.prompt_graph_tokens=2048 workload.encoder.limit=0",
     0},
    {"trtllm/balancer.sh", "cluster=h200", "moe.redundant_experts=32 stack.experts=cutlass", 1},
    {"sglang/environment.sh", "cluster=h200", "workload.encoder.limit=0 parallel.tp=4", 1},
    {"sglang/token-map.sh", "cluster=h100",
     "workload.speculation.vocab=32768 workload.speculation.shares=embedding "
     "workload.speculation.weights=fp8 workload.speculation.kv_cache=fp8",
     0},
    {"sglang/prompt-graphs.sh", "cluster=h100",
     "stack.graph_batch=64 stack.prompt_graphs=none stack.graphs=auto", 0},
    {"sglang/piecewise.sh", "cluster=h100",
     "stack.graphs=none stack.prompt_graphs=partial stack.prompt_graph_tokens=4096 "
     "workload.micro_batch=48",
     0},
    {"sglang/answers.sh", "cluster=h200",
     "workload.role=answers workload.mode=decode parallel.dcp=8 workload.micro_batch=128 "
     "stack.graph_batch=96",
     0},
    {"vllm/slots.sh", "cluster=h200", "workload.micro_batch=1024 moe.path=deepep_ll", 0},
    {"vllm/slots.sh", "cluster=h200 stack.version=0.33",
     "workload.micro_batch=256 moe.path=deepep_ll", 0},
    {"vllm/prompts-b200.sh", "cluster=b200",
     "workload.mode=prefill workload.sequence_length=8192", 0},
    {"vllm/prompts-b200.sh", "cluster=b200 stack.version=0.33",
     "workload.mode=prefill workload.sequence_length=16384", 0},
    {"vllm/few.py", "cluster=h100",
     "workload.max_num_batched_tokens=4096 workload.micro_batch=4", 0},
    {"vllm/prompts-split.sh", "cluster=h200",
     "parallel.tp=2 parallel.cp=4 parallel.ep=8 parallel.etp=1 parallel.sp=true "
     "moe.path=allgather",
     0},
    {"vllm/online.sh", "cluster=h100",
     "precision.weights=int8 moe.overlap=true "
     "precision.plain=[attention,linear,indexer,dense,shared,residual,latent]",
     0},
    {"vllm/online-both.sh", "cluster=b200",
     "precision.weights=mxfp4 precision.plain_format=fp8_block", 1},
    {"vllm/skip-layers.sh", "cluster=h100",
     "precision.kv_cache=fp8 precision.window_cache=bf16", 0},
    {"sglang/prompts-split.sh", "cluster=h200",
     "parallel.tp=8 parallel.attention_cp=8 parallel.ep=8 parallel.dense_apart=false "
     "workload.mode=prefill workload.sequence_length=32768",
     0},
    {"sglang/prompts-in-runs.sh", "cluster=h200",
     "parallel.tp=8 parallel.attention_cp=8 parallel.ep=8 parallel.dense_apart=true "
     "moe.path=deepep_ll parallel.sp=true",
     0},
    {"sglang/deepseek-v4.sh", "cluster=h200", "precision.kv_cache=fp8 parallel.tp=8", 0},
    {"sglang/modules.sh", "cluster=h200",
     "model.mtp_layers=2 workload.speculation.tokens=2 workload.speculation.method=mtp", 0},
    {"sglang/dspark.sh", "cluster=h200",
     "workload.speculation.tokens=5 workload.speculation.method=dspark "
     "workload.tokens_per_sequence=6",
     0},
    {"sglang/one-module.sh", "cluster=h200", "model.mtp_layers=1 workload.speculation.tokens=3",
     0},
    {"sglang/polls.sh", "cluster=h100",
     "parallel.tp=4 workload.poll_steps=30 workload.micro_batch=64", 0},
    {"sglang/window.sh", "cluster=h100",
     "memory.window_ratio=0.25 memory.state_copies=0 workload.context_length=131072", 0},
    {"trtllm/balance.sh", "",
     "parallel.dp=8 precision.kv_cache=fp8 workload.chunked_prefill=true "
     "workload.balance.timeout=60 workload.balance.wait=0 stack.graph_padding=true "
     "stack.graph_batch=64",
     0},
    {"trtllm/chunks.sh", "cluster=b200",
     "moe.expert_tokens=16384 workload.max_num_seqs=128 workload.micro_batch=128 parallel.dp=8",
     0},
    {"trtllm/pool.sh", "cluster=h100", "memory.cache_tokens=100000 stack.graph_batch=64", 0},
    {"trtllm/slots.sh", "cluster=gb200", "moe.redundant_experts=32 stack.experts=cutlass", 2},
    {"vllm/few-tokens.sh", "cluster=h100", "workload.micro_batch=128", 0},
    {"vllm/no-graphs.sh", "cluster=h100", "stack.graphs=none", 1},
    {"vllm/dynamo.sh", "cluster=h100", "workload.mode=prefill parallel.tp=2 stack.graphs=none",
     0},
    {"sglang/short.sh", "cluster=h100",
     "workload.speculation.tokens=3 workload.speculation.method=mtp parallel.tp=4", 0},
    {"vllm/host-cache.sh", "cluster=h200", "memory.host_cache=128GiB", 0},
    {"trtllm/draft.sh", "cluster=b200",
     "workload.speculation.tokens=3 workload.speculation.method=mtp "
     "workload.tokens_per_sequence=4 precision.kv_cache=fp8 parallel.ep=8 parallel.dp=8",
     0},
    {"trtllm/adapters.sh", "",
     "lora.slots=8 lora.rank=16 lora.targets=[q_proj,k_proj,v_proj,o_proj]", 0},
    {"trtllm/windows.sh", "cluster=h100", "workload.context_length=32768", 0},
    {"trtllm/one-window.sh", "cluster=h100",
     "workload.context_length=32768 memory.cache_window=4096", 0},
    {"sglang/speculative.sh", "cluster=h100",
     "parallel.ep=8 parallel.etp=1 workload.max_num_batched_tokens=32768 "
     "workload.tokens_per_sequence=4 workload.speculation.tokens=3 "
     "workload.speculation.method=model workload.speculation.branches=1 precision.kv_cache=fp8",
     3},
    {"vllm/draft.sh", "cluster=h200",
     "parallel.tp=4 workload.tokens_per_sequence=6 workload.speculation.tokens=5 "
     "workload.speculation.method=model workload.speculation.model=llama-3.1-8b "
     "workload.speculation.layers=32 workload.speculation.kv_heads=8",
     0},
    {"sglang/tree.sh", "cluster=h200",
     "parallel.tp=4 workload.tokens_per_sequence=8 workload.speculation.tokens=5 "
     "workload.speculation.branches=4 workload.speculation.method=model "
     "workload.speculation.model=llama-3.1-8b workload.speculation.vocab=128256",
     0},
    {"sglang/images.sh", "cluster=h100",
     "model.name=gemma-3-27b workload.encoder.requested=true parallel.tp=2", 0},
    {"sglang/one-device.sh", "cluster=h100",
     "parallel.tp=1 stack.graphs=none stack.experts=triton_oai workload.micro_batch=32 "
     "model.layers=12",
     0},
    {"sglang/prefill-mpi.sh", "cluster=h200",
     "workload.mode=prefill workload.sequence_length=4096 moe.path=deepep moe.overlap=true "
     "parallel.ep=16 cluster.nodes=2",
     0},
    {"deepspeed/zero3-offload.json",
     "cluster=h100-8x1 model=mixtral-8x7b workload.micro_batch=1",
     "parallel.zero=3 optimizer.offload=1 optimizer.offload_params=true "
     "optimizer.sub_group=1000000000 parallel.prefetch_bucket=15099494",
     1},
    {"deepspeed/hjson.sh", "cluster=h100",
     "parallel.zero=2 workload.micro_batch=2 precision.weights=bf16", 1},
    {"deepspeed/own-checkpointing.json", "cluster=h100-8x2 model=mixtral-8x7b",
     "parallel.tp=2 parallel.hpz_shard=4 parallel.prefetch_bucket=10000000 "
     "precision.gather=int8 optimizer.sub_group=200000000 recompute.offload=[layer_input] "
     "recompute.distribute=true recompute.kind=none",
     2},
    {"deepspeed/two-nodes.sh", "cluster=h100",
     "parallel.zero=3 workload.global_batch=128 recompute.kind=full precision.weights=bf16 "
     "cluster.nodes=2 optimizer.sub_group=1000000000",
     0},
    {"deepspeed/accelerate.sh", "cluster=h100",
     "parallel.zero=3 lora.rank=16 optimizer.offload=1 cluster.nodes=2 model.layers=48", 0},
    {"deepspeed/accelerate-file.sh", "cluster=h100",
     "parallel.zero=3 lora.rank=8 recompute.kind=full optimizer.kind=adam8bit "
     "precision.weights=bf16 cluster.nodes=2 workload.global_batch=32",
     0},
    {"deepspeed/accelerate-inline.yaml",
     "cluster=h100 model=mixtral-8x7b workload.micro_batch=1",
     "parallel.zero=3 optimizer.offload=1 precision.weights=bf16 precision.master=f32 "
     "cluster.node.devices=8 workload.micro_batch=1",
     1},
    {"deepspeed/accelerate-names-file.yaml", "cluster=h100 model=mixtral-8x7b",
     "parallel.zero=2 workload.micro_batch=2 workload.global_batch=256 cluster.nodes=2", 1},
    {"fsdp/fsdp2.yaml", "cluster=h100 model=qwen3-30b-a3b workload.micro_batch=1",
     "parallel.zero=3 parallel.reshard=always recompute.kind=full precision.weights=f32 "
     "precision.gradients=f32 precision.master=none precision.activations=bf16 "
     "precision.compute=bf16 cluster.nodes=2 cluster.node.devices=8",
     1},
    {"fsdp/version1.sh", "",
     "parallel.zero=3 parallel.reshard=never workload.micro_batch=2 "
     "workload.global_batch=128 workload.sequence_length=4096 recompute.kind=full "
     "optimizer.step=foreach precision.weights=f32 cluster.nodes=2 parallel.prefetch=pre",
     1},
    {"fsdp/flags.sh", "cluster=h100",
     "parallel.zero=3 parallel.reshard=never optimizer.offload=1 "
     "optimizer.offload_params=true lora.rank=32 precision.weights=bf16 "
     "stack.cross_entropy=fused workload.sequence_length=8192 cluster.node.devices=8",
     0},
    {"fsdp/trainer.slurm", "",
     "parallel.zero=3 parallel.dp_shard=8 parallel.reshard=always optimizer.offload=1 "
     "recompute.kind=full workload.global_batch=256 precision.weights=f32 "
     "optimizer.step=fused cluster.nodes=4",
     0},
    {"fsdp/fsdp.json", "cluster=h100-8x1 model=gpt-oss-20b workload.micro_batch=1",
     "parallel.zero=3 recompute.kind=full precision.weights=f32 precision.activations=f32", 1},
    {"fsdp/mesh.sh", "",
     "parallel.zero=3 parallel.cp=2 parallel.dp_shard=4 precision.weights=bf16 "
     "precision.moments=bf16 precision.activations=bf16 optimizer.kind=adam8bit "
     "optimizer.plain_embedding=true cluster.nodes=4",
     1},
    {"fsdp/no-shard.sh", "cluster=h100",
     "parallel.zero=0 precision.weights=f32 precision.activations=f16 "
     "workload.micro_batch=4 workload.sequence_length=2048 parallel.prefetch=auto",
     0},
    {"deepspeed/zero2-older.json", "cluster=h100-8x2 model=mixtral-8x7b",
     "parallel.zero=2 optimizer.offload=1 precision.weights=f16 parallel.overlap_reduce=true "
     "recompute.distribute=true",
     3},
    {"deepspeed/hpz.json", "cluster=h100-8x2 model=mixtral-8x7b",
     "parallel.zero=3 parallel.live_parameters=30000000 parallel.reduce_bucket=50000000 "
     "optimizer.offload_params=true parallel.hpz_shard=8 precision.gather=int8",
     2},
    {"fsdp/qlora.sh", "",
     "parallel.zero=3 lora.rank=16 lora.targets=[] precision.weights=nf4_double "
     "precision.activations=bf16 workload.sequence_length=4096 recompute.kind=full",
     1},
    {"fsdp/trl-parser.sh", "",
     "stack.kind=fsdp parallel.cp=8 parallel.zero=3 workload.sequence_length=1048576 "
     "stack.cross_entropy=chunked stack.loss_chunks=512 recompute.kind=full "
     "recompute.offload=[layer_input]",
     1},
    {"fsdp/trl-sft.sh", "cluster=h100",
     "parallel.zero=3 parallel.reshard=always cluster.nodes=2 workload.micro_batch=2 "
     "workload.sequence_length=4096 optimizer.kind=adam8bit stack.cross_entropy=fused "
     "lora.rank=32 precision.weights=f32 precision.activations=bf16 recompute.kind=full",
     0},
    {"fsdp/trl-dpo.sh", "cluster=h100",
     "parallel.zero=3 cluster.nodes=1 workload.sequence_length=1024 workload.micro_batch=4 "
     "workload.global_batch=128 workload.colocated.reference=1 recompute.kind=full "
     "recompute.offload=[layer_input] precision.weights=f32 precision.activations=bf16",
     0},
    {"fsdp/trl-grpo.sh", "cluster=h200",
     "parallel.zero=3 workload.sequence_length=4096 workload.micro_batch=2 "
     "workload.global_batch=128 workload.colocated.engine=asleep workload.colocated.tp=4 "
     "workload.colocated.fraction=0.45 workload.colocated.reference=1 recompute.kind=full "
     "precision.weights=f32 precision.activations=bf16 workload.logits_to_keep=3073",
     0},
    {"deepspeed/grpo-script.sh", "cluster=h200",
     "parallel.zero=3 workload.sequence_length=2560 workload.micro_batch=4 lora.rank=32 "
     "workload.colocated.engine=awake workload.colocated.tp=1 workload.colocated.fraction=0.3 "
     "workload.colocated.reference=0 recompute.kind=full precision.weights=bf16 "
     "workload.logits_to_keep=2049",
     4},
    {"deepspeed/rloo-server.sh", "cluster=h200",
     "parallel.zero=2 workload.sequence_length=512 workload.colocated.engine=none "
     "workload.colocated.reference=1 recompute.kind=full workload.logits_to_keep=257",
     0},
    {"deepspeed/trl-sft.sh", "cluster=h100",
     "parallel.zero=3 cluster.nodes=2 lora.rank=16 lora.inputs=dropped recompute.kind=full "
     "stack.cross_entropy=chunked stack.loss_chunks=32 precision.activations=bf16",
     2},
    {"deepspeed/trl-script.sh", "cluster=h100",
     "parallel.zero=2 cluster.nodes=1 recompute.kind=full precision.weights=bf16 "
     "workload.sequence_length=2048 workload.global_batch=128 stack.cross_entropy=torch",
     0},
    {"fsdp/frozen-base.sh", "", "parallel.zero=3 lora.rank=0 precision.weights=f32", 1},
    {"deepspeed/lora-8bit.sh", "",
     "parallel.zero=2 lora.rank=8 precision.weights=fp8_channel precision.gradients=bf16 "
     "precision.master=f32 precision.activations=bf16 workload.micro_batch=2 "
     "lora.plain_format=bf16",
     0},
    {"torchtitan/offload.toml", "cluster=h100-8x2",
     "parallel.zero=3 parallel.ep=8 optimizer.offload=1 optimizer.offload_params=true "
     "precision.weights=f32 precision.moments=bf16 recompute.kind=full",
     0},
    {"bridge/vision.sh", "",
     "model.name=qwen3-vl-30b-a3b model.encoder.layers=27 workload.encoder.train=none "
     "parallel.ep=8 workload.sequence_length=4096 workload.global_batch=32",
     3},
    {"megatron/rampup.sh", "",
     "workload.micro_batch=2 workload.global_batch=1024 parallel.ep=8 parallel.zero=1 "
     "cluster.nodes=2",
     2},
    {"axolotl/qlora-fsdp.yaml", "",
     "stack.kind=fsdp parallel.zero=3 parallel.reshard=always model.name=glm-4.7-flash "
     "lora.rank=32 precision.weights=nf4_double lora.experts=quantised "
     "precision.activations=bf16 optimizer.kind=adam8bit recompute.kind=full "
     "stack.cross_entropy=fused workload.micro_batch=2 workload.global_batch=64 "
     "workload.sequence_length=2048",
     2},
    {"axolotl/stacked-experts.yaml", "",
     "model.name=qwen3.5-35b-a3b lora.rank=16 lora.fused_experts=true lora.experts=auto "
     "parallel.zero=0 precision.weights=bf16 optimizer.kind=adam8bit",
     2},
    {"axolotl/full-zero3.yml", "cluster=h100-8x2",
     "stack.kind=deepspeed parallel.zero=3 parallel.overlap_reduce=true "
     "parallel.live_parameters=1 optimizer.sub_group=1 parallel.reduce_bucket=4194304 "
     "parallel.prefetch_bucket=3774873 precision.weights=bf16 precision.master=f32 "
     "recompute.kind=full stack.cross_entropy=fused workload.global_batch=32 "
     "workload.sequence_length=8192",
     1},
    {"axolotl/lora.yml", "cluster=h200-8x1",
     "parallel.zero=0 precision.weights=fp8_channel lora.rank=16 lora.targets=[] "
     "lora.modules_to_save=[lm_head] lora.plain_format=none "
     "optimizer.kind=adam8bit recompute.kind=full recompute.offload=[layer_input] "
     "workload.micro_batch=2 workload.global_batch=64 workload.sequence_length=4096",
     0},
    {"axolotl/lora.sh", "",
     "cluster.node.devices=4 cluster.nodes=1 workload.micro_batch=4 workload.global_batch=32 "
     "workload.sequence_length=2048 parallel.zero=0",
     0},
    {"axolotl/module.slurm", "",
     "cluster.nodes=2 parallel.zero=3 parallel.cp=2 optimizer.offload=1 "
     "optimizer.offload_params=true precision.weights=bf16 precision.activations=bf16 "
     "precision.moments=bf16 stack.cross_entropy=f32 recompute.kind=full "
     "workload.global_batch=64",
     0},
    {"axolotl/experts.yaml", "",
     "parallel.ep=2 parallel.zero=3 parallel.dp_shard=0 moe.path=deepep moe.buffer=worst "
     "moe.library=auto precision.weights=bf16 precision.gradients=bf16 "
     "optimizer.kind=adam8bit",
     0},
    {"axolotl/experts-alone.yaml", "",
     "parallel.ep=4 parallel.zero=3 moe.path=deepep moe.buffer=exact moe.library=deepep "
     "lora.rank=32 lora.format=f32",
     0},
    {"axolotl/dpo.yaml", "",
     "stack.kind=deepspeed parallel.zero=2 optimizer.offload=1 workload.micro_batch=2 "
     "workload.global_batch=64 workload.colocated.reference=1",
     0},
    {"trtllm/older.sh", "",
     "stack.graph_batch=128 stack.graph_padding=true precision.kv_cache=fp8 parallel.dp=8 "
     "memory.fraction=0.95",
     0},
    {"trtllm/null-graphs.sh", "", "stack.graphs=none memory.fraction=0.8 parallel.tp=2", 0},
    {"vllm/older-draft.sh", "",
     "workload.speculation.method=model workload.speculation.model=llama-3.1-8b "
     "workload.speculation.tokens=5",
     0},
    {"axolotl/expression.yaml", "",
     "lora.rank=16 lora.experts=quantised lora.fused_experts=true precision.weights=nf4_double",
     1},
    {"swift/target-regex.sh", "", "lora.rank=8 recompute.kind=full", 0},
    {"swift/vit-again.sh", "",
     "recompute.kind=none recompute.encoder=full workload.encoder.train=all", 1},
    {"swift/vit-adapters.sh", "",
     "model.name=qwen2.5-vl-7b lora.rank=8 lora.encoder=true cluster.node.devices=2", 1},
    {"unsloth/vision.py", "", "model.name=qwen2.5-vl-7b lora.rank=16 lora.encoder=true", 1},
    {"llamafactory/asft.yaml", "",
     "workload.colocated.reference=1 workload.colocated.passes=1 parallel.zero=3", 1},
    {"llamafactory/badam.yaml", "",
     "optimizer.one_layer=true precision.weights=bf16 precision.gradients=bf16 "
     "precision.master=f32 precision.moments=f32 parallel.zero=0",
     0},
    {"llamafactory/badam-ds3.yaml", "",
     "stack.kind=deepspeed optimizer.one_layer=true parallel.zero=3 precision.weights=bf16 "
     "precision.master=f32",
     0},
    {"llamafactory/badam-ratio.yaml", "", "optimizer.one_layer=false precision.weights=bf16",
     1},
    {"llamafactory/adam-mini.yaml", "", "optimizer.kind=adam_mini precision.moments=f32", 0},
    {"llamafactory/launched.sh", "cluster=h100",
     "parallel.zero=3 optimizer.offload=1 workload.sequence_length=32768 "
     "cluster.node.devices=8",
     0},
    {"vllm/eight-bits.sh", "",
     "model.layers=80 precision.weights=int8 model.max_position=32768 parallel.tp=2", 0},
    {"vllm/gguf.sh", "", "model.name=qwen3-30b-a3b", 1},
    {"vllm/nested.sh", "", "model.name=deepseek-v3 parallel.tp=8 cluster.nodes=1", 1},
    {"verl/fused.sh", "",
     "stack.cross_entropy=chunked stack.loss_chunks=8 recompute.kind=full "
     "recompute.offload=[layer_input] parallel.cp=2 workload.sequence_length=8192",
     1},
    {"vllm/graph-limit.sh", "",
     "stack.graph_batch=128 workload.micro_batch=256 memory.offload_group=8", 0},
    {"vllm/graph-sizes.sh", "", "stack.graph_batch=64", 0},
    {"vllm/throughput.sh", "",
     "workload.max_num_batched_tokens=16384 workload.micro_batch=2048", 0},
    {"axolotl/eager.yaml", "cluster=h100",
     "stack.attention=unfused lora.rank=8 lora.fused_experts=false", 0},
    {"megatron/ring.sh", "", "parallel.cp=4 workload.sequence_length=32768 cluster.nodes=2", 2},
    {"vllm/skypilot.yaml", "cluster=h100",
     "model.name=gpt-oss-120b parallel.tp=8 workload.context_length=131072 "
     "cluster.node.devices=8",
     0},
    {"megatron-swift/skypilot.yaml", "cluster=h100",
     "model.name=qwen3-30b-a3b cluster.nodes=2 cluster.node.devices=8 parallel.tp=2 "
     "workload.global_batch=16",
     0},
    {"axolotl/model-type.yml", "cluster=h100-8x1",
     "model.name=llama-3.1-8b stack.kind=deepspeed parallel.zero=3 lora.rank=32 "
     "precision.weights=fp8_channel workload.micro_batch=2 workload.sequence_length=4096",
     1},
    {"axolotl/long.yaml", "cluster=h100-8x2",
     "stack.kind=deepspeed parallel.zero=3 parallel.cp=8 optimizer.offload_params=true "
     "workload.sequence_length=500000 recompute.offload=[layer_input] "
     "recompute.mlp_tiles=16",
     1},
    {"axolotl/router-loss.yml", "",
     "model.name=mixtral-8x7b lora.rank=32 precision.weights=nf4_double stack.kind=deepspeed "
     "parallel.zero=2 stack.balance_loss=joint",
     1},
    {"axolotl/stays-mxfp4.yaml", "cluster=h100",
     "model.name=gpt-oss-20b lora.rank=8 precision.weights=mxfp4 stack.attention=unfused", 0},
    {"sglang/abbreviated.sh", "",
     "model.name=qwen3-235b-a22b memory.fraction=0.85 workload.context_length=32768 "
     "parallel.tp=2 precision.weights=int4 stack.graphs=none",
     1},
    {"vllm/abbreviated.sh", "",
     "model.name=qwen3-vl-235b-a22b parallel.ep=8 parallel.etp=1 precision.weights=bf16 "
     "memory.fraction=0.7 workload.context_length=8192",
     0},
    {"swift/unknown-nodes.sh", "cluster=h100-8x2",
     "cluster.nodes=2 cluster.node.devices=8 parallel.zero=3 workload.sequence_length=2048", 0},
    {"verl/unknown-size.sh", "cluster=h100-8x2",
     "cluster.nodes=2 cluster.node.devices=8 parallel.tp=8 workload.micro_batch=4", 0},
    {"torchtitan/variables.sh", "cluster=h100",
     "model.name=deepseek-v2-lite parallel.ep=8 workload.micro_batch=4 cluster.node.devices=8",
     1},
    {"llamafactory/host-experts.yaml", "cluster=h200-8x1",
     "model.name=deepseek-v3 lora.rank=8 workload.micro_batch=1", 1},
    {"llamafactory/lora-sft.yaml", "",
     "lora.modules_to_save=[embed_tokens] stack.kind=deepspeed parallel.zero=3 "
     "lora.rank=16 "
     "precision.weights=bf16 recompute.kind=full workload.micro_batch=1 "
     "workload.global_batch=64 workload.sequence_length=4096 "
     "parallel.live_parameters=1000000000",
     1},
    {"llamafactory/full.sh", "",
     "cluster.nodes=2 cluster.node.devices=8 stack.kind=deepspeed parallel.zero=3 "
     "optimizer.offload=1 optimizer.offload_params=true lora.rank=0 workload.micro_batch=4 "
     "workload.global_batch=128",
     1},
    {"llamafactory/qlora.yaml", "cluster=h100-8x1",
     "parallel.zero=0 lora.rank=8 lora.targets=[] precision.weights=nf4_double "
     "lora.experts=auto lora.plain_format=bf16 "
     "optimizer.kind=adam8bit recompute.kind=full workload.sequence_length=1024",
     0},
    {"llamafactory/fsdp-qlora.sh", "",
     "cluster.node.devices=2 parallel.zero=3 optimizer.offload_params=true lora.rank=8 "
     "precision.weights=nf4_double parallel.prefetch=pre",
     1},
    {"llamafactory/flags.sh", "",
     "cluster.node.devices=8 parallel.zero=0 precision.weights=f32 precision.gradients=f32 "
     "precision.activations=bf16 optimizer.step=foreach stack.cross_entropy=fused "
     "stack.attention=unfused "
     "workload.micro_batch=2 workload.global_batch=64 workload.sequence_length=1024",
     0},
    {"llamafactory/dpo.sh", "",
     "stack.kind=deepspeed parallel.zero=3 optimizer.offload=1 optimizer.offload_params=false "
     "workload.micro_batch=2 workload.colocated.reference=1 recompute.offload=[layer_input]",
     0},
    /* 128 samples of a rank are 1,048,576 tokens, 51.2 times 20,480 */
    {"slime/fp8-engine.sh", "",
     "model.name=qwen3-30b-a3b parallel.ep=8 workload.colocated.engine=asleep "
     "workload.colocated.tp=8 workload.colocated.fraction=0.7 "
     "workload.colocated.weights=fp8_block",
     0},
    {"slime/qwen3-30b.sh", "",
     "stack.kind=megatron model.name=qwen3-30b-a3b cluster.nodes=1 cluster.node.devices=8 "
     "workload.sequence_length=20480 workload.micro_batch=1 workload.global_batch=104 "
     "workload.packing.length=8192 parallel.tp=4 parallel.sp=true parallel.ep=8 "
     "parallel.etp=1 parallel.zero=1 moe.path=ragged_a2a optimizer.offload=1 "
     "optimizer.precision_aware=native recompute.kind=full precision.gradients=f32 "
     "workload.colocated.engine=asleep workload.colocated.tp=8 "
     "workload.colocated.fraction=0.7 stack.cross_entropy=log_probs",
     1},
    {"slime/deepseek-r1.sh", "",
     "model.name=deepseek-r1 cluster.nodes=16 workload.sequence_length=65536 "
     "workload.global_batch=128 workload.packing.length=32768 parallel.pp=4 parallel.cp=4 "
     "parallel.ep=32 moe.path=deepep moe.library=deepep",
     0},
    {"slime/qwen3.5-35b.sh", "",
     "model.layers=40 model.linear.kind=gated_delta_net model.moe.experts=256 "
     "model.moe.shared_gate=true workload.sequence_length=8192 workload.global_batch=128 "
     "cluster.nodes=2 parallel.ep=8 optimizer.offload=0",
     0},
    {"slime/lora.sh", "",
     "lora.rank=32 parallel.ep=8 workload.sequence_length=20480 cluster.nodes=1 "
     "workload.global_batch=104 "
     "workload.colocated.engine=asleep workload.colocated.tp=1 "
     "workload.colocated.fraction=0.7 workload.colocated.reference=0",
     0},
    /* 32 samples of a rank are 262,144 tokens, 14.2 times 18,432 */
    {"slime/fsdp.sh", "",
     "stack.kind=fsdp model.name=qwen3-30b-a3b parallel.zero=3 parallel.cp=2 "
     "precision.weights=f32 precision.activations=bf16 recompute.kind=full "
     "workload.sequence_length=18432 workload.packing.length=8192 workload.global_batch=60 "
     "workload.colocated.engine=asleep workload.colocated.tp=2 stack.cross_entropy=log_probs "
     "optimizer.step=foreach cluster.node.devices=8",
     1},
    {"slime/mtp.sh", "",
     "model.mtp_layers=1 model.mtp_enabled=true parallel.pp=2 "
     "workload.sequence_length=65536 workload.packing.length=32768 workload.global_batch=512",
     1},
    {"slime/sft.sh", "",
     "model.name=qwen3-235b-a22b cluster.nodes=4 workload.sequence_length=9216 "
     "workload.global_batch=128 parallel.ep=32 optimizer.offload=1",
     1},
    {"swift/gpt-oss.sh", "",
     "model.name=gpt-oss-20b lora.rank=8 lora.targets=[] precision.weights=bf16 "
     "stack.attention=unfused parallel.zero=0 workload.sequence_length=2048 "
     "stack.balance_loss=masked",
     1},
    {"swift/lora.sh", "",
     "stack.kind=fsdp model.name=qwen3-30b-a3b cluster.nodes=1 cluster.node.devices=1 "
     "parallel.zero=0 workload.sequence_length=4096 workload.micro_batch=2 "
     "workload.global_batch=16 lora.rank=16 lora.format=bf16 precision.weights=bf16 "
     "precision.moments=bf16 recompute.kind=full stack.attention=flash "
     "stack.balance_loss=masked",
     0},
    {"swift/full-zero3.slurm", "",
     "stack.kind=deepspeed parallel.zero=3 parallel.hpz_shard=8 cluster.nodes=2 "
     "workload.sequence_length=16384 workload.micro_batch=1 workload.global_batch=64 "
     "parallel.reduce_bucket=4194304 parallel.live_parameters=1000000000 lora.rank=0 "
     "precision.master=f32 stack.cross_entropy=fused recompute.kind=full",
     1},
    {"swift/fsdp2.sh", "",
     "stack.kind=fsdp parallel.zero=3 parallel.reshard=always cluster.node.devices=4 "
     "workload.global_batch=16 precision.weights=f32 precision.activations=bf16 "
     "optimizer.kind=adam8bit stack.cross_entropy=fused stack.attention=unfused "
     "recompute.kind=full optimizer.offload=0",
     0},
    {"swift/sharding-text.sh", "",
     "stack.kind=fsdp parallel.zero=3 parallel.reshard=never optimizer.offload=1 "
     "optimizer.offload_params=true recompute.kind=full parallel.ep=1 "
     "workload.sequence_length=4096 cluster.node.devices=8",
     1},
    {"swift/grpo.sh", "",
     "stack.kind=deepspeed parallel.zero=3 optimizer.offload=1 optimizer.offload_params=true "
     "workload.sequence_length=10000 workload.micro_batch=1 workload.colocated.engine=asleep "
     "workload.colocated.tp=4 workload.colocated.fraction=0.45 "
     "workload.colocated.reference=1 workload.logits_to_keep=6001",
     1},
    {"swift/engine-fp8.sh", "",
     "workload.colocated.engine=asleep workload.colocated.weights=fp8 parallel.zero=3", 1},
    {"swift/grpo-turns.sh", "",
     "parallel.zero=3 parallel.cp=4 workload.sequence_length=2560 workload.micro_batch=4 "
     "workload.global_batch=64 workload.colocated.engine=asleep "
     "workload.colocated.fraction=0.9 workload.colocated.reference=0 lora.rank=0",
     1},
    {"swift/grpo-server.sh", "",
     "cluster.node.devices=7 parallel.zero=2 parallel.reduce_bucket=200000000 lora.rank=8 "
     "workload.sequence_length=3584 workload.colocated.engine=none "
     "workload.colocated.reference=0 workload.logits_to_keep=513",
     0},
    {"swift/qlora.sh", "",
     "stack.kind=deepspeed parallel.zero=2 parallel.reduce_bucket=100000000 lora.rank=8 "
     "lora.modules_to_save=[lm_head] lora.targets=[] precision.weights=nf4 "
     "recompute.offload=[layer_input] "
     "workload.micro_batch=4 workload.global_batch=16 cluster.node.devices=2",
     0},
    {"swift/dpo.sh", "",
     "stack.kind=deepspeed parallel.zero=2 optimizer.offload=1 optimizer.offload_params=false "
     "workload.sequence_length=8192 workload.micro_batch=4 workload.global_batch=128 "
     "workload.colocated.reference=1",
     0},
    {"swift/sft.yaml", "cluster=h100-8x1",
     "stack.kind=deepspeed parallel.zero=1 lora.rank=8 lora.targets=[] "
     "workload.encoder.train=projector workload.sequence_length=262144 "
     "workload.global_batch=64",
     2},
    {"megatron-swift/lora.sh", "",
     "stack.kind=megatron model.name=qwen3-30b-a3b cluster.node.devices=2 parallel.ep=2 "
     "parallel.etp=1 parallel.zero=1 moe.path=ragged_a2a workload.sequence_length=4096 "
     "workload.micro_batch=4 workload.global_batch=16 lora.rank=8 lora.targets=[] "
     "lora.format=bf16 lora.share_experts=false lora.sharded=false recompute.kind=full "
     "recompute.every=2 precision.gradients=f32",
     0},
    {"megatron-swift/full.slurm", "",
     "model.name=qwen3-30b-a3b cluster.nodes=2 cluster.node.devices=8 parallel.tp=2 "
     "parallel.sp=true parallel.pp=2 parallel.ep=4 parallel.etp=1 lora.rank=0 "
     "recompute.kind=none optimizer.offload=0.5 optimizer.precision_aware=native "
     "precision.moments=bf16 stack.cross_entropy=in_place stack.overlap.dp=true",
     1},
    {"megatron-swift/grpo.sh", "",
     "workload.sequence_length=8192 workload.micro_batch=1 workload.global_batch=128 "
     "workload.colocated.engine=asleep workload.colocated.tp=2 "
     "workload.colocated.fraction=0.5 workload.colocated.reference=1 "
     "recompute.kind=selective parallel.tp=4 parallel.etp=1",
     0},
    {"megatron-swift/dpo.sh", "",
     "workload.micro_batch=4 workload.global_batch=64 workload.colocated.reference=1 "
     "recompute.kind=full recompute.layers=24 moe.path=deepep moe.library=deepep",
     0},
    {"megatron-swift/dpo-packed.sh", "",
     "workload.micro_batch=1 workload.global_batch=4 workload.sequence_length=8192 "
     "workload.colocated.reference=1 parallel.tp=4 parallel.ep=8 optimizer.offload=1",
     1},
    {"megatron-swift/language-only.sh", "", "model.encoder.layers=0 parallel.ep=8", 0},
    {"megatron-swift/gkd.sh", "",
     "workload.sequence_length=2560 workload.colocated.engine=awake "
     "workload.colocated.fraction=0.3 workload.colocated.reference=1 lora.rank=8 "
     "recompute.kind=selective",
     1},
    {"megatron-swift/vision.sh", "",
     "workload.encoder.train=projector stack.attention=unfused optimizer.kind=muon "
     "parallel.zero=1 moe.routing.distribution=uniform",
     2},
    {"megatron-swift/sft.yaml", "cluster=h100-8x1",
     "model.layers=48 model.mtp_layers=1 model.mtp_enabled=true lora.rank=32 "
     "parallel.ep=8 workload.global_batch=16 recompute.kind=full",
     1},
    {"automodel/qwen3-moe.yaml", "",
     "stack.kind=torchtitan moe.path=deepep moe.routing.distribution=uniform parallel.ep=8 "
     "parallel.zero=3 parallel.reshard=never precision.weights=bf16 precision.moments=bf16 "
     "precision.master=none optimizer.step=foreach recompute.kind=full "
     "workload.micro_batch=4 workload.global_batch=512 workload.sequence_length=4096",
     0},
    {"automodel/deepseek-v3.yaml", "",
     "parallel.pp=4 parallel.vpp=8 parallel.schedule=interleaved parallel.ep=64 "
     "workload.micro_batch=1 optimizer.step=fused recompute.kind=full",
     0},
    {"automodel/fused-adam.yaml", "",
     "precision.master=bf16 precision.moments=bf16 stack.cross_entropy=fused "
     "recompute.kind=selective workload.sequence_length=8192 workload.packing.length=2048 "
     "workload.async_checkpoint=true",
     0},
    {"automodel/llama-peft.yaml", "cluster=h100-8x1",
     "stack.kind=fsdp precision.weights=nf4 lora.rank=16 lora.format=bf16 lora.targets=[] "
     "workload.micro_batch=8 parallel.reshard=always recompute.kind=none",
     0},
    {"automodel/launch.slurm", "",
     "model.name=glm-4.5-air cluster.nodes=2 parallel.ep=16 workload.micro_batch=4 "
     "lora.rank=32",
     0},
    {"automodel/program.sh", "cluster=h100",
     "stack.kind=torchtitan cluster.node.devices=4 workload.micro_batch=2 "
     "parallel.reshard=always precision.accumulated=f32 optimizer.kind=muon "
     "recompute.kind=full",
     0},
    {"automodel/dense.yaml", "cluster=h100",
     "cluster.nodes=2 cluster.node.devices=8 workload.micro_batch=8", 0},
    {"automodel/images.sh", "",
     "parallel.pp=2 parallel.reshard=never precision.accumulated=none "
     "workload.sequence_length=1024 workload.micro_batch=2 cluster.node.devices=8",
     0},
    {"automodel/stages.yaml", "cluster=h100-8x2", "parallel.pp=2 workload.global_batch=32", 0},
    {"automodel/ranks.yaml", "cluster=h100",
     "cluster.nodes=1 cluster.node.devices=8 parallel.tp=2 workload.global_batch=8", 0},
    {"automodel/fewer-layers.yaml", "",
     "model.layers=4 model.dense_layers=3 model.moe.intermediate=2048 parallel.ep=8", 1},
    {"automodel/skypilot.yaml", "",
     "cluster.name=h100-4x2 cluster.nodes=2 cluster.node.devices=4 parallel.reshard=never "
     "precision.accumulated=f32",
     0},
    {"automodel/command.sh", "",
     "model.name=qwen3-32b cluster.node.devices=4 workload.micro_batch=8", 0},
    {"fsdp/whole.sh", "",
     "parallel.zero=0 lora.rank=16 precision.weights=nf4 recompute.kind=full "
     "cluster.node.devices=4 workload.micro_batch=2",
     0},
    {"fsdp/multi-gpu.sh", "",
     "parallel.zero=0 precision.weights=bf16 precision.gradients=bf16 precision.moments=bf16 "
     "precision.activations=bf16 workload.sequence_length=2048 cluster.node.devices=8",
     0},
    {"fsdp/trl-qlora.sh", "",
     "lora.rank=16 lora.format=bf16 lora.inputs=dropped lora.dora=true precision.weights=nf4 "
     "precision.gradients=bf16 precision.moments=f32 lora.plain_format=bf16",
     1},
    {"llamafactory/dora.yaml", "cluster=h200-8x1",
     "lora.rank=16 lora.dora=true lora.inputs=dropped precision.moments=f32 parallel.zero=0",
     0},
    {"axolotl/dora.yml", "cluster=h200-8x1",
     "lora.rank=16 lora.dora=true lora.inputs=shared optimizer.kind=adam4bit", 0},
    {"fsdp/stable.sh", "",
     "parallel.zero=0 precision.weights=bf16 precision.moments=bf16 optimizer.kind=kahan_adam "
     "optimizer.step=fused cluster.node.devices=8",
     0},
    {"fsdp/plain-sgd.sh", "",
     "precision.weights=bf16 precision.moments=none optimizer.kind=sgd "
     "cluster.node.devices=1",
     0},
    {"axolotl/whole-8bit.yml", "cluster=h200-8x1",
     "parallel.zero=0 model.name=olmoe-1b-7b precision.weights=bf16 "
     "optimizer.kind=ademamix8bit optimizer.plain_embedding=true",
     1},
    {"llamafactory/galore.yaml", "cluster=h200-8x1",
     "lora.rank=0 optimizer.kind=galore optimizer.rank=128 precision.weights=bf16 "
     "precision.moments=bf16",
     0},
    {"llamafactory/galore-layerwise.yaml", "cluster=h100-1x1",
     "optimizer.kind=galore optimizer.rank=128 optimizer.in_backward=true "
     "precision.weights=bf16 parallel.zero=0",
     0},
    {"swift/grpo-itself.sh", "",
     "model.name=qwen3-8b workload.colocated.sequences=16 workload.colocated.engine=none "
     "workload.micro_batch=8 workload.sequence_length=2048 parallel.zero=3 "
     "workload.logits_to_keep=1025",
     0},
    {"swift/freeze-llm.sh", "",
     "model.name=qwen3-vl-8b workload.encoder.train=all frozen.layers=0 "
     "frozen.modules=[embed_tokens,norms,attention,dense_mlp] parallel.zero=2",
     0},
    {"megatron-swift/freeze-llm.sh", "",
     "workload.encoder.train=projector frozen.layers=0 "
     "frozen.modules=[embed_tokens,lm_head,norms,attention,router,experts] parallel.ep=8",
     0},
    {"llamafactory/vision.yaml", "cluster=h100-8x1",
     "workload.encoder.train=none frozen.modules=[] parallel.zero=3", 1},
    {"llamafactory/projector.yaml", "cluster=h100-8x1",
     "workload.encoder.train=projector frozen.layers=0 frozen.format=bf16 "
     "frozen.modules=[embed_tokens,lm_head,norms,attention,dense_mlp] precision.weights=f32",
     1},
    {"llamafactory/vision-adapters.yaml", "cluster=h100-8x1", "lora.rank=8 lora.encoder=true",
     1},
    {"unsloth/moe-glm.py", "",
     "lora.rank=8 workload.sequence_length=2048 "
     "lora.targets=[q_proj,k_proj,v_proj,o_proj,down_proj,experts.gate_up_proj,"
     "experts.down_proj]",
     0},
    {"unsloth/qwen3-moe.py", "cluster=h100-1x1",
     "model.name=qwen3-30b-a3b lora.rank=32 lora.experts=quantised lora.inputs=shared "
     "lora.format=f32 lora.plain_format=bf16 precision.weights=nf4_double "
     "workload.sequence_length=2048 workload.micro_batch=2 workload.global_batch=8 "
     "recompute.kind=full recompute.offload=[layer_input] optimizer.kind=adam8bit "
     "stack.cross_entropy=chunked stack.loss_chunks=4 parallel.zero=0",
     0},
    {"unsloth/llama.py", "",
     "model.name=llama-3.1-8b lora.rank=16 precision.weights=nf4_double "
     "precision.activations=bf16 workload.sequence_length=4096 workload.micro_batch=2 "
     "recompute.offload=[layer_input] optimizer.kind=adam8bit stack.loss_chunks=4",
     0},
    {"unsloth/full.py", "",
     "lora.rank=0 precision.weights=bf16 precision.gradients=bf16 optimizer.kind=adam8bit "
     "workload.sequence_length=2048 workload.micro_batch=4 stack.loss_chunks=8",
     0},
    {"unsloth/grpo.py", "",
     "lora.rank=32 precision.weights=bf16 workload.sequence_length=2048 "
     "workload.micro_batch=6 workload.colocated.engine=asleep workload.colocated.fraction=0.6 "
     "workload.colocated.reference=0 recompute.kind=full workload.logits_to_keep=1793",
     0},
    {"unsloth/torchrun.sh", "",
     "model.name=qwen3-14b precision.weights=nf4_double lora.inputs=dropped "
     "workload.micro_batch=2 workload.global_batch=8 cluster.node.devices=2 "
     "recompute.kind=full stack.loss_chunks=4",
     0},
    {"trl/spread.py", "",
     "parallel.pp=8 parallel.zero=0 workload.micro_batch=2 workload.global_batch=2 "
     "lora.rank=16 recompute.kind=full",
     2},
    {"trl/sft.py", "",
     "model.name=qwen3-8b lora.rank=32 lora.format=bf16 lora.plain_format=f32 "
     "lora.inputs=dropped precision.weights=nf4_double workload.micro_batch=4 "
     "workload.sequence_length=2048 recompute.kind=full stack.cross_entropy=chunked "
     "stack.loss_chunks=32",
     1},
    {"trl/dpo.py", "",
     "model.name=qwen2.5-7b lora.rank=8 lora.inputs=copied precision.weights=bf16 "
     "workload.micro_batch=4 workload.sequence_length=1024 workload.colocated.reference=0 "
     "workload.colocated.passes=1",
     1},
    {"trl/reference.py", "",
     "precision.weights=f32 workload.micro_batch=4 workload.colocated.reference=1 "
     "workload.colocated.passes=1 workload.colocated.format=f32",
     1},
    {"trl/gemma.py", "",
     "model.name=gemma-4-31b lora.rank=16 lora.format=bf16 precision.weights=nf4_double "
     "precision.activations=bf16 workload.sequence_length=512 stack.attention=unfused "
     "recompute.kind=full",
     4},
    {"trl/grpo.py", "",
     "stack=deepspeed parallel.zero=3 workload.colocated.sequences=16 "
     "workload.colocated.engine=none workload.colocated.reference=1 workload.micro_batch=4 "
     "workload.sequence_length=1536 precision.weights=bf16 workload.logits_to_keep=1025",
     0},
    {"trl/launch.sh", "",
     "model.name=qwen3-30b-a3b parallel.zero=3 parallel.reshard=always precision.weights=f32 "
     "workload.micro_batch=1 recompute.kind=full cluster.node.devices=8",
     1},
    {"bridge/script-name.sh", "",
     "model.name=nemotron-3-nano parallel.tp=2 parallel.sp=true parallel.ep=8 parallel.etp=1 "
     "workload.global_batch=512 workload.sequence_length=8192",
     1},
    {"bridge/layout-and-chunks.sh", "",
     "model.name=deepseek-v3 parallel.pp=16 parallel.vpp=2 parallel.etp=1 lora.rank=32 "
     "parallel.layout=\"Et|(tt|)*29tt|L\" recompute.kind=full",
     1},
    {"megatron/counted-chunks.sh", "",
     "parallel.pp=8 parallel.vpp=3 parallel.schedule=interleaved precision.master=f32 "
     "optimizer.precision_aware=copied precision.recipe=fp8_block",
     0},
    {"torchtitan/function.sh", "",
     "model.name=deepseek-v2-lite parallel.ep=4 workload.micro_batch=4 cluster.nodes=1", 1},
    {"maxtext/no-mtp.sh", "", "model.mtp_layers=0 parallel.ep=8 recompute.kind=full", 0},
    {"llamafactory/freeze.yaml", "cluster=h200-8x1",
     "frozen.layers=46 frozen.modules=[lm_head] frozen.format=bf16 precision.weights=f32 "
     "parallel.zero=0",
     0},
    {"llamafactory/freeze-mlp.yaml", "cluster=h200-8x1",
     "frozen.layers=28 frozen.format=none "
     "precision.weights=bf16 precision.master=f32 parallel.zero=3",
     0},
    {"llamafactory/llama-pro.yaml", "cluster=h200-8x1",
     "frozen.layers=5 frozen.modules=[lm_head] frozen.format=bf16", 1},
    {"swift/freeze-ratio.sh", "cluster=h200-8x1", "frozen.layers=43 frozen.modules=[]", 0},
    {"swift/trainable.sh", "cluster=h200-8x1", "frozen.layers=0", 0},
    {"megatron-swift/freeze-router.sh", "cluster=h200-8x1",
     "frozen.layers=0 frozen.modules=[router] parallel.ep=8", 0},
    {"slime/train-experts.sh", "cluster=h200-8x1", "frozen.layers=0", 0},
    {"slime/freeze-router.sh", "cluster=h200-8x1",
     "frozen.layers=0 frozen.modules=[router] model.layers=48", 0},
    {"axolotl/unfrozen.yml", "cluster=h200-8x1", "frozen.layers=40 frozen.format=none", 0},
    {"axolotl/unfrozen-rows.yml", "cluster=h200-8x1", "frozen.layers=0", 1},
    {"llamafactory/apollo.yaml", "cluster=h200-8x1",
     "optimizer.kind=apollo optimizer.rank=32 optimizer.projected=[]", 1},
    {"fsdp/galore-8bit.sh", "cluster=h100-8x1",
     "optimizer.kind=galore8bit optimizer.rank=256 parallel.zero=0", 0},
    {"fsdp/galore-shared.sh", "cluster=h100-8x1", "optimizer.kind=adam parallel.zero=3", 1},
    {"fsdp/adalomo.sh", "", "optimizer.kind=adalomo cluster.node.devices=1", 0},
    {"openrlhf/sft.sh", "cluster=h100",
     "stack.kind=deepspeed parallel.zero=3 workload.sequence_length=4096 "
     "workload.micro_batch=2 "
     "workload.global_batch=256 optimizer.offload=1 precision.weights=bf16 recompute.kind=full",
     0},
    {"openrlhf/grpo.sh", "cluster=h100",
     "model.name=qwen3-8b parallel.zero=3 workload.sequence_length=9216 workload.micro_batch=1 "
     "workload.colocated.engine=asleep workload.colocated.tp=2 workload.colocated.fraction=0.6 "
     "workload.colocated.reference=1 workload.colocated.critic=0 "
     "workload.colocated.away=[states]",
     0},
    {"openrlhf/ppo.sh", "cluster=h100",
     "parallel.zero=2 workload.colocated.engine=none workload.colocated.critic=0 "
     "workload.colocated.reference=0 workload.sequence_length=16192 "
     "workload.packing.length=3072 workload.micro_batch=1 workload.global_batch=64 "
     "workload.colocated.parameters=0",
     0},
    {"openrlhf/dpo.sh", "cluster=h100",
     "workload.micro_batch=2 workload.global_batch=512 workload.sequence_length=8192 "
     "parallel.cp=2 lora.rank=0 workload.colocated.reference=1 stack.cross_entropy=torch",
     1},
    {"openrlhf/lora.sh", "cluster=h100-8x1",
     "lora.rank=64 lora.targets=[] parallel.zero=2 workload.sequence_length=2048", 0},
    {"verl/entropy.sh", "", "stack.cross_entropy=te parallel.zero=3", 2},
    {"verl/no-entropy.sh", "", "stack.cross_entropy=in_place parallel.zero=3", 2},
    {"swift/galore.sh", "cluster=h100-1x1", "optimizer.kind=galore optimizer.rank=64", 0},
    {"swift/galore-bits.sh", "cluster=h100-1x1", "optimizer.kind=galore8bit optimizer.rank=64",
     0},
    {"swift/galore-embedding.sh", "", "optimizer.kind=galore optimizer.rank=64", 0},
    {"swift/lisa.sh", "cluster=h200-1x1",
     "optimizer.active_layers=2 lora.rank=0 parallel.zero=0", 0},
    {"swift/eetq.sh", "cluster=h100-1x1",
     "precision.weights=fp8_channel lora.rank=8 lora.plain_format=bf16", 0},
    {"swift/encoder-alone.sh", "cluster=h100-1x1",
     "lora.rank=8 lora.language=false lora.encoder=true", 1},
    {"axolotl/last-layers.yaml", "", "lora.rank=16 recompute.kind=none parallel.zero=0", 0},
    {"axolotl/torchao.yaml", "",
     "precision.weights=int4 lora.rank=16 lora.plain_format=bf16 lora.format=bf16", 0},
    {"axolotl/lisa.yaml", "", "optimizer.active_layers=2 lora.rank=0 recompute.kind=full", 0},
    {"axolotl/gptq.yaml", "",
     "precision.weights=int4 lora.rank=8 lora.plain_format=bf16 model.name=llama-2-7b", 0},
    {"unsloth/last-layers.py", "cluster=h100",
     "precision.weights=fp8_block lora.rank=16 recompute.mlp_tiles=8 lora.plain_format=bf16",
     0},
    {"unsloth/encoder-alone.py", "", "lora.language=false lora.encoder=true lora.rank=16", 1},
    {"trl/skipped.py", "", "precision.weights=nf4_double lora.rank=8 lora.plain_format=bf16",
     1},
    {"trl/every-layer.py", "",
     "recompute.kind=full recompute.layers=14 precision.weights=bf16 model.layers=28", 1},
    {"unsloth/skipped-layers.py", "cluster=h100", "recompute.kind=full recompute.layers=32", 0},
    {"trl/hqq.py", "", "precision.weights=nf4 lora.rank=8 lora.plain_format=bf16", 0},
    {"llamafactory/awq.yaml", "cluster=h100-1x1",
     "precision.weights=int4 lora.rank=8 lora.plain_format=bf16", 0},
    {"llamafactory/encoder-alone.yaml", "cluster=h100-1x1",
     "lora.language=false lora.encoder=true lora.rank=8", 1},
    {"deepspeed/grpo-modules.sh", "",
     "workload.colocated.sequences=8 workload.colocated.whole=false parallel.zero=3", 0},
    {"automodel/frozen.yaml", "", "workload.encoder.train=none parallel.ep=8 moe.path=deepep",
     2},
    {"verl/freeze-router.sh", "cluster=h200-8x4", "frozen.modules=[router]", 0},
    {"openrlhf/colocated.sh", "cluster=h100",
     "parallel.zero=3 workload.micro_batch=2 workload.sequence_length=2048 "
     "workload.colocated.critic_parameters=7504928768 workload.colocated.average=1 "
     "workload.colocated.parameters=7070622720 workload.colocated.reference=1 "
     "workload.colocated.away=[states,critic_states,reference,frozen,average]",
     0},
    /* 3200 tokens by 128 are 25 parts */
    {"nemo-rl/fused-head.yaml", "",
     "stack.cross_entropy=linear_log_probs stack.loss_chunks=25 parallel.tp=4 parallel.pp=2 "
     "workload.micro_batch=2 workload.colocated.reference=1",
     0},
    {"nemo-rl/log-probs-part.yaml", "",
     "stack.cross_entropy=log_probs_part stack.loss_chunks=32 workload.sequence_length=32768",
     0},
    /* four of 4,096 tokens are 16,384; a step has one batch of each rank */
    {"automodel/dynamic-batches.yaml", "",
     "stack.kind=fsdp workload.micro_batch=4 workload.sequence_length=4096 "
     "workload.global_batch=32 recompute.kind=none",
     0},
    {"automodel/experts-rank.yaml", "",
     "lora.rank=64 lora.expert_rank=8 lora.skip_experts=false", 0},
    {"automodel/excluded.yaml", "",
     "lora.rank=64 lora.skip_experts=true lora.expert_rank=0 "
     "lora.targets=[q_proj,k_proj,v_proj,q_a_proj,q_b_proj,kv_a_proj_with_mqa,kv_b_proj,"
     "gate_proj,up_proj,down_proj]",
     0},
    {"automodel/frozen-language.yaml", "",
     "frozen.modules=[embed_tokens,norms,attention,dense_mlp] workload.encoder.train=all", 1},
    {"vllm/uneven-stages.sh", "", "parallel.stages=[48,46] parallel.pp=2", 0},
    {"sglang/uneven-stages.sh", "", "parallel.stages=[31,30] parallel.pp=2", 0},
    {"sglang/cpu-experts.sh", "", "memory.host_experts=224 parallel.tp=2", 1},
    {"sglang/experts-come-in.sh", "", "memory.offload_group=4 memory.offload_in_group=2", 0},
    /* 8 x 4096 rows of 151,936 words by 16 bytes are 74.2 GiB, in parts of 3.75 GiB */
    {"llamafactory/unsloth.yaml", "",
     "recompute.offload=[layer_input] stack.cross_entropy=chunked stack.loss_chunks=20 "
     "lora.inputs=shared",
     0},
    {"llamafactory/kto.yaml", "",
     "workload.colocated.reference=1 workload.colocated.passes=3 workload.micro_batch=2", 0},
    {"vllm/decoded-images.sh", "", "memory.reserve=2GiB", 0},
    {"trtllm/limits.sh", "",
     "parallel.stages=[20,28] memory.cache_bytes=20GiB model.linear.state=bf16", 0},
    {"trl/reward.py", "", "model.labels=1 workload.micro_batch=8 recompute.kind=full", 0},
    {"trl/classifier.py", "", "model.labels=7 workload.micro_batch=16", 0},
    {"swift/seq-cls.sh", "", "model.labels=4 workload.micro_batch=2", 0},
    {"swift/unsloth.sh", "", "recompute.offload=[layer_input] lora.inputs=shared", 0},
    {"swift/rm.sh", "", "model.labels=1 workload.micro_batch=4 lora.rank=8", 0},
    {"axolotl/frozen-encoder.yaml", "", "workload.encoder.train=none parallel.zero=3", 1},
    {"axolotl/token-rows.yaml", "", "lora.rows=true lora.rank=16", 0},
    {"axolotl/rank-pattern.yaml", "", "lora.ranks=[64,0,8] lora.rank=16", 0},
    {"trl/ranks.py", "", "lora.ranks=[0,4] lora.rank=16", 0},
    {"deepspeed/hosts.sh", "", "cluster.nodes=2 cluster.node.devices=8 parallel.zero=3", 0},
    {"fsdp/each-batch.sh", "", "precision.accumulated=none workload.global_batch=64", 0},
    {"axolotl/reward.yaml", "", "model.labels=1 workload.micro_batch=4", 0},
    {"axolotl/process-reward.yaml", "", "model.labels=2 workload.micro_batch=1", 0},
    {"openrlhf/rm.sh", "cluster=h100", "model.labels=1 workload.micro_batch=2", 0},
    {"trl/mxfp4.py", "", "precision.weights=bf16 lora.rank=8 model.name=gpt-oss-20b", 1},
    /* Qwen3-8B without its head, but for a row: 8,190,735,360 - 151,935 x 4,096 */
    {"deepspeed/trl-ppo.sh", "workload.sequence_length=1024",
     "model.name=qwen3-8b workload.colocated.critic=1 workload.colocated.critic_joint=true "
     "workload.colocated.parameters=7568409600 workload.colocated.reference=1 "
     "workload.colocated.sequences=1 recompute.kind=full workload.global_batch=128 "
     "precision.weights=bf16",
     2},
    {"fsdp/smoothing.sh", "",
     "stack.cross_entropy=smoothed_f32 precision.weights=f32 parallel.zero=3", 0},
    {"deepspeed/smoothing.sh", "", "stack.cross_entropy=smoothed parallel.zero=3", 0},
    {"trl/mesh.py", "",
     "parallel.cp=2 parallel.dp_shard=4 stack.cross_entropy=smoothed_f32 "
     "workload.sequence_length=16384",
     1},
    {"unsloth/context.py", "", "parallel.cp=2 model.vocab=152064 workload.global_batch=2", 0},
    {"bridge/expert-ranks.sh", "", "lora.rank=64 lora.expert_rank=8 lora.share_experts=false",
     1},
    {"bridge/encoder-alone.sh", "",
     "frozen.modules=[embed_tokens,lm_head,norms,attention,router,experts] "
     "workload.encoder.train=all",
     2},
    {"axolotl/rounded.yaml", "",
     "precision.fake_weights=int4 precision.fake_inputs=int8 parallel.zero=3", 0},
    {"unsloth/rounded.py", "",
     "precision.fake_weights=fp8_int4 precision.fake_inputs=fp8 lora.rank=32", 0},
    {"axolotl/dense-qlora.yaml", "",
     "lora.plain_format=bf16 precision.weights=nf4_double lora.rank=16", 0},
    {"deepspeed/trl-gspo.sh", "",
     "workload.micro_batch=8 workload.logits_to_keep=1025 workload.sequence_length=3072 "
     "workload.colocated.engine=awake parallel.zero=3",
     0},
};

const size_t job_cases_n = sizeof job_cases / sizeof *job_cases;

#!/usr/bin/env python3
"""Qwen3-30B-A3B: a recipe's function, and the fields that are set behind it."""
#moeplan cluster=b200-8x4
import argparse
import os

import torch

from megatron.bridge.recipes.qwen import qwen3_30b_a3b_pretrain_config as pretrain_config
from megatron.bridge.training.comm_overlap import CommOverlapConfig
from megatron.bridge.training.gpt_step import forward_step
from megatron.bridge.training.mixed_precision import bf16_with_mxfp8_mixed
from megatron.bridge.training.pretrain import pretrain

TP = int(os.environ.get("TP", "4"))
NODES, SEQ = 4, 4096


def parse_args():
    parser = argparse.ArgumentParser()
    parser.add_argument("--debug", action="store_true")
    return parser.parse_args()


def main() -> None:
    args = parse_args()
    cfg = pretrain_config()

    # the layout
    cfg.model.tensor_model_parallel_size = TP
    cfg.model.sequence_parallel = True
    cfg.model.pipeline_model_parallel_size = 2
    cfg.model.virtual_pipeline_model_parallel_size = 2
    cfg.model.expert_model_parallel_size = 8
    cfg.model.seq_length = 2 * 4096
    cfg.dataset.seq_length = cfg.model.seq_length
    cfg.model.recompute_granularity = "selective"
    cfg.model.recompute_modules = ["moe_act", "layernorm"]
    cfg.model.cuda_graph_impl = "none"
    cfg.model.moe_flex_dispatcher_backend = "deepep"

    cfg.train.micro_batch_size = 1
    cfg.train.global_batch_size = 8 * 32 // 2
    cfg.train.train_iters = 1_000
    cfg.mixed_precision = bf16_with_mxfp8_mixed()
    cfg.comm_overlap = CommOverlapConfig(
        tp_comm_overlap=False,
        overlap_moe_expert_parallel_comm=True,  # beside the other micro-batch
    )
    cfg.optimizer.use_precision_aware_optimizer = True
    cfg.optimizer.exp_avg_dtype = torch.bfloat16
    cfg.optimizer.exp_avg_sq_dtype = torch.bfloat16
    cfg.logger.tensorboard_dir = f"/results/{os.getpid()}"
    if args.debug:
        cfg.train.micro_batch_size = 2

    pretrain(config=cfg, forward_step_func=forward_step)


if __name__ == "__main__":
    main()

#!/bin/bash
tune run --nproc_per_node 8 full_finetune_distributed --config llama4/scout_17B_16E_full batch_size=2

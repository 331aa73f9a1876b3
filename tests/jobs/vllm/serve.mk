# Recipes of make: one that serves, one that asks.
MODEL ?= Qwen/Qwen3-30B-A3B
TP := 2
EXTRA = --max-num-seqs $(SEQUENCES)
SEQUENCES = 48
ifeq ($(TP),2)
EXTRA += --enforce-eager
else
EXTRA += --enable-expert-parallel
endif

.PHONY: serve ask
serve: check
	@echo "serving $(MODEL)"
	@CUDA_VISIBLE_DEVICES=0,1 vllm serve $(MODEL) \
		--tensor-parallel-size $(TP) \
		$(EXTRA) 2>&1 | tee $@.log

ask:
	curl -s localhost:8000/v1/models | grep $$HOME

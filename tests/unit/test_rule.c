/* plan/rule/rule: every rule with a plan that breaks it and one that it applies to and holds
 * for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/text.h"
#include "plan/derive.h"
#include "plan/rule/rule.h"
#include "plan/schema/schema.h"
#include "support/random_plan.h"

/* "key=value key=value" */
static void change(struct plan *plan, const char *changes)
{
    char copy[768], *rest = copy;
    snprintf(copy, sizeof copy, "%s", changes);
    while (*rest) {
        char *key = rest, *value = strchr(rest, '=');
        assert_non_null(value);
        *value++ = '\0';
        rest = value + strcspn(value, " ");
        if (*rest)
            *rest++ = '\0';
        struct err err = {0};
        const struct field *field = schema_find(key);
        assert_non_null(field);
        schema_set(field, plan, value, false, (struct mark){0}, &err);
        assert_string_equal(err.text, "");
    }
}

#define MLA "model.attention.kind=mla model.attention.kv_heads=0 model.attention.head_dim=0 "
#define MLA_DIMS                                                                               \
    "model.attention.kv_lora_rank=16 model.attention.qk_nope_head_dim=8 "                      \
    "model.attention.v_head_dim=8 "

#define WINDOWS "model.layer_types=[window,full] model.attention.window=4"
#define LINEAR                                                                                 \
    "model.layer_types=[linear,full] model.linear.heads=4 model.linear.head_dim=8 "            \
    "model.linear.key_heads=4 model.linear.key_dim=8"
#define OFFLOADS                                                                               \
    "Megatron moves whole layers without pipeline, recomputation and graphs; "                 \
    "recompute.offload names modules"
#define TRAINED "workload.mode=train workload.sequence_length=16"
#define ENCODER                                                                                \
    "model.encoder.layers=2 model.encoder.hidden=8 model.encoder.heads=2 "                     \
    "model.encoder.intermediate=16"
#define SHARED_KV                                                                              \
    "model.attention.kind=shared_kv model.attention.kv_heads=0 model.attention.head_dim=8 "    \
    "model.attention.q_lora_rank=8 model.attention.o_groups=4 model.attention.o_lora_rank=8 "  \
    "model.attention.window=4 model.attention.csa_ratio=4 model.attention.hca_ratio=8 "        \
    "model.layer_types=[window,csa,hca] model.indexer.heads=4 model.indexer.head_dim=8 "       \
    "model.indexer.top_k=16 "
#define BLOCKS                                                                                 \
    "model.layer_types=[blocks,full] model.indexer.heads=4 model.indexer.head_dim=8 "          \
    "model.indexer.top_k=16 model.indexer.block=4"
#define INDEXER                                                                                \
    MLA MLA_DIMS "model.attention.q_lora_rank=8 model.indexer.heads=4 "                        \
                 "model.indexer.head_dim=8 model.indexer.top_k=16"

/* The small plan: 8 layers (2 dense), hidden 64, 8 heads, 16 experts, top 2, 2 nodes of 4. */
static const struct {
    const char *rule, *broken, *holds, *text, *hint;
} cases[] = {
    {"dense-layers-within-layers", "model.dense_layers=9", "model.dense_layers=8",
     "dense_layers 9 is more than layers 8", "dense_layers counts some of the layers"},
    {"moe-period", "model.moe_every=2", "model.moe_every=2 model.dense_layers=4",
     "layers - dense_layers 6 is not layers / moe_every 4",
     "with moe_every n, every n-th layer has experts"},
    {"dense-width", "model.dense_intermediate=0",
     "model.dense_layers=0 model.dense_intermediate=0",
     "dense_intermediate is 0, it must be "
     "larger",
     "the model has dense layers, or the block is a collective matmul"},
    {"experts-there", "model.moe.experts=0", "model.moe.experts=0 model.dense_layers=8",
     "experts is 0, it must be larger", "the model has MoE layers"},
    {"top-k-there", "model.moe.top_k=0", "model.moe.top_k=1", "top_k is 0, it must be larger",
     "the model has MoE layers"},
    {"expert-width", "model.moe.intermediate=0", "model.moe.intermediate=1",
     "intermediate is 0, it must be larger", "the model has MoE layers"},
    {"latent-within-hidden", "model.moe.latent_size=65", "model.moe.latent_size=64",
     "latent_size 65 is more than hidden 64",
     "experts on a latent width work on narrower rows; 0: on the hidden size"},
    {"top-k-within-experts", "model.moe.top_k=17", "model.moe.top_k=16",
     "top_k 17 is more than experts 16", "a token goes to distinct experts"},
    {"groups-divide-experts", "model.moe.router.groups=3", "model.moe.router.groups=4",
     "experts 16 is not divisible by router groups 3", "divisors of 16 near it: 2, 4"},
    {"top-groups-within-groups", "model.moe.router.groups=4 model.moe.router.top_groups=5",
     "model.moe.router.groups=4 model.moe.router.top_groups=4",
     "top_groups 5 is more than router groups 4", "a token goes to distinct groups"},
    {"top-k-within-groups", "model.moe.router.groups=16 model.moe.top_k=2",
     "model.moe.router.groups=16 model.moe.router.top_groups=2",
     "top_k 2 is more than the experts of top_groups groups, 1",
     "raise router.top_groups, or lower router.groups or top_k"},
    {"window-there", "model.layer_types=[window,full]",
     "model.layer_types=[window,full] model.attention.window=4",
     "window is 0, it must be larger", "layer_types names window layers"},
    {"chunk-there", "model.layer_types=[chunk,full]",
     "model.layer_types=[chunk,full] model.attention.chunk=4", "chunk is 0, it must be larger",
     "layer_types names chunk layers"},
    {"shared-kv-types", "model.layer_types=[csa,hca]", SHARED_KV,
     "layers of type csa and hca have model.attention.kind shared_kv",
     "set model.attention.kind to shared_kv"},
    {"shared-kv-types", SHARED_KV "model.layer_types=[window,full]", SHARED_KV,
     "model.attention.kind shared_kv is of layers of type window, csa and hca",
     "name them in model.layer_types"},
    {"shared-kv-window", SHARED_KV "model.layer_types=[hca] model.attention.window=0",
     SHARED_KV, "window is 0, it must be larger", "every layer of kind shared_kv has a window"},
    {"shared-kv-head-size", SHARED_KV "model.attention.head_dim=0", SHARED_KV,
     "head_dim is 0, it must be larger", "kind shared_kv needs it"},
    {"shared-kv-rotary-within-head", SHARED_KV "model.attention.qk_rope_head_dim=9",
     SHARED_KV "model.attention.qk_rope_head_dim=8",
     "qk_rope_head_dim 9 is more than head_dim 8", "the rotary part is some of a head"},
    {"shared-kv-q-rank", SHARED_KV "model.layer_types=[hca] model.attention.q_lora_rank=0",
     SHARED_KV, "q_lora_rank is 0, it must be larger", "kind shared_kv needs it"},
    {"shared-kv-o-rank", SHARED_KV "model.attention.o_lora_rank=0", SHARED_KV,
     "o_lora_rank is 0, it must be larger", "kind shared_kv needs it"},
    {"o-groups-divide-heads", SHARED_KV "model.attention.o_groups=3", SHARED_KV,
     "heads 8 is not divisible by o_groups 3", "kind shared_kv projects groups of heads down"},
    {"residual-block-alone", "model.residual_block=2 model.residual_streams=2",
     "model.residual_block=2", "residual_block with residual_streams is not modelled",
     "leave residual_block out"},
    {"residual-block-alone", "model.residual_block=2 model.mtp_layers=1 model.mtp_enabled=true",
     "model.residual_block=2", "residual_block with prediction modules is not modelled",
     "leave residual_block out"},
    {"borrowed-keys-there", "model.layer_types=[borrow,full]",
     "model.layer_types=[full,borrow]",
     "layer 1 is of type borrow, and no layer before it is of type full",
     "keys and values are those of the last such layer before it"},
    {"borrowed-keys-alone", "model.layer_types=[full,borrow] model.residual_streams=2",
     "model.layer_types=[full,borrow]",
     "layers that borrow keys with copies or blocks of the residual: not modelled",
     "set model.residual_streams to 1 and model.residual_block to 0"},
    {"mtp-window-there", "model.mtp_layers=1 model.mtp_enabled=true model.mtp_window=true",
     "model.mtp_layers=1 model.mtp_enabled=true model.mtp_window=true " WINDOWS,
     "mtp_window without layers of type window",
     "name some in model.layer_types, or leave mtp_window out"},
    {"csa-ratio", SHARED_KV "model.attention.csa_ratio=0",
     SHARED_KV "model.layer_types=[window,csa]", "csa_ratio is 0, it must be larger",
     "layer_types names csa layers"},
    {"hca-ratio", SHARED_KV "model.attention.hca_ratio=0",
     SHARED_KV "model.layer_types=[window,hca]", "hca_ratio is 0, it must be larger",
     "layer_types names hca layers"},
    {"csa-needs-indexer", SHARED_KV "model.indexer.heads=0", SHARED_KV,
     "indexer heads is 0, it must be larger", "layer_types names csa layers"},
    {"linear-heads", "model.layer_types=[linear,full]", LINEAR,
     "linear heads is 0, it must be larger", "layer_types names linear layers"},
    {"linear-head-size", "model.layer_types=[linear,full] model.linear.heads=4", LINEAR,
     "linear head_dim is 0, it must be larger", "layer_types names linear layers"},
    {"linear-rank", LINEAR " model.linear.kind=kimi_delta",
     LINEAR " model.linear.kind=kimi_delta model.linear.rank=8",
     "linear rank is 0, it must be larger", "kimi_delta and mamba1 need it"},
    {"linear-key-heads-divide-heads", LINEAR " model.linear.key_heads=3", LINEAR,
     "linear heads 4 is not divisible by key_heads 3", "divisors of 4 near it: 2, 4"},
    {"linear-on-one-cp-rank", LINEAR " parallel.cp=2", LINEAR, "cp 2 is not 1",
     "the state of linear layers over context-parallel ranks is not modelled"},
    {"indexer-reads-mla", "model.indexer.heads=4", INDEXER,
     "an indexer reads the low rank of q: kind mla or shared_kv with q_lora_rank",
     "leave model.indexer out; kind gqa has one in layers of type blocks"},
    {"shared-kv-types", MLA MLA_DIMS "model.layer_types=[blocks,full]", BLOCKS,
     "layers of type blocks have model.attention.kind gqa", "set model.attention.kind to gqa"},
    {"shared-kv-types", BLOCKS " model.layer_types=[blocks,reuse]", BLOCKS,
     "layers of type reuse have model.attention.kind mla",
     "name no layers of type reuse in model.layer_types"},
    {"blocks-need-indexer", BLOCKS " model.indexer.heads=2", BLOCKS,
     "indexer heads 2 is not kv_heads 4",
     "in layers of type blocks every group of queries has its own choice"},
    {"blocks-size", BLOCKS " model.indexer.block=0", BLOCKS,
     "indexer block is 0, it must be larger", "layer_types names blocks layers"},
    {"blocks-are-whole", BLOCKS " model.indexer.top_k=18", BLOCKS,
     "indexer top_k 18 is not divisible by indexer block 4",
     "layers of type blocks choose whole blocks"},
    {"indexer-size", INDEXER " model.indexer.head_dim=0", INDEXER,
     "indexer head_dim is 0, it must be larger", "the model has an indexer"},
    {"indexer-top-k", INDEXER " model.indexer.top_k=0", INDEXER,
     "indexer top_k is 0, it must be larger", "the model has an indexer"},
    {"packed-within-sequence", TRAINED " workload.packing.length=17",
     TRAINED " workload.packing.length=16", "packing length 17 is more than sequence_length 16",
     "sequences are packed into one of sequence_length"},
    {"squares-above-mean", TRAINED " workload.packing.length=4 workload.packing.square=15",
     TRAINED " workload.packing.length=4 workload.packing.square=16",
     "the square of packing length, 16 is more than packing square 15",
     "a mean of squares is at least the square of the mean"},
    {"squares-within-sequence", TRAINED " workload.packing.length=4 workload.packing.square=65",
     TRAINED " workload.packing.length=4 workload.packing.square=64",
     "packing square 65 is more than packing length x sequence_length, 64",
     "no packed sequence is longer than sequence_length"},
    {"encoder-hidden", "model.encoder.layers=2", ENCODER,
     "encoder hidden is 0, it must be larger", "the model has an encoder"},
    {"encoder-heads", ENCODER " model.encoder.heads=0", ENCODER,
     "encoder heads is 0, it must be larger", "the model has an encoder"},
    {"encoder-heads-divide-hidden", ENCODER " model.encoder.heads=3", ENCODER,
     "encoder hidden 8 is not divisible by encoder heads 3", "divisors of 8 near it: 2, 4"},
    {"encoder-width", ENCODER " model.encoder.intermediate=0", ENCODER,
     "encoder intermediate is 0, it must be larger", "the model has an encoder"},
    {"reuse-needs-indexer", "model.layer_types=[reuse,full]",
     INDEXER " model.layer_types=[reuse,full]", "indexer heads is 0, it must be larger",
     "layer_types names reuse layers"},
    {"parts-say-their-network", "model.layer_types=[full,moe]",
     "model.layer_types=[full,dense,full,moe]",
     "dense_layers 2 is not the dense layers of layer_types, 0",
     "leave dense_layers and moe_every out: layer_types says which layers are dense"},
    {"gqa-head-size", "model.attention.head_dim=0", "model.attention.head_dim=1",
     "head_dim is 0, it must be larger", "hidden / heads is not even 1: state head_dim"},
    {"kv-heads-divide-heads", "model.attention.kv_heads=3", "model.attention.kv_heads=1",
     "heads 8 is not divisible by kv_heads 3", "divisors of 8 near it: 2, 4"},
    {"window-kv-heads-divide-heads", WINDOWS " model.window.kv_heads=3",
     WINDOWS " model.window.kv_heads=4",
     "heads of window layers, 8 is not divisible by kv_heads of window layers, 3",
     "divisors of 8 near it: 2, 4"},
    {"shared-kv-of-one-size", "model.attention.k_eq_v=true model.attention.v_head_dim=4",
     "model.attention.v_head_dim=4", "v_head_dim 4 is not head_dim 8",
     "with k_eq_v keys are values: leave v_head_dim out"},
    {"one-gate", "model.attention.head_gate=true model.attention.output_gate=true",
     "model.attention.head_gate=true",
     "output_gate and head_gate: attention has one gate or the other", "leave one of them out"},
    {"mla-kv-rank", MLA MLA_DIMS "model.attention.kv_lora_rank=0", MLA MLA_DIMS,
     "kv_lora_rank is 0, it must be larger", "kind mla needs it"},
    {"mla-qk-size", MLA MLA_DIMS "model.attention.qk_nope_head_dim=0",
     MLA MLA_DIMS "model.attention.qk_nope_head_dim=0 model.attention.qk_rope_head_dim=8",
     "qk_nope_head_dim + qk_rope_head_dim is 0, it must be larger", "kind mla needs them"},
    {"mla-v-size", MLA MLA_DIMS "model.attention.v_head_dim=0", MLA MLA_DIMS,
     "v_head_dim is 0, it must be larger", "kind mla needs it"},
    {"model-in-64-bits",
     "model.hidden=10000000 model.moe.intermediate=100000000 model.moe.experts=65536",
     "model.hidden=100000 model.moe.intermediate=10000 model.moe.experts=1000",
     "the bytes of the model's parameters overflow 64 bits",
     "layers, experts, hidden, intermediate or vocab is far too large"},
    {"mesh-holds-devices", "cluster.mesh=[4,4]", "cluster.mesh=[4,2]",
     "the mesh's product 16 is not nodes x devices 8",
     "the mesh has one place for each device"},
    {"link-known", "cluster.node.link_bandwidth=0",
     "cluster.node.link_bandwidth=0 cluster.node.devices=1",
     "cluster.node.link_bandwidth is 0, it must be larger",
     "nodes of several devices need it, as in '450 GB/s'"},
    {"network-known", "cluster.network.bandwidth=0",
     "cluster.network.bandwidth=0 cluster.nodes=1",
     "cluster.network.bandwidth is 0, it must be larger",
     "clusters of several nodes need it: --set cluster.network.bandwidth='50 GB/s'"},
    {"pod-of-leaves", "cluster.network.leaf.nodes=4 cluster.network.pod.nodes=6",
     "cluster.network.leaf.nodes=4 cluster.network.pod.nodes=8",
     "cluster.network.pod.nodes 6 is not divisible by cluster.network.leaf.nodes 4",
     "a pod joins whole leaves; without leaves: cluster.network.leaf.nodes=0"},
    {"stack-fraction", "stack.fraction=0", "stack.fraction=0 memory.fraction=0.5",
     "stack.fraction is 0, it must be larger", "state it, or memory.fraction, as in 0.9"},
    {"limit-positive", "memory.reserve=900MiB stack.reserve=100MiB", "memory.reserve=900MiB",
     "no device memory is left: 921.6 MiB usable, 1000 MiB reserved",
     "limit = fraction x memory - memory.reserve - stack.reserve"},
    {"layout-fills-cluster", "parallel.tp=2 parallel.cp=3", "parallel.tp=2 parallel.cp=4",
     "world size 8 is not divisible by tp x pp x cp 6", "take devices in multiples of 6"},
    {"expert-layout-fills-cluster", "parallel.ep=16", "parallel.ep=8",
     "world size 8 is not divisible by ep x etp x pp 16",
     "ep 8 fits, or take devices in multiples of 16"},
    {"dp-as-derived", "parallel.dp=4", "parallel.dp=8",
     "dp 4 is not world size / (tp x pp x cp) = 8",
     "dp follows from the cluster: leave it out, or change the cluster's size"},
    {"layout-matches-model", "parallel.pp=2 parallel.layout=Et|tL",
     "parallel.pp=2 parallel.layout=Et*3|t*5L",
     "layout has 2 layers and 0 modules, the model 8 and 0",
     "E first, L last, a t for each layer and, with model.mtp_enabled, an m for each module, "
     "in "
     "pp x vpp chunks"},
    {"dp-shard-divides-dp", "parallel.dp_shard=3", "parallel.dp_shard=4",
     "dp 8 is not divisible by dp_shard 3", "dp / dp_shard groups hold a copy each"},
    {"ep-within-experts", "parallel.ep=8 model.moe.experts=4", "parallel.ep=8",
     "ep 8 is more than experts 4",
     "a rank holds at least one expert; redundant experts count"},
    {"ep-divides-experts", "parallel.ep=4 moe.redundant_experts=2",
     "parallel.ep=4 moe.redundant_experts=4", "experts 18 is not divisible by ep 4",
     "divisors of 18 near it: 3, 6"},
    {"etp-divides-width", "parallel.etp=8 model.moe.intermediate=36", "parallel.etp=8",
     "intermediate 36 is not divisible by etp 8", "divisors of 36 near it: 6, 9"},
    {"tp-divides-heads", "parallel.tp=8 model.attention.heads=4", "parallel.tp=8",
     "heads 4 is not divisible by tp 8", "divisors of 4 near it: 4"},
    {"tp-fits-kv-heads", "parallel.tp=4 model.attention.heads=12 model.attention.kv_heads=6",
     "parallel.tp=8 model.attention.kv_heads=4",
     "kv_heads 6 and tp 4: neither is a multiple of the other",
     "tp splits the key and value heads, or repeats them"},
    {"tp-divides-output-groups", SHARED_KV "parallel.tp=8", SHARED_KV "parallel.tp=4",
     "o_groups 4 is not divisible by tp 8", "divisors of 4 near it: 4"},
    {"tp-divides-window-heads",
     WINDOWS " parallel.tp=8 model.window.heads=4 model.window.kv_heads=4",
     WINDOWS " parallel.tp=8 model.window.heads=16",
     "heads of window layers, 4 is not divisible by tp 8", "divisors of 4 near it: 4"},
    {"tp-fits-window-kv-heads",
     WINDOWS " parallel.tp=4 model.window.heads=12 model.window.kv_heads=6",
     WINDOWS " parallel.tp=4 model.window.heads=12 model.window.kv_heads=4",
     "kv_heads 6 of window layers and tp 4: neither is a multiple of the other",
     "tp splits the key and value heads, or repeats them"},
    {"tp-divides-hidden", "parallel.tp=8 model.hidden=60", "parallel.tp=8",
     "hidden 60 is not divisible by tp 8", "divisors of 60 near it: 6, 10"},
    {"tp-divides-dense-width", "parallel.tp=8 model.dense_intermediate=100", "parallel.tp=8",
     "dense_intermediate 100 is not divisible by tp 8", "divisors of 100 near it: 5, 10"},
    {"tp-divides-residual-width", "parallel.tp=8 model.residual_intermediate=100",
     "parallel.tp=8 model.residual_intermediate=64",
     "residual_intermediate 100 is not divisible by tp 8", "divisors of 100 near it: 5, 10"},
    {"tp-divides-shared-width",
     "parallel.tp=8 moe.shared=tp model.moe.shared_experts=1 model.moe.shared_intermediate=12",
     "parallel.tp=8 moe.shared=sp model.moe.shared_experts=1 model.moe.shared_intermediate=12",
     "shared_intermediate 12 is not divisible by tp 8", "divisors of 12 near it: 6, 12"},
    {"vpp-needs-pp", "parallel.vpp=2", "parallel.vpp=2 parallel.pp=2",
     "vpp 2 without a pipeline: pp is 1",
     "vpp splits the stages of a pipeline: raise pp, or leave out vpp"},
    {"pipeline-within-layers", "parallel.pp=4 parallel.vpp=3", "parallel.pp=4 parallel.vpp=2",
     "pp x vpp 12 is more than layers 8", "each stage holds at least one layer"},
    {"stages-match-pp", "parallel.stages=[4,2,2] parallel.pp=2",
     "parallel.stages=[1,3,2,2] parallel.pp=2 parallel.vpp=2",
     "stages has 3 entries for 2 stages", "one number of layers for each of the pp stages"},
    {"stages-sum-to-layers", "parallel.stages=[4,5] parallel.pp=2",
     "parallel.stages=[3,5] parallel.pp=2", "the sum of stages 9 is not layers 8",
     "stages lists the layers of each stage, dense and MoE"},
    {"stage-within-pp", "parallel.stage=3 parallel.pp=2", "parallel.stage=2 parallel.pp=2",
     "stage 3 is more than pp 2", "stages are numbered from 1"},
    {"dualpipe-is-even", "parallel.schedule=dualpipe parallel.pp=3 cluster.nodes=3",
     "parallel.schedule=dualpipe parallel.pp=2", "pp 3 is not divisible by 2",
     "dualpipe runs two pipelines from both ends"},
    {"halving-splits-ranks",
     "block.kind=mlp block.collective=halving parallel.tp=3 model.hidden=96 "
     "model.attention.heads=24 model.attention.kv_heads=3 model.dense_intermediate=96 "
     "cluster.nodes=3",
     "block.kind=mlp block.collective=ring parallel.tp=3 model.hidden=96 "
     "model.attention.heads=24 model.attention.kv_heads=3 model.dense_intermediate=96 "
     "cluster.nodes=3",
     "recursive halving over tp 3: not a power of two",
     "every step splits the ranks in two: block.collective ring takes any number of them"},
    {"order-of-axes", "parallel.order=[tp,ep,tp]", "parallel.order=[ep,tp]",
     "order names 'tp' twice", "each of tp, cp, ep, dp, pp at most once, innermost first"},
    {"order-of-axes", "parallel.order=[tp,vp]", "parallel.order=[]",
     "order names 'vp', which is no axis",
     "each of tp, cp, ep, dp, pp at most once, innermost first"},
    {"sequence-splits", "workload.sequence_length=100 parallel.cp=8",
     "workload.sequence_length=100 parallel.cp=8 workload.mode=decode",
     "sequence_length 100 is not divisible by cp x (tp if sp), 8",
     "divisors of 100 near it: 5, 10"},
    {"one-batch", "workload.global_batch=8 workload.tokens_per_step=1024",
     "workload.global_batch=8 workload.tokens_per_step=512",
     "tokens_per_step 1024 is not global_batch x sequence_length = 512", "give one of the two"},
    {"batch-splits", "workload.global_batch=12", "workload.global_batch=16",
     "global_batch 12 is not divisible by dp x micro_batch = 8",
     "each rank does a whole number of micro-steps"},
    {"tokens-split", "workload.tokens_per_step=1000", "workload.tokens_per_step=1024",
     "tokens_per_step 1000 is not divisible by dp x micro_batch x sequence_length = 512",
     "each rank does a whole number of micro-steps"},
    {"decode-has-context", "workload.mode=decode workload.context_length=0",
     "workload.context_length=0", "context_length is 0, it must be larger",
     "decode reads a KV cache: say how many tokens each sequence has"},
    {"serve-by-engine", "workload.mode=serve", "workload.mode=serve stack.kind=vllm",
     "stack generic does not batch requests: mode serve is an engine's",
     "stack vllm, sglang or trtllm, or mode prefill or decode"},
    {"one-loop",
     "workload.mode=serve stack.kind=vllm workload.concurrency=8 workload.request_rate=2.5",
     "workload.mode=serve stack.kind=vllm workload.request_rate=2.5",
     "concurrency 8 and request_rate 2.5: requests are replaced when they end, or arrive at a "
     "rate",
     "leave out one of the two keys"},
    {"cache-splits", "workload.mode=decode stack.kind=vllm parallel.dcp=3",
     "workload.mode=decode stack.kind=vllm parallel.dcp=1", "dcp 3 does not divide tp 1",
     "a divisor of tp; with grouped queries of tp / kv_heads too"},
    {"draft-beside-model",
     "workload.mode=decode stack.kind=vllm workload.speculation.tokens=2 "
     "workload.speculation.method=mtp workload.tokens_per_sequence=3 model.mtp_layers=0",
     "workload.mode=decode stack.kind=vllm workload.speculation.tokens=2 model.mtp_layers=1 "
     "workload.speculation.method=mtp model.mtp_enabled=true workload.tokens_per_sequence=3",
     "the model has no prediction module to draft with",
     "name a draft in workload.speculation.model"},
    {"draft-beside-model",
     "workload.mode=decode stack.kind=vllm workload.speculation.tokens=2 "
     "workload.tokens_per_sequence=2",
     "workload.mode=decode stack.kind=vllm workload.tokens_per_sequence=2",
     "tokens_per_sequence 2 is less than the 2 proposed and one more",
     "leave it out, it follows"},
    {"draft-has-sizes",
     "workload.mode=decode stack.kind=vllm workload.speculation.tokens=2 "
     "workload.speculation.method=model workload.tokens_per_sequence=3 "
     "workload.speculation.layers=4",
     "workload.mode=decode stack.kind=vllm workload.speculation.tokens=2 "
     "workload.speculation.method=model workload.tokens_per_sequence=3 "
     "workload.speculation.layers=0",
     "a draft of 4 layers of these sizes cannot be laid out",
     "hidden, heads, kv_heads, head_dim, intermediate and vocab, heads and widths in as many "
     "parts as parallel.tp"},
    {"replicas-are-dp", "workload.mode=serve stack.kind=vllm parallel.attention_dp=3",
     "workload.mode=decode parallel.attention_dp=3", "attention_dp 3 is not dp = 8",
     "one deployment is the whole cluster: its devices are tp x pp x attention_dp"},
    {"capacity-positive", "moe.path=capacity moe.capacity_factor=0",
     "moe.path=deepep moe.capacity_factor=0", "capacity_factor is 0, it must be larger",
     "1 is balanced, 1.25 usual"},
    {"block-positive", "moe.path=blockwise moe.block_size=0",
     "moe.path=deepep moe.block_size=0", "block_size is 0, it must be larger",
     "rows of a block, 128 to 1024"},
    {"chunk-positive", "moe.path=chunked_a2a moe.chunk=0", "moe.path=deepep moe.chunk=0",
     "chunk is 0, it must be larger", "slots per expert and round"},
    {"buffer-factor-positive", "moe.buffer=0", "moe.buffer=worst moe.buffer_factor=0",
     "buffer is 0, it must be larger", "1 is balanced"},
    {"concentration-positive", "moe.routing.distribution=dirichlet moe.routing.concentration=0",
     "moe.routing.concentration=0", "concentration is 0, it must be larger",
     "smaller is more skewed, 10 is mild"},
    {"trace-has-file", "moe.routing.distribution=trace",
     "moe.routing.distribution=trace moe.routing.file=a.csv", "distribution trace has no file",
     "name it in 'moe.routing.file'"},
    {"placement-has-file", "moe.routing.placement=table",
     "moe.routing.placement=table moe.routing.placement_file=a.csv",
     "placement table has no file", "name it in 'moe.routing.placement_file'"},
    {"layers-go-to-host", "workload.mode=train stack.kind=megatron recompute.offload_layers=8",
     "workload.mode=train stack.kind=megatron recompute.offload_layers=7",
     "offload_layers 8 of 8: one has to stay", OFFLOADS},
    {"layers-go-to-host",
     "workload.mode=train stack.kind=megatron recompute.offload_layers=2 parallel.pp=2",
     "workload.mode=train stack.kind=fsdp recompute.offload_layers=2 parallel.pp=2",
     "offload_layers 2 beside a pipeline", OFFLOADS},
    {"layers-go-to-host",
     "workload.mode=train stack.kind=megatron recompute.offload_layers=2 recompute.kind=full",
     "workload.mode=train stack.kind=megatron recompute.kind=full",
     "offload_layers 2 beside recomputation", OFFLOADS},
    {"adapters-or-frozen", "workload.mode=train frozen.layers=1 lora.rank=8",
     "workload.mode=train lora.rank=8", "lora.rank 8 freezes all but adapters by itself",
     "lora.targets says which matrices have them"},
    {"frozen-layers-in-model", "workload.mode=train stack.kind=fsdp frozen.layers=8",
     "workload.mode=train stack.kind=fsdp frozen.layers=7",
     "frozen.layers 8 is more than layers - 1 7", "one layer has to be trained"},
    {"frozen-apart",
     "workload.mode=train stack.kind=megatron frozen.layers=1 recompute.offload_layers=2",
     "workload.mode=train stack.kind=megatron frozen.modules=[router] "
     "recompute.offload_layers=2",
     "layers are frozen beside layers that wait in host memory",
     "not modelled; without it, or with everything trained"},
    {"something-is-trained",
     "workload.mode=train stack.kind=fsdp model.dense_layers=0 "
     "frozen.modules=[embed_tokens,lm_head,norms,attention,router,experts,shared_experts]",
     "workload.mode=train stack.kind=fsdp model.dense_layers=0 "
     "frozen.modules=[embed_tokens,lm_head,norms,attention,router,shared_experts]",
     "all that the model has is frozen: nothing is trained",
     "leave a part out of frozen.modules"},
    {"steps-whole-weights", "workload.mode=train stack.kind=fsdp optimizer.kind=lomo",
     "workload.mode=train stack.kind=fsdp optimizer.kind=apollo parallel.zero=0",
     "this optimizer steps weights that every rank has whole and alone",
     "stack fsdp with zero 0 and dp 1, or another optimizer"},
    {"steps-in-backward-alone",
     "workload.mode=train stack.kind=torchtitan optimizer.in_backward=true parallel.ep=2",
     "workload.mode=train stack.kind=torchtitan optimizer.in_backward=true",
     "torchtitan's optimizer does not step in backward with ep 2",
     "ep 1 and pp 1, or optimizer.in_backward: false"},
    {"delayed-leaves-no-layers",
     "workload.mode=train stack.kind=megatron precision.recipe=fp8_delayed "
     "precision.plain_last=1",
     "workload.mode=train stack.kind=megatron precision.recipe=fp8_block "
     "precision.plain_last=1",
     "delayed scaling leaves no layers in 16 bits", "precision.recipe: fp8_current does"},
    {"recipe-leaves-layers",
     "workload.mode=train stack.kind=megatron precision.recipe=mxfp8 parallel.pp=2 "
     "precision.plain_last=5",
     "workload.mode=train stack.kind=megatron precision.recipe=nvfp4 parallel.pp=2 "
     "precision.plain_last=5",
     "plain_last 5 is more than 8 layers / pp 2", "no more than a pipeline stage has, 4"},
    {"hpz-shard-divides-dp",
     "workload.mode=train stack.kind=deepspeed parallel.zero=3 parallel.hpz_shard=3",
     "workload.mode=train stack.kind=deepspeed parallel.zero=3 parallel.hpz_shard=4",
     "dp 8 is not divisible by hpz_shard 3",
     "as many neighbouring ranks as a node has, mostly"},
    {"save-has-names", "recompute.kind=save", "recompute.kind=save recompute.save=[a]",
     "recompute save lists no names", "recompute: {save: [names]}, or recompute: full"},
    {"rows-in-64-bits", "workload.micro_batch=1000000000 workload.sequence_length=1000000000",
     "workload.micro_batch=1000 workload.sequence_length=1000000",
     "tokens x top_k x experts x width overflows 64 bits",
     "micro_batch or sequence_length is far too large"},
    {"tokens-in-32-bits", "workload.micro_batch=5000 workload.sequence_length=1000000",
     "workload.micro_batch=4000 workload.sequence_length=1000000",
     "5000000000 tokens of a rank choose experts in a step, the limit is 4294967295",
     "micro_batch or sequence_length is far too large"},
};

enum { CASES = sizeof cases / sizeof *cases };

static void broken_plans_are_named(void **state)
{
    (void)state;
    for (size_t i = 0; i < CASES; i++) {
        struct plan plan;
        char text[RULE_TEXT] = "", hint[RULE_TEXT] = "";
        plan_tiny(&plan);
        change(&plan, cases[i].broken);
        print_message("%s: %s\n", cases[i].rule, cases[i].broken);
        const struct rule *rule = rule_check(&plan, text, hint);
        assert_non_null(rule);
        assert_string_equal(text, cases[i].text);
        assert_string_equal(hint, cases[i].hint);
        assert_string_equal(rule->name, cases[i].rule);
    }
}

static void plans_that_obey_pass(void **state)
{
    (void)state;
    for (size_t i = 0; i < CASES; i++) {
        struct plan plan;
        char text[RULE_TEXT] = "", hint[RULE_TEXT] = "";
        plan_tiny(&plan);
        change(&plan, cases[i].holds);
        print_message("%s: %s\n", cases[i].rule, cases[i].holds);
        const struct rule *rule = rule_check(&plan, text, hint);
        assert_string_equal(rule ? text : "", "");
    }
}

static void every_rule_has_a_case(void **state)
{
    (void)state;
    for (size_t i = 0; rule_at(i); i++) {
        const struct rule *rule = rule_at(i);
        size_t found = 0;
        for (size_t j = 0; j < CASES; j++)
            found += text_equal(cases[j].rule, rule->name);
        print_message("%s\n", rule->name);
        assert_true(found > 0);
        assert_non_null(schema_find(rule->key));
        for (size_t j = 0; j < 2; j++)
            assert_true(!rule->also[j] || schema_find(rule->also[j]));
        assert_int_equal(rule->shape == RULE_OTHER, rule->broken != NULL);
    }
}

/* The design's rules of reading, on the example of seed 000: 64 ranks, 8 x 4096 tokens. */
static void derived_quantities(void **state)
{
    (void)state;
    struct plan plan;
    plan_tiny(&plan);
    change(&plan, "cluster.nodes=8 cluster.node.devices=8 workload.micro_batch=8 "
                  "workload.sequence_length=4096 parallel.ep=8 model.moe.experts=256");
    assert_int_equal(plan_world(&plan), 64);
    assert_int_equal(plan_dp(&plan), 64);
    assert_int_equal(plan_expert_dp(&plan), 8);
    assert_int_equal(plan_tokens(&plan), 32768);
    assert_int_equal(plan_local_experts(&plan), 32);
    assert_int_equal(plan_moe_layers(&plan), 6);
    assert_int_equal(plan_accumulation(&plan), 1);
    change(&plan, "parallel.tp=2 parallel.cp=4 parallel.pp=2 workload.global_batch=256");
    assert_int_equal(plan_dp(&plan), 4);
    assert_int_equal(plan_expert_dp(&plan), 4);
    assert_int_equal(plan_tokens(&plan), 8192);
    assert_int_equal(plan_accumulation(&plan), 8);
    change(&plan, "parallel.sp=true workload.global_batch=0 workload.tokens_per_step=524288");
    assert_int_equal(plan_tokens(&plan), 4096);
    assert_int_equal(plan_accumulation(&plan), 4);
    change(&plan, "workload.mode=decode workload.tokens_per_sequence=3");
    assert_int_equal(plan_tokens(&plan), 24);
    change(&plan, "cluster.device.logical_cores=4 moe.redundant_experts=32");
    assert_int_equal(plan_world(&plan), 256);
    assert_int_equal(plan_rank_memory(&plan), 268435456);
    assert_int_equal(plan_experts_total(&plan), 288);
}

/* Searches ask of a combination once what does not follow from its micro-batch. */
static void test_parts(void **state)
{
    (void)state;
    static const uint64_t batches[] = {1, 2, 3, 5, 8, 64, UINT64_C(1) << 20, UINT64_C(1) << 40};
    struct rule_parts parts;
    size_t lawful = 0, allowed = 0;
    rule_parts_of("workload.micro_batch", &parts);
    assert_int_equal(parts.n_naming, 4);
    for (uint64_t seed = 0; seed < 4000; seed++) {
        struct plan plan;
        struct rng rng;
        rng_init(&rng, seed, 11, 0, 0, 0);
        plan_tiny(&plan);
        for (unsigned i = 0; i < seed % 12; i++)
            plan_vary(&plan, &rng);
        if (!rule_check_layout(&plan))
            continue;
        bool rest = rule_obeyed(parts.rest, parts.n_rest, &plan);
        lawful += rest;
        for (size_t i = 0; i < sizeof batches / sizeof *batches; i++) {
            plan.workload.micro_batch = batches[i];
            bool naming = rule_obeyed(parts.naming, parts.n_naming, &plan);
            assert_int_equal(rule_obeyed(parts.rest, parts.n_rest, &plan), rest);
            assert_int_equal(rule_check_run(&plan), rest && naming);
            allowed += rest && naming;
        }
    }
    assert_true(lawful > 1000 && allowed > 4000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(broken_plans_are_named),
        cmocka_unit_test(plans_that_obey_pass),
        cmocka_unit_test(every_rule_has_a_case),
        cmocka_unit_test(derived_quantities),
        cmocka_unit_test(test_parts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

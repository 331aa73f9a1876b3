/* The words of the plan file's enums, in the order of the enums of plan.h;
 * those of the paths stand in paths.c. */
#include "plan/schema/schema.h"

const char *const words_attention[] = {"gqa", "mla", "shared_kv", NULL};
const char *const words_layer[] = {
    "full",   "window",        "chunk", "linear",     "reuse",     "csa",
    "hca",    "csa_reuse",     "tsa",   "tsa_choose", "tsa_reuse", "blocks",
    "borrow", "window_borrow", "both",  "dense",      "moe",       NULL};
const char *const words_part[] = {
    "auto",  "attention", "attention_in", "attention_out", "linear", "indexer",
    "dense", "shared",    "residual",     "latent",        NULL};
const char *const words_linear[] = {"gated_delta_net", "kimi_delta", "lightning", "mamba2",
                                    "mamba1",          "short_conv", NULL};
const char *const words_mode[] = {"train", "prefill", "decode", "serve", NULL};
const char *const words_shares[] = {"nothing", "embedding", "ends", NULL};
const char *const words_role[] = {"whole", "prompts", "answers", NULL};
const char *const words_draft[] = {"ngram", "mtp", "model", "dspark", NULL};
const char *const words_dtype[] = {"none",        "f32",       "bf16",    "f16",   "fp8",
                                   "fp8_channel", "fp8_block", "mxfp8",   "mxfp4", "nvfp4",
                                   "int8",        "int4",      "int4_32", "nf4",   "nf4_double",
                                   "i32",         "i64",       "f64",     "bool",  NULL};
const char *const words_format[] = {
    "f32",   "bf16", "f16",  "fp8",     "fp8_channel", "fp8_block",  "mxfp8", "mxfp4",
    "nvfp4", "int8", "int4", "int4_32", "nf4",         "nf4_double", "f64",   NULL};
const char *const words_format_or_none[] = {
    "none",  "f32",  "bf16", "f16",     "fp8", "fp8_channel", "fp8_block", "mxfp8", "mxfp4",
    "nvfp4", "int8", "int4", "int4_32", "nf4", "nf4_double",  "f64",       NULL};
const char *const words_compute[] = {"f32", "f32x3", "bf16", "fp8", NULL};
const char *const words_library[] = {"auto",          "deepep",    "deepep_v2", "primus",
                                     "primus_jax",    "hybrid_ep", "mega",      "mega_deepgemm",
                                     "minimal_async", NULL};
const char *const words_matmul[] = {"grouped", "ragged_dot", "megablox", NULL};
const char *const words_sizing[] = {"auto", "worst", "exact", "balanced", "factor", NULL};
const char *const words_distribution[] = {"uniform",  "zipf",  "lognormal", "dirichlet",
                                          "hot_rank", "trace", NULL};
const char *const words_placement[] = {"contiguous", "strided", "table", "eplb", NULL};
const char *const words_routing_layers[] = {"independent", "same", NULL};
const char *const words_scenario[] = {"steady", "cold", "burst", "profile_run", NULL};
const char *const words_backend[] = {"flash", "unfused", NULL};
const char *const words_on_overflow[] = {"fail", "drop", NULL};
const char *const words_popularity[] = {"per_step", "fixed", NULL};
const char *const words_loss[] = {
    "f32",      "in_place",     "te",          "torch",          "chunked",
    "fused",    "log_probs",    "log_softmax", "log_probs_part", "linear_log_probs",
    "smoothed", "smoothed_f32", NULL};
const char *const words_balance[] = {"layer", "joint", "masked", NULL};
const char *const words_reshard[] = {"auto", "always", "never", NULL};
const char *const words_accumulated[] = {"auto", "none", "f32", "bf16", "f16", NULL};
const char *const words_fake_weights[] = {"none", "int",      "int_16", "int4",
                                          "fp8",  "fp8_int4", NULL};
const char *const words_fake_inputs[] = {"none", "int8", "int8_16", "fp8", NULL};
const char *const words_prefetch[] = {"auto", "pre", "post", "none", NULL};
const char *const words_colocated[] = {"none", "asleep", "awake", NULL};
const char *const words_saved[] = {"embed_tokens", "lm_head", NULL};
const char *const words_base[] = {"embed_tokens", "layers", NULL};
const char *const words_frozen[] = {"embed_tokens",   "lm_head",   "norms",
                                    "attention",      "router",    "experts",
                                    "shared_experts", "dense_mlp", NULL};
const char *const words_away[] = {
    "weights",        "states",        "reference", "critic",  "engine",
    "critic_weights", "critic_states", "frozen",    "average", NULL};
const char *const words_encoder[] = {"all", "projector", "none", NULL};
const char *const words_encoder_again[] = {"auto", "none", "full", NULL};
const char *const words_recipe[] = {"none",  "fp8_delayed", "fp8_current", "fp8_block",
                                    "mxfp8", "nvfp4",       NULL};
const char *const words_optimizer[] = {
    "adam",       "adam8bit",      "muon",      "lion",         "lion8bit",   "adafactor",
    "sgd",        "adam4bit",      "ademamix",  "ademamix8bit", "rmsprop",    "rmsprop8bit",
    "kahan_adam", "schedule_free", "adam_mini", "galore",       "galore8bit", "apollo",
    "lomo",       "adalomo",       NULL};
const char *const words_lora_experts[] = {"auto", "linear", "stacked", "quantised", NULL};
const char *const words_lora_inputs[] = {"shared", "copied", "dropped", NULL};
const char *const words_aware[] = {"none", "native", "copied", NULL};
const char *const words_step[] = {"fused", "foreach", NULL};
const char *const words_recompute[] = {"none", "selective", "full", "save", NULL};
const char *const words_stack[] = {"generic", "maxtext",   "megatron", "torchtitan", "nxd",
                                   "vllm",    "sglang",    "primus",   "trtllm",     "host",
                                   "fsdp",    "deepspeed", NULL};
const char *const words_graphs[] = {"auto", "none", "partial", "full", NULL};
const char *const words_experts[] = {
    "auto",       "triton",     "triton_oai", "cutlass", "deepgemm", "deepgemm_masked",
    "flashinfer", "trtllm_gen", "marlin",     NULL};
const char *const words_score[] = {"softmax", "sigmoid", "sqrtsoftplus", NULL};
const char *const words_order[] = {"topk_then_score", "score_then_topk", NULL};
const char *const words_activation[] = {"silu", "gelu", "relu", "swiglu_oai", NULL};
const char *const words_gate_scale[] = {"post", "pre", NULL};
const char *const words_shard[] = {"h", "i", "block", NULL};
const char *const words_weight_skip[] = {"none", "ping_pong", "hi_lo", NULL};
const char *const words_static_blocks[] = {"nxd", "kernel", NULL};
const char *const words_shared[] = {"auto", "sp", "tp", NULL};
const char *const words_pipeline[] = {"1f1b",     "interleaved", "zero_bubble",
                                      "dualpipe", "gpipe",       NULL};
const char *const words_block[] = {
    "moe", "allreduce_matmul", "reduce_scatter_matmul", "allgather_matmul", "mlp", NULL};
const char *const words_collective[] = {"builtin", "ring", "halving", NULL};
const char *const words_data[] = {"synthetic", "real", NULL};
const char *const words_drop[] = {"position", "probs", NULL};
const char *const words_capacity_scope[] = {"sequence", "batch", NULL};

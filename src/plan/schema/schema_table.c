/* Every key of the plan file, once; see schema.h. The order is the order of `show`. */
#include "plan/schema/schema_table.h"

#define MEMBER(member) offsetof(struct plan, member)
#define SIZE(member) sizeof(((struct plan *)0)->member)
#define ROW(name, kind, member, ...)                                                           \
    {                                                                                          \
        .key = name, .key_length = sizeof name - 1, .type = kind, .offset = MEMBER(member),    \
        .size = SIZE(member), __VA_ARGS__                                                      \
    }
#define NUMBER(kind, name, member, what, low, high, def, text)                                 \
    ROW(name, kind, member, .unit = what, .min = low, .max = high, .fallback = def,            \
        .help = text)
#define COUNT(name, member, low, high, def, text)                                              \
    NUMBER(FIELD_COUNT, name, member, UNIT_NONE, low, high, def, text)
#define REAL(name, member, low, high, def, text)                                               \
    NUMBER(FIELD_REAL, name, member, UNIT_NONE, low, high, def, text)
#define BYTES(name, member, low, def, text)                                                    \
    NUMBER(FIELD_AMOUNT, name, member, UNIT_BYTES, low, 1e18, def, text)
#define RATE(name, member, what, low, high, def, text)                                         \
    NUMBER(FIELD_RATE, name, member, what, low, high, def, text)
#define COUNTS(name, member, low, high, def, text)                                             \
    NUMBER(FIELD_COUNTS, name, member, UNIT_NONE, low, high, def, text)
/* A tier of the network's switches. */
#define TIER(word, tier_of, text)                                                              \
    COUNT("cluster.network." word ".nodes", cluster.network.tier[tier_of].nodes, 0, 1e6, "0",  \
          text),                                                                               \
        REAL("cluster.network." word ".oversubscription",                                      \
             cluster.network.tier[tier_of].oversubscription, 1, 1000, "1",                     \
             "bandwidth of such nodes over that of the links that leave their switches"),      \
        RATE("cluster.network." word ".latency", cluster.network.tier[tier_of].latency,        \
             UNIT_SECONDS, 0, 10, "0",                                                         \
             "latency that a message between such groups of nodes has beside the network's")
#define BOOL(name, member, def, text)                                                          \
    ROW(name, FIELD_BOOL, member, .fallback = def, .help = text)
#define TEXT(name, member, def, text)                                                          \
    ROW(name, FIELD_TEXT, member, .fallback = def, .help = text)
#define WORDS(name, member, def, text)                                                         \
    ROW(name, FIELD_WORDS, member, .fallback = def, .help = text)
#define ENUMS(name, member, list, def, text)                                                   \
    ROW(name, FIELD_ENUMS, member, .words = list, .fallback = def, .help = text)
#define WORD(name, member, list, def, text)                                                    \
    ROW(name, FIELD_WORD, member, .words = list, .fallback = def, .help = text)
#define FORMAT(name, member, list, def, text)                                                  \
    ROW(name, FIELD_WORD, member, .words = words_dtype, .offered = list, .fallback = def,      \
        .help = text)
#define SIZING(name, member, list, def, to, text)                                              \
    ROW(name, FIELD_WORD, member, .words = list, .fallback = def, .number = to, .help = text)

/* A table: long lines are rows. */
const struct field schema_table[] = {
    TEXT("name", name, "",
         "name of the plan in results; the file's name without folder and ending unless given"),

    /* ---- model: what is trained or served ---- */

    TEXT("model", model_name, NULL,
         "name in models/ or on the hub, path of a model file, of a config.json or its folder, "
         "or a mapping in place"),
    TEXT("model.name", model.name, "", "name of the model in results"),
    COUNT("model.layers", model.layers, 1, 10000, NULL,
          "transformer layers, dense and MoE, without multi-token prediction"),
    COUNT("model.dense_layers", model.dense_layers, 0, 10000, "0",
          "layers with a dense feed-forward network in place of experts"),
    COUNT("model.moe_every", model.moe_every, 1, 10000, "1",
          "1: the dense layers come first; n: every n-th layer has experts"),
    ENUMS("model.layer_types", model.layer_types, words_layer, "[]",
          "type of every layer, repeated when shorter than layers; a list that names dense or "
          "moe has layers of one part each; empty: all full attention"),
    COUNT("model.hidden", model.hidden, 1, 1e7, NULL, "hidden size H of a token"),
    BOOL("model.side_by_side", model.side_by_side, "false",
         "attention and network of a layer read the same rows and are added at once; with "
         "norms_per_layer 1 behind one norm (GPT-J, Phi-2, Falcon, Command R), else behind one "
         "each (GPT-NeoX)"),
    COUNT("model.dense_intermediate", model.dense_intermediate, 0, 1e8, "0",
          "width of the dense layers' feed-forward network"),
    COUNT("model.residual_intermediate", model.residual_intermediate, 0, 1e8, "0",
          "width of a dense MLP beside the experts of each MoE layer (Arctic)"),
    COUNT("model.vocab", model.vocab, 1, 1e9, NULL, "vocabulary size"),
    BOOL("model.tied_embeddings", model.tied_embeddings, "false",
         "the output layer shares the embedding's weights"),
    COUNT("model.labels", model.labels, 0, 1e6, "0",
          "a head that scores every token by so many labels in place of the one over the "
          "vocabulary (reward models, classifiers); trained on stacks fsdp and deepspeed; 0: "
          "none"),
    COUNT("model.mtp_layers", model.mtp_layers, 0, 1000, "0",
          "multi-token prediction modules; counted only with model.mtp_enabled"),
    BOOL("model.mtp_enabled", model.mtp_enabled, "false",
         "whether the multi-token prediction modules are part of the run"),
    BOOL("model.mtp_window", model.mtp_window, "false",
         "attention of these modules is that of window layers (MiMo-V2, Step-3.7)"),
    BOOL("model.mtp_dense", model.mtp_dense, "false",
         "their network is dense, dense_intermediate wide (MiMo-V2, Step-3.7)"),
    BOOL("model.mtp_first", model.mtp_first, "false",
         "vllm holds the first of these modules alone (its classes of MiMo-V2 and LongCat)"),
    BOOL("model.mtp_plain", model.mtp_plain, "false",
         "they have one residual where the model has copies of it (GLM-5.3-Flash, Hy4)"),
    COUNT("model.norms_per_layer", model.norms_per_layer, 0, 100, "2",
          "norm vectors of hidden size per layer; 4 with norms after the blocks"),
    COUNT("model.residual_block", model.residual_block, 0, 1000000000, "0",
          "layers of a block of attention residuals, whose sum all later ones read (Kimi-K3); "
          "what training keeps of them is counted on stack megatron"),
    COUNT("model.residual_streams", model.residual_streams, 1, 64, "1",
          "copies of the residual that hyper-connections mix before and after every mixer and "
          "network (DeepSeek-V4: 4); trained on stack megatron"),
    BOOL("model.residual_identity", model.residual_identity, "false",
         "these copies are read and added to, and not mixed with each other (Hy4)"),
    BOOL("model.residual_mean", model.residual_mean, "false",
         "the head reads the mean of these copies, not a weighed sum (GLM-5.3-Flash)"),
    COUNT("model.residual_rank", model.residual_rank, 0, 1e6, "0",
          "rank of the gates that weigh the copies for a mixer or network, whose results are "
          "added to all (Qwen3.8-Flash-Next: 320); 0: mixed as DeepSeek-V4 does"),
    BOOL("model.norm_bias", model.norm_bias, "false",
         "norms have a bias beside the weight (Phi-3.5-MoE)"),
    BOOL("model.mlp_bias", model.mlp_bias, "false",
         "dense networks have biases (StarCoder2, Phi-2, GPT-NeoX)"),
    BOOL("model.layer_scale", model.layer_scale, "false",
         "one learned factor on every layer's output (Gemma 4)"),
    BOOL("model.head_bias", model.head_bias, "false",
         "the output layer has a bias (Phi-3.5-MoE)"),
    COUNT("model.max_position", model.max_position, 0, 1e9, "0",
          "longest sequence the model was built for; 0: not stated"),
    BOOL("model.rotary", model.rotary, "true",
         "positions rotate queries and keys of some layer: engines keep cosines and sines of "
         "all positions (false: Nemotron-H, Jamba, Kimi-Linear)"),
    COUNT(
        "model.rotary_beside", model.rotary_beside, 0, 1e6, "0",
        "vllm, sglang: columns of their tables beside the first, of window layers with a base "
        "of their own (Gemma 3) or of an indexer (DeepSeek-V3.2)"),
    FORMAT("model.rotary_table", model.rotary_table, words_format_or_none, "none",
           "vllm: format of the cosines and sines of all positions, which its class of the "
           "model chooses (f32: gpt-oss); none: 16 bits"),
    FORMAT("model.checkpoint", model.checkpoint, words_format_or_none, "none",
           "format of the published matrices, in which serving keeps them; none: 16 bits"),
    ENUMS("model.plain", model.plain, words_part, "[]",
          "parts of a quantised checkpoint that are in model.plain_format instead; of any, "
          "where model.checkpoint is none"),
    FORMAT("model.plain_format", model.plain_format, words_format, "bf16",
           "format of the parts in model.plain"),
    COUNT("model.borrow_intermediate", model.borrow_intermediate, 0, 1e8, "0",
          "width of the dense network in layers of types borrow and window_borrow (E2B); 0: "
          "dense_intermediate"),

    /* ---- model.attention ---- */

    WORD("model.attention.kind", model.attention.kind, words_attention, "gqa",
         "gqa: grouped queries (multi-head too); mla: multi-head latent attention; shared_kv: "
         "one "
         "head that is key and value (DeepSeek-V4)"),
    COUNT("model.attention.heads", model.attention.heads, 1, 1e6, NULL, "query heads"),
    COUNT("model.attention.kv_heads", model.attention.kv_heads, 0, 1e6, "0",
          "gqa: key and value heads; 0: as many as query heads"),
    COUNT("model.attention.head_dim", model.attention.head_dim, 0, 1e6, "0",
          "gqa, shared_kv: size of a head; 0: hidden / heads"),
    COUNT("model.attention.q_lora_rank", model.attention.q_lora_rank, 0, 1e6, "0",
          "rank of the query projection, with a norm of it; 0: a direct projection (mla, gqa)"),
    COUNT("model.attention.kv_lora_rank", model.attention.kv_lora_rank, 0, 1e6, "0",
          "mla: rank of the key and value projection"),
    COUNT("model.attention.qk_nope_head_dim", model.attention.qk_nope_head_dim, 0, 1e6, "0",
          "mla: query and key size per head without rotary part"),
    COUNT("model.attention.qk_rope_head_dim", model.attention.qk_rope_head_dim, 0, 1e6, "0",
          "mla: rotary query and key size per head; shared_kv: of head_dim, which an fp8 cache "
          "keeps in 16 bits; gqa: of head_dim, 0: all of it"),
    COUNT("model.attention.v_head_dim", model.attention.v_head_dim, 0, 1e6, "0",
          "value size per head; gqa: 0: head_dim"),
    BOOL("model.attention.bias", model.attention.bias, "false",
         "biases on the query, key and value projections"),
    BOOL("model.attention.output_bias", model.attention.output_bias, "false",
         "bias on the output projection"),
    BOOL("model.attention.qk_norm", model.attention.qk_norm, "false",
         "norms on queries and keys"),
    BOOL("model.attention.qk_norm_all_heads", model.attention.qk_norm_all_heads, "false",
         "those norms span all heads together (OLMoE, MiniMax-M2)"),
    BOOL("model.attention.sinks", model.attention.sinks, "false",
         "one learned sink per head (gpt-oss)"),
    COUNT("model.attention.window", model.attention.window, 0, 1e9, "0",
          "tokens that a layer of type window attends to, its own included"),
    COUNT("model.attention.chunk", model.attention.chunk, 0, 1e9, "0",
          "tokens of a chunk that layers of type chunk attend within (Llama 4)"),
    COUNT("model.attention.csa_ratio", model.attention.csa_ratio, 0, 1e6, "0",
          "tokens that become one entry in layers of type csa"),
    COUNT("model.attention.hca_ratio", model.attention.hca_ratio, 0, 1e6, "0",
          "tokens that become one entry in layers of type hca"),
    BOOL("model.attention.entry_keys", model.attention.entry_keys, "false",
         "keys of an indexer are made of entries, which are of tokens of their own "
         "(DeepSeek-V4.1)"),
    COUNT("model.attention.o_groups", model.attention.o_groups, 0, 1e6, "0",
          "shared_kv: groups of heads that the output projection takes apart first"),
    COUNT("model.attention.o_lora_rank", model.attention.o_lora_rank, 0, 1e6, "0",
          "shared_kv: width that each of them is projected down to"),

    BOOL("model.attention.output_gate", model.attention.output_gate, "false",
         "a sigmoid gate on attention's output: gqa projected beside q (Qwen3-Next), mla by a "
         "matrix of its own (Kimi-K3)"),
    BOOL("model.attention.head_gate", model.attention.head_gate, "false",
         "gqa, mla: a sigmoid gate per head on attention's output, by a matrix of its own "
         "(Step-3.7, Ling-3.0)"),
    BOOL("model.attention.k_eq_v", model.attention.k_eq_v, "false",
         "gqa: in layers other than window ones the keys' projection is the values' too, and "
         "both are cached (Gemma 4)"),

    /* ---- model.window: heads of layers of type window ---- */

    COUNT("model.window.heads", model.window.heads, 0, 1e6, "0",
          "gqa: query heads of window layers; 0: as in the others (Step-3.7)"),
    COUNT("model.window.kv_heads", model.window.kv_heads, 0, 1e6, "0",
          "gqa: key and value heads of window layers; 0: as in the others (MiMo-V2)"),
    COUNT("model.window.head_dim", model.window.head_dim, 0, 1e6, "0",
          "gqa: size of a head in window layers; 0: as in the others (Gemma 4)"),
    COUNT("model.window.v_head_dim", model.window.v_head_dim, 0, 1e6, "0",
          "gqa: value size per head in window layers; 0: window.head_dim, or as in the others"),
    BOOL("model.window.sinks", model.window.sinks, "false",
         "gqa: a learned sink per head in window layers, where the others have none (MiMo-V2)"),

    /* ---- model.linear: layers of type linear ---- */

    WORD("model.linear.kind", model.linear.kind, words_linear, "gated_delta_net",
         "recurrence of the layers of type linear"),
    COUNT("model.linear.heads", model.linear.heads, 0, 1e6, "0",
          "value heads; heads of Mamba-2, 1 in Mamba-1 and short_conv"),
    COUNT("model.linear.head_dim", model.linear.head_dim, 0, 1e6, "0",
          "size of a value head; all channels in Mamba-1 and short_conv"),
    COUNT("model.linear.key_heads", model.linear.key_heads, 0, 1e6, "0",
          "heads of keys and queries, groups in Mamba; 0: as many as heads"),
    COUNT("model.linear.key_dim", model.linear.key_dim, 0, 1e6, "0",
          "size of a key head, the state size N in Mamba; 0: head_dim"),
    COUNT("model.linear.conv", model.linear.conv, 0, 1024, "0",
          "taps of the convolution over the sequence; 0: none"),
    COUNT("model.linear.rank", model.linear.rank, 0, 1e6, "0",
          "kimi_delta: rank of both gates; mamba1: rank of the time step"),
    BOOL("model.linear.full_rank_gate", model.linear.full_rank_gate, "false",
         "kimi_delta: the output gate is one matrix of full rank (Kimi-K3)"),
    BOOL("model.linear.full_rank_decay", model.linear.full_rank_decay, "false",
         "kimi_delta: and so is the decay, beside a gate of full rank (Ling-3.0)"),
    BOOL("model.linear.bare", model.linear.bare, "false",
         "no norms of its own: mamba1 has none of step, B and C (Mamba), mamba2 no gated one "
         "(Falcon-H1)"),
    COUNT("model.linear.chunk", model.linear.chunk, 1, 1e6, "64",
          "tokens that a training kernel takes at once"),
    FORMAT("model.linear.state", model.linear.state, words_format_or_none, "none",
           "format of the recurrent state when serving; none: as the engine keeps it (sglang "
           "f32, vllm conv_state's)"),
    FORMAT("model.linear.conv_state", model.linear.conv_state, words_format_or_none, "none",
           "format of the convolution's columns when serving (vllm's --mamba-cache-dtype); "
           "none: the activations'"),

    /* ---- model.indexer: sparse attention ---- */

    COUNT("model.indexer.heads", model.indexer.heads, 0, 1e6, "0",
          "mla, csa and blocks layers: heads of the indexer that chooses keys; 0: none"),
    COUNT("model.indexer.head_dim", model.indexer.head_dim, 0, 1e6, "0",
          "size of an indexer's head"),
    COUNT("model.indexer.top_k", model.indexer.top_k, 0, 1e9, "0",
          "keys that a token attends to at most"),
    COUNT("model.indexer.block", model.indexer.block, 0, 1e6, "0",
          "keys of a block, which layers of type blocks choose whole (MiniMax-M3: 128)"),
    COUNT("model.indexer.pool", model.indexer.pool, 1, 1024, "1",
          "mla: tokens whose keys the indexer weighs into one, and chooses together "
          "(GLM-5.3-Flash: 4)"),
    COUNT("model.indexer.candidates", model.indexer.candidates, 0, 1e9, "0",
          "entries among which layers of type tsa_choose choose; 0: all"),
    BOOL("model.indexer.pooled", model.indexer.pooled, "false",
         "blocks have one key, the mean of their tokens', and all heads one choice "
         "(Qwen3.8-Flash-Next)"),

    /* ---- model.layer_embedding: a second embedding, of which every layer reads a part ---- */

    COUNT("model.layer_embedding.width", model.layer_embedding.width, 0, 1e6, "0",
          "width of the second embedding of a token that each layer reads a part of "
          "(Gemma-4 E2B, E4B: 256); 0: none"),
    COUNT("model.layer_embedding.vocab", model.layer_embedding.vocab, 0, 1e9, "0",
          "rows of that embedding's table; 0: vocab"),

    /* ---- model.ngram: embeddings of hashed n-grams ---- */

    COUNT("model.ngram.tables", model.ngram.tables, 0, 1000, "0",
          "layers that add embeddings of hashed n-grams to the residual, each with a table of "
          "its own, taken to be on the first pipeline stage (Qwen3.8-Flash-Next: 1); 0: none"),
    COUNT("model.ngram.rows", model.ngram.rows, 0, 1e12, "0",
          "rows of a table, of all heads (Qwen3.8-Flash-Next: 320001536)"),
    COUNT("model.ngram.heads", model.ngram.heads, 0, 1e4, "0", "rows that a token reads"),
    COUNT("model.ngram.width", model.ngram.width, 0, 1e7, "0",
          "values that a token reads: of all its rows"),
    COUNT("model.ngram.conv", model.ngram.conv, 0, 64, "0",
          "taps of the convolution behind them; 0: none"),
    COUNT("model.ngram.gap", model.ngram.gap, 0, 1000, "0",
          "tokens from one tap to the next; 0: 1"),
    FORMAT("model.ngram.format", model.ngram.format, words_format_or_none, "none",
           "format of the tables; none: fp8 where precision.weights is in 8 bits, else bf16"),
    FORMAT("model.ngram.projections", model.ngram.projections, words_format_or_none, "none",
           "format of what projects their rows to keys and a value; none: bf16"),
    BOOL("model.ngram.embedded", model.ngram.embedded, "false",
         "the embedding is the mean of a token's row and of what projects each of these rows, "
         "without gates (LongCat-Flash-Lite); tables: 1"),

    /* ---- model.dspark: layers that draft a block of tokens ---- */

    COUNT(
        "model.dspark.layers", model.dspark.layers, 0, 1000, "0",
        "window layers of the checkpoint that draft a block of tokens in one pass, held where "
        "workload.speculation.method is dspark (DeepSeek-V4.1: 3); 0: none"),
    COUNT("model.dspark.experts", model.dspark.experts, 0, 1e6, "0",
          "routed experts of each; 0: as many as the model's layers have"),
    COUNT("model.dspark.top_k", model.dspark.top_k, 0, 1e6, "0",
          "experts that a token of theirs chooses; 0: as many as the model's"),
    COUNT("model.dspark.inputs", model.dspark.inputs, 0, 1000, "0",
          "layers of the model whose hidden rows one projection makes a row of"),
    COUNT("model.dspark.rank", model.dspark.rank, 0, 1e6, "0",
          "rank of their Markov head: of two tables of the vocabulary; 0: none"),

    /* ---- model.encoder: images before the language model ---- */

    COUNT("model.encoder.layers", model.encoder.layers, 0, 10000, "0",
          "layers of a vision encoder on the first pipeline stage; 0: none"),
    COUNT("model.encoder.hidden", model.encoder.hidden, 0, 1e7, "0",
          "hidden size of a patch in the encoder"),
    COUNT("model.encoder.heads", model.encoder.heads, 0, 1e6, "0",
          "attention heads of the encoder, which split its hidden size, or attention"),
    COUNT("model.encoder.attention", model.encoder.attention, 0, 1e7, "0",
          "values of all its heads together (Kimi-K3: 1536); 0: its hidden size"),
    COUNT("model.encoder.intermediate", model.encoder.intermediate, 0, 1e8, "0",
          "width of the encoder's feed-forward networks"),
    BOOL("model.encoder.glu", model.encoder.glu, "false",
         "those have a gate and an up matrix (Qwen2.5-VL)"),
    BOOL("model.encoder.bias", model.encoder.bias, "true",
         "biases on the matrices of the encoder's layers"),
    BOOL("model.encoder.norm_bias", model.encoder.norm_bias, "true",
         "its norms have a bias beside the weight (LayerNorm)"),
    COUNT("model.encoder.inputs", model.encoder.inputs, 0, 1e9, "0",
          "values of a patch: channels x frames x side x side; 0: not stated"),
    COUNT("model.encoder.merge", model.encoder.merge, 1, 65536, "4",
          "patches that become one token of the language model"),
    COUNT("model.encoder.outputs", model.encoder.outputs, 1, 1000, "1",
          "rows that the encoder gives per token; more than 1 with deepstack (Qwen3-VL)"),
    COUNT("model.encoder.embedding", model.encoder.embedding, 0, 1e12, "0",
          "parameters before and after its layers: patches, positions, norms"),
    COUNT("model.encoder.projector", model.encoder.projector, 0, 1e12, "0",
          "parameters that turn its patches into tokens (merger, projector)"),
    COUNT("model.encoder.audio", model.encoder.audio, 0, 1e12, "0",
          "parameters of an audio encoder beside it and of its projector, whole on every rank; "
          "what it computes is not counted"),
    BOOL(
        "model.encoder.on_request", model.encoder.on_request, "false",
        "SGLang takes images, and a part of its default fraction for them, where it is told to "
        "alone (Gemma 3)"),
    BOOL("model.encoder.loaded_on_request", model.encoder.loaded_on_request, "false",
         "and loads the encoder then alone (Llama 4)"),
    BOOL("model.encoder.captured", model.encoder.captured, "false",
         "SGLang captures CUDA graphs of prompts though the model takes images (Qwen3.5)"),
    BOOL("model.encoder.nested", model.encoder.nested, "false",
         "its configuration stands within another, where SGLang's default fraction of memory "
         "does not see it (Qwen3-Omni)"),
    COUNT("model.encoder.said_layers", model.encoder.said_layers, 0, 10000, "0",
          "num_hidden_layers of vision_config, by which SGLang's default fraction weighs the "
          "encoder: 24 where it says depth (Qwen3-VL); 0: as layers"),
    COUNT("model.encoder.said_hidden", model.encoder.said_hidden, 0, 1e7, "0",
          "hidden_size of vision_config, by which it does, too: of Qwen2-VL that of tokens; 0: "
          "as hidden"),

    /* ---- model.moe ---- */

    COUNT("model.moe.experts", model.moe.experts, 0, 65536, NULL, "routed experts E"),
    COUNT("model.moe.top_k", model.moe.top_k, 0, 1e6, NULL,
          "experts K that each token is sent to"),
    COUNT("model.moe.intermediate", model.moe.intermediate, 0, 1e8, NULL,
          "width I of one expert"),
    COUNT(
        "model.moe.latent_size", model.moe.latent_size, 0, 1e7, "0",
        "width of the rows that routed experts work on: tokens are projected down to it before "
        "they are dispatched, sums back up; 0: the hidden size (Nemotron-3 Super)"),
    BOOL("model.moe.latent_norm", model.moe.latent_norm, "false",
         "a norm of those sums before they are projected up (Kimi-K3)"),
    COUNT("model.moe.shared_experts", model.moe.shared_experts, 0, 1e6, "0",
          "experts that every token passes"),
    COUNT("model.moe.shared_intermediate", model.moe.shared_intermediate, 0, 1e8, "0",
          "width of all shared experts together; 0: shared_experts x intermediate"),
    BOOL("model.moe.shared_gate", model.moe.shared_gate, "false",
         "a learned gate on the shared experts' output (Qwen2-MoE)"),
    COUNT("model.moe.image_intermediate", model.moe.image_intermediate, 0, 1e8, "0",
          "serving: width of as many experts that tokens of images choose from by a router of "
          "their own (ERNIE-4.5-VL); all tokens are priced as those of text; 0: none"),
    COUNT("model.moe.zero_experts", model.moe.zero_experts, 0, 65536, "0",
          "choices of the router beside the experts that return their input (LongCat-Flash): "
          "of top_k choices experts / (experts + zero_experts) are computed in the mean, which "
          "training on transformers' models has; engines have rows for all of them"),
    BOOL("model.moe.shortcut", model.moe.shortcut, "false",
         "the experts' sum is added behind the dense layer that follows (LongCat-Flash, whose "
         "layer of two attention blocks is two layers here: moe_every 2)"),
    WORD("model.moe.activation", model.moe.activation, words_activation, "silu",
         "activation inside an expert; Kimi-K3's SiTU, of sigmoid and tanh, is silu here: "
         "fused (Megatron, engines) it keeps and moves as much, eager autograd keeps more"),
    BOOL("model.moe.glu", model.moe.glu, "true",
         "experts have a gate and an up matrix; false: one up matrix"),
    BOOL("model.moe.bias", model.moe.bias, "false", "biases on the expert matrices (gpt-oss)"),
    COUNT("model.moe.hash_layers", model.moe.hash_layers, 0, 1e9, "0",
          "first layers whose experts a table of the vocabulary names, not the router's scores "
          "(DeepSeek-V4)"),
    WORD("model.moe.scale", model.moe.scale, words_gate_scale, "post",
         "where the gate multiplies: the expert's output (post) or its input (pre)"),

    /* ---- model.moe.router ---- */

    WORD("model.moe.router.score", model.moe.router.score, words_score, "softmax",
         "function of the router's logits"),
    WORD("model.moe.router.order", model.moe.router.order, words_order, "score_then_topk",
         "whether experts are chosen before or after the scores are computed"),
    BOOL("model.moe.router.normalize", model.moe.router.normalize, "true",
         "divide the K chosen scores by their sum"),
    BOOL("model.moe.router.bias", model.moe.router.bias, "false",
         "a selection bias per expert (loss-free balancing)"),
    BOOL("model.moe.router.linear_bias", model.moe.router.linear_bias, "false",
         "the router's linear layer has a bias (gpt-oss)"),
    BOOL("model.moe.router.learned_scale", model.moe.router.learned_scale, "false",
         "learned scales of the router's input and of every expert's gate (Gemma 4)"),
    COUNT("model.moe.router.groups", model.moe.router.groups, 1, 1e6, "1",
          "expert groups; more than 1 limits a token to its best groups"),
    COUNT("model.moe.router.top_groups", model.moe.router.top_groups, 1, 1e6, "1",
          "groups a token may reach"),
    REAL("model.moe.router.scale", model.moe.router.scale, 0, 1e6, "1",
         "factor on the chosen scores (routed scaling factor)"),

    /* ---- cluster: the machine ---- */

    TEXT("cluster", cluster_name, NULL,
         "name in models/clusters/, <device>-<devices>x<nodes>, a path, or a mapping in place"),
    TEXT("cluster.name", cluster.name, "", "name of the cluster in results"),
    TEXT("cluster.device.name", cluster.device.name, "", "name of the device in results"),
    TEXT("cluster.device.family", cluster.device.family, "",
         "generation of the device, \"hopper\": a profile of time may hold for all of it"),
    BYTES("cluster.device.memory", cluster.device.memory_bytes, 1, NULL,
          "memory of one device"),
    BYTES("cluster.device.usable", cluster.device.usable_bytes, 0, "0 B",
          "what of a device's memory its runtime leaves programs (XLA on a TPU); fractions are "
          "of that; 0: all of it"),
    RATE("cluster.device.memory_bandwidth", cluster.device.memory_bandwidth, UNIT_BYTES_PER_S,
         1, 1e18, NULL, "memory bandwidth of one device"),
    RATE("cluster.device.peak.f32", cluster.device.peak_f32, UNIT_FLOP_PER_S, 0, 1e24, "0",
         "dense f32 peak of one device; 0: not stated"),
    RATE("cluster.device.peak.bf16", cluster.device.peak_bf16, UNIT_FLOP_PER_S, 1, 1e24, NULL,
         "dense bf16 peak of one device"),
    RATE("cluster.device.peak.fp8", cluster.device.peak_fp8, UNIT_FLOP_PER_S, 0, 1e24, "0",
         "dense fp8 peak of one device; 0: not stated"),
    RATE("cluster.device.peak.fp4", cluster.device.peak_fp4, UNIT_FLOP_PER_S, 0, 1e24, "0",
         "dense fp4 peak of one device; 0: not stated"),
    COUNT("cluster.device.units", cluster.device.units, 0, 1e6, "0",
          "SMs, CUs or cores of one device; 0: not stated"),
    BOOL("cluster.device.fp8_transpose", cluster.device.fp8_transpose, "true",
         "fp8 products take one layout only (Hopper), so weights are kept transposed too"),
    BYTES("cluster.device.l2", cluster.device.l2_bytes, 0, "0 B",
          "last-level cache of one device; 0: not stated"),
    REAL("cluster.device.tdp_w", cluster.device.tdp_w, 0, 1e6, "0",
         "power of one device in watts, for joules per token; 0: not stated"),
    REAL("cluster.device.price_per_hour", cluster.device.price_per_hour, 0, 1e9, "0",
         "price of one device and hour, for the price of tokens; 0: not stated"),
    COUNT("cluster.device.logical_cores", cluster.device.logical_cores, 1, 1024, "1",
          "ranks a device is seen as (Trainium: logical cores)"),
    COUNT("cluster.node.devices", cluster.node.devices, 1, 1e5, "1", "devices of one node"),
    BYTES("cluster.node.host_memory", cluster.node.host_memory_bytes, 0, "0 B",
          "memory of the node's processors, for what is offloaded; 0: not stated"),
    RATE("cluster.node.host_bandwidth", cluster.node.host_bandwidth, UNIT_BYTES_PER_S, 1, 1e18,
         "50 GB/s", "bandwidth between a device and host memory, per direction"),
    RATE("cluster.node.host_memory_bandwidth", cluster.node.host_memory_bandwidth,
         UNIT_BYTES_PER_S, 1, 1e18, "40 GB/s",
         "bandwidth of host memory, a device's share of it: what states are updated at there"),
    RATE("cluster.node.link_bandwidth", cluster.node.link_bandwidth, UNIT_BYTES_PER_S, 0, 1e18,
         "0", "link bandwidth inside a node, per device and direction"),
    RATE("cluster.node.link_latency", cluster.node.link_latency, UNIT_SECONDS, 0, 10, "1 us",
         "latency of a message inside a node"),
    COUNT(
        "cluster.node.link_devices", cluster.node.link_devices, 0, 1e6, "0",
        "devices that a node's links join, those of other nodes too (72 of an NVL72 rack); the "
        "nodes of a job stand evenly in as few such domains as hold them; 0: a node's own"),
    RATE("cluster.node.port_bandwidth", cluster.node.port_bandwidth, UNIT_BYTES_PER_S, 0, 1e18,
         "0",
         "bandwidth of one port through which a device reaches both its peers and the network "
         "(PCIe without NVLink), per direction; 0: each link has its own"),
    REAL(
        "cluster.node.link_jitter", cluster.node.link_jitter, 0, 10, "0",
        "relative standard deviation of what an exchange or collective inside a node takes, as "
        "you state it: tails of times count it"),
    COUNT("cluster.nodes", cluster.nodes, 1, 1e6, "1", "nodes of the cluster"),
    RATE("cluster.network.bandwidth", cluster.network.bandwidth, UNIT_BYTES_PER_S, 0, 1e18, "0",
         "network bandwidth between nodes, per device and direction"),
    RATE("cluster.network.latency", cluster.network.latency, UNIT_SECONDS, 0, 10, "5 us",
         "latency of a message between nodes"),
    REAL("cluster.network.jitter", cluster.network.jitter, 0, 10, "0",
         "the same of an exchange or collective that crosses nodes"),
    TIER("leaf", NETWORK_LEAF, "nodes under one leaf switch, or one set of rails; 0: all"),
    TIER("pod", NETWORK_POD, "nodes under one pod's spine switches; 0: all"),
    COUNTS("cluster.mesh", cluster.mesh, 1, 1e6, "[]",
           "axes of a TPU slice, such as [4, 2]; empty: no mesh"),
    BOOL("cluster.wrap", cluster.wrap, "false", "the mesh's axes close into rings"),

    /* ---- stack: the software that would run it ---- */

    TEXT("stack", stack_name, "generic",
         "name in models/stacks/, a path, or a mapping in place"),
    TEXT("stack.name", stack.name, "", "name of the stack in results"),
    WORD("stack.kind", stack.kind, words_stack, "generic",
         "whose rules hold for what is saved, rounded, padded and refused"),
    TEXT("stack.calibration", stack.calibration, "",
         "runs the stack's constants were measured on, and how well they agree"),
    TEXT("stack.calibration_device", stack.calibration_device, "",
         "devices of those runs and of what stands for TPUs, \"b200, h100\": a plan of another "
         "is "
         "told so"),
    TEXT("stack.calibration_tpu", stack.calibration_tpu, "",
         "what stands for plans on TPUs in place of those runs"),
    TEXT("stack.profile", stack.profile, "",
         "constants of time: name in models/profiles/ or a file; empty: <stack>-<device>, "
         "<stack>, or generic"),
    REAL("stack.fraction", stack.fraction, 0, 1, "0.9",
         "fraction of device memory the stack may use"),
    BYTES("stack.reserve", stack.reserve_bytes, 0, "0 B",
          "bytes taken outside the pool before anything else"),
    REAL("stack.error", stack.error, 0, 1, "0.05",
         "stated relative error of temp: a verdict within it is marginal"),
    REAL("stack.relax", stack.relax, 0, 100, "1",
         "the relaxed schedule is kept while state + temp is below this times the limit"),
    COUNT("stack.grad_copies", stack.grad_copies, 0, 100, "0",
          "f32 copies of the largest stacked tensor at the step's end"),
    REAL("stack.fragmentation", stack.fragmentation, 0, 10, "0",
         "bytes the allocator adds, relative to what is allocated"),
    BYTES("stack.context", stack.context_bytes, 0, "0 B", "driver context and libraries"),
    BYTES("stack.workspace", stack.workspace_bytes, 0, "0 B", "workspaces of GEMM libraries"),
    BYTES("stack.comm_per_rank", stack.comm_bytes_per_rank, 0, "0 B",
          "persistent buffers of collectives, per rank"),
    WORD("stack.attention", stack.attention, words_backend, "flash",
         "what attention keeps for backward: row statistics, or the square of scores"),
    WORD("stack.cross_entropy", stack.cross_entropy, words_loss, "f32",
         "how the loss treats logits: an f32 copy, or a gradient in their place"),
    WORD("stack.balance_loss", stack.balance_loss, words_balance, "layer",
         "fsdp, deepspeed: the loss that balances experts; of all layers at once it spreads "
         "each choice over them in 64 bits, and the mask, too"),
    WORD(
        "stack.on_overflow", stack.on_overflow, words_on_overflow, "fail",
        "rows beyond a receive buffer of given size (moe.buffer: a factor) are dropped, or end "
        "the step"),
    COUNT("stack.loss_chunks", stack.loss_chunks, 1, 1e6, "8",
          "cross_entropy in parts: as many, one after the other, which the logits are made or "
          "read in"),
    BOOL("stack.loss_parallel", stack.loss_parallel, "true",
         "torchtitan: the loss reads each tp rank's part of the logits; false: all on each"),
    WORDS("stack.graph_modules", stack.graph_modules, "[]",
          "graphs partial: modules captured (attn, mlp, moe, moe_router, moe_preprocess)"),
    BOOL("stack.compiled", stack.compiled, "false",
         "layers are compiled, so element-wise results are made again in backward"),
    BOOL(
        "stack.random_dummies", stack.random_dummies, "false",
        "vllm: dummy tokens of several replicas, of the profile run and of idle ones, are "
        "random "
        "and spread over experts (VLLM_RANDOMIZE_DP_DUMMY_INPUTS); false: all choose the same"),
    BOOL("stack.unrolled", stack.unrolled, "false",
         "maxtext: weights of every layer are tensors of their own, not stacked for one "
         "compiled layer (scan_layers: false)"),
    BOOL(
        "stack.wgrad_placeholders", stack.wgrad_placeholders, "false",
        "one tensor per shape of weight stands in for gradients accumulated elsewhere; without "
        "it megatron and primus hold a product's weight gradient beside its sum"),
    COUNT("stack.vocab_multiple", stack.vocab_multiple, 1, 1e6, "1",
          "the vocabulary is padded to a multiple of this times tp"),
    BOOL("stack.static_shapes", stack.static_shapes, "false",
         "shapes are static, so the worst case is always allocated (XLA)"),
    BOOL("stack.delay_wgrad", stack.delay_wgrad, "false",
         "megatron, with overlap.ep: weight gradients wait, and run beside the dispatch of "
         "gradients (--delay-wgrad-compute)"),
    BOOL("stack.overlap.ep", stack.overlap_ep, "false",
         "dispatch and combine run beside the computation of another micro-batch"),
    BOOL("stack.overlap.dp", stack.overlap_dp, "false",
         "gathers of weights and reductions of gradients run beside computation"),
    BOOL("stack.overlap.pp", stack.overlap_pp, "false",
         "sends between pipeline stages run beside computation"),
    BOOL("stack.overlap.tp", stack.overlap_tp, "false",
         "collectives of tensor and context parallelism run beside products"),
    COUNT("stack.selective_threshold_percent", stack.selective_threshold_percent, 0, 1e6, "100",
          "decode loads only hit experts below this percentage of T K / E"),
    TEXT("stack.version", stack.version, "",
         "release of an engine whose defaults and profile run hold; empty: the newest known"),
    WORD("stack.graphs", stack.graphs, words_graphs, "auto",
         "CUDA graphs, of an engine or of training; auto: what the stack does by itself"),
    COUNT("stack.graph_batch", stack.graph_batch, 0, 1e6, "0",
          "engines: most sequences of a decode step that is a graph, larger steps are launched "
          "op by op; sglang keeps memory free by it; 0: its default, all steps, in trtllm 128. "
          "vllm takes stack.reserve for 102 graphs, and for others by their number"),
    BOOL("stack.graph_padding", stack.graph_padding, "false",
         "trtllm: a batch is padded to the next larger graph; false: a step is a graph only of "
         "1 to 32, 64, 128, further powers of two and graph_batch sequences"),
    WORD("stack.prompt_graphs", stack.prompt_graphs, words_graphs, "auto",
         "sglang, trtllm: graphs of steps with prompts, which sglang keeps memory free for; "
         "auto: sglang pieces on CUDA, but not with stages, two batches, two kinds of "
         "recurrence and encoders, trtllm none"),
    COUNT("stack.prompt_graph_tokens", stack.prompt_graph_tokens, 0, 1e9, "0",
          "sglang, trtllm: most tokens of a step with prompts that is a graph; 0: sglang a "
          "chunk, with latent attention at most 8192, trtllm 3072"),
    WORD("stack.experts", stack.experts, words_experts, "auto",
         "what computes the experts in an engine; auto: its own choice, with the reason"),

    /* ---- workload ---- */

    WORD("workload.mode", workload.mode, words_mode, "train", "what a step is"),
    COUNT("workload.sequence_length", workload.sequence_length, 1, 1e9, "4096",
          "tokens of a sequence"),
    COUNT("workload.logits_to_keep", workload.logits_to_keep, 0, 1e9, "0",
          "train: tokens at the end of a sequence whose logits the loss reads (transformers' "
          "logits_to_keep); 0: all"),
    COUNT("workload.micro_batch", workload.micro_batch, 1, 1e9, "1",
          "sequences per data-parallel rank and micro-step"),
    COUNT("workload.global_batch", workload.global_batch, 0, 1e12, "0",
          "sequences per step, over all ranks; 0: one micro-step, of a pipeline four a stage"),
    COUNT("workload.tokens_per_step", workload.tokens_per_step, 0, 1e15, "0",
          "tokens per step, in place of global_batch"),
    COUNT("workload.context_length", workload.context_length, 0, 1e9, "4096",
          "decode: tokens in the KV cache of each sequence"),
    COUNT("workload.tokens_per_sequence", workload.tokens_per_sequence, 1, 1e6, "1",
          "decode: tokens per sequence and step; more than 1 when speculating"),
    COUNT("workload.max_num_batched_tokens", workload.max_num_batched_tokens, 0, 1e9, "0",
          "engines: most tokens of a step and rank, which the profile run takes; 0: its "
          "default"),
    COUNT("workload.max_num_seqs", workload.max_num_seqs, 0, 1e9, "0",
          "engines: most sequences of a step and rank; 0: decode's micro_batch where that is "
          "more than 1, else its default"),
    COUNT("workload.shared_prefix", workload.shared_prefix, 0, 1e9, "0",
          "engines: tokens that all sequences begin with, in the cache once"),
    BOOL("workload.queue", workload.queue, "false",
         "engines: as a server, whose limit is the engine's own and which may not start; "
         "decode: sequences that the cache does not hold wait; false: a step, all must be "
         "held"),
    BOOL("workload.fit_context", workload.fit_context, "false",
         "engines, decode with queue: where the cache holds no sequence of context_length, as "
         "long ones as it holds, as servers started without a length have; false: it has to "
         "hold one"),
    COUNT("workload.concurrency", workload.concurrency, 1, 1e6, "1",
          "serve: requests in flight in the whole deployment; a finished one is replaced at "
          "once"),
    REAL("workload.request_rate", workload.request_rate, 0, 1e9, "0",
         "serve: requests per second that arrive, as a Poisson process, in place of "
         "concurrency; 0: none"),
    COUNT("workload.input_length", workload.input_length, 1, 1e8, "1024",
          "serve: tokens of a prompt"),
    COUNT("workload.output_length", workload.output_length, 1, 1e8, "1024",
          "serve: tokens that a request is answered with"),
    REAL("workload.length_spread", workload.length_spread, 0, 1, "0",
         "serve: lengths of requests lie evenly in (1 - spread) .. 1 of these two"),
    COUNT("workload.speculation.tokens", workload.speculation.tokens, 0, 64, "0",
          "engines: tokens that a draft proposes for each sequence and step, one after the "
          "other; 0: none"),
    COUNT("workload.speculation.branches", workload.speculation.branches, 1, 64, "1",
          "continuations that a pass of the draft tries at once (a tree's)"),
    REAL("workload.speculation.acceptance", workload.speculation.acceptance, 0, 1, "0.85",
         "chance of a proposed token to be accepted when those before it were; 0.85 to 0.9 in "
         "DeepSeek-V3's report, of its first"),
    WORD("workload.speculation.method", workload.speculation.method, words_draft, "ngram",
         "what proposes; follows from a named model, else from the model's mtp_layers and "
         "dspark"),
    TEXT("workload.speculation.model", workload.speculation.model, "",
         "the draft: a dense model's name or file, which gives the sizes below where layers "
         "does not"),
    COUNT("workload.speculation.layers", workload.speculation.size.layers, 0, 1000, "0",
          "layers of the draft; 0: not known, nothing of it counts"),
    COUNT("workload.speculation.hidden", workload.speculation.size.hidden, 0, 1e6, "0",
          "hidden size of the draft"),
    COUNT("workload.speculation.heads", workload.speculation.size.heads, 0, 1e6, "0",
          "query heads of the draft"),
    COUNT("workload.speculation.kv_heads", workload.speculation.size.kv_heads, 0, 1e6, "0",
          "key and value heads of the draft"),
    COUNT("workload.speculation.head_dim", workload.speculation.size.head_dim, 0, 1e6, "0",
          "size of a head of the draft"),
    COUNT("workload.speculation.intermediate", workload.speculation.size.intermediate, 0, 1e6,
          "0", "width of the draft's gated dense networks"),
    COUNT("workload.speculation.vocab", workload.speculation.size.vocab, 0, 1e9, "0",
          "vocabulary of the draft"),
    BOOL("workload.speculation.tied", workload.speculation.size.tied, "false",
         "the draft's head is its embedding"),
    COUNT(
        "workload.speculation.inputs", workload.speculation.size.inputs, 0, 64, "0",
        "rows as wide as the model's that the draft projects into one of its own: 2 in EAGLE, "
        "3 in EAGLE-3; 0: none"),
    BOOL("workload.speculation.joined", workload.speculation.size.joined, "false",
         "its first layer's q, k and v read embedding and hidden row side by side (EAGLE-3)"),
    FORMAT("workload.speculation.weights", workload.speculation.weights, words_format_or_none,
           "none", "format of the draft's weights; none: 16 bits"),
    FORMAT("workload.speculation.kv_cache", workload.speculation.kv_cache, words_format_or_none,
           "none", "format of the draft's cache; none: the model's"),
    WORD("workload.speculation.shares", workload.speculation.shares, words_shares, "nothing",
         "what a draft model takes from the model in place of its own"),
    BOOL("workload.disaggregated", workload.disaggregated, "false",
         "serve: say what prefill and decode on deployments of their own would do; a plan with "
         "a part `prefill` of what its prefill servers have otherwise is so laid out"),
    COUNT(
        "workload.deployments.prefill", workload.deployments.prefill, 0, 1e6, "0",
        "deployments that prefill, each as the part `prefill` says; 0: as many as balance, or "
        "as request_rate and the limits ask for"),
    COUNT("workload.deployments.decode", workload.deployments.decode, 0, 1e6, "0",
          "deployments that decode, each as the plan says; 0: the same"),
    WORD(
        "workload.role", workload.role, words_role, "whole",
        "what an engine does of every request; sglang keeps memory free for that alone, trtllm "
        "holds buffers to send caches from"),
    BOOL(
        "workload.chunked_prefill", workload.chunked_prefill, "false",
        "serve, trtllm: prompts are cut to what a step's answers leave of its tokens; false: a "
        "prompt that fits into a step waits until it fits beside them (other engines cut)"),
    COUNT("workload.balance.timeout", workload.balance.timeout, 0, 1e6, "0",
          "serve, trtllm: steps that prompts wait, where answers are under way, until each "
          "replica of attention has one to begin; 0: they do not"),
    COUNT("workload.balance.wait", workload.balance.wait, 0, 1e6, "0",
          "steps more that prompts of all replicas then wait, for others to come"),
    COUNT("workload.poll_steps", workload.poll_steps, 1, 1000, "1",
          "serve, sglang: decode steps between looks for new requests, which it also looks for "
          "after every step of prompts (scheduler_recv_interval)"),
    RATE("workload.limit.ttft", workload.limit.ttft_s, UNIT_SECONDS, 0, 1e6, "0 s",
         "serve: the longest time to the first token that counts as goodput; 0: any"),
    RATE("workload.limit.tpot", workload.limit.tpot_s, UNIT_SECONDS, 0, 1e6, "0 s",
         "serve: the longest time per further token, of a request; 0: any"),
    RATE("workload.limit.latency", workload.limit.latency_s, UNIT_SECONDS, 0, 1e6, "0 s",
         "serve: the longest time of a whole request; 0: any"),
    REAL("workload.limit.share", workload.limit.share, 0, 1, "0.9",
         "serve: part of the requests that is to keep these limits, for the fewest "
         "deployments"),
    WORD("workload.data", workload.data, words_data, "synthetic",
         "whether the time of an input pipeline counts"),
    WORD("workload.scenario", workload.scenario, words_scenario, "steady",
         "phase of a run that memory is judged in"),
    COUNT("workload.total_tokens", workload.total_tokens, 0, 1e18, "0",
          "tokens of the whole run, for its days, device-hours and price; 0: not stated"),
    BOOL("workload.async_checkpoint", workload.async_checkpoint, "false",
         "weights and states are copied to host memory to be written behind the next steps; "
         "what "
         "the copy takes is not timed"),
    COUNT("workload.steps", workload.steps, 1, 1e12, "1000",
          "steps of a run, for its chance of running out of memory"),
    COUNT("workload.packing.length", workload.packing.length, 0, 1e9, "0",
          "train: mean length of sequences packed into one of sequence_length (thd), each "
          "attending to itself; 0: not packed"),
    COUNT("workload.packing.square", workload.packing.square, 0, 1e18, "0",
          "train: mean of their squared lengths, which attention's work goes by; 0: all are of "
          "one length"),
    WORD("workload.colocated.engine", workload.colocated.engine, words_colocated, "none",
         "an engine on the same devices that generates between steps (RL)"),
    COUNT("workload.colocated.tp", workload.colocated.tp, 1, 1e6, "1",
          "devices that share one copy of its weights"),
    FORMAT("workload.colocated.weights", workload.colocated.weights, words_format, "bf16",
           "format of its weights but embedding and head, which have 16 bits (verl's "
           "rollout.quantization)"),
    REAL("workload.colocated.fraction", workload.colocated.fraction, 0, 1, "0.5",
         "part of a device that it takes while it generates, weights and cache (verl: 0.5)"),
    ENUMS("workload.colocated.away", workload.colocated.away, words_away, "[]",
          "what waits in host memory while it is not its turn (verl's param_offload, "
          "optimizer_offload); moves are not timed"),
    COUNT("workload.colocated.reference", workload.colocated.reference, 0, 100, "0",
          "frozen copies of the model, shared out as zero shares weights"),
    COUNT("workload.colocated.passes", workload.colocated.passes, 0, 100, "0",
          "forward passes without gradients over all tokens of a step, by models of its shape: "
          "the reference that a preference loss asks (DPO)"),
    FORMAT("workload.colocated.format", workload.colocated.format, words_format, "bf16",
           "format of frozen copies and of running means"),
    COUNT("workload.colocated.critic", workload.colocated.critic, 0, 100, "0",
          "models of its shape that are trained in turn with it (verl's critic): their weights "
          "and states stay on the device, shared out as its own"),
    COUNT("workload.colocated.critic_parameters", workload.colocated.critic_parameters, 0, 1e14,
          "0",
          "parameters of models of other shapes that are trained in turn with it, of a tp and "
          "pp rank, shared out as zero shares its own"),
    BOOL("workload.colocated.critic_joint", workload.colocated.critic_joint, "false",
         "fsdp, deepspeed: critics are trained in the model's own pass (TRL's PPO): their "
         "gradients and, of its shape, the inputs of layers that run again stand beside its "
         "own; their pass is not timed"),
    COUNT("workload.colocated.average", workload.colocated.average, 0, 100, "0",
          "running means of its weights (EMA), shared out as zero shares weights"),
    COUNT("workload.colocated.parameters", workload.colocated.parameters, 0, 1e14, "0",
          "parameters of other frozen models (reward) in 16 bits, likewise"),
    COUNT("workload.colocated.sequences", workload.colocated.sequences, 0, 1e9, "0",
          "fsdp, deepspeed: sequences that a rank generates at once between steps by the model "
          "that is trained (transformers' generate), without an engine; 0: none"),
    BOOL("workload.colocated.whole", workload.colocated.whole, "true",
         "deepspeed, zero 3: all weights are gathered for it (TRL's "
         "ds3_gather_for_generation); false: those of a module at a time"),
    COUNT("workload.encoder.patches", workload.encoder.patches, 0, 1e9, "0",
          "patches of all images of a sequence that the encoder reads; 0: text alone"),
    COUNT("workload.encoder.item", workload.encoder.item, 0, 1e9, "0",
          "patches of the largest image or frame, which attention stays within; 0: all"),
    BOOL("workload.encoder.unprofiled", workload.encoder.unprofiled, "false",
         "vllm: the profile run encodes no images (--skip-mm-profiling)"),
    BOOL("workload.encoder.requested", workload.encoder.requested, "false",
         "sglang: images are taken of models that it serves without (--enable-multimodal)"),
    COUNT("workload.encoder.limit", workload.encoder.limit, 0, 1e6, "999",
          "engines: images of a prompt at most (--limit-mm-per-prompt), as many of which the "
          "profile run encodes for every sequence; 0: text alone, the encoder is left out"),
    WORD("workload.encoder.train", workload.encoder.train, words_encoder, "all",
         "what is trained of the encoder; what is frozen has no gradients and states"),

    /* ---- parallel ---- */

    COUNT("parallel.tp", parallel.tp, 1, 1e6, "1", "tensor-parallel ranks"),
    COUNT("parallel.pp", parallel.pp, 1, 10000, "1", "pipeline stages"),
    COUNT("parallel.vpp", parallel.vpp, 1, 10000, "1",
          "model chunks per pipeline rank (interleaved schedule)"),
    COUNT("parallel.vpp_group", parallel.vpp_group, 0, 10000, "0",
          "megatron, vpp above 1: micro-batches that go through a chunk before the next one "
          "(--microbatch-group-size-per-virtual-pipeline-stage); 0: pp"),
    COUNT("parallel.cp", parallel.cp, 1, 1e6, "1",
          "context-parallel ranks (vllm: --prefill-context-parallel-size)"),
    COUNT("parallel.ep", parallel.ep, 1, 1e6, "1", "expert-parallel ranks"),
    COUNT("parallel.etp", parallel.etp, 1, 1e6, "1",
          "tensor-parallel ranks of an expert; unsaid: tp where the stack's launch splits "
          "experts; sglang, dense models: tp x dp is dp attention"),
    COUNT("parallel.dp", parallel.dp, 0, 1e6, "0",
          "data-parallel ranks; 0: what the cluster leaves, else checked against it"),
    COUNT("parallel.attention_dp", parallel.attention_dp, 0, 1e6, "0",
          "serve: replicas of attention, among which requests are shared out; 0: dp, else "
          "checked against it"),
    COUNT("parallel.batches", parallel.batches, 0, 10000, "0",
          "engines: batches of decode in flight over the pipeline's stages; fewer leave stages "
          "idle; 0: one a stage, or as many as there are sequences"),
    BOOL("parallel.dense_apart", parallel.dense_apart, "false",
         "sglang, dp attention: every replica has dense networks of its own "
         "(--moe-dense-tp-size 1) in place of a part of those of all"),
    BOOL("parallel.head_apart", parallel.head_apart, "false",
         "sglang, dp attention: every replica has a head of its own (--enable-dp-lm-head) in "
         "place of a part of that of all"),
    BOOL(
        "parallel.encoder_apart", parallel.encoder_apart, "false",
        "vllm, sglang: every tp rank has the encoder whole and takes a part of the images "
        "(--mm-encoder-tp-mode data, --mm-enable-dp-encoder) in place of a part of each layer"),
    COUNT("parallel.dcp", parallel.dcp, 1, 1e6, "1",
          "engines: tensor-parallel ranks that share out the tokens of the cache "
          "(--decode-context-parallel-size; of trtllm with cp_type HELIX)"),
    COUNT("parallel.attention_cp", parallel.attention_cp, 1, 1e6, "1",
          "sglang: tensor-parallel ranks that share out the tokens of prompts in attention, "
          "whose "
          "heads they do not split (--attn-cp-size with --enable-prefill-cp)"),
    COUNT("parallel.zero", parallel.zero, 0, 3, "0",
          "what data-parallel ranks share out: 1 optimizer, 2 and gradients, 3 and weights"),
    COUNT("parallel.dp_shard", parallel.dp_shard, 0, 1e6, "0",
          "data-parallel ranks that zero shares over, the rest replicate (HSDP); 0: all"),
    COUNT("parallel.outer_zero", parallel.outer_zero, 0, 1, "0",
          "megatron, zero 3 with dp_shard: 1: the groups that hold the same weights share the "
          "optimizer's states out (--outer-dp-sharding-strategy optim)"),
    COUNT(
        "parallel.hpz_shard", parallel.hpz_shard, 0, 1e6, "0",
        "deepspeed, zero 3: ranks that share out a second copy of the weights, which backward "
        "gathers (zero_hpz_partition_size); 0: none"),
    WORD("parallel.reshard", parallel.reshard, words_reshard, "auto",
         "zero 3: whether gathered weights are dropped after forward; auto: the stack's rule"),
    WORD("parallel.prefetch", parallel.prefetch, words_prefetch, "auto",
         "fsdp, zero 3: when backward gathers the layer before (backward_prefetch); auto: pre"),
    BOOL("parallel.double_buffer", parallel.double_buffer, "false",
         "megatron, zero 3: two gathered layers and their gradients have places of their own "
         "for good (--fsdp-double-buffer, and --use-nccl-ub)"),
    COUNT("parallel.reduce_bucket", parallel.reduce_bucket, 0, 1e15, "0",
          "deepspeed: elements of a bucket of gradients; 0: 5e8"),
    COUNT("parallel.prefetch_bucket", parallel.prefetch_bucket, 0, 1e15, "0",
          "deepspeed, zero 3: elements gathered ahead, at most; 0: 5e7"),
    COUNT("parallel.live_parameters", parallel.live_parameters, 0, 1e15, "0",
          "deepspeed, zero 3: elements gathered at once, at most; 0: 1e9"),
    BOOL("parallel.overlap_reduce", parallel.overlap_reduce, "false",
         "deepspeed: a second bucket fills while one is reduced (overlap_comm)"),
    BOOL("parallel.sp", parallel.sp, "false",
         "sequence parallelism over the tensor-parallel ranks"),
    WORD("parallel.schedule", parallel.schedule, words_pipeline, "1f1b", "pipeline schedule"),
    COUNTS("parallel.stages", parallel.stages, 0, 10000, "[]",
           "layers of each pipeline stage (or of each of pp x vpp chunks), in model order; "
           "empty: even"),
    TEXT("parallel.layout", parallel.layout, "",
         "pipeline chunks in Megatron's language, as 'Et*3|(tt|)*29,m|L'; in place of stages"),
    COUNT("parallel.stage", parallel.stage, 0, 10000, "0",
          "only this pipeline stage, from 1; 0: the one that needs most memory"),
    WORDS("parallel.order", parallel.order, "[tp, cp, ep, dp, pp]",
          "axes from the innermost (inside a node) outwards"),

    /* ---- moe: how an MoE layer is executed ---- */

    WORD("moe.path", moe.path, words_path, "auto",
         "way of executing an MoE layer; auto: the stack's own rule"),
    REAL("moe.capacity_factor", moe.capacity_factor, 0, 1e6, "1.25",
         "capacity paths: slots per expert over the balanced number of rows"),
    WORD("moe.capacity_scope", moe.capacity_scope, words_capacity_scope, "sequence",
         "capacity paths: tokens that share one capacity"),
    WORD("moe.drop", moe.drop, words_drop, "position",
         "capacity paths: rows dropped first, the last by position or the least probable"),
    COUNT("moe.block_size", moe.block_size, 0, 1e9, "512", "blockwise: rows of a block"),
    SIZING(
        "moe.buffer", moe.buffer, words_sizing, "auto", "moe.buffer_factor",
        "receive buffer: worst case, exact (pays a sync), balanced, or a factor on balanced; "
        "auto: what the stack does"),
    REAL("moe.buffer_factor", moe.buffer_factor, 0, 1e6, "1",
         "the factor that moe.buffer stands for when it is a number"),
    WORD("moe.matmul", moe.matmul, words_matmul, "grouped",
         "what multiplies the experts, whatever exchanges the rows"),
    COUNT("moe.chunk", moe.chunk, 0, 1e9, "64", "chunked_a2a: slots per expert and round"),
    COUNT("moe.cores", moe.cores, 0, 2, "0",
          "blockwise: cores that share a rank's blocks, 2 under Trainium's LNC2; 0: 2 under "
          "stack nxd, else 1"),
    WORD("moe.shard", moe.shard, words_shard, "h",
         "blockwise on two logical cores: what they share out"),
    BOOL("moe.skip.token", moe.skip_token, "false",
         "blockwise: skip the loads of padding tokens"),
    WORD("moe.skip.weight", moe.skip_weight, words_weight_skip, "none",
         "blockwise: skip loading weights that are there already"),
    BOOL("moe.skip.dynamic", moe.skip_dynamic, "false",
         "blockwise: stop after the blocks that hold tokens"),
    WORD("moe.skip.static", moe.static_blocks, words_static_blocks, "nxd",
         "blockwise: blocks that run whatever they hold, nxd's T K / block or the kernel's "
         "N - e"),
    COUNT("moe.sync_free", moe.sync_free, 0, 3, "0",
          "primus: steps freed of host synchronisation"),
    COUNT("moe.dispatch_sms", moe.dispatch_sms, 0, 1e5, "20",
          "deepep: SMs or CUs given to dispatch and combine"),
    WORD("moe.library", moe.library, words_library, "auto",
         "deepep: whose communication buffers; auto: the stack's own"),
    COUNT("moe.dispatch_tokens", moe.dispatch_tokens, 0, 1e6, "0",
          "deepep_ll: tokens a rank's buffer is made for, at least; 0: the stack's default"),
    COUNT("moe.expert_tokens", moe.expert_tokens, 0, 1e9, "0",
          "engines: tokens that experts take at once, the others after them (trtllm's "
          "moe_config.max_num_tokens); 0: the engine's default"),
    COUNT("moe.redundant_experts", moe.redundant_experts, 0, 65536, "0",
          "copies of experts beside the model's own (EPLB)"),
    WORD("moe.shared", moe.shared, words_shared, "auto",
         "how shared experts are split: by sequence, by tensor, or as the stack does"),
    REAL("moe.switch", moe.switch_threshold, 0, 1e9, "1",
         "decode: compute all experts from this T K / E on, only hit experts below"),
    BOOL("moe.dedup", moe.dedup, "true",
         "send a token once to a rank that holds several of its experts; selective: load an "
         "expert once, not for every token that chose it"),
    BOOL("moe.reuse_handle", moe.reuse_handle, "true",
         "backward reuses the forward's dispatch layout"),
    BOOL("moe.overlap", moe.overlap, "false",
         "overlap dispatch and combine with computation; vllm, sglang: of the other half of a "
         "step's tokens (--enable-dbo, --enable-two-batch-overlap)"),
    COUNT("moe.overlap_decode", moe.overlap_decode, 0, 1e9, "32",
          "vllm with moe.overlap: a rank's tokens from which a decode step runs in halves"),
    COUNT("moe.overlap_prefill", moe.overlap_prefill, 0, 1e9, "512",
          "the same of a step with prompts"),
    REAL("moe.overlap_balance", moe.overlap_balance, 0, 0.5, "0.48",
         "sglang with moe.overlap: part of a step's tokens below which prompts are cut to make "
         "both halves alike"),
    BOOL("moe.overlap_single", moe.overlap_single, "false",
         "sglang: shared experts and the second product of experts beside low-latency "
         "exchanges of the same step (--enable-single-batch-overlap)"),
    BOOL("moe.paged_stash", moe.paged_stash, "false",
         "megatron: saved rows of experts are packed into pages (--moe-paged-stash)"),
    BOOL("moe.fuse_activation", moe.fuse_activation, "false",
         "host: the activation is part of the product by gate and up, whose own rows go to "
         "memory for a backward only"),
    COUNT("moe.alignment", moe.alignment, 0, 1e6, "0",
          "rows each expert's segment is rounded up to; 0: as the path's software does"),

    /* ---- moe.routing: which rows go where ---- */

    WORD("moe.routing.distribution", moe.routing.distribution, words_distribution, "uniform",
         "popularity of experts"),
    WORD("moe.routing.popularity", moe.routing.popularity, words_popularity, "per_step",
         "lognormal, dirichlet: popularity is drawn for every sampled layer and step, or once"),
    REAL("moe.routing.alpha", moe.routing.alpha, 0, 100, "0.5",
         "zipf: exponent of popularity by rank; 0 is uniform"),
    REAL("moe.routing.sigma", moe.routing.sigma, 0, 100, "0.5",
         "lognormal: standard deviation of log popularity"),
    REAL("moe.routing.concentration", moe.routing.concentration, 0, 1e12, "10",
         "dirichlet: concentration; smaller is more skewed"),
    REAL("moe.routing.share", moe.routing.share, 0, 1, "0.5",
         "hot_rank: share of all rows that goes to one rank"),
    WORD("moe.routing.placement", moe.routing.placement, words_placement, "contiguous",
         "which experts stand on which rank"),
    TEXT("moe.routing.placement_file", moe.routing.placement_file, "",
         "placement table: CSV with the rank of every expert"),
    TEXT("moe.routing.file", moe.routing.file, "",
         "distribution trace: CSV of recorded routing"),
    COUNT("moe.routing.seed", moe.routing.seed, 0, 0, "1", "seed of the sampled routing"),
    COUNT("moe.routing.samples", moe.routing.samples, 1, 1e6, "200",
          "routing samples that expectations and percentiles are taken over"),
    WORD("moe.routing.layers", moe.routing.layers, words_routing_layers, "independent",
         "whether MoE layers of a step are routed each for itself, or all alike: what a stage "
         "saves of them adds up, and takes the time, near the mean or as the fullest does"),

    /* ---- precision ---- */

    FORMAT("precision.weights", precision.weights, words_format, "bf16",
           "format of the weights"),
    ENUMS("precision.plain", precision.plain, words_part, "[auto]",
          "engines: parts whose matrices are in precision.plain_format and not in "
          "precision.weights; embeddings, head, router and norms always have 16 bits; fsdp, "
          "deepspeed: those that a base in few bits leaves whole (llm_int8_skip_modules), "
          "auto: none"),
    FORMAT("precision.plain_format", precision.plain_format, words_format, "bf16",
           "format of the parts in precision.plain, where it does not say auto"),
    FORMAT("precision.gradients", precision.gradients, words_format, "bf16",
           "format of the gradients"),
    WORD("precision.accumulated", precision.accumulated, words_accumulated, "auto",
         "fsdp, torchtitan, zero 3: format of whole gradients that wait for a step's last "
         "micro-batch (no_sync, sync_each_batch: false, defer_fsdp_grad_sync), where it has "
         "several; auto: what the stack does by itself"),
    WORD("precision.fake_weights", precision.fake_weights, words_fake_weights, "none",
         "fsdp, deepspeed, torchtitan: rounding of linear layers' weights, no experts', that "
         "training runs through (torchao's QAT), of which backward keeps copies; time is that "
         "of none"),
    WORD("precision.fake_inputs", precision.fake_inputs, words_fake_inputs, "none",
         "the same of what they multiply, beside precision.fake_weights"),
    FORMAT("precision.master", precision.master, words_format_or_none, "none",
           "format of the optimizer's copy of the weights; none: no copy"),
    FORMAT("precision.moments", precision.moments, words_format_or_none, "bf16",
           "format of the two Adam moments"),
    FORMAT("precision.moment2", precision.moment2, words_format_or_none, "none",
           "format of the second moment where it is another; none: as precision.moments"),
    FORMAT("precision.activations", precision.activations, words_format, "bf16",
           "format of saved activations"),
    FORMAT("precision.dispatch", precision.dispatch, words_format, "bf16",
           "format of tokens on their way to experts"),
    FORMAT("precision.combine", precision.combine, words_format, "bf16",
           "format of tokens on their way back"),
    FORMAT("precision.kv_cache", precision.kv_cache, words_format, "bf16",
           "format of the KV cache"),
    FORMAT("precision.window_cache", precision.window_cache, words_format_or_none, "none",
           "vllm: that of layers with a window (--kv-cache-dtype-skip-layers sliding_window); "
           "none: precision.kv_cache"),
    WORD("precision.compute", precision.compute, words_compute, "bf16",
         "format matrices are multiplied in"),
    WORD("precision.recipe", precision.recipe, words_recipe, "none",
         "megatron, primus: how products run in 8 or 4 bits, and what is kept for it"),
    BOOL("precision.quantized_params", precision.quantized_params, "false",
         "the layers' matrices exist in the recipe's format only (--fp8-param-gather)"),
    COUNT("precision.plain_first", precision.plain_first, 0, 1e4, "0",
          "first layers that no recipe applies to (--num-layers-at-start-in-bf16)"),
    COUNT("precision.plain_last", precision.plain_last, 0, 1e4, "0",
          "last layers that no recipe applies to (--num-layers-at-end-in-bf16)"),
    BOOL("precision.keep_transpose", precision.keep_transpose, "false",
         "megatron, zero 3: transposes of gathered fp8 weights stay, whole, of every layer "
         "(--keep-fp8-transpose-cache)"),
    FORMAT("precision.gather", precision.gather, words_format_or_none, "none",
           "deepspeed, zero 3: format in which sharded weights travel, int8 by "
           "zero_quantized_weights; none: as they are computed with"),

    /* ---- optimizer ---- */

    WORD("optimizer.kind", optimizer.kind, words_optimizer, "adam",
         "what is kept per trained parameter beside the master copy"),
    BOOL("optimizer.plain_embedding", optimizer.plain_embedding, "false",
         "moments of the embedding are f32 beside others in bytes, which transformers' Trainer "
         "asks of bitsandbytes"),
    WORD("optimizer.precision_aware", optimizer.aware, words_aware, "none",
         "megatron, primus: whether the update works on states as they are stored"),
    WORD("optimizer.step", optimizer.step, words_step, "fused",
         "torch.optim: one kernel, or a list as large as the second moment beside the states"),
    REAL("optimizer.offload", optimizer.offload, 0, 1, "0",
         "part of the parameters whose states and update are moved to host memory"),
    BOOL(
        "optimizer.offload_params", optimizer.offload_params, "false",
        "fsdp, torchtitan, deepspeed, maxtext, zero 3: the weights' shards wait in host memory "
        "too"),
    COUNT("optimizer.sub_group", optimizer.sub_group, 0, 1e15, "0",
          "deepspeed, zero 3: elements updated at once, at most (sub_group_size); 0: 1e9"),
    COUNT("optimizer.rank", optimizer.rank, 1, 1e6, "128",
          "galore, apollo: rows or columns of a projected gradient, as many as it has at most"),
    ENUMS("optimizer.projected", optimizer.projected, words_frozen,
          "[attention, dense_mlp, shared_experts]",
          "galore, apollo: parts whose linear layers have projected gradients "
          "(optim_target_modules), and embed_tokens; stacked experts are none"),
    BOOL("optimizer.in_backward", optimizer.in_backward, "false",
         "torchtitan: a layer is updated in backward, and its gradients go "
         "(early_step_in_backward); fsdp: a weight is, of galore and apollo (layer-wise)"),
    BOOL("optimizer.one_layer", optimizer.one_layer, "false",
         "fsdp, deepspeed: one layer at a time has gradients, a master copy and states, the "
         "ends "
         "have none (BAdam); time is that of gradients of all layers"),
    COUNT("optimizer.active_layers", optimizer.active_layers, 0, 10000, "0",
          "fsdp, on one device: of all layers so many have gradients until others are drawn "
          "(LISA), and the ends have; states stay, so that all come to have them; 0: all; time "
          "is that of gradients of all layers"),

    /* ---- lora ---- */

    COUNT(
        "lora.rank", lora.rank, 0, 1e6, "0",
        "rank of adapters, which alone are trained, 0: every weight is; of an engine's slots, "
        "at most"),
    COUNT("lora.slots", lora.slots, 0, 1e4, "0",
          "engines: adapters of one batch (--max-loras, --max-loras-per-batch; trtllm's cache: "
          "lora_config.max_loras), with room for lora.rank each in the model's format, and "
          "products as of one; 0: none"),
    BOOL("lora.sharded", lora.sharded, "false",
         "vllm (--fully-sharded-loras), megatron (Bridge's adapters): tp ranks share out both "
         "sides of an adapter, in place of the one that the matrix beside it is split on; what "
         "they exchange is not timed"),
    BOOL("lora.share_experts", lora.share_experts, "false",
         "megatron: one adapter of a matrix for all experts that a rank holds (Bridge's "
         "share_expert_adapters), in place of one for each"),
    BOOL("lora.skip_experts", lora.skip_experts, "false",
         "routed experts have no adapters, whatever lora.targets says of dense networks"),
    COUNT("lora.expert_rank", lora.expert_rank, 0, 1e6, "0",
          "rank of the adapters of routed experts (NeMo AutoModel's moe_rank_scaling); 0: "
          "lora.rank"),
    WORDS("lora.targets", lora.targets, "[]",
          "matrices with adapters (q_proj, v_proj, linear_fc1 ...); empty: all of a layer"),
    COUNTS("lora.ranks", lora.ranks, 0, 1e6, "[]",
           "fsdp, deepspeed: ranks of the adapters of lora.targets, one for each name (PEFT's "
           "rank_pattern); 0, or an empty list: lora.rank"),
    COUNTS("lora.layers", lora.layers, 0, 9999, "[]",
           "fsdp, deepspeed: layers whose linear layers have adapters, from 0 (PEFT's "
           "layers_to_transform); empty: all; stacked experts have theirs in all"),
    BOOL("lora.language", lora.language, "true",
         "fsdp, deepspeed: false: the encoder's layers alone have adapters "
         "(finetune_language_layers: false, freeze_llm)"),
    ENUMS("lora.modules_to_save", lora.saved, words_saved, "[]",
          "fsdp, deepspeed: modules trained whole in a copy, beside the adapters: "
          "embed_tokens, lm_head"),
    BOOL("lora.rows", lora.rows, "false",
         "fsdp, deepspeed: some rows of the embedding are trained beside the adapters (PEFT's "
         "trainable_token_indices): its table is copied with them, as the head is where it is "
         "the same"),
    ENUMS(
        "lora.host", lora.host, words_base, "[]",
        "fsdp, zero 0: parts of the frozen base that wait in host memory: embed_tokens, "
        "looked up "
        "there (Unsloth's offload_embedding; not timed); layers, of which three at a time are "
        "on the device (axolotl's layer_offloading)"),
    FORMAT("lora.format", lora.format, words_format, "f32",
           "format of the adapters; the frozen weights are in precision.weights"),
    WORD("lora.inputs", lora.inputs, words_lora_inputs, "shared",
         "fsdp, deepspeed: what backward keeps of the input of a linear layer's adapter"),
    BOOL("lora.dora", lora.dora, "false",
         "fsdp, deepspeed: outputs have magnitudes, by the norms of the weights with their "
         "adapters (PEFT's use_dora); what the norms take is not timed"),
    BOOL(
        "lora.encoder", lora.encoder, "false",
        "fsdp, deepspeed: the four products of each of the encoder's layers have adapters, too "
        "(freeze_vit, freeze_vision_tower: false; finetune_vision_layers)"),
    WORD("lora.experts", lora.experts, words_lora_experts, "auto",
         "fsdp, deepspeed: how the model keeps a layer's experts, which says what adapters and "
         "a "
         "base in few bits reach"),
    BOOL("lora.fused_experts", lora.fused, "false",
         "fsdp, deepspeed: adapters of stacked experts are multiplied beside them (axolotl's "
         "ScatterMoE and SonicMoE kernels), not added to them"),
    FORMAT("lora.plain_format", lora.plain, words_format_or_none, "none",
           "fsdp, deepspeed: format of what a base in few bits leaves whole (embedding, head, "
           "norms, stacked experts); none: f32, which PEFT's prepare_model_for_kbit_training "
           "makes of it, or precision.activations where zero 3 shares weights"),

    /* ---- frozen ---- */

    COUNT("frozen.layers", frozen.layers, 0, 10000, "0",
          "fsdp, deepspeed, megatron: first layers that are not trained, nor is the embedding "
          "before them: forward keeps nothing of them, and backward ends behind them"),
    ENUMS(
        "frozen.modules", frozen.modules, words_frozen, "[]",
        "fsdp, deepspeed, megatron: parts that are not trained, of every layer: no gradients, "
        "no states, no input kept for a gradient"),
    FORMAT("frozen.format", frozen.format, words_format_or_none, "none",
           "fsdp, deepspeed: format of what is frozen, where it is not that of what is trained "
           "(none)"),

    /* ---- recompute, memory, block ---- */

    WORD("recompute.kind", recompute.kind, words_recompute, "none",
         "what backward computes again; save: all but the names in recompute.save"),
    WORDS("recompute.save", recompute.save, "[]",
          "names of the tensors kept for backward, everything else computed again"),
    WORDS("recompute.modules", recompute.modules, "[]",
          "selective: modules computed again, in the stack's names; empty: its default"),
    COUNT("recompute.layers", recompute.layers, 0, 10000, "0",
          "megatron, torchtitan, fsdp, deepspeed: full runs so many layers again, the first of "
          "every stage, interleaved or not, and the rest keep all (--recompute-method block, "
          "--recompute-num-layers; as many as a memory_budget stands for; transformers' "
          "every_n_layers); 0: all"),
    COUNT("recompute.every", recompute.every, 1, 10000, "1",
          "megatron: full keeps the input of every so many layers of a stage and runs them "
          "again together (--recompute-method uniform, --recompute-num-layers)"),
    WORDS("recompute.offload", recompute.offload, "[]",
          "modules whose tensors wait in host memory, in the stack's names"),
    COUNT("recompute.offload_layers", recompute.offload_layers, 0, 10000, "0",
          "megatron: of so many layers, the first, all that is saved waits in host memory "
          "(--cpu-offloading-num-layers)"),
    WORD("recompute.encoder", recompute.encoder, words_encoder_again, "auto",
         "fsdp, deepspeed, megatron: whether the encoder's layers run again in backward"),
    COUNT(
        "recompute.mlp_tiles", recompute.mlp_tiles, 1, 1e6, "1",
        "fsdp, deepspeed: dense networks take the sequence in so many parts, in backward again "
        "(tiled MLP); that second forward is not priced"),
    BOOL("recompute.distribute", recompute.distribute, "false",
         "megatron, deepspeed: tp ranks share out the inputs that full recomputation keeps "
         "(--distribute-saved-activations, partition_activations)"),
    REAL("memory.fraction", memory.fraction, 0, 1, "0",
         "fraction of device memory to use; 0: the stack's"),
    BYTES("memory.reserve", memory.reserve_bytes, 0, "0 B",
          "bytes to leave free, on top of the stack's reserve"),
    COUNT("memory.cache_block", memory.cache_block, 0, 1e6, "0",
          "tokens of a KV cache block; 0: the engine's"),
    BYTES("memory.cache_bytes", memory.cache_bytes, 0, "0 B",
          "engines: bytes of the KV cache's pool, in place of what the fraction leaves; of "
          "trtllm the most of it"),
    COUNT("memory.cache_blocks", memory.cache_blocks, 0, 1e12, "0",
          "engines: blocks of the pool, in place of what fits; 0: what fits"),
    COUNT("memory.cache_tokens", memory.cache_tokens, 0, 1e15, "0",
          "engines: most tokens of the pool; 0: as many as fit"),
    COUNT(
        "memory.cache_window", memory.cache_window, 0, 1e9, "0",
        "trtllm: the last tokens of a sequence that every layer's cache keeps, beside those of "
        "a step (kv_cache_config.max_attention_window of one size); 0: all"),
    BYTES("memory.weight_offload", memory.weight_offload_bytes, 0, "0 B",
          "vllm, sglang: bytes of a rank's layers that stay in host memory and are read from "
          "there in every step (--cpu-offload-gb)"),
    COUNT("memory.offload_group", memory.offload_group, 0, 10000, "0",
          "vllm, sglang: layers in a group, the last of which are in host memory, of sglang "
          "their experts, and come in while others run (--offload-group-size); 0: none"),
    COUNT("memory.offload_in_group", memory.offload_in_group, 1, 10000, "1",
          "vllm, sglang: of each group so many (--offload-num-in-group)"),
    COUNT("memory.offload_ahead", memory.offload_ahead, 1, 10000, "1",
          "vllm, sglang: layers that come in ahead (--offload-prefetch-step)"),
    BOOL("memory.ngram_host", memory.ngram_host, "false",
         "tables of n-grams are in host memory: of sglang on NVIDIA unless told otherwise "
         "(--no-ple-offload-embedding), of vllm where asked for (--engram-config cpu_offload, "
         "VLLM_PLE_CPU_OFFLOAD); the reads of their rows over the link are not timed"),
    COUNT("memory.host_experts", memory.host_experts, 0, 100000, "0",
          "sglang: routed experts of each layer that wait in host memory and are multiplied by "
          "the CPU, which takes a time that is not modelled (KTransformers: all but "
          "--kt-num-gpu-experts); 0: none"),
    COUNT(
        "memory.transfer_tokens", memory.transfer_tokens, 0, 1e9, "0",
        "trtllm: tokens that fit into each of two buffers, which caches are sent from and come "
        "into (cache_transceiver_config.max_tokens_in_buffer); 0: 512 MiB each"),
    BYTES("memory.host_cache", memory.host_cache_bytes, 0, "0 B",
          "sglang, vllm, trtllm: bytes of a second cache in host memory, per rank "
          "(--hicache-size; "
          "vllm's --kv-offloading-size is over all ranks of tp and pp)"),
    REAL("memory.host_cache_ratio", memory.host_cache_ratio, 0, 1e4, "0",
         "sglang: the same as a multiple of the pool, where memory.host_cache is 0 "
         "(--hicache-ratio, 2 unless given)"),
    REAL("memory.window_ratio", memory.window_ratio, 0, 1, "0",
         "tokens that window layers keep to those of full ones: sglang's "
         "--swa-full-tokens-ratio, 0.8 unless given, 0.1 with csa and hca layers; 1: as many "
         "(vllm's "
         "--disable-hybrid-kv-cache-manager)"),
    REAL("memory.attention_share", memory.attention_share, 0, 1, "0",
         "sglang: what its attention's kernels leave of memory.fraction; 0: the engine's, 0.85 "
         "where AITER attends on AMD, else 1 (--attention-backend)"),
    REAL("memory.state_ratio", memory.state_ratio, 0, 1e4, "0",
         "sglang: bytes of recurrent layers' states to those of the KV cache "
         "(--mamba-full-memory-ratio, 0.9 unless given)"),
    COUNT("memory.state_slots", memory.state_slots, 0, 1e9, "0",
          "sglang: states that are kept, in place of what memory.state_ratio leaves "
          "(--max-mamba-cache-size)"),
    COUNT(
        "memory.state_copies", memory.state_copies, 0, 100, "0",
        "states that a running sequence may take; 0: the engine's, sglang 5 (3 of its radix "
        "cache, and 2 that take turns, which Mamba 1 and short convolutions have not), vllm 1 "
        "(2 with --mamba-cache-mode align, the default of 0.33)"),
    COUNT("memory.state_block", memory.state_block, 0, 1e9, "0",
          "vllm: states are kept every so many tokens, or the multiple that a block has "
          "(--mamba-block-size, --mamba-cache-mode all); 0: of the last token alone"),
    WORD("block.kind", block.kind, words_block, "moe",
         "what run performs: the model's MoE layer, or a matmul over tp ranks (predict times "
         "it)"),
    WORD("block.collective", block.collective, words_collective, "builtin",
         "how its ranks exchange: at once, round a ring, or in halves (tp a power of two)"),
    COUNT("block.tiles", block.tiles, 1, 8, "8",
          "column tiles of allreduce_matmul, at most: one is reduced while the next is "
          "multiplied"),
};

const size_t schema_table_size = sizeof schema_table / sizeof *schema_table;

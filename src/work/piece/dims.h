/* The parts of a layer, and the shapes that its tensors and matrices are made of: rows, columns
 * of one rank, and the facts of a plan that decide which of them exist. Stacks' tables of what
 * they hold and the list of what is computed read the same ones. */
#ifndef MOEPLAN_WORK_PIECE_DIMS_H
#define MOEPLAN_WORK_PIECE_DIMS_H

#include "work/list/letters.h"
#include "work/list/work.h"

/* Rows of a tensor. */
enum row {
    ROW_LOCAL,           /* T: after sequence parallelism */
    ROW_FULL,            /* T tp: the sequence gathered over tp, T without sp */
    ROW_TILE,            /* of those, what a dense network takes at once */
    ROW_HEAD,            /* of those, rows whose logits are made */
    ROW_NETWORK,         /* those, of all replicas that dense networks are split over */
    ROW_SENT,            /* T K, or E C with capacity */
    ROW_RECEIVED_TOKENS, /* n: one row per received token */
    ROW_GATHERED,        /* T R: tokens of all expert ranks */
    ROW_RECEIVED,        /* M: one row per received copy, or E C */
    ROW_COMPUTED,        /* M etp: what a rank's experts multiply */
    ROW_ROUTED,          /* rows that return to a rank's tokens, where a stack asks for them */
    ROW_IDENTITY,        /* T of each choice that gives its row back */
    ROW_KINDS
};

/* Columns of a tensor. */
enum col {
    COL_ONE,
    COL_HIDDEN,
    COL_ROUTED,     /* of the rows that experts work on: hidden, or the latent size */
    COL_ROUTED_OUT, /* and as the last product of an expert keeps it */
    COL_Q_RANK,
    COL_KV_LATENT, /* kv rank and rotary part */
    COL_KV_RANK,
    COL_Q,
    COL_Q_GATED, /* with the gate of attention's output, where there is one */
    COL_K,
    COL_V,
    COL_QKV,       /* q, k and v together */
    COL_PROJECTED, /* GQA: of those what a matrix gives: no v where keys are values */
    COL_KV,        /* k and v */
    COL_RING_KV,   /* of all ranks of cp that a rank's queries reach before their own */
    COL_RING_ALL,  /* and of its own */
    COL_KV_UP,     /* MLA: heads x (nope + v) */
    COL_UP_OUT, /* what the projections to heads write: QKV, or for MLA q and k_nope with v */
    COL_CONTEXT,
    COL_STREAMS,        /* all copies of the residual: hidden where there is one */
    COL_STREAM_MIXES,   /* numbers of a token that weigh and mix them */
    COL_STREAM_ADDED,   /* n that add to the copies and n^2 that mix them */
    COL_STREAM_BALANCE, /* what eager code keeps of balancing these, and n that read */
    COL_STREAM_SQUARE,  /* those of them that mix copies with copies */
    COL_BLOCK_SUMS,     /* all sums of blocks that attention residuals read, at a stage's end */
    COL_BLOCK_VALUES,   /* and the sum that is begun */
    COL_BLOCK_STATISTICS, /* two numbers for each of those, and one for all */
    COL_SHARED_KV,        /* the head that is key and value, whole on every rank of tp */
    COL_CSA_IN,           /* what entries of csa are made of: kv and gate, of two windows */
    COL_HCA_IN,           /* likewise of hca: kv and gate */
    COL_INDEX_IN,         /* likewise of the indexer's keys of entries */
    COL_CSA_ENTRY, /* an entry of csa, spread over its tokens; of hca; an indexer's key */
    COL_HCA_ENTRY,
    COL_INDEX_ENTRY,
    COL_WINDOW_PLACES, /* numbers of what a token meets: of its window, of entries beside */
    COL_CSA_PLACES,
    COL_HCA_PLACES,
    COL_GROUP_IN,      /* heads x size of one group of a low-rank output */
    COL_O_RANKS,       /* ranks of all a tp rank's groups */
    COL_OUT_IN,        /* what the output projection reads: those, or the context */
    COL_INDEX_Q,       /* indexer: heads x size, whole on every rank of tp but of blocks */
    COL_INDEX_K,       /* size of one */
    COL_INDEX_HEADS,   /* weights of its heads */
    COL_INDEX_CHOSEN,  /* what it chooses: keys, or blocks of every head */
    COL_LINEAR_KEYS,   /* keys x size of a linear layer */
    COL_LINEAR_VALUES, /* heads x size */
    COL_LINEAR_IN,     /* what its input projection writes */
    COL_LINEAR_CONV,   /* what its convolution sees */
    COL_LINEAR_HEADS,  /* one number a head */
    COL_LINEAR_QK,     /* q and k, repeated for every value head */
    COL_LINEAR_QKV,    /* q, k and v */
    COL_LINEAR_SCORES, /* heads x chunk: one row of a chunk's scores */
    COL_LINEAR_STATES, /* of all chunks, spread over their tokens */
    COL_LINEAR_RANK,   /* of gates or step */
    COL_LINEAR_RANKS,  /* of both gates, where the output's is of low rank too */
    COL_LINEAR_STEP,   /* Mamba-1: step, B and C */
    COL_LINEAR_GROUPS,
    COL_LINEAR_CHECKPOINTS, /* Mamba-1: states every 2048 tokens, spread over them */
    COL_HEADS,
    COL_SCORES, /* heads x S: one row of the square of scores */
    COL_DENSE,
    COL_DENSE_IN, /* gate and up together */
    COL_INTER,
    COL_INTER_IN,
    COL_SHARED_INTER,
    COL_SHARED_IN,
    COL_RESIDUAL_INTER, /* of the network beside the experts */
    COL_RESIDUAL_IN,
    COL_EXPERTS,
    COL_ROW_MAP, /* 2 E + 1 */
    COL_TOP_K,
    COL_VOCAB,            /* padded, a tp rank's part */
    COL_OUTPUTS,          /* of the head: the same, or a score head's labels */
    COL_LAYER_EMBEDDING,  /* of a token, in one layer */
    COL_LAYER_EMBEDDINGS, /* in all */
    COL_LENT,             /* keys and values that are read in later layers too, of every kind */
    COL_KINDS
};

/* What must hold for a row of a table to apply (all of its bits): a set of up to 128 facts. */
__extension__ typedef unsigned __int128 fact_set;
#define FACT(bit) ((fact_set)1 << (bit))
#define FACT_MLA FACT(0)
#define FACT_GQA FACT(1)
#define FACT_Q_LOW_RANK FACT(2)
#define FACT_FLASH FACT(3)
#define FACT_UNFUSED FACT(4)
#define FACT_SHARED FACT(5)
#define FACT_EP FACT(6)       /* ep > 1: rows travel */
#define FACT_ETP FACT(7)      /* etp > 1: rows are gathered over it */
#define FACT_SORTED FACT(8)   /* e > 1: rows are sorted by expert after they arrive */
#define FACT_UNSORTED FACT(9) /* e = 1 */
#define FACT_ALLTOALL FACT(10)
#define FACT_ALLGATHER FACT(11)
#define FACT_FLEX FACT(12) /* DeepEP and its kin: one row per received token */
#define FACT_Q_FULL_RANK FACT(13)
#define FACT_QK_NORM FACT(14) /* norms between the projection and rope: GQA only */
#define FACT_GATHER FACT(15)  /* sp over tp > 1 */
#define FACT_PER_OP FACT(16)  /* TRAIN_OPS is on */
#define FACT_EAGER FACT(17)
#define FACT_COMPILED FACT(18)
#define FACT_CP FACT(19)     /* cp > 1: keys and values go around a ring */
#define FACT_RECIPE FACT(20) /* products run by a low precision recipe */
#define FACT_OUTPUT_GATE FACT(21)
#define FACT_INDEX FACT(22)  /* an indexer of its own */
#define FACT_SPARSE FACT(23) /* attention reads the keys an indexer chose */
#define FACT_LATENT FACT(24) /* experts work on rows of a latent width */
#define FACT_LATENT_NORM FACT(25)
#define FACT_FULL_RANK_GATE FACT(26) /* of kimi_delta's output; the next: of low rank */
#define FACT_LOW_RANK_GATE FACT(27)
#define FACT_FULL_RANK_DECAY FACT(62) /* of kimi_delta; the next: of low rank */
#define FACT_LOW_RANK_DECAY FACT(63)
#define FACT_SHARED_KV FACT(28) /* one head is key and value */
#define FACT_KV_APART FACT(29)  /* keys and values are two */
#define FACT_CSA FACT(30)       /* entries beside a window: of csa; of hca, of tokens apart */
#define FACT_HCA FACT(31)
#define FACT_INDEX_KEYS FACT(32) /* the indexer's keys are of tokens, not of entries */
#define FACT_STREAMS FACT(33)    /* hyper-connections mix copies of the residual */
#define FACT_HEAD_GATE FACT(34)  /* a matrix for one gate a head */
#define FACT_GATED FACT(35)      /* a gate of either kind on attention's output */
#define FACT_K_EQ_V FACT(36)     /* no matrix for v */
#define FACT_GLU FACT(37)        /* networks have a gate and an up matrix */
#define FACT_RESIDUAL FACT(38)   /* a dense network beside the experts */
#define FACT_BLOCKS FACT(39)     /* the indexer chooses blocks, by the layer's input alone */
#define FACT_BLOCK_SUMS FACT(40) /* attention residuals read sums of blocks of layers */
#define FACT_OWN_KV FACT(41)     /* keys and values are this layer's own */
#define FACT_LENDS FACT(42)      /* some layers read those of earlier ones */
#define FACT_LAYER_EMBEDDING FACT(43) /* layers have embeddings of their own */
#define FACT_Q_ALONE FACT(44)         /* what projects to heads gives queries alone */
#define FACT_WEIGHED FACT(45)         /* a mixer and a network read a row weighed of several */
#define FACT_NO_ENTRIES FACT(46)      /* one head is key and value, no entries are made of it */
#define FACT_RING FACT(48)            /* cp > 1: one rank's at a time; the next: all at once */
#define FACT_RING_AT_ONCE FACT(49)
#define FACT_DELAYED FACT(47)       /* that recipe scales by what was */
#define FACT_QKV FACT(50)           /* grouped queries, keys and values of one product */
#define FACT_UNGROUPED FACT(51)     /* heads are not grouped queries */
#define FACT_ZERO_EXPERTS FACT(52)  /* some choices give their rows back as they are */
#define FACT_SHORTCUT FACT(53)      /* experts are added behind the next layer */
#define FACT_IN_TURN FACT(54)       /* a network reads what its mixer adds up to */
#define FACT_BESIDE FACT(55)        /* or the same as the mixer, */
#define FACT_BESIDE_SHARED FACT(56) /* through its norm; the next: the network has its own */
#define FACT_NETWORK_NORM FACT(57)
#define FACT_CAST_NORM FACT(58)    /* norms are RMS norms */
#define FACT_LINEAR_NORMS FACT(59) /* Mamba has norms of its own */
#define FACT_INDEX_POOL FACT(61)   /* the indexer weighs keys of several tokens into one */

/* Those that follow from the mixer. */
#define FACTS_OF_MIXER                                                                         \
    (FACT_MLA | FACT_GQA | FACT_Q_LOW_RANK | FACT_Q_FULL_RANK | FACT_QK_NORM |                 \
     FACT_OUTPUT_GATE | FACT_INDEX | FACT_SPARSE | FACT_SHARED_KV | FACT_KV_APART | FACT_CSA | \
     FACT_HCA | FACT_INDEX_KEYS | FACT_HEAD_GATE | FACT_GATED | FACT_K_EQ_V | FACT_BLOCKS |    \
     FACT_OWN_KV | FACT_Q_ALONE | FACT_NO_ENTRIES | FACT_QKV | FACT_INDEX_POOL)

/* Networks of a layer in which a row of a table is; ALL: and where a mixer stands alone. */
enum { IN_DENSE = 1, IN_MOE = 2, IN_BOTH = 3, IN_NONE = 4, IN_ALL = 7 };

/* Mixers beside which a row of a table is; 0 in a row: whatever the mixer is. */
enum {
    MIX_SOFTMAX = 1 << 0,
    MIX_NONE = 1 << 1,
    MIX_GATED_DELTA_NET = 1 << 2, /* and so on, in the order of enum linear_kind */
    MIX_KIMI_DELTA = 1 << 3,
    MIX_LIGHTNING = 1 << 4,
    MIX_MAMBA2 = 1 << 5,
    MIX_MAMBA1 = 1 << 6,
    MIX_SHORT_CONV = 1 << 7,
    MIX_DELTA = MIX_GATED_DELTA_NET | MIX_KIMI_DELTA,
    MIX_RECURRENT = MIX_DELTA | MIX_LIGHTNING | MIX_MAMBA2 | MIX_MAMBA1,
    MIX_LINEAR = MIX_RECURRENT | MIX_SHORT_CONV,
    MIX_ANY = MIX_SOFTMAX | MIX_LINEAR,
    MIX_ALL = MIX_ANY | MIX_NONE
};

struct dims {
    const struct plan *plan;
    struct sizes *z;
    struct letters letters;
    fact_set facts;         /* FACT_MLA, ... that hold for this plan */
    enum mixer mixer;       /* at hand: its widths and facts stand here */
    unsigned mix;           /* MIX_... of it */
    bool kinds[KIND_COUNT]; /* of layers that the model has */
    /* routed rows are those of balanced dispatch until a stack says how it sizes them */
    struct size rows[ROW_KINDS], width[COL_KINDS];
};

/* Fills all but the facts of an exchange (FACT_ALLTOALL, ...), with full attention at hand;
 * widths of an indexer and of linear layers where the model has them, else 0. */
void dims_fill(struct dims *dims, const struct plan *plan, struct sizes *sizes);

/* Takes another mixer at hand. */
void dims_mixer(struct dims *dims, enum mixer mixer);

/* Rows of all replicas of attention that come together before the experts, `own` those of one
 * (plan_joined_replicas). */
struct size dims_joined(struct sizes *sizes, const struct plan *plan, struct size own);
/* Times dp where replicas of attention share something; as it is where there is one. */
struct size dims_over(struct sizes *sizes, uint64_t replicas, struct size size);
/* What a rank has of a dense network's width in layers with this mixer (plan_dense_replicas).
 */
struct size dims_dense_width(struct sizes *sizes, const struct plan *plan, enum mixer mixer);
/* Likewise of the shared experts'. */
struct size dims_shared_width(struct sizes *sizes, const struct plan *plan);
struct size dims_network_ranks(struct sizes *sizes, const struct plan *plan);
/* Ranks that split attention's heads, and those that share out a step's tokens in attention
 * (engine_attention_ranks, engine_prompt_ranks). */
struct size dims_head_ranks(struct sizes *sizes, const struct plan *plan);
struct size dims_prompt_ranks(struct sizes *sizes, const struct plan *plan);
/* Ranks that share out a layer's tokens where they are shared out (plan_token_ranks). */
struct size dims_token_ranks(struct sizes *sizes, const struct plan *plan);

/* What a router chooses from: experts of the model, and those that compute nothing. */
struct size dims_choices(struct sizes *sizes, const struct plan *plan, struct size experts);

/* Columns of all copies of the residual. */
struct size dims_streams(struct sizes *sizes, const struct plan *plan);
/* The same and the sums of blocks that attention residuals read, as many as a slot says. */
struct size dims_with_blocks(struct sizes *sizes, const struct plan *plan, enum slot blocks);

/* Whether layers with this mixer project keys and values: of those that borrow them none, but
 * in engines, which multiply by all matrices of a checkpoint that names them and read of the
 * result the queries (vLLM and SGLang models/gemma4: QKVParallelLinear in every layer). */
bool dims_projects_kv(const struct plan *plan, enum mixer mixer);

/* The embeddings of the layers: vLLM splits rows of their table and columns of the projection
 * over tp (models/gemma4.py: VocabParallelEmbedding, ColumnParallelLinear), SGLang has them
 * whole on every rank (models/gemma4_causal.py: nn.Embedding, ReplicatedLinear), and so has
 * transformers in training (configuration_gemma4.py, base_model_tp_plan does not name them). */
bool dims_splits_embeddings(const struct plan *plan);
struct size dims_layer_rows(struct sizes *sizes, const struct plan *plan);
struct size dims_layer_columns(struct sizes *sizes, const struct plan *plan);

/* A tp rank's part of the vocabulary, filled up to a multiple of stack.vocab_multiple x tp:
 * plan_vocabulary over tp. */
struct size dims_vocabulary(struct sizes *sizes, const struct plan *plan);

/* Elements of the tables of the vocabulary that route a stage's first layers. */
struct size dims_routing_tables(struct sizes *sizes, const struct plan *plan);

/* Mixers and networks of a stage that read and write copies of the residual. */
struct size dims_stream_sites(struct sizes *sizes, const struct plan *plan);

/* IN_... of a network. */
unsigned in_ffn(enum ffn ffn);

#endif

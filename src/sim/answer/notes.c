/* See notes.h. */
#include "sim/answer/notes.h"

#include <string.h>

#include "base/text.h"
#include "plan/derive.h"
#include "plan/engine.h"
#include "plan/layers.h"
#include "plan/speculation.h"
#include "work/piece/lora.h"
#include "work/stack/stack.h"

enum { OWN = 12 };

/* What times and memory of a plan that speculates rest on. */
static size_t add_draft(const struct plan *plan, struct note notes[OWN])
{
    const struct speculation *s = &plan->workload.speculation;
    size_t n = 0;
    if (!plan_speculates(plan))
        return 0;
    notes[n++] = note_of(
        "workload.speculation.tokens",
        "unvalidated: every proposed token is accepted with the same chance, no data judge it");
    if (s->method == DRAFT_MODEL && !s->size.layers)
        notes[n++] = note_of(
            "workload.speculation.layers",
            "the draft's sizes are not known: its weights, cache and passes are not counted");
    return n;
}

/* What the plan's software cannot run is priced, for comparison, and said; how many notes. */
static size_t add_lacking(const struct plan *plan, struct arena *arena, struct note notes[OWN])
{
    size_t n = 0;
    struct err err = {0};
    const char *key, *why = stack_lacks(plan, &key);
    if (stack_runs(plan, stack_path(plan, NULL), &err) != STATUS_OK)
        notes[n++] = note_loud(
            "moe.path", arena_printf(arena, "%s: priced as if it did; %s", err.text, err.hint));
    if (why)
        notes[n++] =
            note_loud(key, arena_printf(arena, "priced as if its software had it: %s", why));
    return n;
}

/* What adapters and a base in few bits pass by, unless the plan says how it keeps experts. Of
 * the latter most of a model stays as large as it was. */
static size_t add_experts(const struct plan *plan, struct arena *arena, struct note *note)
{
    bool assumed = plan->lora.experts == LORA_EXPERTS_AUTO && plan_has_moe(plan);
    bool few = lora_expert_format(plan) != plan->precision.weights,
         reached = lora_reaches_stacked(plan);
    if (!assumed || !lora_stacks_experts(plan) || (reached && !few))
        return 0;
    const char *text = arena_printf(
        arena,
        "assumed: a layer's experts are one parameter (transformers 5), which %s%s%s "
        "pass by; --set lora.experts=linear is transformers 4",
        few ? "a base in few bits" : "", few && !reached ? " and " : "",
        reached ? "" : "adapters of linear layers");
    *note = few ? note_loud("lora.experts", text) : note_of("lora.experts", text);
    return 1;
}

/* What is counted by a guess of models with compressed entries, hyper-connections or attention
 * residuals, and what is not counted. */
static size_t add_compressed(const struct plan *plan, struct note notes[OWN])
{
    const struct model *model = &plan->model;
    size_t n = 0;
    if (plan->workload.mode != MODE_TRAIN && plan_has_entries(plan))
        notes[n++] = note_of(
            "model.layer_types",
            "assumed: an engine's cache of csa and hca layers is counted by what it holds, not "
            "by its pages; workspaces of their kernels are not modelled");
    if (plan->workload.mode != MODE_TRAIN && model->ngram.tables && !model->ngram.embedded)
        notes[n++] = note_of(
            "model.ngram.tables",
            "assumed: tables of n-grams are on the first stage and added before its layers, "
            "wherever theirs stand; SGLang's pool counts no ring of an open block's keys");
    if (plan->workload.mode != MODE_TRAIN && model->residual_streams > 1)
        notes[n++] = note_of(
            "model.residual_streams",
            "assumed: copies of the residual are in precision.activations (f32 in eager code)");
    if (plan->workload.mode == MODE_TRAIN && plan->stack.kind == STACK_MEGATRON &&
        (plan_shares_kv(plan) || model->residual_streams > 1))
        notes[n++] = note_of(
            "model.residual_streams",
            "assumed: Blackwell's kernels of both, as Megatron-Bridge's DeepSeek-V4 sets them "
            "(use_fused_mhc, dsa_kernel_backend cudnn); their workspaces are not modelled, nor "
            "the second half of the few weights that Megatron keeps in f32; with "
            "recompute.modules mhc copies of a recipe are taken to stay");
    if (plan->workload.mode == MODE_TRAIN && plan_has_block_sums(plan))
        notes[n++] = note_of(
            "model.residual_block",
            "assumed: attn_res_impl fla; with virtual stages sums of blocks that a stage takes "
            "over are not counted");
    if (plan->workload.mode == MODE_TRAIN && model->residual_block &&
        !plan_has_block_sums(plan))
        notes[n++] =
            note_of("model.residual_block",
                    "of attention residuals training counts the vectors alone: not what is "
                    "kept, read and sent of the sums of blocks");
    if (plan_shares_kv(plan) && plan_is_engine(plan) && plan->precision.weights == DTYPE_MXFP4)
        notes[n++] = note_of(
            "model.checkpoint",
            "assumed: fp4 experts have a byte of scale per 32; no source says how many");
    return n;
}

/* The list has the indexer's scores forward alone. */
static size_t add_indexer(const struct plan *plan, struct note *note)
{
    if (plan->workload.mode != MODE_TRAIN || !plan_is_megatron(plan) ||
        !plan->model.indexer.heads || lora_is_on(plan))
        return 0;
    *note = note_of(
        "model.indexer.heads",
        "assumed: fused kernels (dsa_kernel_backend cudnn or tilelang; none by default); not "
        "modelled: time of the indexer's own loss (dsa_indexer_loss_coeff; none by default), "
        "and what it holds in other layers than csa");
    return 1;
}

/* What training keeps of chosen blocks is their kernels' own. */
static size_t add_blocks(const struct plan *plan, struct note *note)
{
    if (plan->workload.mode != MODE_TRAIN || !plan_has_blocks(plan))
        return 0;
    *note = note_of(
        "model.layer_types",
        "assumed: blocks are chosen and read by MSA's kernels (attn_implementation "
        "MiniMaxAI/msa); transformers' sdpa makes a mask of heads x S x S in every layer, "
        "which is not counted");
    return 1;
}

/* Layers that borrow keys, and tables that are read a row a token. */
static size_t add_borrowed(const struct plan *plan, struct note notes[OWN])
{
    size_t n = 0;
    if (plan_borrows(plan) && plan_is_engine(plan))
        notes[n++] = note_of(
            "model.layer_types",
            "layers that borrow keys have matrices of keys and values here all the same, as "
            "both engines load them; nothing reads what they give");
    if (plan_embeds_layers(plan) && lora_is_on(plan))
        notes[n++] =
            note_of("model.layer_embedding.width",
                    "adapters beside the projection to the layers' embeddings are not counted");
    return n;
}

/* How transformers multiplies experts is its release's, which no job states; what ZeRO-3 does
 * around each of them is its Python's. */
static size_t add_turns(const struct plan *plan, struct note notes[OWN])
{
    bool deepspeed = plan->stack.kind == STACK_DEEPSPEED;
    size_t n = 0;
    if (plan->workload.mode != MODE_TRAIN || !plan_is_huggingface(plan) ||
        !plan_has_experts(plan))
        return 0;
    if (text_equal(words_path[plan->moe.path], "auto"))
        notes[n++] = note_loud(
            "moe.path",
            "experts of a layer are multiplied in one call, as transformers 5 does; release 4 "
            "runs one after another: moe.path expert_loop");
    bool turns = text_equal(words_path[stack_path(plan, NULL)], "expert_loop");
    if (turns && deepspeed && plan->parallel.zero == 3)
        notes[n++] = note_loud(
            "moe.path",
            "not timed: the host's work in ZeRO-3's hooks around every expert, which may take "
            "ten times as long as all else unless layers are leaves (set_z3_leaf_modules)");
    return n;
}

/* Between steps the model answers, and the answers are scored. */
static size_t add_update(const struct plan *plan, struct note *note)
{
    const struct colocated *c = &plan->workload.colocated;
    bool engine = c->engine != ENGINE_NONE && plan->stack.kind != STACK_HOST;
    bool itself = c->engine == ENGINE_NONE && plan_is_huggingface(plan) && c->sequences > 0;
    if (plan->workload.mode != MODE_TRAIN || !(engine || itself))
        return 0;
    *note = note_loud(itself ? "workload.colocated.sequences" : "workload.colocated.engine",
                      "a step is the update alone: answers are generated and scored between "
                      "steps, which is not timed");
    return 1;
}

const char *notes_graphs(const struct plan *plan, uint64_t sequences, struct arena *arena)
{
    if (plan->stack.kind != STACK_TRTLLM || plan->stack.graphs != GRAPHS_AUTO ||
        engine_has_graph(plan, sequences))
        return NULL;
    return arena_printf(arena,
                        "steps of %llu sequences are launched op by op: graphs are of %s%llu; "
                        "stack.graph_padding and graph_batch make some",
                        (unsigned long long)sequences,
                        plan->stack.graph_padding ? "1 to " : "1 to 32, 64, 128 ... up to ",
                        (unsigned long long)engine_largest_graph(plan));
}

/* Lines of a text as notes of the model. */
static size_t add_uncounted(const char *lines, struct arena *arena, struct note *notes)
{
    size_t n = 0;
    while (lines && *lines) {
        size_t length = strcspn(lines, "\n");
        if (notes)
            notes[n] = note_of("model", arena_strndup(arena, lines, length));
        n++;
        lines += length + (lines[length] == '\n');
    }
    return n;
}

const struct note *notes_of(const struct plan *plan, const struct origins *origins,
                            struct arena *arena, size_t *n)
{
    const struct unread_plan of = {plan, stack_path(plan, NULL)};
    const struct note *unread = NULL;
    size_t n_unread = 0;
    const char *uncounted = origins ? origins->uncounted : NULL;
    if (origins)
        unread = unread_notes(&of, origins, arena, &n_unread);
    size_t most = OWN + NOTES_ENGINE + n_unread + add_uncounted(uncounted, arena, NULL);
    struct note *notes = arena_alloc(arena, most, sizeof *notes);
    *n = add_uncounted(uncounted, arena, notes);
    *n += add_lacking(plan, arena, notes + *n);
    *n += notes_engine(plan, arena, notes + *n);
    *n += add_draft(plan, notes + *n);
    *n += add_experts(plan, arena, notes + *n);
    *n += add_compressed(plan, notes + *n);
    *n += add_indexer(plan, notes + *n);
    *n += add_blocks(plan, notes + *n);
    *n += add_borrowed(plan, notes + *n);
    *n += add_turns(plan, notes + *n);
    *n += add_update(plan, notes + *n);
    const char *graphs = plan->workload.mode == MODE_DECODE
                             ? notes_graphs(plan, plan->workload.micro_batch, arena)
                             : NULL;
    if (graphs)
        notes[(*n)++] = note_loud("stack.graph_padding", graphs);
    for (size_t i = 0; i < n_unread; i++)
        notes[(*n)++] = unread[i];
    return notes;
}

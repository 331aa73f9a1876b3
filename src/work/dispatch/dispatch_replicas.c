/* What stacks hold where experts are split over several replicas of attention: buffers of the
 * tokens of all of them, and after the experts the replica's own part of the sums.
 *
 * Sources: vLLM all2all.py (AgRsAll2AllManager: hidden rows, weights and ids of the choice are
 * gathered, sums reduced and scattered); SGLang dp_attention.py (get_global_dp_buffer, rows
 * alone: its router sees all tokens) and models/deepseek_v2.py; engines.md 2.4. */
#include "work/piece/dims.h"
#include "work/dispatch/dispatch_parts.h"

/* Rows of all replicas from here on. */
static struct row_dims joined(struct hold_path *p)
{
    p->x.tokens = dims_joined(p->x.sizes, p->plan, p->x.tokens);
    return rows_of(p->x.tokens, RULE_FIXED);
}

void part_join_input(struct hold_path *p)
{
    struct row_dims all = joined(p);
    uint16_t x = part_rows(p, "joined_hidden", CATEGORY_COMMUNICATION, &all,
                           size_slot(p->x.sizes, SLOT_HIDDEN));
    flow_op(&p->flow, part_exchange(p, "join_tokens"), FLOW(p->input), FLOW(x));
    p->input = x;
}

void part_join_routed(struct hold_path *p)
{
    struct row_dims all = joined(p);
    uint16_t x = part_rows(p, "joined_hidden", CATEGORY_COMMUNICATION, &all, p->x.hidden);
    uint16_t indices = part_table(p, "joined_indices", DTYPE_I32, &all, p->x.top_k);
    uint16_t gates =
        part_floats(p, "joined_gates", CATEGORY_METADATA, p->style->scores, &all, p->x.top_k);
    flow_op(&p->flow, part_exchange(p, "join_tokens"), FLOW(p->input, p->indices, p->gates),
            FLOW(x, indices, gates));
    p->input = x;
    p->indices = indices;
    p->gates = gates;
}

void part_own(struct hold_path *p, struct size tokens, uint16_t sums, uint16_t *output)
{
    p->x.tokens = tokens;
    part_scatter_group(p, sums, output);
}

/* The router: scores, top-k, their gradient, and replicas; a work-group a token. Rules as in
 * the host's kernel: ties go to the lowest index, scores are computed in f64 and rounded once.
 */

/* A token's view in work-group memory. Every barrier is met by all items whatever the router:
 * compilers for CPUs copy what follows a barrier that is met on a condition. */
struct token {
    LOCAL double *score, *key;  /* [E] */
    LOCAL double *group, *rest; /* scores of groups; of the chosen, then their gradients */
};

enum { ROUTER_BYTES = (2 * GPU_MOST_EXPERTS + 3 * GPU_MOST_CHOSEN) * 8 };

DEVICE struct token token_in(LOCAL char *scratch)
{
    struct token t;
    t.score = (LOCAL double *)scratch;
    t.key = t.score + GPU_MOST_EXPERTS;
    t.group = t.key + GPU_MOST_EXPERTS;
    t.rest = t.group + GPU_MOST_CHOSEN;
    return t;
}

/* Lower than any score. */
DEVICE double nothing(void)
{
    return -1.0e300;
}

DEVICE double sigmoid_of(double x)
{
    return 1 / (1 + EXP(-x));
}

DEVICE double largest_in(const LOCAL double *values, gpu_u32 n)
{
    double largest = nothing();
    for (gpu_u32 i = 0; i < n; i++)
        largest = values[i] > largest ? values[i] : largest;
    return largest;
}

DEVICE double sum_in(const LOCAL double *values, gpu_u32 n)
{
    double sum = 0;
    for (gpu_u32 i = 0; i < n; i++)
        sum += values[i];
    return sum;
}

/* A logit's score; softmax's before it is divided by the sum. */
DEVICE double score_of(gpu_u32 kind, double logit, double largest)
{
    if (kind == GPU_SIGMOID)
        return sigmoid_of(logit);
    if (kind == GPU_SQRTSOFTPLUS)
        return SQRT(LOG1P(EXP(logit)));
    return EXP(logit - largest);
}

/* How many of n values come before number i: larger ones, and equal ones in front of it. */
DEVICE gpu_u32 rank_of(const LOCAL double *values, gpu_u32 n, gpu_u32 i)
{
    gpu_u32 before = 0;
    for (gpu_u32 o = 0; o < n; o++)
        before += values[o] > values[i] || (values[o] >= values[i] && o < i);
    return before;
}

/* Scores and keys of a token's experts, by all items; the wanted experts are lifted over the
 * others by more than logits differ. Every item sums for itself, in order. */
DEVICE void load_scores(const struct gpu_call *call, const struct token *t,
                        struct tensor logits, gpu_u64 row, const GLOBAL gpu_i32 *wanted,
                        struct tensor bias)
{
    gpu_u32 E = (gpu_u32)logits.width, kind = call->router.score;
    int first = call->router.score_first;
    for (gpu_u32 x = ITEM; x < E; x += ITEMS) {
        double lift = -3;
        for (gpu_u64 k = 0; k < call->top_k; k++)
            lift += wanted[k] == (gpu_i32)x ? 6 : 0;
        t->key[x] = (double)F32(logits)[row * E + x] + lift;
    }
    BARRIER();
    double largest = largest_in(t->key, E);
    for (gpu_u32 x = ITEM; x < E; x += ITEMS)
        t->score[x] = first ? score_of(kind, t->key[x], largest) : t->key[x];
    BARRIER();
    double sum = first && kind == GPU_SOFTMAX ? sum_in(t->score, E) : 1;
    for (gpu_u32 x = ITEM; x < E; x += ITEMS)
        t->key[x] = t->score[x] / sum + (bias.present ? (double)F32(bias)[x] : 0);
    BARRIER();
    for (gpu_u32 x = ITEM; x < E; x += ITEMS)
        t->score[x] /= sum;
    BARRIER();
}

/* The sum of a group's two largest keys. */
DEVICE double group_score(const LOCAL double *key, gpu_u32 begin, gpu_u32 end)
{
    gpu_u32 first = begin;
    double second = nothing();
    for (gpu_u32 i = begin + 1; i < end; i++)
        if (key[i] > key[first])
            first = i;
    for (gpu_u32 i = begin; i < end; i++)
        if (i != first && key[i] > second)
            second = key[i];
    return key[first] + second;
}

/* Keeps the best groups; the keys of the others become nothing. */
DEVICE void limit_groups(const struct gpu_call *call, const struct token *t, gpu_u32 E)
{
    gpu_u32 groups = call->router.groups > 1 ? (gpu_u32)call->router.groups : 1;
    gpu_u32 size = E / groups;
    for (gpu_u32 g = ITEM; groups > 1 && g < groups; g += ITEMS)
        t->group[g] = group_score(t->key, g * size, (g + 1) * size);
    BARRIER();
    for (gpu_u32 x = ITEM; groups > 1 && x < size * groups; x += ITEMS)
        if (rank_of(t->group, groups, x / size) >= call->router.top_groups)
            t->key[x] = nothing();
    BARRIER();
}

/* Scores of the K chosen in `rest`, before normalisation; one item. */
DEVICE void score_chosen(const struct gpu_call *call, LOCAL double *rest, gpu_u32 K)
{
    gpu_u32 kind = call->router.score;
    double largest = largest_in(rest, K);
    if (call->router.score_first)
        return;
    for (gpu_u32 k = 0; k < K; k++)
        rest[k] = score_of(kind, rest[k], largest);
    double sum = kind == GPU_SOFTMAX ? sum_in(rest, K) : 1;
    for (gpu_u32 k = 0; k < K; k++)
        rest[k] /= sum;
}

DEVICE int is_among(const GLOBAL gpu_i32 *ids, gpu_u32 K, gpu_i32 id)
{
    int found = 0;
    for (gpu_u32 k = 0; k < K; k++)
        found |= ids[k] == id;
    return found;
}

KERNEL(topk, 64, ROUTER_BYTES)
{
    TENSOR(logits, 0);
    TENSOR(wanted, 1);
    TENSOR(bias, 2);
    TENSOR(ids, 3);
    TENSOR(gates, 4);
    struct token t = token_in(scratch);
    gpu_u32 K = (gpu_u32)call->top_k, E = (gpu_u32)logits.width;
    for (gpu_u64 row = GROUP; row < ids.rows; row += GROUPS) {
        GLOBAL gpu_i32 *mine = I32(ids) + row * K;
        const GLOBAL gpu_i32 *want = I32(wanted) + row * K;
        load_scores(call, &t, logits, row, want, bias);
        limit_groups(call, &t, E);
        for (gpu_u32 x = ITEM; x < E; x += ITEMS) {
            gpu_u32 at = rank_of(t.key, E, x);
            if (at >= K)
                continue;
            mine[at] = (gpu_i32)x;
            t.rest[at] = t.score[x];
            if (!call->router.given && !is_among(want, K, (gpu_i32)x))
                report(memory, REPORT_ROUTER, row, call->rank);
        }
        BARRIER();
        if (ITEM == 0 && !call->router.given) {
            score_chosen(call, t.rest, K);
            double factor =
                call->router.scale / (call->router.normalize ? sum_in(t.rest, K) : 1);
            for (gpu_u32 k = 0; k < K; k++)
                F32(gates)[row * K + k] = (float)(t.rest[k] * factor);
        }
        for (gpu_u32 k = ITEM; call->router.given && k < K; k += ITEMS)
            mine[k] = want[k];
        BARRIER();
    }
}

/* ---- gradient ---- */

/* d score / d logit, from the logit and its score (softmax apart). */
DEVICE double slope_of(gpu_u32 kind, double logit, double value)
{
    if (kind == GPU_SIGMOID)
        return value * (1 - value);
    return value > 0 ? sigmoid_of(logit) / (2 * value) : 0;
}

/* ds from dg: g = scale s / sum(s), or scale s; rest [0, K) is s, [K, 2 K) ds. One item. */
DEVICE double unnormalize(const struct gpu_call *call, LOCAL double *s, gpu_u32 K)
{
    double sum = 0, dot = 0, all = 0;
    for (gpu_u32 k = 0; k < K; k++) {
        sum += s[k];
        dot += s[K + k] * s[k];
    }
    for (gpu_u32 k = 0; k < K; k++) {
        double ds = s[K + k];
        s[K + k] =
            call->router.scale * (call->router.normalize ? ds / sum - dot / (sum * sum) : ds);
        all += s[K + k] * s[k];
    }
    return all;
}

KERNEL(topk_grad, 64, ROUTER_BYTES)
{
    TENSOR(logits, 0);
    TENSOR(ids, 1);
    TENSOR(d_gates, 2);
    TENSOR(dst, 3);
    struct token t = token_in(scratch);
    struct tensor no_bias = logits;
    no_bias.present = 0;
    gpu_u32 K = (gpu_u32)call->top_k, E = (gpu_u32)logits.width, kind = call->router.score;
    int all = kind == GPU_SOFTMAX && call->router.score_first;
    int given = call->router.given; /* then nothing flows through the router */
    for (gpu_u64 row = GROUP; row < dst.rows; row += GROUPS) {
        const GLOBAL gpu_i32 *mine = I32(ids) + row * K;
        GLOBAL float *to = F32(dst) + row * E;
        load_scores(call, &t, logits, row, mine, no_bias);
        for (gpu_u32 k = ITEM; k < K; k += ITEMS) {
            t.rest[k] = t.score[mine[k]];
            t.rest[K + k] = (double)F32(d_gates)[row * K + k];
        }
        BARRIER();
        if (ITEM == 0) {
            score_chosen(call, t.rest, K);
            t.group[0] = unnormalize(call, t.rest, K);
        }
        BARRIER();
        double dot = t.group[0];
        for (gpu_u32 x = ITEM; x < E; x += ITEMS)
            to[x] = all && !given ? (float)(-t.score[x] * dot) : 0;
        BARRIER();
        for (gpu_u32 k = ITEM; !given && k < K; k += ITEMS) {
            double logit = (double)F32(logits)[row * E + (gpu_u64)mine[k]], s = t.rest[k];
            double ds = t.rest[K + k];
            to[mine[k]] = (float)(kind == GPU_SOFTMAX ? s * (ds - dot)
                                                      : ds * slope_of(kind, logit + 3, s));
        }
        BARRIER();
    }
}

/* ---- replicas ---- */

/* The j-th occurrence of an expert goes to its replica j mod count. */
KERNEL(place, 256, 0)
{
    TENSOR(ids, 0);
    TENSOR(start, 1);
    TENSOR(replica, 2);
    TENSOR(phys, 3);
    struct tally t =
        tally(call, memory, BINS_VALUE, ids, 0, ids.rows * ids.width, call->logical);
    if (ITEM >= t.runs)
        return;
    struct span run = run_of(&t, ITEM);
    for (gpu_u64 i = run.begin; i < run.end; i++) {
        gpu_i64 x = bin_of(&t, i);
        gpu_i32 first = I32(start)[x], count = I32(start)[x + 1] - first;
        I32(phys)[i] = I32(replica)[first + tally_next(&t, x) % count];
    }
}

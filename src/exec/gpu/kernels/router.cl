/* The router: scores, top-k, and their gradient; a work-group a token. Rules as in the host's
 * kernel: ties go to the lowest index, scores are computed in f64 and rounded once. */

/* A token's view in work-group memory. Every barrier is met by all items whatever the router:
 * compilers for CPUs copy what follows a barrier that is met on a condition. */
struct token {
    LOCAL double *key;          /* [E]: by what experts are chosen, their scores and a bias */
    LOCAL double *group, *rest; /* scores of groups; of the chosen, then their gradients */
    double largest, sum;        /* of a softmax */
};

enum { ROUTER_BYTES = (GPU_MOST_EXPERTS + 3 * GPU_MOST_CHOSEN) * 8 };

DEVICE struct token token_in(LOCAL char *scratch)
{
    struct token t;
    t.key = (LOCAL double *)scratch;
    t.group = t.key + GPU_MOST_EXPERTS;
    t.rest = t.group + GPU_MOST_CHOSEN;
    t.largest = t.sum = 1;
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

/* The largest of the keys, by all items; `most` has a place for each. */
DEVICE double largest_key(const LOCAL double *key, LOCAL double *most, gpu_u32 E)
{
    double largest = nothing();
    for (gpu_u32 x = ITEM; x < E; x += ITEMS)
        largest = key[x] > largest ? key[x] : largest;
    most[ITEM] = largest;
    BARRIER();
    largest = largest_in(most, ITEMS);
    BARRIER();
    return largest;
}

/* Whether the scores of all experts sum to one. */
DEVICE int is_shared(const struct gpu_call *call)
{
    return call->router.score_first && call->router.score == GPU_SOFTMAX;
}

/* The score of a logit that was lifted, of a token whose softmax is known. */
DEVICE double score_at(const struct gpu_call *call, const struct token *t, double logit)
{
    double score =
        call->router.score_first ? score_of(call->router.score, logit, t->largest) : logit;
    return is_shared(call) ? score / t->sum : score;
}

/* Keys of a token's experts, by all items; the wanted experts are lifted over the others by
 * more than logits differ. A softmax is summed in order, by one of them. */
DEVICE void load_scores(const struct gpu_call *call, struct token *t, struct tensor logits,
                        gpu_u64 row, const GLOBAL gpu_i32 *wanted, struct tensor bias)
{
    const GLOBAL float *from = F32(logits) + row * logits.width;
    gpu_u32 E = (gpu_u32)logits.width, kind = call->router.score;
    int first = call->router.score_first, shared = is_shared(call);
    for (gpu_u32 x = ITEM; x < E; x += ITEMS)
        t->key[x] = (double)from[x] - 3;
    BARRIER();
    for (gpu_u32 k = ITEM; k < call->top_k; k += ITEMS)
        if ((gpu_u32)wanted[k] < E)
            t->key[wanted[k]] = (double)from[wanted[k]] + 3;
    BARRIER();
    t->largest = largest_key(t->key, t->group, shared ? E : 0);
    for (gpu_u32 x = ITEM; first && x < E; x += ITEMS)
        t->key[x] = score_of(kind, t->key[x], t->largest);
    BARRIER();
    if (ITEM == 0)
        t->rest[0] = sum_in(t->key, shared ? E : 0);
    BARRIER();
    t->sum = t->rest[0];
    for (gpu_u32 x = ITEM; shared && x < E; x += ITEMS)
        t->key[x] /= t->sum;
    for (gpu_u32 x = ITEM; bias.present && x < E; x += ITEMS)
        t->key[x] += (double)F32(bias)[x];
    BARRIER();
}

/* The two largest of values first, first + step ... before the end. */
DEVICE void two_largest(const LOCAL double *values, gpu_u32 first, gpu_u32 end, gpu_u32 step,
                        LOCAL double *two)
{
    double most = nothing(), next = nothing();
    for (gpu_u32 i = first; i < end; i += step) {
        double value = values[i], lower = value > most ? most : value;
        most = value > most ? value : most;
        next = lower > next ? lower : next;
    }
    two[0] = most;
    two[1] = next;
}

/* Keeps the best groups, by the sums of their two largest keys, which several items look for;
 * the keys of the others become nothing. */
DEVICE void limit_groups(const struct gpu_call *call, const struct token *t, gpu_u32 E)
{
    gpu_u32 all = call->router.groups > 1 ? (gpu_u32)call->router.groups : 1;
    gpu_u32 size = E / all, groups = all > 1 ? all : 0, parts = all < ITEMS ? ITEMS / all : 1;
    for (gpu_u32 p = ITEM; p < groups * parts; p += ITEMS)
        two_largest(t->key, p / parts * size + p % parts, (p / parts + 1) * size, parts,
                    t->rest + 2 * p);
    BARRIER();
    for (gpu_u32 g = ITEM; g < groups; g += ITEMS) {
        LOCAL double *two = t->rest + 2 * g * parts;
        two_largest(two, 0, 2 * parts, 1, two);
        t->group[g] = two[0] + two[1];
    }
    BARRIER();
    for (gpu_u32 g = ITEM; g < groups; g += ITEMS) {
        double own = t->group[g];
        gpu_u32 before = 0;
        for (gpu_u32 o = 0; o < groups; o++)
            before += t->group[o] > own || (t->group[o] >= own && o < g);
        t->rest[g] = before < call->router.top_groups;
    }
    BARRIER();
    for (gpu_u32 x = ITEM; x < size * groups; x += ITEMS)
        if (t->rest[x / size] == 0)
            t->key[x] = nothing();
    BARRIER();
}

/* ---- choosing ---- */

/* Whether a key comes before another of a higher or lower number. */
DEVICE int comes_before(double key, gpu_u32 x, double other, gpu_u32 o)
{
    return key > other || (key >= other && x < o);
}

DEVICE double key_of(const struct token *t, gpu_u32 E, gpu_u32 x)
{
    return x < E ? t->key[x] : nothing();
}

/* The ids of the K best, in order. The best of an item's experts (every ITEMS-th) is compared
 * with that of the others first: only experts of the K best items can be among the K. */
DEVICE void choose(const struct token *t, gpu_u32 E, gpu_u32 K, GLOBAL gpu_i32 *ids)
{
    LOCAL double *best = t->group; /* of every item, and whose number it has */
    LOCAL gpu_u32 *number = (LOCAL gpu_u32 *)(best + ITEMS);
    LOCAL gpu_u32 *left = (LOCAL gpu_u32 *)t->rest; /* experts of the best items; E: none */
    gpu_u32 each = (E + ITEMS - 1) / ITEMS, n = (K < ITEMS ? K : ITEMS) * each;
    gpu_u32 own = E + ITEM, place = 0;
    double key = nothing();
    for (gpu_u32 x = ITEM; x < E; x += ITEMS)
        if (comes_before(t->key[x], x, key, own)) {
            key = t->key[x];
            own = x;
        }
    best[ITEM] = key;
    number[ITEM] = own;
    for (gpu_u32 i = ITEM; i < n; i += ITEMS)
        left[i] = E;
    BARRIER();
    for (gpu_u32 i = 0; i < ITEMS; i++)
        place += (gpu_u32)comes_before(best[i], number[i], best[ITEM], number[ITEM]);
    for (gpu_u32 i = 0; place * each < n && i < each; i++)
        left[place * each + i] = ITEM + i * ITEMS;
    BARRIER();
    for (gpu_u32 i = ITEM; i < n; i += ITEMS) {
        gpu_u32 x = left[i], before = 0;
        double mine = key_of(t, E, x);
        for (gpu_u32 o = 0; o < n; o++)
            before += (gpu_u32)comes_before(key_of(t, E, left[o]), left[o], mine, x);
        if (x < E && before < K)
            ids[before] = (gpu_i32)x;
    }
    BARRIER();
}

/* Scores of the K chosen in `rest`, before normalisation; by all items. */
DEVICE void score_chosen(const struct gpu_call *call, LOCAL double *rest, gpu_u32 K)
{
    gpu_u32 kind = call->router.score, n = call->router.score_first ? 0 : K;
    double largest = largest_in(rest, n);
    BARRIER();
    for (gpu_u32 k = ITEM; k < n; k += ITEMS)
        rest[k] = score_of(kind, rest[k], largest);
    BARRIER();
    double sum = kind == GPU_SOFTMAX ? sum_in(rest, n) : 1;
    BARRIER();
    for (gpu_u32 k = ITEM; k < n; k += ITEMS)
        rest[k] /= sum;
    BARRIER();
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
    int given = call->router.given;
    for (gpu_u64 row = GROUP; row < ids.rows; row += GROUPS) {
        GLOBAL gpu_i32 *mine = I32(ids) + row * K;
        const GLOBAL gpu_i32 *want = I32(wanted) + row * K;
        load_scores(call, &t, logits, row, want, bias);
        limit_groups(call, &t, E);
        choose(&t, E, K, mine);
        for (gpu_u32 k = ITEM; k < K; k += ITEMS) {
            gpu_u32 x = (gpu_u32)mine[k];
            int wished = is_among(want, K, mine[k]);
            double logit = x < E ? (double)F32(logits)[row * E + x] : 0;
            t.rest[k] = score_at(call, &t, wished ? logit + 3 : logit - 3);
            if (!given && !wished)
                report(memory, REPORT_ROUTER, row, call->rank);
        }
        BARRIER();
        score_chosen(call, t.rest, K);
        for (gpu_u32 k = ITEM; !given && k < K; k += ITEMS) {
            double factor =
                call->router.scale / (call->router.normalize ? sum_in(t.rest, K) : 1);
            F32(gates)[row * K + k] = (float)(t.rest[k] * factor);
        }
        for (gpu_u32 k = ITEM; given && k < K; k += ITEMS)
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
            t.rest[k] = t.key[mine[k]];
            t.rest[K + k] = (double)F32(d_gates)[row * K + k];
        }
        BARRIER();
        score_chosen(call, t.rest, K);
        if (ITEM == 0)
            t.group[0] = unnormalize(call, t.rest, K);
        BARRIER();
        double dot = t.group[0];
        for (gpu_u32 x = ITEM; x < E; x += ITEMS)
            to[x] = all && !given ? (float)(-t.key[x] * dot) : 0;
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

/* ---- factors of gates ---- */

KERNEL(scale_gates, 64, 0)
{
    TENSOR(gates, 0);
    TENSOR(ids, 1);
    TENSOR(weight, 2);
    TENSOR(dst, 3);
    for (gpu_u64 i = GROUP * ITEMS + ITEM; i < dst.rows * dst.width; i += GROUPS * ITEMS)
        F32(dst)[i] = F32(gates)[i] * F32(weight)[I32(ids)[i]];
}

/* A work-group an expert, whose slots may be anywhere. */
KERNEL(scale_gates_wgrad, 64, 64 * 8)
{
    TENSOR(gates, 0);
    TENSOR(ids, 1);
    TENSOR(d_gates, 2);
    TENSOR(d_weight, 3);
    LOCAL double *parts = (LOCAL double *)scratch;
    for (gpu_u64 x = GROUP; x < d_weight.width; x += GROUPS) {
        double part = 0;
        for (gpu_u64 i = ITEM; i < gates.rows * gates.width; i += ITEMS)
            if (I32(ids)[i] == (gpu_i32)x)
                part += (double)F32(gates)[i] * (double)F32(d_gates)[i];
        double sum = sum_of_items(part, parts);
        if (ITEM == 0)
            F32(d_weight)[x] = (float)sum;
    }
}

/* Size expressions; see size.h. The first nodes are the constants 0 to 8, by their numbers:
 * bytes of an element, and what else most lists are full of.
 * Equal nodes are found through an open hash, so that shapes shared by many buffers are
 * computed once. */
#include "work/list/size.h"

#include <assert.h>
#include <string.h>

#include "base/checked.h"

enum { CONSTANTS = 9 };

enum size_op {
    NODE_CONST,
    NODE_SLOT,
    NODE_ADD,
    NODE_SUB,
    NODE_MUL,
    NODE_DIV,
    NODE_CEIL_DIV,
    NODE_ROUND_UP,
    NODE_MIN,
    NODE_MAX,
    NODE_SCALE,
    NODE_SCALE_UP
};

struct size_node {
    enum size_op op;
    union {
        struct {
            uint32_t a, b; /* operands; SLOT: a is the slot; SCALE: b is the real slot */
        };
        uint64_t value; /* CONST; of any other both operands, to be compared by */
    };
};

static uint32_t node_hash(struct size_node node)
{
    uint64_t x = (node.value + node.op) * 0x9e3779b97f4a7c15u;
    return (uint32_t)(x >> 32 ^ x >> 48);
}

static void table_insert(struct sizes *sizes, uint32_t node)
{
    uint32_t mask = sizes->table_size - 1;
    uint32_t at = node_hash(sizes->nodes[node]) & mask;
    while (sizes->table[at])
        at = (at + 1) & mask;
    sizes->table[at] = node + 1;
}

static void table_rebuild(struct sizes *sizes)
{
    sizes->table_size *= 2;
    sizes->table = arena_alloc(sizes->arena, sizes->table_size, sizeof *sizes->table);
    for (uint32_t i = 0; i < sizes->n; i++)
        table_insert(sizes, i);
}

static struct size node_intern(struct sizes *sizes, struct size_node node)
{
    uint32_t mask = sizes->table_size - 1;
    for (uint32_t at = node_hash(node) & mask; sizes->table[at]; at = (at + 1) & mask) {
        const struct size_node *other = &sizes->nodes[sizes->table[at] - 1];
        if (other->value == node.value && other->op == node.op)
            return (struct size){sizes->table[at] - 1};
    }
    if (sizes->n == sizes->capacity)
        sizes->nodes =
            arena_grow(sizes->arena, sizes->nodes, sizes->n, &sizes->capacity, sizeof node);
    sizes->nodes[sizes->n++] = node;
    if (2 * sizes->n > sizes->table_size)
        table_rebuild(sizes);
    else
        table_insert(sizes, sizes->n - 1);
    return (struct size){sizes->n - 1};
}

void sizes_init(struct sizes *sizes, struct arena *arena)
{
    memset(sizes, 0, sizeof *sizes);
    sizes->arena = arena;
    sizes->capacity = 1024; /* of most steps' lists with their ops */
    sizes->nodes = arena_take(arena, sizes->capacity, sizeof *sizes->nodes);
    sizes->table_size = 2048;
    sizes->table = arena_alloc(arena, sizes->table_size, sizeof *sizes->table);
    for (uint64_t value = 0; value < CONSTANTS; value++)
        node_intern(sizes, (struct size_node){.op = NODE_CONST, .value = value});
}

struct size size_const(struct sizes *sizes, uint64_t value)
{
    if (value < CONSTANTS)
        return (struct size){(uint32_t)value};
    return node_intern(sizes, (struct size_node){.op = NODE_CONST, .value = value});
}

struct size size_slot(struct sizes *sizes, enum slot slot)
{
    uint32_t *node = &sizes->slot[slot]; /* 0: none, that is a constant */
    if (!*node)
        *node =
            node_intern(sizes, (struct size_node){.op = NODE_SLOT, .a = (uint32_t)slot}).node;
    return (struct size){*node};
}

static inline uint64_t apply(enum size_op op, uint64_t a, uint64_t b, bool *overflow)
{
    switch (op) {
    case NODE_ADD:
        return checked_add(a, b, overflow);
    case NODE_SUB:
        return a > b ? a - b : 0;
    case NODE_MUL:
        return checked_mul(a, b, overflow);
    case NODE_DIV:
        return b ? a / b : 0;
    case NODE_CEIL_DIV:
        return b ? ceil_div(a, b) : 0;
    case NODE_ROUND_UP:
        return b ? checked_mul(ceil_div(a, b), b, overflow) : a;
    case NODE_MIN:
        return a < b ? a : b;
    case NODE_MAX:
        return a > b ? a : b;
    case NODE_CONST:
    case NODE_SLOT:
    case NODE_SCALE:
    case NODE_SCALE_UP:
        break;
    }
    assert(false && "not a binary size operation");
    return 0;
}

static bool is_const(const struct sizes *sizes, struct size size, uint64_t value)
{
    const struct size_node *node = &sizes->nodes[size.node];
    return node->op == NODE_CONST && node->value == value;
}

static struct size binary(struct sizes *sizes, enum size_op op, struct size a, struct size b)
{
    const struct size_node *x = &sizes->nodes[a.node], *y = &sizes->nodes[b.node];
    if (x->op == NODE_CONST && y->op == NODE_CONST) {
        bool overflow = false;
        uint64_t value = apply(op, x->value, y->value, &overflow);
        if (!overflow)
            return size_const(sizes, value);
    }
    return node_intern(sizes, (struct size_node){.op = op, .a = a.node, .b = b.node});
}

struct size size_add(struct sizes *sizes, struct size a, struct size b)
{
    if (is_const(sizes, a, 0))
        return b;
    return is_const(sizes, b, 0) ? a : binary(sizes, NODE_ADD, a, b);
}

struct size size_sub(struct sizes *sizes, struct size a, struct size b)
{
    return is_const(sizes, b, 0) ? a : binary(sizes, NODE_SUB, a, b);
}

struct size size_mul(struct sizes *sizes, struct size a, struct size b)
{
    if (is_const(sizes, a, 0) || is_const(sizes, b, 0))
        return size_const(sizes, 0);
    if (is_const(sizes, a, 1))
        return b;
    return is_const(sizes, b, 1) ? a : binary(sizes, NODE_MUL, a, b);
}

struct size size_div(struct sizes *sizes, struct size a, struct size b)
{
    return is_const(sizes, b, 1) ? a : binary(sizes, NODE_DIV, a, b);
}

struct size size_ceil_div(struct sizes *sizes, struct size a, struct size b)
{
    return is_const(sizes, b, 1) ? a : binary(sizes, NODE_CEIL_DIV, a, b);
}

struct size size_round_up(struct sizes *sizes, struct size a, struct size b)
{
    return is_const(sizes, b, 1) ? a : binary(sizes, NODE_ROUND_UP, a, b);
}

struct size size_min(struct sizes *sizes, struct size a, struct size b)
{
    return a.node == b.node ? a : binary(sizes, NODE_MIN, a, b);
}

struct size size_max(struct sizes *sizes, struct size a, struct size b)
{
    return a.node == b.node ? a : binary(sizes, NODE_MAX, a, b);
}

struct size size_beyond(struct sizes *sizes, struct size a, struct size b)
{
    return size_min(sizes, size_sub(sizes, a, b), size_const(sizes, 1));
}

struct size size_scale(struct sizes *sizes, struct size a, enum real_slot real)
{
    return node_intern(sizes,
                       (struct size_node){.op = NODE_SCALE, .a = a.node, .b = (uint32_t)real});
}

struct size size_scale_up(struct sizes *sizes, struct size a, enum real_slot real)
{
    return node_intern(
        sizes, (struct size_node){.op = NODE_SCALE_UP, .a = a.node, .b = (uint32_t)real});
}

struct size size_product(struct sizes *sizes, unsigned n, const struct size *factors)
{
    struct size product = size_const(sizes, 1);
    for (unsigned i = 0; i < n; i++)
        product = size_mul(sizes, product, factors[i]);
    return product;
}

struct size size_times(struct sizes *sizes, struct size a, uint64_t constant)
{
    return size_mul(sizes, a, size_const(sizes, constant));
}

struct size size_of_slots(struct sizes *sizes, struct size size, enum slot (*other)(enum slot))
{
    struct size_node node = sizes->nodes[size.node];
    if (node.op == NODE_CONST)
        return size;
    if (node.op == NODE_SLOT)
        return size_slot(sizes, other((enum slot)node.a));
    bool binary = node.op != NODE_SCALE && node.op != NODE_SCALE_UP;
    node.a = size_of_slots(sizes, (struct size){node.a}, other).node;
    if (binary)
        node.b = size_of_slots(sizes, (struct size){node.b}, other).node;
    return node_intern(sizes, node);
}

bool size_is_zero(const struct sizes *sizes, struct size size)
{
    return is_const(sizes, size, 0);
}

static uint64_t scale(uint64_t a, double real, bool *overflow)
{
    double product = (double)a * real;
    if (product < 18446744073709549568.0) /* the largest double below 2^64 */
        return product > 0 ? (uint64_t)product : 0;
    *overflow = true;
    return UINT64_MAX;
}

static uint64_t scale_up(uint64_t a, double real, bool *overflow)
{
    uint64_t floor = scale(a, real, overflow);
    return floor + ((double)floor < (double)a * real && floor != UINT64_MAX);
}

static inline uint64_t node_eval(const struct size_node *node, const struct slots *slots,
                                 const uint64_t *values, bool *overflow)
{
    if (node->op == NODE_CONST)
        return node->value;
    if (node->op == NODE_SLOT)
        return slots->value[node->a];
    if (node->op == NODE_SCALE_UP)
        return scale_up(values[node->a], slots->real[node->b], overflow);
    if (node->op == NODE_SCALE)
        return scale(values[node->a], slots->real[node->b], overflow);
    return apply(node->op, values[node->a], values[node->b], overflow);
}

bool sizes_eval(const struct sizes *sizes, const struct slots *slots, uint64_t *values)
{
    bool overflow = false;
    for (uint32_t i = 0; i < sizes->n; i++)
        values[i] = node_eval(&sizes->nodes[i], slots, values, &overflow);
    return !overflow;
}

/* Some of them, in order. */
static bool nodes_eval(const struct sizes *sizes, const struct slots *slots,
                       const uint32_t *nodes, size_t n, uint64_t *values)
{
    bool overflow = false;
    for (size_t i = 0; i < n; i++)
        values[nodes[i]] = node_eval(&sizes->nodes[nodes[i]], slots, values, &overflow);
    return !overflow;
}

static bool is_scaled(const struct size_node *node)
{
    return node->op == NODE_SCALE || node->op == NODE_SCALE_UP;
}

/* Whether an operand of a node is marked. */
static bool reads_marked(const struct size_node *node, const bool *marked)
{
    if (node->op == NODE_CONST || node->op == NODE_SLOT)
        return false;
    return marked[node->a] || (!is_scaled(node) && marked[node->b]);
}

/* ---- what moves ---- */

/* The lists again, from the slots that are marked. */
static void list_moving(const struct sizes *sizes, struct sizes_moving *moving)
{
    moving->n = moving->n_staying = 0;
    for (uint32_t i = 0; i < sizes->n; i++) {
        const struct size_node *node = &sizes->nodes[i];
        if (node->op != NODE_SLOT)
            moving->moves[i] =
                (is_scaled(node) && !moving->reals_stay) || reads_marked(node, moving->moves);
        if (moving->moves[i])
            moving->nodes[moving->n++] = i;
        else if (node->op == NODE_SLOT)
            moving->staying[moving->n_staying++] = i;
    }
    moving->turn++;
}

/* Marks slots that were thought to stay and did not; false when there are none. */
static bool mark_moved(const struct sizes *sizes, struct sizes_moving *moving,
                       const struct slots *slots, const uint64_t *values)
{
    bool moved = false;
    for (uint32_t i = 0; i < moving->n_staying; i++) {
        uint32_t at = moving->staying[i];
        if (slots->value[sizes->nodes[at].a] != values[at])
            moved = moving->moves[at] = true;
    }
    return moved;
}

static void begin_moving(const struct sizes *sizes, struct sizes_moving *moving,
                         struct arena *arena)
{
    moving->moves = arena_alloc(arena, sizes->n, sizeof *moving->moves);
    moving->nodes = arena_alloc(arena, sizes->n, sizeof *moving->nodes);
    moving->staying = arena_alloc(arena, sizes->n, sizeof *moving->staying);
    list_moving(sizes, moving);
}

void sizes_move(const struct sizes *sizes, const bool moves[SLOT_COUNT], struct arena *arena,
                struct sizes_moving *moving)
{
    *moving = (struct sizes_moving){.reals_stay = true};
    begin_moving(sizes, moving, arena);
    for (uint32_t i = 0; i < sizes->n; i++)
        if (sizes->nodes[i].op == NODE_SLOT)
            moving->moves[i] = moves[sizes->nodes[i].a];
    list_moving(sizes, moving);
}

bool sizes_eval_moved(const struct sizes *sizes, const struct sizes_moving *moving,
                      const struct slots *slots, uint64_t *values)
{
    return nodes_eval(sizes, slots, moving->nodes, moving->n, values);
}

bool sizes_eval_moving(const struct sizes *sizes, struct sizes_moving *moving,
                       const struct slots *slots, struct arena *arena, uint64_t *values)
{
    if (!moving->moves)
        begin_moving(sizes, moving, arena);
    if (!moving->known)
        return moving->known = sizes_eval(sizes, slots, values);
    if (mark_moved(sizes, moving, slots, values)) {
        list_moving(sizes, moving);
        return moving->known = sizes_eval(sizes, slots, values);
    }
    return nodes_eval(sizes, slots, moving->nodes, moving->n, values);
}

/* How an operation is written, and how tightly it binds (functions bind tightest). */
static const struct notation {
    const char *open, *between, *close;
    int binds;
} notations[] = {
    [NODE_CONST] = {"", "", "", 3},
    [NODE_SLOT] = {"", "", "", 3},
    [NODE_ADD] = {"", " + ", "", 1},
    [NODE_SUB] = {"max(0, ", " - ", ")", 3},
    [NODE_MUL] = {"", "*", "", 2},
    [NODE_DIV] = {"floor(", "/", ")", 3},
    [NODE_CEIL_DIV] = {"ceil(", "/", ")", 3},
    [NODE_ROUND_UP] = {"up(", ", ", ")", 3},
    [NODE_MIN] = {"min(", ", ", ")", 3},
    [NODE_MAX] = {"max(", ", ", ")", 3},
    [NODE_SCALE] = {"floor(", "*", ")", 3},
    [NODE_SCALE_UP] = {"ceil(", "*", ")", 3},
};

static void leaf_print(const struct size_node *node, const struct slots *slots,
                       struct text *out)
{
    if (node->op == NODE_CONST)
        text_printf(out, "%llu", (unsigned long long)node->value);
    else if (slots)
        text_printf(out, "%llu", (unsigned long long)slots->value[node->a]);
    else
        text_append(out, slot_symbol((enum slot)node->a));
}

static void real_print(enum real_slot real, const struct slots *slots, struct text *out)
{
    if (!slots) {
        text_append(out, real_symbol(real));
        return;
    }
    char buffer[32];
    text_double(buffer, slots->real[real]);
    text_append(out, buffer);
}

/* Operands of a quotient are bracketed as products are; those of min, max, up stand alone. */
static int operand_binds(enum size_op op)
{
    if (op == NODE_ADD || op == NODE_SUB)
        return 1;
    return op == NODE_MIN || op == NODE_MAX || op == NODE_ROUND_UP ? 0 : 2;
}

/* The second operand: a product that divides and a sum that is taken off need brackets. */
static int second_binds(enum size_op op)
{
    if (op == NODE_DIV || op == NODE_CEIL_DIV)
        return 3;
    return op == NODE_SUB ? 2 : operand_binds(op);
}

static void print(const struct sizes *sizes, uint32_t at, int context,
                  const struct slots *slots, struct text *out)
{
    const struct size_node *node = &sizes->nodes[at];
    if (node->op == NODE_CONST || node->op == NODE_SLOT) {
        leaf_print(node, slots, out);
        return;
    }
    const struct notation *how = &notations[node->op];
    bool bracket = how->binds < context;
    text_append(out, bracket ? "(" : "");
    text_append(out, how->open);
    print(sizes, node->a, operand_binds(node->op), slots, out);
    text_append(out, how->between);
    if (node->op == NODE_SCALE || node->op == NODE_SCALE_UP)
        real_print((enum real_slot)node->b, slots, out);
    else
        print(sizes, node->b, second_binds(node->op), slots, out);
    text_append(out, how->close);
    text_append(out, bracket ? ")" : "");
}

void size_formula(const struct sizes *sizes, struct size size, struct text *out)
{
    print(sizes, size.node, 0, NULL, out);
}

void size_numbers(const struct sizes *sizes, struct size size, const struct slots *slots,
                  struct text *out)
{
    print(sizes, size.node, 0, slots, out);
}

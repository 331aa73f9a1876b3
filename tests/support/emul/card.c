/* See card.h. */
#include "support/emul/card.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { BLOCKS = 4096, GUARD = 256, LATER = 4096, TIMES = 256 };

struct held {
    char *at;
    size_t bytes;
};

struct card {
    char *region, *bytes; /* its addresses, and where their bytes are */
    struct held blocks[BLOCKS];
    unsigned n_blocks;
    struct later later[LATER];
    unsigned n_later;
    bool hangs, reached[CARD_MOST];
    size_t used, most; /* bytes; the most since nothing was */
};

static struct card cards[CARD_MOST];
static struct card *now = cards;
static struct {
    uint64_t n, bytes;
} counted[COUNTS];
static size_t times[TIMES]; /* the most of every time that memory was in use */
static unsigned n_times;

unsigned cards_count_all(void)
{
    const char *asked = getenv("MOEPLAN_EMUL_DEVICES");
    unsigned long n = asked ? strtoul(asked, NULL, 10) : 1;
    return n < CARD_MOST ? (unsigned)n : CARD_MOST;
}

static char *map(int protection)
{
    return mmap(NULL, CARD_BYTES, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
                0);
}

bool cards_begin(void)
{
    for (unsigned i = 0; i < cards_count_all(); i++) {
        struct card *card = &cards[i];
        if (card->region)
            continue;
        card->region = map(PROT_NONE);
        card->bytes = map(PROT_READ | PROT_WRITE);
        if (card->region == MAP_FAILED || card->bytes == MAP_FAILED)
            return false;
    }
    return true;
}

struct card *card_of(int device)
{
    int i = device - CARD_FIRST;
    return i >= 0 && i < (int)cards_count_all() ? &cards[i] : NULL;
}

struct card *card_now(void)
{
    return now;
}

bool card_enter(struct card *card)
{
    bool known = card >= cards && card < cards + cards_count_all();
    now = known ? card : now;
    return known;
}

/* ---- memory ---- */

char *card_bytes(const struct card *card, uint64_t memory)
{
    return card->bytes + (memory - (uintptr_t)card->region);
}

bool card_has(const struct card *card, uint64_t memory, size_t bytes)
{
    const char *at = (const char *)(uintptr_t)memory;
    for (unsigned i = 0; i < card->n_blocks; i++)
        if (at >= card->blocks[i].at &&
            at + bytes <= card->blocks[i].at + card->blocks[i].bytes)
            return true;
    return false;
}

struct card *card_at(uint64_t memory)
{
    for (unsigned i = 0; i < cards_count_all(); i++)
        if (card_has(&cards[i], memory, 1))
            return &cards[i];
    return NULL;
}

bool card_guards_hold(const struct card *card)
{
    char intact[GUARD];
    memset(intact, 0xa5, GUARD);
    for (unsigned i = 0; i < card->n_blocks; i++) {
        uint64_t end = (uintptr_t)card->blocks[i].at + card->blocks[i].bytes;
        if (memcmp(card_bytes(card, end), intact, GUARD) != 0)
            return false;
    }
    return true;
}

/* First fit among the blocks, which are kept in order of address. */
int card_alloc(struct card *card, size_t bytes, uint64_t *memory)
{
    size_t room = (bytes + GUARD + 255) / 256 * 256, at = 0;
    unsigned i = 0;
    if (card->n_blocks == BLOCKS)
        return CODE_NO_MEMORY;
    for (; i < card->n_blocks; i++) {
        size_t begin = (size_t)(card->blocks[i].at - card->region);
        if (begin - at >= room)
            break;
        at = (begin + card->blocks[i].bytes + GUARD + 255) / 256 * 256;
    }
    if (bytes == 0 || room > CARD_BYTES || at > CARD_BYTES - room)
        return CODE_NO_MEMORY;
    memmove(&card->blocks[i + 1], &card->blocks[i],
            (card->n_blocks - i) * sizeof *card->blocks);
    card->blocks[i] = (struct held){card->region + at, bytes};
    card->n_blocks++;
    memset(card->bytes + at, 0xff, bytes);
    memset(card->bytes + at + bytes, 0xa5, GUARD);
    card->used += bytes;
    card->most = card->used > card->most ? card->used : card->most;
    *memory = (uintptr_t)(card->region + at);
    return CODE_FINE;
}

static void count_less(struct card *card, size_t bytes)
{
    card->used -= bytes;
    if (card->used > 0)
        return;
    if (n_times < TIMES)
        times[n_times++] = card->most;
    card->most = 0;
}

int card_free(struct card *card, uint64_t memory)
{
    for (unsigned i = 0; i < card->n_blocks; i++) {
        if (card->blocks[i].at != (char *)(uintptr_t)memory)
            continue;
        count_less(card, card->blocks[i].bytes);
        memmove(&card->blocks[i], &card->blocks[i + 1],
                (card->n_blocks - i - 1) * sizeof *card->blocks);
        card->n_blocks--;
        return CODE_FINE;
    }
    return CODE_INVALID;
}

size_t card_used(const struct card *card)
{
    return card->used;
}

/* ---- what is begun ---- */

static void perform(const struct later *later)
{
    if (later->from)
        memmove(later->to, later->from, later->bytes);
    else
        memset(later->to, later->byte, later->bytes);
}

void card_finish(struct card *card)
{
    for (unsigned i = 0; i < card->n_later; i++)
        perform(&card->later[i]);
    card->n_later = 0;
}

void card_later(struct card *card, struct later later)
{
    if (card->n_later == LATER)
        card_finish(card);
    card->later[card->n_later++] = later;
}

void card_hang(struct card *card, bool hangs)
{
    card->hangs = hangs;
}

bool card_hangs(const struct card *card)
{
    return card->hangs;
}

/* ---- who reaches whom ---- */

bool card_linked(const struct card *card, const struct card *other)
{
    const char *asked = getenv("MOEPLAN_EMUL_PEERS");
    const char pair[] = {(char)('0' + (card - cards)), (char)('0' + (other - cards)), '\0'};
    return !asked || strstr(asked, pair);
}

bool card_reach(struct card *card, const struct card *other)
{
    bool *reached = &card->reached[other - cards], before = *reached;
    *reached = true;
    return !before;
}

bool card_reached(const struct card *card, const struct card *other)
{
    return card->reached[other - cards];
}

/* ---- when the process ends ---- */

void cards_count(enum count count, size_t bytes)
{
    counted[count].n++;
    counted[count].bytes += bytes;
}

static void write_counts(const char *path)
{
    static const char *const names[COUNTS] = {"direct", "staged", "sent", "all-to-all", "mpi"};
    FILE *file = fopen(path, "a");
    for (unsigned i = 0; file && i < COUNTS; i++)
        if (counted[i].n)
            fprintf(file, "%s %llu %llu\n", names[i], (unsigned long long)counted[i].n,
                    (unsigned long long)counted[i].bytes);
    if (file)
        fclose(file);
}

static void write_times(const char *path)
{
    FILE *file = fopen(path, "w");
    for (unsigned i = 0; file && i < n_times; i++)
        fprintf(file, "%zu\n", times[i]);
    if (file)
        fclose(file);
}

/* Everything has been given back, on every device. */
__attribute__((destructor)) static void count_left(void)
{
    unsigned left = 0;
    for (unsigned i = 0; i < CARD_MOST; i++)
        left += cards[i].n_blocks;
    if (left > 0)
        fprintf(stderr, "look-alike: %u allocations were not given back\n", left);
    if (getenv("MOEPLAN_EMUL_COUNTS"))
        write_counts(getenv("MOEPLAN_EMUL_COUNTS"));
    if (getenv("MOEPLAN_EMUL_MEMORY"))
        write_times(getenv("MOEPLAN_EMUL_MEMORY"));
}

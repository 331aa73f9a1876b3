/* The devices of a look-alike driver: memory, what is begun and not yet done, and who reaches
 * whom. */
#ifndef MOEPLAN_TESTS_EMUL_CARD_H
#define MOEPLAN_TESTS_EMUL_CARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    CODE_FINE = 0,
    CODE_INVALID = 1,
    CODE_NO_MEMORY = 2,
    CODE_NO_DEVICE = 100,
    CODE_BAD_IMAGE = 200,
    CODE_NO_PEER = 217,
    CODE_NOT_RECORDED = 400,
    CODE_NOT_FOUND = 500,
    CODE_NOT_READY = 600,
    CODE_BAD_ADDRESS = 700,
    CODE_REACHED_ALREADY = 704,
    CODE_LAUNCH_FAILED = 719
};

enum { CARD_FIRST = 7, CARD_MOST = 8, CARD_BYTES = 256 << 20 };

struct card;

/* Makes memory for MOEPLAN_EMUL_DEVICES devices, 1 when it is not set; once. */
bool cards_begin(void);
unsigned cards_count_all(void);

struct card *card_of(int device);   /* by what the driver calls it; NULL: there is none */
struct card *card_now(void);        /* the current one */
bool card_enter(struct card *card); /* makes it the current one */

/* The most bytes that a device held, every time from nothing to nothing, are written to the
 * file MOEPLAN_EMUL_MEMORY when the process ends. */
int card_alloc(struct card *card, size_t bytes, uint64_t *memory);
int card_free(struct card *card, uint64_t memory);
size_t card_used(const struct card *card);
bool card_has(const struct card *card, uint64_t memory, size_t bytes);
char *card_bytes(const struct card *card, uint64_t memory); /* where they are */
bool card_guards_hold(const struct card *card);

/* The card that an address is of; NULL: it is no device's. */
struct card *card_at(uint64_t memory);

/* A copy, or a fill where from is NULL. */
struct later {
    char *to;
    const char *from;
    size_t bytes;
    unsigned char byte;
};

/* Begins it: it is done when the card is waited for, in order. */
void card_later(struct card *card, struct later later);
void card_finish(struct card *card);
void card_hang(struct card *card, bool hangs);
bool card_hangs(const struct card *card);

/* MOEPLAN_EMUL_PEERS: pairs as in "01 10", or "none"; not set: all. */
bool card_linked(const struct card *card, const struct card *other);
bool card_reach(struct card *card, const struct card *other); /* false: it does already */
bool card_reached(const struct card *card, const struct card *other);

/* Added up and written to the file MOEPLAN_EMUL_COUNTS when the process ends. */
enum count { COUNT_DIRECT, COUNT_STAGED, COUNT_SENT, COUNT_ALL_TO_ALL, COUNT_MPI, COUNTS };
void cards_count(enum count count, size_t bytes);

#endif

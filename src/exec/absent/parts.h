/* What the files of absent.h share. */
#ifndef MOEPLAN_EXEC_ABSENT_PARTS_H
#define MOEPLAN_EXEC_ABSENT_PARTS_H

#include "exec/absent/absent.h"

/* What one absent rank sends to the one that is performed, in one exchange. */
struct absent_part {
    bool known; /* from the routing sample; otherwise as many rows as are expected */
    uint64_t n;
    const unsigned char
        *bytes; /* [n]: the bytes; of rows: 1 where a row is, 0 where zeros are */
};

enum absent_kind {
    ABSENT_NONE,  /* not an exchange */
    ABSENT_COPY,  /* bytes as they are */
    ABSENT_MANY,  /* n rows */
    ABSENT_MARKED /* rows where a map says so, zeros elsewhere: slots nobody uses are empty */
};

/* An exchange of the list. */
struct absent_exchange {
    enum absent_kind kind;
    enum absent_row row; /* of rows: their role */
    bool audited;
    uint16_t map; /* ABSENT_MARKED: the index whose -1 leave a row empty; ABSENT_MANY: the
                     counts of rows sent, WORK_NONE: not known */
    enum dtype dtype;
    uint64_t width, row_bytes;
    uint64_t trips;
    struct absent_part *parts; /* [trips][R] */
    unsigned char *rows;       /* [R][row_bytes] */
};

struct absent {
    uint64_t rank, n_ranks, n_ops;
    struct arena arena;
    struct arena *ghosts;              /* [R] memory of each absent rank's metadata */
    struct absent_exchange *exchanges; /* [n_ops] */
    struct absent_sent *sent;          /* [ABSENT_ROWS]; NULL: not asked for */
};

struct absent_part *absent_part(const struct absent *absent, uint64_t op, uint64_t iteration,
                                uint64_t from);

/* Fills the parts of all absent ranks by performing what needs no payload; ghost.c. */
enum status absent_perform(struct execution *x, struct absent *absent, struct err *err);

#endif

/* A look-alike of NCCL and RCCL, over the cards of the look-alike drivers: ranks of one process
 * (ncclCommInitAll) or of several (ncclCommInitRank), sends and receives that are matched by
 * pair and order when a group ends. Between processes a message is a file in a folder that the
 * group's name is made of.
 *
 * Refused, where the library would hang or do it wrong: two ranks on a device, a device that is
 * not current, memory of another device, a pair that disagrees about the bytes.
 * MOEPLAN_EMUL_FAULT: nccl:N  the N-th group fails; nccl_hang:N  it never ends; nccl_wrong:N
 * the N-th message has a wrong byte; nccl_device  the communicator is refused. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "support/emul/card.h"
#include "support/emul/fault.h"

#define SEEN __attribute__((visibility("default")))
#define ALSO(name) __attribute__((visibility("default"), alias(#name)))

enum { FINE = 0, INTERNAL = 3, INVALID_ARGUMENT = 4, INVALID_USAGE = 5 };
enum { RANKS = 64, WAITING = 4096, PATH = 512 };

struct id {
    char bytes[128];
};

struct comm {
    struct card *card;
    int rank, n;
    struct comm **all; /* of a process that has all of them; NULL: a folder */
    char folder[128];
    unsigned sent[RANKS], received[RANKS]; /* messages so far */
};

struct message {
    struct comm *comm;
    int peer;
    bool receives;
    char *bytes;
    size_t n;
    bool matched;
};

static struct message waiting[WAITING];
static unsigned n_waiting, depth, groups, messages;

/* Whether the fault "name", or "name:n" of this n, is asked for. */
static bool strikes(const char *name, unsigned n)
{
    const char *asked = fault_asked(name);
    return asked && (!*asked || strtoul(asked, NULL, 10) == n);
}

/* ---- communicators ---- */

SEEN int ncclGetVersion(int *version)
{
    *version = 22809;
    return FINE;
}

SEEN const char *ncclGetErrorString(int code)
{
    return code == INTERNAL        ? "internal error"
           : code == INVALID_USAGE ? "invalid usage"
                                   : "invalid argument";
}

static struct comm *make(struct card *card, int n, int rank)
{
    struct comm *comm = calloc(1, sizeof *comm);
    if (!card || n < 1 || n > RANKS || rank < 0 || rank >= n || strikes("nccl_device", 0)) {
        free(comm);
        return NULL;
    }
    comm->card = card;
    comm->n = n;
    comm->rank = rank;
    return comm;
}

SEEN int ncclCommInitAll(void **comms, int n, const int *devices)
{
    struct comm **all = calloc(RANKS, sizeof(struct comm *));
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < i; j++)
            if (devices[i] == devices[j])
                return INVALID_USAGE; /* duplicate GPU */
        comms[i] = all[i] = make(card_of(CARD_FIRST + devices[i]), n, i);
        if (!all[i])
            return INVALID_USAGE;
        all[i]->all = all;
    }
    return FINE;
}

SEEN int ncclGetUniqueId(struct id *id)
{
    const char *folder = getenv("TMPDIR");
    snprintf(id->bytes, sizeof id->bytes, "%s/look-alike-nccl-XXXXXX",
             folder ? folder : "/tmp");
    return mkdtemp(id->bytes) ? FINE : INTERNAL;
}

static bool is_there(const char *path)
{
    struct stat facts;
    return stat(path, &facts) == 0;
}

/* Half a minute: a rank that has failed does not come. */
static bool wait_for(const char *path)
{
    const struct timespec pause = {.tv_nsec = 100000};
    for (unsigned i = 0; i < 300000; i++) {
        if (is_there(path))
            return true;
        nanosleep(&pause, NULL);
    }
    return false;
}

SEEN int ncclCommInitRank(void **comm, int n, struct id id, int rank)
{
    struct comm *made = make(card_now(), n, rank);
    char path[PATH];
    if (!made || !is_there(id.bytes)) {
        free(made);
        return INVALID_USAGE;
    }
    snprintf(made->folder, sizeof made->folder, "%s", id.bytes);
    for (int i = -1; i < n; i++) { /* own first, then the others' */
        snprintf(path, sizeof path, "%s/rank-%d-of-%d", made->folder, i < 0 ? rank : i, n);
        FILE *file = i < 0 ? fopen(path, "w") : NULL;
        if (i < 0 && (!file || fclose(file) != 0))
            return INTERNAL;
        if (i >= 0 && !wait_for(path))
            return INTERNAL;
    }
    *comm = made;
    return FINE;
}

SEEN int ncclCommDestroy(void *made)
{
    struct comm *comm = made;
    char path[PATH];
    if (comm->all && comm->rank == 0)
        free(comm->all);
    if (!comm->all &&
        comm->rank == 0) /* the others may look for it still: by number, at last */
        for (int i = 0; i < comm->n; i++) {
            snprintf(path, sizeof path, "%s/left-%d", comm->folder, i);
            if (i > 0 && !wait_for(path))
                return INTERNAL;
            unlink(path);
            snprintf(path, sizeof path, "%s/rank-%d-of-%d", comm->folder, i, comm->n);
            unlink(path);
        }
    if (!comm->all && comm->rank == 0)
        rmdir(comm->folder);
    if (!comm->all && comm->rank > 0) {
        snprintf(path, sizeof path, "%s/left-%d", comm->folder, comm->rank);
        FILE *file = fopen(path, "w");
        if (file)
            fclose(file);
    }
    free(comm);
    return FINE;
}

SEEN int ncclCommAbort(void *made)
{
    struct comm *comm = made;
    card_hang(comm->card, false);
    return FINE; /* what is left of it goes with the process */
}

/* ---- messages ---- */

static int add(struct comm *comm, bool receives, const char *bytes, size_t n, int type,
               int peer, const void *stream)
{
    if (!comm || depth == 0 || stream || (type != 0 && type != 1) || peer < 0 ||
        peer >= comm->n || n == 0)
        return INVALID_ARGUMENT;
    if (comm->card != card_now() || !card_has(comm->card, (uintptr_t)bytes, n))
        return INVALID_USAGE;
    if (n_waiting == WAITING)
        return INTERNAL;
    waiting[n_waiting++] = (struct message){
        comm, peer, receives, card_bytes(comm->card, (uintptr_t)bytes), n, false};
    return FINE;
}

SEEN int ncclSend(const void *from, size_t n, int type, int peer, void *comm, void *stream)
{
    return add(comm, false, from, n, type, peer, stream);
}

SEEN int ncclRecv(void *to, size_t n, int type, int peer, void *comm, void *stream)
{
    return add(comm, true, to, n, type, peer, stream);
}

SEEN int ncclAlltoAll(const void *from, void *to, size_t n, int type, void *made, void *stream)
{
    struct comm *comm = made;
    cards_count(COUNT_ALL_TO_ALL, n * (size_t)comm->n);
    for (int peer = 0; peer < comm->n; peer++) {
        int code =
            add(comm, false, (const char *)from + (size_t)peer * n, n, type, peer, stream);
        if (code == FINE)
            code = add(comm, true, (char *)to + (size_t)peer * n, n, type, peer, stream);
        if (code != FINE)
            return code;
    }
    return FINE;
}
ALSO(ncclAlltoAll)
int ncclAllToAll(const void *from, void *to, size_t n, int type, void *made, void *stream);

/* ---- groups ---- */

SEEN int ncclGroupStart(void)
{
    depth++;
    return FINE;
}

/* What is sent was written by what the sender's card began before. */
static void send_out(struct message *m)
{
    card_finish(m->comm->card);
    messages++;
    if (strikes("nccl_wrong", messages))
        m->bytes[0] ^= 0x10;
    if (m->peer != m->comm->rank)
        cards_count(COUNT_SENT, m->n);
}

static void path_of(char path[PATH], const struct comm *comm, int from, int to, unsigned number)
{
    snprintf(path, PATH, "%s/%d-%d-%u", comm->folder, from, to, number);
}

static int write_message(struct message *m)
{
    char path[PATH], made[PATH + 8];
    struct comm *comm = m->comm;
    path_of(path, comm, comm->rank, m->peer, comm->sent[m->peer]++);
    snprintf(made, sizeof made, "%s.new", path);
    FILE *file = fopen(made, "wb");
    if (!file)
        return INTERNAL;
    size_t n = fwrite(m->bytes, 1, m->n, file);
    if (fclose(file) != 0 || n != m->n || rename(made, path) != 0)
        return INTERNAL;
    return FINE;
}

/* Exactly as many bytes as are expected. */
static int read_message(struct message *m)
{
    char path[PATH];
    struct comm *comm = m->comm;
    path_of(path, comm, m->peer, comm->rank, comm->received[m->peer]++);
    FILE *file = wait_for(path) ? fopen(path, "rb") : NULL;
    if (!file)
        return INTERNAL;
    card_finish(comm->card);
    size_t n = fread(m->bytes, 1, m->n, file);
    bool whole = n == m->n && fgetc(file) == EOF;
    fclose(file);
    unlink(path);
    return whole ? FINE : INVALID_ARGUMENT;
}

/* The first receive of the pair that nothing has come for. */
static int match(const struct message *from)
{
    struct comm *target = from->comm->all[from->peer];
    for (unsigned i = 0; i < n_waiting; i++) {
        struct message *to = &waiting[i];
        if (!to->receives || to->matched || to->comm != target || to->peer != from->comm->rank)
            continue;
        if (to->n != from->n)
            return INVALID_ARGUMENT;
        to->matched = true;
        card_later(target->card, (struct later){to->bytes, from->bytes, to->n, 0});
        return FINE;
    }
    return INVALID_ARGUMENT;
}

static int perform_all(void)
{
    int code = FINE;
    for (unsigned i = 0; code == FINE && i < n_waiting; i++)
        if (!waiting[i].receives) {
            send_out(&waiting[i]);
            code = waiting[i].comm->all ? match(&waiting[i]) : write_message(&waiting[i]);
        }
    for (unsigned i = 0; code == FINE && i < n_waiting; i++)
        if (waiting[i].receives) {
            bool here = waiting[i].comm->all;
            code = here ? (waiting[i].matched ? FINE : INVALID_ARGUMENT)
                        : read_message(&waiting[i]);
        }
    return code;
}

SEEN int ncclGroupEnd(void)
{
    if (depth == 0)
        return INVALID_USAGE;
    if (--depth > 0)
        return FINE;
    groups++;
    int code = strikes("nccl", groups) ? INTERNAL : perform_all();
    if (strikes("nccl_hang", groups) && n_waiting > 0)
        card_hang(waiting[0].comm->card, true);
    n_waiting = 0;
    return code;
}

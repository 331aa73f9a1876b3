/* The MPI transport's exchange beside a bare MPI_Alltoallv of the same bytes, taken in turns:
 * rank 0 prints the ratio, at most 1.5. Start it under mpirun. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"
#include "exec/session.h"

enum { SAMPLES = 41, MOST_RANKS = 64 };

struct pattern {
    uint64_t bytes[MOST_RANKS], at[MOST_RANKS];
    int counts[MOST_RANKS], places[MOST_RANKS];
    char *send, *receive;
};

static int make_pattern(struct pattern *p, int ranks, int each)
{
    p->send = calloc((size_t)ranks, (size_t)each);
    p->receive = calloc((size_t)ranks, (size_t)each);
    for (int i = 0; i < ranks; i++) {
        p->bytes[i] = (uint64_t)each;
        p->at[i] = (uint64_t)i * (uint64_t)each;
        p->counts[i] = each;
        p->places[i] = i * each;
    }
    return p->send && p->receive;
}

static double time_ours(struct transport *t, const struct pattern *p, struct err *err)
{
    struct parcel parcel = {.send = p->send,
                            .receive = p->receive,
                            .send_bytes = p->bytes,
                            .send_at = p->at,
                            .receive_bytes = p->bytes,
                            .receive_at = p->at};
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = bench_now_s();
    if (t->ops->exchange(t, &parcel, err) != STATUS_OK)
        return 1e9;
    return bench_now_s() - begin;
}

static double time_bare(const struct pattern *p)
{
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = bench_now_s();
    MPI_Alltoallv(p->send, p->counts, p->places, MPI_BYTE, p->receive, p->counts, p->places,
                  MPI_BYTE, MPI_COMM_WORLD);
    return bench_now_s() - begin;
}

static void compare(struct bench *bench, struct transport *t, int each, const char *name,
                    struct err *err)
{
    static struct pattern p;
    double ours[SAMPLES], bare[SAMPLES];
    if (!make_pattern(&p, (int)t->n_ranks, each))
        return;
    for (int i = 0; i < SAMPLES; i++) {
        ours[i] = time_ours(t, &p, err);
        bare[i] = time_bare(&p);
    }
    if (t->first == 0)
        bench_row(bench, name, bench_ratio(ours, bare, SAMPLES), "x bare", BENCH_AT_MOST, 1.5);
    free(p.send);
    free(p.receive);
}

int main(int argc, char **argv)
{
    struct bench bench = {0};
    struct session session;
    struct err err = {0};
    char *end = NULL;
    struct session_options options = {.transport = TRANSPORT_MPI,
                                      .ranks = argc > 1 ? strtoul(argv[1], &end, 10) : 2,
                                      .workers = 1};
    if (session_open(&session, &options, &err) == STATUS_OK &&
        session_setup(&session, 16 << 20, &err) == STATUS_OK) {
        compare(&bench, session.transport, 64 << 10, "dispatch, 64 KiB a peer", &err);
        compare(&bench, session.transport, 1 << 20, "dispatch, 1 MiB a peer", &err);
        compare(&bench, session.transport, 8 << 20, "dispatch, 8 MiB a peer", &err);
    }
    if (err.status != STATUS_OK)
        err_print(&err, stderr);
    session_close(&session);
    return err.status == STATUS_OK ? bench_status(&bench) : 1;
}

#include "cli/ranks.h"

#include "base/topology.h"
#include "cli/embedded.h"
#include "cli/report.h"
#include "io/digests.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static geodec_comm *joined;

/* The driver lies in ../lib of the tools' folder, in the build and after an installation; GEODEC_MPI names another. */
static geodec_status driver_path(char *path, size_t room, geodec_err *err)
{
    const char *named = getenv("GEODEC_MPI");
    if (named && *named) {
        (void)snprintf(path, room, "%s", named);
        return GEODEC_OK;
    }
    char own[4096];
    embedded_program_folder(own, sizeof own);
    char *slash = strrchr(own, '/');
    if (!slash) GEODEC_FAIL(GEODEC_NOTFOUND, "--mpi: the tool's folder is unknown; GEODEC_MPI names libgeodec-mpi.so");
    *slash = '\0';
    (void)snprintf(path, room, "%s/lib/libgeodec-mpi.so", own);
    return GEODEC_OK;
}

geodec_status ranks_begin(const cli *c, bool mpi, geodec_comm **comm, geodec_err *err)
{
    char path[4200];
    if (!mpi) return GEODEC_OK;
    GEODEC_PASS(driver_path(path, sizeof path, err));
    /* Open MPI's own waits, at the start and the end, give the processor to other ranks, too */
    (void)setenv("OMPI_MCA_mpi_yield_when_idle", "1", 0);
    GEODEC_PASS_MSG(geodec_comm_load(path, &c->hooks, &joined, err), "--mpi");
    *comm = joined;
    if (geodec_comm_rank(joined) == 0)
        cli_say(c, "%d ranks (%s), %lld threads each", geodec_comm_size(joined), geodec_comm_about(joined),
                (long long)c->threads);
    return GEODEC_OK;
}

geodec_status ranks_inputs(geodec_comm *comm, geodec_status (*fn)(void *ctx, geodec_err *err), void *ctx,
                           geodec_err *err)
{
    static geodec_digest list[GEODEC_DIGESTS_MAX];
    const bool first = geodec_comm_rank(comm) == 0;
    geodec_status st = GEODEC_OK;
    int32_t n = 0;
    if (!comm) return fn(ctx, err);
    if (first) {
        geodec_digests_note();
        st = fn(ctx, err);
        n = geodec_digests_noted(list);
    }
    GEODEC_PASS(geodec_comm_agree(comm, st, err));
    GEODEC_PASS(geodec_comm_broadcast(comm, &n, sizeof n, err));
    GEODEC_PASS(geodec_comm_broadcast(comm, list, n * (int64_t)sizeof *list, err));
    geodec_digests_trust(n, list);
    return geodec_comm_agree(comm, first ? GEODEC_OK : fn(ctx, err), err);
}

int64_t ranks_threads(int usable)
{
    /* ranks of the job on this machine: Open MPI, then MPICH and Intel MPI */
    static const char *const names[] = {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"};
    /* a quota of the job's group is shared by its ranks; a narrower mask says that the launcher has bound the rank */
    if (geodec_topology_cpus_count() < (int)sysconf(_SC_NPROCESSORS_ONLN)) return usable;
    for (int i = 0; i < 2; i++) {
        const char *text = getenv(names[i]);
        const long ranks = text ? strtol(text, NULL, 10) : 0;
        if (ranks > 1) return usable > ranks ? usable / ranks : 1;
    }
    return usable;
}

bool ranks_silent(void) { return geodec_comm_rank(joined) > 0; }

bool ranks_name(char *text, size_t n)
{
    if (!joined) return false;
    (void)snprintf(text, n, "rank %d of %d on %s", geodec_comm_rank(joined), geodec_comm_size(joined),
                   geodec_comm_host(joined));
    return true;
}

bool ranks_report(geodec_status st)
{
    static const struct timespec moment = {0, 50000000};
    if (geodec_comm_rank(joined) == 0) return true;
    if (geodec_comm_agreed(joined)) return false;
    for (int i = 0; i < 60 && st != GEODEC_INTERRUPTED; i++) {
        (void)nanosleep(&moment, NULL);
        if (report_stop_asked()) return false; /* rank 0 has ended the job */
    }
    return true;
}

void ranks_end(geodec_status st)
{
    if (!joined) return;
    if (st != GEODEC_OK && !geodec_comm_agreed(joined)) {
        (void)fflush(stderr);
        geodec_comm_abort(joined, geodec_status_exit(st));
    }
    geodec_comm_close(joined);
    joined = NULL;
}

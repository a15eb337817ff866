/* --mpi: the tool runs as one of the ranks of a job that mpirun has started.
 *
 *     static bool mpi;                                      options: CLI_MPI_OPTION(mpi, "texts"),
 *     GEODEC_TRY(ranks_begin(c, mpi, &comm, err));          run: before the work; comm stays NULL without --mpi
 *
 * Rank 0 alone prints summaries and writes the output. cli_main ends the job: it prints an error on which all ranks
 * agree once, and names rank and host in an error of one rank, which stops the others. */
#ifndef GEODEC_TOOLS_CLI_RANKS_H
#define GEODEC_TOOLS_CLI_RANKS_H

#include "cli/cli.h"
#include "cluster/comm.h"

#define CLI_MPI_OPTION(var, items)                                                                                     \
    OPT_FLAG("mpi", 0, &(var), "run as a rank of an MPI job (mpirun), which divides the " items " among its ranks",    \
             .flags = CLI_VOLATILE)

geodec_status ranks_begin(const cli *c, bool mpi, geodec_comm **comm, geodec_err *err) GEODEC_MUST_USE;
/* Reads the inputs on every rank with fn, which returns when their digests are known. Rank 0 comes first and computes
 * the digests; the other ranks take them over for files of the same path, size and time. The ranks agree on the status.
 * Without a job (NULL) it calls fn. */
geodec_status ranks_inputs(geodec_comm *comm, geodec_status (*fn)(void *ctx, geodec_err *err), void *ctx,
                           geodec_err *err) GEODEC_MUST_USE;
/* For cli_main: processors for each rank on this machine, of `usable` ones. */
int64_t ranks_threads(int usable);
/* Whether this process is a rank other than 0. */
bool ranks_silent(void);
/* Whether it is a rank at all, and its name: "rank 2 of 4 on host". */
bool ranks_name(char *text, size_t n);
/* Whether cli_main prints the error. An error of several ranks that none of them knows of is printed by rank 0 alone:
 * the others wait for a moment, in which rank 0 ends the job. */
bool ranks_report(geodec_status st);
/* Leaves the job, or ends it if this rank alone failed. */
void ranks_end(geodec_status st);

#endif

/* The ranks of a job: processes that divide a computation and pass messages. A NULL geodec_comm is a job of one
 * process; all functions accept it, and none then does anything but copy.
 *
 * Collective functions are called by all ranks in the same order. Waiting yields the processor, so that more ranks than
 * processors cost little, and it asks the progress hook: an interrupted rank returns GEODEC_INTERRUPTED. A rank that
 * fails alone must end the job (geodec_comm_abort), because the others wait for it. Errors of transfers: GEODEC_IO. */
#ifndef GEODEC_CLUSTER_COMM_H
#define GEODEC_CLUSTER_COMM_H

#include "base/err.h"
#include "base/hooks.h"
#include "cluster/driver.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct geodec_comm geodec_comm;

/* Joins the job through a driver, which outlives the communicator. hooks (copied, NULL allowed) serve the waits. */
geodec_status geodec_comm_open(const geodec_driver *driver, const geodec_hooks *hooks, geodec_comm **out,
                               geodec_err *err) GEODEC_MUST_USE;
/* As geodec_comm_open, through the driver in a shared object. GEODEC_NOTFOUND: there is no such file;
 * GEODEC_UNSUPPORTED: it cannot be loaded, or is of another version. */
geodec_status geodec_comm_load(const char *path, const geodec_hooks *hooks, geodec_comm **out,
                               geodec_err *err) GEODEC_MUST_USE;
/* Leaves the job. */
void geodec_comm_close(geodec_comm *c);
/* Ends all ranks of the job with this exit code; returns only for NULL. */
void geodec_comm_abort(geodec_comm *c, int code);

int geodec_comm_rank(const geodec_comm *c);
int geodec_comm_size(const geodec_comm *c);
const char *geodec_comm_host(const geodec_comm *c);
const char *geodec_comm_about(const geodec_comm *c);
/* Items first .. end-1 of n that a rank owns: n rank / size, rounded down. */
void geodec_comm_range(const geodec_comm *c, int64_t n, int rank, int64_t *first, int64_t *end);

/* A transfer under way. */
enum { GEODEC_COMM_PIECES = 64 }; /* of GEODEC_DRIVER_MESSAGE bytes */
typedef struct geodec_comm_transfer {
    int n;
    void *request[GEODEC_COMM_PIECES];
} geodec_comm_transfer;
/* Both sides give the same number of bytes; 0 is allowed. GEODEC_LIMIT above 64 GiB. */
geodec_status geodec_comm_send(geodec_comm *c, int to, const void *data, int64_t bytes, geodec_comm_transfer *t,
                               geodec_err *err) GEODEC_MUST_USE;
geodec_status geodec_comm_receive(geodec_comm *c, int from, void *data, int64_t bytes, geodec_comm_transfer *t,
                                  geodec_err *err) GEODEC_MUST_USE;
/* Moves the transfer on without waiting; whether it has ended. */
geodec_status geodec_comm_poll(geodec_comm *c, geodec_comm_transfer *t, bool *ended, geodec_err *err) GEODEC_MUST_USE;
geodec_status geodec_comm_wait(geodec_comm *c, geodec_comm_transfer *t, geodec_err *err) GEODEC_MUST_USE;

/* Collective. `data` of rank 0 to all. */
geodec_status geodec_comm_broadcast(geodec_comm *c, void *data, int64_t bytes, geodec_err *err) GEODEC_MUST_USE;
/* Collective. own [bytes] of every rank into all [size][bytes] of every rank. */
geodec_status geodec_comm_share(geodec_comm *c, const void *own, int64_t bytes, void *all,
                                geodec_err *err) GEODEC_MUST_USE;
/* Collective. Returns when all ranks have called it. */
geodec_status geodec_comm_barrier(geodec_comm *c, geodec_err *err) GEODEC_MUST_USE;
/* Collective. All ranks return the same status: GEODEC_OK, or that of the lowest rank that failed, whose message names
 * rank and host in err of the others. */
geodec_status geodec_comm_agree(geodec_comm *c, geodec_status st, geodec_err *err) GEODEC_MUST_USE;
/* Whether the last error is one that all ranks agreed on. */
bool geodec_comm_agreed(const geodec_comm *c);

#endif

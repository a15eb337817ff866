/* The driver of MPI: a shared object of its own, so that only a job of several ranks loads MPI. It uses MPI-2 alone. */
#include "cluster/driver.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TAG = 17 };

static struct {
    int rank, size;
    char host[MPI_MAX_PROCESSOR_NAME + 1], about[MPI_MAX_LIBRARY_VERSION_STRING + 1];
} job;

static int start(void **state)
{
    int provided, n, code = MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided);
    if (code != MPI_SUCCESS) return code;
    (void)MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if ((code = MPI_Comm_rank(MPI_COMM_WORLD, &job.rank)) != MPI_SUCCESS) return code;
    if ((code = MPI_Comm_size(MPI_COMM_WORLD, &job.size)) != MPI_SUCCESS) return code;
    if ((code = MPI_Get_processor_name(job.host, &n)) != MPI_SUCCESS) return code;
    (void)MPI_Get_library_version(job.about, &n);
    job.about[strcspn(job.about, ",\n")] = '\0';
    *state = &job;
    return 0;
}

static void stop(void *state)
{
    (void)state;
    (void)MPI_Finalize();
}

static int rank(const void *state)
{
    (void)state;
    return job.rank;
}

static int size(const void *state)
{
    (void)state;
    return job.size;
}

static const char *host(const void *state)
{
    (void)state;
    return job.host;
}

static const char *about(const void *state)
{
    (void)state;
    return job.about;
}

static int begin(int sends, int other, void *data, int64_t bytes, void **request)
{
    MPI_Request *r = malloc(sizeof *r);
    if (!r) return MPI_ERR_NO_MEM;
    const int code = sends ? MPI_Isend(data, (int)bytes, MPI_BYTE, other, TAG, MPI_COMM_WORLD, r)
                           : MPI_Irecv(data, (int)bytes, MPI_BYTE, other, TAG, MPI_COMM_WORLD, r);
    if (code == MPI_SUCCESS)
        *request = r;
    else
        free(r);
    return code;
}

static int send_begin(void *state, int to, const void *data, int64_t bytes, void **request)
{
    void *own;
    (void)state;
    memcpy(&own, &data, sizeof own); /* MPI-2 takes no const */
    return begin(1, to, own, bytes, request);
}

static int receive_begin(void *state, int from, void *data, int64_t bytes, void **request)
{
    (void)state;
    return begin(0, from, data, bytes, request);
}

static int test(void *state, void **request, int *done)
{
    (void)state;
    const int code = MPI_Test(*request, done, MPI_STATUS_IGNORE);
    if (code == MPI_SUCCESS && *done) {
        free(*request);
        *request = NULL;
    }
    return code;
}

static void end(void *state, int code)
{
    (void)state;
    (void)MPI_Abort(MPI_COMM_WORLD, code);
}

static void text(int code, char out[GEODEC_DRIVER_TEXT])
{
    char full[MPI_MAX_ERROR_STRING + 1] = "unknown error";
    int n;
    (void)MPI_Error_string(code, full, &n);
    (void)snprintf(out, GEODEC_DRIVER_TEXT, "%s", full);
}

__attribute__((visibility("default"))) const geodec_driver *geodec_mpi_driver(void);
const geodec_driver *geodec_mpi_driver(void)
{
    static const geodec_driver driver = {GEODEC_DRIVER_VERSION, start, stop, rank, size, host, about, send_begin,
                                         receive_begin,         test,  end,  text};
    return &driver;
}

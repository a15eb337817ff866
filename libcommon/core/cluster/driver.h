/* What a message-passing library provides to geodec_comm. The driver of MPI is a shared object (mpi/driver_mpi.c) that
 * exports geodec_mpi_driver and uses nothing of this library; tests pass messages between threads.
 *
 * Messages between two ranks arrive in the order in which they are sent. The receiver knows their size. Functions
 * return 0 or an error code. */
#ifndef GEODEC_CLUSTER_DRIVER_H
#define GEODEC_CLUSTER_DRIVER_H

#include <stdint.h>

enum { GEODEC_DRIVER_VERSION = 1, GEODEC_DRIVER_TEXT = 200, GEODEC_DRIVER_MESSAGE = 1 << 30 };

typedef struct geodec_driver {
    int version; /* GEODEC_DRIVER_VERSION */
    /* Joins the job. *state is passed to the other functions. */
    int (*start)(void **state);
    void (*stop)(void *state);
    int (*rank)(const void *state);
    int (*size)(const void *state);
    const char *(*host)(const void *state);
    const char *(*about)(const void *state); /* name and version of the library */
    /* Begin a transfer of at most GEODEC_DRIVER_MESSAGE bytes. The memory must not be touched until it has ended. */
    int (*send)(void *state, int to, const void *data, int64_t bytes, void **request);
    int (*receive)(void *state, int from, void *data, int64_t bytes, void **request);
    /* Sets *done if the transfer has ended, and frees the request. Never waits. */
    int (*test)(void *state, void **request, int *done);
    /* Ends all ranks of the job. Does not return. */
    void (*end_all)(void *state, int code);
    void (*text)(int code, char text[GEODEC_DRIVER_TEXT]); /* of an error code */
} geodec_driver;

/* The type of the exported function. */
typedef const geodec_driver *(*geodec_driver_entry)(void);

#endif

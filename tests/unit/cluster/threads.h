/* A job whose ranks are threads: messages are copied through queues. */
#ifndef GEODEC_TESTS_THREADS_H
#define GEODEC_TESTS_THREADS_H

#include "cluster/comm.h"

/* Runs fn on `size` ranks at the same time and waits for all. */
void threads_run(int size, void (*fn)(geodec_comm *c, void *ctx), void *ctx);

#endif

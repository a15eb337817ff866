/* Which processors this process may use, and in which order a pool should take them. Linux: the scheduler's mask and
 * the kernel's description of the machine in /sys/devices/system. */
#ifndef GEODEC_BASE_TOPOLOGY_H
#define GEODEC_BASE_TOPOLOGY_H

#include "base/err.h"

typedef struct geodec_cpu {
    int number;  /* as the kernel counts */
    int package; /* socket; 0 when unknown */
    int node;    /* NUMA node; 0 when unknown */
    int core;    /* lowest-numbered hyperthread of the same core */
    int rank;    /* among the processors of its node with the same `thread`; set by geodec_topology_cpus_order */
    int thread;  /* 0 for the first usable hyperthread of its core, 1 for the second, ... */
} geodec_cpu;

/* Processors in the caller's scheduling mask (a cpuset or taskset narrows it), ascending; *out is the caller's to free
 * with geodec_mem_free. sysfs NULL = /sys/devices/system; what cannot be read there counts as unknown. */
GEODEC_API geodec_status geodec_topology_cpus_usable(const char *sysfs, geodec_cpu **out, int *n,
                                                     geodec_err *err) GEODEC_MUST_USE;
/* The number of them; at least 1. */
GEODEC_API int geodec_topology_cpus_count(void);

/* Puts the processors that `threads` workers should take in front, in the workers' order: physical cores before second
 * hyperthreads, equal shares of the nodes; the workers of a node have consecutive numbers, so that a contiguous range
 * of workers shares memory. */
GEODEC_API void geodec_topology_cpus_order(geodec_cpu *cpu, int n, int threads);
/* The processor of a worker after that; several workers share one when there are more of them. */
GEODEC_API const geodec_cpu *geodec_topology_cpus_of_worker(const geodec_cpu *cpu, int n, int threads, int worker);

#endif

/* The processors this process may use, and the order in which a pool takes them. Linux: the scheduler's mask and the
 * kernel's description of the machine in /sys/devices/system. */
#ifndef GEODEC_BASE_TOPOLOGY_H
#define GEODEC_BASE_TOPOLOGY_H

#include "base/err.h"

typedef struct geodec_cpu {
    int number;  /* in the kernel's numbering */
    int package; /* socket; 0 when unknown */
    int node;    /* NUMA node; 0 when unknown */
    int core;    /* lowest-numbered hyperthread of the same core */
    int rank;    /* among the processors of its node with the same `thread`; set by geodec_topology_cpus_order */
    int thread;  /* 0 for the first usable hyperthread of its core, 1 for the second, ... */
} geodec_cpu;

/* Processors in the caller's scheduling mask (a cpuset or taskset narrows it), ascending; the caller frees *out with
 * geodec_mem_free. sysfs NULL = /sys/devices/system; values that cannot be read there are unknown. */
geodec_status geodec_topology_cpus_usable(const char *sysfs, geodec_cpu **out, int *n, geodec_err *err) GEODEC_MUST_USE;
/* The number of processors in the mask; at least 1. */
int geodec_topology_cpus_count(void);

/* The processors that the time of this process's control groups is worth, along all groups above it, versions 1 and 2,
 * rounded up; 0: no quota. root: "" for this machine; tests give a folder that contains proc and sys. */
int geodec_topology_quota(const char *root);
/* The number of workers that can run at the same time: the lesser of the mask and the quota; at least 1. */
int geodec_topology_usable(void);

/* Orders the processors by worker, with those for `threads` workers first: physical cores come before second
 * hyperthreads, and each NUMA node has an equal share. The workers of a node have consecutive numbers, so that a
 * contiguous range of workers shares memory. */
void geodec_topology_cpus_order(geodec_cpu *cpu, int n, int threads);
/* The processor of a worker after geodec_topology_cpus_order; processors are shared when there are more workers. */
const geodec_cpu *geodec_topology_cpus_of_worker(const geodec_cpu *cpu, int n, int threads, int worker);

#endif

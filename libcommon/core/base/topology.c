#include "base/topology.h"

#include "base/control_group.h"
#include "base/mem.h"

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_CPUS = 1 << 14, MAX_NODES = 1 << 10 };

/* ---- the mask --------------------------------------------------------------------------------------------------- */

/* The scheduler's mask, of the size that the kernel uses; NULL if it cannot be read. */
static cpu_set_t *read_mask(size_t *bytes)
{
    for (int most = 1024; most <= MAX_CPUS; most *= 2) {
        cpu_set_t *set = CPU_ALLOC((size_t)most);
        if (!set) return NULL;
        *bytes = CPU_ALLOC_SIZE((size_t)most);
        if (sched_getaffinity(0, *bytes, set) == 0) return set;
        CPU_FREE(set);
    }
    return NULL;
}

int geodec_topology_cpus_count(void)
{
    size_t bytes;
    cpu_set_t *set = read_mask(&bytes);
    int n = 0;
    if (set) {
        n = CPU_COUNT_S(bytes, set);
        CPU_FREE(set);
    }
    if (n < 1) n = (int)sysconf(_SC_NPROCESSORS_ONLN);
    return n < 1 ? 1 : n;
}

/* ---- the quota -------------------------------------------------------------------------------------------------- */

/* quota / period, rounded up; 0: none. */
static int quota_of(const char *folder, int version)
{
    int64_t quota = -1, period = -1;
    if (version == 2) {
        char path[GEODEC_CONTROL_GROUP_PATH + 16], line[64];
        (void)snprintf(path, sizeof path, "%s/cpu.max", folder);
        long long q, p;
        FILE *f = fopen(path, "re");
        if (f && fgets(line, sizeof line, f) && sscanf(line, "%lld %lld", &q, &p) == 2) {
            quota = q;
            period = p;
        }
        if (f) (void)fclose(f);
    } else {
        quota = geodec_control_group_number(folder, "cpu.cfs_quota_us"); /* -1: none */
        period = geodec_control_group_number(folder, "cpu.cfs_period_us");
    }
    if (quota <= 0 || period <= 0 || quota / period > MAX_CPUS) return 0;
    return (int)((quota + period - 1) / period);
}

int geodec_topology_quota(const char *root)
{
    int least = 0;
    geodec_control_group g;
    for (int version = 1; version <= 2; version++) {
        geodec_control_group_find(root, "cpu", version, &g);
        for (int i = 0; i < g.n; i++) {
            const int q = quota_of(g.folder[i], version);
            if (q > 0 && (least == 0 || q < least)) least = q;
        }
    }
    return least;
}

int geodec_topology_usable(void)
{
    const int mask = geodec_topology_cpus_count(), quota = geodec_topology_quota("");
    return quota > 0 && quota < mask ? quota : mask;
}

/* ---- the kernel's description ----------------------------------------------------------------------------------- */

/* First line of a small file; false when there is none. */
static bool read_line(const char *path, char *line, int size)
{
    FILE *f = fopen(path, "re");
    if (!f) return false;
    const bool ok = fgets(line, size, f) != NULL;
    (void)fclose(f);
    return ok;
}

static int read_number(const char *path, int otherwise)
{
    char line[64];
    return read_line(path, line, sizeof line) ? atoi(line) : otherwise;
}

/* Next range of a list like 0-3,8,10-11; NULL at its end or at a malformed range. */
static const char *next_range(const char *at, int *first, int *last)
{
    char *end;
    while (*at == ',' || *at == ' ') at++;
    long a = strtol(at, &end, 10), b = a;
    if (end == at) return NULL;
    if (*end == '-') {
        at = end + 1;
        b = strtol(at, &end, 10);
        if (end == at) return NULL;
    }
    if (a < 0 || b < a || b >= MAX_CPUS) return NULL;
    *first = (int)a;
    *last = (int)b;
    return end;
}

/* Core and hyperthread of each processor, from the lists of siblings; siblings outside the mask do not count. */
static void read_core(const char *sysfs, geodec_cpu *cpu, int n, int i)
{
    char path[512], list[4096];
    int first, last;
    (void)snprintf(path, sizeof path, "%s/cpu/cpu%d/topology/physical_package_id", sysfs, cpu[i].number);
    cpu[i].package = read_number(path, 0);
    cpu[i].core = cpu[i].number;
    (void)snprintf(path, sizeof path, "%s/cpu/cpu%d/topology/thread_siblings_list", sysfs, cpu[i].number);
    if (!read_line(path, list, sizeof list)) return;
    for (const char *at = list; (at = next_range(at, &first, &last));) {
        if (first < cpu[i].core) cpu[i].core = first;
        for (int j = 0; j < n && cpu[j].number < cpu[i].number; j++)
            if (cpu[j].number >= first && cpu[j].number <= last) cpu[i].thread++;
    }
}

static void read_nodes(const char *sysfs, geodec_cpu *cpu, int n)
{
    char path[512], nodes[4096], list[4096];
    int first, last, from, to;
    (void)snprintf(path, sizeof path, "%s/node/online", sysfs);
    if (!read_line(path, nodes, sizeof nodes)) return;
    for (const char *at = nodes; (at = next_range(at, &first, &last));)
        for (int node = first; node <= last && node < MAX_NODES; node++) {
            (void)snprintf(path, sizeof path, "%s/node/node%d/cpulist", sysfs, node);
            if (!read_line(path, list, sizeof list)) continue;
            for (const char *c = list; (c = next_range(c, &from, &to));)
                for (int i = 0; i < n; i++)
                    if (cpu[i].number >= from && cpu[i].number <= to) cpu[i].node = node;
        }
}

geodec_status geodec_topology_cpus_usable(const char *sysfs, geodec_cpu **out, int *n, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_cpu *cpu = NULL;
    size_t bytes = 0;
    int count = 0;
    cpu_set_t *set = read_mask(&bytes);
    if (!set) GEODEC_THROW(GEODEC_UNSUPPORTED, "cannot read the processors that this process may use");
    GEODEC_NEW(cpu, CPU_COUNT_S(bytes, set) + 1);
    for (int i = 0; i < MAX_CPUS && (size_t)i < bytes * 8; i++)
        if (CPU_ISSET_S((size_t)i, bytes, set)) cpu[count++].number = i;
    if (!sysfs) sysfs = "/sys/devices/system";
    for (int i = 0; i < count; i++) read_core(sysfs, cpu, count, i);
    read_nodes(sysfs, cpu, count);
    *out = cpu;
    *n = count;
    cpu = NULL;
done:
    if (set) CPU_FREE(set);
    geodec_mem_free(cpu);
    return st;
}

/* ---- the order -------------------------------------------------------------------------------------------------- */

static int compare(int a, int b) { return (a > b) - (a < b); }

static int by_preference(const void *a, const void *b)
{
    const geodec_cpu *x = a, *y = b;
    int c = compare(x->thread, y->thread);
    if (!c) c = compare(x->rank, y->rank);
    if (!c) c = compare(x->node, y->node);
    return c ? c : compare(x->number, y->number);
}

static int by_place(const void *a, const void *b)
{
    const geodec_cpu *x = a, *y = b;
    int c = compare(x->node, y->node);
    if (!c) c = compare(x->package, y->package);
    return c ? c : compare(x->number, y->number);
}

void geodec_topology_cpus_order(geodec_cpu *cpu, int n, int threads)
{
    for (int i = 0; i < n; i++) {
        cpu[i].rank = 0;
        for (int j = 0; j < n; j++)
            cpu[i].rank +=
                cpu[j].node == cpu[i].node && cpu[j].thread == cpu[i].thread && cpu[j].number < cpu[i].number;
    }
    qsort(cpu, (size_t)n, sizeof *cpu, by_preference);
    qsort(cpu, (size_t)(threads < n ? threads : n), sizeof *cpu, by_place);
}

const geodec_cpu *geodec_topology_cpus_of_worker(const geodec_cpu *cpu, int n, int threads, int worker)
{
    return &cpu[threads > n ? (int)((int64_t)worker * n / threads) : worker];
}

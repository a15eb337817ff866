/* The thread pool at 1, 2, 3 and more workers than processors; the order of processors on described machines. */
#include "base/mem.h"
#include "base/pool.h"
#include "base/rng.h"
#include "base/topology.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- runs ------------------------------------------------------------------------------------------------------- */

typedef struct seen {
    int count[70], worker[70];
} seen;

static void note(void *ctx, int64_t task, int worker)
{
    seen *s = ctx;
    s->count[task]++;
    s->worker[task] = worker;
}

static void check_runs(const geodec_pool_options *o, int rounds)
{
    geodec_err err = {0};
    geodec_pool *pool = NULL;
    test_ok(geodec_pool_create_with(o, &pool, &err), &err);
    cr_assert_eq(geodec_pool_threads(pool), o->threads);
    /* runs of either kind in every order and length: a helper that wakes late may find another job than the one it was
     * woken for */
    geodec_rng r = geodec_rng_stream((uint64_t)o->threads, geodec_rng_id("pool", 0));
    for (int round = 0; round < rounds; round++) {
        seen s = {{0}, {0}};
        const int n = (int)geodec_rng_below(&r, 71);
        const bool dynamic = geodec_rng_below(&r, 3) != 0;
        (dynamic ? geodec_pool_run_dynamic : geodec_pool_run)(pool, n, note, &s);
        for (int i = 0; i < 70; i++) cr_assert_eq(s.count[i], i < n, "%d threads: task %d of %d", o->threads, i, n);
        for (int w = 0; w < o->threads && n > 1; w++) {
            int64_t begin, end;
            geodec_pool_range(pool, n, w, &begin, &end);
            for (int64_t i = begin; i < end && !dynamic; i++) cr_assert_eq(s.worker[i], w);
        }
        if (round % 500 == 499) (void)usleep(3000); /* long enough for the helpers to sleep */
    }
    geodec_pool_destroy(pool);
}

Test(pool, runs_each_task_once_and_static_ranges_stay_with_their_worker)
{
    static const int threads[] = {1, 2, 3, 8, 40};
    for (int i = 0; i < 5; i++) check_runs(&(geodec_pool_options){.threads = threads[i]}, threads[i] < 8 ? 3000 : 300);
}

Test(pool, refuses_impossible_numbers)
{
    geodec_err err = {0};
    geodec_pool *pool = NULL;
    cr_assert_eq(geodec_pool_create(-1, &pool, &err), GEODEC_RANGE);
    cr_assert_eq(geodec_pool_create(1025, &pool, &err), GEODEC_RANGE);
    cr_assert_null(pool);
    for (int k = 1; k < 8; k++) { /* out of memory half-way: threads that run already are joined */
        geodec_mem_fail_after(k);
        const geodec_status st = geodec_pool_create(4, &pool, &err);
        geodec_mem_fail_after(0);
        if (st == GEODEC_OK) {
            geodec_pool_destroy(pool);
            cr_assert_gt(k, 5);
            break;
        }
        cr_assert_eq(st, GEODEC_NOMEM);
    }
    cr_assert_eq(geodec_pool_threads(NULL), 1);
    cr_assert_eq(geodec_pool_cpu(NULL, 0), -1);
}

/* One task of a dynamic run takes as long as all the others together: the others are done by other workers. */
typedef struct uneven {
    atomic_int others;
    int64_t stuck;
} uneven;

static void wait_for_others(void *ctx, int64_t task, int worker)
{
    uneven *u = ctx;
    (void)worker;
    if (task != u->stuck) {
        atomic_fetch_add(&u->others, 1);
        return;
    }
    for (int ms = 0; atomic_load(&u->others) < 63 && ms < 20000; ms++) (void)usleep(1000);
}

Test(pool, tasks_of_a_busy_worker_are_taken_by_others, .timeout = 60)
{
    geodec_err err = {0};
    geodec_pool *pool = NULL;
    test_ok(geodec_pool_create(3, &pool, &err), &err);
    for (int64_t stuck = 0; stuck < 64; stuck += 9) { /* in every worker's range */
        uneven u = {.stuck = stuck};
        geodec_pool_run_dynamic(pool, 64, wait_for_others, &u);
        cr_assert_eq(atomic_load(&u.others), 63);
    }
    geodec_pool_destroy(pool);
}

/* ---- processors ------------------------------------------------------------------------------------------------- */

static void where(void *ctx, int64_t task, int worker)
{
    (void)worker;
    ((int *)ctx)[task] = sched_getcpu();
}

Test(pool, pinned_workers_stay_and_the_mask_is_respected)
{
    cpu_set_t before, after, one;
    cr_assert_eq(sched_getaffinity(0, sizeof before, &before), 0);
    geodec_err err = {0};
    geodec_pool *pool = NULL;
    test_ok(geodec_pool_create_with(&(geodec_pool_options){.pin = true}, &pool, &err), &err);
    cr_assert_eq(geodec_pool_threads(pool), CPU_COUNT(&before));
    for (int round = 0; round < 20; round++) {
        int cpu[1024];
        geodec_pool_run(pool, geodec_pool_threads(pool), where, cpu);
        for (int w = 0; w < geodec_pool_threads(pool); w++) {
            if (geodec_pool_threads(pool) > 1) cr_assert_eq(cpu[w], geodec_pool_cpu(pool, w));
            cr_assert(CPU_ISSET((size_t)geodec_pool_cpu(pool, w), &before));
        }
    }
    geodec_pool_destroy(pool);
    cr_assert_eq(sched_getaffinity(0, sizeof after, &after), 0);
    cr_assert(CPU_EQUAL(&before, &after), "the caller is free again");

    int last = 0;
    for (int i = 0; i < CPU_SETSIZE; i++)
        if (CPU_ISSET((size_t)i, &before)) last = i;
    CPU_ZERO(&one);
    CPU_SET((size_t)last, &one);
    cr_assert_eq(sched_setaffinity(0, sizeof one, &one), 0);
    cr_assert_eq(geodec_topology_cpus_count(), 1);
    test_ok(geodec_pool_create_with(&(geodec_pool_options){.pin = true}, &pool, &err), &err);
    cr_assert_eq(geodec_pool_threads(pool), 1);
    cr_assert_eq(geodec_pool_cpu(pool, 0), last);
    geodec_pool_destroy(pool);
    check_runs(&(geodec_pool_options){.threads = 3, .pin = true}, 50); /* three workers on one processor */
    cr_assert_eq(sched_setaffinity(0, sizeof before, &before), 0);
}

/* A machine described by hand: n processors, node and core of each. */
static int describe(geodec_cpu *cpu, int n, const int *node, const int *thread)
{
    for (int i = 0; i < n; i++) cpu[i] = (geodec_cpu){.number = i, .node = node[i], .thread = thread[i]};
    return n;
}

static void check_order(const geodec_cpu *machine, int n, int threads, const int *want)
{
    geodec_cpu cpu[16];
    memcpy(cpu, machine, (size_t)n * sizeof *cpu);
    geodec_topology_cpus_order(cpu, n, threads);
    for (int w = 0; w < threads; w++)
        cr_assert_eq(geodec_topology_cpus_of_worker(cpu, n, threads, w)->number, want[w],
                     "worker %d of %d: processor %d", w, threads,
                     geodec_topology_cpus_of_worker(cpu, n, threads, w)->number);
}

Test(topology, cores_before_hyperthreads_and_nodes_in_equal_shares)
{
    geodec_cpu cpu[16];
    /* two nodes of two cores; processors 4 to 7 are the second hyperthreads */
    int n = describe(cpu, 8, (const int[]){0, 0, 1, 1, 0, 0, 1, 1}, (const int[]){0, 0, 0, 0, 1, 1, 1, 1});
    check_order(cpu, n, 1, (const int[]){0});
    check_order(cpu, n, 2, (const int[]){0, 2});
    check_order(cpu, n, 3, (const int[]){0, 1, 2});
    check_order(cpu, n, 4, (const int[]){0, 1, 2, 3});
    check_order(cpu, n, 6, (const int[]){0, 1, 4, 2, 3, 6});
    check_order(cpu, n, 8, (const int[]){0, 1, 4, 5, 2, 3, 6, 7});
    /* more workers than processors: neighbours share */
    n = describe(cpu, 2, (const int[]){0, 0}, (const int[]){0, 0});
    check_order(cpu, n, 5, (const int[]){0, 0, 0, 1, 1});
    /* nodes of unequal size, hyperthreads numbered next to each other */
    n = describe(cpu, 6, (const int[]){0, 0, 0, 0, 1, 1}, (const int[]){0, 1, 0, 1, 0, 1});
    check_order(cpu, n, 3, (const int[]){0, 2, 4});
    check_order(cpu, n, 5, (const int[]){0, 1, 2, 4, 5});
}

static void put(const char *root, const char *name, const char *text)
{
    char path[600];
    (void)snprintf(path, sizeof path, "%s/%s", root, name);
    for (char *p = path + strlen(root) + 1; (p = strchr(p, '/')); p++) {
        *p = 0;
        (void)mkdir(path, 0777);
        *p = '/';
    }
    FILE *f = fopen(path, "w");
    cr_assert(f);
    (void)fputs(text, f);
    (void)fclose(f);
}

/* The kernel's files for this machine's processors, with invented contents; and invalid files. */
Test(topology, reads_the_kernels_description)
{
    geodec_err err = {0};
    geodec_cpu *cpu = NULL;
    int n = 0;
    test_ok(geodec_topology_cpus_usable(NULL, &cpu, &n, &err), &err);
    cr_assert_eq(n, geodec_topology_cpus_count());
    char root[500], name[200], text[200];
    (void)snprintf(root, sizeof root, "%s", test_tmp("sysfs"));
    (void)mkdir(root, 0777);
    const int first = cpu[0].number, last = cpu[n - 1].number;
    geodec_mem_free(cpu);
    for (int i = first; i <= last; i++) {
        (void)snprintf(name, sizeof name, "cpu/cpu%d/topology/physical_package_id", i);
        put(root, name, "3\n");
        (void)snprintf(name, sizeof name, "cpu/cpu%d/topology/thread_siblings_list", i);
        (void)snprintf(text, sizeof text, "%d-%d\n", first, last); /* all are hyperthreads of one core */
        put(root, name, text);
    }
    put(root, "node/online", "0,2\n");
    put(root, "node/node0/cpulist", "\n");
    (void)snprintf(text, sizeof text, "%d-%d\n", first, last);
    put(root, "node/node2/cpulist", text);
    test_ok(geodec_topology_cpus_usable(root, &cpu, &n, &err), &err);
    for (int i = 0; i < n; i++) {
        cr_assert_eq(cpu[i].package, 3);
        cr_assert_eq(cpu[i].node, 2);
        cr_assert_eq(cpu[i].core, first);
        cr_assert_eq(cpu[i].thread, i);
    }
    geodec_mem_free(cpu);
    put(root, "node/online", "7-3,x\n");
    (void)snprintf(name, sizeof name, "cpu/cpu%d/topology/thread_siblings_list", first);
    put(root, name, "99999999999999999999-,,\n");
    test_ok(geodec_topology_cpus_usable(root, &cpu, &n, &err), &err);
    cr_assert(cpu[0].node == 0 && cpu[0].thread == 0 && cpu[0].core == first);
    geodec_mem_free(cpu);
}

static void write_text(const char *path, const char *text)
{
    char name[1024];
    (void)snprintf(name, sizeof name, "%s", path);
    for (char *p = name + 1; (p = strchr(p, '/')); p++) {
        *p = 0;
        (void)mkdir(name, 0777);
        *p = '/';
    }
    FILE *f = fopen(name, "w");
    cr_assert(f && fputs(text, f) >= 0 && fclose(f) == 0, "%s", name);
}

static void quota_file(const char *root, const char *path, const char *text)
{
    char name[1024];
    (void)snprintf(name, sizeof name, "%s/%s", root, path);
    write_text(name, text);
}

/* The least quota along the groups, rounded up. */
Test(pool, quota_of_the_control_groups)
{
    const char *one = test_tmp("quota1"), *two = test_tmp("quota2");
    cr_assert_eq(geodec_topology_quota(one), 0);
    quota_file(one, "proc/self/cgroup", "2:cpu,cpuacct:/x/y\n");
    quota_file(one, "proc/self/mountinfo", "1 0 0:2 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n");
    quota_file(one, "sys/fs/cgroup/cpu,cpuacct/x/y/cpu.cfs_quota_us", "-1\n");
    quota_file(one, "sys/fs/cgroup/cpu,cpuacct/x/y/cpu.cfs_period_us", "100000\n");
    cr_assert_eq(geodec_topology_quota(one), 0);
    quota_file(one, "sys/fs/cgroup/cpu,cpuacct/x/cpu.cfs_quota_us", "250000\n");
    quota_file(one, "sys/fs/cgroup/cpu,cpuacct/x/cpu.cfs_period_us", "100000\n");
    cr_assert_eq(geodec_topology_quota(one), 3);
    quota_file(one, "sys/fs/cgroup/cpu,cpuacct/x/y/cpu.cfs_quota_us", "50000\n");
    cr_assert_eq(geodec_topology_quota(one), 1);
    quota_file(two, "proc/self/cgroup", "0::/x/y\n");
    quota_file(two, "sys/fs/cgroup/x/y/cpu.max", "max 100000\n");
    cr_assert_eq(geodec_topology_quota(two), 0);
    quota_file(two, "sys/fs/cgroup/x/cpu.max", "200000 100000\n");
    cr_assert_eq(geodec_topology_quota(two), 2);
    cr_assert(geodec_topology_usable() >= 1 && geodec_topology_usable() <= geodec_topology_cpus_count());
}

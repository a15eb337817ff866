/* Speed of the reader of blobs, as TSV on stdout.
 *
 *     bench-disk [FILE] [--blob BYTES] [--rounds N] [--quick]
 *
 * The peer is a plain loop of pread with O_DIRECT over the same blobs, in the same run. GB/s: median of the rounds,
 * which alternate between the ways. cpu: seconds of processor time a GB, of all threads but the caller. throttle: time
 * compared with that of the emulated disk. wake: microseconds from the submission of a read of no bytes to its result:
 * the reader wakes, and then the caller; median and 99th percentile. late: microseconds after its time at which a read
 * of the emulated disk arrives, median and 90th percentile. FILE should be larger than 256 MB;
 * without it, a file of 512 MB is made below build/ and removed. */
#include "base/clock.h"
#include "base/crc32c.h"
#include "base/mem.h"
#include "base/rng.h"
#include "streaming/probe.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_ROUNDS = 64, SLOTS = 16, AT_A_TIME = 8, PAGE = GEODEC_BLOB_PAGE };

typedef struct job {
    const char *path;
    int64_t blob, places;
    int reads;
    uint8_t *slots;
} job;

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *x, int n)
{
    qsort(x, (size_t)n, sizeof *x, ascending);
    return n % 2 ? x[n / 2] : 0.5 * (x[n / 2 - 1] + x[n / 2]);
}

static double other_threads(void)
{
    struct rusage u;
    (void)getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) + 1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) -
           geodec_clock_thread_seconds();
}

static int64_t place(const job *j, int round, int i)
{
    return (int64_t)(geodec_rng_at(7, (uint64_t)round, (uint64_t)i) % (uint64_t)j->places) * PAGE;
}

static double loop_of_preads(const job *j, int round)
{
    const int fd = open(j->path, O_RDONLY | O_DIRECT);
    if (fd < 0) exit(1);
    const double t0 = geodec_clock_seconds();
    for (int i = 0; i < j->reads; i++)
        if (pread(fd, j->slots + i % SLOTS * j->blob, (size_t)j->blob, place(j, round, i)) != j->blob) exit(1);
    const double t = geodec_clock_seconds() - t0;
    (void)close(fd);
    return t;
}

typedef struct way {
    const char *name;
    geodec_disk_options o;
    bool demand;
    int in_flight;
} way;

/* Seconds of the reads; *cpu: seconds of processor time of the reader. */
static double read_all(const job *j, const way *w, int round, double *cpu)
{
    geodec_disk *d = NULL;
    geodec_disk_done done[SLOTS];
    if (geodec_disk_open(j->path, &w->o, &d, NULL) != GEODEC_OK) exit(1);
    const double cpu0 = other_threads(), t0 = geodec_clock_seconds();
    bool busy[SLOTS] = {false};
    int submitted = 0, taken = 0;
    for (int slot = 0; taken < j->reads;) {
        for (; submitted < j->reads && submitted - taken < w->in_flight; submitted++) {
            while (busy[slot % SLOTS]) slot++; /* all slots in turn, as in a cache that is full */
            const int32_t to = slot++ % SLOTS;
            const geodec_disk_read r = {.slot = to,
                                        .demand = w->demand,
                                        .piece = {{place(j, round, submitted), j->blob}},
                                        .to = j->slots + to * j->blob};
            if (!geodec_disk_submit(d, &r)) exit(1);
            busy[to] = true;
        }
        const int n = geodec_disk_take(d, done, SLOTS, true);
        for (int k = 0; k < n; k++) busy[done[k].slot] = false;
        taken += n;
    }
    const double t = geodec_clock_seconds() - t0;
    *cpu = other_threads() - cpu0;
    geodec_disk_close(d);
    return t;
}

static void speeds(const job *j, int rounds)
{
    static const way ways[] = {
        {"io_uring", {.engine = GEODEC_DISK_URING, .n_slots = SLOTS}, true, AT_A_TIME},
        {"io_uring-4", {.engine = GEODEC_DISK_URING, .n_slots = SLOTS}, true, 4},
        {"io_uring-2", {.engine = GEODEC_DISK_URING, .n_slots = SLOTS}, true, 2},
        {"io_uring-prefetch", {.engine = GEODEC_DISK_URING, .n_slots = SLOTS}, false, AT_A_TIME},
        {"io_uring-alone", {.engine = GEODEC_DISK_URING, .n_slots = SLOTS}, true, 1},
        {"threads", {.engine = GEODEC_DISK_THREADS, .n_slots = SLOTS}, true, AT_A_TIME},
    };
    enum { WAYS = sizeof ways / sizeof *ways };
    double gbs[WAYS + 1][MOST_ROUNDS], cpu[WAYS][MOST_ROUNDS];
    const double gb = 1e-9 * (double)j->blob * j->reads;
    for (int r = 0; r < rounds; r++)
        for (int k = 0; k <= WAYS; k++) { /* each way begins a round once, and reads at its own places */
            const int w = (r + k) % (WAYS + 1), places_of = r * (WAYS + 1) + w;
            gbs[w][r] = gb / (w == WAYS ? loop_of_preads(j, places_of) : read_all(j, &ways[w], places_of, &cpu[w][r]));
            if (w < WAYS) cpu[w][r] /= gb;
        }
    const double peer = median(gbs[WAYS], rounds);
    printf("read\tpread\t%lld\t%.3f\tNaN\t1.00\n", (long long)j->blob, peer);
    for (int w = 0; w < WAYS; w++) {
        const double x = median(gbs[w], rounds);
        printf("read\t%s\t%lld\t%.3f\t%.4f\t%.2f\n", ways[w].name, (long long)j->blob, x, median(cpu[w], rounds),
               x / peer);
    }
}

static void throttled(const job *j, int64_t speed, int in_flight)
{
    double cpu, ratio[5], cpus[5];
    const double gb = 1e-9 * (double)j->blob * j->reads;
    const way w = {.o = {.n_slots = SLOTS, .throttle = speed}, .demand = true, .in_flight = in_flight};
    for (int r = 0; r < 5; r++) {
        ratio[r] = read_all(j, &w, r, &cpu) / (1e9 * gb / (double)speed);
        cpus[r] = cpu / gb;
    }
    printf("throttle\t%d-in-flight\t%lld\t%.3f\t%.4f\t%.4f\n", in_flight, (long long)j->blob, 1e-9 * (double)speed,
           median(cpus, 5), median(ratio, 5));
}

static void wakes(const job *j, geodec_disk_engine engine)
{
    enum { N = 2000 };
    static double us[N];
    geodec_disk *d = NULL;
    geodec_disk_done done;
    if (geodec_disk_open(j->path, &(geodec_disk_options){.engine = engine, .n_slots = 1}, &d, NULL) != GEODEC_OK)
        exit(1);
    for (int i = 0; i < N; i++) {
        (void)usleep(300); /* the reader sleeps */
        const double t0 = geodec_clock_seconds();
        if (!geodec_disk_submit(d, &(geodec_disk_read){.demand = true, .to = j->slots}) ||
            geodec_disk_take(d, &done, 1, true) != 1)
            exit(1);
        us[i] = 1e6 * (geodec_clock_seconds() - t0);
    }
    const double half = median(us, N);
    printf("wake\t%s\t0\t%.1f\tNaN\t%.1f\n", geodec_disk_engine_name(d), half, us[N * 99 / 100]);
    geodec_disk_close(d);
}

/* How long after its time a read of the throttled disk is taken. */
static void lateness(const job *j, int64_t speed)
{
    enum { N = 1000 };
    static double us[N];
    geodec_disk *d = NULL;
    geodec_disk_done done;
    const geodec_disk_options o = {.n_slots = 1, .throttle = speed};
    if (geodec_disk_open(j->path, &o, &d, NULL) != GEODEC_OK) exit(1);
    for (int i = 0; i < N; i++) {
        const double t0 = geodec_clock_seconds();
        const geodec_disk_read r = {.demand = true, .piece = {{place(j, 0, i), j->blob}}, .to = j->slots};
        if (!geodec_disk_submit(d, &r) || geodec_disk_take(d, &done, 1, true) != 1) exit(1);
        us[i] = 1e6 * (geodec_clock_seconds() - t0 - (double)j->blob / (double)speed);
    }
    const double half = median(us, N);
    printf("late\tthrottle\t%lld\t%.1f\tNaN\t%.1f\n", (long long)j->blob, half, us[N * 9 / 10]);
    geodec_disk_close(d);
}

static void crcs(const job *j)
{
    double gbs[9];
    uint32_t crc = 0;
    for (int r = 0; r < 9; r++) {
        const double t0 = geodec_clock_seconds();
        for (int s = 0; s < SLOTS; s++) crc ^= geodec_crc32c(0, j->slots + s * j->blob, j->blob);
        gbs[r] = 1e-9 * SLOTS * (double)j->blob / (geodec_clock_seconds() - t0);
    }
    printf("crc32c\t%08x\t%lld\t%.2f\tNaN\tNaN\n", (unsigned)crc, (long long)j->blob, median(gbs, 9));
}

static char made[] = "build/bench-disk-XXXXXX";
static void remove_made(void) { (void)unlink(made); }

/* Blocks of different bytes, removed at exit. NULL: it cannot be written. */
static const char *make_file(void)
{
    enum { BLOCK = 1 << 20 };
    uint64_t *block = geodec_mem_new(BLOCK, 1);
    const int fd = mkstemp(made);
    if (fd >= 0 && atexit(remove_made) != 0) remove_made();
    bool ok = block && fd >= 0;
    for (int k = 0; k < 512 && ok; k++) {
        for (uint64_t i = 0; i < BLOCK / 8; i++) block[i] = (i + 1) * 0x9e3779b97f4a7c15u + (uint64_t)k;
        ok = write(fd, block, BLOCK) == BLOCK;
    }
    ok = ok && fsync(fd) == 0;
    if (fd >= 0) (void)close(fd);
    geodec_mem_free(block);
    return ok ? made : NULL;
}

int main(int argc, char **argv)
{
    job j = {.blob = 3538944};
    int rounds = 7;
    bool quick = false;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--blob") == 0 && i + 1 < argc)
            j.blob = atoll(argv[++i]) / PAGE * PAGE;
        else if (strcmp(argv[i], "--rounds") == 0 && i + 1 < argc)
            rounds = atoi(argv[++i]);
        else if (strcmp(argv[i], "--quick") == 0)
            quick = true;
        else
            j.path = argv[i];
    }
    struct stat s;
    if (!j.path) j.path = make_file();
    if (!j.path || stat(j.path, &s) != 0 || j.blob < PAGE || s.st_size < j.blob || rounds < 1 || rounds > MOST_ROUNDS) {
        (void)fprintf(stderr, "usage: bench-disk [FILE] [--blob BYTES] [--rounds N] [--quick]\n");
        return 2;
    }
    j.places = (s.st_size - j.blob) / PAGE + 1;
    j.reads = (int)((quick ? 100000000 : 400000000) / j.blob) + SLOTS;
    const int64_t bytes = j.blob * SLOTS;
    j.slots = geodec_mem_map(bytes);
    if (!j.slots) return 1;
    memset(j.slots, 1, (size_t)bytes);
    printf("what\tway\tblob_bytes\tgb_s\tcpu_s_gb\tratio\n");
    speeds(&j, rounds);
    crcs(&j);
    wakes(&j, GEODEC_DISK_URING);
    wakes(&j, GEODEC_DISK_THREADS);
    j.blob = 54 * PAGE;
    j.reads = quick ? 300 : 2000;
    throttled(&j, 300000000, AT_A_TIME);
    throttled(&j, 300000000, 2);
    throttled(&j, 300000000, 1);
    lateness(&j, 300000000);
    geodec_mem_unmap(j.slots, bytes);
    return 0;
}

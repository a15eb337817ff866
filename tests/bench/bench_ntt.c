/* Speed of the transforms, as TSV on stdout.
 *
 *     bench-ntt [--quick] [--only MODULUS] [--peer peer_hexl.so]
 *
 * For each modulus, length, path and operation: us, the time of one transform or of one product of N words (a batch
 * divided by its size), median of rounds that alternate with the peer; --quick: N = 256 and 4096, path auto, fewer
 * rounds; with --peer also the peer's median in the same rounds and the median of the ratios. The peer transforms the
 * same polynomial with the same root; its result is compared. Times are of the thread, so that other programs disturb
 * them little. make bench-ntt PEER=FOLDER builds the peer from FOLDER/libhexl.a. */
#include "base/clock.h"
#include "base/mem.h"
#include "base/rng.h"
#include "lab/integer/ntt/ntt.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ROUNDS = 61, MAX_N = 32768 };

static struct peer {
    void *(*create)(uint64_t n, uint64_t q, uint64_t root);
    void (*destroy)(void *);
    void (*forward)(void *, const uint64_t *, uint64_t *);
    void (*inverse)(void *, const uint64_t *, uint64_t *);
    void (*multiply)(const uint64_t *, const uint64_t *, uint64_t *, uint64_t n, uint64_t q);
} peer;
static int rounds = MAX_ROUNDS;

typedef enum op { FORWARD, INVERSE, MULTIPLY, FORWARD_BATCH, INVERSE_BATCH, MULTIPLY_BATCH } op;
static const char *const op_names[] = {"forward",       "inverse",       "multiply",
                                       "forward_batch", "inverse_batch", "multiply_batch"};
enum { OPS = 6 };

static void die(const char *what)
{
    (void)fprintf(stderr, "bench-ntt: %s\n", what);
    exit(1);
}

static void load(const char *path)
{
    void *so = dlopen(path, RTLD_NOW);
    if (!so) die(dlerror());
    const char *const names[] = {"peer_ntt_new", "peer_ntt_delete", "peer_ntt_forward", "peer_ntt_inverse",
                                 "peer_ntt_multiply"};
    void *found[5];
    for (int i = 0; i < 5; i++)
        if (!(found[i] = dlsym(so, names[i]))) die(dlerror());
    memcpy(&peer, found, sizeof found); /* pointers to functions are not pointers to objects */
}

typedef struct work {
    geodec_ntt *t;
    void *theirs;
    void *a, *b, *out;        /* a batch of ours */
    uint64_t *pa, *pb, *pout; /* the peer's */
    int64_t n;
    uint64_t q;
} work;

static void ours(const work *w, op o)
{
    switch (o) {
    case FORWARD:
        geodec_ntt_forward(w->t, w->a, w->out);
        break;
    case INVERSE:
        geodec_ntt_inverse(w->t, w->a, w->out);
        break;
    case MULTIPLY:
        geodec_ntt_multiply(w->t, w->a, w->b, w->out);
        break;
    case FORWARD_BATCH:
        geodec_ntt_forward_batch(w->t, w->a, w->out);
        break;
    case INVERSE_BATCH:
        geodec_ntt_inverse_batch(w->t, w->a, w->out);
        break;
    case MULTIPLY_BATCH:
        geodec_ntt_multiply_batch(w->t, w->a, w->b, w->out);
        break;
    }
}

static void theirs(const work *w, op o)
{
    switch (o) {
    case FORWARD:
    case FORWARD_BATCH:
        peer.forward(w->theirs, w->pa, w->pout);
        break;
    case INVERSE:
    case INVERSE_BATCH:
        peer.inverse(w->theirs, w->pa, w->pout);
        break;
    case MULTIPLY:
    case MULTIPLY_BATCH:
        peer.multiply(w->pa, w->pb, w->pout, (uint64_t)w->n, w->q);
        break;
    }
}

/* Seconds of one call, of `calls`. */
static double timed(void (*f)(const work *, op), const work *w, op o, int calls)
{
    const double began = geodec_clock_thread_seconds();
    for (int i = 0; i < calls; i++) f(w, o);
    return (geodec_clock_thread_seconds() - began) / calls;
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *v)
{
    qsort(v, (size_t)rounds, sizeof *v, by_value);
    return v[rounds / 2];
}

static void compare(const work *w)
{
    int bits = 0;
    while ((int64_t)1 << bits < w->n) bits++;
    geodec_ntt_forward(w->t, w->a, w->out);
    peer.forward(w->theirs, w->pa, w->pout);
    for (int64_t k = 0; k < w->n; k++) {
        int64_t r = 0;
        for (int i = 0; i < bits; i++) r |= (k >> i & 1) << (bits - 1 - i);
        if (geodec_ntt_get(w->t, w->out, geodec_ntt_position(w->t, k)) != w->pout[r]) die("the peer's result differs");
    }
}

static void measure(const geodec_modulus *m, int64_t n, geodec_ntt_path path, work *w)
{
    geodec_err err = {0};
    char line[512];
    if (geodec_ntt_create(m, n, path, &w->t, &err) != GEODEC_OK) die(geodec_err_line(&err, line, sizeof line));
    geodec_rng r = geodec_rng_stream(1, (uint64_t)n);
    w->n = n;
    w->q = m->q;
    for (int64_t i = 0; i < n * GEODEC_NTT_BATCH; i++) {
        const uint64_t x = geodec_rng_u64(&r) % m->q, y = geodec_rng_u64(&r) % m->q;
        geodec_ntt_set(w->t, w->a, i, x);
        geodec_ntt_set(w->t, w->b, i, y);
        if (i < n) w->pa[i] = x, w->pb[i] = y;
    }
    if (peer.create) {
        w->theirs = peer.create((uint64_t)n, m->q, geodec_modulus_root(m, n));
        compare(w);
    }
    for (int o = 0; o < OPS; o++) {
        double us[MAX_ROUNDS], their_us[MAX_ROUNDS], ratio[MAX_ROUNDS];
        const int many = o >= FORWARD_BATCH ? GEODEC_NTT_BATCH : 1;
        const int calls = 1 + (int)(200e-6 / (timed(ours, w, (op)o, 3) + 1e-9));
        const int their_calls = peer.create ? 1 + (int)(200e-6 / (timed(theirs, w, (op)o, 3) + 1e-9)) : 0;
        for (int i = 0; i < rounds; i++) {
            us[i] = 1e6 * timed(ours, w, (op)o, calls) / many;
            their_us[i] = peer.create ? 1e6 * timed(theirs, w, (op)o, their_calls) : 0;
            ratio[i] = peer.create ? us[i] / their_us[i] : 0;
        }
        (void)printf("%s\t%lld\t%s\t%s\t%.4f", m->name, (long long)n,
                     path == GEODEC_NTT_AUTO
                         ? "auto"
                         : geodec_ntt_path_name(many > 1 ? geodec_ntt_path_batch(w->t) : geodec_ntt_path_single(w->t)),
                     op_names[o], median(us));
        if (peer.create) (void)printf("\t%.4f\t%.3f", median(their_us), median(ratio));
        (void)printf("\n");
        (void)fflush(stdout);
    }
    if (peer.create) peer.destroy(w->theirs);
    geodec_ntt_destroy(w->t);
}

int main(int argc, char **argv)
{
    const char *only = "";
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--quick") == 0)
            rounds = 15;
        else if (strcmp(argv[i], "--only") == 0 && i + 1 < argc)
            only = argv[++i];
        else if (strcmp(argv[i], "--peer") == 0 && i + 1 < argc)
            load(argv[++i]);
        else
            die("usage: bench-ntt [--quick] [--only MODULUS] [--peer peer_hexl.so]");
    }
    static const int64_t lengths[] = {256, 512, 1024, 4096, 16384};
    work w = {0};
    w.a = geodec_mem_new((int64_t)MAX_N * GEODEC_NTT_BATCH, 8);
    w.b = geodec_mem_new((int64_t)MAX_N * GEODEC_NTT_BATCH, 8);
    w.out = geodec_mem_new((int64_t)MAX_N * GEODEC_NTT_BATCH, 8);
    w.pa = geodec_mem_new(MAX_N, 8);
    w.pb = geodec_mem_new(MAX_N, 8);
    w.pout = geodec_mem_new(MAX_N, 8);
    if (!w.a || !w.b || !w.out || !w.pa || !w.pb || !w.pout) die("no memory");
    (void)printf("modulus\tN\tpath\toperation\tus%s\n", peer.create ? "\tpeer_us\tratio" : "");
    for (int m = 0; m < GEODEC_MODULI; m++) {
        const geodec_modulus *modulus = geodec_modulus_of((geodec_modulus_id)m);
        if (*only ? strcmp(only, modulus->name) != 0 : m != GEODEC_MODULUS_P60 && m != GEODEC_MODULUS_W1) continue;
        for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
            for (int p = GEODEC_NTT_AUTO; p < GEODEC_NTT_PATHS; p++)
                if (lengths[i] <= modulus->most && geodec_ntt_path_available((geodec_ntt_path)p, modulus) &&
                    (rounds == MAX_ROUNDS || (p == GEODEC_NTT_AUTO && (lengths[i] == 256 || lengths[i] == 4096))))
                    measure(modulus, lengths[i], (geodec_ntt_path)p, &w);
    }
    GEODEC_FREE(w.a, w.b, w.out, w.pa, w.pb, w.pout);
    return 0;
}

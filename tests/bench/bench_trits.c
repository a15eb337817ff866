/* Streamed ternary experts against those in memory, token for token, as TSV on stdout.
 *
 *     bench-trits STORE [--gguf MODEL.gguf] [--tokens 2000] [--slots 4,8,24,96] [--trace FILE] [--quick]
 *     bench-trits STORE --flips N [--only FILE]
 *
 * Every number of slots with every policy of eviction, predictor and setting of differences decodes greedily. Its
 * tokens must be those of a slot for every expert without differences (and of the GGUF in memory), and the simulator
 * must repeat its trace: the same decisions, counts and bytes. A row is one number of slots with one setting of
 * differences: runs, mean shares of uses in memory, prefetched in time, late and missed, megabytes a token, reads by
 * difference as a share of all. Status 1: some run differs. --quick: one policy for each predictor.
 *
 * --flips changes every N-th bit of the table, of expert 0, of the first difference and of the resident part, or of one
 * FILE of these, one at a time, and back. verified: found by the verification of the store; engine (every 8 N-th bit):
 * refused by a run with a slot for every expert and one with differences; unused: the run did not use it, its tokens
 * are right. missed, wrong: not found; other tokens. Status 1: any of these. */
#include "session/ternary_matrix.h"
#include "session/ternary_store.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

enum { MOST = 32 };

typedef struct settings {
    const char *store, *gguf, *trace, *only;
    int32_t tokens, slots[MOST];
    int n_slots;
    int64_t flips; /* 0: none */
    bool quick;
} settings;

typedef struct sums {
    int64_t runs, wrong, tokens, needed, resident, in_time, late, missed, bytes, reads, differences, applied, checked;
} sums;

static void read_slots(const char *text, settings *o)
{
    o->n_slots = 0;
    for (char *end; *text && o->n_slots < MOST; text = *end ? end + 1 : end) {
        o->slots[o->n_slots++] = (int32_t)strtol(text, &end, 10);
        if (end == text) exit(2);
    }
}

static settings arguments(int argc, char **argv)
{
    settings o = {.tokens = 2000, .slots = {4, 8, 24, 96}, .n_slots = 4, .trace = "ternary-stream.trace"};
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--quick") == 0)
            o.quick = true;
        else if (argv[i][0] != '-')
            o.store = argv[i];
        else if (i + 1 == argc)
            exit(2);
        else if (strcmp(argv[i], "--gguf") == 0)
            o.gguf = argv[++i];
        else if (strcmp(argv[i], "--trace") == 0)
            o.trace = argv[++i];
        else if (strcmp(argv[i], "--only") == 0)
            o.only = argv[++i];
        else if (strcmp(argv[i], "--flips") == 0)
            o.flips = strtol(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--tokens") == 0)
            o.tokens = (int32_t)strtol(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--slots") == 0)
            read_slots(argv[++i], &o);
        else
            exit(2);
    }
    if (!o.store || o.tokens < 2) exit(2);
    return o;
}

static void fail(const char *what, const geodec_err *err)
{
    char line[1024];
    (void)fprintf(stderr, "bench-trits: %s: %s\n", what, geodec_err_line(err, line, sizeof line));
}

static void add(sums *s, const geodec_stream_counters *k, int32_t tokens)
{
    s->runs++;
    s->tokens += tokens;
    s->needed += k->slots.needed;
    s->resident += k->slots.resident;
    s->in_time += k->slots.in_time;
    s->late += k->slots.late;
    s->missed += k->slots.missed;
    s->bytes += k->disk.bytes;
    s->reads += k->slots.differences + k->slots.alone + k->slots.cheaper;
    s->differences += k->slots.differences;
    s->applied += k->applied;
    s->checked += k->checked;
}

/* One way; false: other tokens, or an error. */
static bool run(const settings *o, const geodec_streaming *how, const int32_t *expected, int32_t *token, sums *s)
{
    geodec_err err = {0};
    geodec_stream_counters k = {0};
    char name[160];
    (void)snprintf(name, sizeof name, "%d slots, %s, %s, differences %s", how->slots,
                   geodec_eviction_name(how->eviction), geodec_streamed_lookahead_name(how->lookahead),
                   geodec_streamed_differences_name(how->differences));
    if (matrix_decode(o->store, how, NULL, o->tokens, token, NULL, o->trace, &k, &err) != GEODEC_OK) {
        fail(name, &err);
        return false;
    }
    add(s, &k, o->tokens);
    for (int32_t i = 0; i < o->tokens; i++)
        if (token[i] != expected[i]) {
            (void)fprintf(stderr, "bench-trits: %s: token %d is %d, not %d\n", name, i, token[i], expected[i]);
            return false;
        }
    return true;
}

static double share(int64_t a, int64_t b) { return b > 0 ? (double)a / (double)b : 0; }

static int64_t row(const settings *o, int32_t slots, geodec_streamed_differences d, const int32_t *expected,
                   int32_t *token)
{
    sums s = {0};
    for (int e = 0; e < GEODEC_EVICTION_BELADY; e++)
        for (int a = 0; a < GEODEC_LOOKAHEAD_KINDS; a++) {
            if (o->quick && e != a % GEODEC_EVICTION_BELADY) continue;
            const geodec_streaming how = {.slots = slots,
                                          .eviction = (geodec_eviction)e,
                                          .lookahead = (geodec_lookahead)a,
                                          .shared = (e + a) % 2,
                                          .differences = d,
                                          .check_differences = (e + a) % 3 == 0,
                                          .prefetch_least = 0.2F,
                                          .prefetch_most = -1};
            if (!run(o, &how, expected, token, &s)) s.wrong++;
        }
    printf("%d\t%s\t%lld\t%lld\t%lld\t%.4f\t%.4f\t%.4f\t%.4f\t%.5f\t%.4f\t%lld\t%lld\n", slots,
           geodec_streamed_differences_name(d), (long long)s.runs, (long long)s.wrong, (long long)s.tokens,
           share(s.resident, s.needed), share(s.in_time, s.needed), share(s.late, s.needed), share(s.missed, s.needed),
           1e-6 * share(s.bytes, s.tokens), share(s.differences, s.reads), (long long)s.applied, (long long)s.checked);
    (void)fflush(stdout);
    return s.wrong;
}

/* ---- flips ------------------------------------------------------------------------------------------------------ */

enum { FLIP_TOKENS = 6 };

typedef struct flips {
    int64_t verified, missed, refused, unused, wrong;
} flips;

static bool flip(int fd, int64_t bit)
{
    uint8_t b;
    if (pread(fd, &b, 1, bit / 8) != 1) return false;
    b = (uint8_t)(b ^ 1u << bit % 8);
    return pwrite(fd, &b, 1, bit / 8) == 1;
}

/* Decodes with every expert in memory, or with differences. */
static geodec_status decode(const char *store, bool differences, int32_t *token, geodec_err *err)
{
    const geodec_streaming how = {.slots = differences ? 4 : 1 << 20,
                                  .differences = differences ? GEODEC_STREAMED_DIFFERENCES_ALWAYS
                                                             : GEODEC_STREAMED_DIFFERENCES_OFF,
                                  .check_differences = true};
    return matrix_decode(store, &how, NULL, FLIP_TOKENS, token, NULL, NULL, NULL, err);
}

static void try_engine(const char *store, const int32_t *expected, flips *f)
{
    int32_t token[FLIP_TOKENS];
    bool refused = false, wrong = false;
    for (int differences = 0; differences < 2; differences++) {
        if (decode(store, differences, token, NULL) != GEODEC_OK)
            refused = true;
        else
            wrong = wrong || memcmp(token, expected, sizeof token) != 0;
    }
    f->wrong += wrong;
    f->refused += refused && !wrong;
    f->unused += !refused && !wrong;
}

static bool flip_file(const settings *o, const char *name, const int32_t *expected)
{
    char path[4096];
    flips f = {0};
    int64_t trial = 0;
    (void)snprintf(path, sizeof path, "%s/%s", o->store, name);
    const int fd = open(path, O_RDWR | O_CLOEXEC);
    const int64_t bits = fd < 0 ? -1 : 8 * (int64_t)lseek(fd, 0, SEEK_END);
    if (bits < 0) {
        (void)fprintf(stderr, "bench-trits: %s cannot be read\n", path);
        return false;
    }
    for (int64_t bit = 0; bit < bits; bit += o->flips, trial++) {
        if (!flip(fd, bit)) return false;
        if (geodec_ternary_store_verify(o->store, NULL, NULL) != GEODEC_OK)
            f.verified++;
        else
            f.missed++;
        /* a run compares no sum of the resident part (check=yes does) */
        if (trial % 8 == trial / 8 % 8 && strcmp(name, GEODEC_TRIT_RESIDENT_NAME) != 0)
            try_engine(o->store, expected, &f);
        if (!flip(fd, bit)) return false;
    }
    (void)close(fd);
    printf("%s\t%lld\t%lld\t%lld\t%lld\t%lld\t%lld\n", name, (long long)trial, (long long)f.verified,
           (long long)f.missed, (long long)f.refused, (long long)f.unused, (long long)f.wrong);
    (void)fflush(stdout);
    return f.missed + f.wrong == 0;
}

static int flip_all(const settings *o)
{
    int32_t expected[FLIP_TOKENS];
    geodec_err err = {0};
    bool good = true;
    static const char *const names[] = {GEODEC_TRIT_TABLE_NAME, "expert_000.trit", "delta_000_001.trd",
                                        GEODEC_TRIT_RESIDENT_NAME};
    if (geodec_ternary_store_verify(o->store, NULL, &err) != GEODEC_OK ||
        decode(o->store, false, expected, &err) != GEODEC_OK) {
        fail("the undamaged store", &err);
        return 1;
    }
    printf("file\tbits\tverified\tmissed\tengine_refused\tengine_unused\tengine_wrong\n");
    for (int i = 0; i < 4; i++)
        if (!o->only || strcmp(o->only, names[i]) == 0) good = flip_file(o, names[i], expected) && good;
    return good ? 0 : 1;
}

int main(int argc, char **argv)
{
    const settings o = arguments(argc, argv);
    if (o.flips > 0) return flip_all(&o);
    geodec_err err = {0};
    int32_t *expected = geodec_mem_new(o.tokens, sizeof *expected), *token = geodec_mem_new(o.tokens, sizeof *token);
    int64_t wrong = 0;
    const geodec_streaming all = {.slots = 1 << 20, .differences = GEODEC_STREAMED_DIFFERENCES_OFF, .prefetch_most = 0};
    if (!expected || !token) return 1;
    if (matrix_decode(o.store, &all, NULL, o.tokens, expected, NULL, NULL, NULL, &err) != GEODEC_OK) {
        fail("a slot for every expert", &err);
        return 1;
    }
    if (o.gguf && (matrix_decode(o.gguf, NULL, NULL, o.tokens, token, NULL, NULL, NULL, &err) != GEODEC_OK ||
                   memcmp(token, expected, (size_t)o.tokens * sizeof *token) != 0)) {
        fail("the GGUF in memory has other tokens", &err);
        return 1;
    }
    printf("slots\tdifferences\truns\twrong\ttokens\tresident\tin_time\tlate\tmissed\tmb_token\tby_difference\tapplied"
           "\tchecked\n");
    for (int i = 0; i < o.n_slots; i++)
        for (int d = 0; d < GEODEC_STREAMED_DIFFERENCES_KINDS; d++)
            wrong += row(&o, o.slots[i], (geodec_streamed_differences)d, expected, token);
    (void)remove(o.trace);
    geodec_mem_free(expected);
    geodec_mem_free(token);
    return wrong > 0;
}

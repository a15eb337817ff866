/* Products of a ternary matrix with a vector, as TSV on stdout.
 *
 *     bench-ternary [--quick] [--rows N] [--cols N] [--peer libggml-cpu.so]
 *     bench-ternary --changes [--quick] [--rows N] [--cols N]
 *
 * One thread, in its processor time. Every line is one product of rows x cols (11008 x 4096), and the fastest of rounds
 * in which all lines alternate. warm: the same bytes were read just before; cold: their lines were flushed from the
 * caches. Columns: kernel, weights, set, state, ms, gweights (1e9 weights a second), bytes a weight, gbps, limit_ms
 * (control: reading the same bytes with the widest loads, in the same rounds), of_limit = limit_ms / ms, load (average
 * number of running processes of the machine, at the end). Kernels:
 *   int8, float  of perspective/ternary, in each instruction set
 *   probe        control: the shortest loop for two bits with VNNI, one row at a time (shift, mask, dot product)
 *   tq2_0        blocks of TQ2_0 as panels, of model/kernels, the product of a model's pass in fast arithmetic
 *   peer         dot products of TQ2_0 rows in llama.cpp: the function ggml_vec_dot_tq2_0_q8_K of the shared object of
 *                --peer, which is loaded and never linked; its result is compared with int8's
 *   rounding     the activations alone: cols values to int8
 *
 * --changes: differences between random matrices (ternary/change.h) by the share p of changed weights.
 * Columns: p, encoding, changes, share (bytes relative to 1.6 bits a weight), expected and floor (controls: closed form
 * of the code; entropy), apply_ns and encode_ns a change, the fastest of rounds, load. */
#include "base/clock.h"
#include "base/cpu_internal.h"
#include "base/f16.h"
#include "base/mem.h"
#include "base/rng.h"
#include "kernels/products_internal.h"
#include "ternary/change.h"
#include "ternary/multiply_internal.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

enum { QK = 256, TQ2_BYTES = 66, MOST_CASES = 32, SLOW = 4 /* rounds of kernels slower than 10 ms */ };

/* llama.cpp's block of activations. */
typedef struct block_q8_k {
    float d;
    int8_t q[QK];
    int16_t sums[QK / 16];
} block_q8_k;
typedef void (*peer_fn)(int n, float *s, size_t bs, const void *x, size_t bx, const void *y, size_t by, int nrc);

static int64_t rows = 11008, cols = 4096;
static peer_fn peer;
static volatile uint64_t sink;

static void die(const char *what)
{
    (void)fprintf(stderr, "bench-ternary: %s\n", what);
    exit(1);
}

static void *need(void *p)
{
    if (!p) die("no memory");
    return p;
}

/* ---- the matrix in each form ------------------------------------------------------------------------------------- */

typedef struct world {
    uint8_t *data[3], *tq2, *panels; /* [encoding], rows of TQ2_0, panels of TQ2_0 */
    int64_t bytes[3], tq2_bytes, panels_bytes;
    geodec_ternary_input integers, floats;
    geodec__panels packed;
    uint8_t *fast;      /* the vector for the panels */
    block_q8_k *theirs; /* and for the peer */
    float *x, *y;
} world;

static void fill_row(world *w, int64_t o, const int8_t *t)
{
    for (int e = GEODEC_TERNARY_BASE3; e <= GEODEC_TERNARY_BITS2; e++)
        geodec_ternary_pack(e, t, cols, w->data[e] + o * geodec_ternary_row_bytes(e, cols));
    for (int64_t b = 0; b < cols / QK; b++) {
        uint8_t *p = w->tq2 + (o * (cols / QK) + b) * TQ2_BYTES;
        memset(p, 0, TQ2_BYTES);
        for (int i = 0; i < QK; i++) p[32 * (i / 128) + i % 32] |= (uint8_t)((t[b * QK + i] + 1) << 2 * (i % 128 / 32));
        const uint16_t one = geodec_f32_to_f16(1);
        memcpy(p + 64, &one, sizeof one);
    }
}

static void fill_panels(world *w)
{
    const geodec__panel_format *f = geodec__panel_format_in(GEODEC_FAST, GEODEC_GGML_TQ2_0);
    if (!f) die("TQ2_0 has no panels");
    w->packed = (geodec__panels){.format = f, .rows = rows, .records = cols / QK};
    const geodec__matrix m = {
        .data = w->tq2, .rows = rows, .cols = cols, .row_bytes = cols / QK * TQ2_BYTES, .type = GEODEC_GGML_TQ2_0};
    const int64_t each = geodec__panel_bytes(&w->packed), count = geodec__panels_count(rows);
    w->panels_bytes = count * each;
    w->panels = need(geodec_mem_map(w->panels_bytes));
    for (int64_t i = 0; i < count; i++) geodec__panel_pack(f, &m, i, w->panels + i * each);
    w->packed.data = w->panels;
    const geodec__product *p = &geodec__products_for(GEODEC_ISA_AUTO)->fast;
    w->fast = need(geodec_mem_new(cols / 32 * p->block_bytes, 1));
    p->round(w->x, cols, f->offset, f->group, w->fast, 1);
}

static void fill_theirs(world *w)
{
    w->theirs = need(geodec_mem_new(cols / QK, sizeof *w->theirs));
    for (int64_t b = 0; b < cols / QK; b++) {
        block_q8_k *block = &w->theirs[b];
        const float *x = w->x + b * QK;
        float most = 1e-30f;
        for (int i = 0; i < QK; i++) most = fmaxf(most, fabsf(x[i]));
        block->d = most / 127;
        for (int i = 0; i < QK; i++) {
            block->q[i] = (int8_t)lrintf(x[i] / block->d);
            block->sums[i / 16] = (int16_t)(block->sums[i / 16] + block->q[i]);
        }
    }
}

static world make_world(void)
{
    world w = {0};
    geodec_err err = {0};
    geodec_rng r = geodec_rng_stream(1, geodec_rng_id("bench", 0));
    int8_t *t = need(geodec_mem_new(cols, 1));
    for (int e = GEODEC_TERNARY_BASE3; e <= GEODEC_TERNARY_BITS2; e++) {
        w.bytes[e] = rows * geodec_ternary_row_bytes(e, cols);
        w.data[e] = need(geodec_mem_map(w.bytes[e]));
    }
    w.tq2_bytes = rows * (cols / QK) * TQ2_BYTES;
    w.tq2 = need(geodec_mem_map(w.tq2_bytes));
    w.x = need(geodec_mem_new(cols, sizeof *w.x));
    w.y = need(geodec_mem_new(rows, sizeof *w.y));
    for (int64_t i = 0; i < cols; i++) w.x[i] = (float)geodec_rng_normal(&r);
    for (int64_t o = 0; o < rows; o++) {
        for (int64_t i = 0; i < cols; i++) t[i] = (int8_t)((int)geodec_rng_below(&r, 3) - 1);
        fill_row(&w, o, t);
    }
    geodec_mem_free(t);
    if (geodec_ternary_input_create(GEODEC_TERNARY_INT8, cols, 1, &w.integers, &err) != GEODEC_OK ||
        geodec_ternary_input_create(GEODEC_TERNARY_FLOAT, cols, 1, &w.floats, &err) != GEODEC_OK)
        die("no memory");
    geodec_ternary_input_set(&w.integers, 0, w.x);
    geodec_ternary_input_set(&w.floats, 0, w.x);
    fill_panels(&w);
    fill_theirs(&w);
    return w;
}

static void clear_world(world *w)
{
    for (int e = GEODEC_TERNARY_BASE3; e <= GEODEC_TERNARY_BITS2; e++) geodec_mem_unmap(w->data[e], w->bytes[e]);
    geodec_mem_unmap(w->tq2, w->tq2_bytes);
    geodec_mem_unmap(w->panels, w->panels_bytes);
    geodec_ternary_input_clear(&w->integers);
    geodec_ternary_input_clear(&w->floats);
    GEODEC_FREE(w->fast, w->theirs, w->x, w->y);
}

/* ---- controls --------------------------------------------------------------------------------------------------- */

#if defined(__x86_64__)
#define WIDE __attribute__((target("avx512f,avx512bw,avx512vnni")))
static WIDE void read_wide(const uint8_t *p, int64_t n)
{
    __m512i s[8];
    for (int i = 0; i < 8; i++) s[i] = _mm512_setzero_si512();
    for (int64_t at = 0; at + 512 <= n; at += 512)
        for (int i = 0; i < 8; i++) s[i] = _mm512_xor_si512(s[i], _mm512_loadu_si512(p + at + 64 * i));
    for (int i = 1; i < 8; i++) s[0] = _mm512_xor_si512(s[0], s[i]);
    sink = (uint64_t)_mm512_reduce_add_epi64(s[0]);
}

/* Sum of (code - 1) q of each row, times the scales. */
static WIDE void probe(const world *w)
{
    const int64_t bytes = geodec_ternary_row_bytes(GEODEC_TERNARY_BITS2, cols);
    const __m512i three = _mm512_set1_epi8(3);
    for (int64_t o = 0; o < rows; o++) {
        const uint8_t *p = w->data[GEODEC_TERNARY_BITS2] + o * bytes;
        const int8_t *q = w->integers.q;
        __m512i a = _mm512_setzero_si512(), b = a, c = a, d = a;
        for (int64_t at = 0; at < bytes; at += 64, q += 256) {
            const __m512i v = _mm512_loadu_si512(p + at);
            a = _mm512_dpbusd_epi32(a, _mm512_and_si512(v, three), _mm512_loadu_si512(q));
            b = _mm512_dpbusd_epi32(b, _mm512_and_si512(_mm512_srli_epi16(v, 2), three), _mm512_loadu_si512(q + 64));
            c = _mm512_dpbusd_epi32(c, _mm512_and_si512(_mm512_srli_epi16(v, 4), three), _mm512_loadu_si512(q + 128));
            d = _mm512_dpbusd_epi32(d, _mm512_and_si512(_mm512_srli_epi16(v, 6), three), _mm512_loadu_si512(q + 192));
        }
        const int32_t sum = _mm512_reduce_add_epi32(_mm512_add_epi32(_mm512_add_epi32(a, b), _mm512_add_epi32(c, d)));
        w->y[o] = (float)(sum - w->integers.sum[0]) * w->integers.scale[0];
    }
}
static void flush(const uint8_t *p, int64_t n)
{
    for (int64_t i = 0; i < n; i += 64) _mm_clflush(p + i);
    _mm_mfence();
}
static bool has_vnni(void) { return geodec__cpu() & GEODEC__CPU_VNNI; }
#else
static void probe(const world *w) { (void)w; }
static void flush(const uint8_t *p, int64_t n) { (void)p, (void)n; }
static bool has_vnni(void) { return false; }
#endif

static void read_bytes(const uint8_t *p, int64_t n)
{
#if defined(__x86_64__)
    if (has_vnni()) {
        read_wide(p, n);
        return;
    }
#endif
    uint64_t s[4] = {0};
    for (int64_t at = 0; at + 32 <= n; at += 32) {
        uint64_t v[4];
        memcpy(v, p + at, sizeof v);
        for (int i = 0; i < 4; i++) s[i] ^= v[i];
    }
    sink = s[0] ^ s[1] ^ s[2] ^ s[3];
}

/* ---- cases ------------------------------------------------------------------------------------------------------ */

typedef enum kind { INT8, FLOAT, PROBE, TQ2, PEER, ROUNDING } kind;
static const char *const kind_names[] = {"int8", "float", "probe", "tq2_0", "peer", "rounding"};

typedef struct timing {
    kind kind;
    int encoding;
    const char *set;
    const geodec__ternary_ops *ops;
    const uint8_t *data;
    int64_t bytes;
    double best[2], limit[2]; /* seconds: warm, cold */
    int done;
} timing;

static void run_case(const timing *c, world *w)
{
    float *y[1] = {w->y};
    const geodec_ternary_matrix m = {.encoding = c->encoding, .rows = rows, .cols = cols, .data = c->data, .scale = 1};
    switch (c->kind) {
    case INT8:
        geodec__ternary_multiply_with(c->ops, &m, &w->integers, 1, NULL, y);
        break;
    case FLOAT:
        geodec__ternary_multiply_with(c->ops, &m, &w->floats, 1, NULL, y);
        break;
    case PROBE:
        probe(w);
        break;
    case TQ2:
        geodec__products_for(GEODEC_ISA_AUTO)->fast.multiply(&w->packed, 0, geodec__panels_count(rows), w->fast, 1, y);
        break;
    case PEER:
        for (int64_t o = 0; o < rows; o++)
            peer((int)cols, w->y + o, 0, w->tq2 + o * (cols / QK) * TQ2_BYTES, 0, w->theirs, 0, 1);
        break;
    case ROUNDING:
        geodec_ternary_input_set(&w->integers, 0, w->x);
        break;
    }
}

static double timed(const timing *c, world *w, bool cold, bool limit)
{
    if (cold) flush(c->data, c->bytes);
    const double began = geodec_clock_thread_seconds();
    if (limit)
        read_bytes(c->data, c->bytes);
    else
        run_case(c, w);
    return geodec_clock_thread_seconds() - began;
}

static void lower(double *best, double t) { *best = *best > 0 && *best < t ? *best : t; }

static int list_cases(const world *w, timing c[MOST_CASES])
{
    const geodec__ternary_ops *all[3];
    const int sets = geodec__ternary_all(all);
    const char *widest = geodec_kernels_isa_name(geodec__products_for(GEODEC_ISA_AUTO)->isa);
    int n = 0;
    for (int k = INT8; k <= FLOAT; k++)
        for (int e = GEODEC_TERNARY_BASE3; e <= GEODEC_TERNARY_BITS2; e++)
            for (int s = 0; s < sets; s++) {
                bool same = false; /* kernels that two sets share are timed once */
                for (int before = 0; before < s; before++)
                    same = same ||
                           (k == INT8 ? all[before]->dot[e] == all[s]->dot[e] : all[before]->add[e] == all[s]->add[e]);
                if (!same) c[n++] = (timing){(kind)k, e, all[s]->name, all[s], w->data[e], w->bytes[e]};
            }
    if (has_vnni()) c[n++] = (timing){PROBE, GEODEC_TERNARY_BITS2, "vnni", NULL, w->data[2], w->bytes[2]};
    c[n++] = (timing){TQ2, 0, widest, NULL, w->panels, w->panels_bytes};
    if (peer) c[n++] = (timing){PEER, 0, "peer", NULL, w->tq2, w->tq2_bytes};
    c[n++] = (timing){ROUNDING, 0, "any", NULL, (const uint8_t *)w->x, cols * (int64_t)sizeof *w->x};
    return n;
}

/* The peer's rounding has a scale for each block, so that its result differs by the rounding of activations alone. */
static void compare_peer(const timing *c, int n, world *w)
{
    float *ours = need(geodec_mem_new(rows, sizeof *ours));
    double apart = 0, size = 0;
    run_case(&c[0], w);
    memcpy(ours, w->y, (size_t)rows * sizeof *ours);
    for (int i = 0; i < n; i++)
        if (c[i].kind == PEER) run_case(&c[i], w);
    for (int64_t o = 0; o < rows; o++) {
        apart += (double)(ours[o] - w->y[o]) * (double)(ours[o] - w->y[o]);
        size += (double)ours[o] * (double)ours[o];
    }
    if (!(apart < 1e-3 * size)) die("the peer's result differs");
    geodec_mem_free(ours);
}

static void measure(timing *c, int n, world *w, int rounds)
{
    for (int r = 0; r < rounds; r++)
        for (int i = 0; i < n; i++)
            for (int cold = 0; cold < 2; cold++) {
                if (c[i].best[0] > 0.01 && r >= SLOW) continue;
                (void)timed(&c[i], w, false, !cold);
                lower(&c[i].limit[cold], timed(&c[i], w, cold, true));
                if (!cold) (void)timed(&c[i], w, false, true);
                lower(&c[i].best[cold], timed(&c[i], w, cold, false));
            }
}

/* ---- changes ---------------------------------------------------------------------------------------------------- */

static void change_row(geodec_rng *r, double p, int8_t *a, int8_t *b)
{
    for (int64_t c = 0; c < cols; c++) {
        a[c] = (int8_t)((int)geodec_rng_below(r, 3) - 1);
        b[c] = geodec_rng_uniform(r) < p ? (int8_t)((a[c] + 2 + (int)geodec_rng_below(r, 2)) % 3 - 1) : a[c];
    }
}

static void measure_changes(double p, int encoding, int rounds)
{
    const int64_t row = geodec_ternary_row_bytes(encoding, cols);
    uint8_t *a = need(geodec_mem_map(rows * row)), *b = need(geodec_mem_map(rows * row)), *stream;
    int8_t *ta = need(geodec_mem_new(cols, 1)), *tb = need(geodec_mem_new(cols, 1));
    geodec_rng r = geodec_rng_stream(2, geodec_rng_id("changes", 0));
    int64_t bytes = 0, changes = 0, used = 0;
    double apply = 0, encode = 0, load = 0;
    for (int64_t o = 0; o < rows; o++) {
        change_row(&r, p, ta, tb);
        geodec_ternary_pack(encoding, ta, cols, a + o * row);
        geodec_ternary_pack(encoding, tb, cols, b + o * row);
    }
    const geodec_ternary_matrix ma = {.encoding = encoding, .rows = rows, .cols = cols, .data = a};
    geodec_ternary_matrix mb = ma;
    mb.data = b;
    if (geodec_change_encode(&ma, &mb, NULL, &bytes, &changes, NULL) != GEODEC_OK) die("no memory");
    stream = need(geodec_mem_new(bytes, 1));
    for (int i = 0; i < rounds; i++) {
        double began = geodec_clock_thread_seconds();
        if (i < SLOW && geodec_change_encode(&ma, &mb, stream, &bytes, &changes, NULL) != GEODEC_OK) die("no memory");
        if (i < SLOW) lower(&encode, geodec_clock_thread_seconds() - began);
        const geodec_change_stream s = {stream, bytes, changes};
        for (int to_b = 1; to_b >= 0; to_b--) {
            began = geodec_clock_thread_seconds();
            if (geodec_change_apply(encoding, rows, cols, &s, to_b, a, &used, NULL) != GEODEC_OK) die("a bad stream");
            lower(&apply, geodec_clock_thread_seconds() - began);
            if (to_b && memcmp(a, b, (size_t)(rows * row)) != 0) die("the difference does not lead to B");
        }
    }
    (void)!getloadavg(&load, 1);
    const double full = (double)rows * (double)cols * 1.6 / 8, each = full * 5;
    (void)printf("%.3f\t%s\t%lld\t%.4f\t%.4f\t%.4f\t%.2f\t%.1f\t%.1f\n", p, geodec_ternary_name(encoding),
                 (long long)changes, (double)bytes / full, each * geodec_change_bytes(p) / full,
                 each * geodec_change_floor(p) / 8 / full, 1e9 * apply / (double)changes,
                 1e9 * encode / (double)changes, load);
    (void)fflush(stdout);
    geodec_mem_unmap(a, rows * row);
    geodec_mem_unmap(b, rows * row);
    GEODEC_FREE(ta, tb, stream);
}

static void all_changes(int rounds)
{
    static const double shares[] = {0.001, 0.01, 0.03, 0.1};
    (void)printf("p\tweights\tchanges\tshare\texpected\tfloor\tapply_ns\tencode_ns\tload\n");
    for (size_t i = 0; i < sizeof shares / sizeof *shares; i++)
        for (int e = GEODEC_TERNARY_BASE3; e <= GEODEC_TERNARY_BITS2; e++) measure_changes(shares[i], e, rounds);
}

static void print_cases(const timing *c, int n)
{
    double load = 0;
    (void)!getloadavg(&load, 1);
    (void)printf("kernel\tweights\tset\tstate\tms\tgweights\tbytes\tgbps\tlimit_ms\tof_limit\tload\n");
    for (int i = 0; i < n; i++)
        for (int cold = 0; cold < 2; cold++) {
            const double t = c[i].best[cold],
                         weights = c[i].kind == ROUNDING ? (double)cols : (double)rows * (double)cols;
            (void)printf("%s\t%s\t%s\t%s\t%.4f\t%.1f\t%.3f\t%.1f\t%.4f\t%.2f\t%.1f\n", kind_names[c[i].kind],
                         c[i].encoding ? geodec_ternary_name(c[i].encoding) : "-", c[i].set, cold ? "cold" : "warm",
                         1e3 * t, weights / t * 1e-9, (double)c[i].bytes / weights, (double)c[i].bytes / t * 1e-9,
                         1e3 * c[i].limit[cold], c[i].limit[cold] / t, load);
        }
}

int main(int argc, char **argv)
{
    int rounds = 60;
    bool changes = false;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--quick") == 0)
            rounds = 8;
        else if (strcmp(argv[i], "--changes") == 0)
            changes = true;
        else if (strcmp(argv[i], "--rows") == 0 && i + 1 < argc)
            rows = atoll(argv[++i]);
        else if (strcmp(argv[i], "--cols") == 0 && i + 1 < argc)
            cols = atoll(argv[++i]);
        else if (strcmp(argv[i], "--peer") == 0 && i + 1 < argc) {
            void *so = dlopen(argv[++i], RTLD_NOW);
            void *found = so ? dlsym(so, "ggml_vec_dot_tq2_0_q8_K") : NULL;
            if (!found) die(dlerror());
            memcpy(&peer, &found, sizeof found); /* a pointer to a function is not one to an object */
        } else
            die("usage: bench-ternary [--changes] [--quick] [--rows N] [--cols N] [--peer libggml-cpu.so]");
    }
    if (rows < 1 || rows > 1 << 20 || cols < QK || cols % QK || cols > GEODEC_TERNARY_COLUMNS)
        die("rows are 1 to 2^20, columns a multiple of 256 up to 2^18");
    if (changes) {
        all_changes(rounds);
        return 0;
    }
    timing c[MOST_CASES];
    world w = make_world();
    const int n = list_cases(&w, c);
    if (peer) compare_peer(c, n, &w);
    measure(c, n, &w, rounds);
    print_cases(c, n);
    clear_world(&w);
    return 0;
}

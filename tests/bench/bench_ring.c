/* Speed of matrix-vector products over Z[w], one thread, as TSV on stdout.
 *
 *     bench-ring [--quick] [--only pairs16|pairs64|wide] [--isa scalar|avx2|avx512]
 *
 * A matrix of 2048 x 2048 elements with coordinates of 8 bits. us: processor time of a product, the median of the
 * rounds; gbps: bytes of weights / time. zero_b: 1 where the matrix has b = 0 throughout. Controls, in the same rounds:
 * stream_us: a float32 dot product of as many bytes with a vector in the cache, the fastest of one row or four at a
 * time, with and without prefetch; float_us: the library's float32 matrix-vector product of as many bytes. ratio: the
 * median over rounds of us / the faster control's of the round, each the fastest of four passes in a row. turns: the
 * same when passes of float_us and of the form take turns, so that each finds the other's data in the caches. cold_us,
 * cold_control_us, cold: one pass after another memory of FLUSH bytes was read, so that no data is in the caches; the
 * faster control; the median of their ratios.
 */
#include "arguments.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/unroll_internal.h"
#include "kernels/kernels_internal.h"
#include "lab/integer/ring/gemv.h"

#include <time.h>

enum { FLUSH = 256 << 20 };
enum { N = 2048, ROUNDS = 41, QUICK = 9, MOST = 64, PASSES = 4 };

static double now(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void die(const char *what)
{
    (void)fprintf(stderr, "bench-ring: %s\n", what);
    exit(1);
}

/* ---- controls --------------------------------------------------------------------------------------------------- */

typedef float floats __attribute__((vector_size(64)));
typedef float (*stream_fn)(const float *w, int64_t rows, const float *x, int pattern);

/* 8 chains of sums, R rows at a time. */
INLINE float tile(const int R, const int ahead, const float *w, int64_t rows, const float *x)
{
    enum { STEP = 16, CHAINS = 8 };
    float total = 0;
    for (int64_t i = 0; i + R <= rows; i += R, w += R * N) {
        floats s[CHAINS] = {{0}};
        for (int64_t k = 0; k < N; k += STEP * CHAINS / R) {
            UNROLL
            for (int c = 0; c < CHAINS; c++) {
                const int64_t at = k + c / R * STEP;
                const float *p = w + c % R * N + at;
                if (ahead) __builtin_prefetch(p + 4 * N);
                s[c] += *(const floats *)(const void *)p * *(const floats *)(const void *)(x + at);
            }
        }
        for (int c = 1; c < CHAINS; c++) s[0] += s[c];
        for (int l = 0; l < STEP; l++) total += s[0][l];
    }
    return total;
}

/* pattern: bit 0 four rows, bit 1 prefetch. */
INLINE float stream(const float *w, int64_t rows, const float *x, int pattern)
{
    return pattern == 0   ? tile(1, 0, w, rows, x)
           : pattern == 1 ? tile(4, 0, w, rows, x)
           : pattern == 2 ? tile(1, 1, w, rows, x)
                          : tile(4, 1, w, rows, x);
}

static float stream_baseline(const float *w, int64_t rows, const float *x, int pattern)
{
    return stream(w, rows, x, pattern);
}
#if defined(__x86_64__)
__attribute__((target("avx2,fma"))) static float stream_avx2(const float *w, int64_t rows, const float *x, int pattern)
{
    return stream(w, rows, x, pattern);
}
__attribute__((target("avx512f"))) static float stream_avx512(const float *w, int64_t rows, const float *x, int pattern)
{
    return stream(w, rows, x, pattern);
}
#endif

static stream_fn stream_of(geodec_isa isa)
{
#if defined(__x86_64__)
    if (isa != GEODEC_ISA_SCALAR && isa != GEODEC_ISA_AVX2 && geodec_kernels_isa_available(GEODEC_ISA_AVX512))
        return stream_avx512;
    if (isa != GEODEC_ISA_SCALAR && geodec_kernels_isa_available(GEODEC_ISA_AVX2)) return stream_avx2;
#endif
    return stream_baseline;
}

/* ---- rounds ----------------------------------------------------------------------------------------------------- */

typedef struct bench {
    float *w, *x, *y, *scratch; /* [as many bytes], [N], [rows] */
    geodec_ring_vector *v;
    geodec_ring_element *out;
    char *flush;
    int rounds;
    volatile float sink;
} bench;

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *x, int n)
{
    qsort(x, (size_t)n, sizeof *x, by_value);
    return x[n / 2];
}

static double stream_seconds(bench *b, geodec_isa isa, int64_t rows)
{
    double best = 1e9;
    for (int pattern = 0; pattern < PASSES; pattern++) {
        const double t = now();
        b->sink += stream_of(isa)(b->w, rows, b->x, pattern);
        const double d = now() - t;
        if (d < best) best = d;
    }
    return best;
}

static double float_pass(bench *b, geodec_isa isa, int64_t rows)
{
    const geodec__matrix m = {
        .data = (const uint8_t *)b->w, .rows = rows, .cols = N, .row_bytes = N * 4, .type = GEODEC_GGML_F32};
    const float *const x = b->x;
    const double t = now();
    geodec__kernels_for(isa)->matmul(&m, 0, rows, &x, 1, &b->y, b->scratch);
    return now() - t;
}

static double own_pass(bench *b, const geodec_ring_matrix *m, const geodec_ring_gemv_options *o,
                       geodec_ring_gemv_report *r)
{
    const double t = now();
    if (geodec_ring_gemv(m, b->v, o, b->out, NULL, r, NULL) != GEODEC_OK) die("a product failed");
    return now() - t;
}

static double least(double a, double b) { return a < b ? a : b; }

static void flush(bench *b)
{
    float sum = 0;
    for (int64_t i = 0; i < FLUSH; i += 64) sum += (float)b->flush[i];
    b->sink += sum;
}

/* Passes from memory: of the form, of the faster control, and their ratio. */
static void cold_passes(bench *b, const geodec_ring_matrix *m, const geodec_ring_gemv_options *o, int64_t rows,
                        double out[3])
{
    geodec_ring_gemv_report r;
    double control = 1e9;
    for (int pattern = 0; pattern < PASSES; pattern++) {
        flush(b);
        const double t = now();
        b->sink += stream_of(o->isa)(b->w, rows, b->x, pattern);
        control = least(control, now() - t);
    }
    flush(b);
    control = least(control, float_pass(b, o->isa, rows));
    flush(b);
    out[0] = own_pass(b, m, o, &r);
    out[1] = control;
    out[2] = out[0] / control;
}

static void measure(bench *b, const geodec_ring_matrix *m, geodec_ring_form form, geodec_isa isa)
{
    const geodec_ring_gemv_options o = {isa, form};
    const int64_t bytes = form == GEODEC_RING_PAIRS16 ? geodec_ring_matrix_bytes16(m) : (int64_t)N * N * 16;
    const int64_t rows = bytes / (4 * N);
    double own[MOST], streams[MOST], floating[MOST], ratio[MOST], turns[MOST], cold[3][MOST];
    geodec_ring_gemv_report r = {0};
    const int rounds = form == GEODEC_RING_WIDE ? QUICK : b->rounds;
    for (int i = 0; i < rounds; i++) {
        double own_turn = 1e9, float_turn = 1e9;
        streams[i] = stream_seconds(b, isa, rows);
        floating[i] = own[i] = 1e9;
        for (int k = 0; k < PASSES; k++) floating[i] = least(floating[i], float_pass(b, isa, rows));
        for (int k = 0; k < PASSES; k++) own[i] = least(own[i], own_pass(b, m, &o, &r));
        for (int k = 0; k < PASSES; k++) {
            float_turn = least(float_turn, float_pass(b, isa, rows));
            own_turn = least(own_turn, own_pass(b, m, &o, &r));
        }
        ratio[i] = own[i] / least(streams[i], floating[i]);
        turns[i] = own_turn / float_turn;
        double c[3];
        cold_passes(b, m, &o, rows, c);
        for (int k = 0; k < 3; k++) cold[k][i] = c[k];
    }
    if (r.rows16 + r.rows64 + r.wide != N) die("another form ran");
    const double us = median(own, rounds) * 1e6;
    (void)printf("%s\t%s\t%d\t%lld\t%.0f\t%.1f\t%.0f\t%.0f\t%.2f\t%.2f\t%.0f\t%.0f\t%.2f\n",
                 geodec_ring_form_name(form), geodec_kernels_isa_name(isa), r.zero_b, (long long)bytes, us,
                 (double)bytes / us * 1e-3, median(streams, rounds) * 1e6, median(floating, rounds) * 1e6,
                 median(ratio, rounds), median(turns, rounds), median(cold[0], rounds) * 1e6,
                 median(cold[1], rounds) * 1e6, median(cold[2], rounds));
    (void)fflush(stdout);
}

int main(int argc, char **argv)
{
    bench_arguments given;
    if (!bench_arguments_read(argc, argv, "bench-ring", "FORM", &given) || given.threads != 1) return 2;
    const int64_t floats_all = (int64_t)N * N * 4;
    bench b = {.w = geodec_mem_map(floats_all * 4),
               .x = geodec_mem_new(N, sizeof(float)),
               .y = geodec_mem_new(floats_all / N, sizeof(float)),
               .scratch = geodec_mem_new(geodec__product_scratch(N), sizeof(float)),
               .out = geodec_mem_new(N, sizeof *b.out),
               .flush = geodec_mem_map(FLUSH),
               .rounds = given.quick ? QUICK : ROUNDS};
    geodec_ring_element *w[2] = {geodec_mem_map((int64_t)N * N * 16), geodec_mem_map((int64_t)N * N * 16)};
    geodec_ring_element *x = geodec_mem_new(N, sizeof *x);
    geodec_ring_matrix *m[2] = {NULL, NULL};
    if (!b.w || !b.x || !b.y || !b.scratch || !b.out || !b.flush || !w[0] || !w[1] || !x) die("no memory");
    memset(b.flush, 1, FLUSH);
    geodec_rng g = geodec_rng_stream(15, 9);
    for (int64_t i = 0; i < (int64_t)N * N; i++) {
        w[0][i] = (geodec_ring_element){i * 37 % 255 - 127, i * 101 % 251 - 125};
        w[1][i] = (geodec_ring_element){w[0][i].a, 0};
    }
    for (int64_t i = 0; i < floats_all; i++) b.w[i] = (float)(i % 17 - 8);
    for (int k = 0; k < N; k++) {
        x[k] =
            (geodec_ring_element){(int64_t)geodec_rng_below(&g, 255) - 127, (int64_t)geodec_rng_below(&g, 255) - 127};
        b.x[k] = (float)x[k].a;
    }
    for (int z = 0; z < 2; z++)
        if (geodec_ring_matrix_create(w[z], N, N, true, &m[z], NULL) != GEODEC_OK) die("no matrix");
    if (geodec_ring_vector_create(x, N, &b.v, NULL) != GEODEC_OK) die("no vector");
    (void)printf(
        "form\tisa\tzero_b\tbytes\tus\tgbps\tstream_us\tfloat_us\tratio\tturns\tcold_us\tcold_control_us\tcold\n");
    for (int form = GEODEC_RING_PAIRS16; form <= GEODEC_RING_WIDE; form++)
        for (int isa = GEODEC_ISA_AVX512; isa >= GEODEC_ISA_SCALAR; isa--)
            for (int z = 0; z < 2; z++) {
                if (*given.only && strcmp(given.only, geodec_ring_form_name((geodec_ring_form)form)) != 0) continue;
                if (given.isa != GEODEC_ISA_AUTO && given.isa != (geodec_isa)isa) continue;
                if (!geodec_kernels_isa_available((geodec_isa)isa)) continue;
                if (form == GEODEC_RING_WIDE && isa != GEODEC_ISA_SCALAR) continue;
                measure(&b, m[z], (geodec_ring_form)form, (geodec_isa)isa);
            }
    for (int z = 0; z < 2; z++) {
        geodec_ring_matrix_destroy(m[z]);
        geodec_mem_unmap(w[z], (int64_t)N * N * 16);
    }
    geodec_ring_vector_destroy(b.v);
    geodec_mem_unmap(b.w, floats_all * 4);
    geodec_mem_unmap(b.flush, FLUSH);
    GEODEC_FREE(b.x, b.y, b.scratch, b.out, x);
    return 0;
}

/* Time of a verification pass of b rows and its lower bounds, as TSV on stdout.
 *
 *     bench-verify MODEL.gguf [--threads N] [--arithmetic exact|fast] [--isa scalar|avx2|avx512] [--kv f32|f16|q8_0]
 *                  [--depth TOKENS] [--rounds N] [--trees] [--rows B,B,..] [--text FILE]
 *
 * Passes of b rows after a context of `depth` tokens (100), every width in turn in each round, median and least of the
 * rounds. --trees: b rows as a tree whose row i follows row (i - 1) / 2, instead of a chain. --rows: these widths
 * alone, ascending (one: for a profiler). Without --text the tokens are random and a width repeats one pass. --text:
 * the rows are 64 consecutive tokens of this text, in passes of b that follow each other, so that every width computes
 * the same rows; at several places of the text; median and least of each pass, averaged over passes and places. experts
 * with a mixture of experts: distinct ones of a pass, mean over layers v         T(b) / T(1), medians (least_v: of the
 * least times); the speed-up of a speculative decoder is tokens per pass / (overhead + v(b)) marginal  (T(b) - T(1)) /
 * (b - 1) in microseconds mflop     operations of the pass: 2 for each weight and row, 4 head_dim for each query head,
 * row and key seen arith_us  these at the peak of the threads: a loop of independent fused multiply-adds on registers
 * (in fast arithmetic the weights' part at that of the integer products), without exponentials, norms and copies
 * read_us   time to read the bytes of the weights and the cache once by the same threads, repeatedly, from the level of
 * the caches that holds them bound     the larger of the two divided by T(b); at 1 the pass is at its bound A pass
 * cannot be faster than either. If v(b) is near the ratio of arith_us(b) to T(1), a row costs its arithmetic.
 */
#include "base/clock.h"
#include "base/cpu_internal.h"
#include "base/mem.h"
#include "base/pool.h"
#include "base/rng.h"
#include "evaluate/speed.h"
#include "io/file.h"
#include "session/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

enum { MAX_ROWS = 33, MAX_ROUNDS = 1001, LOOPS = 200000, WALK = 64, PLACES = 8, MOST_TEXT = 16 << 20 };
static const double SHORTEST = 0.002; /* seconds of one sample */
static const int all_rows[] = {1, 2, 4, 5, 8, 9, 16, 17, 32, 33};
enum { WIDTHS = sizeof all_rows / sizeof *all_rows };

static void die(const geodec_err *err)
{
    char line[512];
    (void)fprintf(stderr, "bench-verify: %s\n", geodec_err_line(err, line, sizeof line));
    exit(1);
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* ---- peaks ------------------------------------------------------------------------------------------------------ */

static volatile float sink;

/* Operations of LOOPS steps; the loop is the body's instructions and a counter. */
typedef double (*peak_fn)(void);

static double peak_scalar(void)
{
    float a[8] = {0}, x = 1.0f, y = 1e-9f;
    for (int i = 0; i < LOOPS; i++)
        for (int k = 0; k < 8; k++) a[k] = a[k] * x + y;
    for (int k = 0; k < 8; k++) sink = a[k];
    return 2.0 * 8 * LOOPS;
}

#if defined(__x86_64__)
#define FLOAT_PEAK(name, set, vec, zero, set1, fma, lanes)                                                             \
    static __attribute__((target(set))) double name(void)                                                              \
    {                                                                                                                  \
        vec a[12], x = set1(1.0f), y = set1(1e-9f);                                                                    \
        for (int k = 0; k < 12; k++) a[k] = zero();                                                                    \
        for (int i = 0; i < LOOPS; i++) {                                                                              \
            _Pragma("GCC unroll 12") for (int k = 0; k < 12; k++) a[k] = fma(a[k], x, y);                              \
            __asm__ volatile("" : "+v"(x));                                                                            \
        }                                                                                                              \
        float out[12][lanes];                                                                                          \
        memcpy(out, a, sizeof out);                                                                                    \
        for (int k = 0; k < 12; k++) sink = out[k][0];                                                                 \
        return 2.0 * 12 * (lanes)*LOOPS;                                                                               \
    }
FLOAT_PEAK(peak_avx2, "avx2,fma", __m256, _mm256_setzero_ps, _mm256_set1_ps, _mm256_fmadd_ps, 8)
FLOAT_PEAK(peak_avx512, "avx512f", __m512, _mm512_setzero_ps, _mm512_set1_ps, _mm512_fmadd_ps, 16)

static __attribute__((target("avx512f,avx512vnni"))) double peak_vnni(void)
{
    __m512i a[12], x = _mm512_set1_epi8(1), y = _mm512_set1_epi8(2);
    for (int k = 0; k < 12; k++) a[k] = _mm512_setzero_si512();
    for (int i = 0; i < LOOPS; i++) {
#pragma GCC unroll 12
        for (int k = 0; k < 12; k++) a[k] = _mm512_dpbusd_epi32(a[k], x, y);
        __asm__ volatile("" : "+v"(x));
    }
    int32_t out[12][16];
    memcpy(out, a, sizeof out);
    for (int k = 0; k < 12; k++) sink = (float)out[k][0];
    return 2.0 * 12 * 64 * LOOPS;
}
#endif

static void peak_task(void *ctx, int64_t task, int worker)
{
    (void)worker;
    double *ops = ctx;
    ops[task] = (*(peak_fn *)(void *)&ops[MAX_ROUNDS])();
}

/* Operations a second of all threads together: the best of a few runs. */
static double peak_of(geodec_pool *pool, peak_fn fn)
{
    double ops[MAX_ROUNDS + 1] = {0}, best = 0;
    const int threads = geodec_pool_threads(pool);
    memcpy(&ops[MAX_ROUNDS], &fn, sizeof fn);
    for (int i = 0; i < 12; i++) {
        double sum = 0;
        const double begin = geodec_clock_seconds();
        geodec_pool_run(pool, threads, peak_task, ops);
        const double seconds = geodec_clock_seconds() - begin;
        for (int t = 0; t < threads; t++) sum += ops[t];
        if (sum / seconds > best) best = sum / seconds;
    }
    return best;
}

static double float_peak(geodec_pool *pool, geodec_isa isa)
{
#if defined(__x86_64__)
    if (isa == GEODEC_ISA_AVX512) return peak_of(pool, peak_avx512);
    if (isa == GEODEC_ISA_AVX2) return peak_of(pool, peak_avx2);
#endif
    (void)isa;
    return peak_of(pool, peak_scalar);
}

/* Multiply-adds of bytes; without the instruction, one of 16-bit pairs counts as two of floats. */
static double integer_peak(geodec_pool *pool, geodec_isa isa)
{
#if defined(__x86_64__)
    if (isa == GEODEC_ISA_AVX512 && geodec__cpu() & GEODEC__CPU_VNNI) return peak_of(pool, peak_vnni);
#endif
    return 2 * float_peak(pool, isa);
}

typedef struct reading {
    const uint64_t *data;
    int64_t words, threads;
} reading;

#if defined(__x86_64__)
/* Lines begin .. end-1 of 64 bytes. */
static __attribute__((target("avx2"))) void read_lines(const uint64_t *data, int64_t begin, int64_t end)
{
    const __m256i *at = (const __m256i *)(const void *)data;
    __m256i a = _mm256_setzero_si256(), b = a, c = a, d = a;
    for (int64_t i = 2 * begin; i + 4 <= 2 * end; i += 4) {
        a = _mm256_or_si256(a, _mm256_load_si256(at + i));
        b = _mm256_or_si256(b, _mm256_load_si256(at + i + 1));
        c = _mm256_or_si256(c, _mm256_load_si256(at + i + 2));
        d = _mm256_or_si256(d, _mm256_load_si256(at + i + 3));
    }
    sink = (float)_mm256_extract_epi64(_mm256_or_si256(_mm256_or_si256(a, b), _mm256_or_si256(c, d)), 0);
}
#endif

static void read_words(const uint64_t *data, int64_t begin, int64_t end)
{
    uint64_t s[8] = {0};
    for (int64_t i = 8 * begin; i < 8 * end; i += 8)
        for (int k = 0; k < 8; k++) s[k] |= data[i + k];
    for (int k = 1; k < 8; k++) s[0] |= s[k];
    sink = (float)s[0];
}

static void read_task(void *ctx, int64_t task, int worker)
{
    (void)worker;
    const reading *r = ctx;
    const int64_t lines = r->words / 8, begin = lines * task / r->threads, end = lines * (task + 1) / r->threads;
#if defined(__x86_64__)
    if (geodec__cpu() & GEODEC__CPU_AVX2) {
        read_lines(r->data, begin, end);
        return;
    }
#endif
    read_words(r->data, begin, end);
}

static double read_seconds(geodec_pool *pool, int64_t bytes)
{
    double best = 1e9;
    reading r = {.words = bytes / 8 + 32, .threads = geodec_pool_threads(pool)};
    uint64_t *data = geodec_mem_map(r.words * 8);
    if (!data) return 0;
    memset(data, 1, (size_t)r.words * 8);
    r.data = data;
    for (int i = 0; i < 200; i++) {
        const double begin = geodec_clock_seconds();
        geodec_pool_run(pool, r.threads, read_task, &r);
        const double seconds = geodec_clock_seconds() - begin;
        best = seconds < best ? seconds : best;
        if (i > 5 && bytes > (64 << 20)) break;
    }
    geodec_mem_unmap(data, r.words * 8);
    return best;
}

/* ---- passes ----------------------------------------------------------------------------------------------------- */

typedef struct options {
    const char *path, *text;
    int threads, depth, rounds, rows[WIDTHS], n_rows;
    bool trees;
    geodec_arithmetic arithmetic;
    geodec_isa isa;
    geodec_kv_type kv;
} options;

typedef struct bench {
    geodec_model *model;
    geodec_session *session;
    geodec_pool *pool;
    float *logits;
    int32_t *token, parent[MAX_ROWS];
    int64_t n_tokens; /* of the text */
} bench;

/* What is measured of one width. */
typedef struct figures {
    double median, least, experts;
} figures;

/* The mean of enough passes to be long; *least is the shortest of all so far. */
static double pass_seconds(bench *b, const options *o, int rows, double *least)
{
    geodec_err err = {0};
    const geodec_batch batch = {.n = rows, .token = b->token + o->depth, .parent = o->trees ? b->parent : NULL};
    double spent = 0;
    int n = 0;
    for (; n == 0 || spent < SHORTEST; n++) {
        const double begin = geodec_clock_seconds();
        if (geodec_forward(b->session, &batch, b->logits, NULL, &err) != GEODEC_OK) die(&err);
        const double seconds = geodec_clock_seconds() - begin;
        spent += seconds;
        *least = seconds < *least ? seconds : *least;
        geodec_session_truncate(b->session, o->depth);
    }
    return spent / n;
}

/* Distinct experts of the last pass, mean over layers. */
static double distinct_experts(const bench *b, int rows)
{
    const geodec_model_config *c = geodec_model_configuration(b->model);
    const int32_t *id = geodec_session_expert_ids(b->session);
    int64_t sum = 0;
    for (int64_t layer = 0; layer < c->n_layer; layer++)
        for (int32_t e = 0; e < c->n_expert; e++) {
            bool used = false;
            for (int64_t i = 0; i < (int64_t)rows * c->n_expert_used; i++)
                used = used ||
                       id[(i / c->n_expert_used * c->n_layer + layer) * c->n_expert_used + i % c->n_expert_used] == e;
            sum += used;
        }
    return (double)sum / c->n_layer;
}

/* Times of the passes of one walk over the tokens, at time[0], time[step], ...; adds to *experts if it is not NULL. */
static void walk(bench *b, const options *o, const int32_t *token, int rows, double *time, int step, double *experts)
{
    geodec_err err = {0};
    const int passes = WALK / rows;
    for (int i = 0; i < passes; i++) {
        const geodec_batch batch = {.n = rows, .token = token + i * rows, .parent = o->trees ? b->parent : NULL};
        const double begin = geodec_clock_seconds();
        if (geodec_forward(b->session, &batch, b->logits, NULL, &err) != GEODEC_OK) die(&err);
        time[i * step] = geodec_clock_seconds() - begin;
        if (experts) *experts += distinct_experts(b, rows) / passes;
    }
    geodec_session_truncate(b->session, o->depth);
}

/* Every pass of a walk has a median and a least time of its own, since a disturbance rarely spares a whole walk. */
static void measure_text(bench *b, const options *o, const int *list, int n, figures *f)
{
    static double sample[WIDTHS][WALK * MAX_ROUNDS];
    geodec_err err = {0};
    const bool mixture = geodec_model_configuration(b->model)->n_expert > 0;
    for (int place = 0; place < PLACES; place++) {
        const int32_t *token = b->token + (b->n_tokens - o->depth - WALK) * place / PLACES;
        geodec_session_truncate(b->session, 0);
        if (geodec_forward_prefill(b->session, token, o->depth, NULL, &err) != GEODEC_OK) die(&err);
        for (int k = -1; k < o->rounds; k++) /* round -1 warms up */
            for (int i = 0; i < n; i++)
                walk(b, o, token + o->depth, list[i], sample[i] + (k < 0 ? 0 : k), o->rounds,
                     k < 0 && mixture ? &f[i].experts : NULL);
        for (int i = 0; i < n; i++) {
            const int passes = WALK / list[i];
            for (int k = 0; k < passes; k++) {
                double *s = sample[i] + k * o->rounds;
                qsort(s, (size_t)o->rounds, sizeof *s, by_value);
                f[i].median += s[o->rounds / 2] / passes / PLACES;
                f[i].least += s[0] / passes / PLACES;
            }
        }
    }
    for (int i = 0; i < n; i++) f[i].experts /= PLACES;
}

static void measure(bench *b, const options *o, const int *list, int n, figures *f)
{
    static double sample[WIDTHS][MAX_ROUNDS];
    geodec_err err = {0};
    if (geodec_forward_prefill(b->session, b->token, o->depth, NULL, &err) != GEODEC_OK) die(&err);
    for (int i = 0; i < n; i++) f[i].least = 1e9;
    for (int k = -1; k < o->rounds; k++) /* round -1 warms up */
        for (int i = 0; i < n; i++) {
            sample[i][k < 0 ? 0 : k] = pass_seconds(b, o, list[i], &f[i].least);
            if (geodec_model_configuration(b->model)->n_expert > 0) f[i].experts = distinct_experts(b, list[i]);
        }
    for (int i = 0; i < n; i++) {
        qsort(sample[i], (size_t)o->rounds, sizeof **sample, by_value);
        f[i].median = sample[i][o->rounds / 2];
    }
}

/* Weights that a row multiplies: every matrix, the chosen experts only, the embedding only as a tied head. */
static double weights_of(const geodec_model *m)
{
    const geodec_gguf *g = geodec_model_gguf(m);
    const geodec_model_config *c = geodec_model_configuration(m);
    const bool separate = geodec_gguf_find(g, "output.weight") != NULL;
    double sum = 0;
    for (int64_t i = 0; i < geodec_gguf_n_tensors(g); i++) {
        const geodec_gguf_tensor *t = geodec_gguf_tensor_at(g, i);
        if (t->n_dims < 2 || (separate && strcmp(t->name, "token_embd.weight") == 0)) continue;
        double n = 1;
        for (int k = 0; k < (int)t->n_dims; k++) n *= (double)t->dim[k];
        if (c->n_expert > 0 && t->n_dims == 3) n *= (double)c->n_expert_used / c->n_expert;
        sum += n;
    }
    return sum;
}

static double attention_ops(const geodec_model_config *c, const options *o, int rows)
{
    double keys = 0;
    for (int i = 0; i < rows; i++) {
        int depth = i;
        if (o->trees)
            for (depth = 0; i >> depth > 0 && ((i + 1) >> (depth + 1)) > 0;) depth++;
        keys += o->depth + depth + 1;
    }
    return keys * 4 * c->head_dim * c->n_head * c->n_layer;
}

static void run(bench *b, const options *o)
{
    const int *list = o->n_rows > 0 ? o->rows : all_rows, n = o->n_rows > 0 ? o->n_rows : WIDTHS;
    const geodec_model_config *c = geodec_model_configuration(b->model);
    const geodec_isa isa = geodec_session_isa(b->session);
    figures figure[WIDTHS] = {{0}};
    (o->text ? measure_text : measure)(b, o, list, n, figure);
    const double weights = weights_of(b->model), floats = float_peak(b->pool, isa),
                 integers = o->arithmetic == GEODEC_FAST ? integer_peak(b->pool, isa) : floats;
    const double value = o->kv == GEODEC_KV_F32 ? 4 : o->kv == GEODEC_KV_F16 ? 2 : 34.0 / 32;
    (void)printf("arithmetic\tisa\tthreads\tshape\tb\tus\tleast_us\tv\tleast_v\tmarginal_us\tmflop\tarith_us\tread_"
                 "us\tbound\texperts"
                 "\n");
    const double one = list[0] == 1 ? figure[0].median : 0, least_one = figure[0].least;
    for (int i = 0; i < n; i++) {
        const double t = figure[i].median;
        const int rows = list[i];
        const double products = 2 * weights * rows, attention = attention_ops(c, o, rows);
        const double arith = products / integers + attention / floats;
        const double cache = value * 2 * c->n_layer * c->n_kv_head * c->head_dim * (o->depth + rows);
        const double reads = read_seconds(b->pool, geodec_speed_token_bytes(b->model) + (int64_t)cache);
        (void)printf("%s\t%s\t%d\t%s\t%d\t%.1f\t%.1f\t%.2f\t%.2f\t%.1f\t%.3f\t%.1f\t%.1f\t%.2f\t%.1f\n",
                     o->arithmetic == GEODEC_FAST ? "fast" : "exact", geodec_kernels_isa_name(isa),
                     geodec_pool_threads(b->pool), o->trees ? "tree" : "chain", rows, 1e6 * t, 1e6 * figure[i].least,
                     one > 0 ? t / one : 0, one > 0 ? figure[i].least / least_one : 0,
                     rows > 1 && one > 0 ? 1e6 * (t - one) / (rows - 1) : 0, 1e-6 * (products + attention), 1e6 * arith,
                     1e6 * reads, (arith > reads ? arith : reads) / t, figure[i].experts);
    }
    (void)fprintf(stderr, "# %s: %.0f weights a row, peak %.1f Gflop/s in floats, %.1f Gop/s as used\n",
                  geodec_model_name(b->model), weights, 1e-9 * floats, 1e-9 * integers);
}

static bool rows_fit(const options *o)
{
    for (int i = 0; i < o->n_rows; i++)
        if (o->rows[i] < 1 || o->rows[i] > MAX_ROWS) return false;
    return true;
}

static bool read_options(int argc, char **argv, options *o)
{
    *o = (options){.threads = 1, .depth = 100, .rounds = 15};
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        if (strcmp(argv[i], "--trees") == 0) {
            o->trees = true;
            continue;
        }
        if (argv[i][0] != '-') {
            o->path = argv[i];
            continue;
        }
        if (strcmp(argv[i], "--threads") == 0) o->threads = atoi(value);
        if (strcmp(argv[i], "--depth") == 0) o->depth = atoi(value);
        if (strcmp(argv[i], "--rounds") == 0) o->rounds = atoi(value);
        if (strcmp(argv[i], "--text") == 0) o->text = value;
        for (const char *at = value; strcmp(argv[i], "--rows") == 0 && at && o->n_rows < WIDTHS;) {
            o->rows[o->n_rows++] = atoi(at);
            at = strchr(at, ',');
            at = at ? at + 1 : NULL;
        }
        if (strcmp(argv[i], "--arithmetic") == 0)
            o->arithmetic = strcmp(value, "fast") == 0 ? GEODEC_FAST : GEODEC_EXACT;
        if (strcmp(argv[i], "--kv") == 0)
            o->kv = strcmp(value, "f16") == 0    ? GEODEC_KV_F16
                    : strcmp(value, "q8_0") == 0 ? GEODEC_KV_Q8_0
                                                 : GEODEC_KV_F32;
        for (int k = GEODEC_ISA_SCALAR; strcmp(argv[i], "--isa") == 0 && k <= GEODEC_ISA_AVX512; k++)
            if (strcmp(value, geodec_kernels_isa_name((geodec_isa)k)) == 0) o->isa = (geodec_isa)k;
        i++;
    }
    return o->path && o->threads >= 1 && o->depth >= 1 && o->depth < 1 << 20 && o->rounds >= 1 &&
           o->rounds <= MAX_ROUNDS && rows_fit(o);
}

static geodec_status make_tokens(bench *b, const options *o, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_rng rng = geodec_rng_stream(1, geodec_rng_id("bench tokens", 0));
    GEODEC_NEW(b->token, o->depth + MAX_ROWS);
    for (int i = 0; i < o->depth + MAX_ROWS; i++)
        b->token[i] = (int32_t)geodec_rng_below(&rng, (uint64_t)geodec_model_configuration(b->model)->n_vocab);
done:
    return st;
}

static geodec_status read_text(bench *b, const options *o, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    char *text = NULL;
    size_t n = 0;
    GEODEC_TRY(geodec_file_read(o->text, MOST_TEXT, &text, &n, err));
    GEODEC_NEW(b->token, (int64_t)n + 2);
    GEODEC_TRY(geodec_tokenizer_encode(geodec_model_tokenizer(b->model), text, n, true, b->token, &b->n_tokens, err));
    if (b->n_tokens < o->depth + WALK)
        GEODEC_THROW(GEODEC_RANGE, "%s has %lld tokens, less than %d", o->text, (long long)b->n_tokens,
                     o->depth + WALK);
done:
    geodec_mem_free(text);
    return st;
}

int main(int argc, char **argv)
{
    geodec_err err = {0};
    options o;
    bench b = {0};
    if (!read_options(argc, argv, &o)) {
        (void)fprintf(stderr,
                      "usage: bench-verify MODEL.gguf [--threads N] [--arithmetic exact|fast] [--isa NAME] [--kv "
                      "TYPE] [--depth N] [--rounds N] [--trees] [--rows B,B,..] [--text FILE]\n");
        return 2;
    }
    if (o.threads > 1 && geodec_pool_create(o.threads, &b.pool, &err) != GEODEC_OK) die(&err);
    if (geodec_model_open(o.path, &b.model, &err) != GEODEC_OK) die(&err);
    const geodec_session_options so = {.n_ctx = o.depth + (o.text ? WALK : MAX_ROWS),
                                       .max_batch = 64,
                                       .isa = o.isa,
                                       .pool = b.pool,
                                       .arithmetic = o.arithmetic,
                                       .kv = o.kv};
    if (geodec_session_create(b.model, &so, &b.session, &err) != GEODEC_OK) die(&err);
    const geodec_model_config *c = geodec_model_configuration(b.model);
    b.logits = geodec_mem_new((int64_t)MAX_ROWS * c->n_vocab, sizeof *b.logits);
    if (!b.logits || (o.text ? read_text : make_tokens)(&b, &o, &err) != GEODEC_OK) die(&err);
    for (int i = 0; i < MAX_ROWS; i++) b.parent[i] = i > 0 ? (i - 1) / 2 : -1;
    run(&b, &o);
    geodec_mem_free(b.token);
    geodec_mem_free(b.logits);
    geodec_session_destroy(b.session);
    geodec_model_close(b.model);
    geodec_pool_destroy(b.pool);
    return 0;
}

/* Cost of checking products by random projections, as TSV on stdout.
 *
 *     bench-freivalds [--quick] [--isa scalar|avx2|avx512]
 *
 * A random model of the SmolLM2-135M shape in Q8_0 runs in integers over n random tokens, in passes of 64 rows with all
 * logits, twice a round: once the products are computed (the control), once their sums come from a transcript and are
 * checked, which includes opening the file, random numbers, projections, results and closing. Columns: tokens;
 * alone_ms, time in the products of as many passes of one row, as in decoding (from 16 of them); products_ms and
 * check_ms, time in the products; ratio, the median of check / products of each round; of the check, project_ms, the
 * projections alone; read_ms, reading one byte of each line of the mapped file; beside them hash_ms, the SHA-256 of the
 * file, which the check does not need; rest_ms, the rest of the passes; bytes of transcript for each token. One thread,
 * in its processor time; medians of rounds. */
#include "arguments.h"
#include "attest/freivalds.h"
#include "attest/projection_internal.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/rng.h"
#include "io/file.h"
#include "session/integer_session.h"
#include "session/shape.h"

#include <unistd.h>

enum { ROWS = 64, FEW = 16, MOST = 1024, ROUNDS = 9 };
static const char WEIGHTS[] = "bench-freivalds.random.gguf", SUMS[] = "bench-freivalds.sums";
static geodec_err err;

static void must(geodec_status st)
{
    char line[512];
    if (st == GEODEC_OK) return;
    (void)fprintf(stderr, "bench-freivalds: %s\n", geodec_err_line(&err, line, sizeof line));
    (void)unlink(WEIGHTS);
    (void)unlink(SUMS);
    exit(1);
}

typedef struct timer {
    geodec_engine_multiply fn; /* NULL: the products themselves */
    void *ctx;
    const geodec__product_ops *product;
    double seconds;
} timer;

static void timed(void *ctx, const geodec_engine_product *job, int64_t jobs, geodec_pool *pool)
{
    timer *t = ctx;
    const double began = geodec_clock_thread_seconds();
    if (t->fn) t->fn(t->ctx, job, jobs, pool);
    for (int64_t k = 0; !t->fn && k < jobs; k++)
        t->product->multiply(job[k].w, 0,
                             (geodec_coded_rows(job[k].w) + GEODEC__PRODUCT_ROWS - 1) / GEODEC__PRODUCT_ROWS, job[k].x,
                             job[k].n, job[k].y);
    t->seconds += geodec_clock_thread_seconds() - began;
}

typedef struct work {
    geodec_engine *e;
    int32_t *token, *logits;
    int32_t n;
} work;

/* All passes of `rows` tokens; their seconds. reader, writer: of the sums, or NULL. */
static double passes(const work *w, timer *t, int32_t rows, geodec_transcript *reader, geodec_transcript_writer *writer)
{
    geodec_engine_truncate(w->e, 0);
    geodec_engine_replace_products(w->e, timed, t);
    const double began = geodec_clock_thread_seconds();
    for (int32_t at = 0; at < w->n; at += rows) {
        const geodec_engine_pass p = {.n = rows, .token = w->token + at, .logits = w->logits};
        if (reader) must(geodec_transcript_pass(reader, rows, &err));
        must(geodec_engine_forward(w->e, &p, &err));
        if (writer) must(geodec_transcript_flush(writer, rows, &err));
    }
    return geodec_clock_thread_seconds() - began;
}

static void write_sums(const work *w, timer *t)
{
    char digest[GEODEC_SHA256_HEX];
    int64_t size;
    const uint8_t binding[GEODEC_TRANSCRIPT_BINDING] = {0};
    geodec_transcript_writer *writer;
    geodec_freivalds *f;
    must(geodec_transcript_create(SUMS, binding, ROWS, &writer, &err));
    must(geodec_freivalds_prover(w->e, writer, &f, &err));
    t->fn = geodec_freivalds_prove;
    t->ctx = f;
    (void)passes(w, t, ROWS, NULL, writer);
    must(geodec_transcript_commit(writer, &size, digest, &err));
    geodec_transcript_abandon(writer);
    geodec_freivalds_free(f);
}

/* Seconds of the check, and of the passes without it. */
static double check(const work *w, timer *t, uint64_t secret)
{
    geodec_transcript *reader;
    geodec_freivalds *f;
    double began = geodec_clock_thread_seconds();
    must(geodec_transcript_open(SUMS, ROWS, &reader, &err));
    must(geodec_freivalds_verifier(w->e, reader, ROWS, secret, &f, &err));
    double seconds = geodec_clock_thread_seconds() - began;
    *t = (timer){.fn = geodec_freivalds_check, .ctx = f};
    (void)passes(w, t, ROWS, reader, NULL);
    const geodec_freivalds_report r = geodec_freivalds_pass_report(f);
    if (r.wrong >= 0 || r.missing >= 0 || r.recomputed > 0) {
        (void)fprintf(stderr, "bench-freivalds: a true product was not accepted\n");
        exit(1);
    }
    seconds += t->seconds;
    began = geodec_clock_thread_seconds();
    geodec_freivalds_free(f);
    geodec_transcript_close(reader);
    return seconds + geodec_clock_thread_seconds() - began;
}

static double project_one(const geodec_panels16 *w, const geodec__projection_ops *ops, const uint64_t *r, uint64_t *u)
{
    const double began = geodec_clock_thread_seconds();
    if (w) (w->bits == 16 ? &geodec__projection_scalar : ops)->columns(w, r, 0, w->pairs, u);
    return geodec_clock_thread_seconds() - began;
}

static double project(const work *w, const uint64_t *r, uint64_t *u)
{
    const geodec_network *net = geodec_engine_network(w->e);
    const geodec__projection_ops *ops = geodec__projection_for(geodec_engine_isa(w->e));
    double seconds = project_one(net->head, ops, r, u);
    for (int32_t i = 0; i < net->config.n_layer; i++) {
#define X(field, name) seconds += project_one(net->layer[i].field, ops, r, u);
        GEODEC_NETWORK_MATRICES(X)
#undef X
    }
    return seconds;
}

static double read_file(int64_t *size)
{
    static volatile uint8_t sink;
    geodec_file_map m;
    const double began = geodec_clock_thread_seconds();
    must(geodec_file_map_open(SUMS, &m, &err));
    for (size_t i = 0; i < m.size; i += 64) sink = m.data[i];
    *size = (int64_t)m.size;
    geodec_file_map_close(&m);
    (void)sink;
    return geodec_clock_thread_seconds() - began;
}

static double hash_file(void)
{
    char digest[GEODEC_SHA256_HEX];
    const double began = geodec_clock_thread_seconds();
    must(geodec_file_sha256(SUMS, digest, &err));
    return geodec_clock_thread_seconds() - began;
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *v, int n)
{
    qsort(v, (size_t)n, sizeof *v, by_value);
    return v[n / 2];
}

static void measure(work *w, int32_t n, int rounds, const uint64_t *r, uint64_t *u)
{
    enum { ALONE, PRODUCTS, CHECK, RATIO, PROJECT, READ, HASH, REST, KINDS };
    double v[KINDS][ROUNDS];
    int64_t size = 0;
    timer t = {.product = geodec__product_for(geodec_engine_isa(w->e))};
    w->n = n;
    write_sums(w, &t);
    for (int i = 0; i < rounds; i++) {
        t = (timer){.product = geodec__product_for(geodec_engine_isa(w->e))};
        v[REST][i] = 1e3 * (passes(w, &t, ROWS, NULL, NULL) - t.seconds);
        v[PRODUCTS][i] = 1e3 * t.seconds;
        t.seconds = 0;
        const work few = {w->e, w->token, w->logits, FEW};
        (void)passes(&few, &t, 1, NULL, NULL);
        v[ALONE][i] = 1e3 * t.seconds / FEW * n;
        v[CHECK][i] = 1e3 * check(w, &t, 1 + (uint64_t)i);
        v[RATIO][i] = v[CHECK][i] / v[PRODUCTS][i];
        v[PROJECT][i] = 1e3 * project(w, r, u);
        v[READ][i] = 1e3 * read_file(&size);
        v[HASH][i] = 1e3 * hash_file();
    }
    (void)printf("%d", n);
    for (int k = 0; k < KINDS; k++) (void)printf(k == RATIO ? "\t%.3f" : "\t%.1f", median(v[k], rounds));
    (void)printf("\t%lld\n", (long long)(size / n));
    (void)fflush(stdout);
}

int main(int argc, char **argv)
{
    static const int32_t lengths[] = {64, 256, 1024};
    bench_arguments arguments;
    geodec_model *m;
    geodec_session *s;
    if (!bench_arguments_read(argc, argv, "bench-freivalds", "", &arguments)) return 2;
    must(geodec_shape_write(WEIGHTS, geodec_shape_named("smollm2-135m"), "q8_0", 1, NULL, NULL, &err));
    must(geodec_model_open(WEIGHTS, &m, &err));
    const geodec_session_options o = {
        .n_ctx = MOST, .max_batch = ROWS, .isa = arguments.isa, .arithmetic = GEODEC_INTEGER};
    must(geodec_session_create(m, &o, &s, &err));
    work w = {.e = geodec_integer_session_engine(s)};
    const geodec_network_config *c = &geodec_engine_network(w.e)->config;
    const int64_t widest = c->n_vocab > c->d_ff ? c->n_vocab : c->d_ff, places = geodec_coded_places(widest) * 32;
    w.token = geodec_mem_new(MOST, sizeof *w.token);
    w.logits = geodec_mem_new((int64_t)ROWS * c->n_vocab, sizeof *w.logits);
    uint64_t *r = geodec_mem_new(places, sizeof *r), *u = geodec_mem_new(places, sizeof *u);
    if (!w.token || !w.logits || !r || !u) must(geodec_err_set(&err, GEODEC_NOMEM, __func__, __LINE__, "no memory"));
    for (uint64_t i = 0; i < MOST; i++) w.token[i] = (int32_t)(geodec_rng_at(1, 1, i) % (uint64_t)c->n_vocab);
    for (int64_t i = 0; i < places; i++) r[i] = geodec_rng_at(2, 1, (uint64_t)i) >> (64 - GEODEC__PROJECTION_BITS);
    (void)printf(
        "tokens\talone_ms\tproducts_ms\tcheck_ms\tratio\tproject_ms\tread_ms\thash_ms\trest_ms\tbytes_a_token\n");
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths - arguments.quick; i++)
        measure(&w, lengths[i], arguments.quick ? 3 : ROUNDS, r, u);
    geodec_session_destroy(s);
    geodec_model_close(m);
    GEODEC_FREE(w.token, w.logits, r, u);
    (void)unlink(WEIGHTS);
    (void)unlink(SUMS);
    return 0;
}

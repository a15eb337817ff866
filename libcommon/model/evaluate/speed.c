#include "evaluate/speed.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/numbers.h"
#include "base/rng.h"
#include "evaluate/read_limit.h"
#include "io/json.h"
#include "io/tsv.h"
#include "linalg/stats.h"
#include "session/arithmetic.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_TOKENS = 1 << 20, MAX_REPEATS = 1001, MAX_INNER = 1000, SETTLE = 12 };
static const double SHORTEST = 0.004; /* seconds of one sample of v: shorter ones are repeated */

enum { LIMIT, PROMPT, GENERATE, BANDWIDTH, FIRST, ONE, WIDTH, SAMPLES = WIDTH };

/* State shared by the measurements. */
typedef struct bench {
    const char *path;
    const geodec_speed_options *o;
    const geodec_hooks *hooks;
    geodec_speed_result *out;
    geodec_model *model;
    geodec_session *session;
    geodec_read_limit *limit;
    int32_t n_ctx;
    int32_t *token;                                    /* [n_ctx] */
    float *logits;                                     /* [widest][n_vocab] */
    double *sample[SAMPLES + GEODEC_BENCH_WIDTHS_MAX]; /* [repeats] each; from WIDTH on those of v */
    double settle;
} bench;

/* ---- figures of the file and the process ------------------------------------------------------------------------- */

int64_t geodec_speed_token_bytes(const geodec_model *m)
{
    const geodec_gguf *g = geodec_model_gguf(m);
    const geodec_model_config *c = geodec_model_configuration(m);
    const bool separate = geodec_gguf_find(g, "output.weight") != NULL;
    int64_t sum = 0;
    for (int64_t i = 0; i < geodec_gguf_n_tensors(g); i++) {
        const geodec_gguf_tensor *t = geodec_gguf_tensor_at(g, i);
        int64_t bytes = (int64_t)t->bytes;
        if (separate && strcmp(t->name, "token_embd.weight") == 0) bytes /= t->dim[1];
        if (c->n_expert > 0 && t->dim[2] == c->n_expert) bytes = bytes / c->n_expert * c->n_expert_used;
        sum += bytes;
    }
    if (c->n_expert > 0) sum += geodec_model_store_bytes(m) / c->n_expert * c->n_expert_used;
    return sum;
}

/* Bytes of the process's resident set ("VmRSS:"), or of its largest since reset_peak ("VmHWM:"); 0 when unknown. */
static double resident(const char *which)
{
    char line[256];
    double bytes = 0;
    FILE *f = fopen("/proc/self/status", "r");
    if (!f) return 0;
    while (fgets(line, sizeof line, f))
        if (strncmp(line, which, strlen(which)) == 0) bytes = 1024 * strtod(line + strlen(which), NULL);
    (void)fclose(f);
    return bytes;
}

static void reset_peak(void)
{
    const int fd = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
    if (fd < 0) return;
    if (write(fd, "5", 1) != 1) { /* on failure the peak includes earlier memory */
    }
    (void)close(fd);
}

/* ---- samples ----------------------------------------------------------------------------------------------------- */

static geodec_status open_session(const bench *b, int32_t n_ctx, geodec_model **m, geodec_session **s, geodec_err *err)
{
    const geodec_speed_options *o = b->o;
    const int32_t back = o->depth > 0 ? b->n_ctx - o->depth : 0; /* no sample reads the depth again */
    int32_t rows = o->batch;
    for (int32_t i = 0; i < o->n_widths; i++) rows = o->width[i] > rows ? o->width[i] : rows;
    GEODEC_PASS(geodec_model_open(b->path, m, err));
    const geodec_session_options so = {.n_ctx = n_ctx,
                                       .max_batch = rows,
                                       .isa = o->isa,
                                       .pool = o->pool,
                                       .arithmetic = o->arithmetic,
                                       .kv = o->kv,
                                       .back = back};
    GEODEC_PASS(geodec_session_create(*m, &so, s, err));
    return GEODEC_OK;
}

static geodec_status prompt(bench *b, geodec_err *err)
{
    geodec_session_truncate(b->session, 0);
    for (int32_t at = 0; at < b->o->prompt;) {
        const int32_t n = b->o->prompt - at < b->o->batch ? b->o->prompt - at : b->o->batch;
        GEODEC_PASS(
            geodec_forward_prefill(b->session, b->token + at, n, at + n == b->o->prompt ? b->logits : NULL, err));
        at += n;
    }
    return GEODEC_OK;
}

static geodec_status generate(bench *b, int32_t n, geodec_err *err)
{
    for (int32_t i = 0; i < n; i++) {
        const geodec_batch one = {.n = 1, .token = b->token + geodec_session_length(b->session)};
        GEODEC_PASS(geodec_forward(b->session, &one, b->logits, NULL, err));
    }
    return GEODEC_OK;
}

/* Reads a context of `depth` random tokens. */
static geodec_status to_depth(bench *b, geodec_err *err)
{
    const int32_t length = geodec_session_length(b->session), depth = b->o->depth;
    if (length < depth) return geodec_forward_prefill(b->session, b->token + length, depth - length, NULL, err);
    geodec_session_truncate(b->session, depth);
    return GEODEC_OK;
}

/* Seconds of one pass over `width` rows: the mean of enough passes for a sample. */
static geodec_status sample_width(bench *b, int32_t width, double *seconds, geodec_err *err)
{
    double spent = 0;
    int n = 0;
    GEODEC_PASS(to_depth(b, err));
    for (; n == 0 || (spent < SHORTEST && n < MAX_INNER); n++) {
        const geodec_batch rows = {.n = width, .token = b->token + b->o->depth};
        const double begin = geodec_clock_seconds();
        GEODEC_PASS(geodec_forward(b->session, &rows, b->logits, NULL, err));
        spent += geodec_clock_seconds() - begin;
        geodec_session_truncate(b->session, b->o->depth);
    }
    *seconds = spent / n;
    return GEODEC_OK;
}

/* The file is opened again; its pages are in the system's cache. */
static geodec_status sample_first(bench *b, double *seconds, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_model *m = NULL;
    geodec_session *s = NULL;
    const double begin = geodec_clock_seconds();
    GEODEC_TRY(open_session(b, b->n_ctx, &m, &s, err));
    GEODEC_TRY(geodec_forward_prefill(s, b->token, b->o->first, b->logits, err));
    (void)geodec_argmax(b->logits, geodec_model_configuration(m)->n_vocab);
    *seconds = geodec_clock_seconds() - begin;
done:
    geodec_session_destroy(s);
    geodec_model_close(m);
    return st;
}

static geodec_status sample_all(bench *b, int32_t k, geodec_err *err)
{
    const geodec_speed_options *o = b->o;
    double t;
    if (b->limit) b->sample[LIMIT][k] = geodec_read_limit_measure(b->limit) * 1e-9;
    if (o->prompt) {
        t = geodec_clock_seconds();
        GEODEC_PASS(prompt(b, err));
        b->sample[PROMPT][k] = (double)o->prompt / (geodec_clock_seconds() - t);
    }
    if (o->generate) {
        GEODEC_PASS(to_depth(b, err));
        t = geodec_clock_seconds();
        GEODEC_PASS(generate(b, o->generate, err));
        b->sample[GENERATE][k] = (double)o->generate / (geodec_clock_seconds() - t);
        b->sample[BANDWIDTH][k] = (double)b->out->token_bytes * b->sample[GENERATE][k] * 1e-9;
    }
    if (o->n_widths) GEODEC_PASS(sample_width(b, 1, &b->sample[ONE][k], err));
    for (int32_t i = 0; i < o->n_widths; i++) GEODEC_PASS(sample_width(b, o->width[i], &b->sample[WIDTH + i][k], err));
    if (o->first) GEODEC_PASS(sample_first(b, &b->sample[FIRST][k], err));
    return GEODEC_OK;
}

/* ---- results ----------------------------------------------------------------------------------------------------- */

static double add_row(bench *b, const char *name, const char *unit, int64_t n, int count, const double *sample,
                      const char *control_name, double control)
{
    double sorted[MAX_REPEATS];
    memcpy(sorted, sample, (size_t)count * sizeof *sorted);
    geodec_stats_sort(count, sorted);
    const double median = geodec_stats_percentile(count, sorted, 0.5);
    b->out->row[b->out->n_rows++] = (geodec_speed_row){.name = name,
                                                       .unit = unit,
                                                       .n = n,
                                                       .median = median,
                                                       .min = sorted[0],
                                                       .max = sorted[count - 1],
                                                       .control_name = control_name,
                                                       .control = control};
    return median;
}

static void report(bench *b, double start, double peak)
{
    const geodec_speed_options *o = b->o;
    const double file_and_cache = (double)(b->out->file_bytes + b->out->kv_bytes);
    double limit = 0;
    if (b->limit) limit = add_row(b, "read_limit", "GB/s", 0, o->repeats, b->sample[LIMIT], "", 0);
    if (o->prompt) (void)add_row(b, "pp", "tok/s", o->prompt, o->repeats, b->sample[PROMPT], "", 0);
    if (o->generate) {
        const double rate = add_row(b, "tg", "tok/s", o->generate, o->repeats, b->sample[GENERATE],
                                    limit > 0 ? "read_limit_tok/s" : "", limit * 1e9 / (double)b->out->token_bytes);
        if (limit > 0) (void)add_row(b, "bandwidth", "GB/s", 0, o->repeats, b->sample[BANDWIDTH], "read_limit", limit);
        (void)add_row(b, "settle", "s", SETTLE, 1, &b->settle, "steady", SETTLE / rate);
    }
    for (int32_t i = 0; i < o->n_widths; i++) {
        /* each repeat's ratio to its own single row */
        for (int32_t k = 0; k < o->repeats; k++) b->sample[WIDTH + i][k] /= b->sample[ONE][k];
        (void)add_row(b, "v", "ratio", o->width[i], o->repeats, b->sample[WIDTH + i], "rows", o->width[i]);
    }
    if (o->first) (void)add_row(b, "first_token", "s", o->first, o->repeats, b->sample[FIRST], "", 0);
    if (peak <= 0) return;
    (void)add_row(b, "start_memory", "bytes", 0, 1, &start, "", 0);
    (void)add_row(b, "peak_memory", "bytes", 0, 1, &peak, "file_and_cache", file_and_cache);
}

static geodec_status check(const geodec_speed_options *o, geodec_err *err)
{
    const int32_t sizes[] = {o->prompt, o->generate, o->depth, o->first};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (sizes[i] < 0 || sizes[i] > MAX_TOKENS)
            GEODEC_FAIL(GEODEC_RANGE, "%d tokens are outside 0 to %d", (int)sizes[i], MAX_TOKENS);
    if (o->repeats < 1 || o->repeats > MAX_REPEATS)
        GEODEC_FAIL(GEODEC_RANGE, "%d repeats are outside 1 to %d", (int)o->repeats, MAX_REPEATS);
    if (o->n_widths < 0 || o->n_widths > GEODEC_BENCH_WIDTHS_MAX)
        GEODEC_FAIL(GEODEC_RANGE, "%d widths are more than %d", (int)o->n_widths, GEODEC_BENCH_WIDTHS_MAX);
    for (int32_t i = 0; i < o->n_widths; i++)
        if (o->width[i] < 1 || o->width[i] > 64)
            GEODEC_FAIL(GEODEC_RANGE, "a width of %d is outside 1 to 64", (int)o->width[i]);
    if (o->batch < 1) GEODEC_FAIL(GEODEC_RANGE, "a batch of %d rows", (int)o->batch);
    return GEODEC_OK;
}

static void destroy(bench *b)
{
    geodec_session_destroy(b->session);
    geodec_model_close(b->model);
    geodec_read_limit_destroy(b->limit);
    for (int i = 0; i < SAMPLES + GEODEC_BENCH_WIDTHS_MAX; i++) geodec_mem_free(b->sample[i]);
    GEODEC_FREE(b->token, b->logits);
}

/* Opens everything and records the figures of file and process, before the buffers of the measurements are
 * allocated. */
static geodec_status prepare(bench *b, double *start, double *peak, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_speed_options *o = b->o;
    struct stat sb;
    int32_t widest = 1;
    for (int32_t i = 0; i < o->n_widths; i++) widest = o->width[i] > widest ? o->width[i] : widest;
    b->n_ctx = o->prompt > o->depth ? o->prompt : o->depth;
    b->n_ctx += (o->generate > widest ? o->generate : widest) + SETTLE;
    if (b->n_ctx < o->first) b->n_ctx = o->first;
    *start = resident("VmRSS:");
    reset_peak();
    GEODEC_TRY(open_session(b, b->n_ctx, &b->model, &b->session, err));
    const geodec_model_config *c = geodec_model_configuration(b->model);
    b->out->isa = geodec_session_isa(b->session);
    b->out->threads = geodec_pool_threads(o->pool);
    b->out->token_bytes = geodec_speed_token_bytes(b->model);
    b->out->kv_bytes = geodec_session_cache_bytes(b->session);
    if (stat(b->path, &sb) == 0) b->out->file_bytes = (int64_t)sb.st_size;
    GEODEC_NEW(b->token, b->n_ctx);
    geodec_rng rng = geodec_rng_stream(o->seed, geodec_rng_id("bench tokens", 0));
    for (int32_t i = 0; i < b->n_ctx; i++) b->token[i] = (int32_t)geodec_rng_below(&rng, (uint64_t)c->n_vocab);
    GEODEC_NEW(b->logits, c->n_vocab);
    GEODEC_TRY(prompt(b, err));
    const double begin = geodec_clock_seconds();
    GEODEC_TRY(generate(b, SETTLE, err));
    b->settle = geodec_clock_seconds() - begin;
    *peak = resident("VmHWM:");
    geodec_mem_free(b->logits);
    GEODEC_NEW(b->logits, (int64_t)widest * c->n_vocab);
    if (o->read_limit) GEODEC_TRY(geodec_read_limit_create(o->pool, &b->limit, err));
    for (int i = 0; i < SAMPLES + o->n_widths; i++) GEODEC_NEW(b->sample[i], o->repeats);
done:
    return st;
}

geodec_status geodec_speed_run(const char *path, const geodec_speed_options *o, const geodec_hooks *hooks,
                               geodec_speed_result *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    double start = 0, peak = 0;
    bench b = {.path = path, .o = o, .hooks = hooks, .out = out};
    *out = (geodec_speed_result){0};
    GEODEC_TRY(check(o, err));
    GEODEC_TRY(prepare(&b, &start, &peak, err));
    for (int32_t k = 0; k < o->repeats; k++) {
        GEODEC_TRY(geodec_hooks_progress(hooks, "repeats", k, o->repeats, err));
        GEODEC_TRY(sample_all(&b, k, err));
    }
    report(&b, start, peak);
done:
    destroy(&b);
    return st;
}

/* ---- reports ----------------------------------------------------------------------------------------------------- */

geodec_status geodec_speed_widths(const char *widths, geodec_speed_options *o, geodec_err *err)
{
    double v[GEODEC_BENCH_WIDTHS_MAX];
    int64_t n;
    if (strcmp(widths, "none") == 0) return GEODEC_OK;
    GEODEC_PASS(geodec_numbers_parse(widths, "--widths", 1, 64, GEODEC_BENCH_WIDTHS_MAX, v, &n, err));
    for (int64_t i = 0; i < n; i++) {
        if (v[i] != (double)(int32_t)v[i]) GEODEC_FAIL(GEODEC_INVAL, "--widths: %g is not whole", v[i]);
        o->width[o->n_widths++] = (int32_t)v[i];
    }
    return GEODEC_OK;
}

geodec_status geodec_speed_table(FILE *out, const geodec_speed_result *r, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_tsv *t = NULL;
    GEODEC_TRY(geodec_tsv_on(out, &t, err));
    GEODEC_TRY(geodec_tsv_names(t, "measure n unit median min max control_name control", err));
    for (int i = 0; i < r->n_rows; i++) {
        const geodec_speed_row *row = &r->row[i];
        geodec_tsv_str(t, row->name);
        geodec_tsv_i64(t, row->n);
        geodec_tsv_str(t, row->unit);
        geodec_tsv_f64s(t, 3, &row->median);
        geodec_tsv_str(t, row->control_name[0] ? row->control_name : "-");
        geodec_tsv_f64(t, row->control_name[0] ? row->control : (double)NAN);
        GEODEC_TRY(geodec_tsv_end_row(t, err));
    }
    GEODEC_TRY(geodec_tsv_finish(&t, err));
done:
    geodec_tsv_abandon(t);
    return st;
}

geodec_status geodec_speed_json(FILE *out, const char *file, const geodec_speed_options *o,
                                const geodec_speed_result *r, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_json_writer *w = NULL;
    GEODEC_TRY(geodec_json_on(out, &w, err));
    geodec_json_put_str(w, "model", file);
    geodec_json_put_str(w, "arithmetic", geodec_arithmetic_name(o->arithmetic));
    geodec_json_put_str(w, "isa", geodec_kernels_isa_name(r->isa));
    geodec_json_put_str(w, "kv", geodec_cache_kv_name(o->kv));
    geodec_json_put_i64(w, "threads", r->threads);
    geodec_json_put_i64(w, "depth", o->depth);
    geodec_json_put_i64(w, "batch", o->batch);
    geodec_json_put_i64(w, "repeats", o->repeats);
    geodec_json_put_i64(w, "file_bytes", r->file_bytes);
    geodec_json_put_i64(w, "kv_bytes", r->kv_bytes);
    geodec_json_put_i64(w, "token_bytes", r->token_bytes);
    geodec_json_begin_array(w, "rows");
    for (int i = 0; i < r->n_rows; i++) {
        const geodec_speed_row *row = &r->row[i];
        geodec_json_begin_object(w, NULL);
        geodec_json_put_str(w, "measure", row->name);
        geodec_json_put_i64(w, "n", row->n);
        geodec_json_put_str(w, "unit", row->unit);
        geodec_json_put_f64(w, "median", row->median);
        geodec_json_put_f64(w, "min", row->min);
        geodec_json_put_f64(w, "max", row->max);
        if (row->control_name[0]) {
            geodec_json_put_str(w, "control_name", row->control_name);
            geodec_json_put_f64(w, "control", row->control);
        }
        geodec_json_end(w);
    }
    geodec_json_end(w);
    st = geodec_json_commit(w, err);
    w = NULL;
done:
    geodec_json_abandon(w);
    return st;
}

#include "evaluate/speed.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/rng.h"
#include "evaluate/read_limit.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_TOKENS = 1 << 20, MAX_REPEATS = 1001, MAX_INNER = 1000, SETTLE = 12 };
static const double SHORTEST = 0.004; /* seconds of one sample of v: shorter ones are repeated */

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
    int32_t *token; /* [n_ctx] */
    float *logits;  /* [widest][n_vocab] */
    /* samples, [repeats] each */
    double *s_limit, *s_prompt, *s_generate, *s_bandwidth, *s_first, *s_one;
    double *s_width[GEODEC_BENCH_WIDTHS_MAX];
    double settle;
} bench;

/* ---- figures of the file and the process ------------------------------------------------------------------------ */

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

/* ---- samples ---------------------------------------------------------------------------------------------------- */

static geodec_status open_session(const bench *b, int32_t n_ctx, geodec_model **m, geodec_session **s, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_speed_options *o = b->o;
    int32_t rows = o->batch;
    for (int32_t i = 0; i < o->n_widths; i++) rows = o->width[i] > rows ? o->width[i] : rows;
    GEODEC_TRY(geodec_model_open(b->path, m, err));
    const geodec_session_options so = {
        .n_ctx = n_ctx, .max_batch = rows, .isa = o->isa, .pool = o->pool, .arithmetic = o->arithmetic, .kv = o->kv};
    GEODEC_TRY(geodec_session_create(*m, &so, s, err));
done:
    return st;
}

static geodec_status prompt(bench *b, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_session_truncate(b->session, 0);
    for (int32_t at = 0; at < b->o->prompt;) {
        const int32_t n = b->o->prompt - at < b->o->batch ? b->o->prompt - at : b->o->batch;
        GEODEC_TRY(
            geodec_forward_prefill(b->session, b->token + at, n, at + n == b->o->prompt ? b->logits : NULL, err));
        at += n;
    }
done:
    return st;
}

static geodec_status generate(bench *b, int32_t n, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    for (int32_t i = 0; i < n; i++) {
        const geodec_batch one = {.n = 1, .token = b->token + geodec_session_length(b->session)};
        GEODEC_TRY(geodec_forward(b->session, &one, b->logits, NULL, err));
    }
done:
    return st;
}

/* Reads a context of `depth` random tokens. */
static geodec_status to_depth(bench *b, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int32_t length = geodec_session_length(b->session), depth = b->o->depth;
    if (length >= depth)
        geodec_session_truncate(b->session, depth);
    else
        GEODEC_TRY(geodec_forward_prefill(b->session, b->token + length, depth - length, NULL, err));
done:
    return st;
}

/* Seconds of one pass over `width` rows: the mean of enough passes for a sample. */
static geodec_status sample_width(bench *b, int32_t width, double *seconds, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    double spent = 0;
    int n = 0;
    GEODEC_TRY(to_depth(b, err));
    for (; n == 0 || (spent < SHORTEST && n < MAX_INNER); n++) {
        const geodec_batch rows = {.n = width, .token = b->token + b->o->depth};
        const double begin = geodec_clock_seconds();
        GEODEC_TRY(geodec_forward(b->session, &rows, b->logits, NULL, err));
        spent += geodec_clock_seconds() - begin;
        geodec_session_truncate(b->session, b->o->depth);
    }
    *seconds = spent / n;
done:
    return st;
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
    geodec_status st = GEODEC_OK;
    const geodec_speed_options *o = b->o;
    double t;
    if (b->limit) b->s_limit[k] = geodec_read_limit_measure(b->limit) * 1e-9;
    if (o->prompt) {
        t = geodec_clock_seconds();
        GEODEC_TRY(prompt(b, err));
        b->s_prompt[k] = (double)o->prompt / (geodec_clock_seconds() - t);
    }
    if (o->generate) {
        GEODEC_TRY(to_depth(b, err));
        t = geodec_clock_seconds();
        GEODEC_TRY(generate(b, o->generate, err));
        b->s_generate[k] = (double)o->generate / (geodec_clock_seconds() - t);
        b->s_bandwidth[k] = (double)b->out->token_bytes * b->s_generate[k] * 1e-9;
    }
    if (o->n_widths) GEODEC_TRY(sample_width(b, 1, &b->s_one[k], err));
    for (int32_t i = 0; i < o->n_widths; i++) GEODEC_TRY(sample_width(b, o->width[i], &b->s_width[i][k], err));
    if (o->first) GEODEC_TRY(sample_first(b, &b->s_first[k], err));
done:
    return st;
}

/* ---- results ---------------------------------------------------------------------------------------------------- */

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static geodec_speed_row *add_row(bench *b, const char *name, const char *unit, int64_t n, const double *sample)
{
    geodec_speed_row *r = &b->out->row[b->out->n_rows++];
    double sorted[MAX_REPEATS];
    const int count = b->o->repeats;
    memcpy(sorted, sample, (size_t)count * sizeof *sorted);
    qsort(sorted, (size_t)count, sizeof *sorted, ascending);
    *r = (geodec_speed_row){.name = name,
                            .unit = unit,
                            .n = n,
                            .median = count % 2 ? sorted[count / 2] : 0.5 * (sorted[count / 2 - 1] + sorted[count / 2]),
                            .min = sorted[0],
                            .max = sorted[count - 1],
                            .control_name = ""};
    return r;
}

static void report(bench *b, double start, double peak)
{
    const geodec_speed_options *o = b->o;
    double limit = 0;
    if (b->limit) limit = add_row(b, "read_limit", "GB/s", 0, b->s_limit)->median;
    if (o->prompt) (void)add_row(b, "pp", "tok/s", o->prompt, b->s_prompt);
    if (o->generate) {
        geodec_speed_row *r = add_row(b, "tg", "tok/s", o->generate, b->s_generate);
        if (limit > 0) {
            r->control_name = "read_limit_tok/s";
            r->control = limit * 1e9 / (double)b->out->token_bytes;
            r = add_row(b, "bandwidth", "GB/s", 0, b->s_bandwidth);
            r->control_name = "read_limit";
            r->control = limit;
        }
    }
    if (o->generate) {
        const double steady = SETTLE / b->out->row[limit > 0 ? b->out->n_rows - 2 : b->out->n_rows - 1].median;
        b->out->row[b->out->n_rows++] = (geodec_speed_row){.name = "settle",
                                                           .unit = "s",
                                                           .n = SETTLE,
                                                           .median = b->settle,
                                                           .min = b->settle,
                                                           .max = b->settle,
                                                           .control_name = "steady",
                                                           .control = steady};
    }
    for (int32_t i = 0; i < o->n_widths; i++) {
        /* each repeat's ratio to its own single row */
        for (int32_t k = 0; k < o->repeats; k++) b->s_width[i][k] /= b->s_one[k];
        geodec_speed_row *r = add_row(b, "v", "ratio", o->width[i], b->s_width[i]);
        r->control_name = "rows";
        r->control = o->width[i];
    }
    if (o->first) (void)add_row(b, "first_token", "s", o->first, b->s_first);
    if (peak <= 0) return;
    b->out->row[b->out->n_rows++] = (geodec_speed_row){
        .name = "start_memory", .unit = "bytes", .median = start, .min = start, .max = start, .control_name = ""};
    b->out->row[b->out->n_rows++] = (geodec_speed_row){.name = "peak_memory",
                                                       .unit = "bytes",
                                                       .median = peak,
                                                       .min = peak,
                                                       .max = peak,
                                                       .control_name = "file_and_cache",
                                                       .control = (double)(b->out->file_bytes + b->out->kv_bytes)};
}

static geodec_status check(const geodec_speed_options *o, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int32_t sizes[] = {o->prompt, o->generate, o->depth, o->first};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (sizes[i] < 0 || sizes[i] > MAX_TOKENS)
            GEODEC_THROW(GEODEC_RANGE, "%d tokens are outside 0 to %d", (int)sizes[i], MAX_TOKENS);
    if (o->repeats < 1 || o->repeats > MAX_REPEATS)
        GEODEC_THROW(GEODEC_RANGE, "%d repeats are outside 1 to %d", (int)o->repeats, MAX_REPEATS);
    if (o->n_widths < 0 || o->n_widths > GEODEC_BENCH_WIDTHS_MAX)
        GEODEC_THROW(GEODEC_RANGE, "%d widths are more than %d", (int)o->n_widths, GEODEC_BENCH_WIDTHS_MAX);
    for (int32_t i = 0; i < o->n_widths; i++)
        if (o->width[i] < 1 || o->width[i] > 64)
            GEODEC_THROW(GEODEC_RANGE, "a width of %d is outside 1 to 64", (int)o->width[i]);
    if (o->batch < 1) GEODEC_THROW(GEODEC_RANGE, "a batch of %d rows", (int)o->batch);
done:
    return st;
}

static geodec_status new_samples(bench *b, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int32_t n = b->o->repeats;
    GEODEC_NEW(b->s_limit, n);
    GEODEC_NEW(b->s_prompt, n);
    GEODEC_NEW(b->s_generate, n);
    GEODEC_NEW(b->s_bandwidth, n);
    GEODEC_NEW(b->s_first, n);
    GEODEC_NEW(b->s_one, n);
    for (int32_t i = 0; i < b->o->n_widths; i++) GEODEC_NEW(b->s_width[i], n);
done:
    return st;
}

static void destroy(bench *b)
{
    geodec_session_destroy(b->session);
    geodec_model_close(b->model);
    geodec_read_limit_destroy(b->limit);
    double *const samples[] = {b->s_limit, b->s_prompt, b->s_generate, b->s_bandwidth, b->s_first, b->s_one};
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) geodec_mem_free(samples[i]);
    for (int i = 0; i < GEODEC_BENCH_WIDTHS_MAX; i++) geodec_mem_free(b->s_width[i]);
    geodec_mem_free(b->token);
    geodec_mem_free(b->logits);
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
    GEODEC_TRY(new_samples(b, err));
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

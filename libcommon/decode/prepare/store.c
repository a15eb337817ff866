#include "prepare/store.h"

#include "base/clock.h"
#include "base/mem.h"
#include "decode/sample.h"
#include "export/export.h"
#include "io/atomic.h"
#include "io/file.h"
#include "io/json.h"
#include "session/arithmetic.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    PROBE_FIRST = 2000000, /* first number of the probe's texts, which the store does not use */
    PROBE_LENGTH = 8,
    PROBE_LENGTH_MAX = 128,
    TEXTS_MAX = 1 << 20,
    PLAN_BYTES = 1 << 16,
    SAMPLE_BYTES = 64 << 20,
};
#define PROBE_SHARE 0.02 /* share of the time for measuring each of two speeds */
#define SAMPLE_SLACK 1.15
#define SAVE_SECONDS 2

/* ---- FOLDER/.work: the request, and the texts sampled so far ----------------------------------------------------- */

static const char *const files[] = {"plan.json",      "sample.tokens",      "store.h5",
                                    ".plan.json.tmp", ".sample.tokens.tmp", ".store.h5.tmp"};

static geodec_status work_path(const geodec_prepare *p, const char *name, char **out, geodec_err *err)
{
    return geodec_mem_print(out, err, "%s/.work/%s", p->folder, name);
}

/* Members of plan.json that identify the request. It does not depend on the measured speed. */
typedef struct request {
    char text_sha256[GEODEC_SHA256_HEX]; /* of the documents and their offsets; "" without */
    char seed[32];
    const char *text[4][2];
    struct {
        const char *key;
        int64_t value;
    } number[3];
} request;

static void make_request(const geodec_prepare *p, request *r)
{
    const geodec_documents *d = p->documents;
    geodec_sha256 h;
    *r = (request){
        .text = {{"model_sha256", geodec_model_fingerprint(p->model)},
                 {"text_sha256", r->text_sha256},
                 {"seed", r->seed},
                 {"arithmetic", geodec_arithmetic_name(p->arithmetic)}},
        .number = {{"texts_asked", p->texts}, {"text_tokens_asked", p->text_tokens}, {"length_asked", p->length}}};
    (void)snprintf(r->seed, sizeof r->seed, "%llu", (unsigned long long)p->seed);
    if (!d) return;
    geodec_sha256_init(&h);
    geodec_sha256_update(&h, d->text, (size_t)d->n_text);
    for (int64_t i = 0; i < d->n; i++) {
        const int64_t place[2] = {d->item[i].begin, d->item[i].end};
        geodec_sha256_update(&h, place, sizeof place);
    }
    geodec_sha256_hex(&h, r->text_sha256);
}

static bool same_request(const geodec_prepare *p, const geodec_json *root)
{
    request r;
    const char *text;
    double seconds;
    int64_t v;
    make_request(p, &r);
    for (size_t i = 0; i < sizeof r.text / sizeof *r.text; i++)
        if (geodec_json_get_str(root, r.text[i][0], &text, NULL) != GEODEC_OK || strcmp(text, r.text[i][1]) != 0)
            return false;
    for (size_t i = 0; i < sizeof r.number / sizeof *r.number; i++)
        if (geodec_json_get_i64(root, r.number[i].key, &v, NULL) != GEODEC_OK || v != r.number[i].value) return false;
    return geodec_json_get_f64(root, "seconds", &seconds, NULL) == GEODEC_OK && seconds == p->seconds;
}

/* Whether plan.json belongs to this request; if so, reads its plan. A file with an error counts as another request. */
static geodec_status resume(const geodec_prepare *p, bool *same, geodec_prepare_plan *plan, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    char *path = NULL;
    geodec_json *root = NULL;
    int64_t length, text_tokens, sample_tokens;
    const int64_t most = GEODEC_PREPARE_TOKENS_MAX;
    GEODEC_TRY(work_path(p, "plan.json", &path, err));
    *same = geodec_json_read(path, PLAN_BYTES, &root, NULL) == GEODEC_OK && same_request(p, root) &&
            geodec_json_get_i64(root, "length", &length, NULL) == GEODEC_OK &&
            geodec_json_get_i64(root, "text_tokens", &text_tokens, NULL) == GEODEC_OK &&
            geodec_json_get_i64(root, "sample_tokens", &sample_tokens, NULL) == GEODEC_OK && length >= 2 &&
            length <= geodec_model_configuration(p->model)->n_ctx && text_tokens >= 0 && text_tokens <= most &&
            sample_tokens >= 0 && sample_tokens <= most;
    if (*same) *plan = (geodec_prepare_plan){(int32_t)length, text_tokens, sample_tokens};
done:
    geodec_json_free(root);
    geodec_mem_free(path);
    return st;
}

/* Replaces the files of an earlier run with the plan. */
static geodec_status save(const geodec_prepare *p, const geodec_prepare_plan *plan, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    char *folder = NULL, *path = NULL;
    request r;
    geodec_json_writer *w = NULL;
    GEODEC_TRY(geodec_prepare_end(p, err));
    GEODEC_TRY(geodec_mem_print(&folder, err, "%s/.work", p->folder));
    GEODEC_TRY(work_path(p, "plan.json", &path, err));
    if (mkdir(folder, 0777) != 0 && errno != EEXIST) GEODEC_THROW(GEODEC_IO, "%s: %s", folder, strerror(errno));
    GEODEC_TRY(geodec_json_create(path, &w, err));
    make_request(p, &r);
    for (size_t i = 0; i < sizeof r.text / sizeof *r.text; i++) geodec_json_put_str(w, r.text[i][0], r.text[i][1]);
    geodec_json_put_f64(w, "seconds", p->seconds);
    for (size_t i = 0; i < sizeof r.number / sizeof *r.number; i++)
        geodec_json_put_i64(w, r.number[i].key, r.number[i].value);
    geodec_json_put_i64(w, "length", plan->length);
    geodec_json_put_i64(w, "text_tokens", plan->text_tokens);
    geodec_json_put_i64(w, "sample_tokens", plan->sample_tokens);
    GEODEC_TRY(geodec_json_commit(w, err));
done:
    GEODEC_FREE(folder, path);
    return st;
}

geodec_status geodec_prepare_end(const geodec_prepare *p, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    char *path = NULL;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        GEODEC_TRY(work_path(p, files[i], &path, err));
        if (unlink(path) != 0 && errno != ENOENT) GEODEC_THROW(GEODEC_IO, "%s: %s", path, strerror(errno));
        geodec_mem_free(path);
        path = NULL;
    }
    GEODEC_TRY(geodec_mem_print(&path, err, "%s/.work", p->folder));
    (void)rmdir(path); /* fails unless it is empty */
done:
    geodec_mem_free(path);
    return st;
}

/* The sampled texts: a token file (export.h) in memory, written to sample.tokens. */
typedef struct samples {
    char *text;
    int64_t size, room;
    int64_t texts, tokens;
} samples;

static geodec_status samples_read(const geodec_prepare *p, samples *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    char *path = NULL;
    size_t n = 0;
    samples s = {0};
    GEODEC_TRY(work_path(p, "sample.tokens", &path, err));
    if (geodec_file_read(path, SAMPLE_BYTES, &s.text, &n, NULL) == GEODEC_OK) {
        s.size = s.room = (int64_t)n;
        for (size_t i = 0; i < n; i++) {
            s.texts += s.text[i] == '\n';
            s.tokens += s.text[i] == '\n' || s.text[i] == ' ';
        }
    }
    *out = s;
done:
    geodec_mem_free(path);
    return st;
}

static geodec_status samples_write(const geodec_prepare *p, const samples *s, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    char *path = NULL;
    geodec_atomic *f = NULL;
    GEODEC_TRY(work_path(p, "sample.tokens", &path, err));
    GEODEC_TRY(geodec_atomic_open(path, &f, err));
    GEODEC_TRY(geodec_atomic_write(f, s->text, (size_t)s->size, err));
    st = geodec_atomic_commit(f, err);
    f = NULL;
done:
    geodec_atomic_abandon(f);
    geodec_mem_free(path);
    return st;
}

/* ---- the text given --------------------------------------------------------------------------------------------- */

/* Documents of the text up to a number of tokens, then the sampled texts. A source whose `next` is NULL is missing. */
typedef struct both {
    geodec_export_source text, samples;
    int64_t left; /* tokens of the text */
} both;

/* The given text, and the samples (NULL: none; name for messages). */
static geodec_status open_both(const geodec_prepare *p, bool with_text, const char *name, const samples *s, both *b,
                               geodec_err *err)
{
    if (with_text && p->documents)
        GEODEC_PASS(geodec_export_source_text(p->documents, geodec_model_tokenizer(p->model), &b->text, err));
    if (s)
        GEODEC_PASS(geodec_export_source_tokens(name, s->text, (size_t)s->size,
                                                geodec_model_configuration(p->model)->n_vocab, &b->samples, err));
    return GEODEC_OK;
}

static void close_both(both *b)
{
    geodec_export_source_close(&b->text);
    geodec_export_source_close(&b->samples);
}

static geodec_status next_of_both(void *ctx, const int32_t **token, int64_t *n, geodec_err *err)
{
    both *b = ctx;
    *n = -1;
    if (b->text.next && b->left > 1) { /* a single token is not a node */
        GEODEC_PASS(b->text.next(b->text.ctx, token, n, err));
        if (*n > b->left) *n = b->left;
        b->left = *n >= 0 ? b->left - *n : 0;
    }
    if (*n < 0 && b->samples.next) GEODEC_PASS(b->samples.next(b->samples.ctx, token, n, err));
    return GEODEC_OK;
}

/* Tokens of the given documents, counted up to GEODEC_PREPARE_TOKENS_MAX. */
static geodec_status text_tokens(const geodec_prepare *p, int64_t *tokens, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    both b = {.left = GEODEC_PREPARE_TOKENS_MAX};
    const int32_t *token;
    int64_t n = 0, sum = 0;
    GEODEC_TRY(open_both(p, true, NULL, NULL, &b, err));
    for (;;) {
        GEODEC_TRY(next_of_both(&b, &token, &n, err));
        if (n < 0) break;
        sum += n;
        GEODEC_TRY(geodec_hooks_progress(p->hooks, "tokenizing", sum, GEODEC_PREPARE_TOKENS_MAX, err));
    }
    *tokens = sum;
done:
    close_both(&b);
    return st;
}

/* ---- sampling --------------------------------------------------------------------------------------------------- */

static bool begins_texts(const geodec_model *m) { return geodec_tokenizer_bos(geodec_model_tokenizer(m)) >= 0; }

static geodec_status keep(void *ctx, int64_t text, const int32_t *token, int32_t n, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    samples *s = ctx;
    (void)text;
    GEODEC_GROW(s->text, s->size, s->room, 12 * (int64_t)n);
    for (int32_t i = 0; i < n; i++)
        s->size += snprintf(s->text + s->size, 12, "%d%c", token[i], i + 1 < n ? ' ' : '\n');
    s->texts++;
    s->tokens += n;
done:
    return st;
}

static geodec_status sample(const geodec_prepare *p, int64_t first, int64_t texts, int32_t length, samples *s,
                            geodec_err *err)
{
    const geodec_sample_options o = {.texts = texts,
                                     .first = first,
                                     .length = length,
                                     .temperature = 1,
                                     .top_p = 1,
                                     .seed = p->seed,
                                     .arithmetic = p->arithmetic};
    return geodec_sample_run(p->model, &o, keep, s, p->pool, NULL, err);
}

static geodec_status export_states(const geodec_prepare *p, both *b, int32_t length, geodec_artifact *out,
                                   geodec_err *err)
{
    const geodec_model_config *mc = geodec_model_configuration(p->model);
    const int32_t layer = mc->n_layer, top = 8;
    const geodec_export_options o = {.n_layers = 1,
                                     .layer = &layer,
                                     .window = length,
                                     .top_m = top < mc->n_vocab ? top : mc->n_vocab,
                                     .arithmetic = p->arithmetic};
    const geodec_export_source source = {b, next_of_both};
    geodec_export_summary summary;
    return geodec_export_run(p->model, &o, &source, out, &summary, p->pool, p->hooks, err);
}

/* Seconds to read s's texts. */
static geodec_status time_reading(const geodec_prepare *p, const samples *s, int32_t length, double *seconds,
                                  geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    both b = {0};
    char *path = NULL;
    geodec_artifact *out = NULL;
    const geodec_provenance none = {0};
    GEODEC_TRY(work_path(p, "store.h5", &path, err));
    GEODEC_TRY(open_both(p, false, "probe", s, &b, err));
    GEODEC_TRY(geodec_artifact_create(&geodec_activations_kind, path, &none, &out, err));
    const double before = geodec_clock_seconds();
    GEODEC_TRY(export_states(p, &b, length, out, err));
    *seconds = geodec_clock_seconds() - before;
done:
    geodec_artifact_close(out);
    close_both(&b);
    geodec_mem_free(path);
    return st;
}

/* Texts to read when the model cannot write any: the ids 0, 1, .. */
static geodec_status counted(const geodec_prepare *p, int32_t length, samples *s, geodec_err *err)
{
    int32_t token[PROBE_LENGTH_MAX];
    for (int32_t i = 0; i < length; i++) token[i] = i % geodec_model_configuration(p->model)->n_vocab;
    for (int t = 0; t < geodec_pool_threads(p->pool); t++) GEODEC_PASS(keep(s, t, token, length, err));
    return GEODEC_OK;
}

/* Measures the speed of sampling and reading, in about 4 % of the given time. */
static geodec_status measure(const geodec_prepare *p, geodec_prepare_speed *speed, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    samples s = {0};
    const int32_t n_ctx = geodec_model_configuration(p->model)->n_ctx;
    const int32_t most = n_ctx < PROBE_LENGTH_MAX ? n_ctx : PROBE_LENGTH_MAX;
    const int64_t texts = geodec_pool_threads(p->pool);
    double took = 0;
    geodec_prepare_speed v = {0};
    /* The first round packs weights and touches memory; it is used only when there is no time for another. */
    for (int32_t length = PROBE_LENGTH < most ? PROBE_LENGTH : most;; length *= 2) {
        if (length > most) length = most;
        s.size = s.texts = s.tokens = 0;
        const double before = geodec_clock_seconds();
        if (begins_texts(p->model))
            GEODEC_TRY(sample(p, PROBE_FIRST, texts, length, &s, err));
        else
            GEODEC_TRY(counted(p, length, &s, err));
        const double sampling = geodec_clock_seconds() - before;
        if (begins_texts(p->model)) v.sample = (double)s.tokens / sampling;
        GEODEC_TRY(time_reading(p, &s, length, &took, err));
        v.read = (double)s.tokens / took;
        GEODEC_TRY(geodec_hooks_progress(p->hooks, "measuring the speed", length, most, err));
        if (length == most || sampling + took > PROBE_SHARE * p->seconds) break;
    }
    *speed = v;
done:
    geodec_mem_free(s.text);
    return st;
}

/* The plan for given sizes. */
static geodec_status given(const geodec_prepare *p, int64_t available, geodec_prepare_plan *out, geodec_err *err)
{
    const int32_t n_ctx = geodec_model_configuration(p->model)->n_ctx;
    const int32_t length = p->length > 0 ? p->length : n_ctx < GEODEC_PREPARE_LENGTH ? n_ctx : GEODEC_PREPARE_LENGTH;
    if (length < 2 || length > n_ctx)
        GEODEC_FAIL(GEODEC_RANGE, "texts of %d tokens; the model's context is %d", length, n_ctx);
    if (p->texts > TEXTS_MAX) GEODEC_FAIL(GEODEC_RANGE, "more than %d texts", TEXTS_MAX);
    out->length = length;
    out->text_tokens = p->text_tokens > 0 && p->text_tokens < available ? p->text_tokens : available;
    out->sample_tokens = begins_texts(p->model) ? p->texts * length : 0;
    return GEODEC_OK;
}

geodec_status geodec_prepare_begin(const geodec_prepare *p, geodec_prepare_store *s, geodec_err *err)
{
    bool same;
    int64_t available = 0;
    GEODEC_PASS(resume(p, &same, &s->plan, err));
    if (same) return GEODEC_OK;
    GEODEC_PASS(save(p, &s->plan, err)); /* creates the folder; the plan follows */
    GEODEC_PASS(text_tokens(p, &available, err));
    if (p->texts > 0 || p->text_tokens > 0) {
        GEODEC_PASS(given(p, available, &s->plan, err));
    } else {
        GEODEC_PASS(measure(p, &s->speed, err));
        GEODEC_PASS(geodec_prepare_plan_make(p->seconds, &s->speed, geodec_model_configuration(p->model)->n_ctx,
                                             available, &s->plan, err));
    }
    GEODEC_PASS(save(p, &s->plan, err));
    return GEODEC_OK;
}

geodec_status geodec_prepare_sample(const geodec_prepare *p, geodec_prepare_store *s, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    samples got = {0};
    const int64_t want = s->plan.sample_tokens, texts = p->texts, threads = geodec_pool_threads(p->pool);
    /* Small steps for few texts, so that the clock and interrupts are checked often; otherwise several texts per
     * thread, since texts end at different lengths. */
    const int64_t batch = want / s->plan.length < 64 * threads ? threads : 4 * threads;
    const double begun = geodec_clock_seconds();
    double saved = begun;
    /* The time used so far, plus the time that reading needs later. */
    const double limit =
        s->speed.sample > 0 ? SAMPLE_SLACK * (double)want / s->speed.sample : GEODEC_PREPARE_STORE_SHARE * p->seconds;
    GEODEC_TRY(samples_read(p, &got, err));
    s->resumed = got.texts;
    while (want > 0 && got.texts < (texts > 0 ? texts : TEXTS_MAX) && (texts > 0 || got.tokens < want)) {
        const double now = geodec_clock_seconds();
        if (texts == 0 && now - begun > limit && got.tokens + s->plan.text_tokens >= GEODEC_PREPARE_TOKENS_MIN) break;
        const int64_t left = texts > 0 ? texts - got.texts : batch;
        GEODEC_TRY(sample(p, got.texts, left < batch ? left : batch, s->plan.length, &got, err));
        st = texts > 0 ? geodec_hooks_progress(p->hooks, "sampling texts", got.texts, texts, err)
                       : geodec_hooks_progress(p->hooks, "sampling tokens", got.tokens, want, err);
        if (st != GEODEC_OK || now - saved > SAVE_SECONDS) {
            geodec_err second = {0};
            saved = now;
            const geodec_status w = samples_write(p, &got, st == GEODEC_OK ? err : &second);
            if (st == GEODEC_OK) st = w;
        }
        if (st != GEODEC_OK) goto done;
    }
    if (got.tokens + s->plan.text_tokens < GEODEC_PREPARE_TOKENS_MIN)
        GEODEC_THROW(GEODEC_SCARCE, "%lld tokens of %lld sampled texts and %lld of text, a map needs %d",
                     (long long)got.tokens, (long long)got.texts, (long long)s->plan.text_tokens,
                     GEODEC_PREPARE_TOKENS_MIN);
    GEODEC_TRY(samples_write(p, &got, err));
    s->texts = got.texts;
    s->sampled = got.tokens;
done:
    geodec_mem_free(got.text);
    return st;
}

/* ---- the map ---------------------------------------------------------------------------------------------------- */

static geodec_status bake_from(const geodec_prepare *p, const char *states_path, const char *map_path,
                               const geodec_provenance *provenance, geodec_flowmap_summary *summary, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_artifact *in = NULL, *out = NULL;
    geodec_activations states;
    geodec_flowmap map = {0};
    const geodec_flowmap_options o = geodec_flowmap_defaults();
    GEODEC_TRY(geodec_artifact_open(&geodec_activations_kind, states_path, &in, err));
    GEODEC_TRY(geodec_activations_view(in, &states, err));
    GEODEC_TRY(geodec_artifact_create(&geodec_flowmap_kind, map_path, provenance, &out, err));
    GEODEC_TRY(geodec_flowmap_bake(&states, &o, &map, summary, p->pool, p->hooks, err));
    GEODEC_TRY(geodec_flowmap_write(&map, out, err));
    st = geodec_artifact_commit(out, err);
    out = NULL;
done:
    geodec_flowmap_clear(&map);
    geodec_artifact_close(out);
    geodec_artifact_close(in);
    return st;
}

static geodec_status read_all(const geodec_prepare *p, const geodec_prepare_store *s, const char *path,
                              const geodec_provenance *provenance, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    both b = {.left = s->plan.text_tokens};
    samples got = {0};
    geodec_artifact *out = NULL;
    GEODEC_TRY(samples_read(p, &got, err));
    GEODEC_TRY(open_both(p, true, "sample.tokens", got.texts > 0 ? &got : NULL, &b, err));
    GEODEC_TRY(geodec_artifact_create(&geodec_activations_kind, path, provenance, &out, err));
    GEODEC_TRY(export_states(p, &b, s->plan.length, out, err));
    st = geodec_artifact_commit(out, err);
    out = NULL;
done:
    geodec_artifact_close(out);
    close_both(&b);
    geodec_mem_free(got.text);
    return st;
}

geodec_status geodec_prepare_bake(const geodec_prepare *p, const geodec_provenance *provenance, geodec_prepare_store *s,
                                  geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    char *states = NULL, *map = NULL;
    GEODEC_TRY(geodec_mem_print(&map, err, "%s/flowmap.h5", p->folder));
    GEODEC_TRY(work_path(p, "store.h5", &states, err));
    GEODEC_TRY(read_all(p, s, states, provenance, err));
    GEODEC_TRY(bake_from(p, states, map, provenance, &s->map, err));
done:
    GEODEC_FREE(states, map);
    return st;
}

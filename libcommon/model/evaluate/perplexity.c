#include "evaluate/perplexity.h"

#include "base/clock.h"
#include "base/extremes_internal.h"
#include "base/mem.h"
#include "base/tasks.h"
#include "linalg/stats.h"
#include "session/streamed.h"

#include <math.h>
#include <string.h>

enum { WINDOW_MAX = 1 << 20 };

/* ---- windows of the tokens of a text ----------------------------------------------------------------------------- */

int64_t geodec_perplexity_count(const geodec_perplexity_options *o, bool bos, int64_t n)
{
    const int64_t lead = bos ? 1 : 0, length = n + lead;
    int64_t count;
    if (length < 2) return 0;
    if (o->stride) {
        count = length <= o->window ? 1 : 1 + (length - o->window + o->stride - 1) / o->stride;
    } else {
        const int64_t each = o->window - lead;
        count = n / each;
        if (n - count * each >= 2 - lead) count++; /* the rest, if a token of it can be scored */
    }
    return o->max_windows > 0 ? geodec__min(count, o->max_windows) : count;
}

geodec_perplexity_span geodec_perplexity_span_at(const geodec_perplexity_options *o, bool bos, int64_t n, int64_t i)
{
    const int64_t lead = bos ? 1 : 0, length = n + lead;
    geodec_perplexity_span s = {.scored = 1};
    if (o->stride) { /* positions in BOS, token 0, token 1, ... */
        const int64_t begin = i * o->stride, end = geodec__min(begin + o->window, length);
        s.bos = bos && begin == 0;
        s.first = s.bos ? 0 : begin - lead;
        s.count = end - lead - s.first;
        if (i > 0) s.scored = o->window - o->stride;
    } else {
        s.bos = bos;
        s.first = i * (o->window - lead);
        s.count = geodec__min(o->window - lead, n - s.first);
    }
    return s;
}

typedef struct reader { /* state of a worker */
    geodec_scorer *p, *q;
    int32_t *token;        /* [window] */
    double *row_p, *row_q; /* [n_vocab] */
    double seconds[2];     /* of the passes of p and q */
} reader;

typedef struct job {
    const geodec_perplexity_options *o;
    const char *text;
    size_t n_text;
    const int32_t *token;
    int64_t n, n_vocab, windows;
    int32_t bos; /* -1 = none */
    reader *reader;
    geodec_perplexity_window *window;
} job;

/* ---- one window -------------------------------------------------------------------------------------------------- */

/* Sum of exp(x - max) in order of the ids; *top: the largest x. */
static double exp_sum(const double *x, int64_t n, double *top)
{
    double most = x[0], sum = 0;
    for (int64_t v = 1; v < n; v++)
        if (x[v] > most) most = x[v];
    for (int64_t v = 0; v < n; v++) sum += exp(x[v] - most);
    *top = most;
    return sum;
}

/* x becomes log-probabilities: x - max - log(sum exp(x - max)). */
static void log_softmax(double *x, int64_t n)
{
    double top;
    const double sum = exp_sum(x, n, &top), lse = top + log(sum);
    for (int64_t v = 0; v < n; v++) x[v] -= lse;
}

/* -log p of one token without the other log-probabilities. */
static double token_nll(const double *x, int64_t n, int32_t token)
{
    double top;
    const double sum = exp_sum(x, n, &top);
    return top - x[token] + log(sum);
}

/* Row i of the last step; its next token is known. */
static void score_row(const job *j, reader *r, int32_t i, int32_t next, geodec_perplexity_window *w)
{
    w->tokens++;
    geodec_scorer_row(r->p, i, r->row_p);
    if (!r->q) {
        w->nll += token_nll(r->row_p, j->n_vocab, next);
        return;
    }
    geodec_scorer_row(r->q, i, r->row_q);
    w->agree += geodec_stats_argmax(j->n_vocab, r->row_p) == geodec_stats_argmax(j->n_vocab, r->row_q);
    log_softmax(r->row_p, j->n_vocab);
    log_softmax(r->row_q, j->n_vocab);
    double kl = 0;
    for (int64_t v = 0; v < j->n_vocab; v++) kl += exp(r->row_p[v]) * (r->row_p[v] - r->row_q[v]);
    const double delta = fabs(r->row_p[next] - r->row_q[next]);
    w->kl += kl;
    w->nll -= r->row_p[next];
    w->against_nll -= r->row_q[next];
    if (!(delta <= w->max_delta)) w->max_delta = delta;
}

/* Tokens of a window; returns their number, 0 behind the last. */
static int32_t window_tokens(void *ctx, int64_t number, int32_t *token)
{
    const job *j = ctx;
    int32_t n = 0;
    if (number >= j->windows) return 0;
    const geodec_perplexity_span s = geodec_perplexity_span_at(j->o, j->bos >= 0, j->n, number);
    if (s.bos) token[n++] = j->bos;
    memcpy(token + n, j->token + s.first, (size_t)s.count * sizeof *token);
    return n + (int32_t)s.count;
}

static geodec_status read_window(void *ctx, int64_t number, int worker, geodec_err *err)
{
    const job *j = ctx;
    reader *r = &j->reader[worker];
    const geodec_perplexity_span s = geodec_perplexity_span_at(j->o, j->bos >= 0, j->n, number);
    geodec_perplexity_window w = {0};
    const int32_t n = window_tokens(ctx, number, r->token);
    GEODEC_PASS(geodec_scorer_begin(r->p, r->token, n, err));
    if (r->q) GEODEC_PASS(geodec_scorer_begin(r->q, r->token, n, err));
    const int32_t most = j->o->rows > 0 && j->o->rows < GEODEC_SCORER_ROWS ? j->o->rows : GEODEC_SCORER_ROWS;
    for (int32_t at = 0; at + 1 < n; at += most) { /* the last token predicts nothing */
        const int32_t rows = n - 1 - at < most ? n - 1 - at : most;
        bool want[GEODEC_SCORER_ROWS];
        for (int32_t i = 0; i < rows; i++) want[i] = at + i + 1 >= s.scored;
        const double began = geodec_clock_thread_seconds();
        GEODEC_PASS(geodec_scorer_step(r->p, rows, want, err));
        const double half = geodec_clock_thread_seconds();
        if (r->q) GEODEC_PASS(geodec_scorer_step(r->q, rows, want, err));
        r->seconds[0] += half - began;
        r->seconds[1] += r->q ? geodec_clock_thread_seconds() - half : 0;
        for (int32_t i = 0; i < rows; i++)
            if (want[i]) score_row(j, r, i, r->token[at + i + 1], &w);
    }
    j->window[number] = w;
    return GEODEC_OK;
}

/* ---- sums -------------------------------------------------------------------------------------------------------- */

/* A sum of one window, by the offset of its field. */
static double window_sum(const geodec_perplexity_window *w, size_t field)
{
    double v;
    memcpy(&v, (const char *)w + field, sizeof v);
    return v;
}

/* Mean of the field `plus` less `minus` (0 = nothing), with its standard error by blocks. */
static geodec_block_mean block_mean(const geodec_perplexity_result *r, size_t plus, size_t minus)
{
    geodec_block_mean m = {0};
    double sum = 0, square = 0;
    const int64_t each = r->windows_of_a_block;
    const double n = (double)r->blocks, t = (double)r->tokens;
    for (int64_t i = 0; i < r->windows; i++)
        sum += window_sum(&r->window[i], plus) - (minus ? window_sum(&r->window[i], minus) : 0);
    m.mean = sum / t;
    for (int64_t first = 0; first < r->windows; first += each) {
        double off = 0;
        for (int64_t i = first; i < first + each && i < r->windows; i++)
            off += window_sum(&r->window[i], plus) - (minus ? window_sum(&r->window[i], minus) : 0) -
                   (double)r->window[i].tokens * m.mean;
        square += off * off;
    }
    m.se = r->blocks > 1 ? sqrt(n / (n - 1) * square) / t : (double)NAN;
    return m;
}

#define BLOCK(field) offsetof(geodec_perplexity_window, field)

static void summarise(geodec_perplexity_result *r, bool compared)
{
    const geodec_block_mean none = {(double)NAN, (double)NAN};
    r->against_nll = r->difference = r->kl = r->agreement = none;
    r->max_delta = r->against_perplexity = (double)NAN;
    r->nll = block_mean(r, BLOCK(nll), 0);
    r->perplexity = exp(r->nll.mean);
    r->bits_per_byte = r->nll.mean * (double)r->tokens / (log(2) * (double)r->bytes);
    if (!compared) return;
    r->against_nll = block_mean(r, BLOCK(against_nll), 0);
    r->against_perplexity = exp(r->against_nll.mean);
    r->difference = block_mean(r, BLOCK(against_nll), BLOCK(nll));
    r->kl = block_mean(r, BLOCK(kl), 0);
    r->agreement = block_mean(r, BLOCK(agree), 0);
    r->max_delta = 0;
    for (int64_t i = 0; i < r->windows; i++)
        if (!(r->window[i].max_delta <= r->max_delta)) r->max_delta = r->window[i].max_delta;
}

/* Whether the text at byte `at` names the unknown token: then it is that token itself. */
static bool names_unknown(const job *j, const geodec_tokenizer *t, int64_t at)
{
    size_t n;
    const char *const piece = geodec_tokenizer_piece(t, geodec_tokenizer_unknown(t), &n);
    return j->o->parse_special && at >= 0 && (size_t)at < j->n_text && n <= j->n_text - (size_t)at &&
           memcmp(j->text + at, piece, n) == 0;
}

/* Bytes of the text, whose byte `at` comes next, that a token stands for. *unknown: the vocabulary does not have them.
 */
static int64_t bytes_of(const job *j, geodec_detok *d, int32_t id, int64_t at, char *room, bool *unknown)
{
    const bool none = id == geodec_tokenizer_unknown(d->t), named = none && names_unknown(j, d->t, at);
    d->show_control = named || geodec_tokenizer_is_control(d->t, id);
    const int64_t bytes = (int64_t)geodec_decode_feed(d, id, room);
    /* the text after a control token has a prefix of its own, as at the start */
    if (d->show_control && bytes > 1) d->started = false;
    *unknown = none && !named;
    return *unknown ? 1 : bytes; /* a byte counts whether it is known or not */
}

/* Bytes and unigram entropy of the scored tokens. A byte belongs to the token that completes its character. */
static geodec_status count_tokens(const job *j, const geodec_tokenizer *t, geodec_perplexity_result *r, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int64_t *count = NULL, next = 0, tokens = 0, at = 0;
    char *room = NULL;
    double entropy = 0;
    geodec_detok d;
    GEODEC_NEW(count, j->n_vocab);
    GEODEC_NEW(room, (int64_t)geodec_decode_room(t));
    geodec_decode_init(&d, t);
    for (int64_t i = 0; i < r->windows; i++) {
        const geodec_perplexity_span s = geodec_perplexity_span_at(j->o, j->bos >= 0, j->n, i);
        const int64_t from = s.first + s.scored - s.bos, to = s.first + s.count;
        for (; next < to; next++) {
            bool unknown;
            const int64_t bytes = bytes_of(j, &d, j->token[next], at, room, &unknown);
            at += bytes;
            if (next < from) continue;
            r->bytes += bytes;
            r->unknown += unknown;
            count[j->token[next]]++;
            tokens++;
        }
    }
    if (next == j->n) r->bytes += (int64_t)geodec_decode_flush(&d, room);
    for (int64_t v = 0; v < j->n_vocab; v++)
        if (count[v]) entropy -= (double)count[v] * log((double)count[v] / (double)tokens);
    r->tokens = tokens;
    r->unigram_perplexity = exp(entropy / (double)tokens);
    r->uniform_perplexity = (double)j->n_vocab;
done:
    GEODEC_FREE(count, room);
    return st;
}

/* ---- a text ------------------------------------------------------------------------------------------------------ */

static geodec_status check(const geodec_scorer_evaluation *p, const geodec_scorer_evaluation *q,
                           const geodec_perplexity_options *o, geodec_err *err)
{
    if (o->window < 2 || o->window > WINDOW_MAX)
        GEODEC_FAIL(GEODEC_RANGE, "a window of %d tokens is outside 2 to %d", o->window, WINDOW_MAX);
    if (o->stride < 0 || o->stride >= o->window)
        GEODEC_FAIL(GEODEC_RANGE, "a stride of %d is outside 1 to %d (the window less one)", o->stride, o->window - 1);
    if (!q) return GEODEC_OK;
    const geodec_tokenizer *a = geodec_model_tokenizer(p->model), *b = geodec_model_tokenizer(q->model);
    if (strcmp(geodec_tokenizer_fingerprint(a), geodec_tokenizer_fingerprint(b)) != 0 ||
        geodec_model_configuration(p->model)->n_vocab != geodec_model_configuration(q->model)->n_vocab)
        GEODEC_FAIL(GEODEC_CHECKSUM, "%s and %s have different vocabularies: their probabilities cannot be compared",
                    geodec_model_name(p->model), geodec_model_name(q->model));
    return GEODEC_OK;
}

static geodec_status open_readers(const geodec_scorer_evaluation *p, const geodec_scorer_evaluation *q, job *j,
                                  int workers, geodec_pool *inside, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    GEODEC_NEW(j->reader, workers);
    for (int i = 0; i < workers; i++) {
        reader *r = &j->reader[i];
        geodec_scorer_evaluation e = *p;
        e.pool = inside;
        GEODEC_TRY(geodec_scorer_create(&e, j->o->window, &r->p, err));
        if (q) e = *q;
        e.pool = inside;
        if (q) GEODEC_TRY(geodec_scorer_create(&e, j->o->window, &r->q, err));
        GEODEC_NEW(r->token, j->o->window);
        GEODEC_NEW_EACH(j->n_vocab, r->row_p, r->row_q);
    }
done:
    return st;
}

static void close_readers(job *j, int workers)
{
    for (int i = 0; j->reader && i < workers; i++) {
        geodec_scorer_destroy(j->reader[i].p);
        geodec_scorer_destroy(j->reader[i].q);
        GEODEC_FREE(j->reader[i].token, j->reader[i].row_p, j->reader[i].row_q);
    }
    geodec_mem_free(j->reader);
}

geodec_status geodec_perplexity_text(const geodec_scorer_evaluation *p, const geodec_scorer_evaluation *q,
                                     const geodec_perplexity_options *o, const char *text, size_t n,
                                     geodec_perplexity_result *result, geodec_pool *pool, const geodec_hooks *hooks,
                                     geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const bool streamed = geodec_streamed_is(p->model) || (q && geodec_streamed_is(q->model));
    const geodec_tokenizer *t = geodec_model_tokenizer(p->model);
    geodec_perplexity_result r = {0};
    job j = {.o = o, .n_vocab = geodec_model_configuration(p->model)->n_vocab, .bos = geodec_tokenizer_start(t)};
    int32_t *token = NULL;
    int workers = 0;
    GEODEC_TRY(check(p, q, o, err));
    GEODEC_TRY(geodec_scorer_tokens(t, text, n, o->parse_special, &token, &j.n, err));
    j.token = token;
    j.text = text;
    j.n_text = n;
    r.windows = geodec_perplexity_count(o, j.bos >= 0, j.n);
    if (r.windows < 1)
        GEODEC_THROW(j.n == 0 ? GEODEC_FORMAT : GEODEC_SCARCE, "%lld tokens; a score needs at least %d", (long long)j.n,
                     j.bos >= 0 ? 1 : 2);
    r.windows_of_a_block = o->stride ? (o->window + o->stride - 1) / o->stride : 1;
    r.blocks = (r.windows + r.windows_of_a_block - 1) / r.windows_of_a_block;
    GEODEC_NEW(r.window, r.windows);
    j.window = r.window;
    j.windows = r.windows;
    workers = streamed ? 1 : geodec_pool_threads(pool);
    GEODEC_TRY(open_readers(p, q, &j, workers, streamed ? pool : NULL, err));
    /* one worker reads all windows in order; with a number of rows, a pass has so many */
    for (int i = 0; streamed && o->rows == 0 && i < workers; i++) {
        geodec_scorer_expect(j.reader[i].p, window_tokens, &j);
        if (q) geodec_scorer_expect(j.reader[i].q, window_tokens, &j);
    }
    GEODEC_TRY(
        geodec__tasks_run_workers(streamed ? NULL : pool, hooks, "scoring windows", r.windows, read_window, &j, err));
    for (int i = 0; i < workers; i++) {
        r.seconds += j.reader[i].seconds[0];
        r.against_seconds += j.reader[i].seconds[1];
    }
    GEODEC_TRY(count_tokens(&j, t, &r, err));
    summarise(&r, q != NULL);
    if (!isfinite(r.nll.mean)) GEODEC_THROW(GEODEC_NUMERIC, "the model's probabilities are not numbers");
    GEODEC_MOVE(*result, r);
done:
    geodec_perplexity_free(&r);
    close_readers(&j, workers);
    geodec_mem_free(token);
    return st;
}

void geodec_perplexity_free(geodec_perplexity_result *r)
{
    geodec_mem_free(r->window);
    r->window = NULL;
}

/* ---- reports ----------------------------------------------------------------------------------------------------- */

typedef struct figure {
    const char *name;
    double value;
} figure;

enum { COUNTS = 5, FIGURES = 7, COMPARED = 10 };

static void figures_of(const geodec_perplexity_result *r, figure f[FIGURES + COMPARED])
{
    const figure all[FIGURES + COMPARED] = {
        {"nll", r->nll.mean},
        {"nll_se", r->nll.se},
        {"perplexity", r->perplexity},
        {"perplexity_se", r->perplexity * r->nll.se}, /* to first order */
        {"bits_per_byte", r->bits_per_byte},
        {"uniform_perplexity", r->uniform_perplexity},
        {"unigram_perplexity", r->unigram_perplexity},
        {"against_nll", r->against_nll.mean},
        {"against_nll_se", r->against_nll.se},
        {"against_perplexity", r->against_perplexity},
        {"difference", r->difference.mean},
        {"difference_se", r->difference.se},
        {"kl", r->kl.mean},
        {"kl_se", r->kl.se},
        {"agreement", r->agreement.mean},
        {"agreement_se", r->agreement.se},
        {"max_delta", r->max_delta},
    };
    memcpy(f, all, sizeof all);
}

static geodec_status begin_table(geodec_perplexity_report *s, geodec_err *err)
{
    const geodec_perplexity_result none = {0};
    const char *columns[COUNTS + FIGURES + COMPARED] = {"text", "windows", "blocks", "tokens", "bytes"};
    figure f[FIGURES + COMPARED];
    const int n = s->q ? FIGURES + COMPARED : FIGURES;
    figures_of(&none, f);
    for (int i = 0; i < n; i++) columns[COUNTS + i] = f[i].name;
    GEODEC_PASS(geodec_tsv_on(s->out, &s->table, err));
    GEODEC_PASS(geodec_tsv_columns(s->table, COUNTS + n, columns, err));
    return GEODEC_OK;
}

static geodec_status table_row(geodec_perplexity_report *s, const char *text, const geodec_perplexity_result *r,
                               geodec_err *err)
{
    figure f[FIGURES + COMPARED];
    figures_of(r, f);
    geodec_tsv_str(s->table, text);
    geodec_tsv_i64(s->table, r->windows);
    geodec_tsv_i64(s->table, r->blocks);
    geodec_tsv_i64(s->table, r->tokens);
    geodec_tsv_i64(s->table, r->bytes);
    for (int i = 0; i < (s->q ? FIGURES + COMPARED : FIGURES); i++) geodec_tsv_f64(s->table, f[i].value);
    return geodec_tsv_end_row(s->table, err);
}

static void json_model(geodec_json_writer *w, const char *key, const geodec_scorer_evaluation *e)
{
    char text[GEODEC_ATTNRES_TEXT];
    geodec_json_begin_object(w, key);
    geodec_json_put_str(w, "name", geodec_model_name(e->model));
    geodec_json_put_str(w, "fingerprint", geodec_model_fingerprint(e->model));
    geodec_json_put_str(w, "arithmetic", geodec_scorer_evaluation_arithmetic(e));
    geodec_json_put_str(w, "kv", geodec_scorer_evaluation_kv(e));
    geodec_json_put_str(w, "scores", e->scores ? e->scores->name : "direct");
    geodec_attnres_text(&e->attnres, text);
    geodec_json_put_str(w, "attnres", text);
    geodec_json_end(w);
}

geodec_status geodec_perplexity_report_begin_json(geodec_perplexity_report *s, const char *path,
                                                  const char *command_line, geodec_err *err)
{
    GEODEC_PASS(geodec_json_create(path, &s->json, err));
    geodec_json_put_str(s->json, "command_line", command_line);
    json_model(s->json, "model", s->p);
    if (s->q) json_model(s->json, "against", s->q);
    geodec_json_put_i64(s->json, "window", s->o->window);
    geodec_json_put_i64(s->json, "stride", s->o->stride);
    geodec_json_put_bool(s->json, "parse_special", s->o->parse_special);
    geodec_json_begin_array(s->json, "texts");
    return GEODEC_OK;
}

static void json_text(geodec_perplexity_report *s, const char *text, const char *sha256, const char *separator,
                      int64_t documents, const geodec_perplexity_result *r)
{
    geodec_json_writer *w = s->json;
    figure f[FIGURES + COMPARED];
    figures_of(r, f);
    geodec_json_begin_object(w, NULL);
    geodec_json_put_str(w, "text", text);
    geodec_json_put_str(w, "sha256", sha256);
    geodec_json_put_str(w, "separator", separator);
    geodec_json_put_i64(w, "documents", documents);
    geodec_json_put_i64(w, "windows", r->windows);
    geodec_json_put_i64(w, "blocks", r->blocks);
    geodec_json_put_i64(w, "tokens", r->tokens);
    geodec_json_put_i64(w, "bytes", r->bytes);
    geodec_json_put_i64(w, "unknown_tokens", r->unknown);
    for (int i = 0; i < (s->q ? FIGURES + COMPARED : FIGURES); i++) geodec_json_put_f64(w, f[i].name, f[i].value);
    geodec_json_begin_array(w, "window");
    for (int64_t i = 0; i < r->windows; i++) {
        const geodec_perplexity_window *one = &r->window[i];
        geodec_json_begin_object(w, NULL);
        geodec_json_put_i64(w, "tokens", one->tokens);
        geodec_json_put_f64(w, "nll_sum", one->nll);
        if (s->q) {
            geodec_json_put_f64(w, "against_nll_sum", one->against_nll);
            geodec_json_put_f64(w, "kl_sum", one->kl);
            geodec_json_put_i64(w, "agree", (int64_t)one->agree);
            geodec_json_put_f64(w, "max_delta", one->max_delta);
        }
        geodec_json_end(w);
    }
    geodec_json_end(w);
    geodec_json_end(w);
}

geodec_status geodec_perplexity_report_add(geodec_perplexity_report *s, const char *text, const char *sha256,
                                           const char *separator, int64_t documents, const geodec_perplexity_result *r,
                                           geodec_err *err)
{
    if (!s->table) GEODEC_PASS(begin_table(s, err));
    GEODEC_PASS(table_row(s, text, r, err));
    if (s->json) json_text(s, text, sha256, separator, documents, r);
    return GEODEC_OK;
}

geodec_status geodec_perplexity_report_end(geodec_perplexity_report *s, geodec_err *err)
{
    GEODEC_PASS(geodec_tsv_finish(&s->table, err));
    if (s->json) {
        geodec_json_writer *json = s->json;
        geodec_json_end(json);
        s->json = NULL;
        GEODEC_PASS(geodec_json_commit(json, err));
    }
    return GEODEC_OK;
}

void geodec_perplexity_report_abandon(geodec_perplexity_report *s)
{
    geodec_tsv_abandon(s->table);
    geodec_json_abandon(s->json);
    s->table = NULL;
    s->json = NULL;
}

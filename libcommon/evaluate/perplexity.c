#include "evaluate/perplexity.h"

#include "base/mem.h"
#include "io/file.h"

#include <math.h>
#include <string.h>

enum { GROUP = 4 /* windows a worker reads between two calls of the hooks */, WINDOW_MAX = 1 << 20 };

typedef struct reader { /* state of a worker */
    geodec_scorer *p, *q;
    int32_t *token;        /* [window] */
    double *row_p, *row_q; /* [n_vocab] */
    geodec_status status;
    geodec_err error;
} reader;

typedef struct job {
    const geodec_perplexity_options *o;
    const int32_t *token;
    int64_t n, n_vocab, first; /* first: index of the group's first window */
    int32_t bos;               /* -1 = none */
    reader *reader;
    geodec_perplexity_window *window;
} job;

/* ---- one window ------------------------------------------------------------------------------------------------- */

/* x becomes log-probabilities: x - max - log(sum exp(x - max)), the sum in order of the ids. */
static void log_softmax(double *x, int64_t n)
{
    double top = x[0], sum = 0;
    for (int64_t v = 1; v < n; v++)
        if (x[v] > top) top = x[v];
    for (int64_t v = 0; v < n; v++) sum += exp(x[v] - top);
    const double lse = top + log(sum);
    for (int64_t v = 0; v < n; v++) x[v] -= lse;
}

/* -log p of one token without the other log-probabilities. */
static double token_nll(const double *x, int64_t n, int32_t token)
{
    double top = x[0], sum = 0;
    for (int64_t v = 1; v < n; v++)
        if (x[v] > top) top = x[v];
    for (int64_t v = 0; v < n; v++) sum += exp(x[v] - top);
    return top - x[token] + log(sum);
}

static int64_t argmax(const double *x, int64_t n)
{
    int64_t best = 0;
    for (int64_t v = 1; v < n; v++)
        if (x[v] > x[best]) best = v;
    return best;
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
    w->agree += argmax(r->row_p, j->n_vocab) == argmax(r->row_q, j->n_vocab);
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

static geodec_status read_window(const job *j, reader *r, int64_t number, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_perplexity_span s = geodec_perplexity_span_at(j->o, j->bos >= 0, j->n, number);
    geodec_perplexity_window w = {0};
    int32_t n = 0;
    if (s.bos) r->token[n++] = j->bos;
    memcpy(r->token + n, j->token + s.first, (size_t)s.count * sizeof *r->token);
    n += (int32_t)s.count;
    GEODEC_TRY(geodec_scorer_begin(r->p, r->token, n, err));
    if (r->q) GEODEC_TRY(geodec_scorer_begin(r->q, r->token, n, err));
    for (int32_t at = 0; at + 1 < n; at += GEODEC_SCORER_ROWS) { /* the last token predicts nothing */
        const int32_t rows = n - 1 - at < GEODEC_SCORER_ROWS ? n - 1 - at : GEODEC_SCORER_ROWS;
        bool want[GEODEC_SCORER_ROWS];
        for (int32_t i = 0; i < rows; i++) want[i] = at + i + 1 >= s.scored;
        GEODEC_TRY(geodec_scorer_step(r->p, rows, want, err));
        if (r->q) GEODEC_TRY(geodec_scorer_step(r->q, rows, want, err));
        for (int32_t i = 0; i < rows; i++)
            if (want[i]) score_row(j, r, i, r->token[at + i + 1], &w);
    }
    j->window[number] = w;
done:
    return st;
}

static void window_task(void *ctx, int64_t task, int worker)
{
    const job *j = ctx;
    reader *r = &j->reader[worker];
    if (r->status == GEODEC_OK) r->status = read_window(j, r, j->first + task, &r->error);
}

/* ---- sums ------------------------------------------------------------------------------------------------------- */

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

/* Bytes and unigram entropy of the scored tokens. A byte belongs to the token that completes its character. */
static geodec_status count_tokens(const job *j, const geodec_tokenizer *t, geodec_perplexity_result *r, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int64_t *count = NULL, next = 0, tokens = 0;
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
            const int64_t bytes = (int64_t)geodec_decode_feed(&d, j->token[next], room);
            if (next < from) continue;
            r->bytes += bytes;
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
    geodec_mem_free(count);
    geodec_mem_free(room);
    return st;
}

/* ---- a text ----------------------------------------------------------------------------------------------------- */

static geodec_status check(const geodec_scorer_evaluation *p, const geodec_scorer_evaluation *q,
                           const geodec_perplexity_options *o, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    if (o->window < 2 || o->window > WINDOW_MAX)
        GEODEC_THROW(GEODEC_RANGE, "a window of %d tokens is outside 2 to %d", o->window, WINDOW_MAX);
    if (o->stride < 0 || o->stride >= o->window)
        GEODEC_THROW(GEODEC_RANGE, "a stride of %d is outside 1 to %d (the window less one)", o->stride, o->window - 1);
    if (!q) goto done;
    const geodec_tokenizer *a = geodec_model_tokenizer(p->model), *b = geodec_model_tokenizer(q->model);
    if (strcmp(geodec_tokenizer_fingerprint(a), geodec_tokenizer_fingerprint(b)) != 0 ||
        geodec_model_configuration(p->model)->n_vocab != geodec_model_configuration(q->model)->n_vocab)
        GEODEC_THROW(GEODEC_CHECKSUM, "%s and %s have different vocabularies: their probabilities cannot be compared",
                     geodec_model_name(p->model), geodec_model_name(q->model));
done:
    return st;
}

static geodec_status tokenize(const geodec_tokenizer *t, const char *text, size_t n, job *j, int32_t **token,
                              geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t bad = geodec_file_utf8_check(text, n);
    if (bad >= 0) GEODEC_THROW(GEODEC_FORMAT, "not UTF-8 text: invalid byte at offset %lld", (long long)bad);
    j->bos = geodec_tokenizer_start(t);
    GEODEC_NEW(*token, (int64_t)n + 2);
    GEODEC_TRY(geodec_tokenizer_encode(t, text, n, false, *token, &j->n, err));
    j->token = *token;
done:
    return st;
}

static geodec_status open_readers(const geodec_scorer_evaluation *p, const geodec_scorer_evaluation *q, job *j,
                                  int workers, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    GEODEC_NEW(j->reader, workers);
    for (int i = 0; i < workers; i++) {
        reader *r = &j->reader[i];
        GEODEC_TRY(geodec_scorer_create(p, j->o->window, &r->p, err));
        if (q) GEODEC_TRY(geodec_scorer_create(q, j->o->window, &r->q, err));
        GEODEC_NEW(r->token, j->o->window);
        GEODEC_NEW(r->row_p, j->n_vocab);
        GEODEC_NEW(r->row_q, j->n_vocab);
    }
done:
    return st;
}

/* Sums over workers; the assignment of windows does not matter. */
static double merged_share(const job *j, int workers, bool against)
{
    int64_t seen = 0, merged = 0;
    for (int i = 0; i < workers; i++) {
        const geodec_kv_merges m = geodec_scorer_merges(against ? j->reader[i].q : j->reader[i].p);
        seen += m.seen;
        merged += m.merged;
    }
    return seen > 0 ? (double)merged / (double)seen : 0;
}

static void close_readers(job *j, int workers)
{
    for (int i = 0; j->reader && i < workers; i++) {
        geodec_scorer_destroy(j->reader[i].p);
        geodec_scorer_destroy(j->reader[i].q);
        geodec_mem_free(j->reader[i].token);
        geodec_mem_free(j->reader[i].row_p);
        geodec_mem_free(j->reader[i].row_q);
    }
    geodec_mem_free(j->reader);
}

geodec_status geodec_perplexity_text(const geodec_scorer_evaluation *p, const geodec_scorer_evaluation *q,
                                     const geodec_perplexity_options *o, const char *text, size_t n,
                                     geodec_perplexity_result *result, geodec_pool *pool, const geodec_hooks *hooks,
                                     geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int threads = geodec_pool_threads(pool);
    const geodec_tokenizer *t = geodec_model_tokenizer(p->model);
    geodec_perplexity_result r = {0};
    job j = {.o = o, .n_vocab = geodec_model_configuration(p->model)->n_vocab};
    int32_t *token = NULL;
    int workers = 0;
    GEODEC_TRY(check(p, q, o, err));
    GEODEC_TRY(tokenize(t, text, n, &j, &token, err));
    r.windows = geodec_perplexity_count(o, j.bos >= 0, j.n);
    if (r.windows < 1)
        GEODEC_THROW(j.n == 0 ? GEODEC_FORMAT : GEODEC_SCARCE, "%lld tokens; a score needs at least %d", (long long)j.n,
                     j.bos >= 0 ? 1 : 2);
    r.windows_of_a_block = o->stride ? (o->window + o->stride - 1) / o->stride : 1;
    r.blocks = (r.windows + r.windows_of_a_block - 1) / r.windows_of_a_block;
    GEODEC_NEW(r.window, r.windows);
    j.window = r.window;
    workers = threads;
    GEODEC_TRY(open_readers(p, q, &j, workers, err));
    for (int64_t done = 0; done < r.windows;) {
        const int64_t left = r.windows - done, group = left < threads * GROUP ? left : threads * GROUP;
        GEODEC_TRY(geodec_hooks_progress(hooks, "scoring windows", done, r.windows, err));
        j.first = done;
        geodec_pool_run_dynamic(pool, group, window_task, &j);
        for (int i = 0; i < workers; i++) {
            if (j.reader[i].status == GEODEC_OK) continue;
            if (err) *err = j.reader[i].error;
            st = j.reader[i].status;
            goto done;
        }
        done += group;
    }
    r.merged = merged_share(&j, workers, false);
    r.against_merged = q ? merged_share(&j, workers, true) : 0;
    GEODEC_TRY(count_tokens(&j, t, &r, err));
    summarise(&r, q != NULL);
    if (!isfinite(r.nll.mean)) GEODEC_THROW(GEODEC_NUMERIC, "the model's probabilities are not numbers");
    *result = r;
    r.window = NULL;
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

#include "evaluate/scorer.h"

#include "base/mem.h"
#include "io/file.h"
#include "reference/reference.h"
#include "session/arithmetic.h"

#include <string.h>

const char *geodec_scorer_evaluation_arithmetic(const geodec_scorer_evaluation *e)
{
    return e->float64 ? "float64" : geodec_arithmetic_name(e->arithmetic);
}

const char *geodec_scorer_evaluation_kv(const geodec_scorer_evaluation *e)
{
    return e->float64 ? "f64" : geodec_cache_kv_name(e->kv);
}

geodec_status geodec_scorer_tokens(const geodec_tokenizer *t, const char *text, size_t n, bool parse_special,
                                   int32_t **token, int64_t *count, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int32_t *ids = NULL;
    const geodec_encode_options how = {.parse_special = parse_special};
    const int64_t bad = geodec_file_utf8_check(text, n);
    if (bad >= 0) GEODEC_THROW(GEODEC_FORMAT, "not UTF-8 text: invalid byte at offset %lld", (long long)bad);
    GEODEC_NEW(ids, (int64_t)n + 3);
    GEODEC_TRY(geodec_tokenizer_encode_with(t, text, n, &how, ids, count, err));
    GEODEC_MOVE(*token, ids);
done:
    geodec_mem_free(ids);
    return st;
}

/* Tokens of windows, one after another, and their last states. */
typedef struct ahead {
    int32_t *token; /* [room] */
    bool *begin;
    float *state;        /* [room][d_model] */
    int32_t room, n, at; /* rows; filled; of these used */
} ahead;

enum { MOST_PASS = 1 << 16 /* rows */ };

struct geodec_scorer {
    int64_t n_vocab;
    const int32_t *token; /* tokens of the window, and how many were read */
    int32_t n, read;
    /* a session */
    geodec_session *session;
    float *logits; /* [GEODEC_SCORER_ROWS][n_vocab] */
    /* while its experts stream: rows of windows that were read in one pass, before the head */
    geodec_scorer_windows windows; /* NULL: not known */
    void *windows_ctx;
    int64_t begun; /* windows */
    ahead held;
    const float *rows; /* of the window; NULL: they are read step by step */
    /* or float64: the whole window goes through the blocks at once, and single rows through the head on demand */
    geodec_reference *reference;
    double *embedding, *state; /* [window][d_model] */
    double *wanted;            /* [GEODEC_SCORER_ROWS][n_vocab] logits of the selected rows of a step */
    int32_t place[GEODEC_SCORER_ROWS];
};

static geodec_status create_session(geodec_scorer *s, const geodec_scorer_evaluation *e, int32_t window,
                                    geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_session_options o = {.n_ctx = window,
                                      .max_batch = window < GEODEC_SCORER_ROWS ? window : GEODEC_SCORER_ROWS,
                                      .max_pass = MOST_PASS,
                                      .isa = e->isa,
                                      .pool = e->pool,
                                      .arithmetic = e->arithmetic,
                                      .kv = e->kv,
                                      .scores = e->scores,
                                      .attnres = e->attnres};
    GEODEC_TRY(geodec_session_create(e->model, &o, &s->session, err));
    if (e->rewrite) GEODEC_TRY(geodec_session_rewrite(s->session, e->rewrite, err));
    GEODEC_NEW(s->logits, o.max_batch * s->n_vocab);
done:
    return st;
}

static geodec_status create_reference(geodec_scorer *s, const geodec_scorer_evaluation *e, int32_t window,
                                      geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_reference_options o = {.n_ctx = window};
    const int64_t d = geodec_model_configuration(e->model)->d_model;
    if (geodec_attnres_on(&e->attnres)) GEODEC_THROW(GEODEC_UNSUPPORTED, "float64 evaluation does not support attnres");
    if (e->rewrite) GEODEC_THROW(GEODEC_UNSUPPORTED, "float64 evaluation has no cache to rewrite");
    if (e->scores)
        GEODEC_THROW(GEODEC_UNSUPPORTED, "scores by %s need integer arithmetic, not float64", e->scores->name);
    GEODEC_TRY(geodec_reference_create(e->model, &o, &s->reference, err));
    GEODEC_NEW_EACH(window * d, s->embedding, s->state);
    GEODEC_NEW(s->wanted, GEODEC_SCORER_ROWS * s->n_vocab);
done:
    return st;
}

geodec_status geodec_scorer_create(const geodec_scorer_evaluation *e, int32_t window, geodec_scorer **out,
                                   geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_scorer *s = NULL;
    GEODEC_NEW(s, 1);
    s->n_vocab = geodec_model_configuration(e->model)->n_vocab;
    GEODEC_TRY(e->float64 ? create_reference(s, e, window, err) : create_session(s, e, window, err));
    GEODEC_MOVE(*out, s);
done:
    geodec_scorer_destroy(s);
    return st;
}

void geodec_scorer_destroy(geodec_scorer *s)
{
    if (!s) return;
    geodec_session_destroy(s->session);
    geodec_mem_free(s->logits);
    GEODEC_FREE(s->held.token, s->held.begin, s->held.state);
    geodec_reference_destroy(s->reference);
    GEODEC_FREE(s->embedding, s->state, s->wanted, s);
}

/* ---- windows that are read ahead --------------------------------------------------------------------------------- */

void geodec_scorer_expect(geodec_scorer *s, geodec_scorer_windows windows, void *ctx)
{
    s->windows = windows;
    s->windows_ctx = ctx;
}

static geodec_status make_room(geodec_scorer *s, int32_t rows, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    ahead *a = &s->held;
    if (rows <= a->room) return GEODEC_OK;
    GEODEC_FREE(a->token, a->begin, a->state);
    *a = (ahead){0};
    GEODEC_NEW_EACH(rows, a->token, a->begin);
    GEODEC_NEW(a->state, rows * (int64_t)geodec_model_configuration(geodec_session_model(s->session))->d_model);
    a->room = rows;
done:
    return st;
}

/* Gathers the tokens of this window, and of those behind it that fit into `rows`. */
static void gather(geodec_scorer *s, int32_t rows)
{
    ahead *a = &s->held;
    const int32_t most = geodec_session_n_ctx(s->session);
    memcpy(a->token, s->token, (size_t)s->n * sizeof *a->token);
    a->n = s->n;
    memset(a->begin, 0, (size_t)rows * sizeof *a->begin);
    for (int64_t i = s->begun; a->n + most <= rows && geodec_session_takes_texts(s->session); i++) {
        const int32_t n = s->windows(s->windows_ctx, i, a->token + a->n);
        if (n < 1) break;
        a->begin[a->n] = true;
        a->n += n;
    }
}

/* The rows of the window: those that are held already, or of a new pass; NULL where passes are batches. */
static geodec_status read_ahead(geodec_scorer *s, geodec_err *err)
{
    ahead *a = &s->held;
    const geodec_model_config *c = geodec_model_configuration(geodec_session_model(s->session));
    const int64_t d = c->d_model, beside = d * 4 + 5;
    s->rows = NULL;
    if (a->at + s->n <= a->n && memcmp(a->token + a->at, s->token, (size_t)s->n * sizeof *s->token) == 0) {
        s->rows = a->state + a->at * d;
        a->at += s->n;
        return GEODEC_OK;
    }
    a->n = a->at = 0;
    const int32_t pass = geodec_session_pass_rows(s->session, MOST_PASS, beside);
    if (pass <= GEODEC_SCORER_ROWS) return GEODEC_OK;
    GEODEC_PASS(make_room(s, pass > s->n ? pass : s->n, err));
    gather(s, pass > s->n ? pass : s->n);
    geodec_session_truncate(s->session, 0);
    const int32_t last = c->n_layer;
    for (int32_t at = 0; at < a->n;) {
        const int32_t n = a->n - at < pass ? a->n - at : pass;
        const geodec_batch b = {.n = n, .token = a->token + at, .begin = a->n > s->n ? a->begin + at : NULL};
        const geodec_capture capture = {.n_layers = 1, .layer = &last, .state = a->state + at * d};
        GEODEC_PASS(geodec_forward(s->session, &b, NULL, &capture, err));
        at += n;
    }
    s->rows = a->state;
    a->at = s->n;
    return GEODEC_OK;
}

geodec_status geodec_scorer_begin(geodec_scorer *s, const int32_t *token, int32_t n, geodec_err *err)
{
    s->token = token;
    s->n = n;
    s->read = 0;
    if (s->reference) {
        const int32_t head = geodec_model_configuration(geodec_reference_model(s->reference))->n_layer;
        geodec_reference *own;
        GEODEC_PASS(geodec_reference_of_text(s->reference, token, n, &own, err));
        geodec_reference_destroy(s->reference);
        s->reference = own;
        GEODEC_PASS(geodec_reference_embed(s->reference, token, n, s->embedding, err));
        GEODEC_PASS(geodec_reference_run(s->reference, 0, head, n, s->embedding, NULL, s->state, err));
    } else {
        geodec_session_truncate(s->session, 0);
        s->begun++;
    }
    return GEODEC_OK;
}

geodec_status geodec_scorer_step(geodec_scorer *s, int32_t n, const bool *want, geodec_err *err)
{
    if (s->reference) {
        const int32_t head = geodec_model_configuration(geodec_reference_model(s->reference))->n_layer;
        int32_t row[GEODEC_SCORER_ROWS];
        geodec_reference_rows rows = {0, row};
        for (int32_t i = 0; i < n; i++)
            if (want[i]) {
                s->place[i] = (int32_t)rows.n;
                row[rows.n++] = s->read + i;
            }
        if (rows.n > 0)
            GEODEC_PASS(geodec_reference_run(s->reference, head, head + 1, s->n, s->state, &rows, s->wanted, err));
    } else {
        const geodec_batch b = {.n = n, .token = s->token + s->read, .want = want};
        const int64_t d = geodec_model_configuration(geodec_session_model(s->session))->d_model;
        if (s->windows && s->read == 0) GEODEC_PASS(read_ahead(s, err));
        if (s->rows)
            GEODEC_PASS(geodec_session_head(s->session, s->rows + s->read * d, n, want, s->logits, err));
        else
            GEODEC_PASS(geodec_forward(s->session, &b, s->logits, NULL, err));
    }
    s->read += n;
    return GEODEC_OK;
}

void geodec_scorer_row(const geodec_scorer *s, int32_t i, double *out)
{
    if (s->reference) {
        memcpy(out, s->wanted + s->place[i] * s->n_vocab, (size_t)s->n_vocab * sizeof *out);
        return;
    }
    const float *row = s->logits + i * s->n_vocab;
    for (int64_t v = 0; v < s->n_vocab; v++) out[v] = (double)row[v];
}

#include "lab/integer/keycodes/key_codes_internal.h"

#include "base/mem.h"

#include <stdio.h>
#include <string.h>

enum { GROUP = GEODEC__KEY_CODES_GROUP, BATCH = 64, NAME = 64, ROWS_MIN = 256, WINDOW_MAX = 1 << 16 };

/* ---- cases ------------------------------------------------------------------------------------------------------ */

static geodec_status parse_one(const char *name, geodec_key_codes_case *c, geodec_err *err)
{
    char text[NAME], *rest = text, *word;
    if (strlen(name) >= sizeof text) GEODEC_FAIL(GEODEC_INVAL, "no code is named %s", name);
    memcpy(text, name, strlen(name) + 1);
    word = strsep(&rest, "/");
    *c = (geodec_key_codes_case){.kind = geodec_codes_named(word)};
    if (!c->kind) GEODEC_FAIL(GEODEC_INVAL, "no code is named %s", word);
    while (rest) {
        word = strsep(&rest, "/");
        if (strcmp(word, "pre") == 0 && !c->pre && !c->query)
            c->pre = true;
        else if (strcmp(word, "query") == 0 && !c->query)
            c->query = true;
        else
            GEODEC_FAIL(GEODEC_INVAL, "%s: a code is NAME[/pre][/query]", name);
    }
    return GEODEC_OK;
}

geodec_status geodec_key_codes_parse(const char *names, geodec_key_codes_case *cases, int64_t *n, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    char *text = geodec_mem_strdup(names), *rest = text;
    if (!text) GEODEC_THROW(GEODEC_NOMEM, "no memory for a list of codes");
    *n = 0;
    while (rest) {
        if (*n == GEODEC_KEY_CODES_CASES)
            GEODEC_THROW(GEODEC_LIMIT, "more than %d codes in one run", GEODEC_KEY_CODES_CASES);
        GEODEC_TRY(parse_one(strsep(&rest, ","), &cases[*n], err));
        (*n)++;
    }
done:
    geodec_mem_free(text);
    return st;
}

void geodec_key_codes_name(const geodec_key_codes_case *c, char text[NAME])
{
    (void)snprintf(text, NAME, "%s%s%s", c->kind->name, c->pre ? "/pre" : "", c->query ? "/query" : "");
}

/* ---- rows ------------------------------------------------------------------------------------------------------- */

/* Key heads of a vector. */
static int64_t joined(const geodec_model_config *c)
{
    for (int64_t j = c->n_kv_head; j > 1; j--)
        if (c->n_kv_head % j == 0 && j * c->head_dim <= GEODEC_KEY_CODES_WIDTH) return j;
    return 1;
}

static void add_moments(geodec_key_codes_rows *r, int64_t layer, const float *query)
{
    const geodec_model_config *c = geodec_model_configuration(r->model);
    const int64_t size = c->head_dim, share = c->n_head / c->n_kv_head;
    for (int64_t h = 0; h < c->n_head; h++) {
        const int64_t kv = h / share, at = kv % r->heads * size;
        double *moment = r->moment + (layer * r->vectors + kv / r->heads) * r->dim * r->dim;
        for (int64_t i = 0; i < size; i++)
            for (int64_t j = 0; j < size; j++)
                moment[(at + i) * r->dim + at + j] += (double)query[h * size + i] * (double)query[h * size + j];
    }
}

/* Stores n rows [vectors][dim] each from row `first` on. */
static void store(const geodec_key_codes_rows *r, int64_t layer, int64_t row, const float *from, float *to)
{
    for (int64_t v = 0; v < r->vectors; v++)
        memcpy(to + geodec__key_codes_at(r, layer, v) + row * r->dim, from + v * r->dim, (size_t)r->dim * sizeof *from);
}

static void observe(void *ctx, const geodec_rewrite_rows *rows)
{
    geodec_key_codes_rows *r = ctx;
    const geodec_model_config *c = geodec_model_configuration(r->model);
    const int64_t width = r->vectors * r->dim, q = (int64_t)c->n_head * c->head_dim;
    for (int64_t i = 0; i < rows->n; i++) {
        const int64_t row = r->n + rows->first + i;
        float *k = rows->k + i * width;
        store(r, rows->layer, row, k, r->k[0]);
        store(r, rows->layer, row, rows->v + i * width, r->v);
        geodec_session_rewrite_turn(r->session, rows->layer, rows->first + i, true, k);
        store(r, rows->layer, row, k, r->k[1]);
        for (int64_t v = 0; v < r->vectors; v++) /* the cache keeps its bits */
            memcpy(k + v * r->dim, r->k[0] + geodec__key_codes_at(r, rows->layer, v) + row * r->dim,
                   (size_t)r->dim * sizeof *k);
        if (r->query)
            memcpy(r->query + (rows->layer * r->capacity + row) * q, rows->query[i], (size_t)q * sizeof(float));
        else
            add_moments(r, rows->layer, rows->query[i]);
    }
}

geodec_status geodec__key_codes_begin(const geodec_model *m, const geodec_key_codes_options *o, int64_t capacity,
                                      bool query, geodec_key_codes_rows **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_model_config *c = geodec_model_configuration(m);
    geodec_key_codes_rows *r = NULL;
    geodec_err refused = {0};
    char why[GEODEC_ERR_TEXT];
    if (o->window < GROUP || o->window > WINDOW_MAX)
        GEODEC_THROW(GEODEC_RANGE, "documents of %d tokens; %d to %d", o->window, GROUP, WINDOW_MAX);
    if (c->head_dim > GEODEC_CODES_DIM_MAX)
        GEODEC_THROW(GEODEC_SCARCE, "heads of %d values; codes have at most %d", (int)c->head_dim,
                     GEODEC_CODES_DIM_MAX);
    GEODEC_NEW(r, 1);
    r->model = m;
    r->window = o->window / GROUP * GROUP;
    r->layers = c->n_layer;
    r->heads = joined(c);
    r->vectors = c->n_kv_head / r->heads;
    r->dim = r->heads * c->head_dim;
    r->capacity = (capacity + GROUP - 1) / GROUP * GROUP;
    const geodec_session_options so = {
        .n_ctx = r->window, .max_batch = r->window < BATCH ? r->window : BATCH, .isa = o->isa, .pool = o->pool};
    GEODEC_TRY(geodec_session_create(m, &so, &r->session, err));
    const geodec_rewrite w = {.fn = observe, .ctx = r, .group = 1};
    st = geodec_session_rewrite(r->session, &w, &refused);
    if (st != GEODEC_OK) /* a sound model whose keys cannot be replaced: not measured */
        GEODEC_THROW(st == GEODEC_UNSUPPORTED ? GEODEC_SCARCE : st, "%s", geodec_err_line(&refused, why, sizeof why));
    GEODEC_NEW_EACH(r->layers * r->vectors * r->capacity * r->dim, r->k[0], r->k[1], r->v);
    GEODEC_NEW(r->moment, r->layers * r->vectors * r->dim * r->dim);
    if (query) GEODEC_NEW(r->query, r->layers * r->capacity * c->n_head * c->head_dim);
    GEODEC_MOVE(*out, r);
done:
    geodec_key_codes_release(r);
    return st;
}

geodec_status geodec__key_codes_read(geodec_key_codes_rows *r, const int32_t *token, int64_t n, geodec_err *err)
{
    if (n > r->window) n = r->window;
    if (n > r->capacity - r->n) n = r->capacity - r->n;
    n = n / GROUP * GROUP;
    if (n == 0) return GEODEC_OK;
    geodec_session_truncate(r->session, 0);
    GEODEC_PASS(geodec_forward_prefill(r->session, token, n, NULL, err));
    r->n += n;
    return GEODEC_OK;
}

geodec_status geodec_key_codes_capture(const geodec_model *m, const geodec_key_codes_texts *t,
                                       const geodec_key_codes_options *o, geodec_key_codes_rows **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_key_codes_rows *r = NULL;
    if (o->every < 1 || o->calibration < 1 || o->calibration > 1 << 24)
        GEODEC_THROW(GEODEC_RANGE, "calibration on %lld tokens of every %lld. document", (long long)o->calibration,
                     (long long)o->every);
    GEODEC_TRY(geodec__key_codes_begin(m, o, o->calibration, false, &r, err));
    for (int64_t d = 0; d < t->n && r->n < r->capacity; d += o->every) {
        GEODEC_TRY(geodec_hooks_progress(o->hooks, "calibration", r->n, r->capacity, err));
        GEODEC_TRY(geodec__key_codes_read(r, t->token + t->begin[d], t->begin[d + 1] - t->begin[d], err));
    }
    if (r->n < ROWS_MIN)
        GEODEC_THROW(GEODEC_SCARCE,
                     "the calibration documents have %lld rows in whole groups of %d; at least %d are needed",
                     (long long)r->n, GROUP, ROWS_MIN);
    GEODEC_MOVE(*out, r);
done:
    geodec_key_codes_release(r);
    return st;
}

void geodec_key_codes_release(geodec_key_codes_rows *r)
{
    if (!r) return;
    geodec_session_destroy(r->session);
    GEODEC_FREE(r->k[0], r->k[1], r->v, r->moment, r->query, r);
}

int64_t geodec_key_codes_captured(const geodec_key_codes_rows *r) { return r->n; }

/* ---- codes ------------------------------------------------------------------------------------------------------ */

/* The metric of a vector's keys: the queries' second moments, or, before the rotation, their energy in each pair. */
static void metric_of(const geodec_key_codes_rows *r, int64_t layer, int64_t vector, bool pre, double *metric)
{
    const geodec_model_config *c = geodec_model_configuration(r->model);
    const int64_t dim = r->dim, pairs = c->rope_dim / 2, size = c->head_dim;
    const double *moment = r->moment + (layer * r->vectors + vector) * dim * dim;
    const bool halves = c->rope_pairs == GEODEC_ROPE_HALVES;
    memcpy(metric, moment, (size_t)(dim * dim) * sizeof *metric);
    if (!pre) return;
    for (int64_t i = 0; i < dim; i++)
        for (int64_t j = 0; j < dim; j++)
            if (i != j) metric[i * dim + j] = 0;
    for (int64_t h = 0; h < r->heads; h++)
        for (int64_t p = 0; p < pairs; p++) {
            const int64_t a = h * size + (halves ? p : 2 * p), b = a + (halves ? pairs : 1);
            metric[a * dim + a] = metric[b * dim + b] = 0.5 * (metric[a * dim + a] + metric[b * dim + b]);
        }
}

void geodec__key_codes_pass(const geodec_codes *c, int64_t n, int64_t dim, float *x)
{
    uint8_t bytes[GEODEC_CODES_ROWS_MAX * GEODEC_CODES_DIM_MAX * 2];
    const int64_t rows = geodec_codes_rows(geodec_codes_kind_of(c));
    for (int64_t i = 0; i < n; i += rows) {
        geodec_err err = {0};
        geodec_codes_encode(c, x + i * dim, bytes);
        if (geodec_codes_decode(c, bytes, x + i * dim, &err) !=
            GEODEC_OK) /* impossible for own bytes; shows as error 1 */
            memset(x + i * dim, 0, (size_t)(rows * dim) * sizeof *x);
    }
}

static void rewrite(void *ctx, const geodec_rewrite_rows *rows)
{
    const geodec_key_codes_set *s = ctx;
    float x[GEODEC_CODES_ROWS_MAX * GEODEC_CODES_DIM_MAX];
    const int64_t group = s->rewrite.group, width = s->vectors * s->dim;
    for (int64_t first = 0; first < rows->n; first += group)
        for (int side = 0; side < 2; side++)
            for (int64_t v = 0; v < s->vectors; v++) {
                float *at = (side ? rows->v : rows->k) + first * width + v * s->dim;
                for (int64_t i = 0; i < group; i++) memcpy(x + i * s->dim, at + i * width, (size_t)s->dim * sizeof *x);
                geodec__key_codes_pass((side ? s->v : s->k)[rows->layer * s->vectors + v], group, s->dim, x);
                for (int64_t i = 0; i < group; i++) memcpy(at + i * width, x + i * s->dim, (size_t)s->dim * sizeof *x);
            }
}

geodec_status geodec_key_codes_fit(const geodec_key_codes_rows *r, const geodec_key_codes_case *c,
                                   geodec_key_codes_set **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_key_codes_set *s = NULL;
    double *metric = NULL;
    const geodec_codes_kind *values = c->kind->value ? geodec_codes_named(c->kind->value) : c->kind;
    GEODEC_NEW(s, 1);
    GEODEC_NEW(metric, r->dim * r->dim);
    s->which = *c;
    s->layers = r->layers;
    s->vectors = r->vectors;
    s->dim = r->dim;
    GEODEC_NEW_EACH(r->layers * r->vectors, s->k, s->v);
    for (int64_t l = 0; l < r->layers; l++)
        for (int64_t v = 0; v < r->vectors; v++) {
            const int64_t at = geodec__key_codes_at(r, l, v), i = l * r->vectors + v;
            metric_of(r, l, v, c->pre, metric);
            const geodec_codes_sample k = {r->n, r->k[c->pre] + at, c->query ? metric : NULL},
                                      x = {r->n, r->v + at, NULL};
            GEODEC_TRY_MSG(geodec_codes_create(c->kind, r->dim, &k, &s->k[i], err), "keys of layer %lld", (long long)l);
            GEODEC_TRY_MSG(geodec_codes_create(values, r->dim, &x, &s->v[i], err), "values of layer %lld",
                           (long long)l);
        }
    const int32_t a = geodec_codes_rows(c->kind), b = geodec_codes_rows(values);
    s->rewrite = (geodec_rewrite){.fn = rewrite, .ctx = s, .group = a > b ? a : b, .unrotated = c->pre};
    GEODEC_MOVE(*out, s);
done:
    geodec_key_codes_unfit(s);
    geodec_mem_free(metric);
    return st;
}

void geodec_key_codes_unfit(geodec_key_codes_set *s)
{
    if (!s) return;
    for (int64_t i = 0; i < s->layers * s->vectors; i++) {
        if (s->k) geodec_codes_destroy(s->k[i]);
        if (s->v) geodec_codes_destroy(s->v[i]);
    }
    GEODEC_FREE(s->k, s->v, s);
}

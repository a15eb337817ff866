#include "fisher/fisher_metric.h"

#include "base/mem.h"
#include "base/rng.h"
#include "fisher/kl_internal.h"
#include "linalg/blas.h"
#include "linalg/eig.h"
#include "linalg/stats.h"

#include <math.h>
#include <string.h>

static const double eigenvalue_floor = 1e-12;
static const int64_t batch_values = 8 << 20; /* logits and their tangents of a batch: 64 MiB */

/* Rows of the stream that are processed together: any states at the last boundary, elsewhere the text up to one state.
 * */
typedef struct batch {
    int64_t rows;    /* states of the batch */
    int64_t length;  /* rows of x */
    const double *x; /* [length][d] */
} batch;

typedef struct work {
    const geodec_reference *r; /* of the caller, then `own` */
    geodec_reference *own;     /* of the text that is open */
    const geodec_fisher_states *s;
    int64_t d, v;
    int32_t head; /* boundary of the logits */
    bool last;    /* rows are independent */
    int64_t open; /* state whose text is in `text`; -1 */
    double *text; /* [most positions + 1][d]: the text of state `open` at the boundary */
    int64_t most; /* largest position + 1 */
    double *copy; /* a second copy: geodec_reference_run does not work in place */
} work;

static geodec_status check_states(work *w, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_fisher_states *s = w->s;
    const geodec_model_config *c = geodec_model_configuration(geodec_reference_model(w->r));
    w->d = c->d_model;
    w->v = c->n_vocab;
    w->head = c->n_layer + 1;
    w->last = s->layer == c->n_layer;
    w->open = -1;
    if (s->layer < 0 || s->layer > c->n_layer)
        GEODEC_THROW(GEODEC_RANGE, "boundary %d; 0 to %d exist", s->layer, c->n_layer);
    if (s->count < 1) GEODEC_THROW(GEODEC_RANGE, "%lld states", (long long)s->count);
    for (int64_t i = 0; i < s->count * w->d; i++)
        if (!isfinite(s->state[i])) GEODEC_THROW(GEODEC_NUMERIC, "state %lld is not finite", (long long)(i / w->d));
    if (w->last) goto done;
    if (!s->token || !s->first || !s->position)
        GEODEC_THROW(GEODEC_RANGE, "boundary %d of %d needs the tokens before each state", s->layer, c->n_layer);
    for (int64_t i = 0; i < s->count; i++) {
        if (s->first[i] < 0 || s->position[i] < 0 || s->first[i] + s->position[i] >= s->tokens)
            GEODEC_THROW(GEODEC_RANGE, "state %lld has position %d of a text that begins at token %lld of %lld",
                         (long long)i, s->position[i], (long long)s->first[i], (long long)s->tokens);
        if (s->position[i] + 1 > w->most) w->most = s->position[i] + 1;
    }
    GEODEC_NEW_EACH(w->most * w->d, w->text, w->copy);
done:
    return st;
}

static void clear_work(work *w)
{
    geodec_reference_destroy(w->own);
    GEODEC_FREE(w->text, w->copy);
}

/* The text of state i at its boundary, its own row replaced by x [d]. Each text is computed up to the boundary once: a
 * text's states are contiguous, and a longer prefix serves the shorter ones. */
static geodec_status open_text(work *w, int64_t i, const double *x, batch *b, geodec_err *err)
{
    const geodec_fisher_states *s = w->s;
    const int64_t d = w->d, length = s->position[i] + 1;
    if (w->open < 0 || s->first[w->open] != s->first[i] || s->position[w->open] < s->position[i]) {
        int64_t far = i;
        for (int64_t j = i + 1; j < s->count && s->first[j] == s->first[i]; j++)
            if (s->position[j] > s->position[far]) far = j;
        const int64_t n = s->position[far] + 1;
        geodec_reference *own;
        GEODEC_PASS(geodec_reference_of_text(w->r, s->token + s->first[i], n, &own, err));
        geodec_reference_destroy(w->own);
        w->r = w->own = own;
        GEODEC_PASS(geodec_reference_embed(w->r, s->token + s->first[i], n, w->copy, err));
        GEODEC_PASS(geodec_reference_run(w->r, 0, s->layer, n, w->copy, NULL, w->text, err));
        w->open = far;
    }
    memcpy(w->copy, w->text, (size_t)(length * d) * sizeof *w->copy);
    memcpy(w->copy + (length - 1) * d, x, (size_t)d * sizeof *x);
    *b = (batch){1, length, w->copy};
    return GEODEC_OK;
}

static void softmax(int64_t v, double *p)
{
    double most = p[0], sum = 0;
    for (int64_t i = 1; i < v; i++) most = p[i] > most ? p[i] : most;
    for (int64_t i = 0; i < v; i++) sum += p[i] = exp(p[i] - most);
    for (int64_t i = 0; i < v; i++) p[i] /= sum;
}

/* Logits [rows][v] of a batch. */
static geodec_status logits_of(const work *w, const batch *b, double *logits, geodec_err *err)
{
    const int32_t own = (int32_t)(b->length - 1);
    const geodec_reference_rows rows = {1, &own};
    return geodec_reference_run(w->r, w->s->layer, w->head, b->length, b->x, w->last ? NULL : &rows, logits, err);
}

/* dy [k][rows][v] = J dx for dx [k][rows][d]. */
static geodec_status tangents_of(const work *w, const batch *b, int64_t k, const double *dx, double *dy,
                                 geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_reference_point *point = NULL;
    const int32_t own = (int32_t)(b->length - 1);
    const geodec_reference_rows rows = {1, &own};
    GEODEC_TRY(geodec_reference_linearise(w->r, w->s->layer, w->head, b->length, b->x, w->last ? 0 : own,
                                          w->last ? NULL : &rows, &point, err));
    GEODEC_TRY(geodec_reference_jvp(point, k, dx, dy, err));
done:
    geodec_reference_point_destroy(point);
    return st;
}

/* g [n][n] = sum_v p_v (y_v - m)(y_v - m)^T with m = sum_v p_v y_v; y [n] rows of v values, `stride` apart, row v read
 * at swap[v]. rows [n][v] is scratch. */
static void covariance(int64_t n, int64_t v, const double *p, const double *y, int64_t stride, const int32_t *swap,
                       double *rows, double *g)
{
    for (int64_t j = 0; j < n; j++) {
        const double *from = y + j * stride;
        double *to = rows + j * v, mean = 0;
        for (int64_t i = 0; i < v; i++) mean += p[i] * (to[i] = from[swap ? swap[i] : i]);
        for (int64_t i = 0; i < v; i++) to[i] = sqrt(p[i]) * (to[i] - mean);
    }
    geodec_blas_gemm(false, true, n, n, v, 1, rows, v, rows, v, 0, g, n);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = i + 1; j < n; j++) g[i * n + j] = g[j * n + i] = 0.5 * (g[i * n + j] + g[j * n + i]);
}

geodec_status geodec_fisher_metric(const geodec_reference *r, const geodec_fisher_states *s, int64_t n,
                                   const double *basis, const int32_t *swap, const geodec_hooks *hooks, double *g,
                                   double *control, double *entropy, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    work w = {.r = r, .s = s};
    double *p = NULL, *dx = NULL, *dy = NULL, *rows = NULL;
    GEODEC_TRY(check_states(&w, err));
    if (n < 1 || n > w.d)
        GEODEC_THROW(GEODEC_RANGE, "a chart of %lld dimensions of %lld", (long long)n, (long long)w.d);
    if ((swap != NULL) != (control != NULL)) GEODEC_THROW(GEODEC_INTERNAL, "a control needs a permutation");
    for (int64_t i = 0; swap && i < w.v; i++)
        if (swap[i] < 0 || swap[i] >= w.v) GEODEC_THROW(GEODEC_RANGE, "token %d of %lld", swap[i], (long long)w.v);
    int64_t most = w.last ? batch_values / (n * w.v) : 1;
    most = most < 1 ? 1 : most > s->count ? s->count : most;
    GEODEC_NEW(p, most * w.v);
    GEODEC_NEW(dx, n * most * w.d);
    GEODEC_NEW(dy, n * most * w.v);
    GEODEC_NEW(rows, n * w.v);
    for (int64_t first = 0; first < s->count;) {
        batch b = {s->count - first < most ? s->count - first : most, 0, s->state + first * w.d};
        b.length = b.rows;
        GEODEC_TRY(geodec_hooks_progress(hooks, "Fisher metric", first, s->count, err));
        if (!w.last) GEODEC_TRY(open_text(&w, first, s->state + first * w.d, &b, err));
        for (int64_t j = 0; j < n; j++)
            for (int64_t i = 0; i < b.rows; i++)
                memcpy(dx + (j * b.rows + i) * w.d, basis + j * w.d, (size_t)w.d * sizeof *dx);
        GEODEC_TRY_MSG(logits_of(&w, &b, p, err), "state %lld", (long long)first);
        GEODEC_TRY_MSG(tangents_of(&w, &b, n, dx, dy, err), "state %lld", (long long)first);
        for (int64_t i = 0; i < b.rows; i++) {
            double *q = p + i * w.v, h = 0;
            softmax(w.v, q);
            for (int64_t k = 0; entropy && k < w.v; k++) h -= q[k] > 0 ? q[k] * log(q[k]) : 0;
            if (entropy) entropy[first + i] = h;
            covariance(n, w.v, q, dy + i * w.v, b.rows * w.v, NULL, rows, g + (first + i) * n * n);
            if (swap) covariance(n, w.v, q, dy + i * w.v, b.rows * w.v, swap, rows, control + (first + i) * n * n);
        }
        first += b.rows;
    }
    for (int64_t i = 0; i < s->count * n * n; i++)
        if (!isfinite(g[i])) GEODEC_THROW(GEODEC_NUMERIC, "metric of state %lld", (long long)(i / (n * n)));
done:
    clear_work(&w);
    GEODEC_FREE(p, dx, dy, rows);
    return st;
}

void geodec_fisher_swap(int64_t n, uint64_t seed, int32_t *swap)
{
    geodec_rng r = geodec_rng_stream(seed, geodec_rng_id("fisher swap", 0));
    for (int64_t i = 0; i < n; i++) swap[i] = (int32_t)i;
    for (int64_t i = n - 1; i > 0; i--) {
        const int64_t j = (int64_t)geodec_rng_below(&r, (uint64_t)i + 1);
        const int32_t t = swap[i];
        swap[i] = swap[j];
        swap[j] = t;
    }
}

geodec_status geodec_fisher_regularise(int64_t count, int64_t n, double ridge, double *g, double *trace,
                                       double *condition, int32_t *floored, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    double *t = NULL, *value = NULL, *vector = NULL, scale;
    if (!(ridge >= 0) || !isfinite(ridge) || count < 1)
        GEODEC_THROW(GEODEC_RANGE, "ridge %g of %lld metrics", ridge, (long long)count);
    GEODEC_NEW(t, count);
    GEODEC_NEW(value, n);
    GEODEC_NEW(vector, n * n);
    for (int64_t p = 0; p < count; p++) {
        for (int64_t i = 0; i < n; i++) t[p] += g[(p * n + i) * n + i];
        if (!isfinite(t[p])) GEODEC_THROW(GEODEC_NUMERIC, "metric %lld is not finite", (long long)p);
    }
    GEODEC_TRY(geodec_stats_median(count, t, &scale, err));
    if (!(scale > 0))
        GEODEC_THROW(GEODEC_SCARCE, "the output does not vary at half of the states; its metric needs more");
    const double least = eigenvalue_floor * scale / (double)n;
    for (int64_t p = 0; p < count; p++) {
        double *m = g + p * n * n;
        int32_t lifted = 0;
        for (int64_t i = 0; i < n; i++) m[i * n + i] += ridge * t[p] / (double)n;
        GEODEC_TRY_MSG(geodec_eig_sym(n, m, value, vector, err), "metric %lld", (long long)p);
        for (int64_t i = 0; i < n; i++)
            if (!(value[i] >= least)) {
                value[i] = least;
                lifted++;
            }
        if (lifted > 0) geodec_eig_compose(n, value, vector, m);
        if (trace) trace[p] = t[p];
        if (condition) condition[p] = value[n - 1] / value[0];
        if (floored) floored[p] = lifted;
    }
done:
    GEODEC_FREE(t, value, vector);
    return st;
}

/* Half the variance of dy under p. */
static double half_variance(int64_t v, const double *p, const double *dy)
{
    double mean = 0, square = 0;
    for (int64_t i = 0; i < v; i++) mean += p[i] * dy[i];
    for (int64_t i = 0; i < v; i++) square += p[i] * (dy[i] - mean) * (dy[i] - mean);
    return 0.5 * square;
}

typedef struct divergences {
    int64_t pairs;
    const int64_t *of;
    const double *moved;
    double *kl, *form; /* form may be NULL */
} divergences;

static void one_pair(const work *w, double *p, const double *y, const double *dy, double *kl, double *form)
{
    softmax(w->v, p);
    *kl = fmax(geodec__kl(w->v, p, y), 0); /* rounding */
    if (form) *form = half_variance(w->v, p, dy);
}

/* At the last boundary a batch holds states, then moved states, as rows. Elsewhere it is one pair, a text at a time. */
static geodec_status all_pairs(work *w, const divergences *o, const geodec_hooks *hooks, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t d = w->d, v = w->v;
    int64_t most = w->last ? batch_values / (3 * v) : 1;
    double *x = NULL, *u = NULL, *y = NULL, *dy = NULL;
    most = most < 1 ? 1 : most > o->pairs ? o->pairs : most;
    GEODEC_NEW(x, 2 * most * d);
    GEODEC_NEW(u, most * d);
    GEODEC_NEW(y, 2 * most * v);
    GEODEC_NEW(dy, most * v);
    for (int64_t first = 0; first < o->pairs; first += most) {
        const int64_t m = o->pairs - first < most ? o->pairs - first : most;
        if (w->last || first % 16 == 0) GEODEC_TRY(geodec_hooks_progress(hooks, "divergence", first, o->pairs, err));
        for (int64_t j = 0; j < m; j++) {
            const double *from = w->s->state + o->of[first + j] * d, *to = o->moved + (first + j) * d;
            memcpy(x + j * d, from, (size_t)d * sizeof *x);
            memcpy(x + (m + j) * d, to, (size_t)d * sizeof *x);
            for (int64_t i = 0; i < d; i++) u[j * d + i] = to[i] - from[i];
        }
        batch own = {m, m, x}, moved = {m, m, x + m * d};
        if (!w->last) GEODEC_TRY(open_text(w, o->of[first], x, &own, err));
        const batch both = {2 * m, 2 * m, x};
        GEODEC_TRY(logits_of(w, w->last ? &both : &own, y, err));
        if (o->form) GEODEC_TRY(tangents_of(w, &own, 1, u, dy, err));
        if (!w->last) {
            GEODEC_TRY(open_text(w, o->of[first], x + d, &moved, err));
            GEODEC_TRY(logits_of(w, &moved, y + v, err));
        }
        for (int64_t j = 0; j < m; j++)
            one_pair(w, y + j * v, y + (m + j) * v, dy + j * v, o->kl + first + j,
                     o->form ? o->form + first + j : NULL);
    }
done:
    GEODEC_FREE(x, u, y, dy);
    return st;
}

geodec_status geodec_fisher_divergence(const geodec_reference *r, const geodec_fisher_states *s, int64_t pairs,
                                       const int64_t *of, const double *moved, const geodec_hooks *hooks, double *kl,
                                       double *form, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    work w = {.r = r, .s = s};
    const divergences o = {pairs, of, moved, kl, form};
    GEODEC_TRY(check_states(&w, err));
    for (int64_t j = 0; j < pairs; j++)
        if (of[j] < 0 || of[j] >= s->count)
            GEODEC_THROW(GEODEC_RANGE, "pair %lld of state %lld", (long long)j, (long long)of[j]);
    for (int64_t i = 0; i < pairs * w.d; i++)
        if (!isfinite(moved[i])) GEODEC_THROW(GEODEC_NUMERIC, "pair %lld is not finite", (long long)(i / w.d));
    GEODEC_TRY(all_pairs(&w, &o, hooks, err));
    for (int64_t j = 0; j < pairs; j++)
        if (!isfinite(kl[j]) || (form && !isfinite(form[j])))
            GEODEC_THROW(GEODEC_NUMERIC, "divergence of pair %lld", (long long)j);
done:
    clear_work(&w);
    return st;
}

#include "lab/divergence/measure.h"

#include "base/mem.h"
#include "base/rng.h"
#include "base/vec_internal.h"

#include <string.h>

enum { EXTRA = 6 }; /* kinds that are no metric of a file */

/* Samples the pairs: a seeded choice of points in their order, each with one of its neighbours. */
static geodec_status sample_pairs(geodec_divergence_work *w, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_metric *m = w->metric;
    GEODEC_NEW_EACH(w->pairs, w->from, w->to);
    geodec_rng r = geodec_rng_stream(w->seed, geodec_rng_id("divergence pairs", 0));
    if (w->pairs > m->points) w->pairs = m->points;
    for (int64_t i = 0, taken = 0; i < m->points && taken < w->pairs; i++) {
        if (geodec_rng_uniform(&r) * (double)(m->points - i) >= (double)(w->pairs - taken)) continue;
        w->from[taken] = i;
        w->to[taken++] = m->knn_index[i * m->k + (int64_t)geodec_rng_below(&r, (uint64_t)m->k)];
    }
done:
    return st;
}

/* The steps in the chart, [pairs][n]; w->explained: their share of the whole steps. */
static void steps(geodec_divergence_work *w, double *delta)
{
    double in = 0, all = 0;
    for (int64_t j = 0; j < w->pairs; j++) {
        const double *x = w->own.state + j * w->d, *y = w->next.state + j * w->d;
        for (int64_t a = 0; a < w->n; a++) {
            delta[j * w->n + a] = 0;
            for (int64_t i = 0; i < w->d; i++) delta[j * w->n + a] += w->basis[a * w->d + i] * (y[i] - x[i]);
            in += delta[j * w->n + a] * delta[j * w->n + a];
        }
        for (int64_t i = 0; i < w->d; i++) all += (y[i] - x[i]) * (y[i] - x[i]);
    }
    w->explained = all > 0 ? in / all : 1;
}

/* The true divergences and the quadratic forms of the whole stream, for moves within the chart and whole moves. */
static geodec_status truth(geodec_divergence_work *w, const geodec_model_states *s, const double *delta,
                           geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    double *moved = NULL;
    int64_t *of = NULL;
    GEODEC_NEW(of, w->pairs);
    GEODEC_NEW_COPY(moved, w->own.state, w->pairs * w->d);
    for (int64_t j = 0; j < w->pairs; j++) {
        of[j] = j;
        for (int64_t a = 0; a < w->n; a++)
            for (int64_t i = 0; i < w->d; i++) moved[j * w->d + i] += delta[j * w->n + a] * w->basis[a * w->d + i];
    }
    GEODEC_TRY(geodec_fisher_divergence(s->reference, &w->own.s, w->pairs, of, moved, w->hooks, w->kl, w->whole, err));
    GEODEC_TRY(geodec_fisher_divergence(s->reference, &w->own.s, w->pairs, of, w->next.state, w->hooks,
                                        w->kl + w->pairs, w->whole + w->pairs, err));
done:
    GEODEC_FREE(moved, of);
    return st;
}

/* d^T g d / 2 for g [pairs][n][n]; the same for both moves, since the chart holds no other part. */
static void lengths(const geodec_divergence_work *w, const double *g, const double *delta, double *out)
{
    for (int64_t j = 0; j < w->pairs; j++)
        out[j] = out[w->pairs + j] = 0.5 * geodec__norm2(w->n, g + j * w->n * w->n, delta + j * w->n);
}

static geodec_status predict(geodec_divergence_work *w, const geodec_model_states *s, const double *delta,
                             geodec_divergence *d, double *predicted, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_model_config *mc = geodec_model_configuration(s->model);
    const int64_t n = w->n, size = n * n;
    double *g = NULL, *shuffled = NULL, *other = NULL;
    int32_t *swap = NULL;
    GEODEC_NEW_EACH(w->pairs * size, g, shuffled, other);
    GEODEC_NEW(swap, mc->n_vocab);
    geodec_fisher_swap(mc->n_vocab, w->seed, swap);
    GEODEC_TRY(geodec_fisher_metric(s->reference, &w->own.s, n, w->basis, swap, w->hooks, g, shuffled, NULL, err));
    geodec_mem_free(swap);
    GEODEC_NEW(swap, w->pairs);
    geodec_fisher_swap(w->pairs, w->seed, swap);
#define NEXT(label) (d->name[d->kinds] = (label), predicted + 2 * w->pairs * d->kinds++)
    lengths(w, g, delta, NEXT("fisher"));
    for (int64_t j = 0; j < w->pairs; j++) {
        double trace = 0;
        for (int64_t a = 0; a < n; a++) trace += g[j * size + a * n + a];
        for (int64_t a = 0; a < size; a++) other[j * size + a] = a % (n + 1) == 0 ? trace / (double)n : 0;
    }
    d->control = d->kinds;
    lengths(w, other, delta, NEXT("trace"));
    for (int64_t j = 0; j < w->pairs; j++)
        for (int64_t a = 0; a < size; a++) other[j * size + a] = a % (n + 1) == 0;
    lengths(w, other, delta, NEXT("euclidean"));
    lengths(w, shuffled, delta, NEXT("shuffled_head"));
    for (int64_t j = 0; j < w->pairs; j++) memcpy(other + j * size, g + swap[j] * size, (size_t)size * sizeof *g);
    lengths(w, other, delta, NEXT("permuted"));
    memcpy(NEXT("whole"), w->whole, (size_t)(2 * w->pairs) * sizeof *predicted);
    for (int64_t k = 0; k < w->metrics; k++) {
        if (w->metric[k].kind == GEODEC_METRIC_FISHER) continue; /* fresh above, without ridge */
        for (int64_t j = 0; j < w->pairs; j++)
            GEODEC_TRY(geodec_metric_at_point(w->metric + k, w->from[j], other + j * size, err));
        lengths(w, other, delta, NEXT(geodec_metric_type_name(w->metric[k].kind)));
    }
#undef NEXT
done:
    GEODEC_FREE(g, shuffled, other, swap);
    return st;
}

geodec_status geodec_divergence_measure(geodec_divergence_work *w, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_model_states *s = w->states;
    double *delta = NULL;
    int32_t *own = NULL, *next = NULL, *text = NULL;
    GEODEC_TRY(sample_pairs(w, err));
    GEODEC_NEW_EACH(w->pairs, own, next, text);
    for (int64_t j = 0; j < w->pairs; j++) {
        own[j] = w->row[w->from[j]];
        next[j] = w->row[w->to[j]];
    }
    GEODEC_TRY(geodec_model_states_rows_read(s, w->layer, w->pairs, own, &w->own, err));
    GEODEC_TRY(geodec_model_states_rows_read(s, w->layer, w->pairs, next, &w->next, err));
    for (int64_t j = 0; j < w->pairs; j++) text[j] = s->text[own[j]];
    GEODEC_NEW(delta, w->pairs * w->n);
    GEODEC_NEW_EACH(2 * w->pairs, w->kl, w->whole);
    GEODEC_NEW(w->predicted, (EXTRA + w->metrics) * 2 * w->pairs);
    steps(w, delta);
    GEODEC_TRY(truth(w, s, delta, err));
    w->result.pairs = w->pairs;
    GEODEC_TRY(predict(w, s, delta, &w->result, w->predicted, err));
    w->result.kl = w->kl;
    w->result.predicted = w->predicted;
    GEODEC_TRY(geodec_divergence_compute(&w->result, text, w->replicates, w->seed, err));
done:
    GEODEC_FREE(delta, own, next, text);
    return st;
}

void geodec_divergence_work_clear(geodec_divergence_work *w)
{
    for (int64_t k = 0; k < GEODEC_DIVERGENCE_METRICS; k++) geodec_metric_clear(w->metric + k);
    geodec_model_states_rows_clear(&w->own);
    geodec_model_states_rows_clear(&w->next);
    GEODEC_FREE(w->row, w->basis, w->from, w->to, w->kl, w->whole, w->predicted);
    memset(w, 0, sizeof *w);
}

geodec_status geodec_divergence_measure_metrics(geodec_divergence_work *w, int n, char *const *paths,
                                                geodec_provenance *p, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_artifact *a = NULL;
    double *basis = NULL;
    for (w->metrics = 0; w->metrics < n; w->metrics++) {
        const char *path = paths[w->metrics];
        geodec_metric *m = w->metric + w->metrics;
        GEODEC_TRY(geodec_artifact_open(&geodec_metric_kind, path, &a, err));
        GEODEC_TRY(geodec_metric_read(a, m, err));
        int64_t d;
        GEODEC_TRY(geodec_artifact_dim(a, "d", &d, err));
        GEODEC_TRY(geodec_artifact_read(a, "/basis", &basis, err));
        if (w->metrics == 0) {
            w->n = m->n;
            w->d = d;
            w->basis = basis;
            basis = NULL;
            GEODEC_TRY(geodec_artifact_read(a, "/activation_row", &w->row, err));
            GEODEC_TRY(geodec_artifact_get_i64(a, "layer", &w->layer, err));
        } else if (m->n != w->n || m->points != w->metric[0].points || d != w->d ||
                   memcmp(basis, w->basis, (size_t)(d * w->n) * sizeof *basis) != 0 ||
                   memcmp(m->point, w->metric[0].point, (size_t)(m->points * m->n) * sizeof(double)) != 0)
            GEODEC_THROW(GEODEC_CHECKSUM, "%s is of another chart or other points than %s", path, paths[0]);
        geodec_mem_free(basis);
        basis = NULL;
        GEODEC_TRY(geodec_provenance_add_artifact(p, a, err));
        geodec_artifact_close(a);
        a = NULL;
    }
done:
    geodec_mem_free(basis);
    geodec_artifact_close(a);
    return st;
}

void geodec_divergence_measure_say(const geodec_hooks *hooks, const geodec_divergence_work *w)
{
    const geodec_divergence *d = &w->result;
    geodec_hooks_log(hooks, GEODEC_LOG_INFO,
                     "layer %lld, chart of %lld dimensions, %lld pairs; the chart holds %.1f %% of the squared step",
                     (long long)w->layer, (long long)w->n, (long long)d->pairs, 100 * w->explained);
    for (int64_t k = 0; k < d->kinds; k++)
        geodec_hooks_log(
            hooks, GEODEC_LOG_INFO,
            "%-13s rank correlation with KL: in the chart %.3f [%.3f, %.3f], whole state %.3f [%.3f, %.3f]; median "
            "KL / length %.3g",
            d->name[k], d->rank[k][0].value, d->rank[k][0].low, d->rank[k][0].high, d->rank[k][1].value,
            d->rank[k][1].low, d->rank[k][1].high, d->ratio[k][0]);
}

#include "geometry/atlas.h"

#include "base/extremes_internal.h"
#include "base/mem.h"
#include "base/vec_internal.h"
#include "geometry/geodesic.h"
#include "linalg/blas.h"
#include "linalg/chol.h"
#include "linalg/stats.h"

#include <math.h>
#include <string.h>

enum { MAX_N = GEODEC_QUADRATIC_MAX_N, CHARTS = 1000, NEWTON = 20, SLICE = 32 /* coordinates between two tests */ };

geodec_status geodec_atlas_init(geodec_atlas *a, int32_t n, int64_t points, int64_t d, const double *x,
                                const int32_t *text, int64_t neighbours, geodec_err *err)
{
    if (n < 1 || n > MAX_N || d < n)
        GEODEC_FAIL(GEODEC_RANGE, "dimension %d of a set in %lld dimensions; it must be 1 to %d", (int)n, (long long)d,
                    MAX_N);
    const int64_t least = GEODEC_QUADRATIC_COEFFICIENTS((int64_t)n);
    const int64_t k = neighbours > 0 ? neighbours : GEODEC_ATLAS_FACTOR * least;
    if (k <= least)
        GEODEC_FAIL(GEODEC_RANGE, "%lld neighbours for the %lld coefficients of a chart", (long long)k,
                    (long long)least);
    if (points <= k)
        GEODEC_FAIL(GEODEC_SCARCE, "%lld points; a chart of dimension %d has %lld neighbours", (long long)points,
                    (int)n, (long long)k);
    *a = (geodec_atlas){
        .n = n, .points = points, .d = d, .x = x, .text = text, .neighbours = k, .reach = 0.5, .rtol = 1e-6};
    a->edge = n * (n + 2.0) / ((n + 1.0) * (n + 3.0)) * exp(lgamma(0.5 * n) - lgamma(0.5 * (n + 1))) / sqrt(M_PI);
    return GEODEC_OK;
}

/* The nearest k + 1 points, ties by the lower number; a sum that is above all kept ones is left early. */
static int64_t nearest(const geodec_atlas *a, const double *place, int32_t leave, int64_t *index, double *near)
{
    const int64_t k = a->neighbours + 1, d = a->d;
    int64_t count = 0;
    for (int64_t i = 0; i < a->points; i++) {
        if (a->text && leave >= 0 && a->text[i] == leave) continue;
        const double *x = a->x + i * d;
        const double bound = count == k ? near[k - 1] : INFINITY;
        double sum = 0;
        for (int64_t j = 0; j < d && sum < bound; j += SLICE)
            sum += geodec__gap2(geodec__min(SLICE, d - j), x + j, place + j);
        if (sum < bound) geodec__keep_nearest(k, &count, near, index, sum, i);
    }
    return count;
}

/* Radius of the uniform ball of the tangent space that has the points' weighted mean of |t|^2, n / (n + 4) of its
 * square; and their mean in it. Normal parts of the points make the chart's radius larger. */
static void extent(const geodec_atlas *a, int64_t k, const double *y, const double *place, geodec_atlas_chart *c)
{
    const int64_t n = a->n, d = a->d;
    double mean[MAX_N] = {0}, square = 0, total = 0, t[MAX_N];
    for (int64_t i = 0; i < k; i++) {
        const double w = 1 - geodec__gap2(d, y + i * d, place) / (c->q.radius * c->q.radius);
        geodec_quadratic_coordinates(&c->q, y + i * d, t);
        for (int64_t j = 0; j < n; j++) mean[j] += w * t[j];
        square += w * geodec__dot(n, t, t);
        total += w;
    }
    c->extent = total > 0 ? fmin(c->q.radius, sqrt(square / total * (double)(n + 4) / (double)n)) : 0;
    c->offset = c->extent > 0 ? sqrt(geodec__dot(n, mean, mean)) / (total * c->extent) : INFINITY;
    c->inside = c->offset <= a->edge;
}

static geodec_status fit_at(const geodec_atlas *a, const double *place, int32_t leave, const double *start,
                            geodec_atlas_chart *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t k = a->neighbours, d = a->d;
    int64_t *index = NULL;
    double *near = NULL, *y = NULL;
    GEODEC_NEW(index, k + 1);
    GEODEC_NEW(near, k + 1);
    GEODEC_NEW(y, k * d);
    const int64_t count = nearest(a, place, leave, index, near);
    if (count <= k)
        GEODEC_THROW(GEODEC_SCARCE, "%lld points beside those left out; a chart has %lld neighbours", (long long)count,
                     (long long)k);
    for (int64_t i = 0; i < k; i++) memcpy(y + i * d, a->x + index[i] * d, (size_t)d * sizeof *y);
    c->nearest = index[0];
    if (!(near[k] > 0)) GEODEC_THROW(GEODEC_SCARCE, "%lld points are at one place", (long long)k + 1);
    GEODEC_TRY(geodec_quadratic_init(&c->q, a->n, d, err));
    GEODEC_TRY(geodec_quadratic_fit(&c->q, k, y, place, sqrt(near[k]), NULL, start, err));
    extent(a, k, y, place, c);
done:
    GEODEC_FREE(index, near, y);
    return st;
}

/* The second fundamental form of another place, its part normal to this one. */
static void exchange(const geodec_quadratic *from, geodec_quadratic *q)
{
    const int64_t d = q->d, pairs = q->pairs;
    memcpy(q->second, from->second, (size_t)(pairs * d) * sizeof *q->second);
    for (int64_t s = 0; s < pairs; s++) {
        double *out = q->second + s * d;
        for (int64_t a = 0; a < q->n; a++) {
            const double part = geodec__dot(d, q->tangent + a * d, out);
            for (int64_t j = 0; j < d; j++) out[j] -= part * q->tangent[a * d + j];
        }
    }
    /* less the bias of the products of that place */
    memcpy(q->product, from->product, (size_t)(pairs * pairs) * sizeof *q->product);
    geodec_blas_gemm(false, true, pairs, pairs, d, -1, from->second, d, from->second, d, 1, q->product, pairs);
    geodec_blas_gemm(false, true, pairs, pairs, d, 1, q->second, d, q->second, d, 1, q->product, pairs);
}

geodec_status geodec_atlas_chart_at(const geodec_atlas *a, const double *place, int32_t leave, const double *start,
                                    geodec_atlas_chart *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_atlas_chart there = {0};
    memset(c, 0, sizeof *c);
    GEODEC_TRY(fit_at(a, place, leave, start, c, err));
    if (a->other) {
        GEODEC_TRY(fit_at(a, a->x + a->other[c->nearest] * a->d, leave, NULL, &there, err));
        exchange(&there.q, &c->q);
    }
    geodec_quadratic_space_init(&c->space, &c->q);
done:
    geodec_atlas_chart_clear(&there);
    if (st != GEODEC_OK) geodec_atlas_chart_clear(c);
    return st;
}

geodec_status geodec_atlas_edge(geodec_atlas *a, int64_t sample, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    double *offset = NULL;
    int64_t count = 0;
    GEODEC_NEW(offset, sample);
    for (int64_t i = 0; i < sample; i++) {
        const int64_t p = i * a->points / sample;
        geodec_atlas_chart c;
        const geodec_status s =
            geodec_atlas_chart_at(a, a->x + p * a->d, a->text ? a->text[p] : GEODEC_ATLAS_NONE, NULL, &c, NULL);
        if (s != GEODEC_OK && s != GEODEC_SCARCE) GEODEC_THROW(s, "a chart");
        if (s != GEODEC_OK) continue;
        offset[count++] = c.offset;
        geodec_atlas_chart_clear(&c);
    }
    geodec_stats_sort(count, offset);
    if (count > 0) a->edge = fmax(a->edge, geodec_stats_percentile(count, offset, 0.95));
done:
    geodec_mem_free(offset);
    return st;
}

void geodec_atlas_chart_clear(geodec_atlas_chart *c)
{
    geodec_quadratic_clear(&c->q);
    memset(c, 0, sizeof *c);
}

/* J w [n] at t: <T_a + A_ab t_b, w>. */
static void pull(const geodec_quadratic *q, const double *t, const double *w, double *out)
{
    const int64_t n = q->n, d = q->d;
    memset(out, 0, (size_t)n * sizeof *out);
    int64_t s = 0;
    for (int64_t a = 0; a < n; a++) {
        out[a] += geodec__dot(d, q->tangent + a * d, w);
        for (int64_t b = a; b < n; b++, s++) {
            const double inner = geodec__dot(d, q->second + s * d, w);
            out[a] += inner * t[b];
            if (b != a) out[b] += inner * t[a];
        }
    }
}

geodec_status geodec_atlas_velocity(const geodec_atlas_chart *c, const double *t, const double *w, double *u,
                                    geodec_err *err)
{
    double g[MAX_N * MAX_N];
    GEODEC_PASS(c->space.base.at(&c->space.base, t, g, NULL, NULL, err));
    pull(&c->q, t, w, u);
    GEODEC_PASS(geodec_chol_factor(c->q.n, g, err));
    geodec_chol_solve(c->q.n, g, 1, u);
    return GEODEC_OK;
}

geodec_status geodec_atlas_project(const geodec_atlas_chart *c, const double *y, double *t, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t n = c->q.n, d = c->q.d;
    const double most = 0.5 * c->q.radius;
    double *gap = NULL, u[MAX_N];
    GEODEC_NEW(gap, d);
    geodec_quadratic_coordinates(&c->q, y, t);
    for (int round = 0; round < NEWTON; round++) {
        geodec_quadratic_point(&c->q, t, NULL, gap, NULL);
        for (int64_t j = 0; j < d; j++) gap[j] = y[j] - gap[j];
        GEODEC_TRY(geodec_atlas_velocity(c, t, gap, u, err));
        const double length = sqrt(geodec__dot(n, u, u)), share = length > most ? most / length : 1;
        for (int64_t a = 0; a < n; a++) t[a] += share * u[a];
        if (length < 1e-12 * c->q.radius) break;
    }
done:
    geodec_mem_free(gap);
    return st;
}

void geodec_atlas_arrival(const geodec_atlas_chart *c, const double *t0, const double *t, double *w)
{
    const int64_t n = c->q.n;
    double s[MAX_N], bend[MAX_N];
    for (int64_t a = 0; a < n; a++) s[a] = t[a] - t0[a];
    for (int64_t a = 0; a < n; a++) {
        bend[a] = 0;
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < n; j++)
                bend[a] += s[i] * s[j] * geodec__dot(n, c->space.product + ((i * n + j) * n + a) * n, s) / 6;
    }
    const double length = sqrt(geodec__dot(n, s, s)), longer = sqrt(geodec__dot(n, bend, bend));
    const double share = longer > 0.5 * length ? 0.5 * length / longer : 1;
    for (int64_t a = 0; a < n; a++) w[a] = s[a] + share * bend[a];
}

double geodec_atlas_certain(const geodec_atlas_chart *c, const double *w)
{
    const int64_t n = c->q.n, pairs = c->q.pairs;
    double m[MAX_N * (MAX_N + 1) / 2], *to = m, whole = 0;
    for (int64_t a = 0; a < n; a++)
        for (int64_t b = a; b < n; b++) *to++ = (a == b ? 1 : 2) * w[a] * w[b];
    for (int64_t j = 0; j < c->q.d; j++) {
        double sum = 0;
        for (int64_t s = 0; s < pairs; s++) sum += m[s] * c->q.second[s * c->q.d + j];
        whole += sum * sum; /* |A(w,w)|^2 with its error */
    }
    const double signal = geodec__norm2(pairs, c->q.product, m);
    return signal > 0 ? signal / fmax(signal, whole) : 0;
}

/* To a chart at the place of t with the velocity v: the place's coordinates there, and the velocity at its length. */
static geodec_status change(const geodec_atlas *a, const geodec_atlas_chart *from, int32_t leave,
                            geodec_atlas_chart *to, double *t, double *v, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t n = a->n, d = a->d;
    double *y = NULL, *w = NULL, g[MAX_N * MAX_N];
    GEODEC_NEW_EACH(d, y, w);
    geodec_quadratic_point(&from->q, t, v, y, w);
    const double speed = sqrt(geodec__dot(d, w, w));
    GEODEC_TRY(geodec_atlas_chart_at(a, y, leave, from->q.tangent, to, err));
    GEODEC_TRY(geodec_atlas_project(to, y, t, err));
    GEODEC_TRY(geodec_atlas_velocity(to, t, w, v, err));
    GEODEC_TRY(to->space.base.at(&to->space.base, t, g, NULL, NULL, err));
    const double now = sqrt(geodec__norm2(n, g, v));
    if (!(now > 0) && speed > 0) GEODEC_THROW(GEODEC_NUMERIC, "the velocity is normal to the chart");
    for (int64_t i = 0; speed > 0 && i < n; i++) v[i] *= speed / now;
done:
    GEODEC_FREE(y, w);
    return st;
}

geodec_status geodec_atlas_exp(const geodec_atlas *a, const geodec_atlas_chart *c, int32_t leave, const double *t0,
                               const double *v0, int64_t count, const double *at, double *y, double *w,
                               geodec_atlas_report *report, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t n = a->n, d = a->d;
    geodec_atlas_chart own[2] = {0};
    const geodec_atlas_chart *now = c;
    double t[MAX_N], v[MAX_N], to[MAX_N], velocity[MAX_N], *scratch = NULL, done_at = 0;
    *report = (geodec_atlas_report){.end = GEODEC_ATLAS_REACHED};
    GEODEC_NEW(scratch, d);
    memcpy(t, t0, (size_t)n * sizeof *t);
    memcpy(v, v0, (size_t)n * sizeof *v);
    while (report->good < count && report->end == GEODEC_ATLAS_REACHED) {
        const double reach = a->reach * now->extent, speed = sqrt(geodec__dot(n, v, v));
        const double rest = at[report->good] - done_at;
        const bool output = !(rest * speed > reach);
        const double part = output ? rest : reach / speed;
        int64_t reached = 1;
        if (part > 0) {
            const geodec_status g =
                geodec_geodesic_at(&now->space.base, a->rtol, t, v, 1, &part, to, velocity, &reached, NULL);
            if (g != GEODEC_OK && g != GEODEC_NUMERIC && g != GEODEC_SINGULAR) GEODEC_THROW(g, "a geodesic on a chart");
            if (g != GEODEC_OK || reached < 1) {
                report->end = GEODEC_ATLAS_BROKEN;
                break;
            }
            memcpy(t, to, (size_t)n * sizeof *t);
            memcpy(v, velocity, (size_t)n * sizeof *v);
            done_at = output ? at[report->good] : done_at + part;
        }
        if (output) {
            geodec_quadratic_point(&now->q, t, v, y + report->good * d, w ? w + report->good * d : scratch);
            report->good++;
            if (!(geodec__dot(n, t, t) > reach * reach)) continue;
        }
        if (report->good == count) break;
        geodec_atlas_chart *next = own + (now == own);
        geodec_atlas_chart_clear(next);
        const geodec_status g = ++report->charts > CHARTS ? GEODEC_NUMERIC : change(a, now, leave, next, t, v, NULL);
        if (g == GEODEC_NUMERIC || g == GEODEC_SCARCE || g == GEODEC_SINGULAR)
            report->end = GEODEC_ATLAS_BROKEN;
        else if (g != GEODEC_OK)
            GEODEC_THROW(g, "a chart of a geodesic");
        else if (!next->inside)
            report->end = GEODEC_ATLAS_LEFT;
        now = next;
    }
done:
    for (int i = 0; i < 2; i++) geodec_atlas_chart_clear(own + i);
    geodec_mem_free(scratch);
    return st;
}

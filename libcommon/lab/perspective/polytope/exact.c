/* Goldfarb and Idnani, Math. Programming 27 (1983) 1, for the Hessian 1: x = x_0 - sum_j y_j n_j with y >= 0 is the
 * nearest point of the half-spaces of the active set. The most violated half-space is added; half-spaces whose y would
 * become negative on the way are dropped. The distance rises with each step, so no set comes twice. */
#include "lab/perspective/polytope/polytope_internal.h"

#include "base/mem.h"
#include "base/vec_internal.h"
#include "linalg/chol.h"

#include <math.h>

typedef struct state {
    const geodec_polytope *p;
    double *x, *z; /* [d]: the point, a direction */
    int64_t n;     /* active, at most min(d, m) */
    int64_t *set;  /* [n] */
    double *y;     /* [n] */
    double *gram;  /* [n][n] scratch */
    double *c;     /* [n] scratch */
} state;

static const double *normal(const state *s, int64_t j) { return s->p->normal + j * s->p->d; }

/* The most violated half-space; -1 when none is, beyond rounding. */
static int64_t worst(const state *s, double tolerance, double *violation)
{
    int64_t at = -1;
    *violation = tolerance;
    for (int64_t j = 0; j < s->p->m; j++) {
        const double v = geodec__dot(s->p->d, normal(s, j), s->x) - s->p->bound[j];
        bool active = false;
        for (int64_t k = 0; k < s->n; k++) active |= s->set[k] == j;
        if (active || v <= *violation) continue; /* an active one is violated by rounding only */
        *violation = v;
        at = j;
    }
    return at;
}

/* z = n_j less its part in the span of the active normals, which is sum_k c_k n_k. Returns |z|^2. */
static geodec_status split(state *s, int64_t j, double *square, geodec_err *err)
{
    const int64_t d = s->p->d;
    for (int64_t a = 0; a < s->n; a++) {
        for (int64_t b = 0; b < s->n; b++)
            s->gram[a * s->n + b] = geodec__dot(d, normal(s, s->set[a]), normal(s, s->set[b]));
        s->c[a] = geodec__dot(d, normal(s, s->set[a]), normal(s, j));
    }
    if (s->n) {
        GEODEC_PASS_MSG(geodec_chol_factor(s->n, s->gram, err), "%lld active half-spaces", (long long)s->n);
        geodec_chol_solve(s->n, s->gram, 1, s->c);
    }
    for (int64_t i = 0; i < d; i++) {
        s->z[i] = normal(s, j)[i];
        for (int64_t a = 0; a < s->n; a++) s->z[i] -= s->c[a] * normal(s, s->set[a])[i];
    }
    *square = geodec__dot(d, s->z, s->z);
    return GEODEC_OK;
}

static void drop(state *s, int64_t at)
{
    s->n--;
    for (int64_t k = at; k < s->n; k++) {
        s->set[k] = s->set[k + 1];
        s->y[k] = s->y[k + 1];
    }
}

/* Adds half-space j; *own: its multiplier so far. True when it is active, false when another one was dropped. */
static geodec_status add(state *s, int64_t j, double *own, bool *added, geodec_err *err)
{
    double square = 0;
    GEODEC_PASS(split(s, j, &square, err));
    const double v = geodec__dot(s->p->d, normal(s, j), s->x) - s->p->bound[j];
    const bool independent = square > 1e-13 && s->n < s->p->d;
    double t = independent ? v / square : INFINITY;
    int64_t stop = -1;
    for (int64_t a = 0; a < s->n; a++) {
        if (s->c[a] <= 0 || s->y[a] >= t * s->c[a]) continue;
        t = s->y[a] / s->c[a];
        stop = a;
    }
    if (!isfinite(t)) GEODEC_FAIL(GEODEC_NOCONV, "the half-spaces have no point in common");
    for (int64_t i = 0; independent && i < s->p->d; i++) s->x[i] -= t * s->z[i];
    for (int64_t a = 0; a < s->n; a++) s->y[a] -= t * s->c[a];
    *own += t;
    *added = stop < 0;
    if (stop >= 0) {
        drop(s, stop);
        return GEODEC_OK;
    }
    s->set[s->n] = j;
    s->y[s->n++] = *own;
    return GEODEC_OK;
}

/* Steps accumulate rounding; x is made anew from the active set: x_0 - sum_k y_k n_k with y = G^-1 (N x_0 - b). */
static geodec_status polish(state *s, const double *start, geodec_err *err)
{
    const int64_t d = s->p->d;
    for (int64_t a = 0; a < s->n; a++) {
        for (int64_t b = 0; b < s->n; b++)
            s->gram[a * s->n + b] = geodec__dot(d, normal(s, s->set[a]), normal(s, s->set[b]));
        s->c[a] = geodec__dot(d, normal(s, s->set[a]), start) - s->p->bound[s->set[a]];
    }
    if (s->n) GEODEC_PASS(geodec_chol_factor(s->n, s->gram, err));
    if (s->n) geodec_chol_solve(s->n, s->gram, 1, s->c);
    for (int64_t i = 0; i < d; i++) {
        s->x[i] = start[i];
        for (int64_t a = 0; a < s->n; a++) s->x[i] -= s->c[a] * normal(s, s->set[a])[i];
    }
    return GEODEC_OK;
}

geodec_status geodec__polytope_exact(const geodec_polytope *p, int64_t most, double *x, geodec_polytope_report *report,
                                     geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    state s = {.p = p, .x = x};
    double *start = NULL, v;
    const int64_t most_active = p->d < p->m ? p->d : p->m;
    const double tolerance = 1e-12 * fmax(1, fmax(geodec__largest(p->d, x), geodec__largest(p->m, p->bound)));
    GEODEC_NEW_COPY(start, x, p->d);
    GEODEC_NEW(s.z, p->d);
    GEODEC_NEW_EACH(most_active, s.set, s.y, s.c);
    GEODEC_NEW(s.gram, most_active * most_active);
    for (int64_t j = worst(&s, tolerance, &v); j >= 0; j = worst(&s, tolerance, &v)) {
        double own = 0;
        for (bool added = false; !added; report->sweeps++) {
            if (report->sweeps >= 100 * most)
                GEODEC_THROW(GEODEC_NOCONV, "%lld half-spaces added and dropped", (long long)report->sweeps);
            GEODEC_TRY(add(&s, j, &own, &added, err));
        }
    }
    GEODEC_TRY(polish(&s, start, err));
    report->active = s.n;
done:
    GEODEC_FREE(start, s.z, s.set, s.y, s.c, s.gram);
    return st;
}

#include "base/mem.h"
#include "geometry/geodesic.h"
#include "geometry/space_closed.h"

#include <gsl/gsl_errno.h>
#include <gsl/gsl_odeiv2.h>
#include <math.h>
#include <string.h>

enum { STEPS_PER_OUTPUT = 20000 }; /* a path that needs more has reached a singularity of the metric */

typedef struct problem {
    const geodec_space *s;
    double *gamma;        /* [n][n][n] */
    geodec_status failed; /* of the space, when the reason is not the path itself */
} problem;

/* y = (x, v), y' = (v, -Gamma(v, v)). */
static int right_side(double t, const double y[], double dydt[], void *params)
{
    (void)t;
    problem *p = params;
    const int64_t n = p->s->n;
    const geodec_status st = p->s->at(p->s, y, NULL, NULL, p->gamma, NULL);
    if (st != GEODEC_OK && st != GEODEC_NUMERIC) p->failed = st;
    if (st != GEODEC_OK) return GSL_EBADFUNC;
    memcpy(dydt, y + n, (size_t)n * sizeof *dydt);
    geodec_geodesic_accel(n, p->gamma, y + n, dydt + n);
    for (int64_t i = 0; i < 2 * n; i++)
        if (!isfinite(dydt[i])) return GSL_EBADFUNC;
    return GSL_SUCCESS;
}

geodec_status geodec_geodesic_at(const geodec_space *s, double rtol, const double *x0, const double *v0, int64_t n_out,
                                 const double *t, double *xs, double *vs, int64_t *reached, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    gsl_odeiv2_driver *driver = NULL;
    gsl_odeiv2_system system;
    problem p = {.s = s};
    const int64_t n = s->n;
    double y[2 * GEODEC_SPACE_DIM_MAX], scale[2 * GEODEC_SPACE_DIM_MAX], speed = 0, now = 0;
    int64_t count = 0;
    if (n < 1 || n > GEODEC_SPACE_DIM_MAX)
        GEODEC_THROW(GEODEC_RANGE, "dimension %lld is outside 1..%d", (long long)n, GEODEC_SPACE_DIM_MAX);
    GEODEC_NEW(p.gamma, n * n * n);
    memcpy(y, x0, (size_t)n * sizeof *y);
    memcpy(y + n, v0, (size_t)n * sizeof *y);
    for (int64_t i = 0; i < n; i++) speed = fmax(speed, fabs(v0[i]));
    const double span = n_out > 0 ? t[n_out - 1] : 0;
    if (speed > 0 && span > 0) {
        /* Errors are measured against the path's own length, so that moving the origin changes nothing. */
        for (int64_t i = 0; i < n; i++) {
            scale[i] = speed * span;
            scale[n + i] = speed;
        }
        system = (gsl_odeiv2_system){.function = right_side, .dimension = (size_t)(2 * n), .params = &p};
        driver = gsl_odeiv2_driver_alloc_scaled_new(&system, gsl_odeiv2_step_rk8pd, span / 16, rtol, 0, 1, 0, scale);
        if (!driver) GEODEC_THROW(GEODEC_NOMEM, "no memory for the integrator");
        (void)gsl_odeiv2_driver_set_nmax(driver, STEPS_PER_OUTPUT);
    } /* else: a point at rest stays */
    for (; count < n_out; count++) {
        if (driver && t[count] > now && gsl_odeiv2_driver_apply(driver, &now, t[count], y) != GSL_SUCCESS) break;
        memcpy(xs + count * n, y, (size_t)n * sizeof *xs);
        memcpy(vs + count * n, y + n, (size_t)n * sizeof *vs);
    }
    if (p.failed != GEODEC_OK) GEODEC_THROW(p.failed, "%s", geodec_status_text(p.failed));
    *reached = count;
done:
    if (driver) gsl_odeiv2_driver_free(driver);
    geodec_mem_free(p.gamma);
    return st;
}

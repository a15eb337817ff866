#include "base/mem.h"
#include "geometry/space_closed.h"
#include "io/foreign.h"
#include "lab/validity/published.h"

#include <math.h>
#include <string.h>

void geodec_validity_published_draws_clear(geodec_validity_published_draws *d)
{
    GEODEC_FREE(d->point, d->g, d->gamma, d->x0, d->v0, d->delta0, d->eps, d->tau, d->index);
    geodec_harness_manifold_clear(&d->m);
    memset(d, 0, sizeof *d);
}

static geodec_status read_draws(const char *path, geodec_validity_published_draws *d, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int64_t shape[GEODEC_FOREIGN_RANK_MAX] = {-1, -1};
    double steps_read, sigma = GEODEC_PUBLISHED_SPHERE_SIGMA;
    st = geodec_foreign_read(path, "/validity/sample_points", 2, shape, NULL, &d->point, err);
    d->sphere = st == GEODEC_NOTFOUND;
    if (d->sphere)
        GEODEC_TRY(geodec_foreign_read(path, "/points", 2, shape, NULL, &d->point, err));
    else
        GEODEC_TRY(st);
    const int64_t samples = shape[0], n = shape[1];
    shape[2] = shape[3] = n, shape[1] = n;
    GEODEC_TRY(geodec_foreign_read(path, d->sphere ? "/g" : "/validity/g_field", 3, shape, NULL, &d->g, err));
    GEODEC_TRY(geodec_foreign_read(path, d->sphere ? "/gamma_fd" : "/validity/gamma", 4, shape, NULL, &d->gamma, err));
    if (!d->sphere) GEODEC_TRY(geodec_foreign_attr(path, "/", "sigma", &sigma, err));
    GEODEC_TRY(geodec_harness_manifold_table(samples, n, d->point, d->g, d->gamma, sigma, &d->m, err));
    geodec_published_perturbations *p = &d->p;
    shape[0] = shape[1] = shape[2] = -1, shape[3] = n;
    GEODEC_TRY(geodec_foreign_read(path, "/validity/delta0", 4, shape, NULL, &d->delta0, err));
    p->starts = shape[0], p->n_eps = shape[1], p->perturbations = shape[2];
    GEODEC_TRY(geodec_foreign_read_i64(path, "/validity/seed_index", 1, (int64_t[]){p->starts}, 0, samples - 1,
                                       &d->index, err));
    GEODEC_TRY(geodec_foreign_read(path, "/validity/v0", 2, (int64_t[]){p->starts, n}, NULL, &d->v0, err));
    GEODEC_TRY(geodec_foreign_read(path, "/validity/eps", 1, (int64_t[]){p->n_eps}, NULL, &d->eps, err));
    shape[0] = -1;
    GEODEC_TRY(geodec_foreign_read(path, "/validity/tau", 1, shape, NULL, &d->tau, err));
    p->n_tau = shape[0];
    GEODEC_TRY(geodec_foreign_attr(path, "/validity", "T", &steps_read, err));
    GEODEC_TRY(geodec_foreign_attr(path, "/validity", "dl", &p->dl, err));
    if (!(steps_read >= 1 && steps_read <= 100000)) GEODEC_THROW(GEODEC_RANGE, "%s: %g steps", path, steps_read);
    p->steps = (int64_t)steps_read;
    GEODEC_NEW(d->x0, p->starts * n);
    for (int64_t i = 0; i < p->starts; i++)
        memcpy(d->x0 + i * n, d->point + d->index[i] * n, (size_t)n * sizeof *d->x0);
    p->x0 = d->x0, p->v0 = d->v0, p->delta0 = d->delta0, p->eps = d->eps, p->tau = d->tau;
done:
    return st;
}

geodec_status geodec_validity_published_draws_read(const char *path, geodec_validity_published_draws *out,
                                                   geodec_err *err)
{
    *out = (geodec_validity_published_draws){.path = path};
    const geodec_status st = read_draws(path, out, err); /* in place: the manifold stays where it is */
    if (st != GEODEC_OK) geodec_validity_published_draws_clear(out);
    return st;
}

geodec_status geodec_validity_published_sphere(geodec_validity_published_draws *d, int64_t bootstrap, uint64_t seed,
                                               geodec_pool *pool, const geodec_hooks *hooks,
                                               geodec_validity_published *rule, geodec_validity *correct,
                                               geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t n = d->m.n;
    const geodec_published_perturbations *p = &d->p;
    geodec_space_conformal sphere;
    geodec_validity_options o = geodec_validity_defaults();
    GEODEC_TRY(geodec_space_conformal_init(&sphere, (int32_t)n, 1, err));
    if (p->n_tau != GEODEC_VALIDITY_TAUS || p->n_eps > GEODEC_VALIDITY_EPS_MAX)
        GEODEC_THROW(GEODEC_LIMIT, "%s: %lld tolerances, %lld lengths", d->path, (long long)p->n_tau,
                     (long long)p->n_eps);
    for (int64_t i = 0; i < p->starts; i++) {
        double square = 0, length = 0;
        for (int64_t k = 0; k < n; k++) {
            square += d->x0[i * n + k] * d->x0[i * n + k];
            length += d->v0[i * n + k] * d->v0[i * n + k];
        }
        length = sqrt(length) * 2 / (1 + square);
        if (!(length > 0)) GEODEC_THROW(GEODEC_NUMERIC, "%s: velocity %lld is zero", d->path, (long long)i);
        for (int64_t k = 0; k < n; k++) d->v0[i * n + k] /= length;
    }
    GEODEC_TRY(geodec_validity_published_control(&sphere.base, p, pool, hooks, rule, err));
    o.path.steps = p->steps;
    o.path.dl = p->dl;
    o.perturbations = p->perturbations;
    o.n_eps = p->n_eps;
    o.bootstrap = bootstrap;
    memcpy(o.eps, p->eps, (size_t)p->n_eps * sizeof *o.eps);
    memcpy(o.tau, p->tau, sizeof o.tau);
    GEODEC_TRY(
        geodec_validity_run(&sphere.base, &o, pool, hooks, p->starts, p->x0, p->v0, p->delta0, seed, correct, err));
done:
    return st;
}

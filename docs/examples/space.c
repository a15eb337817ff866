/* A space in closed form, a field through given matrices, and a space of our own. */
#include <geodec/space.h>

#include <math.h>
#include <stdio.h>

/* The plane with g = e^(2 x0) I. */
static geodec_status at(const geodec_space *s, const double *x, double *g, double *dg, double *gamma, geodec_err *err)
{
    const double e = exp(2 * x[0]);
    const double metric[4] = {e, 0, 0, e}, derivative[8] = {2 * e, 0, 0, 2 * e, 0, 0, 0, 0};
    for (int i = 0; g && i < 4; i++) g[i] = metric[i];
    for (int i = 0; dg && i < 8; i++) dg[i] = derivative[i];
    return gamma ? geodec_space_christoffel(s->n, metric, derivative, gamma, err) : GEODEC_OK;
}

int main(void)
{
    geodec_err err = {0};
    const double x[2] = {0.3, 0.1};
    double g[4], gamma[8];
    geodec_space_conformal sphere;
    if (geodec_space_conformal_init(&sphere, 2, 1, &err) != GEODEC_OK) return 1;
    if (sphere.base.at(&sphere.base, x, g, NULL, gamma, &err) != GEODEC_OK) return 1;
    printf("unit sphere: g = %.6f I, Gamma^0_00 = %.6f\n", g[0], gamma[0]);

    /* log g = 0 at the first site and diag(1, 0) at the second; half-way it is their mean. */
    const double site[4] = {0, 0, 1, 0}, log_g[6] = {0, 0, 0, 1, 0, 0}, middle[2] = {0.5, 0};
    geodec_rbf *field = NULL;
    if (geodec_rbf_create(2, 2, site, log_g, 0.5, &field, &err) != GEODEC_OK) return 1;
    const geodec_space *f = geodec_rbf_space(field);
    if (f->at(f, middle, g, NULL, NULL, &err) != GEODEC_OK) return 1;
    printf("field: g_00 = %.6f, e^(1/2) = %.6f\n", g[0], exp(0.5));
    geodec_rbf_destroy(field);

    const geodec_space own = {.n = 2, .name = "own", .at = at, .fd_step = 1e-3};
    if (own.at(&own, x, g, NULL, gamma, &err) != GEODEC_OK) return 1;
    printf("own: g = %.6f I, Gamma^0_00 = %.6f\n", g[0], gamma[0]);
    return 0;
}

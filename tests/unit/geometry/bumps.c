#include "geometry/bumps.h"

#include "base/rng.h"

#include <math.h>
#include <string.h>

enum { N = BUMPS_N };

static geodec_status bumps_at(const geodec_space *s, const double *x, double *g_out, double *dg_out, double *gamma,
                              geodec_err *err)
{
    const bumps *b = (const bumps *)s;
    double g[N * N] = {0}, dg[N * N * N] = {0};
    for (int i = 0; i < N; i++) g[i * N + i] = 0.5;
    for (int m = 0; m < BUMPS_COUNT; m++) {
        double r2 = 0;
        for (int i = 0; i < N; i++) r2 += (x[i] - b->c[m][i]) * (x[i] - b->c[m][i]);
        for (int i = 0; i < N; i++) {
            for (int j = 0; j < N; j++) {
                const double w = exp(-r2) * b->q[m][i] * b->q[m][j];
                g[i * N + j] += w;
                for (int a = 0; a < N; a++) dg[(a * N + i) * N + j] -= 2 * (x[a] - b->c[m][a]) * w;
            }
        }
    }
    if (g_out) memcpy(g_out, g, sizeof g);
    if (dg_out) memcpy(dg_out, dg, sizeof dg);
    if (!gamma) return GEODEC_OK;
    const geodec_status st = geodec_space_christoffel(N, g, dg, gamma, err);
    gamma[1] += b->spoil * x[0];
    return st;
}

bumps bumps_make(uint64_t seed)
{
    bumps b = {.base = {.n = N, .name = "bumps", .at = bumps_at, .fd_step = 1e-4}};
    geodec_rng r = geodec_rng_stream(seed, geodec_rng_id("bumps", 0));
    for (int m = 0; m < BUMPS_COUNT; m++)
        for (int i = 0; i < N; i++) b.c[m][i] = geodec_rng_normal(&r) * 0.5, b.q[m][i] = geodec_rng_normal(&r);
    return b;
}

#include "base/extremes_internal.h"
#include "base/mem.h"
#include "base/rng.h"
#include "chain/cloud_internal.h"

#include <math.h>
#include <string.h>

geodec_status geodec__cloud_twonn(const geodec__cloud_run *b, int64_t d, const double *x, const char *stream,
                                  geodec_twonn *const out[GEODEC_CLOUD_SUBSETS], geodec_err *err)
{
    geodec_twonn_options o = geodec_twonn_defaults();
    o.seed = b->o->seed;
    for (int t = 0; t < GEODEC_CLOUD_SUBSETS; t++) {
        const int64_t n = geodec__min(b->size[t], b->o->twonn_points);
        o.stream = geodec_rng_id(stream, (uint64_t)t);
        const geodec_status st = geodec_twonn_estimate(n, d, x, &o, b->pool, b->hooks, out[t], err);
        if (st != GEODEC_SCARCE) GEODEC_PASS(st);
        if (st == GEODEC_SCARCE) geodec_err_clear(err); /* not measured: NaN, and the counts */
    }
    return GEODEC_OK;
}

void geodec__cloud_gaussian(int64_t n, int64_t d, const double *eigenvalue, uint64_t seed, uint64_t stream, double *x)
{
    geodec_rng r = geodec_rng_stream(seed, stream);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < d; j++) x[i * d + j] = sqrt(eigenvalue[j]) * geodec_rng_normal(&r);
}

/* TwoNN of Gaussian noise with the first d eigenvalues. */
static geodec_status noise_twonn(const geodec__cloud_run *b, int64_t d, const double *eigenvalue,
                                 geodec_twonn *const out[GEODEC_CLOUD_SUBSETS], geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    double *x = NULL;
    const int64_t top = geodec__min(b->points, b->o->twonn_points);
    GEODEC_NEW(x, top * d);
    geodec__cloud_gaussian(top, d, eigenvalue, b->o->seed, geodec_rng_id("cloud-control", 0), x);
    GEODEC_TRY(geodec__cloud_twonn(b, d, x, "cloud-control-twonn", out, err));
done:
    geodec_mem_free(x);
    return st;
}

geodec_status geodec__cloud_control(const geodec__cloud_run *b, const geodec_pca *pca,
                                    geodec_cloud_subset subset[GEODEC_CLOUD_SUBSETS], geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    double *x = NULL, *value = NULL;
    geodec_twonn *given[GEODEC_CLOUD_SUBSETS], *kept[GEODEC_CLOUD_SUBSETS];
    int64_t live = pca->values; /* directions without variance add nothing */
    while (live > 1 && !(pca->eigenvalue[live - 1] > 0)) live--;
    for (int t = 0; t < GEODEC_CLOUD_SUBSETS; t++) {
        given[t] = &subset[t].twonn;
        kept[t] = &subset[t].kept;
    }
    GEODEC_TRY(noise_twonn(b, live, pca->eigenvalue, given, err));
    GEODEC_TRY(noise_twonn(b, geodec__min(pca->k, live), pca->eigenvalue, kept, err));
    const int64_t most = geodec__min(b->points, b->o->control_points);
    GEODEC_NEW(x, most * live);
    GEODEC_NEW(value, live);
    geodec__cloud_gaussian(most, live, pca->eigenvalue, b->o->seed, geodec_rng_id("cloud-control", 1), x);
    for (int t = 0; t < GEODEC_CLOUD_SUBSETS; t++) {
        subset[t].points = geodec__min(b->size[t], most);
        GEODEC_TRY(geodec_hooks_progress(b->hooks, "control", t, GEODEC_CLOUD_SUBSETS, err));
        GEODEC_TRY(geodec_pca_spectrum_rows(subset[t].points, live, x, b->pool, value, err));
        subset[t].components = geodec_pca_pick(geodec__min(subset[t].points - 1, live), value, b->o->variance);
    }
done:
    GEODEC_FREE(x, value);
    return st;
}

#include "base/extremes_internal.h"
#include "base/mem.h"
#include "base/rng.h"
#include "chain/cloud_internal.h"

#include <math.h>
#include <string.h>

/* The status of an estimate that need not exist: not measured is NaN, and the counts. */
static geodec_status accept(geodec_status st, geodec_err *err)
{
    if (st == GEODEC_SCARCE) {
        geodec_err_clear(err);
        return GEODEC_OK;
    }
    return st;
}

geodec_status geodec__cloud_window(geodec__cloud_run *b, int64_t n, int64_t d, const double *x, const int32_t *text,
                                   const int32_t *position, geodec_cloud_summary *s, geodec_err *err)
{
    geodec_theiler_window w;
    GEODEC_PASS(/* where it is not measured, TwoNN will say so */
                accept(geodec_theiler_find(n, d, x, text, position, b->o->theiler, b->pool, b->hooks, &w, err), err));
    GEODEC_PASS(geodec_theiler_divide(n, text, position, w.window, &b->parts, err));
    s->theiler_window = w.window;
    s->theiler_parts = b->parts.parts;
    s->time_near = w.near;
    s->time_chance = w.chance;
    if (b->o->theiler < 0 && w.window > 1) s->doubt |= GEODEC_CLOUD_DOUBT_TIME;
    if (w.remain) s->doubt |= GEODEC_CLOUD_DOUBT_REMAINS;
    return GEODEC_OK;
}

geodec_status geodec__cloud_twonn(const geodec__cloud_run *b, int64_t d, const double *x, const char *stream, bool kept,
                                  geodec_cloud_subset subset[GEODEC_CLOUD_SUBSETS], geodec_err *err)
{
    geodec_twonn_options o = geodec_twonn_defaults();
    o.seed = b->o->seed;
    for (int t = 0; t < GEODEC_CLOUD_SUBSETS; t++) {
        const int64_t n = geodec__min(b->size[t], b->o->twonn_points);
        geodec_twonn *const plain = kept ? &subset[t].kept : &subset[t].twonn;
        geodec_theiler *const apart = kept ? &subset[t].theiler_kept : &subset[t].theiler;
        o.stream = geodec_rng_id(stream, (uint64_t)t);
        GEODEC_PASS(accept(geodec_twonn_estimate(n, d, x, &o, b->pool, b->hooks, plain, err), err));
        if (b->parts.parts <= 1)
            geodec_theiler_of(plain, 1, apart);
        else
            GEODEC_PASS(accept(geodec_theiler_estimate(n, d, x, &b->parts, &o, b->pool, b->hooks, apart, err), err));
    }
    return GEODEC_OK;
}

/* Intervals do not know that the ratios of mutual neighbours depend on each other; hence the factor. */
static const double widened = 1.5;

static bool disjoint(const geodec_theiler *a, const geodec_theiler *b)
{
    const geodec_theiler *low = a->dimension < b->dimension ? a : b, *high = low == a ? b : a;
    return low->dimension + widened * (low->high - low->dimension) <
           high->dimension - widened * (high->dimension - high->low);
}

void geodec__cloud_doubt(geodec_cloud_summary *s)
{
    const geodec_theiler *all = &s->subset[GEODEC_CLOUD_SUBSETS - 1].theiler;
    if (geodec_theiler_scarce(all) || disjoint(&s->subset[0].theiler, all)) s->doubt |= GEODEC_CLOUD_DOUBT_FEW;
}

void geodec__cloud_gaussian(int64_t n, int64_t d, const double *eigenvalue, uint64_t seed, uint64_t stream, double *x)
{
    geodec_rng r = geodec_rng_stream(seed, stream);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < d; j++) x[i * d + j] = sqrt(eigenvalue[j]) * geodec_rng_normal(&r);
}

/* TwoNN of Gaussian noise with the first d eigenvalues. */
static geodec_status noise_twonn(const geodec__cloud_run *b, int64_t d, const double *eigenvalue, bool kept,
                                 geodec_cloud_subset subset[GEODEC_CLOUD_SUBSETS], geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    double *x = NULL;
    const int64_t top = geodec__min(b->points, b->o->twonn_points);
    GEODEC_NEW(x, top * d);
    geodec__cloud_gaussian(top, d, eigenvalue, b->o->seed, geodec_rng_id("cloud-control", 0), x);
    GEODEC_TRY(geodec__cloud_twonn(b, d, x, "cloud-control-twonn", kept, subset, err));
done:
    geodec_mem_free(x);
    return st;
}

geodec_status geodec__cloud_control(const geodec__cloud_run *b, const geodec_pca *pca,
                                    geodec_cloud_subset subset[GEODEC_CLOUD_SUBSETS], geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    double *x = NULL, *value = NULL;
    int64_t live = pca->values; /* directions without variance add nothing */
    while (live > 1 && !(pca->eigenvalue[live - 1] > 0)) live--;
    GEODEC_TRY(noise_twonn(b, live, pca->eigenvalue, false, subset, err));
    GEODEC_TRY(noise_twonn(b, geodec__min(pca->k, live), pca->eigenvalue, true, subset, err));
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
